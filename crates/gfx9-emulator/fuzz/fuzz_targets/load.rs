//! Any bytes are a code object or an error; its kernels end, fault or are stopped.
#![no_main]

#[path = "../../tests/exercise/mod.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| exercise::load(bytes));
