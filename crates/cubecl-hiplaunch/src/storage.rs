//! Where CubeCL's memory pools get their pages: device memory from the launcher's pool, and pinned host memory.

use std::collections::HashMap;

use cubecl_environment::backtrace::BackTrace;
use cubecl_server::server::IoError;
use cubecl_server::storage::{
    ComputeStorage, PINNED_MEMORY_ALIGNMENT, PinnedMemoryResource, StorageHandle, StorageId,
    StorageUtilization,
};
use hiplaunch::driver::DevicePtr;
use hiplaunch::{Device, DeviceBuffer, PinnedBuffer};

use crate::error::Failure;

/// The alignment of device memory in bytes, which is that of the launcher's pool.
pub(crate) const DEVICE_ALIGNMENT: usize = 256;

/// Bytes of a page in device memory.
#[derive(Clone, Copy, Debug)]
pub struct DeviceSlice {
    /// The address of the first byte.
    pub ptr: DevicePtr,
    /// The number of bytes.
    pub size: u64,
}

/// Pages of device memory.
#[derive(Debug)]
pub struct DeviceStorage {
    device: Device,
    pages: HashMap<StorageId, DeviceBuffer<u8>>,
    allocated: u64,
    /// Pages that are freed by the next flush.
    dropped: Vec<StorageId>,
}

impl DeviceStorage {
    pub(crate) fn new(device: &Device) -> DeviceStorage {
        DeviceStorage { device: device.clone(), pages: HashMap::new(), allocated: 0, dropped: Vec::new() }
    }
}

impl ComputeStorage for DeviceStorage {
    type Resource = DeviceSlice;

    fn alignment(&self) -> usize {
        DEVICE_ALIGNMENT
    }

    fn get(&mut self, handle: &StorageHandle) -> Result<DeviceSlice, IoError> {
        let page = self.pages.get(&handle.id).ok_or_else(|| not_found("device", handle.id))?;
        Ok(DeviceSlice { ptr: page.ptr().offset(handle.offset()), size: handle.size() })
    }

    fn alloc(&mut self, size: u64) -> Result<StorageHandle, IoError> {
        // A page of no stream, because CubeCL lets every stream use it. Its address was read, so the launcher's pool frees it
        // only once the work that all streams have by then is done.
        let page = DeviceBuffer::new(&self.device, size as usize)
            .map_err(|error| Failure::from(error).of_allocation(size))?;
        let id = StorageId::new();
        self.pages.insert(id, page);
        self.allocated += size;
        Ok(StorageHandle::new(id, StorageUtilization { offset: 0, size }))
    }

    fn dealloc(&mut self, id: StorageId) {
        self.dropped.push(id);
    }

    fn flush(&mut self) {
        for page in self.dropped.drain(..).filter_map(|id| self.pages.remove(&id)) {
            self.allocated -= page.bytes() as u64;
        }
    }

    fn bytes_allocated(&self) -> u64 {
        self.allocated
    }
}

/// Pages of pinned host memory.
#[derive(Debug)]
pub struct PinnedStorage {
    device: Device,
    pages: HashMap<StorageId, PinnedPage>,
    allocated: u64,
}

#[derive(Debug)]
struct PinnedPage {
    start: *mut u8,
    /// Owns the memory.
    buffer: PinnedBuffer<u8>,
}

// SAFETY: `start` is the address of the buffer's memory, which may be used on any thread. Who uses which bytes of it, and
// when, is up to CubeCL's pools, which hand out each slice once.
unsafe impl Send for PinnedPage {}

impl PinnedStorage {
    pub(crate) fn new(device: &Device) -> PinnedStorage {
        PinnedStorage { device: device.clone(), pages: HashMap::new(), allocated: 0 }
    }
}

impl ComputeStorage for PinnedStorage {
    type Resource = PinnedMemoryResource;

    fn alignment(&self) -> usize {
        PINNED_MEMORY_ALIGNMENT
    }

    fn get(&mut self, handle: &StorageHandle) -> Result<PinnedMemoryResource, IoError> {
        let page = self.pages.get(&handle.id).ok_or_else(|| not_found("pinned host", handle.id))?;
        let ptr = page.start.wrapping_add(handle.offset() as usize);
        Ok(PinnedMemoryResource { ptr, size: handle.size() as usize })
    }

    fn alloc(&mut self, size: u64) -> Result<StorageHandle, IoError> {
        let failed = |error| Failure::from(error).of_allocation(size);
        let mut buffer = PinnedBuffer::new(&self.device, size as usize).map_err(failed)?;
        let start = buffer.host_mut().map_err(failed)?.as_mut_ptr();
        let id = StorageId::new();
        self.pages.insert(id, PinnedPage { start, buffer });
        self.allocated += size;
        Ok(StorageHandle::new(id, StorageUtilization { offset: 0, size }))
    }

    fn dealloc(&mut self, id: StorageId) {
        if let Some(page) = self.pages.remove(&id) {
            self.allocated -= page.buffer.bytes() as u64;
        }
    }

    fn flush(&mut self) {}

    fn bytes_allocated(&self) -> u64 {
        self.allocated
    }
}

fn not_found(kind: &str, id: StorageId) -> IoError {
    IoError::StorageHandleNotFound {
        reason: format!("{id} is no page of {kind} memory").into(),
        backtrace: BackTrace::capture(),
    }
}
