//! Copies of rectangles and boxes: rows that lie at distances (pitches) from each other.

use hip_driver::{DeviceId, PinnedAllocation};

use crate::abi::version::Version;
use crate::abi::{
    Address, Array, HIP_MEMCPY3D, HIP_MEMCPY3D_R5, HipResult, In, Status, hip_Memcpy2D, hipMemcpy3DParms,
    hipPitchedPtr, hipPos,
};
use crate::copy::arrays;
use crate::copy::{CopyRoute, DEFAULT, HOST_TO_HOST, Way, check_kind};
use crate::memory::allocations::Place;
use crate::memory::array::memory_type;
use crate::process::{Process, thread};
use crate::stream::{Queue, Target};

/// One side of a copy.
#[derive(Clone, Copy)]
pub(crate) struct Side {
    /// The first byte of the first row.
    pub(crate) start: Address,
    /// The distance of two rows in bytes.
    pub(crate) pitch: usize,
    /// The distance of two slices in bytes.
    pub(crate) slice: usize,
}

impl Side {
    /// The bytes from the first to the last one of a box of rows. Fails with `INVALID_VALUE` for more than there are.
    pub(crate) fn extent(&self, width: usize, height: usize, depth: usize) -> HipResult<usize> {
        let rows = height.saturating_sub(1).checked_mul(self.pitch);
        let slices = depth.saturating_sub(1).checked_mul(self.slice);
        let last_row = rows.zip(slices).and_then(|(rows, slices)| rows.checked_add(slices));
        last_row.and_then(|last| last.checked_add(width)).ok_or(Status::INVALID_VALUE)
    }
}

/// A copy of a box.
#[derive(Clone, Copy)]
pub(crate) struct BoxCopy {
    pub(crate) dst: Side,
    pub(crate) src: Side,
    /// The bytes of a row.
    pub(crate) width: usize,
    /// The rows of a slice.
    pub(crate) height: usize,
    /// The slices.
    pub(crate) depth: usize,
    /// A `hipMemcpyKind`.
    pub(crate) kind: i32,
}

impl BoxCopy {
    pub(crate) fn is_empty(&self) -> bool {
        self.width == 0 || self.height == 0 || self.depth == 0
    }

    /// Checks what HIP checks before it copies, and that each side is in one allocation, or in none that HIP knows.
    pub(crate) fn check(&self, process: &Process) -> HipResult {
        check_kind(self.kind)?;
        if self.is_empty() {
            return Ok(());
        }
        if self.dst.start.is_null() || self.src.start.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        if self.width > self.dst.pitch || self.width > self.src.pitch {
            return Err(Status::INVALID_PITCH_VALUE);
        }
        for side in [&self.dst, &self.src] {
            process.place(side.start, side.extent(self.width, self.height, self.depth)?)?;
        }
        Ok(())
    }

    /// The ranges to copy: as few as cover the rows. Each has two addresses and a length in bytes.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = (Address, Address, usize)> + use<> {
        let BoxCopy { dst, src, width, height, depth, .. } = *self;
        let dense = |side: &Side| side.pitch == width;
        // Rows without gaps are one range, and slices of them without gaps, too.
        let (bytes, rows) = if dense(&dst) && dense(&src) { (width * height, 1) } else { (width, height) };
        let joined = rows == 1 && dst.slice == bytes && src.slice == bytes;
        let (bytes, slices) = if joined { (bytes * depth, 1) } else { (bytes, depth) };
        (0..slices).flat_map(move |slice| {
            (0..rows).map(move |row| {
                let at = |side: Side| side.start.offset(slice * side.slice + row * side.pitch);
                (at(dst), at(src), bytes)
            })
        })
    }

    /// Copies.
    pub(crate) fn run(&self, process: &Process, queue: Queue) -> HipResult {
        self.check(process)?;
        if self.is_empty() {
            return Ok(());
        }
        if process.capture_copy(queue, self)? {
            return Ok(());
        }
        // Everything is checked before the first row is copied.
        let routes =
            self.ranges().map(|(dst, src, bytes)| Ok((CopyRoute::find(process, dst, src, bytes)?, bytes)));
        let routes = routes.collect::<HipResult<Vec<(CopyRoute, usize)>>>()?;
        // All rows are of the same two allocations.
        let Some((first, _)) = routes.first() else { return Ok(()) };
        first.begin(process, queue)?;
        if let Some(stage) = self.stage(process, &routes) {
            return stage.copy(&routes, queue);
        }
        self.enqueue(process, &routes, queue)?;
        queue.finish_on(process, first.devices(queue))
    }

    /// Enqueues the rows, which were checked.
    fn enqueue(&self, process: &Process, routes: &[(CopyRoute, usize)], queue: Queue) -> HipResult {
        for (route, bytes) in routes {
            if let (Way::OnHost, false) = (route.way, matches!(self.kind, HOST_TO_HOST | DEFAULT)) {
                return Err(Status::INVALID_VALUE);
            }
            route.enqueue(process, *bytes, queue)?;
        }
        Ok(())
    }

    /// Returns pinned memory for many rows that are copied to pageable memory; `None` for other copies, or if there is none.
    fn stage<'a>(&self, process: &'a Process, routes: &[(CopyRoute, usize)]) -> Option<Stage<'a>> {
        let (first, row) = routes.first()?;
        let is_pageable = matches!(process.place(self.dst.start, 1), Ok(Place::Pageable));
        if routes.len() < 2 || !is_pageable || !matches!(first.way, Way::ToHost(..)) {
            return None;
        }
        let bytes = (row * routes.len()).min(STAGE).max(*row);
        let device = thread::device();
        let pinned = process.unlayered.host_malloc(device, bytes).ok()?;
        Some(Stage { process, device, pinned })
    }
}

/// The most bytes of pinned memory for a copy to pageable memory, unless a row is longer.
const STAGE: usize = 4 << 20;

/// Pinned memory through which rows are copied to pageable memory: a copy straight to that waits, and would for each row.
///
/// To pin the destination instead is not possible: other threads may copy to the same memory, or to the same page.
struct Stage<'a> {
    process: &'a Process,
    device: DeviceId,
    pinned: PinnedAllocation,
}

impl Stage<'_> {
    /// Copies the rows, which were checked, and waits for them.
    fn copy(&self, routes: &[(CopyRoute, usize)], queue: Queue) -> HipResult {
        let mut rest = routes;
        while let Some((first, row)) = rest.first() {
            let (rows, later) = rest.split_at((self.pinned.bytes / row).clamp(1, rest.len()));
            let staged = || (0..).map(|n| Address(self.pinned.host.as_ptr() as u64).offset(n * row));
            let enqueued = rows.iter().zip(staged()).try_for_each(|((route, bytes), to)| {
                CopyRoute { dst: to, ..*route }.enqueue(self.process, *bytes, queue)
            });
            // For the rows that were enqueued, too, if one was refused: the stage is freed then.
            let waiting = Queue { waits: true, ..queue };
            let waited = waiting.finish_on(self.process, first.devices(waiting));
            enqueued.and(waited)?;
            for ((route, bytes), from) in rows.iter().zip(staged()) {
                // SAFETY: the program passes memory of its own that it may write until the copy has run. The rows are in the stage.
                unsafe { from.host::<u8>().copy_to_nonoverlapping(route.dst.host(), *bytes) };
            }
            rest = later;
        }
        Ok(())
    }
}

impl Drop for Stage<'_> {
    fn drop(&mut self) {
        // SAFETY: the same driver allocated it, and `copy` has waited for the work that uses it.
        let freed = unsafe { self.process.unlayered.host_free(self.device, self.pinned) };
        if let Err(error) = freed {
            log::debug!("{error}");
        }
    }
}

/// The copy that the arguments of `hipMemcpy2D` describe.
pub(crate) fn rectangle(
    dst: Address,
    dst_pitch: usize,
    src: Address,
    src_pitch: usize,
    width: usize,
    height: usize,
    kind: i32,
) -> BoxCopy {
    let side = |start, pitch: usize| Side { start, pitch, slice: pitch.saturating_mul(height) };
    BoxCopy { dst: side(dst, dst_pitch), src: side(src, src_pitch), width, height, depth: 1, kind }
}

/// The offset of a position in bytes. One that is too large wraps around, and is in no allocation.
pub(crate) fn offset([x, y, z]: [usize; 3], pitch: usize, slice: usize) -> usize {
    z.wrapping_mul(slice).wrapping_add(y.wrapping_mul(pitch)).wrapping_add(x)
}

/// The copy that a `hipMemcpy3DParms` describes.
pub(crate) fn from_parms(parms: &hipMemcpy3DParms) -> HipResult<BoxCopy> {
    match (parms.srcArray, parms.dstArray) {
        (0, 0) => check_pitched(parms).map(|()| of_memory(parms)),
        _ => arrays::from_parms(parms),
    }
}

/// Checks two pitched pointers, also if the copy is empty. HIP 5 has one status for everything.
fn check_pitched(parms: &hipMemcpy3DParms) -> HipResult {
    let sides = [(&parms.dstPtr, &parms.dstPos), (&parms.srcPtr, &parms.srcPos)];
    if sides.iter().any(|(pointer, _)| pointer.ptr.is_null()) {
        return Err(Status::INVALID_VALUE);
    }
    if Version::current() != Version::Hip5 && sides.iter().any(|(pointer, _)| pointer.pitch < pointer.xsize) {
        return Err(Status::INVALID_PITCH_VALUE);
    }
    let fits = |pointer: &hipPitchedPtr, position: &hipPos| {
        parms.extent.width.checked_add(position.x).is_some_and(|end| end <= pointer.pitch)
    };
    if sides.iter().all(|(pointer, position)| fits(pointer, position)) {
        Ok(())
    } else {
        Err(Status::INVALID_VALUE)
    }
}

/// The side that a pitched pointer is, from a position in bytes, rows and slices on.
pub(crate) fn memory_side(pointer: &hipPitchedPtr, position: &hipPos) -> Side {
    let slice = pointer.pitch.saturating_mul(pointer.ysize);
    let offset = offset([position.x, position.y, position.z], pointer.pitch, slice);
    let start = if pointer.ptr.is_null() { pointer.ptr } else { pointer.ptr.offset(offset) };
    Side { start, pitch: pointer.pitch, slice }
}

/// The copy that a `hipMemcpy3DParms` without arrays describes.
pub(crate) fn of_memory(parms: &hipMemcpy3DParms) -> BoxCopy {
    BoxCopy {
        dst: memory_side(&parms.dstPtr, &parms.dstPos),
        src: memory_side(&parms.srcPtr, &parms.srcPos),
        width: parms.extent.width,
        height: parms.extent.height,
        depth: parms.extent.depth,
        kind: parms.kind,
    }
}

/// The argument of `hipMemcpy3D`.
#[derive(Clone, Copy)]
pub(crate) struct Parms3D {
    pub(crate) parms: In<hipMemcpy3DParms>,
}

impl Parms3D {
    /// Copies.
    pub(crate) fn run(&self, process: &Process, queue: Queue) -> HipResult {
        from_parms(&self.parms.get()?)?.run(process, queue)
    }
}

/// The argument of `hipMemcpyParam2D`.
#[derive(Clone, Copy)]
pub(crate) struct Parms2D {
    pub(crate) parms: In<hip_Memcpy2D>,
}

impl Parms2D {
    /// Copies.
    pub(crate) fn run(&self, process: &Process, queue: Queue) -> HipResult {
        from_drv_3d(&self.parms.get()?.into())?.run(process, queue)
    }
}

/// `hipMemoryType` of memory of the host, which HIP 6 numbered anew.
fn is_host(memory_type: i32) -> bool {
    memory_type == i32::from(Version::current() != Version::Hip5)
}

/// The distance of two rows: the driver API's structures leave it out where there are no gaps.
fn pitch_or_width(pitch: usize, width: usize) -> usize {
    if pitch == 0 { width } else { pitch }
}

/// The address that the driver API's structures give by the type of memory.
fn by_type(memory_type: i32, host: Address, device: Address) -> Address {
    if is_host(memory_type) { host } else { device }
}

/// Runs the copy of `hipDrvMemcpy3D`.
pub(crate) fn run_drv_3d(process: &Process, copy: Address, target: Target) -> HipResult {
    let queue = target.queue(process)?;
    from_drv_3d(&read_drv_3d(copy)?)?.run(process, queue)
}

/// Reads a `HIP_MEMCPY3D` in the layout of the caller's version.
pub(crate) fn read_drv_3d(copy: Address) -> HipResult<HIP_MEMCPY3D> {
    match Version::current() {
        Version::Hip5 => Ok(copy.values::<HIP_MEMCPY3D_R5>().get()?.into()),
        _ => copy.values().get(),
    }
}

/// The copy that a `HIP_MEMCPY3D` describes. Which of the addresses counts, or the array, the type of memory says.
pub(crate) fn from_drv_3d(copy: &HIP_MEMCPY3D) -> HipResult<BoxCopy> {
    let extent = [copy.WidthInBytes, copy.Height, copy.Depth];
    let side = |kind: i32, array: Array, start: Address, pitch: usize, rows: usize, position: [usize; 3]| {
        if kind == memory_type() {
            return arrays::side(array, position, extent);
        }
        let pitch = pitch_or_width(pitch, copy.WidthInBytes);
        let slice = pitch.saturating_mul(if rows == 0 { copy.Height } else { rows });
        let start = if start.is_null() { start } else { start.offset(offset(position, pitch, slice)) };
        Ok(Side { start, pitch, slice })
    };
    let (dst, src) = (
        by_type(copy.dstMemoryType, copy.dstHost, copy.dstDevice),
        by_type(copy.srcMemoryType, copy.srcHost, copy.srcDevice),
    );
    let dst_position = [copy.dstXInBytes, copy.dstY, copy.dstZ];
    let src_position = [copy.srcXInBytes, copy.srcY, copy.srcZ];
    let [width, height, depth] = extent;
    Ok(BoxCopy {
        dst: side(copy.dstMemoryType, copy.dstArray, dst, copy.dstPitch, copy.dstHeight, dst_position)?,
        src: side(copy.srcMemoryType, copy.srcArray, src, copy.srcPitch, copy.srcHeight, src_position)?,
        width,
        height,
        depth,
        kind: DEFAULT,
    })
}
