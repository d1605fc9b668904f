//! The driver's calls. Each checks its handles and ranges, then enqueues a command or acts at once.

use std::ffi::CStr;
use std::ptr::NonNull;
use std::sync::Arc;

use super::command::Command;
use super::device::{memory_error, wait};
use super::event::{Event, NoTime};
use super::module::Module;
use super::pinned::Owner;
use super::stream::StreamKind;
use super::{EmulatedDriver, belongs, check_host, exhausted, push, stale, synchronize, unmap, utf8};
use hip_driver::captures;
use hip_driver::{
    Capabilities, Capability, CaptureInfo, CaptureMode, DeviceId, DeviceProperties, DevicePtr, Driver,
    DriverError, DriverInfo, DriverResult, ErrorCode, EventOptions, IpcHandle, MemInfo, NodeLaunch, Observer,
    PinnedAllocation, RawEvent, RawFunction, RawGraph, RawGraphExec, RawGraphNode, RawModule, RawStream,
    Recovery, StreamOptions, Work,
};

// SAFETY of the unsafe methods below: they check handles and device addresses themselves, whatever the caller
// guarantees. What the caller must guarantee is host memory, which `HostSource` and `HostTarget` carry to the worker.
impl Driver for EmulatedDriver {
    fn info(&self) -> DriverInfo {
        let target = self.devices.first().map(|d| d.properties.target.short()).unwrap_or_default();
        DriverInfo {
            name: "emulated".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            source: format!("embedded emulator of {target}"),
            recovery: Recovery::NewDriver,
        }
    }

    fn capabilities(&self) -> Capabilities {
        Capability::ALL.into_iter().collect()
    }

    fn observer(&self) -> Option<&dyn Observer> {
        Some(self)
    }

    fn device_count(&self) -> DriverResult<u32> {
        Ok(self.devices.len() as u32)
    }

    fn device_properties(&self, device: DeviceId) -> DriverResult<DeviceProperties> {
        Ok(self.any_device("hipDeviceGetAttribute", device)?.properties.clone())
    }

    fn mem_info(&self, device: DeviceId) -> DriverResult<MemInfo> {
        Ok(self.device("hipMemGetInfo", device)?.mem_info())
    }

    fn device_synchronize(&self, device: DeviceId) -> DriverResult<()> {
        let call = "hipDeviceSynchronize";
        let device = self.any_device(call, device)?;
        self.captures.none(call, ErrorCode::STREAM_CAPTURE_UNSUPPORTED)?;
        device.synchronize(call)
    }

    fn can_access_peer(&self, device: DeviceId, peer: DeviceId) -> DriverResult<bool> {
        let call = "hipDeviceCanAccessPeer";
        self.any_device(call, device)?;
        self.any_device(call, peer)?;
        Ok(device != peer)
    }

    fn enable_peer_access(&self, device: DeviceId, peer: DeviceId) -> DriverResult<()> {
        let call = "hipDeviceEnablePeerAccess";
        let (device, peer) = (self.device(call, device)?, self.device(call, peer)?);
        if device.id == peer.id {
            let detail = format!("{} is not a peer of itself", device.id);
            return Err(DriverError::with_detail(call, ErrorCode::INVALID_DEVICE, detail));
        }
        peer.allow_access(call, device)
    }

    fn malloc(&self, device: DeviceId, bytes: usize) -> DriverResult<DevicePtr> {
        let call = "hipMalloc";
        let device = self.device(call, device)?;
        self.captures.allow(call)?;
        device.allocate(call, bytes)
    }

    unsafe fn free(&self, device: DeviceId, ptr: DevicePtr) -> DriverResult<()> {
        let call = "hipFree";
        let device = self.any_device(call, device)?;
        if ptr.is_null() {
            return Ok(());
        }
        if self.pinned.begins_at(ptr.0, Owner::Managed) {
            return self.unpin(call, device.id, ptr, Owner::Managed);
        }
        self.captures.allow(call)?;
        self.release(call, device, ptr)
    }

    unsafe fn malloc_async(
        &self,
        device: DeviceId,
        bytes: usize,
        stream: RawStream,
    ) -> DriverResult<DevicePtr> {
        let call = "hipMallocAsync";
        let stream = self.ordered_stream(call, device, stream)?;
        self.captures.not_captured(call, &stream)?;
        match stream.device.allocate(call, bytes) {
            // The stream may be about to free enough memory, and this call is ordered after that.
            Err(error) if error.code == ErrorCode::OUT_OF_MEMORY && !stream.mark().is_reached() => {
                synchronize(call, &stream)?;
                stream.device.allocate(call, bytes)
            }
            result => result,
        }
    }

    unsafe fn free_async(&self, device: DeviceId, ptr: DevicePtr, stream: RawStream) -> DriverResult<()> {
        let call = "hipFreeAsync";
        self.any_device(call, device)?;
        let stream = self.any_stream(call, device, stream)?;
        if ptr.is_null() {
            return Ok(());
        }
        self.captures.not_captured(call, &stream)?;
        stream.order_with_null();
        stream.device.begin_free(call, ptr)?;
        push(call, &stream, |_| Command::Free(ptr)).inspect_err(|_| stream.device.cancel_free(ptr)).map(drop)
    }

    fn host_malloc(&self, device: DeviceId, bytes: usize) -> DriverResult<PinnedAllocation> {
        let call = "hipHostMalloc";
        self.device(call, device)?;
        self.captures.allow(call)?;
        self.map(call, self.pinned.allocate(call, bytes, Owner::Driver)?, Owner::Driver)
    }

    unsafe fn host_free(&self, device: DeviceId, allocation: PinnedAllocation) -> DriverResult<()> {
        self.unpin("hipHostFree", device, allocation.device, Owner::Driver)
    }

    unsafe fn host_register(
        &self,
        device: DeviceId,
        ptr: *mut u8,
        bytes: usize,
    ) -> DriverResult<PinnedAllocation> {
        let call = "hipHostRegister";
        self.device(call, device)?;
        self.captures.allow(call)?;
        self.map(call, self.pinned.register(call, ptr, bytes)?, Owner::Caller)
    }

    unsafe fn host_unregister(&self, device: DeviceId, allocation: PinnedAllocation) -> DriverResult<()> {
        self.unpin("hipHostUnregister", device, allocation.device, Owner::Caller)
    }

    fn malloc_managed(&self, device: DeviceId, bytes: usize) -> DriverResult<DevicePtr> {
        self.allocate_managed("hipMallocManaged", device, bytes)
    }

    fn malloc_shared(&self, device: DeviceId, bytes: usize) -> DriverResult<DevicePtr> {
        self.allocate_shared("hipMalloc", device, bytes)
    }

    unsafe fn ipc_handle(&self, device: DeviceId, ptr: DevicePtr) -> DriverResult<IpcHandle> {
        self.share("hipIpcGetMemHandle", device, ptr)
    }

    unsafe fn ipc_open(&self, device: DeviceId, handle: IpcHandle, bytes: usize) -> DriverResult<DevicePtr> {
        self.open("hipIpcOpenMemHandle", device, &handle, bytes)
    }

    unsafe fn ipc_close(&self, device: DeviceId, ptr: DevicePtr) -> DriverResult<()> {
        self.close("hipIpcCloseMemHandle", device, ptr)
    }

    /// The emulated pool keeps no memory: what is freed in stream order is returned to the device at once.
    fn trim_pool(&self, device: DeviceId, _: usize) -> DriverResult<()> {
        self.device("hipMemPoolTrimTo", device).map(drop)
    }

    fn device_of_pointer(&self, device: DeviceId, ptr: DevicePtr) -> DriverResult<DeviceId> {
        self.owner_of("hipPointerGetAttributes", device, ptr)
    }

    fn host_address(
        &self,
        device: DeviceId,
        ptr: DevicePtr,
        bytes: usize,
    ) -> DriverResult<Option<NonNull<u8>>> {
        self.host_address_of("hipPointerGetAttributes", device, ptr, bytes)
    }

    fn set_fine_grained(&self, device: DeviceId, ptr: DevicePtr, is_fine: bool) -> DriverResult<()> {
        self.make_fine_grained("hipExtMallocWithFlags", device, ptr, is_fine)
    }

    unsafe fn enqueue(&self, device: DeviceId, stream: RawStream, work: &Work<'_>) -> DriverResult<()> {
        let stream = self.ordered_stream(work.kind().name(), device, stream)?;
        if self.capture_work(&stream, work)? {
            return Ok(());
        }
        self.enqueue_work(&stream, work)
    }

    unsafe fn copy_blocking(&self, device: DeviceId, work: &Work<'_>) -> DriverResult<()> {
        let call = work.blocking_kind().name();
        let device = self.device(call, device)?;
        self.captures.none(call, ErrorCode::STREAM_CAPTURE_IMPLICIT)?;
        device.synchronize_with_null(call)?;
        let done = match *work {
            Work::CopyToDevice { bytes: 0, .. } | Work::CopyToHost { bytes: 0, .. } => return Ok(()),
            Work::CopyToDevice { dst, src, bytes } => {
                check_host(call, src)?;
                // SAFETY: readable for `bytes`, as the caller guarantees.
                device.space.write(dst.0, unsafe { std::slice::from_raw_parts(src, bytes) })
            }
            Work::CopyToHost { dst, src, bytes } => {
                check_host(call, dst)?;
                // SAFETY: writable for `bytes`, as the caller guarantees.
                device.space.read(src.0, unsafe { std::slice::from_raw_parts_mut(dst, bytes) })
            }
            _ => return Err(work.unsupported(call)),
        };
        done.map_err(|error| memory_error(call, &error))
    }

    fn stream_create(&self, device: DeviceId, options: StreamOptions) -> DriverResult<RawStream> {
        let call = "hipStreamCreateWithFlags";
        let device = self.device(call, device)?;
        let kind = if options.blocking { StreamKind::Blocking } else { StreamKind::NonBlocking };
        let stream = self.start_stream(call, device, kind)?;
        self.streams.insert(Arc::clone(&stream)).map(RawStream).ok_or_else(|| {
            stream.close();
            exhausted(call)
        })
    }

    unsafe fn stream_destroy(&self, device: DeviceId, stream: RawStream) -> DriverResult<()> {
        let call = "hipStreamDestroy";
        self.any_device(call, device)?;
        let found = self.streams.remove_if(stream.0, |s| belongs(call, "stream", s.device.id, device))?;
        let found = found.ok_or_else(|| stale(call, "stream", stream.0))?;
        self.captures.forget(&found);
        found.close();
        self.reap();
        Ok(())
    }

    unsafe fn stream_synchronize(&self, device: DeviceId, stream: RawStream) -> DriverResult<()> {
        let call = "hipStreamSynchronize";
        synchronize(call, &self.observed_stream(call, device, stream)?)
    }

    unsafe fn stream_query(&self, device: DeviceId, stream: RawStream) -> DriverResult<bool> {
        let call = "hipStreamQuery";
        let stream = self.observed_stream(call, device, stream)?;
        let idle = stream.mark().look();
        // Checked after the counter: a fault of work that the counter counts must be reported.
        stream.device.check(call)?;
        Ok(idle)
    }

    unsafe fn stream_wait_event(
        &self,
        device: DeviceId,
        stream: RawStream,
        event: RawEvent,
    ) -> DriverResult<()> {
        let call = "hipStreamWaitEvent";
        let stream = self.ordered_stream(call, device, stream)?;
        let event = self.event(call, event)?;
        if self.captures.wait(call, &stream, &event.capture, || event.mark().is_some())? {
            return Ok(());
        }
        match event.mark() {
            // The stream's own earlier work, and a record that is reached already, need no wait.
            Some(mark) if !Arc::ptr_eq(&mark.stream, &stream) && !mark.is_reached() => {
                push(call, &stream, |_| Command::Wait(mark)).map(drop)
            }
            _ => Ok(()),
        }
    }

    unsafe fn stream_begin_capture(
        &self,
        device: DeviceId,
        stream: RawStream,
        mode: CaptureMode,
    ) -> DriverResult<()> {
        let call = "hipStreamBeginCapture";
        self.device(call, device)?;
        let stream = self.any_stream(call, device, stream)?;
        self.captures.begin(call, &stream, mode)
    }

    /// A capture can be ended on a lost device, too.
    unsafe fn stream_end_capture(&self, device: DeviceId, stream: RawStream) -> DriverResult<RawGraph> {
        let call = "hipStreamEndCapture";
        self.any_device(call, device)?;
        self.end_capture(call, &self.any_stream(call, device, stream)?)
    }

    unsafe fn stream_capture_info(&self, device: DeviceId, stream: RawStream) -> DriverResult<CaptureInfo> {
        let call = "hipStreamGetCaptureInfo";
        self.any_device(call, device)?;
        Ok(self.captures.info(&self.any_stream(call, device, stream)?))
    }

    fn exchange_capture_mode(&self, device: DeviceId, mode: CaptureMode) -> DriverResult<CaptureMode> {
        self.any_device("hipThreadExchangeStreamCaptureMode", device)?;
        Ok(captures::exchange_thread_mode(mode))
    }

    fn event_create(&self, device: DeviceId, options: EventOptions) -> DriverResult<RawEvent> {
        let call = "hipEventCreateWithFlags";
        let device = self.device(call, device)?.id;
        let event = Arc::new(Event::new(device, options.timing));
        self.events.insert(event).map(RawEvent).ok_or_else(|| exhausted(call))
    }

    unsafe fn event_destroy(&self, device: DeviceId, event: RawEvent) -> DriverResult<()> {
        let call = "hipEventDestroy";
        self.any_device(call, device)?;
        let found = self.events.remove_if(event.0, |e| belongs(call, "event", e.device, device))?;
        found.map(drop).ok_or_else(|| stale(call, "event", event.0))
    }

    unsafe fn event_record(&self, device: DeviceId, event: RawEvent, stream: RawStream) -> DriverResult<()> {
        let call = "hipEventRecord";
        let stream = self.ordered_stream(call, device, stream)?;
        let event = self.event_of(call, device, event)?;
        if self.captures.record(&stream, &event.capture) || event.record(&stream) {
            return Ok(());
        }
        let detail = "the stream was destroyed while it was used";
        Err(DriverError::with_detail(call, ErrorCode::INVALID_HANDLE, detail))
    }

    unsafe fn event_query(&self, device: DeviceId, event: RawEvent) -> DriverResult<bool> {
        let call = "hipEventQuery";
        let event = self.event_of(call, device, event)?;
        self.captures.may_observe_event(call, &event.capture)?;
        let reached = event.mark().is_none_or(|mark| mark.look());
        self.device(call, device)?;
        Ok(reached)
    }

    unsafe fn event_synchronize(&self, device: DeviceId, event: RawEvent) -> DriverResult<()> {
        let call = "hipEventSynchronize";
        let event = self.event_of(call, device, event)?;
        self.captures.may_observe_event(call, &event.capture)?;
        if let Some(mark) = event.mark() {
            wait(call, &mark)?;
        }
        self.device(call, device).map(drop)
    }

    unsafe fn event_elapsed_ms(&self, device: DeviceId, start: RawEvent, end: RawEvent) -> DriverResult<f32> {
        let call = "hipEventElapsedTime";
        let time = |event| {
            self.event_of(call, device, event)?.time().map_err(|why| match why {
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
        let (start, end) = (time(start)?, time(end)?);
        let seconds = match end.checked_duration_since(start) {
            Some(after) => after.as_secs_f64(),
            None => -start.duration_since(end).as_secs_f64(),
        };
        Ok((seconds * 1e3) as f32)
    }

    unsafe fn module_load(&self, device: DeviceId, image: &[u8]) -> DriverResult<RawModule> {
        let call = "hipModuleLoadData";
        let module = Module::load(call, self.device(call, device)?, image)?;
        self.modules.insert(Arc::new(module)).map(RawModule).ok_or_else(|| exhausted(call))
    }

    unsafe fn module_unload(&self, device: DeviceId, module: RawModule) -> DriverResult<()> {
        let call = "hipModuleUnload";
        self.any_device(call, device)?;
        self.captures.allow(call)?;
        let found = self.modules.remove_if(module.0, |m| belongs(call, "module", m.device.id, device))?;
        found.ok_or_else(|| stale(call, "module", module.0))?.forget_functions(&self.functions);
        Ok(())
    }

    unsafe fn module_get_function(
        &self,
        device: DeviceId,
        module: RawModule,
        name: &CStr,
    ) -> DriverResult<RawFunction> {
        let call = "hipModuleGetFunction";
        let module = self.module(call, device, module)?;
        let index = module.find(call, utf8(call, name)?)?;
        module.function(index, &self.functions).map(RawFunction).ok_or_else(|| exhausted(call))
    }

    unsafe fn module_get_global(
        &self,
        device: DeviceId,
        module: RawModule,
        name: &CStr,
    ) -> DriverResult<(DevicePtr, usize)> {
        let call = "hipModuleGetGlobal";
        self.module(call, device, module)?.global(call, utf8(call, name)?)
    }

    unsafe fn occupancy(
        &self,
        device: DeviceId,
        function: RawFunction,
        block_threads: u32,
        dynamic_lds: u32,
    ) -> DriverResult<u32> {
        let call = "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor";
        self.device(call, device)?;
        let function = self.function(call, device, function)?;
        if block_threads == 0 {
            return Err(DriverError::with_detail(call, ErrorCode::INVALID_VALUE, "a block of 0 work-items"));
        }
        Ok(function.occupancy(block_threads, dynamic_lds))
    }
    fn graph_create(&self, device: DeviceId) -> DriverResult<RawGraph> {
        self.create_graph(device)
    }

    unsafe fn graph_destroy(&self, device: DeviceId, graph: RawGraph) -> DriverResult<()> {
        self.destroy_graph(device, graph)
    }

    unsafe fn graph_add(
        &self,
        device: DeviceId,
        graph: RawGraph,
        dependencies: &[RawGraphNode],
        work: &Work<'_>,
    ) -> DriverResult<RawGraphNode> {
        self.add_node((device, graph), dependencies, work)
    }

    unsafe fn graph_instantiate(&self, device: DeviceId, graph: RawGraph) -> DriverResult<RawGraphExec> {
        self.instantiate(device, graph)
    }

    unsafe fn graph_update(
        &self,
        device: DeviceId,
        exec: RawGraphExec,
        launches: &[NodeLaunch<'_>],
    ) -> DriverResult<()> {
        self.update_nodes(device, exec, launches)
    }

    unsafe fn graph_exec_destroy(&self, device: DeviceId, exec: RawGraphExec) -> DriverResult<()> {
        self.destroy_exec(device, exec)
    }
}

impl EmulatedDriver {
    /// Maps pinned memory on every device, as HIP's default flags do.
    pub(super) fn map(
        &self,
        call: &'static str,
        allocation: PinnedAllocation,
        owner: Owner,
    ) -> DriverResult<PinnedAllocation> {
        for (mapped, device) in self.devices.iter().enumerate() {
            let (host, bytes) = (allocation.host, allocation.bytes as u64);
            let result = match owner {
                // SAFETY: it is whole pages, which live until `unpin`, which waits for all devices, or until the driver is
                // dropped and no worker is left. By the contract of `host_malloc`, the host does not access what a kernel
                // in flight uses.
                Owner::Driver | Owner::Managed => unsafe { device.space.map_host_pages(host, bytes) },
                // SAFETY: by the contract of `host_register`, the caller keeps the memory alive until `unpin`, and the host
                // does not access what a kernel in flight uses.
                Owner::Caller => unsafe { device.space.map_host(host, bytes) },
            };
            if let Err(error) = result {
                if let Some(memory) = self.pinned.take(allocation.device.0) {
                    unmap(&self.devices[..mapped], &memory);
                }
                return Err(memory_error(call, &error));
            }
        }
        Ok(allocation)
    }

    /// Unmaps pinned memory from every device, after waiting for all work that may use it.
    pub(super) fn unpin(
        &self,
        call: &'static str,
        device: DeviceId,
        ptr: DevicePtr,
        owner: Owner,
    ) -> DriverResult<()> {
        self.any_device(call, device)?;
        self.captures.allow(call)?;
        if !self.pinned.begins_at(ptr.0, owner) {
            let detail = format!("{ptr} is not the start of such memory");
            return Err(DriverError::with_detail(call, owner.unknown(), detail));
        }
        for device in &self.devices {
            device.drain(call)?;
        }
        // Another thread may have freed the memory meanwhile: then nothing is left to do.
        let Some(memory) = self.pinned.take(ptr.0) else { return Ok(()) };
        unmap(&self.devices, &memory);
        Ok(())
    }
}
