//! The state of a wave: its registers, private memory and modes; and global wave sync, in which it may wait.

pub(crate) mod barrier;
pub(crate) mod bytes;
pub(crate) mod gws;
pub(crate) mod wave;
