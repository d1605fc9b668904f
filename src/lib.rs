//! hiplaunch: launch compiled HIP kernels by handle.

pub mod driver;
