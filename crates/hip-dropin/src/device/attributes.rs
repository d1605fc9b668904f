//! `hipDeviceAttribute_t`: the numbers of attributes, and their values.

use hip_driver::DeviceProperties;
use hip_driver_emulated::{Hardware, system};

use crate::abi::version::reported_grid;
use crate::abi::{HipResult, Out, Status};
use crate::memory::array::{LINEAR, SIDE, SIDE_3D};
use crate::process::{Device, Process};
use crate::texture::descriptor::generation;

/// `hipDeviceArch_t`: bits for what the architecture can do. Atomics, doubles, votes, ballots, shuffles, system fences and
/// grids of three dimensions, as clr reports for these GPUs.
pub(crate) const ARCHITECTURE: u32 = 0x97ff;

/// The work-items that a compute unit holds: four SIMDs with eight waves of 64. On gfx11 clr takes a workgroup processor for
/// one, which has four SIMDs with sixteen waves of 32.
const THREADS_PER_UNIT: i32 = 4 * 8 * 64;
/// The frequency of the counter behind `wall_clock64`.
const COUNTER_KHZ: i32 = 100_000;

/// A property as HIP's integers have it.
fn int(value: u32) -> i32 {
    value.min(i32::MAX as u32) as i32
}

/// The version of the architecture: major, minor, stepping.
pub(crate) fn version(properties: &DeviceProperties) -> [i32; 3] {
    let (major, minor, stepping) = properties.target.processor.version().unwrap_or((0, 0, 0));
    [major, minor, stepping].map(int)
}

/// Whether the device is one of CDNA, which have accumulation registers.
fn is_cdna(properties: &DeviceProperties) -> bool {
    version(properties)[0] == 9
}

/// The dies of compute units.
fn dies(properties: &DeviceProperties) -> i32 {
    Hardware::of(properties).map_or(1, |hardware| int(hardware.dies))
}

/// Makes of each row the number of an attribute and its value.
macro_rules! attributes {
    (($device:ident $properties:ident) $($name:ident = $number:literal => $value:expr;)*) => {
        /// The numbers of `hipDeviceAttribute_t` (HIP 7.2; those of earlier versions are the same).
        pub(crate) mod numbers {
            $(#[allow(dead_code, reason = "a complete list")]
            pub(crate) const $name: i32 = $number;)*
        }

        /// Returns the value of an attribute; `None` for an unknown one.
        pub(crate) fn attribute($device: &Device, number: i32) -> Option<i32> {
            let $properties = &$device.properties;
            Some(match number {
                $($number => $value,)*
                _ => return None,
            })
        }
    };
}

// What these GPUs or this library have not is 0.
attributes! { (device properties)
    ECC_ENABLED = 0 => Hardware::of(properties).is_some_and(|hardware| hardware.has_ecc).into();
    ACCESS_POLICY_MAX_WINDOW_SIZE = 1 => 0;
    ASYNC_ENGINE_COUNT = 2 => 2;
    CAN_MAP_HOST_MEMORY = 3 => 1;
    CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM = 4 => 1;
    CLOCK_RATE = 5 => int(properties.clock_khz);
    COMPUTE_MODE = 6 => 0;
    COMPUTE_PREEMPTION_SUPPORTED = 7 => 1;
    CONCURRENT_KERNELS = 8 => 1;
    CONCURRENT_MANAGED_ACCESS = 9 => 1;
    COOPERATIVE_LAUNCH = 10 => 1;
    COOPERATIVE_MULTI_DEVICE_LAUNCH = 11 => 1;
    DEVICE_OVERLAP = 12 => 1;
    DIRECT_MANAGED_MEM_ACCESS_FROM_HOST = 13 => 0;
    GLOBAL_L1_CACHE_SUPPORTED = 14 => 1;
    HOST_NATIVE_ATOMIC_SUPPORTED = 15 => 1;
    INTEGRATED = 16 => 0;
    IS_MULTI_GPU_BOARD = 17 => 0;
    KERNEL_EXEC_TIMEOUT = 18 => 0;
    L2_CACHE_SIZE = 19 => int(properties.l2_bytes.unwrap_or(0));
    LOCAL_L1_CACHE_SUPPORTED = 20 => 1;
    COMPUTE_CAPABILITY_MAJOR = 23 => version(properties)[0];
    MANAGED_MEMORY = 24 => 1;
    MAX_BLOCKS_PER_MULTIPROCESSOR = 25 => THREADS_PER_UNIT / int(properties.wavefront_size);
    MAX_BLOCK_DIM_X = 26 => int(properties.max_block[0]);
    MAX_BLOCK_DIM_Y = 27 => int(properties.max_block[1]);
    MAX_BLOCK_DIM_Z = 28 => int(properties.max_block[2]);
    MAX_GRID_DIM_X = 29 => int(reported_grid(properties)[0]);
    MAX_GRID_DIM_Y = 30 => int(reported_grid(properties)[1]);
    MAX_GRID_DIM_Z = 31 => int(reported_grid(properties)[2]);
    MAX_SURFACE_1D = 32 => 0;
    MAX_SURFACE_1D_LAYERED = 33 => 0;
    MAX_SURFACE_2D = 34 => 0;
    MAX_SURFACE_2D_LAYERED = 35 => 0;
    MAX_SURFACE_3D = 36 => 0;
    MAX_SURFACE_CUBEMAP = 37 => 0;
    MAX_SURFACE_CUBEMAP_LAYERED = 38 => 0;
    MAX_TEXTURE_1D_WIDTH = 39 => SIDE;
    MAX_TEXTURE_1D_LAYERED = 40 => 0;
    MAX_TEXTURE_1D_LINEAR = 41 => LINEAR;
    MAX_TEXTURE_1D_MIPMAP = 42 => 0;
    MAX_TEXTURE_2D_WIDTH = 43 => SIDE;
    MAX_TEXTURE_2D_HEIGHT = 44 => SIDE;
    MAX_TEXTURE_2D_GATHER = 45 => 0;
    MAX_TEXTURE_2D_LAYERED = 46 => 0;
    MAX_TEXTURE_2D_LINEAR = 47 => 0;
    MAX_TEXTURE_2D_MIPMAP = 48 => 0;
    MAX_TEXTURE_3D_WIDTH = 49 => SIDE_3D;
    MAX_TEXTURE_3D_HEIGHT = 50 => SIDE_3D;
    MAX_TEXTURE_3D_DEPTH = 51 => SIDE_3D;
    MAX_TEXTURE_3D_ALT = 52 => 0;
    MAX_TEXTURE_CUBEMAP = 53 => 0;
    MAX_TEXTURE_CUBEMAP_LAYERED = 54 => 0;
    MAX_THREADS_DIM = 55 => int(properties.max_block[0]);
    MAX_THREADS_PER_BLOCK = 56 => int(properties.max_threads_per_block);
    MAX_THREADS_PER_MULTIPROCESSOR = 57 => THREADS_PER_UNIT;
    MAX_PITCH = 58 => i32::MAX;
    MEMORY_BUS_WIDTH = 59 => int(properties.memory_bus_bits.unwrap_or(0));
    MEMORY_CLOCK_RATE = 60 => int(properties.memory_clock_khz.unwrap_or(0));
    COMPUTE_CAPABILITY_MINOR = 61 => version(properties)[1];
    MULTI_GPU_BOARD_GROUP_ID = 62 => 0;
    MULTIPROCESSOR_COUNT = 63 => int(properties.compute_units);
    PAGEABLE_MEMORY_ACCESS = 65 => 0;
    PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES = 66 => 0;
    PCI_BUS_ID = 67 => device.bus();
    PCI_DEVICE_ID = 68 => 0;
    PCI_DOMAIN_ID = 69 => 0;
    PERSISTING_L2_CACHE_MAX_SIZE = 70 => 0;
    MAX_REGISTERS_PER_BLOCK = 71 => int(properties.registers_per_block.unwrap_or(0));
    MAX_REGISTERS_PER_MULTIPROCESSOR = 72 => int(properties.registers_per_block.unwrap_or(0));
    RESERVED_SHARED_MEM_PER_BLOCK = 73 => 0;
    MAX_SHARED_MEMORY_PER_BLOCK = 74 => int(properties.max_lds_per_block);
    SHARED_MEM_PER_BLOCK_OPTIN = 75 => int(properties.max_lds_per_block);
    SHARED_MEM_PER_MULTIPROCESSOR = 76 => int(properties.max_lds_per_block);
    SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO = 77 => 1;
    STREAM_PRIORITIES_SUPPORTED = 78 => 1;
    SURFACE_ALIGNMENT = 79 => 256;
    TCC_DRIVER = 80 => 0;
    TEXTURE_ALIGNMENT = 81 => 256;
    TEXTURE_PITCH_ALIGNMENT = 82 => 256;
    TOTAL_CONSTANT_MEMORY = 83 => i32::MAX;
    TOTAL_GLOBAL_MEM = 84 => properties.total_memory.min(i32::MAX as u64) as i32;
    UNIFIED_ADDRESSING = 85 => 1;
    WARP_SIZE = 87 => int(properties.wavefront_size);
    MEMORY_POOLS_SUPPORTED = 88 => 1;
    VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 89 => device.has_virtual_memory.into();
    HOST_REGISTER_SUPPORTED = 90 => 1;
    MEMORY_POOL_SUPPORTED_HANDLE_TYPES = 91 => 0;
    CLOCK_INSTRUCTION_RATE = 10000 => COUNTER_KHZ;
    MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 10002 => int(properties.max_lds_per_block);
    HDP_MEM_FLUSH_CNTL = 10005 => 0;
    HDP_REG_FLUSH_CNTL = 10006 => 0;
    UNMATCHED_FUNC = 10007 => 0;
    UNMATCHED_GRID_DIM = 10008 => 0;
    UNMATCHED_BLOCK_DIM = 10009 => 0;
    UNMATCHED_SHARED_MEM = 10010 => 0;
    IS_LARGE_BAR = 10011 => 0;
    ASIC_REVISION = 10012 => int(system::REVISION);
    CAN_USE_STREAM_WAIT_VALUE = 10013 => 1;
    IMAGE_SUPPORT = 10014 => generation(&properties.target.processor).is_some().into();
    PHYSICAL_MULTIPROCESSOR_COUNT = 10015 => int(properties.compute_units);
    FINE_GRAIN_SUPPORT = 10016 => 1;
    WALL_CLOCK_RATE = 10017 => COUNTER_KHZ;
    NUMBER_OF_XCCS = 10018 => dies(properties);
    // comgr's `AddressableNumVGPRs`.
    MAX_AVAILABLE_VGPRS_PER_THREAD = 10019 => if is_cdna(properties) { 512 } else { 256 };
}

pub(crate) fn hipDeviceGetAttribute(
    process: &Process,
    value: Out<i32>,
    number: i32,
    device: i32,
) -> HipResult {
    value.check()?;
    let (_, device) = process.device(device)?;
    value.set(attribute(device, number).ok_or(Status::INVALID_VALUE)?)
}

#[cfg(test)]
mod tests {
    use hip_driver::{DeviceId, Driver};
    use hip_driver_emulated::{EmulatedDriver, EmulatorOptions};

    use super::*;
    use crate::device::properties::{new_layout, old_layout};

    fn device(target: &str) -> Device {
        let target = target.parse().unwrap();
        let driver = EmulatedDriver::new(EmulatorOptions { target, ..EmulatorOptions::single_threaded() });
        Device::new(0, driver.unwrap().device_properties(DeviceId(0)).unwrap())
    }

    #[test]
    fn devices_are_described_by_their_architecture() {
        use numbers::*;
        let all = [
            COMPUTE_CAPABILITY_MAJOR,
            COMPUTE_CAPABILITY_MINOR,
            WARP_SIZE,
            MULTIPROCESSOR_COUNT,
            MAX_THREADS_PER_MULTIPROCESSOR,
            MAX_BLOCKS_PER_MULTIPROCESSOR,
            MAX_AVAILABLE_VGPRS_PER_THREAD,
            MAX_REGISTERS_PER_BLOCK,
            ECC_ENABLED,
            IMAGE_SUPPORT,
        ];
        for (target, architecture, expected) in [
            ("gfx90a", 910, [9, 0, 64, 104, 2048, 32, 512, 131_072, 1, 1]),
            ("gfx942", 940, [9, 4, 64, 304, 2048, 32, 512, 131_072, 1, 0]),
            ("gfx1100", 1100, [11, 0, 32, 48, 2048, 64, 256, 196_608, 0, 1]),
            ("gfx1151", 1151, [11, 5, 32, 20, 2048, 64, 256, 196_608, 0, 1]),
        ] {
            let device = device(target);
            assert_eq!(all.map(|number| attribute(&device, number).unwrap()), expected, "{target}");
            let (old, new) = (old_layout(&device), new_layout(&device));
            assert_eq!((old.gcnArch, old.warpSize, new.warpSize), (architecture, expected[2], expected[2]));
            assert_eq!((new.major, new.minor), (expected[0], expected[1]), "{target}");
        }
    }
}
