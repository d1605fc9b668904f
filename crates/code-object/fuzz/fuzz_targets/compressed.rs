//! Any bytes behind the header of a compressed bundle.
#![no_main]

#[path = "../../tests/exercise/mod.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| exercise::compressed(bytes));
