//! Pinned memory of the host: registered where it is, or allocated.

use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex, PoisonError};

use hiplaunch::PinnedBuffer;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::array::ArrayBytes;
use crate::errors::{ClosedError, raise};
use crate::live::{Live, Shared};

/// Memory of the host that kernels access without a copy. Launcher.register_host and Launcher.pinned make one.
///
/// The host may access it once the work that uses it has finished. It is a context manager, which closes it.
#[pyclass(frozen, module = "hiplaunch")]
pub(crate) struct HostMemory {
    memory: Live<Mutex<Option<Pinned>>>,
    host: usize,
    nbytes: usize,
    address: u64,
}

/// The memory, and the array that it is of.
struct Pinned {
    memory: ManuallyDrop<PinnedBuffer<u8>>,
    /// Released after the memory is unpinned.
    _array: Option<ArrayBytes>,
}

impl Drop for Pinned {
    /// Waits for the device: launches get the address alone, so nothing else knows that they use the memory.
    fn drop(&mut self) {
        // A lost device runs nothing that could use the memory, and its error was or will be raised by what waits.
        let _ = self.memory.device().synchronize();
        // SAFETY: dropped here alone.
        unsafe { ManuallyDrop::drop(&mut self.memory) };
    }
}

impl HostMemory {
    pub(crate) fn register(
        shared: &Arc<Shared>,
        array: &Bound<'_, PyAny>,
        nbytes: Option<usize>,
        device: u32,
    ) -> PyResult<HostMemory> {
        let opened = shared.open()?.device(device).map_err(raise)?;
        let (start, len, view) = match (array.extract::<usize>(), nbytes) {
            (Ok(address), Some(nbytes)) => (std::ptr::with_exposed_provenance_mut(address), nbytes, None),
            (Ok(_), None) => return Err(PyTypeError::new_err("an address needs `nbytes`")),
            (Err(_), Some(_)) => {
                return Err(PyTypeError::new_err("`nbytes` is for an address; an array has its own"));
            }
            (Err(_), None) => {
                let view = ArrayBytes::of(array, true)?;
                let (start, len) = view.range();
                (start, len, Some(view))
            }
        };
        // SAFETY: the view keeps the array's memory, or the docstring asks for memory that lives until `close`. What is pinned
        // already is refused by the driver.
        let memory = unsafe { PinnedBuffer::register_raw(opened, start, len) }.map_err(raise)?;
        Ok(HostMemory::over(shared, memory, view, start.addr()))
    }

    pub(crate) fn allocate(shared: &Arc<Shared>, nbytes: usize, device: u32) -> PyResult<HostMemory> {
        let opened = shared.open()?.device(device).map_err(raise)?;
        let memory = PinnedBuffer::<u8>::new(opened, nbytes).map_err(raise)?;
        let host = memory.host().map_err(raise)?.as_ptr().expose_provenance();
        Ok(HostMemory::over(shared, memory, None, host))
    }

    fn over(
        shared: &Arc<Shared>,
        memory: PinnedBuffer<u8>,
        array: Option<ArrayBytes>,
        host: usize,
    ) -> HostMemory {
        let (nbytes, address) = (memory.bytes(), memory.ptr().0);
        let pinned = Pinned { memory: ManuallyDrop::new(memory), _array: array };
        HostMemory { memory: Live::new(shared, Mutex::new(Some(pinned))), host, nbytes, address }
    }

    /// The address for kernels.
    ///
    /// # Errors
    /// `ClosedError` if it or its launcher was closed; `ValueError` for another launcher's.
    pub(crate) fn for_kernel(&self, shared: &Arc<Shared>) -> PyResult<u64> {
        let memory = self.memory.open()?.lock().unwrap_or_else(PoisonError::into_inner);
        if memory.is_none() {
            return Err(ClosedError::new_err("the pinned memory was closed"));
        }
        match self.memory.is_of(shared) {
            true => Ok(self.address),
            false => Err(PyValueError::new_err("the pinned memory is another launcher's")),
        }
    }
}

#[pymethods]
impl HostMemory {
    /// Its address for kernels.
    #[getter]
    fn address(&self) -> PyResult<u64> {
        self.for_kernel(self.memory.shared())
    }

    /// Its address for the host.
    #[getter]
    fn host_address(&self) -> PyResult<usize> {
        self.for_kernel(self.memory.shared()).map(|_| self.host)
    }

    /// Its size in bytes.
    #[getter]
    fn nbytes(&self) -> usize {
        self.nbytes
    }

    /// Waits for the device, and unpins or frees the memory. Later use raises ClosedError. A fault of the device is raised by what
    /// waits next, not here.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let memory = self.memory.own()?.lock().unwrap_or_else(PoisonError::into_inner).take();
        py.detach(|| drop(memory));
        Ok(())
    }

    fn __enter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.close(py)
    }

    fn __repr__(&self) -> String {
        format!("<hiplaunch.HostMemory, {} bytes at {:#x}>", self.nbytes, self.address)
    }
}
