//! Launchers and devices.

use std::sync::Arc;

use hip_driver::noop::NoopDriver;
use hip_driver::{DeviceProperties, StreamOptions};
use hip_driver_emulated::{EmulatorOptions, EmulatorSetting, Interrupt, Notices};
use hiplaunch::{Backend, FatBinary, LazyModule};
use pyo3::exceptions::{PyKeyboardInterrupt, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyTuple};

use crate::array::ArrayBytes;
use crate::buffer::Buffer;
use crate::compile::CodeObject;
use crate::dict::dict;
use crate::dtype::{ElementType, read_shape};
use crate::errors::raise;
use crate::graph::Graph;
use crate::host_memory::HostMemory;
use crate::kernel::{Kernel, Module};
use crate::live::{Shared, below_layers};
use crate::notices::as_dict;
use crate::reports::{PoolSnapshot, Timeline};
use crate::stream::{Event, Stream};

/// Registers kernels, makes streams and buffers, and launches. It owns a driver and all its devices.
///
/// backend: 'hip' for AMD GPUs, 'emulator', or 'auto': a GPU where there is one, else the emulator. 'noop' runs nothing; it is for
///     measuring what a launch costs.
/// validate: whether to check the order of work on the same memory; the environment's HIPLAUNCH_VALIDATE says so by default.
/// timeline: whether to record calls and work from now on, for `timeline`.
///
/// The other keywords are settings of the emulator, under the names of docs/drivers.md: among them `target` ('gfx942'), `devices`,
/// `sanitize`, `bounds` ('strict' or 'pages'), `fine_grained_atomics` ('perform' or 'drop'), `schedule_seed`, `time_budget`.
///
/// A launcher can be used from any thread, and as a context manager, which closes it.
#[pyclass(frozen, module = "hiplaunch")]
pub(crate) struct Launcher {
    shared: Arc<Shared>,
    backend: Backend,
    noop: bool,
    timeline: Option<hiplaunch::Timeline>,
    notices: Notices,
}

/// The settings of the emulator that are given as keywords, with their values as text.
struct Settings(Vec<(&'static EmulatorSetting, String)>);

impl Settings {
    /// Reads the keywords; None is a setting that is not given.
    fn of(keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Settings> {
        let mut settings = Vec::new();
        for (name, value) in keywords.into_iter().flatten() {
            let name: String = name.extract()?;
            let setting = EmulatorSetting::named(&name)
                .map_err(|_| PyTypeError::new_err(format!("Launcher() has no keyword {name:?}")))?;
            if value.is_none() {
                continue;
            }
            let value = match value.cast::<PyBool>() {
                Ok(on) => u8::from(on.is_true()).to_string(),
                Err(_) => value.str()?.extract()?,
            };
            settings.push((setting, value));
        }
        Ok(Settings(settings))
    }

    fn options(&self) -> PyResult<EmulatorOptions> {
        let wrong = |error: hip_driver::DriverError| {
            PyValueError::new_err(error.detail.map_or_else(|| error.code.to_string(), String::from))
        };
        let mut options = EmulatorOptions::from_env().map_err(wrong)?;
        for (setting, value) in &self.0 {
            setting.set(&mut options, setting.name, value).map_err(wrong)?;
        }
        Ok(options)
    }
}

#[pymethods]
impl Launcher {
    #[new]
    #[pyo3(signature = (backend="auto", *, validate=None, timeline=false, **emulator))]
    fn new(
        py: Python<'_>,
        backend: &str,
        validate: Option<bool>,
        timeline: bool,
        emulator: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Launcher> {
        let emulator = Settings::of(emulator)?;
        let (notices, interrupt) = (Notices::default(), Interrupt::new());
        let mut builder = hiplaunch::Launcher::builder();
        if let Some(on) = validate {
            builder = builder.validate(on);
        }
        let timeline = timeline.then(hiplaunch::Timeline::default);
        if let Some(timeline) = &timeline {
            builder = builder.timeline(timeline);
        }
        let noop = backend == "noop";
        if noop {
            let target = emulator.options()?.target;
            let capabilities = [hip_driver::Capability::CooperativeLaunch].into_iter().collect();
            builder = builder.driver(NoopDriver::of(target, capabilities));
        } else {
            let backend: Backend = backend.parse().map_err(|_| {
                PyValueError::new_err(format!(
                    "backend is 'auto', 'hip', 'hsa' or 'emulator', not {backend:?}"
                ))
            })?;
            builder = builder.backend(backend);
            let is_gpu = Backend::OF_GPUS.contains(&backend);
            if let Some((setting, _)) = emulator.0.first().filter(|_| is_gpu) {
                return Err(PyValueError::new_err(format!(
                    "{} is for the emulator, not for backend='{backend}'",
                    setting.name
                )));
            }
            if !is_gpu {
                let mut options =
                    EmulatorOptions { listener: Some(notices.listener()), ..emulator.options()? };
                options.machine.interrupt = interrupt.clone();
                builder = builder.emulator(options);
            }
        }
        let launcher = py.detach(|| builder.build()).map_err(raise)?;
        let backend = below_layers(&launcher).parse().unwrap_or(Backend::Emulator);
        let interrupt = (backend == Backend::Emulator && !noop).then_some(interrupt);
        Ok(Launcher { shared: Shared::new(launcher, interrupt), backend, noop, timeline, notices })
    }

    /// What was opened: 'hip', 'hsa', 'emulator' or 'noop'.
    #[getter]
    fn backend(&self) -> String {
        if self.noop { "noop".into() } else { self.backend.to_string() }
    }

    /// Why other backends were not opened: one line for each that was tried before.
    #[getter]
    fn tried(&self) -> PyResult<Vec<String>> {
        Ok(self.shared.open()?.tried().to_vec())
    }

    /// The devices, by ordinal.
    #[getter]
    fn devices<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let devices = 0..self.shared.open()?.devices().len() as u32;
        PyTuple::new(py, devices.map(|ordinal| Device { shared: self.shared.clone(), ordinal }))
    }

    /// The stream that launches and copies use where none is given: that of device 0. Each device has one.
    #[getter]
    fn default_stream(&self) -> PyResult<Stream> {
        Ok(Stream::new(&self.shared, self.shared.default_stream(0)?))
    }

    /// Makes a stream on a device. A lower number is a higher priority; None is the driver's default.
    #[pyo3(signature = (device=0, *, priority=None))]
    fn stream(&self, device: u32, priority: Option<i32>) -> PyResult<Stream> {
        let options = StreamOptions { priority, ..StreamOptions::default() };
        let device = self.shared.device(device)?;
        let stream = self.shared.open()?.stream_with(device, options).map_err(raise)?;
        Ok(Stream::new(&self.shared, stream))
    }

    /// Uses a stream that others made, without owning it: `handle` is its hipStream_t as a number, such as
    /// `torch.cuda.current_stream().cuda_stream`; 0 is the null stream. It must live as long as this object.
    #[pyo3(signature = (handle, device=0))]
    fn stream_from_raw(&self, handle: u64, device: u32) -> PyResult<Stream> {
        let (launcher, device) = (self.shared.open()?, self.shared.device(device)?);
        // SAFETY: the docstring asks for a live stream of the device.
        let stream =
            unsafe { launcher.stream_from_raw(device, hip_driver::RawStream(handle)) }.map_err(raise)?;
        Ok(Stream::new(&self.shared, stream))
    }

    /// Makes an event.
    #[pyo3(signature = (device=0, *, timing=true))]
    fn event(&self, device: u32, timing: bool) -> PyResult<Event> {
        Event::new(&self.shared, device, timing)
    }

    /// Reads a code object or an offload bundle, from bytes, a CodeObject or a file by its path, and returns a Module. It is loaded on
    /// a device when a kernel of it is first launched there.
    fn load(&self, code: &Bound<'_, PyAny>) -> PyResult<Module> {
        self.shared.open()?;
        let binary = if let Ok(compiled) = code.cast::<CodeObject>() {
            FatBinary::new("code", compiled.get().elf().to_vec())
        } else if let Ok(path) = code.extract::<std::path::PathBuf>() {
            // With the number of the error it becomes FileNotFoundError and the like.
            std::fs::File::open(&path).map_err(|error| {
                pyo3::exceptions::PyOSError::new_err((error.raw_os_error(), error.to_string(), path.clone()))
            })?;
            FatBinary::read(path).map_err(raise)?
        } else if let Ok(view) = ArrayBytes::of(code, false) {
            // SAFETY: copied while the interpreter is attached.
            FatBinary::new("code", unsafe { view.bytes() }.to_vec())
        } else {
            return Err(PyTypeError::new_err("code is the bytes of a code object, or the path of its file"));
        };
        // SAFETY: whoever registers code in Python vouches for it, as the package's documentation says.
        Module::new(&self.shared, unsafe { LazyModule::new(binary) })
    }

    /// Registers a kernel of a code object and returns it.
    ///
    /// code: the bytes of a code object or an offload bundle, the path of its file, or a Module.
    /// name: the kernel's name; not needed if there is only one.
    /// signature: the kernel's parameter types, such as 'f32, ptr, ptr, i32'. With it, numbers are converted: without it, an
    ///     int is passed as an integer and a float as floating point, of the parameter's size, as the code object does not say more.
    ///
    /// The code may do anything with the memory of the device: register only what you trust.
    #[pyo3(signature = (code, name=None, *, signature=None))]
    fn register(
        &self,
        code: &Bound<'_, PyAny>,
        name: Option<&str>,
        signature: Option<&str>,
    ) -> PyResult<Kernel> {
        match code.cast::<Module>() {
            Ok(module) => module.get().register(&self.shared, name, signature),
            Err(_) => self.load(code)?.register(&self.shared, name, signature),
        }
    }

    /// Allocates an array in device memory, in the order of a stream. What it holds is undefined.
    ///
    /// shape: the number of elements, or a sequence of the extents of the axes.
    /// dtype: the element type: a name such as 'float32', or a dtype of numpy or torch. None is 'uint8', so the shape is in bytes.
    #[pyo3(signature = (shape, dtype=None, *, stream=None))]
    fn empty(
        &self,
        shape: &Bound<'_, PyAny>,
        dtype: Option<&Bound<'_, PyAny>>,
        stream: Option<&Bound<'_, Stream>>,
    ) -> PyResult<Buffer> {
        let element = dtype.map_or(Ok(ElementType::UINT8), ElementType::read)?;
        Buffer::allocate(&self.shared, read_shape(shape)?, element, stream.map(Bound::get))
    }

    /// Allocates device memory: `source` is a number of bytes, or an array of the host, which is copied.
    #[pyo3(signature = (source, *, stream=None))]
    fn buffer(&self, source: &Bound<'_, PyAny>, stream: Option<&Bound<'_, Stream>>) -> PyResult<Buffer> {
        let stream = stream.map(Bound::get);
        match source.extract::<usize>() {
            Ok(bytes) => Buffer::allocate(&self.shared, vec![bytes], ElementType::UINT8, stream),
            Err(_) => Buffer::of_array(&self.shared, source, stream),
        }
    }

    /// Pins memory of the host where it is, so that kernels access it without a copy. `array` is a writable array, or an address
    /// with `nbytes`. With an address, the memory must live until the object is closed.
    #[pyo3(signature = (array, nbytes=None, *, device=0))]
    fn register_host(
        &self,
        array: &Bound<'_, PyAny>,
        nbytes: Option<usize>,
        device: u32,
    ) -> PyResult<HostMemory> {
        HostMemory::register(&self.shared, array, nbytes, device)
    }

    /// Makes a Buffer over the memory of another library's array, without a copy, by DLPack: a tensor of torch, an array of
    /// CuPy or numpy. It can be written and has no gaps.
    ///
    /// Device memory of a GPU is used as it is; its owner's work on it is ordered before that of the device's default stream.
    /// Memory of the host is pinned for `device` until the buffer is closed; kernels write to the array itself. Work that uses
    /// the memory must have finished before its owner uses it again. Raises BufferError for memory elsewhere.
    #[pyo3(name = "from_dlpack", signature = (array, *, device=0))]
    fn adopt(&self, array: &Bound<'_, PyAny>, device: u32) -> PyResult<Buffer> {
        Buffer::from_dlpack(&self.shared, array, device)
    }

    /// Allocates an array in pinned memory of the host, filled with zeros, which kernels access without a copy. `shape` is a number
    /// of elements or a tuple. numpy.asarray(memory) is an array over it.
    #[pyo3(signature = (shape, dtype=None, *, device=0))]
    fn pinned(
        &self,
        shape: &Bound<'_, PyAny>,
        dtype: Option<&Bound<'_, PyAny>>,
        device: u32,
    ) -> PyResult<HostMemory> {
        let element = dtype.map_or(Ok(ElementType::UINT8), ElementType::read)?;
        HostMemory::allocate(&self.shared, read_shape(shape)?, element, device)
    }

    /// Makes an empty Graph for a device. Branches that do not depend on each other run on up to `streams` streams.
    #[pyo3(signature = (device=0, *, streams=1))]
    fn graph(&self, device: u32, streams: u32) -> PyResult<Graph> {
        Graph::new(&self.shared, device, streams)
    }

    /// Submits graphs of at least so many nodes as one graph of the driver (`hipGraphLaunch`), while their memory and numbers are those
    /// of the submission before. Without this, and for other graphs, each node is a driver call.
    fn set_graph_break_even(&self, nodes: u32) -> PyResult<()> {
        self.shared.open()?.set_graph_break_even(nodes);
        Ok(())
    }

    /// What was recorded, of a launcher that was opened with timeline=True; else None.
    #[getter]
    fn timeline(&self) -> Option<Timeline> {
        self.timeline.as_ref().map(|timeline| Timeline::new(&self.shared, timeline.clone()))
    }

    /// Waits for the work of all devices. A kernel's fault is raised here as DeviceLostError.
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        self.shared.open()?;
        py.detach(|| self.shared.synchronize()).map_err(raise)
    }

    /// Ends the kernels that run on the emulator, and all that are launched later: they fail, and the devices are lost. Does nothing on
    /// a GPU.
    fn end_kernels(&self) {
        if let Some(interrupt) = &self.shared.interrupt {
            interrupt.end_dispatches();
        }
    }

    /// Returns what the validation layer found so far, a line for each, and forgets it. Raises ValueError without validate=True.
    fn violations(&self) -> PyResult<Vec<String>> {
        match self.shared.open()?.validation() {
            Some(validation) => Ok(validation.take_violations().iter().map(ToString::to_string).collect()),
            None => Err(PyValueError::new_err("the launcher was opened without validate=True")),
        }
    }

    /// Returns what the emulator noted so far, a dict for each instruction of a kernel, and forgets it: accesses that hardware, or
    /// strict bounds, would not have performed. `kind` is 'past_end' (an access past the end of an allocation, with
    /// bounds='pages'; a pinned buffer is one, and so is all memory of the pool) or 'fine_grained_atomic' (a floating-point atomic
    /// that gfx90a's hardware does not perform).
    fn notices<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        self.shared.open()?;
        self.notices.take().iter().map(|notice| as_dict(py, notice)).collect()
    }

    /// Waits for all work, raises the fault of a kernel if there was one, and refuses further use of the launcher and its objects
    /// with ClosedError. Closing it again does nothing.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.shared.close()).map_err(raise)
    }

    /// Whether it was closed.
    #[getter]
    fn closed(&self) -> bool {
        !self.shared.is_usable()
    }

    fn __enter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        let kind = _exception.get_item(0).ok().filter(|kind| !kind.is_none());
        if kind.as_ref().is_some_and(|kind| kind.is(py.get_type::<PyKeyboardInterrupt>())) {
            // Closing would wait for them.
            self.end_kernels();
        }
        // The exception that leaves the block says more than one about a fault that followed.
        let closed = self.close(py);
        if kind.is_some() { Ok(()) } else { closed }
    }

    fn __repr__(&self) -> String {
        let Ok(launcher) = self.shared.open() else { return "<hiplaunch.Launcher, closed>".into() };
        let devices: Vec<&str> = launcher.devices().iter().map(|d| d.properties().name.as_str()).collect();
        format!("<hiplaunch.Launcher, {}: {}>", self.backend(), devices.join(", "))
    }
}

/// A device of a launcher.
#[pyclass(frozen, module = "hiplaunch")]
pub(crate) struct Device {
    shared: Arc<Shared>,
    ordinal: u32,
}

impl Device {
    fn device(&self) -> PyResult<&hiplaunch::Device> {
        self.shared.device(self.ordinal)
    }
}

#[pymethods]
impl Device {
    /// The number of the device.
    #[getter]
    fn ordinal(&self) -> u32 {
        self.ordinal
    }

    /// The marketing name.
    #[getter]
    fn name(&self) -> PyResult<String> {
        Ok(self.device()?.properties().name.clone())
    }

    /// The target whose code it runs, with its settings, such as 'gfx942:sramecc+:xnack-'.
    #[getter]
    fn target(&self) -> PyResult<String> {
        Ok(self.device()?.properties().target.short())
    }

    /// Limits and sizes, as a dict. Memory is in bytes, clocks are in kHz; None is what is not known.
    #[getter]
    fn properties<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let properties = self.device()?.properties();
        let dict = dict!(py, DeviceProperties: properties =>
            name, pci_bus_id, total_memory, compute_units, wavefront_size, max_threads_per_block, max_block, max_grid,
            max_lds_per_block, clock_khz, memory_clock_khz, memory_bus_bits, l2_bytes, registers_per_block; target);
        dict.set_item("target", properties.target.short())?;
        Ok(dict)
    }

    /// The stream that launches and copies use where none is given.
    #[getter]
    fn default_stream(&self) -> PyResult<Stream> {
        Ok(Stream::new(&self.shared, self.shared.default_stream(self.ordinal)?))
    }

    /// Waits for all work of the device. A kernel's fault is raised here as DeviceLostError.
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        let device = self.device()?;
        py.detach(|| device.synchronize()).map_err(raise)
    }

    /// Returns what the memory pool of the device holds now, as a PoolSnapshot.
    fn pool_snapshot(&self) -> PyResult<PoolSnapshot> {
        Ok(PoolSnapshot::new(self.device()?.pool().snapshot()))
    }

    fn __repr__(&self) -> PyResult<String> {
        Ok(format!("<hiplaunch.Device {}: {}, {}>", self.ordinal, self.name()?, self.target()?))
    }
}
