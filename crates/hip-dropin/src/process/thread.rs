//! What HIP keeps for each thread: the current device and the last error.

use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;

use hip_driver::DeviceId;
use smallvec::SmallVec;

use crate::abi::status::Status;
use crate::abi::version::Version;

thread_local! {
    static DEVICE: Cell<u32> = const { Cell::new(0) };
    pub(crate) static LAST_ERROR: Cell<Status> = const { Cell::new(Status::SUCCESS) };
    pub(crate) static LAST_CALL: Cell<Status> = const { Cell::new(Status::SUCCESS) };
    /// The devices of the contexts that are below the current one.
    static CONTEXTS: Kept<[DeviceId; 8]> = Kept::default();
}

/// A stack of a thread that is never destroyed, because destructors of the program's static objects, which run after those of the
/// thread's, launch kernels, too. Nothing is left behind by a thread that ends unless more are on the stack than in `A`.
pub(crate) type Kept<A> = ManuallyDrop<RefCell<SmallVec<A>>>;

/// The thread's current device.
#[inline]
pub(crate) fn device() -> DeviceId {
    DeviceId(DEVICE.get())
}

pub(crate) fn set_device(device: DeviceId) {
    DEVICE.set(device.0);
}

/// Makes `device` the current one until the next [`pop_context`].
pub(crate) fn push_context(device: DeviceId) {
    // A thread that ends has no contexts any more.
    let _ = CONTEXTS.try_with(|contexts| contexts.borrow_mut().push(self::device()));
    set_device(device);
}

/// Returns to the device before the last [`push_context`], and returns the device that was current.
pub(crate) fn pop_context() -> Option<DeviceId> {
    let below = CONTEXTS.try_with(|contexts| contexts.borrow_mut().pop()).ok().flatten()?;
    let current = device();
    set_device(below);
    Some(current)
}

/// Keeps the status of a call. Before HIP 7, a call that succeeds clears the last error.
#[inline]
pub(crate) fn set_last_error(status: Status) {
    LAST_CALL.set(status);
    let keeps = Version::current() >= Version::Hip7;
    if !keeps || (status != Status::SUCCESS && status != Status::NOT_READY) {
        LAST_ERROR.set(status);
    }
}
