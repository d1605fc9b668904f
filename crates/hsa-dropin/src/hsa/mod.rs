//! HSA's runtime: what there is, memory, signals, queues and code, over machines of the emulator.

pub(crate) mod agent;
pub(crate) mod allocations;
pub(crate) mod cache;
pub(crate) mod copies;
mod devices;
pub(crate) mod events;
pub(crate) mod executable;
pub(crate) mod handlers;
pub(crate) mod isa;
mod loader;
pub(crate) mod memory;
mod packets;
pub(crate) mod physical_memory;
pub(crate) mod pointers;
pub(crate) mod profiling;
pub(crate) mod queue;
pub(crate) mod runtime;
pub(crate) mod signal;
pub(crate) mod signal_operations;
pub(crate) mod status;
pub(crate) mod value;
pub(crate) mod virtual_memory;

use std::ffi::c_void;

use status::Status;

/// What a callback gets that the caller passes.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Data(*mut c_void);

// SAFETY: nothing here follows the pointer: it is given back to functions of the program, which HSA calls on any thread.
unsafe impl Send for Data {}
// SAFETY: as above.
unsafe impl Sync for Data {}

/// A function of the caller, which is called with a handle.
pub(crate) type Callback<H> = Option<unsafe extern "C" fn(H, Data) -> Status>;

/// Calls a function with each handle, until it returns another status than success.
fn iterate<H>(handles: impl IntoIterator<Item = H>, callback: impl Fn(H) -> Status) -> Result<(), Status> {
    for handle in handles {
        match callback(handle) {
            Status::NONE => {}
            other => return Err(other),
        }
    }
    Ok(())
}

/// Calls a function of the caller with each handle and its data, as `iterate` does.
fn iterate_handles<H>(
    callback: Callback<H>,
    data: Data,
    handles: impl IntoIterator<Item = H>,
) -> Result<(), Status> {
    let callback = callback.ok_or(Status::INVALID_ARGUMENT)?;
    // SAFETY: the caller's function, which takes such a handle, with the data that it passed for it.
    iterate(handles, |handle| unsafe { callback(handle, data) })
}
