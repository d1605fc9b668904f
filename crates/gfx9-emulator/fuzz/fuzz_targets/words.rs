//! Any words are code.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| gfx9_exercise::words(bytes));
