//! [Captures](crate::captures) as the calls of a driver use them: of streams that are shared, with events that keep their records, and
//! with the errors of the call.

use std::sync::{Arc, Mutex, PoisonError};

use crate::captures::{self, CaptureStream, CapturedRecord, Captures, Refused};
use crate::{CallKind, CaptureInfo, CaptureMode, DeviceId, DriverError, DriverResult, ErrorCode, Work};

/// The captures of a driver, of streams `S`. Each records a `T`, in which a node's name is its place.
#[derive(Debug)]
pub struct DriverCaptures<S, T>(Captures<Shared<S>, T, usize>);

/// A stream that is shared. Two are equal if they are the same.
#[derive(Debug)]
struct Shared<S>(Arc<S>);

/// A driver's stream, of which [`DriverCaptures`] asks this.
pub trait DriverStream {
    /// Whether it is a device's null stream, which can't be captured.
    fn is_null(&self) -> bool;
    /// The stream's device.
    fn device(&self) -> DeviceId;
}

/// The last record of an event, if it was on a captured stream. Once the capture has ended, the event is as it was before.
#[derive(Debug, Default)]
pub struct EventCapture(Mutex<Option<CapturedRecord<usize>>>);

impl EventCapture {
    /// Forgets the record, for an event that is recorded on a stream that is not captured.
    pub fn clear(&self) {
        self.set(None);
    }

    fn set(&self, record: Option<CapturedRecord<usize>>) {
        // An assignment can't leave the record half-changed.
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = record;
    }

    fn get(&self) -> Option<CapturedRecord<usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl<S> PartialEq for Shared<S> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl<S: DriverStream> CaptureStream for Shared<S> {
    fn is_null(&self) -> bool {
        self.0.is_null()
    }

    fn device(&self) -> DeviceId {
        self.0.device()
    }
}

impl<S, T> Default for DriverCaptures<S, T> {
    fn default() -> Self {
        DriverCaptures(Captures::default())
    }
}

fn key<S>(stream: &Arc<S>) -> Shared<S> {
    Shared(Arc::clone(stream))
}

fn of<R>(call: &'static str, answer: Result<R, Refused>) -> DriverResult<R> {
    answer.map_err(|refused| refused.of(call))
}

/// The errors are those of the methods of [`Captures`] with the same names.
#[allow(clippy::missing_errors_doc, reason = "the implementation's own text covers every method")]
impl<S: DriverStream, T> DriverCaptures<S, T> {
    /// Whether this stream is captured.
    #[inline]
    pub fn is_captured(&self, stream: &Arc<S>) -> bool {
        self.0.any() && self.0.is_captured(&key(stream))
    }

    /// Begins to capture a stream.
    pub fn begin(&self, call: &'static str, stream: &Arc<S>, mode: CaptureMode) -> DriverResult<()>
    where
        T: Default,
    {
        of(call, self.0.begin(key(stream), mode, T::default(), Vec::new()))
    }

    /// Ends the capture that was begun on a stream, and returns what it recorded.
    pub fn end(&self, call: &'static str, stream: &Arc<S>) -> DriverResult<T> {
        let ended = of(call, self.0.end(&key(stream)))?;
        of(call, ended.complete)?;
        Ok(ended.recorded)
    }

    /// Ends the capture that was begun on a stream that is destroyed.
    pub fn forget(&self, stream: &Arc<S>) {
        drop(self.0.forget(&key(stream)));
    }

    /// What a program can ask of the capture of a stream.
    pub fn info(&self, stream: &Arc<S>) -> CaptureInfo {
        let info =
            |capture: captures::Captured<'_, _, _>| CaptureInfo { status: capture.status, id: capture.id };
        self.0.with(&key(stream), info).unwrap_or(CaptureInfo::NONE)
    }

    /// Makes a node of work that is enqueued on a stream, if the stream is captured. Returns whether it is. `prepare` is called first, and
    /// `push` gets what it returned and the places of the nodes that the new one comes after, and returns its place; `None` if there is
    /// nothing to do.
    ///
    /// Fails also with `NOT_SUPPORTED` for no work, `STREAM_CAPTURE_UNSUPPORTED` for what is no node of a graph, and as `prepare` does.
    #[inline]
    pub fn add<P>(
        &self,
        stream: &Arc<S>,
        work: &Work<'_>,
        prepare: impl FnOnce(&'static str) -> DriverResult<P>,
        push: impl FnOnce(P, &mut T, &[usize]) -> Option<usize>,
    ) -> DriverResult<bool> {
        if !self.is_captured(stream) {
            return Ok(false);
        }
        let call = work.kind().name();
        if let Work::Empty = work {
            return Err(work.unsupported(call));
        }
        if work.node_kind() == CallKind::UnsupportedWork {
            let detail = "the stream is captured, and such work is no node of a graph";
            return Err(DriverError::with_detail(call, ErrorCode::STREAM_CAPTURE_UNSUPPORTED, detail));
        }
        let prepared = prepare(call)?;
        let push = |recorded: &mut T, after: &[usize]| Ok::<_, Refused>(push(prepared, recorded, after));
        of(call, self.0.add(&key(stream), push))
    }

    /// Asks the captures, if any stream is captured. Else the answer is that nothing is: without a capture, a call reads one number.
    #[inline]
    fn ask<R: Default>(
        &self,
        call: &'static str,
        ask: impl FnOnce(&Captures<Shared<S>, T, usize>) -> Result<R, Refused>,
    ) -> DriverResult<R> {
        if self.0.any() { of(call, ask(&self.0)) } else { Ok(R::default()) }
    }

    /// Checks that a stream is not captured, for what is no node of a graph.
    #[inline]
    pub fn not_captured(&self, call: &'static str, stream: &Arc<S>) -> DriverResult<()> {
        self.ask(call, |captures| captures.not_captured(&key(stream)))
    }

    /// Records an event on a stream, if the stream is captured. Returns whether it is.
    #[inline]
    pub fn record(&self, stream: &Arc<S>, event: &EventCapture) -> bool {
        self.0.any() && self.0.record(&key(stream)).map(|record| event.set(Some(record))).is_some()
    }

    /// Makes a stream wait for an event, if one of the two belongs to a capture. Returns whether one does. `is_recorded` is whether the event
    /// was recorded on a stream that was not captured.
    #[inline]
    pub fn wait(
        &self,
        call: &'static str,
        stream: &Arc<S>,
        event: &EventCapture,
        is_recorded: impl FnOnce() -> bool,
    ) -> DriverResult<bool> {
        self.ask(call, |captures| captures.wait(key(stream), event.get(), is_recorded()))
    }

    /// Checks that captures allow a call that waits for an event or asks for its state.
    #[inline]
    pub fn may_observe_event(&self, call: &'static str, event: &EventCapture) -> DriverResult<()> {
        self.ask(call, |captures| captures.may_observe_event(event.get().as_ref()))
    }

    /// Checks that captures allow a call that waits for a stream or asks for its state.
    #[inline]
    pub fn may_observe_stream(&self, call: &'static str, stream: &Arc<S>) -> DriverResult<()> {
        self.ask(call, |captures| captures.may_observe_stream(&key(stream)))
    }

    /// Checks that the modes of captures and of this thread allow a call that may wait for other work.
    #[inline]
    pub fn allow(&self, call: &'static str) -> DriverResult<()> {
        of(call, self.0.allow())
    }

    /// Checks that there is no capture at all, for a call that would wait for captured work. `otherwise` is the error's code.
    #[inline]
    pub fn none(&self, call: &'static str, otherwise: ErrorCode) -> DriverResult<()> {
        of(call, self.0.none(otherwise))
    }
}
