//! Captures: calls on a captured stream become nodes of a graph. The driver does not see them. The rules are those of
//! [`hip_driver::captures`].

use std::sync::Arc;

use hip_driver::captures::{self, CaptureStream, Refused};
use hip_driver::{CaptureMode, CaptureStatus, DeviceId, ErrorCode, RawStream, thread_number};

use super::attributes::Attributes;
use super::exec::Exec;
use super::memory::GraphMemory;
use super::payload::{CopyNode, KernelNode, Params, Payload};
use super::{Graph, GraphHandle};
use crate::abi::{hipKernelNodeParams, hipMemsetParams};
use crate::c_caller::{Address, Handle, HostFn, UserData};
use crate::copy::Order;
use crate::copy_3d::BoxCopy;
use crate::event::{Event, EventHandle};
use crate::fill::Fill;
use crate::kernel::Kernel;
use crate::launch::{Cooperation, Shape};
use crate::memory_operations::Operations;
use crate::process::Process;
use crate::status::{HipResult, Status};

/// The captures of the process. Nodes are named by their handles.
pub(crate) type Captures = captures::Captures<Captured, CapturedGraph, u64>;
/// The record of an event on a captured stream.
pub(crate) type CapturedRecord = captures::CapturedRecord<u64>;

/// A captured stream. A thread's own default stream is another one for each thread.
#[derive(PartialEq)]
pub(crate) struct Captured(DeviceId, RawStream, Option<u64>);

impl CaptureStream for Captured {
    fn is_null(&self) -> bool {
        is_null_stream(self.1)
    }

    fn device(&self) -> DeviceId {
        self.0
    }
}

/// The graph of a capture.
pub(crate) struct CapturedGraph {
    graph: GraphHandle,
    /// Whether the program made the graph, and keeps it if the capture fails.
    is_given: bool,
}

/// What a program can ask about the capture of a stream.
pub(crate) struct CaptureInfo {
    pub(crate) status: CaptureStatus,
    pub(crate) id: u64,
    pub(crate) graph: GraphHandle,
    /// An array of nodes, which lives until the stream's next call.
    pub(crate) after: Address,
    pub(crate) count: usize,
}

impl From<Refused> for Status {
    fn from(refused: Refused) -> Status {
        log::debug!("{}", refused.detail);
        refused.code.into()
    }
}

fn key((device, stream): (DeviceId, RawStream)) -> Captured {
    Captured(device, stream, (stream == RawStream::PER_THREAD).then(thread_number))
}

fn is_null_stream(stream: RawStream) -> bool {
    stream.is_default() && stream != RawStream::PER_THREAD
}

impl Process {
    pub(crate) fn begin_capture(&self, on: (DeviceId, RawStream), mode: CaptureMode) -> HipResult {
        let graph = GraphHandle::new(self.graphs.graphs.add(Graph::default()));
        let recorded = CapturedGraph { graph, is_given: false };
        let begun = self.captures.begin(key(on), mode, recorded, Vec::new());
        begun.or_else(|refused| {
            self.graphs.destroy(self, graph)?;
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
        Ok(self.captures.begin(key(on), mode, CapturedGraph { graph, is_given: true }, after)?)
    }

    /// Checks that all these are nodes of a graph.
    fn check_nodes(&self, graph: GraphHandle, nodes: &[u64]) -> HipResult {
        self.graphs.graph(graph)?;
        let is_of_graph =
            |&node: &u64| self.graphs.node(Handle::new(node)).is_ok_and(|node| node.graph == graph.0);
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
            self.check_nodes(capture.recorded.graph, &nodes)?;
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
            Ok(()) => Ok(ended.recorded.graph),
            Err(refused) => {
                self.discard(&ended.recorded)?;
                Err(refused.into())
            }
        }
    }

    /// Destroys the graph of a capture that failed, unless it is the program's.
    fn discard(&self, recorded: &CapturedGraph) -> HipResult {
        if recorded.is_given { Ok(()) } else { self.graphs.destroy(self, recorded.graph) }
    }

    /// Ends the capture that was begun on a stream that is destroyed.
    pub(crate) fn forget_capture(&self, on: (DeviceId, RawStream)) -> HipResult {
        self.captures.forget(&key(on)).map_or(Ok(()), |recorded| self.discard(&recorded))
    }

    pub(crate) fn capture_info(&self, on: (DeviceId, RawStream)) -> CaptureInfo {
        let info = self.captures.with(&key(on), |capture| CaptureInfo {
            status: capture.status,
            id: capture.id,
            graph: capture.recorded.graph,
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
                let added = self.graphs.add(recorded.graph, after.to_vec(), node, None)?;
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
    pub(crate) fn capture_copy(&self, order: Order, copy: &BoxCopy) -> HipResult<bool> {
        self.may_block(order)?;
        self.capture((order.device, order.stream), || {
            Ok(vec![Payload::Copy(CopyNode::new(self, *copy, Params::None)?)])
        })
    }

    /// Makes a node of each slice of a fill, if the stream is captured.
    pub(crate) fn capture_fill(&self, order: Order, fill: &Fill) -> HipResult<bool> {
        self.may_block(order)?;
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
        self.capture((order.device, order.stream), || Ok((0..slices).map(slice).collect()))
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
                GraphHandle::new(self.graphs.graphs.add(Graph { is_child: true, ..Graph::default() }));
            let mut after = Vec::new();
            for payload in exec.launched() {
                after = vec![self.graphs.add(child, after, payload, None)?.0];
            }
            Ok(vec![Payload::Child(child.0)])
        })
    }

    /// Fails if the stream is captured: for what is no node of a graph. The capture goes on.
    pub(crate) fn not_captured(&self, on: (DeviceId, RawStream)) -> HipResult {
        Ok(self.captures.not_captured(&key(on))?)
    }

    /// Records an event on a stream, if the stream is captured. Returns whether it is.
    pub(crate) fn capture_record(&self, on: (DeviceId, RawStream), event: &Event) -> bool {
        self.captures.record(&key(on)).map(|record| event.set_captured(Some(record))).is_some()
    }

    /// Makes a stream wait for an event, if one of the two belongs to a capture. Returns whether one does.
    pub(crate) fn capture_wait(&self, on: (DeviceId, RawStream), event: &Event) -> HipResult<bool> {
        if !self.captures.any() {
            return Ok(false);
        }
        Ok(self.captures.wait(key(on), event.captured(), event.is_recorded())?)
    }

    /// Checks that captures allow a call that waits for a stream or asks for its state.
    #[inline]
    pub(crate) fn may_observe_stream(&self, on: (DeviceId, RawStream)) -> HipResult {
        Ok(self.captures.may_observe_stream(&key(on))?)
    }

    /// Checks that captures allow a call that waits for an event or asks for its state.
    pub(crate) fn may_observe_event(&self, event: &Event) -> HipResult {
        if !self.captures.any() {
            return Ok(());
        }
        Ok(self.captures.may_observe_event(event.captured().as_ref())?)
    }

    /// Checks that captures allow a copy or a fill to wait, if it does.
    fn may_block(&self, order: Order) -> HipResult {
        match order.waits {
            false => Ok(()),
            true if is_null_stream(order.stream) => self.captures_nothing(Status::STREAM_CAPTURE_IMPLICIT),
            true => self.may_observe_stream((order.device, order.stream)),
        }
    }

    /// Checks that the modes of captures and of this thread allow a call that may wait for other work.
    #[inline]
    pub(crate) fn captures_allow(&self) -> HipResult {
        Ok(self.captures.allow()?)
    }

    /// Checks that there is no capture at all, for a call that would wait for captured work.
    pub(crate) fn captures_nothing(&self, otherwise: Status) -> HipResult {
        Ok(self.captures.none(ErrorCode(otherwise.0))?)
    }
}
