//! The test encodings of gfx10, whose syntax is that of [`gfx11`](super::gfx11), except for SDWA, which gfx9 also has.

pub(super) mod enumeration;
