//! Streams: the public [`Stream`] with its state, events, and captures.
//!
//! | file | contents |
//! |---|---|
//! | `state` | what launches on a stream share, under one lock |
//! | `kernels` | the kernels that were launched on a stream, with their memory |
//! | `recent` | the last launches, for a fault report |
//! | `event` | events, owned or adopted |
//! | `host_function` | functions of the host in the order of a stream |
//! | `capture` | captures of streams, and the graphs that they give |

mod capture;
mod event;
mod host_function;
mod kernels;
mod recent;
mod state;

use std::sync::Arc;

pub use capture::{CaptureMode, CapturedGraph};
pub use event::Event;
pub(crate) use host_function::host_node;
pub(crate) use kernels::{KernelMemory, KernelOnStream, KernelsOnStream};
pub(crate) use recent::RECENT_LAUNCHES;
pub(crate) use state::{EnqueueState, StreamState};

use crate::device::Device;
use crate::driver_stream::DriverStream;
use crate::error::Result;
use crate::pool::PoolBlock;
use crate::staging::StagingOptions;
use hip_driver::{Capability, DriverError, ErrorCode, RawStream, StreamOptions, Work};
use state::captured;

/// A stream of a device. Launches, copies and fills are enqueued on it and run in the order in which they were
/// enqueued.
///
/// The stream has its own staging ring, device scratch and arena in the device's pool. It counts pieces of work, so
/// that work that the host has seen complete is never waited for again.
///
/// Cheap to clone; all clones are the same stream. Tickets and outputs keep the stream alive. Dropping the last of its
/// clones, tickets and outputs waits for its work.
#[derive(Clone, Debug)]
pub struct Stream(pub(crate) Arc<StreamState>);

impl PartialEq for Stream {
    /// Returns whether both are the same stream.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Stream {}

impl Stream {
    /// Creates a stream on a device, with the default size of its staging ring.
    /// [`Launcher::stream`](crate::Launcher::stream) creates one with the size that the launcher was opened with.
    /// Staging buffers are allocated when a launch first needs them.
    ///
    /// # Errors
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if the device is lost; else returns the driver's error.
    pub fn new(device: &Device, options: StreamOptions) -> Result<Stream> {
        Stream::with_staging(device, options, StagingOptions::default())
    }

    /// Uses a stream that others made, without owning it: launches, copies, events and memory work on it as on a stream of
    /// this library's, and stand in one order with what its owner enqueues. The [null stream](RawStream::NULL) and the
    /// [calling thread's own](RawStream::PER_THREAD) can be used, too. [`Launcher::stream_from_raw`](crate::Launcher::stream_from_raw)
    /// gives it the launcher's staging memory.
    ///
    /// A raw stream has one `Stream` on a device: as long as that is alive, this gives a clone of it, and so it does for
    /// the raw handle of a stream that this library made. Devices of two launchers have one each, which do not disturb each
    /// other.
    ///
    /// Dropping the last clone waits for all work on the stream, its owner's included, and does not destroy it. Its
    /// device memory goes back to the pool then; release what the owner's code still uses afterwards.
    ///
    /// While its owner captures the stream (`hipStreamBeginCapture`), launches without host data and results, copies
    /// within the device and fills become part of the owner's graph; what can't is
    /// [`Error::Captured`](crate::Error::Captured).
    ///
    /// The stream of a thread can be used on that thread alone; launches, copies and events on others are
    /// [`Error::Invalid`](crate::Error::Invalid). Its tickets can be read anywhere.
    ///
    /// # Errors
    /// [`Error::DeviceLost`](crate::Error::DeviceLost); `NOT_SUPPORTED` for the stream of a thread where the driver lacks
    /// [`Capability::PerThreadStream`].
    ///
    /// # Safety
    /// `stream` is a live stream of the device, and of the driver that the device was opened with, as long as the `Stream`
    /// lives: all its clones, tickets and outputs. While its owner captures it, kernels that are launched stay
    /// registered and memory that they use lives as long as the owner's graph. If its owner destroys it earlier, the
    /// emulator and the validation layer refuse later calls with
    /// [`INVALID_HANDLE`](crate::driver::ErrorCode::INVALID_HANDLE); HIP may do that, crash, or use another stream
    /// that has the handle by then.
    pub unsafe fn from_raw(device: &Device, stream: RawStream) -> Result<Stream> {
        // SAFETY: the caller's promise.
        unsafe { Stream::from_raw_with_staging(device, stream, StagingOptions::default()) }
    }

    /// # Safety
    /// As [`from_raw`](Stream::from_raw).
    pub(crate) unsafe fn from_raw_with_staging(
        device: &Device,
        stream: RawStream,
        staging: StagingOptions,
    ) -> Result<Stream> {
        // One stream, two names, of which HIP 5 does not know this one.
        let stream = if stream == RawStream::LEGACY { RawStream::NULL } else { stream };
        let _adopting = device.streams().lock_adopting();
        let is_it =
            |s: &Arc<StreamState>| s.driver_stream.raw() == stream && s.driver_stream.is_of_this_thread();
        if let Some(adopted) = StreamState::live_on(device).into_iter().find(is_it) {
            device.check()?;
            // Whoever has the handle may enqueue unseen.
            adopted.driver_stream.share();
            return Ok(Stream(adopted));
        }
        if stream == RawStream::PER_THREAD && !device.raw().capabilities().has(Capability::PerThreadStream) {
            let detail = "this driver does not launch kernels there";
            return Err(
                DriverError::with_detail("hipStreamPerThread", ErrorCode::NOT_SUPPORTED, detail).into()
            );
        }
        device.check()?;
        // SAFETY: the caller's promise.
        let adopted = unsafe { DriverStream::adopt(device.driver(), device.id(), stream) };
        Ok(Stream(StreamState::new(device, adopted, StreamOptions::default(), staging)))
    }

    pub(crate) fn with_staging(
        device: &Device,
        options: StreamOptions,
        staging: StagingOptions,
    ) -> Result<Stream> {
        device.check()?;
        let created =
            DriverStream::new(device.driver(), device.id(), options).map_err(|e| device.error(e))?;
        Ok(Stream(StreamState::new(device, created, options, staging)))
    }

    /// Returns what launches on the stream share.
    #[inline]
    pub(crate) fn state(&self) -> &StreamState {
        &self.0
    }

    /// Returns the stream's device.
    #[inline]
    pub fn device(&self) -> &Device {
        self.0.device()
    }

    /// Returns the driver's handle (`hipStream_t`), which is valid as long as the stream lives, for libraries that enqueue
    /// work of their own. What they enqueue stands in one order with launches. Memory of this library that they use must
    /// live until their work is done, or be freed in the order of this stream, as buffers allocated on it are.
    #[inline]
    pub fn as_raw(&self) -> RawStream {
        self.0.driver_stream.share()
    }

    /// Enqueues work on the stream outside of a launch.
    ///
    /// # Safety
    /// As [`Driver::enqueue`](hip_driver::Driver::enqueue), for the stream's device.
    pub(crate) unsafe fn enqueue_work(&self, work: &Work<'_>) -> Result<()> {
        let device = self.device();
        if work.host_memory().is_some() {
            self.0.refuse_if_captured("a copy from or to host memory")?;
        }
        let stream = self.0.driver_stream.for_work().map_err(|e| device.error(e))?;
        // SAFETY: the caller's promise; the stream is live, and of this device.
        unsafe { device.raw().enqueue(device.id(), stream, work) }.map_err(|e| device.error(e))
    }

    /// Returns whether others made the stream.
    pub fn is_adopted(&self) -> bool {
        self.0.driver_stream.is_adopted()
    }

    /// Returns the stream's number, which no other stream of the process has.
    #[inline]
    pub fn number(&self) -> u64 {
        self.0.driver_stream.number()
    }

    /// Records that work on this stream uses a pool block that was allocated for another stream. When the block's last
    /// owner drops it, the pool holds the block back until all work that is enqueued on this stream by then has
    /// finished.
    ///
    /// Does nothing for a block of this stream, where the stream's order is enough. A launch records the uses of its
    /// own arguments.
    ///
    /// Call it before the last owner drops the block. It does not order the streams: make this stream wait for the
    /// block's own stream first, with an [`Event`].
    #[inline]
    pub fn record_use(&self, block: &PoolBlock) {
        self.0.record_use(block);
    }

    /// Returns whether all work on the stream has finished. Never waits.
    ///
    /// # Errors
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if the device is lost; else returns the driver's error.
    pub fn is_idle(&self) -> Result<bool> {
        if self.0.driver_stream.is_capturing() {
            return Err(captured("`is_idle`"));
        }
        self.0.is_idle()
    }

    /// Waits for all work on the stream. Then releases the modules and the device scratch of unregistered kernels whose
    /// last launch has finished, and cached pool segments of the stream above the pool's soft target.
    ///
    /// # Errors
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if a kernel has faulted; else returns the driver's error.
    pub fn synchronize(&self) -> Result<()> {
        self.0.synchronize()?;
        self.0.collect();
        Ok(())
    }

    /// Returns the bytes of device scratch that this stream's kernel–stream pairs hold.
    pub fn scratch_bytes(&self) -> usize {
        self.0.lock().kernels.0.values().map(|k| k.memory.scratch.held()).sum()
    }

    /// Returns the bytes of pinned host memory in the stream's staging ring and result buffers.
    pub fn pinned_bytes(&self) -> usize {
        let state = self.0.lock();
        state.ring.held() + state.results.held()
    }

    /// Waits for the stream, frees its device scratch, and gives the cached memory of the device's pool to the driver.
    /// Later launches allocate memory again.
    ///
    /// # Errors
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if a kernel has faulted; else returns the driver's error.
    pub fn trim(&self) -> Result<()> {
        self.synchronize()?;
        let kernels = std::mem::take(&mut self.0.lock().kernels);
        drop(kernels);
        let device = self.device();
        device.pool_core().trim(0).map_err(|e| device.error(e))?;
        Ok(())
    }
}
