//! Programs of valid instructions, several waves, with vectors of every width.
#![no_main]

#[path = "../../tests/exercise/mod.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    exercise::stream(bytes);
});
