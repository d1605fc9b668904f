//! Captures: calls on a captured stream become nodes of a graph. The driver does not see them.
//!
//! A stream has the nodes that its next one comes after. An event that is recorded on it keeps them, and a stream that
//! waits for the event joins the capture. The codes are those that the emulated driver's captures have.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use hip_driver::{CaptureMode, CaptureStatus, DeviceId, RawStream, thread_number};

use super::payload::{CopyNode, KernelNode, Payload};
use super::{Graph, GraphHandle, lock};
use crate::abi::{hipKernelNodeParams, hipMemsetParams};
use crate::c_caller::{Address, HostFn, UserData};
use crate::capture;
use crate::copy::Order;
use crate::copy_3d::BoxCopy;
use crate::event::Event;
use crate::fill::Fill;
use crate::kernel::Kernel;
use crate::launch::Shape;
use crate::process::Process;
use crate::status::{HipResult, Status};

/// The captures that have not ended. Without any, a call reads one number.
#[derive(Default)]
pub(crate) struct Captures {
    open: AtomicUsize,
    state: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    captures: Vec<Capture>,
    begun: u64,
}

struct Capture {
    id: u64,
    mode: CaptureMode,
    /// The number of the thread that began it.
    thread: u64,
    /// Whether no call has broken it.
    valid: bool,
    graph: GraphHandle,
    /// The streams that are captured; it was begun on the first.
    members: Vec<Member>,
}

/// A stream of a capture.
struct Member {
    stream: Key,
    /// The nodes that the stream's next one comes after, by their handles.
    after: Vec<u64>,
}

/// A stream: a thread's own default stream is another one for each thread.
type Key = (DeviceId, RawStream, Option<u64>);

/// The record of an event on a captured stream.
#[derive(Clone)]
pub(crate) struct CapturedRecord {
    capture: u64,
    after: Vec<u64>,
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

fn key((device, stream): (DeviceId, RawStream)) -> Key {
    (device, stream, (stream == RawStream::PER_THREAD).then(thread_number))
}

fn is_null_stream(stream: RawStream) -> bool {
    stream.is_default() && stream != RawStream::PER_THREAD
}

impl Open {
    fn of_stream(&mut self, stream: Key) -> Option<(usize, usize)> {
        let place = |(i, capture): (usize, &Capture)| {
            Some((i, capture.members.iter().position(|member| member.stream == stream)?))
        };
        self.captures.iter().enumerate().find_map(place)
    }

    fn of_record(&mut self, record: &CapturedRecord) -> Option<usize> {
        self.captures.iter().position(|capture| capture.id == record.capture)
    }
}

impl Captures {
    fn any(&self) -> bool {
        self.open.load(Ordering::SeqCst) > 0
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        lock(&self.state)
    }

    fn take(&self, open: &mut Open, index: usize) -> Capture {
        let capture = open.captures.remove(index);
        self.open.store(open.captures.len(), Ordering::SeqCst);
        capture
    }
}

impl Process {
    pub(crate) fn begin_capture(&self, on: (DeviceId, RawStream), mode: CaptureMode) -> HipResult {
        if is_null_stream(on.1) {
            return Err(Status::STREAM_CAPTURE_UNSUPPORTED);
        }
        let mut open = self.captures.lock();
        if open.of_stream(key(on)).is_some() {
            return Err(Status::ILLEGAL_STATE);
        }
        open.begun += 1;
        let capture = Capture {
            id: open.begun,
            mode,
            thread: thread_number(),
            valid: true,
            graph: GraphHandle::new(self.graphs.graphs.add(Graph::default())),
            members: vec![Member { stream: key(on), after: Vec::new() }],
        };
        open.captures.push(capture);
        self.captures.open.store(open.captures.len(), Ordering::SeqCst);
        Ok(())
    }

    pub(crate) fn end_capture(&self, on: (DeviceId, RawStream)) -> HipResult<GraphHandle> {
        let mut open = self.captures.lock();
        let (index, member) = open.of_stream(key(on)).ok_or(Status::ILLEGAL_STATE)?;
        if member != 0 {
            return Err(Status::STREAM_CAPTURE_UNMATCHED);
        }
        let Capture { mode, thread, .. } = open.captures[index];
        if mode != CaptureMode::Relaxed && thread != thread_number() {
            return Err(Status::STREAM_CAPTURE_WRONG_THREAD);
        }
        let capture = self.captures.take(&mut open, index);
        drop(open);
        let ended = match capture.valid {
            true if self.is_joined(&capture)? => return Ok(capture.graph),
            true => Status::STREAM_CAPTURE_UNJOINED,
            false => Status::STREAM_CAPTURE_INVALIDATED,
        };
        self.graphs.destroy(capture.graph)?;
        Err(ended)
    }

    /// Whether the first stream waits for all nodes: for those that no other comes after.
    fn is_joined(&self, capture: &Capture) -> HipResult<bool> {
        let graph = self.graphs.graph(capture.graph)?;
        let edges = graph.edges();
        let nodes = graph.nodes();
        let mut last = nodes
            .iter()
            .map(|node| node.handle())
            .filter(|&node| edges.iter().all(|&(from, _)| from != node));
        Ok(last.all(|node| capture.members[0].after.contains(&node)))
    }

    /// Ends the capture that was begun on a stream that is destroyed.
    pub(crate) fn forget_capture(&self, on: (DeviceId, RawStream)) -> HipResult {
        if !self.captures.any() {
            return Ok(());
        }
        let mut open = self.captures.lock();
        match open.of_stream(key(on)) {
            Some((index, 0)) => self.graphs.destroy(self.captures.take(&mut open, index).graph),
            _ => Ok(()),
        }
    }

    pub(crate) fn capture_info(&self, on: (DeviceId, RawStream)) -> CaptureInfo {
        let mut open = self.captures.lock();
        let Some((index, place)) = open.of_stream(key(on)) else {
            let (status, graph) = (CaptureStatus::None, GraphHandle::NULL);
            return CaptureInfo { status, id: 0, graph, after: Address::NULL, count: 0 };
        };
        let capture = &open.captures[index];
        let status = if capture.valid { CaptureStatus::Active } else { CaptureStatus::Invalidated };
        let after = &capture.members[place].after;
        CaptureInfo {
            status,
            id: capture.id,
            graph: capture.graph,
            after: match after.len() {
                0 => Address::NULL,
                _ => Address(after.as_ptr().expose_provenance() as u64),
            },
            count: after.len(),
        }
    }

    /// Makes nodes of a call on a stream, if the stream is captured. Each comes after the one before. Returns whether
    /// it is.
    #[inline]
    fn capture(
        &self,
        on: (DeviceId, RawStream),
        nodes: impl FnOnce() -> HipResult<Vec<Payload>>,
    ) -> HipResult<bool> {
        if !self.captures.any() || self.captures.lock().of_stream(key(on)).is_none() {
            return Ok(false);
        }
        let nodes = nodes()?;
        let mut open = self.captures.lock();
        let Some((index, place)) = open.of_stream(key(on)) else { return Ok(false) };
        let capture = &mut open.captures[index];
        if !capture.valid {
            return Err(Status::STREAM_CAPTURE_INVALIDATED);
        }
        let member = &mut capture.members[place];
        for node in nodes {
            let added = self.graphs.add(capture.graph, member.after.clone(), node, None)?;
            member.after = vec![added.0];
        }
        Ok(true)
    }

    pub(crate) fn capture_kernel(
        &self,
        on: (DeviceId, RawStream),
        kernel: &Arc<Kernel>,
        function: Address,
        shape: Shape,
        kernarg: &[u8],
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
            Ok(vec![Payload::Kernel(KernelNode::packed(Arc::clone(kernel), shape, kernarg, params))])
        })
    }

    /// Makes a node of a copy, if the stream is captured. A copy that waits breaks captures, as the stream does.
    pub(crate) fn capture_copy(&self, order: Order, copy: &BoxCopy) -> HipResult<bool> {
        self.may_block(order)?;
        self.capture((order.device, order.stream), || {
            Ok(vec![Payload::Copy(CopyNode::new(self, *copy, None)?)])
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

    /// Fails if the stream is captured: for what is no node of a graph. The capture goes on.
    pub(crate) fn not_captured(&self, on: (DeviceId, RawStream)) -> HipResult {
        self.capture(on, || Err(Status::STREAM_CAPTURE_UNSUPPORTED)).map(drop)
    }

    /// Records an event on a stream, if the stream is captured. Returns whether it is.
    pub(crate) fn capture_record(&self, on: (DeviceId, RawStream), event: &Event) -> bool {
        if !self.captures.any() {
            return false;
        }
        let mut open = self.captures.lock();
        let Some((index, place)) = open.of_stream(key(on)) else { return false };
        let capture = &open.captures[index];
        let after = capture.members[place].after.clone();
        event.set_captured(Some(CapturedRecord { capture: capture.id, after }));
        true
    }

    /// Makes a stream wait for an event, if one of the two belongs to a capture. Returns whether one does.
    pub(crate) fn capture_wait(&self, on: (DeviceId, RawStream), event: &Event) -> HipResult<bool> {
        if !self.captures.any() {
            return Ok(false);
        }
        let mut open = self.captures.lock();
        let waits = open.of_stream(key(on));
        let record = event.captured();
        let of_record = record.as_ref().and_then(|record| open.of_record(record));
        match (waits, record.zip(of_record)) {
            (None, None) => Ok(false),
            (Some(_), None) if !event.is_recorded() => Ok(true),
            (Some((index, _)), None) => {
                open.captures[index].valid = false;
                Err(Status::STREAM_CAPTURE_ISOLATION)
            }
            (Some((index, place)), Some((record, of_record))) if index == of_record => {
                let after = &mut open.captures[index].members[place].after;
                let new: Vec<u64> = record.after.into_iter().filter(|node| !after.contains(node)).collect();
                after.extend(new);
                Ok(true)
            }
            (Some((index, _)), Some((_, of_record))) => {
                open.captures[index].valid = false;
                open.captures[of_record].valid = false;
                Err(Status::STREAM_CAPTURE_MERGE)
            }
            (None, Some((record, index))) => {
                let capture = &mut open.captures[index];
                if is_null_stream(on.1) {
                    capture.valid = false;
                    return Err(Status::STREAM_CAPTURE_IMPLICIT);
                }
                // A graph is launched on a stream of one device.
                if capture.members[0].stream.0 != on.0 {
                    return Err(Status::NOT_SUPPORTED);
                }
                capture.members.push(Member { stream: key(on), after: record.after });
                Ok(true)
            }
        }
    }

    /// Checks that captures allow a call that waits for a stream or asks for its state.
    #[inline]
    pub(crate) fn may_observe_stream(&self, on: (DeviceId, RawStream)) -> HipResult {
        if !self.captures.any() {
            return Ok(());
        }
        let mut open = self.captures.lock();
        if let Some((index, _)) = open.of_stream(key(on)) {
            open.captures[index].valid = false;
            return Err(Status::STREAM_CAPTURE_UNSUPPORTED);
        }
        drop(open);
        if is_null_stream(on.1) { Ok(()) } else { self.captures_allow() }
    }

    /// Checks that captures allow a call that waits for an event or asks for its state.
    pub(crate) fn may_observe_event(&self, event: &Event) -> HipResult {
        if !self.captures.any() {
            return Ok(());
        }
        if let Some(record) = event.captured() {
            let mut open = self.captures.lock();
            if let Some(index) = open.of_record(&record) {
                open.captures[index].valid = false;
                return Err(Status::CAPTURED_EVENT);
            }
        }
        self.captures_allow()
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
        if !self.captures.any() {
            return Ok(());
        }
        let (thread, mode) = (thread_number(), capture::thread_mode());
        let refuses = |capture: &Capture| match (capture.mode, mode) {
            (CaptureMode::Relaxed, _) | (_, CaptureMode::Relaxed) => false,
            (CaptureMode::Global, CaptureMode::Global) => true,
            _ => capture.thread == thread,
        };
        self.break_captures(refuses, Status::STREAM_CAPTURE_UNSUPPORTED)
    }

    /// Checks that there is no capture at all, for a call that would wait for captured work.
    pub(crate) fn captures_nothing(&self, otherwise: Status) -> HipResult {
        if !self.captures.any() {
            return Ok(());
        }
        self.break_captures(|_| true, otherwise)
    }

    /// Breaks the captures that `refuses` names, and fails if there are any.
    fn break_captures(&self, refuses: impl Fn(&Capture) -> bool, status: Status) -> HipResult {
        let mut open = self.captures.lock();
        let mut broken = open.captures.iter_mut().filter(|capture| refuses(capture)).peekable();
        if broken.peek().is_none() {
            return Ok(());
        }
        broken.for_each(|capture| capture.valid = false);
        Err(status)
    }
}
