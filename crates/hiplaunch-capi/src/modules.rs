//! Modules: loaded code objects and their global variables.

use std::ffi::{c_char, c_void};
use std::mem::MaybeUninit;

use hiplaunch::Module;

use super::handles::{Found, Kind, Table};
use super::input::{bytes, text, wanted};
use super::launcher::{hiplaunch_launcher, insert_in, launcher_of};
use super::status::{call, hiplaunch_status};

/// A code object that is loaded on a device. Several kernels can be registered from it (hiplaunch_register_from), which
/// then share its global variables.
pub struct hiplaunch_module {
    _opaque: (),
}

pub(super) static MODULES: Table<Module> = Table::new(Kind::Module);

/// Loads a code object on a device: a raw AMDGPU ELF or an offload bundle, compressed or not, whose entry for the
/// device's target is used. The code is trusted, as hiplaunch_register says.
///
/// Ownership: the bytes are copied; the caller closes the module, or the launcher. Threads: any. Errors:
/// HIPLAUNCH_STATUS_CODE_OBJECT, HIPLAUNCH_STATUS_DRIVER, HIPLAUNCH_STATUS_DEVICE_LOST, HIPLAUNCH_STATUS_INVALID_HANDLE,
/// HIPLAUNCH_STATUS_INVALID_ARGUMENT, HIPLAUNCH_STATUS_NULL_POINTER.
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
        let module = unsafe {
            let image = bytes(code_object, code_object_bytes, "code_object")?;
            Module::load(launcher.device(device)?, image)
        }?;
        out.write(insert_in(&MODULES, owner, module)?);
        Ok(())
    })
}

/// The device address and the number of bytes of a global variable of a module: a __device__ or __constant__ variable.
/// `bytes` may be null. hiplaunch_buffer_borrow makes a buffer of them, with which copies and fills set and read the
/// variable:
///
///   hiplaunch_module_global(module, "gain", &address, &bytes);
///   hiplaunch_buffer_borrow(launcher, 0, address, bytes, &gain);
///   hiplaunch_buffer_upload(gain, stream, 0, &value, sizeof value);
///
/// Ownership: the address is valid while the module is open or a kernel of it is registered; work that uses it has to
/// finish before. Threads: any. Errors: HIPLAUNCH_STATUS_DRIVER for a name that the module does not have;
/// HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_INVALID_ARGUMENT, HIPLAUNCH_STATUS_NULL_POINTER.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_module_global(
    module: *const hiplaunch_module,
    name: *const c_char,
    address: Option<&mut MaybeUninit<u64>>,
    bytes: Option<&mut MaybeUninit<usize>>,
) -> hiplaunch_status {
    call("hiplaunch_module_global", || {
        let address = wanted(address, "address")?;
        // SAFETY: the caller's promise for texts.
        let name = unsafe { text(name, "name") }?;
        let (ptr, size) = MODULES.get(module)?.value.global(name)?;
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
