//! Copies from and to arrays. An array is memory with a pitch: a side of a copy of a box, like any other.

use crate::abi::{Address, Array, HipResult, Status, hipMemcpy3DParms, hipPitchedPtr, hipPos};
use crate::copy::boxes::{BoxCopy, Side, memory_side, offset};
use crate::copy::{DEFAULT, DEVICE_TO_HOST, HOST_TO_DEVICE};
use crate::memory::array;
use crate::process::Process;
use crate::stream::Queue;

/// The side of a box in an array: where it begins, in bytes, rows and slices, and its extent in the same. Fails with `INVALID_VALUE` for
/// what the array does not have.
pub(crate) fn side(handle: Array, position: [usize; 3], extent: [usize; 3]) -> HipResult<Side> {
    let array = array::array(handle)?;
    let level = array.level;
    let has =
        [level.width as usize * array.format.bytes() as usize, level.height as usize, level.slices as usize];
    let inside =
        |n: usize| position[n].checked_add(extent[n]).is_some_and(|end| end <= has[n]) || extent.contains(&0);
    if !(0..3).all(inside) {
        return Err(Status::INVALID_VALUE);
    }
    let (pitch, slice) = (level.row as usize, level.slice as usize);
    Ok(Side { start: array.base.offset(offset(position, pitch, slice)), pitch, slice })
}

/// The copy that a `hipMemcpy3DParms` with an array describes. Each side is one array or one pointer. The width is in elements of the
/// array, and so are positions in it; those in memory are in bytes, as in clr.
pub(crate) fn from_parms(parms: &hipMemcpy3DParms) -> HipResult<BoxCopy> {
    let is_one = |array: Array, pointer: &hipPitchedPtr| (array == 0) != pointer.ptr.is_null();
    if !is_one(parms.srcArray, &parms.srcPtr) || !is_one(parms.dstArray, &parms.dstPtr) {
        return Err(Status::INVALID_VALUE);
    }
    let element = |handle: Array| match handle {
        0 => Ok::<_, Status>(None),
        _ => Ok(Some(array::array(handle)?.format.bytes() as usize)),
    };
    let (dst, src) = (element(parms.dstArray)?, element(parms.srcArray)?);
    if dst.zip(src).is_some_and(|(dst, src)| dst != src) {
        return Err(Status::INVALID_VALUE);
    }
    let bytes = dst.or(src).unwrap_or(1);
    let in_bytes = |elements: usize| elements.checked_mul(bytes).ok_or(Status::INVALID_VALUE);
    let (width, height, depth) = (in_bytes(parms.extent.width)?, parms.extent.height, parms.extent.depth);
    let place = |handle: Array, pointer: &hipPitchedPtr, position: &hipPos| match handle {
        0 => Ok(memory_side(pointer, position)),
        _ => side(handle, [in_bytes(position.x)?, position.y, position.z], [width, height, depth]),
    };
    Ok(BoxCopy {
        dst: place(parms.dstArray, &parms.dstPtr, &parms.dstPos)?,
        src: place(parms.srcArray, &parms.srcPtr, &parms.srcPos)?,
        width,
        height,
        depth,
        kind: parms.kind,
    })
}

/// A side of a copy, as the arguments of a function give it.
#[derive(Clone, Copy)]
pub(crate) enum End {
    /// An address, and the distance of two rows in bytes.
    Memory(Address, usize),
    /// An array with where the copy begins: bytes of a row, and rows.
    Array(Array, usize, usize),
}

/// How much is copied.
#[derive(Clone, Copy)]
pub(crate) enum Size {
    /// The bytes of a row, and the rows.
    Rectangle(usize, usize),
    /// So many bytes of one row.
    Row(usize),
    /// So many bytes of the array, as clr divides them (`hipMemcpyToArray`): rows of this, divided by the array's height; and as many rows as
    /// have so many bytes. That is a part of what is asked for, unless it is the whole array.
    Count(usize),
}

/// A copy of which one side, or both, is an array.
#[derive(Clone, Copy)]
pub(crate) struct ArrayCopy {
    dst: End,
    src: End,
    size: Size,
    kind: i32,
}

/// A copy to an array.
pub(crate) fn to_array(
    dst: (Array, usize, usize),
    src: (Address, usize),
    size: Size,
    kind: i32,
) -> ArrayCopy {
    ArrayCopy { dst: End::Array(dst.0, dst.1, dst.2), src: End::Memory(src.0, src.1), size, kind }
}

/// A copy from an array.
pub(crate) fn from_array(
    dst: (Address, usize),
    src: (Array, usize, usize),
    size: Size,
    kind: i32,
) -> ArrayCopy {
    ArrayCopy { dst: End::Memory(dst.0, dst.1), src: End::Array(src.0, src.1, src.2), size, kind }
}

/// A copy between arrays.
pub(crate) fn between(dst: (Array, usize, usize), src: (Array, usize, usize), size: Size) -> ArrayCopy {
    let end = |(array, x, y): (Array, usize, usize)| End::Array(array, x, y);
    ArrayCopy { dst: end(dst), src: end(src), size, kind: DEFAULT }
}

/// `hipMemcpyHtoA` and its kind: bytes of the first row.
pub(crate) fn row_to_array(
    array: Array,
    offset: usize,
    src: Address,
    bytes: usize,
    on_host: bool,
) -> ArrayCopy {
    let kind = if on_host { HOST_TO_DEVICE } else { DEFAULT };
    to_array((array, offset, 0), (src, 0), Size::Row(bytes), kind)
}

/// `hipMemcpyAtoH` and its kind: bytes of the first row.
pub(crate) fn row_from_array(
    dst: Address,
    array: Array,
    offset: usize,
    bytes: usize,
    on_host: bool,
) -> ArrayCopy {
    let kind = if on_host { DEVICE_TO_HOST } else { DEFAULT };
    from_array((dst, 0), (array, offset, 0), Size::Row(bytes), kind)
}

impl ArrayCopy {
    /// Copies.
    pub(crate) fn run(&self, process: &Process, queue: Queue) -> HipResult {
        self.as_box()?.run(process, queue)
    }

    fn as_box(&self) -> HipResult<BoxCopy> {
        let ends = [self.dst, self.src];
        let rectangle = matches!(self.size, Size::Rectangle(..));
        if rectangle && ends.iter().any(|end| matches!(end, End::Memory(_, 0))) {
            return Err(Status::INVALID_PITCH_VALUE);
        }
        if rectangle && ends.iter().any(|end| matches!(end, End::Array(0, ..))) {
            return Err(Status::INVALID_HANDLE);
        }
        let (width, height) = match self.size {
            Size::Rectangle(width, height) => (width, height),
            Size::Row(bytes) => (bytes, 1),
            Size::Count(bytes) => {
                let handle = ends.iter().find_map(|end| match end {
                    End::Array(handle, ..) => Some(*handle),
                    End::Memory(..) => None,
                });
                let array = array::array(handle.unwrap_or(0))?;
                let row = array.level.width as usize * array.format.bytes() as usize;
                (bytes / array.level.height as usize, bytes / row)
            }
        };
        let side = |end: End| match end {
            End::Array(handle, x, y) => side(handle, [x, y, 0], [width, height, 1]),
            End::Memory(start, pitch) => {
                let pitch = if pitch == 0 { width } else { pitch };
                Ok(Side { start, pitch, slice: pitch.saturating_mul(height) })
            }
        };
        Ok(BoxCopy { dst: side(self.dst)?, src: side(self.src)?, width, height, depth: 1, kind: self.kind })
    }
}
