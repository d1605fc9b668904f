//! The library that `hiplaunch exec` puts in the place of AMD's libamdhip64. build.rs links it as a shared library.

extern crate hip_dropin;

fn main() {}
