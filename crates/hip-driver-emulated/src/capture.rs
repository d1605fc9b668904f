//! Captures of streams: work that becomes nodes of a graph, streams that join, and calls that break a capture.
//!
//! The codes are those of HIP 7.2 (seen), with these exceptions. HIP lets a stream wait for an event of another
//! capture, or for one that was recorded outside, and loses the order; here both fail with the codes that HIP has for
//! them. HIP breaks the capture of one stream of several; here it is broken for all. An end that fails ends the
//! capture, as [`Driver::stream_capture`](hip_driver::Driver::stream_capture) says. A stream of another device can't
//! join.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::EmulatedDriver;
use super::command::Step;
use super::device::{Device, lock};
use super::event::Event;
use super::graph::Recorded;
use super::stream::{Stream, StreamKind};
use hip_driver::{
    CaptureMode, CaptureReply, CaptureRequest, CaptureStatus, DeviceId, DriverError, DriverResult, ErrorCode,
    RawGraph, RawStream, Work, thread_number,
};

thread_local! {
    static MODE: Cell<CaptureMode> = const { Cell::new(CaptureMode::Global) };
}

/// The captures of a driver that have not ended. Without any, a call reads one number.
#[derive(Default)]
pub(super) struct Captures {
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
    device: Arc<Device>,
    /// The streams that are captured; it was begun on the first.
    members: Vec<Member>,
    recorded: Recorded,
}

/// A stream of a capture.
struct Member {
    stream: Arc<Stream>,
    nodes: u64,
    /// How many nodes of each member come before the stream's next one.
    before: Clock,
}

/// Numbers of nodes by member; members behind its end have 0.
type Clock = Vec<u64>;

/// The record of an event on a captured stream.
#[derive(Clone)]
pub(super) struct CapturedRecord {
    capture: u64,
    before: Clock,
}

impl Open {
    fn of_stream(&mut self, stream: &Arc<Stream>) -> Option<(usize, usize)> {
        let is_it = |member: &Member| Arc::ptr_eq(&member.stream, stream);
        let place = |(i, capture): (usize, &Capture)| Some((i, capture.members.iter().position(is_it)?));
        self.captures.iter().enumerate().find_map(place)
    }

    fn of_record(&mut self, record: &CapturedRecord) -> Option<&mut Capture> {
        self.captures.iter_mut().find(|capture| capture.id == record.capture)
    }
}

impl Capture {
    /// Whether the first stream waits for all nodes.
    fn is_joined(&self) -> bool {
        let Some(first) = self.members.first() else { return true };
        let waits_for = |i: usize| first.before.get(i).copied().unwrap_or(0);
        self.members.iter().enumerate().all(|(i, member)| waits_for(i) >= member.nodes)
    }
}

fn merge(clock: &mut Clock, other: &Clock) {
    clock.resize(clock.len().max(other.len()), 0);
    clock.iter_mut().zip(other).for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
}

fn unsupported(call: &'static str, detail: &str) -> DriverError {
    DriverError::with_detail(call, ErrorCode::STREAM_CAPTURE_UNSUPPORTED, detail)
}

impl EmulatedDriver {
    /// Whether any stream is captured.
    #[inline]
    fn captures_any(&self) -> bool {
        self.captures.open.load(Ordering::SeqCst) > 0
    }

    /// Whether this stream is captured.
    #[inline]
    pub(super) fn is_captured(&self, stream: &Arc<Stream>) -> bool {
        self.captures_any() && lock(&self.captures.state).of_stream(stream).is_some()
    }

    pub(super) fn request_capture(
        &self,
        device: DeviceId,
        stream: RawStream,
        request: &CaptureRequest,
    ) -> DriverResult<CaptureReply> {
        let call = request.name();
        // A capture can be ended on a lost device, too.
        self.any_device(call, device)?;
        if let CaptureRequest::ExchangeMode(mode) = *request {
            return Ok(CaptureReply::Mode(MODE.replace(mode)));
        }
        let stream = self.any_stream(call, device, stream)?;
        match *request {
            CaptureRequest::Begin(mode) => {
                self.device(call, device)?;
                self.begin_capture(call, stream, mode).map(|()| CaptureReply::Done)
            }
            CaptureRequest::End => self.end_capture(call, &stream).map(CaptureReply::Graph),
            _ => {
                let mut open = lock(&self.captures.state);
                let found = open.of_stream(&stream).map(|(i, _)| &open.captures[i]);
                Ok(match found {
                    None => CaptureReply::Status { status: CaptureStatus::None, id: 0 },
                    Some(Capture { valid: true, id, .. }) => {
                        CaptureReply::Status { status: CaptureStatus::Active, id: *id }
                    }
                    Some(Capture { id, .. }) => {
                        CaptureReply::Status { status: CaptureStatus::Invalidated, id: *id }
                    }
                })
            }
        }
    }

    fn begin_capture(&self, call: &'static str, stream: Arc<Stream>, mode: CaptureMode) -> DriverResult<()> {
        if stream.kind() == StreamKind::Null {
            return Err(unsupported(call, "the null stream can't be captured"));
        }
        let mut open = lock(&self.captures.state);
        if open.of_stream(&stream).is_some() {
            let detail = "the stream is captured already";
            return Err(DriverError::with_detail(call, ErrorCode::ILLEGAL_STATE, detail));
        }
        open.begun += 1;
        let capture = Capture {
            id: open.begun,
            mode,
            thread: thread_number(),
            valid: true,
            device: Arc::clone(&stream.device),
            members: vec![Member { stream, nodes: 0, before: Clock::new() }],
            recorded: Recorded::default(),
        };
        open.captures.push(capture);
        self.captures.open.store(open.captures.len(), Ordering::SeqCst);
        Ok(())
    }

    fn end_capture(&self, call: &'static str, stream: &Arc<Stream>) -> DriverResult<RawGraph> {
        let error = |code, detail: &str| Err(DriverError::with_detail(call, code, detail));
        let mut open = lock(&self.captures.state);
        let Some((index, member)) = open.of_stream(stream) else {
            return error(ErrorCode::ILLEGAL_STATE, "the stream is not captured");
        };
        if member != 0 {
            let detail = "the stream joined the capture of another, on which it ends";
            return error(ErrorCode::STREAM_CAPTURE_UNMATCHED, detail);
        }
        let Capture { mode, thread, .. } = open.captures[index];
        if mode != CaptureMode::Relaxed && thread != thread_number() {
            let detail = "another thread began the capture";
            return error(ErrorCode::STREAM_CAPTURE_WRONG_THREAD, detail);
        }
        let capture = self.take(&mut open, index);
        drop(open);
        if !capture.valid {
            return error(ErrorCode::STREAM_CAPTURE_INVALIDATED, "a call broke the capture");
        }
        if !capture.is_joined() {
            let detail = "the stream does not wait for all work of those that joined";
            return error(ErrorCode::STREAM_CAPTURE_UNJOINED, detail);
        }
        self.add_captured(call, capture.device, capture.recorded)
    }

    fn take(&self, open: &mut Open, index: usize) -> Capture {
        let capture = open.captures.remove(index);
        self.captures.open.store(open.captures.len(), Ordering::SeqCst);
        capture
    }

    /// Ends the capture that was begun on a stream that is destroyed.
    pub(super) fn forget_capture(&self, stream: &Arc<Stream>) {
        if !self.captures_any() {
            return;
        }
        let mut open = lock(&self.captures.state);
        if let Some((index, 0)) = open.of_stream(stream) {
            drop(self.take(&mut open, index));
        }
    }

    /// Makes a node of work that is enqueued on a stream, if the stream is captured. Returns whether it is.
    pub(super) fn capture_work(&self, stream: &Arc<Stream>, work: &Work<'_>) -> DriverResult<bool> {
        if !self.is_captured(stream) {
            return Ok(false);
        }
        let call = work.kind().name();
        if matches!(
            work,
            Work::CooperativeKernel { .. }
                | Work::CopyFromPeer { .. }
                | Work::HostFunction(_)
                | Work::Graph(_)
        ) {
            return Err(unsupported(call, "the stream is captured, and such work is no node of a graph"));
        }
        if let Work::Empty = work {
            return Err(work.unsupported(call));
        }
        let prepared = self.prepare(call, &stream.device, work)?;
        let mut open = lock(&self.captures.state);
        let Some((index, place)) = open.of_stream(stream) else { return Ok(false) };
        let capture = &mut open.captures[index];
        if !capture.valid {
            let detail = "an earlier call broke the capture; end it";
            return Err(DriverError::with_detail(call, ErrorCode::STREAM_CAPTURE_INVALIDATED, detail));
        }
        // Copies and fills of no bytes do nothing.
        let Some(prepared) = prepared else { return Ok(true) };
        let recorded = &mut capture.recorded;
        let step: Step = prepared.stage(&mut recorded.arguments);
        if let Some((host, bytes)) = step.host_memory()
            && self.pinned.contains(host, bytes)
        {
            recorded.must_be_pinned(host, bytes);
        }
        recorded.steps.push(Some(step));
        let member = &mut capture.members[place];
        member.nodes += 1;
        let own = member.nodes;
        member.before.resize(member.before.len().max(place + 1), 0);
        member.before[place] = own;
        Ok(true)
    }

    /// Fails if the stream is captured: for what is no node of a graph.
    #[inline]
    pub(super) fn not_captured(&self, call: &'static str, stream: &Arc<Stream>) -> DriverResult<()> {
        match self.is_captured(stream) {
            false => Ok(()),
            true => Err(unsupported(call, "the stream is captured")),
        }
    }

    /// Records an event on a stream, if the stream is captured. Returns whether it is.
    pub(super) fn capture_record(&self, stream: &Arc<Stream>, event: &Event) -> bool {
        if !self.captures_any() {
            return false;
        }
        let mut open = lock(&self.captures.state);
        let Some((index, place)) = open.of_stream(stream) else { return false };
        let capture = &open.captures[index];
        let record = CapturedRecord { capture: capture.id, before: capture.members[place].before.clone() };
        event.set_captured(record);
        true
    }

    /// Makes a stream wait for an event, if one of the two belongs to a capture. Returns whether one does.
    pub(super) fn capture_wait(
        &self,
        call: &'static str,
        stream: &Arc<Stream>,
        event: &Event,
    ) -> DriverResult<bool> {
        if !self.captures_any() {
            return Ok(false);
        }
        let mut open = lock(&self.captures.state);
        let waits = open.of_stream(stream);
        let record = event.captured().filter(|record| open.of_record(record).is_some());
        let broken = |captures: &mut [&mut Capture], code, detail: &str| {
            captures.iter_mut().for_each(|capture| capture.valid = false);
            Err(DriverError::with_detail(call, code, detail))
        };
        match (waits, record) {
            (None, None) => Ok(false),
            (Some((index, _)), None) => {
                // An event that was never recorded makes nothing wait.
                if event.mark().is_none() {
                    return Ok(true);
                }
                let detail = "the event was not recorded in the stream's capture";
                broken(&mut [&mut open.captures[index]], ErrorCode::STREAM_CAPTURE_ISOLATION, detail)
            }
            (Some((index, place)), Some(record)) => {
                if open.captures[index].id == record.capture {
                    merge(&mut open.captures[index].members[place].before, &record.before);
                    return Ok(true);
                }
                open.captures[index].valid = false;
                let detail = "the event was recorded in another capture than the stream's";
                let Some(other) = open.of_record(&record) else { return Ok(true) };
                broken(&mut [other], ErrorCode::STREAM_CAPTURE_MERGE, detail)
            }
            (None, Some(record)) => {
                let Some(capture) = open.of_record(&record) else { return Ok(false) };
                if stream.kind() == StreamKind::Null {
                    let detail = "the null stream can't wait for an event of a capture";
                    return broken(&mut [capture], ErrorCode::STREAM_CAPTURE_IMPLICIT, detail);
                }
                if stream.device.id != capture.device.id {
                    let detail = "a stream of another device can't join a capture of the emulator";
                    return Err(DriverError::with_detail(call, ErrorCode::NOT_SUPPORTED, detail));
                }
                let joined = Member { stream: Arc::clone(stream), nodes: 0, before: record.before };
                capture.members.push(joined);
                Ok(true)
            }
        }
    }

    /// Checks that captures allow a call that waits for a stream or asks for its state.
    #[inline]
    pub(super) fn may_observe_stream(&self, call: &'static str, stream: &Arc<Stream>) -> DriverResult<()> {
        if !self.captures_any() {
            return Ok(());
        }
        {
            let mut open = lock(&self.captures.state);
            if let Some((index, _)) = open.of_stream(stream) {
                open.captures[index].valid = false;
                return Err(unsupported(call, "the stream is captured; end the capture first"));
            }
        }
        if stream.kind() == StreamKind::Null { Ok(()) } else { self.captures_allow(call) }
    }

    /// Checks that captures allow a call that waits for an event or asks for its state.
    #[inline]
    pub(super) fn may_observe_event(&self, call: &'static str, event: &Event) -> DriverResult<()> {
        if !self.captures_any() {
            return Ok(());
        }
        if let Some(record) = event.captured()
            && let Some(capture) = lock(&self.captures.state).of_record(&record)
        {
            capture.valid = false;
            let detail = "the event was recorded in a capture that has not ended";
            return Err(DriverError::with_detail(call, ErrorCode::CAPTURED_EVENT, detail));
        }
        self.captures_allow(call)
    }

    /// Checks that the modes of captures and of this thread allow a call that may wait for other work.
    #[inline]
    pub(super) fn captures_allow(&self, call: &'static str) -> DriverResult<()> {
        if !self.captures_any() {
            return Ok(());
        }
        let (thread, mode) = (thread_number(), MODE.get());
        let refuses = |capture: &Capture| match (capture.mode, mode) {
            (CaptureMode::Relaxed, _) | (_, CaptureMode::Relaxed) => false,
            (CaptureMode::Global, CaptureMode::Global) => true,
            _ => capture.thread == thread,
        };
        let detail = "a stream is captured in a mode that does not allow the call";
        self.break_captures(refuses, unsupported(call, detail))
    }

    /// Checks that there is no capture at all, for a call that would wait for captured work.
    #[inline]
    pub(super) fn captures_nothing(&self, call: &'static str, code: ErrorCode) -> DriverResult<()> {
        if !self.captures_any() {
            return Ok(());
        }
        self.break_captures(|_| true, DriverError::with_detail(call, code, "a stream is captured"))
    }

    /// Breaks the captures that `refuses` names, and fails if there are any.
    fn break_captures(&self, refuses: impl Fn(&Capture) -> bool, error: DriverError) -> DriverResult<()> {
        let mut open = lock(&self.captures.state);
        let mut broken = open.captures.iter_mut().filter(|capture| refuses(capture)).peekable();
        if broken.peek().is_none() {
            return Ok(());
        }
        broken.for_each(|capture| capture.valid = false);
        Err(error)
    }
}
