//! Tickets: the results of launches and graphs.

use std::ffi::c_void;
use std::mem::MaybeUninit;

use hiplaunch::error::Error;
use hiplaunch::launcher::Ticket;

use super::handles::{Kind, Owner, Table};
use super::input::{bytes_mut, wanted};
use super::launcher::insert_in;
use super::status::{Failure, Result, call, hiplaunch_status};

/// The pending results of one launch, graph or read: its outputs, which are numbered from 0.
///
/// The outputs of a launch are its inout and out arrays and result blocks, in the order of the arguments. An argument
/// block has its inout and out arrays, in their order, and then its result block. Nothing else is an output. For the
/// arguments
///
///   hiplaunch_arg_host_inout(y, size),
///   hiplaunch_arg_argument_block(&block), with hiplaunch_array_in, hiplaunch_array_out and result_bytes,
///   hiplaunch_arg_host_in(z, size), hiplaunch_arg_buffer(buffer), hiplaunch_arg_i32(n),
///   hiplaunch_arg_host_out(size)
///
/// output 0 is y, 1 is the block's out array, 2 is its result block, and 3 is the last argument.
///
/// The outputs of a graph are the values that it reads (hiplaunch_graph_read), in the order of recording.
pub struct hiplaunch_ticket {
    _opaque: (),
}

/// A ticket, and the error of waiting for it.
pub(super) struct TicketObject {
    ticket: Ticket,
    /// The error of the first wait. Every later call returns it again.
    failed: Option<Box<Error>>,
}

pub(super) static TICKETS: Table<TicketObject> = Table::new(Kind::Ticket);

/// Writes the handle of a ticket to `out`, or drops the ticket if `out` is `None`, which does not wait.
#[inline]
pub(super) fn hand_out(
    owner: Owner,
    ticket: Ticket,
    out: Option<&mut MaybeUninit<*mut hiplaunch_ticket>>,
) -> Result<()> {
    if let Some(out) = out {
        out.write(insert_in(&TICKETS, owner, TicketObject { ticket, failed: None })?);
    }
    Ok(())
}

/// As [`hand_out`], for a call that has one of the launcher's streams locked. hiplaunch_close waits for such calls
/// before it closes their tickets, so this function need not check that the launcher is open.
#[inline(always)]
pub(super) fn hand_out_beside_stream(
    owner: Owner,
    ticket: Ticket,
    out: &mut MaybeUninit<*mut hiplaunch_ticket>,
) -> Result<()> {
    out.write(TICKETS.insert(owner, TicketObject { ticket, failed: None })?);
    Ok(())
}

impl TicketObject {
    /// Waits, and returns the ticket, whose outputs are now on the host.
    #[inline]
    fn waited(&mut self) -> Result<&Ticket> {
        if let Some(error) = &self.failed {
            return Err(Error::clone(error).into());
        }
        match self.ticket.finish() {
            Ok(()) => Ok(&self.ticket),
            Err(error) => {
                self.failed = Some(Box::new(error.clone()));
                Err(error.into())
            }
        }
    }
}

/// Whether a ticket's launch has finished; never waits. After a device error the answer is yes, and reading returns the
/// error.
///
/// Threads: any. While another thread waits for the ticket, or copies from it, the answer is no. Errors:
/// HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_ticket_is_ready(
    ticket: *const hiplaunch_ticket,
    ready: Option<&mut MaybeUninit<bool>>,
) -> hiplaunch_status {
    call("hiplaunch_ticket_is_ready", || {
        let ready = wanted(ready, "ready")?;
        let is_ready = TICKETS
            .try_with(ticket, |found| found.value.failed.is_some() || found.value.ticket.is_ready())?;
        ready.write(is_ready.unwrap_or(false));
        Ok(())
    })
}

/// Waits for a ticket's launch.
///
/// Threads: any; several may wait for one ticket. Errors: HIPLAUNCH_STATUS_DEVICE_LOST if a kernel faulted;
/// HIPLAUNCH_STATUS_DRIVER, HIPLAUNCH_STATUS_INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_ticket_wait(ticket: *const hiplaunch_ticket) -> hiplaunch_status {
    call("hiplaunch_ticket_wait", || TICKETS.with(ticket, |found| found.value.waited().map(drop))?)
}

/// The number of outputs of a ticket; does not wait.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER; the error of a wait that
/// failed before.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_ticket_outputs(
    ticket: *const hiplaunch_ticket,
    count: Option<&mut MaybeUninit<usize>>,
) -> hiplaunch_status {
    call("hiplaunch_ticket_outputs", || {
        let count = wanted(count, "count")?;
        TICKETS.with(ticket, |found| {
            if let Some(error) = &found.value.failed {
                return Err(Error::clone(error).into());
            }
            count.write(found.value.ticket.outputs());
            Ok(())
        })?
    })
}

/// Waits for a ticket's launch and returns the address of one of its outputs, in pinned memory, aligned to 64 bytes.
///
/// Ownership: the bytes belong to the ticket and are valid until it is closed. Threads: any. Errors: as
/// hiplaunch_ticket_wait; HIPLAUNCH_STATUS_INVALID_ARGUMENT for an output that does not exist;
/// HIPLAUNCH_STATUS_NULL_POINTER.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_ticket_output(
    ticket: *const hiplaunch_ticket,
    index: usize,
    data: Option<&mut MaybeUninit<*const c_void>>,
    size: Option<&mut MaybeUninit<usize>>,
) -> hiplaunch_status {
    call("hiplaunch_ticket_output", || {
        let data = wanted(data, "data")?;
        TICKETS.with(ticket, |found| {
            let bytes = found.value.waited()?.output(index)?;
            data.write(bytes.as_ptr().cast());
            if let Some(size) = size {
                size.write(bytes.len());
            }
            Ok(())
        })?
    })
}

/// Waits for a ticket's launch and copies one of its outputs to `data`. `size` must be the size of the output.
///
/// Threads: any. Errors: as hiplaunch_ticket_output; HIPLAUNCH_STATUS_INVALID_ARGUMENT for another size. The output can
/// be read again, also after an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_ticket_read(
    ticket: *const hiplaunch_ticket,
    index: usize,
    data: *mut c_void,
    size: usize,
) -> hiplaunch_status {
    call("hiplaunch_ticket_read", || {
        TICKETS.with(ticket, |found| {
            let bytes = found.value.waited()?.output(index)?;
            if bytes.len() != size {
                let wrong = format!("output {index} has {} bytes, not {size}", bytes.len());
                return Err(Failure::invalid(wrong));
            }
            // SAFETY: the caller's promise for arrays.
            unsafe { bytes_mut(data, size, "data") }?.copy_from_slice(bytes);
            Ok(())
        })?
    })
}

/// Closes a ticket, whether it was read or not. Does not wait for the launch, unless the stream was closed before and
/// this is its last ticket.
///
/// Ownership: addresses that hiplaunch_ticket_output returned become invalid. Threads: any; waits for threads that wait
/// for the ticket. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_ticket_close(ticket: *mut hiplaunch_ticket) -> hiplaunch_status {
    call("hiplaunch_ticket_close", || TICKETS.discard(ticket))
}
