//! Default streams: the null stream and blocking streams wait for each other, and each thread has a blocking stream.

use std::sync::mpsc;

use hiplaunch::driver::validation::Violation;
use hiplaunch::driver::{Capability, DevicePtr, ErrorCode, RawStream, StreamOptions, Work};

use crate::rig::{D0, D1, Hold, PROBE, Rig, output, value};

const NULL: RawStream = RawStream::NULL;
const OWN: RawStream = RawStream::PER_THREAD;

fn blocking(rig: &Rig) -> RawStream {
    rig.stream_with(D0, StreamOptions { blocking: true, ..StreamOptions::default() })
}

/// Holds `first`, on which memory is being written, and adds one on `second`: whether that waits until the hold is let go
/// must be `waits`.
fn holds_up(rig: &Rig, first: RawStream, second: RawStream, waits: bool) {
    let (probe, event, ptr) = (rig.load(&PROBE), rig.event(), rig.malloc(400));
    // The streams may be made at their first use, which can wait for the device.
    for stream in [first, second] {
        rig.fill_words(ptr, 0, 100, stream);
        rig.sync(stream);
    }
    let other = if waits { ptr } else { rig.malloc(400) };
    rig.driver.device_synchronize(D0).unwrap();
    let hold = rig.hold(&probe, first);
    rig.fill_words(ptr, 5, 100, first);
    if !waits {
        rig.fill_words(other, 5, 100, second);
    }
    probe.launch("bump", 2, 64, second, &[output(other, 400), value(100i32)]).unwrap();
    rig.record(event, second);
    if !waits {
        // Ends although the other stream is held.
        rig.sync_event(event);
    } else if hold.is_sure() {
        assert!(!rig.reached(event) && !rig.idle(second));
    }
    hold.let_go();
    assert_eq!(rig.read::<u32>(other, 100, second), [6; 100]);
    rig.sync(first);
}

pub(crate) fn the_null_stream_waits_for_blocking_streams(rig: &Rig) {
    holds_up(rig, blocking(rig), NULL, true);
}

pub(crate) fn blocking_streams_wait_for_the_null_stream(rig: &Rig) {
    holds_up(rig, NULL, blocking(rig), true);
}

pub(crate) fn other_streams_take_no_notice_of_the_null_stream(rig: &Rig) {
    holds_up(rig, NULL, rig.stream(), false);
    holds_up(rig, rig.stream(), NULL, false);
}

pub(crate) fn blocking_streams_take_no_notice_of_each_other(rig: &Rig) {
    holds_up(rig, blocking(rig), blocking(rig), false);
}

pub(crate) fn a_threads_own_stream_is_a_blocking_stream(rig: &Rig) {
    if !rig.has(Capability::PerThreadStream) {
        return;
    }
    holds_up(rig, OWN, NULL, true);
    holds_up(rig, NULL, OWN, true);
    holds_up(rig, OWN, blocking(rig), false);
    holds_up(rig, rig.stream(), OWN, false);
}

pub(crate) fn each_thread_has_a_stream_of_its_own(rig: &Rig) {
    if !rig.has(Capability::PerThreadStream) {
        return;
    }
    let (probe, here, there) = (rig.load(&PROBE), rig.malloc(400), rig.malloc(400));
    rig.fill_words(here, 1, 100, OWN);
    rig.sync(OWN);
    std::thread::scope(|scope| {
        let (begin, begun) = mpsc::channel::<()>();
        let (finish, finished) = mpsc::channel::<()>();
        let (leave, left) = mpsc::channel::<()>();
        scope.spawn(move || {
            rig.fill_words(there, 1, 100, OWN);
            rig.sync(OWN);
            finish.send(()).unwrap();
            begun.recv().unwrap();
            rig.fill_words(there, 2, 100, OWN);
            rig.sync(OWN);
            finish.send(()).unwrap();
            // HIP waits for host functions when it destroys the stream of a thread that ends.
            left.recv().unwrap();
        });
        finished.recv().unwrap();
        let hold = rig.hold(&probe, OWN);
        rig.fill_words(here, 2, 100, OWN);
        begin.send(()).unwrap();
        finished.recv().unwrap();
        if hold.is_sure() {
            assert!(!rig.idle(OWN), "the other thread's stream is idle, this one's is not");
        }
        hold.let_go();
        rig.sync(OWN);
        leave.send(()).unwrap();
    });
    assert_eq!(rig.read::<u32>(here, 100, NULL), [2; 100]);
    assert_eq!(rig.read::<u32>(there, 100, NULL), [2; 100]);
}

/// Lets go when another thread has had time to begin a wait.
fn let_go_later(hold: Hold) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(20));
        hold.let_go();
    })
}

pub(crate) fn waiting_for_the_null_stream_covers_blocking_streams(rig: &Rig) {
    let (probe, stream, pinned) = (rig.load(&PROBE), blocking(rig), rig.pinned(256));
    let (out, expected) = rig.busy(&probe, stream);
    rig.sync(NULL);
    let hold = rig.hold(&probe, stream);
    pinned.to_host(0, out, 256, stream);
    if hold.is_sure() {
        assert!(!rig.idle(NULL));
    }
    let letting_go = let_go_later(hold);
    rig.sync(NULL);
    assert_eq!(pinned.read::<u32>(0, 64), expected);
    letting_go.join().unwrap();
}

pub(crate) fn the_null_stream_joins_blocking_streams(rig: &Rig) {
    let (probe, first, last, ptr) = (rig.load(&PROBE), blocking(rig), blocking(rig), rig.malloc(400));
    let args = [output(ptr, 400), value(100i32)];
    rig.fill_words(ptr, 0, 100, first);
    for round in 1..20u32 {
        for stream in [first, NULL, last, NULL] {
            probe.launch("bump", 2, 64, stream, &args).unwrap();
        }
        if round % 5 == 0 {
            assert_eq!(rig.read::<u32>(ptr, 100, NULL), [4 * round; 100]);
        }
    }
}

pub(crate) fn a_blocking_copy_waits_for_blocking_streams(rig: &Rig) {
    let (probe, stream, ptr) = (rig.load(&PROBE), blocking(rig), rig.malloc(16));
    rig.fill_words(ptr, 0, 4, stream);
    rig.sync(stream);
    let hold = rig.hold(&probe, stream);
    rig.fill_words(ptr, 7, 4, stream);
    let letting_go = let_go_later(hold);
    let mut words = [0u32; 4];
    let work = Work::CopyToHost { dst: words.as_mut_ptr().cast(), src: ptr, bytes: 16 };
    // SAFETY: live memory of 16 bytes on both sides.
    unsafe { rig.driver.copy_blocking(D0, &work) }.unwrap();
    assert_eq!(words, [7; 4]);
    letting_go.join().unwrap();
}

pub(crate) fn each_device_has_a_null_stream(rig: &Rig) {
    if !rig.has_second_device() {
        return;
    }
    let probe = rig.load(&PROBE);
    let far: DevicePtr = rig.malloc_on(D1, 16);
    rig.write_on(D1, far, &[1u32; 4], NULL);
    assert_eq!(rig.read_on::<u32>(D1, far, 4, NULL), [1; 4]);
    let hold = rig.hold(&probe, NULL);
    rig.write_on(D1, far, &[3u32; 4], NULL);
    assert_eq!(rig.read_on::<u32>(D1, far, 4, NULL), [3; 4]);
    hold.let_go();
    rig.sync(NULL);
}

pub(crate) fn default_streams_are_not_destroyed(rig: &Rig) {
    for stream in [NULL, OWN] {
        // SAFETY: the driver refuses it.
        let error = unsafe { rig.driver.stream_destroy(D0, stream) }.unwrap_err();
        assert_eq!(error.code, ErrorCode::INVALID_HANDLE);
        rig.expect_violation(|found| matches!(found, Violation::UnknownHandle { .. }));
    }
    rig.sync(NULL);
}
