//! Fills of memory with bytes, halves and words.

use hip_driver::{DeviceId, DevicePtr, Work};

use crate::abi::c_caller::Address;
use crate::abi::status::{HipResult, Status};
use crate::abi::structs::{hipExtent, hipPitchedPtr};
use crate::copy::boxes::Side;
use crate::copy::{self};
use crate::memory::allocations::Place;
use crate::process::Process;
use crate::stream::target::Queue;

/// A fill of rows with a value of 1, 2 or 4 bytes.
#[derive(Clone, Copy)]
pub(crate) struct Fill {
    pub(crate) start: Address,
    /// The distance of two rows in bytes.
    pub(crate) pitch: usize,
    /// The distance of two slices in bytes.
    pub(crate) slice: usize,
    pub(crate) value: u32,
    /// The bytes of an element.
    pub(crate) element: usize,
    /// The elements of a row.
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) depth: usize,
}

impl Fill {
    /// A fill of one row.
    pub(crate) fn row(start: Address, value: u32, element: usize, width: usize) -> Fill {
        Fill { start, pitch: 0, slice: 0, value, element, width, height: 1, depth: 1 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.width == 0 || self.height == 0 || self.depth == 0
    }

    /// Checks that the fill is within memory that devices can access.
    pub(crate) fn check(&self, process: &Process) -> HipResult {
        let Fill { start, pitch, slice, element, width, height, depth, .. } = *self;
        if self.is_empty() {
            return Ok(());
        }
        let bytes = width.checked_mul(element).ok_or(Status::INVALID_VALUE)?;
        if start.is_null() || (bytes > pitch && (height > 1 || depth > 1)) {
            return Err(Status::INVALID_VALUE);
        }
        let extent = Side { start, pitch, slice }.extent(bytes, height, depth)?;
        match process.place(start, extent)? {
            Place::Pageable => Err(Status::INVALID_VALUE),
            Place::Pinned(_) | Place::Device(_) => Ok(()),
        }
    }

    /// The start and the number of elements of each range without gaps, of a fill that was checked.
    fn ranges(&self) -> Vec<(Address, usize)> {
        let Fill { start, pitch, slice, element, width, height, depth, .. } = *self;
        if self.is_empty() {
            return Vec::new();
        }
        if pitch == width * element && (depth == 1 || slice == pitch * height) {
            return vec![(start, width * height * depth)];
        }
        let rows = (0..depth).flat_map(|z| (0..height).map(move |y| (z, y)));
        rows.map(|(z, y)| (start.offset(z * slice + y * pitch), width)).collect()
    }

    /// Fills.
    pub(crate) fn run(&self, process: &Process, queue: Queue) -> HipResult {
        self.check(process)?;
        if process.capture_fill(queue, self)? {
            return Ok(());
        }
        let mut filling = queue.device;
        for (start, count) in self.ranges() {
            let (device, ptr) = filled(process, start, count * self.element, queue)?;
            filling = device;
            match self.work(ptr, count) {
                Some(work) => process.enqueue_on(device, queue, &work)?,
                None => {
                    let element = &self.value.to_le_bytes()[..self.element];
                    copy::from_bytes(process, start, &element.repeat(count), queue)?;
                }
            }
        }
        queue.finish_on(process, [filling])
    }

    /// The driver's work for one range; `None` where the driver has no such fill.
    pub(crate) fn work(&self, dst: DevicePtr, count: usize) -> Option<Work<'static>> {
        let [low, high, ..] = self.value.to_le_bytes();
        match self.element {
            1 => Some(Work::FillBytes { dst, value: low, bytes: count }),
            2 if low == high => Some(Work::FillBytes { dst, value: low, bytes: 2 * count }),
            2 if dst.0.is_multiple_of(4) && count.is_multiple_of(2) => {
                let half = self.value & 0xffff;
                Some(Work::FillWords { dst, value: half << 16 | half, count: count / 2 })
            }
            4 if dst.0.is_multiple_of(4) => Some(Work::FillWords { dst, value: self.value, count }),
            _ => None,
        }
    }
}

/// The device that fills memory, and the address that it sees.
fn filled(process: &Process, start: Address, bytes: usize, queue: Queue) -> HipResult<(DeviceId, DevicePtr)> {
    match process.place(start, bytes)? {
        Place::Pageable => Err(Status::INVALID_VALUE),
        Place::Pinned(ptr) => Ok((queue.device, ptr)),
        Place::Device(device) => Ok((device, DevicePtr(start.0))),
    }
}

/// The fill of a rectangle.
pub(crate) fn rectangle(
    start: Address,
    pitch: usize,
    value: u32,
    element: usize,
    width: usize,
    height: usize,
) -> HipResult<Fill> {
    start_is_given(start)?;
    Ok(Fill { pitch, height, ..Fill::row(start, value, element, width) })
}

fn start_is_given(start: Address) -> HipResult {
    if start.is_null() { Err(Status::INVALID_VALUE) } else { Ok(()) }
}

/// The fill of a box of pitched memory.
pub(crate) fn cuboid(memory: &hipPitchedPtr, value: i32, extent: hipExtent) -> HipResult<Fill> {
    let hipExtent { width, height, depth } = extent;
    if width == 0 || height == 0 || depth == 0 {
        return Ok(Fill::row(memory.ptr, 0, 1, 0));
    }
    start_is_given(memory.ptr)?;
    if width > memory.pitch {
        return Err(Status::INVALID_VALUE);
    }
    let slice = memory.pitch.saturating_mul(memory.ysize);
    let row = Fill::row(memory.ptr, value as u32, 1, width);
    Ok(Fill { pitch: memory.pitch, slice, height, depth, ..row })
}
