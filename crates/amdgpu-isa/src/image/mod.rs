//! The descriptors that image instructions take ([`ImageField`], [`SamplerField`], [`BufferField`]), and the formats of texels
//! ([`TexelFormat`]). Where the texels are, [`image_layout`](crate::image_layout) says.

mod fields;
mod format;

pub use fields::{BufferField, ImageField, SamplerField};
pub use format::{Numbers, TexelFormat};
