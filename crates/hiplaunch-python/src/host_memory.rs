//! Pinned memory of the host: registered where it is, or allocated.

use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex, PoisonError};

use hiplaunch::PinnedBuffer;
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::array::ArrayBytes;
use crate::buffer::{array_interface, memoryview_of, shape_and_type};
use crate::dlpack::{CPU, Export};
use crate::dtype::{ElementType, bytes_of};
use crate::errors::{ClosedError, raise};
use crate::live::{Live, Shared};

/// An array in memory of the host that kernels access without a copy. Launcher.register_host and Launcher.pinned make one.
///
/// numpy.asarray(memory) is an array over it, and `memoryview()` a view of its bytes. The host may access it once the work that
/// uses it has finished. It is a context manager, which closes it.
#[pyclass(frozen, module = "hiplaunch")]
pub(crate) struct HostMemory {
    memory: Live<Mutex<Option<Arc<Pinned>>>>,
    /// Keeps the memory for arrays that know only this object.
    exported: Mutex<Option<Live<Arc<Pinned>>>>,
    host: usize,
    shape: Vec<usize>,
    element: ElementType,
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
        let opened = shared.device(device)?;
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
        let layout = shape_and_type(array, len);
        // SAFETY: the view keeps the array's memory, or the docstring asks for memory that lives until `close`. What is pinned
        // already is refused by the driver.
        let memory = unsafe { PinnedBuffer::register_raw(opened, start, len) }.map_err(raise)?;
        Ok(HostMemory::over(shared, memory, view, start.addr(), layout))
    }

    pub(crate) fn allocate(
        shared: &Arc<Shared>,
        shape: Vec<usize>,
        element: ElementType,
        device: u32,
    ) -> PyResult<HostMemory> {
        let opened = shared.device(device)?;
        let memory = PinnedBuffer::<u8>::new(opened, bytes_of(&shape, element)?).map_err(raise)?;
        let host = memory.host().map_err(raise)?.as_ptr().expose_provenance();
        Ok(HostMemory::over(shared, memory, None, host, (shape, element)))
    }

    fn over(
        shared: &Arc<Shared>,
        memory: PinnedBuffer<u8>,
        array: Option<ArrayBytes>,
        host: usize,
        (shape, element): (Vec<usize>, ElementType),
    ) -> HostMemory {
        let (nbytes, address) = (memory.bytes(), memory.ptr().0);
        let pinned = Arc::new(Pinned { memory: ManuallyDrop::new(memory), _array: array });
        let memory = Live::new(shared, Mutex::new(Some(pinned)));
        HostMemory { memory, exported: Mutex::new(None), host, shape, element, nbytes, address }
    }

    /// The memory.
    ///
    /// # Errors
    /// `ClosedError` if it or its launcher was closed.
    fn open(&self) -> PyResult<Arc<Pinned>> {
        let memory = self.memory.open()?.lock().unwrap_or_else(PoisonError::into_inner);
        memory.clone().ok_or_else(|| ClosedError::new_err("the pinned memory was closed"))
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

    /// Keeps the memory as long as this object, for an array that keeps this object and not its memory.
    fn keep_exported(&self) -> PyResult<()> {
        let kept = Live::new(self.memory.shared(), self.open()?);
        self.exported.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(kept);
        Ok(())
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

    /// The extents of its axes.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.shape)
    }

    /// The name of its element type, such as 'float32'.
    #[getter]
    fn dtype(&self) -> &'static str {
        self.element.name
    }

    fn __len__(&self) -> usize {
        self.shape.first().copied().unwrap_or(0)
    }

    /// The memory for numpy, without a copy: numpy.asarray(memory) uses it. From then on the memory stays as long as this object,
    /// even if it is closed. It waits for nothing.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.keep_exported()?;
        array_interface(py, self.host as u64, &self.shape, self.element)
    }

    /// Returns the memory as a memoryview of bytes, without a copy. The memory stays as long as the view.
    fn memoryview<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let memory = this.get();
        memory.keep_exported()?;
        memoryview_of(this.as_any(), memory.host, memory.nbytes)
    }

    /// Where the memory is, as DLPack has it: (1, 0), which is the host.
    fn __dlpack_device__(&self) -> (i32, i32) {
        (CPU, 0)
    }

    /// Gives the memory to another library without a copy, as a capsule of DLPack. It waits for nothing. The memory stays until the
    /// capsule or the array made of it is gone.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__(
        &self,
        py: Python<'_>,
        stream: Option<i64>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Py<PyAny>> {
        if stream.is_some_and(|stream| stream != -1) {
            return Err(PyBufferError::new_err("memory of the host has no stream: `stream` must be None"));
        }
        if dl_device.is_some_and(|wanted| wanted != (CPU, 0)) || copy == Some(true) {
            return Err(PyBufferError::new_err("the memory is given as it is, without a copy, where it is"));
        }
        let owner = Box::new(Live::new(self.memory.shared(), self.open()?));
        let data = std::ptr::with_exposed_provenance_mut(self.host);
        let (shape, element) = (self.shape.clone(), self.element);
        Export { data, device: (CPU, 0), shape, element, owner }.into_capsule(py, max_version)
    }

    /// Waits for the device, and unpins or frees the memory; what arrays over it keep stays as long as they do. Later use raises
    /// ClosedError. A fault of the device is raised by what waits next, not here.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let memory = self.memory.own()?.lock().unwrap_or_else(PoisonError::into_inner).take();
        py.detach(|| {
            if let Some(memory) = &memory {
                // As when it is dropped.
                let _ = memory.memory.device().synchronize();
            }
            drop(memory);
        });
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
        format!("<hiplaunch.HostMemory {:?} of {} at {:#x}>", self.shape, self.element.name, self.address)
    }
}
