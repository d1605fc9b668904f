//! A code object loaded on a device.

use std::ffi::CString;
use std::sync::Arc;

use code_object::{CodeObject, HiddenArg};

use crate::device::Device;
use crate::error::{Error, Result};
use hip_driver::{Capability, DevicePtr, DriverError, ErrorCode, RawFunction, RawModule};

use super::fat_binary::driver_too_old;

/// A code object that is loaded on a device. Cheap to clone; all clones are the same module.
///
/// It is unloaded when the last clone has been dropped and no kernel of it is registered or in flight.
#[derive(Clone)]
pub struct Module(Arc<LoadedModule>);

struct LoadedModule {
    device: Device,
    raw: RawModule,
    code: CodeObject,
}

impl std::fmt::Debug for Module {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Module").field("device", &self.0.device.id()).field("raw", &self.0.raw).finish()
    }
}

impl Module {
    pub(crate) fn is_same(&self, other: &Module) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Loads a code object from `image`: an ELF file, or an offload bundle (compressed or not) from which the entry for
    /// the device's target is taken.
    ///
    /// # Safety
    /// The code may access all memory of the device. The caller guarantees that its kernels do what the caller's later
    /// launches expect.
    ///
    /// # Errors
    /// [`Error::CodeObject`] when the image can't be read, [`Error::WrongTarget`] when the code is for another target, and
    /// [`Error::NoCode`] when it is for a generic processor and the driver is too old for that, all before any device call;
    /// else returns the driver's error.
    pub unsafe fn load(device: &Device, image: &[u8]) -> Result<Module> {
        device.check()?;
        let code = CodeObject::from_any(image, &device.properties().target)?;
        // SAFETY: the caller's promise.
        unsafe { Module::load_code(device, code) }
    }

    /// Loads a code object that was read before.
    ///
    /// # Safety
    /// As for [`load`](Module::load).
    ///
    /// # Errors
    /// As for [`load`](Module::load), but never [`Error::CodeObject`].
    pub(crate) unsafe fn load_code(device: &Device, code: CodeObject) -> Result<Module> {
        device.check()?;
        let target = &device.properties().target;
        if !code.target().is_compatible_with(target) {
            return Err(Error::WrongTarget {
                code_object: code.target().short().into_boxed_str(),
                device: device.id(),
                device_target: target.short().into_boxed_str(),
            });
        }
        if code.target().processor.is_generic()
            && !device.raw().capabilities().has(Capability::GenericCodeObjects)
        {
            return Err(driver_too_old(device, &code));
        }
        // SAFETY: the caller vouches for the code; the ELF was read above.
        let raw =
            unsafe { device.raw().module_load(device.id(), code.elf()) }.map_err(|e| device.error(e))?;
        Ok(Module(Arc::new(LoadedModule { device: device.clone(), raw, code })))
    }

    /// Returns the module's device.
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// Returns what was read from the code object: kernels, globals, target.
    pub fn code_object(&self) -> &CodeObject {
        &self.0.code
    }

    /// Returns the address and the size in bytes of a global variable.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the name has a NUL byte; else returns the driver's error, which is `NOT_FOUND` where
    /// there is no variable of that name.
    pub fn global(&self, name: &str) -> Result<(DevicePtr, usize)> {
        let device = &self.0.device;
        let symbol = c_name(name)?;
        // SAFETY: the module is live.
        unsafe { device.raw().module_get_global(device.id(), self.0.raw, &symbol) }
            .map_err(|e| device.error(e))
    }

    /// Returns the driver's function of a kernel of the code object. It is valid as long as the module lives.
    pub(crate) fn function(&self, name: &str) -> Result<RawFunction> {
        let device = &self.0.device;
        let symbol = c_name(name)?;
        if self.0.code.kernel(name)?.hidden_arg(HiddenArg::DefaultQueue).is_some()
            && !device.raw().capabilities().has(Capability::DefaultQueueArg)
        {
            let detail = format!(
                "this driver's HIP crashes when it launches {name}, which has the argument hidden_default_queue; \
                 compile it with the compiler of the ROCm that is installed, or install ROCm {} or later",
                Capability::DefaultQueueArg.since().unwrap_or("6.4"),
            );
            let error = DriverError::with_detail("hipModuleGetFunction", ErrorCode::NOT_SUPPORTED, detail);
            return Err(device.error(error));
        }
        // SAFETY: the module is live.
        unsafe { device.raw().module_get_function(device.id(), self.0.raw, &symbol) }
            .map_err(|e| device.error(e))
    }
}

fn c_name(name: &str) -> Result<CString> {
    CString::new(name).map_err(|_| Error::invalid("symbol name", format!("{name:?} has a NUL byte in it")))
}

impl Drop for LoadedModule {
    fn drop(&mut self) {
        // SAFETY: kernels hold a clone until their last launch has finished, so nothing is in flight.
        if let Err(e) = unsafe { self.device.raw().module_unload(self.device.id(), self.raw) } {
            log::warn!("unloading a module of {}: {e}", self.device.id());
        }
    }
}
