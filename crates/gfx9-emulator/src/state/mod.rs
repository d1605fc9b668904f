//! The state of a wave: its registers, scratch and modes, and what it waits for.

pub(crate) mod bytes;
pub(crate) mod gws;
pub(crate) mod wave;
