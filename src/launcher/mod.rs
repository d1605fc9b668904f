//! The launcher: it registers kernels, creates streams, and launches kernels by handle.
//!
//! ```text
//!  code object ──register──▶ KernelHandle ─┐
//!                            Stream ───────┼─launch──▶ Ticket ──read──▶ Output
//!            LaunchDims, args![a, &x, n] ──┘  checked, staged,    waits for that
//!                                             enqueued; no wait   launch alone
//! ```

mod args;
mod attributes;
mod builder;
mod captured;
mod check;
mod description;
mod destination;
mod fence;
mod find;
mod image;
mod kernel;
mod launch;
mod registry;
#[cfg(all(test, feature = "emulator"))]
mod tests;
mod ticket;
mod waker;

use std::any::Any;
use std::sync::{Arc, OnceLock};

use code_object::KernelSignature;

pub use args::{Arg, ArgumentBlock, BufferArg, HostData, Patch, PatchTarget, Staging};
pub use attributes::KernelAttributes;
pub use builder::LauncherBuilder;
pub use description::{KernelSource, Launch, Registration};
pub use destination::Destination;
pub use fence::Fence;
pub use kernel::Kernel;
pub use ticket::{Output, Ticket};

use crate::code::{FatBinary, LazyModule, Module};
pub use crate::code::{KernelHandle, LaunchDims};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::staging::StagingOptions;
use crate::stream::{Stream, StreamState};
use hip_driver::{Driver, RawStream, StreamOptions};
use hip_driver_layers::validation::ValidationDriver;
use lds_layout::LdsLayout;
use registry::Registry;

/// What a room above keeps of a launcher's kernels: the programs of graphs.
pub(crate) trait KernelCache: Any + Send + Sync + std::fmt::Debug {
    /// Drops what it keeps of a kernel ([`Kernel::id`]), which was unregistered or replaced.
    fn forget(&self, kernel: u64);
}

/// Registers kernels, creates streams and launches. It owns one driver and the devices of that driver.
///
/// Cheap to clone; all clones are the same launcher. Every method may be called from any thread.
#[derive(Clone, Debug)]
pub struct Launcher(Arc<LauncherInner>);

#[derive(Debug)]
struct LauncherInner {
    // Fields are dropped in this order: kernels pass their modules to the streams, and the driver is dropped last.
    cache: OnceLock<Arc<dyn KernelCache>>,
    registry: Registry,
    devices: Vec<Device>,
    validation: Option<Arc<ValidationDriver>>,
    tried: Vec<String>,
    stream_state: StagingOptions,
    driver: Arc<dyn Driver>,
}

impl Launcher {
    /// Opens a launcher on the GPUs of the machine, or on the emulator if there is none.
    ///
    /// # Errors
    /// The errors of [`LauncherBuilder::build`].
    pub fn new() -> Result<Launcher> {
        Launcher::builder().build()
    }

    /// Returns the default options, to open a launcher with others.
    pub fn builder() -> LauncherBuilder {
        LauncherBuilder::default()
    }

    /// Returns the driver: the outermost layer, where there are layers.
    pub fn driver(&self) -> &Arc<dyn Driver> {
        &self.0.driver
    }

    /// Returns the validation layer, where it is on.
    pub fn validation(&self) -> Option<&Arc<ValidationDriver>> {
        self.0.validation.as_ref()
    }

    /// Returns one line for each backend that was tried and not opened: its name and the reason. Empty if the first
    /// choice was opened.
    pub fn tried(&self) -> &[String] {
        &self.0.tried
    }

    /// Returns the devices in the order of their ordinals.
    pub fn devices(&self) -> &[Device] {
        &self.0.devices
    }

    /// Returns the device with an ordinal.
    ///
    /// # Errors
    /// [`Error::Invalid`] when there is no such device.
    pub fn device(&self, ordinal: u32) -> Result<&Device> {
        self.0.devices.get(ordinal as usize).ok_or_else(|| {
            Error::invalid("Launcher::device", format!("device {ordinal} of {}", self.0.devices.len()))
        })
    }

    /// Creates a stream on a device.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a device of another launcher; [`Error::DeviceLost`] if the device is lost; else returns
    /// the driver's error.
    pub fn stream(&self, device: &Device) -> Result<Stream> {
        self.stream_with(device, StreamOptions::default())
    }

    /// Creates a stream with options on a device.
    ///
    /// # Errors
    /// The errors of [`stream`](Launcher::stream).
    pub fn stream_with(&self, device: &Device, options: StreamOptions) -> Result<Stream> {
        self.own(device)?;
        Stream::with_staging(device, options, self.0.stream_state)
    }

    /// Uses a stream that others made; as [`Stream::from_raw`], with the launcher's staging memory.
    ///
    /// # Safety
    /// As [`Stream::from_raw`].
    ///
    /// # Errors
    /// As [`Stream::from_raw`]; [`Error::Invalid`] for a device of another launcher.
    pub unsafe fn stream_from_raw(&self, device: &Device, stream: RawStream) -> Result<Stream> {
        self.own(device)?;
        // SAFETY: the caller's promise.
        unsafe { Stream::from_raw_with_staging(device, stream, self.0.stream_state) }
    }

    pub(crate) fn own(&self, device: &Device) -> Result<()> {
        if self.0.devices.contains(device) {
            Ok(())
        } else {
            Err(Error::invalid("Launcher", "the device belongs to another launcher"))
        }
    }

    /// Loads a code object and registers one of its kernels.
    ///
    /// # Safety
    /// The code may access all memory of the device, and nothing checks what it does. The caller guarantees that the
    /// kernel does what the caller's launches expect.
    ///
    /// # Errors
    /// The errors of [`Module::load`] and of [`register_kernel`](Launcher::register_kernel).
    pub unsafe fn register(&self, device: &Device, code: &[u8], kernel: &str) -> Result<KernelHandle> {
        // SAFETY: the caller vouches for the code.
        let module = unsafe { Module::load(device, code) }?;
        self.register_kernel(Registration::new(&module, kernel))
    }

    /// Registers a kernel of a module and returns its handle.
    ///
    /// A kernel of a [`Module`] is for the module's device, and a kernel of a [`LazyModule`] for all
    /// devices of the launcher: the stream of a launch decides on which it runs.
    ///
    /// # Errors
    /// Nothing is registered after an error:
    ///
    /// - [`Error::CodeObject`] for a kernel that the module does not have; the message lists the kernels that it has
    /// - [`Error::Invalid`] for a module on a device of another launcher, and for metadata with an argument outside the
    ///   kernarg segment
    /// - [`LaunchProblem::KernargTooLarge`](crate::LaunchProblem::KernargTooLarge) for a kernel whose arguments HIP
    ///   can't pass
    /// - [`LaunchProblem::Lds`](crate::LaunchProblem::Lds) for a kernel whose static LDS, with the layout, is larger
    ///   than the device's
    /// - [`Error::NoCode`] for a lazy module that none of the launcher's devices can run
    /// - else the driver's error
    ///
    /// The code objects of a lazy module are checked for every device that has one in the bundle. What is compiled for a
    /// device is checked at the first launch there, which returns these errors then.
    pub fn register_kernel(&self, registration: Registration<'_>) -> Result<KernelHandle> {
        if let KernelSource::Module(module) = &registration.source {
            self.own(module.device())?;
        }
        let kernel = Kernel::new(&registration, KernelHandle::next(), &self.0.devices)?;
        Ok(self.0.registry.insert(Arc::new(kernel)))
    }

    /// Sets the layout of dynamic LDS that a kernel's code was generated for.
    ///
    /// From now on, a launch whose [`dynamic_lds`](LaunchDims::dynamic_lds) is 0 gets the layout's total. A launch that
    /// asks for more gets that, for example for an array after the layout. A launch that asks for less is refused.
    /// [`replace`](Launcher::replace) removes the layout, because other code has its own.
    ///
    /// # Errors
    /// [`Error::StaleHandle`] for the handle; [`LaunchProblem::Lds`](crate::LaunchProblem::Lds) for a layout that does
    /// not fit into the device's LDS together with the kernel's static LDS. The layout does not change then.
    pub fn set_lds_layout(&self, handle: KernelHandle, layout: &LdsLayout) -> Result<()> {
        self.0.registry.get(handle)?.set_lds_layout(layout.total())
    }

    /// Loads a code object and replaces the kernel of a handle by one of its kernels, without an LDS layout and not in
    /// place. [`replace_kernel`](Launcher::replace_kernel) says what a replacement does, and what graphs do with it.
    ///
    /// If the kernel is for all devices, `code` is an offload bundle or a code object that is loaded on each device at the
    /// next launch there.
    ///
    /// # Safety
    /// As for [`register`](Launcher::register).
    ///
    /// # Errors
    /// [`Error::StaleHandle`] for the handle, and the errors of [`register`](Launcher::register). The old kernel stays
    /// then.
    pub unsafe fn replace(&self, handle: KernelHandle, code: &[u8], kernel: &str) -> Result<()> {
        let old = self.0.registry.get(handle)?;
        let source = match old.device() {
            Some(device) => {
                // SAFETY: the caller vouches for the code.
                KernelSource::Module(unsafe { Module::load(self.device(device.0)?, code) }?)
            }
            // SAFETY: the caller vouches for the code, on every device.
            None => KernelSource::LazyModule(unsafe { LazyModule::new(FatBinary::new(old.name(), code)) }),
        };
        drop(old);
        self.replace_kernel(handle, Registration::new(source, kernel))
    }

    /// Replaces the kernel of a handle by another, for example by one that was compiled with more optimization.
    /// Launches from now on run the new kernel. The old kernel's modules are kept until its last launch has finished.
    ///
    /// The new kernel may have another name and other parameters: each launch is checked against the kernel that it
    /// runs. [Compiled graphs](crate::graph::CompiledGraph::submit), and those that are [compiled](crate::graph::Graph::compile)
    /// later, run the new kernel if it takes the recorded arguments, of the same number, kinds and sizes; what was promised for
    /// [`Graph::launch`](crate::graph::Graph::launch) must hold for it, too. Otherwise they are refused with the first difference
    /// ([`Error::Node`]) until a kernel that fits is there. A [`Graph`](crate::graph::Graph) that is
    /// [computed](crate::graph::Graph::compute) runs the kernel that it recorded.
    ///
    /// # Errors
    /// [`Error::StaleHandle`] for the handle; [`Error::Invalid`] for a kernel of other devices than the old kernel's: a
    /// kernel of one device is replaced by one of that device, and a kernel of all devices by one of all devices; the
    /// errors of [`register_kernel`](Launcher::register_kernel). The old kernel stays then.
    pub fn replace_kernel(&self, handle: KernelHandle, registration: Registration<'_>) -> Result<()> {
        if !self.0.registry.get(handle)?.is_for_devices_of(&registration) {
            return Err(Error::invalid(
                "Launcher::replace_kernel",
                "the module is for other devices than the kernel",
            ));
        }
        let kernel = Kernel::new(&registration, handle, &self.0.devices)?;
        let old = self.0.registry.replace(Arc::new(kernel))?;
        old.retire();
        self.forget(old.id);
        drop(old);
        self.collect();
        Ok(())
    }

    /// Unregisters a kernel. Its module is kept until its last launch has finished.
    ///
    /// # Errors
    /// [`Error::StaleHandle`] for the handle.
    pub fn unregister(&self, handle: KernelHandle) -> Result<()> {
        let kernel = self.0.registry.remove(handle)?;
        kernel.retire();
        self.forget(kernel.id);
        drop(kernel);
        self.collect();
        Ok(())
    }

    /// Releases the modules of unregistered kernels whose last launch has finished. Never waits.
    ///
    /// [`unregister`](Launcher::unregister), [`replace`](Launcher::replace), [`Stream::synchronize`] and reading a
    /// ticket do this too, the last two for their stream.
    pub fn collect(&self) {
        self.0.devices.iter().flat_map(StreamState::live_on).for_each(|state| state.collect());
    }

    /// Returns what caches something about the launcher's kernels; `create` makes it if there is none yet.
    pub(crate) fn cache(&self, create: impl FnOnce() -> Arc<dyn KernelCache>) -> &Arc<dyn KernelCache> {
        self.0.cache.get_or_init(create)
    }

    fn forget(&self, kernel: u64) {
        if let Some(cache) = self.0.cache.get() {
            cache.forget(kernel);
        }
    }

    /// Returns a registered kernel, which can be launched without looking up its handle.
    ///
    /// # Errors
    /// [`Error::StaleHandle`] for the handle.
    pub fn kernel(&self, handle: KernelHandle) -> Result<Arc<Kernel>> {
        self.0.registry.get(handle)
    }

    /// Returns the number of registered kernels.
    pub fn registered(&self) -> usize {
        self.0.registry.len()
    }

    /// Returns a registered kernel's signature, as its code object's metadata has it. For a kernel of all devices, it is
    /// that of the first device that the bundle has code for; if there is none, it is compiled for device 0 now.
    ///
    /// # Errors
    /// [`Error::StaleHandle`] for the handle; the errors of [`LazyModule::on`](crate::LazyModule::on) where the code must be
    /// compiled.
    pub fn signature(&self, handle: KernelHandle) -> Result<KernelSignature> {
        self.0.registry.get(handle)?.signature(self.device(0)?)
    }

    /// Declares whether the destination of a registered kernel's launch may be one of its inputs too, as
    /// [`Registration::in_place`] does. [`replace`](Launcher::replace) resets it.
    ///
    /// # Safety
    /// If `yes` is true, as for [`Registration::in_place`].
    ///
    /// # Errors
    /// [`Error::StaleHandle`] for the handle.
    pub unsafe fn declare_in_place(&self, handle: KernelHandle, yes: bool) -> Result<()> {
        self.0.registry.get(handle)?.declare_in_place(yes);
        Ok(())
    }

    /// Launches a kernel. Enqueues on `stream`, in this order, the copies of host data to the device, the kernel, and
    /// the copy of its outputs to the host.
    ///
    /// It waits for the device only when memory runs out, for example when the stream's staging ring is full.
    ///
    /// This is [`submit`](Launcher::submit) of a [`Launch`] with `dims` and `args` alone.
    ///
    /// # Safety
    /// The device addresses among the arguments and in argument blocks are valid for what the kernel does with them,
    /// until it has finished. Other work that accesses the same memory is ordered before or after the launch.
    ///
    /// # Errors
    /// - [`Error::StaleHandle`] for the handle, and [`Error::Launch`] for a launch that does not fit the kernel; no
    ///   device call was made then
    /// - [`Error::OutOfMemory`] with the kernel's name when memory for the launch can't be allocated
    /// - [`Error::DeviceLost`] when the device is lost
    /// - [`Error::Driver`] with the kernel's name when another driver call fails
    ///
    /// The launcher stays usable after all of them but [`Error::DeviceLost`].
    #[inline]
    pub unsafe fn launch(
        &self,
        handle: KernelHandle,
        stream: &Stream,
        dims: LaunchDims,
        args: &[Arg<'_>],
    ) -> Result<Ticket> {
        // SAFETY: the caller's promise.
        unsafe { self.submit(handle, stream, Launch::new(dims).args(args)) }
    }

    /// Launches a kernel as the description `launch` says, and returns the ticket. Otherwise as
    /// [`launch`](Launcher::launch).
    ///
    /// # Safety
    /// As for [`launch`](Launcher::launch). Packed arguments are what the kernel takes, and the kernel writes no more
    /// to a destination than its shape.
    ///
    /// # Errors
    /// The errors of [`launch`](Launcher::launch); [`LaunchProblem::Destination`](crate::LaunchProblem::Destination)
    /// for what the table at [`Launch::destination`] refuses; [`Error::Invalid`] for [`Staging::Mapped`] where the
    /// driver has no mapped memory.
    #[inline]
    pub unsafe fn submit(&self, handle: KernelHandle, stream: &Stream, launch: Launch<'_>) -> Result<Ticket> {
        Kernel::launch_by_handle(&self.0.registry, handle, stream, launch)
    }

    /// Launches a kernel without a ticket. Its results stay on the device, in its destination or its buffers. An error
    /// while it runs is returned by a later call that waits.
    ///
    /// # Safety
    /// As for [`submit`](Launcher::submit).
    ///
    /// # Errors
    /// The errors of [`submit`](Launcher::submit), and
    /// [`LaunchProblem::OutputWithoutTicket`](crate::LaunchProblem::OutputWithoutTicket) for arguments with outputs
    /// (inout and out arrays, result blocks), which could not be read without a ticket.
    #[inline]
    pub unsafe fn enqueue(&self, handle: KernelHandle, stream: &Stream, launch: Launch<'_>) -> Result<()> {
        Kernel::launch_by_handle(&self.0.registry, handle, stream, launch)
    }
}
