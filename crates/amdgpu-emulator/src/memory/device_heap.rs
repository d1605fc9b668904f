//! The heap of the device's `malloc`, from code object version 5 on.

use kernel_services::HEAP_BYTES;

use crate::Result;
use crate::memory::AddressSpace;

impl AddressSpace {
    /// Returns the address of the device's heap. The first call allocates it, zeroed: without slabs, it asks the host for the first one.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) if there is no memory for it.
    pub(crate) fn device_heap(&self) -> Result<u64> {
        let mut heap = self.heap.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(address) = *heap {
            return Ok(address);
        }
        let address = self.alloc(HEAP_BYTES, 0)?;
        self.count_as_written(address, HEAP_BYTES);
        Ok(*heap.insert(address))
    }
}
