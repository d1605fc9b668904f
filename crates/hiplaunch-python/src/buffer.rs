//! Arrays in device memory.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, TryLockError};

use hip_driver::{Comparison, DevicePtr, WaitCondition};
use hiplaunch::{BufferArg, DeviceBuffer, DeviceView, PinnedBuffer};
use pyo3::exceptions::{PyAttributeError, PyBufferError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyTuple};
use smallvec::SmallVec;

use crate::adopted::Adopted;
use crate::array::ArrayBytes;
use crate::dlpack::{CPU, Export, ROCM, ROCM_HOST, Tensor};
use crate::dtype::{ElementType, bytes_of};
use crate::errors::{ClosedError, raise};
use crate::live::{Live, Shared, below_layers};
use crate::stream::Stream;

/// An array in device memory, contiguous in row-major order. Launcher.empty and Launcher.buffer make one.
///
/// A launch that gets it keeps its memory until it has finished: it may be closed, or dropped, right after the launch.
#[pyclass(frozen, module = "hiplaunch")]
pub(crate) struct Buffer {
    /// Set before `memory` is taken, so that no new use begins while `close` waits for those that run.
    closed: AtomicBool,
    /// `None` after `close`.
    memory: Live<RwLock<Option<DeviceView<u8>>>>,
    /// The stream in whose order it was allocated.
    stream: Live<hiplaunch::Stream>,
    ordinal: u32,
    shape: Vec<usize>,
    element: ElementType,
    /// Whose memory it is, if somebody else's.
    adopted: Mutex<Option<Live<Arc<Adopted>>>>,
    /// Keeps the memory for arrays that know only this object: see `exported`.
    exported: Mutex<Option<Live<Kept>>>,
}

/// Memory of a buffer for those who use it after the buffer was closed.
pub(crate) struct Kept {
    pub(crate) view: DeviceView<u8>,
    _adopted: Option<Arc<Adopted>>,
}

/// The memory of a buffer, which can't be closed meanwhile.
pub(crate) type Memory<'a> = RwLockReadGuard<'a, Option<DeviceView<u8>>>;

/// The memory whose addresses are among a launch's packed arguments.
#[inline]
pub(crate) fn named<'m>(memory: &'m [Memory<'_>]) -> SmallVec<[BufferArg<'m>; 8]> {
    memory.iter().filter_map(|memory| memory.as_ref()).map(BufferArg::from).collect()
}

impl Buffer {
    pub(crate) fn allocate(
        shared: &Arc<Shared>,
        shape: Vec<usize>,
        element: ElementType,
        stream: Option<&Stream>,
    ) -> PyResult<Buffer> {
        let bytes = bytes_of(&shape, element)?;
        let stream = shared.stream_or_default(stream, 0)?;
        let memory = DeviceBuffer::on(&stream, bytes).map_err(raise)?;
        Ok(Buffer::over(shared, memory.view(), stream, shape, element, None))
    }

    /// Makes a buffer over the memory of an object that has `__dlpack__`.
    pub(crate) fn from_dlpack(
        shared: &Arc<Shared>,
        object: &Bound<'_, PyAny>,
        device: u32,
    ) -> PyResult<Buffer> {
        let launcher = shared.open()?;
        let (kind, ordinal): (i32, i32) = object.call_method0("__dlpack_device__")?.extract()?;
        let is_gpu = matches!(below_layers(launcher).as_str(), "hip" | "hsa");
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
            let registered =
                unsafe { PinnedBuffer::<u8>::register_raw(&place, start, bytes) }.map_err(raise)?;
            at = registered.ptr();
            pinned = Some(registered);
        }
        // SAFETY: the tensor keeps the memory until `Adopted` is dropped, which waits for the device.
        let memory = unsafe { DeviceBuffer::borrow_raw(&place, at, bytes) }.map_err(raise)?;
        let host = NonNull::new(std::ptr::with_exposed_provenance_mut(address)).filter(|_| is_host);
        let adopted = Adopted { device: place, pinned, host, _tensor: tensor };
        let adopted = Live::new(shared, Arc::new(adopted));
        Ok(Buffer::over(shared, memory.view(), stream, shape, element, Some(adopted)))
    }

    pub(crate) fn over(
        shared: &Arc<Shared>,
        memory: DeviceView<u8>,
        stream: hiplaunch::Stream,
        shape: Vec<usize>,
        element: ElementType,
        adopted: Option<Live<Arc<Adopted>>>,
    ) -> Buffer {
        Buffer {
            closed: AtomicBool::new(false),
            memory: Live::new(shared, RwLock::new(Some(memory))),
            ordinal: stream.device().id().0,
            stream: Live::new(shared, stream),
            shape,
            element,
            adopted: Mutex::new(adopted),
            exported: Mutex::new(None),
        }
    }

    /// What keeps the memory, for work that is enqueued later or for somebody else.
    pub(crate) fn keep(&self) -> PyResult<Live<Kept>> {
        let memory = self.open()?;
        let Some(memory) = &*memory else { return Err(ClosedError::new_err("the buffer was closed")) };
        let adopted = self.adopted.lock().unwrap_or_else(PoisonError::into_inner);
        let adopted = adopted.as_ref().map(|adopted| adopted.constant().clone());
        Ok(Live::new(self.memory.shared(), Kept { view: memory.clone(), _adopted: adopted }))
    }

    /// Keeps the memory as long as this object, for an array that keeps this object and not its memory.
    fn keep_exported(&self) -> PyResult<()> {
        let kept = self.keep()?;
        self.exported.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(kept);
        Ok(())
    }

    /// Copies an array of the host; shape and element type are the array's, where it says them.
    pub(crate) fn of_array(
        shared: &Arc<Shared>,
        array: &Bound<'_, PyAny>,
        stream: Option<&Stream>,
    ) -> PyResult<Buffer> {
        let bytes = ArrayBytes::of(array, false)?.range().1;
        let (shape, element) = shape_and_type(array, bytes);
        let buffer = Buffer::allocate(shared, shape, element, stream)?;
        buffer.write(array, None, stream)?;
        Ok(buffer)
    }

    /// The memory, for a launch or a copy.
    ///
    /// # Errors
    /// `ClosedError` if the buffer or its launcher was closed.
    #[inline]
    pub(crate) fn open(&self) -> PyResult<Memory<'_>> {
        let memory = self.memory.open()?.read().unwrap_or_else(PoisonError::into_inner);
        match memory.is_some() && !self.closed.load(Ordering::Relaxed) {
            true => Ok(memory),
            false => Err(ClosedError::new_err("the buffer was closed")),
        }
    }

    /// Writes the address for a launch on a stream to `place`, of 8 bytes, and returns the memory, which can't be closed as long as that
    /// lives; the launch names it ([`named`]). `None` if the buffer was closed, is of another device or launcher, or is no memory of the
    /// pool.
    #[inline]
    pub(crate) fn pack(
        &self,
        shared: &Shared,
        stream: &hiplaunch::Stream,
        place: &mut [u8],
    ) -> Option<Memory<'_>> {
        let of_launcher = std::ptr::eq(&raw const **self.memory.shared(), shared);
        if !of_launcher || self.ordinal != stream.device().id().0 {
            return None;
        }
        let memory = self.memory.constant().read().unwrap_or_else(PoisonError::into_inner);
        let view = memory.as_ref().filter(|view| view.block().is_some())?;
        place.copy_from_slice(&BufferArg::from(view).ptr().0.to_le_bytes());
        Some(memory)
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

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        self.memory.shared()
    }

    fn stream<'a>(&'a self, given: Option<&'a Stream>) -> PyResult<&'a hiplaunch::Stream> {
        given.map_or_else(|| self.stream.open(), |stream| stream.0.open())
    }

    fn write(
        &self,
        array: &Bound<'_, PyAny>,
        offset: Option<usize>,
        stream: Option<&Stream>,
    ) -> PyResult<()> {
        let (memory, stream) = (self.open()?, self.stream(stream)?);
        let Some(memory) = &*memory else { return Ok(()) };
        let view = ArrayBytes::of(array, false)?;
        // SAFETY: whoever writes an array while it is copied gets a copy of either, as with any copy of Python's.
        let bytes = unsafe { view.bytes() };
        let part = part_of(memory, bytes.len(), offset)?;
        array.py().detach(|| part.upload(stream, bytes)).map_err(raise)
    }
}

/// The 8 bytes of a value.
fn value_of(memory: &Memory<'_>, offset: usize) -> PyResult<DeviceView<u8>> {
    let memory = memory.as_ref().ok_or_else(|| PyValueError::new_err("a buffer of 0 bytes has no value"))?;
    part_of(memory, 8, Some(offset))
}

/// The `len` bytes of a buffer from `offset` on; without an offset, all of it, which has to be as many.
fn part_of(memory: &DeviceView<u8>, len: usize, offset: Option<usize>) -> PyResult<DeviceView<u8>> {
    let (start, end) = (offset.unwrap_or(0), offset.unwrap_or(0).saturating_add(len));
    if end > memory.len() || offset.is_none() && end != memory.len() {
        let at = offset.map(|offset| format!(" from byte {offset} on")).unwrap_or_default();
        let problem =
            format!("the array has {len} bytes, the buffer {}{at}", memory.len().saturating_sub(start));
        return Err(PyValueError::new_err(problem));
    }
    memory.slice(0, start, end).map_err(raise)
}

/// Where memory is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Host,
    Gpu,
}

impl Buffer {
    fn place(&self) -> PyResult<Place> {
        drop(self.open()?);
        let adopted = self.adopted.lock().unwrap_or_else(PoisonError::into_inner);
        if adopted.as_ref().is_some_and(|adopted| adopted.constant().host().is_some()) {
            return Ok(Place::Host);
        }
        match below_layers(self.shared().open()?).as_str() {
            "hip" | "hsa" => Ok(Place::Gpu),
            "noop" => Err(PyBufferError::new_err("the memory of the backend 'noop' can't be accessed")),
            _ => Ok(Place::Host),
        }
    }

    /// Waits for the device's work, and returns the host's address of memory that the host can access; null for 0 bytes.
    fn host(&self, py: Python<'_>) -> PyResult<*mut u8> {
        let memory = self.open()?;
        let Some(memory) = &*memory else { return Ok(std::ptr::null_mut()) };
        py.detach(|| memory.device().synchronize()).map_err(raise)?;
        let adopted = self.adopted.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(host) = adopted.as_ref().and_then(|adopted| adopted.constant().host()) {
            return Ok(host.wrapping_add(memory.layout().offset()));
        }
        let host = memory.device().host_address(memory.ptr(), memory.len()).map_err(raise)?;
        Ok(host.map_or(std::ptr::null_mut(), |host| host.as_ptr()))
    }

    /// Makes a stream of the consumer wait for the work of the buffer's stream, as DLPack numbers streams for ROCm: None and 0
    /// are the default stream, and -1 asks for nothing.
    fn order_before(&self, stream: Option<i64>) -> PyResult<()> {
        let handle = match stream {
            Some(-1) => return Ok(()),
            Some(1 | 2) => return Err(PyBufferError::new_err("ROCm has no stream of number 1 or 2")),
            stream => stream.unwrap_or(0) as u64,
        };
        let own = self.stream.open()?;
        if own.as_raw().0 == handle {
            return Ok(());
        }
        let launcher = self.shared().open()?;
        // SAFETY: DLPack's consumers give a live stream of the device.
        let consumer = unsafe { launcher.stream_from_raw(own.device(), hip_driver::RawStream(handle)) }
            .map_err(raise)?;
        let options = hip_driver::EventOptions::default();
        let event = hiplaunch::Event::new(own.device(), options).map_err(raise)?;
        event.record(own).and_then(|()| event.wait_on(&consumer)).map_err(raise)
    }
}

/// The shape and the element type of an array, if it says them; else those of its bytes.
pub(crate) fn shape_and_type(array: &Bound<'_, PyAny>, nbytes: usize) -> (Vec<usize>, ElementType) {
    let typed = || -> PyResult<(Vec<usize>, ElementType)> {
        Ok((array.getattr("shape")?.extract()?, ElementType::read(&array.getattr("dtype")?)?))
    };
    typed()
        .ok()
        .filter(|(shape, element)| bytes_of(shape, *element).is_ok_and(|bytes| bytes == nbytes))
        .unwrap_or_else(|| (vec![nbytes], ElementType::UINT8))
}

/// Numpy's array interface, version 3, of a contiguous array that can be written.
pub(crate) fn array_interface<'py>(
    py: Python<'py>,
    address: u64,
    shape: &[usize],
    element: ElementType,
) -> PyResult<Bound<'py, PyDict>> {
    // Numpy before 2.1 takes 0 for an object without memory. An array without elements is at no address.
    let address = if address == 0 { align_of::<u128>() as u64 } else { address };
    let dict = PyDict::new(py);
    dict.set_item("shape", PyTuple::new(py, shape)?)?;
    dict.set_item("typestr", element.typestr)?;
    dict.set_item("data", (address, false))?;
    dict.set_item("strides", py.None())?;
    dict.set_item("version", 3)?;
    Ok(dict)
}

/// A memoryview over memory that an object keeps.
pub(crate) fn memoryview_of<'py>(
    owner: &Bound<'py, PyAny>,
    address: usize,
    nbytes: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let py = owner.py();
    if nbytes == 0 {
        return py.import("builtins")?.call_method1("memoryview", (PyByteArray::new(py, &[]),));
    }
    // The stable interface of Python has the buffer protocol only since 3.11.
    let array =
        py.import("ctypes")?.getattr("c_ubyte")?.mul(nbytes)?.call_method1("from_address", (address,))?;
    array.setattr("_owner", owner)?;
    py.import("builtins")?.call_method1("memoryview", (array,))?.call_method1("cast", ("B",))
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

    /// Returns the `nbytes` bytes from `offset` on as a buffer of its own, of bytes, over the same memory, which stays until both
    /// are closed. Raises ValueError if they are not in it.
    fn part(&self, offset: usize, nbytes: usize) -> PyResult<Buffer> {
        let memory = self.open()?;
        let Some(memory) = &*memory else { return Err(ClosedError::new_err("the buffer was closed")) };
        let Some(end) = offset.checked_add(nbytes).filter(|end| *end <= memory.len()) else {
            let problem =
                format!("{nbytes} bytes from byte {offset} on are not in a buffer of {} bytes", memory.len());
            return Err(PyValueError::new_err(problem));
        };
        let view = memory.slice(0, offset, end).map_err(raise)?;
        let adopted = self.adopted.lock().unwrap_or_else(PoisonError::into_inner);
        let adopted = adopted.as_ref().map(|adopted| Live::new(self.shared(), adopted.constant().clone()));
        let stream = self.stream.open()?.clone();
        Ok(Buffer::over(self.shared(), view, stream, vec![nbytes], ElementType::UINT8, adopted))
    }

    /// Copies an array of the host to the buffer, in the order of a stream: one of as many bytes, or with an `offset` in bytes, to
    /// the bytes from there on. The array may be changed when this returns. A Buffer may be given, too; it is copied on the
    /// device. Raises ValueError for an array of another size.
    #[pyo3(signature = (array, *, offset=None, stream=None))]
    fn copy_from(
        &self,
        array: &Bound<'_, PyAny>,
        offset: Option<usize>,
        stream: Option<&Bound<'_, Stream>>,
    ) -> PyResult<()> {
        let stream = stream.map(Bound::get);
        let Ok(source) = array.cast::<Buffer>() else { return self.write(array, offset, stream) };
        let (to, from) = (self.open()?, source.get().open()?);
        let (Some(to), Some(from)) = (&*to, &*from) else { return Ok(()) };
        part_of(to, from.len(), offset)?.copy_from(self.stream(stream)?, from).map_err(raise)
    }

    /// Copies the buffer to an array of the host, of as many bytes, and waits for that; with an `offset` in bytes, as many as the
    /// array has, from there on. Raises ValueError for an array of another size.
    #[pyo3(signature = (array, *, offset=None, stream=None))]
    fn copy_to(
        &self,
        array: &Bound<'_, PyAny>,
        offset: Option<usize>,
        stream: Option<&Bound<'_, Stream>>,
    ) -> PyResult<()> {
        let (memory, stream) = (self.open()?, self.stream(stream.map(Bound::get))?);
        let Some(memory) = &*memory else { return Ok(()) };
        let view = ArrayBytes::of(array, true)?;
        let (start, len) = view.range();
        let part = part_of(memory, len, offset)?;
        if len == 0 {
            return Ok(());
        }
        // SAFETY: the view is writable and keeps that many bytes; whoever accesses the array meanwhile gets either contents.
        let bytes = unsafe { std::slice::from_raw_parts_mut(start, len) };
        array.py().detach(|| part.download(stream, bytes)).map_err(raise)
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
        PyBytes::new_with(py, memory.len(), |bytes| {
            py.detach(|| memory.download(stream, bytes)).map_err(raise)
        })
    }

    /// Sets every byte, in the order of a stream.
    #[pyo3(signature = (byte, *, stream=None))]
    fn fill(&self, byte: u8, stream: Option<&Bound<'_, Stream>>) -> PyResult<()> {
        let memory = self.open()?;
        let Some(memory) = &*memory else { return Ok(()) };
        memory.fill_bytes(self.stream(stream.map(Bound::get))?, byte).map_err(raise)
    }

    /// Writes the 8 bytes from `offset` on, a multiple of 8, once the work before it on the stream has finished.
    #[pyo3(signature = (value, *, offset=0, stream=None))]
    fn write_value(&self, value: u64, offset: usize, stream: Option<&Bound<'_, Stream>>) -> PyResult<()> {
        let (memory, stream) = (self.open()?, self.stream(stream.map(Bound::get))?);
        stream.write_value(&value_of(&memory, offset)?, value).map_err(raise)
    }

    /// Has later work on the stream wait until the 8 bytes from `offset` on, a multiple of 8, have such a value, without waiting itself.
    /// `comparison` is '>=', '==', '&' for any of the bits, or '~|' for a bit of the mask that is in neither. If nobody writes the
    /// value, the stream stands still until the device is lost.
    #[pyo3(signature = (value, *, comparison=">=", mask=18446744073709551615, offset=0, stream=None))]
    fn wait_value(
        &self,
        value: u64,
        comparison: &str,
        mask: u64,
        offset: usize,
        stream: Option<&Bound<'_, Stream>>,
    ) -> PyResult<()> {
        let comparison = match comparison {
            ">=" => Comparison::AtLeast,
            "==" => Comparison::Equal,
            "&" => Comparison::AnyBit,
            "~|" => Comparison::NotAllBits,
            other => {
                let problem = format!("comparison {other:?} is not '>=', '==', '&' or '~|'");
                return Err(PyValueError::new_err(problem));
            }
        };
        let (memory, stream) = (self.open()?, self.stream(stream.map(Bound::get))?);
        let condition = WaitCondition { comparison, value, mask };
        stream.wait_value(&value_of(&memory, offset)?, condition).map_err(raise)
    }

    /// Frees the memory once the work that uses it has finished. Later use raises ClosedError.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let cell = self.memory.own()?;
        self.closed.store(true, Ordering::Relaxed);
        let memory = loop {
            // A copy in another thread may have it, and needs the interpreter to end: waiting for the lock would be a deadlock.
            match cell.try_write() {
                Ok(mut memory) => break memory.take(),
                Err(TryLockError::Poisoned(memory)) => break memory.into_inner().take(),
                Err(TryLockError::WouldBlock) => {
                    py.detach(|| std::thread::sleep(std::time::Duration::from_micros(50)));
                }
            }
        };
        drop(memory);
        let adopted = self.adopted.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(adopted);
        Ok(())
    }

    /// Where the memory is, as DLPack has it: (1, 0), which is the host, on the emulator; (10, ordinal), which is ROCm, on a GPU.
    fn __dlpack_device__(&self) -> PyResult<(i32, i32)> {
        match self.place()? {
            Place::Host => Ok((CPU, 0)),
            Place::Gpu => Ok((ROCM, self.ordinal() as i32)),
        }
    }

    /// Gives the memory to another library without a copy, as a capsule of DLPack: numpy.from_dlpack(buffer) on the emulator,
    /// torch.from_dlpack(buffer) everywhere.
    ///
    /// On the emulator, this waits for the device's work. On a GPU it makes the consumer's stream wait for the work of the
    /// buffer's stream. Work that is enqueued later is the caller's to wait for. The memory stays until the capsule or the array made
    /// of it is gone, even if the buffer is closed.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__(
        &self,
        py: Python<'_>,
        stream: Option<i64>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Py<PyAny>> {
        let device = self.__dlpack_device__()?;
        if dl_device.is_some_and(|wanted| wanted != device) || copy == Some(true) {
            return Err(PyBufferError::new_err("the buffer is given as it is, without a copy, where it is"));
        }
        let data = match (self.place()?, stream) {
            (Place::Host, None | Some(-1)) => self.host(py)?,
            (Place::Host, Some(_)) => {
                return Err(PyBufferError::new_err(
                    "memory of the host has no stream: `stream` must be None",
                ));
            }
            (Place::Gpu, stream) => {
                self.order_before(stream)?;
                std::ptr::with_exposed_provenance_mut(self.address()? as usize)
            }
        };
        let owner = Box::new(self.keep()?);
        Export { data, device, shape: self.shape.clone(), element: self.element, owner }
            .into_capsule(py, max_version)
    }

    /// The memory for numpy, without a copy, where the host can access it: on the emulator. numpy.asarray(buffer) uses it. Reading
    /// it waits for the device's work; work that is enqueued later is the caller's to wait for. From then on the memory stays as
    /// long as this object, even if it is closed.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        if !matches!(self.place(), Ok(Place::Host)) {
            return Err(PyAttributeError::new_err(
                "the host can't access the memory of the device: use `copy_to` or `tobytes`",
            ));
        }
        let host = self.host(py)?;
        self.keep_exported()?;
        array_interface(py, host.addr() as u64, &self.shape, self.element)
    }

    /// Raises TypeError: numpy would copy from the GPU, which the caller should say.
    #[pyo3(signature = (*_args, **_keywords))]
    fn __array__(
        &self,
        _args: &Bound<'_, PyTuple>,
        _keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        Err(PyTypeError::new_err(
            "a Buffer of a GPU becomes no numpy array by itself: use `copy_to` or `tobytes`",
        ))
    }

    /// The memory for libraries of CUDA's and ROCm's array interface, version 3, on a GPU.
    #[getter]
    fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        if !matches!(self.place(), Ok(Place::Gpu)) {
            return Err(PyAttributeError::new_err("the buffer is not in the memory of a GPU"));
        }
        self.keep_exported()?;
        let dict = array_interface(py, self.address()?, &self.shape, self.element)?;
        // 0 would be ambiguous; 1 is the default stream.
        dict.set_item("stream", self.stream.open()?.as_raw().0.max(1))?;
        Ok(dict)
    }

    /// The same as `__cuda_array_interface__`.
    #[getter]
    fn __hip_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.__cuda_array_interface__(py)
    }

    /// Returns the memory as a memoryview of bytes, without a copy, where the host can access it: on the emulator. It waits for the
    /// device's work. The memory stays as long as the view.
    fn memoryview<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let (py, buffer) = (this.py(), this.get());
        if !matches!(buffer.place()?, Place::Host) {
            return Err(PyBufferError::new_err(
                "the host can't access the memory of the device: use `copy_to` or `tobytes`",
            ));
        }
        let host = buffer.host(py)?;
        buffer.keep_exported()?;
        memoryview_of(this.as_any(), host.addr(), buffer.nbytes()?)
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
