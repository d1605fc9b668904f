//! Modules, kernels, and launching them.

use std::sync::{Arc, Mutex, PoisonError};

use hiplaunch::launcher::{Destination, Registration};
use hiplaunch::{Arg, BufferArg, KernelHandle, Launch, LaunchDims, LazyModule};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyTuple};
use smallvec::SmallVec;

use crate::arguments::{Converted, Kind, Parameter, convert, parameters};
use crate::array::ArrayBytes;
use crate::buffer::Buffer;
use crate::dict::dict;
use crate::errors::raise;
use crate::live::{Live, Shared};
use crate::packed::Packed;
use crate::stream::Stream;
use crate::ticket::Ticket;

/// A launch that copies more than this from and to the host lets other threads of Python run meanwhile.
const DETACH_BYTES: usize = 256 << 10;

/// The kernels of a code object. Launcher.load makes one.
#[pyclass(frozen, module = "hiplaunch")]
pub(crate) struct Module {
    module: Live<LazyModule>,
    names: Vec<String>,
}

impl Module {
    pub(crate) fn new(shared: &Arc<Shared>, module: LazyModule) -> PyResult<Module> {
        let names = module.kernels(shared.open()?.devices()).map_err(raise)?;
        Ok(Module { module: Live::new(shared, module), names })
    }

    pub(crate) fn register(
        &self,
        shared: &Arc<Shared>,
        name: Option<&str>,
        signature: Option<&str>,
    ) -> PyResult<Kernel> {
        let launcher = shared.open()?;
        if !self.module.is_of(shared) {
            return Err(PyValueError::new_err("the module is another launcher's"));
        }
        let name = match (name, &*self.names) {
            (Some(name), _) => name,
            (None, [only]) => only,
            (None, names) => {
                let problem =
                    format!("the code has {} kernels; name one of: {}", names.len(), names.join(", "));
                return Err(PyValueError::new_err(problem));
            }
        };
        let handle = launcher.register_kernel(Registration::new(self.module.open()?, name)).map_err(raise)?;
        let kernel = launcher.kernel(handle).map_err(raise)?;
        let registered = Registered { launcher: launcher.clone(), handle, kernel };
        let live = Live::new(shared, registered);
        let of_code = launcher.signature(handle).map_err(raise)?;
        let parameters = parameters(&of_code, signature)?;
        let explicit_bytes = parameters.iter().map(|p| (p.offset + p.size) as usize).max().unwrap_or(0);
        let inner = Arc::new(Inner { live, name: of_code.name, parameters, explicit_bytes });
        Ok(Kernel { inner, last: Mutex::new(None) })
    }
}

#[pymethods]
impl Module {
    /// The names of its kernels.
    #[getter]
    fn kernels(&self) -> Vec<String> {
        self.names.clone()
    }

    /// Registers a kernel, as Launcher.register does.
    #[pyo3(signature = (name=None, *, signature=None))]
    fn kernel(&self, name: Option<&str>, signature: Option<&str>) -> PyResult<Kernel> {
        self.register(self.module.shared(), name, signature)
    }

    fn __repr__(&self) -> String {
        format!("<hiplaunch.Module: {}>", self.names.join(", "))
    }
}

/// A registered kernel, which is unregistered when it is dropped.
pub(crate) struct Registered {
    launcher: hiplaunch::Launcher,
    handle: KernelHandle,
    kernel: Arc<hiplaunch::launcher::Kernel>,
}

impl Drop for Registered {
    fn drop(&mut self) {
        // The handle is good: nothing else unregisters it.
        let _ = self.launcher.unregister(self.handle);
    }
}

impl Registered {
    pub(crate) fn handle(&self) -> KernelHandle {
        self.handle
    }
}

/// A kernel and its parameters.
pub(crate) struct Inner {
    pub(crate) live: Live<Registered>,
    name: String,
    pub(crate) parameters: Vec<Parameter>,
    /// Where the last explicit argument ends.
    explicit_bytes: usize,
}

/// A registered kernel. Launcher.register makes one.
///
/// kernel[grid, block](*args) launches it on the default stream, and kernel[grid, block, stream](*args) on another; `grid` is the
/// number of workgroups and `block` the number of work-items of each, as a number or up to three. It returns a Ticket if an argument
/// is Out or InOut, else None.
///
/// An argument is, for a pointer: a Buffer, HostMemory, In, Out, InOut, an object with an array interface for device memory, an
/// address as a number, or None for null. By value: a number, or an object with the buffer protocol and of the parameter's size, such as
/// a ctypes Structure, a numpy scalar or record, or the bytes of struct.pack.
#[pyclass(frozen, module = "hiplaunch")]
pub(crate) struct Kernel {
    pub(crate) inner: Arc<Inner>,
    /// What `kernel[key]` gave last, and for which key.
    last: Mutex<Option<(Py<PyAny>, Py<BoundKernel>)>>,
}

/// A kernel with its grid, block and stream: kernel[grid, block]. Call it with the arguments to launch.
#[pyclass(frozen, module = "hiplaunch")]
pub(crate) struct BoundKernel {
    inner: Arc<Inner>,
    dims: LaunchDims,
    stream: Live<hiplaunch::Stream>,
}

/// A launch without its arguments.
struct Options<'a> {
    dims: LaunchDims,
    cooperative: bool,
    /// The destination, and its number of bytes.
    into: Option<(&'a hiplaunch::DeviceView<u8>, &'a [usize; 1])>,
}

impl Options<'_> {
    /// The description of the launch. It is made where it is used, since moving it costs time.
    #[inline(always)]
    fn launch(&self) -> Launch<'_> {
        let mut launch = Launch::new(self.dims);
        if self.cooperative {
            launch = launch.cooperative();
        }
        if let Some((view, shape)) = self.into {
            launch = launch.destination(Destination::from(view), shape);
        }
        launch
    }
}

/// Reads a grid and a block.
pub(crate) fn launch_dims(
    grid: &Bound<'_, PyAny>,
    block: &Bound<'_, PyAny>,
    dynamic_lds: u32,
) -> PyResult<LaunchDims> {
    Ok(LaunchDims { grid: dimensions(grid, "grid")?, block: dimensions(block, "block")?, dynamic_lds })
}

fn dimensions(given: &Bound<'_, PyAny>, what: &str) -> PyResult<[u32; 3]> {
    let extent = |value: &Bound<'_, PyAny>| {
        value.extract::<u32>().map_err(|error| match value.is_instance_of::<PyInt>() {
            true => PyValueError::new_err(format!("{what}: {value} is not in 0 to 2^32 - 1")),
            false => error,
        })
    };
    let mut all = [1; 3];
    if given.is_instance_of::<PyInt>() {
        all[0] = extent(given)?;
        return Ok(all);
    }
    let wrong = || PyTypeError::new_err(format!("{what} is a number or a tuple of 1 to 3 numbers"));
    let count = given.len().map_err(|_| wrong())?;
    if !(1..=3).contains(&count) {
        return Err(wrong());
    }
    for (place, value) in all.iter_mut().zip(given.try_iter()?) {
        *place = extent(&value?)?;
    }
    Ok(all)
}

impl Inner {
    /// Launches with arguments. The ticket is for outputs, or if one is asked for.
    #[inline]
    fn launch(
        &self,
        stream: &hiplaunch::Stream,
        options: &Options<'_>,
        arguments: &Bound<'_, PyTuple>,
        wants_ticket: bool,
    ) -> PyResult<Option<Ticket>> {
        let kernel = &self.live.open()?.kernel;
        if arguments.len() != self.parameters.len() {
            return Err(self.wrong_count(arguments.len()));
        }
        let mut packed = Packed::new();
        if packed.pack(arguments, &self.parameters, self.live.shared(), stream)
            && let Some(bytes) = packed.bytes(self.explicit_bytes)
        {
            let buffers = packed.buffers();
            let launch = options.launch().packed_with(bytes, &buffers);
            // Whoever registers code in Python vouches for it and for its arguments, as the package's documentation says. `packed`
            // keeps the buffers until the launch is enqueued.
            return match wants_ticket {
                // SAFETY: who registers the code vouches for it.
                true => unsafe { kernel.submit(stream, launch) }
                    .map(|ticket| Some(Ticket::new(self.live.shared(), ticket, SmallVec::new()))),
                // SAFETY: who registers the code vouches for it.
                false => unsafe { kernel.enqueue(stream, launch) }.map(|()| None),
            }
            .map_err(raise);
        }
        drop(packed);
        self.launch_any(stream, options, arguments, wants_ticket)
    }

    /// Launches with arguments of any kind.
    fn launch_any(
        &self,
        stream: &hiplaunch::Stream,
        options: &Options<'_>,
        arguments: &Bound<'_, PyTuple>,
        wants_ticket: bool,
    ) -> PyResult<Option<Ticket>> {
        let py = arguments.py();
        let kernel = &self.live.open()?.kernel;
        let shared = self.live.shared();
        let device = stream.device().id().0;
        let mut converted: SmallVec<[Converted<'_>; 8]> = SmallVec::new();
        let (mut outputs, mut host_bytes) = (SmallVec::new(), 0);
        for (index, (value, parameter)) in arguments.iter_borrowed().zip(&self.parameters).enumerate() {
            let argument = convert(value, parameter, shared, device)
                .map_err(|error| self.in_argument(py, index, &error))?;
            outputs.extend(argument.output(py));
            host_bytes += argument.host_bytes();
            converted.push(argument);
        }
        let mut args: SmallVec<[Arg<'_>; 8]> = SmallVec::new();
        for argument in &converted {
            // SAFETY: the bytes are copied by the launch. Who writes an array of the host in another thread meanwhile gets either
            // contents.
            args.push(unsafe { argument.as_arg() });
        }
        // SAFETY: whoever registers code in Python vouches for it and for its arguments, as the package's documentation says.
        let submit = || unsafe { kernel.submit(stream, options.launch().args(&args)) };
        let submitted = if host_bytes > DETACH_BYTES { py.detach(submit) } else { submit() };
        let ticket = submitted.map_err(raise)?;
        Ok((wants_ticket || !outputs.is_empty()).then(|| Ticket::new(shared, ticket, outputs)))
    }

    #[cold]
    pub(crate) fn wrong_count(&self, given: usize) -> PyErr {
        let names: Vec<String> = (self.parameters.iter().enumerate())
            .map(|(i, p)| p.name.clone().unwrap_or_else(|| format!("#{i}")))
            .collect();
        PyTypeError::new_err(format!(
            "kernel `{}` takes {} arguments ({}), not {given}",
            self.name,
            names.len(),
            names.join(", ")
        ))
    }

    /// Says in which argument of which kernel an error is. Its kind stays.
    #[cold]
    pub(crate) fn in_argument(&self, py: Python<'_>, index: usize, error: &PyErr) -> PyErr {
        let name = self.parameters[index].name.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
        let text = format!("kernel `{}`, argument {index}{name}: {}", self.name, error.value(py));
        PyErr::from_type(error.get_type(py), text)
    }
}

#[pymethods]
impl BoundKernel {
    #[pyo3(signature = (*args))]
    fn __call__(&self, args: &Bound<'_, PyTuple>) -> PyResult<Option<Ticket>> {
        let options = Options { dims: self.dims, cooperative: false, into: None };
        self.inner.launch(self.stream.constant(), &options, args, false)
    }

    fn __repr__(&self) -> String {
        let LaunchDims { grid, block, .. } = self.dims;
        format!("<hiplaunch.Kernel {}[{grid:?}, {block:?}]>", self.inner.name)
    }
}

#[pymethods]
impl Kernel {
    /// The kernel's name.
    #[getter]
    fn name(&self) -> &str {
        &self.inner.name
    }

    /// The explicit parameters: a tuple of dicts with name, offset and size in bytes, and kind ('ptr' or 'value').
    #[getter]
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let describe = |p: &Parameter| {
            let dict = dict!(py, p => name, offset, size);
            dict.set_item("kind", if p.kind == Kind::Pointer { "ptr" } else { "value" })?;
            PyResult::Ok(dict)
        };
        PyTuple::new(py, self.inner.parameters.iter().map(describe).collect::<PyResult<Vec<_>>>()?)
    }

    /// Returns what the kernel needs on a device, as a dict: registers of a work-item and of a wavefront, bytes of LDS and private
    /// memory, the most work-items in a workgroup.
    #[pyo3(signature = (device=0))]
    fn attributes<'py>(&self, py: Python<'py>, device: u32) -> PyResult<Bound<'py, PyDict>> {
        let registered = self.inner.live.open()?;
        let device = registered.launcher.device(device).map_err(raise)?;
        let a = registered.kernel.attributes(device).map_err(raise)?;
        Ok(dict!(py, a =>
            vgprs, agprs, sgprs, spilled_vgprs, spilled_sgprs, static_lds, private_bytes, uses_dynamic_stack,
            max_threads_per_block, required_block, wavefront_size, kernarg_bytes))
    }

    fn __getitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Py<BoundKernel>> {
        let lock = || self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, bound)) = &*lock()
            && of.is(key)
        {
            return Ok(bound.clone_ref(py));
        }
        // Reading the key may run Python, and so may dropping the old one: not under the lock.
        let bound = self.bind(key)?;
        let mut last = lock();
        let same = last.as_ref().map(|(_, known)| known).filter(|known| {
            known.get().dims == bound.dims && known.get().stream.constant() == bound.stream.constant()
        });
        let bound = match same {
            Some(known) => known.clone_ref(py),
            None => Py::new(py, bound)?,
        };
        let old = last.replace((key.clone().unbind(), bound.clone_ref(py)));
        drop(last);
        drop(old);
        Ok(bound)
    }

    /// Launches and returns a Ticket.
    ///
    /// packed: the explicit arguments as bytes, each at its offset, in place of `args`.
    /// stream: the stream, else the default stream of device 0.
    /// lds: bytes of dynamic LDS of each workgroup.
    /// cooperative: whether all workgroups run at the same time, so that the kernel can wait for the whole grid.
    /// into: the Buffer that the kernel writes its result to; hiplaunch.DESTINATION stands for it among `args`. A launch whose other
    ///     arguments overlap it is refused.
    #[pyo3(signature = (grid, block, *args, packed=None, stream=None, lds=0, cooperative=false, into=None))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn launch(
        &self,
        grid: &Bound<'_, PyAny>,
        block: &Bound<'_, PyAny>,
        args: &Bound<'_, PyTuple>,
        packed: Option<&Bound<'_, PyAny>>,
        stream: Option<&Bound<'_, Stream>>,
        lds: u32,
        cooperative: bool,
        into: Option<&Bound<'_, Buffer>>,
    ) -> PyResult<Ticket> {
        let dims = launch_dims(grid, block, lds)?;
        let shared = self.inner.live.shared();
        let default;
        let stream = match stream {
            Some(stream) => self.stream(stream.get())?,
            None => {
                default = shared.default_stream(0)?;
                &default
            }
        };
        let memory = into.map(|buffer| buffer.get().open()).transpose()?;
        let view = memory.as_deref().and_then(Option::as_ref).cloned();
        let shape = [view.as_ref().map_or(0, hiplaunch::DeviceView::len)];
        let options = Options { dims, cooperative, into: view.as_ref().map(|view| (view, &shape)) };
        let Some(packed) = packed else {
            let ticket = self.inner.launch(stream, &options, args, true)?;
            return ticket.ok_or_else(|| PyValueError::new_err("the launch gave no ticket"));
        };
        if !args.is_empty() {
            return Err(PyTypeError::new_err("a launch has arguments or `packed`, not both"));
        }
        let bytes = ArrayBytes::of(packed, false)?;
        // SAFETY: copied by the launch; see `Inner::launch`.
        let launch = options.launch().packed(unsafe { bytes.bytes() });
        // SAFETY: as in `Inner::launch`.
        let ticket = unsafe { self.inner.live.open()?.kernel.submit(stream, launch) }.map_err(raise)?;
        Ok(Ticket::new(shared, ticket, SmallVec::new()))
    }

    fn __repr__(&self) -> String {
        format!("<hiplaunch.Kernel {}>", self.inner.name)
    }
}

impl Kernel {
    /// The launcher that the kernel is registered with.
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        self.inner.live.shared()
    }

    /// A stream of the kernel's launcher.
    ///
    /// # Errors
    /// `ClosedError` if the launcher was closed; `ValueError` for another launcher's stream.
    pub(crate) fn stream<'a>(&self, stream: &'a Stream) -> PyResult<&'a hiplaunch::Stream> {
        let opened = stream.0.open()?;
        match stream.0.is_of(self.shared()) {
            true => Ok(opened),
            false => Err(PyValueError::new_err("the stream is another launcher's")),
        }
    }

    /// Launches with the bytes of the explicit arguments and the buffers among them, and without a ticket.
    pub(crate) fn enqueue_packed(
        &self,
        stream: &hiplaunch::Stream,
        dims: LaunchDims,
        cooperative: bool,
        bytes: &[u8],
        buffers: &[BufferArg<'_>],
    ) -> PyResult<()> {
        let options = Options { dims, cooperative, into: None };
        // SAFETY: whoever registers code in Python vouches for it and for its arguments, as the package's documentation says.
        unsafe {
            self.inner.live.open()?.kernel.enqueue(stream, options.launch().packed_with(bytes, buffers))
        }
        .map_err(raise)
    }

    fn bind(&self, key: &Bound<'_, PyAny>) -> PyResult<BoundKernel> {
        let wrong = || {
            PyTypeError::new_err("a launch is kernel[grid, block](...) or kernel[grid, block, stream](...)")
        };
        let key = key.cast::<PyTuple>().map_err(|_| wrong())?;
        let shared = self.inner.live.shared();
        let stream = match key.len() {
            2 => shared.default_stream(0)?,
            3 => self.stream(key.get_item(2)?.cast::<Stream>().map_err(|_| wrong())?.get())?.clone(),
            _ => return Err(wrong()),
        };
        let dims = launch_dims(&key.get_item(0)?, &key.get_item(1)?, 0)?;
        Ok(BoundKernel { inner: self.inner.clone(), dims, stream: Live::new(shared, stream) })
    }
}
