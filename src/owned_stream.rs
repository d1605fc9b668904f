//! A driver's stream that is destroyed when its owner is dropped.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use hip_driver::{DeviceId, Driver, DriverResult, RawEvent, RawStream, StreamOptions};

/// An owned raw stream. Whoever keeps it alive may enqueue on it.
///
/// The event of a launch with results is recorded as late as possible: when something is enqueued after it. Results that
/// are read before that need no event, because they are the stream's last work: the stream itself is waited for.
#[derive(Debug)]
pub(crate) struct OwnedStream {
    driver: Arc<dyn Driver>,
    device: DeviceId,
    raw: RawStream,
    number: u64,
    /// The position of the work whose event is not recorded yet; 0 if there is none. It is last on the stream.
    deferred: AtomicU64,
    deferred_event: AtomicU64,
    /// Held while a deferred event is recorded, so that nobody takes it for recorded before it is.
    recording: Mutex<()>,
    /// Whether others enqueue on the stream, so that its last work is not known.
    shared: AtomicBool,
}

impl OwnedStream {
    /// Creates a stream. No other stream of the process has the same `number`.
    pub(crate) fn new(
        driver: &Arc<dyn Driver>,
        device: DeviceId,
        options: StreamOptions,
        number: u64,
    ) -> DriverResult<OwnedStream> {
        let raw = driver.stream_create(device, options)?;
        Ok(OwnedStream {
            driver: driver.clone(),
            device,
            raw,
            number,
            deferred: AtomicU64::new(0),
            deferred_event: AtomicU64::new(0),
            recording: Mutex::new(()),
            shared: AtomicBool::new(false),
        })
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

    /// The driver's handle, for a call that enqueues. Records the deferred event first, if there is one.
    #[inline]
    pub(crate) fn for_work(&self) -> DriverResult<RawStream> {
        if self.deferred.load(Ordering::Acquire) != 0 {
            self.record_deferred()?;
        }
        Ok(self.raw)
    }

    /// Has `event` recorded after the work at `position`, which was enqueued last, if it is needed at all: when
    /// [`for_work`](OwnedStream::for_work) is called next, or at once on a stream that others use. Positions are deferred
    /// one after the other, under a lock of the caller.
    ///
    /// # Errors
    /// Returns the driver's error if the event could not be recorded at once. It stays deferred then.
    #[inline]
    pub(crate) fn defer(&self, position: u64, event: RawEvent) -> DriverResult<()> {
        self.deferred_event.store(event.0, Ordering::Relaxed);
        self.deferred.store(position, Ordering::Release);
        if self.shared.load(Ordering::SeqCst) { self.record_deferred() } else { Ok(()) }
    }

    /// The position whose event is not recorded yet; 0 if there is none.
    #[inline]
    pub(crate) fn deferred(&self) -> u64 {
        self.deferred.load(Ordering::Acquire)
    }

    #[cold]
    fn record_deferred(&self) -> DriverResult<()> {
        let _recording = self.recording.lock().unwrap_or_else(PoisonError::into_inner);
        let position = self.deferred.load(Ordering::Acquire);
        // Another thread may have recorded it meanwhile.
        if position != 0 {
            let event = RawEvent(self.deferred_event.load(Ordering::Relaxed));
            // SAFETY: the event belongs to a result buffer of this stream, which lives as long as the stream.
            unsafe { self.driver.event_record(self.device, event, self.raw) }?;
            self.clear_deferred(position);
        }
        Ok(())
    }

    /// Forgets that the event of the work at `position` is not recorded, unless it is that of later work by now.
    fn clear_deferred(&self, position: u64) {
        let _ = self.deferred.compare_exchange(position, 0, Ordering::Release, Ordering::Relaxed);
    }

    /// Says that the work up to `position` has finished, so that its event is not needed.
    #[inline]
    pub(crate) fn finished(&self, position: u64) {
        let deferred = self.deferred.load(Ordering::Relaxed);
        if deferred != 0 && deferred <= position {
            self.clear_deferred(deferred);
        }
    }

    /// The driver's handle for others, who may enqueue on the stream from now on: events are recorded at once.
    pub(crate) fn share(&self) -> RawStream {
        self.shared.store(true, Ordering::SeqCst);
        if self.deferred() != 0
            && let Err(e) = self.record_deferred()
        {
            log::warn!("recording an event on a stream of {}: {e}", self.device);
        }
        self.raw
    }

    /// Waits for all work on the stream.
    pub(crate) fn synchronize(&self) -> DriverResult<()> {
        // SAFETY: the stream is owned by `self`, and this driver created it for this device.
        unsafe { self.driver.stream_synchronize(self.device, self.raw) }
    }
}

impl Drop for OwnedStream {
    fn drop(&mut self) {
        // SAFETY: `self` owns the stream and is its last user.
        if let Err(e) = unsafe { self.driver.stream_destroy(self.device, self.raw) } {
            log::warn!("destroying a stream of {}: {e}", self.device);
        }
    }
}
