//! Memory that a graph's caller owns: buffers and views.

use std::sync::Arc;

use bytemuck::Pod;

use crate::buffer::{DeviceBuffer, DeviceView, Foreign};
use crate::device::Device;
use crate::pool::PoolBlock;

use super::record::Storage;

/// The memory of a buffer or view, for a [`Graph`](super::Graph). Create it with `From`.
#[derive(Clone, Copy, Debug)]
pub struct GraphMemory<'a> {
    pub(super) device: &'a Device,
    pub(super) block: Option<&'a PoolBlock>,
    /// Its owner where it is not the pool's.
    foreign: Option<&'a Arc<Foreign>>,
    pub(super) address: u64,
    pub(super) bytes: u64,
    /// Whether the elements fill the range from the first to the last of them.
    pub(super) contiguous: bool,
}

impl GraphMemory<'_> {
    /// Returns whether the memory is in this pool block.
    pub fn is_of(&self, block: &PoolBlock) -> bool {
        self.block.is_some_and(|b| b.is_same(block))
    }

    /// What a graph keeps of it.
    pub(super) fn storage(&self) -> Storage {
        Storage::External {
            block: self.block.cloned(),
            foreign: self.foreign.cloned(),
            address: self.address,
        }
    }

    /// Whether it has bytes in common with other memory.
    pub fn overlaps(&self, other: &GraphMemory<'_>) -> bool {
        self.address < other.address + other.bytes && other.address < self.address + self.bytes
    }
}

impl<'a, T: Pod> From<&'a DeviceBuffer<T>> for GraphMemory<'a> {
    /// Refers to all elements of the buffer.
    fn from(buffer: &'a DeviceBuffer<T>) -> Self {
        GraphMemory {
            device: buffer.device(),
            block: buffer.block(),
            foreign: buffer.foreign(),
            address: buffer.address().0,
            bytes: buffer.bytes() as u64,
            contiguous: true,
        }
    }
}

impl<'a, T: Pod> From<&'a mut DeviceBuffer<T>> for GraphMemory<'a> {
    fn from(buffer: &'a mut DeviceBuffer<T>) -> Self {
        GraphMemory::from(&*buffer)
    }
}

impl<'a, T: Pod> From<&'a DeviceView<T>> for GraphMemory<'a> {
    /// Refers to the elements of the view. A graph accepts only contiguous ones, because other bytes between them may
    /// not be the graph's to access.
    fn from(view: &'a DeviceView<T>) -> Self {
        let (address, bytes) = view.byte_range();
        let contiguous = view.layout().is_contiguous();
        GraphMemory {
            device: view.device(),
            block: view.block(),
            foreign: view.foreign(),
            address,
            bytes,
            contiguous,
        }
    }
}
