//! Modules: loaded code objects and their global variables.

use std::ffi::{c_char, c_void};
use std::mem::MaybeUninit;

use hiplaunch::launcher::{KernelSource, Launcher};
use hiplaunch::{Device, FatBinary, LazyModule, Module};

use super::handles::{Found, Kind, Table};
use super::input::{bytes, text, wanted};
use super::kernels::HIPLAUNCH_ALL_DEVICES;
use super::launcher::{hiplaunch_launcher, insert_in, launcher_of, launcher_that_owns};
use super::status::{Failure, Result, call, hiplaunch_status};

/// A code object that is loaded on a device, or on each device that needs it. Several kernels can be registered from it
/// (hiplaunch_register_from), which then share its global variables.
pub struct hiplaunch_module {
    _opaque: (),
}

pub(super) static MODULES: Table<KernelSource> = Table::new(Kind::Module);

/// Loads a code object on a device, or prepares it for all devices. `name` is the code's name in messages.
///
/// # Safety
/// As [`Module::load`].
pub(super) unsafe fn load(
    launcher: &Launcher,
    device: u32,
    image: &[u8],
    name: &str,
) -> Result<KernelSource> {
    // SAFETY: the caller's promise.
    Ok(unsafe {
        match device {
            HIPLAUNCH_ALL_DEVICES => KernelSource::LazyModule(LazyModule::new(FatBinary::new(name, image))),
            one => KernelSource::Module(Module::load(launcher.device(one)?, image)?),
        }
    })
}

/// Returns the module on a device.
fn on(source: &KernelSource, device: &Device) -> Result<Module> {
    match source {
        KernelSource::Module(module) if module.device() == device => Ok(module.clone()),
        KernelSource::LazyModule(module) => Ok(module.on(device)?),
        _ => Err(Failure::invalid(format!("the module is not on {}", device.id()))),
    }
}

/// Loads a code object on a device: a raw AMDGPU ELF or an offload bundle, compressed or not, whose entry for the
/// device's target is used. The code is trusted, as hiplaunch_register says.
///
/// `device` may be HIPLAUNCH_ALL_DEVICES. The code is then loaded on a device when it is first needed there.
///
/// Ownership: the bytes are copied; the caller closes the module, or the launcher. Threads: any. Errors:
/// HIPLAUNCH_STATUS_CODE_OBJECT, HIPLAUNCH_STATUS_DRIVER, HIPLAUNCH_STATUS_DEVICE_LOST,
/// HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_INVALID_ARGUMENT, HIPLAUNCH_STATUS_NULL_POINTER.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_module_open(
    launcher: *const hiplaunch_launcher,
    device: u32,
    code_object: *const c_void,
    code_object_bytes: usize,
    module: Option<&mut MaybeUninit<*mut hiplaunch_module>>,
) -> hiplaunch_status {
    call("hiplaunch_module_open", || {
        let out = wanted(module, "module")?;
        let Found { owner, value: launcher } = launcher_of(launcher)?;
        // SAFETY: the caller's promises for arrays, and for the code.
        let source = unsafe {
            let image = bytes(code_object, code_object_bytes, "code_object")?;
            load(&launcher, device, image, "module")
        }?;
        out.write(insert_in(&MODULES, owner, source)?);
        Ok(())
    })
}

/// The address and the number of bytes of a global variable of a module, a __device__ or __constant__ variable, on a
/// device. `bytes` may be null. hiplaunch_buffer_borrow makes a buffer of them, with which copies and fills set and
/// read the variable:
///
///   hiplaunch_module_global(module, 0, "gain", &address, &bytes);
///   hiplaunch_buffer_borrow(launcher, 0, address, bytes, &gain);
///   hiplaunch_buffer_upload(gain, stream, 0, &value, sizeof value);
///
/// A module of HIPLAUNCH_ALL_DEVICES is loaded on the device if it is not yet, and has other variables on each device.
///
/// Ownership: the address is valid while the module is open or a kernel of it is registered; work that uses it has to
/// finish before. Threads: any. Errors: HIPLAUNCH_STATUS_DRIVER for a name that the module does not have;
/// HIPLAUNCH_STATUS_INVALID_ARGUMENT for a device that does not exist or where the module is not; those of loading, as
/// hiplaunch_module_open; HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_module_global(
    module: *const hiplaunch_module,
    device: u32,
    name: *const c_char,
    address: Option<&mut MaybeUninit<u64>>,
    bytes: Option<&mut MaybeUninit<usize>>,
) -> hiplaunch_status {
    call("hiplaunch_module_global", || {
        let address = wanted(address, "address")?;
        // SAFETY: the caller's promise for texts.
        let name = unsafe { text(name, "name") }?;
        let Found { owner, value: source } = MODULES.get(module)?;
        let (ptr, size) = on(&source, launcher_that_owns(owner)?.device(device)?)?.global(name)?;
        address.write(ptr.0);
        if let Some(bytes) = bytes {
            bytes.write(size);
        }
        Ok(())
    })
}

/// Closes a module. Its code is unloaded when no kernel of it is registered any more and their last launches have
/// finished.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_module_close(module: *mut hiplaunch_module) -> hiplaunch_status {
    call("hiplaunch_module_close", || MODULES.take(module).map(drop))
}
