//! A driver's stream that is destroyed when its owner is dropped, unless others made it; what the host has seen of its
//! work, and the event that it may still have to record.

mod deferred_event;
mod progress;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use deferred_event::DeferredEvent;
use hip_driver::{
    Capability, CaptureStatus, DeviceId, Driver, DriverError, DriverResult, ErrorCode, Note, RawEvent,
    RawStream, StreamOptions, thread_number,
};
pub(crate) use progress::Progress;

/// Who made a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// This library, which destroys it.
    Own,
    /// Others, or nobody: the null stream.
    Adopted,
    /// Nobody. The raw handle means this stream on this thread alone.
    Thread(u64),
}

/// A stream of the driver, owned or adopted. Work may be enqueued on it while this lives. Aligned so that no two streams
/// write the same cache lines.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct DriverStream {
    driver: Arc<dyn Driver>,
    device: DeviceId,
    raw: RawStream,
    /// A number that no other stream of the process has.
    number: u64,
    origin: Origin,
    pub(crate) progress: Progress,
    deferred: DeferredEvent,
    /// Whether the stream is captured, by this library.
    capturing: AtomicBool,
}

impl DriverStream {
    /// Creates a stream.
    pub(crate) fn new(
        driver: &Arc<dyn Driver>,
        device: DeviceId,
        options: StreamOptions,
    ) -> DriverResult<DriverStream> {
        let raw = driver.stream_create(device, options)?;
        Ok(DriverStream::of(driver, device, raw, Origin::Own))
    }

    /// Uses a stream that others made, or a default stream of the calling thread.
    ///
    /// # Safety
    /// `raw` is a live stream of the device as long as the value lives.
    pub(crate) unsafe fn adopt(driver: &Arc<dyn Driver>, device: DeviceId, raw: RawStream) -> DriverStream {
        let origin = match raw {
            RawStream::PER_THREAD => Origin::Thread(thread_number()),
            _ => Origin::Adopted,
        };
        let stream = DriverStream::of(driver, device, raw, origin);
        // Its owner enqueues unseen.
        stream.share();
        stream.note(&Note::StreamAdopt { device, stream: raw });
        stream
    }

    fn of(driver: &Arc<dyn Driver>, device: DeviceId, raw: RawStream, origin: Origin) -> DriverStream {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        DriverStream {
            driver: driver.clone(),
            device,
            raw,
            number: NUMBER.fetch_add(1, Ordering::Relaxed),
            origin,
            progress: Progress::new(),
            deferred: DeferredEvent::new(),
            capturing: AtomicBool::new(false),
        }
    }

    /// Tells whoever observes the driver about an adopted stream; default streams are known.
    fn note(&self, note: &Note) {
        if !self.raw.is_default()
            && let Some(observer) = self.driver.observer()
        {
            observer.note(note);
        }
    }

    #[inline]
    pub(crate) fn device(&self) -> DeviceId {
        self.device
    }

    #[inline]
    pub(crate) fn raw(&self) -> RawStream {
        self.raw
    }

    #[inline]
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Whether others may enqueue on the stream beside this library.
    pub(crate) fn is_adopted(&self) -> bool {
        self.origin != Origin::Own
    }

    /// Whether the raw handle means this stream on the calling thread.
    #[inline]
    pub(crate) fn is_of_this_thread(&self) -> bool {
        !matches!(self.origin, Origin::Thread(own) if own != thread_number())
    }

    /// Whether the stream is captured, by this library.
    #[inline]
    pub(crate) fn is_capturing(&self) -> bool {
        self.capturing.load(Ordering::Relaxed)
    }

    /// Fails if the stream is captured, by this library or, if others made it, by them.
    pub(crate) fn refuse_if_captured(&self, call: &'static str) -> DriverResult<()> {
        let captured = self.is_capturing()
            || self.is_adopted() && self.is_of_this_thread() && self.is_captured_by_driver()?;
        if captured { Err(capture_refusal(call)) } else { Ok(()) }
    }

    /// Asks the driver whether the stream is captured, by whomever.
    #[cold]
    pub(crate) fn is_captured_by_driver(&self) -> DriverResult<bool> {
        if !self.driver.capabilities().has(Capability::StreamCapture) {
            return Ok(false);
        }
        // SAFETY: a live stream of the device.
        let info = unsafe { self.driver.stream_capture_info(self.device, self.raw) }?;
        Ok(info.status != CaptureStatus::None)
    }

    pub(crate) fn set_capturing(&self, capturing: bool) {
        self.capturing.store(capturing, Ordering::Relaxed);
    }

    /// Returns the driver's handle for a call that enqueues. Records a deferred event first.
    #[inline]
    pub(crate) fn for_work(&self) -> DriverResult<RawStream> {
        self.deferred.settle(self.progress.completed(), |event| self.record(event))?;
        Ok(self.raw)
    }

    /// Has `event` recorded after the work at `position` if it is needed. See [`DeferredEvent::defer`].
    #[inline]
    pub(crate) fn defer(&self, position: u64, event: RawEvent) -> DriverResult<()> {
        self.deferred.defer(position, event.0, |event| self.record(event))
    }

    /// Returns the driver's handle for others, who may enqueue on the stream from now on.
    pub(crate) fn share(&self) -> RawStream {
        if let Err(e) = self.deferred.share(self.progress.completed(), |event| self.record(event)) {
            // It stays deferred, so that its results are waited for with the stream.
            log::warn!("recording an event on a stream of {}: {e}", self.device);
        }
        self.raw
    }

    fn record(&self, event: u64) -> DriverResult<()> {
        // SAFETY: the event belongs to a result buffer of this stream, which lives as long as the stream.
        unsafe { self.driver.event_record(self.device, RawEvent(event), self.raw) }
    }

    /// Waits for all work on the stream. On a thread that cannot name the stream, for all work on the device.
    pub(crate) fn synchronize(&self) -> DriverResult<()> {
        if self.is_capturing() {
            return Err(capture_refusal("hipStreamSynchronize"));
        }
        if !self.is_of_this_thread() {
            return self.driver.device_synchronize(self.device);
        }
        // SAFETY: the stream is alive, and of this driver and device.
        unsafe { self.driver.stream_synchronize(self.device, self.raw) }
    }

    /// Whether all work on the stream has finished; never waits. `false` on a thread that cannot name the
    /// stream, and while the stream is captured.
    pub(crate) fn query(&self) -> DriverResult<bool> {
        if !self.is_of_this_thread() || self.is_capturing() {
            return Ok(false);
        }
        // SAFETY: as in `synchronize`.
        unsafe { self.driver.stream_query(self.device, self.raw) }
    }

    /// Waits for `event`, which is recorded after `position` or deferred, unless the work there is known to have finished.
    pub(crate) fn wait_for(&self, position: u64, event: RawEvent) -> DriverResult<()> {
        if self.progress.completed() >= position {
            return Ok(());
        }
        if self.deferred.position() == position {
            self.synchronize()?;
        } else if self.is_capturing() {
            return Err(capture_refusal("hipEventSynchronize"));
        } else {
            // SAFETY: callers pass a live event of this device.
            unsafe { self.driver.event_synchronize(self.device, event) }?;
        }
        self.progress.mark_completed(position);
        Ok(())
    }

    /// Whether `event`, which is recorded after `position` or deferred, has been reached; never waits.
    pub(crate) fn reached(&self, position: u64, event: RawEvent) -> DriverResult<bool> {
        if self.progress.completed() >= position {
            return Ok(true);
        }
        // Asking would break the capture.
        if self.is_capturing() {
            return Ok(false);
        }
        let done = match self.deferred.position() == position {
            true => self.query(),
            // SAFETY: callers pass a live event of this device.
            false => unsafe { self.driver.event_query(self.device, event) },
        }?;
        if done {
            self.progress.mark_completed(position);
        }
        Ok(done)
    }

    /// Waits for all work of a stream that is released. One that its owner has destroyed cannot be named any more; its
    /// work is waited for with the device's.
    pub(crate) fn finish(&self) -> DriverResult<()> {
        match self.synchronize() {
            Err(e) if self.is_adopted() && !e.code.is_sticky() => {
                log::warn!("an adopted stream of {} can't be waited for ({e})", self.device);
                self.driver.device_synchronize(self.device)
            }
            result => result,
        }
    }
}

impl Drop for DriverStream {
    fn drop(&mut self) {
        if self.is_adopted() {
            return self.note(&Note::StreamRelease { device: self.device, stream: self.raw });
        }
        // SAFETY: `self` owns the stream and is its last user.
        if let Err(e) = unsafe { self.driver.stream_destroy(self.device, self.raw) } {
            log::warn!("destroying a stream of {}: {e}", self.device);
        }
    }
}

/// The error of a driver call that is not made because it would break a capture.
#[cold]
fn capture_refusal(call: &'static str) -> DriverError {
    let detail = "not called: the stream is captured; end the capture first";
    DriverError::with_detail(call, ErrorCode::STREAM_CAPTURE_UNSUPPORTED, detail)
}
