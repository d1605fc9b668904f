//! Allocating and freeing.

use std::ptr::NonNull;

use hip_driver::{Call, DeviceId, DevicePtr, Output, PinnedAllocation, RawStream};

use super::{Forward, Interposed};
use crate::abi::c_caller::{Address, Out};
use crate::abi::status::Status;
use crate::abi::structs::{hipExtent, hipPitchedPtr};
use crate::memory::allocations::{Allocation, Kind};
use crate::stream::StreamHandle;

/// What a call wrote to the program's memory.
fn written<T: Copy>(to: Out<T>) -> Option<T> {
    to.get().ok()
}

/// An allocation of device memory. `bytes` says how many it has, after the call.
fn allocate(
    over: &Interposed,
    forward: Forward<'_>,
    least: usize,
    pointer: impl Fn() -> Option<Address>,
    bytes: impl Fn() -> usize,
) -> Status {
    if least == 0 {
        return forward();
    }
    let device = over.device();
    over.observe_as(&Call::Malloc { device, bytes: least }, forward, |_| {
        let (bytes, ptr) = (bytes(), DevicePtr(pointer().map_or(0, |pointer| pointer.0)));
        over.known.add(Allocation::device(ptr, bytes, device, Kind::Device));
        (Call::Malloc { device, bytes }, Output::Memory(ptr))
    })
}

pub(crate) fn allocate_pinned(
    over: &Interposed,
    forward: Forward<'_>,
    pointer: Out<Address>,
    bytes: usize,
    flags: u32,
) -> Status {
    if bytes == 0 {
        return forward();
    }
    let device = over.device();
    over.observe(&Call::HostMalloc { device, bytes }, forward, || {
        pinned(over, written(pointer), bytes).map_or(Output::None, |pinned| {
            over.known.add(Allocation::host(pinned, device, Kind::Host, flags));
            Output::Pinned(pinned)
        })
    })
}

/// Pinned memory by its address for the host.
fn pinned(over: &Interposed, host: Option<Address>, bytes: usize) -> Option<PinnedAllocation> {
    let host = NonNull::new(host?.host::<u8>())?;
    let device = over.device_address(host);
    Some(PinnedAllocation { host, device, bytes })
}

pub(crate) fn allocate_in_order(
    over: &Interposed,
    forward: Forward<'_>,
    pointer: Out<Address>,
    bytes: usize,
    stream: StreamHandle,
) -> Status {
    let (device, stream) = over.stream(stream);
    if bytes == 0 || over.is_captured(stream) {
        return forward();
    }
    over.observe(&Call::MallocAsync { device, bytes, stream }, forward, || {
        let ptr = DevicePtr(written(pointer).map_or(0, |pointer| pointer.0));
        over.known.add(Allocation::device(ptr, bytes, device, Kind::Pool(0)));
        Output::Memory(ptr)
    })
}

/// The call that frees memory without a stream, and a call after which nothing uses it.
pub(crate) fn free(over: &Interposed, forward: Forward<'_>, pointer: Address) -> Status {
    let live = over.known.allocations.find(pointer.0).filter(|found| found.base == pointer.0);
    let Some(found) = live.map(|found| *found).or_else(|| over.known.freed_at(pointer.0)) else {
        return forward();
    };
    let (device, ptr) = (found.device, DevicePtr(pointer.0));
    let call = match (found.kind, found.pinned) {
        (Kind::Device | Kind::Managed, _) => Call::Free { device, ptr },
        (Kind::Host, Some(allocation)) => {
            wait(over, device);
            Call::HostFree { device, allocation }
        }
        (Kind::Pool(_), _) => {
            wait(over, device);
            Call::FreeAsync { device, ptr, stream: RawStream::NULL }
        }
        _ => return forward(),
    };
    observe_free(over, &call, forward, pointer)
}

/// Before it frees memory, AMD's library waits for the device: hipHostFree's documentation, and clr (hip_memory.cpp).
fn wait(over: &Interposed, device: DeviceId) {
    over.tell(&Call::DeviceSynchronize { device }, Output::None);
}

fn observe_free(over: &Interposed, call: &Call<'_>, forward: Forward<'_>, pointer: Address) -> Status {
    // Another thread may get the address as soon as it is free.
    let live = over.known.allocations.find(pointer.0);
    over.known.remove(pointer.0);
    let status = over.observe(call, forward, || Output::None);
    if let (Some(live), true) = (live, status != Status::SUCCESS) {
        over.known.add(*live);
    }
    status
}

pub(crate) fn free_in_order(
    over: &Interposed,
    forward: Forward<'_>,
    pointer: Address,
    stream: StreamHandle,
) -> Status {
    let live = over.known.allocations.find(pointer.0).filter(|found| found.base == pointer.0);
    let Some(found) = live.map(|found| *found).or_else(|| over.known.freed_at(pointer.0)) else {
        return forward();
    };
    let (device, stream) = over.stream(stream);
    if !matches!(found.kind, Kind::Pool(_)) || over.is_captured(stream) {
        return free(over, forward, pointer);
    }
    let device = if stream.is_default() { found.device } else { device };
    observe_free(over, &Call::FreeAsync { device, ptr: DevicePtr(pointer.0), stream }, forward, pointer)
}

pub(crate) fn unregister(over: &Interposed, forward: Forward<'_>, pointer: Address) -> Status {
    let live = over.known.allocations.find(pointer.0).filter(|found| found.base == pointer.0);
    let Some(Allocation { device, pinned: Some(allocation), kind: Kind::Registered, .. }) =
        live.map(|found| *found)
    else {
        return forward();
    };
    wait(over, device);
    observe_free(over, &Call::HostUnregister { device, allocation }, forward, pointer)
}

/// The device is as at the start: nothing that was made on it exists.
pub(crate) fn reset(over: &Interposed, forward: Forward<'_>) -> Status {
    let device = over.device();
    let status = forward();
    if status == Status::SUCCESS {
        wait(over, device);
        for found in over.known.allocations.take_of_device(device) {
            let ptr = DevicePtr(found.base);
            match (found.kind, found.pinned) {
                (Kind::Device | Kind::Managed, _) => over.tell(&Call::Free { device, ptr }, Output::None),
                (Kind::Pool(_), _) => {
                    over.tell(&Call::FreeAsync { device, ptr, stream: RawStream::NULL }, Output::None);
                }
                (Kind::Host, Some(allocation)) => {
                    over.tell(&Call::HostFree { device, allocation }, Output::None)
                }
                _ => {}
            }
        }
    }
    status
}

impl Interposed {
    /// Where devices see pinned memory.
    fn device_address(&self, host: NonNull<u8>) -> DevicePtr {
        let address = Address(host.as_ptr().expose_provenance() as u64);
        DevicePtr(self.over().and_then(|layers| layers.device_pointer(address)).unwrap_or(address).0)
    }
}

pub(crate) fn allocate_bytes(
    over: &Interposed,
    forward: Forward<'_>,
    pointer: Out<Address>,
    bytes: usize,
) -> Status {
    allocate(over, forward, bytes, || written(pointer), || bytes)
}

pub(crate) fn allocate_rows(
    over: &Interposed,
    forward: Forward<'_>,
    pointer: Out<Address>,
    pitch: Out<usize>,
    width: usize,
    height: usize,
) -> Status {
    allocate(
        over,
        forward,
        width.saturating_mul(height),
        || written(pointer),
        || written(pitch).unwrap_or(width).saturating_mul(height),
    )
}

pub(crate) fn hipMalloc3D(
    over: &Interposed,
    forward: Forward<'_>,
    pointer: Out<hipPitchedPtr>,
    extent: hipExtent,
) -> Status {
    let rows = extent.height.saturating_mul(extent.depth);
    allocate(
        over,
        forward,
        extent.width.saturating_mul(rows),
        || Some(written(pointer)?.ptr),
        || written(pointer).map_or(extent.width, |made| made.pitch).saturating_mul(rows),
    )
}

pub(crate) fn hipHostRegister(
    over: &Interposed,
    forward: Forward<'_>,
    pointer: Address,
    bytes: usize,
    flags: u32,
) -> Status {
    if pointer.is_null() || bytes == 0 {
        return forward();
    }
    let device = over.device();
    over.observe(&Call::HostRegister { device, ptr: pointer.host(), bytes }, forward, || {
        pinned(over, Some(pointer), bytes).map_or(Output::None, |pinned| {
            over.known.add(Allocation::host(pinned, device, Kind::Registered, flags));
            Output::Pinned(pinned)
        })
    })
}

pub(crate) fn hipMallocManaged(
    over: &Interposed,
    forward: Forward<'_>,
    pointer: Out<Address>,
    bytes: usize,
) -> Status {
    if bytes == 0 {
        return forward();
    }
    let device = over.device();
    over.observe(&Call::MallocManaged { device, bytes }, forward, || {
        let ptr = DevicePtr(written(pointer).unwrap_or(Address::NULL).0);
        over.known.add(Allocation::device(ptr, bytes, device, Kind::Managed));
        Output::Memory(ptr)
    })
}

pub(crate) fn hipDeviceEnablePeerAccess(over: &Interposed, forward: Forward<'_>, peer: i32) -> Status {
    let device = over.device();
    let peer = DeviceId(u32::try_from(peer).unwrap_or(u32::MAX));
    over.observe(&Call::EnablePeerAccess { device, peer }, forward, || Output::None)
}

/// A function gives memory in a way that the layers do not know, perhaps where freed memory was.
pub(crate) fn give_unknown(over: &Interposed, forward: Forward<'_>) -> Status {
    over.known.forget_freed();
    forward()
}
