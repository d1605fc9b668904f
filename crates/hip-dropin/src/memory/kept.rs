//! Freed memory that a pool keeps for later allocations.
//!
//! Only an allocation of the same size gets it. The driver can't divide an allocation, and a larger one would end behind what the
//! program asked for: `hipMemPtrGetInfo` would say so, and the emulator would not find accesses out of bounds. AMD's runtime gives
//! larger memory, too (clr, `Heap::FindMemory`). So memory of sizes that are not asked for again is wasted until it is
//! [taken](KeptMemory::take_finished): at most as much as the pool's release threshold.

use std::sync::{Mutex, MutexGuard, PoisonError};

use hip_driver::{DeviceId, DevicePtr, EventOptions, RawEvent, RawStream};

use crate::process::Process;

/// The memory that a pool keeps.
pub(crate) struct KeptMemory {
    device: DeviceId,
    list: Mutex<Vec<Kept>>,
}

/// Freed memory.
struct Kept {
    ptr: DevicePtr,
    bytes: usize,
    /// The stream on which it was freed, and an event there behind the last use; `None` if nothing uses it any more.
    last_use: Option<(RawStream, RawEvent)>,
}

/// Which memory an allocation may reuse beside that of its own stream (`hipMemPoolReuse...`).
#[derive(Clone, Copy)]
pub(crate) struct Reuse {
    /// That whose last use has finished.
    pub(crate) opportunistic: bool,
    /// Any: the allocation's stream waits for the last use.
    pub(crate) internal_dependencies: bool,
}

impl KeptMemory {
    pub(crate) fn new(device: DeviceId) -> KeptMemory {
        KeptMemory { device, list: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Kept>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Keeps memory that was freed behind the work on a stream, or that nothing uses any more. Returns whether that was possible.
    pub(crate) fn keep(
        &self,
        process: &Process,
        ptr: DevicePtr,
        bytes: usize,
        stream: Option<RawStream>,
    ) -> bool {
        let last_use = match stream.map(|stream| (stream, self.event_on(process, stream))) {
            None => None,
            Some((stream, Some(event))) => Some((stream, event)),
            Some((_, None)) => return false,
        };
        self.lock().push(Kept { ptr, bytes, last_use });
        true
    }

    /// A new event behind the work on a stream.
    fn event_on(&self, process: &Process, stream: RawStream) -> Option<RawEvent> {
        let event = process.unlayered.event_create(self.device, EventOptions { timing: false }).ok()?;
        // SAFETY: the event is live and of the pool's device. The driver refuses a stream that was destroyed.
        let recorded = unsafe { process.unlayered.event_record(self.device, event, stream) };
        if recorded.is_err() {
            self.destroy(process, event);
        }
        recorded.ok().map(|()| event)
    }

    fn destroy(&self, process: &Process, event: RawEvent) {
        // SAFETY: the event is live, and its owner does not use it any more. A wait that was enqueued stays.
        if let Err(error) = unsafe { process.unlayered.event_destroy(self.device, event) } {
            log::debug!("{error}");
        }
    }

    fn has_finished(&self, process: &Process, kept: &Kept) -> bool {
        // SAFETY: the event is live as long as the memory is kept.
        let reached = |event| unsafe { process.unlayered.event_query(self.device, event) };
        kept.last_use.is_none_or(|(_, event)| reached(event).unwrap_or(false))
    }

    /// Takes memory of `bytes` bytes for an allocation on a stream.
    pub(crate) fn reuse(
        &self,
        process: &Process,
        bytes: usize,
        stream: RawStream,
        reuse: Reuse,
    ) -> Option<DevicePtr> {
        let mut list = self.lock();
        let find =
            |wanted: &dyn Fn(&Kept) -> bool| list.iter().position(|kept| kept.bytes == bytes && wanted(kept));
        // Each thread's own default stream has the same name.
        let is_own = |(freed_on, _)| freed_on == stream && stream != RawStream::PER_THREAD;
        let found = find(&|kept| kept.last_use.is_none_or(is_own))
            .or_else(|| find(&|kept| reuse.opportunistic && self.has_finished(process, kept)))
            .or_else(|| {
                let found = find(&|_| reuse.internal_dependencies)?;
                let (_, event) = list[found].last_use?;
                // SAFETY: the event is live as long as the memory is kept, and the stream is the caller's.
                let waits = unsafe { process.unlayered.stream_wait_event(self.device, stream, event) };
                waits.ok().map(|()| found)
            })?;
        let kept = list.swap_remove(found);
        if let Some((_, event)) = kept.last_use {
            self.destroy(process, event);
        }
        Some(kept.ptr)
    }

    /// Takes memory whose last use has finished until it is at least `excess` bytes.
    pub(crate) fn take_finished(&self, process: &Process, excess: u64) -> Vec<(DevicePtr, usize)> {
        let (mut left, mut taken) = (excess, Vec::new());
        let goes = |kept: &mut Kept| {
            let goes = left > 0 && self.has_finished(process, kept);
            if goes {
                left = left.saturating_sub(kept.bytes as u64);
            }
            goes
        };
        for Kept { ptr, bytes, last_use } in self.lock().extract_if(.., goes) {
            if let Some((_, event)) = last_use {
                self.destroy(process, event);
            }
            taken.push((ptr, bytes));
        }
        taken
    }
}
