//! Kernels: register, replace, unregister.

use std::ffi::{c_char, c_void};
use std::mem::MaybeUninit;

use std::sync::Arc;

use hiplaunch::launcher::{Kernel, KernelHandle, KernelSource, Launcher, Registration};
use hiplaunch::{FatBinary, LazyModule, Module};

use super::handles::{Found, Kind, Table};
use super::input::{bytes, text, wanted};
use super::launcher::{hiplaunch_launcher, insert_in, launcher_of, launcher_that_owns};
use super::layouts::{LAYOUTS, hiplaunch_lds_layout};
use super::status::{Failure, Result, call, hiplaunch_status};

/// As a device of hiplaunch_register: all devices of the launcher.
pub const HIPLAUNCH_ALL_DEVICES: u32 = 0xffff_ffff;

/// A registered kernel.
pub struct hiplaunch_kernel {
    _opaque: (),
}

/// A registered kernel, kept so that a launch does not look it up in the launcher's registry.
pub(super) struct KernelObject {
    pub(super) kernel: Arc<Kernel>,
}

impl KernelObject {
    fn new(launcher: &Launcher, handle: KernelHandle) -> Result<KernelObject> {
        Ok(KernelObject { kernel: launcher.kernel(handle)? })
    }

    /// Unregisters the kernel. Drops the object's own reference first, so that the module can be unloaded.
    pub(super) fn unregister(self, launcher: &Launcher) -> Result<()> {
        let handle = self.kernel.handle();
        drop(self.kernel);
        Ok(launcher.unregister(handle)?)
    }
}

pub(super) static KERNELS: Table<KernelObject> = Table::new(Kind::Kernel);

/// Returns a kernel's handle within its launcher, and that launcher.
pub(super) fn registered(kernel: *const hiplaunch_kernel) -> Result<(KernelHandle, Launcher)> {
    let (owner, handle) = KERNELS.look(kernel, |found| (found.owner, found.value.kernel.handle()))?;
    Ok((handle, launcher_that_owns(owner)?))
}

/// Loads a code object on a device and registers one of its kernels. The code object is a raw AMDGPU ELF or an offload
/// bundle, compressed or not, whose entry for the device's target is used.
///
/// With HIPLAUNCH_ALL_DEVICES for `device`, the kernel can be launched on the streams of every device of the launcher. The
/// code object is kept, and loaded on a device at the first launch there; each device gets its own entry of a bundle.
///
/// `layout` is the LDS layout that the kernel's code was generated for (hiplaunch_set_lds_layout); null for none.
///
/// The code is trusted: the library can't check what a kernel does with the memory that it is given.
///
/// Ownership: the bytes and the name are copied; the caller unregisters the kernel, or closes the launcher. Threads:
/// any. Errors: HIPLAUNCH_STATUS_CODE_OBJECT, whose message lists the code object's kernels, and for all devices if none
/// of them has code; HIPLAUNCH_STATUS_LAUNCH
/// for a layout that does not fit; HIPLAUNCH_STATUS_DRIVER, HIPLAUNCH_STATUS_DEVICE_LOST,
/// HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER, HIPLAUNCH_STATUS_INVALID_ARGUMENT. Nothing is
/// registered then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_register(
    launcher: *const hiplaunch_launcher,
    device: u32,
    code_object: *const c_void,
    code_object_bytes: usize,
    name: *const c_char,
    layout: *const hiplaunch_lds_layout,
    kernel: Option<&mut MaybeUninit<*mut hiplaunch_kernel>>,
) -> hiplaunch_status {
    call("hiplaunch_register", || {
        let kernel = wanted(kernel, "kernel")?;
        let Found { owner, value: launcher } = launcher_of(launcher)?;
        // SAFETY: the caller's promise for arrays and texts.
        let (image, name) = unsafe {
            let image = bytes(code_object, code_object_bytes, "code_object")?;
            (image, text(name, "name")?)
        };
        let layout = match layout.is_null() {
            true => None,
            false => Some(LAYOUTS.get(layout)?.value),
        };
        let source = match device {
            HIPLAUNCH_ALL_DEVICES => {
                // SAFETY: the caller vouches for the code.
                KernelSource::LazyModule(unsafe { LazyModule::new(FatBinary::new(name, image)) })
            }
            // SAFETY: as above.
            one => KernelSource::Module(unsafe { Module::load(launcher.device(one)?, image) }?),
        };
        let mut registration = Registration::new(source, name);
        if let Some(layout) = &layout {
            registration = registration.lds_layout(layout.layout());
        }
        let handle = launcher.register_kernel(registration)?;
        let object = KernelObject::new(&launcher, handle);
        match object.and_then(|object| insert_in(&KERNELS, owner, object)) {
            Ok(new) => {
                kernel.write(new);
                Ok(())
            }
            Err(failure) => {
                // The thread that closed the launcher did not see this kernel.
                let _ = launcher.unregister(handle);
                Err(failure)
            }
        }
    })
}

/// Replaces the kernel of a handle by another one, such as a better compiled one. Launches from now on run the new
/// kernel. The old kernel's module is unloaded when its last launch has finished. The new kernel has no LDS layout, and
/// is not declared in place. A kernel of HIPLAUNCH_ALL_DEVICES is replaced on all devices.
///
/// Ownership and threads: as hiplaunch_register. Errors: as hiplaunch_register; the handle then keeps the old
/// kernel.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_replace(
    kernel: *const hiplaunch_kernel,
    code_object: *const c_void,
    code_object_bytes: usize,
    name: *const c_char,
) -> hiplaunch_status {
    call("hiplaunch_replace", || {
        let (handle, launcher) = registered(kernel)?;
        // SAFETY: the caller's promises for arrays and texts, and for the code.
        unsafe {
            let image = bytes(code_object, code_object_bytes, "code_object")?;
            launcher.replace(handle, image, text(name, "name")?)?;
        }
        // `replace` runs without the handle's lock, for which launches wait. The launcher's kernel is read under that
        // lock, so that after several calls at once the handle has the kernel that was registered last.
        let replaced = KERNELS.with(kernel, |found| {
            let new = launcher.kernel(handle)?;
            Ok::<_, Failure>(std::mem::replace(&mut found.value.kernel, new))
        })??;
        drop(replaced);
        // `replaced` may have been the old kernel's last reference.
        launcher.collect();
        Ok(())
    })
}

/// Unregisters a kernel and closes its handle. Its module is unloaded when its last launch has finished; this function
/// does not wait for that.
///
/// Threads: any; waits for calls on other threads that launch the kernel. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_unregister(kernel: *mut hiplaunch_kernel) -> hiplaunch_status {
    call("hiplaunch_unregister", || {
        let Found { owner, value: object } = KERNELS.take(kernel)?;
        object.unregister(&launcher_that_owns(owner)?)
    })
}

/// Sets the LDS layout that a kernel's code was generated for. A launch whose dynamic_lds is 0 gets the layout's total.
/// A launch may ask for more; a launch that asks for less is refused.
///
/// Ownership: the layout may be closed afterwards. Threads: any. Errors: HIPLAUNCH_STATUS_LAUNCH for a layout that does
/// not fit the device together with the kernel's static LDS; HIPLAUNCH_STATUS_INVALID_HANDLE. After an error, the
/// kernel keeps its previous layout.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_set_lds_layout(
    kernel: *const hiplaunch_kernel,
    layout: *const hiplaunch_lds_layout,
) -> hiplaunch_status {
    call("hiplaunch_set_lds_layout", || {
        let (handle, launcher) = registered(kernel)?;
        let layout = LAYOUTS.get(layout)?.value;
        launcher.set_lds_layout(handle, layout.layout())?;
        Ok(())
    })
}

/// Declares whether a kernel's destination may also be an input. It may be if no work-item writes bytes that are still
/// to be read, as in elementwise kernels. The default is false.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_declare_in_place(
    kernel: *const hiplaunch_kernel,
    yes: bool,
) -> hiplaunch_status {
    call("hiplaunch_declare_in_place", || {
        let (handle, launcher) = registered(kernel)?;
        // SAFETY: the caller's promise.
        unsafe { launcher.declare_in_place(handle, yes) }?;
        Ok(())
    })
}
