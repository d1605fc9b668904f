//! Floating-point numbers as the hardware computes with them, in every rounding and denormal mode.

#[cfg(test)]
pub(crate) mod exact;
pub(crate) mod float;
pub(crate) mod half16;
pub(crate) mod narrow;
pub(crate) mod soft;
