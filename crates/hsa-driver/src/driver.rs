//! The driver's calls. Streams, events, modules and kernels are named by their addresses: as with HIP, a stale handle is not detected here, but by the
//! validation layer.

use std::ffi::CStr;
use std::mem::ManuallyDrop;
use std::sync::Arc;

use crate::abi::agent_info;
use crate::device::Device;
use crate::event::{Event, NoTime};
use crate::graph::Recorded;
use crate::memory::Kind;
use crate::module::Module;
use crate::stream::{Stream, StreamKind};
use crate::{HsaDriver, Shared};
use hip_driver::captures;
use hip_driver::{
    Capabilities, Capability, CaptureInfo, CaptureMode, DeviceId, DeviceProperties, DevicePtr, Driver,
    DriverError, DriverInfo, DriverResult, ErrorCode, EventOptions, MemInfo, NodeLaunch, PinnedAllocation,
    RawEvent, RawFunction, RawGraph, RawGraphExec, RawGraphNode, RawModule, RawStream, Recovery,
    StreamOptions, Work, limits,
};

/// HSA's priorities of a queue: low, normal, high.
const PRIORITIES: [u32; 3] = [0, 1, 2];

/// A stream by its handle. It is borrowed: whoever made it owns it.
type Found = ManuallyDrop<Arc<Stream>>;

fn borrow(stream: &Arc<Stream>) -> Found {
    // SAFETY: the pointer is of a live `Arc`, which outlives the call that the stream was found for: a device's null stream, a thread's own one while
    // the thread is in the call, or one whose caller promises it. The count stays, as this is not dropped.
    ManuallyDrop::new(unsafe { Arc::from_raw(Arc::as_ptr(stream)) })
}

/// # Safety
/// The handle is of a live stream that `stream_create` made.
#[inline]
unsafe fn created(stream: RawStream) -> Found {
    // SAFETY: the address is of `Arc::into_raw` and was not given back (the caller's promise).
    ManuallyDrop::new(unsafe { Arc::from_raw(std::ptr::with_exposed_provenance(stream.0 as usize)) })
}

/// # Safety
/// The handle is of a live event of this driver.
#[inline]
unsafe fn event<'a>(event: RawEvent) -> &'a Event {
    // SAFETY: the address of a live event (the caller's promise).
    unsafe { &*std::ptr::with_exposed_provenance(event.0 as usize) }
}

/// # Safety
/// The handle is of a loaded module of this driver.
unsafe fn module<'a>(module: RawModule) -> &'a Module {
    // SAFETY: the address of a live module (the caller's promise).
    unsafe { &*std::ptr::with_exposed_provenance(module.0 as usize) }
}

fn utf8<'a>(call: &'static str, name: &'a CStr) -> DriverResult<&'a str> {
    name.to_str().map_err(|_| {
        DriverError::with_detail(call, ErrorCode::NOT_FOUND, format!("the name {name:?} is not UTF-8"))
    })
}

impl HsaDriver {
    /// The stream that a handle names.
    ///
    /// # Safety
    /// The handle is of a live stream of the device, or of a default stream.
    #[inline]
    unsafe fn stream(
        &self,
        call: &'static str,
        device: &'static Device,
        stream: RawStream,
    ) -> DriverResult<Found> {
        if !stream.is_default() {
            // SAFETY: the caller's promise.
            return Ok(unsafe { created(stream) });
        }
        match stream {
            RawStream::PER_THREAD => device.own_stream(call).map(|stream| borrow(&stream)),
            _ => device.null(call).map(borrow),
        }
    }

    /// A stream on which something is to be enqueued: what comes next is ordered with the null stream.
    ///
    /// # Safety
    /// As for [`stream`](HsaDriver::stream).
    #[inline]
    unsafe fn ordered_stream(
        &self,
        call: &'static str,
        device: DeviceId,
        stream: RawStream,
    ) -> DriverResult<Found> {
        let device = self.device(call, device)?;
        // SAFETY: the caller's promise.
        let found = unsafe { self.stream(call, device, stream) }?;
        // Captured work is ordered by its graph's launches.
        if found.kind() != StreamKind::NonBlocking && !self.captures.is_captured(&found) {
            found.order_with_null(call)?;
        }
        Ok(found)
    }

    /// A stream that is to be waited for or asked whether it is idle. That of the null stream covers the blocking streams.
    ///
    /// # Safety
    /// As for [`stream`](HsaDriver::stream).
    unsafe fn observed_stream(
        &self,
        call: &'static str,
        device: DeviceId,
        stream: RawStream,
    ) -> DriverResult<Found> {
        let device = self.device(call, device)?;
        // SAFETY: the caller's promise.
        let found = unsafe { self.stream(call, device, stream) }?;
        self.captures.may_observe_stream(call, &found)?;
        if found.kind() == StreamKind::Null {
            found.order_with_null(call)?;
        }
        Ok(found)
    }

    /// Unpins memory, after waiting for all work that may use it.
    fn unpin(&self, call: &'static str, host: u64, kind: Kind) -> DriverResult<()> {
        self.captures.allow(call)?;
        if !self.memory.begins_at(host, kind) {
            let code = match kind {
                Kind::Caller => ErrorCode::HOST_MEMORY_NOT_REGISTERED,
                Kind::Driver | Kind::Managed => ErrorCode::INVALID_VALUE,
            };
            let detail = format!("{host:#x} is not the start of such memory");
            return Err(DriverError::with_detail(call, code, detail));
        }
        self.devices.iter().try_for_each(|device| device.drain(call))?;
        self.memory.unpin(call, self.hsa, host)
    }
}

impl Driver for Shared {
    fn info(&self) -> DriverInfo {
        DriverInfo {
            name: "hsa".to_owned(),
            version: self.0.hsa.version.clone(),
            source: self.0.hsa.library.display().to_string(),
            recovery: Recovery::NewProcess,
        }
    }

    fn capabilities(&self) -> Capabilities {
        let has = |capability: &Capability| match capability {
            Capability::StreamOrderedAllocator | Capability::SharedMemory => false,
            Capability::GenericCodeObjects => self.0.hsa.loads_generic_code(),
            _ => true,
        };
        Capability::ALL.into_iter().filter(has).collect()
    }

    fn device_count(&self) -> DriverResult<u32> {
        Ok(self.0.devices.len() as u32)
    }

    fn device_properties(&self, device: DeviceId) -> DriverResult<DeviceProperties> {
        Ok(self.0.any_device("hipDeviceGetAttribute", device)?.properties.clone())
    }

    fn mem_info(&self, device: DeviceId) -> DriverResult<MemInfo> {
        let device = self.0.device("hipMemGetInfo", device)?;
        let total = device.properties.total_memory;
        let available = device.hsa.agent::<u64>(device.agent, agent_info::MEMORY_AVAILABLE);
        // ROCr before 5.3 does not know it: then that of other processes is not counted.
        let free = available.unwrap_or_else(|| total.saturating_sub(self.0.memory.used(device.id)));
        Ok(MemInfo { free: free.min(total), total })
    }

    fn device_synchronize(&self, device: DeviceId) -> DriverResult<()> {
        let call = "hipDeviceSynchronize";
        let device = self.0.any_device(call, device)?;
        self.0.captures.none(call, ErrorCode::STREAM_CAPTURE_UNSUPPORTED)?;
        device.synchronize(call)
    }

    fn can_access_peer(&self, device: DeviceId, peer: DeviceId) -> DriverResult<bool> {
        let call = "hipDeviceCanAccessPeer";
        let (device, peer) = (self.0.any_device(call, device)?, self.0.any_device(call, peer)?);
        Ok(device.id != peer.id && device.hsa.can_access(device.agent, peer.pool))
    }

    fn enable_peer_access(&self, device: DeviceId, peer: DeviceId) -> DriverResult<()> {
        let call = "hipDeviceEnablePeerAccess";
        let (device, peer) = (self.0.device(call, device)?, self.0.device(call, peer)?);
        if device.id == peer.id {
            let detail = format!("{} is not a peer of itself", device.id);
            return Err(DriverError::with_detail(call, ErrorCode::INVALID_DEVICE, detail));
        }
        self.0.memory.allow_peer(call, device, peer)
    }

    fn malloc(&self, device: DeviceId, bytes: usize) -> DriverResult<DevicePtr> {
        let call = "hipMalloc";
        let device = self.0.device(call, device)?;
        self.0.captures.allow(call)?;
        self.0.memory.allocate(call, device, bytes)
    }

    unsafe fn free(&self, device: DeviceId, ptr: DevicePtr) -> DriverResult<()> {
        let call = "hipFree";
        let device = self.0.any_device(call, device)?;
        if ptr.is_null() {
            return Ok(());
        }
        if self.0.memory.begins_at(ptr.0, Kind::Managed) {
            return self.0.unpin(call, ptr.0, Kind::Managed);
        }
        self.0.captures.allow(call)?;
        device.drain(call)?;
        self.0.memory.take(call, device.id, ptr).map(drop)
    }

    fn host_malloc(&self, device: DeviceId, bytes: usize) -> DriverResult<PinnedAllocation> {
        let call = "hipHostMalloc";
        let device = self.0.device(call, device)?;
        self.0.captures.allow(call)?;
        self.0.memory.pin_new(call, device, bytes, Kind::Driver)
    }

    unsafe fn host_free(&self, device: DeviceId, allocation: PinnedAllocation) -> DriverResult<()> {
        let call = "hipHostFree";
        self.0.any_device(call, device)?;
        self.0.unpin(call, allocation.host.as_ptr().addr() as u64, Kind::Driver)
    }

    unsafe fn host_register(
        &self,
        device: DeviceId,
        ptr: *mut u8,
        bytes: usize,
    ) -> DriverResult<PinnedAllocation> {
        let call = "hipHostRegister";
        let device = self.0.device(call, device)?;
        self.0.captures.allow(call)?;
        // SAFETY: the caller keeps the memory until it is unregistered.
        unsafe { self.0.memory.pin(call, device, ptr, bytes) }
    }

    unsafe fn host_unregister(&self, device: DeviceId, allocation: PinnedAllocation) -> DriverResult<()> {
        let call = "hipHostUnregister";
        self.0.any_device(call, device)?;
        self.0.unpin(call, allocation.host.as_ptr().addr() as u64, Kind::Caller)
    }

    fn malloc_managed(&self, device: DeviceId, bytes: usize) -> DriverResult<DevicePtr> {
        let call = "hipMallocManaged";
        let device = self.0.device(call, device)?;
        self.0.captures.allow(call)?;
        self.0.memory.pin_new(call, device, bytes, Kind::Managed).map(|pinned| pinned.device)
    }

    fn device_of_pointer(&self, device: DeviceId, ptr: DevicePtr) -> DriverResult<DeviceId> {
        let call = "hipPointerGetAttributes";
        let device = self.0.device(call, device)?;
        if let Some(owner) = device.hsa.owner(ptr.0) {
            let found = self.0.devices.iter().find(|device| device.agent == owner);
            // Memory of the host is every device's.
            return Ok(found.map_or(device.id, |found| found.id));
        }
        let detail = format!("{ptr} is in no allocation");
        Err(DriverError::with_detail(call, ErrorCode::INVALID_VALUE, detail))
    }

    fn stream_create(&self, device: DeviceId, options: StreamOptions) -> DriverResult<RawStream> {
        let call = "hipStreamCreateWithFlags";
        let device = self.0.device(call, device)?;
        let kind = if options.blocking { StreamKind::Blocking } else { StreamKind::NonBlocking };
        // HIP's are -1, 0 and 1, of which the lowest is the most urgent.
        let priority = options.priority.map(|urgency| PRIORITIES[(1 - urgency.clamp(-1, 1)) as usize]);
        let stream = Stream::new(call, device, kind, priority.filter(|priority| *priority != PRIORITIES[1]))?;
        device.add(&stream);
        Ok(RawStream(Arc::into_raw(stream).expose_provenance() as u64))
    }

    unsafe fn stream_destroy(&self, device: DeviceId, stream: RawStream) -> DriverResult<()> {
        let call = "hipStreamDestroy";
        let device = self.0.any_device(call, device)?;
        if stream.is_default() {
            let detail = "a default stream is not destroyed";
            return Err(DriverError::with_detail(call, ErrorCode::INVALID_HANDLE, detail));
        }
        // SAFETY: a live stream that no other call uses (the caller's promise).
        let stream = ManuallyDrop::into_inner(unsafe { created(stream) });
        self.0.captures.forget(&stream);
        device.close(&stream);
        Ok(())
    }

    unsafe fn stream_synchronize(&self, device: DeviceId, stream: RawStream) -> DriverResult<()> {
        let call = "hipStreamSynchronize";
        // SAFETY: the caller's promise.
        unsafe { self.0.observed_stream(call, device, stream) }?.synchronize(call)
    }

    unsafe fn stream_query(&self, device: DeviceId, stream: RawStream) -> DriverResult<bool> {
        let call = "hipStreamQuery";
        // SAFETY: the caller's promise.
        let stream = unsafe { self.0.observed_stream(call, device, stream) }?;
        let idle = stream.is_idle(call)?;
        // Checked after the marker: a fault of work before it must be reported.
        stream.device.check(call)?;
        Ok(idle)
    }

    unsafe fn stream_wait_event(
        &self,
        device: DeviceId,
        stream: RawStream,
        waited: RawEvent,
    ) -> DriverResult<()> {
        let call = "hipStreamWaitEvent";
        // SAFETY: live handles (the caller's promise).
        let (stream, event) = unsafe { (self.0.ordered_stream(call, device, stream)?, event(waited)) };
        if self.0.captures.wait(call, &stream, &event.capture, || event.is_recorded())? {
            return Ok(());
        }
        match event.marker() {
            Some(marker) => stream.wait_for(call, marker),
            None => Ok(()),
        }
    }

    unsafe fn stream_begin_capture(
        &self,
        device: DeviceId,
        stream: RawStream,
        mode: CaptureMode,
    ) -> DriverResult<()> {
        let call = "hipStreamBeginCapture";
        let device = self.0.device(call, device)?;
        // SAFETY: the caller's promise.
        let stream = unsafe { self.0.stream(call, device, stream) }?;
        self.0.captures.begin(call, &stream, mode)
    }

    /// A capture can be ended on a lost device, too.
    unsafe fn stream_end_capture(&self, device: DeviceId, stream: RawStream) -> DriverResult<RawGraph> {
        let call = "hipStreamEndCapture";
        let device = self.0.any_device(call, device)?;
        // SAFETY: the caller's promise.
        let stream = unsafe { self.0.stream(call, device, stream) }?;
        self.0.end_capture(call, &stream)
    }

    unsafe fn stream_capture_info(&self, device: DeviceId, stream: RawStream) -> DriverResult<CaptureInfo> {
        let call = "hipStreamGetCaptureInfo";
        let device = self.0.any_device(call, device)?;
        // SAFETY: the caller's promise.
        let stream = unsafe { self.0.stream(call, device, stream) }?;
        Ok(self.0.captures.info(&stream))
    }

    fn exchange_capture_mode(&self, device: DeviceId, mode: CaptureMode) -> DriverResult<CaptureMode> {
        self.0.any_device("hipThreadExchangeStreamCaptureMode", device)?;
        Ok(captures::exchange_thread_mode(mode))
    }

    fn event_create(&self, device: DeviceId, options: EventOptions) -> DriverResult<RawEvent> {
        self.0.device("hipEventCreateWithFlags", device)?;
        let event = Box::into_raw(Box::new(Event::new(options.timing)));
        Ok(RawEvent(event.expose_provenance() as u64))
    }

    unsafe fn event_destroy(&self, device: DeviceId, destroyed: RawEvent) -> DriverResult<()> {
        self.0.any_device("hipEventDestroy", device)?;
        // SAFETY: made by `Box::into_raw`, and no other call uses it (the caller's promise).
        drop(unsafe { Box::from_raw(std::ptr::with_exposed_provenance_mut::<Event>(destroyed.0 as usize)) });
        Ok(())
    }

    unsafe fn event_record(
        &self,
        device: DeviceId,
        recorded: RawEvent,
        stream: RawStream,
    ) -> DriverResult<()> {
        let call = "hipEventRecord";
        // SAFETY: live handles (the caller's promise).
        let (stream, event) = unsafe { (self.0.ordered_stream(call, device, stream)?, event(recorded)) };
        if self.0.captures.record(&stream, &event.capture) {
            return Ok(());
        }
        event.record(call, &stream)
    }

    unsafe fn event_query(&self, device: DeviceId, asked: RawEvent) -> DriverResult<bool> {
        let call = "hipEventQuery";
        self.0.device(call, device)?;
        // SAFETY: a live event (the caller's promise).
        let event = unsafe { event(asked) };
        self.0.captures.may_observe_event(call, &event.capture)?;
        let reached = event.marker().is_none_or(|marker| marker.is_reached());
        self.0.device(call, device)?;
        Ok(reached)
    }

    unsafe fn event_synchronize(&self, device: DeviceId, waited: RawEvent) -> DriverResult<()> {
        let call = "hipEventSynchronize";
        self.0.device(call, device)?;
        // SAFETY: a live event (the caller's promise).
        let event = unsafe { event(waited) };
        self.0.captures.may_observe_event(call, &event.capture)?;
        match event.marker() {
            Some(marker) => marker.wait(call),
            None => Ok(()),
        }
    }

    unsafe fn event_elapsed_ms(&self, device: DeviceId, start: RawEvent, end: RawEvent) -> DriverResult<f32> {
        let call = "hipEventElapsedTime";
        self.0.device(call, device)?;
        let time = |of| {
            // SAFETY: live events (the caller's promise).
            unsafe { event(of) }.time().map_err(|why| match why {
                NoTime::NotTimed => {
                    let detail = "the event was created without timing, or was never recorded";
                    DriverError::with_detail(call, ErrorCode::INVALID_HANDLE, detail)
                }
                NoTime::NotReached => {
                    let detail = "the event's record has not been reached; synchronize first";
                    DriverError::with_detail(call, ErrorCode::ILLEGAL_STATE, detail)
                }
            })
        };
        Ok(((time(end)? - time(start)?) * 1e3) as f32)
    }

    #[inline]
    unsafe fn enqueue(&self, device: DeviceId, stream: RawStream, work: &Work<'_>) -> DriverResult<()> {
        // SAFETY: the caller's promise.
        let stream = unsafe { self.0.ordered_stream(work.kind().name(), device, stream) }?;
        if self.0.capture_work(&stream, work)? {
            return Ok(());
        }
        self.0.enqueue_work(&stream, work)
    }

    unsafe fn copy_blocking(&self, device: DeviceId, work: &Work<'_>) -> DriverResult<()> {
        let call = work.blocking_kind().name();
        let device = self.0.device(call, device)?;
        self.0.captures.none(call, ErrorCode::STREAM_CAPTURE_IMPLICIT)?;
        self.0.copy_and_wait(device, work)
    }

    unsafe fn module_load(&self, device: DeviceId, image: &[u8]) -> DriverResult<RawModule> {
        let call = "hipModuleLoadData";
        let module = Module::load(call, self.0.device(call, device)?, image)?;
        Ok(RawModule(Box::into_raw(Box::new(module)).expose_provenance() as u64))
    }

    unsafe fn module_unload(&self, device: DeviceId, unloaded: RawModule) -> DriverResult<()> {
        let call = "hipModuleUnload";
        self.0.any_device(call, device)?;
        self.0.captures.allow(call)?;
        // SAFETY: made by `Box::into_raw`, and none of its kernels is used (the caller's promise).
        drop(unsafe { Box::from_raw(std::ptr::with_exposed_provenance_mut::<Module>(unloaded.0 as usize)) });
        Ok(())
    }

    unsafe fn module_get_function(
        &self,
        device: DeviceId,
        loaded: RawModule,
        name: &CStr,
    ) -> DriverResult<RawFunction> {
        let call = "hipModuleGetFunction";
        self.0.device(call, device)?;
        // SAFETY: a loaded module (the caller's promise).
        let function = unsafe { module(loaded) }.find(call, utf8(call, name)?)?;
        Ok(function.handle())
    }

    unsafe fn module_get_global(
        &self,
        device: DeviceId,
        loaded: RawModule,
        name: &CStr,
    ) -> DriverResult<(DevicePtr, usize)> {
        let call = "hipModuleGetGlobal";
        self.0.device(call, device)?;
        // SAFETY: a loaded module (the caller's promise).
        unsafe { module(loaded) }.global(call, utf8(call, name)?)
    }

    unsafe fn occupancy(
        &self,
        device: DeviceId,
        function: RawFunction,
        block_threads: u32,
        dynamic_lds: u32,
    ) -> DriverResult<u32> {
        let call = "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor";
        let device = self.0.device(call, device)?;
        if block_threads == 0 {
            return Err(DriverError::with_detail(call, ErrorCode::INVALID_VALUE, "a block of 0 work-items"));
        }
        // SAFETY: a live kernel (the caller's promise).
        let function =
            unsafe { &*std::ptr::with_exposed_provenance::<crate::module::Function>(function.0 as usize) };
        Ok(limits::occupancy(&function.signature, &device.properties, block_threads, dynamic_lds))
    }

    fn graph_create(&self, device: DeviceId) -> DriverResult<RawGraph> {
        let call = "hipGraphCreate";
        self.0.add_graph(call, self.0.device(call, device)?, Recorded::default())
    }

    unsafe fn graph_destroy(&self, device: DeviceId, graph: RawGraph) -> DriverResult<()> {
        self.0.remove_graph(device, graph)
    }

    unsafe fn graph_add(
        &self,
        device: DeviceId,
        graph: RawGraph,
        dependencies: &[RawGraphNode],
        work: &Work<'_>,
    ) -> DriverResult<RawGraphNode> {
        self.0.add_node((device, graph), dependencies, work)
    }

    unsafe fn graph_instantiate(&self, device: DeviceId, graph: RawGraph) -> DriverResult<RawGraphExec> {
        self.0.instantiate(device, graph)
    }

    unsafe fn graph_update(
        &self,
        device: DeviceId,
        exec: RawGraphExec,
        launches: &[NodeLaunch<'_>],
    ) -> DriverResult<()> {
        self.0.update_nodes(device, exec, launches)
    }

    unsafe fn graph_exec_destroy(&self, device: DeviceId, exec: RawGraphExec) -> DriverResult<()> {
        self.0.remove_exec(device, exec)
    }
}
