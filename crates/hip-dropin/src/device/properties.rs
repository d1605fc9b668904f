//! `hipDeviceProp_t`, in the layout before HIP 6 and in that since.
#![allow(non_snake_case, non_camel_case_types, reason = "the names are those of HIP's headers")]

use hip_driver_emulated::visible;

use crate::abi::structs::c_structs;
use crate::abi::version::reported_grid;
use crate::abi::{HipResult, In, Out, hipUUID};
use crate::device::attributes::{ARCHITECTURE, attribute, numbers, version};
use crate::memory::array::{SIDE, SIDE_3D};
use crate::process::{Device, Process};

c_structs! {
    /// The layout before HIP 6, which `hipGetDeviceProperties` keeps.
    hipDeviceProp_tR0000 {
        name: [u8; 256],
        totalGlobalMem: usize,
        sharedMemPerBlock: usize,
        regsPerBlock: i32,
        warpSize: i32,
        maxThreadsPerBlock: i32,
        maxThreadsDim: [i32; 3],
        maxGridSize: [i32; 3],
        clockRate: i32,
        memoryClockRate: i32,
        memoryBusWidth: i32,
        totalConstMem: usize,
        major: i32,
        minor: i32,
        multiProcessorCount: i32,
        l2CacheSize: i32,
        maxThreadsPerMultiProcessor: i32,
        computeMode: i32,
        clockInstructionRate: i32,
        arch: u32,
        concurrentKernels: i32,
        pciDomainID: i32,
        pciBusID: i32,
        pciDeviceID: i32,
        maxSharedMemoryPerMultiProcessor: usize,
        isMultiGpuBoard: i32,
        canMapHostMemory: i32,
        gcnArch: i32,
        gcnArchName: [u8; 256],
        integrated: i32,
        cooperativeLaunch: i32,
        cooperativeMultiDeviceLaunch: i32,
        maxTexture1DLinear: i32,
        maxTexture1D: i32,
        maxTexture2D: [i32; 2],
        maxTexture3D: [i32; 3],
        hdpMemFlushCntl: usize,
        hdpRegFlushCntl: usize,
        memPitch: usize,
        textureAlignment: usize,
        texturePitchAlignment: usize,
        kernelExecTimeoutEnabled: i32,
        ECCEnabled: i32,
        tccDriver: i32,
        cooperativeMultiDeviceUnmatchedFunc: i32,
        cooperativeMultiDeviceUnmatchedGridDim: i32,
        cooperativeMultiDeviceUnmatchedBlockDim: i32,
        cooperativeMultiDeviceUnmatchedSharedMem: i32,
        isLargeBar: i32,
        asicRevision: i32,
        managedMemory: i32,
        directManagedMemAccessFromHost: i32,
        concurrentManagedAccess: i32,
        pageableMemoryAccess: i32,
        pageableMemoryAccessUsesHostPageTables: i32,
    }
    /// The layout since HIP 6.
    hipDeviceProp_tR0600 {
        name: [u8; 256],
        uuid: hipUUID,
        luid: [u8; 8],
        luidDeviceNodeMask: u32,
        totalGlobalMem: usize,
        sharedMemPerBlock: usize,
        regsPerBlock: i32,
        warpSize: i32,
        memPitch: usize,
        maxThreadsPerBlock: i32,
        maxThreadsDim: [i32; 3],
        maxGridSize: [i32; 3],
        clockRate: i32,
        totalConstMem: usize,
        major: i32,
        minor: i32,
        textureAlignment: usize,
        texturePitchAlignment: usize,
        deviceOverlap: i32,
        multiProcessorCount: i32,
        kernelExecTimeoutEnabled: i32,
        integrated: i32,
        canMapHostMemory: i32,
        computeMode: i32,
        maxTexture1D: i32,
        maxTexture1DMipmap: i32,
        maxTexture1DLinear: i32,
        maxTexture2D: [i32; 2],
        maxTexture2DMipmap: [i32; 2],
        maxTexture2DLinear: [i32; 3],
        maxTexture2DGather: [i32; 2],
        maxTexture3D: [i32; 3],
        maxTexture3DAlt: [i32; 3],
        maxTextureCubemap: i32,
        maxTexture1DLayered: [i32; 2],
        maxTexture2DLayered: [i32; 3],
        maxTextureCubemapLayered: [i32; 2],
        maxSurface1D: i32,
        maxSurface2D: [i32; 2],
        maxSurface3D: [i32; 3],
        maxSurface1DLayered: [i32; 2],
        maxSurface2DLayered: [i32; 3],
        maxSurfaceCubemap: i32,
        maxSurfaceCubemapLayered: [i32; 2],
        surfaceAlignment: usize,
        concurrentKernels: i32,
        ECCEnabled: i32,
        pciBusID: i32,
        pciDeviceID: i32,
        pciDomainID: i32,
        tccDriver: i32,
        asyncEngineCount: i32,
        unifiedAddressing: i32,
        memoryClockRate: i32,
        memoryBusWidth: i32,
        l2CacheSize: i32,
        persistingL2CacheMaxSize: i32,
        maxThreadsPerMultiProcessor: i32,
        streamPrioritiesSupported: i32,
        globalL1CacheSupported: i32,
        localL1CacheSupported: i32,
        sharedMemPerMultiprocessor: usize,
        regsPerMultiprocessor: i32,
        managedMemory: i32,
        isMultiGpuBoard: i32,
        multiGpuBoardGroupID: i32,
        hostNativeAtomicSupported: i32,
        singleToDoublePrecisionPerfRatio: i32,
        pageableMemoryAccess: i32,
        concurrentManagedAccess: i32,
        computePreemptionSupported: i32,
        canUseHostPointerForRegisteredMem: i32,
        cooperativeLaunch: i32,
        cooperativeMultiDeviceLaunch: i32,
        sharedMemPerBlockOptin: usize,
        pageableMemoryAccessUsesHostPageTables: i32,
        directManagedMemAccessFromHost: i32,
        maxBlocksPerMultiProcessor: i32,
        accessPolicyMaxWindowSize: i32,
        reservedSharedMemPerBlock: usize,
        hostRegisterSupported: i32,
        sparseHipArraySupported: i32,
        hostRegisterReadOnlySupported: i32,
        timelineSemaphoreInteropSupported: i32,
        memoryPoolsSupported: i32,
        gpuDirectRDMASupported: i32,
        gpuDirectRDMAFlushWritesOptions: u32,
        gpuDirectRDMAWritesOrdering: i32,
        memoryPoolSupportedHandleTypes: u32,
        deferredMappingHipArraySupported: i32,
        ipcEventSupported: i32,
        clusterLaunch: i32,
        unifiedFunctionPointers: i32,
        reserved: [i32; 63],
        hipReserved: [i32; 32],
        gcnArchName: [u8; 256],
        maxSharedMemoryPerMultiProcessor: usize,
        clockInstructionRate: i32,
        arch: u32,
        hdpMemFlushCntl: usize,
        hdpRegFlushCntl: usize,
        cooperativeMultiDeviceUnmatchedFunc: i32,
        cooperativeMultiDeviceUnmatchedGridDim: i32,
        cooperativeMultiDeviceUnmatchedBlockDim: i32,
        cooperativeMultiDeviceUnmatchedSharedMem: i32,
        isLargeBar: i32,
        asicRevision: i32,
    }
}

/// Sets the fields that both layouts have, from the attributes of the same meaning.
macro_rules! set_common {
    ($to:expr, $device:expr, $($field:ident = $attribute:ident,)*) => {
        let properties = &$device.properties;
        copy_text(&mut $to.name, &properties.name);
        copy_text(&mut $to.gcnArchName, &properties.target.short());
        $to.totalGlobalMem = properties.total_memory as usize;
        $to.maxThreadsDim = properties.max_block.map(|threads| threads as i32);
        $to.maxGridSize = reported_grid(properties).map(|blocks| blocks as i32);
        $to.maxTexture2D = [SIDE; 2];
        $to.maxTexture3D = [SIDE_3D; 3];
        $to.arch = ARCHITECTURE;
        $($to.$field = attribute($device, numbers::$attribute).unwrap_or(0) as _;)*
    };
}

/// The fields of both layouts that are attributes, too.
macro_rules! set_attributes {
    ($to:expr, $device:expr) => {
        set_common!(
            $to,
            $device,
            sharedMemPerBlock = MAX_SHARED_MEMORY_PER_BLOCK,
            regsPerBlock = MAX_REGISTERS_PER_BLOCK,
            warpSize = WARP_SIZE,
            maxThreadsPerBlock = MAX_THREADS_PER_BLOCK,
            clockRate = CLOCK_RATE,
            memoryClockRate = MEMORY_CLOCK_RATE,
            memoryBusWidth = MEMORY_BUS_WIDTH,
            totalConstMem = TOTAL_CONSTANT_MEMORY,
            major = COMPUTE_CAPABILITY_MAJOR,
            minor = COMPUTE_CAPABILITY_MINOR,
            multiProcessorCount = MULTIPROCESSOR_COUNT,
            l2CacheSize = L2_CACHE_SIZE,
            maxThreadsPerMultiProcessor = MAX_THREADS_PER_MULTIPROCESSOR,
            computeMode = COMPUTE_MODE,
            clockInstructionRate = CLOCK_INSTRUCTION_RATE,
            concurrentKernels = CONCURRENT_KERNELS,
            pciDomainID = PCI_DOMAIN_ID,
            pciBusID = PCI_BUS_ID,
            pciDeviceID = PCI_DEVICE_ID,
            maxSharedMemoryPerMultiProcessor = MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
            isMultiGpuBoard = IS_MULTI_GPU_BOARD,
            canMapHostMemory = CAN_MAP_HOST_MEMORY,
            integrated = INTEGRATED,
            cooperativeLaunch = COOPERATIVE_LAUNCH,
            cooperativeMultiDeviceLaunch = COOPERATIVE_MULTI_DEVICE_LAUNCH,
            maxTexture1DLinear = MAX_TEXTURE_1D_LINEAR,
            maxTexture1D = MAX_TEXTURE_1D_WIDTH,
            memPitch = MAX_PITCH,
            textureAlignment = TEXTURE_ALIGNMENT,
            texturePitchAlignment = TEXTURE_PITCH_ALIGNMENT,
            kernelExecTimeoutEnabled = KERNEL_EXEC_TIMEOUT,
            ECCEnabled = ECC_ENABLED,
            tccDriver = TCC_DRIVER,
            isLargeBar = IS_LARGE_BAR,
            asicRevision = ASIC_REVISION,
            managedMemory = MANAGED_MEMORY,
            directManagedMemAccessFromHost = DIRECT_MANAGED_MEM_ACCESS_FROM_HOST,
            concurrentManagedAccess = CONCURRENT_MANAGED_ACCESS,
            pageableMemoryAccess = PAGEABLE_MEMORY_ACCESS,
            pageableMemoryAccessUsesHostPageTables = PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES,
            cooperativeMultiDeviceUnmatchedFunc = UNMATCHED_FUNC,
            cooperativeMultiDeviceUnmatchedGridDim = UNMATCHED_GRID_DIM,
            cooperativeMultiDeviceUnmatchedBlockDim = UNMATCHED_BLOCK_DIM,
            cooperativeMultiDeviceUnmatchedSharedMem = UNMATCHED_SHARED_MEM,
        );
    };
}

/// Copies text and a zero byte.
fn copy_text(to: &mut [u8; 256], text: &str) {
    let end = text.len().min(to.len() - 1);
    to[..end].copy_from_slice(&text.as_bytes()[..end]);
}

pub(crate) fn uuid(device: &Device) -> hipUUID {
    let text = visible::identity(device.ordinal);
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&text.as_bytes()[..16]);
    hipUUID { bytes }
}

pub(crate) fn old_layout(device: &Device) -> hipDeviceProp_tR0000 {
    // SAFETY: the structure has only numbers, for which zero bits are values.
    let mut to: hipDeviceProp_tR0000 = unsafe { std::mem::zeroed() };
    set_attributes!(to, device);
    // The digits of the processor's name: 910 for gfx90a, 1151 for gfx1151, and 940 for the gfx94 processors, as in clr.
    to.gcnArch = match version(&device.properties) {
        [9, 4 | 5, _] => 940,
        [major, minor, stepping] => major * 100 + minor * 10 + stepping,
    };
    to
}

pub(crate) fn new_layout(device: &Device) -> hipDeviceProp_tR0600 {
    // SAFETY: this structure, too, has only numbers, for which zero bits are values.
    let mut to: hipDeviceProp_tR0600 = unsafe { std::mem::zeroed() };
    set_attributes!(to, device);
    let get = |number| attribute(device, number).unwrap_or(0);
    to.uuid = uuid(device);
    to.deviceOverlap = 1;
    to.asyncEngineCount = get(numbers::ASYNC_ENGINE_COUNT);
    to.unifiedAddressing = 1;
    to.streamPrioritiesSupported = 1;
    to.globalL1CacheSupported = 1;
    to.localL1CacheSupported = 1;
    to.sharedMemPerMultiprocessor = to.maxSharedMemoryPerMultiProcessor;
    to.sharedMemPerBlockOptin = to.sharedMemPerBlock;
    to.regsPerMultiprocessor = to.regsPerBlock;
    to.hostNativeAtomicSupported = 1;
    to.canUseHostPointerForRegisteredMem = 1;
    to.maxBlocksPerMultiProcessor = get(numbers::MAX_BLOCKS_PER_MULTIPROCESSOR);
    to.hostRegisterSupported = 1;
    to.memoryPoolsSupported = 1;
    to
}

/// Chooses the first device that has at least what is asked for. All emulated devices are equal.
fn choose(process: &Process, chosen: Out<i32>, fits: impl Fn(&Device) -> bool) -> HipResult {
    chosen.check()?;
    chosen.set(process.devices.iter().position(fits).unwrap_or(0) as i32)
}

pub(crate) fn hipChooseDevice(
    process: &Process,
    chosen: Out<i32>,
    wanted: In<hipDeviceProp_tR0000>,
) -> HipResult {
    chosen.check()?;
    let wanted = wanted.get()?;
    choose(process, chosen, |device| {
        let has = old_layout(device);
        has.totalGlobalMem >= wanted.totalGlobalMem && has.major >= wanted.major
    })
}

pub(crate) fn hipChooseDeviceR0600(
    process: &Process,
    chosen: Out<i32>,
    wanted: In<hipDeviceProp_tR0600>,
) -> HipResult {
    chosen.check()?;
    let wanted = wanted.get()?;
    choose(process, chosen, |device| {
        let has = new_layout(device);
        has.totalGlobalMem >= wanted.totalGlobalMem && has.major >= wanted.major
    })
}
