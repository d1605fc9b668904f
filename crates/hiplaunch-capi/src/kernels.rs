//! Kernels: register, replace, unregister.

use std::ffi::{c_char, c_void};
use std::mem::MaybeUninit;

use std::sync::Arc;

use hiplaunch::launcher::{Kernel, KernelHandle, KernelSource, Launcher, Registration};

use super::handles::{Found, Kind, Owner, Table, same_owner};
use super::input::{bytes, text, wanted};
use super::launcher::{hiplaunch_launcher, insert_in, launcher_of, launcher_that_owns};
use super::layouts::{LAYOUTS, LayoutObject, hiplaunch_lds_layout};
use super::modules::{MODULES, hiplaunch_module, load};
use super::packed::Parameters;
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
    /// Its parameters, if its arguments can be packed.
    pub(super) parameters: Option<Parameters>,
}

impl KernelObject {
    fn new(launcher: &Launcher, handle: KernelHandle) -> Result<KernelObject> {
        let kernel = launcher.kernel(handle)?;
        Ok(KernelObject { parameters: Parameters::of(&kernel), kernel })
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

/// Returns an LDS layout, or `None` for a null handle.
fn layout_of(layout: *const hiplaunch_lds_layout) -> Result<Option<Arc<LayoutObject>>> {
    if layout.is_null() { Ok(None) } else { Ok(Some(LAYOUTS.get(layout)?.value)) }
}

/// Registers a kernel of a module and returns its handle.
fn register(
    launcher: &Launcher,
    owner: Owner,
    source: KernelSource,
    name: &str,
    layout: Option<&LayoutObject>,
) -> Result<*mut hiplaunch_kernel> {
    let mut registration = Registration::new(source, name);
    if let Some(layout) = layout {
        registration = registration.lds_layout(layout.layout());
    }
    let handle = launcher.register_kernel(registration)?;
    KernelObject::new(launcher, handle).and_then(|object| insert_in(&KERNELS, owner, object)).inspect_err(
        |_| {
            // The thread that closed the launcher did not see this kernel.
            let _ = launcher.unregister(handle);
        },
    )
}

/// Has `change` replace the launcher's kernel of a handle, which then launches the new one.
fn replace(
    kernel: *const hiplaunch_kernel,
    change: impl FnOnce(&Launcher, KernelHandle) -> hiplaunch::Result<()>,
) -> Result<()> {
    let (handle, launcher) = registered(kernel)?;
    change(&launcher, handle)?;
    // The change runs without the handle's lock, for which launches wait. The launcher's kernel is read under that
    // lock, so that after several calls at once the handle has the kernel that was registered last.
    let replaced = KERNELS.with(kernel, |found| {
        let new = KernelObject::new(&launcher, handle)?;
        Ok::<_, Failure>(std::mem::replace(&mut found.value, new))
    })??;
    drop(replaced);
    // `replaced` may have been the old kernel's last reference.
    launcher.collect();
    Ok(())
}

/// Loads a code object on a device and registers one of its kernels. The code object is a raw AMDGPU ELF or an offload
/// bundle, compressed or not, whose entry for the device's target is used.
///
/// With HIPLAUNCH_ALL_DEVICES for `device`, the kernel can be launched on the streams of every device of the launcher.
/// The code object is kept, and loaded on a device at the first launch there; each device gets its own entry of a
/// bundle.
///
/// `layout` is the LDS layout that the kernel's code was generated for (hiplaunch_set_lds_layout); null for none.
///
/// The code is trusted: the library can't check what a kernel does with the memory that it is given.
///
/// Ownership: the bytes and the name are copied; the caller unregisters the kernel, or closes the launcher. Threads:
/// any. Errors: HIPLAUNCH_STATUS_CODE_OBJECT, whose message lists the code object's kernels, and for all devices if
/// none of them has code; HIPLAUNCH_STATUS_LAUNCH for a layout that does not fit; HIPLAUNCH_STATUS_DRIVER,
/// HIPLAUNCH_STATUS_DEVICE_LOST, HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER,
/// HIPLAUNCH_STATUS_INVALID_ARGUMENT. Nothing is registered then.
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
        let layout = layout_of(layout)?;
        // SAFETY: the caller vouches for the code.
        let source = unsafe { load(&launcher, device, image, name) }?;
        kernel.write(register(&launcher, owner, source, name, layout.as_deref())?);
        Ok(())
    })
}

/// Registers a kernel of a module, as hiplaunch_register does that of a code object. `layout` is the LDS layout that
/// the kernel's code was generated for; null for none.
///
/// Ownership: the module may be closed afterwards; the caller unregisters the kernel, or closes the launcher. Threads:
/// any. Errors: as hiplaunch_register.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_register_from(
    module: *const hiplaunch_module,
    name: *const c_char,
    layout: *const hiplaunch_lds_layout,
    kernel: Option<&mut MaybeUninit<*mut hiplaunch_kernel>>,
) -> hiplaunch_status {
    call("hiplaunch_register_from", || {
        let kernel = wanted(kernel, "kernel")?;
        // SAFETY: the caller's promise for texts.
        let name = unsafe { text(name, "name") }?;
        let Found { owner, value: source } = MODULES.get(module)?;
        let layout = layout_of(layout)?;
        kernel.write(register(&launcher_that_owns(owner)?, owner, source, name, layout.as_deref())?);
        Ok(())
    })
}

/// Replaces the kernel of a handle by another one, such as a better compiled one. Launches from now on run the new
/// kernel. The old kernel's module is unloaded when its last launch has finished. The new kernel has no LDS layout, and
/// is not declared in place. A kernel of HIPLAUNCH_ALL_DEVICES is replaced on all devices.
///
/// The new kernel may have another name and other parameters: each launch is checked against the kernel that it runs.
/// Compiled graphs, and those that are compiled later, run the new kernel if it takes the recorded arguments, of the same
/// number, kinds and sizes; else hiplaunch_graph_compile and hiplaunch_compiled_graph_submit return HIPLAUNCH_STATUS_LAUNCH
/// with the first difference, until a kernel that fits is there. hiplaunch_graph_compute runs the kernel that the graph
/// recorded.
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
        // SAFETY: the caller's promises for arrays and texts.
        let (image, name) =
            unsafe { (bytes(code_object, code_object_bytes, "code_object")?, text(name, "name")?) };
        // SAFETY: the caller vouches for the code.
        replace(kernel, |launcher, handle| unsafe { launcher.replace(handle, image, name) })
    })
}

/// Replaces the kernel of a handle by a kernel of a module, as hiplaunch_replace does by that of a code object.
///
/// Ownership: the module may be closed afterwards. Threads: any. Errors: as hiplaunch_replace;
/// HIPLAUNCH_STATUS_INVALID_ARGUMENT for a module of other devices than the kernel's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_replace_from(
    kernel: *const hiplaunch_kernel,
    module: *const hiplaunch_module,
    name: *const c_char,
) -> hiplaunch_status {
    call("hiplaunch_replace_from", || {
        // SAFETY: the caller's promise for texts.
        let name = unsafe { text(name, "name") }?;
        let Found { owner, value: source } = MODULES.get(module)?;
        same_owner(owner, KERNELS.look(kernel, |found| found.owner)?, "kernel")?;
        replace(kernel, |launcher, handle| launcher.replace_kernel(handle, Registration::new(source, name)))
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

/// Unloads the modules of replaced and unregistered kernels whose last launch has finished. Never waits. Replacing,
/// unregistering, reading a ticket and waiting for a stream do this too.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_collect(launcher: *const hiplaunch_launcher) -> hiplaunch_status {
    call("hiplaunch_collect", || {
        launcher_of(launcher)?.value.collect();
        Ok(())
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
