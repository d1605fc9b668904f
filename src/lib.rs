//! Launch compiled HIP kernels by handle, with nothing allocated and nothing blocking on the hot path: on AMD GPUs
//! through the ROCm installed there, and on a machine without a GPU through an embedded emulator that runs the same
//! gfx90a and gfx942 code objects.
//!
//! # A first launch
//!
//! ```
//! use hiplaunch::{DeviceBuffer, LaunchDims, Launcher, args};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # #[cfg(feature = "emulator")] {
//! let launcher = Launcher::new()?; // a GPU where there is one, else the emulator
//! let device = launcher.device(0)?;
//! let stream = launcher.stream(device)?;
//! let code = std::fs::read(format!("hip/vector.{}.co", device.properties().target.processor))?;
//! // SAFETY: we trust the code, and pass it what its source asks for: a, x, y, n.
//! let saxpy = unsafe { launcher.register(device, &code, "saxpy")? };
//! let x = DeviceBuffer::from_slice(&stream, &[1.0f32; 1000])?;
//! let y = DeviceBuffer::from_slice(&stream, &[2.0f32; 1000])?;
//! let args = args![3.0f32, &x, &y, 1000i32];
//! // SAFETY: as above; x and y have 1000 elements.
//! unsafe { launcher.launch(saxpy, &stream, LaunchDims::cover(1000, 256), &args)? };
//! assert_eq!(y.to_vec(&stream)?, [5.0; 1000]);
//! # }
//! # Ok(())
//! # }
//! ```
//!
//! The code object is what `hipcc --genco --offload-arch=gfx90a -O3 -o vector.gfx90a.co vector.hip` writes, or what
//! [`CodeObject::compile`](Compile::compile) makes while the program runs. A kernel is registered once; its metadata say
//! what arguments it takes, and each launch is checked against them before any device call. Arrays need not be buffers:
//! [`Arg::input`], [`Arg::output`] and [`Arg::inout`] take the host's own, and the [`Ticket`] that a launch returns reads
//! what comes back, waiting for that launch alone.
//!
//! # Where to find what
//!
//! | module | for |
//! |---|---|
//! | [`launcher`] | registering kernels, launching them, reading results: [`Launcher`], [`Arg`], [`ArgumentBlock`], [`Ticket`] |
//! | [`memory`] | buffers, views, and the pool they come from: [`DeviceBuffer`], [`DeviceView`], [`Pool`] |
//! | [`graph`] | work that is recorded, planned once and submitted at once, on one stream or several |
//! | [`compile`] | HIP C++ to code objects while the program runs, with a cache on disk: [`Compiler`] |
//! | [`lds`] | layouts of a kernel's LDS; no device needed |
//! | [`driver`] | what a device can do: HIP, the emulator, and the layers over them (validation, [timeline](driver::timeline)) |
//! | [`code_object`] | what a code object says of its kernels: a crate of its own |
//!
//! Crates beside this one: `hiplaunch-tensor` (lazy tensors), `hiplaunch-reports` (pool snapshots, plans and timelines as JSON
//! and SVG), `hiplaunch-cli` (the command line, launch scripts), `libhiplaunch` (the C library), `offset-planner`.
//!
//! `examples/` has a program for each, numbered in the order to read them.
//!
//! # From HIP's names to these
//!
//! | HIP | here |
//! |---|---|
//! | `hipInit`, `hipGetDeviceCount`, `hipSetDevice` | [`Launcher::new`], [`Launcher::devices`]; every object knows its device, there is no current one |
//! | `hipDeviceProp_t`, `hipDeviceGetAttribute` | [`Device::properties`]: [`DeviceProperties`](driver::DeviceProperties) |
//! | `hipMalloc`, `hipFree` | [`DeviceBuffer::new`], which comes from the [`Pool`]; freed by dropping it |
//! | `hipMallocAsync`, `hipFreeAsync` | [`DeviceBuffer::on`] a stream; dropping it, in the stream's order |
//! | `hipMemPool_t`, `hipMemPoolTrimTo` | [`Device::pool`], [`Pool::trim`]; [`PoolBackend::Async`](memory::PoolBackend) for HIP's own pool |
//! | `hipMemGetInfo` | [`Driver::mem_info`](driver::Driver::mem_info); what this library holds: [`Pool::counters`] |
//! | `hipHostMalloc` | the launcher's staging ring ([`LauncherBuilder::staging_ring`]); [`Staging::Mapped`] for kernels that use pinned memory themselves |
//! | `hipMemcpy`, `hipMemcpyAsync` | [`Arg::input`] and its kind within a launch; [`DeviceBuffer::upload`], [`DeviceBuffer::download`], [`DeviceBuffer::copy_from`] |
//! | `hipMemset`, `hipMemsetD32Async` | [`DeviceBuffer::fill_bytes`], [`DeviceBuffer::fill`] |
//! | `hipModuleLoadData`, `hipModuleUnload` | [`Module::load`], or within [`Launcher::register`]; unloaded after the last launch |
//! | `hipModuleGetFunction` | [`Launcher::register`]: a [`KernelHandle`] |
//! | `hipModuleGetGlobal` | [`Module::global`] |
//! | `hipFuncGetAttributes` | [`Launcher::signature`]; before loading, [`code_object::CodeObject`] |
//! | `hipModuleLaunchKernel` | [`Launcher::launch`] with [`args!`] and [`LaunchDims`]; with more options [`Launcher::submit`] and a [`Launch`] |
//! | `hipStreamCreate`, `hipStreamDestroy` | [`Launcher::stream`], [`Launcher::stream_with`] a priority; dropping it waits for its work |
//! | `hipStreamSynchronize` | [`Ticket::read`] for one launch; [`Stream::synchronize`] for all |
//! | `hipStreamQuery` | [`Ticket::is_ready`]; [`Stream::is_idle`] |
//! | `hipEventCreate`, `hipEventRecord`, `hipStreamWaitEvent` | [`Event::new`], [`Event::record`], [`Event::wait_on`] |
//! | `hipEventQuery`, `hipEventSynchronize`, `hipEventElapsedTime` | [`Event::is_reached`], [`Event::synchronize`], [`Event::elapsed_ms`] |
//! | `hipLaunchHostFunc`, `hipStreamAddCallback` | a [`Ticket`] is a [`Future`] |
//! | `hipGraphCreate`, `hipGraphAddKernelNode`, `hipGraphAddMemcpyNode` | [`Launcher::graph`], [`Graph::launch`](graph::Graph::launch), [`Graph::copy`](graph::Graph::copy); dependencies follow from what nodes read and write |
//! | `hipStreamBeginCapture` | not needed: a [`Graph`](graph::Graph) records without a device call |
//! | `hipGraphInstantiate`, `hipGraphLaunch` | [`Graph::compile`](graph::Graph::compile), [`CompiledGraph::submit`](graph::CompiledGraph::submit); once: [`Graph::compute`](graph::Graph::compute) |
//! | `hipGraphExecKernelNodeSetParams` | [`CompiledGraph::set_buffer`](graph::CompiledGraph::set_buffer), [`set_scalar`](graph::CompiledGraph::set_scalar), [`set_argument_block`](graph::CompiledGraph::set_argument_block) |
//! | `hiprtcCompileProgram`, `hiprtcGetCode` | [`CodeObject::compile`](Compile::compile) with a [`Compiler`] |
//! | `hiprtcGetProgramLog` | [`Compiled::log`](compile::Compiled::log), [`CompileError::Failed`](compile::CompileError::Failed) |
//! | `hipError_t`, `hipGetErrorString` | [`Error`], and its [`code`](Error::code): [`ErrorCode`](driver::ErrorCode) |
//! | `hipGetLastError` | not needed: what fails returns its error, or the wait for it does |
//! | roctracer, `rocprof --hip-trace` | [`Timeline`] |
//!
//! # Threads
//!
//! [`Launcher`], [`Stream`], [`Device`], buffers and tickets are [`Send`] and [`Sync`]; every method may be called from any
//! thread. A launch locks its stream, so that launches on one stream are in one order and none mixes up another's
//! arguments or results; threads that launch on streams of their own do not meet. What one stream writes, another
//! may use only behind an [`Event`], or after the host has waited.
//!
//! # Safety
//!
//! A compiled kernel is trusted with the memory of its device: nothing can say what it does with the addresses it is
//! given. So [`Launcher::register`] and [`Launcher::launch`] are `unsafe`, and their callers answer for the code and for
//! what it is passed. All else is safe: host arrays are copied at the call and borrowed no longer; buffers go back to the
//! pool only behind the work that uses them; a stale [`KernelHandle`] is an error. The emulator checks every access of a
//! kernel, and the [validation layer](driver::validation) the order of what touches the same memory:
//! [`LauncherBuilder::validate`], or `HIPLAUNCH_VALIDATE=1`.
//!
//! # Errors
//!
//! Everything returns [`Result`]. What can be refused is, before any device call: [`Error::Launch`] says which kernel and
//! argument, [`Error::WrongTarget`] and [`Error::CodeObject`] what is wrong with the code. [`Error::Driver`] has the HIP
//! call and its code. As work runs after the call that enqueued it, a kernel's fault comes out of whichever call meets it
//! first, mostly one that waits, as [`Error::DeviceLost`], whose [report](fault::FaultReport) names the launches that were
//! in flight. From then on every call on that device returns it; with the emulator a new launcher works in the same
//! process, with HIP it takes a new process. Nothing panics in a `Drop`: what fails there is logged (the crate `log`).
//!
//! # Features
//!
//! | feature | default | what it adds |
//! |---|---|---|
//! | `emulator` | on | the emulator as a driver |
//! | `link-hip` | off | libamdhip64 linked when the program is built, instead of loaded when it runs |
//! | `bindgen` | off | HIP bindings from the installed headers instead of the checked-in ones |
//! | `hipcc` | off | the code objects under `hip/` compiled anew |
//!
//! A program whose users all have a GPU can leave the emulator out. Neither building nor running needs ROCm: `libamdhip64` and hiprtc are looked for when they are first needed.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod backend;
pub mod device;
pub mod error;
pub mod event;
pub mod fault;
pub mod graph;
pub mod launcher;
pub mod memory;
pub mod module;
mod owned_stream;
mod progress;
mod stream;

/// What a device can do: the [`Driver`](driver::Driver) trait, its drivers, and the layers over them.
pub mod driver {
    pub use crate::backend;
    pub use hip_driver::*;
    #[cfg(feature = "emulator")]
    pub use hip_driver_emulated as emulated;
    pub use hip_driver_layers::{timeline, validation};
}

/// The atomics of the lock-free parts; tests put loom's in their place.
mod sync {
    pub(crate) use std::sync::atomic::{AtomicU64, Ordering};
}

/// What the documentation above says of threads.
const _: () = {
    const fn shared_by_threads<T: Send + Sync>() {}
    shared_by_threads::<(Launcher, Stream, Device, Event, Module)>();
    shared_by_threads::<(DeviceBuffer<f32>, DeviceView<f32>, Pool, PoolBlock)>();
    shared_by_threads::<(Ticket, Output, Compiler, graph::CompiledGraph, Error)>();
};

pub use backend::Backend;
/// What code objects say: targets, kernel signatures, globals.
pub use code_object;
pub use device::Device;
pub use error::{Error, LaunchProblem, Result};
pub use event::Event;
pub use hip_driver::compile::{self, Compile, Compiler};
pub use hip_driver::{EventOptions, StreamOptions};
pub use hip_driver_layers::timeline::Timeline;
pub use launcher::{
    Arg, ArgumentBlock, BufferArg, Destination, HostData, KernelHandle, Launch, LaunchDims, Launcher,
    LauncherBuilder, Output, Patch, PatchTarget, Registration, Staging, Stream, Ticket,
};
pub use lds_layout as lds;
pub use memory::{DeviceBuffer, DeviceScratchBuffer, DeviceView, PinnedBuffer, Pool, PoolBlock, PoolOptions};
pub use module::Module;
