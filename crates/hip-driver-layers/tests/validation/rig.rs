//! A layer over the fake driver, and short names for calls through it.

use std::sync::Arc;

use hip_driver::{
    Comparison, DeviceId, DevicePtr, Driver, DriverResult, ErrorCode, EventOptions, KernelLaunch,
    MemoryAccess, Note, Observer, PinnedAllocation, RawEvent, RawFunction, RawGraph, RawGraphExec,
    RawGraphNode, RawModule, RawStream, StreamOptions, ValueWidth, WaitCondition, Work,
};
use hip_driver_layers::validation::{Leak, MemoryKind, ValidationDriver, Violation};

use crate::fake::FakeDriver;

pub(crate) const D0: DeviceId = DeviceId(0);
pub(crate) const D1: DeviceId = DeviceId(1);

/// saxpy and others; its metadata gives the kernarg sizes.
pub(crate) const VECTOR: &[u8] = include_bytes!("../../../../hip/vector.gfx90a.co");

pub(crate) struct Rig {
    pub(crate) fake: Arc<FakeDriver>,
    pub(crate) layer: Arc<ValidationDriver>,
}

// SAFETY comments below: whatever the arguments are, the fake driver only does what the layer passes on. It accesses
// memory only for copies and fills, whose ranges the layer has checked; host pointers are the tests' own.
impl Rig {
    pub(crate) fn new() -> Rig {
        let fake = FakeDriver::new();
        let layer = ValidationDriver::new(fake.clone());
        Rig { fake, layer }
    }

    pub(crate) fn malloc(&self, bytes: usize) -> DevicePtr {
        self.layer.malloc(D0, bytes).unwrap()
    }

    pub(crate) fn pinned(&self, bytes: usize) -> PinnedAllocation {
        self.layer.host_malloc(D0, bytes).unwrap()
    }

    pub(crate) fn stream(&self) -> RawStream {
        self.layer.stream_create(D0, StreamOptions::default()).unwrap()
    }

    pub(crate) fn event(&self) -> RawEvent {
        self.layer.event_create(D0, EventOptions::default()).unwrap()
    }

    pub(crate) fn module(&self) -> (RawModule, RawFunction) {
        // SAFETY: see above.
        let module = unsafe { self.layer.module_load(D0, VECTOR) }.unwrap();
        // SAFETY: see above.
        let function = unsafe { self.layer.module_get_function(D0, module, c"saxpy") }.unwrap();
        (module, function)
    }

    pub(crate) fn free(&self, ptr: DevicePtr) -> DriverResult<()> {
        // SAFETY: see above.
        unsafe { self.layer.free(D0, ptr) }
    }

    pub(crate) fn host_free(&self, pinned: PinnedAllocation) -> DriverResult<()> {
        // SAFETY: see above.
        unsafe { self.layer.host_free(D0, pinned) }
    }

    pub(crate) fn destroy_stream(&self, stream: RawStream) -> DriverResult<()> {
        // SAFETY: see above.
        unsafe { self.layer.stream_destroy(D0, stream) }
    }

    pub(crate) fn destroy_event(&self, event: RawEvent) -> DriverResult<()> {
        // SAFETY: see above.
        unsafe { self.layer.event_destroy(D0, event) }
    }

    pub(crate) fn unload(&self, module: RawModule) -> DriverResult<()> {
        // SAFETY: see above.
        unsafe { self.layer.module_unload(D0, module) }
    }

    /// Copies from pinned memory at an offset.
    pub(crate) fn htod(
        &self,
        dst: DevicePtr,
        src: &PinnedAllocation,
        at: usize,
        bytes: usize,
        stream: RawStream,
    ) -> DriverResult<()> {
        let src = src.host.as_ptr().wrapping_add(at);
        // SAFETY: see above.
        unsafe { self.layer.enqueue(D0, stream, &Work::CopyToDevice { dst, src, bytes }) }
    }

    /// Copies to pinned memory at an offset.
    pub(crate) fn dtoh(
        &self,
        dst: &PinnedAllocation,
        at: usize,
        src: DevicePtr,
        bytes: usize,
        stream: RawStream,
    ) -> DriverResult<()> {
        let dst = dst.host.as_ptr().wrapping_add(at);
        // SAFETY: see above.
        unsafe { self.layer.enqueue(D0, stream, &Work::CopyToHost { dst, src, bytes }) }
    }

    /// Copies to pageable memory.
    pub(crate) fn dtoh_pageable(
        &self,
        dst: &mut [u8],
        src: DevicePtr,
        stream: RawStream,
    ) -> DriverResult<()> {
        // SAFETY: see above; `dst` is as long as the copy.
        unsafe {
            self.layer.enqueue(D0, stream, &Work::CopyToHost { dst: dst.as_mut_ptr(), src, bytes: dst.len() })
        }
    }

    pub(crate) fn memset(&self, dst: DevicePtr, bytes: usize, stream: RawStream) -> DriverResult<()> {
        // SAFETY: see above.
        unsafe { self.layer.enqueue(D0, stream, &Work::FillBytes { dst, value: 1, bytes }) }
    }

    pub(crate) fn write_value(&self, dst: DevicePtr, value: u64, stream: RawStream) -> DriverResult<()> {
        let work = Work::WriteValue { dst, width: ValueWidth::Bits64, value };
        // SAFETY: see above.
        unsafe { self.layer.enqueue(D0, stream, &work) }
    }

    /// Waits for a value that compares so with `value`.
    pub(crate) fn wait_value(
        &self,
        src: DevicePtr,
        comparison: Comparison,
        value: u64,
        stream: RawStream,
    ) -> DriverResult<()> {
        let condition = WaitCondition::new(comparison, value);
        let work = Work::WaitValue { src, width: ValueWidth::Bits64, condition };
        // SAFETY: see above.
        unsafe { self.layer.enqueue(D0, stream, &work) }
    }

    pub(crate) fn dtod(
        &self,
        dst: DevicePtr,
        src: DevicePtr,
        bytes: usize,
        stream: RawStream,
    ) -> DriverResult<()> {
        // SAFETY: see above.
        unsafe { self.layer.enqueue(D0, stream, &Work::CopyWithin { dst, src, bytes }) }
    }

    pub(crate) fn launch(
        &self,
        function: RawFunction,
        stream: RawStream,
        accesses: &[MemoryAccess],
    ) -> DriverResult<()> {
        let launch = KernelLaunch {
            function,
            grid: [1, 1, 1],
            block: [64, 1, 1],
            dynamic_lds: 0,
            kernarg: &[0; 512],
            accesses,
        };
        // SAFETY: see above.
        unsafe { self.layer.enqueue(D0, stream, &Work::Kernel(&launch)) }
    }

    pub(crate) fn graph(&self) -> RawGraph {
        self.layer.graph_create(D0).unwrap()
    }

    pub(crate) fn destroy_graph(&self, graph: RawGraph) -> DriverResult<()> {
        // SAFETY: see above.
        unsafe { self.layer.graph_destroy(D0, graph) }
    }

    pub(crate) fn add_kernel(
        &self,
        graph: RawGraph,
        after: &[RawGraphNode],
        function: RawFunction,
        accesses: &[MemoryAccess],
    ) -> DriverResult<RawGraphNode> {
        let (grid, block) = ([1; 3], [64, 1, 1]);
        let launch = KernelLaunch { function, grid, block, dynamic_lds: 0, kernarg: &[0; 512], accesses };
        // SAFETY: see above.
        unsafe { self.layer.graph_add(D0, graph, after, &Work::Kernel(&launch)) }
    }

    pub(crate) fn add_htod(
        &self,
        graph: RawGraph,
        after: &[RawGraphNode],
        dst: DevicePtr,
        src: *const u8,
        bytes: usize,
    ) -> DriverResult<RawGraphNode> {
        // SAFETY: see above.
        unsafe { self.layer.graph_add(D0, graph, after, &Work::CopyToDevice { dst, src, bytes }) }
    }

    pub(crate) fn add_dtoh(
        &self,
        graph: RawGraph,
        after: &[RawGraphNode],
        dst: *mut u8,
        src: DevicePtr,
        bytes: usize,
    ) -> DriverResult<RawGraphNode> {
        // SAFETY: see above.
        unsafe { self.layer.graph_add(D0, graph, after, &Work::CopyToHost { dst, src, bytes }) }
    }

    pub(crate) fn add_dtod(
        &self,
        graph: RawGraph,
        after: &[RawGraphNode],
        dst: DevicePtr,
        src: DevicePtr,
        bytes: usize,
    ) -> DriverResult<RawGraphNode> {
        // SAFETY: see above.
        unsafe { self.layer.graph_add(D0, graph, after, &Work::CopyWithin { dst, src, bytes }) }
    }

    pub(crate) fn add_memset(
        &self,
        graph: RawGraph,
        after: &[RawGraphNode],
        dst: DevicePtr,
        bytes: usize,
    ) -> DriverResult<RawGraphNode> {
        // SAFETY: see above.
        unsafe { self.layer.graph_add(D0, graph, after, &Work::FillBytes { dst, value: 1, bytes }) }
    }

    pub(crate) fn add_empty(&self, graph: RawGraph, after: &[RawGraphNode]) -> DriverResult<RawGraphNode> {
        // SAFETY: see above.
        unsafe { self.layer.graph_add(D0, graph, after, &Work::Empty) }
    }

    pub(crate) fn instantiate(&self, graph: RawGraph) -> DriverResult<RawGraphExec> {
        // SAFETY: see above.
        unsafe { self.layer.graph_instantiate(D0, graph) }
    }

    pub(crate) fn launch_graph(&self, exec: RawGraphExec, stream: RawStream) -> DriverResult<()> {
        // SAFETY: see above.
        unsafe { self.layer.enqueue(D0, stream, &Work::Graph(exec)) }
    }

    pub(crate) fn destroy_exec(&self, exec: RawGraphExec) -> DriverResult<()> {
        // SAFETY: see above.
        unsafe { self.layer.graph_exec_destroy(D0, exec) }
    }

    pub(crate) fn record(&self, event: RawEvent, stream: RawStream) -> DriverResult<()> {
        // SAFETY: see above.
        unsafe { self.layer.event_record(D0, event, stream) }
    }

    pub(crate) fn wait(&self, stream: RawStream, event: RawEvent) -> DriverResult<()> {
        // SAFETY: see above.
        unsafe { self.layer.stream_wait_event(D0, stream, event) }
    }

    pub(crate) fn sync(&self, stream: RawStream) -> DriverResult<()> {
        // SAFETY: see above.
        unsafe { self.layer.stream_synchronize(D0, stream) }
    }

    pub(crate) fn query(&self, stream: RawStream) -> DriverResult<bool> {
        // SAFETY: see above.
        unsafe { self.layer.stream_query(D0, stream) }
    }

    pub(crate) fn sync_event(&self, event: RawEvent) -> DriverResult<()> {
        // SAFETY: see above.
        unsafe { self.layer.event_synchronize(D0, event) }
    }

    pub(crate) fn query_event(&self, event: RawEvent) -> DriverResult<bool> {
        // SAFETY: see above.
        unsafe { self.layer.event_query(D0, event) }
    }

    pub(crate) fn host_writes(&self, pinned: &PinnedAllocation, at: usize, bytes: usize) {
        self.layer.note(&Note::HostWrite { ptr: pinned.host.as_ptr().wrapping_add(at), bytes });
    }

    pub(crate) fn host_reads(&self, pinned: &PinnedAllocation, at: usize, bytes: usize) {
        self.layer.note(&Note::HostRead { ptr: pinned.host.as_ptr().wrapping_add(at), bytes });
    }

    /// Allocates a pool segment.
    pub(crate) fn segment(&self, bytes: usize) -> DevicePtr {
        let segment = self.malloc(bytes);
        self.layer.note(&Note::PoolSegment { device: D0, segment, addresses: 0 });
        segment
    }

    /// Allocates a pool block.
    pub(crate) fn hand_out(&self, block: DevicePtr, bytes: usize) -> DevicePtr {
        self.layer.note(&Note::PoolAllocate { device: D0, block, bytes });
        block
    }

    /// Frees a pool block.
    pub(crate) fn give_back(&self, block: DevicePtr) {
        self.layer.note(&Note::PoolFree { device: D0, block });
    }

    /// Returns the addresses of live pool blocks, from the report of leaks.
    pub(crate) fn live_blocks(&self) -> Vec<u64> {
        let leaks = self.layer.report_leaks().into_iter();
        leaks
            .filter_map(|leak| match leak {
                Leak::Memory(memory) if memory.kind == MemoryKind::Pooled => Some(memory.address),
                _ => None,
            })
            .collect()
    }

    /// Checks that there are no violations.
    #[track_caller]
    pub(crate) fn clean(&self) {
        self.layer.assert_clean().unwrap();
    }

    /// Returns the one violation since the last call, and checks that its text is not too short.
    #[track_caller]
    pub(crate) fn found(&self) -> Violation {
        let mut violations = self.layer.take_violations();
        assert_eq!(violations.len(), 1, "{violations:#?}");
        let violation = violations.remove(0);
        assert!(violation.to_string().len() > 30, "{violation}");
        violation
    }

    /// Checks that a call is refused with this code, does not reach the driver, and is reported.
    #[track_caller]
    pub(crate) fn refused<T: std::fmt::Debug>(
        &self,
        code: ErrorCode,
        call: impl FnOnce() -> DriverResult<T>,
    ) -> Violation {
        self.fake.take_calls();
        let error = call().unwrap_err();
        assert_eq!(error.code, code, "{error}");
        assert_eq!(self.fake.take_calls(), [""; 0], "a refused call reached the driver");
        let violation = self.found();
        assert_eq!(error.detail.as_deref(), Some(violation.to_string().as_str()));
        assert!(!violation.is_order());
        violation
    }
}

pub(crate) fn reads(ptr: DevicePtr, bytes: usize) -> MemoryAccess {
    MemoryAccess { ptr, bytes, write: false }
}

pub(crate) fn writes(ptr: DevicePtr, bytes: usize) -> MemoryAccess {
    MemoryAccess { ptr, bytes, write: true }
}
