//! Programs of valid instructions, several waves, with vectors of every width.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    amdgpu_exercise::stream(bytes);
});
