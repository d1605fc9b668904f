//! The streams of a driver: how they are made, and which one a handle names.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::device::{Device, lock};
use super::stream::{Stream, StreamKind};
use super::{EmulatedDriver, belongs, stale};
use hip_driver::{DeviceId, DriverError, DriverResult, ErrorCode, RawStream};

/// The stack size of a worker in bytes. Host functions run on it.
const WORKER_STACK: usize = 2 << 20;

impl EmulatedDriver {
    /// Creates a stream with its worker.
    pub(super) fn start_stream(
        &self,
        call: &'static str,
        device: &Arc<Device>,
        kind: StreamKind,
    ) -> DriverResult<Arc<Stream>> {
        self.reap();
        let stream = Arc::new(Stream::new(Arc::clone(device), kind));
        let number = self.streams_made.fetch_add(1, Ordering::Relaxed);
        let worker = Arc::clone(&stream);
        // Added before the worker runs: a worker that ends removes its stream from the list.
        device.add_stream(&stream);
        let spawned = std::thread::Builder::new()
            .name(format!("emu{}-stream{number}", device.id.0))
            .stack_size(WORKER_STACK)
            .spawn(move || worker.run());
        match spawned {
            Ok(handle) => lock(&self.workers).push(handle),
            Err(error) => {
                device.remove_stream(&stream);
                let detail = format!("no thread for the stream: {error}");
                return Err(DriverError::with_detail(call, ErrorCode::OUT_OF_MEMORY, detail));
            }
        }
        Ok(stream)
    }

    /// A stream of a device, which may have had a fault.
    pub(super) fn any_stream(
        &self,
        call: &'static str,
        device: DeviceId,
        stream: RawStream,
    ) -> DriverResult<Arc<Stream>> {
        if stream.is_default() {
            let device = self.any_device(call, device)?;
            return match stream {
                RawStream::PER_THREAD => {
                    device.thread_stream(|| self.start_stream(call, device, StreamKind::Blocking))
                }
                _ => device.null_stream(|| self.start_stream(call, device, StreamKind::Null)),
            };
        }
        let found = self.streams.get(stream.0).ok_or_else(|| stale(call, "stream", stream.0))?;
        belongs(call, "stream", found.device.id, device)?;
        Ok(found)
    }

    /// A stream of a device that had no fault, on which something is to be enqueued: what comes next is ordered with the
    /// null stream.
    #[inline]
    pub(super) fn ordered_stream(
        &self,
        call: &'static str,
        device: DeviceId,
        stream: RawStream,
    ) -> DriverResult<Arc<Stream>> {
        self.device(call, device)?;
        let found = self.any_stream(call, device, stream)?;
        // Captured work is ordered by its graph's launches.
        if !self.captures.is_captured(&found) {
            found.order_with_null();
        }
        Ok(found)
    }

    /// A stream of a device that had no fault, which is to be waited for or asked whether it is idle. That of the null
    /// stream covers the blocking streams; that of a blocking stream covers the null stream's work only so far as work of
    /// its own waits for it (HIP 6.4 and 7.2, seen; 5.2 covers all of it).
    pub(super) fn observed_stream(
        &self,
        call: &'static str,
        device: DeviceId,
        stream: RawStream,
    ) -> DriverResult<Arc<Stream>> {
        self.device(call, device)?;
        let found = self.any_stream(call, device, stream)?;
        self.captures.may_observe_stream(call, &found)?;
        if found.kind() == StreamKind::Null {
            found.order_with_null();
        }
        Ok(found)
    }

    /// Joins the workers that have ended.
    pub(super) fn reap(&self) {
        let mut workers = lock(&self.workers);
        let mut index = 0;
        while index < workers.len() {
            if workers[index].is_finished() {
                // The worker has ended, so this does not wait. A panic was reported when it happened.
                drop(workers.swap_remove(index).join());
            } else {
                index += 1;
            }
        }
    }
}
