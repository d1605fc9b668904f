//! What launches on one stream share: staging ring, result slots, scratch of each kernel, and what is in flight.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use crate::device::Device;
use crate::error::Result;
use crate::event::Event;
use crate::fault::InFlight;
use crate::memory::{DeviceScratchBuffer, PinnedRing, ResultSlots};
use crate::module::Module;
use crate::owned_stream::OwnedStream;
use crate::stream::{StreamCore, next_number};
use hip_driver::{RawStream, StreamOptions};

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

/// A stream to launch on. Cheap to clone; dropping the last clone, and the last ticket, waits for its work.
///
/// It is a [`StreamCore`] with what launches on it share.
#[derive(Clone, Debug)]
pub struct Stream(pub(crate) Arc<Lane>);

impl PartialEq for Stream {
    /// Whether both are the same stream.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Stream {}

impl Deref for Stream {
    type Target = StreamCore;

    #[inline]
    fn deref(&self) -> &StreamCore {
        &self.0.core
    }
}

impl Stream {
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
pub(crate) struct LaneOptions {
    pub(crate) segment_bytes: usize,
    pub(crate) max_segments: usize,
}

/// A stream and its shared state. One lock makes enqueuing atomic; another guards the result slots, which tickets give
/// back from any thread.
#[derive(Debug)]
pub(crate) struct Lane {
    // Dropped in this order: state and slots give their memory back before the stream goes.
    state: Mutex<LaneState>,
    slots: Mutex<ResultSlots>,
    retired: AtomicUsize,
    /// The names of kernels that may be launched here, by [`Kernel::id`].
    names: Mutex<HashMap<u64, Arc<str>>>,
    pub(crate) core: StreamCore,
    /// For branches of graphs; their work is before what comes behind it on the lane's own stream.
    side: Mutex<Vec<OwnedStream>>,
    options: StreamOptions,
}

#[derive(Debug)]
pub(crate) struct LaneState {
    pub(crate) ring: PinnedRing,
    pub(crate) entries: Entries,
    pub(crate) recent: RecentLaunches,
    retired: Vec<Retired>,
}

/// What belongs to one (kernel, stream) pair.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) kernel: u64,
    /// The kernarg segment at its full size; hidden arguments and padding stay zero.
    pub(crate) kernarg: Vec<u8>,
    pub(crate) scratch: DeviceScratchBuffer,
    /// What the start of the scratch holds, as far as the host copied it there.
    pub(crate) shadow: Vec<u8>,
    pub(crate) shadow_good: bool,
}

#[derive(Debug)]
struct Recent {
    sequence: u64,
    /// [`Kernel::id`].
    kernel: u64,
    dims: LaunchDims,
    bytes: u32,
    start: [u8; REMEMBERED_BYTES],
}

/// A module, or an entry with its scratch, that work in flight may still use.
struct Retired {
    sequence: u64,
    fence: Event,
    /// The kernel whose name may be forgotten then.
    kernel: Option<u64>,
    _kept: Box<dyn std::any::Any + Send>,
}

impl std::fmt::Debug for Retired {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Retired").field("sequence", &self.sequence).finish_non_exhaustive()
    }
}

impl Lane {
    pub(crate) fn new(device: &Device, stream: StreamOptions, options: LaneOptions) -> Result<Arc<Lane>> {
        let core = StreamCore::new(device, stream)?;
        let state = LaneState {
            ring: PinnedRing::new(options.segment_bytes, options.max_segments),
            entries: HashMap::default(),
            recent: RecentLaunches::new(),
            retired: Vec::new(),
        };
        Ok(Arc::new(Lane {
            state: Mutex::new(state),
            slots: Mutex::new(ResultSlots::default()),
            retired: AtomicUsize::new(0),
            names: Mutex::default(),
            core,
            side: Mutex::default(),
            options: stream,
        }))
    }

    /// A panic while enqueuing leaves nothing half-changed that matters: the next launch packs everything anew.
    #[inline]
    pub(crate) fn lock(&self) -> MutexGuard<'_, LaneState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    pub(crate) fn slots(&self) -> MutexGuard<'_, ResultSlots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// Keeps `module`, and the name and the scratch of kernel `kernel`, until all work enqueued so far has finished.
    pub(crate) fn retire(&self, kernel: u64, module: &Module) {
        let entries: Vec<Entry> = {
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
        let fence = Event::new(self.core.device(), false);
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
                state.retired.push(Retired { sequence, fence, kernel, _kept: what });
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
    pub(crate) fn in_flight(&self) -> Vec<InFlight> {
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
            .map(|r| InFlight {
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
pub(crate) type Entries = HashMap<KernelHandle, Entry, BuildHasherDefault<HandleHasher>>;

/// The pair's state, made on its first launch.
#[inline]
pub(crate) fn entry_of<'a>(entries: &'a mut Entries, lane: &Arc<Lane>, kernel: &Kernel) -> &'a mut Entry {
    let entry = entries.entry(kernel.handle).or_insert_with(|| Entry::new(lane));
    if entry.kernel != kernel.id {
        entry.belongs_to(lane, kernel);
    }
    entry
}

impl Entry {
    #[cold]
    fn new(lane: &Lane) -> Entry {
        Entry {
            kernel: 0,
            kernarg: Vec::new(),
            scratch: DeviceScratchBuffer::new(lane.core.device()),
            shadow: Vec::new(),
            shadow_good: false,
        }
    }

    /// First launch, or the handle's kernel was replaced: the arguments may lie elsewhere now.
    #[cold]
    fn belongs_to(&mut self, lane: &Arc<Lane>, kernel: &Kernel) {
        kernel.runs_on(lane);
        self.kernel = kernel.id;
        self.kernarg.clear();
        self.kernarg.resize(kernel.kernarg_bytes as usize, 0);
    }
}

/// The last launches on a stream, for a fault's report.
#[derive(Debug)]
pub(crate) struct RecentLaunches {
    ring: Vec<Recent>,
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
                Recent { sequence, kernel, dims, bytes: explicit_bytes, start: [0; REMEMBERED_BYTES] };
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
    fn iter(&self) -> impl Iterator<Item = &Recent> {
        self.ring[self.next..].iter().chain(&self.ring[..self.next])
    }
}

impl Drop for Lane {
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
