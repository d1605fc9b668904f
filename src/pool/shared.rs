//! What all arenas of a pool share: the driver, the limits, the counters of memory from the driver, and the fences.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::driver_stream::DriverStream;
use hip_driver::{
    DeviceId, DevicePtr, Driver, DriverError, DriverResult, ErrorCode, EventOptions, Note, Observer, RawEvent,
};

use super::arena::{Fences, Recorded};
use super::heap::PoolSegment;
use super::options::{PoolBackend, PoolOptions};
use super::trace::{PoolTraceAction, Tracer};

/// The number of events kept for later fences.
const EVENTS_KEPT: usize = 256;

/// What all arenas of a pool share. See the [module](self).
pub(crate) struct PoolShared {
    pub(crate) driver: Arc<dyn Driver>,
    pub(crate) device: DeviceId,
    pub(crate) backend: PoolBackend,
    cap: AtomicU64,
    soft_target: AtomicU64,
    reserved: AtomicU64,
    peak_reserved: AtomicU64,
    /// Whether the driver's observer is told of segments and blocks.
    pub(crate) has_observer: bool,
    /// Whether a layer wants to know what launches access.
    pub(crate) wants_accesses: bool,
    /// Whether the driver wants gaps between blocks: see [`seen_at`](PoolShared::seen_at).
    separated: bool,
    pub(crate) tracer: Tracer,
    /// Whether `has_observer` is set or `tracer` is on: the only flag that a hit reads.
    observed: AtomicBool,
    events: Mutex<Vec<RawEvent>>,
    /// Driver calls that the pool itself made.
    pub(crate) calls: DriverCalls,
}

/// Numbers of driver calls that a pool made.
#[derive(Debug, Default)]
pub(crate) struct DriverCalls {
    pub(crate) mallocs: AtomicU64,
    pub(crate) frees: AtomicU64,
    pub(crate) records: AtomicU64,
    pub(crate) waits: AtomicU64,
    pub(crate) queries: AtomicU64,
    pub(crate) synchronizes: AtomicU64,
}

#[inline]
pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl PoolShared {
    /// Tells the driver's observer, if there is one.
    #[cold]
    pub(crate) fn note(&self, note: &Note) {
        if let Some(observer) = self.driver.observer() {
            observer.note(note);
        }
    }

    pub(crate) fn new(driver: Arc<dyn Driver>, device: DeviceId, options: &PoolOptions) -> PoolShared {
        // With `StreamOrdered`, each block is an allocation of the driver's own pool, and layers see it as such.
        let observer = driver.observer().filter(|_| options.backend != PoolBackend::StreamOrdered);
        let separated = observer.is_some_and(Observer::separates_blocks);
        let wants_accesses = observer.is_some_and(Observer::takes_notes);
        let has_observer = separated || wants_accesses;
        PoolShared {
            backend: options.backend,
            cap: AtomicU64::new(options.cap.unwrap_or(u64::MAX)),
            soft_target: AtomicU64::new(options.soft_target.unwrap_or(u64::MAX)),
            reserved: AtomicU64::new(0),
            peak_reserved: AtomicU64::new(0),
            has_observer,
            wants_accesses,
            separated,
            tracer: Tracer::new(),
            observed: AtomicBool::new(has_observer),
            events: Mutex::new(Vec::new()),
            calls: DriverCalls::default(),
            driver,
            device,
        }
    }

    /// The address of a block for the program, where it is at `address` for the pool.
    ///
    /// A driver that wants gaps gives segments twice as many addresses as bytes, and a block that begins so many bytes into
    /// its segment is at twice as many addresses. The pool itself knows nothing of that: it cuts and joins blocks as if
    /// there were no gaps, so that all that it counts is the same.
    #[inline]
    pub(crate) fn seen_at(&self, segment: &PoolSegment, address: u64) -> u64 {
        if self.separated { segment.address + 2 * (address - segment.address) } else { address }
    }

    /// The number of bytes held from the driver.
    #[inline]
    pub(crate) fn reserved(&self) -> u64 {
        self.reserved.load(Ordering::Relaxed)
    }

    pub(crate) fn peak_reserved(&self) -> u64 {
        self.peak_reserved.load(Ordering::Relaxed)
    }

    pub(crate) fn reset_peak(&self) {
        self.peak_reserved.store(self.reserved(), Ordering::Relaxed);
    }

    pub(crate) fn cap(&self) -> u64 {
        self.cap.load(Ordering::Relaxed)
    }

    pub(crate) fn set_cap(&self, cap: Option<u64>) {
        self.cap.store(cap.unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn soft_target(&self) -> u64 {
        self.soft_target.load(Ordering::Relaxed)
    }

    pub(crate) fn set_soft_target(&self, target: Option<u64>) {
        self.soft_target.store(target.unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Whether an observer or the pool trace is to be told of allocations and frees.
    #[inline]
    pub(crate) fn is_observed(&self) -> bool {
        self.observed.load(Ordering::Relaxed)
    }

    /// Turns the pool trace on or off.
    pub(crate) fn set_tracing(&self, on: bool) {
        self.tracer.set(on);
        self.observed.store(on || self.has_observer, Ordering::Relaxed);
    }

    /// Takes memory from the driver, within the cap. The caller holds no lock.
    pub(crate) fn malloc(&self, bytes: u64, stream: Option<&DriverStream>) -> DriverResult<DevicePtr> {
        let cap = self.cap();
        let fits = |now: u64| now.checked_add(bytes).filter(|&after| after <= cap);
        // Counted before the call, so that all threads together stay within the cap.
        let before =
            self.reserved.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).map_err(|now| {
                let detail =
                    format!("the pool's byte cap of {cap} is reached: {now} held, {bytes} more asked for");
                DriverError::with_detail("hipMalloc", ErrorCode::OUT_OF_MEMORY, detail)
            })?;
        count(&self.calls.mallocs);
        let size =
            usize::try_from(bytes).map_err(|_| DriverError::new("hipMalloc", ErrorCode::OUT_OF_MEMORY));
        let result = size.and_then(|size| match stream {
            Some(stream) => stream.for_work().and_then(|raw| {
                // SAFETY: the stream is live as long as it is borrowed here.
                unsafe { self.driver.malloc_async(self.device, size, raw) }
            }),
            None => self.driver.malloc(self.device, size),
        });
        match &result {
            Ok(ptr) => {
                self.peak_reserved.fetch_max(before + bytes, Ordering::Relaxed);
                if self.has_observer {
                    let addresses = bytes as usize * if self.separated { 2 } else { 1 };
                    self.note(&Note::PoolSegment { device: self.device, segment: *ptr, addresses });
                }
                self.trace(PoolTraceAction::Grow, ptr.0, bytes, stream.map_or(0, DriverStream::number), None);
            }
            Err(_) => {
                self.reserved.fetch_sub(bytes, Ordering::Relaxed);
            }
        }
        result
    }

    /// Returns memory to the driver. No work in flight may use it, except work that comes before this on `stream`. The
    /// caller holds no lock.
    pub(crate) fn release(
        &self,
        address: u64,
        bytes: u64,
        stream: Option<&DriverStream>,
    ) -> DriverResult<()> {
        count(&self.calls.frees);
        let ptr = DevicePtr(address);
        if let Some(stream) = stream
            && !stream.is_of_this_thread()
        {
            // What the free can't be ordered behind has to be done.
            self.driver.device_synchronize(self.device)?;
        }
        let result = match stream {
            Some(stream) => stream.for_work().and_then(|raw| {
                // SAFETY: this pool's own memory, and work that uses it comes before this on the stream.
                unsafe { self.driver.free_async(self.device, ptr, raw) }
            }),
            // SAFETY: this pool's own memory, which no work in flight uses.
            None => unsafe { self.driver.free(self.device, ptr) },
        };
        if result.is_ok() {
            self.reserved.fetch_sub(bytes, Ordering::Relaxed);
            self.trace(
                PoolTraceAction::Release,
                address,
                bytes,
                stream.map_or(0, DriverStream::number),
                None,
            );
        }
        result
    }

    #[inline]
    pub(crate) fn trace(
        &self,
        action: PoolTraceAction,
        address: u64,
        bytes: u64,
        stream: u64,
        event: Option<RawEvent>,
    ) {
        if self.tracer.is_on() {
            self.tracer.note(action, self.device, address, bytes, stream, event);
        }
    }

    /// Makes `thief` wait for everything enqueued on `owner` so far. Does nothing if `owner` was destroyed.
    pub(crate) fn order(&self, owner: &StreamRef, thief: &DriverStream) -> DriverResult<()> {
        let Some(owner) = owner.stream.upgrade() else { return Ok(()) };
        // No event can be recorded on another thread's default stream, and none be waited for there.
        if !owner.is_of_this_thread() || !thief.is_of_this_thread() {
            count(&self.calls.synchronizes);
            return self.driver.device_synchronize(owner.device());
        }
        let event = self.event(owner.device())?;
        let driver = &self.driver;
        count(&self.calls.records);
        // SAFETY: both streams are alive here, and the event is ours and of the owner's device.
        let result = unsafe { driver.event_record(owner.device(), event, owner.raw()) }.and_then(|()| {
            count(&self.calls.waits);
            self.trace(PoolTraceAction::Wait, 0, 0, thief.number(), Some(event));
            // SAFETY: `thief` is alive as it is borrowed; the event is the pool's, and was recorded above.
            unsafe { driver.stream_wait_event(thief.device(), thief.for_work()?, event) }
        });
        // An enqueued wait stays valid when its event is recorded again or destroyed.
        self.give_back(owner.device(), event);
        result
    }

    /// Returns an event of a device, which may be another than the pool's.
    fn event(&self, device: DeviceId) -> DriverResult<RawEvent> {
        if device == self.device
            && let Some(event) = self.events.lock().unwrap_or_else(PoisonError::into_inner).pop()
        {
            return Ok(event);
        }
        self.driver.event_create(device, EventOptions::default())
    }

    fn give_back(&self, device: DeviceId, event: RawEvent) {
        if device == self.device {
            let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
            if events.len() < EVENTS_KEPT {
                events.push(event);
                return;
            }
        }
        destroy(&*self.driver, device, event);
    }
}

fn destroy(driver: &dyn Driver, device: DeviceId, event: RawEvent) {
    // SAFETY: the event is the pool's own, and nothing uses it any more.
    if let Err(e) = unsafe { driver.event_destroy(device, event) } {
        log::warn!("destroying an event of {device}: {e}");
    }
}

impl Drop for PoolShared {
    fn drop(&mut self) {
        let events = self.events.get_mut().unwrap_or_else(PoisonError::into_inner);
        for event in events.drain(..) {
            destroy(&*self.driver, self.device, event);
        }
    }
}

/// A stream that uses a block. It may have been destroyed.
#[derive(Clone, Debug)]
pub(crate) struct StreamRef {
    pub(crate) stream: Weak<DriverStream>,
    pub(crate) number: u64,
}

impl StreamRef {
    pub(crate) fn new(stream: &Arc<DriverStream>) -> StreamRef {
        StreamRef { stream: Arc::downgrade(stream), number: stream.number() }
    }

    /// Whether the stream is alive and captured by this library.
    pub(crate) fn is_capturing(&self) -> bool {
        self.stream.upgrade().is_some_and(|stream| stream.is_capturing())
    }
}

impl PartialEq for StreamRef {
    fn eq(&self, other: &StreamRef) -> bool {
        self.number == other.number
    }
}

/// A fence in the order of one stream.
pub(crate) enum Fence {
    /// A recorded event.
    Event { device: DeviceId, event: RawEvent },
    /// Recording an event failed: the fence is reached when the stream is idle.
    Stream(Arc<DriverStream>),
}

/// Returns whether work has finished, by the answer to a query. A lost device runs nothing any more.
fn has_finished(answer: DriverResult<bool>) -> bool {
    answer.unwrap_or_else(|e| e.code.is_sticky())
}

impl Fences for PoolShared {
    type Stream = StreamRef;
    type Fence = Fence;

    fn record(&self, stream: &StreamRef) -> Recorded<Fence> {
        // A stream waits for its work before it is destroyed.
        let Some(stream) = stream.stream.upgrade() else { return Recorded::Nothing };
        // A record on a captured stream would say nothing of the work before the capture.
        if !stream.is_of_this_thread() || stream.is_capturing() {
            return Recorded::Fence(Fence::Stream(stream));
        }
        count(&self.calls.records);
        let recorded = self.event(stream.device()).and_then(|event| {
            // SAFETY: a live stream and an event of its device.
            match unsafe { self.driver.event_record(stream.device(), event, stream.raw()) } {
                Ok(()) => Ok(Fence::Event { device: stream.device(), event }),
                Err(e) => {
                    self.give_back(stream.device(), event);
                    Err(e)
                }
            }
        });
        Recorded::Fence(recorded.unwrap_or(Fence::Stream(stream)))
    }

    fn reached(&self, fence: &Fence) -> bool {
        match fence {
            Fence::Event { device, event } => {
                count(&self.calls.queries);
                // SAFETY: the event is ours until it is recycled.
                has_finished(unsafe { self.driver.event_query(*device, *event) })
            }
            Fence::Stream(stream) => {
                count(&self.calls.queries);
                has_finished(stream.query())
            }
        }
    }

    fn wait(&self, fence: &Fence) -> bool {
        match fence {
            Fence::Event { device, event } => {
                count(&self.calls.synchronizes);
                // SAFETY: the event is the pool's until it is recycled.
                unsafe { self.driver.event_synchronize(*device, *event) }.is_ok()
            }
            Fence::Stream(stream) => {
                count(&self.calls.synchronizes);
                stream.synchronize().is_ok()
            }
        }
    }

    fn recycle(&self, fence: Fence) {
        if let Fence::Event { device, event } = fence {
            self.give_back(device, event);
        }
    }
}
