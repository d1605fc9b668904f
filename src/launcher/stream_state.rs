//! What launches on one stream share: staging ring, result slots, scratch of each kernel, and what is in flight.

use std::collections::HashMap;
use std::collections::hash_map::Entry as MapEntry;
use std::hash::BuildHasherDefault;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};

use crate::device::Device;
use crate::error::{LaunchProblem, Result};
use crate::event::Event;
use crate::fault::LaunchInFlight;
use crate::memory::{DeviceScratchBuffer, PoolBlock, ResultBuffers, StagingRing};
use crate::owned_stream::OwnedStream;
use crate::stream::{StreamCore, next_number};
use hip_driver::{EventOptions, RawStream, StreamOptions, Work};

use super::args::LaunchDims;
use super::kernel::Kernel;
use super::launch::Callee;
use super::registry::{HandleHasher, KernelHandle};

/// Launches remembered for a fault's report.
pub(crate) const REMEMBERED: usize = 32;
/// Bytes of the kernarg segment remembered with each.
const REMEMBERED_BYTES: usize = 64;
/// How long a fault's report waits for a lane: so many times this pause.
const LOCK_TRIES: u32 = 100;
const LOCK_PAUSE: std::time::Duration = std::time::Duration::from_micros(100);

/// A stream of a device: work on it runs in the order in which it was enqueued. Launches and copies go there, and device
/// memory may belong to it. Counts what is enqueued, so that what the host once saw finish is never waited for again.
///
/// Cheap to clone; all clones are the same stream. Dropping the last clone, and the last ticket, waits for its work.
#[derive(Clone, Debug)]
pub struct Stream(pub(crate) Arc<StreamState>);

impl PartialEq for Stream {
    /// Whether both are the same stream.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Stream {}

impl Stream {
    /// Makes a stream on a device; [`Launcher::stream`](crate::Launcher::stream) makes one with the launcher's staging
    /// memory. No staging memory is allocated before a launch needs it.
    ///
    /// # Errors
    /// The driver's.
    pub fn new(device: &Device, options: StreamOptions) -> Result<Stream> {
        Stream::with_staging(device, options, StagingOptions::default())
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

    /// Its device.
    #[inline]
    pub fn device(&self) -> &Device {
        self.core().device()
    }

    /// The driver's handle; good as long as the stream lives.
    #[inline]
    pub fn raw(&self) -> RawStream {
        self.core().share()
    }

    /// Enqueues work on the stream outside of a launch.
    ///
    /// # Safety
    /// As [`Driver::enqueue`](hip_driver::Driver::enqueue), for the stream's device.
    pub(crate) unsafe fn enqueue_work(&self, work: &Work<'_>) -> Result<()> {
        let device = self.device();
        let stream = self.core().for_work().map_err(|e| device.error(e))?;
        // SAFETY: the caller's promise; the stream is live, and of this device.
        unsafe { device.raw().enqueue(device.id(), stream, work) }.map_err(|e| device.error(e))
    }

    /// A number that no other stream of the process has.
    #[inline]
    pub fn number(&self) -> u64 {
        self.core().number()
    }

    /// Records that work on this stream uses a block that was allocated for another stream. When its last owner drops
    /// it, the pool holds the block back until all work that was enqueued here by then has finished. Does nothing for a
    /// block of this stream: the stream's order is enough. A launch records the uses of its own arguments.
    ///
    /// Call it before the last owner is dropped. It does not order the streams: make this one wait for the block's own
    /// stream first ([`Event`](crate::Event)).
    #[inline]
    pub fn record_use(&self, block: &PoolBlock) {
        self.core().record_use(block);
    }

    /// Whether all work on the stream has finished; never waits.
    ///
    /// # Errors
    /// The driver's.
    pub fn is_idle(&self) -> Result<bool> {
        self.core().is_idle()
    }

    /// Waits for all work on the stream, and then lets go of what only waited for that: modules of unregistered
    /// kernels, scratch outgrown.
    ///
    /// # Errors
    /// The driver's; a fault of a kernel comes out here.
    pub fn synchronize(&self) -> Result<()> {
        self.0.core.synchronize()?;
        self.0.collect();
        Ok(())
    }

    /// Bytes of device scratch held for kernels on this stream.
    pub fn scratch_bytes(&self) -> usize {
        self.0.lock().kernels.0.values().map(|k| k.memory.scratch.held()).sum()
    }

    /// Bytes of pinned host memory held for staging and results.
    pub fn pinned_bytes(&self) -> usize {
        self.0.lock().ring.held() + self.0.result_buffers().held()
    }

    /// Waits for the stream, frees its scratch, and gives the device's cached memory to the driver; the next launches
    /// allocate it again.
    ///
    /// # Errors
    /// The driver's.
    pub fn trim(&self) -> Result<()> {
        self.synchronize()?;
        let kernels = std::mem::take(&mut self.0.lock().kernels);
        drop(kernels);
        self.device().pool().empty_cache()?;
        Ok(())
    }
}

/// Limits of a stream's staging memory.
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
pub(crate) struct StreamStates(Mutex<Vec<Weak<StreamState>>>);

impl StreamStates {
    fn add(&self, stream_state: &Arc<StreamState>) {
        let mut states = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        states.retain(|l| l.strong_count() > 0);
        states.push(Arc::downgrade(stream_state));
    }

    pub(crate) fn live(&self) -> Vec<Arc<StreamState>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().filter_map(Weak::upgrade).collect()
    }

    /// The launches on them that are not known to have finished.
    pub(crate) fn in_flight(&self) -> Vec<LaunchInFlight> {
        self.live().iter().flat_map(|stream_state| stream_state.in_flight()).collect()
    }
}

/// A stream and its shared state. One lock makes enqueuing atomic; another guards the result slots, which tickets give
/// back from any thread.
#[derive(Debug)]
pub(crate) struct StreamState {
    // Dropped in this order: state and slots give their memory back before the stream goes.
    state: Mutex<EnqueueState>,
    result_buffers: Mutex<ResultBuffers>,
    retired: AtomicUsize,
    /// The names of kernels that may be launched here, by [`Kernel::id`].
    names: Mutex<HashMap<u64, Arc<str>>>,
    pub(crate) core: StreamCore,
    /// For branches of graphs; their work is before what comes behind it on the lane's own stream.
    side: Mutex<Vec<OwnedStream>>,
    options: StreamOptions,
}

#[derive(Debug)]
pub(crate) struct EnqueueState {
    pub(crate) ring: StagingRing,
    pub(crate) kernels: KernelsOnStream,
    pub(crate) recent: RecentLaunches,
    retired: Vec<RetiredResource>,
}

/// A kernel on a stream.
#[derive(Debug)]
pub(crate) struct KernelOnStream {
    /// The kernel that the handle named at its last launch by handle, until it is unregistered or replaced; none if it was
    /// launched without its handle since.
    pub(super) kernel: Option<Arc<Kernel>>,
    /// [`Kernel::id`] of the kernel whose arguments `memory` holds.
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

#[derive(Debug)]
struct RecentLaunch {
    sequence: u64,
    /// [`Kernel::id`].
    kernel: u64,
    dims: LaunchDims,
    bytes: u32,
    start: [u8; REMEMBERED_BYTES],
}

/// A module, or an entry with its scratch, that work in flight may still use.
struct RetiredResource {
    sequence: u64,
    fence: Event,
    /// The kernel whose name may be forgotten then.
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
        let core = StreamCore::new(device, stream)?;
        let state = EnqueueState {
            ring: StagingRing::new(options.buffer_bytes, options.max_buffers),
            kernels: KernelsOnStream::default(),
            recent: RecentLaunches::new(),
            retired: Vec::new(),
        };
        Ok(Arc::new(StreamState {
            state: Mutex::new(state),
            result_buffers: Mutex::new(ResultBuffers::default()),
            retired: AtomicUsize::new(0),
            names: Mutex::default(),
            core,
            side: Mutex::default(),
            options: stream,
        }))
    }

    /// A panic while enqueuing leaves nothing half-changed that matters: the next launch packs everything anew.
    #[inline]
    pub(crate) fn lock(&self) -> MutexGuard<'_, EnqueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    pub(crate) fn result_buffers(&self) -> MutexGuard<'_, ResultBuffers> {
        self.result_buffers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first `count` streams that run beside this one, made now if there are fewer. They live as long as the lane.
    pub(crate) fn side_streams(&self, count: usize) -> Result<Vec<RawStream>> {
        let mut side = self.side.lock().unwrap_or_else(PoisonError::into_inner);
        let device = self.core.device();
        while side.len() < count {
            let stream = OwnedStream::new(device.driver(), device.id(), self.options, next_number());
            side.push(stream.map_err(|e| device.error(e))?);
        }
        Ok(side.iter().take(count).map(OwnedStream::raw).collect())
    }

    fn names(&self) -> MutexGuard<'_, HashMap<u64, Arc<str>>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers the name of a kernel that is about to be launched here, until its last launch has finished.
    pub(super) fn note_name(&self, kernel: &Kernel) {
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

    /// Keeps something that work on the stream uses until all enqueued so far has finished.
    pub(crate) fn keep_until_done(&self, what: Box<dyn std::any::Any + Send>) {
        self.keep(None, what);
    }

    /// As [`keep_until_done`](Lane::keep_until_done), with the name of `kernel`.
    fn keep(&self, kernel: Option<u64>, what: Box<dyn std::any::Any + Send>) {
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
                log::warn!("no fence for what a stream still uses ({e}); waiting for the stream instead");
                if let Err(e) = self.core.synchronize() {
                    log::warn!("waiting for a stream: {e}");
                }
                drop(what);
                self.forget_name(kernel);
            }
        }
    }

    /// Drops what was retired and has finished; never waits.
    pub(crate) fn collect(&self) {
        if self.retired.load(Ordering::Relaxed) == 0 {
            return;
        }
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
        // Unloading and freeing are driver calls: not under the lock.
        drop(done);
    }

    /// The launches not known to have finished; none where another thread keeps the lane to itself, waiting for the
    /// same fault.
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
    /// among all registered kernels; later ones rely on [`Kernel::retire`] to take the kernel out of here.
    ///
    /// What is put into `later` is to be dropped once the stream's lock is released.
    #[inline(always)]
    pub(super) fn find(
        &mut self,
        callee: Callee<'_>,
        stream_state: &Arc<StreamState>,
        later: &mut Vec<Arc<Kernel>>,
    ) -> Result<&mut KernelOnStream> {
        let handle = match callee {
            Callee::Kernel(kernel) => kernel.handle,
            Callee::Handle(_, handle) => handle,
        };
        let mut found = match self.0.entry(handle) {
            MapEntry::Occupied(found) => found,
            MapEntry::Vacant(place) => place.insert_entry(KernelOnStream::new(stream_state)),
        };
        let is_current = match callee {
            Callee::Kernel(kernel) => found.get().id == kernel.id,
            Callee::Handle(..) => found.get().kernel.as_ref().is_some_and(|kernel| kernel.is_registered()),
        };
        if !is_current && let Err(error) = found.get_mut().look_up(callee, stream_state, later) {
            if found.get().id == 0 {
                found.remove();
            }
            return Err(error);
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
        later: &mut Vec<Arc<Kernel>>,
    ) -> Result<()> {
        later.extend(self.kernel.take());
        match callee {
            Callee::Kernel(kernel) => self.becomes(kernel, stream_state),
            Callee::Handle(registry, handle) => loop {
                let kernel = registry.get(handle)?;
                later.push(kernel.clone());
                self.becomes(&kernel, stream_state)?;
                // Asked after `becomes`: from then on, whoever unregisters the kernel finds it on this stream.
                if kernel.is_registered() {
                    self.kernel = Some(kernel);
                    return Ok(());
                }
            },
        }
    }

    fn becomes(&mut self, kernel: &Kernel, stream_state: &Arc<StreamState>) -> Result<()> {
        let device = stream_state.core.device();
        if kernel.device() != device {
            let (kernel_device, stream) = (kernel.device().id(), device.id());
            return Err(kernel.refuse(LaunchProblem::WrongDevice { kernel: kernel_device, stream }));
        }
        kernel.runs_on(stream_state);
        if self.id != kernel.id {
            self.id = kernel.id;
            self.checked_dims = None;
            self.memory.kernarg.clear();
            self.memory.kernarg.resize(kernel.kernarg_bytes as usize, 0);
        }
        Ok(())
    }
}

/// The last launches on a stream, for a fault's report.
#[derive(Debug)]
pub(crate) struct RecentLaunches {
    ring: Vec<RecentLaunch>,
    /// Where the next one goes once the ring is full: the oldest.
    next: usize,
}

impl RecentLaunches {
    fn new() -> RecentLaunches {
        RecentLaunches { ring: Vec::with_capacity(REMEMBERED), next: 0 }
    }

    #[inline]
    pub(crate) fn push(
        &mut self,
        sequence: u64,
        kernel: u64,
        dims: LaunchDims,
        explicit_bytes: u32,
        kernarg: &[u8],
    ) {
        if self.ring.len() < REMEMBERED {
            let recent =
                RecentLaunch { sequence, kernel, dims, bytes: explicit_bytes, start: [0; REMEMBERED_BYTES] };
            self.ring.push(recent);
            self.next = self.ring.len() - 1;
        }
        let next = self.next;
        self.next = if next + 1 < REMEMBERED { next + 1 } else { 0 };
        let Some(recent) = self.ring.get_mut(next) else { return };
        (recent.sequence, recent.kernel, recent.dims) = (sequence, kernel, dims);
        recent.bytes = explicit_bytes;
        match kernarg.first_chunk::<REMEMBERED_BYTES>() {
            Some(first) => recent.start = *first,
            None => recent.start[..kernarg.len()].copy_from_slice(kernarg),
        }
    }

    /// Oldest first.
    fn iter(&self) -> impl Iterator<Item = &RecentLaunch> {
        self.ring[self.next..].iter().chain(&self.ring[..self.next])
    }
}

impl Drop for StreamState {
    fn drop(&mut self) {
        // A lost device runs nothing any more, and has said so.
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
        self.result_buffers.get_mut().unwrap_or_else(PoisonError::into_inner).clear(&self.core);
    }
}
