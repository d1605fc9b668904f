//! What a user of the services gives: access to the buffers, and memory of the device.

/// The bytes of the heap of the device's `malloc`, from code object version 5 on (ROCclr, `Device::HeapBufferSize`).
///
/// Older kernels have it in a variable of their code object. These are given its address as the argument `hidden_heap_v1`, so that all kernels of
/// a device share one (ROCm's device library, dm.cl). It only has the lists of slabs, whose memory the kernels ask the host for. Zeros are a heap
/// without slabs.
pub const HEAP_BYTES: u64 = 128 << 10;

/// Memory that the host shares with kernels, by the addresses that kernels have for it.
///
/// A kernel may access it at the same time, also against the rules of the services. An access outside of it does nothing and reads nothing.
pub trait SharedMemory: Send + Sync {
    /// Copies bytes out.
    fn read(&self, address: u64, out: &mut [u8]);

    /// Copies bytes in.
    fn write(&self, address: u64, bytes: &[u8]);

    /// Replaces a word as one atomic operation with acquire order, and returns what was there.
    fn swap(&self, address: u64, value: u64) -> Option<u64>;

    /// Clears bits of a dword as one atomic operation with release order.
    fn clear(&self, address: u64, bits: u32);
}

/// Memory of a device, for `malloc` of its kernels.
pub trait DeviceMemory: Send + Sync {
    /// Allocates bytes at a multiple of `align`; `None` if there is not enough memory.
    fn allocate(&self, bytes: u64, align: u64) -> Option<u64>;

    /// Frees what was allocated at an address. If nothing was, the kernel is wrong, but the device's `free` can't report an error.
    fn free(&self, address: u64);
}
