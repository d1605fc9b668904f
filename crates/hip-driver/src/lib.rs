//! What any device can do: the [`Driver`] trait, in HIP's vocabulary, with the device explicit on every call.
//!
//! What a device does in the order of a stream is one idea, [`Work`]: [`Driver::enqueue`] puts it on a stream,
//! [`Driver::graph_add`] into a graph.
//!
//! # Contract
//!
//! * **Who validates.** A driver checks what its runtime checks, and no more. The safety requirements of the unsafe
//!   methods are the caller's: live handles of this driver, live memory, the right device. A validation layer checks
//!   them over any driver.
//! * **Capabilities.** A call that needs a [`Capability`] which the driver lacks returns `NOT_SUPPORTED`.
//! * **Order.** Work on one stream runs in the order in which it was enqueued; work on two streams is ordered only by
//!   [`event_record`](Driver::event_record) and [`stream_wait_event`](Driver::stream_wait_event), or by the host.
//! * **Asynchrony.** A copy from pinned memory reads it when the copy runs, not when it is called. A copy from pageable
//!   memory has read it when the call returns. A copy to pageable host memory waits for the whole stream.
//! * **Graphs.** A node runs after those it depends on; which of the others it runs beside is the driver's choice, none
//!   included. Nodes carry no memory of their own and cannot be changed: what is to differ between launches stands in
//!   memory that they point to.
//! * **Errors.** [`ErrorCode`]s in HIP's numbering. `NOT_READY` never comes back as an error: the queries return `false`.
//!   After a [sticky](ErrorCode::is_sticky) code every later call on that device fails with it.
//! * **Threads.** Every method may be called from any thread; the driver keeps the thread's current device itself and
//!   sets it only when it differs.
//! * **Panics.** None.

pub mod activity;
mod call;
mod capability;
mod code;
pub mod compile;
pub mod hip;
mod library;
mod memory;
mod observer;
mod types;

use std::ffi::CStr;
use std::fmt::Debug;

pub use call::{AccessRange, Call, CallKind, CopyDirection, HostFunction, Output, Space, Work, WorkSummary};
pub use capability::{Capabilities, Capability};
pub use code::{DriverError, DriverResult, ErrorCode};
pub use memory::{IpcHandle, MemoryKind, MemoryReply, MemoryRequest};
pub use observer::{Note, Observer};
pub use types::{
    DeviceId, DeviceProperties, DevicePtr, DriverInfo, EventOptions, KernelLaunch, MemInfo, MemoryAccess,
    PinnedAllocation, RawEvent, RawFunction, RawGraph, RawGraphExec, RawGraphNode, RawModule, RawStream,
    Recovery, StreamOptions,
};

/// A function run by the driver in stream order. Must not call the driver (`hipLaunchHostFunc`'s rule).
pub type HostFunc = Box<dyn FnOnce() + Send + 'static>;

/// A runtime that drives devices. See the [module's contract](self).
///
/// # Safety of the unsafe methods
///
/// Common to all: every handle and address is live, was made by this driver, and belongs to `device` where a device is
/// given; device ranges lie inside one allocation. What a method asks beyond that stands beside it.
///
/// # Errors
///
/// Every method returns the failing call and its code.
#[allow(clippy::missing_errors_doc, reason = "the trait's own Errors section covers every method")]
pub trait Driver: Send + Sync + Debug + 'static {
    /// Name, version and origin.
    fn info(&self) -> DriverInfo;
    /// Which optional abilities it has.
    fn capabilities(&self) -> Capabilities;
    /// Whom to tell of what happens beside the calls; `None` where nobody listens, which is the common case.
    fn observer(&self) -> Option<&dyn Observer> {
        None
    }

    /// How many devices there are (0 is no error).
    fn device_count(&self) -> DriverResult<u32>;
    /// Limits and names of a device.
    fn device_properties(&self, device: DeviceId) -> DriverResult<DeviceProperties>;
    /// Free and total memory of a device. Needs [`Capability::MemInfo`].
    fn mem_info(&self, device: DeviceId) -> DriverResult<MemInfo>;
    /// Waits for everything on the device.
    fn device_synchronize(&self, device: DeviceId) -> DriverResult<()>;
    /// Whether kernels on `device` can be allowed to use memory of `peer`.
    fn can_access_peer(&self, device: DeviceId, peer: DeviceId) -> DriverResult<bool> {
        let _ = (device, peer);
        Ok(false)
    }
    /// Allows kernels on `device` to use memory of `peer`; allowed already is success. Needs
    /// [`Capability::PeerAccess`].
    fn enable_peer_access(&self, device: DeviceId, peer: DeviceId) -> DriverResult<()> {
        let _ = (device, peer);
        Err(lacking(CallKind::EnablePeerAccess))
    }

    /// Allocates device memory, aligned to 256 bytes. `bytes` is not 0.
    fn malloc(&self, device: DeviceId, bytes: usize) -> DriverResult<DevicePtr>;
    /// Frees memory of [`malloc`](Driver::malloc). May wait for the device (HIP does).
    ///
    /// # Safety
    /// No work in flight or enqueued later uses the memory, unless the driver waits for it.
    unsafe fn free(&self, device: DeviceId, ptr: DevicePtr) -> DriverResult<()>;
    /// Allocates in stream order. Needs [`Capability::StreamOrderedAllocator`].
    ///
    /// # Safety
    /// As the trait says.
    unsafe fn malloc_async(
        &self,
        device: DeviceId,
        bytes: usize,
        stream: RawStream,
    ) -> DriverResult<DevicePtr> {
        let _ = (device, bytes, stream);
        Err(lacking(CallKind::MallocAsync))
    }
    /// Frees memory of [`malloc_async`](Driver::malloc_async) in stream order.
    ///
    /// # Safety
    /// Work on other streams that uses the memory is ordered before this call.
    unsafe fn free_async(&self, device: DeviceId, ptr: DevicePtr, stream: RawStream) -> DriverResult<()> {
        let _ = (device, ptr, stream);
        Err(lacking(CallKind::FreeAsync))
    }
    /// Gives the default pool's unused memory above `keep` bytes back to the device. Needs
    /// [`Capability::StreamOrderedAllocator`].
    fn mem_pool_trim(&self, device: DeviceId, keep: usize) -> DriverResult<()> {
        let _ = (device, keep);
        Err(lacking(CallKind::MemPoolTrim))
    }
    /// Allocates pinned, mapped host memory. `bytes` is not 0.
    fn host_malloc(&self, device: DeviceId, bytes: usize) -> DriverResult<PinnedAllocation>;
    /// Frees memory of [`host_malloc`](Driver::host_malloc).
    ///
    /// # Safety
    /// No copy or kernel in flight uses the memory.
    unsafe fn host_free(&self, device: DeviceId, allocation: PinnedAllocation) -> DriverResult<()>;
    /// Pins `bytes` of the caller's host memory at `ptr`, and maps it for kernels: from now on copies and kernels use it as
    /// they use memory of [`host_malloc`](Driver::host_malloc). `bytes` is not 0. Needs [`Capability::HostRegister`].
    ///
    /// # Safety
    /// The memory is readable and writable until [`host_unregister`](Driver::host_unregister) has returned. No byte of it is
    /// pinned already.
    unsafe fn host_register(
        &self,
        device: DeviceId,
        ptr: *mut u8,
        bytes: usize,
    ) -> DriverResult<PinnedAllocation> {
        let _ = (device, ptr, bytes);
        Err(lacking(CallKind::HostRegister))
    }
    /// Gives memory of [`host_register`](Driver::host_register) back to the caller.
    ///
    /// # Safety
    /// No copy or kernel in flight uses the memory, and no work enqueued later uses it as pinned.
    unsafe fn host_unregister(&self, device: DeviceId, allocation: PinnedAllocation) -> DriverResult<()> {
        let _ = (device, allocation);
        Err(lacking(CallKind::HostUnregister))
    }

    /// Does what a request about memory says: managed memory, memory of other processes, and whose an address is. What it
    /// needs stands at the [kind](MemoryKind) or the request.
    ///
    /// # Safety
    /// As the trait says, and what the request asks for.
    unsafe fn memory(&self, device: DeviceId, request: &MemoryRequest) -> DriverResult<MemoryReply> {
        let _ = device;
        let detail = "this driver cannot do that";
        Err(DriverError::with_detail(request.name(), ErrorCode::NOT_SUPPORTED, detail))
    }

    /// Makes a stream.
    fn stream_create(&self, device: DeviceId, options: StreamOptions) -> DriverResult<RawStream>;
    /// Destroys a stream; work on it runs to its end.
    ///
    /// # Safety
    /// No call uses the stream at the same time or later.
    unsafe fn stream_destroy(&self, device: DeviceId, stream: RawStream) -> DriverResult<()>;
    /// Waits for all work on the stream.
    ///
    /// # Safety
    /// As the trait says.
    unsafe fn stream_synchronize(&self, device: DeviceId, stream: RawStream) -> DriverResult<()>;
    /// Whether all work on the stream has finished. Illegal while capturing.
    ///
    /// # Safety
    /// As the trait says.
    unsafe fn stream_query(&self, device: DeviceId, stream: RawStream) -> DriverResult<bool>;
    /// Makes later work on `stream` wait for the event's last record; one never recorded is no wait. The event may
    /// belong to another device.
    ///
    /// # Safety
    /// As the trait says.
    unsafe fn stream_wait_event(
        &self,
        device: DeviceId,
        stream: RawStream,
        event: RawEvent,
    ) -> DriverResult<()>;

    /// Makes an event.
    fn event_create(&self, device: DeviceId, options: EventOptions) -> DriverResult<RawEvent>;
    /// Destroys an event; waits already enqueued on it stay good.
    ///
    /// # Safety
    /// No call uses the event at the same time or later.
    unsafe fn event_destroy(&self, device: DeviceId, event: RawEvent) -> DriverResult<()>;
    /// Records the event on a stream of its own device.
    ///
    /// # Safety
    /// As the trait says.
    unsafe fn event_record(&self, device: DeviceId, event: RawEvent, stream: RawStream) -> DriverResult<()>;
    /// Whether the last record has been reached; `true` for one never recorded.
    ///
    /// # Safety
    /// As the trait says.
    unsafe fn event_query(&self, device: DeviceId, event: RawEvent) -> DriverResult<bool>;
    /// Waits until the last record has been reached.
    ///
    /// # Safety
    /// As the trait says.
    unsafe fn event_synchronize(&self, device: DeviceId, event: RawEvent) -> DriverResult<()>;
    /// Milliseconds between two timing events whose records have been reached. Needs [`Capability::EventTiming`].
    ///
    /// # Safety
    /// As the trait says.
    unsafe fn event_elapsed_ms(&self, device: DeviceId, start: RawEvent, end: RawEvent) -> DriverResult<f32> {
        let _ = (device, start, end);
        Err(lacking(CallKind::EventElapsed))
    }

    /// Puts work on a stream: it runs after all earlier work on the stream and before all later. Does not wait, but for a
    /// [copy to pageable memory](Work::CopyToHost). `NOT_SUPPORTED` for work that no stream takes.
    ///
    /// # Safety
    /// What the kind of [`Work`] asks for.
    unsafe fn enqueue(&self, device: DeviceId, stream: RawStream, work: &Work<'_>) -> DriverResult<()>;
    /// Does a [`CopyToDevice`](Work::CopyToDevice) or a [`CopyToHost`](Work::CopyToHost) and waits for it; no other work.
    /// It runs on no stream, which is why it is a call of its own, and comes after what the host has waited for. Needs
    /// [`Capability::BlockingCopy`].
    ///
    /// # Safety
    /// What the kind of [`Work`] asks for.
    unsafe fn copy_blocking(&self, device: DeviceId, work: &Work<'_>) -> DriverResult<()> {
        let _ = device;
        Err(lacking(work.blocking_kind()))
    }

    /// Loads a code object (raw ELF, or an offload bundle).
    ///
    /// # Safety
    /// The code object's kernels are trusted with the device's memory.
    unsafe fn module_load(&self, device: DeviceId, image: &[u8]) -> DriverResult<RawModule>;
    /// Unloads a module; its functions and globals are gone.
    ///
    /// # Safety
    /// None of its kernels is in flight: HIP does not wait for them.
    unsafe fn module_unload(&self, device: DeviceId, module: RawModule) -> DriverResult<()>;
    /// Finds a kernel by name (without `.kd`). A name that no kernel of the module has, the empty one included, is
    /// [`ErrorCode::NOT_FOUND`].
    ///
    /// # Safety
    /// As the trait says.
    unsafe fn module_get_function(
        &self,
        device: DeviceId,
        module: RawModule,
        name: &CStr,
    ) -> DriverResult<RawFunction>;
    /// Address and size in bytes of a global variable. Needs [`Capability::ModuleGlobals`].
    ///
    /// # Safety
    /// As the trait says.
    unsafe fn module_get_global(
        &self,
        device: DeviceId,
        module: RawModule,
        name: &CStr,
    ) -> DriverResult<(DevicePtr, usize)> {
        let _ = (device, module, name);
        Err(lacking(CallKind::ModuleGetGlobal))
    }
    /// How many workgroups of `block_threads` work-items and `dynamic_lds` bytes fit on one compute unit. Needs
    /// [`Capability::Occupancy`].
    ///
    /// # Safety
    /// As the trait says.
    unsafe fn occupancy(
        &self,
        device: DeviceId,
        function: RawFunction,
        block_threads: u32,
        dynamic_lds: u32,
    ) -> DriverResult<u32> {
        let _ = (device, function, block_threads, dynamic_lds);
        Err(lacking(CallKind::Occupancy))
    }

    /// Makes a graph without nodes. This and all that follows for graphs needs [`Capability::Graphs`].
    fn graph_create(&self, device: DeviceId) -> DriverResult<RawGraph> {
        let _ = device;
        Err(lacking(CallKind::GraphCreate))
    }
    /// Destroys a graph and its nodes. What was instantiated from it stays good.
    ///
    /// # Safety
    /// No call uses the graph or a node of it at the same time or later.
    unsafe fn graph_destroy(&self, device: DeviceId, graph: RawGraph) -> DriverResult<()> {
        let _ = (device, graph);
        Err(lacking(CallKind::GraphDestroy))
    }
    /// Adds work that runs after the nodes in `dependencies`. A kernel's kernarg segment is copied before the call returns.
    /// `NOT_SUPPORTED` for work that no graph takes.
    ///
    /// # Safety
    /// `dependencies` are nodes of this graph, and no two calls add to it at the same time. Until the graph and all that was
    /// instantiated from it are destroyed, a kernel's module stays loaded. Whenever the graph is launched, what the kind of
    /// [`Work`] asks for.
    unsafe fn graph_add(
        &self,
        device: DeviceId,
        graph: RawGraph,
        dependencies: &[RawGraphNode],
        work: &Work<'_>,
    ) -> DriverResult<RawGraphNode> {
        let _ = (device, graph, dependencies);
        Err(lacking(work.node_kind()))
    }
    /// Makes a graph that can be launched, from a copy of the nodes that there are. [`Work::Graph`] launches it.
    ///
    /// # Safety
    /// As the trait says; nobody adds to the graph at the same time.
    unsafe fn graph_instantiate(&self, device: DeviceId, graph: RawGraph) -> DriverResult<RawGraphExec> {
        let _ = (device, graph);
        Err(lacking(CallKind::GraphInstantiate))
    }
    /// Destroys what was instantiated. Waits for nothing.
    ///
    /// # Safety
    /// No launch of it is in flight; no call uses it at the same time or later.
    unsafe fn graph_exec_destroy(&self, device: DeviceId, exec: RawGraphExec) -> DriverResult<()> {
        let _ = (device, exec);
        Err(lacking(CallKind::GraphExecDestroy))
    }
}

/// The error of a driver that lacks what a call needs.
#[cold]
fn lacking(call: CallKind) -> DriverError {
    DriverError::with_detail(call.name(), ErrorCode::NOT_SUPPORTED, "this driver cannot do that")
}

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
