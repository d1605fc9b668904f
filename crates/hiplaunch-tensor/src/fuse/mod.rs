//! Fusion: runs of elementwise operations as one kernel each, made at run time where there is a compiler for it.
//!
//! `clusters` decides what goes together, `source` writes it down, `cache` has it compiled and keeps the kernels. The
//! functions of `hip/tensor_math.h` are part of every source, so that the bits are those of separate launches.

mod cache;
mod clusters;
mod source;

pub(super) use cache::FusedKernels;
pub(super) use clusters::{Clusters, clusters};
pub(super) use source::structure;
