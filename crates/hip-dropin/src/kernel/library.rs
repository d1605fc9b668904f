//! Libraries of kernels (HIP 7): code objects that are loaded on the current device when they are first used.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use crate::abi::c_caller::{Address, Handle, In, Out, Text};
use crate::abi::status::{HipResult, Status};
use crate::kernel::Kernel;
use crate::kernel::image;
use crate::kernel::module::{KernelHandle, Module};
use crate::process::Process;
use crate::process::objects::Objects;
use crate::process::thread;

/// A `hipLibrary_t`.
pub(crate) type LibraryHandle = Handle<Library>;

/// A library of kernels. A `hipKernel_t` of it is a `hipFunction_t`, as in clr.
pub(crate) struct Library {
    image: Box<[u8]>,
    module: OnceLock<HipResult<Module>>,
}

/// The libraries that the program loaded.
static LIBRARIES: Objects<Library> = Objects::new();

impl Library {
    fn module(&self, process: &Process) -> HipResult<&Module> {
        let load = || Module::load(process, thread::device(), &self.image);
        self.module.get_or_init(load).as_ref().map_err(|status| *status)
    }

    /// The kernel with a handle, if it is one of the library.
    fn kernel(&self, kernel: KernelHandle) -> Option<Arc<Kernel>> {
        self.module.get()?.as_ref().ok()?.kernel_by_handle(kernel)
    }
}

/// Adds a library. Options for compiling are not supported, as in clr.
fn add(library: Out<LibraryHandle>, image: &[u8], jit_options: u32) -> HipResult {
    if jit_options > 0 {
        return Err(Status::INVALID_VALUE);
    }
    library.set(Handle::new(LIBRARIES.add(Library { image: image.into(), module: OnceLock::new() })))
}

fn get(library: LibraryHandle) -> HipResult<Arc<Library>> {
    LIBRARIES.expect(library.0, Status::INVALID_VALUE)
}

/// Loads a library from an image.
pub(crate) fn load_data(library: Out<LibraryHandle>, image: In<u8>, jit_options: u32) -> HipResult {
    library.check()?;
    if image.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    add(library, image::to_load(image)?, jit_options)
}

/// Loads a library from a file.
pub(crate) fn load_file(library: Out<LibraryHandle>, path: Text, jit_options: u32) -> HipResult {
    library.check()?;
    let path = Path::new(OsStr::from_bytes(path.get()?.to_bytes()));
    let image = std::fs::read(path).map_err(|_| Status::INVALID_VALUE)?;
    add(library, &image, jit_options)
}

pub(crate) fn hipLibraryUnload(process: &Process, library: LibraryHandle) -> HipResult {
    process.captures_allow()?;
    let library = LIBRARIES.remove(library.0).ok_or(Status::INVALID_HANDLE)?;
    if let Some(Ok(module)) = library.module.get() {
        module.unload(process);
    }
    Ok(())
}

pub(crate) fn hipLibraryGetKernel(
    process: &Process,
    kernel: Out<KernelHandle>,
    library: LibraryHandle,
    name: Text,
) -> HipResult {
    kernel.check()?;
    let name = name.get()?;
    let (handle, _) = get(library)?.module(process)?.kernel(process, name)?;
    kernel.set(Handle::new(handle))
}

pub(crate) fn hipLibraryGetKernelCount(
    process: &Process,
    count: Out<u32>,
    library: LibraryHandle,
) -> HipResult {
    count.check()?;
    count.set(get(library)?.module(process)?.kernel_names().len() as u32)
}

pub(crate) fn hipLibraryEnumerateKernels(
    process: &Process,
    kernels: Out<KernelHandle>,
    room: u32,
    library: LibraryHandle,
) -> HipResult {
    kernels.check()?;
    let library = get(library)?;
    let module = library.module(process)?;
    let names = module.kernel_names();
    let handle = |name: &std::ffi::CString| Ok(Handle::new(module.kernel(process, name)?.0));
    let found = names.iter().take(room as usize).map(handle).collect::<HipResult<Vec<KernelHandle>>>()?;
    kernels.set_array(found, room as usize)
}

/// The library of a kernel, by its handle.
fn of_kernel(kernel: KernelHandle) -> HipResult<(u64, Arc<Library>)> {
    if kernel.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    let found = LIBRARIES.find(|library| library.kernel(kernel).is_some());
    found.ok_or(Status::INVALID_HANDLE)
}

pub(crate) fn hipKernelGetLibrary(library: Out<LibraryHandle>, kernel: KernelHandle) -> HipResult {
    library.check()?;
    library.set(Handle::new(of_kernel(kernel)?.0))
}

pub(crate) fn hipKernelGetName(name: Out<Address>, kernel: KernelHandle) -> HipResult {
    name.check()?;
    let (_, library) = of_kernel(kernel)?;
    let kernel = library.kernel(kernel).ok_or(Status::INVALID_HANDLE)?;
    // The text lives as long as the library has the kernel.
    name.set(Address(kernel.name.as_ptr().expose_provenance() as u64))
}
