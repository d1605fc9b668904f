//! Any bytes are a code object or an error; its kernels end, fault or are stopped.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| amdgpu_exercise::load(bytes));
