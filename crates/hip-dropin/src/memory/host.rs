//! Pinned memory of the host.

use crate::abi::{Address, HipResult, Out, Status};
use crate::memory;
use crate::memory::allocations::{ALLOCATIONS, Allocation, Kind};
use crate::process::{Process, thread};
use hip_driver_emulated::system::is_mapped;

const PORTABLE: u32 = 1;
const MAPPED: u32 = 2;
const WRITE_COMBINED: u32 = 4;
const NUMA_USER: u32 = 0x2000_0000;
const UNCACHED: u32 = 0x1000_0000;
const COHERENT: u32 = 0x4000_0000;
const NON_COHERENT: u32 = 0x8000_0000;

pub(crate) fn allocate(process: &Process, pointer: Out<Address>, bytes: usize, flags: u32) -> HipResult {
    pointer.check()?;
    let known = PORTABLE | MAPPED | WRITE_COMBINED | NUMA_USER | UNCACHED | COHERENT | NON_COHERENT;
    if flags & !known != 0 || flags & (COHERENT | NON_COHERENT) == COHERENT | NON_COHERENT {
        return Err(Status::INVALID_VALUE);
    }
    if bytes == 0 {
        return pointer.set(Address::NULL);
    }
    // More than a process can have: the driver calls that an invalid value.
    if bytes > isize::MAX as usize - 4096 {
        return Err(Status::OUT_OF_MEMORY);
    }
    process.captures_allow()?;
    let device = thread::device();
    let pinned = process.driver.host_malloc(device, bytes)?;
    if flags & NON_COHERENT != 0 {
        process.set_fine_grained(device, pinned.device, false)?;
    }
    let allocation = Allocation::host(pinned, device, Kind::Host, flags);
    ALLOCATIONS.insert(allocation);
    pointer.set(Address(allocation.base))
}

pub(crate) fn free(process: &Process, pointer: Address) -> HipResult {
    if pointer.is_null() {
        return Ok(());
    }
    let found = ALLOCATIONS.take(pointer.0, |kind| kind == Kind::Host).ok_or(Status::INVALID_VALUE)?;
    memory::free(process, &found)
}

pub(crate) fn hipHostRegister(process: &Process, pointer: Address, bytes: usize, flags: u32) -> HipResult {
    if pointer.is_null() || bytes == 0 || flags & !0xf != 0 {
        return Err(Status::INVALID_VALUE);
    }
    if !is_mapped(pointer.host(), bytes) {
        return Err(Status::INVALID_VALUE);
    }
    process.captures_allow()?;
    let device = thread::device();
    // AMD's libraries let a program register memory anew that it freed without unregistering it.
    if let Some(found) = ALLOCATIONS.take(pointer.0, |kind| kind == Kind::Registered) {
        unregister(process, &found)?;
    }
    // SAFETY: the program keeps the memory until it unregisters it, as HIP asks.
    let pinned = unsafe { process.driver.host_register(device, pointer.host(), bytes) }?;
    ALLOCATIONS.insert(Allocation::host(pinned, device, Kind::Registered, flags));
    Ok(())
}

pub(crate) fn hipHostUnregister(process: &Process, pointer: Address) -> HipResult {
    if pointer.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    process.captures_allow()?;
    let found = ALLOCATIONS.take(pointer.0, |kind| kind == Kind::Registered);
    unregister(process, &*found.ok_or(Status::HOST_MEMORY_NOT_REGISTERED)?)?;
    process.report_faults()
}

fn unregister(process: &Process, registered: &Allocation) -> HipResult {
    let pinned = registered.pinned.ok_or(Status::HOST_MEMORY_NOT_REGISTERED)?;
    // SAFETY: it was registered until now. That nothing in flight uses it is the program's part.
    Ok(unsafe { process.driver.host_unregister(registered.device, pinned) }?)
}

pub(crate) fn hipHostGetDevicePointer(
    device_pointer: Out<Address>,
    pointer: Address,
    flags: u32,
) -> HipResult {
    device_pointer.check()?;
    if pointer.is_null() || flags != 0 {
        return Err(Status::INVALID_VALUE);
    }
    let found = ALLOCATIONS.find(pointer.0).filter(|found| found.pinned.is_some());
    let found = found.ok_or(Status::INVALID_VALUE)?;
    device_pointer.set(Address(found.device_address(pointer.0).0))
}

pub(crate) fn hipHostGetFlags(flags: Out<u32>, pointer: Address) -> HipResult {
    flags.check()?;
    let found = ALLOCATIONS.find(pointer.0);
    let found = found.filter(|found| matches!(found.kind, Kind::Host | Kind::Registered));
    flags.set(found.ok_or(Status::INVALID_VALUE)?.flags)
}
