//! Kernels: register, replace, unregister.

use std::ffi::{c_char, c_void};
use std::mem::MaybeUninit;

use std::sync::Arc;

use hiplaunch::Module;
use hiplaunch::launcher::{Kernel, KernelHandle, Launcher, Registration};

use super::handles::{Found, Kind, Table};
use super::input::{bytes, text, wanted};
use super::launcher::{hiplaunch_launcher, insert_in, launcher_of, launcher_that_owns};
use super::layouts::{LAYOUTS, hiplaunch_lds_layout};
use super::status::{Failure, Result, call, hiplaunch_status};

/// A registered kernel.
pub struct hiplaunch_kernel {
    _opaque: (),
}

/// What a kernel's handle of its launcher stands for, so that a launch need not look it up again.
pub(super) struct KernelObject {
    pub(super) kernel: Arc<Kernel>,
}

impl KernelObject {
    fn new(launcher: &Launcher, handle: KernelHandle) -> Result<KernelObject> {
        Ok(KernelObject { kernel: launcher.kernel(handle)? })
    }

    /// Forgets the kernel. The object's own share of it goes first, so that the code can go.
    pub(super) fn unregister(self, launcher: &Launcher) -> Result<()> {
        let handle = self.kernel.handle();
        drop(self.kernel);
        Ok(launcher.unregister(handle)?)
    }
}

pub(super) static KERNELS: Table<KernelObject> = Table::new(Kind::Kernel);

/// A kernel's handle of its launcher, and that launcher.
pub(super) fn registered(kernel: *const hiplaunch_kernel) -> Result<(KernelHandle, Launcher)> {
    let (owner, handle) = KERNELS.look(kernel, |found| (found.owner, found.value.kernel.handle()))?;
    Ok((handle, launcher_that_owns(owner)?))
}

/// Loads a code object on a device and registers one of its kernels. The code object is a raw AMDGPU ELF or an offload
/// bundle, compressed or not, of which the part for the device's target is taken.
///
/// `layout` is where the kernel's code has its buffers in dynamic LDS (hiplaunch_set_lds_layout); null for none.
///
/// The code is trusted: nothing checks what a compiled kernel does with the memory it is given.
///
/// Ownership: the bytes and the name are not kept; the caller unregisters the kernel, or closes the launcher. Threads:
/// any. Errors: HIPLAUNCH_STATUS_CODE_OBJECT, whose message lists the kernels there are; HIPLAUNCH_STATUS_LAUNCH for a
/// layout that does not fit; HIPLAUNCH_STATUS_DRIVER, HIPLAUNCH_STATUS_DEVICE_LOST, HIPLAUNCH_STATUS_INVALID_HANDLE,
/// HIPLAUNCH_STATUS_NULL_POINTER, HIPLAUNCH_STATUS_INVALID_ARGUMENT. Nothing is registered then.
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
        let device = launcher.device(device)?;
        // SAFETY: the caller's promise for arrays and texts.
        let (image, name) = unsafe {
            let image = bytes(code_object, code_object_bytes, "code_object")?;
            (image, text(name, "name")?)
        };
        let layout = match layout.is_null() {
            true => None,
            false => Some(LAYOUTS.get(layout)?.value),
        };
        // SAFETY: the caller vouches for the code.
        let module = unsafe { Module::load(device, image) }?;
        let mut registration = Registration::new(&module, name);
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
                // Whoever closed the launcher did not know of it.
                let _ = launcher.unregister(handle);
                Err(failure)
            }
        }
    })
}

/// Puts another kernel under a handle, such as a better compiled one. Launches from now on run the new one; the old one's
/// code goes when its last launch has finished. The new one has no layout of LDS, and is not declared in place.
///
/// Ownership and threads: as hiplaunch_register. Errors: as hiplaunch_register; the old kernel stays then.
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
        // Not under the lock, which launches wait for; the launcher's is asked for under it, so that the last of several
        // that replace the kernel at once leaves the last.
        let replaced = KERNELS.with(kernel, |found| {
            let new = launcher.kernel(handle)?;
            Ok::<_, Failure>(std::mem::replace(&mut found.value.kernel, new))
        })??;
        drop(replaced);
        // That was perhaps its last owner.
        launcher.collect();
        Ok(())
    })
}

/// Forgets a kernel and closes its handle. Its code goes when its last launch has finished; never waits for that.
///
/// Threads: any; waits for calls of others that launch the kernel. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_unregister(kernel: *mut hiplaunch_kernel) -> hiplaunch_status {
    call("hiplaunch_unregister", || {
        let Found { owner, value: object } = KERNELS.take(kernel)?;
        object.unregister(&launcher_that_owns(owner)?)
    })
}

/// Gives a kernel the layout of LDS that its code was generated for: a launch whose dynamic_lds is 0 gets the layout's
/// total, one that asks for more gets that, and one that asks for less is refused.
///
/// Ownership: the layout may be closed afterwards. Threads: any. Errors: HIPLAUNCH_STATUS_LAUNCH for a layout that does
/// not fit the device beside the kernel's static LDS; HIPLAUNCH_STATUS_INVALID_HANDLE. The layout before stays then.
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

/// Says whether a kernel may have its destination as an input too: that every work-item has read what it reads of it
/// before any writes there, as elementwise kernels do. False until said so.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_declare_in_place(
    kernel: *const hiplaunch_kernel,
    yes: bool,
) -> hiplaunch_status {
    call("hiplaunch_declare_in_place", || {
        let (handle, launcher) = registered(kernel)?;
        // SAFETY: the caller says that it is so.
        unsafe { launcher.declare_in_place(handle, yes) }?;
        Ok(())
    })
}
