//! Memory for what a launch copies: pinned host memory in both directions, and device scratch.
//!
//! | file | contents |
//! |---|---|
//! | `ring` | staging buffers for copies to the device, filled one after the other |
//! | `results` | result buffers, which tickets own and return |
//! | `returned` | a list without a lock, by which any thread returns them |
//! | `scratch` | the device scratch of a kernel–stream pair |
//! | `pinned` | an owned pinned allocation |

mod pinned;
mod results;
mod returned;
mod ring;
mod scratch;

pub(crate) use results::{ResultBuffer, ResultBuffers, ReturnedResults, Spans};
pub(crate) use ring::{StagingOptions, StagingRing};
pub(crate) use scratch::DeviceScratch;

use crate::device::Device;
use crate::error::Error;
use hip_driver::DriverError;

/// A failure under a stream's lock. It is turned into an [`Error`] after the lock is released, because the report of a
/// fault reads the state of every stream.
#[derive(Debug)]
pub(crate) enum LockedFailure {
    /// A driver call failed.
    Driver(DriverError),
    /// An allocation failed: its kind (`device` or `pinned host`), its bytes, and the driver's error.
    Allocation(&'static str, usize, DriverError),
}

impl From<DriverError> for LockedFailure {
    fn from(e: DriverError) -> Self {
        LockedFailure::Driver(e)
    }
}

impl LockedFailure {
    #[cold]
    pub(crate) fn into_error(self, device: &Device) -> Error {
        match self {
            LockedFailure::Driver(e) => device.error(e),
            LockedFailure::Allocation(kind, bytes, e) => device.allocation_error(kind, bytes, e),
        }
    }
}
