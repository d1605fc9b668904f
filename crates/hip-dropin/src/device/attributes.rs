//! `hipDeviceAttribute_t`: the numbers of attributes, and their values.

use code_object::Processor;

use crate::abi::c_caller::Out;
use crate::abi::status::Status;
use crate::abi::version::reported_grid;
use crate::process::Device;
use crate::process::call::call;

/// `hipDeviceArch_t`: bits for what the architecture can do. Atomics, doubles, votes, ballots, shuffles, system fences and
/// grids of three dimensions, as clr reports for these GPUs.
pub(crate) const ARCHITECTURE: u32 = 0x97ff;

/// The work-items that a compute unit holds: four SIMDs with eight waves of 64.
const THREADS_PER_UNIT: i32 = 4 * 8 * 64;
/// The frequency of the counter behind `wall_clock64`.
const COUNTER_KHZ: i32 = 100_000;

/// The numbers of `hipDeviceAttribute_t` (HIP 7.2; those of earlier versions are the same).
pub(crate) mod numbers {
    /// The most elements of a one- or two-dimensional texture in a direction (clr, for GPUs of gfx9).
    pub(crate) const TEXTURE_SIDE: i32 = 16384;
    /// The same for three dimensions.
    pub(crate) const TEXTURE_SIDE_3D: i32 = 2048;

    pub(crate) const ECC_ENABLED: i32 = 0;
    pub(crate) const ACCESS_POLICY_MAX_WINDOW_SIZE: i32 = 1;
    pub(crate) const ASYNC_ENGINE_COUNT: i32 = 2;
    pub(crate) const CAN_MAP_HOST_MEMORY: i32 = 3;
    pub(crate) const CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM: i32 = 4;
    pub(crate) const CLOCK_RATE: i32 = 5;
    pub(crate) const COMPUTE_MODE: i32 = 6;
    pub(crate) const COMPUTE_PREEMPTION_SUPPORTED: i32 = 7;
    pub(crate) const CONCURRENT_KERNELS: i32 = 8;
    pub(crate) const CONCURRENT_MANAGED_ACCESS: i32 = 9;
    pub(crate) const COOPERATIVE_LAUNCH: i32 = 10;
    pub(crate) const COOPERATIVE_MULTI_DEVICE_LAUNCH: i32 = 11;
    pub(crate) const DEVICE_OVERLAP: i32 = 12;
    pub(crate) const DIRECT_MANAGED_MEM_ACCESS_FROM_HOST: i32 = 13;
    pub(crate) const GLOBAL_L1_CACHE_SUPPORTED: i32 = 14;
    pub(crate) const HOST_NATIVE_ATOMIC_SUPPORTED: i32 = 15;
    pub(crate) const INTEGRATED: i32 = 16;
    pub(crate) const IS_MULTI_GPU_BOARD: i32 = 17;
    pub(crate) const KERNEL_EXEC_TIMEOUT: i32 = 18;
    pub(crate) const L2_CACHE_SIZE: i32 = 19;
    pub(crate) const LOCAL_L1_CACHE_SUPPORTED: i32 = 20;
    pub(crate) const COMPUTE_CAPABILITY_MAJOR: i32 = 23;
    pub(crate) const MANAGED_MEMORY: i32 = 24;
    pub(crate) const MAX_BLOCKS_PER_MULTIPROCESSOR: i32 = 25;
    pub(crate) const MAX_BLOCK_DIM_X: i32 = 26;
    pub(crate) const MAX_BLOCK_DIM_Y: i32 = 27;
    pub(crate) const MAX_BLOCK_DIM_Z: i32 = 28;
    pub(crate) const MAX_GRID_DIM_X: i32 = 29;
    pub(crate) const MAX_GRID_DIM_Y: i32 = 30;
    pub(crate) const MAX_GRID_DIM_Z: i32 = 31;
    pub(crate) const MAX_SURFACE_1D: i32 = 32;
    pub(crate) const MAX_SURFACE_1D_LAYERED: i32 = 33;
    pub(crate) const MAX_SURFACE_2D: i32 = 34;
    pub(crate) const MAX_SURFACE_2D_LAYERED: i32 = 35;
    pub(crate) const MAX_SURFACE_3D: i32 = 36;
    pub(crate) const MAX_SURFACE_CUBEMAP: i32 = 37;
    pub(crate) const MAX_SURFACE_CUBEMAP_LAYERED: i32 = 38;
    pub(crate) const MAX_TEXTURE_1D_WIDTH: i32 = 39;
    pub(crate) const MAX_TEXTURE_1D_LAYERED: i32 = 40;
    pub(crate) const MAX_TEXTURE_1D_LINEAR: i32 = 41;
    pub(crate) const MAX_TEXTURE_1D_MIPMAP: i32 = 42;
    pub(crate) const MAX_TEXTURE_2D_WIDTH: i32 = 43;
    pub(crate) const MAX_TEXTURE_2D_HEIGHT: i32 = 44;
    pub(crate) const MAX_TEXTURE_2D_GATHER: i32 = 45;
    pub(crate) const MAX_TEXTURE_2D_LAYERED: i32 = 46;
    pub(crate) const MAX_TEXTURE_2D_LINEAR: i32 = 47;
    pub(crate) const MAX_TEXTURE_2D_MIPMAP: i32 = 48;
    pub(crate) const MAX_TEXTURE_3D_WIDTH: i32 = 49;
    pub(crate) const MAX_TEXTURE_3D_HEIGHT: i32 = 50;
    pub(crate) const MAX_TEXTURE_3D_DEPTH: i32 = 51;
    pub(crate) const MAX_TEXTURE_3D_ALT: i32 = 52;
    pub(crate) const MAX_TEXTURE_CUBEMAP: i32 = 53;
    pub(crate) const MAX_TEXTURE_CUBEMAP_LAYERED: i32 = 54;
    pub(crate) const MAX_THREADS_DIM: i32 = 55;
    pub(crate) const MAX_THREADS_PER_BLOCK: i32 = 56;
    pub(crate) const MAX_THREADS_PER_MULTIPROCESSOR: i32 = 57;
    pub(crate) const MAX_PITCH: i32 = 58;
    pub(crate) const MEMORY_BUS_WIDTH: i32 = 59;
    pub(crate) const MEMORY_CLOCK_RATE: i32 = 60;
    pub(crate) const COMPUTE_CAPABILITY_MINOR: i32 = 61;
    pub(crate) const MULTI_GPU_BOARD_GROUP_ID: i32 = 62;
    pub(crate) const MULTIPROCESSOR_COUNT: i32 = 63;
    pub(crate) const PAGEABLE_MEMORY_ACCESS: i32 = 65;
    pub(crate) const PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES: i32 = 66;
    pub(crate) const PCI_BUS_ID: i32 = 67;
    pub(crate) const PCI_DEVICE_ID: i32 = 68;
    pub(crate) const PCI_DOMAIN_ID: i32 = 69;
    pub(crate) const PERSISTING_L2_CACHE_MAX_SIZE: i32 = 70;
    pub(crate) const MAX_REGISTERS_PER_BLOCK: i32 = 71;
    pub(crate) const MAX_REGISTERS_PER_MULTIPROCESSOR: i32 = 72;
    pub(crate) const RESERVED_SHARED_MEM_PER_BLOCK: i32 = 73;
    pub(crate) const MAX_SHARED_MEMORY_PER_BLOCK: i32 = 74;
    pub(crate) const SHARED_MEM_PER_BLOCK_OPTIN: i32 = 75;
    pub(crate) const SHARED_MEM_PER_MULTIPROCESSOR: i32 = 76;
    pub(crate) const SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO: i32 = 77;
    pub(crate) const STREAM_PRIORITIES_SUPPORTED: i32 = 78;
    pub(crate) const SURFACE_ALIGNMENT: i32 = 79;
    pub(crate) const TCC_DRIVER: i32 = 80;
    pub(crate) const TEXTURE_ALIGNMENT: i32 = 81;
    pub(crate) const TEXTURE_PITCH_ALIGNMENT: i32 = 82;
    pub(crate) const TOTAL_CONSTANT_MEMORY: i32 = 83;
    pub(crate) const TOTAL_GLOBAL_MEM: i32 = 84;
    pub(crate) const UNIFIED_ADDRESSING: i32 = 85;
    pub(crate) const WARP_SIZE: i32 = 87;
    pub(crate) const MEMORY_POOLS_SUPPORTED: i32 = 88;
    pub(crate) const VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED: i32 = 89;
    pub(crate) const HOST_REGISTER_SUPPORTED: i32 = 90;
    pub(crate) const MEMORY_POOL_SUPPORTED_HANDLE_TYPES: i32 = 91;
    pub(crate) const CLOCK_INSTRUCTION_RATE: i32 = 10000;
    pub(crate) const MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: i32 = 10002;
    pub(crate) const HDP_MEM_FLUSH_CNTL: i32 = 10005;
    pub(crate) const HDP_REG_FLUSH_CNTL: i32 = 10006;
    pub(crate) const UNMATCHED_FUNC: i32 = 10007;
    pub(crate) const UNMATCHED_GRID_DIM: i32 = 10008;
    pub(crate) const UNMATCHED_BLOCK_DIM: i32 = 10009;
    pub(crate) const UNMATCHED_SHARED_MEM: i32 = 10010;
    pub(crate) const IS_LARGE_BAR: i32 = 10011;
    pub(crate) const ASIC_REVISION: i32 = 10012;
    pub(crate) const CAN_USE_STREAM_WAIT_VALUE: i32 = 10013;
    pub(crate) const IMAGE_SUPPORT: i32 = 10014;
    pub(crate) const PHYSICAL_MULTIPROCESSOR_COUNT: i32 = 10015;
    pub(crate) const FINE_GRAIN_SUPPORT: i32 = 10016;
    pub(crate) const WALL_CLOCK_RATE: i32 = 10017;
    pub(crate) const NUMBER_OF_XCCS: i32 = 10018;
    pub(crate) const MAX_AVAILABLE_VGPRS_PER_THREAD: i32 = 10019;
}

/// Returns the value of an attribute; `None` for an unknown one.
pub(crate) fn attribute(device: &Device, number: i32) -> Option<i32> {
    use numbers::*;
    let properties = &device.properties;
    let int = |value: u32| value.min(i32::MAX as u32) as i32;
    Some(match number {
        ASYNC_ENGINE_COUNT => 2,
        CLOCK_RATE => int(properties.clock_khz),
        COMPUTE_MODE => 0,
        L2_CACHE_SIZE => int(properties.l2_bytes.unwrap_or(0)),
        COMPUTE_CAPABILITY_MAJOR => 9,
        MAX_BLOCKS_PER_MULTIPROCESSOR => THREADS_PER_UNIT / int(properties.wavefront_size),
        MAX_BLOCK_DIM_X => int(properties.max_block[0]),
        MAX_BLOCK_DIM_Y => int(properties.max_block[1]),
        MAX_BLOCK_DIM_Z => int(properties.max_block[2]),
        MAX_GRID_DIM_X => int(reported_grid(properties)[0]),
        MAX_GRID_DIM_Y => int(reported_grid(properties)[1]),
        MAX_GRID_DIM_Z => int(reported_grid(properties)[2]),
        MAX_THREADS_DIM => int(properties.max_block[0]),
        MAX_THREADS_PER_BLOCK => int(properties.max_threads_per_block),
        MAX_THREADS_PER_MULTIPROCESSOR => THREADS_PER_UNIT,
        MAX_PITCH => i32::MAX,
        MEMORY_BUS_WIDTH => int(properties.memory_bus_bits.unwrap_or(0)),
        MEMORY_CLOCK_RATE => int(properties.memory_clock_khz.unwrap_or(0)),
        COMPUTE_CAPABILITY_MINOR => match properties.target.processor {
            Processor::Gfx942 => 4,
            Processor::Gfx950 => 5,
            _ => 0,
        },
        MULTIPROCESSOR_COUNT => int(properties.compute_units),
        PCI_BUS_ID => device.bus(),
        PCI_DEVICE_ID => 0,
        PCI_DOMAIN_ID => 0,
        MAX_REGISTERS_PER_BLOCK => int(properties.registers_per_block.unwrap_or(0)),
        MAX_REGISTERS_PER_MULTIPROCESSOR => int(properties.registers_per_block.unwrap_or(0)),
        MAX_SHARED_MEMORY_PER_BLOCK => int(properties.max_lds_per_block),
        SHARED_MEM_PER_BLOCK_OPTIN => int(properties.max_lds_per_block),
        SHARED_MEM_PER_MULTIPROCESSOR => int(properties.max_lds_per_block),
        SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO => 1,
        SURFACE_ALIGNMENT => 256,
        TEXTURE_ALIGNMENT => 256,
        TEXTURE_PITCH_ALIGNMENT => 256,
        TOTAL_CONSTANT_MEMORY => i32::MAX,
        TOTAL_GLOBAL_MEM => properties.total_memory.min(i32::MAX as u64) as i32,
        WARP_SIZE => int(properties.wavefront_size),
        CLOCK_INSTRUCTION_RATE => COUNTER_KHZ,
        MAX_SHARED_MEMORY_PER_MULTIPROCESSOR => int(properties.max_lds_per_block),
        ASIC_REVISION => 1,
        PHYSICAL_MULTIPROCESSOR_COUNT => int(properties.compute_units),
        WALL_CLOCK_RATE => COUNTER_KHZ,
        NUMBER_OF_XCCS => match properties.target.processor {
            Processor::Gfx942 | Processor::Gfx950 => 8,
            _ => 1,
        },
        MAX_AVAILABLE_VGPRS_PER_THREAD => 512,
        ECC_ENABLED
        | CAN_MAP_HOST_MEMORY
        | CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM
        | COMPUTE_PREEMPTION_SUPPORTED
        | CONCURRENT_KERNELS
        | CONCURRENT_MANAGED_ACCESS
        | COOPERATIVE_LAUNCH
        | COOPERATIVE_MULTI_DEVICE_LAUNCH
        | DEVICE_OVERLAP
        | GLOBAL_L1_CACHE_SUPPORTED
        | HOST_NATIVE_ATOMIC_SUPPORTED
        | LOCAL_L1_CACHE_SUPPORTED
        | MANAGED_MEMORY
        | STREAM_PRIORITIES_SUPPORTED
        | UNIFIED_ADDRESSING
        | MEMORY_POOLS_SUPPORTED
        | HOST_REGISTER_SUPPORTED
        | FINE_GRAIN_SUPPORT
        | CAN_USE_STREAM_WAIT_VALUE => 1,
        // What these GPUs or this library have not.
        ACCESS_POLICY_MAX_WINDOW_SIZE
        | DIRECT_MANAGED_MEM_ACCESS_FROM_HOST
        | INTEGRATED
        | IS_MULTI_GPU_BOARD
        | KERNEL_EXEC_TIMEOUT
        | MAX_SURFACE_1D
        | MAX_SURFACE_1D_LAYERED
        | MAX_SURFACE_2D
        | MAX_SURFACE_2D_LAYERED
        | MAX_SURFACE_3D
        | MAX_SURFACE_CUBEMAP
        | MAX_SURFACE_CUBEMAP_LAYERED
        | MAX_TEXTURE_1D_WIDTH
        | MAX_TEXTURE_1D_LAYERED
        | MAX_TEXTURE_1D_LINEAR
        | MAX_TEXTURE_1D_MIPMAP
        | MAX_TEXTURE_2D_WIDTH
        | MAX_TEXTURE_2D_HEIGHT
        | MAX_TEXTURE_2D_GATHER
        | MAX_TEXTURE_2D_LAYERED
        | MAX_TEXTURE_2D_LINEAR
        | MAX_TEXTURE_2D_MIPMAP
        | MAX_TEXTURE_3D_WIDTH
        | MAX_TEXTURE_3D_HEIGHT
        | MAX_TEXTURE_3D_DEPTH
        | MAX_TEXTURE_3D_ALT
        | MAX_TEXTURE_CUBEMAP
        | MAX_TEXTURE_CUBEMAP_LAYERED
        | MULTI_GPU_BOARD_GROUP_ID
        | PAGEABLE_MEMORY_ACCESS
        | PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES
        | PERSISTING_L2_CACHE_MAX_SIZE
        | RESERVED_SHARED_MEM_PER_BLOCK
        | TCC_DRIVER
        | VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
        | MEMORY_POOL_SUPPORTED_HANDLE_TYPES
        | HDP_MEM_FLUSH_CNTL
        | HDP_REG_FLUSH_CNTL
        | UNMATCHED_FUNC
        | UNMATCHED_GRID_DIM
        | UNMATCHED_BLOCK_DIM
        | UNMATCHED_SHARED_MEM
        | IS_LARGE_BAR
        | IMAGE_SUPPORT => 0,
        _ => return None,
    })
}

#[unsafe(export_name = "emulated_hipDeviceGetAttribute")]
extern "C" fn hipDeviceGetAttribute(value: Out<i32>, number: i32, device: i32) -> Status {
    call("hipDeviceGetAttribute", |process| {
        value.check()?;
        let (_, device) = process.device(device)?;
        value.set(attribute(device, number).ok_or(Status::INVALID_VALUE)?)
    })
}
