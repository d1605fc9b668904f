//! Views: elements of a buffer with a shape and strides.

use std::ffi::c_void;
use std::mem::MaybeUninit;

use smallvec::SmallVec;

use hiplaunch::memory::DeviceView;

use super::buffers::{BUFFERS, hiplaunch_buffer, stream_of};
use super::handles::{Found, Kind, Table};
use super::input::{bytes_mut, slice, wanted};
use super::launcher::insert_in;
use super::status::{Failure, Result, call, hiplaunch_status};
use super::streams::hiplaunch_stream;

/// A view: elements of a buffer with an offset, a shape and strides. A view is another owner of the memory: it stays
/// valid if the buffer is closed or gets other memory.
pub struct hiplaunch_view {
    _opaque: (),
}

/// A view of elements of `element` bytes. In `view`, the bytes of an element are the last axis.
#[derive(Clone, Debug)]
pub(super) struct ViewObject {
    pub(super) view: DeviceView<u8>,
    element: usize,
}

pub(super) static VIEWS: Table<ViewObject> = Table::new(Kind::View);

/// Converts a shape in elements to a shape in bytes, by adding the bytes of an element as the last axis.
pub(super) fn in_bytes(shape: &[usize], element: usize) -> SmallVec<[usize; 6]> {
    shape.iter().copied().chain([element]).collect()
}

/// Creates a view of a buffer: element `i, j, ...` is at byte `offset + element * (i * strides[0] + j * strides[1]
/// ...)`.
///
/// `shape` and `strides` have `rank` entries, outermost first, in elements of `element` bytes; null `strides` mean
/// row-major order without gaps.
///
/// Ownership: the caller closes the view, or the launcher; the arrays are not kept. Threads: any. Errors:
/// HIPLAUNCH_STATUS_INVALID_ARGUMENT if an element is outside of the buffer; HIPLAUNCH_STATUS_INVALID_HANDLE,
/// HIPLAUNCH_STATUS_NULL_POINTER.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_view_open(
    buffer: *const hiplaunch_buffer,
    offset: usize,
    element: usize,
    rank: usize,
    shape: *const usize,
    strides: *const isize,
    view: Option<&mut MaybeUninit<*mut hiplaunch_view>>,
) -> hiplaunch_status {
    call("hiplaunch_view_open", || {
        let out = wanted(view, "view")?;
        // SAFETY: the caller's promise for arrays.
        let shape = in_bytes(unsafe { slice(shape, rank, "shape") }?, element);
        if element == 0 {
            return Err(Failure::invalid("an element of 0 bytes"));
        }
        let strides = if strides.is_null() {
            row_major(&shape)?
        } else {
            // SAFETY: the caller's promise for arrays.
            let strides = unsafe { slice(strides, rank, "strides") }?;
            let scaled = strides.iter().map(|s| s.checked_mul(element as isize)).chain([Some(1)]);
            scaled.collect::<Option<_>>().ok_or_else(|| Failure::invalid("a stride overflows"))?
        };
        let (owner, view) = BUFFERS
            .look(buffer, |found| (found.owner, found.value.view_strided(offset, &shape, &strides)))?;
        out.write(insert_in(&VIEWS, owner, ViewObject { view: view?, element })?);
        Ok(())
    })
}

fn row_major(shape: &[usize]) -> Result<SmallVec<[isize; 6]>> {
    let mut strides: SmallVec<[isize; 6]> = SmallVec::from_elem(1, shape.len());
    for axis in (1..shape.len()).rev() {
        let next = isize::try_from(shape[axis]).ok().and_then(|n| strides[axis].checked_mul(n.max(1)));
        strides[axis - 1] =
            next.ok_or_else(|| Failure::invalid("the shape is larger than can be addressed"))?;
    }
    Ok(strides)
}

/// Creates a view with the axes of another view in another order. `axes` has each of the `rank` axes once.
///
/// Ownership, threads: as hiplaunch_view_open. Errors: HIPLAUNCH_STATUS_INVALID_ARGUMENT,
/// HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_view_permute(
    view: *const hiplaunch_view,
    rank: usize,
    axes: *const usize,
    permuted: Option<&mut MaybeUninit<*mut hiplaunch_view>>,
) -> hiplaunch_status {
    call("hiplaunch_view_permute", || {
        let out = wanted(permuted, "permuted")?;
        // SAFETY: the caller's promise for arrays.
        let axes = in_bytes(unsafe { slice(axes, rank, "axes") }?, rank);
        let Found { owner, value: ViewObject { view, element } } = VIEWS.get(view)?;
        out.write(insert_in(&VIEWS, owner, ViewObject { view: view.permute(&axes)?, element })?);
        Ok(())
    })
}

/// Creates a view of the indices from `start` up to, but not including, `end` of one axis of another view.
///
/// Ownership, threads, errors: as hiplaunch_view_permute.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_view_slice(
    view: *const hiplaunch_view,
    axis: usize,
    start: usize,
    end: usize,
    part: Option<&mut MaybeUninit<*mut hiplaunch_view>>,
) -> hiplaunch_status {
    call("hiplaunch_view_slice", || {
        let out = wanted(part, "part")?;
        let Found { owner, value: ViewObject { view, element } } = VIEWS.get(view)?;
        if axis + 1 >= view.shape().len() {
            return Err(Failure::invalid(format!("axis {axis} of a view of {}", view.shape().len() - 1)));
        }
        out.write(insert_in(&VIEWS, owner, ViewObject { view: view.slice(axis, start, end)?, element })?);
        Ok(())
    })
}

/// The number of bytes of all elements of a view together.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_view_size(
    view: *const hiplaunch_view,
    bytes: Option<&mut MaybeUninit<usize>>,
) -> hiplaunch_status {
    call("hiplaunch_view_size", || {
        let bytes = wanted(bytes, "bytes")?;
        bytes.write(VIEWS.look(view, |found| found.value.view.len())?);
        Ok(())
    })
}

/// The device address of a view's first element; 0 if it has no memory. Uses of the bare address are not recorded; see
/// hiplaunch_buffer_address.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_view_address(
    view: *const hiplaunch_view,
    address: Option<&mut MaybeUninit<u64>>,
) -> hiplaunch_status {
    call("hiplaunch_view_address", || {
        let address = wanted(address, "address")?;
        address.write(VIEWS.look(view, |found| found.value.view.ptr().0)?);
        Ok(())
    })
}

/// Copies a view's elements to the host in row-major order, in stream order, and waits for the copy. `size` must be
/// the number of hiplaunch_view_size.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_ARGUMENT for another size or a stream of another device;
/// HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER, HIPLAUNCH_STATUS_DRIVER,
/// HIPLAUNCH_STATUS_DEVICE_LOST.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_view_download(
    view: *const hiplaunch_view,
    stream: *const hiplaunch_stream,
    data: *mut c_void,
    size: usize,
) -> hiplaunch_status {
    call("hiplaunch_view_download", || {
        // SAFETY: the caller's promise for arrays.
        let data = unsafe { bytes_mut(data, size, "data") }?;
        let Found { owner, value: ViewObject { view, .. } } = VIEWS.get(view)?;
        let stream = stream_of(stream, owner)?;
        if view.layout().is_contiguous() {
            return Ok(view.download(&stream, data)?);
        }
        if size != view.len() {
            return Err(Failure::invalid(format!("{size} bytes for a view of {}", view.len())));
        }
        data.copy_from_slice(&view.to_vec(&stream)?);
        Ok(())
    })
}

/// Closes a view.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_view_close(view: *mut hiplaunch_view) -> hiplaunch_status {
    call("hiplaunch_view_close", || VIEWS.take(view).map(drop))
}
