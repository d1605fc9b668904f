//! What gfx12 writes in another way than gfx11, or has in addition.

mod cache;
#[cfg(test)]
pub(super) mod enumeration;
#[cfg(test)]
pub(super) mod golden_tests;
mod convert;
mod matrix;
pub(super) mod names;
mod scalar;
