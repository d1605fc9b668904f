//! Times of device work from timed events: one recorded before it and one after it, read when both were reached.
//!
//! A driver returns the time between two events in milliseconds, as a 32-bit float: exact for events that are close
//! together, but microseconds off after minutes. So each event's time is computed from the event before it on the
//! stream. The first event is recorded when the stream is created; the host waits for it and reads its own clock before
//! and after.
//!
//! Work cannot begin before the call that enqueued it began, and has ended when the host sees that it has. If a
//! stream's times contradict that because the two clocks differ, they are moved.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use hip_driver::{DeviceId, Driver, DriverResult, EventOptions, RawEvent, RawStream};

use super::record::WorkRecord;
use super::recorder::{Recorder, lock};

/// The maximum number of pieces of work on a stream whose times are not read yet. Work beyond that gets no times.
const MOST_PENDING: usize = 8192;

/// The number of pieces of work after which the events are queried.
const LOOK_AFTER: u32 = 64;

/// A stream's first event is recorded until the host waits for it no longer than `GOOD_ANCHOR` nanoseconds, but at most
/// `ANCHORS` times: the first use of a stream may take milliseconds.
const ANCHORS: u32 = 4;
const GOOD_ANCHOR: u64 = 50_000;

/// The events of one stream, and the times they give.
pub(super) struct Track {
    device: DeviceId,
    stream: RawStream,
    state: Mutex<TrackState>,
    turns: Mutex<Turns>,
    turn_ended: Condvar,
}

/// Whether a thread is between the two events of a call on the stream, and how many threads wait for that to end.
#[derive(Default)]
struct Turns {
    taken: bool,
    waiting: u32,
}

/// The right to record events on a stream: no other thread's work comes between them. Ends when it is dropped.
pub(super) struct Turn(Arc<Track>);

impl Turn {
    /// Waits until no other thread is between two events.
    pub(super) fn take(track: Arc<Track>) -> Turn {
        let mut turns = lock(&track.turns);
        while turns.taken {
            turns.waiting += 1;
            turns = track.turn_ended.wait(turns).unwrap_or_else(PoisonError::into_inner);
            turns.waiting -= 1;
        }
        turns.taken = true;
        drop(turns);
        Turn(track)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut turns = lock(&self.0.turns);
        turns.taken = false;
        if turns.waiting > 0 {
            self.0.turn_ended.notify_one();
        }
    }
}

pub(super) struct TrackState {
    /// The last event with a known time, and that time in nanoseconds of the timeline.
    last: (RawEvent, f64),
    /// The end of the last work with known times, in nanoseconds of the timeline.
    end: u64,
    pending: VecDeque<Pending>,
    /// Events that can be used again.
    free: Vec<RawEvent>,
    since_look: u32,
}

/// Work whose events were recorded but not read.
struct Pending {
    correlation: u64,
    begin: RawEvent,
    end: End,
    /// When the first event was recorded, and when the call began, in nanoseconds of the timeline.
    asked: u64,
    called: u64,
}

impl TrackState {
    /// Drops the times that were not read, and counts them.
    fn lose(&mut self, recorder: &Recorder) {
        for lost in self.pending.drain(..) {
            recorder.work.drop_one();
            self.free.extend(lost.events());
        }
    }
}

impl Pending {
    /// Returns its events in the order in which they were recorded.
    fn events(&self) -> impl Iterator<Item = RawEvent> + use<> {
        let end = match self.end {
            End::Event(end) => Some(end),
            End::Seen(_) => None,
        };
        [self.begin].into_iter().chain(end)
    }
}

/// How the end of the work is determined.
#[derive(Clone, Copy)]
enum End {
    Event(RawEvent),
    /// The call waited for the work: the host's time after it. An event after it would make the stream busy again.
    Seen(u64),
}

/// A piece of work whose first event was recorded, while the call is made.
pub(super) struct StartedCall {
    begin: RawEvent,
    end: RawEvent,
    asked: u64,
}

impl Track {
    /// Creates the track of a new stream, and determines its time. Waits for the stream, which is idle.
    pub(super) fn new(
        driver: &dyn Driver,
        recorder: &Recorder,
        device: DeviceId,
        stream: RawStream,
    ) -> DriverResult<Track> {
        let event = driver.event_create(device, EventOptions { timing: true })?;
        match anchor(driver, recorder, device, stream, event) {
            Ok(time) => {
                let state = TrackState {
                    last: (event, time),
                    end: 0,
                    pending: VecDeque::new(),
                    free: Vec::new(),
                    since_look: 0,
                };
                Ok(Track {
                    device,
                    stream,
                    state: Mutex::new(state),
                    turns: Mutex::default(),
                    turn_ended: Condvar::new(),
                })
            }
            Err(error) => {
                destroy(driver, device, event);
                Err(error)
            }
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, TrackState> {
        lock(&self.state)
    }

    /// Records the event before a piece of work; `None` if that is not possible.
    pub(super) fn begin(
        &self,
        state: &mut TrackState,
        driver: &dyn Driver,
        recorder: &Recorder,
    ) -> Option<StartedCall> {
        state.since_look += 1;
        if state.since_look >= LOOK_AFTER {
            self.collect(state, driver, recorder);
        }
        if state.pending.len() >= MOST_PENDING {
            return None;
        }
        let begin = self.event(state, driver)?;
        let Some(end) = self.event(state, driver) else {
            state.free.push(begin);
            return None;
        };
        let asked = recorder.now();
        // SAFETY: an event of this track, on its stream, which the caller of the layer guarantees to be live.
        match unsafe { driver.event_record(self.device, begin, self.stream) } {
            Ok(()) => Some(StartedCall { begin, end, asked }),
            Err(_) => {
                state.free.extend([begin, end]);
                None
            }
        }
    }

    /// Records the event after a piece of work; `false` if that fails, so that its times are lost. `waited` says that
    /// the call probably waited for the stream. `called` and `returned` are the times of the call.
    pub(super) fn end(
        &self,
        state: &mut TrackState,
        driver: &dyn Driver,
        begun: StartedCall,
        correlation: u64,
        (called, returned): (u64, u64),
        waited: bool,
    ) -> bool {
        let StartedCall { begin, end, asked } = begun;
        // SAFETY: an event of this track that is alive.
        let end = if waited && unsafe { driver.event_query(self.device, begin) }.is_ok_and(|reached| reached)
        {
            state.free.push(end);
            End::Seen(returned)
        } else {
            // SAFETY: as in `begin`.
            if unsafe { driver.event_record(self.device, end, self.stream) }.is_err() {
                state.free.extend([begin, end]);
                return false;
            }
            End::Event(end)
        };
        state.pending.push_back(Pending { correlation, begin, end, asked, called });
        true
    }

    /// Frees the events of work that was refused.
    pub(super) fn cancel(state: &mut TrackState, begun: &StartedCall) {
        state.free.extend([begun.begin, begun.end]);
    }

    fn event(&self, state: &mut TrackState, driver: &dyn Driver) -> Option<RawEvent> {
        let made = || driver.event_create(self.device, EventOptions { timing: true }).ok();
        state.free.pop().or_else(made)
    }

    /// Reads the times of all work that was reached. Never waits.
    pub(super) fn collect(&self, state: &mut TrackState, driver: &dyn Driver, recorder: &Recorder) {
        state.since_look = 0;
        while let Some(next) = state.pending.front() {
            let last = next.events().last().unwrap_or(next.begin);
            // SAFETY: an event of this track that is alive.
            match unsafe { driver.event_query(self.device, last) } {
                Ok(false) => return,
                Ok(true) => {}
                Err(error) if error.code.is_sticky() => {
                    // The device runs nothing any more.
                    state.lose(recorder);
                    return;
                }
                Err(_) => {}
            }
            let Some(next) = state.pending.pop_front() else { return };
            self.resolve(state, driver, recorder, next);
        }
    }

    /// Computes the times of one piece of work whose events were reached.
    fn resolve(&self, state: &mut TrackState, driver: &dyn Driver, recorder: &Recorder, work: Pending) {
        let elapsed = |from, to| {
            // SAFETY: timed events of this track that are alive.
            let ms = unsafe { driver.event_elapsed_ms(self.device, from, to) }.ok()?;
            Some(f64::from(ms) * 1e6)
        };
        let (last, last_time) = state.last;
        let took = match work.end {
            End::Event(end) => elapsed(work.begin, end),
            End::Seen(_) => Some(0.0),
        };
        let (Some(before), Some(took)) = (elapsed(last, work.begin), took) else {
            state.free.extend(work.events());
            recorder.work.drop_one();
            return;
        };
        let seen = match work.end {
            End::Event(_) => recorder.now(),
            End::Seen(end) => end,
        };
        let time = in_order(last_time + before, took, work.asked as f64, seen as f64);
        let begin = (time as u64).max(work.called).max(state.end);
        let end = match work.end {
            End::Event(_) => (time + took) as u64,
            End::Seen(end) => end,
        };
        let end = end.max(begin + 1);
        state.end = end;
        state.free.extend([last].into_iter().chain(work.events().skip(1)));
        state.last = (work.begin, time);
        let correlation = work.correlation;
        recorder.record_work(WorkRecord { correlation, begin, end, node: None, counts: None });
    }

    /// Returns whether all times were read.
    pub(super) fn is_empty(&self) -> bool {
        self.lock().pending.is_empty()
    }

    /// Destroys the events. Times that were not read are lost, and counted.
    pub(super) fn destroy(&self, driver: &dyn Driver, recorder: &Recorder) {
        let mut state = self.lock();
        let state = &mut *state;
        state.lose(recorder);
        destroy(driver, self.device, state.last.0);
        state.free.drain(..).for_each(|event| destroy(driver, self.device, event));
    }
}

/// Records a stream's first event and waits for it. Returns the host's time of it in nanoseconds.
fn anchor(
    driver: &dyn Driver,
    recorder: &Recorder,
    device: DeviceId,
    stream: RawStream,
    event: RawEvent,
) -> DriverResult<f64> {
    let mut time = 0.0;
    for _ in 0..ANCHORS {
        let before = recorder.now();
        // SAFETY: a live stream and event of the device.
        unsafe {
            driver.event_record(device, event, stream)?;
            driver.event_synchronize(device, event)?;
        }
        let waited = recorder.now() - before;
        time = before as f64 + waited as f64 / 2.0;
        if waited <= GOOD_ANCHOR {
            break;
        }
    }
    Ok(time)
}

/// Returns when work of the given duration began, moved so that it neither begins before it was requested nor ends
/// after it was seen to have ended. If not both are possible, it only does not begin too early.
fn in_order(begin: f64, took: f64, asked: f64, seen: f64) -> f64 {
    begin.min(seen - took).max(asked)
}

fn destroy(driver: &dyn Driver, device: DeviceId, event: RawEvent) {
    // SAFETY: an event of the track, which does not use it any more.
    if let Err(error) = unsafe { driver.event_destroy(device, event) } {
        log::debug!("destroying an event of the timeline: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::in_order;

    #[test]
    fn times_are_moved_only_if_they_contradict_the_host() {
        assert_eq!(in_order(100.0, 10.0, 90.0, 200.0), 100.0);
        assert_eq!(in_order(80.0, 10.0, 90.0, 200.0), 90.0);
        assert_eq!(in_order(195.0, 10.0, 90.0, 200.0), 190.0);
        assert_eq!(in_order(195.0, 150.0, 90.0, 200.0), 90.0);
    }
}
