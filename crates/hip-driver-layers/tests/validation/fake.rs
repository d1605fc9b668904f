//! A driver for testing layers. It does everything at once, on host memory, and records every call.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::BTreeMap;
use std::ffi::CStr;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard};

use hip_driver::{
    Capabilities, Capability, CaptureMode, DeviceId, DeviceProperties, DevicePtr, Driver, DriverError,
    DriverInfo, DriverResult, ErrorCode, EventOptions, MemInfo, Note, Observer, PinnedAllocation, RawEvent,
    RawFunction, RawGraph, RawGraphExec, RawGraphNode, RawModule, RawStream, Recovery, StreamOptions, Work,
};

const DEVICES: u32 = 2;

/// Returns addresses and handles again as soon as they are free, as HIP does. Launches of kernels and graphs do
/// nothing.
#[derive(Debug, Default)]
pub(crate) struct FakeDriver {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The sizes of live memory by address; `free` has freed memory with its size.
    live: BTreeMap<u64, usize>,
    free: Vec<(u64, usize)>,
    next_handle: u64,
    free_handles: Vec<u64>,
    calls: Vec<&'static str>,
    fail: Option<(&'static str, ErrorCode)>,
    busy: bool,
}

fn layout(bytes: usize) -> Layout {
    Layout::from_size_align(bytes, 256).unwrap()
}

impl FakeDriver {
    pub(crate) fn new() -> Arc<FakeDriver> {
        Arc::new(FakeDriver::default())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Returns the calls since this method was last called.
    pub(crate) fn take_calls(&self) -> Vec<&'static str> {
        std::mem::take(&mut self.lock().calls)
    }

    /// Makes the next call of this name fail with `code`.
    pub(crate) fn fail(&self, call: &'static str, code: ErrorCode) {
        self.lock().fail = Some((call, code));
    }

    /// Sets whether queries return that work is in flight.
    pub(crate) fn set_busy(&self, busy: bool) {
        self.lock().busy = busy;
    }

    fn call(&self, name: &'static str) -> DriverResult<MutexGuard<'_, State>> {
        let mut state = self.lock();
        state.calls.push(name);
        match state.fail {
            Some((call, code)) if call == name => {
                state.fail = None;
                Err(DriverError::new(name, code))
            }
            _ => Ok(state),
        }
    }
}

impl State {
    fn malloc(&mut self, bytes: usize) -> u64 {
        let address = match self.free.iter().position(|(_, size)| *size == bytes) {
            Some(i) => self.free.swap_remove(i).0,
            // SAFETY: the tests' sizes are not 0.
            None => unsafe { alloc_zeroed(layout(bytes)) as u64 },
        };
        assert!(self.live.insert(address, bytes).is_none());
        address
    }

    fn dispose(&mut self, address: u64) {
        if address == 0 {
            return;
        }
        let bytes = self.live.remove(&address).expect("free of what is not alive reached the driver");
        self.free.push((address, bytes));
    }

    fn handle(&mut self) -> u64 {
        self.free_handles.pop().unwrap_or_else(|| {
            self.next_handle += 16;
            self.next_handle
        })
    }
}

impl Drop for State {
    fn drop(&mut self) {
        let live = std::mem::take(&mut self.live);
        for (address, bytes) in live.into_iter().chain(std::mem::take(&mut self.free)) {
            // SAFETY: from `alloc_zeroed` with the same layout, and freed once: only one of the two lists contains it.
            unsafe { dealloc(address as *mut u8, layout(bytes)) };
        }
    }
}

/// Copies at once.
///
/// # Safety
/// Both ranges are valid and do not overlap.
unsafe fn copy(dst: u64, src: u64, bytes: usize) {
    // SAFETY: guaranteed by the caller.
    unsafe { std::ptr::copy_nonoverlapping(src as *const u8, dst as *mut u8, bytes) }
}

/// Executes a copy. Other work does nothing.
///
/// # Safety
/// As for [`copy`].
unsafe fn do_copy(work: &Work<'_>) {
    let (dst, src, bytes) = match *work {
        Work::CopyToDevice { dst, src, bytes } => (dst.0, src as u64, bytes),
        Work::CopyToHost { dst, src, bytes } => (dst as u64, src.0, bytes),
        Work::CopyWithin { dst, src, bytes } | Work::CopyFromPeer { dst, src, bytes, .. } => {
            (dst.0, src.0, bytes)
        }
        _ => return,
    };
    // SAFETY: guaranteed by the caller.
    unsafe { copy(dst, src, bytes) }
}

// SAFETY comments below: the layer under test has checked the ranges, which is what the tests prove; device memory is
// host memory here.
impl Driver for FakeDriver {
    fn info(&self) -> DriverInfo {
        DriverInfo {
            name: "fake".to_owned(),
            version: "1.0.0".to_owned(),
            source: "test".to_owned(),
            recovery: Recovery::NewDriver,
        }
    }

    fn capabilities(&self) -> Capabilities {
        Capability::ALL.into_iter().collect()
    }

    fn device_count(&self) -> DriverResult<u32> {
        self.call("device_count").map(|_| DEVICES)
    }

    fn device_properties(&self, _: DeviceId) -> DriverResult<DeviceProperties> {
        Ok(DeviceProperties {
            name: "fake".to_owned(),
            target: "gfx90a:sramecc+:xnack-".parse().unwrap(),
            pci_bus_id: "fake".to_owned(),
            total_memory: 1 << 30,
            compute_units: 1,
            wavefront_size: 64,
            max_threads_per_block: 1024,
            max_block: [1024; 3],
            max_grid: [u32::MAX; 3],
            max_lds_per_block: 65536,
            clock_khz: 0,
            memory_clock_khz: None,
            memory_bus_bits: None,
            l2_bytes: None,
            registers_per_block: None,
        })
    }

    fn mem_info(&self, _: DeviceId) -> DriverResult<MemInfo> {
        self.call("mem_info").map(|_| MemInfo { free: 1 << 30, total: 1 << 30 })
    }

    fn device_synchronize(&self, _: DeviceId) -> DriverResult<()> {
        self.call("device_synchronize").map(drop)
    }

    fn can_access_peer(&self, _: DeviceId, _: DeviceId) -> DriverResult<bool> {
        self.call("can_access_peer").map(|_| true)
    }

    fn enable_peer_access(&self, _: DeviceId, _: DeviceId) -> DriverResult<()> {
        self.call("enable_peer_access").map(drop)
    }

    fn malloc(&self, _: DeviceId, bytes: usize) -> DriverResult<DevicePtr> {
        self.call("malloc").map(|mut state| DevicePtr(state.malloc(bytes)))
    }

    unsafe fn free(&self, _: DeviceId, ptr: DevicePtr) -> DriverResult<()> {
        self.call("free").map(|mut state| state.dispose(ptr.0))
    }

    unsafe fn malloc_async(&self, _: DeviceId, bytes: usize, _: RawStream) -> DriverResult<DevicePtr> {
        self.call("malloc_async").map(|mut state| DevicePtr(state.malloc(bytes)))
    }

    unsafe fn free_async(&self, _: DeviceId, ptr: DevicePtr, _: RawStream) -> DriverResult<()> {
        self.call("free_async").map(|mut state| state.dispose(ptr.0))
    }

    fn host_malloc(&self, _: DeviceId, bytes: usize) -> DriverResult<PinnedAllocation> {
        let address = self.call("host_malloc")?.malloc(bytes);
        // Pinned memory has another address for kernels than for the host, so that confusing the two is detected.
        let device = DevicePtr(address | 1 << 60);
        Ok(PinnedAllocation { host: NonNull::new(address as *mut u8).unwrap(), device, bytes })
    }

    unsafe fn host_free(&self, _: DeviceId, allocation: PinnedAllocation) -> DriverResult<()> {
        self.call("host_free").map(|mut state| state.dispose(allocation.host.as_ptr() as u64))
    }

    fn stream_create(&self, _: DeviceId, _: StreamOptions) -> DriverResult<RawStream> {
        self.call("stream_create").map(|mut state| RawStream(state.handle()))
    }

    unsafe fn stream_destroy(&self, _: DeviceId, stream: RawStream) -> DriverResult<()> {
        self.call("stream_destroy").map(|mut state| state.free_handles.push(stream.0))
    }

    unsafe fn stream_synchronize(&self, _: DeviceId, _: RawStream) -> DriverResult<()> {
        self.call("stream_synchronize").map(drop)
    }

    unsafe fn stream_query(&self, _: DeviceId, _: RawStream) -> DriverResult<bool> {
        self.call("stream_query").map(|state| !state.busy)
    }

    unsafe fn stream_wait_event(&self, _: DeviceId, _: RawStream, _: RawEvent) -> DriverResult<()> {
        self.call("stream_wait_event").map(drop)
    }

    fn event_create(&self, _: DeviceId, _: EventOptions) -> DriverResult<RawEvent> {
        self.call("event_create").map(|mut state| RawEvent(state.handle()))
    }

    unsafe fn event_destroy(&self, _: DeviceId, event: RawEvent) -> DriverResult<()> {
        self.call("event_destroy").map(|mut state| state.free_handles.push(event.0))
    }

    unsafe fn event_record(&self, _: DeviceId, _: RawEvent, _: RawStream) -> DriverResult<()> {
        self.call("event_record").map(drop)
    }

    unsafe fn event_query(&self, _: DeviceId, _: RawEvent) -> DriverResult<bool> {
        self.call("event_query").map(|state| !state.busy)
    }

    unsafe fn event_synchronize(&self, _: DeviceId, _: RawEvent) -> DriverResult<()> {
        self.call("event_synchronize").map(drop)
    }

    unsafe fn event_elapsed_ms(&self, _: DeviceId, _: RawEvent, _: RawEvent) -> DriverResult<f32> {
        self.call("event_elapsed_ms").map(|_| 1.0)
    }

    unsafe fn module_load(&self, _: DeviceId, _: &[u8]) -> DriverResult<RawModule> {
        self.call("module_load").map(|mut state| RawModule(state.handle()))
    }

    unsafe fn module_unload(&self, _: DeviceId, module: RawModule) -> DriverResult<()> {
        self.call("module_unload").map(|mut state| state.free_handles.push(module.0))
    }

    unsafe fn module_get_function(
        &self,
        _: DeviceId,
        module: RawModule,
        name: &CStr,
    ) -> DriverResult<RawFunction> {
        drop(self.call("module_get_function")?);
        // Each name has one handle, always the same.
        let hash = name.to_bytes().iter().fold(7u64, |h, b| h.wrapping_mul(31).wrapping_add(u64::from(*b)));
        Ok(RawFunction(module.0 << 32 | (hash & 0xffff_ffff)))
    }

    unsafe fn module_get_global(
        &self,
        _: DeviceId,
        _: RawModule,
        _: &CStr,
    ) -> DriverResult<(DevicePtr, usize)> {
        drop(self.call("module_get_global")?);
        // Not real memory: for calls that the layer refuses, and for launches, which do nothing.
        Ok((DevicePtr(0x1000), 64))
    }

    unsafe fn occupancy(&self, _: DeviceId, _: RawFunction, _: u32, _: u32) -> DriverResult<u32> {
        self.call("occupancy").map(|_| 1)
    }

    unsafe fn stream_begin_capture(&self, _: DeviceId, _: RawStream, _: CaptureMode) -> DriverResult<()> {
        self.call("stream_begin_capture").map(drop)
    }

    unsafe fn stream_end_capture(&self, _: DeviceId, _: RawStream) -> DriverResult<RawGraph> {
        self.call("stream_end_capture").map(|mut state| RawGraph(state.handle()))
    }

    fn graph_create(&self, _: DeviceId) -> DriverResult<RawGraph> {
        self.call("graph_create").map(|mut state| RawGraph(state.handle()))
    }

    unsafe fn graph_destroy(&self, _: DeviceId, graph: RawGraph) -> DriverResult<()> {
        self.call("graph_destroy").map(|mut state| state.free_handles.push(graph.0))
    }

    unsafe fn graph_instantiate(&self, _: DeviceId, _: RawGraph) -> DriverResult<RawGraphExec> {
        self.call("graph_instantiate").map(|mut state| RawGraphExec(state.handle()))
    }

    unsafe fn graph_exec_destroy(&self, _: DeviceId, exec: RawGraphExec) -> DriverResult<()> {
        self.call("graph_exec_destroy").map(|mut state| state.free_handles.push(exec.0))
    }

    unsafe fn host_register(
        &self,
        _: DeviceId,
        ptr: *mut u8,
        bytes: usize,
    ) -> DriverResult<PinnedAllocation> {
        drop(self.call("host_register")?);
        let device = DevicePtr(ptr as u64 | 1 << 60);
        Ok(PinnedAllocation { host: NonNull::new(ptr).unwrap(), device, bytes })
    }

    unsafe fn host_unregister(&self, _: DeviceId, _: PinnedAllocation) -> DriverResult<()> {
        self.call("host_unregister").map(drop)
    }

    unsafe fn enqueue(&self, _: DeviceId, _: RawStream, work: &Work<'_>) -> DriverResult<()> {
        let state = self.call(match work {
            Work::Kernel(_) | Work::PartialKernel { .. } => "launch_kernel",
            Work::CooperativeKernel { .. } => "launch_cooperative",
            Work::CopyToDevice { .. } => "memcpy_htod_async",
            Work::CopyToHost { .. } => "memcpy_dtoh_async",
            Work::CopyWithin { .. } => "memcpy_dtod_async",
            Work::CopyFromPeer { .. } => "memcpy_peer_async",
            Work::FillBytes { .. } => "memset_d8_async",
            Work::FillWords { .. } => "memset_d32_async",
            Work::HostFunction(_) | Work::HostNode(_) => "launch_host_func",
            Work::WriteValue { .. } => "write_value",
            Work::WaitValue { .. } => "wait_value",
            Work::Graph(_) => "graph_launch",
            Work::Empty => "empty",
        })?;
        match *work {
            Work::HostFunction(function) => {
                drop(state);
                function.take()?(Ok(()));
            }
            // SAFETY: see above; the layer has checked the alignment.
            Work::FillWords { dst, value, count } => unsafe {
                std::slice::from_raw_parts_mut(dst.0 as *mut u32, count).fill(value);
            },
            // SAFETY: see above.
            Work::FillBytes { dst, value, bytes } => unsafe {
                std::ptr::write_bytes(dst.0 as *mut u8, value, bytes);
            },
            Work::HostNode(node) => {
                drop(state);
                node.call(Ok(()));
            }
            // The fake driver runs work at once, and a wait ends.
            Work::WriteValue { .. } | Work::WaitValue { .. } => {}
            // SAFETY: see above.
            _ => unsafe { do_copy(work) },
        }
        Ok(())
    }

    unsafe fn copy_blocking(&self, _: DeviceId, work: &Work<'_>) -> DriverResult<()> {
        let to_device = matches!(work, Work::CopyToDevice { .. });
        let _state = self.call(if to_device { "memcpy_htod" } else { "memcpy_dtoh" })?;
        // SAFETY: see above.
        unsafe { do_copy(work) };
        Ok(())
    }

    unsafe fn graph_add(
        &self,
        _: DeviceId,
        _: RawGraph,
        _: &[RawGraphNode],
        work: &Work<'_>,
    ) -> DriverResult<RawGraphNode> {
        let name = match work {
            Work::Kernel(_) => "graph_add_kernel",
            Work::CopyToDevice { .. } => "graph_add_memcpy_htod",
            Work::CopyToHost { .. } => "graph_add_memcpy_dtoh",
            Work::CopyWithin { .. } => "graph_add_memcpy_dtod",
            Work::FillBytes { .. } => "graph_add_memset_d8",
            Work::FillWords { .. } => "graph_add_memset_d32",
            Work::HostNode(_) => "graph_add_host",
            Work::Empty => "graph_add_empty",
            Work::CooperativeKernel { .. }
            | Work::PartialKernel { .. }
            | Work::CopyFromPeer { .. }
            | Work::HostFunction(_)
            | Work::WriteValue { .. }
            | Work::WaitValue { .. }
            | Work::Graph(_) => {
                return Err(work.unsupported("graph_add"));
            }
        };
        self.call(name).map(|mut state| RawGraphNode(state.handle()))
    }

    fn observer(&self) -> Option<&dyn Observer> {
        Some(self)
    }
}

/// Records the notes, though it says that it does not use them.
impl Observer for FakeDriver {
    fn note(&self, note: &Note) {
        self.lock().calls.push(match note {
            Note::HostWrite { .. } => "note_host_write",
            Note::HostRead { .. } => "note_host_read",
            Note::PoolSegment { .. } => "note_pool_segment",
            Note::Borrow { .. } => "note_borrow",
            Note::Return { .. } => "note_return",
            Note::PoolAllocate { .. } => "note_pool_allocate",
            Note::PoolFree { .. } => "note_pool_free",
            Note::PoolRecord { .. } => "note_pool_record",
            Note::StreamAdopt { .. } => "note_stream_adopt",
            Note::StreamRelease { .. } => "note_stream_release",
            Note::EventAdopt { .. } => "note_event_adopt",
            Note::EventRelease { .. } => "note_event_release",
        });
    }
}
