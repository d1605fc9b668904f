//! Every driver call: pass it on, and write down when it was made and what it is about.

use std::ffi::CStr;
use std::sync::Weak;

use crate::validation::CallKind;
use hip_driver::activity::ActivityObserver;
use hip_driver::{
    Capabilities, DeviceId, DeviceProperties, DevicePtr, Driver, DriverInfo, DriverResult, EventOptions,
    HostFunc, KernelLaunch, MemInfo, PinnedAllocation, RawEvent, RawFunction, RawGraph, RawGraphExec,
    RawGraphNode, RawModule, RawStream, StreamOptions,
};

use super::layer::TimelineDriver;
use super::record::{Detail, RawWork};
use super::work::CopyDirection;

const H2D: CopyDirection = CopyDirection::HostToDevice;
const D2H: CopyDirection = CopyDirection::DeviceToHost;
const D2D: CopyDirection = CopyDirection::DeviceToDevice;

fn copy(direction: CopyDirection, bytes: usize) -> RawWork {
    RawWork::Copy { direction, bytes: bytes as u64 }
}

fn kernel(launch: &KernelLaunch<'_>) -> RawWork {
    let KernelLaunch { function, grid, block, dynamic_lds, .. } = *launch;
    RawWork::Kernel { function, grid, block, dynamic_lds }
}

fn words(count: usize) -> u64 {
    (count as u64).saturating_mul(4)
}

// SAFETY comments below: each unsafe call passes the caller's own arguments on to the method of the same name, so the
// caller's promises are the ones that the method asks for.
impl Driver for TimelineDriver {
    fn info(&self) -> DriverInfo {
        let info = self.0.inner.info();
        DriverInfo { name: format!("timeline over {}", info.name), ..info }
    }

    fn capabilities(&self) -> Capabilities {
        self.0.inner.capabilities()
    }

    fn device_count(&self) -> DriverResult<u32> {
        self.0.inner.device_count()
    }

    fn device_properties(&self, device: DeviceId) -> DriverResult<DeviceProperties> {
        self.0.inner.device_properties(device)
    }

    fn mem_info(&self, device: DeviceId) -> DriverResult<MemInfo> {
        let inner = || self.0.inner.mem_info(device);
        self.0.call(CallKind::MemInfo, device, Detail::None, inner)
    }

    fn device_synchronize(&self, device: DeviceId) -> DriverResult<()> {
        let inner = || self.0.inner.device_synchronize(device);
        self.0.call(CallKind::DeviceSynchronize, device, Detail::None, inner).inspect(|()| self.0.collect())
    }

    fn can_access_peer(&self, device: DeviceId, peer: DeviceId) -> DriverResult<bool> {
        let inner = || self.0.inner.can_access_peer(device, peer);
        self.0.call(CallKind::CanAccessPeer, device, Detail::None, inner)
    }

    fn enable_peer_access(&self, device: DeviceId, peer: DeviceId) -> DriverResult<()> {
        let inner = || self.0.inner.enable_peer_access(device, peer);
        self.0.call(CallKind::EnablePeerAccess, device, Detail::None, inner)
    }

    fn malloc(&self, device: DeviceId, bytes: usize) -> DriverResult<DevicePtr> {
        let inner = || self.0.inner.malloc(device, bytes);
        self.0.call(CallKind::Malloc, device, Detail::Bytes(bytes as u64), inner)
    }

    unsafe fn free(&self, device: DeviceId, ptr: DevicePtr) -> DriverResult<()> {
        // SAFETY: the caller's promises.
        let inner = || unsafe { self.0.inner.free(device, ptr) };
        self.0.call(CallKind::Free, device, Detail::None, inner)
    }

    unsafe fn malloc_async(
        &self,
        device: DeviceId,
        bytes: usize,
        stream: RawStream,
    ) -> DriverResult<DevicePtr> {
        // SAFETY: the caller's promises.
        let inner = || unsafe { self.0.inner.malloc_async(device, bytes, stream) };
        self.0.call(CallKind::MallocAsync, device, Detail::StreamBytes(stream, bytes as u64), inner)
    }

    unsafe fn free_async(&self, device: DeviceId, ptr: DevicePtr, stream: RawStream) -> DriverResult<()> {
        // SAFETY: the caller's promises.
        let inner = || unsafe { self.0.inner.free_async(device, ptr, stream) };
        self.0.call(CallKind::FreeAsync, device, Detail::Stream(stream), inner)
    }

    fn mem_pool_trim(&self, device: DeviceId, keep: usize) -> DriverResult<()> {
        let inner = || self.0.inner.mem_pool_trim(device, keep);
        self.0.call(CallKind::MemPoolTrim, device, Detail::None, inner)
    }

    fn host_malloc(&self, device: DeviceId, bytes: usize) -> DriverResult<PinnedAllocation> {
        let inner = || self.0.inner.host_malloc(device, bytes);
        let allocation = self.0.call(CallKind::HostMalloc, device, Detail::Bytes(bytes as u64), inner)?;
        self.0.add_pinned(&allocation);
        Ok(allocation)
    }

    unsafe fn host_free(&self, device: DeviceId, allocation: PinnedAllocation) -> DriverResult<()> {
        // SAFETY: the caller's promises.
        let inner = || unsafe { self.0.inner.host_free(device, allocation) };
        self.0.take_pinned(&allocation);
        let detail = Detail::Bytes(allocation.bytes as u64);
        let result = self.0.call(CallKind::HostFree, device, detail, inner);
        if result.is_err() {
            self.0.add_pinned(&allocation);
        }
        result
    }

    unsafe fn memcpy_htod(
        &self,
        device: DeviceId,
        dst: DevicePtr,
        src: *const u8,
        bytes: usize,
    ) -> DriverResult<()> {
        // SAFETY: the caller's promises.
        let inner = || unsafe { self.0.inner.memcpy_htod(device, dst, src, bytes) };
        self.0.call(CallKind::MemcpyHtod, device, Detail::Done(copy(H2D, bytes)), inner)
    }

    unsafe fn memcpy_dtoh(
        &self,
        device: DeviceId,
        dst: *mut u8,
        src: DevicePtr,
        bytes: usize,
    ) -> DriverResult<()> {
        // SAFETY: the caller's promises.
        let inner = || unsafe { self.0.inner.memcpy_dtoh(device, dst, src, bytes) };
        self.0.call(CallKind::MemcpyDtoh, device, Detail::Done(copy(D2H, bytes)), inner)
    }

    unsafe fn memcpy_htod_async(
        &self,
        device: DeviceId,
        dst: DevicePtr,
        src: *const u8,
        bytes: usize,
        stream: RawStream,
    ) -> DriverResult<()> {
        // SAFETY: the caller's promises.
        let inner = || unsafe { self.0.inner.memcpy_htod_async(device, dst, src, bytes, stream) };
        self.0.enqueue(CallKind::MemcpyHtodAsync, (device, stream), copy(H2D, bytes), Some(src), inner)
    }

    unsafe fn memcpy_dtoh_async(
        &self,
        device: DeviceId,
        dst: *mut u8,
        src: DevicePtr,
        bytes: usize,
        stream: RawStream,
    ) -> DriverResult<()> {
        // SAFETY: the caller's promises.
        let inner = || unsafe { self.0.inner.memcpy_dtoh_async(device, dst, src, bytes, stream) };
        self.0.enqueue(
            CallKind::MemcpyDtohAsync,
            (device, stream),
            copy(D2H, bytes),
            Some(dst.cast_const()),
            inner,
        )
    }

    unsafe fn memcpy_dtod_async(
        &self,
        device: DeviceId,
        dst: DevicePtr,
        src: DevicePtr,
        bytes: usize,
        stream: RawStream,
    ) -> DriverResult<()> {
        // SAFETY: the caller's promises.
        let inner = || unsafe { self.0.inner.memcpy_dtod_async(device, dst, src, bytes, stream) };
        self.0.enqueue(CallKind::MemcpyDtodAsync, (device, stream), copy(D2D, bytes), None, inner)
    }

    unsafe fn memcpy_peer_async(
        &self,
        device: DeviceId,
        dst: DevicePtr,
        src_device: DeviceId,
        src: DevicePtr,
        bytes: usize,
        stream: RawStream,
    ) -> DriverResult<()> {
        // SAFETY: the caller's promises.
        let inner = || unsafe { self.0.inner.memcpy_peer_async(device, dst, src_device, src, bytes, stream) };
        self.0.enqueue(
            CallKind::MemcpyPeerAsync,
            (device, stream),
            copy(CopyDirection::FromPeer(src_device), bytes),
            None,
            inner,
        )
    }

    unsafe fn memset_d8_async(
        &self,
        device: DeviceId,
        dst: DevicePtr,
        value: u8,
        bytes: usize,
        stream: RawStream,
    ) -> DriverResult<()> {
        // SAFETY: the caller's promises.
        let inner = || unsafe { self.0.inner.memset_d8_async(device, dst, value, bytes, stream) };
        self.0.enqueue(
            CallKind::MemsetD8Async,
            (device, stream),
            RawWork::Fill { bytes: bytes as u64 },
            None,
            inner,
        )
    }

    unsafe fn memset_d32_async(
        &self,
        device: DeviceId,
        dst: DevicePtr,
        value: u32,
        count: usize,
        stream: RawStream,
    ) -> DriverResult<()> {
        // SAFETY: the caller's promises.
        let inner = || unsafe { self.0.inner.memset_d32_async(device, dst, value, count, stream) };
        self.0.enqueue(
            CallKind::MemsetD32Async,
            (device, stream),
            RawWork::Fill { bytes: words(count) },
            None,
            inner,
        )
    }

    fn stream_create(&self, device: DeviceId, options: StreamOptions) -> DriverResult<RawStream> {
        let inner = || self.0.inner.stream_create(device, options);
        let stream = self.0.call(CallKind::StreamCreate, device, Detail::None, inner)?;
        self.0.add_stream(device, stream);
        Ok(stream)
    }

    unsafe fn stream_destroy(&self, device: DeviceId, stream: RawStream) -> DriverResult<()> {
        // Out of the table before the driver can give the handle out again.
        let track = self.0.take_stream(stream);
        // SAFETY: the caller's promises.
        let inner = || unsafe { self.0.inner.stream_destroy(device, stream) };
        let result = self.0.call(CallKind::StreamDestroy, device, Detail::Stream(stream), inner);
        match (&result, track) {
            (Ok(()), Some(track)) => self.0.leave_stream(track),
            (Err(_), Some(track)) => self.0.put_back_stream(stream, track),
            (_, None) => {}
        }
        result
    }

    unsafe fn stream_synchronize(&self, device: DeviceId, stream: RawStream) -> DriverResult<()> {
        // SAFETY: the caller's promises.
        let inner = || unsafe { self.0.inner.stream_synchronize(device, stream) };
        self.0
            .call(CallKind::StreamSynchronize, device, Detail::Stream(stream), inner)
            .inspect(|()| self.0.collect_stream(stream))
    }

    unsafe fn stream_query(&self, device: DeviceId, stream: RawStream) -> DriverResult<bool> {
        // SAFETY: the caller's promises.
        let inner = || unsafe { self.0.inner.stream_query(device, stream) };
        self.0.call(CallKind::StreamQuery, device, Detail::Stream(stream), inner)
    }

    unsafe fn stream_wait_event(
        &self,
        device: DeviceId,
        stream: RawStream,
        event: RawEvent,
    ) -> DriverResult<()> {
        // SAFETY: the caller's promises.
        let inner = || unsafe { self.0.inner.stream_wait_event(device, stream, event) };
        self.0.call(CallKind::StreamWaitEvent, device, Detail::Stream(stream), inner)
    }

    unsafe fn launch_host_func(
        &self,
        device: DeviceId,
        stream: RawStream,
        function: HostFunc,
    ) -> DriverResult<()> {
        // SAFETY: the caller's promises.
        let inner = || unsafe { self.0.inner.launch_host_func(device, stream, function) };
        self.0.enqueue(CallKind::LaunchHostFunc, (device, stream), RawWork::HostFunction, None, inner)
    }

    fn event_create(&self, device: DeviceId, options: EventOptions) -> DriverResult<RawEvent> {
        let inner = || self.0.inner.event_create(device, options);
        self.0.call(CallKind::EventCreate, device, Detail::None, inner)
    }

    unsafe fn event_destroy(&self, device: DeviceId, event: RawEvent) -> DriverResult<()> {
        // SAFETY: the caller's promises.
        let inner = || unsafe { self.0.inner.event_destroy(device, event) };
        self.0.call(CallKind::EventDestroy, device, Detail::None, inner)
    }

    unsafe fn event_record(&self, device: DeviceId, event: RawEvent, stream: RawStream) -> DriverResult<()> {
        // SAFETY: the caller's promises.
        let inner = || unsafe { self.0.inner.event_record(device, event, stream) };
        self.0.call(CallKind::EventRecord, device, Detail::Stream(stream), inner)
    }

    unsafe fn event_query(&self, device: DeviceId, event: RawEvent) -> DriverResult<bool> {
        // SAFETY: the caller's promises.
        let inner = || unsafe { self.0.inner.event_query(device, event) };
        self.0.call(CallKind::EventQuery, device, Detail::None, inner)
    }

    unsafe fn event_synchronize(&self, device: DeviceId, event: RawEvent) -> DriverResult<()> {
        // SAFETY: the caller's promises.
        let inner = || unsafe { self.0.inner.event_synchronize(device, event) };
        self.0.call(CallKind::EventSynchronize, device, Detail::None, inner)
    }

    unsafe fn event_elapsed_ms(&self, device: DeviceId, start: RawEvent, end: RawEvent) -> DriverResult<f32> {
        // SAFETY: the caller's promises.
        let inner = || unsafe { self.0.inner.event_elapsed_ms(device, start, end) };
        self.0.call(CallKind::EventElapsed, device, Detail::None, inner)
    }

    unsafe fn module_load(&self, device: DeviceId, image: &[u8]) -> DriverResult<RawModule> {
        // SAFETY: the caller's promises.
        let inner = || unsafe { self.0.inner.module_load(device, image) };
        self.0.call(CallKind::ModuleLoad, device, Detail::Bytes(image.len() as u64), inner)
    }

    unsafe fn module_unload(&self, device: DeviceId, module: RawModule) -> DriverResult<()> {
        // SAFETY: the caller's promises.
        let inner = || unsafe { self.0.inner.module_unload(device, module) };
        self.0.call(CallKind::ModuleUnload, device, Detail::None, inner)
    }

    unsafe fn module_get_function(
        &self,
        device: DeviceId,
        module: RawModule,
        name: &CStr,
    ) -> DriverResult<RawFunction> {
        // SAFETY: the caller's promises.
        let inner = || unsafe { self.0.inner.module_get_function(device, module, name) };
        let function = self.0.call(CallKind::ModuleGetFunction, device, Detail::None, inner)?;
        self.0.add_kernel(function, name);
        Ok(function)
    }

    unsafe fn module_get_global(
        &self,
        device: DeviceId,
        module: RawModule,
        name: &CStr,
    ) -> DriverResult<(DevicePtr, usize)> {
        // SAFETY: the caller's promises.
        let inner = || unsafe { self.0.inner.module_get_global(device, module, name) };
        self.0.call(CallKind::ModuleGetGlobal, device, Detail::None, inner)
    }

    unsafe fn occupancy(
        &self,
        device: DeviceId,
        function: RawFunction,
        block_threads: u32,
        dynamic_lds: u32,
    ) -> DriverResult<u32> {
        // SAFETY: the caller's promises.
        let inner = || unsafe { self.0.inner.occupancy(device, function, block_threads, dynamic_lds) };
        self.0.call(CallKind::Occupancy, device, Detail::None, inner)
    }

    unsafe fn launch_kernel(&self, device: DeviceId, launch: &KernelLaunch<'_>) -> DriverResult<()> {
        // SAFETY: the caller's promises.
        let inner = || unsafe { self.0.inner.launch_kernel(device, launch) };
        self.0.enqueue(CallKind::LaunchKernel, (device, launch.stream), kernel(launch), None, inner)
    }

    fn graph_create(&self, device: DeviceId) -> DriverResult<RawGraph> {
        let inner = || self.0.inner.graph_create(device);
        let graph = self.0.call(CallKind::GraphCreate, device, Detail::None, inner)?;
        self.0.add_graph(graph);
        Ok(graph)
    }

    unsafe fn graph_destroy(&self, device: DeviceId, graph: RawGraph) -> DriverResult<()> {
        let nodes = self.0.take_graph(graph);
        // SAFETY: the caller's promises.
        let inner = || unsafe { self.0.inner.graph_destroy(device, graph) };
        let result = self.0.call(CallKind::GraphDestroy, device, Detail::None, inner);
        if let (Err(_), Some(nodes)) = (&result, nodes) {
            self.0.put_back_graph(graph, nodes);
        }
        result
    }

    unsafe fn graph_add_kernel(
        &self,
        device: DeviceId,
        graph: RawGraph,
        dependencies: &[RawGraphNode],
        launch: &KernelLaunch<'_>,
    ) -> DriverResult<RawGraphNode> {
        // SAFETY: the caller's promises.
        let inner = || unsafe { self.0.inner.graph_add_kernel(device, graph, dependencies, launch) };
        let node = self.0.call(CallKind::GraphAddKernel, device, Detail::None, inner)?;
        self.0.add_node(graph, Some(kernel(launch)));
        Ok(node)
    }

    unsafe fn graph_add_memcpy_htod(
        &self,
        device: DeviceId,
        graph: RawGraph,
        dependencies: &[RawGraphNode],
        dst: DevicePtr,
        src: *const u8,
        bytes: usize,
    ) -> DriverResult<RawGraphNode> {
        // SAFETY: the caller's promises.
        let inner =
            || unsafe { self.0.inner.graph_add_memcpy_htod(device, graph, dependencies, dst, src, bytes) };
        let node = self.0.call(CallKind::GraphAddMemcpyHtod, device, Detail::None, inner)?;
        self.0.add_node(graph, Some(copy(H2D, bytes)));
        Ok(node)
    }

    unsafe fn graph_add_memcpy_dtoh(
        &self,
        device: DeviceId,
        graph: RawGraph,
        dependencies: &[RawGraphNode],
        dst: *mut u8,
        src: DevicePtr,
        bytes: usize,
    ) -> DriverResult<RawGraphNode> {
        // SAFETY: the caller's promises.
        let inner =
            || unsafe { self.0.inner.graph_add_memcpy_dtoh(device, graph, dependencies, dst, src, bytes) };
        let node = self.0.call(CallKind::GraphAddMemcpyDtoh, device, Detail::None, inner)?;
        self.0.add_node(graph, Some(copy(D2H, bytes)));
        Ok(node)
    }

    unsafe fn graph_add_memcpy_dtod(
        &self,
        device: DeviceId,
        graph: RawGraph,
        dependencies: &[RawGraphNode],
        dst: DevicePtr,
        src: DevicePtr,
        bytes: usize,
    ) -> DriverResult<RawGraphNode> {
        // SAFETY: the caller's promises.
        let inner =
            || unsafe { self.0.inner.graph_add_memcpy_dtod(device, graph, dependencies, dst, src, bytes) };
        let node = self.0.call(CallKind::GraphAddMemcpyDtod, device, Detail::None, inner)?;
        self.0.add_node(graph, Some(copy(D2D, bytes)));
        Ok(node)
    }

    unsafe fn graph_add_memset_d8(
        &self,
        device: DeviceId,
        graph: RawGraph,
        dependencies: &[RawGraphNode],
        dst: DevicePtr,
        value: u8,
        bytes: usize,
    ) -> DriverResult<RawGraphNode> {
        // SAFETY: the caller's promises.
        let inner =
            || unsafe { self.0.inner.graph_add_memset_d8(device, graph, dependencies, dst, value, bytes) };
        let node = self.0.call(CallKind::GraphAddMemsetD8, device, Detail::None, inner)?;
        self.0.add_node(graph, Some(RawWork::Fill { bytes: bytes as u64 }));
        Ok(node)
    }

    unsafe fn graph_add_memset_d32(
        &self,
        device: DeviceId,
        graph: RawGraph,
        dependencies: &[RawGraphNode],
        dst: DevicePtr,
        value: u32,
        count: usize,
    ) -> DriverResult<RawGraphNode> {
        // SAFETY: the caller's promises.
        let inner =
            || unsafe { self.0.inner.graph_add_memset_d32(device, graph, dependencies, dst, value, count) };
        let node = self.0.call(CallKind::GraphAddMemsetD32, device, Detail::None, inner)?;
        self.0.add_node(graph, Some(RawWork::Fill { bytes: words(count) }));
        Ok(node)
    }

    unsafe fn graph_add_empty(
        &self,
        device: DeviceId,
        graph: RawGraph,
        dependencies: &[RawGraphNode],
    ) -> DriverResult<RawGraphNode> {
        // SAFETY: the caller's promises.
        let inner = || unsafe { self.0.inner.graph_add_empty(device, graph, dependencies) };
        let node = self.0.call(CallKind::GraphAddEmpty, device, Detail::None, inner)?;
        self.0.add_node(graph, None);
        Ok(node)
    }

    unsafe fn graph_instantiate(&self, device: DeviceId, graph: RawGraph) -> DriverResult<RawGraphExec> {
        // SAFETY: the caller's promises.
        let inner = || unsafe { self.0.inner.graph_instantiate(device, graph) };
        let exec = self.0.call(CallKind::GraphInstantiate, device, Detail::None, inner)?;
        self.0.add_exec(graph, exec);
        Ok(exec)
    }

    unsafe fn graph_launch(
        &self,
        device: DeviceId,
        exec: RawGraphExec,
        stream: RawStream,
    ) -> DriverResult<()> {
        // SAFETY: the caller's promises.
        let inner = || unsafe { self.0.inner.graph_launch(device, exec, stream) };
        self.0.enqueue(CallKind::GraphLaunch, (device, stream), RawWork::Graph(exec), None, inner)
    }

    unsafe fn graph_exec_destroy(&self, device: DeviceId, exec: RawGraphExec) -> DriverResult<()> {
        // SAFETY: the caller's promises.
        let inner = || unsafe { self.0.inner.graph_exec_destroy(device, exec) };
        self.0.call(CallKind::GraphExecDestroy, device, Detail::None, inner)
    }

    fn note_host_write(&self, ptr: *const u8, bytes: usize) {
        self.0.inner.note_host_write(ptr, bytes);
    }

    fn note_host_read(&self, ptr: *const u8, bytes: usize) {
        self.0.inner.note_host_read(ptr, bytes);
    }

    fn watch_activity(&self, observer: Weak<dyn ActivityObserver>) -> bool {
        self.0.inner.watch_activity(observer)
    }

    fn watches_pools(&self) -> bool {
        self.0.inner.watches_pools()
    }

    fn note_pool_segment(&self, device: DeviceId, segment: DevicePtr) {
        self.0.inner.note_pool_segment(device, segment);
    }

    fn note_pool_allocate(&self, device: DeviceId, block: DevicePtr, bytes: usize) {
        self.0.inner.note_pool_allocate(device, block, bytes);
    }

    fn note_pool_free(&self, device: DeviceId, block: DevicePtr) {
        self.0.inner.note_pool_free(device, block);
    }

    fn note_pool_record(&self, device: DeviceId, block: DevicePtr) {
        self.0.inner.note_pool_record(device, block);
    }
}
