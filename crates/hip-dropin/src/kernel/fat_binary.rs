//! What the program registers before `main`: fat binaries, and the host's names of their kernels and variables.
//!
//! Registering only adds to maps. A fat binary is loaded on a device when a kernel or variable of it is first used there.

use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError, RwLock};

use code_object::TargetId;
use hip_driver::DeviceId;

use crate::abi::c_caller::{Address, Handle, In, Out, Text};
use crate::abi::status::{HipResult, Status};
use crate::kernel::Kernel;
use crate::kernel::image;
use crate::kernel::module::Module;
use crate::memory::allocations::ALLOCATIONS;
use crate::memory::allocations::{Allocation, Kind};
use crate::process::objects::{Objects, Recent};
use crate::process::thread;
use crate::process::{self, Process};
use crate::report::say;

/// The first word of the structure to which `__hipRegisterFatBinary` gets a pointer: "HIPF".
const MAGIC: u32 = 0x4849_5046;

/// The structure that compilers emit for a fat binary (clang, `CGCUDANV.cpp`).
#[derive(Clone, Copy)]
#[repr(C)]
struct Wrapper {
    magic: u32,
    version: u32,
    binary: In<u8>,
    unused: *const c_void,
}

/// One value for each device, made when it is first asked for.
struct PerDevice<T>(Mutex<HashMap<DeviceId, HipResult<Arc<T>>>>);

impl<T> PerDevice<T> {
    fn new() -> PerDevice<T> {
        PerDevice(Mutex::new(HashMap::new()))
    }

    fn get(&self, device: DeviceId, make: impl FnOnce() -> HipResult<Arc<T>>) -> HipResult<Arc<T>> {
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        made.entry(device).or_insert_with(make).clone()
    }

    fn take(&self) -> Vec<Arc<T>> {
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *made).into_values().flatten().collect()
    }
}

/// A registered fat binary.
pub(crate) struct FatBinary {
    image: HipResult<&'static [u8]>,
    modules: PerDevice<Module>,
    managed: Mutex<Vec<ManagedVariable>>,
}

/// A registered kernel.
struct HostKernel {
    binary: Arc<FatBinary>,
    name: CString,
    /// The kernel on the first device, which most programs use alone, without a lock.
    first: OnceLock<Arc<Kernel>>,
    others: PerDevice<Kernel>,
}

/// A registered variable.
struct HostVariable {
    binary: Arc<FatBinary>,
    name: CString,
}

/// A `__managed__` variable: memory of the host, and the device's pointer to it.
struct ManagedVariable {
    name: CString,
    memory: Address,
    bytes: usize,
}

/// A handle of `__hipRegisterFatBinary`.
pub(crate) type FatBinaryHandle = Handle<FatBinary>;

/// Everything that is registered but kernels.
#[derive(Default)]
struct Registered {
    binaries: HashMap<u64, Arc<FatBinary>>,
    variables: HashMap<u64, Arc<HostVariable>>,
}

/// The registered kernels, by the addresses of their host functions.
static KERNELS: Objects<HostKernel> = Objects::new();

thread_local! {
    static RECENT: Recent<HostKernel> = const { Recent::new() };
}

static REGISTERED: LazyLock<RwLock<Registered>> = LazyLock::new(RwLock::default);

fn registered<R>(read: impl FnOnce(&Registered) -> R) -> R {
    read(&REGISTERED.read().unwrap_or_else(PoisonError::into_inner))
}

fn register<R>(write: impl FnOnce(&mut Registered) -> R) -> R {
    write(&mut REGISTERED.write().unwrap_or_else(PoisonError::into_inner))
}

impl Registered {
    fn handle_of(&self, binary: &Arc<FatBinary>) -> Option<u64> {
        self.binaries.iter().find(|(_, other)| Arc::ptr_eq(binary, other)).map(|(handle, _)| *handle)
    }
}

impl FatBinary {
    fn new(wrapper: In<c_void>) -> HipResult<FatBinary> {
        process::REGISTERED.get_or_init(|| process::Registered { targets, opened: pin_managed_variables });
        let wrapper = In::of(wrapper.pointer().cast::<Wrapper>()).get()?;
        if wrapper.magic != MAGIC || wrapper.version != 1 {
            say("a fat binary of the program has an unknown format");
            return Err(Status::INVALID_IMAGE);
        }
        Ok(FatBinary {
            image: image::at(wrapper.binary),
            modules: PerDevice::new(),
            managed: Mutex::default(),
        })
    }

    /// The binary's module on a device.
    fn module(&self, process: &Process, device: DeviceId) -> HipResult<Arc<Module>> {
        self.modules.get(device, || {
            let image = self.image.inspect_err(|_| say("a fat binary of the program is no code object"))?;
            let module = Arc::new(Module::load(process, device, image)?);
            for variable in &*self.managed.lock().unwrap_or_else(PoisonError::into_inner) {
                module.set_pointer(process, &variable.name, variable.memory)?;
            }
            Ok(module)
        })
    }
}

/// Returns the kernel of a host function on a device.
///
/// Fails with `INVALID_DEVICE_FUNCTION` if no such function is registered.
pub(crate) fn kernel(process: &Process, device: DeviceId, function: Address) -> HipResult<Arc<Kernel>> {
    with_kernel(process, device, function, |kernel| Ok(Arc::clone(kernel)))
}

/// Returns what `read` does with the kernel of a host function on a device.
///
/// Fails with `INVALID_DEVICE_FUNCTION` if no such function is registered.
#[inline]
pub(crate) fn with_kernel<R>(
    process: &Process,
    device: DeviceId,
    function: Address,
    read: impl FnOnce(&Arc<Kernel>) -> HipResult<R>,
) -> HipResult<R> {
    let found = KERNELS.with_recent(&RECENT, function.0, |host| match host.first.get() {
        Some(kernel) if device.0 == 0 => read(kernel),
        _ => read(&host.on(process, device)?),
    });
    found.unwrap_or(Err(Status::INVALID_DEVICE_FUNCTION))
}

impl HostKernel {
    /// The kernel on a device, whose module is loaded there if it is not yet.
    fn on(&self, process: &Process, device: DeviceId) -> HipResult<Arc<Kernel>> {
        if device.0 != 0 {
            return self.others.get(device, || self.find(process, device));
        }
        let kernel = self.find(process, device)?;
        Ok(Arc::clone(self.first.get_or_init(|| kernel)))
    }

    #[cold]
    fn find(&self, process: &Process, device: DeviceId) -> HipResult<Arc<Kernel>> {
        self.binary.module(process, device)?.kernel(process, &self.name).map(|(_, kernel)| kernel)
    }
}

/// Returns the address and the size in bytes of a registered variable on a device.
///
/// Fails with `INVALID_SYMBOL` if no such variable is registered.
pub(crate) fn variable(process: &Process, device: DeviceId, symbol: Address) -> HipResult<(Address, usize)> {
    let host = registered(|all| all.variables.get(&symbol.0).cloned()).ok_or(Status::INVALID_SYMBOL)?;
    let found = host.binary.module(process, device)?.global(process, &host.name);
    found.map_err(|status| if status == Status::NOT_FOUND { Status::INVALID_SYMBOL } else { status })
}

/// Returns the targets for which the registered fat binaries have code.
fn targets() -> Vec<TargetId> {
    registered(|all| {
        let images = all.binaries.values().filter_map(|binary| binary.image.ok());
        images.flat_map(image::targets).collect()
    })
}

/// Makes the memory of the `__managed__` variables that were registered so far accessible to kernels.
fn pin_managed_variables(process: &Process) {
    registered(|all| {
        for binary in all.binaries.values() {
            let managed = binary.managed.lock().unwrap_or_else(PoisonError::into_inner);
            managed.iter().for_each(|variable| pin(process, variable.memory, variable.bytes));
        }
    });
}

fn pin(process: &Process, memory: Address, bytes: usize) {
    // SAFETY: the memory was allocated for the variable and is never freed.
    let pinned = unsafe { process.driver.host_register(DeviceId(0), memory.host(), bytes) };
    match pinned {
        Ok(pinned) => {
            ALLOCATIONS.insert(Allocation::host(pinned, thread::device(), Kind::ManagedVariable, 1))
        }
        Err(error) => say(&format!("a __managed__ variable can't be used by kernels: {error}")),
    }
}

/// Ends that kernels can access the memory, which stays the program's.
fn unpin(process: &Process, memory: Address) {
    let Some(found) = ALLOCATIONS.take(memory.0, |kind| kind == Kind::ManagedVariable) else {
        return;
    };
    let Some(pinned) = found.pinned else { return };
    // SAFETY: the memory is pinned, and the kernels that know its address were just unloaded.
    if let Err(error) = unsafe { process.driver.host_unregister(DeviceId(0), pinned) } {
        log::debug!("{error}");
    }
}

/// Adds a fat binary.
pub(crate) fn register_binary(wrapper: In<c_void>) -> HipResult<FatBinaryHandle> {
    let binary = Arc::new(FatBinary::new(wrapper)?);
    let handle = FatBinaryHandle::new(Arc::as_ptr(&binary).addr() as u64);
    register(|all| all.binaries.insert(handle.0, binary));
    Ok(handle)
}

/// Adds a fat binary to which AMD's library gave a handle.
pub(crate) fn insert(handle: FatBinaryHandle, wrapper: In<c_void>) -> HipResult {
    let binary = Arc::new(FatBinary::new(wrapper)?);
    register(|all| all.binaries.insert(handle.0, binary));
    Ok(())
}

/// The handle of the fat binary with the kernel of a host function, and the kernel's name.
pub(crate) fn registered_kernel(function: Address) -> Option<(u64, CString)> {
    let kernel = KERNELS.get(function.0)?;
    let handle = registered(|all| all.handle_of(&kernel.binary))?;
    Some((handle, kernel.name.clone()))
}

/// The handle of the fat binary with a variable, and the variable's name.
pub(crate) fn registered_variable(symbol: Address) -> Option<(u64, CString)> {
    registered(|all| {
        let variable = all.variables.get(&symbol.0)?;
        Some((all.handle_of(&variable.binary)?, variable.name.clone()))
    })
}

/// The image of a registered fat binary.
pub(crate) fn registered_image(handle: u64) -> Option<&'static [u8]> {
    registered(|all| all.binaries.get(&handle)?.image.ok())
}

/// Removes a fat binary, and unloads its code.
pub(crate) fn unregister(handle: FatBinaryHandle) -> HipResult {
    let Some(binary) = register(|all| {
        let binary = all.binaries.remove(&handle.0)?;
        all.variables.retain(|_, variable| !Arc::ptr_eq(&variable.binary, &binary));
        Some(binary)
    }) else {
        return Ok(());
    };
    KERNELS.remove_where(|kernel| Arc::ptr_eq(&kernel.binary, &binary));
    let Some(process) = Process::opened() else { return Ok(()) };
    binary.modules.take().iter().for_each(|module| module.unload(process));
    for variable in &*binary.managed.lock().unwrap_or_else(PoisonError::into_inner) {
        unpin(process, variable.memory);
    }
    Ok(())
}

/// Adds a kernel.
pub(crate) fn register_function(handle: FatBinaryHandle, function: Address, name: Text) -> HipResult {
    let name = name.get()?.to_owned();
    let binary = registered(|all| all.binaries.get(&handle.0).cloned()).ok_or(Status::INVALID_HANDLE)?;
    let kernel = HostKernel { binary, name, first: OnceLock::new(), others: PerDevice::new() };
    KERNELS.insert(function.0, kernel);
    Ok(())
}

/// Adds a variable.
pub(crate) fn register_variable(handle: FatBinaryHandle, variable: Address, name: Text) -> HipResult {
    let name = name.get()?.to_owned();
    register(|all| {
        let binary = all.binaries.get(&handle.0).cloned().ok_or(Status::INVALID_HANDLE)?;
        all.variables.insert(variable.0, Arc::new(HostVariable { binary, name }));
        Ok(())
    })
}

pub(crate) fn __hipRegisterManagedVar(
    handle: FatBinaryHandle,
    pointer: Out<Address>,
    initial: In<u8>,
    name: Text,
    bytes: usize,
    _align: u32,
) -> HipResult {
    let name = name.get()?.to_owned();
    // Kernels access whole pages, and the variable lives to the end of the process.
    let room = bytes.max(1).next_multiple_of(4096);
    let layout = std::alloc::Layout::from_size_align(room, 4096).map_err(|_| Status::INVALID_VALUE)?;
    // SAFETY: the layout's size is not 0.
    let memory = unsafe { std::alloc::alloc_zeroed(layout) };
    if memory.is_null() {
        return Err(Status::OUT_OF_MEMORY);
    }
    if !initial.is_null() {
        // SAFETY: `initial` has the variable's bytes, and `memory` was just allocated with at least as many.
        unsafe { initial.pointer().copy_to_nonoverlapping(memory, bytes) };
    }
    let memory = Address(memory.expose_provenance() as u64);
    pointer.set(memory)?;
    if let Some(process) = Process::opened() {
        pin(process, memory, room);
    }
    registered(|all| {
        let binary = all.binaries.get(&handle.0).ok_or(Status::INVALID_HANDLE)?;
        let mut managed = binary.managed.lock().unwrap_or_else(PoisonError::into_inner);
        managed.push(ManagedVariable { name, memory, bytes: room });
        Ok(())
    })
}
