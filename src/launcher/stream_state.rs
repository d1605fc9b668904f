//! A stream and its state, which launches on it share: the staging ring, the result buffers, the device scratch of each
//! kernel, and the recent launches.

use std::collections::HashMap;
use std::collections::hash_map::Entry as MapEntry;
use std::hash::BuildHasherDefault;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};

use crate::capture::Kept;
use crate::device::Device;
use crate::driver_stream::DriverStream;
use crate::error::Result;
use crate::event::Event;
use crate::fault::LaunchInFlight;
use crate::memory::{DeviceScratchBuffer, PoolBlock, ResultBuffers, ReturnedResults, StagingRing};
use crate::stream::{StreamCore, captured, next_number};
use hip_driver::{Capability, DriverError, ErrorCode, EventOptions, RawStream, StreamOptions, Work};

use super::args::LaunchDims;
use super::device_kernel::DeviceKernel;
use super::launch::{Callee, Later, Stop};
use super::registry::{HandleHasher, KernelHandle};

/// The number of recent launches that each stream keeps for a fault report.
pub(crate) const REMEMBERED: usize = 32;
/// The number of bytes of the kernarg segment that are kept of each recent launch.
const REMEMBERED_BYTES: usize = 64;
/// How often a fault report tries to lock a stream.
const LOCK_TRIES: u32 = 100;
/// The pause between two tries.
const LOCK_PAUSE: std::time::Duration = std::time::Duration::from_micros(100);

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
    /// device memory goes back to the pool then; let go of what the owner's code still uses afterwards.
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
    pub(super) unsafe fn from_raw_with_staging(
        device: &Device,
        stream: RawStream,
        staging: StagingOptions,
    ) -> Result<Stream> {
        // One stream, two names, of which HIP 5 does not know this one.
        let stream = if stream == RawStream::LEGACY { RawStream::NULL } else { stream };
        let _adopting = device.streams().adopting.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |s: &Arc<StreamState>| s.core.raw() == stream && s.core.is_of_this_thread();
        if let Some(known) = device.streams().live().into_iter().find(is_it) {
            device.check()?;
            // Whoever has the handle may enqueue unseen.
            known.core.share();
            return Ok(Stream(known));
        }
        if stream == RawStream::PER_THREAD && !device.raw().capabilities().has(Capability::PerThreadStream) {
            let detail = "this driver does not launch kernels there";
            return Err(
                DriverError::with_detail("hipStreamPerThread", ErrorCode::NOT_SUPPORTED, detail).into()
            );
        }
        // SAFETY: the caller's promise.
        let core = unsafe { StreamCore::adopt(device, stream) }?;
        let state = StreamState::with(core, StreamOptions::default(), staging);
        device.streams().add(&state);
        Ok(Stream(state))
    }

    pub(super) fn with_staging(
        device: &Device,
        options: StreamOptions,
        staging: StagingOptions,
    ) -> Result<Stream> {
        let stream_state = StreamState::new(device, options, staging)?;
        device.streams().add(&stream_state);
        Ok(Stream(stream_state))
    }

    #[inline]
    pub(crate) fn core(&self) -> &StreamCore {
        &self.0.core
    }

    /// Returns the stream's device.
    #[inline]
    pub fn device(&self) -> &Device {
        self.core().device()
    }

    /// Returns the driver's handle (`hipStream_t`), which is valid as long as the stream lives, for libraries that enqueue
    /// work of their own. What they enqueue stands in one order with launches. Memory of this library that they use must
    /// live until their work is done, or be freed in the order of this stream, as buffers allocated on it are.
    #[inline]
    pub fn as_raw(&self) -> RawStream {
        self.core().share()
    }

    /// Enqueues work on the stream outside of a launch.
    ///
    /// # Safety
    /// As [`Driver::enqueue`](hip_driver::Driver::enqueue), for the stream's device.
    pub(crate) unsafe fn enqueue_work(&self, work: &Work<'_>) -> Result<()> {
        let device = self.device();
        if work.host_memory().is_some() {
            self.core().refuse_if_captured("a copy from or to host memory")?;
        }
        let stream = self.core().for_work().map_err(|e| device.error(e))?;
        // SAFETY: the caller's promise; the stream is live, and of this device.
        unsafe { device.raw().enqueue(device.id(), stream, work) }.map_err(|e| device.error(e))
    }

    /// Returns whether others made the stream.
    pub fn is_adopted(&self) -> bool {
        self.core().is_adopted()
    }

    /// Returns the stream's number, which no other stream of the process has.
    #[inline]
    pub fn number(&self) -> u64 {
        self.core().number()
    }

    /// Records that work on this stream uses a pool block that was allocated for another stream. When the block's last
    /// owner drops it, the pool holds the block back until all work that is enqueued on this stream by then has
    /// finished.
    ///
    /// Does nothing for a block of this stream, where the stream's order is enough. A launch records the uses of its
    /// own arguments.
    ///
    /// Call it before the last owner drops the block. It does not order the streams: make this stream wait for the
    /// block's own stream first, with an [`Event`](crate::Event).
    #[inline]
    pub fn record_use(&self, block: &PoolBlock) {
        self.core().record_use(block);
    }

    /// Returns whether all work on the stream has finished. Never waits.
    ///
    /// # Errors
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if the device is lost; else returns the driver's error.
    pub fn is_idle(&self) -> Result<bool> {
        if self.core().is_capturing() {
            return Err(captured("`is_idle`"));
        }
        self.core().is_idle()
    }

    /// Waits for all work on the stream. Then releases the modules and the device scratch of unregistered kernels whose
    /// last launch has finished, and cached pool segments of the stream above the pool's soft target.
    ///
    /// # Errors
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if a kernel has faulted; else returns the driver's error.
    pub fn synchronize(&self) -> Result<()> {
        self.0.core.synchronize()?;
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
        self.device().pool().empty_cache()?;
        Ok(())
    }
}

/// The size of a stream's staging ring: the bytes of a staging buffer and the greatest number of buffers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StagingOptions {
    pub(crate) buffer_bytes: usize,
    pub(crate) max_buffers: usize,
}

impl Default for StagingOptions {
    fn default() -> StagingOptions {
        StagingOptions { buffer_bytes: 256 * 1024, max_buffers: 4 }
    }
}

/// The streams of a device that are alive.
#[derive(Debug, Default)]
pub(crate) struct StreamStates {
    all: Mutex<Vec<Weak<StreamState>>>,
    /// Held while a stream is looked for and adopted, so that two threads find one state.
    adopting: Mutex<()>,
}

impl StreamStates {
    fn add(&self, stream_state: &Arc<StreamState>) {
        let mut states = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        states.retain(|l| l.strong_count() > 0);
        states.push(Arc::downgrade(stream_state));
    }

    pub(crate) fn live(&self) -> Vec<Arc<StreamState>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).iter().filter_map(Weak::upgrade).collect()
    }

    /// Returns the recent launches on them that the host has not seen complete.
    pub(crate) fn in_flight(&self) -> Vec<LaunchInFlight> {
        self.live().iter().flat_map(|stream_state| stream_state.in_flight()).collect()
    }
}

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
    pub(crate) core: StreamCore,
    /// Streams for the branches of graphs. A graph makes later work of `core` wait for its work on them.
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

/// A kernel on a stream.
#[derive(Debug)]
pub(crate) struct KernelOnStream {
    /// The kernel that the handle named at its last launch by handle, until it is unregistered or replaced; none if it was
    /// launched without its handle since.
    pub(super) kernel: Option<Arc<DeviceKernel>>,
    /// [`DeviceKernel::id`] of the kernel whose arguments `memory` holds.
    id: u64,
    /// The dimensions that were checked last.
    pub(super) checked_dims: Option<LaunchDims>,
    pub(super) memory: KernelMemory,
}

/// The memory of a kernel on a stream.
#[derive(Debug)]
pub(crate) struct KernelMemory {
    /// The kernarg segment at its full size; hidden arguments and padding stay zero.
    pub(super) kernarg: Vec<u8>,
    pub(super) scratch: DeviceScratchBuffer,
    /// What the start of the scratch holds, as far as the host copied it there.
    pub(super) shadow: Vec<u8>,
    pub(super) shadow_good: bool,
}

#[derive(Clone, Copy, Debug)]
struct RecentLaunch {
    sequence: u64,
    /// [`DeviceKernel::id`].
    kernel: u64,
    dims: LaunchDims,
    bytes: u32,
    start: [u8; REMEMBERED_BYTES],
}

/// Something that work in flight may still use, such as a module or a device scratch. It is dropped once the fence is
/// reached.
struct RetiredResource {
    sequence: u64,
    fence: Event,
    /// The [`DeviceKernel::id`] whose name is removed then.
    kernel: Option<u64>,
    _kept: Box<dyn std::any::Any + Send>,
}

impl std::fmt::Debug for RetiredResource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RetiredResource").field("sequence", &self.sequence).finish_non_exhaustive()
    }
}

impl StreamState {
    pub(crate) fn new(
        device: &Device,
        stream: StreamOptions,
        options: StagingOptions,
    ) -> Result<Arc<StreamState>> {
        Ok(StreamState::with(StreamCore::new(device, stream)?, stream, options))
    }

    /// The state of a stream; those beside it are made with `stream`.
    fn with(core: StreamCore, stream: StreamOptions, options: StagingOptions) -> Arc<StreamState> {
        let state = EnqueueState {
            ring: StagingRing::new(options.buffer_bytes, options.max_buffers),
            results: ResultBuffers::default(),
            kernels: KernelsOnStream::default(),
            recent: RecentLaunches::new(),
            retired: Vec::new(),
        };
        Arc::new(StreamState {
            state: Mutex::new(state),
            returned: ReturnedResults::new(),
            retired: AtomicUsize::new(0),
            captured: Mutex::default(),
            names: Mutex::default(),
            core,
            side: Mutex::default(),
            options: stream,
        })
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
        let device = self.core.device();
        while side.len() < count {
            // Ordered by events alone, whatever the null stream does meanwhile.
            let options = StreamOptions { blocking: false, ..self.options };
            let stream = DriverStream::new(device.driver(), device.id(), options, next_number());
            side.push(stream.map_err(|e| device.error(e))?);
        }
        Ok(side.iter().take(count).map(DriverStream::raw).collect())
    }

    fn names(&self) -> MutexGuard<'_, HashMap<u64, Arc<str>>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the name of a kernel that is about to be launched here. It is kept until the kernel's last launch has
    /// finished.
    pub(super) fn note_name(&self, kernel: &DeviceKernel) {
        self.names().insert(kernel.id, kernel.name.clone());
    }

    fn forget_name(&self, kernel: Option<u64>) {
        if let Some(id) = kernel {
            self.names().remove(&id);
        }
    }

    /// Keeps `owner`, and the name and the memory of kernel `kernel`, until all work enqueued so far has finished.
    pub(super) fn retire(&self, kernel: u64, owner: Box<dyn std::any::Any + Send>) {
        let memory: Vec<KernelOnStream> = {
            let kernels = &mut self.lock().kernels.0;
            let retired: Vec<KernelHandle> =
                kernels.iter().filter(|(_, k)| k.id == kernel).map(|(handle, _)| *handle).collect();
            retired.iter().filter_map(|handle| kernels.remove(handle)).collect()
        };
        self.keep(Some(kernel), Box::new((owner, memory)));
    }

    /// Keeps something that work on the stream uses until all work enqueued so far has finished.
    pub(crate) fn keep_until_done(&self, what: Box<dyn std::any::Any + Send>) {
        self.keep(None, what);
    }

    /// Does what [`keep_until_done`](StreamState::keep_until_done) does, and keeps the name of `kernel` as long.
    fn keep(&self, kernel: Option<u64>, what: Box<dyn std::any::Any + Send>) {
        if self.core.is_capturing() {
            self.captured().other(what);
            self.forget_name(kernel);
            return;
        }
        let fence = Event::new(self.core.device(), EventOptions::default());
        let mut state = self.lock();
        let sequence = self.core.enqueued();
        if self.core.completed() >= sequence || self.core.device().check().is_err() {
            drop(state);
            drop(what);
            self.forget_name(kernel);
            return;
        }
        let fence = fence.and_then(|e| {
            // The stream of a thread has no name on another.
            self.core.check()?;
            let device = self.core.device();
            // SAFETY: both are live and of one device.
            unsafe { device.raw().event_record(device.id(), e.raw(), self.core.raw()) }?;
            Ok(e)
        });
        match fence {
            Ok(fence) => {
                state.retired.push(RetiredResource { sequence, fence, kernel, _kept: what });
                self.retired.store(state.retired.len(), Ordering::Relaxed);
            }
            Err(e) => {
                drop(state);
                log::warn!(
                    "no event for a resource that a stream still uses ({e}); waiting for the stream instead"
                );
                if let Err(e) = self.core.synchronize() {
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
                if matches!(self.core.reached(r.sequence, r.fence.raw()), Ok(true)) {
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

    /// Returns the recent launches that the host has not seen complete. Returns none if another thread keeps the stream
    /// locked, which may wait for the same fault.
    pub(crate) fn in_flight(&self) -> Vec<LaunchInFlight> {
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
        let (completed, names) = (self.core.completed(), self.names());
        state
            .recent
            .iter()
            .filter(|r| r.sequence > completed)
            .map(|r| LaunchInFlight {
                kernel: names.get(&r.kernel).cloned().unwrap_or_else(|| Arc::from("(unregistered)")),
                stream: self.core.number(),
                sequence: r.sequence,
                grid: r.dims.grid,
                block: r.dims.block,
                dynamic_lds: r.dims.dynamic_lds,
                argument_bytes: r.bytes,
                arguments: r.start[..REMEMBERED_BYTES.min(r.bytes as usize)].to_vec(),
            })
            .collect()
    }
}

/// The kernels of a stream by handle.
#[derive(Debug, Default)]
pub(crate) struct KernelsOnStream(HashMap<KernelHandle, KernelOnStream, BuildHasherDefault<HandleHasher>>);

impl KernelsOnStream {
    /// Finds the kernel to launch, as it was launched here before. The first launch on the stream looks its handle up
    /// among all registered kernels; later ones rely on [`DeviceKernel::retire`] to take the kernel out of here.
    ///
    /// What is put into `later` is to be dropped once the stream's lock is released.
    #[inline(always)]
    pub(super) fn find(
        &mut self,
        callee: Callee<'_>,
        stream_state: &Arc<StreamState>,
        later: &mut Option<Later>,
    ) -> std::result::Result<&mut KernelOnStream, Box<Stop>> {
        let handle = callee.handle();
        let mut found = match self.0.entry(handle) {
            MapEntry::Occupied(found) => found,
            MapEntry::Vacant(place) => place.insert_entry(KernelOnStream::new(stream_state)),
        };
        let is_current = match callee {
            Callee::Kernel(kernel) => found.get().id == kernel.id,
            Callee::Handle(..) => found.get().kernel.as_ref().is_some_and(|kernel| kernel.is_registered()),
        };
        if !is_current && let Err(stop) = found.get_mut().look_up(callee, stream_state, later) {
            if found.get().id == 0 {
                found.remove();
            }
            return Err(stop);
        }
        Ok(found.into_mut())
    }
}

#[cfg(all(test, feature = "emulator"))]
impl KernelsOnStream {
    pub(super) fn memory_of(&mut self, handle: KernelHandle) -> Option<&mut KernelMemory> {
        self.0.get_mut(&handle).map(|kernel| &mut kernel.memory)
    }
}

impl KernelOnStream {
    #[cold]
    fn new(stream_state: &StreamState) -> KernelOnStream {
        KernelOnStream {
            kernel: None,
            id: 0,
            checked_dims: None,
            memory: KernelMemory {
                kernarg: Vec::new(),
                scratch: DeviceScratchBuffer::new(stream_state.core.device()),
                shadow: Vec::new(),
                shadow_good: false,
            },
        }
    }

    /// Makes this the entry of another kernel: at its first launch here, or when its handle's kernel was replaced.
    #[cold]
    fn look_up(
        &mut self,
        callee: Callee<'_>,
        stream_state: &Arc<StreamState>,
        later: &mut Option<Later>,
    ) -> std::result::Result<(), Box<Stop>> {
        let later = later.get_or_insert_default();
        let device = stream_state.core.device();
        loop {
            let on_device = match callee {
                Callee::Kernel(kernel) => kernel.loaded_on(device)?,
                Callee::Handle(registry, handle) => {
                    let kernel = registry.get(handle)?;
                    later.push(kernel.clone());
                    kernel.loaded_on(device)?
                }
            };
            let Some(kernel) = on_device else { return Err(Box::new(Stop::NotLoaded)) };
            kernel.runs_on(stream_state);
            if self.id != kernel.id {
                self.id = kernel.id;
                self.checked_dims = None;
                self.memory.kernarg.clear();
                self.memory.kernarg.resize(kernel.kernarg_bytes as usize, 0);
            }
            // Asked after `runs_on`: from then on, whoever unregisters the kernel finds it on this stream.
            let is_it = matches!(callee, Callee::Kernel(_)) || kernel.is_registered();
            if let Some(old) = self.kernel.replace(kernel) {
                later.push(old);
            }
            if is_it {
                return Ok(());
            }
        }
    }
}

/// The last launches on a stream, for a fault report.
#[derive(Debug)]
pub(crate) struct RecentLaunches {
    /// Those at position 0 have not been launched yet.
    ring: Box<[RecentLaunch; REMEMBERED]>,
    /// The index of the oldest launch, modulo their number; the next launch overwrites it.
    next: usize,
}

impl RecentLaunches {
    fn new() -> RecentLaunches {
        let none = RecentLaunch {
            sequence: 0,
            kernel: 0,
            dims: LaunchDims::linear(0, 0),
            bytes: 0,
            start: [0; REMEMBERED_BYTES],
        };
        RecentLaunches { ring: Box::new([none; REMEMBERED]), next: 0 }
    }

    #[inline]
    pub(crate) fn push(
        &mut self,
        sequence: u64,
        kernel: u64,
        dims: &LaunchDims,
        explicit_bytes: u32,
        kernarg: &[u8],
    ) {
        let recent = &mut self.ring[self.next % REMEMBERED];
        self.next = self.next.wrapping_add(1);
        (recent.sequence, recent.kernel, recent.dims) = (sequence, kernel, *dims);
        recent.bytes = explicit_bytes;
        match kernarg.first_chunk::<REMEMBERED_BYTES>() {
            Some(first) => recent.start = *first,
            None => recent.start[..kernarg.len()].copy_from_slice(kernarg),
        }
    }

    /// Iterates over the launches, the oldest first.
    fn iter(&self) -> impl Iterator<Item = &RecentLaunch> {
        let oldest = self.next % REMEMBERED;
        self.ring[oldest..].iter().chain(&self.ring[..oldest])
    }
}

impl Drop for StreamState {
    fn drop(&mut self) {
        self.abandon_capture();
        // A lost device runs nothing any more, and its error was returned before.
        if self.core.completed() < self.core.enqueued()
            && self.core.device().check().is_ok()
            && let Err(e) = self.core.synchronize()
        {
            log::warn!("waiting for a stream that is dropped: {e}");
        }
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        state.ring.clear(&self.core);
        state.kernels.0.clear();
        state.retired.clear();
        state.results.clear(&self.core);
    }
}
