//! A registered kernel: what is known about it on every device, and the kernel on each device that it was launched on.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use code_object::{ArgSignature, KernelSignature, ValueKind};

use crate::code::{DeviceKernel, KernelHandle, KernelOptions, check_limits};
use crate::device::Device;
use crate::error::{Error, LaunchProblem, Result};
use crate::stream::Stream;
use hip_driver::DeviceId;

use super::description::{KernelSource, Launch, Registration};
use super::destination::launch_into;
use super::launch::{KernelRef, LaunchResult, launch_on};
use super::registry::Registry;
use super::ticket::Ticket;

/// A registered kernel. [`Launcher::kernel`](crate::Launcher::kernel) returns it for callers that launch it often and do not
/// want to look up its handle each time.
///
/// It is launched on the device of the stream: on the one device of its [`Module`](crate::Module), or on any device of the
/// launcher if it is registered from a [`LazyModule`](crate::LazyModule), which is loaded on a device at the first launch
/// there.
///
/// It stays the same kernel when its handle's kernel is replaced or unregistered. When the last reference is dropped,
/// its modules are kept until the last launch has finished.
#[derive(Debug)]
pub struct Kernel {
    handle: KernelHandle,
    /// A number that no other kernel of the process has, not even one that replaces this kernel under its handle.
    pub(crate) id: u64,
    name: Arc<str>,
    source: KernelSource,
    /// The devices that it is for.
    devices: Vec<Device>,
    /// What its code says, as far as that was known when it was registered: the first device's.
    signature: Option<KernelSignature>,
    /// Whether the code of all devices was known then, with the same places for the explicit parameters.
    is_same_on_all: bool,
    /// Of the devices whose code was known then, the one with the least LDS left: static LDS and the device's LDS, in bytes.
    lds: Option<(u32, u32)>,
    state: Mutex<KernelState>,
}

#[derive(Debug)]
struct KernelState {
    options: KernelOptions,
    registered: bool,
    /// The kernel on the devices where it is loaded.
    loaded: Vec<Arc<DeviceKernel>>,
}

impl Kernel {
    /// Checks that a kernel can be launched on the devices that it is for. One of a loaded module is loaded at once; of a
    /// lazy module, the kernels in the code objects of all `devices` are checked.
    pub(super) fn new(
        registration: &Registration<'_>,
        handle: KernelHandle,
        devices: &[Device],
    ) -> Result<Kernel> {
        static ID: AtomicU64 = AtomicU64::new(1);
        let Registration { source, name, lds_bytes, in_place } = registration;
        let mut kernel = Kernel {
            handle,
            id: ID.fetch_add(1, Ordering::Relaxed),
            name: Arc::from(*name),
            source: source.clone(),
            devices: match source {
                KernelSource::Module(module) => vec![module.device().clone()],
                KernelSource::LazyModule(_) => devices.to_vec(),
            },
            signature: None,
            is_same_on_all: false,
            lds: None,
            state: Mutex::new(KernelState {
                options: KernelOptions { in_place: *in_place, lds_layout: 0 },
                registered: true,
                loaded: Vec::new(),
            }),
        };
        let signatures = match source {
            KernelSource::Module(module) => {
                vec![(module.device(), module.code_object().kernel(name)?.clone())]
            }
            KernelSource::LazyModule(module) => module.signatures(devices, name)?,
        };
        for (device, signature) in &signatures {
            check_limits(signature, device.properties())?;
            let lds = (signature.group_segment_fixed_size, device.properties().max_lds_per_block);
            let left = |(fixed, limit): (u32, u32)| limit - fixed;
            kernel.lds =
                Some(kernel.lds.map_or(lds, |least| if left(lds) < left(least) { lds } else { least }));
        }
        let places = |(_, of): &(&Device, KernelSignature)| -> Vec<(u32, u32, ValueKind)> {
            of.explicit_args().iter().map(|arg| (arg.offset, arg.size, arg.kind)).collect()
        };
        kernel.is_same_on_all = signatures.len() == kernel.devices.len()
            && signatures.windows(2).all(|pair| places(&pair[0]) == places(&pair[1]));
        kernel.signature = signatures.into_iter().next().map(|(_, signature)| signature);
        if let Some(bytes) = lds_bytes {
            kernel.set_lds_layout(*bytes)?;
        }
        if let KernelSource::Module(module) = source {
            kernel.load(module.device())?;
        }
        Ok(kernel)
    }

    /// Returns the handle that the kernel was registered under.
    pub fn handle(&self) -> KernelHandle {
        self.handle
    }

    /// Returns the kernel's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the kernel's explicit parameters, for a caller that packs arguments ([`Launch::packed`]). `None` if they differ
    /// between the devices that the kernel is for, or the code for a device is still to be compiled.
    pub fn explicit_args(&self) -> Option<&[ArgSignature]> {
        let signature = self.signature.as_ref().filter(|_| self.is_same_on_all);
        signature.map(KernelSignature::explicit_args)
    }

    /// Launches the kernel, as [`Launcher::submit`](crate::Launcher::submit) does, without looking up a handle.
    ///
    /// # Safety
    /// As for [`Launcher::submit`](crate::Launcher::submit).
    ///
    /// # Errors
    /// The errors of [`Launcher::submit`](crate::Launcher::submit), but never [`Error::StaleHandle`].
    #[inline]
    pub unsafe fn submit(&self, stream: &Stream, launch: Launch<'_>) -> Result<Ticket> {
        self.launch_on(stream, launch)
    }

    /// Launches the kernel without a ticket, as [`Launcher::enqueue`](crate::Launcher::enqueue) does, without looking
    /// up a handle.
    ///
    /// # Safety
    /// As for [`Launcher::submit`](crate::Launcher::submit).
    ///
    /// # Errors
    /// The errors of [`Launcher::enqueue`](crate::Launcher::enqueue), but never [`Error::StaleHandle`].
    #[inline]
    pub unsafe fn enqueue(&self, stream: &Stream, launch: Launch<'_>) -> Result<()> {
        self.launch_on(stream, launch)
    }

    #[inline(always)]
    fn launch_on<R: LaunchResult>(&self, stream: &Stream, mut launch: Launch<'_>) -> Result<R> {
        match launch.placement.take() {
            None => launch_on(KernelRef::Kernel(self), &stream.0, &launch),
            Some(placement) => {
                stream.state().check_capturable()?;
                let on_device = self.load(stream.device())?;
                launch_into(self, &on_device, stream, &launch, placement)
            }
        }
    }

    /// Launches the kernel that a handle names.
    #[inline(always)]
    pub(super) fn launch_by_handle<R: LaunchResult>(
        registry: &Registry,
        handle: KernelHandle,
        stream: &Stream,
        launch: Launch<'_>,
    ) -> Result<R> {
        if launch.placement.is_some() {
            return registry.get(handle)?.launch_on(stream, launch);
        }
        launch_on(KernelRef::Handle(registry, handle), &stream.0, &launch)
    }

    /// Returns the kernel on a device; `None` if it is not loaded there yet. Makes no driver call.
    ///
    /// # Errors
    /// [`LaunchProblem::WrongDevice`] for a kernel of another device alone.
    pub(super) fn loaded_on(&self, device: &Device) -> Result<Option<Arc<DeviceKernel>>> {
        self.find(&self.state(), device)
    }

    /// Returns the kernel on a device. Loads it there if it is not loaded yet. The caller holds the lock of no stream.
    ///
    /// # Errors
    /// As [`loaded_on`](Kernel::loaded_on), and those of [`LazyModule::on`](crate::LazyModule::on) and of
    /// [`Launcher::register_kernel`](crate::Launcher::register_kernel).
    pub(crate) fn load(&self, device: &Device) -> Result<Arc<DeviceKernel>> {
        if let Some(kernel) = self.loaded_on(device)? {
            return Ok(kernel);
        }
        let module = match &self.source {
            KernelSource::Module(module) => module.clone(),
            KernelSource::LazyModule(module) => {
                module.on(device).map_err(|error| error.for_kernel(&self.name))?
            }
        };
        let mut state = self.state();
        // Another thread may have loaded it meanwhile.
        if let Some(kernel) = self.find(&state, device)? {
            return Ok(kernel);
        }
        let kernel = DeviceKernel::new(&module, &self.name, self.id, state.options)
            .map_err(|error| error.for_kernel(&self.name))?;
        let kernel = Arc::new(kernel);
        if !state.registered {
            kernel.retire();
        }
        state.loaded.push(kernel.clone());
        Ok(kernel)
    }

    fn find(&self, state: &KernelState, device: &Device) -> Result<Option<Arc<DeviceKernel>>> {
        match state.loaded.iter().find(|kernel| kernel.device() == device) {
            Some(kernel) => Ok(Some(kernel.clone())),
            None if self.devices.contains(device) => Ok(None),
            None => Err(self.wrong_device(device)),
        }
    }

    #[cold]
    fn wrong_device(&self, device: &Device) -> Error {
        let Some(kernel) = self.device() else {
            return Error::invalid("Launcher", "the stream belongs to another launcher than the kernel");
        };
        let problem = Box::new(LaunchProblem::WrongDevice { kernel, stream: device.id() });
        Error::Launch { kernel: self.name.clone(), problem }
    }

    /// Returns the device that it is for; `None` if it is for all.
    pub fn device(&self) -> Option<DeviceId> {
        match &self.source {
            KernelSource::Module(module) => Some(module.device().id()),
            KernelSource::LazyModule(_) => None,
        }
    }

    /// Whether a replacement of this kernel is for the same devices.
    pub(super) fn is_for_devices_of(&self, registration: &Registration<'_>) -> bool {
        match (&self.source, &registration.source) {
            (KernelSource::Module(module), KernelSource::Module(other)) => module.device() == other.device(),
            (KernelSource::LazyModule(_), KernelSource::LazyModule(_)) => true,
            _ => false,
        }
    }

    /// Returns the kernel's signature. If its code is still to be compiled, that is done now, for `device`.
    pub(super) fn signature(&self, device: &Device) -> Result<KernelSignature> {
        match &self.signature {
            Some(signature) => Ok(signature.clone()),
            None => Ok(self.load(device)?.signature().clone()),
        }
    }

    /// Sets the bytes of dynamic LDS that a launch gets from now on if it does not ask for more.
    pub(super) fn set_lds_layout(&self, bytes: u32) -> Result<()> {
        if let Some((fixed, limit)) = self.lds
            && u64::from(fixed) + u64::from(bytes) > u64::from(limit)
        {
            let problem = Box::new(LaunchProblem::Lds { fixed, dynamic: bytes, limit });
            return Err(Error::Launch { kernel: self.name.clone(), problem });
        }
        self.change(|options| options.lds_layout = bytes);
        Ok(())
    }

    pub(super) fn declare_in_place(&self, yes: bool) {
        self.change(|options| options.in_place = yes);
    }

    fn change(&self, change: impl Fn(&mut KernelOptions)) {
        let mut state = self.state();
        change(&mut state.options);
        let options = state.options;
        state.loaded.iter().for_each(|kernel| kernel.set_options(options));
    }

    /// Records that its handle no longer names it, and takes it off every stream: each keeps it until its launches there have
    /// finished.
    pub(super) fn retire(&self) {
        let loaded = {
            let mut state = self.state();
            state.registered = false;
            state.loaded.clone()
        };
        loaded.iter().for_each(DeviceKernel::retire);
    }

    fn state(&self) -> MutexGuard<'_, KernelState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        self.retire();
    }
}
