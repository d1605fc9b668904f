//! Any words are code.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| amdgpu_exercise::words(bytes));
