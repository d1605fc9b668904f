//! Code objects: modules that the program loads, and fat binaries that are registered before `main`.
//!
//! AMD's library loads a fat binary itself. The layers are told of a load when a kernel or variable of it is first used on
//! a device, and of its end when it is unregistered.

use std::collections::HashMap;
use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use code_object::CodeObject;
use hip_driver::{Call, DeviceId, DevicePtr, Driver, Output, RawFunction, RawModule};

use super::known::lock;
use super::{Forward, Interposed};
use crate::abi::c_caller::{Address, Out, Text};
use crate::abi::status::Status;
use crate::kernel::Kernel;
use crate::kernel::fat_binary::{self, FatBinaryHandle};
use crate::kernel::module::{KernelHandle, ModuleHandle};
use crate::memory::allocations::{Allocation, Kind};

/// Modules and kernels by their handles. Kernels of fat binaries have a handle of their own here.
#[derive(Default)]
pub(super) struct KnownModules {
    modules: Mutex<HashMap<u64, Arc<Module>>>,
    kernels: Mutex<HashMap<u64, Arc<Kernel>>>,
    fat: Mutex<OnDevices<Module>>,
    host_kernels: Mutex<OnDevices<Kernel>>,
}

/// What a registered fat binary or host function is on a device; `None` if its code object can't be read.
type OnDevices<T> = HashMap<(u64, DeviceId), Option<Arc<T>>>;

/// A module that the layers know.
pub(super) struct Module {
    device: DeviceId,
    raw: RawModule,
    object: Option<CodeObject>,
}

impl Module {
    fn kernel(&self, name: &CStr, function: RawFunction) -> Option<Kernel> {
        let signature = self.object.as_ref()?.kernel(name.to_str().ok()?).ok()?;
        Some(Kernel::new(self.device, function, signature))
    }
}

impl Interposed {
    fn object(&self, device: DeviceId, image: &[u8]) -> Option<CodeObject> {
        let target = self.hip()?.device_properties(device).ok()?.target;
        CodeObject::from_any(image, &target).ok()
    }

    /// The kernel of a module by its handle, if its code object could be read.
    pub(super) fn module_kernel(&self, handle: u64) -> Option<Arc<Kernel>> {
        lock(&self.known.modules.kernels).get(&handle).cloned()
    }

    /// The kernel of a host function on a device, if it is registered and its code object can be read.
    pub(super) fn host_kernel(&self, device: DeviceId, function: Address) -> Option<Arc<Kernel>> {
        if let Some(known) = lock(&self.known.modules.host_kernels).get(&(function.0, device)) {
            return known.clone();
        }
        let found = self.find_host_kernel(device, function);
        lock(&self.known.modules.host_kernels).entry((function.0, device)).or_insert(found).clone()
    }

    fn find_host_kernel(&self, device: DeviceId, function: Address) -> Option<Arc<Kernel>> {
        let (binary, name) = fat_binary::registered_kernel(function)?;
        let module = self.fat_module(device, binary)?;
        // A number that is no handle of AMD's library, as it is no address.
        let raw = RawFunction(module.raw.0 << 32 | function.0 & 0xffff_ffff | 1 << 63);
        let kernel = module.kernel(&name, raw)?;
        let call = Call::ModuleGetFunction { device, module: module.raw, name: &name };
        self.tell(&call, Output::Function(raw));
        self.name_kernel(raw, &name);
        Some(Arc::new(kernel))
    }

    /// The module of a registered fat binary on a device.
    fn fat_module(&self, device: DeviceId, binary: u64) -> Option<Arc<Module>> {
        let mut fat = lock(&self.known.modules.fat);
        if let Some(known) = fat.get(&(binary, device)) {
            return known.clone();
        }
        // No address, and different for each.
        let raw = RawModule(1 << 63 | fat.len() as u64 + 1);
        let module = fat_binary::registered_image(binary).and_then(|image| {
            let object = Some(self.object(device, image)?);
            self.tell(&Call::ModuleLoad { device, image }, Output::Module(raw));
            Some(Arc::new(Module { device, raw, object }))
        });
        fat.insert((binary, device), module.clone());
        module
    }

    /// The address and the size in bytes of a registered variable on the current device, if AMD's library says them.
    pub(super) fn variable(&self, symbol: Address) -> Option<(Address, usize)> {
        let layers = self.over()?;
        let address = layers.symbol_address(symbol)?;
        let bytes = layers.symbol_bytes(symbol)?;
        self.add_variable(symbol, address, bytes);
        Some((address, bytes))
    }

    fn add_variable(&self, symbol: Address, address: Address, bytes: usize) {
        let Some((binary, name)) = fat_binary::registered_variable(symbol) else { return };
        let device = self.device();
        let Some(module) = self.fat_module(device, binary) else { return };
        let known = self.known.allocations.find(address.0).is_some();
        if !known && bytes > 0 {
            let call = Call::ModuleGetGlobal { device, module: module.raw, name: &name };
            self.tell(&call, Output::Global(DevicePtr(address.0), bytes));
            let kind = Kind::Variable(module.raw);
            self.known.add(Allocation::device(DevicePtr(address.0), bytes, device, kind));
        }
    }

    /// Forgets a registered fat binary: its modules end.
    fn forget_fat_binary(&self, binary: u64) {
        let mut ended = Vec::new();
        lock(&self.known.modules.fat).retain(|(other, _), module| {
            if *other == binary {
                ended.extend(module.take());
            }
            *other != binary
        });
        if ended.is_empty() {
            return;
        }
        lock(&self.known.modules.host_kernels).clear();
        for module in ended {
            self.known.allocations.remove_where(|kind| *kind == Kind::Variable(module.raw));
            // AMD's library keeps the code until nothing runs it.
            self.tell(&Call::DeviceSynchronize { device: module.device }, Output::None);
            self.tell(&Call::ModuleUnload { device: module.device, module: module.raw }, Output::None);
        }
    }
}

pub(crate) fn load(
    over: &Interposed,
    forward: Forward<'_>,
    made: Out<ModuleHandle>,
    image: Option<&[u8]>,
) -> Status {
    let Some(image) = image else { return forward() };
    let device = over.device();
    over.observe(&Call::ModuleLoad { device, image }, forward, || {
        made.get().map_or(Output::None, |module| {
            let raw = RawModule(module.0);
            let object = over.object(device, image);
            lock(&over.known.modules.modules).insert(module.0, Arc::new(Module { device, raw, object }));
            Output::Module(raw)
        })
    })
}

pub(crate) fn unload(over: &Interposed, forward: Forward<'_>, handle: ModuleHandle) -> Status {
    let known = lock(&over.known.modules.modules).remove(&handle.0);
    let Some(module) = known else { return forward() };
    let status =
        over.observe(&Call::ModuleUnload { device: module.device, module: module.raw }, forward, || {
            Output::None
        });
    if status == Status::SUCCESS {
        over.known.allocations.remove_where(|kind| *kind == Kind::Variable(module.raw));
    } else {
        lock(&over.known.modules.modules).insert(handle.0, module);
    }
    status
}

pub(crate) fn get_function(
    over: &Interposed,
    forward: Forward<'_>,
    made: Out<KernelHandle>,
    module: ModuleHandle,
    name: Text,
) -> Status {
    let known = lock(&over.known.modules.modules).get(&module.0).cloned();
    let (Some(module), Ok(name)) = (known, name.get()) else { return forward() };
    over.observe(
        &Call::ModuleGetFunction { device: module.device, module: module.raw, name },
        forward,
        || {
            made.get().map_or(Output::None, |function| {
                let raw = RawFunction(function.0);
                let mut kernels = lock(&over.known.modules.kernels);
                match module.kernel(name, raw) {
                    Some(kernel) => kernels.insert(function.0, Arc::new(kernel)),
                    None => kernels.remove(&function.0),
                };
                Output::Function(raw)
            })
        },
    )
}

pub(crate) fn get_global(
    over: &Interposed,
    forward: Forward<'_>,
    (pointer, bytes): (Out<Address>, Out<usize>),
    module: ModuleHandle,
    name: Text,
) -> Status {
    let known = lock(&over.known.modules.modules).get(&module.0).cloned();
    let (Some(module), Ok(name)) = (known, name.get()) else { return forward() };
    let call = Call::ModuleGetGlobal { device: module.device, module: module.raw, name };
    over.observe(&call, forward, || {
        let (Ok(address), Ok(bytes)) = (pointer.get(), bytes.get()) else { return Output::None };
        let ptr = DevicePtr(address.0);
        if bytes > 0 {
            over.known.add(Allocation::device(ptr, bytes, module.device, Kind::Variable(module.raw)));
        }
        Output::Global(ptr, bytes)
    })
}

pub(crate) fn hipModuleLoad(
    over: &Interposed,
    forward: Forward<'_>,
    module: Out<ModuleHandle>,
    path: Text,
) -> Status {
    let image =
        path.get().ok().and_then(|path| std::fs::read(Path::new(OsStr::from_bytes(path.to_bytes()))).ok());
    load(over, forward, module, image.as_deref())
}

pub(crate) fn hipGetSymbolAddress(over: &Interposed, forward: Forward<'_>, symbol: Address) -> Status {
    over.variable(symbol);
    forward()
}

pub(crate) fn hipGetFuncBySymbol(
    over: &Interposed,
    forward: Forward<'_>,
    handle: Out<KernelHandle>,
    function: Address,
) -> Status {
    let kernel = over.host_kernel(over.device(), function);
    let status = forward();
    if let (Status::SUCCESS, Ok(handle), Some(kernel)) = (status, handle.get(), kernel) {
        lock(&over.known.modules.kernels).insert(handle.0, kernel);
    }
    status
}

/// A fat binary is about to be unregistered.
pub(crate) fn unregister(over: Option<&Interposed>, handle: FatBinaryHandle) {
    if let Some(over) = over {
        over.forget_fat_binary(handle.0);
    }
}
