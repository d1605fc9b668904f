//! Buffers over arrays of other libraries, by DLPack.

use std::ptr::NonNull;
use std::sync::Arc;

use hip_driver::DevicePtr;
use hiplaunch::{Device, DeviceBuffer, PinnedBuffer};
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;

use crate::buffer::Buffer;
use crate::dlpack::{CPU, ROCM, ROCM_HOST, Tensor};
use crate::dtype::bytes_of;
use crate::errors::raise;
use crate::live::Shared;

/// An array of another library whose memory a buffer has.
pub(crate) struct Adopted {
    device: Device,
    /// Memory of the host that was pinned for it. Unpinned before the tensor is returned.
    pinned: Option<PinnedBuffer<u8>>,
    host: Option<NonNull<u8>>,
    _tensor: Tensor,
}

// SAFETY: the host's address is only handed out.
unsafe impl Send for Adopted {}
// SAFETY: as above.
unsafe impl Sync for Adopted {}

impl Adopted {
    /// Where the host accesses it, for memory of the host.
    pub(crate) fn host(&self) -> Option<*mut u8> {
        self.host.map(NonNull::as_ptr)
    }
}

impl Drop for Adopted {
    /// Waits for the device: its owner does not know of the work here.
    fn drop(&mut self) {
        // A lost device runs nothing that could use the memory, and its error was or will be raised by what waits.
        let _ = self.device.synchronize();
        self.pinned = None;
    }
}

/// Makes a buffer over the memory of an object that has `__dlpack__`.
pub(crate) fn from_dlpack(shared: &Arc<Shared>, object: &Bound<'_, PyAny>, device: u32) -> PyResult<Buffer> {
    let launcher = shared.open()?;
    let (kind, ordinal): (i32, i32) = object.call_method0("__dlpack_device__")?.extract()?;
    let is_gpu = launcher.driver().info().name == "hip";
    let stream = match (kind, u32::try_from(ordinal)) {
        (CPU | ROCM_HOST, _) => shared.default_stream(device)?,
        (ROCM, Ok(ordinal)) if is_gpu => shared.default_stream(ordinal)?,
        _ => {
            let problem = format!(
                "the array is on DLPack's device ({kind}, {ordinal}); this launcher has devices of kind {}, and uses memory of the host \
                 (kind {CPU})",
                if is_gpu { ROCM } else { CPU }
            );
            return Err(PyBufferError::new_err(problem));
        }
    };
    let tensor = Tensor::of(object, (kind == ROCM).then(|| stream.as_raw().0))?;
    let (shape, element) = tensor.layout()?;
    let bytes = bytes_of(&shape, element)?;
    let place = stream.device().clone();
    let (address, is_host) = (tensor.address(), tensor.device().0 != ROCM);
    if bytes == 0 {
        return Buffer::allocate(shared, shape, element, None);
    }
    let mut at = DevicePtr(address as u64);
    let mut pinned = None;
    // Pinned memory may come back from another library.
    if is_host && !matches!(place.device_of_pointer(at), Ok(Some(_))) {
        let start = std::ptr::with_exposed_provenance_mut(address);
        // SAFETY: the tensor keeps the memory until `Adopted` is dropped, which unpins it before.
        let registered = unsafe { PinnedBuffer::<u8>::register_raw(&place, start, bytes) }.map_err(raise)?;
        at = registered.ptr();
        pinned = Some(registered);
    }
    // SAFETY: the tensor keeps the memory until `Adopted` is dropped, which waits for the device.
    let memory = unsafe { DeviceBuffer::borrow_raw(&place, at, bytes) }.map_err(raise)?;
    let host = NonNull::new(std::ptr::with_exposed_provenance_mut(address)).filter(|_| is_host);
    let adopted = Adopted { device: place, pinned, host, _tensor: tensor };
    Ok(Buffer::over(shared, memory, stream, shape, element, Some(adopted)))
}
