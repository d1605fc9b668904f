//! Memory that a launch uses: device buffers, device scratch, and pinned staging in both directions.

mod buffer;
mod pinned;
mod ring;
mod scratch;
mod slots;

pub use buffer::DeviceBuffer;
pub use scratch::DeviceScratchBuffer;

pub(crate) use ring::PinnedRing;
pub(crate) use slots::{ResultSlot, ResultSlots};

use crate::device::Device;
use crate::driver::DriverError;
use crate::error::Error;

/// A failure under a stream's lock. Turned into an [`Error`] once the lock is gone, as a fault's report looks at every
/// stream.
#[derive(Debug)]
pub(crate) enum Failed {
    /// A driver call.
    Driver(DriverError),
    /// An allocation: `device` or `pinned host`, and the bytes.
    Allocation(&'static str, usize, DriverError),
}

impl From<DriverError> for Failed {
    fn from(e: DriverError) -> Self {
        Failed::Driver(e)
    }
}

impl Failed {
    #[cold]
    pub(crate) fn into_error(self, device: &Device) -> Error {
        match self {
            Failed::Driver(e) => device.error(e),
            Failed::Allocation(kind, bytes, e) => device.allocation_error(kind, bytes, e),
        }
    }
}
