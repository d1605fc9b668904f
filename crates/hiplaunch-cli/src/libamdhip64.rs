//! The library that `hiplaunch exec` puts in the place of AMD's libamdhip64. build.rs links it as a shared library.

extern crate hip_dropin;

// hiprtc's functions with the version that libraries may need of libhiprtc.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
std::arch::global_asm!(include_str!(concat!(env!("OUT_DIR"), "/hiprtc_versions.s")));

fn main() {}
