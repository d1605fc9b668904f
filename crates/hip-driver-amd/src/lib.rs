//! The driver for GPUs: [`Driver`] over AMD's libamdhip64, one HIP call for each call of the trait.
//!
//! # What it adds to HIP
//!
//! * **Current device.** HIP has one for each thread. The driver remembers what it set on each thread and calls
//!   `hipSetDevice` only when another one is needed. A program that itself calls `hipSetDevice`, or anything else that
//!   changes the current device, must call [`HipDriver::forget_current_device`] before the driver's next call on that
//!   thread.
//! * **Forked children.** After `fork`, HIP's threads do not exist and its calls hang. In such a child, every call
//!   returns [`ErrorCode::NOT_INITIALIZED`] without calling HIP.
//! * **Code objects.** They are copied, since HIP reads them after the call, and their headers are checked against
//!   their length, which HIP is not told.
//! * **Graphs.** The nodes run one after another, in the order in which they were added. HIP would run branches on
//!   queues of its own, and loses some dependencies between them: in 5.2 (seen) and in 7.2 (reported).
//! * **First calls.** HIP 5.2 sets up LLVM, and 7.2 the null stream, in the first call that needs it, where another thread's
//!   call can meet it: no stream could be created then, or both waited forever. The driver does it before.
//! * **Process exit.** The library is never unloaded, and its own destructors run at exit. It must not be called after
//!   that, so nothing here has a destructor that calls it: the kernel driver frees what is alive at exit.
//! * **Errors.** Errors, including sticky ones, are HIP's own, and so is the state of `hipGetLastError`.

mod call;
mod capture;
mod device;
mod graph;
mod image;
mod load;
mod memory;
mod process;
mod symbols;
#[cfg(test)]
mod tests;
mod versions;
mod work;

/// AMD's types and functions that are used.
#[cfg(not(feature = "bindgen"))]
#[allow(
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    unreachable_pub,
    unused,
    clippy::all,
    clippy::missing_safety_doc,
    reason = "generated code"
)]
mod bindings;

/// AMD's types and functions that are used, from the installed headers.
#[cfg(feature = "bindgen")]
#[allow(
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    unreachable_pub,
    unused,
    clippy::all,
    clippy::missing_safety_doc,
    reason = "generated code"
)]
mod bindings {
    include!(concat!(env!("OUT_DIR"), "/bindings.rs"));

    /// CI runs this in place of a `diff`. `HIPLAUNCH_BLESS=1 cargo build --features bindgen` makes the two equal.
    #[cfg(test)]
    #[test]
    fn the_checked_in_bindings_are_those_of_the_installed_headers() {
        let checked_in = include_str!("bindings.rs");
        let generated = include_str!(concat!(env!("OUT_DIR"), "/bindings.rs"));
        assert!(checked_in.split_once('\n').is_some_and(|(_title, rest)| rest == generated));
    }
}

use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, c_int, c_void};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use bindings::hipIpcMemHandle_t;
use call::{check, check_ready, number, ordinal, pointer};
use capture::Captures;
use graph::Graphs;
use image::Image;
pub use load::{LoadAttempt, LoadError};
use once_cell::sync::OnceCell;
pub use symbols::Symbol;
use versions::STREAM_DESTROY_IS_MENDED;

use hip_driver::{
    Capabilities, CaptureInfo, CaptureMode, DeviceId, DeviceProperties, DevicePtr, Driver, DriverError,
    DriverInfo, DriverResult, ErrorCode, EventOptions, IpcHandle, MemInfo, PinnedAllocation, RawEvent,
    RawFunction, RawGraph, RawGraphExec, RawGraphNode, RawModule, RawStream, Recovery, StreamOptions, Work,
};

/// The driver of this process.
static DRIVER: OnceCell<Arc<HipDriver>> = OnceCell::new();

/// The driver over libamdhip64. See the [crate](self).
#[derive(Debug)]
pub struct HipDriver {
    loaded: load::Loaded,
    capabilities: Capabilities,
    /// The code objects of the loaded modules.
    images: Mutex<HashMap<RawModule, Image>>,
    graphs: Graphs,
    captures: Captures,
    /// Locked for reading while memory is freed in stream order, and for writing while a stream is destroyed.
    pool_gate: RwLock<()>,
    /// Whether memory was ever freed in stream order.
    pool_used: AtomicBool,
    /// The devices for which [`ensure_null_stream`](HipDriver::ensure_null_stream) has done its work.
    null_streams: Mutex<HashSet<DeviceId>>,
    /// Locked for reading during a kernel launch, and for writing while a graph writes the arguments of kernels.
    kernel_gate: RwLock<()>,
}

impl Driver for HipDriver {
    fn info(&self) -> DriverInfo {
        DriverInfo {
            name: "hip".to_owned(),
            version: load::version_text(self.loaded.version),
            source: self.loaded.library.display().to_string(),
            recovery: Recovery::NewProcess,
        }
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn device_count(&self) -> DriverResult<u32> {
        const CALL: &str = "hipGetDeviceCount";
        let mut count: c_int = 0;
        // SAFETY: the pointer is to a live integer.
        match check(CALL, unsafe { (self.api(CALL)?.hipGetDeviceCount)(&mut count) }) {
            Ok(()) => Ok(u32::try_from(count).unwrap_or(0)),
            Err(error) if load::means_no_device(error.code) => Ok(0),
            Err(error) => Err(error),
        }
    }

    fn device_properties(&self, device: DeviceId) -> DriverResult<DeviceProperties> {
        const CALL: &str = "hipDeviceGetAttribute";
        device::properties(self.api(CALL)?, ordinal(CALL, device)?)
    }

    fn mem_info(&self, device: DeviceId) -> DriverResult<MemInfo> {
        const CALL: &str = "hipMemGetInfo";
        let get = self.optional(CALL, self.on(device, CALL)?.hipMemGetInfo)?;
        let (mut free, mut total) = (0usize, 0usize);
        // SAFETY: the pointers are to live integers.
        check(CALL, unsafe { get(&mut free, &mut total) })?;
        Ok(MemInfo { free: free as u64, total: total as u64 })
    }

    fn device_synchronize(&self, device: DeviceId) -> DriverResult<()> {
        const CALL: &str = "hipDeviceSynchronize";
        // SAFETY: no arguments.
        check(CALL, unsafe { (self.on(device, CALL)?.hipDeviceSynchronize)() })
    }

    fn can_access_peer(&self, device: DeviceId, peer: DeviceId) -> DriverResult<bool> {
        const CALL: &str = "hipDeviceCanAccessPeer";
        let ask = self.optional(CALL, self.api(CALL)?.hipDeviceCanAccessPeer)?;
        let mut can: c_int = 0;
        // SAFETY: the pointer is to a live integer; an ordinal without a device gives an error.
        check(CALL, unsafe { ask(&mut can, ordinal(CALL, device)?, ordinal(CALL, peer)?) })?;
        Ok(can != 0)
    }

    fn enable_peer_access(&self, device: DeviceId, peer: DeviceId) -> DriverResult<()> {
        const CALL: &str = "hipDeviceEnablePeerAccess";
        let enable = self.optional(CALL, self.on(device, CALL)?.hipDeviceEnablePeerAccess)?;
        // SAFETY: an ordinal without a device gives an error; flags must be 0.
        match check(CALL, unsafe { enable(ordinal(CALL, peer)?, 0) }) {
            Err(error) if error.code == ErrorCode::PEER_ACCESS_ALREADY_ENABLED => Ok(()),
            result => result,
        }
    }

    fn malloc(&self, device: DeviceId, bytes: usize) -> DriverResult<DevicePtr> {
        const CALL: &str = "hipMalloc";
        let mut ptr: *mut c_void = ptr::null_mut();
        // SAFETY: the pointer is to a live pointer.
        check(CALL, unsafe { (self.on(device, CALL)?.hipMalloc)(&mut ptr, bytes) })?;
        Ok(DevicePtr(number(ptr)))
    }

    unsafe fn free(&self, _device: DeviceId, ptr: DevicePtr) -> DriverResult<()> {
        const CALL: &str = "hipFree";
        // The address determines its device, so any device may be current. Null is success.
        // SAFETY: a live allocation that no work in flight uses (the caller's promise).
        check(CALL, unsafe { (self.api(CALL)?.hipFree)(pointer(ptr.0)) })
    }

    unsafe fn malloc_async(
        &self,
        device: DeviceId,
        bytes: usize,
        stream: RawStream,
    ) -> DriverResult<DevicePtr> {
        const CALL: &str = "hipMallocAsync";
        let malloc = self.optional(CALL, self.on(device, CALL)?.hipMallocAsync)?;
        self.not_captured(CALL, stream)?;
        self.ensure_null_stream(device)?;
        let mut ptr: *mut c_void = ptr::null_mut();
        // SAFETY: a live stream of the current device, a live pointer.
        check(CALL, unsafe { malloc(&mut ptr, bytes, pointer(stream.0)) })?;
        Ok(DevicePtr(number(ptr)))
    }

    unsafe fn free_async(&self, device: DeviceId, ptr: DevicePtr, stream: RawStream) -> DriverResult<()> {
        const CALL: &str = "hipFreeAsync";
        let free = self.optional(CALL, self.on(device, CALL)?.hipFreeAsync)?;
        // `malloc_async` of 0 bytes returns null, which HIP before 7 refuses to free.
        if ptr.is_null() {
            return Ok(());
        }
        self.not_captured(CALL, stream)?;
        let _gate = self.pool_gate.read().unwrap_or_else(PoisonError::into_inner);
        self.pool_used.store(true, Ordering::Relaxed);
        // SAFETY: a live allocation, a live stream of the current device.
        check(CALL, unsafe { free(pointer(ptr.0), pointer(stream.0)) })
    }

    fn host_malloc(&self, device: DeviceId, bytes: usize) -> DriverResult<PinnedAllocation> {
        const CALL: &str = "hipHostMalloc";
        let api = self.on(device, CALL)?;
        let mut host: *mut c_void = ptr::null_mut();
        // SAFETY: the pointer is to a live pointer.
        check(CALL, unsafe { (api.hipHostMalloc)(&mut host, bytes, bindings::hipHostMallocDefault) })?;
        // For 0 bytes, HIP returns null and success.
        let pinned = NonNull::new(host.cast::<u8>())
            .ok_or_else(|| DriverError::with_detail(CALL, ErrorCode::INVALID_VALUE, "0 bytes"))?;
        // SAFETY: pinned by the call above.
        unsafe { self.mapped(CALL, pinned, bytes) }.inspect_err(|_| {
            // SAFETY: allocated above and not yet used. The first error is the one to return.
            let _ = unsafe { (api.hipHostFree)(host) };
        })
    }

    unsafe fn host_free(&self, _device: DeviceId, allocation: PinnedAllocation) -> DriverResult<()> {
        const CALL: &str = "hipHostFree";
        // SAFETY: a live allocation of `host_malloc` that nothing in flight uses; any device may be current.
        check(CALL, unsafe { (self.api(CALL)?.hipHostFree)(allocation.host.as_ptr().cast()) })
    }

    unsafe fn host_register(
        &self,
        device: DeviceId,
        ptr: *mut u8,
        bytes: usize,
    ) -> DriverResult<PinnedAllocation> {
        const CALL: &str = "hipHostRegister";
        let api = self.on(device, CALL)?;
        let register = self.optional(CALL, api.hipHostRegister)?;
        let unregister = self.optional(CALL, api.hipHostUnregister)?;
        let host = NonNull::new(ptr).ok_or_else(|| DriverError::new(CALL, ErrorCode::INVALID_VALUE))?;
        // SAFETY: memory that the caller keeps until it is unregistered (the caller's promise). The flags are
        // `hipHostRegisterDefault`: mapped for all devices.
        check(CALL, unsafe { register(ptr.cast(), bytes, 0) })?;
        // SAFETY: pinned by the call above.
        unsafe { self.mapped(CALL, host, bytes) }.inspect_err(|_| {
            // SAFETY: registered above and not yet used. The first error is the one to return.
            let _ = unsafe { unregister(ptr.cast()) };
        })
    }

    unsafe fn host_unregister(&self, device: DeviceId, allocation: PinnedAllocation) -> DriverResult<()> {
        const CALL: &str = "hipHostUnregister";
        let unregister = self.optional(CALL, self.on(device, CALL)?.hipHostUnregister)?;
        // SAFETY: memory of `host_register` that nothing in flight uses (the caller's promise).
        check(CALL, unsafe { unregister(allocation.host.as_ptr().cast()) })
    }

    fn malloc_managed(&self, device: DeviceId, bytes: usize) -> DriverResult<DevicePtr> {
        const CALL: &str = "hipMallocManaged";
        let api = self.on(device, CALL)?;
        let allocate = self.optional(CALL, api.hipMallocManaged)?;
        // HIP does not refuse the allocation on a device without.
        if !device::has_managed_memory(api, ordinal(CALL, device)?) {
            let detail = format!("{device} has no managed memory");
            return Err(DriverError::with_detail(CALL, ErrorCode::NOT_SUPPORTED, detail));
        }
        let mut ptr: *mut c_void = ptr::null_mut();
        // SAFETY: the pointer is to a live pointer.
        check(CALL, unsafe { allocate(&mut ptr, bytes, memory::ATTACH_GLOBAL) })?;
        Ok(DevicePtr(number(ptr)))
    }

    /// Whatever `hipMalloc` gives can be shared.
    fn malloc_shared(&self, device: DeviceId, bytes: usize) -> DriverResult<DevicePtr> {
        self.malloc(device, bytes)
    }

    unsafe fn ipc_handle(&self, device: DeviceId, ptr: DevicePtr) -> DriverResult<IpcHandle> {
        const CALL: &str = "hipIpcGetMemHandle";
        let share = self.optional(CALL, self.on(device, CALL)?.hipIpcGetMemHandle)?;
        let mut handle = hipIpcMemHandle_t { reserved: [0; 64] };
        // SAFETY: the pointer is to a live handle; an address that is no allocation's gives an error.
        check(CALL, unsafe { share(&mut handle, pointer(ptr.0)) })?;
        Ok(IpcHandle(handle.reserved.map(|byte| byte as u8)))
    }

    unsafe fn ipc_open(&self, device: DeviceId, handle: IpcHandle, _: usize) -> DriverResult<DevicePtr> {
        self.open_ipc(device, handle)
    }

    unsafe fn ipc_close(&self, device: DeviceId, ptr: DevicePtr) -> DriverResult<()> {
        const CALL: &str = "hipIpcCloseMemHandle";
        let close = self.optional(CALL, self.on(device, CALL)?.hipIpcCloseMemHandle)?;
        // SAFETY: memory of `hipIpcOpenMemHandle` that nothing in flight uses (the caller's promise).
        check(CALL, unsafe { close(pointer(ptr.0)) })
    }

    fn trim_pool(&self, device: DeviceId, keep: usize) -> DriverResult<()> {
        self.trim_default_pool(device, keep)
    }

    fn device_of_pointer(&self, device: DeviceId, ptr: DevicePtr) -> DriverResult<DeviceId> {
        self.owner_of(device, ptr)
    }

    #[inline]
    unsafe fn enqueue(&self, device: DeviceId, stream: RawStream, work: &Work<'_>) -> DriverResult<()> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.enqueue_work(device, stream, work) }
    }

    unsafe fn copy_blocking(&self, device: DeviceId, work: &Work<'_>) -> DriverResult<()> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.copy_and_wait(device, work) }
    }

    fn stream_create(&self, device: DeviceId, options: StreamOptions) -> DriverResult<RawStream> {
        let mut stream = ptr::null_mut();
        // The other flag, `hipStreamDefault`, is 0.
        let flags = if options.blocking { 0 } else { bindings::hipStreamNonBlocking };
        match options.priority {
            None => {
                const CALL: &str = "hipStreamCreateWithFlags";
                // SAFETY: the pointer is to a live handle.
                check(CALL, unsafe {
                    (self.on(device, CALL)?.hipStreamCreateWithFlags)(&mut stream, flags)
                })?;
            }
            Some(priority) => {
                const CALL: &str = "hipStreamCreateWithPriority";
                let create = self.optional(CALL, self.on(device, CALL)?.hipStreamCreateWithPriority)?;
                // SAFETY: the pointer is to a live handle; HIP uses the nearest priority that it has.
                check(CALL, unsafe { create(&mut stream, flags, priority) })?;
            }
        }
        Ok(RawStream(number(stream)))
    }

    unsafe fn stream_destroy(&self, device: DeviceId, stream: RawStream) -> DriverResult<()> {
        const CALL: &str = "hipStreamDestroy";
        let api = self.on(device, CALL)?;
        // HIP before 6.0 can loop forever over memory in the device's pool that was freed. So the pool is emptied
        // first, and no thread may free in between. All streams must be idle, as memory that was freed on a busy one
        // stays in the pool.
        let _gate =
            if self.loaded.version < STREAM_DESTROY_IS_MENDED && self.pool_used.load(Ordering::Relaxed) {
                let gate = self.pool_gate.write().unwrap_or_else(PoisonError::into_inner);
                self.device_synchronize(device)?;
                self.trim_pool(device, 0)?;
                Some(gate)
            } else {
                None
            };
        // SAFETY: a live stream that no other call uses (the caller's promise).
        check(CALL, unsafe { (api.hipStreamDestroy)(pointer(stream.0)) })
    }

    unsafe fn stream_synchronize(&self, device: DeviceId, stream: RawStream) -> DriverResult<()> {
        const CALL: &str = "hipStreamSynchronize";
        // SAFETY: a live stream of the current device.
        check(CALL, unsafe { (self.on(device, CALL)?.hipStreamSynchronize)(pointer(stream.0)) })
    }

    unsafe fn stream_query(&self, device: DeviceId, stream: RawStream) -> DriverResult<bool> {
        const CALL: &str = "hipStreamQuery";
        // SAFETY: a live stream of the current device.
        check_ready(CALL, unsafe { (self.on(device, CALL)?.hipStreamQuery)(pointer(stream.0)) })
    }

    unsafe fn stream_wait_event(
        &self,
        device: DeviceId,
        stream: RawStream,
        event: RawEvent,
    ) -> DriverResult<()> {
        const CALL: &str = "hipStreamWaitEvent";
        let api = self.on(device, CALL)?;
        // SAFETY: a live stream of the current device and a live event; flags must be 0.
        check(CALL, unsafe { (api.hipStreamWaitEvent)(pointer(stream.0), pointer(event.0), 0) })
    }

    unsafe fn stream_begin_capture(
        &self,
        device: DeviceId,
        stream: RawStream,
        mode: CaptureMode,
    ) -> DriverResult<()> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.begin_capture(device, stream, mode) }
    }

    unsafe fn stream_end_capture(&self, device: DeviceId, stream: RawStream) -> DriverResult<RawGraph> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.end_capture(device, stream) }
    }

    unsafe fn stream_capture_info(&self, device: DeviceId, stream: RawStream) -> DriverResult<CaptureInfo> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.capture_info(device, stream) }
    }

    fn exchange_capture_mode(&self, device: DeviceId, mode: CaptureMode) -> DriverResult<CaptureMode> {
        self.exchange_mode(device, mode)
    }

    fn event_create(&self, device: DeviceId, options: EventOptions) -> DriverResult<RawEvent> {
        const CALL: &str = "hipEventCreateWithFlags";
        let flags = if options.timing { bindings::hipEventDefault } else { bindings::hipEventDisableTiming };
        let mut event = ptr::null_mut();
        // SAFETY: the pointer is to a live handle.
        check(CALL, unsafe { (self.on(device, CALL)?.hipEventCreateWithFlags)(&mut event, flags) })?;
        Ok(RawEvent(number(event)))
    }

    // An event determines its device: calls without other handles do not set one.
    unsafe fn event_destroy(&self, _device: DeviceId, event: RawEvent) -> DriverResult<()> {
        const CALL: &str = "hipEventDestroy";
        // SAFETY: a live event that no other call uses (the caller's promise).
        check(CALL, unsafe { (self.api(CALL)?.hipEventDestroy)(pointer(event.0)) })
    }

    #[inline]
    unsafe fn event_record(&self, device: DeviceId, event: RawEvent, stream: RawStream) -> DriverResult<()> {
        const CALL: &str = "hipEventRecord";
        // SAFETY: a live event and a live stream of the current device.
        check(CALL, unsafe { (self.on(device, CALL)?.hipEventRecord)(pointer(event.0), pointer(stream.0)) })
    }

    #[inline]
    unsafe fn event_query(&self, _device: DeviceId, event: RawEvent) -> DriverResult<bool> {
        const CALL: &str = "hipEventQuery";
        // SAFETY: a live event.
        check_ready(CALL, unsafe { (self.api(CALL)?.hipEventQuery)(pointer(event.0)) })
    }

    unsafe fn event_synchronize(&self, _device: DeviceId, event: RawEvent) -> DriverResult<()> {
        const CALL: &str = "hipEventSynchronize";
        // SAFETY: a live event.
        check(CALL, unsafe { (self.api(CALL)?.hipEventSynchronize)(pointer(event.0)) })
    }

    unsafe fn event_elapsed_ms(
        &self,
        _device: DeviceId,
        start: RawEvent,
        end: RawEvent,
    ) -> DriverResult<f32> {
        const CALL: &str = "hipEventElapsedTime";
        let elapsed = self.optional(CALL, self.api(CALL)?.hipEventElapsedTime)?;
        let mut ms = 0.0f32;
        // SAFETY: live events, a live float.
        check(CALL, unsafe { elapsed(&mut ms, pointer(start.0), pointer(end.0)) })?;
        Ok(ms)
    }

    unsafe fn module_load(&self, device: DeviceId, image: &[u8]) -> DriverResult<RawModule> {
        const CALL: &str = "hipModuleLoadData";
        let api = self.on(device, CALL)?;
        let image = Image::new(image)
            .map_err(|detail| DriverError::with_detail(CALL, ErrorCode::INVALID_IMAGE, detail))?;
        let mut module = ptr::null_mut();
        // SAFETY: the image is complete as far as its headers say, padded, and kept until the module is unloaded.
        check(CALL, unsafe { (api.hipModuleLoadData)(&mut module, image.as_ptr().cast()) })?;
        let module = RawModule(number(module));
        self.images.lock().unwrap_or_else(PoisonError::into_inner).insert(module, image);
        Ok(module)
    }

    unsafe fn module_unload(&self, device: DeviceId, module: RawModule) -> DriverResult<()> {
        const CALL: &str = "hipModuleUnload";
        let api = self.on(device, CALL)?;
        // Removed before the call: `module_load` on another thread may return the same handle at once.
        let image = self.images.lock().unwrap_or_else(PoisonError::into_inner).remove(&module);
        // SAFETY: a live module none of whose kernels is in flight (the caller's promise).
        let result = check(CALL, unsafe { (api.hipModuleUnload)(pointer(module.0)) });
        if result.is_err()
            && let Some(image) = image
        {
            // As far as is known, the module is still loaded.
            self.images.lock().unwrap_or_else(PoisonError::into_inner).entry(module).or_insert(image);
        }
        result
    }

    unsafe fn module_get_function(
        &self,
        device: DeviceId,
        module: RawModule,
        name: &CStr,
    ) -> DriverResult<RawFunction> {
        const CALL: &str = "hipModuleGetFunction";
        let api = self.on(device, CALL)?;
        let mut function = ptr::null_mut();
        // SAFETY: a live module of the current device, a C string, a live handle.
        match check(CALL, unsafe {
            (api.hipModuleGetFunction)(&mut function, pointer(module.0), name.as_ptr())
        }) {
            Ok(()) => Ok(RawFunction(number(function))),
            // HIP from 6 on returns that an empty name is an invalid value (`tests/hip_quirks/`).
            Err(error) if name.is_empty() && error.code == ErrorCode::INVALID_VALUE => {
                Err(DriverError::new(CALL, ErrorCode::NOT_FOUND))
            }
            Err(error) => Err(error),
        }
    }

    unsafe fn module_get_global(
        &self,
        device: DeviceId,
        module: RawModule,
        name: &CStr,
    ) -> DriverResult<(DevicePtr, usize)> {
        const CALL: &str = "hipModuleGetGlobal";
        let get = self.optional(CALL, self.on(device, CALL)?.hipModuleGetGlobal)?;
        let (mut address, mut bytes) = (ptr::null_mut(), 0usize);
        // SAFETY: a live module of the current device, a C string, pointers to live results.
        check(CALL, unsafe { get(&mut address, &mut bytes, pointer(module.0), name.as_ptr()) })?;
        Ok((DevicePtr(number(address)), bytes))
    }

    unsafe fn occupancy(
        &self,
        device: DeviceId,
        function: RawFunction,
        block_threads: u32,
        dynamic_lds: u32,
    ) -> DriverResult<u32> {
        const CALL: &str = "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor";
        let ask =
            self.optional(CALL, self.on(device, CALL)?.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor)?;
        let threads =
            c_int::try_from(block_threads).map_err(|_| DriverError::new(CALL, ErrorCode::INVALID_VALUE))?;
        let mut blocks: c_int = 0;
        // SAFETY: a live function of the current device, a live integer.
        check(CALL, unsafe { ask(&mut blocks, pointer(function.0), threads, dynamic_lds as usize) })?;
        Ok(u32::try_from(blocks).unwrap_or(0))
    }

    fn graph_create(&self, device: DeviceId) -> DriverResult<RawGraph> {
        self.create_graph(device)
    }

    unsafe fn graph_destroy(&self, device: DeviceId, graph: RawGraph) -> DriverResult<()> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.destroy_graph(device, graph) }
    }

    unsafe fn graph_add(
        &self,
        device: DeviceId,
        graph: RawGraph,
        _: &[RawGraphNode],
        work: &Work<'_>,
    ) -> DriverResult<RawGraphNode> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.add_node(device, graph, work) }
    }

    unsafe fn graph_instantiate(&self, device: DeviceId, graph: RawGraph) -> DriverResult<RawGraphExec> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.instantiate(device, graph) }
    }

    unsafe fn graph_exec_destroy(&self, device: DeviceId, exec: RawGraphExec) -> DriverResult<()> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.destroy_exec(device, exec) }
    }
}

impl HipDriver {
    /// Returns pinned memory with its address for kernels.
    ///
    /// # Safety
    /// `host` is pinned.
    unsafe fn mapped(
        &self,
        call: &'static str,
        host: NonNull<u8>,
        bytes: usize,
    ) -> DriverResult<PinnedAllocation> {
        let mut mapped: *mut c_void = host.as_ptr().cast();
        if let Some(device_pointer) = self.api(call)?.hipHostGetDevicePointer {
            let mut address: *mut c_void = ptr::null_mut();
            // SAFETY: pinned memory (the caller's promise), a live pointer; flags must be 0.
            check("hipHostGetDevicePointer", unsafe { device_pointer(&mut address, mapped, 0) })?;
            mapped = address;
        }
        Ok(PinnedAllocation { host, device: DevicePtr(number(mapped)), bytes })
    }
}

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
