//! The driver's stream within a [`Stream`](crate::Stream): its device, its arena in the pool, and its progress.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::capture::{asks, refusal};
use crate::device::Device;
use crate::driver_stream::DriverStream;
use crate::error::{Error, Result};
use crate::memory::pool::{PoolBlock, StreamArena, StreamRef};
use hip_driver::{DriverResult, RawEvent, RawStream, StreamOptions};

#[cold]
pub(crate) fn captured(what: &'static str) -> Error {
    Error::Captured { what }
}

/// Returns a number that no other stream of the process has.
pub(crate) fn next_number() -> u64 {
    static NUMBER: AtomicU64 = AtomicU64::new(1);
    NUMBER.fetch_add(1, Ordering::Relaxed)
}

/// A stream, owned or adopted, with its progress and its arena. Work that the host has seen complete is never waited for
/// again.
#[derive(Debug)]
pub(crate) struct StreamCore {
    device: Device,
    raw: RawStream,
    /// Whether [`check`](StreamCore::check) has more to check than the device: a per-thread stream, or one that is
    /// captured.
    special: AtomicBool,
    owned: Arc<DriverStream>,
    /// The stream's segments and blocks in the device's pool.
    arena: Arc<StreamArena>,
}

impl StreamCore {
    /// Creates a stream.
    ///
    /// # Errors
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if the device is lost; else returns the driver's error.
    pub(crate) fn new(device: &Device, options: StreamOptions) -> Result<StreamCore> {
        device.check()?;
        let number = next_number();
        let owned =
            DriverStream::new(device.driver(), device.id(), options, number).map_err(|e| device.error(e))?;
        Ok(StreamCore::with(device, owned))
    }

    /// Uses a stream that others made.
    ///
    /// # Errors
    /// The device is lost.
    ///
    /// # Safety
    /// As [`Stream::from_raw`](crate::Stream::from_raw).
    pub(crate) unsafe fn adopt(device: &Device, raw: RawStream) -> Result<StreamCore> {
        device.check()?;
        // SAFETY: the caller's promise.
        let adopted = unsafe { DriverStream::adopt(device.driver(), device.id(), raw, next_number()) };
        Ok(StreamCore::with(device, adopted))
    }

    fn with(device: &Device, owned: DriverStream) -> StreamCore {
        let raw = owned.raw();
        let owned = Arc::new(owned);
        let arena = device.pool_core().join(&owned);
        let special = AtomicBool::new(raw == RawStream::PER_THREAD);
        StreamCore { device: device.clone(), raw, special, owned, arena }
    }

    /// Fails once the device is lost, on a thread on which the driver's handle means another stream, and while the
    /// stream is captured by this library. Makes no device call.
    ///
    /// # Errors
    /// As [`Device::check`]; [`Error::Invalid`](crate::Error::Invalid) for a per-thread stream of another thread;
    /// [`Error::Captured`](crate::Error::Captured).
    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        self.device.check()?;
        if self.special.load(Ordering::Relaxed) { self.check_special() } else { Ok(()) }
    }

    #[cold]
    fn check_special(&self) -> Result<()> {
        self.check_thread()?;
        if self.is_capturing() { Err(captured("the call")) } else { Ok(()) }
    }

    fn check_thread(&self) -> Result<()> {
        if self.owned.is_of_this_thread() {
            return Ok(());
        }
        Err(crate::Error::invalid(
            "Stream",
            "a per-thread default stream is used on another thread than its own",
        ))
    }

    /// Does what [`check`](StreamCore::check) does, for work that can be captured.
    ///
    /// # Errors
    /// Those of [`check`](StreamCore::check), but never [`Error::Captured`](crate::Error::Captured).
    pub(crate) fn check_capturable(&self) -> Result<()> {
        self.device.check()?;
        self.check_thread()
    }

    /// Whether this library captures the stream.
    #[inline]
    pub(crate) fn is_capturing(&self) -> bool {
        self.owned.is_capturing()
    }

    pub(crate) fn set_capturing(&self, capturing: bool) {
        self.owned.set_capturing(capturing);
        self.special.store(capturing || self.raw == RawStream::PER_THREAD, Ordering::Relaxed);
    }

    /// Fails if the stream is captured, by this library or, if others made it, by them. Asks the driver about a
    /// stream of others.
    ///
    /// # Errors
    /// [`Error::Captured`](crate::Error::Captured); the driver's error.
    #[inline]
    pub(crate) fn refuse_if_captured(&self, what: &'static str) -> Result<()> {
        if self.is_capturing() || self.is_adopted() && self.is_captured_by_others()? {
            return Err(captured(what));
        }
        Ok(())
    }

    #[cold]
    fn is_captured_by_others(&self) -> Result<bool> {
        asks(self.device.raw(), self.device.id(), self.raw).map_err(|e| self.device.error(e))
    }

    /// Whether the driver's handle means this stream on the calling thread.
    pub(crate) fn is_of_this_thread(&self) -> bool {
        self.owned.is_of_this_thread()
    }

    /// Whether others may enqueue on the stream beside this library.
    pub(crate) fn is_adopted(&self) -> bool {
        self.owned.is_adopted()
    }

    /// Returns the stream's device.
    #[inline]
    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// Returns the driver's handle, which is valid as long as the stream lives.
    #[inline]
    pub(crate) fn raw(&self) -> RawStream {
        self.raw
    }

    /// Returns the stream's number, which no other stream of the process has.
    #[inline]
    pub(crate) fn number(&self) -> u64 {
        self.owned.number()
    }

    #[inline]
    pub(crate) fn arena(&self) -> &Arc<StreamArena> {
        &self.arena
    }

    /// See [`Stream::record_use`](crate::Stream::record_use).
    #[inline(always)]
    pub(crate) fn record_use(&self, block: &PoolBlock) {
        if !block.has_recorded(self.number()) {
            block.record(self.stream_ref());
        }
    }

    pub(crate) fn stream_ref(&self) -> StreamRef {
        StreamRef::new(&self.owned)
    }

    /// See [`Progress::next`](crate::progress::Progress::next).
    #[inline]
    pub(crate) fn next(&self) -> u64 {
        self.owned.progress.next()
    }

    /// See [`Progress::publish`](crate::progress::Progress::publish).
    #[inline]
    pub(crate) fn publish(&self, sequence: u64) {
        self.owned.progress.publish(sequence);
    }

    /// The driver's handle, for a call that enqueues; see [`DriverStream::for_work`].
    #[inline]
    pub(crate) fn for_work(&self) -> DriverResult<RawStream> {
        self.owned.for_work()
    }

    /// See [`DriverStream::defer`].
    #[inline]
    pub(crate) fn defer(&self, sequence: u64, event: RawEvent) -> DriverResult<()> {
        self.owned.defer(sequence, event)
    }

    /// See [`DriverStream::share`].
    pub(crate) fn share(&self) -> RawStream {
        self.owned.share()
    }

    /// The last position enqueued.
    #[inline]
    pub(crate) fn enqueued(&self) -> u64 {
        self.owned.progress.enqueued()
    }

    /// Returns the last position that the host has seen complete.
    #[inline]
    pub(crate) fn completed(&self) -> u64 {
        self.owned.progress.completed()
    }

    /// Records that all work up to position `sequence` has finished.
    #[inline]
    pub(crate) fn mark_completed(&self, sequence: u64) {
        self.owned.progress.mark_completed(sequence);
    }

    /// Waits for all work on the stream, and then frees cached segments above the pool's soft target.
    ///
    /// # Errors
    /// Returns the driver's error; [`Error::DeviceLost`](crate::Error::DeviceLost) if a kernel has faulted.
    pub(crate) fn synchronize(&self) -> Result<()> {
        self.device.check()?;
        if self.is_capturing() {
            return Err(captured("`synchronize`"));
        }
        let upto = self.enqueued();
        // Taken out of the arena before the wait, so that work enqueued from now on can't use them.
        let excess = self.device.pool_core().take_excess(&self.arena);
        if let Err(e) = self.owned.synchronize() {
            self.arena.put_back(excess);
            return Err(self.device.error(e));
        }
        self.mark_completed(upto);
        if !excess.is_empty() {
            self.arena.give_to_driver(excess).map_err(|e| self.device.error(e))?;
        }
        Ok(())
    }

    /// Returns whether all work on the stream has finished. Never waits.
    ///
    /// # Errors
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if the device is lost; else returns the driver's error.
    pub(crate) fn is_idle(&self) -> Result<bool> {
        self.device.check()?;
        let upto = self.enqueued();
        let idle = self.owned.query().map_err(|e| self.device.error(e))?;
        if idle {
            self.mark_completed(upto);
        }
        Ok(idle)
    }

    /// Waits for `event`, which is recorded after position `sequence` or deferred, unless that is known to have finished.
    pub(crate) fn wait_for(&self, sequence: u64, event: RawEvent) -> DriverResult<()> {
        if self.completed() >= sequence {
            return Ok(());
        }
        if self.owned.deferred() == sequence {
            self.owned.synchronize()?;
            self.mark_completed(sequence);
            return Ok(());
        }
        if self.is_capturing() {
            return Err(refusal("hipEventSynchronize"));
        }
        // SAFETY: callers pass a live event of this device.
        unsafe { self.device.raw().event_synchronize(self.device.id(), event) }?;
        self.mark_completed(sequence);
        Ok(())
    }

    /// Whether `event`, which is recorded after position `sequence` or deferred, has been reached; never waits.
    pub(crate) fn reached(&self, sequence: u64, event: RawEvent) -> DriverResult<bool> {
        if self.completed() >= sequence {
            return Ok(true);
        }
        // Asking would break the capture.
        if self.is_capturing() {
            return Ok(false);
        }
        let done = match self.owned.deferred() == sequence {
            true => self.owned.query(),
            // SAFETY: callers pass a live event of this device.
            false => unsafe { self.device.raw().event_query(self.device.id(), event) },
        }?;
        if done {
            self.mark_completed(sequence);
        }
        Ok(done)
    }
}

impl Drop for StreamCore {
    /// Waits for the stream's work, because other streams then get its memory.
    fn drop(&mut self) {
        // A lost device runs nothing any more, and its error was returned before.
        if self.device.check().is_ok()
            && let Err(e) = self.owned.finish()
        {
            log::warn!("waiting for a stream of {} that is dropped: {e}", self.device.id());
            // The arena keeps the driver's stream, so that a stream that takes its memory waits for it first.
            self.arena.keep(&self.owned);
            return;
        }
        self.device.pool_core().leave(self.number());
    }
}
