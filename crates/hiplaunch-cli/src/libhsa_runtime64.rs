//! The library that `hiplaunch exec` puts in the place of AMD's libhsa-runtime64, librocm_smi64 and libamd_smi. build.rs links it as a
//! shared library.

extern crate hsa_dropin;

fn main() {}
