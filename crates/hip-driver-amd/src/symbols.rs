//! The functions of libamdhip64 that the driver uses: one table with their names and types.
//!
//! Only this table says whether a function is required, since which version it exists, and to which capability it
//! belongs. `build.rs` reads the names from this file, to generate bindings for these alone.
#![allow(non_snake_case, reason = "fields carry HIP's names")]

use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};
use std::mem::transmute_copy;
use std::ptr::NonNull;

use crate::bindings::*;
use hip_driver::{Capabilities, Capability};

/// A function of HIP, and whether the loaded library has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// HIP's name of the function.
    pub name: &'static str,
    /// Whether a library without the function is rejected.
    pub required: bool,
    /// The first HIP version that has it; `None` if all supported versions have it.
    pub since: Option<&'static str>,
    /// The capability that needs it.
    pub capability: Option<Capability>,
    /// Whether the library has it.
    pub present: bool,
}

macro_rules! fn_type {
    (($($arg:ty),*)) => { unsafe extern "C" fn($($arg),*) -> hipError_t };
    (($($arg:ty),*) $ret:ty) => { unsafe extern "C" fn($($arg),*) -> $ret };
}

macro_rules! some_or_none {
    () => {
        None
    };
    ($value:expr) => {
        Some($value)
    };
}

macro_rules! table {
    (
        required { $($req:ident($($req_arg:ty),* $(,)?) $(-> $req_ret:ty)?;)* }
        optional { $($opt:ident($($opt_arg:ty),* $(,)?) $(since $opt_since:literal)? $(for $opt_cap:ident)?;)* }
        newer { $($new:ident($($new_arg:ty),* $(,)?) since $new_since:literal $(for $new_cap:ident)?;)* }
    ) => {
        /// The functions of a library. Every address was found under the function's own name.
        #[derive(Debug)]
        pub(crate) struct Api {
            $(pub(crate) $req: fn_type!(($($req_arg),*) $($req_ret)?),)*
            $(pub(crate) $opt: Option<fn_type!(($($opt_arg),*))>,)*
            $(pub(crate) $new: Option<fn_type!(($($new_arg),*))>,)*
        }

        impl Api {
            /// Resolves the table with `find`. The error lists the required functions that are missing.
            ///
            /// # Safety
            /// An address that `find` returns is that of HIP's function of that name, and valid forever.
            pub(crate) unsafe fn resolve(
                mut find: impl FnMut(&'static str) -> Option<NonNull<c_void>>,
            ) -> Result<Api, Vec<&'static str>> {
                let mut missing = Vec::new();
                $(
                    let $req = find(stringify!($req));
                    if $req.is_none() {
                        missing.push(stringify!($req));
                    }
                )*
                if !missing.is_empty() {
                    return Err(missing);
                }
                Ok(Api {
                    // SAFETY: function pointers and `NonNull` have the same size, the address is that of the function
                    // of this name (the caller's promise), and its type here is that of HIP's header (compared below).
                    $($req: match $req { Some(address) => unsafe { transmute_copy(&address) }, None => return Err(missing) },)*
                    // SAFETY: the address is that of the function of this name, and has its type.
                    $($opt: find(stringify!($opt)).map(|address| unsafe { transmute_copy(&address) }),)*
                    // SAFETY: the address is that of the function of this name, with the type of HIP's newer headers.
                    $($new: find(stringify!($new)).map(|address| unsafe { transmute_copy(&address) }),)*
                })
            }

            /// Returns the functions of the table, required ones first, and whether the library has them.
            pub(crate) fn symbols(&self) -> Vec<Symbol> {
                vec![
                    $(Symbol { name: stringify!($req), required: true, since: None, capability: None, present: true },)*
                    $(Symbol {
                        name: stringify!($opt),
                        required: false,
                        since: some_or_none!($($opt_since)?),
                        capability: some_or_none!($(Capability::$opt_cap)?),
                        present: self.$opt.is_some(),
                    },)*
                    $(Symbol {
                        name: stringify!($new),
                        required: false,
                        since: Some($new_since),
                        capability: some_or_none!($(Capability::$new_cap)?),
                        present: self.$new.is_some(),
                    },)*
                ]
            }
        }

        /// Compares the types above with AMD's header. It is generic and never called: the compiler checks its types,
        /// but the linker sees no reference. Not compiled for regenerated bindings: other versions of the header have
        /// `const` in places where this one does not.
        #[cfg(not(feature = "bindgen"))]
        #[allow(dead_code, clippy::extra_unused_type_parameters, reason = "only there to be type-checked")]
        fn types_are_those_of_the_header<T>() {
            $(let _: fn_type!(($($req_arg),*) $($req_ret)?) = crate::bindings::$req;)*
            $(let _: fn_type!(($($opt_arg),*)) = crate::bindings::$opt;)*
        }

        /// Returns the address of a required function in the library with which the program is linked.
        #[cfg(feature = "link-hip")]
        pub(crate) fn linked(name: &str) -> Option<NonNull<c_void>> {
            match name {
                $(stringify!($req) => NonNull::new(hip_runtime_sys::$req as *mut c_void),)*
                _ => None,
            }
        }
    };
}

table! {
    required {
        hipInit(c_uint);
        hipGetDeviceCount(*mut c_int);
        hipGetDevice(*mut c_int);
        hipSetDevice(c_int);
        hipDeviceGetAttribute(*mut c_int, hipDeviceAttribute_t, c_int);
        hipDeviceSynchronize();
        hipRuntimeGetVersion(*mut c_int);
        hipModuleLoadData(*mut hipModule_t, *const c_void);
        hipModuleGetFunction(*mut hipFunction_t, hipModule_t, *const c_char);
        hipModuleUnload(hipModule_t);
        hipModuleLaunchKernel(hipFunction_t, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, hipStream_t, *mut *mut c_void, *mut *mut c_void);
        hipStreamCreateWithFlags(*mut hipStream_t, c_uint);
        hipStreamDestroy(hipStream_t);
        hipStreamSynchronize(hipStream_t);
        hipStreamQuery(hipStream_t);
        hipStreamWaitEvent(hipStream_t, hipEvent_t, c_uint);
        hipEventCreateWithFlags(*mut hipEvent_t, c_uint);
        hipEventRecord(hipEvent_t, hipStream_t);
        hipEventQuery(hipEvent_t);
        hipEventSynchronize(hipEvent_t);
        hipEventDestroy(hipEvent_t);
        hipMalloc(*mut *mut c_void, usize);
        hipFree(*mut c_void);
        hipMemcpyHtoDAsync(hipDeviceptr_t, *mut c_void, usize, hipStream_t);
        hipMemcpyDtoHAsync(*mut c_void, hipDeviceptr_t, usize, hipStream_t);
        hipHostMalloc(*mut *mut c_void, usize, c_uint);
        hipHostFree(*mut c_void);
        hipGetErrorName(hipError_t) -> *const c_char;
        hipGetErrorString(hipError_t) -> *const c_char;
    }
    optional {
        hipStreamCreateWithPriority(*mut hipStream_t, c_uint, c_int) for StreamPriority;
        hipEventElapsedTime(*mut f32, hipEvent_t, hipEvent_t) for EventTiming;
        hipMemcpyHtoD(hipDeviceptr_t, *mut c_void, usize) for BlockingCopy;
        hipMemcpyDtoH(*mut c_void, hipDeviceptr_t, usize) for BlockingCopy;
        hipMemcpyDtoDAsync(hipDeviceptr_t, hipDeviceptr_t, usize, hipStream_t) for CopyDeviceToDevice;
        hipMemcpyPeerAsync(*mut c_void, c_int, *const c_void, c_int, usize, hipStream_t) for CopyPeer;
        hipMemsetD8Async(hipDeviceptr_t, u8, usize, hipStream_t) for Memset;
        hipMemsetD32Async(hipDeviceptr_t, c_int, usize, hipStream_t) for Memset;
        hipMemGetInfo(*mut usize, *mut usize) for MemInfo;
        hipDeviceTotalMem(*mut usize, hipDevice_t);
        hipDeviceGetName(*mut c_char, c_int, hipDevice_t);
        hipDeviceGetPCIBusId(*mut c_char, c_int, c_int);
        hipGetDeviceProperties(*mut hipDeviceProp_t, c_int);
        hipModuleGetGlobal(*mut hipDeviceptr_t, *mut usize, hipModule_t, *const c_char) for ModuleGlobals;
        hipHostGetDevicePointer(*mut *mut c_void, *mut c_void, c_uint) for MappedHostMemory;
        hipHostRegister(*mut c_void, usize, c_uint) for HostRegister;
        hipHostUnregister(*mut c_void) for HostRegister;
        hipDeviceCanAccessPeer(*mut c_int, c_int, c_int) for PeerAccess;
        hipDeviceEnablePeerAccess(c_int, c_uint) for PeerAccess;
        hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(*mut c_int, hipFunction_t, c_int, usize) for Occupancy;
        hipGetLastError();
        hipMallocManaged(*mut *mut c_void, usize, c_uint) for ManagedMemory;
        hipIpcGetMemHandle(*mut hipIpcMemHandle_t, *mut c_void) for SharedMemory;
        hipIpcOpenMemHandle(*mut *mut c_void, hipIpcMemHandle_t, c_uint) for SharedMemory;
        hipIpcCloseMemHandle(*mut c_void) for SharedMemory;
        hipPointerGetAttributes(*mut hipPointerAttribute_t, *const c_void) for PointerAttributes;
        hipMallocAsync(*mut *mut c_void, usize, hipStream_t) since "5.1" for StreamOrderedAllocator;
        hipFreeAsync(*mut c_void, hipStream_t) since "5.1" for StreamOrderedAllocator;
        hipDeviceGetDefaultMemPool(*mut hipMemPool_t, c_int) since "5.1" for StreamOrderedAllocator;
        hipMemPoolTrimTo(hipMemPool_t, usize) since "5.1" for StreamOrderedAllocator;
        hipLaunchHostFunc(hipStream_t, hipHostFn_t, *mut c_void) since "5.3" for HostFunc;
        hipStreamWaitValue32(hipStream_t, *mut c_void, u32, c_uint, u32) since "4.4" for StreamValues;
        hipStreamWaitValue64(hipStream_t, *mut c_void, u64, c_uint, u64) since "4.4" for StreamValues;
        hipStreamWriteValue32(hipStream_t, *mut c_void, u32, c_uint) since "4.4" for StreamValues;
        hipStreamWriteValue64(hipStream_t, *mut c_void, u64, c_uint) since "4.4" for StreamValues;
        hipGraphCreate(*mut hipGraph_t, c_uint) since "4.3" for Graphs;
        hipGraphDestroy(hipGraph_t) since "4.3" for Graphs;
        hipGraphAddKernelNode(*mut hipGraphNode_t, hipGraph_t, *const hipGraphNode_t, usize, *const hipKernelNodeParams) since "4.3" for Graphs;
        hipGraphAddMemcpyNode1D(*mut hipGraphNode_t, hipGraph_t, *const hipGraphNode_t, usize, *mut c_void, *const c_void, usize, hipMemcpyKind) since "4.5" for Graphs;
        hipGraphAddMemsetNode(*mut hipGraphNode_t, hipGraph_t, *const hipGraphNode_t, usize, *const hipMemsetParams) since "4.3" for Graphs;
        hipGraphAddHostNode(*mut hipGraphNode_t, hipGraph_t, *const hipGraphNode_t, usize, *const hipHostNodeParams) since "4.5";
        hipGraphAddEmptyNode(*mut hipGraphNode_t, hipGraph_t, *const hipGraphNode_t, usize) since "4.5" for Graphs;
        hipGraphInstantiate(*mut hipGraphExec_t, hipGraph_t, *mut hipGraphNode_t, *mut c_char, usize) since "4.3" for Graphs;
        hipGraphLaunch(hipGraphExec_t, hipStream_t) since "4.3" for Graphs;
        hipGraphExecDestroy(hipGraphExec_t) since "4.3" for Graphs;
        hipStreamBeginCapture(hipStream_t, hipStreamCaptureMode) since "4.3" for StreamCapture;
        hipStreamEndCapture(hipStream_t, *mut hipGraph_t) since "4.3" for StreamCapture;
        hipStreamIsCapturing(hipStream_t, *mut hipStreamCaptureStatus) since "5.0" for StreamCapture;
        hipStreamGetCaptureInfo(hipStream_t, *mut hipStreamCaptureStatus, *mut c_ulonglong) since "5.0" for StreamCapture;
        hipThreadExchangeStreamCaptureMode(*mut hipStreamCaptureMode) since "5.2" for StreamCapture;
    }
    // Not in the header of HIP 5.2, from which the checked-in bindings were generated.
    newer {
        hipGetDevicePropertiesR0600(*mut c_void, c_int) since "6.0";
        hipModuleLaunchCooperativeKernel(hipFunction_t, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, hipStream_t, *mut *mut c_void) since "5.5" for CooperativeLaunch;
    }
}

impl Api {
    /// Returns the capabilities of which all functions are present.
    pub(crate) fn capabilities(&self) -> Capabilities {
        let symbols = self.symbols();
        let whole = |capability: &Capability| {
            let mut parts = symbols.iter().filter(|s| s.capability == Some(*capability)).peekable();
            parts.peek().is_some() && parts.all(|s| s.present)
        };
        Capability::ALL.into_iter().filter(whole).collect()
    }
}
