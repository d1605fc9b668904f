//! A module for every device, which is loaded on a device when it is first needed there.

use std::sync::{Arc, Mutex, PoisonError};

use code_object::KernelSignature;

use crate::device::Device;
use crate::error::{Error, Result};

use super::fat_binary::FatBinary;
use super::module::Module;

/// A fat binary that is loaded on a device when a kernel of it is first launched there. Cheap to clone; all clones are the
/// same.
///
/// A kernel [registered](crate::Registration::new) from it has one handle for all devices of the launcher: a launch runs on
/// the device of its stream. Each device gets the code object that [`FatBinary::for_device`] chooses for it.
///
/// ```
/// use hiplaunch::driver::emulated::EmulatorOptions;
/// use hiplaunch::{Arg, FatBinary, LaunchDims, Launcher, LazyModule, Registration, args};
///
/// # #[cfg(feature = "emulator")] {
/// let launcher = Launcher::builder().emulator(EmulatorOptions { devices: 2, ..EmulatorOptions::from_env()? }).build()?;
/// // SAFETY: the kernels are those of hip/vector.hip, and are launched as it says.
/// let vector = unsafe { LazyModule::new(FatBinary::read("hip/vector.hipfb")?) };
/// let saxpy = launcher.register_kernel(Registration::new(&vector, "saxpy"))?;
/// for device in launcher.devices() {
///     let stream = launcher.stream(device)?;
///     let args = args![3.0f32, Arg::input(&[1.0f32, 2.0]), Arg::inout(&[10.0f32, 20.0]), 2i32];
///     // SAFETY: the arguments are what the kernel takes.
///     let ticket = unsafe { launcher.launch(saxpy, &stream, LaunchDims::linear(1, 64), &args)? };
///     assert_eq!(ticket.read()?.slice::<f32>(0)?, [13.0, 26.0]);
/// }
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct LazyModule(Arc<LazyModuleInner>);

struct LazyModuleInner {
    binary: FatBinary<'static>,
    loaded: Mutex<Vec<Module>>,
}

impl std::fmt::Debug for LazyModule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LazyModule").field("loaded", &*self.loaded()).finish_non_exhaustive()
    }
}

impl PartialEq for LazyModule {
    /// Returns whether both are the same.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl LazyModule {
    /// Keeps a fat binary until a device needs it. Reads and loads nothing yet.
    ///
    /// # Safety
    /// As for [`Module::load`], on every device on which it is used.
    pub unsafe fn new(binary: FatBinary<'_>) -> LazyModule {
        LazyModule(Arc::new(LazyModuleInner { binary: binary.into_owned(), loaded: Mutex::default() }))
    }

    /// Returns the module on a device. Loads it there if it is not loaded yet; a program that wants no launch to wait for
    /// that calls this before.
    ///
    /// # Errors
    /// The errors of [`FatBinary::for_device`] and of [`Module::load`]. A later call tries again.
    pub fn on(&self, device: &Device) -> Result<Module> {
        let mut loaded = self.loaded();
        if let Some(module) = loaded.iter().find(|module| module.device() == device) {
            return Ok(module.clone());
        }
        let code = self.0.binary.for_device(device)?;
        // SAFETY: the promise of `new`.
        let module = unsafe { Module::load_code(device, code) }?;
        loaded.push(module.clone());
        Ok(module)
    }

    /// Returns the devices on which it is loaded.
    pub fn loaded_on(&self) -> Vec<Device> {
        self.loaded().iter().map(|module| module.device().clone()).collect()
    }

    fn loaded(&self) -> std::sync::MutexGuard<'_, Vec<Module>> {
        self.0.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the names of the kernels in the code that the first of the devices with code in the bundle runs, without loading it.
    ///
    /// # Errors
    /// [`Error::CodeObject`] for a bundle that can't be read; [`Error::NoCode`] if none of the devices has code in it.
    pub fn kernels(&self, devices: &[Device]) -> Result<Vec<String>> {
        let mut missing = None;
        for device in devices {
            match self.0.binary.in_bundle(device)? {
                Ok(code) => return Ok(code.kernels().iter().map(|kernel| kernel.name.clone()).collect()),
                Err(why) => missing = missing.or_else(|| Some(self.0.binary.no_code(device, why, None))),
            }
        }
        missing.map_or_else(|| Ok(Vec::new()), Err)
    }

    /// Returns the signature of a kernel for each of the devices whose code object is in the bundle, without loading or
    /// compiling it.
    ///
    /// # Errors
    /// [`Error::CodeObject`] for a bundle that can't be read and for a kernel that a code object does not have;
    /// [`Error::NoCode`] if none of the devices has code, and there is no source.
    pub(crate) fn signatures<'d>(
        &self,
        devices: &'d [Device],
        kernel: &str,
    ) -> Result<Vec<(&'d Device, KernelSignature)>> {
        let binary = &self.0.binary;
        let (mut signatures, mut missing): (Vec<(&Device, KernelSignature)>, Option<Error>) =
            (Vec::new(), None);
        for device in devices {
            let same = |(other, _): &&(&Device, KernelSignature)| {
                other.properties().target == device.properties().target
            };
            if let Some((_, signature)) = signatures.iter().find(same) {
                signatures.push((device, signature.clone()));
                continue;
            }
            match binary.in_bundle(device)? {
                Ok(code) => signatures.push((device, code.kernel(kernel)?.clone())),
                Err(why) => missing = missing.or_else(|| Some(binary.no_code(device, why, None))),
            }
        }
        match missing {
            Some(error) if signatures.is_empty() && !binary.has_source() => Err(error),
            _ => Ok(signatures),
        }
    }
}
