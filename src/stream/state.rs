//! What launches on a stream share: the driver's stream, the staging ring, the result buffers, the kernels that were
//! launched on it, and the recent launches.

use std::any::Any;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};

use crate::code::{KernelHandle, KernelUser};
use crate::device::{Device, LiveStream};
use crate::driver_stream::{DriverStream, Progress};
use crate::error::{Error, Result};
use crate::fault::LaunchInFlight;
use crate::pool::{PoolBlock, StreamArena, StreamRef};
use crate::staging::{ResultBuffers, ReturnedResults, StagingOptions, StagingRing};
use hip_driver::{EventOptions, RawStream, StreamOptions};

use super::capture::Kept;
use super::event::Event;
use super::kernels::{KernelOnStream, KernelsOnStream};
use super::recent::{RECENT_ARGUMENT_BYTES, RecentLaunches};

/// How often a fault report tries to lock a stream.
const LOCK_TRIES: u32 = 100;
/// The pause between two tries.
const LOCK_PAUSE: std::time::Duration = std::time::Duration::from_micros(100);

/// A stream and the state that launches on it share. One lock makes the enqueuing of a launch atomic. Tickets return
/// their result buffers without it, from any thread.
///
/// Aligned to two cache lines, which a processor may fetch together, so that no two streams write the same ones.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct StreamState {
    // Fields are dropped in this order: the memory of state and result buffers is freed before the stream is destroyed.
    state: Mutex<EnqueueState>,
    /// The result buffers that no launch has taken again yet.
    pub(crate) returned: ReturnedResults,
    retired: AtomicUsize,
    /// What the capture of this stream uses.
    captured: Mutex<Kept>,
    /// The names of kernels that may be launched here, by [`DeviceKernel::id`].
    names: Mutex<HashMap<u64, Arc<str>>>,
    device: Device,
    /// Whether [`check`](StreamState::check) has more to check than the device: a per-thread stream, or one that is
    /// captured.
    needs_slow_check: AtomicBool,
    pub(crate) driver_stream: Arc<DriverStream>,
    /// The stream's segments and blocks in the device's pool.
    arena: Arc<StreamArena>,
    /// Streams for the branches of graphs. A graph makes later work of this stream wait for its work on them.
    side: Mutex<Vec<DriverStream>>,
    options: StreamOptions,
}

#[derive(Debug)]
pub(crate) struct EnqueueState {
    pub(crate) ring: StagingRing,
    pub(crate) results: ResultBuffers,
    pub(crate) kernels: KernelsOnStream,
    pub(crate) recent: RecentLaunches,
    retired: Vec<RetiredResource>,
}

/// Something that work in flight may still use, such as a module or a device scratch. It is dropped once the fence is
/// reached.
struct RetiredResource {
    position: u64,
    fence: Event,
    /// The [`DeviceKernel::id`] whose name is removed then.
    kernel: Option<u64>,
    _kept: Box<dyn Any + Send>,
}

impl std::fmt::Debug for RetiredResource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RetiredResource").field("position", &self.position).finish_non_exhaustive()
    }
}

impl StreamState {
    /// The state of a stream; those for the branches of graphs are created with `options`.
    pub(super) fn new(
        device: &Device,
        driver_stream: DriverStream,
        options: StreamOptions,
        staging: StagingOptions,
    ) -> Arc<StreamState> {
        let driver_stream = Arc::new(driver_stream);
        let state = EnqueueState {
            ring: StagingRing::new(device, staging),
            results: ResultBuffers::new(device),
            kernels: KernelsOnStream::default(),
            recent: RecentLaunches::new(),
            retired: Vec::new(),
        };
        let stream_state = Arc::new(StreamState {
            state: Mutex::new(state),
            returned: ReturnedResults::new(),
            retired: AtomicUsize::new(0),
            captured: Mutex::default(),
            names: Mutex::default(),
            device: device.clone(),
            needs_slow_check: AtomicBool::new(driver_stream.raw() == RawStream::PER_THREAD),
            arena: device.pool_core().join(&driver_stream),
            driver_stream,
            side: Mutex::default(),
            options,
        });
        let live: Weak<StreamState> = Arc::downgrade(&stream_state);
        device.streams().add(live);
        stream_state
    }

    /// The states of a device's streams that are alive.
    pub(crate) fn live_on(device: &Device) -> Vec<Arc<StreamState>> {
        let states = device.streams().live().into_iter();
        states.filter_map(|state| (state as Arc<dyn Any + Send + Sync>).downcast().ok()).collect()
    }

    /// Returns the stream's device.
    #[inline]
    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// Returns the position of the last work that was enqueued, and of the last that the host has seen complete.
    #[inline]
    pub(crate) fn progress(&self) -> &Progress {
        &self.driver_stream.progress
    }

    /// Fails once the device is lost, on a thread on which the driver's handle means another stream, and while the
    /// stream is captured by this library. Makes no device call.
    ///
    /// # Errors
    /// As [`Device::check`]; [`Error::Invalid`] for a per-thread stream of another thread; [`Error::Captured`].
    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        self.device.check()?;
        if self.needs_slow_check.load(Ordering::Relaxed) { self.check_slow() } else { Ok(()) }
    }

    #[cold]
    fn check_slow(&self) -> Result<()> {
        self.check_thread()?;
        if self.driver_stream.is_capturing() { Err(captured("the call")) } else { Ok(()) }
    }

    fn check_thread(&self) -> Result<()> {
        if self.driver_stream.is_of_this_thread() {
            return Ok(());
        }
        Err(Error::invalid("Stream", "a per-thread default stream is used on another thread than its own"))
    }

    /// Does what [`check`](StreamState::check) does, for work that can be captured.
    ///
    /// # Errors
    /// Those of [`check`](StreamState::check), but never [`Error::Captured`].
    pub(crate) fn check_capturable(&self) -> Result<()> {
        self.device.check()?;
        self.check_thread()
    }

    /// Checks that the stream is on the device of `object`, which the call `what` uses.
    ///
    /// # Errors
    /// [`Error::Invalid`] with both devices.
    #[inline]
    pub(crate) fn check_device(&self, device: &Device, what: &'static str, object: &str) -> Result<()> {
        if self.device == *device { Ok(()) } else { Err(self.other_device(device, what, object)) }
    }

    #[cold]
    fn other_device(&self, device: &Device, what: &'static str, object: &str) -> Error {
        let (stream, device) = (self.device.id(), device.id());
        Error::invalid(what, format!("the stream is on {stream}, the {object} on {device}"))
    }

    pub(super) fn set_capturing(&self, capturing: bool) {
        self.driver_stream.set_capturing(capturing);
        let needs_slow_check = capturing || self.driver_stream.raw() == RawStream::PER_THREAD;
        self.needs_slow_check.store(needs_slow_check, Ordering::Relaxed);
    }

    /// Fails if the stream is captured, by this library or, if it is adopted, by its owner. Asks the driver about an
    /// adopted stream.
    ///
    /// # Errors
    /// [`Error::Captured`]; the driver's error.
    #[inline]
    pub(crate) fn refuse_if_captured(&self, what: &'static str) -> Result<()> {
        if self.driver_stream.is_capturing()
            || self.driver_stream.is_adopted() && self.is_captured_by_driver()?
        {
            return Err(captured(what));
        }
        Ok(())
    }

    /// Asks the driver whether the stream is captured, by whomever.
    #[cold]
    pub(super) fn is_captured_by_driver(&self) -> Result<bool> {
        self.driver_stream.is_captured_by_driver().map_err(|e| self.device.error(e))
    }

    /// The stream's segments and blocks in the device's pool.
    #[inline]
    pub(crate) fn arena(&self) -> &Arc<StreamArena> {
        &self.arena
    }

    /// See [`Stream::record_use`](crate::Stream::record_use).
    #[inline(always)]
    pub(crate) fn record_use(&self, block: &PoolBlock) {
        if !block.has_recorded(self.driver_stream.number()) {
            block.record_use(StreamRef::new(&self.driver_stream));
        }
    }

    /// Waits for all work on the stream, and then frees cached segments above the pool's soft target.
    ///
    /// # Errors
    /// Returns the driver's error; [`Error::DeviceLost`] if a kernel has faulted.
    pub(crate) fn synchronize(&self) -> Result<()> {
        self.device.check()?;
        if self.driver_stream.is_capturing() {
            return Err(captured("`synchronize`"));
        }
        let upto = self.progress().enqueued();
        // Taken out of the arena before the wait, so that work enqueued from now on can't use them.
        let excess = self.device.pool_core().take_excess(&self.arena);
        if let Err(e) = self.driver_stream.synchronize() {
            self.arena.put_back(excess);
            return Err(self.device.error(e));
        }
        self.progress().mark_completed(upto);
        if !excess.is_empty() {
            self.arena.release_to_driver(excess).map_err(|e| self.device.error(e))?;
        }
        Ok(())
    }

    /// Returns whether all work on the stream has finished. Never waits.
    ///
    /// # Errors
    /// [`Error::DeviceLost`] if the device is lost; else returns the driver's error.
    pub(crate) fn is_idle(&self) -> Result<bool> {
        self.device.check()?;
        let upto = self.progress().enqueued();
        let idle = self.driver_stream.query().map_err(|e| self.device.error(e))?;
        if idle {
            self.progress().mark_completed(upto);
        }
        Ok(idle)
    }

    /// Locks the state for enqueuing. A lock that a panic poisoned is taken all the same: the next launch packs
    /// everything again, so no change that was left half done matters.
    #[inline]
    pub(crate) fn lock(&self) -> MutexGuard<'_, EnqueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the capture of this stream uses, for as long as its graph lives.
    pub(crate) fn captured(&self) -> MutexGuard<'_, Kept> {
        self.captured.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns `count` streams for the branches of a graph, and creates those that are missing. They live as long as
    /// this stream's state.
    pub(crate) fn side_streams(&self, count: usize) -> Result<Vec<RawStream>> {
        let mut side = self.side.lock().unwrap_or_else(PoisonError::into_inner);
        let device = &self.device;
        while side.len() < count {
            // Ordered by events alone, whatever the null stream does meanwhile.
            let options = StreamOptions { blocking: false, ..self.options };
            let stream = DriverStream::new(device.driver(), device.id(), options);
            side.push(stream.map_err(|e| device.error(e))?);
        }
        Ok(side.iter().take(count).map(DriverStream::raw).collect())
    }

    fn names(&self) -> MutexGuard<'_, HashMap<u64, Arc<str>>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn forget_name(&self, kernel: Option<u64>) {
        if let Some(id) = kernel {
            self.names().remove(&id);
        }
    }

    /// Keeps something that work on the stream uses until all work enqueued so far has finished.
    pub(crate) fn keep_until_done(&self, what: Box<dyn Any + Send>) {
        self.keep(None, what);
    }

    /// Does what [`keep_until_done`](StreamState::keep_until_done) does, and keeps the name of `kernel` as long.
    fn keep(&self, kernel: Option<u64>, what: Box<dyn Any + Send>) {
        if self.driver_stream.is_capturing() {
            self.captured().other(what);
            self.forget_name(kernel);
            return;
        }
        let fence = Event::new(&self.device, EventOptions::default());
        let mut state = self.lock();
        let position = self.progress().enqueued();
        if self.progress().completed() >= position || self.device.check().is_err() {
            drop(state);
            drop(what);
            self.forget_name(kernel);
            return;
        }
        let fence = fence.and_then(|e| {
            // The stream of a thread has no name on another.
            self.check()?;
            let device = &self.device;
            // SAFETY: both are live and of one device.
            unsafe { device.raw().event_record(device.id(), e.raw(), self.driver_stream.raw()) }?;
            Ok(e)
        });
        match fence {
            Ok(fence) => {
                state.retired.push(RetiredResource { position, fence, kernel, _kept: what });
                self.retired.store(state.retired.len(), Ordering::Relaxed);
            }
            Err(e) => {
                drop(state);
                log::warn!(
                    "no event for a resource that a stream still uses ({e}); waiting for the stream instead"
                );
                if let Err(e) = self.synchronize() {
                    log::warn!("waiting for a stream: {e}");
                }
                drop(what);
                self.forget_name(kernel);
            }
        }
    }

    /// Drops retired resources whose fence has been reached. Never waits.
    #[inline]
    pub(crate) fn collect(&self) {
        if self.retired.load(Ordering::Relaxed) != 0 {
            self.collect_retired();
        }
    }

    #[cold]
    fn collect_retired(&self) {
        let mut done = Vec::new();
        {
            let mut state = self.lock();
            let mut i = 0;
            while i < state.retired.len() {
                let r = &state.retired[i];
                if matches!(self.driver_stream.reached(r.position, r.fence.raw()), Ok(true)) {
                    done.push(state.retired.swap_remove(i));
                } else {
                    i += 1;
                }
            }
            self.retired.store(state.retired.len(), Ordering::Relaxed);
        }
        done.iter().for_each(|r| self.forget_name(r.kernel));
        // Dropped without the lock, because unloading and freeing are driver calls.
        drop(done);
    }
}

impl LiveStream for StreamState {
    /// Returns none if another thread keeps the stream locked, which may wait for the same fault.
    fn in_flight(&self) -> Vec<LaunchInFlight> {
        let mut tries = 0;
        let state = loop {
            match self.state.try_lock() {
                Ok(state) => break state,
                Err(TryLockError::Poisoned(e)) => break e.into_inner(),
                Err(TryLockError::WouldBlock) if tries < LOCK_TRIES => {
                    tries += 1;
                    std::thread::sleep(LOCK_PAUSE);
                }
                Err(TryLockError::WouldBlock) => return Vec::new(),
            }
        };
        let (completed, names) = (self.progress().completed(), self.names());
        state
            .recent
            .iter()
            .filter(|r| r.position > completed)
            .map(|r| LaunchInFlight {
                kernel: names.get(&r.kernel).cloned().unwrap_or_else(|| Arc::from("(unregistered)")),
                stream: self.driver_stream.number(),
                position: r.position,
                grid: r.dims.grid,
                block: r.dims.block,
                dynamic_lds: r.dims.dynamic_lds,
                argument_bytes: r.bytes,
                arguments: r.start[..RECENT_ARGUMENT_BYTES.min(r.bytes as usize)].to_vec(),
            })
            .collect()
    }
}

impl KernelUser for StreamState {
    fn name_kernel(&self, kernel: u64, name: &Arc<str>) {
        self.names().insert(kernel, name.clone());
    }

    fn retire(&self, kernel: u64, owner: Box<dyn Any + Send>) {
        let memory: Vec<KernelOnStream> = {
            let kernels = &mut self.lock().kernels.0;
            let retired: Vec<KernelHandle> =
                kernels.iter().filter(|(_, k)| k.id == kernel).map(|(handle, _)| *handle).collect();
            retired.iter().filter_map(|handle| kernels.remove(handle)).collect()
        };
        self.keep(Some(kernel), Box::new((owner, memory)));
    }
}

impl Drop for StreamState {
    fn drop(&mut self) {
        self.abandon_capture();
        // A lost device runs nothing any more, and its error was returned before.
        if self.progress().completed() < self.progress().enqueued()
            && self.device.check().is_ok()
            && let Err(e) = self.synchronize()
        {
            log::warn!("waiting for a stream that is dropped: {e}");
        }
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        state.ring.clear();
        state.kernels.0.clear();
        state.retired.clear();
        state.results.clear();
        // Other streams get its memory then, so its work is waited for first.
        if self.device.check().is_ok()
            && let Err(e) = self.driver_stream.finish()
        {
            log::warn!("waiting for a stream of {} that is dropped: {e}", self.device.id());
            // The arena keeps the driver's stream, so that a stream that takes its memory waits for it first.
            self.arena.keep(&self.driver_stream);
            return;
        }
        self.device.pool_core().leave(self.driver_stream.number());
    }
}

/// The error of a call that can't become a part of a captured stream's graph.
#[cold]
pub(super) fn captured(what: &'static str) -> Error {
    Error::Captured { what }
}
