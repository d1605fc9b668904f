//! Loading ROCm's shared libraries at run time: where they are searched, why one was not used, which file a function came
//! from, and a copy of a library that nothing else in the program sees.
//!
//! AMD's HIP (`hip-driver-amd`), its runtime compiler (`hip-compile`) and RCCL (`hiplaunch-rccl`) are loaded so.

pub mod isolated;
mod library;
pub mod llvm;

pub use library::{LoadAttempt, LoadAttempts, address, candidates, loaded, open, path_of};

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
