//! The [`Driver`] trait: what a program can ask of a device, in HIP's vocabulary. Every call names its device.
//!
//! What a device does in stream order is a piece of [`Work`]. [`Driver::enqueue`] enqueues it on a stream, and
//! [`Driver::graph_add`] adds it to a graph.
//!
//! # Contract
//!
//! * **Validation.** A driver checks what its runtime checks, and no more. The caller guarantees the safety
//!   requirements of the unsafe methods: live handles of this driver, live memory, the right device. The validation
//!   layer checks them over any driver.
//! * **Capabilities.** A call that needs a [`Capability`] which the driver lacks returns `NOT_SUPPORTED`.
//! * **Order.** Work on one stream runs in the order in which it was enqueued. Work on two streams is ordered only by
//!   [`event_record`](Driver::event_record) and [`stream_wait_event`](Driver::stream_wait_event), by
//!   [values](Work::WaitValue) in memory, or by the host.
//! * **Default streams.** Each device has a [null stream](RawStream::NULL), and one for each thread
//!   ([`PER_THREAD`](RawStream::PER_THREAD)). Work on the null stream waits for all earlier work on the device's
//!   [blocking](StreamOptions::blocking) streams, and later work on those waits for it. A per-thread stream is a blocking
//!   stream. A [blocking copy](Driver::copy_blocking) waits as work on the null stream does. Other streams take no notice of
//!   these. `NULL` and `PER_THREAD` may be given wherever a stream is asked for, but to
//!   [`stream_destroy`](Driver::stream_destroy).
//! * **Asynchrony.** A copy from pinned memory reads it when the copy runs, not when the call is made. A copy from
//!   pageable memory has read it when the call returns. A copy to pageable memory waits for the whole stream.
//! * **Graphs.** A node runs after the nodes that it depends on. Whether it runs at the same time as others is the
//!   driver's choice. Nodes contain no data and cannot be changed: values that differ between launches are in memory
//!   that the nodes point to.
//! * **Captures.** What is enqueued on a stream that is [captured](Driver::stream_begin_capture) does not run. It becomes a
//!   node of a graph, if [`graph_add`](Driver::graph_add) takes such work; a copy of pageable memory becomes one too,
//!   and reads or writes the memory when the graph runs. Other work, and allocations in stream order, fail with
//!   `STREAM_CAPTURE_UNSUPPORTED`. A stream that waits for an event that was recorded in a capture joins the capture.
//!   A call that would wait for captured work breaks the capture: waiting for such a stream or event or asking for
//!   its state, `device_synchronize`, and a blocking copy. So do allocating, freeing, pinning and unpinning memory,
//!   unloading a module, and waiting for other streams and events or asking for their state, where the
//!   [mode](CaptureMode) says so. Work on the null stream neither waits for a captured stream nor breaks its capture.
//! * **Errors.** [`ErrorCode`]s have HIP's numbers. `NOT_READY` is never returned as an error: the queries return
//!   `false`. After a [sticky](ErrorCode::is_sticky) code, every later call on that device fails with it.
//! * **Threads.** Every method may be called from any thread. The driver remembers the current device of each thread
//!   and sets it only when it differs.
//! * **Panics.** No method panics.

#[macro_use]
mod kinds;

pub mod activity;
mod call;
mod capability;
mod capture;
pub mod captures;
pub mod checks;
mod code;
pub mod driver_captures;
mod host;
pub mod limits;
mod node_numbers;
pub mod noop;
mod observer;
mod stderr;
mod thread_number;
mod types;
mod value;

use std::ffi::CStr;
use std::fmt::Debug;
use std::ptr::NonNull;

pub use call::{AccessRange, Call, CallGroup, CallKind, CopyDirection, Output, Space, Work, WorkSummary};
pub use capability::{Capabilities, Capability};
pub use capture::{CaptureInfo, CaptureMode, CaptureStatus};
pub use code::{DriverError, DriverResult, ErrorCode};
pub use host::{HostFunc, HostFunction, HostNode};
pub use node_numbers::NodeNumbers;
pub use observer::{Note, NoteKind, ObservedKind, Observer};
pub use stderr::stderr_line;
pub use thread_number::thread_number;
pub use types::{
    DeviceId, DeviceProperties, DevicePtr, DriverInfo, EventOptions, IpcHandle, KernelLaunch, MemInfo,
    MemoryAccess, NodeLaunch, PciAddress, PciAddressError, PinnedAllocation, RawEvent, RawFunction, RawGraph,
    RawGraphExec, RawGraphNode, RawModule, RawStream, Recovery, StreamOptions,
};
pub use value::{Comparison, ValueWidth, WaitCondition};

/// A runtime that drives devices. The [module's contract](self) holds for every implementation.
///
/// # Safety of the unsafe methods
///
/// Every unsafe method requires that each handle and address is live, was returned by this driver, and belongs to
/// `device` where a device is given, and that each device range lies inside one allocation. A method's own section says
/// what it requires in addition.
///
/// # Errors
///
/// Every method returns the failed call and its code.
#[allow(clippy::missing_errors_doc, reason = "the trait's own Errors section covers every method")]
pub trait Driver: Send + Sync + Debug + 'static {
    /// Returns the driver's name, version and origin.
    fn info(&self) -> DriverInfo;
    /// Returns the capabilities that the driver has.
    fn capabilities(&self) -> Capabilities;
    /// Returns the observer of what happens outside driver calls, such as the host's writes to pinned memory; `None` if
    /// no layer observes that, which is the common case.
    fn observer(&self) -> Option<&dyn Observer> {
        None
    }

    /// Returns the number of devices. No device is not an error: the number is 0.
    fn device_count(&self) -> DriverResult<u32>;
    /// Returns the limits and names of a device.
    fn device_properties(&self, device: DeviceId) -> DriverResult<DeviceProperties>;
    /// Returns the free and total memory of a device. Needs [`Capability::MemInfo`].
    fn mem_info(&self, device: DeviceId) -> DriverResult<MemInfo>;
    /// Waits for all work on all streams of the device.
    fn device_synchronize(&self, device: DeviceId) -> DriverResult<()>;
    /// Returns whether kernels on `device` can be allowed to access memory of `peer`.
    fn can_access_peer(&self, device: DeviceId, peer: DeviceId) -> DriverResult<bool> {
        let _ = (device, peer);
        Ok(false)
    }
    /// Allows kernels on `device` to access memory of `peer`. Succeeds if that is allowed already. Needs
    /// [`Capability::PeerAccess`].
    fn enable_peer_access(&self, device: DeviceId, peer: DeviceId) -> DriverResult<()> {
        let _ = (device, peer);
        Err(lacking(CallKind::EnablePeerAccess))
    }

    /// Allocates `bytes` bytes of device memory, aligned to 256 bytes. `bytes` is not 0.
    fn malloc(&self, device: DeviceId, bytes: usize) -> DriverResult<DevicePtr>;
    /// Frees memory that [`malloc`](Driver::malloc), [`malloc_managed`](Driver::malloc_managed) or
    /// [`malloc_shared`](Driver::malloc_shared) allocated. May wait for the device, as HIP does.
    ///
    /// # Safety
    /// No work in flight or enqueued later uses the memory, unless the driver waits for it.
    unsafe fn free(&self, device: DeviceId, ptr: DevicePtr) -> DriverResult<()>;
    /// Allocates device memory in stream order. Needs [`Capability::StreamOrderedAllocator`].
    ///
    /// # Safety
    /// Only what the [trait](Driver) requires.
    unsafe fn malloc_async(
        &self,
        device: DeviceId,
        bytes: usize,
        stream: RawStream,
    ) -> DriverResult<DevicePtr> {
        let _ = (device, bytes, stream);
        Err(lacking(CallKind::MallocAsync))
    }
    /// Frees, in stream order, memory that [`malloc_async`](Driver::malloc_async) allocated.
    ///
    /// # Safety
    /// Work on other streams that uses the memory is ordered before this call.
    unsafe fn free_async(&self, device: DeviceId, ptr: DevicePtr, stream: RawStream) -> DriverResult<()> {
        let _ = (device, ptr, stream);
        Err(lacking(CallKind::FreeAsync))
    }
    /// Allocates `bytes` bytes of pinned host memory and maps them for kernels. `bytes` is not 0.
    fn host_malloc(&self, device: DeviceId, bytes: usize) -> DriverResult<PinnedAllocation>;
    /// Frees memory that [`host_malloc`](Driver::host_malloc) allocated.
    ///
    /// # Safety
    /// No copy or kernel in flight uses the memory.
    unsafe fn host_free(&self, device: DeviceId, allocation: PinnedAllocation) -> DriverResult<()>;
    /// Pins `bytes` bytes of the caller's host memory at `ptr` and maps them for kernels. Copies and kernels may then
    /// use the memory as they use memory of [`host_malloc`](Driver::host_malloc). `bytes` is not 0. Needs
    /// [`Capability::HostRegister`].
    ///
    /// # Safety
    /// The memory is readable and writable until [`host_unregister`](Driver::host_unregister) has returned. No byte of
    /// it is pinned already.
    unsafe fn host_register(
        &self,
        device: DeviceId,
        ptr: *mut u8,
        bytes: usize,
    ) -> DriverResult<PinnedAllocation> {
        let _ = (device, ptr, bytes);
        Err(lacking(CallKind::HostRegister))
    }
    /// Unpins memory that [`host_register`](Driver::host_register) pinned.
    ///
    /// # Safety
    /// No copy or kernel in flight uses the memory, and no work that is enqueued later uses it as pinned memory.
    unsafe fn host_unregister(&self, device: DeviceId, allocation: PinnedAllocation) -> DriverResult<()> {
        let _ = (device, allocation);
        Err(lacking(CallKind::HostUnregister))
    }

    /// Allocates `bytes` bytes of memory that the host and all devices access at one address, aligned to 256 bytes. `bytes`
    /// is not 0. Needs [`Capability::ManagedMemory`].
    fn malloc_managed(&self, device: DeviceId, bytes: usize) -> DriverResult<DevicePtr> {
        let _ = (device, bytes);
        Err(lacking(CallKind::MallocManaged))
    }
    /// Allocates `bytes` bytes of device memory, aligned to 256 bytes, that other processes may
    /// [open](Driver::ipc_open). `bytes` is not 0. Needs [`Capability::SharedMemory`].
    fn malloc_shared(&self, device: DeviceId, bytes: usize) -> DriverResult<DevicePtr> {
        let _ = (device, bytes);
        Err(lacking(CallKind::MallocShared))
    }
    /// Makes a handle of memory of [`malloc_shared`](Driver::malloc_shared) or [`malloc`](Driver::malloc), which other
    /// processes may [open](Driver::ipc_open) until it is freed. Needs [`Capability::SharedMemory`].
    ///
    /// # Safety
    /// Nothing accesses the memory meanwhile.
    unsafe fn ipc_handle(&self, device: DeviceId, ptr: DevicePtr) -> DriverResult<IpcHandle> {
        let _ = (device, ptr);
        Err(lacking(CallKind::IpcHandle))
    }
    /// Opens the memory of which another process made a handle, all of its `bytes` bytes. Needs
    /// [`Capability::SharedMemory`].
    ///
    /// # Safety
    /// The other process does not free the memory before it is [closed](Driver::ipc_close).
    unsafe fn ipc_open(&self, device: DeviceId, handle: IpcHandle, bytes: usize) -> DriverResult<DevicePtr> {
        let _ = (device, handle, bytes);
        Err(lacking(CallKind::IpcOpen))
    }
    /// Closes memory that [`ipc_open`](Driver::ipc_open) opened.
    ///
    /// # Safety
    /// No work in flight or enqueued later uses the memory.
    unsafe fn ipc_close(&self, device: DeviceId, ptr: DevicePtr) -> DriverResult<()> {
        let _ = (device, ptr);
        Err(lacking(CallKind::IpcClose))
    }
    /// Returns unused memory of the device's default pool to the device until `keep` bytes are left in it. Needs
    /// [`Capability::StreamOrderedAllocator`].
    fn trim_pool(&self, device: DeviceId, keep: usize) -> DriverResult<()> {
        let _ = (device, keep);
        Err(lacking(CallKind::TrimPool))
    }
    /// Returns the device whose memory is at an address. Needs [`Capability::PointerAttributes`].
    fn device_of_pointer(&self, device: DeviceId, ptr: DevicePtr) -> DriverResult<DeviceId> {
        let _ = (device, ptr);
        Err(lacking(CallKind::DeviceOfPointer))
    }
    /// Returns where the host accesses `bytes` bytes of the device's memory, not 0, until the memory is freed or shared;
    /// `None` if it can't. The host orders its accesses with the device's work, by waiting. Checks that look for reads of
    /// memory that was never written take these bytes for written.
    fn host_address(
        &self,
        device: DeviceId,
        ptr: DevicePtr,
        bytes: usize,
    ) -> DriverResult<Option<NonNull<u8>>> {
        let _ = (device, ptr, bytes);
        Ok(None)
    }
    /// Makes memory fine-grained or coarse-grained, by its start: pinned and managed memory is fine-grained by default, device
    /// memory is not. HIP decides that when it allocates, so that only the emulator can do this.
    fn set_fine_grained(&self, device: DeviceId, ptr: DevicePtr, is_fine: bool) -> DriverResult<()> {
        let _ = (device, ptr, is_fine);
        Err(lacking(CallKind::SetFineGrained))
    }

    /// Creates a stream.
    fn stream_create(&self, device: DeviceId, options: StreamOptions) -> DriverResult<RawStream>;
    /// Destroys a stream. Work that was enqueued on it still runs to its end.
    ///
    /// # Safety
    /// No other call uses the stream at the same time or later.
    unsafe fn stream_destroy(&self, device: DeviceId, stream: RawStream) -> DriverResult<()>;
    /// Waits for all work on the stream.
    ///
    /// # Safety
    /// Only what the [trait](Driver) requires.
    unsafe fn stream_synchronize(&self, device: DeviceId, stream: RawStream) -> DriverResult<()>;
    /// Returns whether all work on the stream has finished.
    ///
    /// # Safety
    /// Only what the [trait](Driver) requires.
    unsafe fn stream_query(&self, device: DeviceId, stream: RawStream) -> DriverResult<bool>;
    /// Makes later work on `stream` wait for the last record of `event`, which may belong to another device. An event
    /// that was never recorded makes nothing wait.
    ///
    /// # Safety
    /// Only what the [trait](Driver) requires.
    unsafe fn stream_wait_event(
        &self,
        device: DeviceId,
        stream: RawStream,
        event: RawEvent,
    ) -> DriverResult<()>;

    /// Begins to capture a stream, other than the null stream (else `STREAM_CAPTURE_UNSUPPORTED`), that is not captured (else
    /// `ILLEGAL_STATE`). Streams that wait for its events join the capture, and leave it when it ends. Like all methods
    /// about captures, it needs [`Capability::StreamCapture`].
    ///
    /// # Safety
    /// What [`Work`] requires of a node holds for captured work, whenever the graph is launched: kernels stay loaded,
    /// and memory stays valid, pageable memory, too.
    unsafe fn stream_begin_capture(
        &self,
        device: DeviceId,
        stream: RawStream,
        mode: CaptureMode,
    ) -> DriverResult<()> {
        let _ = (device, stream, mode);
        Err(lacking(CallKind::StreamBeginCapture))
    }
    /// Ends a capture, and returns the graph of the work that was captured, which is the caller's to destroy.
    ///
    /// It is ended on the stream on which it was begun (else `STREAM_CAPTURE_UNMATCHED`, or `ILLEGAL_STATE` if the stream
    /// is not captured), and by the thread that began it unless the mode is relaxed (else `STREAM_CAPTURE_WRONG_THREAD`).
    /// Nothing changes after these. It fails with `STREAM_CAPTURE_INVALIDATED` if a call broke the capture, and with
    /// `STREAM_CAPTURE_UNJOINED` if the stream does not wait for all work of those that joined; then the capture is over,
    /// and there is no graph.
    ///
    /// # Safety
    /// Only what the [trait](Driver) requires.
    unsafe fn stream_end_capture(&self, device: DeviceId, stream: RawStream) -> DriverResult<RawGraph> {
        let _ = (device, stream);
        Err(lacking(CallKind::StreamEndCapture))
    }
    /// Returns whether a stream is captured, and by which capture.
    ///
    /// # Safety
    /// Only what the [trait](Driver) requires.
    unsafe fn stream_capture_info(&self, device: DeviceId, stream: RawStream) -> DriverResult<CaptureInfo> {
        let _ = (device, stream);
        Err(lacking(CallKind::StreamCaptureInfo))
    }
    /// Replaces the calling thread's own mode, which is [`Global`](CaptureMode::Global) at first, and returns the one that it
    /// had: a thread in a weaker mode may make calls that a capture in a stronger one refuses. `device` is any.
    fn exchange_capture_mode(&self, device: DeviceId, mode: CaptureMode) -> DriverResult<CaptureMode> {
        let _ = (device, mode);
        Err(lacking(CallKind::ExchangeCaptureMode))
    }

    /// Creates an event.
    fn event_create(&self, device: DeviceId, options: EventOptions) -> DriverResult<RawEvent>;
    /// Destroys an event. Waits for it that are enqueued already keep their effect.
    ///
    /// # Safety
    /// No other call uses the event at the same time or later.
    unsafe fn event_destroy(&self, device: DeviceId, event: RawEvent) -> DriverResult<()>;
    /// Records the event on a stream of the event's own device.
    ///
    /// # Safety
    /// Only what the [trait](Driver) requires.
    unsafe fn event_record(&self, device: DeviceId, event: RawEvent, stream: RawStream) -> DriverResult<()>;
    /// Returns whether the event's last record has been reached; `true` if it was never recorded.
    ///
    /// # Safety
    /// Only what the [trait](Driver) requires.
    unsafe fn event_query(&self, device: DeviceId, event: RawEvent) -> DriverResult<bool>;
    /// Waits until the event's last record has been reached.
    ///
    /// # Safety
    /// Only what the [trait](Driver) requires.
    unsafe fn event_synchronize(&self, device: DeviceId, event: RawEvent) -> DriverResult<()>;
    /// Returns the milliseconds between two timing events whose records have been reached. Needs
    /// [`Capability::EventTiming`].
    ///
    /// # Safety
    /// Only what the [trait](Driver) requires.
    unsafe fn event_elapsed_ms(&self, device: DeviceId, start: RawEvent, end: RawEvent) -> DriverResult<f32> {
        let _ = (device, start, end);
        Err(lacking(CallKind::EventElapsed))
    }

    /// Enqueues work on a stream. The work runs after all earlier work on the stream and before all later work. The
    /// call does not wait, except for a [copy to pageable memory](Work::CopyToHost). Returns `NOT_SUPPORTED` for work
    /// that cannot be enqueued on a stream.
    ///
    /// # Safety
    /// What the kind of [`Work`] requires.
    unsafe fn enqueue(&self, device: DeviceId, stream: RawStream, work: &Work<'_>) -> DriverResult<()>;
    /// Executes a [`CopyToDevice`](Work::CopyToDevice) or [`CopyToHost`](Work::CopyToHost) and waits for it. Returns
    /// `NOT_SUPPORTED` for other work. The copy is ordered after work that the host has waited for, and after all work on
    /// the null stream and on blocking streams. Needs [`Capability::BlockingCopy`].
    ///
    /// # Safety
    /// What the kind of [`Work`] requires.
    unsafe fn copy_blocking(&self, device: DeviceId, work: &Work<'_>) -> DriverResult<()> {
        let _ = device;
        Err(lacking(work.blocking_kind()))
    }

    /// Loads a code object: an ELF file or an offload bundle.
    ///
    /// # Safety
    /// The kernels of the code object may access any memory of the device; the caller trusts them.
    unsafe fn module_load(&self, device: DeviceId, image: &[u8]) -> DriverResult<RawModule>;
    /// Unloads a module. Its functions and global variables become invalid.
    ///
    /// # Safety
    /// None of the module's kernels is in flight: HIP does not wait for them.
    unsafe fn module_unload(&self, device: DeviceId, module: RawModule) -> DriverResult<()>;
    /// Finds a kernel by its name (without `.kd`). Returns [`ErrorCode::NOT_FOUND`] if no kernel of the module has that
    /// name, or if the name is empty.
    ///
    /// # Safety
    /// Only what the [trait](Driver) requires.
    unsafe fn module_get_function(
        &self,
        device: DeviceId,
        module: RawModule,
        name: &CStr,
    ) -> DriverResult<RawFunction>;
    /// Returns the address and the length in bytes of a global variable. Needs [`Capability::ModuleGlobals`].
    ///
    /// # Safety
    /// Only what the [trait](Driver) requires.
    unsafe fn module_get_global(
        &self,
        device: DeviceId,
        module: RawModule,
        name: &CStr,
    ) -> DriverResult<(DevicePtr, usize)> {
        let _ = (device, module, name);
        Err(lacking(CallKind::ModuleGetGlobal))
    }
    /// Returns how many workgroups of `block_threads` work-items with `dynamic_lds` bytes of dynamic LDS fit on one
    /// compute unit. Needs [`Capability::Occupancy`].
    ///
    /// # Safety
    /// Only what the [trait](Driver) requires.
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

    /// Creates a graph without nodes. Like all graph methods, it needs [`Capability::Graphs`].
    fn graph_create(&self, device: DeviceId) -> DriverResult<RawGraph> {
        let _ = device;
        Err(lacking(CallKind::GraphCreate))
    }
    /// Destroys a graph and its nodes. Executable graphs that were instantiated from it stay valid.
    ///
    /// # Safety
    /// No other call uses the graph or a node of it at the same time or later.
    unsafe fn graph_destroy(&self, device: DeviceId, graph: RawGraph) -> DriverResult<()> {
        let _ = (device, graph);
        Err(lacking(CallKind::GraphDestroy))
    }
    /// Adds a node for `work` that runs after the nodes in `dependencies`. A kernel's kernarg segment is copied before
    /// the call returns. Returns `NOT_SUPPORTED` for work that cannot be a node.
    ///
    /// # Safety
    /// `dependencies` are nodes of this graph, and no two calls add to it at the same time. A kernel's module stays
    /// loaded until the graph and everything that was instantiated from it are destroyed. Whenever the graph is
    /// launched, what the kind of [`Work`] requires holds.
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
    /// Creates an executable graph from a copy of the graph's present nodes. [`Work::Graph`] launches it.
    ///
    /// # Safety
    /// No other call adds to the graph at the same time.
    unsafe fn graph_instantiate(&self, device: DeviceId, graph: RawGraph) -> DriverResult<RawGraphExec> {
        let _ = (device, graph);
        Err(lacking(CallKind::GraphInstantiate))
    }
    /// Replaces the launches of kernels' nodes of an executable graph, one after the other: arguments, sizes or the kernel, for launches of
    /// the graph to come. Those in flight keep what they had. A node remains what it depends on. The kernarg segments are copied before the
    /// call returns. May wait for a launch before the last. On an error, all nodes keep what they have. Needs [`Capability::GraphUpdates`].
    ///
    /// # Safety
    /// No other call uses the executable graph at the same time. What [`graph_add`](Driver::graph_add) requires of the kernel holds.
    unsafe fn graph_update(
        &self,
        device: DeviceId,
        exec: RawGraphExec,
        launches: &[NodeLaunch<'_>],
    ) -> DriverResult<()> {
        let _ = (device, exec, launches);
        Err(lacking(CallKind::GraphUpdate))
    }
    /// Destroys an executable graph. Does not wait.
    ///
    /// # Safety
    /// No launch of it is in flight, and no other call uses it at the same time or later.
    unsafe fn graph_exec_destroy(&self, device: DeviceId, exec: RawGraphExec) -> DriverResult<()> {
        let _ = (device, exec);
        Err(lacking(CallKind::GraphExecDestroy))
    }
}

/// The error of a call that needs a capability which the driver lacks.
#[cold]
fn lacking(call: CallKind) -> DriverError {
    DriverError::with_detail(call.name(), ErrorCode::NOT_SUPPORTED, "this driver cannot do that")
}

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
