//! What the driver uses of AMD's `hip_runtime_api.h`: written by the feature `bindgen`, not by hand.
pub type hipDeviceArch_t = u32;

pub const hipStreamNonBlocking: u32 = 1;
pub const hipEventDefault: u32 = 0;
pub const hipEventDisableTiming: u32 = 2;
pub const hipHostMallocDefault: u32 = 0;
#[repr(C)]
pub struct hipDeviceProp_t {
    pub name: [::core::ffi::c_char; 256usize],
    pub totalGlobalMem: usize,
    pub sharedMemPerBlock: usize,
    pub regsPerBlock: ::core::ffi::c_int,
    pub warpSize: ::core::ffi::c_int,
    pub maxThreadsPerBlock: ::core::ffi::c_int,
    pub maxThreadsDim: [::core::ffi::c_int; 3usize],
    pub maxGridSize: [::core::ffi::c_int; 3usize],
    pub clockRate: ::core::ffi::c_int,
    pub memoryClockRate: ::core::ffi::c_int,
    pub memoryBusWidth: ::core::ffi::c_int,
    pub totalConstMem: usize,
    pub major: ::core::ffi::c_int,
    pub minor: ::core::ffi::c_int,
    pub multiProcessorCount: ::core::ffi::c_int,
    pub l2CacheSize: ::core::ffi::c_int,
    pub maxThreadsPerMultiProcessor: ::core::ffi::c_int,
    pub computeMode: ::core::ffi::c_int,
    pub clockInstructionRate: ::core::ffi::c_int,
    pub arch: hipDeviceArch_t,
    pub concurrentKernels: ::core::ffi::c_int,
    pub pciDomainID: ::core::ffi::c_int,
    pub pciBusID: ::core::ffi::c_int,
    pub pciDeviceID: ::core::ffi::c_int,
    pub maxSharedMemoryPerMultiProcessor: usize,
    pub isMultiGpuBoard: ::core::ffi::c_int,
    pub canMapHostMemory: ::core::ffi::c_int,
    pub gcnArch: ::core::ffi::c_int,
    pub gcnArchName: [::core::ffi::c_char; 256usize],
    pub integrated: ::core::ffi::c_int,
    pub cooperativeLaunch: ::core::ffi::c_int,
    pub cooperativeMultiDeviceLaunch: ::core::ffi::c_int,
    pub maxTexture1DLinear: ::core::ffi::c_int,
    pub maxTexture1D: ::core::ffi::c_int,
    pub maxTexture2D: [::core::ffi::c_int; 2usize],
    pub maxTexture3D: [::core::ffi::c_int; 3usize],
    pub hdpMemFlushCntl: *mut ::core::ffi::c_uint,
    pub hdpRegFlushCntl: *mut ::core::ffi::c_uint,
    pub memPitch: usize,
    pub textureAlignment: usize,
    pub texturePitchAlignment: usize,
    pub kernelExecTimeoutEnabled: ::core::ffi::c_int,
    pub ECCEnabled: ::core::ffi::c_int,
    pub tccDriver: ::core::ffi::c_int,
    pub cooperativeMultiDeviceUnmatchedFunc: ::core::ffi::c_int,
    pub cooperativeMultiDeviceUnmatchedGridDim: ::core::ffi::c_int,
    pub cooperativeMultiDeviceUnmatchedBlockDim: ::core::ffi::c_int,
    pub cooperativeMultiDeviceUnmatchedSharedMem: ::core::ffi::c_int,
    pub isLargeBar: ::core::ffi::c_int,
    pub asicRevision: ::core::ffi::c_int,
    pub managedMemory: ::core::ffi::c_int,
    pub directManagedMemAccessFromHost: ::core::ffi::c_int,
    pub concurrentManagedAccess: ::core::ffi::c_int,
    pub pageableMemoryAccess: ::core::ffi::c_int,
    pub pageableMemoryAccessUsesHostPageTables: ::core::ffi::c_int,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of hipDeviceProp_t"][::core::mem::size_of::<hipDeviceProp_t>() - 792usize];
    ["Alignment of hipDeviceProp_t"][::core::mem::align_of::<hipDeviceProp_t>() - 8usize];
    ["Offset of field: hipDeviceProp_t::name"][::core::mem::offset_of!(hipDeviceProp_t, name) - 0usize];
    ["Offset of field: hipDeviceProp_t::totalGlobalMem"]
        [::core::mem::offset_of!(hipDeviceProp_t, totalGlobalMem) - 256usize];
    ["Offset of field: hipDeviceProp_t::sharedMemPerBlock"]
        [::core::mem::offset_of!(hipDeviceProp_t, sharedMemPerBlock) - 264usize];
    ["Offset of field: hipDeviceProp_t::regsPerBlock"]
        [::core::mem::offset_of!(hipDeviceProp_t, regsPerBlock) - 272usize];
    ["Offset of field: hipDeviceProp_t::warpSize"]
        [::core::mem::offset_of!(hipDeviceProp_t, warpSize) - 276usize];
    ["Offset of field: hipDeviceProp_t::maxThreadsPerBlock"]
        [::core::mem::offset_of!(hipDeviceProp_t, maxThreadsPerBlock) - 280usize];
    ["Offset of field: hipDeviceProp_t::maxThreadsDim"]
        [::core::mem::offset_of!(hipDeviceProp_t, maxThreadsDim) - 284usize];
    ["Offset of field: hipDeviceProp_t::maxGridSize"]
        [::core::mem::offset_of!(hipDeviceProp_t, maxGridSize) - 296usize];
    ["Offset of field: hipDeviceProp_t::clockRate"]
        [::core::mem::offset_of!(hipDeviceProp_t, clockRate) - 308usize];
    ["Offset of field: hipDeviceProp_t::memoryClockRate"]
        [::core::mem::offset_of!(hipDeviceProp_t, memoryClockRate) - 312usize];
    ["Offset of field: hipDeviceProp_t::memoryBusWidth"]
        [::core::mem::offset_of!(hipDeviceProp_t, memoryBusWidth) - 316usize];
    ["Offset of field: hipDeviceProp_t::totalConstMem"]
        [::core::mem::offset_of!(hipDeviceProp_t, totalConstMem) - 320usize];
    ["Offset of field: hipDeviceProp_t::major"][::core::mem::offset_of!(hipDeviceProp_t, major) - 328usize];
    ["Offset of field: hipDeviceProp_t::minor"][::core::mem::offset_of!(hipDeviceProp_t, minor) - 332usize];
    ["Offset of field: hipDeviceProp_t::multiProcessorCount"]
        [::core::mem::offset_of!(hipDeviceProp_t, multiProcessorCount) - 336usize];
    ["Offset of field: hipDeviceProp_t::l2CacheSize"]
        [::core::mem::offset_of!(hipDeviceProp_t, l2CacheSize) - 340usize];
    ["Offset of field: hipDeviceProp_t::maxThreadsPerMultiProcessor"]
        [::core::mem::offset_of!(hipDeviceProp_t, maxThreadsPerMultiProcessor) - 344usize];
    ["Offset of field: hipDeviceProp_t::computeMode"]
        [::core::mem::offset_of!(hipDeviceProp_t, computeMode) - 348usize];
    ["Offset of field: hipDeviceProp_t::clockInstructionRate"]
        [::core::mem::offset_of!(hipDeviceProp_t, clockInstructionRate) - 352usize];
    ["Offset of field: hipDeviceProp_t::arch"][::core::mem::offset_of!(hipDeviceProp_t, arch) - 356usize];
    ["Offset of field: hipDeviceProp_t::concurrentKernels"]
        [::core::mem::offset_of!(hipDeviceProp_t, concurrentKernels) - 360usize];
    ["Offset of field: hipDeviceProp_t::pciDomainID"]
        [::core::mem::offset_of!(hipDeviceProp_t, pciDomainID) - 364usize];
    ["Offset of field: hipDeviceProp_t::pciBusID"]
        [::core::mem::offset_of!(hipDeviceProp_t, pciBusID) - 368usize];
    ["Offset of field: hipDeviceProp_t::pciDeviceID"]
        [::core::mem::offset_of!(hipDeviceProp_t, pciDeviceID) - 372usize];
    ["Offset of field: hipDeviceProp_t::maxSharedMemoryPerMultiProcessor"]
        [::core::mem::offset_of!(hipDeviceProp_t, maxSharedMemoryPerMultiProcessor) - 376usize];
    ["Offset of field: hipDeviceProp_t::isMultiGpuBoard"]
        [::core::mem::offset_of!(hipDeviceProp_t, isMultiGpuBoard) - 384usize];
    ["Offset of field: hipDeviceProp_t::canMapHostMemory"]
        [::core::mem::offset_of!(hipDeviceProp_t, canMapHostMemory) - 388usize];
    ["Offset of field: hipDeviceProp_t::gcnArch"]
        [::core::mem::offset_of!(hipDeviceProp_t, gcnArch) - 392usize];
    ["Offset of field: hipDeviceProp_t::gcnArchName"]
        [::core::mem::offset_of!(hipDeviceProp_t, gcnArchName) - 396usize];
    ["Offset of field: hipDeviceProp_t::integrated"]
        [::core::mem::offset_of!(hipDeviceProp_t, integrated) - 652usize];
    ["Offset of field: hipDeviceProp_t::cooperativeLaunch"]
        [::core::mem::offset_of!(hipDeviceProp_t, cooperativeLaunch) - 656usize];
    ["Offset of field: hipDeviceProp_t::cooperativeMultiDeviceLaunch"]
        [::core::mem::offset_of!(hipDeviceProp_t, cooperativeMultiDeviceLaunch) - 660usize];
    ["Offset of field: hipDeviceProp_t::maxTexture1DLinear"]
        [::core::mem::offset_of!(hipDeviceProp_t, maxTexture1DLinear) - 664usize];
    ["Offset of field: hipDeviceProp_t::maxTexture1D"]
        [::core::mem::offset_of!(hipDeviceProp_t, maxTexture1D) - 668usize];
    ["Offset of field: hipDeviceProp_t::maxTexture2D"]
        [::core::mem::offset_of!(hipDeviceProp_t, maxTexture2D) - 672usize];
    ["Offset of field: hipDeviceProp_t::maxTexture3D"]
        [::core::mem::offset_of!(hipDeviceProp_t, maxTexture3D) - 680usize];
    ["Offset of field: hipDeviceProp_t::hdpMemFlushCntl"]
        [::core::mem::offset_of!(hipDeviceProp_t, hdpMemFlushCntl) - 696usize];
    ["Offset of field: hipDeviceProp_t::hdpRegFlushCntl"]
        [::core::mem::offset_of!(hipDeviceProp_t, hdpRegFlushCntl) - 704usize];
    ["Offset of field: hipDeviceProp_t::memPitch"]
        [::core::mem::offset_of!(hipDeviceProp_t, memPitch) - 712usize];
    ["Offset of field: hipDeviceProp_t::textureAlignment"]
        [::core::mem::offset_of!(hipDeviceProp_t, textureAlignment) - 720usize];
    ["Offset of field: hipDeviceProp_t::texturePitchAlignment"]
        [::core::mem::offset_of!(hipDeviceProp_t, texturePitchAlignment) - 728usize];
    ["Offset of field: hipDeviceProp_t::kernelExecTimeoutEnabled"]
        [::core::mem::offset_of!(hipDeviceProp_t, kernelExecTimeoutEnabled) - 736usize];
    ["Offset of field: hipDeviceProp_t::ECCEnabled"]
        [::core::mem::offset_of!(hipDeviceProp_t, ECCEnabled) - 740usize];
    ["Offset of field: hipDeviceProp_t::tccDriver"]
        [::core::mem::offset_of!(hipDeviceProp_t, tccDriver) - 744usize];
    ["Offset of field: hipDeviceProp_t::cooperativeMultiDeviceUnmatchedFunc"]
        [::core::mem::offset_of!(hipDeviceProp_t, cooperativeMultiDeviceUnmatchedFunc) - 748usize];
    ["Offset of field: hipDeviceProp_t::cooperativeMultiDeviceUnmatchedGridDim"]
        [::core::mem::offset_of!(hipDeviceProp_t, cooperativeMultiDeviceUnmatchedGridDim) - 752usize];
    ["Offset of field: hipDeviceProp_t::cooperativeMultiDeviceUnmatchedBlockDim"]
        [::core::mem::offset_of!(hipDeviceProp_t, cooperativeMultiDeviceUnmatchedBlockDim) - 756usize];
    ["Offset of field: hipDeviceProp_t::cooperativeMultiDeviceUnmatchedSharedMem"]
        [::core::mem::offset_of!(hipDeviceProp_t, cooperativeMultiDeviceUnmatchedSharedMem) - 760usize];
    ["Offset of field: hipDeviceProp_t::isLargeBar"]
        [::core::mem::offset_of!(hipDeviceProp_t, isLargeBar) - 764usize];
    ["Offset of field: hipDeviceProp_t::asicRevision"]
        [::core::mem::offset_of!(hipDeviceProp_t, asicRevision) - 768usize];
    ["Offset of field: hipDeviceProp_t::managedMemory"]
        [::core::mem::offset_of!(hipDeviceProp_t, managedMemory) - 772usize];
    ["Offset of field: hipDeviceProp_t::directManagedMemAccessFromHost"]
        [::core::mem::offset_of!(hipDeviceProp_t, directManagedMemAccessFromHost) - 776usize];
    ["Offset of field: hipDeviceProp_t::concurrentManagedAccess"]
        [::core::mem::offset_of!(hipDeviceProp_t, concurrentManagedAccess) - 780usize];
    ["Offset of field: hipDeviceProp_t::pageableMemoryAccess"]
        [::core::mem::offset_of!(hipDeviceProp_t, pageableMemoryAccess) - 784usize];
    ["Offset of field: hipDeviceProp_t::pageableMemoryAccessUsesHostPageTables"]
        [::core::mem::offset_of!(hipDeviceProp_t, pageableMemoryAccessUsesHostPageTables) - 788usize];
};
impl hipMemoryType {
    pub const hipMemoryTypeHost: hipMemoryType = hipMemoryType(0);
    pub const hipMemoryTypeDevice: hipMemoryType = hipMemoryType(1);
    pub const hipMemoryTypeArray: hipMemoryType = hipMemoryType(2);
    pub const hipMemoryTypeUnified: hipMemoryType = hipMemoryType(3);
}
#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct hipMemoryType(pub ::core::ffi::c_uint);
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct hipPointerAttribute_t {
    pub memoryType: hipMemoryType,
    pub device: ::core::ffi::c_int,
    pub devicePointer: *mut ::core::ffi::c_void,
    pub hostPointer: *mut ::core::ffi::c_void,
    pub isManaged: ::core::ffi::c_int,
    pub allocationFlags: ::core::ffi::c_uint,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of hipPointerAttribute_t"][::core::mem::size_of::<hipPointerAttribute_t>() - 32usize];
    ["Alignment of hipPointerAttribute_t"][::core::mem::align_of::<hipPointerAttribute_t>() - 8usize];
    ["Offset of field: hipPointerAttribute_t::memoryType"]
        [::core::mem::offset_of!(hipPointerAttribute_t, memoryType) - 0usize];
    ["Offset of field: hipPointerAttribute_t::device"]
        [::core::mem::offset_of!(hipPointerAttribute_t, device) - 4usize];
    ["Offset of field: hipPointerAttribute_t::devicePointer"]
        [::core::mem::offset_of!(hipPointerAttribute_t, devicePointer) - 8usize];
    ["Offset of field: hipPointerAttribute_t::hostPointer"]
        [::core::mem::offset_of!(hipPointerAttribute_t, hostPointer) - 16usize];
    ["Offset of field: hipPointerAttribute_t::isManaged"]
        [::core::mem::offset_of!(hipPointerAttribute_t, isManaged) - 24usize];
    ["Offset of field: hipPointerAttribute_t::allocationFlags"]
        [::core::mem::offset_of!(hipPointerAttribute_t, allocationFlags) - 28usize];
};
impl hipError_t {
    pub const hipSuccess: hipError_t = hipError_t(0);
    pub const hipErrorNotReady: hipError_t = hipError_t(600);
}
#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct hipError_t(pub ::core::ffi::c_uint);
impl hipDeviceAttribute_t {
    pub const hipDeviceAttributeClockRate: hipDeviceAttribute_t = hipDeviceAttribute_t(5);
    pub const hipDeviceAttributeL2CacheSize: hipDeviceAttribute_t = hipDeviceAttribute_t(19);
    pub const hipDeviceAttributeManagedMemory: hipDeviceAttribute_t = hipDeviceAttribute_t(24);
    pub const hipDeviceAttributeMaxBlockDimX: hipDeviceAttribute_t = hipDeviceAttribute_t(26);
    pub const hipDeviceAttributeMaxBlockDimY: hipDeviceAttribute_t = hipDeviceAttribute_t(27);
    pub const hipDeviceAttributeMaxBlockDimZ: hipDeviceAttribute_t = hipDeviceAttribute_t(28);
    pub const hipDeviceAttributeMaxGridDimX: hipDeviceAttribute_t = hipDeviceAttribute_t(29);
    pub const hipDeviceAttributeMaxGridDimY: hipDeviceAttribute_t = hipDeviceAttribute_t(30);
    pub const hipDeviceAttributeMaxGridDimZ: hipDeviceAttribute_t = hipDeviceAttribute_t(31);
    pub const hipDeviceAttributeMaxThreadsPerBlock: hipDeviceAttribute_t = hipDeviceAttribute_t(56);
    pub const hipDeviceAttributeMemoryBusWidth: hipDeviceAttribute_t = hipDeviceAttribute_t(59);
    pub const hipDeviceAttributeMemoryClockRate: hipDeviceAttribute_t = hipDeviceAttribute_t(60);
    pub const hipDeviceAttributeMultiprocessorCount: hipDeviceAttribute_t = hipDeviceAttribute_t(63);
    pub const hipDeviceAttributeMaxRegistersPerBlock: hipDeviceAttribute_t = hipDeviceAttribute_t(71);
    pub const hipDeviceAttributeMaxSharedMemoryPerBlock: hipDeviceAttribute_t = hipDeviceAttribute_t(74);
    pub const hipDeviceAttributeWarpSize: hipDeviceAttribute_t = hipDeviceAttribute_t(87);
    pub const hipDeviceAttributeCanUseStreamWaitValue: hipDeviceAttribute_t = hipDeviceAttribute_t(10013);
}
#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct hipDeviceAttribute_t(pub ::core::ffi::c_uint);
pub type hipDeviceptr_t = *mut ::core::ffi::c_void;
impl hipMemcpyKind {
    pub const hipMemcpyHostToHost: hipMemcpyKind = hipMemcpyKind(0);
    pub const hipMemcpyHostToDevice: hipMemcpyKind = hipMemcpyKind(1);
    pub const hipMemcpyDeviceToHost: hipMemcpyKind = hipMemcpyKind(2);
    pub const hipMemcpyDeviceToDevice: hipMemcpyKind = hipMemcpyKind(3);
    pub const hipMemcpyDefault: hipMemcpyKind = hipMemcpyKind(4);
}
#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct hipMemcpyKind(pub ::core::ffi::c_uint);
pub type hipDevice_t = ::core::ffi::c_int;
#[repr(C)]
#[derive(Debug)]
pub struct ihipStream_t {
    _unused: [u8; 0],
}
pub type hipStream_t = *mut ihipStream_t;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct hipIpcMemHandle_st {
    pub reserved: [::core::ffi::c_char; 64usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of hipIpcMemHandle_st"][::core::mem::size_of::<hipIpcMemHandle_st>() - 64usize];
    ["Alignment of hipIpcMemHandle_st"][::core::mem::align_of::<hipIpcMemHandle_st>() - 1usize];
    ["Offset of field: hipIpcMemHandle_st::reserved"]
        [::core::mem::offset_of!(hipIpcMemHandle_st, reserved) - 0usize];
};
pub type hipIpcMemHandle_t = hipIpcMemHandle_st;
#[repr(C)]
#[derive(Debug)]
pub struct ihipModule_t {
    _unused: [u8; 0],
}
pub type hipModule_t = *mut ihipModule_t;
#[repr(C)]
#[derive(Debug)]
pub struct ihipModuleSymbol_t {
    _unused: [u8; 0],
}
pub type hipFunction_t = *mut ihipModuleSymbol_t;
#[repr(C)]
#[derive(Debug)]
pub struct ihipMemPoolHandle_t {
    _unused: [u8; 0],
}
pub type hipMemPool_t = *mut ihipMemPoolHandle_t;
#[repr(C)]
#[derive(Debug)]
pub struct ihipEvent_t {
    _unused: [u8; 0],
}
pub type hipEvent_t = *mut ihipEvent_t;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct dim3 {
    pub x: u32,
    pub y: u32,
    pub z: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of dim3"][::core::mem::size_of::<dim3>() - 12usize];
    ["Alignment of dim3"][::core::mem::align_of::<dim3>() - 4usize];
    ["Offset of field: dim3::x"][::core::mem::offset_of!(dim3, x) - 0usize];
    ["Offset of field: dim3::y"][::core::mem::offset_of!(dim3, y) - 4usize];
    ["Offset of field: dim3::z"][::core::mem::offset_of!(dim3, z) - 8usize];
};
#[repr(C)]
#[derive(Debug)]
pub struct ihipGraph {
    _unused: [u8; 0],
}
pub type hipGraph_t = *mut ihipGraph;
#[repr(C)]
#[derive(Debug)]
pub struct hipGraphNode {
    _unused: [u8; 0],
}
pub type hipGraphNode_t = *mut hipGraphNode;
#[repr(C)]
#[derive(Debug)]
pub struct hipGraphExec {
    _unused: [u8; 0],
}
pub type hipGraphExec_t = *mut hipGraphExec;
pub type hipHostFn_t = ::core::option::Option<unsafe extern "C" fn(userData: *mut ::core::ffi::c_void)>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct hipHostNodeParams {
    pub fn_: hipHostFn_t,
    pub userData: *mut ::core::ffi::c_void,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of hipHostNodeParams"][::core::mem::size_of::<hipHostNodeParams>() - 16usize];
    ["Alignment of hipHostNodeParams"][::core::mem::align_of::<hipHostNodeParams>() - 8usize];
    ["Offset of field: hipHostNodeParams::fn_"][::core::mem::offset_of!(hipHostNodeParams, fn_) - 0usize];
    ["Offset of field: hipHostNodeParams::userData"]
        [::core::mem::offset_of!(hipHostNodeParams, userData) - 8usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct hipKernelNodeParams {
    pub blockDim: dim3,
    pub extra: *mut *mut ::core::ffi::c_void,
    pub func: *mut ::core::ffi::c_void,
    pub gridDim: dim3,
    pub kernelParams: *mut *mut ::core::ffi::c_void,
    pub sharedMemBytes: ::core::ffi::c_uint,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of hipKernelNodeParams"][::core::mem::size_of::<hipKernelNodeParams>() - 64usize];
    ["Alignment of hipKernelNodeParams"][::core::mem::align_of::<hipKernelNodeParams>() - 8usize];
    ["Offset of field: hipKernelNodeParams::blockDim"]
        [::core::mem::offset_of!(hipKernelNodeParams, blockDim) - 0usize];
    ["Offset of field: hipKernelNodeParams::extra"]
        [::core::mem::offset_of!(hipKernelNodeParams, extra) - 16usize];
    ["Offset of field: hipKernelNodeParams::func"]
        [::core::mem::offset_of!(hipKernelNodeParams, func) - 24usize];
    ["Offset of field: hipKernelNodeParams::gridDim"]
        [::core::mem::offset_of!(hipKernelNodeParams, gridDim) - 32usize];
    ["Offset of field: hipKernelNodeParams::kernelParams"]
        [::core::mem::offset_of!(hipKernelNodeParams, kernelParams) - 48usize];
    ["Offset of field: hipKernelNodeParams::sharedMemBytes"]
        [::core::mem::offset_of!(hipKernelNodeParams, sharedMemBytes) - 56usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct hipMemsetParams {
    pub dst: *mut ::core::ffi::c_void,
    pub elementSize: ::core::ffi::c_uint,
    pub height: usize,
    pub pitch: usize,
    pub value: ::core::ffi::c_uint,
    pub width: usize,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of hipMemsetParams"][::core::mem::size_of::<hipMemsetParams>() - 48usize];
    ["Alignment of hipMemsetParams"][::core::mem::align_of::<hipMemsetParams>() - 8usize];
    ["Offset of field: hipMemsetParams::dst"][::core::mem::offset_of!(hipMemsetParams, dst) - 0usize];
    ["Offset of field: hipMemsetParams::elementSize"]
        [::core::mem::offset_of!(hipMemsetParams, elementSize) - 8usize];
    ["Offset of field: hipMemsetParams::height"][::core::mem::offset_of!(hipMemsetParams, height) - 16usize];
    ["Offset of field: hipMemsetParams::pitch"][::core::mem::offset_of!(hipMemsetParams, pitch) - 24usize];
    ["Offset of field: hipMemsetParams::value"][::core::mem::offset_of!(hipMemsetParams, value) - 32usize];
    ["Offset of field: hipMemsetParams::width"][::core::mem::offset_of!(hipMemsetParams, width) - 40usize];
};
impl hipStreamCaptureMode {
    pub const hipStreamCaptureModeGlobal: hipStreamCaptureMode = hipStreamCaptureMode(0);
    pub const hipStreamCaptureModeThreadLocal: hipStreamCaptureMode = hipStreamCaptureMode(1);
    pub const hipStreamCaptureModeRelaxed: hipStreamCaptureMode = hipStreamCaptureMode(2);
}
#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct hipStreamCaptureMode(pub ::core::ffi::c_uint);
impl hipStreamCaptureStatus {
    pub const hipStreamCaptureStatusNone: hipStreamCaptureStatus = hipStreamCaptureStatus(0);
    pub const hipStreamCaptureStatusActive: hipStreamCaptureStatus = hipStreamCaptureStatus(1);
    pub const hipStreamCaptureStatusInvalidated: hipStreamCaptureStatus = hipStreamCaptureStatus(2);
}
#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct hipStreamCaptureStatus(pub ::core::ffi::c_uint);
unsafe extern "C" {
    pub fn hipInit(flags: ::core::ffi::c_uint) -> hipError_t;
    pub fn hipRuntimeGetVersion(runtimeVersion: *mut ::core::ffi::c_int) -> hipError_t;
    pub fn hipDeviceGetName(
        name: *mut ::core::ffi::c_char,
        len: ::core::ffi::c_int,
        device: hipDevice_t,
    ) -> hipError_t;
    pub fn hipDeviceGetPCIBusId(
        pciBusId: *mut ::core::ffi::c_char,
        len: ::core::ffi::c_int,
        device: ::core::ffi::c_int,
    ) -> hipError_t;
    pub fn hipDeviceTotalMem(bytes: *mut usize, device: hipDevice_t) -> hipError_t;
    pub fn hipDeviceSynchronize() -> hipError_t;
    pub fn hipSetDevice(deviceId: ::core::ffi::c_int) -> hipError_t;
    pub fn hipGetDevice(deviceId: *mut ::core::ffi::c_int) -> hipError_t;
    pub fn hipGetDeviceCount(count: *mut ::core::ffi::c_int) -> hipError_t;
    pub fn hipDeviceGetAttribute(
        pi: *mut ::core::ffi::c_int,
        attr: hipDeviceAttribute_t,
        deviceId: ::core::ffi::c_int,
    ) -> hipError_t;
    pub fn hipDeviceGetDefaultMemPool(mem_pool: *mut hipMemPool_t, device: ::core::ffi::c_int) -> hipError_t;
    pub fn hipGetDeviceProperties(prop: *mut hipDeviceProp_t, deviceId: ::core::ffi::c_int) -> hipError_t;
    pub fn hipIpcGetMemHandle(handle: *mut hipIpcMemHandle_t, devPtr: *mut ::core::ffi::c_void)
    -> hipError_t;
    pub fn hipIpcOpenMemHandle(
        devPtr: *mut *mut ::core::ffi::c_void,
        handle: hipIpcMemHandle_t,
        flags: ::core::ffi::c_uint,
    ) -> hipError_t;
    pub fn hipIpcCloseMemHandle(devPtr: *mut ::core::ffi::c_void) -> hipError_t;
    pub fn hipGetLastError() -> hipError_t;
    pub fn hipGetErrorName(hip_error: hipError_t) -> *const ::core::ffi::c_char;
    pub fn hipGetErrorString(hipError: hipError_t) -> *const ::core::ffi::c_char;
    pub fn hipStreamCreateWithFlags(stream: *mut hipStream_t, flags: ::core::ffi::c_uint) -> hipError_t;
    pub fn hipStreamCreateWithPriority(
        stream: *mut hipStream_t,
        flags: ::core::ffi::c_uint,
        priority: ::core::ffi::c_int,
    ) -> hipError_t;
    pub fn hipStreamDestroy(stream: hipStream_t) -> hipError_t;
    pub fn hipStreamQuery(stream: hipStream_t) -> hipError_t;
    pub fn hipStreamSynchronize(stream: hipStream_t) -> hipError_t;
    pub fn hipStreamWaitEvent(
        stream: hipStream_t,
        event: hipEvent_t,
        flags: ::core::ffi::c_uint,
    ) -> hipError_t;
    pub fn hipStreamWaitValue32(
        stream: hipStream_t,
        ptr: *mut ::core::ffi::c_void,
        value: u32,
        flags: ::core::ffi::c_uint,
        mask: u32,
    ) -> hipError_t;
    pub fn hipStreamWaitValue64(
        stream: hipStream_t,
        ptr: *mut ::core::ffi::c_void,
        value: u64,
        flags: ::core::ffi::c_uint,
        mask: u64,
    ) -> hipError_t;
    pub fn hipStreamWriteValue32(
        stream: hipStream_t,
        ptr: *mut ::core::ffi::c_void,
        value: u32,
        flags: ::core::ffi::c_uint,
    ) -> hipError_t;
    pub fn hipStreamWriteValue64(
        stream: hipStream_t,
        ptr: *mut ::core::ffi::c_void,
        value: u64,
        flags: ::core::ffi::c_uint,
    ) -> hipError_t;
    pub fn hipEventCreateWithFlags(event: *mut hipEvent_t, flags: ::core::ffi::c_uint) -> hipError_t;
    pub fn hipEventRecord(event: hipEvent_t, stream: hipStream_t) -> hipError_t;
    pub fn hipEventDestroy(event: hipEvent_t) -> hipError_t;
    pub fn hipEventSynchronize(event: hipEvent_t) -> hipError_t;
    pub fn hipEventElapsedTime(ms: *mut f32, start: hipEvent_t, stop: hipEvent_t) -> hipError_t;
    pub fn hipEventQuery(event: hipEvent_t) -> hipError_t;
    pub fn hipPointerGetAttributes(
        attributes: *mut hipPointerAttribute_t,
        ptr: *const ::core::ffi::c_void,
    ) -> hipError_t;
    pub fn hipMalloc(ptr: *mut *mut ::core::ffi::c_void, size: usize) -> hipError_t;
    pub fn hipHostMalloc(
        ptr: *mut *mut ::core::ffi::c_void,
        size: usize,
        flags: ::core::ffi::c_uint,
    ) -> hipError_t;
    pub fn hipMallocManaged(
        dev_ptr: *mut *mut ::core::ffi::c_void,
        size: usize,
        flags: ::core::ffi::c_uint,
    ) -> hipError_t;
    pub fn hipMallocAsync(
        dev_ptr: *mut *mut ::core::ffi::c_void,
        size: usize,
        stream: hipStream_t,
    ) -> hipError_t;
    pub fn hipFreeAsync(dev_ptr: *mut ::core::ffi::c_void, stream: hipStream_t) -> hipError_t;
    pub fn hipMemPoolTrimTo(mem_pool: hipMemPool_t, min_bytes_to_hold: usize) -> hipError_t;
    pub fn hipHostGetDevicePointer(
        devPtr: *mut *mut ::core::ffi::c_void,
        hstPtr: *mut ::core::ffi::c_void,
        flags: ::core::ffi::c_uint,
    ) -> hipError_t;
    pub fn hipHostRegister(
        hostPtr: *mut ::core::ffi::c_void,
        sizeBytes: usize,
        flags: ::core::ffi::c_uint,
    ) -> hipError_t;
    pub fn hipHostUnregister(hostPtr: *mut ::core::ffi::c_void) -> hipError_t;
    pub fn hipFree(ptr: *mut ::core::ffi::c_void) -> hipError_t;
    pub fn hipHostFree(ptr: *mut ::core::ffi::c_void) -> hipError_t;
    pub fn hipMemcpyHtoD(dst: hipDeviceptr_t, src: *mut ::core::ffi::c_void, sizeBytes: usize) -> hipError_t;
    pub fn hipMemcpyDtoH(dst: *mut ::core::ffi::c_void, src: hipDeviceptr_t, sizeBytes: usize) -> hipError_t;
    pub fn hipMemcpyHtoDAsync(
        dst: hipDeviceptr_t,
        src: *mut ::core::ffi::c_void,
        sizeBytes: usize,
        stream: hipStream_t,
    ) -> hipError_t;
    pub fn hipMemcpyDtoHAsync(
        dst: *mut ::core::ffi::c_void,
        src: hipDeviceptr_t,
        sizeBytes: usize,
        stream: hipStream_t,
    ) -> hipError_t;
    pub fn hipMemcpyDtoDAsync(
        dst: hipDeviceptr_t,
        src: hipDeviceptr_t,
        sizeBytes: usize,
        stream: hipStream_t,
    ) -> hipError_t;
    pub fn hipModuleGetGlobal(
        dptr: *mut hipDeviceptr_t,
        bytes: *mut usize,
        hmod: hipModule_t,
        name: *const ::core::ffi::c_char,
    ) -> hipError_t;
    pub fn hipMemsetD8Async(
        dest: hipDeviceptr_t,
        value: ::core::ffi::c_uchar,
        count: usize,
        stream: hipStream_t,
    ) -> hipError_t;
    pub fn hipMemsetD32Async(
        dst: hipDeviceptr_t,
        value: ::core::ffi::c_int,
        count: usize,
        stream: hipStream_t,
    ) -> hipError_t;
    pub fn hipMemGetInfo(free: *mut usize, total: *mut usize) -> hipError_t;
    pub fn hipDeviceCanAccessPeer(
        canAccessPeer: *mut ::core::ffi::c_int,
        deviceId: ::core::ffi::c_int,
        peerDeviceId: ::core::ffi::c_int,
    ) -> hipError_t;
    pub fn hipDeviceEnablePeerAccess(
        peerDeviceId: ::core::ffi::c_int,
        flags: ::core::ffi::c_uint,
    ) -> hipError_t;
    pub fn hipMemcpyPeerAsync(
        dst: *mut ::core::ffi::c_void,
        dstDeviceId: ::core::ffi::c_int,
        src: *const ::core::ffi::c_void,
        srcDevice: ::core::ffi::c_int,
        sizeBytes: usize,
        stream: hipStream_t,
    ) -> hipError_t;
    pub fn hipModuleUnload(module: hipModule_t) -> hipError_t;
    pub fn hipModuleGetFunction(
        function: *mut hipFunction_t,
        module: hipModule_t,
        kname: *const ::core::ffi::c_char,
    ) -> hipError_t;
    pub fn hipModuleLoadData(module: *mut hipModule_t, image: *const ::core::ffi::c_void) -> hipError_t;
    pub fn hipModuleLaunchKernel(
        f: hipFunction_t,
        gridDimX: ::core::ffi::c_uint,
        gridDimY: ::core::ffi::c_uint,
        gridDimZ: ::core::ffi::c_uint,
        blockDimX: ::core::ffi::c_uint,
        blockDimY: ::core::ffi::c_uint,
        blockDimZ: ::core::ffi::c_uint,
        sharedMemBytes: ::core::ffi::c_uint,
        stream: hipStream_t,
        kernelParams: *mut *mut ::core::ffi::c_void,
        extra: *mut *mut ::core::ffi::c_void,
    ) -> hipError_t;
    pub fn hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(
        numBlocks: *mut ::core::ffi::c_int,
        f: hipFunction_t,
        blockSize: ::core::ffi::c_int,
        dynSharedMemPerBlk: usize,
    ) -> hipError_t;
    pub fn hipStreamBeginCapture(stream: hipStream_t, mode: hipStreamCaptureMode) -> hipError_t;
    pub fn hipStreamEndCapture(stream: hipStream_t, pGraph: *mut hipGraph_t) -> hipError_t;
    pub fn hipStreamGetCaptureInfo(
        stream: hipStream_t,
        pCaptureStatus: *mut hipStreamCaptureStatus,
        pId: *mut ::core::ffi::c_ulonglong,
    ) -> hipError_t;
    pub fn hipStreamIsCapturing(
        stream: hipStream_t,
        pCaptureStatus: *mut hipStreamCaptureStatus,
    ) -> hipError_t;
    pub fn hipLaunchHostFunc(
        stream: hipStream_t,
        fn_: hipHostFn_t,
        userData: *mut ::core::ffi::c_void,
    ) -> hipError_t;
    pub fn hipThreadExchangeStreamCaptureMode(mode: *mut hipStreamCaptureMode) -> hipError_t;
    pub fn hipGraphCreate(pGraph: *mut hipGraph_t, flags: ::core::ffi::c_uint) -> hipError_t;
    pub fn hipGraphDestroy(graph: hipGraph_t) -> hipError_t;
    pub fn hipGraphInstantiate(
        pGraphExec: *mut hipGraphExec_t,
        graph: hipGraph_t,
        pErrorNode: *mut hipGraphNode_t,
        pLogBuffer: *mut ::core::ffi::c_char,
        bufferSize: usize,
    ) -> hipError_t;
    pub fn hipGraphLaunch(graphExec: hipGraphExec_t, stream: hipStream_t) -> hipError_t;
    pub fn hipGraphExecDestroy(graphExec: hipGraphExec_t) -> hipError_t;
    pub fn hipGraphAddKernelNode(
        pGraphNode: *mut hipGraphNode_t,
        graph: hipGraph_t,
        pDependencies: *const hipGraphNode_t,
        numDependencies: usize,
        pNodeParams: *const hipKernelNodeParams,
    ) -> hipError_t;
    pub fn hipGraphAddMemcpyNode1D(
        pGraphNode: *mut hipGraphNode_t,
        graph: hipGraph_t,
        pDependencies: *const hipGraphNode_t,
        numDependencies: usize,
        dst: *mut ::core::ffi::c_void,
        src: *const ::core::ffi::c_void,
        count: usize,
        kind: hipMemcpyKind,
    ) -> hipError_t;
    pub fn hipGraphAddMemsetNode(
        pGraphNode: *mut hipGraphNode_t,
        graph: hipGraph_t,
        pDependencies: *const hipGraphNode_t,
        numDependencies: usize,
        pMemsetParams: *const hipMemsetParams,
    ) -> hipError_t;
    pub fn hipGraphAddHostNode(
        pGraphNode: *mut hipGraphNode_t,
        graph: hipGraph_t,
        pDependencies: *const hipGraphNode_t,
        numDependencies: usize,
        pNodeParams: *const hipHostNodeParams,
    ) -> hipError_t;
    pub fn hipGraphAddEmptyNode(
        pGraphNode: *mut hipGraphNode_t,
        graph: hipGraph_t,
        pDependencies: *const hipGraphNode_t,
        numDependencies: usize,
    ) -> hipError_t;
}
