//! Loaded code objects, their kernels, and the limits of a launch.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, OnceLock};

use amdgpu_emulator::{Dispatch, LoadedProgram};
use code_object::{CodeObject, KernelKind, KernelSignature};

use super::device::{Device, lock, memory_error};
use super::handles::Table;
use hip_driver::{DevicePtr, DriverError, DriverResult, ErrorCode, limits};

/// A code object that is loaded on a device.
pub(super) struct Module {
    pub(super) device: Arc<Device>,
    pub(super) program: LoadedProgram,
    /// The handles of the kernels that were looked up, by their index in the code object.
    functions: Mutex<Vec<Option<u64>>>,
}

/// A kernel of a module. It keeps the module loaded: unloading one does not affect work in flight.
pub(super) struct Function {
    pub(super) module: Arc<Module>,
    pub(super) index: usize,
    /// The number of bytes of the kernarg segment that the caller fills.
    explicit_size: usize,
    /// See [`LoadedProgram::longest_wave`].
    longest_wave: OnceLock<Option<u64>>,
}

impl Module {
    pub(super) fn load(call: &'static str, device: &Arc<Device>, image: &[u8]) -> DriverResult<Module> {
        let target = &device.properties.target;
        let object = CodeObject::from_any(image, target).map_err(|error| {
            let code = match error {
                code_object::Error::NoMatchingTarget { .. } => ErrorCode::NO_BINARY_FOR_GPU,
                _ => ErrorCode::INVALID_IMAGE,
            };
            DriverError::with_detail(call, code, error.to_string())
        })?;
        if !object.target().is_compatible_with(target) {
            let detail = format!(
                "the code object is for {}, {} is {}",
                object.target().short(),
                device.id,
                target.short()
            );
            return Err(DriverError::with_detail(call, ErrorCode::NO_BINARY_FOR_GPU, detail));
        }
        let program = device.machine.load(&object).map_err(|error| match error {
            amdgpu_emulator::Error::OutOfMemory { .. } => memory_error(call, &error),
            _ => DriverError::with_detail(call, ErrorCode::SHARED_OBJECT_INIT_FAILED, error.to_string()),
        })?;
        construct(call, device, &program)?;
        let functions = Mutex::new(vec![None; object.kernels().len()]);
        Ok(Module { device: Arc::clone(device), program, functions })
    }

    /// Returns the index of a kernel in the code object.
    pub(super) fn find(&self, call: &'static str, name: &str) -> DriverResult<usize> {
        self.program.kernel_index(name).ok_or_else(|| {
            // The code object's error lists the kernels that exist.
            let detail = self.program.code_object().kernel(name).err().map(|error| error.to_string());
            DriverError { call, code: ErrorCode::NOT_FOUND, detail: detail.map(String::into_boxed_str) }
        })
    }

    /// Returns the handle of a kernel, which the first look-up creates; `None` if no handles are left.
    pub(super) fn function(self: &Arc<Self>, index: usize, table: &Table<Arc<Function>>) -> Option<u64> {
        let mut functions = lock(&self.functions);
        let slot = functions.get_mut(index)?;
        if slot.is_none() {
            *slot = table.insert(Arc::new(Function::new(Arc::clone(self), index)));
        }
        *slot
    }

    /// Makes the kernels' handles stale.
    pub(super) fn forget_functions(&self, table: &Table<Arc<Function>>) {
        for handle in lock(&self.functions).iter_mut().filter_map(Option::take) {
            drop(table.remove_if(handle, |_| Ok::<(), Infallible>(())));
        }
    }

    pub(super) fn global(&self, call: &'static str, name: &str) -> DriverResult<(DevicePtr, usize)> {
        match self.program.global(name) {
            Some((address, size)) => Ok((DevicePtr(address), size as usize)),
            None => {
                let names: Vec<&str> =
                    self.program.code_object().globals().iter().map(|g| g.name.as_str()).collect();
                let detail = format!("no global `{name}`; the module has {}", names.join(", "));
                Err(DriverError::with_detail(call, ErrorCode::NOT_FOUND, detail))
            }
        }
    }
}

/// Runs the constructors of the code object's variables. Compilers call them from kernels of the kind `init`, which
/// HIP's runtime runs with one work-item when it loads a module (ROCm CLR, devprogram.cpp).
fn construct(call: &'static str, device: &Device, program: &LoadedProgram) -> DriverResult<()> {
    let kernels = program.kernels().iter().enumerate();
    for (kernel, _) in kernels.filter(|(_, kernel)| kernel.kind == KernelKind::Init) {
        let launch = Dispatch {
            cooperative: false,
            kernel,
            grid: [1; 3],
            block: [1; 3],
            dynamic_lds: 0,
            kernarg: &[],
        };
        device.machine.dispatch(program, &launch).map_err(|error| {
            DriverError::with_detail(call, ErrorCode::SHARED_OBJECT_INIT_FAILED, error.to_string())
        })?;
    }
    Ok(())
}

impl Function {
    pub(super) fn new(module: Arc<Module>, index: usize) -> Self {
        let explicit_size = module.program.code_object().kernels()[index].explicit_size() as usize;
        Function { module, index, explicit_size, longest_wave: OnceLock::new() }
    }

    /// Returns the most instructions that all waves of a launch execute together; `None` if that is not known.
    pub(super) fn most_instructions(&self, grid: [u32; 3], block: [u32; 3]) -> Option<u64> {
        let longest = self.longest_wave.get_or_init(|| self.module.program.longest_wave(self.index));
        let waves = block.iter().product::<u32>().div_ceil(self.signature().wavefront_size);
        Some(grid.iter().fold((*longest)?.saturating_mul(waves.into()), |n, &g| n.saturating_mul(g.into())))
    }

    pub(super) fn signature(&self) -> &KernelSignature {
        &self.module.program.code_object().kernels()[self.index]
    }

    /// Returns the part of a kernarg segment that the caller fills. Fails if the segment has the wrong length.
    pub(super) fn explicit<'a>(&self, call: &'static str, kernarg: &'a [u8]) -> DriverResult<&'a [u8]> {
        let kernel = self.signature();
        match kernarg.get(..self.explicit_size) {
            Some(explicit) if kernarg.len() == kernel.kernarg_size as usize => Ok(explicit),
            // Without explicit arguments the segment may be empty: the emulator fills the hidden ones anyway.
            Some(explicit) if kernarg.is_empty() => Ok(explicit),
            _ => {
                let detail = format!(
                    "kernel {}: {} bytes of kernel arguments were given, its kernarg segment has {}",
                    kernel.name,
                    kernarg.len(),
                    kernel.kernarg_size
                );
                Err(DriverError::with_detail(call, ErrorCode::INVALID_VALUE, detail))
            }
        }
    }

    /// Checks a launch against the device's limits and the kernel's.
    pub(super) fn check_configuration(
        &self,
        call: &'static str,
        grid: [u32; 3],
        block: [u32; 3],
        dynamic_lds: u32,
    ) -> DriverResult<()> {
        let (kernel, properties) = (self.signature(), &self.module.device.properties);
        let Some(reason) = limits::configuration_fault(kernel, properties, grid, block, dynamic_lds) else {
            return Ok(());
        };
        let detail = format!("kernel {}: {reason}", kernel.name);
        Err(DriverError::with_detail(call, ErrorCode::INVALID_CONFIGURATION, detail))
    }

    /// Returns how many workgroups of `block_threads` work-items fit on a compute unit at once.
    pub(super) fn occupancy(&self, block_threads: u32, dynamic_lds: u32) -> u32 {
        limits::occupancy(self.signature(), &self.module.device.properties, block_threads, dynamic_lds)
    }
}
