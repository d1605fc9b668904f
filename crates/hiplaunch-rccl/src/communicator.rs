//! A communicator: this rank among the ranks that call collectives together.

use std::ffi::c_int;
use std::sync::{Mutex, PoisonError};

use hiplaunch::{Device, Stream};

use crate::api::{Comm, IN_PROGRESS, SUCCESS, UniqueId};
use crate::error::{Error, Result};
use crate::library::Rccl;

/// Ranks that call collectives together, each with one device.
///
/// Every call enqueues on a stream of the caller's and returns; the host does not wait. Memory that a call uses may be
/// dropped right after it, as after a launch: the pool keeps it until the stream's work is done. A failure is returned by
/// [`check`](Communicator::check), because work fails after the call that enqueued it.
///
/// Dropping it waits for the streams on which it was used, and frees it (`ncclCommDestroy`). If it has failed, its work is
/// aborted instead (`ncclCommAbort`).
#[derive(Debug)]
pub struct Communicator {
    pub(crate) rccl: Rccl,
    raw: Comm,
    rank: usize,
    size: usize,
    device: Device,
    /// Streams with work of this communicator.
    streams: Mutex<Vec<Stream>>,
}

// SAFETY: NCCL's user guide ("Thread Safety"): a communicator may be used by any thread, by one at a time. Calls are made
// under the lock of `streams`, but for `ncclCommGetAsyncError`, which may be called at any time ("Fault Tolerance").
unsafe impl Send for Communicator {}
// SAFETY: its calls are made under a lock, by one thread at a time.
unsafe impl Sync for Communicator {}

impl Communicator {
    /// Makes the communicator of `size` ranks, of which this is `rank` (`ncclCommInitRank`). It waits until all ranks have
    /// called it, so ranks of one process need a thread each.
    ///
    /// # Safety
    /// - RCCL uses the HIP runtime that the launcher's driver uses: the memory and streams of the one are those of the
    ///   other. The emulator's are not a GPU's.
    /// - All ranks call the same functions on it in the same order, with the same counts, types, reductions and roots, and
    ///   for each [`send`](crate::Collectives::send) there is a [`recv`](crate::Collectives::recv) of as many elements. RCCL does not
    ///   check it.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a rank that is not below `size`, and for AMD's library with the emulator; the device's error; RCCL's.
    pub unsafe fn new(
        rccl: &Rccl,
        device: &Device,
        size: usize,
        id: UniqueId,
        rank: usize,
    ) -> Result<Communicator> {
        let call = "Communicator::new";
        let (Ok(ranks), Ok(number)) = (c_int::try_from(size), c_int::try_from(rank)) else {
            return Err(Error::invalid(call, format!("rank {rank} of {size}: more than RCCL can count")));
        };
        if number >= ranks {
            return Err(Error::invalid(call, format!("rank {rank} of {size}: ranks count from 0")));
        }
        if rccl.0.is_amds && device.driver().info().name.ends_with("emulated") {
            return Err(Error::invalid(
                call,
                "RCCL needs GPUs, and the launcher's driver is the emulator; use hiplaunch-mpi",
            ));
        }
        // RCCL takes the thread's current device, which the HIP driver sets for each call that needs one.
        device.driver().mem_info(device.id()).map_err(|e| Error::Launcher { call, source: e.into() })?;
        let mut raw: Comm = std::ptr::null_mut();
        // SAFETY: `raw` is live; the numbers are in range.
        let code = unsafe { (rccl.0.api.comm_init_rank)(&mut raw, ranks, id, number) };
        rccl.check(Some(rank), "ncclCommInitRank", code)?;
        let (rccl, device) = (rccl.clone(), device.clone());
        Ok(Communicator { rccl, raw, rank, size, device, streams: Mutex::default() })
    }

    /// This rank.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The number of ranks.
    pub fn size(&self) -> usize {
        self.size
    }

    /// This rank's device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Returns the error of work that failed after it was enqueued (`ncclCommGetAsyncError`): a lost network, or a rank that
    /// died. Never waits. The communicator is of no more use then: drop it.
    ///
    /// # Errors
    /// [`Error::Rccl`].
    pub fn check(&self) -> Result<()> {
        let mut state = SUCCESS;
        // SAFETY: the communicator and `state` are live.
        let code = unsafe { (self.rccl.0.api.comm_get_async_error)(self.raw, &mut state) };
        self.checked("ncclCommGetAsyncError", code)?;
        if state == IN_PROGRESS { Ok(()) } else { self.checked("ncclCommGetAsyncError", state) }
    }

    /// Stops the work of this rank that is running or enqueued, and frees the communicator (`ncclCommAbort`). What the work
    /// was to write is undefined.
    ///
    /// # Errors
    /// RCCL's.
    pub fn abort(mut self) -> Result<()> {
        let raw = std::mem::replace(&mut self.raw, std::ptr::null_mut());
        // SAFETY: live, and not used after this: `drop` finds no communicator.
        self.checked("ncclCommAbort", unsafe { (self.rccl.0.api.comm_abort)(raw) })
    }

    pub(crate) fn checked(&self, call: &'static str, code: c_int) -> Result<()> {
        self.rccl.check(Some(self.rank), call, code)
    }

    /// Calls RCCL for work on a stream, with one thread at a time.
    pub(crate) fn with_stream(&self, stream: &Stream, call: impl FnOnce(Comm) -> Result<()>) -> Result<()> {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        if !streams.iter().any(|other| other.as_raw() == stream.as_raw()) {
            streams.push(stream.clone());
        }
        call(self.raw)
    }
}

impl Drop for Communicator {
    fn drop(&mut self) {
        if self.raw.is_null() {
            return; // aborted
        }
        let streams = std::mem::take(self.streams.get_mut().unwrap_or_else(PoisonError::into_inner));
        // Work that waits for a dead rank would never end.
        let mut failed = self.check().err().map(|error| error.to_string());
        if failed.is_none() {
            failed =
                streams.iter().find_map(|stream| stream.synchronize().err()).map(|error| error.to_string());
        }
        let api = &self.rccl.0.api;
        let (call, code) = match &failed {
            // SAFETY: live, and not used after this.
            None => ("ncclCommDestroy", unsafe { (api.comm_destroy)(self.raw) }),
            // SAFETY: live, and not used after this.
            Some(_) => ("ncclCommAbort", unsafe { (api.comm_abort)(self.raw) }),
        };
        if let Some(error) = failed {
            log::warn!("rank {}: the communicator is aborted: {error}", self.rank);
        }
        if let Err(error) = self.checked(call, code) {
            log::warn!("{error}");
        }
    }
}
