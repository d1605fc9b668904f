//! Memory that a launch uses: the device's pool, buffers and scratch from it, and pinned staging in both directions.
//!
//! | type | holds | lives |
//! |---|---|---|
//! | [`DeviceBuffer`] | elements of a type in device memory, with a shape | as long as its owner and its views want, and until the work that uses it has run |
//! | [`DeviceView`] | a part of one, with offset, shape and strides | as a buffer: it is another owner of the memory |
//! | [`PoolBlock`] | bytes in device memory | as a buffer |
//! | [`PinnedBuffer`] | elements of a type in pinned host memory | as long as its owner |
//! | [`DeviceScratchBuffer`] | bytes that grow and are never read back | as long as its owner |
//!
//! Those in device memory come from the device's [`Pool`] and go back to it in the order of their stream, unless they are
//! borrowed, managed, or shared between processes.

mod buffer;
mod device_pool;
mod foreign;
mod layout;
mod pinned;
mod pinned_buffer;
pub(crate) mod pool;
mod result_buffers;
mod scratch;
mod staging_ring;
mod transfer;
mod view;

pub use buffer::DeviceBuffer;
pub use device_pool::{Pool, ReclaimCallback};
pub use foreign::SharedHandle;
pub use layout::Layout;
pub use layout::elements;
pub use pinned_buffer::PinnedBuffer;
pub use pool::report;
pub use pool::{
    ClassCounters, POOL_VARIABLE, PoolBackend, PoolBlock, PoolBlockInfo, PoolBlockSnapshot, PoolBlockState,
    PoolCalls, PoolCounters, PoolError, PoolOptions, PoolSegmentSnapshot, PoolSnapshot, PoolTraceAction,
    PoolTraceEntry, ReclaimStep, StreamCounters, TRACE_COLUMNS,
};
pub use scratch::DeviceScratchBuffer;
pub use view::DeviceView;

pub(crate) use foreign::Foreign;
pub(crate) use result_buffers::{ResultBuffer, ResultBuffers};
pub(crate) use staging_ring::StagingRing;

use crate::device::Device;
use crate::error::Error;
use hip_driver::DriverError;

/// A failure under a stream's lock. Turned into an [`Error`] once the lock is gone, as a fault's report looks at every
/// stream.
#[derive(Debug)]
pub(crate) enum LockedFailure {
    /// A driver call.
    Driver(DriverError),
    /// An allocation: `device` or `pinned host`, and the bytes.
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
