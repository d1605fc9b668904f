//! Any bytes are a code object or a bundle that keeps its promises, or an error.
#![no_main]

#[path = "../../tests/exercise/mod.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| drop(exercise::exercise(bytes)));
