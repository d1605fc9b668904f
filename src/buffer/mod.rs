//! Memory that programs use: buffers, views, pinned host memory, and the interface of a device's pool.
//!
//! | file | contents |
//! |---|---|
//! | `device_buffer` | elements in device memory, with a shape |
//! | `view` | elements of a buffer, with offset, shape and strides |
//! | `layout` | shapes and strides |
//! | `foreign` | memory that is not the pool's: borrowed, managed, or shared between processes |
//! | `pinned_buffer` | elements in pinned host memory |
//! | `value` | values in memory that streams write and wait for |
//! | `transfer` | copies to, from and between views, also of two devices |
//! | `device_pool` | the public interface of a device's pool |

mod device_buffer;
mod device_pool;
mod foreign;
mod layout;
mod pinned_buffer;
mod transfer;
mod value;
mod view;

pub use device_buffer::DeviceBuffer;
pub use device_pool::{Pool, ReclaimCallback};
pub(crate) use foreign::Foreign;
pub use foreign::SharedHandle;
pub use layout::{Layout, elements};
pub use pinned_buffer::PinnedBuffer;
pub use view::{AsView, DeviceView};
