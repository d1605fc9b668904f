//! Views of memory of the program's.

use std::ffi::c_void;

use hiplaunch::driver::DevicePtr;
use hiplaunch::{Device, DeviceBuffer, DeviceView};

use crate::status::{Failure, Result};

#[repr(C)]
#[derive(Clone, Copy)]
pub struct hiplaunch_mpi_view {
    data: *mut c_void,
    pub(crate) element: usize,
    rank: usize,
    shape: *const usize,
    strides: *const isize,
}

#[repr(C)]
pub struct hiplaunch_mpi_halo {
    pub(crate) peer: i32,
    pub(crate) send_tag: i32,
    pub(crate) recv_tag: i32,
    pub(crate) send: hiplaunch_mpi_view,
    pub(crate) recv: hiplaunch_mpi_view,
}

/// Reads an array.
///
/// # Safety
/// The array has `len` elements, which nobody changes during the call.
pub(crate) unsafe fn slice<'a, T>(array: *const T, len: usize, what: &str) -> Result<&'a [T]> {
    match (array.is_null(), len) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(Failure::invalid(format!("`{what}` is null"))),
        // SAFETY: the caller's promise.
        (false, _) => Ok(unsafe { std::slice::from_raw_parts(array, len) }),
    }
}

impl hiplaunch_mpi_view {
    /// The elements as words of type `T`; an element of several words has an axis of them.
    ///
    /// # Safety
    /// The arrays are as long as `rank` says. The memory is live device memory until the work with it is done.
    pub(crate) unsafe fn of<T: bytemuck::Pod>(&self, device: &Device) -> Result<DeviceView<T>> {
        let word = size_of::<T>();
        if self.element == 0 || !self.element.is_multiple_of(word) {
            return Err(Failure::invalid(format!("elements of {} bytes, of words of {word}", self.element)));
        }
        let per_element = self.element / word;
        // SAFETY: the caller's promise.
        let (extents, given) = unsafe {
            let len = if self.strides.is_null() { 0 } else { self.rank };
            (slice(self.shape, self.rank, "shape")?, slice(self.strides, len, "strides")?)
        };
        let overflow = || Failure::invalid(format!("shape {extents:?} is too large"));
        let mut strides: Vec<isize> = Vec::with_capacity(self.rank + 1);
        if given.len() == self.rank {
            for &stride in given {
                strides.push(stride.checked_mul(per_element as isize).ok_or_else(overflow)?);
            }
        } else {
            let mut stride = per_element;
            for &extent in extents.iter().rev() {
                strides.insert(0, isize::try_from(stride).map_err(|_| overflow())?);
                stride = stride.checked_mul(extent.max(1)).ok_or_else(overflow)?;
            }
        }
        strides.push(1);
        let shape: Vec<usize> = extents.iter().copied().chain([per_element]).collect();
        if shape.contains(&0) {
            return Ok(DeviceBuffer::<T>::new(device, 0)?.view_strided(0, &shape, &strides)?);
        }
        // The words from the lowest to the highest.
        let (mut low, mut high) = (0i128, 1i128);
        for (&extent, &stride) in shape.iter().zip(&strides) {
            let span = (extent as i128 - 1) * stride as i128;
            if span < 0 { low += span } else { high += span }
        }
        let offset = usize::try_from(-low).map_err(|_| overflow())?;
        let len = usize::try_from(high - low).map_err(|_| overflow())?;
        let below = (offset as u64).checked_mul(word as u64).ok_or_else(overflow)?;
        let start = (self.data.addr() as u64).checked_sub(below).ok_or_else(overflow)?;
        // SAFETY: the caller's promise.
        let memory = unsafe { DeviceBuffer::<T>::borrow_raw(device, DevicePtr(start), len) }?;
        Ok(memory.view_strided(offset, &shape, &strides)?)
    }
}
