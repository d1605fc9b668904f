//! Helpers that the tests and benchmarks of hiplaunch share.
//!
//! | module | purpose |
//! |---|---|
//! | [`rig`] | launchers on every backend of this machine, with the validation layer; the kernels of `hip/` |
//! | [`counting`] | an allocator that counts heap allocations |
//! | [`well_formed`] | a check of what holds for every timeline |
//! | [`c_library`] | the C library, built for linking |
//!
//! Functions panic where a test would.

#![allow(clippy::missing_panics_doc, reason = "it is for tests, which fail by panics")]

pub mod c_library;
pub mod counting;
pub mod rig;
pub mod well_formed;

use std::path::Path;

/// Returns the root folder of the repository.
pub fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}
