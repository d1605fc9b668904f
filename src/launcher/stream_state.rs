//! What launches on one stream share: staging ring, result slots, scratch of each kernel, and what is in flight.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};

use crate::device::Device;
use crate::error::Result;
use crate::event::Event;
use crate::fault::LaunchInFlight;
use crate::memory::{DeviceScratchBuffer, PoolBlock, ResultBuffers, StagingRing};
use crate::module::Module;
use crate::owned_stream::OwnedStream;
use crate::stream::{StreamCore, next_number};
use hip_driver::{Capability, DriverError, ErrorCode, EventOptions, RawStream, StreamOptions};

use super::args::LaunchDims;
use super::kernel::Kernel;
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
    /// The stream of a thread can be used on that thread alone; launches, copies and events on others are
    /// [`Error::Invalid`](crate::Error::Invalid). Its tickets can be read anywhere.
    ///
    /// # Errors
    /// [`Error::DeviceLost`](crate::Error::DeviceLost); `NOT_SUPPORTED` for the stream of a thread where the driver lacks
    /// [`Capability::PerThreadStream`].
    ///
    /// # Safety
    /// `stream` is a live stream of the device, and of the driver that the device was opened with, as long as the `Stream`
    /// lives: all its clones, tickets and outputs. It is not being captured. If its owner destroys it earlier, the emulator
    /// and the validation layer refuse later calls with [`INVALID_HANDLE`](crate::driver::ErrorCode::INVALID_HANDLE); HIP
    /// may do that, crash, or use another stream that has the handle by then.
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

    /// Its device.
    #[inline]
    pub fn device(&self) -> &Device {
        self.core().device()
    }

    /// The driver's handle (`hipStream_t`), for libraries that enqueue work of their own; good as long as the stream
    /// lives. What they enqueue stands in one order with launches. Memory of this library that they use must live until
    /// their work is done, or be freed in the order of this stream, as buffers allocated on it are.
    #[inline]
    pub fn as_raw(&self) -> RawStream {
        self.core().raw()
    }

    #[inline]
    pub(crate) fn raw(&self) -> RawStream {
        self.core().raw()
    }

    /// Whether others made the stream.
    pub fn is_adopted(&self) -> bool {
        self.core().is_adopted()
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
        self.0.lock().entries.values().map(|e| e.scratch.held()).sum()
    }

    /// Bytes of pinned host memory held for staging and results.
    pub fn pinned_bytes(&self) -> usize {
        self.0.lock().ring.held() + self.0.slots().held()
    }

    /// Waits for the stream, frees its scratch, and gives the device's cached memory to the driver; the next launches
    /// allocate it again.
    ///
    /// # Errors
    /// The driver's.
    pub fn trim(&self) -> Result<()> {
        self.synchronize()?;
        let entries = std::mem::take(&mut self.0.lock().entries);
        drop(entries);
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
    slots: Mutex<ResultBuffers>,
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
    pub(crate) entries: KernelsOnStream,
    pub(crate) recent: RecentLaunches,
    retired: Vec<RetiredResource>,
}

/// What belongs to one (kernel, stream) pair.
#[derive(Debug)]
pub(crate) struct KernelOnStream {
    pub(crate) kernel: u64,
    /// The kernarg segment at its full size; hidden arguments and padding stay zero.
    pub(crate) kernarg: Vec<u8>,
    pub(crate) scratch: DeviceScratchBuffer,
    /// What the start of the scratch holds, as far as the host copied it there.
    pub(crate) shadow: Vec<u8>,
    pub(crate) shadow_good: bool,
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
        Ok(StreamState::with(StreamCore::new(device, stream)?, stream, options))
    }

    /// The state of a stream; those beside it are made with `stream`.
    fn with(core: StreamCore, stream: StreamOptions, options: StagingOptions) -> Arc<StreamState> {
        let state = EnqueueState {
            ring: StagingRing::new(options.buffer_bytes, options.max_buffers),
            entries: HashMap::default(),
            recent: RecentLaunches::new(),
            retired: Vec::new(),
        };
        Arc::new(StreamState {
            state: Mutex::new(state),
            slots: Mutex::new(ResultBuffers::default()),
            retired: AtomicUsize::new(0),
            names: Mutex::default(),
            core,
            side: Mutex::default(),
            options: stream,
        })
    }

    /// A panic while enqueuing leaves nothing half-changed that matters: the next launch packs everything anew.
    #[inline]
    pub(crate) fn lock(&self) -> MutexGuard<'_, EnqueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    pub(crate) fn slots(&self) -> MutexGuard<'_, ResultBuffers> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first `count` streams that run beside this one, made now if there are fewer. They live as long as the lane.
    pub(crate) fn side_streams(&self, count: usize) -> Result<Vec<RawStream>> {
        let mut side = self.side.lock().unwrap_or_else(PoisonError::into_inner);
        let device = self.core.device();
        while side.len() < count {
            // Ordered by events alone, whatever the null stream does meanwhile.
            let options = StreamOptions { blocking: false, ..self.options };
            let stream = OwnedStream::new(device.driver(), device.id(), options, next_number());
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

    /// Keeps `module`, and the name and the scratch of kernel `kernel`, until all work enqueued so far has finished.
    pub(crate) fn retire(&self, kernel: u64, module: &Module) {
        let entries: Vec<KernelOnStream> = {
            let mut state = self.lock();
            let gone: Vec<KernelHandle> =
                state.entries.iter().filter(|(_, e)| e.kernel == kernel).map(|(h, _)| *h).collect();
            gone.iter().filter_map(|h| state.entries.remove(h)).collect()
        };
        self.keep(Some(kernel), Box::new((module.clone(), entries)));
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

/// The scratch and arguments of each kernel on a stream.
pub(crate) type KernelsOnStream = HashMap<KernelHandle, KernelOnStream, BuildHasherDefault<HandleHasher>>;

/// The pair's state, made on its first launch.
#[inline]
pub(crate) fn kernel_on_stream<'a>(
    entries: &'a mut KernelsOnStream,
    stream_state: &Arc<StreamState>,
    kernel: &Kernel,
) -> &'a mut KernelOnStream {
    let entry = entries.entry(kernel.handle).or_insert_with(|| KernelOnStream::new(stream_state));
    if entry.kernel != kernel.id {
        entry.belongs_to(stream_state, kernel);
    }
    entry
}

impl KernelOnStream {
    #[cold]
    fn new(stream_state: &StreamState) -> KernelOnStream {
        KernelOnStream {
            kernel: 0,
            kernarg: Vec::new(),
            scratch: DeviceScratchBuffer::new(stream_state.core.device()),
            shadow: Vec::new(),
            shadow_good: false,
        }
    }

    /// First launch, or the handle's kernel was replaced: the arguments may lie elsewhere now.
    #[cold]
    fn belongs_to(&mut self, stream_state: &Arc<StreamState>, kernel: &Kernel) {
        kernel.runs_on(stream_state);
        self.kernel = kernel.id;
        self.kernarg.clear();
        self.kernarg.resize(kernel.kernarg_bytes as usize, 0);
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
        state.entries.clear();
        state.retired.clear();
        self.slots.get_mut().unwrap_or_else(PoisonError::into_inner).clear(&self.core);
    }
}
