//! HIP's structures, as its headers lay them out. A test compares them with the headers of several versions.
#![allow(non_snake_case, non_camel_case_types, reason = "the names are those of HIP's headers")]

use crate::abi::c_caller::{Address, HostFn, UserData};

/// Where the fields of a structure are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StructLayout {
    /// The name in HIP's headers.
    pub name: &'static str,
    /// The size in bytes.
    pub bytes: usize,
    /// The fields' names and offsets in bytes.
    pub fields: Vec<(&'static str, usize)>,
}

/// Declares structures of C with plain fields, and a list of their offsets for the test.
macro_rules! c_structs {
    ($($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty,)* })*) => {
        $($(#[$doc])*
        #[derive(Clone, Copy)]
        #[repr(C)]
        pub(crate) struct $name { $(pub(crate) $field: $type,)* })*

        /// The structures with the offsets of their fields.
        pub(crate) fn offsets() -> Vec<$crate::abi::structs::StructLayout> {
            vec![$($crate::abi::structs::StructLayout {
                name: stringify!($name),
                bytes: std::mem::size_of::<$name>(),
                fields: vec![$((stringify!($field), std::mem::offset_of!($name, $field)),)*],
            },)*]
        }
    };
}
pub(crate) use c_structs;

/// `hipArray_t`.
pub(crate) type Array = u64;
/// `hipMipmappedArray_t`.
pub(crate) type MipmappedArray = u64;

c_structs! {
    /// `dim3`.
    dim3 { x: u32, y: u32, z: u32, }
    hipExtent { width: usize, height: usize, depth: usize, }
    hipPos { x: usize, y: usize, z: usize, }
    hipPitchedPtr { ptr: Address, pitch: usize, xsize: usize, ysize: usize, }
    hipChannelFormatDesc { x: i32, y: i32, z: i32, w: i32, f: i32, }
    HIP_ARRAY_DESCRIPTOR { Width: usize, Height: usize, Format: i32, NumChannels: u32, }
    HIP_ARRAY3D_DESCRIPTOR {
        Width: usize,
        Height: usize,
        Depth: usize,
        Format: i32,
        NumChannels: u32,
        Flags: u32,
    }
    /// To which a `hipArray_t` points. Programs for HIP 5 can read it.
    hipArray {
        data: Address,
        desc: hipChannelFormatDesc,
        r#type: u32,
        width: u32,
        height: u32,
        depth: u32,
        Format: i32,
        NumChannels: u32,
        isDrv: bool,
        textureType: u32,
    }
    /// To which a `hipMipmappedArray_t` points. Programs for HIP 5 can read it.
    hipMipmappedArray {
        data: Address,
        desc: hipChannelFormatDesc,
        r#type: u32,
        width: u32,
        height: u32,
        depth: u32,
        min_mipmap_level: u32,
        max_mipmap_level: u32,
        flags: u32,
        format: i32,
    }
    hipResourceDesc { resType: i32, res: Resource, }
    hipTextureDesc {
        addressMode: [i32; 3],
        filterMode: i32,
        readMode: i32,
        sRGB: i32,
        borderColor: [f32; 4],
        normalizedCoords: i32,
        maxAnisotropy: u32,
        mipmapFilterMode: i32,
        mipmapLevelBias: f32,
        minMipmapLevelClamp: f32,
        maxMipmapLevelClamp: f32,
    }
    hipResourceViewDesc {
        format: i32,
        width: usize,
        height: usize,
        depth: usize,
        firstMipmapLevel: u32,
        lastMipmapLevel: u32,
        firstLayer: u32,
        lastLayer: u32,
    }
    HIP_RESOURCE_DESC { resType: i32, res: DriverResource, flags: u32, }
    HIP_TEXTURE_DESC {
        addressMode: [i32; 3],
        filterMode: i32,
        flags: u32,
        maxAnisotropy: u32,
        mipmapFilterMode: i32,
        mipmapLevelBias: f32,
        minMipmapLevelClamp: f32,
        maxMipmapLevelClamp: f32,
        borderColor: [f32; 4],
        reserved: [i32; 12],
    }
    HIP_RESOURCE_VIEW_DESC {
        format: i32,
        width: usize,
        height: usize,
        depth: usize,
        firstMipmapLevel: u32,
        lastMipmapLevel: u32,
        firstLayer: u32,
        lastLayer: u32,
        reserved: [u32; 16],
    }
    textureReference {
        normalized: i32,
        readMode: i32,
        filterMode: i32,
        addressMode: [i32; 3],
        channelDesc: hipChannelFormatDesc,
        sRGB: i32,
        maxAnisotropy: u32,
        mipmapFilterMode: i32,
        mipmapLevelBias: f32,
        minMipmapLevelClamp: f32,
        maxMipmapLevelClamp: f32,
        textureObject: Address,
        numChannels: i32,
        format: i32,
    }
    hipMemcpy3DParms {
        srcArray: Array,
        srcPos: hipPos,
        srcPtr: hipPitchedPtr,
        dstArray: Array,
        dstPos: hipPos,
        dstPtr: hipPitchedPtr,
        extent: hipExtent,
        kind: i32,
    }
    hip_Memcpy2D {
        srcXInBytes: usize,
        srcY: usize,
        srcMemoryType: i32,
        srcHost: Address,
        srcDevice: Address,
        srcArray: Array,
        srcPitch: usize,
        dstXInBytes: usize,
        dstY: usize,
        dstMemoryType: i32,
        dstHost: Address,
        dstDevice: Address,
        dstArray: Array,
        dstPitch: usize,
        WidthInBytes: usize,
        Height: usize,
    }
    /// Since HIP 6.
    HIP_MEMCPY3D {
        srcXInBytes: usize,
        srcY: usize,
        srcZ: usize,
        srcLOD: usize,
        srcMemoryType: i32,
        srcHost: Address,
        srcDevice: Address,
        srcArray: Array,
        srcPitch: usize,
        srcHeight: usize,
        dstXInBytes: usize,
        dstY: usize,
        dstZ: usize,
        dstLOD: usize,
        dstMemoryType: i32,
        dstHost: Address,
        dstDevice: Address,
        dstArray: Array,
        dstPitch: usize,
        dstHeight: usize,
        WidthInBytes: usize,
        Height: usize,
        Depth: usize,
    }
    /// `HIP_MEMCPY3D` before HIP 6.
    HIP_MEMCPY3D_R5 {
        srcXInBytes: u32,
        srcY: u32,
        srcZ: u32,
        srcLOD: u32,
        srcMemoryType: i32,
        srcHost: Address,
        srcDevice: Address,
        srcArray: Array,
        srcPitch: u32,
        srcHeight: u32,
        dstXInBytes: u32,
        dstY: u32,
        dstZ: u32,
        dstLOD: u32,
        dstMemoryType: i32,
        dstHost: Address,
        dstDevice: Address,
        dstArray: Array,
        dstPitch: u32,
        dstHeight: u32,
        WidthInBytes: u32,
        Height: u32,
        Depth: u32,
    }
    hipPointerAttribute_t {
        // `memoryType` before HIP 6, `type` from then on.
        memoryType: i32,
        device: i32,
        devicePointer: Address,
        hostPointer: Address,
        isManaged: i32,
        allocationFlags: u32,
    }
    hipFuncAttributes {
        binaryVersion: i32,
        cacheModeCA: i32,
        constSizeBytes: usize,
        localSizeBytes: usize,
        maxDynamicSharedSizeBytes: i32,
        maxThreadsPerBlock: i32,
        numRegs: i32,
        preferredShmemCarveout: i32,
        ptxVersion: i32,
        sharedSizeBytes: usize,
    }
    hipKernelNodeParams {
        blockDim: dim3,
        extra: Address,
        func: Address,
        gridDim: dim3,
        kernelParams: Address,
        sharedMemBytes: u32,
    }
    hipMemsetParams {
        dst: Address,
        elementSize: u32,
        height: usize,
        pitch: usize,
        value: u32,
        width: usize,
    }
    hipLaunchParams {
        func: Address,
        gridDim: dim3,
        blockDim: dim3,
        args: Address,
        sharedMem: usize,
        stream: u64,
    }
    hipMemLocation { r#type: i32, id: i32, }
    hipMemAccessDesc { location: hipMemLocation, flags: i32, }
    hipMemPoolProps {
        allocType: i32,
        handleTypes: i32,
        location: hipMemLocation,
        win32SecurityAttributes: Address,
        reserved: [u8; 64],
    }
    hipMemAllocNodeParams {
        poolProps: hipMemPoolProps,
        accessDescs: Address,
        accessDescCount: usize,
        bytesize: usize,
        dptr: Address,
    }
    hipAccessPolicyWindow {
        base_ptr: Address,
        hitProp: i32,
        hitRatio: f32,
        missProp: i32,
        num_bytes: usize,
    }
    hipHostNodeParams { r#fn: HostFn, userData: UserData, }
    hipIpcMemHandle_t { reserved: [u8; 64], }
    hipUUID { bytes: [u8; 16], }
}

/// The union of `hipResourceDesc`: an array has its handle in `start`, linear memory its bytes in `width`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Resource {
    pub(crate) start: Address,
    pub(crate) desc: hipChannelFormatDesc,
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) pitch: usize,
}

/// The union of `HIP_RESOURCE_DESC`, in the same way.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct DriverResource {
    pub(crate) start: Address,
    pub(crate) format: i32,
    pub(crate) channels: u32,
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) pitch: usize,
    pub(crate) reserved: [u64; 11],
}

/// The grid, the block, or an index in one of them.
pub(crate) type Dim3 = dim3;

impl From<[u32; 3]> for dim3 {
    fn from([x, y, z]: [u32; 3]) -> dim3 {
        dim3 { x, y, z }
    }
}

impl dim3 {
    pub(crate) fn array(self) -> [u32; 3] {
        [self.x, self.y, self.z]
    }
}

impl From<hip_Memcpy2D> for HIP_MEMCPY3D {
    fn from(copy: hip_Memcpy2D) -> HIP_MEMCPY3D {
        HIP_MEMCPY3D {
            srcXInBytes: copy.srcXInBytes,
            srcY: copy.srcY,
            srcZ: 0,
            srcLOD: 0,
            srcMemoryType: copy.srcMemoryType,
            srcHost: copy.srcHost,
            srcDevice: copy.srcDevice,
            srcArray: copy.srcArray,
            srcPitch: copy.srcPitch,
            srcHeight: 0,
            dstXInBytes: copy.dstXInBytes,
            dstY: copy.dstY,
            dstZ: 0,
            dstLOD: 0,
            dstMemoryType: copy.dstMemoryType,
            dstHost: copy.dstHost,
            dstDevice: copy.dstDevice,
            dstArray: copy.dstArray,
            dstPitch: copy.dstPitch,
            dstHeight: 0,
            WidthInBytes: copy.WidthInBytes,
            Height: copy.Height,
            Depth: 1,
        }
    }
}

impl From<HIP_MEMCPY3D_R5> for HIP_MEMCPY3D {
    fn from(old: HIP_MEMCPY3D_R5) -> HIP_MEMCPY3D {
        HIP_MEMCPY3D {
            srcXInBytes: old.srcXInBytes as usize,
            srcY: old.srcY as usize,
            srcZ: old.srcZ as usize,
            srcLOD: old.srcLOD as usize,
            srcMemoryType: old.srcMemoryType,
            srcHost: old.srcHost,
            srcDevice: old.srcDevice,
            srcArray: old.srcArray,
            srcPitch: old.srcPitch as usize,
            srcHeight: old.srcHeight as usize,
            dstXInBytes: old.dstXInBytes as usize,
            dstY: old.dstY as usize,
            dstZ: old.dstZ as usize,
            dstLOD: old.dstLOD as usize,
            dstMemoryType: old.dstMemoryType,
            dstHost: old.dstHost,
            dstDevice: old.dstDevice,
            dstArray: old.dstArray,
            dstPitch: old.dstPitch as usize,
            dstHeight: old.dstHeight as usize,
            WidthInBytes: old.WidthInBytes as usize,
            Height: old.Height as usize,
            Depth: old.Depth as usize,
        }
    }
}
