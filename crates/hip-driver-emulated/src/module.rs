//! Loaded code objects, their kernels, and the limits of a launch.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, OnceLock};

use amdgpu_emulator::{Dispatch, LoadedProgram};
use amdgpu_isa::Target;
use code_object::occupancy::{VectorFile, is_unified};
use code_object::{CodeObject, KernelKind, KernelSignature};

use super::device::{Device, lock, memory_error};
use super::handles::Table;
use hip_driver::{DeviceProperties, DevicePtr, DriverError, DriverResult, ErrorCode};

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
        let (kernel, limits) = (self.signature(), &self.module.device.properties);
        let Some(reason) = configuration_fault(kernel, limits, grid, block, dynamic_lds) else {
            return Ok(());
        };
        let detail = format!("kernel {}: {reason}", kernel.name);
        Err(DriverError::with_detail(call, ErrorCode::INVALID_CONFIGURATION, detail))
    }

    /// Returns how many workgroups of `block_threads` work-items fit on a compute unit at once; on a workgroup processor of gfx11,
    /// if the kernel is compiled for one.
    pub(super) fn occupancy(&self, block_threads: u32, dynamic_lds: u32) -> u32 {
        let (kernel, limits) = (self.signature(), &self.module.device.properties);
        if block_threads > limits.max_threads_per_block {
            return 0;
        }
        let waves = waves_of_unit(kernel, limits.target.processor.name());
        let by_waves = waves / block_threads.max(1).div_ceil(kernel.wavefront_size);
        let lds = kernel.group_segment_fixed_size.saturating_add(dynamic_lds);
        limits.max_lds_per_block.checked_div(lds).map_or(by_waves, |by_lds| by_waves.min(by_lds))
    }
}

/// Returns how many waves of a kernel a compute unit holds, or a workgroup processor of gfx11, as clr computes it:
/// `hip_platform.cpp` (`ihipOccupancyMaxActiveBlocksPerMultiprocessor`), with the figures of `rocdevice.cpp`
/// (`populateOCLDeviceConstants`). Before gfx10, SIMDs have 800 SGPRs for their waves, and eight waves, as 32 are the most of
/// a compute unit.
fn waves_of_unit(kernel: &KernelSignature, processor: &str) -> u32 {
    let Some(file) = VectorFile::of(processor, kernel.wavefront_size == 32) else { return 0 };
    let vgprs = kernel.descriptor.vgprs(is_unified(processor)).next_multiple_of(file.granule);
    let by_vgprs = file.registers / vgprs;
    if Target::of_processor(processor).is_some_and(Target::is_gfx11) {
        let simds = if kernel.workgroup_processor_mode { 4 } else { 2 };
        return simds * by_vgprs.min(16);
    }
    let by_sgprs = 800 / kernel.sgpr_count.clamp(1, 800).next_multiple_of(16);
    4 * by_vgprs.min(by_sgprs).min(8)
}

fn configuration_fault(
    kernel: &KernelSignature,
    limits: &DeviceProperties,
    grid: [u32; 3],
    block: [u32; 3],
    dynamic_lds: u32,
) -> Option<String> {
    if grid.contains(&0) || block.contains(&0) {
        return Some(format!("grid {grid:?} and block {block:?} must not have a 0"));
    }
    for axis in 0..3 {
        let name = ["x", "y", "z"][axis];
        if grid[axis] > limits.max_grid[axis] {
            return Some(format!("grid {grid:?} exceeds {} in {name}", limits.max_grid[axis]));
        }
        if block[axis] > limits.max_block[axis] {
            return Some(format!("block {block:?} exceeds {} in {name}", limits.max_block[axis]));
        }
        // An AQL packet counts work-items in 32 bits.
        if grid[axis].checked_mul(block[axis]).is_none() {
            return Some(format!("grid {grid:?} by block {block:?} exceeds 2^32 - 1 work-items in {name}"));
        }
    }
    let threads: u64 = block.iter().map(|&n| u64::from(n)).product();
    let most = limits.max_threads_per_block.min(kernel.max_flat_workgroup_size);
    if threads > u64::from(most) {
        return Some(format!("block {block:?} has {threads} work-items, at most {most} are allowed"));
    }
    if let Some(required) = kernel.reqd_workgroup_size.filter(|required| *required != block) {
        return Some(format!("block {block:?}, but the kernel is compiled only for {required:?}"));
    }
    let lds = u64::from(kernel.group_segment_fixed_size) + u64::from(dynamic_lds);
    if lds > u64::from(limits.max_lds_per_block) {
        return Some(format!(
            "{} static and {dynamic_lds} dynamic bytes of LDS exceed {}",
            kernel.group_segment_fixed_size, limits.max_lds_per_block
        ));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel with as many VGPRs as `field` encodes.
    fn kernel(wave: u32, is_wgp: bool, field: u32) -> KernelSignature {
        let object = include_bytes!("../../amdgpu-emulator/tests/data/assembly/initial.gfx1100.co");
        let mut kernel = CodeObject::parse(object).unwrap().kernels()[0].clone();
        kernel.wavefront_size = wave;
        kernel.workgroup_processor_mode = is_wgp;
        kernel.descriptor.kernel_code_properties = u16::from(wave == 32) << 10;
        kernel.descriptor.compute_pgm_rsrc1 = field;
        kernel
    }

    #[test]
    fn a_unit_holds_as_many_waves_as_clr_says() {
        // 16 waves on each of four SIMDs, or on each of two.
        assert_eq!(waves_of_unit(&kernel(32, true, 0), "gfx1100"), 64);
        assert_eq!(waves_of_unit(&kernel(32, false, 0), "gfx1100"), 32);
        // 256 VGPRs, of which 264 are allocated: 5 waves of 1536. Of 1024, 4 waves.
        assert_eq!(waves_of_unit(&kernel(32, true, 31), "gfx1100"), 4 * 5);
        assert_eq!(waves_of_unit(&kernel(32, true, 31), "gfx1102"), 4 * 4);
        // In waves of 64: 128 VGPRs, of which 132 are allocated, of 768.
        assert_eq!(waves_of_unit(&kernel(64, true, 31), "gfx1151"), 4 * 5);
        // gfx9: 256 VGPRs of 512, and eight waves at most.
        assert_eq!(waves_of_unit(&kernel(64, false, 31), "gfx90a"), 4 * 2);
        assert_eq!(waves_of_unit(&kernel(64, false, 0), "gfx942"), 4 * 8);
    }
}
