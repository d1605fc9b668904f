//! The calls of MPI that this crate makes, with errors instead of codes.

use std::ffi::{c_char, c_int, c_void};
use std::mem::MaybeUninit;

use mpi::ffi;

use crate::error::{Error, Result};

/// A communicator's handle, for a thread that is given it.
#[derive(Clone, Copy)]
pub(crate) struct Comm(pub(crate) ffi::MPI_Comm);

// SAFETY: a handle of MPI may be used on every thread; `Mpi` makes sure of MPI_THREAD_MULTIPLE.
unsafe impl Send for Comm {}
// SAFETY: `Mpi` makes sure of MPI_THREAD_MULTIPLE, with which several threads may use a handle at once.
unsafe impl Sync for Comm {}

/// Turns the code of a call into an error of `rank`.
pub(crate) fn check(rank: usize, call: &'static str, code: c_int) -> Result<()> {
    // MPI_SUCCESS is 0 (MPI 4.0, section 9.4).
    if code == 0 {
        return Ok(());
    }
    Err(Error::Mpi { rank, call, class: class_of(code), message: text_of(code) })
}

/// The error class of a code.
pub(crate) fn class_of(code: c_int) -> c_int {
    let mut class = code;
    // SAFETY: writes one integer.
    unsafe { ffi::MPI_Error_class(code, &mut class) };
    class
}

fn text_of(code: c_int) -> Box<str> {
    // Larger than MPI_MAX_ERROR_STRING of Open MPI (256) and MPICH (512).
    let mut text = [0u8; 8192];
    let mut len = 0;
    // SAFETY: the array is longer than the longest text of an error.
    unsafe { ffi::MPI_Error_string(code, text.as_mut_ptr().cast::<c_char>(), &mut len) };
    String::from_utf8_lossy(&text[..usize::try_from(len).unwrap_or(0)]).into()
}

/// The number of bytes or elements as MPI takes it.
pub(crate) fn count(call: &'static str, n: usize) -> Result<c_int> {
    c_int::try_from(n).map_err(|_| {
        Error::invalid(call, format!("{n} elements; a message of MPI has at most {}", c_int::MAX))
    })
}

impl Comm {
    /// The rank of this process and the number of ranks.
    pub(crate) fn place(self) -> Result<(usize, usize)> {
        let (mut rank, mut size) = (0, 0);
        // SAFETY: the communicator is live; each call writes one integer.
        unsafe {
            check(0, "MPI_Comm_rank", ffi::MPI_Comm_rank(self.0, &mut rank))?;
            check(rank as usize, "MPI_Comm_size", ffi::MPI_Comm_size(self.0, &mut size))?;
        }
        Ok((rank as usize, size as usize))
    }

    /// A new communicator of the same ranks, whose errors are returned. Collective.
    pub(crate) fn duplicate(self, rank: usize) -> Result<Comm> {
        // SAFETY: the communicator is live, and the new handle is written before it is used.
        unsafe {
            let mut new = ffi::RSMPI_COMM_NULL;
            check(rank, "MPI_Comm_dup", ffi::MPI_Comm_dup(self.0, &mut new))?;
            check(
                rank,
                "MPI_Comm_set_errhandler",
                ffi::MPI_Comm_set_errhandler(new, ffi::RSMPI_ERRORS_RETURN),
            )?;
            Ok(Comm(new))
        }
    }

    /// The communicator of the ranks that share memory with this one, in the order of their ranks. Collective.
    pub(crate) fn of_node(self, rank: usize) -> Result<Comm> {
        // SAFETY: as in `duplicate`.
        unsafe {
            let mut new = ffi::RSMPI_COMM_NULL;
            let kind = ffi::RSMPI_COMM_TYPE_SHARED;
            let code = ffi::MPI_Comm_split_type(self.0, kind, rank as c_int, ffi::RSMPI_INFO_NULL, &mut new);
            check(rank, "MPI_Comm_split_type", code)?;
            Ok(Comm(new))
        }
    }

    /// Frees the communicator.
    pub(crate) fn free(mut self, rank: usize) -> Result<()> {
        // SAFETY: the handle is live and not used again.
        check(rank, "MPI_Comm_free", unsafe { ffi::MPI_Comm_free(&mut self.0) })
    }

    /// Sends bytes with tag 0; waits.
    pub(crate) fn send_bytes(self, rank: usize, to: usize, bytes: &[u8]) -> Result<()> {
        let n = count("MPI_Send", bytes.len())?;
        let from = bytes.as_ptr().cast::<c_void>();
        // SAFETY: the buffer has `n` bytes.
        let code = unsafe { ffi::MPI_Send(from, n, ffi::RSMPI_UINT8_T, to as c_int, 0, self.0) };
        check(rank, "MPI_Send", code)
    }

    /// Receives a message of as many bytes with tag 0; waits.
    pub(crate) fn receive_bytes(self, rank: usize, from: usize, bytes: &mut [u8]) -> Result<()> {
        let n = count("MPI_Recv", bytes.len())?;
        let to = bytes.as_mut_ptr().cast::<c_void>();
        // SAFETY: the buffer has room for `n` bytes.
        let code = unsafe {
            let ignore = ffi::RSMPI_STATUS_IGNORE;
            ffi::MPI_Recv(to, n, ffi::RSMPI_UINT8_T, from as c_int, 0, self.0, ignore)
        };
        check(rank, "MPI_Recv", code)
    }

    /// Gives every rank the `mine` of all ranks, in their order. Collective; waits.
    pub(crate) fn all_gather_u64(self, rank: usize, size: usize, mine: u64) -> Result<Vec<u64>> {
        let mut all = vec![0u64; size];
        // SAFETY: `all` has room for one element of each rank.
        let code = unsafe {
            let ty = ffi::RSMPI_UINT64_T;
            let (from, to) = ((&raw const mine).cast::<c_void>(), all.as_mut_ptr().cast::<c_void>());
            ffi::MPI_Allgather(from, 1, ty, to, 1, ty, self.0)
        };
        check(rank, "MPI_Allgather", code)?;
        Ok(all)
    }

    /// Gives every rank the least `mine`. Collective; waits.
    pub(crate) fn min_u64(self, rank: usize, mine: u64) -> Result<u64> {
        let mut least = mine;
        // SAFETY: both are one element.
        let code = unsafe {
            let (from, to) = ((&raw const mine).cast::<c_void>(), (&raw mut least).cast::<c_void>());
            ffi::MPI_Allreduce(from, to, 1, ffi::RSMPI_UINT64_T, ffi::RSMPI_MIN, self.0)
        };
        check(rank, "MPI_Allreduce", code)?;
        Ok(least)
    }
}

/// What a probe or a finished receive says about a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Received {
    pub(crate) from: usize,
    pub(crate) bytes: Option<usize>,
}

impl Received {
    /// # Safety
    /// `status` was written by MPI.
    unsafe fn of(status: &MaybeUninit<ffi::MPI_Status>) -> Received {
        let mut bytes = -1;
        // SAFETY: the caller's promise.
        let from = unsafe {
            ffi::MPI_Get_count(status.as_ptr(), ffi::RSMPI_UINT8_T, &mut bytes);
            (*status.as_ptr()).MPI_SOURCE
        };
        Received { from: usize::try_from(from).unwrap_or(0), bytes: usize::try_from(bytes).ok() }
    }
}

/// Tests a request. Returns the code of the call, and what was received once the request is finished.
pub(crate) fn test(request: &mut ffi::MPI_Request) -> (c_int, Option<Received>) {
    let (mut done, mut status) = (0, MaybeUninit::<ffi::MPI_Status>::zeroed());
    // SAFETY: the request is live or null, and the status has room for what MPI writes.
    let code = unsafe { ffi::MPI_Test(request, &mut done, status.as_mut_ptr()) };
    // SAFETY: written by the call, or zero, which is a valid status of no message.
    (code, (done != 0 || code != 0).then(|| unsafe { Received::of(&status) }))
}

/// Looks for a message of any rank.
pub(crate) fn probe(comm: Comm, rank: usize) -> Result<Option<Received>> {
    let (mut found, mut status) = (0, MaybeUninit::<ffi::MPI_Status>::zeroed());
    // SAFETY: the communicator is live; the call writes an integer and a status.
    let code = unsafe {
        let (any, tag) = (ffi::RSMPI_ANY_SOURCE, ffi::RSMPI_ANY_TAG);
        ffi::MPI_Iprobe(any, tag, comm.0, &mut found, status.as_mut_ptr())
    };
    check(rank, "MPI_Iprobe", code)?;
    // SAFETY: a message was found, so the status was written.
    Ok((found != 0).then(|| unsafe { Received::of(&status) }))
}

/// Receives a message with tag 0 that [`probe`] found.
pub(crate) fn receive(comm: Comm, rank: usize, message: Received) -> Result<Vec<u8>> {
    let mut bytes = vec![0u8; message.bytes.unwrap_or(0)];
    comm.receive_bytes(rank, message.from, &mut bytes)?;
    Ok(bytes)
}
