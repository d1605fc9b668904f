//! The rules of stream capture, for drivers that record captures themselves.
//!
//! A captured stream has the nodes that its next one comes after. An event that is recorded on it keeps them, and a
//! stream that waits for the event joins the capture. [`Captures`] keeps that and says which calls are refused; what a
//! node is, its user decides.
//!
//! The codes are those of HIP 7.2 (seen), with these exceptions. HIP lets a stream wait for an event of another
//! capture, or for one that was recorded outside, and loses the order; here both fail with the codes that HIP has for
//! them. HIP breaks the capture of one stream of several; here it is broken for all. An end that fails ends the
//! capture, as [`Driver::stream_end_capture`](crate::Driver::stream_end_capture) says. A stream of another device can't join.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{CaptureMode, CaptureStatus, DeviceId, DriverError, ErrorCode, thread_number};

thread_local! {
    static MODE: Cell<CaptureMode> = const { Cell::new(CaptureMode::Global) };
}

/// Replaces the calling thread's own mode, and returns the one that it had.
pub fn exchange_thread_mode(mode: CaptureMode) -> CaptureMode {
    MODE.replace(mode)
}

/// A stream of the user of [`Captures`]. Two are equal if they are the same stream.
pub trait CaptureStream: PartialEq {
    /// Whether it is a device's null stream, which can't be captured.
    fn is_null(&self) -> bool;
    /// The stream's device.
    fn device(&self) -> DeviceId;
}

/// Why a call is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// HIP's code.
    pub code: ErrorCode,
    /// The reason in words.
    pub detail: &'static str,
}

impl Refused {
    const fn new(code: ErrorCode, detail: &'static str) -> Refused {
        Refused { code, detail }
    }

    const fn unsupported(detail: &'static str) -> Refused {
        Refused::new(ErrorCode::STREAM_CAPTURE_UNSUPPORTED, detail)
    }

    /// The error of a driver call.
    pub fn of(self, call: &'static str) -> DriverError {
        DriverError::with_detail(call, self.code, self.detail)
    }
}

type Answer<T = ()> = Result<T, Refused>;

/// The captures that have not ended, of streams `S`. Each records a `T`, whose nodes are named by values `N`.
///
/// Without any capture, a call reads one number.
#[derive(Debug)]
pub struct Captures<S, T, N> {
    open: AtomicUsize,
    state: Mutex<Open<S, T, N>>,
}

#[derive(Debug)]
struct Open<S, T, N> {
    captures: Vec<Capture<S, T, N>>,
    begun: u64,
}

#[derive(Debug)]
struct Capture<S, T, N> {
    id: u64,
    mode: CaptureMode,
    /// The number of the thread that began it.
    thread: u64,
    /// Whether no call has broken it.
    valid: bool,
    /// The streams that are captured; it was begun on the first.
    members: Vec<Member<S, N>>,
    /// The nodes that no other comes after.
    last: Vec<N>,
    recorded: T,
}

/// A stream of a capture.
#[derive(Debug)]
struct Member<S, N> {
    stream: S,
    /// The nodes that the stream's next one comes after.
    after: Vec<N>,
}

/// The record of an event on a captured stream.
#[derive(Clone, Debug)]
pub struct CapturedRecord<N> {
    capture: u64,
    after: Vec<N>,
}

/// The capture of a stream, as [`Captures::with`] shows it.
#[derive(Debug)]
pub struct Captured<'a, T, N> {
    /// The capture's number, which all its streams have.
    pub id: u64,
    /// Active or invalidated.
    pub status: CaptureStatus,
    /// What the capture records.
    pub recorded: &'a mut T,
    /// The nodes that the stream's next one comes after.
    pub after: &'a mut Vec<N>,
    last: &'a mut Vec<N>,
}

impl<T, N: PartialEq> Captured<'_, T, N> {
    /// Has the stream's next node come after others than before. Those that it leaves out need not be joined.
    pub fn replace_dependencies(&mut self, after: Vec<N>) {
        let left_out = |node: &N| self.after.contains(node) && !after.contains(node);
        self.last.retain(|node| !left_out(node));
        *self.after = after;
    }
}

/// What a capture that has ended recorded.
#[derive(Debug)]
pub struct Ended<T> {
    /// What it recorded; all of it only if it is complete.
    pub recorded: T,
    /// Whether it is complete: no call broke it, and its first stream waits for all work of those that joined.
    pub complete: Result<(), Refused>,
}

impl<S, T, N> Default for Captures<S, T, N> {
    fn default() -> Self {
        Captures { open: AtomicUsize::new(0), state: Mutex::new(Open { captures: Vec::new(), begun: 0 }) }
    }
}

impl<S: CaptureStream, T, N> Open<S, T, N> {
    /// The capture of a stream, and its place among the members.
    fn of_stream(&self, stream: &S) -> Option<(usize, usize)> {
        let is_it = |member: &Member<S, N>| member.stream == *stream;
        let place =
            |(i, capture): (usize, &Capture<S, T, N>)| Some((i, capture.members.iter().position(is_it)?));
        self.captures.iter().enumerate().find_map(place)
    }

    fn of_record(&self, record: &CapturedRecord<N>) -> Option<usize> {
        self.captures.iter().position(|capture| capture.id == record.capture)
    }

    fn break_one(&mut self, index: usize) {
        self.captures[index].valid = false;
    }
}

impl<S: CaptureStream, T, N: Clone + PartialEq> Captures<S, T, N> {
    /// Whether any stream is captured.
    #[inline]
    pub fn any(&self) -> bool {
        self.open.load(Ordering::SeqCst) > 0
    }

    /// Whether this stream is captured.
    #[inline]
    pub fn is_captured(&self, stream: &S) -> bool {
        self.any() && self.lock().of_stream(stream).is_some()
    }

    fn lock(&self) -> MutexGuard<'_, Open<S, T, N>> {
        // No panic under the lock leaves the captures half-changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, open: &mut Open<S, T, N>, index: usize) -> Capture<S, T, N> {
        let capture = open.captures.remove(index);
        self.open.store(open.captures.len(), Ordering::SeqCst);
        capture
    }

    /// Begins to capture a stream into `recorded`. The stream's first node comes after the nodes `after`.
    ///
    /// # Errors
    /// `STREAM_CAPTURE_UNSUPPORTED` for a null stream, `ILLEGAL_STATE` for one that is captured.
    pub fn begin(&self, stream: S, mode: CaptureMode, recorded: T, after: Vec<N>) -> Answer {
        if stream.is_null() {
            return Err(Refused::unsupported("the null stream can't be captured"));
        }
        let mut open = self.lock();
        if open.of_stream(&stream).is_some() {
            return Err(Refused::new(ErrorCode::ILLEGAL_STATE, "the stream is captured already"));
        }
        open.begun += 1;
        let capture = Capture {
            id: open.begun,
            mode,
            thread: thread_number(),
            valid: true,
            members: vec![Member { stream, after }],
            last: Vec::new(),
            recorded,
        };
        open.captures.push(capture);
        self.open.store(open.captures.len(), Ordering::SeqCst);
        Ok(())
    }

    /// Ends the capture that was begun on a stream.
    ///
    /// # Errors
    /// The capture, if there is one, goes on. `ILLEGAL_STATE`: the stream is not captured; `STREAM_CAPTURE_UNMATCHED`: it
    /// joined the capture; `STREAM_CAPTURE_WRONG_THREAD`: another thread began it, and the mode is not relaxed.
    pub fn end(&self, stream: &S) -> Answer<Ended<T>> {
        let mut open = self.lock();
        let Some((index, member)) = open.of_stream(stream) else {
            return Err(Refused::new(ErrorCode::ILLEGAL_STATE, "the stream is not captured"));
        };
        if member != 0 {
            let detail = "the stream joined the capture of another, on which it ends";
            return Err(Refused::new(ErrorCode::STREAM_CAPTURE_UNMATCHED, detail));
        }
        let Capture { mode, thread, .. } = open.captures[index];
        if mode != CaptureMode::Relaxed && thread != thread_number() {
            let detail = "another thread began the capture";
            return Err(Refused::new(ErrorCode::STREAM_CAPTURE_WRONG_THREAD, detail));
        }
        let capture = self.take(&mut open, index);
        let joined = capture.last.iter().all(|node| capture.members[0].after.contains(node));
        let complete = match (capture.valid, joined) {
            (true, true) => Ok(()),
            (true, false) => Err(Refused::new(
                ErrorCode::STREAM_CAPTURE_UNJOINED,
                "the stream does not wait for all work of those that joined",
            )),
            (false, _) => {
                Err(Refused::new(ErrorCode::STREAM_CAPTURE_INVALIDATED, "a call broke the capture"))
            }
        };
        Ok(Ended { recorded: capture.recorded, complete })
    }

    /// Ends the capture that was begun on a stream that is destroyed, and returns what it recorded.
    pub fn forget(&self, stream: &S) -> Option<T> {
        if !self.any() {
            return None;
        }
        let mut open = self.lock();
        match open.of_stream(stream) {
            Some((index, 0)) => Some(self.take(&mut open, index).recorded),
            _ => None,
        }
    }

    /// Shows the capture of a stream to `look`; `None` if the stream is not captured.
    pub fn with<R>(&self, stream: &S, look: impl FnOnce(Captured<'_, T, N>) -> R) -> Option<R> {
        if !self.any() {
            return None;
        }
        let mut open = self.lock();
        let (index, place) = open.of_stream(stream)?;
        let Capture { id, valid, members, last, recorded, .. } = &mut open.captures[index];
        let status = if *valid { CaptureStatus::Active } else { CaptureStatus::Invalidated };
        Some(look(Captured { id: *id, status, recorded, after: &mut members[place].after, last }))
    }

    /// Records a node for a call on a stream, if the stream is captured. `make` gets the nodes that it comes after, and
    /// returns its name; `None` if there is nothing to do. Returns whether the stream is captured.
    ///
    /// # Errors
    /// `STREAM_CAPTURE_INVALIDATED` if a call broke the capture, or what `make` returns.
    pub fn add<E: From<Refused>>(
        &self,
        stream: &S,
        make: impl FnOnce(&mut T, &[N]) -> Result<Option<N>, E>,
    ) -> Result<bool, E> {
        if !self.any() {
            return Ok(false);
        }
        let mut open = self.lock();
        let Some((index, place)) = open.of_stream(stream) else { return Ok(false) };
        let capture = &mut open.captures[index];
        if !capture.valid {
            let detail = "an earlier call broke the capture; end it";
            return Err(Refused::new(ErrorCode::STREAM_CAPTURE_INVALIDATED, detail).into());
        }
        let after = &mut capture.members[place].after;
        if let Some(node) = make(&mut capture.recorded, after)? {
            capture.last.retain(|earlier| !after.contains(earlier));
            capture.last.push(node.clone());
            *after = vec![node];
        }
        Ok(true)
    }

    /// Checks that a stream is not captured, for what is no node of a graph.
    ///
    /// # Errors
    /// `STREAM_CAPTURE_UNSUPPORTED` if it is. The capture goes on.
    #[inline]
    pub fn not_captured(&self, stream: &S) -> Answer {
        match self.is_captured(stream) {
            false => Ok(()),
            true => Err(Refused::unsupported("the stream is captured")),
        }
    }

    /// The record of an event on a stream, if the stream is captured.
    pub fn record(&self, stream: &S) -> Option<CapturedRecord<N>> {
        self.with(stream, |capture| CapturedRecord { capture: capture.id, after: capture.after.clone() })
    }

    /// Makes a stream wait for an event, if one of the two belongs to a capture. Returns whether one does. `record` is
    /// the event's last record if that was on a captured stream, and `is_recorded` whether it was recorded on another.
    ///
    /// # Errors
    /// The captures are broken. `STREAM_CAPTURE_ISOLATION`: the event was recorded outside; `STREAM_CAPTURE_MERGE`: in
    /// another capture; `STREAM_CAPTURE_IMPLICIT`: a null stream can't wait for it. `NOT_SUPPORTED`, with which the capture
    /// goes on: the stream is another device's.
    pub fn wait(&self, stream: S, record: Option<CapturedRecord<N>>, is_recorded: bool) -> Answer<bool> {
        if !self.any() {
            return Ok(false);
        }
        let mut open = self.lock();
        let waits = open.of_stream(&stream);
        let of_record = record.as_ref().and_then(|record| open.of_record(record));
        match (waits, record.zip(of_record)) {
            (None, None) => Ok(false),
            // An event that was never recorded makes nothing wait.
            (Some(_), None) if !is_recorded => Ok(true),
            (Some((index, _)), None) => {
                open.break_one(index);
                let detail = "the event was not recorded in the stream's capture";
                Err(Refused::new(ErrorCode::STREAM_CAPTURE_ISOLATION, detail))
            }
            (Some((index, place)), Some((record, of_record))) if index == of_record => {
                let after = &mut open.captures[index].members[place].after;
                let new: Vec<N> = record.after.into_iter().filter(|node| !after.contains(node)).collect();
                after.extend(new);
                Ok(true)
            }
            (Some((index, _)), Some((_, of_record))) => {
                open.break_one(index);
                open.break_one(of_record);
                let detail = "the event was recorded in another capture than the stream's";
                Err(Refused::new(ErrorCode::STREAM_CAPTURE_MERGE, detail))
            }
            (None, Some((_, index))) if stream.is_null() => {
                open.break_one(index);
                let detail = "the null stream can't wait for an event of a capture";
                Err(Refused::new(ErrorCode::STREAM_CAPTURE_IMPLICIT, detail))
            }
            (None, Some((record, index))) => {
                let members = &mut open.captures[index].members;
                if members[0].stream.device() != stream.device() {
                    let detail = "a stream of another device can't join a capture of the emulator";
                    return Err(Refused::new(ErrorCode::NOT_SUPPORTED, detail));
                }
                members.push(Member { stream, after: record.after });
                Ok(true)
            }
        }
    }

    /// Checks that captures allow a call that waits for a stream or asks for its state.
    ///
    /// # Errors
    /// `STREAM_CAPTURE_UNSUPPORTED` if the stream is captured, which breaks the capture, or as for [`allow`](Self::allow).
    #[inline]
    pub fn may_observe_stream(&self, stream: &S) -> Answer {
        if !self.any() {
            return Ok(());
        }
        let mut open = self.lock();
        if let Some((index, _)) = open.of_stream(stream) {
            open.break_one(index);
            return Err(Refused::unsupported("the stream is captured; end the capture first"));
        }
        drop(open);
        if stream.is_null() { Ok(()) } else { self.allow() }
    }

    /// Checks that captures allow a call that waits for an event or asks for its state. `record` is the event's last
    /// record, if that was on a captured stream.
    ///
    /// # Errors
    /// `CAPTURED_EVENT` if its capture has not ended, which breaks the capture, or as for [`allow`](Self::allow).
    pub fn may_observe_event(&self, record: Option<&CapturedRecord<N>>) -> Answer {
        if !self.any() {
            return Ok(());
        }
        if let Some(record) = record {
            let mut open = self.lock();
            if let Some(index) = open.of_record(record) {
                open.break_one(index);
                let detail = "the event was recorded in a capture that has not ended";
                return Err(Refused::new(ErrorCode::CAPTURED_EVENT, detail));
            }
        }
        self.allow()
    }

    /// Checks that the modes of captures and of this thread allow a call that may wait for other work.
    ///
    /// # Errors
    /// `STREAM_CAPTURE_UNSUPPORTED` if one does not. The captures that refuse it are broken.
    #[inline]
    pub fn allow(&self) -> Answer {
        if !self.any() {
            return Ok(());
        }
        let (thread, mode) = (thread_number(), MODE.get());
        let refuses = |capture: &Capture<S, T, N>| match (capture.mode, mode) {
            (CaptureMode::Relaxed, _) | (_, CaptureMode::Relaxed) => false,
            (CaptureMode::Global, CaptureMode::Global) => true,
            _ => capture.thread == thread,
        };
        let detail = "a stream is captured in a mode that does not allow the call";
        self.break_where(refuses, Refused::unsupported(detail))
    }

    /// Checks that there is no capture at all, for a call that would wait for captured work.
    ///
    /// # Errors
    /// `otherwise` if there is one. All captures are broken.
    #[inline]
    pub fn none(&self, otherwise: ErrorCode) -> Answer {
        if !self.any() {
            return Ok(());
        }
        self.break_where(|_| true, Refused::new(otherwise, "a stream is captured"))
    }

    /// Breaks the captures that `refuses` names, and fails if there are any.
    fn break_where(&self, refuses: impl Fn(&Capture<S, T, N>) -> bool, refused: Refused) -> Answer {
        let mut open = self.lock();
        let mut broken = open.captures.iter_mut().filter(|capture| refuses(capture)).peekable();
        if broken.peek().is_none() {
            return Ok(());
        }
        broken.for_each(|capture| capture.valid = false);
        Err(refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, PartialEq)]
    struct Stream(u32, u32);

    impl CaptureStream for Stream {
        fn is_null(&self) -> bool {
            self.1 == 0
        }

        fn device(&self) -> DeviceId {
            DeviceId(self.0)
        }
    }

    const MAIN: Stream = Stream(0, 1);
    const SIDE: Stream = Stream(0, 2);
    const NULL: Stream = Stream(0, 0);

    /// A node, and those that it comes after.
    type Nodes = Vec<(u32, Vec<u32>)>;
    type TestCaptures = Captures<Stream, Nodes, u32>;

    fn begun() -> TestCaptures {
        let captures = TestCaptures::default();
        captures.begin(MAIN, CaptureMode::Relaxed, Vec::new(), Vec::new()).unwrap();
        captures
    }

    fn add(captures: &TestCaptures, stream: Stream, node: u32) -> Answer<bool> {
        captures.add(&stream, |nodes, after| {
            nodes.push((node, after.to_vec()));
            Ok(Some(node))
        })
    }

    fn end(captures: &TestCaptures) -> Result<Nodes, ErrorCode> {
        let ended = captures.end(&MAIN).map_err(|refused| refused.code)?;
        ended.complete.map(|()| ended.recorded).map_err(|refused| refused.code)
    }

    #[test]
    fn nodes_of_a_stream_come_after_each_other_and_those_of_a_join_after_both() {
        let captures = begun();
        assert_eq!(add(&captures, SIDE, 0), Ok(false));
        assert_eq!(add(&captures, MAIN, 1), Ok(true));
        assert_eq!(captures.wait(SIDE, captures.record(&MAIN), false), Ok(true));
        assert_eq!(add(&captures, SIDE, 2), Ok(true));
        assert_eq!(add(&captures, MAIN, 3), Ok(true));
        assert_eq!(captures.wait(MAIN, captures.record(&SIDE), false), Ok(true));
        assert_eq!(add(&captures, MAIN, 4), Ok(true));
        let expected = vec![(1, vec![]), (2, vec![1]), (3, vec![1]), (4, vec![3, 2])];
        assert_eq!(end(&captures), Ok(expected));
        assert!(!captures.any());
    }

    #[test]
    fn work_that_the_first_stream_does_not_wait_for_is_unjoined_unless_it_was_left_out() {
        for left_out in [false, true] {
            let captures = begun();
            add(&captures, MAIN, 1).unwrap();
            captures.wait(SIDE, captures.record(&MAIN), false).unwrap();
            add(&captures, SIDE, 2).unwrap();
            if left_out {
                captures.with(&SIDE, |mut side| side.replace_dependencies(Vec::new())).unwrap();
            }
            let outcome = end(&captures).map(|nodes| nodes.len());
            assert_eq!(outcome, if left_out { Ok(2) } else { Err(ErrorCode::STREAM_CAPTURE_UNJOINED) });
        }
    }

    #[test]
    fn a_call_that_would_wait_breaks_captures_by_their_modes() {
        for (mode, refused) in
            [(CaptureMode::Global, true), (CaptureMode::ThreadLocal, true), (CaptureMode::Relaxed, false)]
        {
            let captures = TestCaptures::default();
            captures.begin(MAIN, mode, Vec::new(), Vec::new()).unwrap();
            assert_eq!(captures.allow().is_err(), refused, "{mode:?}");
            let broken = add(&captures, MAIN, 1).map_err(|refused| refused.code);
            assert_eq!(broken, if refused { Err(ErrorCode::STREAM_CAPTURE_INVALIDATED) } else { Ok(true) });
        }
        // Another thread is refused by global captures alone, and a relaxed thread by none.
        for (mode, refused) in [(CaptureMode::Global, true), (CaptureMode::ThreadLocal, false)] {
            let captures = TestCaptures::default();
            captures.begin(MAIN, mode, Vec::new(), Vec::new()).unwrap();
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    assert_eq!(captures.allow().is_err(), refused, "{mode:?}");
                    assert_eq!(exchange_thread_mode(CaptureMode::Relaxed), CaptureMode::Global);
                    assert_eq!(captures.allow(), Ok(()));
                });
            });
        }
    }

    #[test]
    fn an_end_is_refused_on_another_stream_and_by_another_thread() {
        let captures = TestCaptures::default();
        captures.begin(MAIN, CaptureMode::ThreadLocal, Vec::new(), Vec::new()).unwrap();
        captures.wait(SIDE, captures.record(&MAIN), false).unwrap();
        let code = |stream: Stream| captures.end(&stream).map(drop).map_err(|refused| refused.code);
        assert_eq!(code(SIDE), Err(ErrorCode::STREAM_CAPTURE_UNMATCHED));
        assert_eq!(code(Stream(0, 9)), Err(ErrorCode::ILLEGAL_STATE));
        std::thread::scope(|scope| {
            scope.spawn(|| assert_eq!(code(MAIN), Err(ErrorCode::STREAM_CAPTURE_WRONG_THREAD)));
        });
        assert_eq!(code(MAIN), Ok(()));
    }

    #[test]
    fn waits_for_work_outside_and_for_other_captures_break_them() {
        let captures = begun();
        let record = captures.record(&MAIN);
        let code = |stream, record, recorded| {
            captures.wait(stream, record, recorded).map_err(|refused: Refused| refused.code)
        };
        assert_eq!(code(MAIN, None, false), Ok(true));
        assert_eq!(code(SIDE, None, true), Ok(false));
        assert_eq!(code(Stream(1, 1), record.clone(), false), Err(ErrorCode::NOT_SUPPORTED));
        captures.begin(SIDE, CaptureMode::Relaxed, Vec::new(), Vec::new()).unwrap();
        assert_eq!(code(SIDE, record.clone(), false), Err(ErrorCode::STREAM_CAPTURE_MERGE));
        assert_eq!(end(&captures), Err(ErrorCode::STREAM_CAPTURE_INVALIDATED));
        assert_eq!(code(SIDE, None, true), Err(ErrorCode::STREAM_CAPTURE_ISOLATION));

        let captures = begun();
        let implicit = captures.wait(NULL, captures.record(&MAIN), false).unwrap_err();
        assert_eq!(implicit.code, ErrorCode::STREAM_CAPTURE_IMPLICIT);
        assert_eq!(
            captures.begin(NULL, CaptureMode::Global, Vec::new(), Vec::new()).unwrap_err().code.0,
            900
        );
        assert_eq!(captures.forget(&SIDE), None);
        assert_eq!(captures.forget(&MAIN), Some(Vec::new()));
    }
}
