//! The launcher: register kernels, launch them by handle, read their results.
//!
//! ```text
//!  code object ──register──▶ KernelHandle ─┐
//!                            Stream ───────┼─launch──▶ Ticket ──read──▶ Output
//!            LaunchDims, args![a, &x, n] ──┘  checked, staged,    waits for that
//!                                             enqueued; no wait   launch alone
//! ```

mod args;
mod attributes;
mod description;
mod destination;
mod kernel;
mod launch;
mod registry;
mod stream_state;
#[cfg(all(test, feature = "emulator"))]
mod tests;
mod ticket;
mod waker;

use std::sync::Arc;

use code_object::KernelSignature;

pub use args::{Arg, ArgumentBlock, BufferArg, HostData, LaunchDims, Patch, PatchTarget, Staging};
pub use attributes::KernelAttributes;
pub use description::{Launch, Registration};
pub use destination::Destination;
pub use registry::KernelHandle;
pub use stream_state::Stream;
pub use ticket::{Output, Ticket};

use crate::backend::{self, Backend};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::graph::{Graph, GraphCache};
use crate::memory::PoolOptions;
use crate::module::Module;
use hip_driver::{DeviceId, Driver, StreamOptions};
use hip_driver_layers::timeline::Timeline;
use hip_driver_layers::validation::ValidationDriver;
pub use kernel::Kernel;
use lds_layout::LdsLayout;
use registry::Registry;
use stream_state::StagingOptions;
pub(crate) use stream_state::{EnqueueState, REMEMBERED, StreamState, StreamStates};

/// Opens a [`Launcher`] with options.
#[derive(Debug, Default)]
pub struct LauncherBuilder {
    backend: Backend,
    emulator: Option<backend::Emulator>,
    driver: Option<Arc<dyn Driver>>,
    validate: Option<bool>,
    buffer_bytes: Option<usize>,
    max_buffers: Option<usize>,
    pool: Option<PoolOptions>,
    timeline: Option<Timeline>,
}

impl LauncherBuilder {
    /// Which driver to open; [`Backend::Auto`] by default.
    #[must_use]
    pub fn backend(mut self, backend: Backend) -> Self {
        self.backend = backend;
        self
    }

    /// What the emulator is, where [`Backend::Emulator`] or [`Backend::Auto`] opens it: its target, its devices. Without
    /// this, what [`EmulatorOptions::from_env`](crate::driver::emulated::EmulatorOptions::from_env) says.
    ///
    /// A GPU if there is one, else an emulated gfx942:
    ///
    /// ```
    /// use hiplaunch::Launcher;
    /// use hiplaunch::driver::emulated::EmulatorOptions;
    ///
    /// let options = EmulatorOptions { target: "gfx942".parse()?, ..EmulatorOptions::from_env()? };
    /// let launcher = Launcher::builder().emulator(options).build()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "emulator")]
    #[must_use]
    pub fn emulator(mut self, options: backend::Emulator) -> Self {
        self.emulator = Some(options);
        self
    }

    /// A driver that is open already, instead of a backend.
    #[must_use]
    pub fn driver(mut self, driver: Arc<dyn Driver>) -> Self {
        self.driver = Some(driver);
        self
    }

    /// Whether to put the validation layer over the driver; without this, `HIPLAUNCH_VALIDATE=1` does.
    #[must_use]
    pub fn validate(mut self, on: bool) -> Self {
        self.validate = Some(on);
        self
    }

    /// Pinned staging memory of each stream: segments of `buffer_bytes` (256 KiB), at most `max_buffers` (4) of them,
    /// each allocated when first needed. One launch that stages more gets a segment of its own size.
    #[must_use]
    pub fn staging_ring(mut self, buffer_bytes: usize, max_buffers: usize) -> Self {
        (self.buffer_bytes, self.max_buffers) = (Some(buffer_bytes), Some(max_buffers));
        self
    }

    /// The memory pool of each device; without this, the environment's [`POOL_VARIABLE`](crate::memory::POOL_VARIABLE)
    /// says where its memory comes from, with no limits.
    #[must_use]
    pub fn pool(mut self, options: PoolOptions) -> Self {
        self.pool = Some(options);
        self
    }

    /// Records all that the launcher does with the driver, under the validation layer where that is on; without this
    /// nothing is.
    #[must_use]
    pub fn timeline(mut self, timeline: &Timeline) -> Self {
        self.timeline = Some(timeline.clone());
        self
    }

    /// Opens the driver and every device it has.
    ///
    /// # Errors
    /// [`Error::Open`] when no driver can be opened; [`Error::Invalid`] when there is no device, or for options of the
    /// emulator with [`Backend::Hip`]; [`Error::Driver`] for options that no emulator can have, even where there is a GPU;
    /// the driver's.
    pub fn build(self) -> Result<Launcher> {
        let (mut driver, tried) = match self.driver {
            Some(driver) => (driver, Vec::new()),
            None => {
                if self.emulator.is_some() && self.backend == Backend::Hip {
                    let problem =
                        "options of the emulator with Backend::Hip; use Backend::Auto or Backend::Emulator";
                    return Err(Error::invalid("Launcher", problem));
                }
                #[cfg(feature = "emulator")]
                if let Some(options) = &self.emulator {
                    options.check()?;
                }
                let opened = backend::open_with(self.backend, Some(false), self.emulator)
                    .map_err(|e| Error::Open(Box::new(e)))?;
                (opened.driver, opened.tried)
            }
        };
        if let Some(timeline) = &self.timeline {
            driver = timeline.layer(driver);
        }
        let (driver, validation) =
            backend::validated(driver, self.validate).map_err(|e| Error::Open(Box::new(e)))?;
        let count = driver.device_count()?;
        if count == 0 {
            return Err(Error::invalid("Launcher", "the driver has no device; use the emulator's backend"));
        }
        let pool = self.pool.map_or_else(PoolOptions::from_env, Ok)?;
        let open = |i| Device::open_with(driver.clone(), DeviceId(i), &pool);
        let devices = (0..count).map(open).collect::<Result<Vec<_>>>()?;
        let usual = StagingOptions::default();
        let stream_state = StagingOptions {
            buffer_bytes: self.buffer_bytes.unwrap_or(usual.buffer_bytes),
            max_buffers: self.max_buffers.unwrap_or(usual.max_buffers),
        };
        Ok(Launcher(Arc::new(Inner {
            graphs: GraphCache::default(),
            registry: Registry::default(),
            devices,
            validation,
            tried,
            stream_state,
            driver,
        })))
    }
}

/// Launches registered kernels by handle. Cheap to clone; every method may be called from any thread.
#[derive(Clone, Debug)]
pub struct Launcher(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    // Dropped in this order: kernels leave their modules to the streams; the driver goes last.
    graphs: GraphCache,
    registry: Registry,
    devices: Vec<Device>,
    validation: Option<Arc<ValidationDriver>>,
    tried: Vec<String>,
    stream_state: StagingOptions,
    driver: Arc<dyn Driver>,
}

impl Launcher {
    /// Opens a real GPU if one is there, else the emulator.
    ///
    /// # Errors
    /// As [`LauncherBuilder::build`].
    pub fn new() -> Result<Launcher> {
        Launcher::builder().build()
    }

    /// Options.
    pub fn builder() -> LauncherBuilder {
        LauncherBuilder::default()
    }

    /// The driver in use.
    pub fn driver(&self) -> &Arc<dyn Driver> {
        &self.0.driver
    }

    /// The validation layer, where one is on.
    pub fn validation(&self) -> Option<&Arc<ValidationDriver>> {
        self.0.validation.as_ref()
    }

    /// Which drivers were tried, in order, and what came of it.
    pub fn tried(&self) -> &[String] {
        &self.0.tried
    }

    /// Every device.
    pub fn devices(&self) -> &[Device] {
        &self.0.devices
    }

    /// One device.
    ///
    /// # Errors
    /// [`Error::Invalid`] when there is no such device.
    pub fn device(&self, ordinal: u32) -> Result<&Device> {
        self.0.devices.get(ordinal as usize).ok_or_else(|| {
            Error::invalid("Launcher::device", format!("device {ordinal} of {}", self.0.devices.len()))
        })
    }

    /// Makes a stream on a device.
    ///
    /// # Errors
    /// The driver's; [`Error::Invalid`] for a device of another launcher.
    pub fn stream(&self, device: &Device) -> Result<Stream> {
        self.stream_with(device, StreamOptions::default())
    }

    /// Makes a stream with options.
    ///
    /// # Errors
    /// As [`stream`](Launcher::stream).
    pub fn stream_with(&self, device: &Device, options: StreamOptions) -> Result<Stream> {
        self.own(device)?;
        Stream::with_staging(device, options, self.0.stream_state)
    }

    fn own(&self, device: &Device) -> Result<()> {
        if self.0.devices.contains(device) {
            Ok(())
        } else {
            Err(Error::invalid("Launcher", "the device belongs to another launcher"))
        }
    }

    /// Loads a code object and registers one of its kernels.
    ///
    /// # Safety
    /// The code is trusted: nothing checks what a compiled kernel does with the memory it is given.
    ///
    /// # Errors
    /// [`Error::CodeObject`] (an unknown kernel's lists those there), [`Error::WrongTarget`], the driver's.
    pub unsafe fn register(&self, device: &Device, code: &[u8], kernel: &str) -> Result<KernelHandle> {
        // SAFETY: the caller vouches for the code.
        let module = unsafe { Module::load(device, code) }?;
        self.register_kernel(Registration::new(&module, kernel))
    }

    /// Registers a kernel of a loaded module, as the description says.
    ///
    /// # Errors
    /// [`Error::CodeObject`] for a kernel that the module does not have; [`Error::Invalid`] for a module on a device of
    /// another launcher; [`LaunchProblem::Lds`](crate::LaunchProblem::Lds) for a layout that does not fit the device
    /// beside the kernel's static LDS; the driver's. Nothing is registered then.
    pub fn register_kernel(&self, registration: Registration<'_>) -> Result<KernelHandle> {
        self.own(registration.module.device())?;
        Ok(self.0.registry.insert(Arc::new(Kernel::new(&registration, KernelHandle::next())?)))
    }

    /// Gives a kernel the layout that its code was generated for. A launch from now on whose
    /// [`dynamic_lds`](LaunchDims::dynamic_lds) is 0 gets the layout's total; one that asks for more, such as for an array
    /// behind the layout, gets that; and one that asks for less is refused. [`replace`](Launcher::replace) forgets the
    /// layout: other code has its own.
    ///
    /// # Errors
    /// [`Error::StaleHandle`]; [`LaunchProblem::Lds`](crate::LaunchProblem::Lds) for a layout that does not fit the
    /// device beside the kernel's static LDS. The layout before stays then.
    pub fn set_lds_layout(&self, handle: KernelHandle, layout: &LdsLayout) -> Result<()> {
        self.0.registry.get(handle)?.set_lds_layout(layout.total())
    }

    /// Loads a code object and puts one of its kernels under a handle; as
    /// [`replace_kernel`](Launcher::replace_kernel), without a layout of LDS and not in place.
    ///
    /// # Safety
    /// As [`register`](Launcher::register).
    ///
    /// # Errors
    /// As [`register`](Launcher::register), and [`Error::StaleHandle`].
    pub unsafe fn replace(&self, handle: KernelHandle, code: &[u8], kernel: &str) -> Result<()> {
        let device = self.0.registry.get(handle)?.device().clone();
        // SAFETY: the caller vouches for the code.
        let module = unsafe { Module::load(&device, code) }?;
        self.replace_kernel(handle, Registration::new(&module, kernel))
    }

    /// Puts another kernel under a handle, such as a better compiled one. Launches from now on run the new one; the old
    /// one's module goes when its last launch has finished. On an error the old one stays.
    ///
    /// # Errors
    /// As [`register_kernel`](Launcher::register_kernel), and [`Error::StaleHandle`]; [`Error::Invalid`] for a module on
    /// another device than the old kernel's.
    pub fn replace_kernel(&self, handle: KernelHandle, registration: Registration<'_>) -> Result<()> {
        if self.0.registry.get(handle)?.device() != registration.module.device() {
            return Err(Error::invalid(
                "Launcher::replace_kernel",
                "the module is on another device than the kernel",
            ));
        }
        let old = self.0.registry.replace(Arc::new(Kernel::new(&registration, handle)?))?;
        self.0.graphs.forget(old.id);
        drop(old);
        self.collect();
        Ok(())
    }

    /// Forgets a kernel; its module goes when its last launch has finished.
    ///
    /// # Errors
    /// [`Error::StaleHandle`].
    pub fn unregister(&self, handle: KernelHandle) -> Result<()> {
        let kernel = self.0.registry.remove(handle)?;
        self.0.graphs.forget(kernel.id);
        drop(kernel);
        self.collect();
        Ok(())
    }

    /// Lets go of unregistered kernels' modules whose last launch has finished; never waits. Also done by
    /// [`unregister`](Launcher::unregister), [`replace`](Launcher::replace) and whatever waits for a stream.
    pub fn collect(&self) {
        self.0.devices.iter().flat_map(|d| d.streams().live()).for_each(|l| l.collect());
    }

    /// Begins to record a graph of work for a device.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a device of another launcher.
    pub fn graph(&self, device: &Device) -> Result<Graph> {
        self.own(device)?;
        Ok(Graph::new(self, device))
    }

    /// Programs of graphs that are kept, and how often a compute found its own and did not.
    pub fn graph_counts(&self) -> (usize, u64, u64) {
        self.0.graphs.counts()
    }

    /// From how many nodes on graphs go to the device as one of the driver's; [`graph::measure_break_even`](crate::graph::measure_break_even)
    /// finds it. Never, as long as nobody said so: a driver's graph costs more than a burst on several versions of ROCm.
    pub fn set_graph_break_even(&self, nodes: u32) {
        self.0.graphs.set_break_even(nodes);
    }

    /// Forgets every graph's program and gives its memory back to the pool, but what a
    /// [`CompiledGraph`](crate::graph::CompiledGraph) keeps; how many there were.
    pub fn forget_graphs(&self) -> usize {
        self.0.graphs.clear()
    }

    pub(crate) fn graphs(&self) -> &GraphCache {
        &self.0.graphs
    }

    /// A registered kernel, to be launched without a look-up.
    ///
    /// # Errors
    /// [`Error::StaleHandle`].
    pub fn kernel(&self, handle: KernelHandle) -> Result<Arc<Kernel>> {
        self.0.registry.get(handle)
    }

    /// How many kernels are registered.
    pub fn registered(&self) -> usize {
        self.0.registry.len()
    }

    /// What the code object says of a registered kernel.
    ///
    /// # Errors
    /// [`Error::StaleHandle`].
    pub fn signature(&self, handle: KernelHandle) -> Result<KernelSignature> {
        Ok(self.0.registry.get(handle)?.signature().clone())
    }

    /// Says whether a kernel may have its destination as an input too; as [`Registration::in_place`], for a kernel that is
    /// registered. [`replace`](Launcher::replace) forgets it.
    ///
    /// # Safety
    /// As [`Registration::in_place`], where it is `true`.
    ///
    /// # Errors
    /// [`Error::StaleHandle`].
    pub unsafe fn declare_in_place(&self, handle: KernelHandle, yes: bool) -> Result<()> {
        self.0.registry.get(handle)?.declare_in_place(yes);
        Ok(())
    }

    /// Launches a kernel: copies what the arguments stage, the kernel, and copies its outputs back, all in the order of
    /// `stream`. Never waits for the device, but for staging memory when the ring is full.
    ///
    /// This is [`submit`](Launcher::submit) of a [`Launch`] with `dims` and `args` alone.
    ///
    /// # Safety
    /// The device addresses among the arguments, and within blocks, are good for what the kernel does with them, until
    /// it has finished.
    ///
    /// # Errors
    /// [`Error::StaleHandle`] and [`Error::Launch`] before any device call; [`Error::OutOfMemory`] and the driver's
    /// afterwards, naming the kernel. The launcher stays usable after all of them but [`Error::DeviceLost`].
    #[inline]
    pub unsafe fn launch(
        &self,
        handle: KernelHandle,
        stream: &Stream,
        dims: LaunchDims,
        args: &[Arg<'_>],
    ) -> Result<Ticket> {
        // SAFETY: the caller's promise.
        unsafe { self.0.registry.get(handle)?.submit(stream, Launch::new(dims).args(args)) }
    }

    /// Launches a kernel as the description says; as [`launch`](Launcher::launch) otherwise.
    ///
    /// # Safety
    /// As [`launch`](Launcher::launch); packed arguments are what the kernel takes, and it writes no more to a destination
    /// than its shape.
    ///
    /// # Errors
    /// As [`launch`](Launcher::launch); [`LaunchProblem::Destination`](crate::LaunchProblem::Destination) for what the
    /// table at [`Launch::destination`] refuses; [`Error::Invalid`] for [`Staging::Mapped`] where the driver has no mapped
    /// memory.
    #[inline]
    pub unsafe fn submit(&self, handle: KernelHandle, stream: &Stream, launch: Launch<'_>) -> Result<Ticket> {
        // SAFETY: the caller's promise.
        unsafe { self.0.registry.get(handle)?.submit(stream, launch) }
    }

    /// Launches a kernel without a ticket: its results stay on the device, in its destination or its buffers, and what
    /// goes wrong while it runs comes out of a later call that waits.
    ///
    /// # Safety
    /// As [`submit`](Launcher::submit).
    ///
    /// # Errors
    /// As [`submit`](Launcher::submit), and [`LaunchProblem::OutputWithoutTicket`](crate::LaunchProblem::OutputWithoutTicket)
    /// for an inout or out array or a result block, which nobody could read.
    #[inline]
    pub unsafe fn enqueue(&self, handle: KernelHandle, stream: &Stream, launch: Launch<'_>) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.0.registry.get(handle)?.enqueue(stream, launch) }
    }
}
