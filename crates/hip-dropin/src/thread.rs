//! What HIP keeps for each thread: the current device, the last error, and the configurations of `<<<>>>`.

use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;

use hip_driver::DeviceId;
use smallvec::SmallVec;

use crate::abi::Dim3;
use crate::c_caller::{In, Out};
use crate::call::{call, without_process};
use crate::status::{HipResult, Status};
use crate::stream::StreamHandle;
use crate::version::Version;

/// The most bytes that the arguments of a kernel can have.
const MOST_ARGUMENT_BYTES: usize = 64 << 10;

/// What `<<<grid, block, lds, stream>>>` says, between its two calls.
pub(crate) struct CallConfiguration {
    pub(crate) grid: Dim3,
    pub(crate) block: Dim3,
    pub(crate) lds: usize,
    pub(crate) stream: StreamHandle,
    /// The arguments that `hipSetupArgument` has set.
    pub(crate) arguments: Vec<u8>,
}

thread_local! {
    static DEVICE: Cell<u32> = const { Cell::new(0) };
    static LAST_ERROR: Cell<Status> = const { Cell::new(Status::SUCCESS) };
    static LAST_CALL: Cell<Status> = const { Cell::new(Status::SUCCESS) };
    /// The devices of the contexts that are below the current one.
    static CONTEXTS: Kept<[DeviceId; 8]> = Kept::default();
    static CONFIGURATIONS: Kept<[CallConfiguration; 4]> = Kept::default();
}

/// A stack of a thread that is never destroyed, because destructors of the program's static objects, which run after those of the
/// thread's, launch kernels, too. Nothing is left behind by a thread that ends unless more are on the stack than in `A`.
type Kept<A> = ManuallyDrop<RefCell<SmallVec<A>>>;

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

#[unsafe(export_name = "emulated_hipGetLastError")]
extern "C" fn hipGetLastError() -> Status {
    LAST_ERROR.replace(Status::SUCCESS)
}

#[unsafe(export_name = "emulated_hipPeekAtLastError")]
extern "C" fn hipPeekAtLastError() -> Status {
    LAST_ERROR.get()
}

#[unsafe(export_name = "emulated_hipExtGetLastError")]
extern "C" fn hipExtGetLastError() -> Status {
    LAST_CALL.replace(Status::SUCCESS)
}

#[unsafe(export_name = "emulated___hipPushCallConfiguration")]
extern "C" fn __hipPushCallConfiguration(
    grid: Dim3,
    block: Dim3,
    lds: usize,
    stream: StreamHandle,
) -> Status {
    without_process("__hipPushCallConfiguration", || {
        push_configuration(CallConfiguration { grid, block, lds, stream, arguments: Vec::new() })
    })
}

#[unsafe(export_name = "emulated___hipPopCallConfiguration")]
extern "C" fn __hipPopCallConfiguration(
    grid: Out<Dim3>,
    block: Out<Dim3>,
    lds: Out<usize>,
    stream: Out<StreamHandle>,
) -> Status {
    without_process("__hipPopCallConfiguration", || {
        let configuration = pop_configuration()?;
        grid.set(configuration.grid)?;
        block.set(configuration.block)?;
        lds.set(configuration.lds)?;
        stream.set(configuration.stream)
    })
}

pub(crate) fn push_configuration(configuration: CallConfiguration) -> HipResult {
    let pushed = CONFIGURATIONS.try_with(|stack| stack.borrow_mut().push(configuration));
    pushed.map_err(|_| Status::DEINITIALIZED)
}

pub(crate) fn pop_configuration() -> HipResult<CallConfiguration> {
    let popped = CONFIGURATIONS.try_with(|stack| stack.borrow_mut().pop());
    popped.ok().flatten().ok_or(Status::MISSING_CONFIGURATION)
}

#[unsafe(export_name = "emulated_hipConfigureCall")]
extern "C" fn hipConfigureCall(grid: Dim3, block: Dim3, lds: usize, stream: StreamHandle) -> Status {
    call("hipConfigureCall", |_| {
        push_configuration(CallConfiguration { grid, block, lds, stream, arguments: Vec::new() })
    })
}

/// Sets the bytes of an argument at an offset, for `hipLaunchByPtr`.
#[unsafe(export_name = "emulated_hipSetupArgument")]
extern "C" fn hipSetupArgument(argument: In<u8>, bytes: usize, offset: usize) -> Status {
    call("hipSetupArgument", |_| {
        let argument = argument.array(bytes)?;
        let end = offset
            .checked_add(bytes)
            .filter(|end| *end <= MOST_ARGUMENT_BYTES)
            .ok_or(Status::INVALID_VALUE)?;
        let set = CONFIGURATIONS.try_with(|stack| {
            let mut stack = stack.borrow_mut();
            let arguments = &mut stack.last_mut().ok_or(Status::MISSING_CONFIGURATION)?.arguments;
            arguments.resize(arguments.len().max(end), 0);
            arguments[offset..end].copy_from_slice(&argument);
            Ok(())
        });
        set.unwrap_or(Err(Status::DEINITIALIZED))
    })
}
