//! Launches compiled HIP kernels by handle. In the steady state a launch allocates nothing. It waits for the device
//! only when earlier launches still use all pinned memory of its stream.
//!
//! Kernels run on AMD GPUs through the installed ROCm. On a machine without a GPU they run on an embedded emulator,
//! which executes the same gfx90a, gfx942, gfx950 and gfx11 code objects.
//!
//! # A first launch
//!
//! ```
//! use hiplaunch::{DeviceBuffer, FatBinary, LaunchDims, Launcher, args};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # #[cfg(feature = "emulator")] {
//! let launcher = Launcher::new()?; // a GPU where there is one, else the emulator
//! let device = launcher.device(0)?;
//! let stream = launcher.stream(device)?;
//! let code = FatBinary::read("hip/vector.hipfb")?.for_device(device)?;
//! // SAFETY: we trust the code, and pass it what its source asks for: a, x, y, n.
//! let saxpy = unsafe { launcher.register(device, code.elf(), "saxpy")? };
//! let x = DeviceBuffer::from_slice(&stream, &[1.0f32; 1000])?;
//! let y = DeviceBuffer::from_slice(&stream, &[2.0f32; 1000])?;
//! let args = args![3.0f32, &x, &y, 1000i32];
//! // SAFETY: the arguments are what its source asks for; x and y have 1000 elements.
//! unsafe { launcher.launch(saxpy, &stream, LaunchDims::cover(1000, 256), &args)? };
//! assert_eq!(y.to_vec(&stream)?, [5.0; 1000]);
//! # }
//! # Ok(())
//! # }
//! ```
//!
//! The code object is what `hipcc --genco --offload-arch=gfx90a -O3 -o vector.gfx90a.co vector.hip` writes, or what
//! [`CodeObject::compile`](Compile::compile) returns while the program runs. A kernel is registered once. Its metadata
//! says which arguments it takes, and each launch is checked against it before any device call.
//!
//! Arrays need not be device buffers: [`Arg::input`], [`Arg::output`] and [`Arg::inout`] take arrays of the host. A
//! launch returns a [`Ticket`], through which the host reads the outputs. Reading it waits for that launch alone.
//!
//! # Where to find what
//!
//! | module | purpose |
//! |---|---|
//! | [`launcher`] | registering kernels, launching them, reading results: [`Launcher`], [`Arg`], [`ArgumentBlock`], [`Ticket`] |
//! | [`memory`] | buffers, views, and the pool they come from: [`DeviceBuffer`], [`DeviceView`], [`Pool`] |
//! | [`graph`] | work that is recorded and planned once, and submitted as a unit on one stream or several |
//! | [`compile`] | HIP C++, LLVM IR and assembly to code objects while the program runs, with a cache on disk: [`Compiler`] |
//! | [`lds`] | layouts of a kernel's LDS; needs no device |
//! | [`driver`] | the [`Driver`](driver::Driver) trait, HIP, the emulator, and the layers (validation, [timeline](driver::timeline)) |
//! | [`code_object`] | reads the kernels, globals and target of a code object; a crate of its own |
//!
//! Other crates of the project: `hiplaunch-tensor` (lazy tensors), `hiplaunch-reports` (pool snapshots, plans and
//! timelines as JSON and SVG), `hiplaunch-cli` (the command line, launch scripts), `libhiplaunch` (the C library),
//! `offset-planner`.
//!
//! The programs in `examples/` are numbered in the order to read them.
//!
//! # From HIP's names to these
//!
//! | HIP | here |
//! |---|---|
//! | `hipInit`, `hipGetDeviceCount`, `hipSetDevice` | [`Launcher::new`], [`Launcher::devices`]; every object knows its device, there is no current device |
//! | `hipDeviceProp_t`, `hipDeviceGetAttribute` | [`Device::properties`]: [`DeviceProperties`](driver::DeviceProperties) |
//! | `hipMalloc`, `hipFree` | [`DeviceBuffer::new`], allocated from the [`Pool`]; dropping it frees it |
//! | `hipMallocAsync`, `hipFreeAsync` | [`DeviceBuffer::on`] a stream; dropping it frees it in the stream's order |
//! | `hipMemPool_t`, `hipMemPoolTrimTo` | [`Device::pool`], [`Pool::trim`]; [`PoolBackend::Async`](memory::PoolBackend) for HIP's own pool |
//! | `hipMemGetInfo` | [`Driver::mem_info`](driver::Driver::mem_info); what this library holds: [`Pool::counters`] |
//! | `hipHostMalloc` | the launcher's staging ring ([`LauncherBuilder::staging_ring`]); [`Staging::Mapped`] for kernels that use pinned memory themselves |
//! | `hipMemcpy`, `hipMemcpyAsync` | within a launch [`Arg::input`], [`Arg::output`], [`Arg::inout`]; else [`DeviceBuffer::upload`], [`DeviceBuffer::download`], [`DeviceBuffer::copy_from`] |
//! | `hipMemcpyPeerAsync`, `hipDeviceEnablePeerAccess` | [`DeviceBuffer::copy_from`] a view on another device; [`Device::enable_peer_access`] |
//! | `hipMemset`, `hipMemsetD32Async` | [`DeviceBuffer::fill_bytes`], [`DeviceBuffer::fill`] |
//! | `hipModuleLoadData`, `hipModuleUnload` | [`Module::load`], or within [`Launcher::register`]; unloaded once unused and after the last launch |
//! | `hipModuleGetFunction` | [`Launcher::register`]: a [`KernelHandle`]; for all devices, [`Launcher::register_kernel`] of a [`LazyModule`] |
//! | `hipModuleGetGlobal` | [`Module::global`] |
//! | `hipFuncGetAttributes` | [`Launcher::kernel`] and its [`attributes`](launcher::Kernel::attributes), [`Launcher::signature`]; before loading, [`code_object::CodeObject`] |
//! | `hipModuleLaunchKernel` | [`Launcher::launch`] with [`args!`] and [`LaunchDims`]; with more options [`Launcher::submit`] and a [`Launch`] |
//! | `hipStreamCreate`, `hipStreamDestroy` | [`Launcher::stream`], [`Launcher::stream_with`] a priority; dropping the stream waits for its work |
//! | a foreign `hipStream_t` or `hipEvent_t` | [`Launcher::stream_from_raw`], [`Event::from_raw`]; for them [`Stream::as_raw`], [`Event::as_raw`] |
//! | `hipModuleLaunchCooperativeKernel` | [`Launch::cooperative`] |
//! | `hipStreamSynchronize` | [`Ticket::read`] for one launch; [`Stream::synchronize`] for all |
//! | `hipStreamQuery` | [`Ticket::is_ready`]; [`Stream::is_idle`] |
//! | `hipEventCreate`, `hipEventRecord`, `hipStreamWaitEvent` | [`Event::new`], [`Event::record`], [`Event::wait_on`] |
//! | `hipEventQuery`, `hipEventSynchronize`, `hipEventElapsedTime` | [`Event::is_reached`], [`Event::synchronize`], [`Event::elapsed_ms`] |
//! | `hipLaunchHostFunc`, `hipStreamAddCallback` | [`Stream::host_function`]; a [`Ticket`] and a [`Fence`] are a [`Future`] |
//! | `hipStreamWriteValue64`, `hipStreamWaitValue64` | [`Stream::write_value`], [`Stream::wait_value`] |
//! | `hipGraphCreate`, `hipGraphAddKernelNode`, `hipGraphAddMemcpyNode` | [`Launcher::graph`], [`Graph::launch`](graph::Graph::launch), [`Graph::copy`](graph::Graph::copy); dependencies follow from what nodes read and write |
//! | `hipStreamBeginCapture`, `hipStreamEndCapture` | [`Stream::capture`], [`Stream::begin_capture`], [`Stream::end_capture`]; a [`Graph`](graph::Graph) records without a device call |
//! | `hipGraphInstantiate`, `hipGraphLaunch` | [`Graph::compile`](graph::Graph::compile), [`CompiledGraph::submit`](graph::CompiledGraph::submit); to run a graph once: [`Graph::compute`](graph::Graph::compute) |
//! | `hipGraphExecKernelNodeSetParams` | [`CompiledGraph::set_buffer`](graph::CompiledGraph::set_buffer), [`set_scalar`](graph::CompiledGraph::set_scalar), [`set_argument_block`](graph::CompiledGraph::set_argument_block) |
//! | `hiprtcCompileProgram`, `hiprtcGetCode` | [`CodeObject::compile`](Compile::compile) with a [`Compiler`] |
//! | `hiprtcLinkAddData`, `hiprtcLinkComplete` | [`Compiler::compile_inputs`](compile::Compiler::compile_inputs) |
//! | `hiprtcGetProgramLog` | [`Compiled::log`](compile::Compiled::log), [`CompileError::Failed`](compile::CompileError::Failed) |
//! | `hipError_t`, `hipGetErrorString` | [`Error`], and its [`code`](Error::code): [`ErrorCode`](driver::ErrorCode) |
//! | `hipGetLastError` | not needed: the call that fails returns its error, or a later call that waits does |
//! | roctracer, `rocprof --hip-trace` | [`Timeline`] |
//!
//! # Threads
//!
//! [`Launcher`], [`Stream`], [`Device`], buffers and tickets are [`Send`] and [`Sync`]; every method may be called from
//! any thread. A launch locks its stream: launches on one stream have one order, and each has its own arguments and
//! results. Threads that launch on different streams do not wait for each other. What one stream writes, another stream
//! may use only after it has waited for an [`Event`], or after the host has waited.
//!
//! # Safety
//!
//! A compiled kernel is trusted with the memory of its device: its metadata does not say what it does with the addresses
//! that it gets. So [`Launcher::register`] and [`Launcher::launch`] are `unsafe`, and their callers are responsible for
//! the code and for its arguments. The rest is safe where no method says otherwise: host arrays are copied during the
//! call, memory of a dropped buffer is reused only after the work that uses it, and a stale [`KernelHandle`] is an
//! error.
//!
//! The emulator checks every access of a kernel. The [validation layer](driver::validation) checks the order of work
//! that accesses the same memory; [`LauncherBuilder::validate`] or `HIPLAUNCH_VALIDATE=1` turns it on.
//!
//! # Errors
//!
//! Every call that can fail returns a [`Result`]. Mistakes in a launch or in a code object are found before any device
//! call: [`Error::Launch`] says which kernel and argument, [`Error::WrongTarget`] and [`Error::CodeObject`] say what is
//! wrong with the code. [`Error::Driver`] has the HIP call and its code.
//!
//! Work runs after the call that enqueued it. So the fault of a kernel is returned by a later call, usually one that
//! waits, as [`Error::DeviceLost`]. Its [report](fault::FaultReport) names the launches that were in flight. From then
//! on every call on that device returns the same report. With the emulator a new launcher works in the same process;
//! with HIP a new process is needed. Nothing panics in a `Drop`: errors there are logged (the crate `log`).
//!
//! # Features
//!
//! | feature | default | what it adds |
//! |---|---|---|
//! | `emulator` | on | the emulator as a driver |
//! | `link-hip` | off | libamdhip64 linked when the program is built, instead of loaded when it runs |
//! | `bindgen` | off | HIP bindings from the installed headers instead of the checked-in ones |
//! | `hipcc` | off | the code objects under `hip/` compiled when the crate is built, instead of the checked-in ones |
//!
//! A program whose users all have a GPU can turn the emulator off. Neither building nor running needs ROCm:
//! `libamdhip64` and hiprtc are searched for when they are first used.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod backend;
mod buffer;
pub mod code;
pub mod device;
mod driver_stream;
pub mod error;
pub mod fault;
pub mod graph;
pub mod launcher;
mod pool;
mod staging;
pub mod stream;

/// Memory that launches use: device memory from the device's pool, and pinned host memory for copies in both directions.
///
/// | type | holds | lives |
/// |---|---|---|
/// | [`DeviceBuffer`] | elements in device memory, with a shape | until its owners are dropped and its work has finished |
/// | [`DeviceView`] | elements of a buffer, with offset, shape and strides | as a buffer: it is another owner |
/// | [`PoolBlock`] | bytes in device memory | as a buffer |
/// | [`PinnedBuffer`] | elements of a type in pinned host memory | as long as its owner |
///
/// Those in device memory come from the device's [`Pool`], and are freed there in the order of their stream, unless they
/// are borrowed, managed, or shared between processes.
pub mod memory {
    pub use crate::buffer::{
        AsView, DeviceBuffer, DeviceView, Layout, PinnedBuffer, Pool, ReclaimCallback, SharedHandle, elements,
    };
    pub use crate::error::PoolError;
    pub use crate::pool::{
        ClassCounters, POOL_VARIABLE, PoolBackend, PoolBlock, PoolBlockInfo, PoolBlockSnapshot,
        PoolBlockState, PoolCalls, PoolCounters, PoolOptions, PoolSegmentSnapshot, PoolSnapshot,
        PoolTraceAction, PoolTraceEntry, ReclaimStep, StreamCounters, TRACE_COLUMNS, report,
    };
}

/// The [`Driver`](driver::Driver) trait, its implementations for HIP and the emulator, and the layers over them.
pub mod driver {
    pub use crate::backend;
    pub use hip_driver::*;
    pub use hip_driver_amd as amd;
    #[cfg(feature = "emulator")]
    pub use hip_driver_emulated as emulated;
    pub use hip_driver_layers::{timeline, validation};
    pub use hsa_driver as hsa;
}

/// The atomics and locks of the lock-free parts and of the pool's arenas. Tests replace them by loom's.
mod sync {
    pub(crate) use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
    pub(crate) use std::sync::{Mutex, MutexGuard, PoisonError};
}

/// Checks what the documentation above says about threads.
const _: () = {
    const fn shared_by_threads<T: Send + Sync>() {}
    shared_by_threads::<(Launcher, Stream, Device, Event, Module)>();
    shared_by_threads::<(DeviceBuffer<f32>, DeviceView<f32>, Pool, PoolBlock)>();
    shared_by_threads::<(Ticket, Fence, Output, Compiler, graph::CompiledGraph, CapturedGraph, Error)>();
};

pub use backend::Backend;
pub use code::{FatBinary, LazyModule, Module};
/// Reads code objects: targets, kernel signatures, globals.
pub use code_object;
pub use code_object::occupancy;
pub use device::Device;
pub use error::{Error, LaunchProblem, Result};
pub use hip_compile::{self as compile, Compile, Compiler};
pub use hip_driver::{EventOptions, StreamOptions};
pub use hip_driver_layers::timeline::Timeline;
pub use launcher::{
    Arg, ArgumentBlock, BufferArg, Destination, Fence, HostData, KernelAttributes, KernelHandle, Launch,
    LaunchDims, Launcher, LauncherBuilder, Output, Patch, PatchTarget, Registration, Staging, Ticket,
};
pub use lds_layout as lds;
pub use memory::{AsView, DeviceBuffer, DeviceView, PinnedBuffer, Pool, PoolBlock, PoolOptions};
pub use stream::{CapturedGraph, Event, Stream};
