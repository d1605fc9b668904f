//! Managed memory.

use std::ptr::NonNull;

use hip_driver::PinnedAllocation;

use crate::abi::{Address, HipResult, Out, Status};
use crate::memory::allocations::{ALLOCATIONS, Allocation, Kind};
use crate::memory::pool;
use crate::process::{Process, thread};
use crate::stream::StreamHandle;

/// `hipCpuDeviceId`.
const HOST: i32 = -1;

pub(crate) fn hipMallocManaged(
    process: &Process,
    pointer: Out<Address>,
    bytes: usize,
    flags: u32,
) -> HipResult {
    pointer.check()?;
    // hipMemAttachGlobal or hipMemAttachHost.
    if bytes == 0 || !matches!(flags, 1 | 2) {
        return Err(Status::INVALID_VALUE);
    }
    process.captures_allow()?;
    let device = thread::device();
    let ptr = pool::with_memory_of(process, device, || process.driver.malloc_managed(device, bytes))?;
    // The host has it at the same address.
    let host = NonNull::new(Address(ptr.0).host()).ok_or(Status::UNKNOWN)?;
    let pinned = PinnedAllocation { host, device: ptr, bytes };
    ALLOCATIONS.insert(Allocation::host(pinned, device, Kind::Managed, flags));
    pointer.set(Address(ptr.0))
}

/// Fails unless the bytes are in managed memory, and the device exists or is the host.
pub(crate) fn check(process: &Process, pointer: Address, bytes: usize, device: i32) -> HipResult {
    if pointer.is_null() || bytes == 0 {
        return Err(Status::INVALID_VALUE);
    }
    if device != HOST {
        process.device(device)?;
    }
    let found = ALLOCATIONS.find(pointer.0).ok_or(Status::INVALID_VALUE)?;
    let fits = bytes as u64 <= found.range().end - pointer.0;
    if found.is_managed() && fits { Ok(()) } else { Err(Status::INVALID_VALUE) }
}

pub(crate) fn hipStreamAttachMemAsync(
    process: &Process,
    stream: StreamHandle,
    pointer: Address,
    bytes: usize,
    flags: u32,
) -> HipResult {
    process.stream(stream)?;
    // hipMemAttachGlobal, hipMemAttachHost, hipMemAttachSingle.
    if pointer.is_null() || !matches!(flags, 1 | 2 | 4) || flags == 4 && stream.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    let found = ALLOCATIONS.find(pointer.0).filter(|found| found.is_managed());
    let found = found.ok_or(Status::INVALID_VALUE)?;
    if bytes == 0 || bytes == found.bytes { Ok(()) } else { Err(Status::INVALID_VALUE) }
}
