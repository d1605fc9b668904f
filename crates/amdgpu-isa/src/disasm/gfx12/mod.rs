//! What gfx12 writes in another way than gfx11, or has in addition.

mod cache;
mod convert;
#[cfg(test)]
pub(super) mod enumeration;
#[cfg(test)]
pub(super) mod golden_tests;
mod matrix;
pub(super) mod names;
mod scalar;
