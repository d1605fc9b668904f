//! Every driver call: count it, let an injected fault happen, check it, pass it on, take in what it did.

use std::ffi::CStr;
use std::sync::Weak;

use hip_driver::activity::ActivityObserver;
use hip_driver::{
    Capabilities, DeviceId, DeviceProperties, DevicePtr, Driver, DriverInfo, DriverResult, EventOptions,
    HostFunc, KernelLaunch, MemInfo, PinnedAllocation, RawEvent, RawFunction, RawGraph, RawGraphExec,
    RawGraphNode, RawModule, RawStream, StreamOptions,
};

use super::ValidationDriver;
use super::counts::CallKind;
use super::graph::GraphState;
use super::memory::Touch;
use super::state::EventState;
use super::steps::kernarg_sizes;
use super::violation::{MemoryKind, Operation, Violation};

// SAFETY comments below: each unsafe call passes the caller's own arguments on to the method of the same name, so the
// caller's promises are the ones that the method asks for.
impl Driver for ValidationDriver {
    fn info(&self) -> DriverInfo {
        self.counters.add(CallKind::Info);
        let info = self.inner.info();
        DriverInfo { name: format!("validation over {}", info.name), ..info }
    }

    fn capabilities(&self) -> Capabilities {
        self.counters.add(CallKind::Capabilities);
        self.inner.capabilities()
    }

    fn device_count(&self) -> DriverResult<u32> {
        self.begin(CallKind::DeviceCount)?;
        self.inner.device_count()
    }

    fn device_properties(&self, device: DeviceId) -> DriverResult<DeviceProperties> {
        self.begin(CallKind::DeviceProperties)?;
        self.inner.device_properties(device)
    }

    fn mem_info(&self, device: DeviceId) -> DriverResult<MemInfo> {
        self.begin(CallKind::MemInfo)?;
        self.seen(device, self.inner.mem_info(device))
    }

    fn device_synchronize(&self, device: DeviceId) -> DriverResult<()> {
        self.begin(CallKind::DeviceSynchronize)?;
        let seen = self.lock().order.snapshot_device(device);
        self.seen(device, self.inner.device_synchronize(device))?;
        self.lock().order.host_learns(&seen);
        Ok(())
    }

    fn can_access_peer(&self, device: DeviceId, peer: DeviceId) -> DriverResult<bool> {
        self.begin(CallKind::CanAccessPeer)?;
        self.inner.can_access_peer(device, peer)
    }

    fn enable_peer_access(&self, device: DeviceId, peer: DeviceId) -> DriverResult<()> {
        self.begin(CallKind::EnablePeerAccess)?;
        self.seen(device, self.inner.enable_peer_access(device, peer))?;
        self.lock().regions.add_peer(device, peer);
        Ok(())
    }

    fn malloc(&self, device: DeviceId, bytes: usize) -> DriverResult<DevicePtr> {
        self.begin(CallKind::Malloc)?;
        self.nonzero(CallKind::Malloc, bytes)?;
        let ptr = self.seen(device, self.inner.malloc(device, bytes))?;
        self.lock().regions.add_device(MemoryKind::Device, device, ptr, bytes);
        Ok(ptr)
    }

    unsafe fn free(&self, device: DeviceId, ptr: DevicePtr) -> DriverResult<()> {
        let call = CallKind::Free;
        self.begin(call)?;
        if ptr.is_null() {
            // SAFETY: the caller's promises; null is no memory, and drivers free it as C does.
            return self.seen(device, unsafe { self.inner.free(device, ptr) });
        }
        // Out of the tables before the driver can give the address out again.
        let (region, seen) = self.check(call, |state| {
            let key = state.regions.find_to_free(call, MemoryKind::Device, device, ptr)?;
            Ok((state.regions.remove(key), state.order.snapshot_device(device)))
        })?;
        // SAFETY: the caller's promises.
        let result = self.seen(device, unsafe { self.inner.free(device, ptr) });
        let mut state = self.lock();
        match (&result, region) {
            (Ok(()), _) => state.order.host_learns(&seen),
            (Err(_), Some(region)) => state.regions.put_back(region),
            (Err(_), None) => {}
        }
        result
    }

    unsafe fn malloc_async(
        &self,
        device: DeviceId,
        bytes: usize,
        stream: RawStream,
    ) -> DriverResult<DevicePtr> {
        let call = CallKind::MallocAsync;
        self.begin(call)?;
        self.nonzero(call, bytes)?;
        self.check(call, |state| state.streams.of(call, device, stream.0).map(drop))?;
        // SAFETY: the caller's promises.
        let ptr = self.seen(device, unsafe { self.inner.malloc_async(device, bytes, stream) })?;
        let mut state = self.lock();
        state.regions.add_device(MemoryKind::StreamOrdered, device, ptr, bytes);
        // The memory is there from this point of the stream on: as if this work had written all of it.
        let all = Touch::device(device, ptr, bytes, true);
        state.commit(Operation::of(call), stream, [all].into_iter());
        Ok(ptr)
    }

    unsafe fn free_async(&self, device: DeviceId, ptr: DevicePtr, stream: RawStream) -> DriverResult<()> {
        let call = CallKind::FreeAsync;
        self.begin(call)?;
        if ptr.is_null() {
            self.check(call, |state| state.streams.of(call, device, stream.0).map(drop))?;
            // SAFETY: the caller's promises; null is no memory, and drivers free it as C does.
            return self.seen(device, unsafe { self.inner.free_async(device, ptr, stream) });
        }
        let region = self.check(call, |state| {
            state.streams.of(call, device, stream.0)?;
            let key = state.regions.find_to_free(call, MemoryKind::StreamOrdered, device, ptr)?;
            state.free_in_flight(call, key, Some(stream));
            Ok(state.regions.remove(key))
        })?;
        // SAFETY: the caller's promises.
        let result = self.seen(device, unsafe { self.inner.free_async(device, ptr, stream) });
        if result.is_err()
            && let Some(region) = region
        {
            self.lock().regions.put_back(region);
        }
        result
    }

    fn mem_pool_trim(&self, device: DeviceId, keep: usize) -> DriverResult<()> {
        self.begin(CallKind::MemPoolTrim)?;
        self.seen(device, self.inner.mem_pool_trim(device, keep))
    }

    fn host_malloc(&self, device: DeviceId, bytes: usize) -> DriverResult<PinnedAllocation> {
        self.begin(CallKind::HostMalloc)?;
        self.nonzero(CallKind::HostMalloc, bytes)?;
        let pinned = self.seen(device, self.inner.host_malloc(device, bytes))?;
        self.lock().regions.add_pinned(device, &pinned);
        Ok(pinned)
    }

    unsafe fn host_free(&self, device: DeviceId, allocation: PinnedAllocation) -> DriverResult<()> {
        let call = CallKind::HostFree;
        self.begin(call)?;
        let region = self.check(call, |state| {
            let key = state.regions.find_pinned_to_free(call, device, &allocation)?;
            state.free_in_flight(call, key, None);
            Ok(state.regions.remove(key))
        })?;
        // SAFETY: the caller's promises.
        let result = self.seen(device, unsafe { self.inner.host_free(device, allocation) });
        if result.is_err()
            && let Some(region) = region
        {
            self.lock().regions.put_back(region);
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
        let touches = [Touch::host(src, bytes, false), Touch::device(device, dst, bytes, true)];
        // SAFETY: the caller's promises.
        let inner = || unsafe { self.inner.memcpy_htod(device, dst, src, bytes) };
        self.blocking(CallKind::MemcpyHtod, device, touches, inner)
    }

    unsafe fn memcpy_dtoh(
        &self,
        device: DeviceId,
        dst: *mut u8,
        src: DevicePtr,
        bytes: usize,
    ) -> DriverResult<()> {
        let touches = [Touch::device(device, src, bytes, false), Touch::host(dst, bytes, true)];
        // SAFETY: the caller's promises.
        let inner = || unsafe { self.inner.memcpy_dtoh(device, dst, src, bytes) };
        self.blocking(CallKind::MemcpyDtoh, device, touches, inner)
    }

    unsafe fn memcpy_htod_async(
        &self,
        device: DeviceId,
        dst: DevicePtr,
        src: *const u8,
        bytes: usize,
        stream: RawStream,
    ) -> DriverResult<()> {
        let call = CallKind::MemcpyHtodAsync;
        let pinned = self.lock().regions.is_pinned(src);
        self.begin_with(call, if pinned { &[] } else { &[CallKind::PageableCopy] })?;
        let touches = [Touch::host(src, bytes, false), Touch::device(device, dst, bytes, true)];
        self.enqueue(call, device, stream, touches, || {
            // SAFETY: the caller's promises.
            unsafe { self.inner.memcpy_htod_async(device, dst, src, bytes, stream) }
        })
    }

    unsafe fn memcpy_dtoh_async(
        &self,
        device: DeviceId,
        dst: *mut u8,
        src: DevicePtr,
        bytes: usize,
        stream: RawStream,
    ) -> DriverResult<()> {
        let call = CallKind::MemcpyDtohAsync;
        let pinned = self.lock().regions.is_pinned(dst);
        let touches = [Touch::device(device, src, bytes, false), Touch::host(dst, bytes, true)];
        // SAFETY: the caller's promises.
        let inner = || unsafe { self.inner.memcpy_dtoh_async(device, dst, src, bytes, stream) };
        if pinned {
            self.begin_with(call, &[])?;
            return self.enqueue(call, device, stream, touches, inner);
        }
        self.begin_with(call, &[CallKind::BlockingCopy, CallKind::PageableCopy])?;
        let seen = self.check(call, |state| {
            state.streams.of(call, device, stream.0)?;
            touches.iter().try_for_each(|touch| state.regions.find(call, touch).map(drop))?;
            Ok(state.snapshot(stream))
        })?;
        self.seen(device, inner())?;
        let mut state = self.lock();
        state.waited_for(call, stream, touches.into_iter());
        state.order.host_learns(&seen);
        Ok(())
    }

    unsafe fn memcpy_dtod_async(
        &self,
        device: DeviceId,
        dst: DevicePtr,
        src: DevicePtr,
        bytes: usize,
        stream: RawStream,
    ) -> DriverResult<()> {
        let call = CallKind::MemcpyDtodAsync;
        self.begin(call)?;
        if dst.0.abs_diff(src.0) < bytes as u64 {
            let overlap = Violation::Overlap { call, dst: dst.0, src: src.0, bytes: bytes as u64 };
            return self.check(call, |_| Err(Box::new(overlap)));
        }
        let touches = [Touch::device(device, src, bytes, false), Touch::device(device, dst, bytes, true)];
        self.enqueue(call, device, stream, touches, || {
            // SAFETY: the caller's promises.
            unsafe { self.inner.memcpy_dtod_async(device, dst, src, bytes, stream) }
        })
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
        let call = CallKind::MemcpyPeerAsync;
        self.begin(call)?;
        let touches = [Touch::device(src_device, src, bytes, false), Touch::device(device, dst, bytes, true)];
        self.enqueue(call, device, stream, touches, || {
            // SAFETY: the caller's promises.
            unsafe { self.inner.memcpy_peer_async(device, dst, src_device, src, bytes, stream) }
        })
    }

    unsafe fn memset_d8_async(
        &self,
        device: DeviceId,
        dst: DevicePtr,
        value: u8,
        bytes: usize,
        stream: RawStream,
    ) -> DriverResult<()> {
        let call = CallKind::MemsetD8Async;
        self.begin(call)?;
        let touches = [Touch::device(device, dst, bytes, true)];
        // SAFETY: the caller's promises.
        let inner = || unsafe { self.inner.memset_d8_async(device, dst, value, bytes, stream) };
        self.enqueue(call, device, stream, touches, inner)
    }

    unsafe fn memset_d32_async(
        &self,
        device: DeviceId,
        dst: DevicePtr,
        value: u32,
        count: usize,
        stream: RawStream,
    ) -> DriverResult<()> {
        let call = CallKind::MemsetD32Async;
        self.begin(call)?;
        if !dst.0.is_multiple_of(4) {
            let misaligned = Violation::Misaligned { call, address: dst.0, align: 4 };
            return self.check(call, |_| Err(Box::new(misaligned)));
        }
        let touches = [Touch::device(device, dst, count.saturating_mul(4), true)];
        // SAFETY: the caller's promises.
        let inner = || unsafe { self.inner.memset_d32_async(device, dst, value, count, stream) };
        self.enqueue(call, device, stream, touches, inner)
    }

    fn stream_create(&self, device: DeviceId, options: StreamOptions) -> DriverResult<RawStream> {
        self.begin(CallKind::StreamCreate)?;
        let stream = self.seen(device, self.inner.stream_create(device, options))?;
        let mut state = self.lock();
        let slot = state.order.add_stream(device, stream);
        state.streams.add(stream.0, device, slot);
        Ok(stream)
    }

    unsafe fn stream_destroy(&self, device: DeviceId, stream: RawStream) -> DriverResult<()> {
        let call = CallKind::StreamDestroy;
        self.begin(call)?;
        let removed = self.check(call, |state| {
            state.streams.of(call, device, stream.0)?;
            Ok(state.streams.remove(stream.0))
        })?;
        // SAFETY: the caller's promises.
        let result = self.seen(device, unsafe { self.inner.stream_destroy(device, stream) });
        let mut state = self.lock();
        match (&result, removed) {
            (Ok(()), Some((_, slot))) => state.order.remove_stream(slot),
            (Err(_), Some(removed)) => state.streams.put_back(stream.0, removed),
            (_, None) => {}
        }
        result
    }

    unsafe fn stream_synchronize(&self, device: DeviceId, stream: RawStream) -> DriverResult<()> {
        let call = CallKind::StreamSynchronize;
        self.begin(call)?;
        let seen = self.check(call, |state| {
            state.streams.of(call, device, stream.0)?;
            Ok(state.snapshot(stream))
        })?;
        // SAFETY: the caller's promises.
        self.seen(device, unsafe { self.inner.stream_synchronize(device, stream) })?;
        self.lock().order.host_learns(&seen);
        Ok(())
    }

    unsafe fn stream_query(&self, device: DeviceId, stream: RawStream) -> DriverResult<bool> {
        let call = CallKind::StreamQuery;
        self.begin(call)?;
        let seen = self.check(call, |state| {
            state.streams.of(call, device, stream.0)?;
            Ok(state.snapshot(stream))
        })?;
        // SAFETY: the caller's promises.
        let done = self.seen(device, unsafe { self.inner.stream_query(device, stream) })?;
        if done {
            self.lock().order.host_learns(&seen);
        }
        Ok(done)
    }

    unsafe fn stream_wait_event(
        &self,
        device: DeviceId,
        stream: RawStream,
        event: RawEvent,
    ) -> DriverResult<()> {
        let call = CallKind::StreamWaitEvent;
        self.begin(call)?;
        let recorded = self.check(call, |state| {
            state.streams.of(call, device, stream.0)?;
            state.events.any(call, event.0)?;
            Ok(state.recorded(event))
        })?;
        // SAFETY: the caller's promises.
        self.seen(device, unsafe { self.inner.stream_wait_event(device, stream, event) })?;
        let mut state = self.lock();
        if let (Some(recorded), Some(&slot)) = (recorded, state.streams.get(stream.0)) {
            state.order.stream_waits(slot, &recorded);
        }
        Ok(())
    }

    unsafe fn launch_host_func(
        &self,
        device: DeviceId,
        stream: RawStream,
        function: HostFunc,
    ) -> DriverResult<()> {
        let call = CallKind::LaunchHostFunc;
        self.begin(call)?;
        // SAFETY: the caller's promises.
        let inner = || unsafe { self.inner.launch_host_func(device, stream, function) };
        self.enqueue(call, device, stream, [], inner)
    }

    fn event_create(&self, device: DeviceId, options: EventOptions) -> DriverResult<RawEvent> {
        self.begin(CallKind::EventCreate)?;
        let event = self.seen(device, self.inner.event_create(device, options))?;
        self.lock().events.add(event.0, device, EventState::default());
        Ok(event)
    }

    unsafe fn event_destroy(&self, device: DeviceId, event: RawEvent) -> DriverResult<()> {
        let call = CallKind::EventDestroy;
        self.begin(call)?;
        let removed = self.check(call, |state| {
            state.events.of(call, device, event.0)?;
            Ok(state.events.remove(event.0))
        })?;
        // SAFETY: the caller's promises.
        let result = self.seen(device, unsafe { self.inner.event_destroy(device, event) });
        if result.is_err()
            && let Some(removed) = removed
        {
            self.lock().events.put_back(event.0, removed);
        }
        result
    }

    unsafe fn event_record(&self, device: DeviceId, event: RawEvent, stream: RawStream) -> DriverResult<()> {
        let call = CallKind::EventRecord;
        self.begin(call)?;
        let point = self.check(call, |state| {
            state.events.of(call, device, event.0)?;
            state.streams.of(call, device, stream.0)?;
            Ok(state.snapshot(stream))
        })?;
        // SAFETY: the caller's promises.
        self.seen(device, unsafe { self.inner.event_record(device, event, stream) })?;
        if let Some(state) = self.lock().events.get_mut(event.0) {
            state.recorded = Some(point);
        }
        Ok(())
    }

    unsafe fn event_query(&self, device: DeviceId, event: RawEvent) -> DriverResult<bool> {
        let call = CallKind::EventQuery;
        self.begin(call)?;
        let recorded = self.check(call, |state| {
            state.events.of(call, device, event.0)?;
            Ok(state.recorded(event))
        })?;
        // SAFETY: the caller's promises.
        let reached = self.seen(device, unsafe { self.inner.event_query(device, event) })?;
        if let (true, Some(recorded)) = (reached, recorded) {
            self.lock().order.host_learns(&recorded);
        }
        Ok(reached)
    }

    unsafe fn event_synchronize(&self, device: DeviceId, event: RawEvent) -> DriverResult<()> {
        let call = CallKind::EventSynchronize;
        self.begin(call)?;
        let recorded = self.check(call, |state| {
            state.events.of(call, device, event.0)?;
            Ok(state.recorded(event))
        })?;
        // SAFETY: the caller's promises.
        self.seen(device, unsafe { self.inner.event_synchronize(device, event) })?;
        if let Some(recorded) = recorded {
            self.lock().order.host_learns(&recorded);
        }
        Ok(())
    }

    unsafe fn event_elapsed_ms(&self, device: DeviceId, start: RawEvent, end: RawEvent) -> DriverResult<f32> {
        let call = CallKind::EventElapsed;
        self.begin(call)?;
        let recorded = self.check(call, |state| {
            state.events.of(call, device, start.0)?;
            state.events.of(call, device, end.0)?;
            Ok([state.recorded(start), state.recorded(end)])
        })?;
        // SAFETY: the caller's promises.
        let elapsed = self.seen(device, unsafe { self.inner.event_elapsed_ms(device, start, end) })?;
        // There is a time only when both were reached.
        let mut state = self.lock();
        recorded.iter().flatten().for_each(|clock| state.order.host_learns(clock));
        Ok(elapsed)
    }

    unsafe fn module_load(&self, device: DeviceId, image: &[u8]) -> DriverResult<RawModule> {
        self.begin(CallKind::ModuleLoad)?;
        // SAFETY: the caller's promises.
        let module = self.seen(device, unsafe { self.inner.module_load(device, image) })?;
        let kernarg = kernarg_sizes(image, &*self.inner, device);
        self.lock().add_module(device, module, kernarg);
        Ok(module)
    }

    unsafe fn module_unload(&self, device: DeviceId, module: RawModule) -> DriverResult<()> {
        let call = CallKind::ModuleUnload;
        self.begin(call)?;
        let removed = self.check(call, |state| {
            state.modules.of(call, device, module.0)?;
            Ok(state.remove_module(call, module))
        })?;
        // SAFETY: the caller's promises.
        let result = self.seen(device, unsafe { self.inner.module_unload(device, module) });
        if result.is_err()
            && let Some(removed) = removed
        {
            self.lock().put_back_module(removed);
        }
        result
    }

    unsafe fn module_get_function(
        &self,
        device: DeviceId,
        module: RawModule,
        name: &CStr,
    ) -> DriverResult<RawFunction> {
        let call = CallKind::ModuleGetFunction;
        self.begin(call)?;
        self.check(call, |state| state.modules.of(call, device, module.0).map(drop))?;
        // SAFETY: the caller's promises.
        let found = unsafe { self.inner.module_get_function(device, module, name) };
        let function = self.seen(device, found)?;
        self.lock().add_function(device, module, function, name);
        Ok(function)
    }

    unsafe fn module_get_global(
        &self,
        device: DeviceId,
        module: RawModule,
        name: &CStr,
    ) -> DriverResult<(DevicePtr, usize)> {
        let call = CallKind::ModuleGetGlobal;
        self.begin(call)?;
        self.check(call, |state| state.modules.of(call, device, module.0).map(drop))?;
        // SAFETY: the caller's promises.
        let found = unsafe { self.inner.module_get_global(device, module, name) };
        let (ptr, bytes) = self.seen(device, found)?;
        self.lock().regions.add_global(device, module, ptr, bytes);
        Ok((ptr, bytes))
    }

    unsafe fn occupancy(
        &self,
        device: DeviceId,
        function: RawFunction,
        block_threads: u32,
        dynamic_lds: u32,
    ) -> DriverResult<u32> {
        let call = CallKind::Occupancy;
        self.begin(call)?;
        self.check(call, |state| state.functions.of(call, device, function.0).map(drop))?;
        // SAFETY: the caller's promises.
        let blocks = unsafe { self.inner.occupancy(device, function, block_threads, dynamic_lds) };
        self.seen(device, blocks)
    }

    unsafe fn launch_kernel(&self, device: DeviceId, launch: &KernelLaunch<'_>) -> DriverResult<()> {
        let call = CallKind::LaunchKernel;
        self.begin(call)?;
        self.check(call, |state| state.check_launch(device, launch))?;
        // SAFETY: the caller's promises.
        self.seen(device, unsafe { self.inner.launch_kernel(device, launch) })?;
        let touches = launch.accesses.iter().map(|a| Touch::device(device, a.ptr, a.bytes, a.write));
        let operation = Operation { function: Some(launch.function), ..Operation::of(call) };
        self.lock().commit(operation, launch.stream, touches);
        Ok(())
    }

    fn graph_create(&self, device: DeviceId) -> DriverResult<RawGraph> {
        self.begin(CallKind::GraphCreate)?;
        let graph = self.seen(device, self.inner.graph_create(device))?;
        self.lock().graphs.add(graph.0, device, GraphState::default());
        Ok(graph)
    }

    unsafe fn graph_destroy(&self, device: DeviceId, graph: RawGraph) -> DriverResult<()> {
        // SAFETY: the caller's promises.
        self.destroy_graph(device, graph, || unsafe { self.inner.graph_destroy(device, graph) })
    }

    unsafe fn graph_add_kernel(
        &self,
        device: DeviceId,
        graph: RawGraph,
        dependencies: &[RawGraphNode],
        launch: &KernelLaunch<'_>,
    ) -> DriverResult<RawGraphNode> {
        let at = (device, graph, dependencies);
        // SAFETY: the caller's promises.
        let inner = || unsafe { self.inner.graph_add_kernel(device, graph, dependencies, launch) };
        self.add_kernel(at, launch, inner)
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
        let touches = [Touch::host(src, bytes, false), Touch::device(device, dst, bytes, true)];
        self.add_node(CallKind::GraphAddMemcpyHtod, (device, graph, dependencies), &touches, || {
            // SAFETY: the caller's promises.
            unsafe { self.inner.graph_add_memcpy_htod(device, graph, dependencies, dst, src, bytes) }
        })
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
        let touches = [Touch::device(device, src, bytes, false), Touch::host(dst, bytes, true)];
        self.add_node(CallKind::GraphAddMemcpyDtoh, (device, graph, dependencies), &touches, || {
            // SAFETY: the caller's promises.
            unsafe { self.inner.graph_add_memcpy_dtoh(device, graph, dependencies, dst, src, bytes) }
        })
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
        let touches = [Touch::device(device, src, bytes, false), Touch::device(device, dst, bytes, true)];
        self.add_node(CallKind::GraphAddMemcpyDtod, (device, graph, dependencies), &touches, || {
            // SAFETY: the caller's promises.
            unsafe { self.inner.graph_add_memcpy_dtod(device, graph, dependencies, dst, src, bytes) }
        })
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
        let touches = [Touch::device(device, dst, bytes, true)];
        self.add_node(CallKind::GraphAddMemsetD8, (device, graph, dependencies), &touches, || {
            // SAFETY: the caller's promises.
            unsafe { self.inner.graph_add_memset_d8(device, graph, dependencies, dst, value, bytes) }
        })
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
        let touches = [Touch::device(device, dst, count.saturating_mul(4), true)];
        self.add_node(CallKind::GraphAddMemsetD32, (device, graph, dependencies), &touches, || {
            // SAFETY: the caller's promises.
            unsafe { self.inner.graph_add_memset_d32(device, graph, dependencies, dst, value, count) }
        })
    }

    unsafe fn graph_add_empty(
        &self,
        device: DeviceId,
        graph: RawGraph,
        dependencies: &[RawGraphNode],
    ) -> DriverResult<RawGraphNode> {
        // SAFETY: the caller's promises.
        let inner = || unsafe { self.inner.graph_add_empty(device, graph, dependencies) };
        self.add_node(CallKind::GraphAddEmpty, (device, graph, dependencies), &[], inner)
    }

    unsafe fn graph_instantiate(&self, device: DeviceId, graph: RawGraph) -> DriverResult<RawGraphExec> {
        // SAFETY: the caller's promises.
        self.instantiate(device, graph, || unsafe { self.inner.graph_instantiate(device, graph) })
    }

    unsafe fn graph_launch(
        &self,
        device: DeviceId,
        exec: RawGraphExec,
        stream: RawStream,
    ) -> DriverResult<()> {
        // SAFETY: the caller's promises.
        let inner = || unsafe { self.inner.graph_launch(device, exec, stream) };
        self.launch_graph(device, exec, stream, inner)
    }

    unsafe fn graph_exec_destroy(&self, device: DeviceId, exec: RawGraphExec) -> DriverResult<()> {
        // SAFETY: the caller's promises.
        self.destroy_exec(device, exec, || unsafe { self.inner.graph_exec_destroy(device, exec) })
    }

    fn note_host_write(&self, ptr: *const u8, bytes: usize) {
        self.counters.add(CallKind::NoteHostWrite);
        self.lock().host_access(Touch::host(ptr, bytes, true));
        self.inner.note_host_write(ptr, bytes);
    }

    fn note_host_read(&self, ptr: *const u8, bytes: usize) {
        self.counters.add(CallKind::NoteHostRead);
        self.lock().host_access(Touch::host(ptr, bytes, false));
        self.inner.note_host_read(ptr, bytes);
    }

    fn watch_activity(&self, observer: Weak<dyn ActivityObserver>) -> bool {
        self.inner.watch_activity(observer)
    }

    fn watches_pools(&self) -> bool {
        true
    }

    fn note_pool_segment(&self, device: DeviceId, segment: DevicePtr) {
        let call = CallKind::NotePoolSegment;
        self.counters.add(call);
        self.lock().pool_note(|regions| regions.add_segment(call, device, segment));
        self.inner.note_pool_segment(device, segment);
    }

    fn note_pool_allocate(&self, device: DeviceId, block: DevicePtr, bytes: usize) {
        let call = CallKind::NotePoolAllocate;
        self.counters.add(call);
        self.lock().pool_note(|regions| regions.add_block(call, device, block, bytes));
        self.inner.note_pool_allocate(device, block, bytes);
    }

    fn note_pool_free(&self, device: DeviceId, block: DevicePtr) {
        let call = CallKind::NotePoolFree;
        self.counters.add(call);
        self.lock().pool_note(|regions| regions.free_block(call, device, block));
        self.inner.note_pool_free(device, block);
    }

    fn note_pool_record(&self, device: DeviceId, block: DevicePtr) {
        let call = CallKind::NotePoolRecord;
        self.counters.add(call);
        self.lock().pool_note(|regions| regions.check_block(call, device, block));
        self.inner.note_pool_record(device, block);
    }
}
