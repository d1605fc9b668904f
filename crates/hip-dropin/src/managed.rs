//! Managed memory.

use std::ptr::NonNull;

use hip_driver::PinnedAllocation;

use crate::allocations::{Allocation, Kind};
use crate::c_caller::{Address, Out};
use crate::call::call;
use crate::pool;
use crate::process::Process;
use crate::status::{HipResult, Status};
use crate::stream::StreamHandle;
use crate::thread;

/// `hipCpuDeviceId`.
const HOST: i32 = -1;

#[unsafe(export_name = "emulated_hipMallocManaged")]
extern "C" fn hipMallocManaged(pointer: Out<Address>, bytes: usize, flags: u32) -> Status {
    call("hipMallocManaged", |process| {
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
        process.allocations.insert(Allocation::host(pinned, device, Kind::Managed, flags));
        pointer.set(Address(ptr.0))
    })
}

/// Fails unless the bytes are in managed memory, and the device exists or is the host.
pub(crate) fn check(process: &Process, pointer: Address, bytes: usize, device: i32) -> HipResult {
    if pointer.is_null() || bytes == 0 {
        return Err(Status::INVALID_VALUE);
    }
    if device != HOST {
        process.device(device)?;
    }
    let found = process.allocations.find(pointer.0).ok_or(Status::INVALID_VALUE)?;
    let fits = bytes as u64 <= found.range().end - pointer.0;
    if found.is_managed() && fits { Ok(()) } else { Err(Status::INVALID_VALUE) }
}

#[unsafe(export_name = "emulated_hipStreamAttachMemAsync")]
extern "C" fn hipStreamAttachMemAsync(
    stream: StreamHandle,
    pointer: Address,
    bytes: usize,
    flags: u32,
) -> Status {
    call("hipStreamAttachMemAsync", |process| {
        process.stream(stream)?;
        // hipMemAttachGlobal, hipMemAttachHost, hipMemAttachSingle.
        if pointer.is_null() || !matches!(flags, 1 | 2 | 4) {
            return Err(Status::INVALID_VALUE);
        }
        let found = process.allocations.find(pointer.0).filter(|found| found.is_managed());
        let found = found.ok_or(Status::INVALID_VALUE)?;
        if bytes == 0 || bytes == found.bytes { Ok(()) } else { Err(Status::INVALID_VALUE) }
    })
}
