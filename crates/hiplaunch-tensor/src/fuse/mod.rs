//! Fusion: computes a cluster of elementwise operations with one kernel, which is compiled at run time.
//!
//! `source` writes the kernels, and `cache` compiles and keeps them. Every source contains the functions of
//! `hip/tensor_math.h`, so that the bits are those of separate launches.

mod cache;
pub(super) mod source;

pub(super) use cache::FusedKernels;
