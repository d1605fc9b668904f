//! Memory of other processes.

use hip_driver::{DevicePtr, IpcHandle};

use crate::abi::c_caller::{Address, Out};
use crate::abi::status::{HipResult, Status};
use crate::abi::structs::hipIpcMemHandle_t;
use crate::memory::allocations::ALLOCATIONS;
use crate::memory::allocations::{Allocation, Kind};
use crate::process::Process;
use crate::process::thread;

// The driver's handle has zero bytes where these are written: the process, the bytes of the allocation, and the offset of
// the address in it.
const PROCESS: usize = 40;
const BYTES: usize = 48;
const OFFSET: usize = 56;

fn number(handle: &hipIpcMemHandle_t, at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|i| handle.reserved[at + i]))
}

fn this_process() -> u64 {
    u64::from(std::process::id())
}

fn handle_of(process: &Process, pointer: Address) -> HipResult<hipIpcMemHandle_t> {
    let found = ALLOCATIONS.find(pointer.0).filter(|found| found.kind == Kind::Device);
    let found = found.ok_or(Status::INVALID_VALUE)?;
    // SAFETY: the memory is live. That nothing accesses it meanwhile is the program's part.
    let IpcHandle(mut reserved) = unsafe { process.driver.ipc_handle(found.device, DevicePtr(found.base)) }?;
    if reserved[PROCESS..].iter().any(|byte| *byte != 0) {
        return Err(Status::NOT_SUPPORTED);
    }
    for (at, value) in
        [(PROCESS, this_process()), (BYTES, found.bytes as u64), (OFFSET, pointer.0 - found.base)]
    {
        reserved[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }
    Ok(hipIpcMemHandle_t { reserved })
}

pub(crate) fn hipIpcGetMemHandle(
    process: &Process,
    handle: Out<hipIpcMemHandle_t>,
    pointer: Address,
) -> HipResult {
    handle.check()?;
    handle.set(handle_of(process, pointer)?)
}

pub(crate) fn hipIpcOpenMemHandle(
    process: &Process,
    pointer: Out<Address>,
    handle: hipIpcMemHandle_t,
    flags: u32,
) -> HipResult {
    pointer.check()?;
    // hipIpcMemLazyEnablePeerAccess must be given, which early headers define as 0.
    if flags > 1 {
        return Err(Status::INVALID_VALUE);
    }
    if number(&handle, PROCESS) == this_process() {
        return Err(Status::INVALID_CONTEXT);
    }
    let bytes = number(&handle, BYTES) as usize;
    let mut of_driver = handle.reserved;
    of_driver[PROCESS..].fill(0);
    let device = thread::device();
    // SAFETY: a handle that is none is refused. That the other process keeps the memory is the program's part.
    let ptr = unsafe { process.driver.ipc_open(device, IpcHandle(of_driver), bytes) }?;
    ALLOCATIONS.insert(Allocation::device(ptr, bytes, device, Kind::Opened));
    pointer.set(Address(ptr.0 + number(&handle, OFFSET)))
}

pub(crate) fn hipIpcCloseMemHandle(process: &Process, pointer: Address) -> HipResult {
    let found = ALLOCATIONS.find(pointer.0).ok_or(Status::INVALID_VALUE)?;
    let opened = ALLOCATIONS.take(found.base, |kind| kind == Kind::Opened);
    let opened = opened.ok_or(Status::INVALID_VALUE)?;
    // Work in flight may access the memory.
    process.driver.device_synchronize(opened.device)?;
    // SAFETY: the memory was live, and nobody finds it any more.
    Ok(unsafe { process.driver.ipc_close(opened.device, DevicePtr(opened.base)) }?)
}
