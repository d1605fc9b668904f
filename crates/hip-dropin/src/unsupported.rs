//! The functions that this library does not have. They are exported, so that programs that name them start; a call is
//! counted for the summary and fails.

use crate::process::call::call;
use crate::report::record;
use crate::abi::status::Status;

/// Declares functions that fail with `NOT_SUPPORTED`. In C, what a caller passes to a function without parameters is
/// ignored.
macro_rules! unsupported {
    ($($name:ident)*) => {$(
        #[unsafe(export_name = concat!("emulated_", stringify!($name)))]
        extern "C" fn $name() -> Status {
            record::unsupported(stringify!($name));
            call(stringify!($name), |_| Err(Status::NOT_SUPPORTED))
        }
    )*};
}

// Arrays, textures, surfaces; memory and semaphores of graphics; virtual memory; events and pools of other processes;
// linking of code; callbacks of profilers.
unsupported! {
    _Z22hipCreateSurfaceObjectPP13__hip_surfacePK15hipResourceDesc
    _Z23hipDestroySurfaceObjectP13__hip_surface
    hipArray3DCreate
    hipArray3DGetDescriptor
    hipArrayCreate
    hipArrayDestroy
    hipArrayGetDescriptor
    hipArrayGetInfo
    hipBindTexture
    hipBindTexture2D
    hipBindTextureToArray
    hipBindTextureToMipmappedArray
    hipCreateChannelDesc
    hipCreateSurfaceObject
    hipCreateTextureObject
    hipDestroyExternalMemory
    hipDestroyExternalSemaphore
    hipDestroySurfaceObject
    hipDestroyTextureObject
    hipDeviceGetTexture1DLinearMaxWidth
    hipEnableActivityCallback
    hipExternalMemoryGetMappedBuffer
    hipFreeArray
    hipFreeMipmappedArray
    hipGLGetDevices
    hipGetChannelDesc
    hipGetMipmappedArrayLevel
    hipGetTextureAlignmentOffset
    hipGetTextureObjectResourceDesc
    hipGetTextureObjectResourceViewDesc
    hipGetTextureObjectTextureDesc
    hipGetTextureReference
    hipGraphAddExternalSemaphoresSignalNode
    hipGraphAddExternalSemaphoresWaitNode
    hipGraphExecExternalSemaphoresSignalNodeSetParams
    hipGraphExecExternalSemaphoresWaitNodeSetParams
    hipGraphExternalSemaphoresSignalNodeGetParams
    hipGraphExternalSemaphoresSignalNodeSetParams
    hipGraphExternalSemaphoresWaitNodeGetParams
    hipGraphExternalSemaphoresWaitNodeSetParams
    hipGraphicsGLRegisterBuffer
    hipGraphicsGLRegisterImage
    hipGraphicsMapResources
    hipGraphicsResourceGetMappedPointer
    hipGraphicsSubResourceGetMappedArray
    hipGraphicsUnmapResources
    hipGraphicsUnregisterResource
    hipImportExternalMemory
    hipImportExternalSemaphore
    hipInitActivityCallback
    hipIpcGetEventHandle
    hipIpcOpenEventHandle
    hipLinkAddData
    hipLinkAddFile
    hipLinkComplete
    hipLinkCreate
    hipLinkDestroy
    hipMalloc3DArray
    hipMallocArray
    hipMallocMipmappedArray
    hipMemAddressFree
    hipMemAddressReserve
    hipMemCreate
    hipMemExportToShareableHandle
    hipMemGetAccess
    hipMemGetAllocationPropertiesFromHandle
    hipMemGetHandleForAddressRange
    hipMemImportFromShareableHandle
    hipMemMap
    hipMemMapArrayAsync
    hipMemPoolExportPointer
    hipMemPoolExportToShareableHandle
    hipMemPoolImportFromShareableHandle
    hipMemPoolImportPointer
    hipMemRelease
    hipMemRetainAllocationHandle
    hipMemSetAccess
    hipMemUnmap
    hipMemcpy2DArrayToArray
    hipMemcpy2DFromArray
    hipMemcpy2DFromArrayAsync
    hipMemcpy2DFromArrayAsync_spt
    hipMemcpy2DFromArray_spt
    hipMemcpy2DToArray
    hipMemcpy2DToArrayAsync
    hipMemcpy2DToArrayAsync_spt
    hipMemcpy2DToArray_spt
    hipMemcpyAtoA
    hipMemcpyAtoD
    hipMemcpyAtoH
    hipMemcpyAtoHAsync
    hipMemcpyDtoA
    hipMemcpyFromArray
    hipMemcpyFromArray_spt
    hipMemcpyHtoA
    hipMemcpyHtoAAsync
    hipMemcpyToArray
    hipMipmappedArrayCreate
    hipMipmappedArrayDestroy
    hipMipmappedArrayGetLevel
    hipModuleGetTexRef
    hipRegisterActivityCallback
    hipRegisterApiCallback
    hipRegisterTracerCallback
    hipRemoveActivityCallback
    hipRemoveApiCallback
    hipSignalExternalSemaphoresAsync
    hipTexObjectCreate
    hipTexObjectDestroy
    hipTexObjectGetResourceDesc
    hipTexObjectGetResourceViewDesc
    hipTexObjectGetTextureDesc
    hipTexRefGetAddress
    hipTexRefGetAddressMode
    hipTexRefGetArray
    hipTexRefGetBorderColor
    hipTexRefGetFilterMode
    hipTexRefGetFlags
    hipTexRefGetFormat
    hipTexRefGetMaxAnisotropy
    hipTexRefGetMipMappedArray
    hipTexRefGetMipmapFilterMode
    hipTexRefGetMipmapLevelBias
    hipTexRefGetMipmapLevelClamp
    hipTexRefSetAddress
    hipTexRefSetAddress2D
    hipTexRefSetAddressMode
    hipTexRefSetArray
    hipTexRefSetBorderColor
    hipTexRefSetFilterMode
    hipTexRefSetFlags
    hipTexRefSetFormat
    hipTexRefSetMaxAnisotropy
    hipTexRefSetMipmapFilterMode
    hipTexRefSetMipmapLevelBias
    hipTexRefSetMipmapLevelClamp
    hipTexRefSetMipmappedArray
    hipUnbindTexture
    hipWaitExternalSemaphoresAsync
}

/// Registering a texture or a surface before `main` does nothing; using it is not supported.
#[unsafe(export_name = "emulated___hipRegisterTexture")]
extern "C" fn __hipRegisterTexture() {}

/// As for textures.
#[unsafe(export_name = "emulated___hipRegisterSurface")]
extern "C" fn __hipRegisterSurface() {}
