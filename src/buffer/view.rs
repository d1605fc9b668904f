//! Views: elements of a buffer in any order. A view keeps the buffer's memory alive.

use std::marker::PhantomData;
use std::sync::Arc;

use bytemuck::Pod;

use crate::device::Device;
use crate::error::Result;
use crate::stream::Stream;
use hip_driver::DevicePtr;

use super::device_buffer::{DeviceBuffer, Memory};
use super::foreign::Foreign;
use super::layout::Layout;
use crate::pool::PoolBlock;

/// Elements of a [`DeviceBuffer`](super::DeviceBuffer), with their own offset, shape and strides.
///
/// A view is another owner of the same memory: it stays valid when the buffer is dropped or gets other memory. It sees
/// what is written through the buffer and through other views.
#[derive(Debug)]
pub struct DeviceView<T: Pod> {
    device: Device,
    memory: Memory,
    /// The number of elements of the whole block.
    capacity: usize,
    layout: Layout,
    element: PhantomData<T>,
}

impl<T: Pod> DeviceView<T> {
    pub(super) fn new(device: Device, memory: Memory, capacity: usize, layout: Layout) -> DeviceView<T> {
        DeviceView { device, memory, capacity, layout, element: PhantomData }
    }

    pub(super) fn memory(&self) -> &Memory {
        &self.memory
    }

    /// The address of the element at index 0 of every axis, or null if there is no memory.
    pub fn ptr(&self) -> DevicePtr {
        self.memory.escape();
        self.address()
    }

    pub(crate) fn foreign(&self) -> Option<&Arc<Foreign>> {
        self.memory.foreign()
    }

    pub(crate) fn address(&self) -> DevicePtr {
        match self.memory.address() {
            DevicePtr::NULL => DevicePtr::NULL,
            base => base.offset((self.layout.offset() * size_of::<T>()) as u64),
        }
    }

    /// The offset, shape and strides of the elements.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The extents of the axes, outermost first.
    pub fn shape(&self) -> &[usize] {
        self.layout.shape()
    }

    /// The strides of the axes, in elements.
    pub fn strides(&self) -> &[isize] {
        self.layout.strides()
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.layout.len()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.layout.is_empty()
    }

    /// Its device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Its pool block, or `None` for a view of a buffer without memory.
    pub fn block(&self) -> Option<&PoolBlock> {
        self.memory.block()
    }

    /// The lowest address of an element, and the number of bytes from there to the end of the last element.
    pub(crate) fn byte_range(&self) -> (u64, u64) {
        match self.layout.range() {
            Some((start, end)) => {
                let size = size_of::<T>() as u64;
                (self.memory.address().0 + start as u64 * size, (end - start) as u64 * size)
            }
            None => (self.address().0, 0),
        }
    }

    fn with(&self, layout: Layout) -> DeviceView<T> {
        DeviceView::new(self.device.clone(), self.memory.share(), self.capacity, layout)
    }

    /// Returns a view of the same elements with the axes in the order of `axes`.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`](crate::Error::Invalid) unless `axes` names each axis once.
    pub fn permute(&self, axes: &[usize]) -> Result<DeviceView<T>> {
        Ok(self.with(self.layout.permuted(axes)?))
    }

    /// Returns a view of the indices `start..end` of one axis.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`](crate::Error::Invalid) for an axis or index that doesn't exist.
    pub fn slice(&self, axis: usize, start: usize, end: usize) -> Result<DeviceView<T>> {
        Ok(self.with(self.layout.sliced(axis, start, end)?))
    }

    /// Copies all elements to the host in row-major order, in stream order, and waits for the copy.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`](crate::Error::Invalid) for a stream of another device. Otherwise returns the driver's error.
    pub fn to_vec(&self, stream: &Stream) -> Result<Vec<T>> {
        stream.state().check()?;
        stream.state().check_device(&self.device, "DeviceView::to_vec", "view")?;
        let Some((start, end)) = self.layout.range() else { return Ok(Vec::new()) };
        let mut span = vec![T::zeroed(); end - start];
        let from = self.memory.address().offset((start * size_of::<T>()) as u64);
        // SAFETY: the elements of the span lie in the memory.
        unsafe { self.memory.download(stream, from, &mut span) }?;
        if self.layout.is_contiguous() {
            return Ok(span);
        }
        Ok(self.layout.places().map(|place| span[place - start]).collect())
    }
}

impl<T: Pod> Clone for DeviceView<T> {
    fn clone(&self) -> Self {
        self.with(self.layout.clone())
    }
}

impl<T: Pod> Drop for DeviceView<T> {
    fn drop(&mut self) {
        self.memory.leave(&self.device);
    }
}

/// A buffer or a view of one: what an operation on elements takes.
pub trait AsView<T: Pod> {
    /// Returns a view of the elements.
    fn as_view(&self) -> DeviceView<T>;
}

impl<T: Pod> AsView<T> for DeviceBuffer<T> {
    fn as_view(&self) -> DeviceView<T> {
        self.view()
    }
}

impl<T: Pod> AsView<T> for DeviceView<T> {
    fn as_view(&self) -> DeviceView<T> {
        self.clone()
    }
}
