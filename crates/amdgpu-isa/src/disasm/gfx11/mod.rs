//! Encodings whose syntax on gfx11 is another than on gfx9, or that gfx9 doesn't have. gfx10 has most of them, with few differences.

pub(super) mod dpp;
#[cfg(test)]
pub(super) mod enumeration;
#[cfg(test)]
pub(super) mod golden_tests;
mod image;
pub(super) mod names;
mod scalar;
mod segment;
mod vopd;
mod wmma;
