//! What the tests and benchmarks of hiplaunch share.
//!
//! | module | for |
//! |---|---|
//! | [`rig`] | launchers on every backend of this machine, with the validation layer; the kernels of `hip/` |
//! | [`noop`] | a driver that does nothing: what is left of a launch's cost is the launcher's own |
//! | [`counting`] | an allocator that counts heap allocations |
//! | [`well_formed`] | what holds of every timeline |
//! | [`c_library`] | the C library, built and ready to be linked |
//!
//! It panics where a test would.

#![allow(clippy::missing_panics_doc, reason = "it is for tests, which fail by panics")]

pub mod c_library;
pub mod counting;
pub mod noop;
pub mod rig;
pub mod well_formed;

use std::path::Path;

/// The top of the repository.
pub fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}
