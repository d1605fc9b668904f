//! The configurations of `<<<grid, block, lds, stream>>>`, which compilers push before a launch and pop in it.

use crate::abi::c_caller::{In, Out};
use crate::abi::status::{HipResult, Status};
use crate::abi::structs::Dim3;
use crate::process::thread::Kept;
use crate::stream::StreamHandle;

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
    static CONFIGURATIONS: Kept<[CallConfiguration; 4]> = Kept::default();
}

pub(crate) fn __hipPushCallConfiguration(
    grid: Dim3,
    block: Dim3,
    lds: usize,
    stream: StreamHandle,
) -> HipResult {
    push_configuration(CallConfiguration { grid, block, lds, stream, arguments: Vec::new() })
}

pub(crate) fn __hipPopCallConfiguration(
    grid: Out<Dim3>,
    block: Out<Dim3>,
    lds: Out<usize>,
    stream: Out<StreamHandle>,
) -> HipResult {
    let configuration = pop_configuration()?;
    grid.set(configuration.grid)?;
    block.set(configuration.block)?;
    lds.set(configuration.lds)?;
    stream.set(configuration.stream)
}

fn push_configuration(configuration: CallConfiguration) -> HipResult {
    let pushed = CONFIGURATIONS.try_with(|stack| stack.borrow_mut().push(configuration));
    pushed.map_err(|_| Status::DEINITIALIZED)
}

pub(crate) fn pop_configuration() -> HipResult<CallConfiguration> {
    let popped = CONFIGURATIONS.try_with(|stack| stack.borrow_mut().pop());
    popped.ok().flatten().ok_or(Status::MISSING_CONFIGURATION)
}

pub(crate) fn hipConfigureCall(grid: Dim3, block: Dim3, lds: usize, stream: StreamHandle) -> HipResult {
    push_configuration(CallConfiguration { grid, block, lds, stream, arguments: Vec::new() })
}

/// Sets the bytes of an argument at an offset, for `hipLaunchByPtr`.
pub(crate) fn hipSetupArgument(argument: In<u8>, bytes: usize, offset: usize) -> HipResult {
    let argument = argument.array(bytes)?;
    let end =
        offset.checked_add(bytes).filter(|end| *end <= MOST_ARGUMENT_BYTES).ok_or(Status::INVALID_VALUE)?;
    let set = CONFIGURATIONS.try_with(|stack| {
        let mut stack = stack.borrow_mut();
        let arguments = &mut stack.last_mut().ok_or(Status::MISSING_CONFIGURATION)?.arguments;
        arguments.resize(arguments.len().max(end), 0);
        arguments[offset..end].copy_from_slice(&argument);
        Ok(())
    });
    set.unwrap_or(Err(Status::DEINITIALIZED))
}
