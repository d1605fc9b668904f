//! Functions by their names: a program that asks AMD's library for a function gets that of this library.

use super::Forward;
use crate::abi::c_caller::{Address, Out};
use crate::abi::status::Status;
use crate::abi::version::symbol_of;
use crate::process::entry_points::find;

/// Replaces AMD's function by this library's of the same name.
pub(crate) fn replace(forward: Forward<'_>, pointer: Out<Address>) -> Status {
    let status = forward();
    let found = pointer.get().ok().filter(|found| status == Status::SUCCESS && !found.is_null());
    if let Some(own) = found.and_then(|found| find(symbol_of(found.host())?)) {
        pointer.set_if_wanted(own);
    }
    status
}
