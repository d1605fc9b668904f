//! The heap of the device's `malloc`, from code object version 5 on.
//!
//! Older kernels have it in a variable of their code object. These are given its address as the argument `hidden_heap_v1`, so that all
//! kernels of a device share one (ROCm's device library, `dm.cl`; ROCclr, `Device::HeapBufferSize`). It only has the lists of slabs,
//! whose memory comes from the host.

use crate::Result;
use crate::memory::AddressSpace;

/// The size that ROCclr gives the heap in bytes.
const SIZE: u64 = 128 << 10;

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
        let address = self.alloc(SIZE, 0)?;
        self.count_as_written(address, SIZE);
        Ok(*heap.insert(address))
    }
}
