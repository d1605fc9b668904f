//! What any device can do: the [`Driver`] trait, in HIP's vocabulary, with the device explicit on every call.
//!
//! # Contract
//!
//! * **Who validates.** A driver checks what its runtime checks, and no more. The safety requirements of the unsafe
//!   methods are the caller's: live handles of this driver, live memory, the right device. The
//!   [validation layer](validation) checks them over any driver.
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
mod capability;
mod code;
pub mod compile;
pub mod hip;
mod library;
mod types;

use std::ffi::CStr;
use std::fmt::Debug;
use std::sync::Weak;

use activity::ActivityObserver;
pub use capability::{Capabilities, Capability};
pub use code::{DriverError, DriverResult, ErrorCode};
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

    /// How many devices there are (0 is no error).
    fn device_count(&self) -> DriverResult<u32>;
    /// Limits and names of a device.
    fn device_properties(&self, device: DeviceId) -> DriverResult<DeviceProperties>;
    /// Free and total memory of a device.
    fn mem_info(&self, device: DeviceId) -> DriverResult<MemInfo>;
    /// Waits for everything on the device.
    fn device_synchronize(&self, device: DeviceId) -> DriverResult<()>;
    /// Whether kernels on `device` can be allowed to use memory of `peer`.
    fn can_access_peer(&self, device: DeviceId, peer: DeviceId) -> DriverResult<bool>;
    /// Allows kernels on `device` to use memory of `peer`; allowed already is success.
    fn enable_peer_access(&self, device: DeviceId, peer: DeviceId) -> DriverResult<()>;

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
    ) -> DriverResult<DevicePtr>;
    /// Frees memory of [`malloc_async`](Driver::malloc_async) in stream order.
    ///
    /// # Safety
    /// Work on other streams that uses the memory is ordered before this call.
    unsafe fn free_async(&self, device: DeviceId, ptr: DevicePtr, stream: RawStream) -> DriverResult<()>;
    /// Gives the default pool's unused memory above `keep` bytes back to the device.
    fn mem_pool_trim(&self, device: DeviceId, keep: usize) -> DriverResult<()>;
    /// Allocates pinned, mapped host memory. `bytes` is not 0.
    fn host_malloc(&self, device: DeviceId, bytes: usize) -> DriverResult<PinnedAllocation>;
    /// Frees memory of [`host_malloc`](Driver::host_malloc).
    ///
    /// # Safety
    /// No copy or kernel in flight uses the memory.
    unsafe fn host_free(&self, device: DeviceId, allocation: PinnedAllocation) -> DriverResult<()>;

    /// Copies host to device and waits. Needs [`Capability::BlockingCopy`].
    ///
    /// # Safety
    /// `src` is readable for `bytes`.
    unsafe fn memcpy_htod(
        &self,
        device: DeviceId,
        dst: DevicePtr,
        src: *const u8,
        bytes: usize,
    ) -> DriverResult<()>;
    /// Copies device to host and waits. Needs [`Capability::BlockingCopy`].
    ///
    /// # Safety
    /// `dst` is writable for `bytes`.
    unsafe fn memcpy_dtoh(
        &self,
        device: DeviceId,
        dst: *mut u8,
        src: DevicePtr,
        bytes: usize,
    ) -> DriverResult<()>;
    /// Copies host to device in stream order; asynchronous from pinned memory.
    ///
    /// # Safety
    /// `src` is readable for `bytes`, and where it is pinned, stays so and unchanged until the copy has run.
    unsafe fn memcpy_htod_async(
        &self,
        device: DeviceId,
        dst: DevicePtr,
        src: *const u8,
        bytes: usize,
        stream: RawStream,
    ) -> DriverResult<()>;
    /// Copies device to host in stream order; asynchronous to pinned memory, else waits for the stream.
    ///
    /// # Safety
    /// `dst` is writable for `bytes`, and where it is pinned, stays so and is not touched until the copy has run.
    unsafe fn memcpy_dtoh_async(
        &self,
        device: DeviceId,
        dst: *mut u8,
        src: DevicePtr,
        bytes: usize,
        stream: RawStream,
    ) -> DriverResult<()>;
    /// Copies within a device in stream order. The ranges do not overlap.
    ///
    /// # Safety
    /// As the trait says.
    unsafe fn memcpy_dtod_async(
        &self,
        device: DeviceId,
        dst: DevicePtr,
        src: DevicePtr,
        bytes: usize,
        stream: RawStream,
    ) -> DriverResult<()>;
    /// Copies between devices in the order of `stream`, which belongs to `device`, the destination's device.
    ///
    /// # Safety
    /// As the trait says.
    unsafe fn memcpy_peer_async(
        &self,
        device: DeviceId,
        dst: DevicePtr,
        src_device: DeviceId,
        src: DevicePtr,
        bytes: usize,
        stream: RawStream,
    ) -> DriverResult<()>;
    /// Fills bytes in stream order.
    ///
    /// # Safety
    /// As the trait says.
    unsafe fn memset_d8_async(
        &self,
        device: DeviceId,
        dst: DevicePtr,
        value: u8,
        bytes: usize,
        stream: RawStream,
    ) -> DriverResult<()>;
    /// Fills `count` 32-bit words in stream order; `dst` is aligned to 4.
    ///
    /// # Safety
    /// As the trait says.
    unsafe fn memset_d32_async(
        &self,
        device: DeviceId,
        dst: DevicePtr,
        value: u32,
        count: usize,
        stream: RawStream,
    ) -> DriverResult<()>;

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
    /// Runs `function` on a thread of the driver after all earlier work on the stream. The function calls no driver, and
    /// does not wait for a thread that may be inside one: HIP runs the host functions of all streams on one thread, and
    /// while any thread waits for the device or for a busy stream, other threads' calls on that stream may wait as well.
    ///
    /// # Safety
    /// As the trait says.
    unsafe fn launch_host_func(
        &self,
        device: DeviceId,
        stream: RawStream,
        function: HostFunc,
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
    /// Milliseconds between two timing events whose records have been reached.
    ///
    /// # Safety
    /// As the trait says.
    unsafe fn event_elapsed_ms(&self, device: DeviceId, start: RawEvent, end: RawEvent) -> DriverResult<f32>;

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
    /// Address and size in bytes of a global variable.
    ///
    /// # Safety
    /// As the trait says.
    unsafe fn module_get_global(
        &self,
        device: DeviceId,
        module: RawModule,
        name: &CStr,
    ) -> DriverResult<(DevicePtr, usize)>;
    /// How many workgroups of `block_threads` work-items and `dynamic_lds` bytes fit on one compute unit.
    ///
    /// # Safety
    /// As the trait says.
    unsafe fn occupancy(
        &self,
        device: DeviceId,
        function: RawFunction,
        block_threads: u32,
        dynamic_lds: u32,
    ) -> DriverResult<u32>;

    /// Launches a kernel.
    ///
    /// # Safety
    /// `kernarg` is as long as the kernel's metadata says, and the addresses in it are good for what the kernel does.
    unsafe fn launch_kernel(&self, device: DeviceId, launch: &KernelLaunch<'_>) -> DriverResult<()>;

    /// Makes a graph without nodes. This and all that follows for graphs needs [`Capability::Graphs`].
    fn graph_create(&self, device: DeviceId) -> DriverResult<RawGraph> {
        let _ = device;
        Err(no_graphs("hipGraphCreate"))
    }
    /// Destroys a graph and its nodes. What was instantiated from it stays good.
    ///
    /// # Safety
    /// No call uses the graph or a node of it at the same time or later.
    unsafe fn graph_destroy(&self, device: DeviceId, graph: RawGraph) -> DriverResult<()> {
        let _ = (device, graph);
        Err(no_graphs("hipGraphDestroy"))
    }
    /// Adds a kernel that runs after the nodes in `dependencies`. The launch's stream is ignored, its kernarg segment is
    /// copied before the call returns.
    ///
    /// # Safety
    /// `dependencies` are nodes of this graph, and no two calls add to it at the same time; both hold for all that add a
    /// node. Until the graph and all that was instantiated from it are destroyed, the kernel's module stays loaded;
    /// whenever it is launched, the rest is as for [`launch_kernel`](Driver::launch_kernel).
    unsafe fn graph_add_kernel(
        &self,
        device: DeviceId,
        graph: RawGraph,
        dependencies: &[RawGraphNode],
        launch: &KernelLaunch<'_>,
    ) -> DriverResult<RawGraphNode> {
        let _ = (device, graph, dependencies, launch);
        Err(no_graphs("hipGraphAddKernelNode"))
    }
    /// Adds a copy from pinned memory, which is read when the node runs.
    ///
    /// # Safety
    /// As for [`graph_add_kernel`](Driver::graph_add_kernel). Whenever the graph is launched, the device's range is live,
    /// and `src` is pinned, readable for `bytes`, and unchanged until the node has run.
    unsafe fn graph_add_memcpy_htod(
        &self,
        device: DeviceId,
        graph: RawGraph,
        dependencies: &[RawGraphNode],
        dst: DevicePtr,
        src: *const u8,
        bytes: usize,
    ) -> DriverResult<RawGraphNode> {
        let _ = (device, graph, dependencies, dst, src, bytes);
        Err(no_graphs("hipGraphAddMemcpyNode1D"))
    }
    /// Adds a copy to pinned memory, which is written when the node runs.
    ///
    /// # Safety
    /// As for [`graph_add_kernel`](Driver::graph_add_kernel). Whenever the graph is launched, the device's range is live,
    /// and `dst` is pinned, writable for `bytes`, and not touched until the node has run.
    unsafe fn graph_add_memcpy_dtoh(
        &self,
        device: DeviceId,
        graph: RawGraph,
        dependencies: &[RawGraphNode],
        dst: *mut u8,
        src: DevicePtr,
        bytes: usize,
    ) -> DriverResult<RawGraphNode> {
        let _ = (device, graph, dependencies, dst, src, bytes);
        Err(no_graphs("hipGraphAddMemcpyNode1D"))
    }
    /// Adds a copy within the device. The ranges do not overlap.
    ///
    /// # Safety
    /// As for [`graph_add_kernel`](Driver::graph_add_kernel); both ranges are live whenever the graph is launched.
    unsafe fn graph_add_memcpy_dtod(
        &self,
        device: DeviceId,
        graph: RawGraph,
        dependencies: &[RawGraphNode],
        dst: DevicePtr,
        src: DevicePtr,
        bytes: usize,
    ) -> DriverResult<RawGraphNode> {
        let _ = (device, graph, dependencies, dst, src, bytes);
        Err(no_graphs("hipGraphAddMemcpyNode1D"))
    }
    /// Adds a fill of bytes.
    ///
    /// # Safety
    /// As for [`graph_add_kernel`](Driver::graph_add_kernel); the range is live whenever the graph is launched.
    unsafe fn graph_add_memset_d8(
        &self,
        device: DeviceId,
        graph: RawGraph,
        dependencies: &[RawGraphNode],
        dst: DevicePtr,
        value: u8,
        bytes: usize,
    ) -> DriverResult<RawGraphNode> {
        let _ = (device, graph, dependencies, dst, value, bytes);
        Err(no_graphs("hipGraphAddMemsetNode"))
    }
    /// Adds a fill of `count` 32-bit words; `dst` is aligned to 4.
    ///
    /// # Safety
    /// As for [`graph_add_memset_d8`](Driver::graph_add_memset_d8).
    unsafe fn graph_add_memset_d32(
        &self,
        device: DeviceId,
        graph: RawGraph,
        dependencies: &[RawGraphNode],
        dst: DevicePtr,
        value: u32,
        count: usize,
    ) -> DriverResult<RawGraphNode> {
        let _ = (device, graph, dependencies, dst, value, count);
        Err(no_graphs("hipGraphAddMemsetNode"))
    }
    /// Adds a node that does nothing, to gather dependencies.
    ///
    /// # Safety
    /// As for [`graph_add_kernel`](Driver::graph_add_kernel), as far as it is about nodes.
    unsafe fn graph_add_empty(
        &self,
        device: DeviceId,
        graph: RawGraph,
        dependencies: &[RawGraphNode],
    ) -> DriverResult<RawGraphNode> {
        let _ = (device, graph, dependencies);
        Err(no_graphs("hipGraphAddEmptyNode"))
    }
    /// Makes a graph that can be launched, from a copy of the nodes that there are.
    ///
    /// # Safety
    /// As the trait says; nobody adds to the graph at the same time.
    unsafe fn graph_instantiate(&self, device: DeviceId, graph: RawGraph) -> DriverResult<RawGraphExec> {
        let _ = (device, graph);
        Err(no_graphs("hipGraphInstantiate"))
    }
    /// Runs all nodes in the order of the stream: after all earlier work on it, before all later. Does not wait.
    ///
    /// # Safety
    /// What the nodes' methods ask for, from now until they have run. No other launch of the same `exec` can run
    /// meanwhile: they are on the same stream, or ordered.
    unsafe fn graph_launch(
        &self,
        device: DeviceId,
        exec: RawGraphExec,
        stream: RawStream,
    ) -> DriverResult<()> {
        let _ = (device, exec, stream);
        Err(no_graphs("hipGraphLaunch"))
    }
    /// Destroys what was instantiated. Waits for nothing.
    ///
    /// # Safety
    /// No launch of it is in flight; no call uses it at the same time or later.
    unsafe fn graph_exec_destroy(&self, device: DeviceId, exec: RawGraphExec) -> DriverResult<()> {
        let _ = (device, exec);
        Err(no_graphs("hipGraphExecDestroy"))
    }

    /// Tells layers that the host is about to write `bytes` of pinned memory at `ptr`. Drivers ignore it; the
    /// validation layer reports copies or kernels in flight that may still use the bytes.
    #[inline]
    fn note_host_write(&self, ptr: *const u8, bytes: usize) {
        let _ = (ptr, bytes);
    }

    /// Tells layers that the host is about to read `bytes` of pinned memory at `ptr`; as
    /// [`note_host_write`](Driver::note_host_write).
    #[inline]
    fn note_host_read(&self, ptr: *const u8, bytes: usize) {
        let _ = (ptr, bytes);
    }

    /// Asks a driver to tell `observer` of each piece of work that is enqueued under a
    /// [correlation](activity::correlated) once it has run. `false`: it can't, as its work is run elsewhere, or another
    /// observer is alive already.
    fn watch_activity(&self, observer: Weak<dyn ActivityObserver>) -> bool {
        let _ = observer;
        false
    }

    /// Whether the four notes below are listened to, here or in a layer below. Pools ask once, and tell only then.
    fn watches_pools(&self) -> bool {
        false
    }

    /// Tells layers that the allocation of [`malloc`](Driver::malloc) at `segment` belongs to a pool from now until it is
    /// freed: of its bytes only those of live blocks may be touched.
    fn note_pool_segment(&self, device: DeviceId, segment: DevicePtr) {
        let _ = (device, segment);
    }

    /// Tells layers that a pool hands out `bytes` at `block`, inside one of its segments. Comes after the block left the
    /// pool's lists, so that no later note of the same bytes can overtake it.
    fn note_pool_allocate(&self, device: DeviceId, block: DevicePtr, bytes: usize) {
        let _ = (device, block, bytes);
    }

    /// Tells layers that the block at `block` is given back to its pool, or that somebody asked for that with whatever
    /// address. Comes before the block enters the pool's lists. Work in flight may still use it: the pool's next use of
    /// the bytes has to be ordered after that.
    fn note_pool_free(&self, device: DeviceId, block: DevicePtr) {
        let _ = (device, block);
    }

    /// Tells layers that somebody says that a stream uses the block at `block`, which therefore has to be live.
    fn note_pool_record(&self, device: DeviceId, block: DevicePtr) {
        let _ = (device, block);
    }
}

/// The error of a driver that has no graphs.
fn no_graphs(call: &'static str) -> DriverError {
    DriverError::with_detail(call, ErrorCode::NOT_SUPPORTED, "this driver has no graphs")
}
