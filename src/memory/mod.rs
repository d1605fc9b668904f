//! Memory that launches use: device memory from the device's pool, and pinned host memory for copies in both
//! directions.
//!
//! | type | holds | lives |
//! |---|---|---|
//! | [`DeviceBuffer`] | elements in device memory, with a shape | until its owners are dropped and its work has finished |
//! | [`DeviceView`] | elements of a buffer, with offset, shape and strides | as a buffer: it is another owner |
//! | [`PoolBlock`] | bytes in device memory | as a buffer |
//! | [`PinnedBuffer`] | elements of a type in pinned host memory | as long as its owner |
//! | [`DeviceScratchBuffer`] | bytes for the work of one stream, which grow on demand | until it is dropped |
//!
//! Those in device memory come from the device's [`Pool`], and are freed there in the order of their stream, unless they
//! are borrowed, managed, or shared between processes. The library's own pinned memory is in `staging_ring`, for copies to
//! the device, and in `result_buffers`, for results.

mod buffer;
mod device_pool;
mod foreign;
mod layout;
mod pinned;
mod pinned_buffer;
pub(crate) mod pool;
mod result_buffers;
mod returned;
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
pub use view::{AsView, DeviceView};

pub(crate) use foreign::Foreign;
pub(crate) use result_buffers::{ResultBuffer, ResultBuffers, ReturnedResults, Spans};
pub(crate) use staging_ring::StagingRing;

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
