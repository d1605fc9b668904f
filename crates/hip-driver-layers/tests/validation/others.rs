//! The null stream's order, and streams and events that others made.

use hip_driver::{Driver, ErrorCode, Note, Observer, RawEvent, RawStream, StreamOptions};
use hip_driver_layers::validation::{HandleKind, Violation};

use crate::rig::{D0, D1, Rig};

const NULL: RawStream = RawStream::NULL;

impl Rig {
    fn blocking(&self) -> RawStream {
        self.layer.stream_create(D0, StreamOptions { blocking: true, ..StreamOptions::default() }).unwrap()
    }

    fn race(&self) {
        let found = self.found();
        assert!(matches!(found, Violation::Race { .. }), "{found}");
    }
}

#[test]
fn the_null_stream_and_blocking_streams_are_ordered() {
    let rig = Rig::new();
    let (a, b, ptr) = (rig.blocking(), rig.blocking(), rig.malloc(64));
    for stream in [a, NULL, b, NULL, RawStream::PER_THREAD, RawStream::LEGACY, a, NULL] {
        rig.memset(ptr, 64, stream).unwrap();
    }
    rig.clean();
    // Two blocking streams are not.
    rig.memset(ptr, 64, a).unwrap();
    rig.memset(ptr, 64, b).unwrap();
    rig.race();
}

#[test]
fn other_streams_are_not_ordered_with_the_null_stream() {
    for null_first in [true, false] {
        let rig = Rig::new();
        let (a, ptr) = (rig.stream(), rig.malloc(64));
        let (first, second) = if null_first { (NULL, a) } else { (a, NULL) };
        rig.memset(ptr, 64, first).unwrap();
        rig.memset(ptr, 64, second).unwrap();
        rig.race();
    }
}

#[test]
fn an_event_on_the_null_stream_comes_behind_blocking_streams() {
    let rig = Rig::new();
    let (a, b, ptr, event) = (rig.blocking(), rig.stream(), rig.malloc(64), rig.event());
    rig.memset(ptr, 64, a).unwrap();
    rig.record(event, NULL).unwrap();
    rig.wait(b, event).unwrap();
    rig.memset(ptr, 64, b).unwrap();
    rig.clean();
}

#[test]
fn waiting_for_an_idle_blocking_stream_does_not_cover_the_null_stream() {
    let rig = Rig::new();
    let (a, pinned, ptr) = (rig.blocking(), rig.pinned(64), rig.malloc(64));
    rig.htod(ptr, &pinned, 0, 64, NULL).unwrap();
    rig.sync(a).unwrap();
    rig.host_writes(&pinned, 0, 64);
    assert!(matches!(rig.found(), Violation::HostRace { .. }));
    // That of the null stream covers blocking streams.
    rig.htod(ptr, &pinned, 0, 64, a).unwrap();
    rig.sync(NULL).unwrap();
    rig.host_writes(&pinned, 0, 64);
    rig.clean();
}

#[test]
fn each_thread_has_a_stream_and_each_device_a_null_stream() {
    let rig = Rig::new();
    let ptr = rig.malloc(64);
    rig.memset(ptr, 64, RawStream::PER_THREAD).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| rig.memset(ptr, 64, RawStream::PER_THREAD).unwrap()).join().unwrap();
    });
    rig.race();
    // SAFETY: the layer refuses what is not there.
    unsafe { rig.layer.stream_synchronize(D1, NULL) }.unwrap();
    assert_eq!(rig.layer.report_leaks().len(), 1, "the memory; nobody destroys default streams");
}

#[test]
fn streams_of_others_are_known_as_long_as_they_are_adopted() {
    let rig = Rig::new();
    let (theirs, ptr) = (RawStream(0x7000), rig.malloc(64));
    let unknown = rig.memset(ptr, 64, theirs).unwrap_err();
    assert_eq!(unknown.code, ErrorCode::INVALID_HANDLE);
    assert!(matches!(rig.found(), Violation::UnknownHandle { kind: HandleKind::Stream, .. }));
    for _ in 0..2 {
        rig.layer.note(&Note::StreamAdopt { device: D0, stream: theirs });
    }
    rig.memset(ptr, 64, theirs).unwrap();
    rig.layer.note(&Note::StreamRelease { device: D0, stream: theirs });
    rig.memset(ptr, 64, theirs).unwrap();
    rig.layer.note(&Note::StreamRelease { device: D0, stream: theirs });
    rig.memset(ptr, 64, theirs).unwrap_err();
    assert!(matches!(rig.found(), Violation::DestroyedHandle { kind: HandleKind::Stream, .. }));
    // Its work goes on.
    let own = rig.stream();
    rig.memset(ptr, 64, own).unwrap();
    rig.race();
    // One of ours stays one of ours.
    rig.layer.note(&Note::StreamAdopt { device: D0, stream: own });
    rig.layer.note(&Note::StreamRelease { device: D0, stream: own });
    rig.sync(own).unwrap();
    rig.destroy_stream(own).unwrap();
    rig.clean();
}

#[test]
fn an_event_that_others_may_have_recorded_orders_everything_before() {
    let rig = Rig::new();
    let (a, b, ptr, theirs) = (rig.stream(), rig.stream(), rig.malloc(64), RawEvent(0x7001));
    rig.layer.note(&Note::EventAdopt { device: D0, event: theirs });
    rig.memset(ptr, 64, a).unwrap();
    rig.wait(b, theirs).unwrap();
    rig.memset(ptr, 64, b).unwrap();
    rig.clean();
    // Recorded here, it is known where.
    rig.record(theirs, a).unwrap();
    rig.memset(ptr, 64, b).unwrap();
    rig.wait(a, theirs).unwrap();
    rig.memset(ptr, 64, a).unwrap();
    rig.race();
    rig.layer.note(&Note::EventRelease { device: D0, event: theirs });
    assert_eq!(rig.record(theirs, a).unwrap_err().code, ErrorCode::INVALID_HANDLE);
    assert!(matches!(rig.found(), Violation::DestroyedHandle { kind: HandleKind::Event, .. }));
}
