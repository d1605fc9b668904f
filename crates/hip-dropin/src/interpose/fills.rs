//! Fills. Of a fill of rows with gaps, the layers see the first row.

use hip_driver::{DevicePtr, Work};

use super::copies::{BLOCKING, BLOCKING_PER_THREAD, On, on, show};
use super::known::Place;
use super::{Forward, Interposed, wrappers};
use crate::abi::c_caller::Address;
use crate::abi::status::Status;
use crate::abi::structs::{hipExtent, hipPitchedPtr};
use crate::stream::StreamHandle;

/// A fill of elements of some bytes: what it is for a driver, and its device; `None` for memory that is not known.
pub(super) fn work(
    over: &Interposed,
    start: Address,
    value: u32,
    element: usize,
    count: usize,
) -> Option<(Option<hip_driver::DeviceId>, Work<'static>)> {
    let (device, dst) = match over.known.device_place(start.0) {
        Place::Unknown => return None,
        Place::Pinned(ptr) => (None, ptr),
        Place::Device(device) => (Some(device), DevicePtr(start.0)),
    };
    let work = if element == 4 && dst.0.is_multiple_of(4) {
        Work::FillWords { dst, value, count }
    } else {
        Work::FillBytes { dst, value: value as u8, bytes: count.saturating_mul(element) }
    };
    Some((device, work))
}

fn fill(
    over: &Interposed,
    forward: Forward<'_>,
    start: Address,
    value: u32,
    element: usize,
    count: usize,
    on: On,
) -> Status {
    match work(over, start, value, element, count) {
        Some((device, work)) if count > 0 => show(over, forward, device, &work, on),
        _ => forward(),
    }
}

/// The elements of a fill of rows that the layers see.
pub(super) fn elements(pitch: usize, element: usize, width: usize, height: usize) -> usize {
    match height {
        0 => 0,
        1 => width,
        _ if pitch == width.saturating_mul(element) => width.saturating_mul(height),
        _ => width,
    }
}

fn cuboid(
    over: &Interposed,
    forward: Forward<'_>,
    memory: &hipPitchedPtr,
    value: i32,
    extent: hipExtent,
    on: On,
) -> Status {
    let height = if extent.depth == 0 { 0 } else { extent.height };
    let count = elements(memory.pitch, 1, extent.width, height);
    fill(over, forward, memory.ptr, value as u32, 1, count, on)
}

wrappers! {
    hipMemset(start: Address, value: i32, count: usize) = |over, forward| {
        fill(over, forward, start, value as u32, 1, count, BLOCKING)
    };
    hipMemset_spt(start: Address, value: i32, count: usize) = |over, forward| {
        fill(over, forward, start, value as u32, 1, count, BLOCKING_PER_THREAD)
    };
    hipMemsetAsync(start: Address, value: i32, count: usize, stream: StreamHandle) = |over, forward| {
        fill(over, forward, start, value as u32, 1, count, on(stream))
    };
    hipMemsetAsync_spt(start: Address, value: i32, count: usize, stream: StreamHandle) = |over, forward| {
        fill(over, forward, start, value as u32, 1, count, on(stream.or_per_thread()))
    };
    hipMemsetD8(start: Address, value: u8, count: usize) = |over, forward| {
        fill(over, forward, start, value.into(), 1, count, BLOCKING)
    };
    hipMemsetD8Async(start: Address, value: u8, count: usize, stream: StreamHandle) = |over, forward| {
        fill(over, forward, start, value.into(), 1, count, on(stream))
    };
    hipMemsetD16(start: Address, value: u16, count: usize) = |over, forward| {
        fill(over, forward, start, value.into(), 2, count, BLOCKING)
    };
    hipMemsetD16Async(start: Address, value: u16, count: usize, stream: StreamHandle) = |over, forward| {
        fill(over, forward, start, value.into(), 2, count, on(stream))
    };
    hipMemsetD32(start: Address, value: i32, count: usize) = |over, forward| {
        fill(over, forward, start, value as u32, 4, count, BLOCKING)
    };
    hipMemsetD32Async(start: Address, value: i32, count: usize, stream: StreamHandle) = |over, forward| {
        fill(over, forward, start, value as u32, 4, count, on(stream))
    };
    hipMemset2D(start: Address, pitch: usize, value: i32, width: usize, height: usize) = |over, forward| {
        fill(over, forward, start, value as u32, 1, elements(pitch, 1, width, height), BLOCKING)
    };
    hipMemset2D_spt(start: Address, pitch: usize, value: i32, width: usize, height: usize) = |over, forward| {
        fill(over, forward, start, value as u32, 1, elements(pitch, 1, width, height), BLOCKING_PER_THREAD)
    };
    hipMemset2DAsync(
        start: Address, pitch: usize, value: i32, width: usize, height: usize, stream: StreamHandle,
    ) = |over, forward| fill(over, forward, start, value as u32, 1, elements(pitch, 1, width, height), on(stream));
    hipMemset2DAsync_spt(
        start: Address, pitch: usize, value: i32, width: usize, height: usize, stream: StreamHandle,
    ) = |over, forward| {
        fill(over, forward, start, value as u32, 1, elements(pitch, 1, width, height), on(stream.or_per_thread()))
    };
    hipMemset3D(memory: hipPitchedPtr, value: i32, extent: hipExtent) = |over, forward| {
        cuboid(over, forward, &memory, value, extent, BLOCKING)
    };
    hipMemset3D_spt(memory: hipPitchedPtr, value: i32, extent: hipExtent) = |over, forward| {
        cuboid(over, forward, &memory, value, extent, BLOCKING_PER_THREAD)
    };
    hipMemset3DAsync(memory: hipPitchedPtr, value: i32, extent: hipExtent, stream: StreamHandle) = |over, forward| {
        cuboid(over, forward, &memory, value, extent, on(stream))
    };
    hipMemset3DAsync_spt(memory: hipPitchedPtr, value: i32, extent: hipExtent, stream: StreamHandle) = |over, forward| {
        cuboid(over, forward, &memory, value, extent, on(stream.or_per_thread()))
    };
}
