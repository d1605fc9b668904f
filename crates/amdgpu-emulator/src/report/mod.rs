//! What the emulator reports to its caller: errors, faults, and defects that the sanitizer found.

pub(crate) mod access;
pub(crate) mod defect;
pub(crate) mod error;
pub(crate) mod fault;
pub(crate) mod fidelity;
pub(crate) mod notice;
mod source;
