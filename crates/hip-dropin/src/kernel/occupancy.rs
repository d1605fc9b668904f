//! How many workgroups of a kernel fit on a compute unit, and which size of workgroup fills it best.

use std::sync::Arc;

use crate::abi::{Address, HipResult, Out, Status};
use crate::kernel::launch::{KernelRef, Shape};
use crate::kernel::{KERNELS, Kernel};
use crate::process::Process;

/// `hipOccupancyDisableCachingOverride`, the only flag, which has no effect.
const KNOWN_FLAGS: u32 = 1;

fn blocks_per_unit(process: &Process, kernel: &Kernel, block: u32, lds: usize) -> HipResult<u32> {
    let lds = u32::try_from(lds).map_err(|_| Status::INVALID_VALUE)?;
    // SAFETY: the kernel's module is loaded.
    Ok(unsafe { process.driver.occupancy(kernel.device, kernel.function, block, lds) }?)
}

/// Fails with `COOPERATIVE_LAUNCH_TOO_LARGE` if the device does not have room for all workgroups of a launch at once.
pub(crate) fn check_cooperative(process: &Process, kernel: &Kernel, shape: &Shape) -> HipResult {
    let per_unit = blocks_per_unit(process, kernel, shape.block.iter().product(), shape.lds)?;
    let units = process.devices[kernel.device.0 as usize].properties.compute_units;
    let workgroups = shape.grid.iter().map(|&n| u64::from(n)).fold(1, u64::saturating_mul);
    let fits = workgroups <= u64::from(per_unit) * u64::from(units);
    if fits { Ok(()) } else { Err(Status::COOPERATIVE_LAUNCH_TOO_LARGE) }
}

fn find(process: &Process, kernel: KernelRef, flags: u32) -> HipResult<Arc<Kernel>> {
    if flags > KNOWN_FLAGS {
        return Err(Status::INVALID_VALUE);
    }
    match kernel {
        KernelRef::Host(function) => process.host_kernel(function),
        KernelRef::Module(handle) => KERNELS.expect(handle.0, Status::INVALID_VALUE),
    }
}

/// Writes how many workgroups of a size fit on a compute unit.
pub(crate) fn active_blocks(
    process: &Process,
    blocks: Out<i32>,
    kernel: KernelRef,
    (block, lds): (i32, usize),
    flags: u32,
) -> HipResult {
    blocks.check()?;
    let kernel = &*find(process, kernel, flags)?;
    let limits = &process.devices[kernel.device.0 as usize].properties;
    let block = u32::try_from(block).ok().filter(|block| *block > 0).ok_or(Status::INVALID_VALUE)?;
    if block > limits.max_threads_per_block {
        return blocks.set(0);
    }
    blocks.set(blocks_per_unit(process, kernel, block, lds)? as i32)
}

/// Writes the size of workgroups of at most `limit` work-items that fills the device best, and how many of them do.
pub(crate) fn best_block(
    process: &Process,
    (grid, block): (Out<i32>, Out<i32>),
    kernel: KernelRef,
    (lds, limit): (usize, i32),
    flags: u32,
) -> HipResult {
    grid.check()?;
    block.check()?;
    let kernel = &*find(process, kernel, flags)?;
    // A negative limit is none, like 0.
    let limit = u32::try_from(limit).unwrap_or(0);
    let properties = &process.devices[kernel.device.0 as usize].properties;
    let most = properties.max_threads_per_block.min(kernel.signature.max_flat_workgroup_size);
    let most = if limit == 0 { most } else { most.min(limit) };
    let wave = kernel.signature.wavefront_size;
    let (mut best, mut best_blocks) = (0, 0);
    // From the largest multiple of a wave down: of equally good ones, the largest.
    let mut size = if most < wave { most } else { most / wave * wave };
    while size > 0 {
        let blocks = blocks_per_unit(process, kernel, size, lds)?;
        if blocks * size > best * best_blocks {
            (best, best_blocks) = (size, blocks);
        }
        size = size.saturating_sub(wave);
    }
    grid.set((best_blocks * properties.compute_units) as i32)?;
    block.set(best as i32)
}

pub(crate) fn hipOccupancyAvailableDynamicSMemPerBlock(
    process: &Process,
    bytes: Out<usize>,
    function: Address,
    blocks: i32,
    _block: i32,
) -> HipResult {
    bytes.check()?;
    let kernel = process.host_kernel(function)?;
    let blocks = u32::try_from(blocks).ok().filter(|blocks| *blocks > 0).ok_or(Status::INVALID_VALUE)?;
    let each = process.current().properties.max_lds_per_block / blocks;
    bytes.set(each.saturating_sub(kernel.signature.group_segment_fixed_size) as usize)
}
