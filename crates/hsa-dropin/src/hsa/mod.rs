//! HSA's runtime: its functions say what there is.

pub(crate) mod agent;
pub(crate) mod cache;
pub(crate) mod isa;
pub(crate) mod memory;
pub(crate) mod runtime;
pub(crate) mod status;
pub(crate) mod value;

use std::ffi::c_void;

use status::Status;

/// What a callback gets that the caller passes.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Data(*mut c_void);

/// A function of the caller, which is called with a handle.
pub(crate) type Callback<H> = Option<unsafe extern "C" fn(H, Data) -> Status>;

/// Calls a function of the caller with each handle, until it returns another status than success.
fn iterate<H>(callback: Callback<H>, data: Data, handles: impl IntoIterator<Item = H>) -> Result<(), Status> {
    let callback = callback.ok_or(Status::INVALID_ARGUMENT)?;
    for handle in handles {
        // SAFETY: the caller's function, which takes such a handle, with the data that it passed for it.
        match unsafe { callback(handle, data) } {
            Status::NONE => {}
            other => return Err(other),
        }
    }
    Ok(())
}
