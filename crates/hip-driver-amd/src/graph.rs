//! Graphs: every node depends on the node that was added before it.
//!
//! The nodes of a graph become one chain, whatever their dependencies. HIP runs branches on queues of its own and loses
//! dependencies between them (5.2, seen in random graphs; 7.2, reported), so that results differ from run to run. The
//! chain satisfies all dependencies, since a node's dependencies were added before it.

use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLockReadGuard, RwLockWriteGuard};

use crate::HipDriver;
use crate::bindings::{
    dim3, hipGraphNode_t, hipHostNodeParams, hipKernelNodeParams, hipMemcpyKind, hipMemsetParams,
};
use crate::call::{call_host, check, extra_of, number, pointer, unsupported};
use crate::versions::{LAUNCHES_HOLD_THEIR_ARGUMENTS, MODULE_LAUNCHES_KNOW_THREAD_STREAMS};
use hip_driver::{
    Capability, DeviceId, DevicePtr, DriverResult, HostNode, KernelLaunch, RawGraph, RawGraphExec,
    RawGraphNode, RawStream,
};

/// Eight bytes of each value: the source of a short fill that becomes a copy, which may run at any later time.
pub(crate) static FILLED: [[u8; 8]; 256] = {
    let mut all = [[0; 8]; 256];
    let mut value = 0;
    while value < all.len() {
        all[value] = [value as u8; 8];
        value += 1;
    }
    all
};

/// For each graph with nodes, the node that was added last.
#[derive(Debug, Default)]
pub(crate) struct Graphs(Mutex<HashMap<RawGraph, RawGraphNode>>);

impl Graphs {
    fn lock(&self) -> MutexGuard<'_, HashMap<RawGraph, RawGraphNode>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a node that depends on the last one. `add` gets a pointer for the node, the dependencies and their number.
    fn append(
        &self,
        graph: RawGraph,
        add: impl FnOnce(*mut hipGraphNode_t, *const hipGraphNode_t, usize) -> DriverResult<()>,
    ) -> DriverResult<RawGraphNode> {
        let last = self.lock().get(&graph).map(|node| pointer(node.0));
        let mut node: hipGraphNode_t = ptr::null_mut();
        // HIP writes the node before it reads the dependencies, so the two must not share memory.
        let dependencies = last.as_ref().map_or(ptr::null(), ptr::from_ref);
        add(&raw mut node, dependencies, usize::from(last.is_some()))?;
        let node = RawGraphNode(number(node));
        self.lock().insert(graph, node);
        Ok(node)
    }
}

// SAFETY of the unsafe functions: that of the methods of `Driver` which call them.
impl HipDriver {
    /// Locks out the writing of kernel arguments by graphs, during a launch, for versions of HIP that need it; and keeps a
    /// kernel from a stream on which it would crash.
    #[inline]
    pub(crate) fn launching(
        &self,
        call: &'static str,
        stream: RawStream,
    ) -> DriverResult<Option<RwLockReadGuard<'_, ()>>> {
        const { assert!(LAUNCHES_HOLD_THEIR_ARGUMENTS >= MODULE_LAUNCHES_KNOW_THREAD_STREAMS) }
        if self.loaded.version >= LAUNCHES_HOLD_THEIR_ARGUMENTS {
            return Ok(None);
        }
        if stream == RawStream::PER_THREAD && !self.capabilities.has(Capability::PerThreadStream) {
            return Err(unsupported(call));
        }
        Ok(Some(self.kernel_gate.read().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Locks out all launches while a graph writes the arguments of kernels, for versions of HIP that need it.
    pub(crate) fn handing_over(&self) -> Option<RwLockWriteGuard<'_, ()>> {
        (self.loaded.version < LAUNCHES_HOLD_THEIR_ARGUMENTS)
            .then(|| self.kernel_gate.write().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn create_graph(&self, device: DeviceId) -> DriverResult<RawGraph> {
        const CALL: &str = "hipGraphCreate";
        let create = self.optional(CALL, self.on(device, CALL)?.hipGraphCreate)?;
        let mut graph = ptr::null_mut();
        // SAFETY: the pointer is to a live handle; flags must be 0.
        check(CALL, unsafe { create(&mut graph, 0) })?;
        Ok(RawGraph(number(graph)))
    }

    pub(crate) unsafe fn destroy_graph(&self, device: DeviceId, graph: RawGraph) -> DriverResult<()> {
        const CALL: &str = "hipGraphDestroy";
        let destroy = self.optional(CALL, self.on(device, CALL)?.hipGraphDestroy)?;
        // Removed before the call: `hipGraphCreate` on another thread may return the same handle at once.
        let last = self.graphs.lock().remove(&graph);
        // SAFETY: a live graph that no other call uses (the caller's promise).
        let result = check(CALL, unsafe { destroy(pointer(graph.0)) });
        if let (Err(_), Some(last)) = (&result, last) {
            self.graphs.lock().insert(graph, last);
        }
        result
    }

    pub(crate) unsafe fn add_kernel(
        &self,
        device: DeviceId,
        graph: RawGraph,
        launch: &KernelLaunch<'_>,
    ) -> DriverResult<RawGraphNode> {
        const CALL: &str = "hipGraphAddKernelNode";
        let add = self.optional(CALL, self.on(device, CALL)?.hipGraphAddKernelNode)?;
        let mut bytes = launch.kernarg.len();
        let mut extra = extra_of(launch.kernarg, &mut bytes);
        // HIP requires exactly one of the two lists, so a kernel without explicit arguments gets an empty list of
        // arguments.
        let mut no_arguments: [*mut c_void; 1] = [ptr::null_mut()];
        let (extra, arguments) = match launch.kernarg {
            [] => (ptr::null_mut(), no_arguments.as_mut_ptr()),
            _ => (extra.as_mut_ptr(), ptr::null_mut()),
        };
        let dim3 = |[x, y, z]: [u32; 3]| dim3 { x, y, z };
        let params = hipKernelNodeParams {
            blockDim: dim3(launch.block),
            extra,
            func: pointer(launch.function.0),
            gridDim: dim3(launch.grid),
            kernelParams: arguments,
            sharedMemBytes: launch.dynamic_lds,
        };
        let _gate = self.handing_over();
        self.graphs.append(graph, |node, dependencies, count| {
            // SAFETY: a live graph and node of it, a live function of the current device; the kernarg segment is as
            // long as the metadata says (the caller's promises), and HIP copies it, as it does `extra` and `params`.
            check(CALL, unsafe { add(node, pointer(graph.0), dependencies, count, &params) })
        })
    }

    pub(crate) unsafe fn add_copy(
        &self,
        device: DeviceId,
        graph: RawGraph,
        dst: *mut c_void,
        src: *const c_void,
        bytes: usize,
        kind: hipMemcpyKind,
    ) -> DriverResult<RawGraphNode> {
        const CALL: &str = "hipGraphAddMemcpyNode1D";
        if bytes == 0 {
            // SAFETY: guaranteed by the caller.
            return unsafe { self.add_empty(device, graph) };
        }
        let add = self.optional(CALL, self.on(device, CALL)?.hipGraphAddMemcpyNode1D)?;
        self.graphs.append(graph, |node, dependencies, count| {
            // SAFETY: a live graph and node of it, ranges of `bytes` that are live whenever the graph is launched (the
            // caller's promises).
            check(CALL, unsafe { add(node, pointer(graph.0), dependencies, count, dst, src, bytes, kind) })
        })
    }

    pub(crate) unsafe fn add_fill_bytes(
        &self,
        device: DeviceId,
        graph: RawGraph,
        dst: DevicePtr,
        value: u8,
        bytes: usize,
    ) -> DriverResult<RawGraphNode> {
        // As in `fill_bytes`: a fill that ends before the next multiple of 8 becomes a copy.
        if (bytes as u64) < dst.0.wrapping_neg() % 8 {
            let src = FILLED[usize::from(value)].as_ptr().cast();
            let kind = hipMemcpyKind::hipMemcpyHostToDevice;
            // SAFETY: seven bytes at most, from memory that lives forever; the rest is guaranteed by the caller.
            return unsafe { self.add_copy(device, graph, pointer(dst.0), src, bytes, kind) };
        }
        // SAFETY: guaranteed by the caller.
        unsafe { self.add_fill(device, graph, dst, value.into(), 1, bytes) }
    }

    /// Adds a node that fills `count` elements of `size` bytes.
    pub(crate) unsafe fn add_fill(
        &self,
        device: DeviceId,
        graph: RawGraph,
        dst: DevicePtr,
        value: u32,
        size: usize,
        count: usize,
    ) -> DriverResult<RawGraphNode> {
        const CALL: &str = "hipGraphAddMemsetNode";
        if count == 0 {
            // SAFETY: guaranteed by the caller.
            return unsafe { self.add_empty(device, graph) };
        }
        let add = self.optional(CALL, self.on(device, CALL)?.hipGraphAddMemsetNode)?;
        // AMD's release notes announce another order of the fields from 7.0 on, but headers and library of 7.2 have
        // this one.
        let params = hipMemsetParams {
            dst: pointer(dst.0),
            elementSize: size as u32,
            height: 1,
            pitch: count.saturating_mul(size),
            value,
            width: count,
        };
        self.graphs.append(graph, |node, dependencies, count| {
            // SAFETY: a live graph and node of it, a range that is live whenever the graph is launched (the caller's
            // promises); HIP copies the parameters.
            check(CALL, unsafe { add(node, pointer(graph.0), dependencies, count, &params) })
        })
    }

    pub(crate) unsafe fn add_host(
        &self,
        device: DeviceId,
        graph: RawGraph,
        node: &HostNode,
    ) -> DriverResult<RawGraphNode> {
        const CALL: &str = "hipGraphAddHostNode";
        let add = self.optional(CALL, self.on(device, CALL)?.hipGraphAddHostNode)?;
        let params = hipHostNodeParams { fn_: Some(run_host_node), userData: node.as_raw() };
        self.graphs.append(graph, |node, dependencies, count| {
            // SAFETY: a live graph and node of it; a clone of the function's node outlives both (the caller's promises). HIP copies
            // the parameters.
            check(CALL, unsafe { add(node, pointer(graph.0), dependencies, count, &params) })
        })
    }

    pub(crate) unsafe fn add_empty(&self, device: DeviceId, graph: RawGraph) -> DriverResult<RawGraphNode> {
        const CALL: &str = "hipGraphAddEmptyNode";
        let add = self.optional(CALL, self.on(device, CALL)?.hipGraphAddEmptyNode)?;
        self.graphs.append(graph, |node, dependencies, count| {
            // SAFETY: a live graph and node of it (the caller's promise).
            check(CALL, unsafe { add(node, pointer(graph.0), dependencies, count) })
        })
    }

    pub(crate) unsafe fn instantiate(&self, device: DeviceId, graph: RawGraph) -> DriverResult<RawGraphExec> {
        const CALL: &str = "hipGraphInstantiate";
        let instantiate = self.optional(CALL, self.on(device, CALL)?.hipGraphInstantiate)?;
        let mut exec = ptr::null_mut();
        // SAFETY: a live graph (the caller's promise), a live handle; the optional failing node and log are null.
        check(CALL, unsafe {
            instantiate(&mut exec, pointer(graph.0), ptr::null_mut(), ptr::null_mut(), 0)
        })?;
        Ok(RawGraphExec(number(exec)))
    }

    #[inline]
    pub(crate) unsafe fn launch_graph(
        &self,
        device: DeviceId,
        exec: RawGraphExec,
        stream: RawStream,
    ) -> DriverResult<()> {
        const CALL: &str = "hipGraphLaunch";
        let launch = self.optional(CALL, self.on(device, CALL)?.hipGraphLaunch)?;
        let _gate = self.handing_over();
        // SAFETY: a live executable graph and a live stream of the current device, and what the nodes require (the
        // caller's promises).
        check(CALL, unsafe { launch(pointer(exec.0), pointer(stream.0)) })
    }

    pub(crate) unsafe fn destroy_exec(&self, device: DeviceId, exec: RawGraphExec) -> DriverResult<()> {
        const CALL: &str = "hipGraphExecDestroy";
        let destroy = self.optional(CALL, self.on(device, CALL)?.hipGraphExecDestroy)?;
        // SAFETY: a live executable graph that no launch in flight and no other call uses (the caller's promise).
        check(CALL, unsafe { destroy(pointer(exec.0)) })
    }
}

/// Runs the function of a node on a thread of HIP. A panic does not leave it.
pub(crate) unsafe extern "C" fn run_host_node(node: *mut c_void) {
    // SAFETY: of `HostNode::as_raw`; a clone of it lives as long as the graph (the promise of who added the node).
    call_host("graph", || unsafe { HostNode::call_raw(node) });
}
