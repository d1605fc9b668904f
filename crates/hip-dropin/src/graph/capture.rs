//! Captures: calls on a captured stream become nodes of a graph. The driver does not see them.

use std::sync::Arc;

use hip_driver::{CaptureMode, CaptureStatus, DeviceId, RawStream};

use super::attributes::Attributes;
use super::exec::Exec;
use super::memory::GraphMemory;
use super::payload::{CopyNode, KernelNode, Params, Payload};
use super::{Graph, GraphHandle};
use crate::abi::c_caller::{Address, Handle, HostFn, UserData};
use crate::abi::status::{HipResult, Status};
use crate::abi::structs::{hipKernelNodeParams, hipMemsetParams};
use crate::copy::boxes::BoxCopy;
use crate::copy::fill::Fill;
use crate::copy::values::Operations;
use crate::kernel::Kernel;
use crate::kernel::launch::{Cooperation, Shape};
use crate::process::Process;
use crate::process::captures::{CapturedGraph, key};
use crate::stream::event::EventHandle;
use crate::stream::target::Queue;

/// What a program can ask about the capture of a stream.
pub(crate) struct CaptureInfo {
    pub(crate) status: CaptureStatus,
    pub(crate) id: u64,
    pub(crate) graph: GraphHandle,
    /// An array of nodes, which lives until the stream's next call.
    pub(crate) after: Address,
    pub(crate) count: usize,
}

impl Process {
    pub(crate) fn begin_capture(&self, on: (DeviceId, RawStream), mode: CaptureMode) -> HipResult {
        let graph = GraphHandle::new(self.graphs().graphs.add(Graph::default()));
        let recorded = CapturedGraph { graph: graph.0, is_given: false };
        let begun = self.captures.begin(key(on), mode, recorded, Vec::new());
        begun.or_else(|refused| {
            self.graphs().destroy(self, graph)?;
            Err(refused.into())
        })
    }

    /// Captures into a graph of the program, behind nodes of it.
    pub(crate) fn begin_capture_to(
        &self,
        on: (DeviceId, RawStream),
        mode: CaptureMode,
        graph: GraphHandle,
        after: Vec<u64>,
    ) -> HipResult {
        self.check_nodes(graph, &after)?;
        Ok(self.captures.begin(key(on), mode, CapturedGraph { graph: graph.0, is_given: true }, after)?)
    }

    /// Checks that all these are nodes of a graph.
    fn check_nodes(&self, graph: GraphHandle, nodes: &[u64]) -> HipResult {
        self.graphs().graph(graph)?;
        let is_of_graph =
            |&node: &u64| self.graphs().node(Handle::new(node)).is_ok_and(|node| node.graph == graph.0);
        if nodes.iter().all(is_of_graph) { Ok(()) } else { Err(Status::INVALID_VALUE) }
    }

    /// Has the next node of a captured stream come after these, or also after these.
    pub(crate) fn set_capture_dependencies(
        &self,
        on: (DeviceId, RawStream),
        nodes: Vec<u64>,
        replace: bool,
    ) -> HipResult {
        let changed = self.captures.with(&key(on), |mut capture| {
            self.check_nodes(GraphHandle::new(capture.recorded.graph), &nodes)?;
            let kept = if replace { Vec::new() } else { capture.after.clone() };
            let new: Vec<u64> = nodes.into_iter().filter(|node| !kept.contains(node)).collect();
            capture.replace_dependencies([kept, new].concat());
            Ok(())
        });
        changed.unwrap_or(Err(Status::ILLEGAL_STATE))
    }

    pub(crate) fn end_capture(&self, on: (DeviceId, RawStream)) -> HipResult<GraphHandle> {
        let ended = self.captures.end(&key(on))?;
        match ended.complete {
            Ok(()) => Ok(GraphHandle::new(ended.recorded.graph)),
            Err(refused) => {
                self.discard(&ended.recorded)?;
                Err(refused.into())
            }
        }
    }

    /// Destroys the graph of a capture that failed, unless it is the program's.
    fn discard(&self, recorded: &CapturedGraph) -> HipResult {
        if recorded.is_given { Ok(()) } else { self.graphs().destroy(self, GraphHandle::new(recorded.graph)) }
    }

    /// Ends the capture that was begun on a stream that is destroyed.
    pub(crate) fn forget_capture(&self, on: (DeviceId, RawStream)) -> HipResult {
        self.captures.forget(&key(on)).map_or(Ok(()), |recorded| self.discard(&recorded))
    }

    pub(crate) fn capture_info(&self, on: (DeviceId, RawStream)) -> CaptureInfo {
        let info = self.captures.with(&key(on), |capture| CaptureInfo {
            status: capture.status,
            id: capture.id,
            graph: GraphHandle::new(capture.recorded.graph),
            after: match capture.after.len() {
                0 => Address::NULL,
                _ => Address(capture.after.as_ptr().expose_provenance() as u64),
            },
            count: capture.after.len(),
        });
        info.unwrap_or(CaptureInfo {
            status: CaptureStatus::None,
            id: 0,
            graph: GraphHandle::NULL,
            after: Address::NULL,
            count: 0,
        })
    }

    /// Makes nodes of a call on a stream, if the stream is captured. Each comes after the one before. Returns whether
    /// it is.
    #[inline]
    fn capture(
        &self,
        on: (DeviceId, RawStream),
        nodes: impl FnOnce() -> HipResult<Vec<Payload>>,
    ) -> HipResult<bool> {
        match self.captures.with(&key(on), |capture| capture.status) {
            None | Some(CaptureStatus::None) => return Ok(false),
            Some(CaptureStatus::Active) => {}
            Some(CaptureStatus::Invalidated) => return Err(Status::STREAM_CAPTURE_INVALIDATED),
        }
        for node in nodes()? {
            self.captures.add(&key(on), |recorded, after| {
                let added =
                    self.graphs().add(GraphHandle::new(recorded.graph), after.to_vec(), node, None)?;
                Ok::<_, Status>(Some(added.0))
            })?;
        }
        Ok(true)
    }

    pub(crate) fn capture_kernel(
        &self,
        on: (DeviceId, RawStream),
        kernel: &Arc<Kernel>,
        function: Address,
        shape: &Shape,
        kernarg: &[u8],
        cooperation: Cooperation,
    ) -> HipResult<bool> {
        self.capture(on, || {
            if kernel.device != on.0 {
                return Err(Status::INVALID_DEVICE_FUNCTION);
            }
            let params = hipKernelNodeParams {
                blockDim: shape.block.into(),
                extra: Address::NULL,
                func: function,
                gridDim: shape.grid.into(),
                kernelParams: Address::NULL,
                sharedMemBytes: shape.lds as u32,
            };
            let node = KernelNode::packed(Arc::clone(kernel), *shape, kernarg, params);
            Ok(vec![Payload::Kernel(node, Attributes::of(cooperation))])
        })
    }

    /// Makes a node of a copy, if the stream is captured. A copy that waits breaks captures, as the stream does.
    pub(crate) fn capture_copy(&self, queue: Queue, copy: &BoxCopy) -> HipResult<bool> {
        if queue.waits {
            self.may_block((queue.device, queue.stream))?;
        }
        self.capture((queue.device, queue.stream), || {
            Ok(vec![Payload::Copy(CopyNode::new(self, *copy, Params::None)?)])
        })
    }

    /// Makes a node of each slice of a fill, if the stream is captured.
    pub(crate) fn capture_fill(&self, queue: Queue, fill: &Fill) -> HipResult<bool> {
        if queue.waits {
            self.may_block((queue.device, queue.stream))?;
        }
        let slice = |z: usize| {
            Payload::Fill(hipMemsetParams {
                dst: fill.start.offset(z * fill.slice),
                elementSize: fill.element as u32,
                height: fill.height,
                pitch: fill.pitch,
                value: fill.value,
                width: fill.width,
            })
        };
        let slices = if fill.is_empty() { 0 } else { fill.depth };
        self.capture((queue.device, queue.stream), || Ok((0..slices).map(slice).collect()))
    }

    pub(crate) fn capture_host_function(
        &self,
        on: (DeviceId, RawStream),
        function: HostFn,
        data: UserData,
    ) -> HipResult<bool> {
        self.capture(on, || Ok(vec![Payload::Host(function, data)]))
    }

    /// Makes a node of an allocation, if the stream is captured. Returns the address of the memory.
    pub(crate) fn capture_allocation(
        &self,
        on: (DeviceId, RawStream),
        bytes: usize,
    ) -> HipResult<Option<Address>> {
        let mut address = None;
        self.capture(on, || {
            let memory = GraphMemory::captured(self, on.0, bytes)?;
            address = Some(memory.address());
            Ok(vec![Payload::Allocate(memory)])
        })?;
        Ok(address)
    }

    /// Makes a node of a free, if the stream is captured.
    pub(crate) fn capture_free(&self, on: (DeviceId, RawStream), pointer: Address) -> HipResult<bool> {
        self.capture(on, || Ok(vec![Payload::Free(pointer)]))
    }

    /// Makes a node of operations on memory, if the stream is captured.
    pub(crate) fn capture_operations(
        &self,
        on: (DeviceId, RawStream),
        operations: &Operations,
    ) -> HipResult<bool> {
        self.capture(on, || Ok(vec![Payload::MemoryOperations(operations.clone())]))
    }

    /// Makes a node of a call that records an event or waits for one when its graph is launched, if the stream is captured.
    pub(crate) fn capture_external(
        &self,
        on: (DeviceId, RawStream),
        event: EventHandle,
        records: bool,
    ) -> HipResult<bool> {
        self.capture(on, || {
            Ok(vec![if records { Payload::EventRecord(event) } else { Payload::EventWait(event) }])
        })
    }

    /// Makes a node of the launch of a graph, if the stream is captured: a child graph of the nodes that the launch would
    /// enqueue, in their order.
    pub(crate) fn capture_graph(&self, on: (DeviceId, RawStream), exec: &Exec) -> HipResult<bool> {
        self.capture(on, || {
            let child =
                GraphHandle::new(self.graphs().graphs.add(Graph { is_child: true, ..Graph::default() }));
            let mut after = Vec::new();
            for payload in exec.launched() {
                after = vec![self.graphs().add(child, after, payload, None)?.0];
            }
            Ok(vec![Payload::Child(child.0)])
        })
    }
}
