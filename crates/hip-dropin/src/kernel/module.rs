//! Modules: loaded code objects with their kernels and variables.

use std::collections::HashMap;
use std::ffi::{CStr, CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use code_object::CodeObject;
use hip_driver::{DeviceId, DevicePtr, RawModule, RawStream, Work};
use hip_driver_emulated::Target;

use crate::abi::version::Version;
use crate::abi::{Address, Handle, HipResult, Out, Status, Text};
use crate::kernel::{KERNELS, Kernel};
use crate::memory::allocations::{ALLOCATIONS, Allocation, Kind};
use crate::process::objects::Objects;
use crate::process::{Process, thread};
use crate::report::say_once;

/// A `hipModule_t`.
pub(crate) type ModuleHandle = Handle<Module>;
/// A `hipFunction_t`.
pub(crate) type KernelHandle = Handle<Kernel>;

/// A kernel with its handle.
type Found = (u64, Arc<Kernel>);

/// A code object that is loaded on a device.
pub(crate) struct Module {
    device: DeviceId,
    raw: RawModule,
    object: CodeObject,
    /// The kernels that were asked for, by name, with their handles.
    kernels: Mutex<HashMap<Box<CStr>, Found>>,
}

/// The modules that the program loaded.
static MODULES: Objects<Module> = Objects::new();

impl Module {
    /// Loads an image on a device.
    pub(crate) fn load(process: &Process, device: DeviceId, image: &[u8]) -> HipResult<Module> {
        let target = &process.devices[device.0 as usize].properties.target;
        let object = CodeObject::from_any(image, target).map_err(|error| refused(target, &error))?;
        // SAFETY: the program trusts its own code.
        let raw = unsafe { process.driver.module_load(device, image) }.inspect_err(|error| {
            // What a lost device refuses was reported with the fault.
            if !error.code.is_sticky() {
                say_once(&format!("a code object is refused: {error}"));
            }
        })?;
        Ok(Module { device, raw, object, kernels: Mutex::default() })
    }

    /// Returns a kernel and its handle.
    pub(crate) fn kernel(&self, process: &Process, name: &CStr) -> HipResult<Found> {
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = kernels.get(name) {
            return Ok(found.clone());
        }
        let text = name.to_str().map_err(|_| Status::NOT_FOUND)?;
        let signature = self.object.kernel(text).map_err(|_| Status::NOT_FOUND)?;
        // SAFETY: the module is loaded.
        let function = unsafe { process.driver.module_get_function(self.device, self.raw, name) }?;
        let kernel = Arc::new(Kernel::new(self.device, function, signature));
        let handle = KERNELS.add_shared(Arc::clone(&kernel));
        kernels.insert(name.into(), (handle, Arc::clone(&kernel)));
        Ok((handle, kernel))
    }

    /// Returns the address and the size in bytes of a variable.
    pub(crate) fn global(&self, process: &Process, name: &CStr) -> HipResult<(Address, usize)> {
        // SAFETY: the module is loaded.
        let (ptr, bytes) = unsafe { process.driver.module_get_global(self.device, self.raw, name) }?;
        // Copies have to find the variable's device.
        ALLOCATIONS.insert(Allocation::device(ptr, bytes, self.device, Kind::Variable(self.raw)));
        Ok((Address(ptr.0), bytes))
    }

    /// Writes a pointer to a variable.
    pub(crate) fn set_pointer(&self, process: &Process, name: &CStr, value: Address) -> HipResult {
        let (variable, _) = self.global(process, name)?;
        let bytes = value.0.to_le_bytes();
        let work = Work::CopyToDevice { dst: DevicePtr(variable.0), src: bytes.as_ptr(), bytes: bytes.len() };
        // SAFETY: the variable holds a pointer, and `bytes` lives until the copy has run, as it is waited for.
        unsafe {
            process.driver.enqueue(self.device, RawStream::NULL, &work)?;
            Ok(process.driver.stream_synchronize(self.device, RawStream::NULL)?)
        }
    }

    /// The names of the kernels.
    pub(crate) fn kernel_names(&self) -> Vec<CString> {
        let names = self.object.kernels().iter().map(|kernel| CString::new(kernel.name.as_str()));
        names.filter_map(Result::ok).collect()
    }

    /// A kernel that was asked for, by its handle.
    pub(crate) fn kernel_by_handle(&self, kernel: KernelHandle) -> Option<Arc<Kernel>> {
        let kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        kernels.values().find(|(handle, _)| *handle == kernel.0).map(|(_, kernel)| Arc::clone(kernel))
    }

    /// Unloads the module. Its kernels' handles become invalid.
    pub(crate) fn unload(&self, process: &Process) {
        let kernels = std::mem::take(&mut *self.kernels.lock().unwrap_or_else(PoisonError::into_inner));
        for (handle, kernel) in kernels.values() {
            kernel.set_unloaded();
            KERNELS.remove(*handle);
        }
        ALLOCATIONS.remove_where(|kind| *kind == Kind::Variable(self.raw));
        // SAFETY: the kernels are gone, and nothing else uses the module. HIP's rule for those in flight is the program's.
        if let Err(error) = unsafe { process.driver.module_unload(self.device, self.raw) } {
            log::debug!("{error}");
        }
    }
}

/// The status of a code object that was refused, and a message that says why: libraries swallow the status.
#[cold]
fn refused(target: &code_object::TargetId, error: &code_object::Error) -> Status {
    match error {
        code_object::Error::NoMatchingTarget { .. } => {
            say_once(&format!(
                "no code for {}: {error}; `hiplaunch exec --target` chooses among {}, also with settings such as gfx90a:xnack+",
                target.short(),
                Target::listed_processors()
            ));
            Status::NO_BINARY_FOR_GPU
        }
        _ => {
            say_once(&format!("a code object is refused: {error}"));
            Status::INVALID_IMAGE
        }
    }
}

pub(crate) fn load(process: &Process, module: Out<ModuleHandle>, image: &[u8]) -> HipResult {
    let loaded = Module::load(process, thread::device(), image)?;
    let handle = MODULES.add(loaded);
    module.set(Handle::new(handle))
}

pub(crate) fn hipModuleLoad(process: &Process, module: Out<ModuleHandle>, path: Text) -> HipResult {
    module.check()?;
    let path = path.get()?;
    if path.is_empty() {
        return Err(Status::INVALID_VALUE);
    }
    let path = Path::new(OsStr::from_bytes(path.to_bytes()));
    let image = std::fs::read(path).map_err(|_| Status::FILE_NOT_FOUND)?;
    load(process, module, &image)
}

/// The status for a module that is none. HIP 5 has one for all, later versions another for null.
fn no_module(module: ModuleHandle) -> Status {
    if module.is_null() && Version::current() != Version::Hip5 {
        return Status::INVALID_HANDLE;
    }
    Status::NOT_FOUND
}

pub(crate) fn hipModuleUnload(process: &Process, module: ModuleHandle) -> HipResult {
    process.captures_allow()?;
    let module = MODULES.remove(module.0).ok_or_else(|| no_module(module))?;
    module.unload(process);
    Ok(())
}

pub(crate) fn hipModuleGetFunction(
    process: &Process,
    function: Out<KernelHandle>,
    module: ModuleHandle,
    name: Text,
) -> HipResult {
    function.check()?;
    let name = name.get()?;
    if name.is_empty() && Version::current() != Version::Hip5 {
        return Err(Status::INVALID_VALUE);
    }
    let module = MODULES.expect(module.0, no_module(module))?;
    let (handle, _) = module.kernel(process, name)?;
    function.set(Handle::new(handle))
}

pub(crate) fn hipModuleGetFunctionCount(count: Out<u32>, module: ModuleHandle) -> HipResult {
    let module = MODULES.expect(module.0, no_module(module))?;
    count.set(module.kernel_names().len() as u32)
}

/// The address and the size in bytes of a module's variable.
pub(crate) fn global(process: &Process, module: ModuleHandle, name: &CStr) -> HipResult<(Address, usize)> {
    if name.is_empty() {
        return Err(Status::INVALID_VALUE);
    }
    MODULES.expect(module.0, no_module(module))?.global(process, name)
}

pub(crate) fn hipModuleGetGlobal(
    process: &Process,
    pointer: Out<Address>,
    bytes: Out<usize>,
    module: ModuleHandle,
    name: Text,
) -> HipResult {
    if pointer.is_null() && bytes.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    let (address, size) = global(process, module, name.get()?)?;
    pointer.set_if_wanted(address);
    bytes.set_if_wanted(size);
    Ok(())
}
