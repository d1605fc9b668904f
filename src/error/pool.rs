//! What can be wrong with an address that a pool is given.

use hip_driver::{DeviceId, DevicePtr};

/// A misuse of an address of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PoolError {
    /// The block was already freed.
    #[error("{call}: the block at {ptr} of {device} was freed already; free each block once")]
    DoubleFree {
        /// The function that was called.
        call: &'static str,
        /// The address that was passed.
        ptr: DevicePtr,
        /// The pool's device.
        device: DeviceId,
    },
    /// The address is in no memory of this pool.
    #[error("{call}: {ptr} is not an address of the pool of {device}; use the pool that the block is from")]
    ForeignPointer {
        /// The function that was called.
        call: &'static str,
        /// The address that was passed.
        ptr: DevicePtr,
        /// The pool's device.
        device: DeviceId,
    },
    /// The address is inside a live block but not its start, or the block has an owner that frees it.
    #[error("{call}: {ptr} is {offset} bytes into the {bytes} bytes at {block} of {device}; {advice}")]
    NotYours {
        /// The function that was called.
        call: &'static str,
        /// The address that was passed.
        ptr: DevicePtr,
        /// The start of the live block.
        block: DevicePtr,
        /// The number of bytes that were asked for.
        bytes: u64,
        /// The number of bytes from the start of the block to the address.
        offset: u64,
        /// What to do instead.
        advice: &'static str,
        /// The pool's device.
        device: DeviceId,
    },
    /// The block was freed and is then used.
    #[error("{call}: the block at {ptr} of {device} was freed; keep it until the last use was enqueued")]
    UseAfterFree {
        /// The function that was called.
        call: &'static str,
        /// The address that was passed.
        ptr: DevicePtr,
        /// The pool's device.
        device: DeviceId,
    },
}
