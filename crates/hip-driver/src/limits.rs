//! The limits of a launch: what a device refuses, and how many workgroups it holds. Drivers that execute packets themselves check these;
//! HIP does it in AMD's library.

use code_object::KernelSignature;
use code_object::occupancy::{VectorFile, is_unified};

use crate::DeviceProperties;

/// Returns how many workgroups of `block_threads` work-items, each with `dynamic_lds` bytes of dynamic LDS, a compute unit holds at
/// once; on gfx11 a workgroup processor, if the kernel is compiled for one. As clr computes it: `hip_platform.cpp`
/// (`ihipOccupancyMaxActiveBlocksPerMultiprocessor`).
pub fn occupancy(
    kernel: &KernelSignature,
    limits: &DeviceProperties,
    block_threads: u32,
    dynamic_lds: u32,
) -> u32 {
    if block_threads > limits.max_threads_per_block {
        return 0;
    }
    let waves = waves_of_unit(kernel, limits.target.processor.name());
    let by_waves = waves / block_threads.max(1).div_ceil(kernel.wavefront_size);
    let lds = kernel.group_segment_fixed_size.saturating_add(dynamic_lds);
    limits.max_lds_per_block.checked_div(lds).map_or(by_waves, |by_lds| by_waves.min(by_lds))
}

/// Returns how many waves of a kernel a compute unit holds, or a workgroup processor of gfx11, as clr computes it:
/// `hip_platform.cpp` (`ihipOccupancyMaxActiveBlocksPerMultiprocessor`), with the figures of `rocdevice.cpp`
/// (`populateOCLDeviceConstants`). Before gfx10, SIMDs have 800 SGPRs for their waves, and eight waves, as 32 are the most of
/// a compute unit.
fn waves_of_unit(kernel: &KernelSignature, processor: &str) -> u32 {
    let Some(file) = VectorFile::of(processor, kernel.wavefront_size == 32) else { return 0 };
    let vgprs = kernel.descriptor.vgprs(is_unified(processor)).next_multiple_of(file.granule);
    let by_vgprs = file.registers / vgprs;
    if processor.starts_with("gfx11") {
        let simds = if kernel.workgroup_processor_mode { 4 } else { 2 };
        return simds * by_vgprs.min(16);
    }
    let by_sgprs = 800 / kernel.sgpr_count.clamp(1, 800).next_multiple_of(16);
    4 * by_vgprs.min(by_sgprs).min(8)
}

/// The limits of a kernel's launches on a device, in the form that a launch checks them.
#[derive(Clone, Copy, Debug)]
pub struct LaunchLimits {
    grid: [u32; 3],
    block: [u32; 3],
    work_items: u64,
    required: Option<[u32; 3]>,
    /// LDS in bytes: what the kernel has by itself, and what a workgroup may have.
    static_lds: u64,
    lds: u64,
}

impl LaunchLimits {
    /// The limits of a kernel on a device with these properties.
    pub fn new(kernel: &KernelSignature, limits: &DeviceProperties) -> LaunchLimits {
        LaunchLimits {
            grid: limits.max_grid,
            block: limits.max_block,
            work_items: limits.max_threads_per_block.min(kernel.max_flat_workgroup_size).into(),
            required: kernel.reqd_workgroup_size,
            static_lds: kernel.group_segment_fixed_size.into(),
            lds: limits.max_lds_per_block.into(),
        }
    }

    /// Whether a launch keeps to them, so that [`configuration_fault`] has no reason to refuse it.
    #[inline]
    pub fn admit(&self, grid: [u32; 3], block: [u32; 3], dynamic_lds: u32) -> bool {
        // From 1 on: of 0, what is subtracted from leaves the largest number.
        let within = |count: u32, most: u32| count.wrapping_sub(1) < most;
        let axis = |n: usize| {
            let items = u64::from(grid[n]) * u64::from(block[n]);
            within(grid[n], self.grid[n]) & within(block[n], self.block[n]) & (items <= u32::MAX.into())
        };
        let [x, y, z] = block.map(u64::from);
        let items = (x * y).saturating_mul(z) <= self.work_items;
        let lds = self.static_lds + u64::from(dynamic_lds) <= self.lds;
        axis(0) & axis(1) & axis(2) & items & lds & self.required.is_none_or(|required| required == block)
    }
}

/// Returns why a device refuses a launch, in half a sentence; `None` if it does not. `grid` is in workgroups, `block` in work-items and
/// `dynamic_lds` in bytes.
pub fn configuration_fault(
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
    use code_object::CodeObject;

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
    fn what_is_admitted_has_no_fault() {
        let mut device = crate::noop::NoopDriver::open().device_properties(crate::DeviceId(0)).unwrap();
        (device.max_grid, device.max_block) = ([1 << 20, 65535, 300], [1024, 512, 64]);
        let mut kernel = kernel(64, false, 0);
        let counts = [0, 1, 2, 3, 63, 64, 65, 300, 301, 512, 513, 1024, 65535, 65536, 1 << 20, u32::MAX];
        let mut seed = 1u64;
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize % below
        };
        let mut seen = [0; 2];
        for _ in 0..20_000 {
            let mut dims =
                || std::array::from_fn(|_| counts[random(counts.len()) % (1 + random(counts.len()))]);
            let (grid, block, required) = (dims(), dims(), dims());
            kernel.reqd_workgroup_size =
                (random(8) == 0).then_some(if random(2) == 0 { block } else { required });
            kernel.max_flat_workgroup_size = [1024, 64][random(2)];
            kernel.group_segment_fixed_size = [0, device.max_lds_per_block, u32::MAX][random(3)];
            let lds = [0, 1, device.max_lds_per_block, u32::MAX][random(4)];
            let fault = configuration_fault(&kernel, &device, grid, block, lds);
            let admitted = LaunchLimits::new(&kernel, &device).admit(grid, block, lds);
            assert_eq!(admitted, fault.is_none(), "{grid:?} {block:?} {lds}: {fault:?}");
            seen[usize::from(admitted)] += 1;
        }
        assert!(seen.iter().all(|count| *count > 100), "{seen:?}");
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
