//! Arrays in device memory.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use hiplaunch::DeviceBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::array::ArrayBytes;
use crate::dtype::{ElementType, bytes_of};
use crate::errors::{ClosedError, raise};
use crate::live::{Live, Shared};
use crate::stream::Stream;

/// An array in device memory, contiguous in row-major order. Launcher.empty and Launcher.buffer make one.
///
/// A launch that gets it keeps its memory until it has finished: it may be closed, or dropped, right after the launch.
#[pyclass(frozen, module = "hiplaunch")]
pub(crate) struct Buffer {
    /// `None` after `close`.
    memory: Live<RwLock<Option<DeviceBuffer<u8>>>>,
    /// The stream in whose order it was allocated.
    stream: Live<hiplaunch::Stream>,
    ordinal: u32,
    shape: Vec<usize>,
    element: ElementType,
}

/// The memory of a buffer, which can't be closed meanwhile.
pub(crate) type Memory<'a> = RwLockReadGuard<'a, Option<DeviceBuffer<u8>>>;

impl Buffer {
    pub(crate) fn allocate(
        shared: &Arc<Shared>,
        shape: Vec<usize>,
        element: ElementType,
        stream: Option<&Stream>,
    ) -> PyResult<Buffer> {
        let bytes = bytes_of(&shape, element)?;
        let stream = match stream {
            Some(stream) => stream.0.open()?.clone(),
            None => shared.default_stream(0)?,
        };
        let memory = DeviceBuffer::on(&stream, bytes).map_err(raise)?;
        let memory = Live::new(shared, RwLock::new(Some(memory)));
        let ordinal = stream.device().id().0;
        Ok(Buffer { memory, stream: Live::new(shared, stream), ordinal, shape, element })
    }

    /// Copies an array of the host; shape and element type are the array's, where it says them.
    pub(crate) fn of_array(
        shared: &Arc<Shared>,
        array: &Bound<'_, PyAny>,
        stream: Option<&Stream>,
    ) -> PyResult<Buffer> {
        let bytes = ArrayBytes::of(array, false)?.range().1;
        let typed = || -> PyResult<(Vec<usize>, ElementType)> {
            Ok((array.getattr("shape")?.extract()?, ElementType::read(&array.getattr("dtype")?)?))
        };
        let (shape, element) = typed().unwrap_or_else(|_| (vec![bytes], ElementType::UINT8));
        let buffer = Buffer::allocate(shared, shape, element, stream)?;
        buffer.write(array, stream)?;
        Ok(buffer)
    }

    /// The memory, for a launch or a copy.
    ///
    /// # Errors
    /// `ClosedError` if the buffer or its launcher was closed.
    #[inline]
    pub(crate) fn open(&self) -> PyResult<Memory<'_>> {
        let memory = self.memory.open()?.read().unwrap_or_else(PoisonError::into_inner);
        match memory.is_some() {
            true => Ok(memory),
            false => Err(ClosedError::new_err("the buffer was closed")),
        }
    }

    /// The memory for a launch on a device; `None` if it was closed, or is of another device or launcher.
    #[inline]
    pub(crate) fn memory_on(&self, shared: &Shared, device: u32) -> Option<Memory<'_>> {
        let here = std::ptr::eq(&raw const **self.memory.shared(), shared) && self.ordinal == device;
        here.then(|| self.memory.constant().read().unwrap_or_else(PoisonError::into_inner))
            .filter(|memory| memory.is_some())
    }

    #[inline]
    pub(crate) fn is_of(&self, shared: &Arc<Shared>) -> bool {
        self.memory.is_of(shared)
    }

    /// The ordinal of its device.
    #[inline]
    pub(crate) fn ordinal(&self) -> u32 {
        self.ordinal
    }

    fn stream<'a>(&'a self, given: Option<&'a Stream>) -> PyResult<&'a hiplaunch::Stream> {
        given.map_or_else(|| self.stream.open(), |stream| stream.0.open())
    }

    fn write(&self, array: &Bound<'_, PyAny>, stream: Option<&Stream>) -> PyResult<()> {
        let (memory, stream) = (self.open()?, self.stream(stream)?);
        let Some(memory) = &*memory else { return Ok(()) };
        let view = ArrayBytes::of(array, false)?;
        // SAFETY: whoever writes an array while it is copied gets a copy of either, as with any copy of Python's.
        let bytes = unsafe { view.bytes() };
        if bytes.len() != memory.bytes() {
            let problem = format!("the array has {} bytes, the buffer {}", bytes.len(), memory.bytes());
            return Err(PyValueError::new_err(problem));
        }
        array.py().detach(|| memory.view().upload(stream, bytes)).map_err(raise)
    }
}

#[pymethods]
impl Buffer {
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

    /// Its size in bytes.
    #[getter]
    fn nbytes(&self) -> PyResult<usize> {
        bytes_of(&self.shape, self.element)
    }

    /// The ordinal of its device.
    #[getter]
    fn device(&self) -> u32 {
        self.ordinal()
    }

    /// Its address for kernels, as a number. Work that uses the address alone must have finished before the buffer is closed.
    #[getter]
    fn address(&self) -> PyResult<u64> {
        Ok(self.open()?.as_ref().map_or(0, |memory| memory.ptr().0))
    }

    /// Copies an array of the host, of as many bytes, to the buffer, in the order of a stream. The array may be changed when this
    /// returns. A Buffer may be given, too; it is copied on the device.
    #[pyo3(signature = (array, *, stream=None))]
    fn copy_from(&self, array: &Bound<'_, PyAny>, stream: Option<&Bound<'_, Stream>>) -> PyResult<()> {
        let stream = stream.map(Bound::get);
        let Ok(source) = array.cast::<Buffer>() else { return self.write(array, stream) };
        let (to, from) = (self.open()?, source.get().open()?);
        let (Some(to), Some(from)) = (&*to, &*from) else { return Ok(()) };
        to.view().copy_from(self.stream(stream)?, &from.view()).map_err(raise)
    }

    /// Copies the buffer to an array of the host, of as many bytes, and waits for that.
    #[pyo3(signature = (array, *, stream=None))]
    fn copy_to(&self, array: &Bound<'_, PyAny>, stream: Option<&Bound<'_, Stream>>) -> PyResult<()> {
        let (memory, stream) = (self.open()?, self.stream(stream.map(Bound::get))?);
        let Some(memory) = &*memory else { return Ok(()) };
        let view = ArrayBytes::of(array, true)?;
        let (start, len) = view.range();
        if len != memory.bytes() {
            let problem = format!("the array has {len} bytes, the buffer {}", memory.bytes());
            return Err(PyValueError::new_err(problem));
        }
        if len == 0 {
            return Ok(());
        }
        // SAFETY: the view is writable and keeps that many bytes; whoever accesses the array meanwhile gets either contents.
        let bytes = unsafe { std::slice::from_raw_parts_mut(start, len) };
        array.py().detach(|| memory.download(stream, bytes)).map_err(raise)
    }

    /// Waits for the work on the stream and returns the contents.
    #[pyo3(signature = (*, stream=None))]
    fn tobytes<'py>(
        &self,
        py: Python<'py>,
        stream: Option<&Bound<'_, Stream>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (memory, stream) = (self.open()?, self.stream(stream.map(Bound::get))?);
        let Some(memory) = &*memory else { return Ok(PyBytes::new(py, &[])) };
        PyBytes::new_with(py, memory.bytes(), |bytes| {
            py.detach(|| memory.download(stream, bytes)).map_err(raise)
        })
    }

    /// Sets every byte, in the order of a stream.
    #[pyo3(signature = (byte, *, stream=None))]
    fn fill(&self, byte: u8, stream: Option<&Bound<'_, Stream>>) -> PyResult<()> {
        let memory = self.open()?;
        let Some(memory) = &*memory else { return Ok(()) };
        memory.view().fill_bytes(self.stream(stream.map(Bound::get))?, byte).map_err(raise)
    }

    /// Frees the memory once the work that uses it has finished. Later use raises ClosedError.
    fn close(&self) -> PyResult<()> {
        self.memory.own()?.write().unwrap_or_else(PoisonError::into_inner).take();
        Ok(())
    }

    fn __len__(&self) -> usize {
        self.shape.first().copied().unwrap_or(0)
    }

    fn __repr__(&self) -> String {
        let closed = if self.open().is_ok() { "" } else { ", closed" };
        format!(
            "<hiplaunch.Buffer {:?} of {} on device {}{closed}>",
            self.shape,
            self.element.name,
            self.device()
        )
    }
}
