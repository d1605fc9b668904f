//! Images as kernels see them: where the texels of a linear image lie ([`ImageLayout`]), and the descriptors that image instructions
//! take ([`ImageField`], [`SamplerField`], [`BufferField`]).
//!
//! Who makes images (`hip-dropin`) and who executes image instructions (`amdgpu-emulator`) both use these.

mod fields;
mod format;
mod layout;

pub use fields::{BufferField, Generation, ImageField, SamplerField};
pub use format::{Numbers, TexelFormat};
pub use layout::{ImageLayout, Level, ROW_ALIGNMENT};
