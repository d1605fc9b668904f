//! Events: the order that they give to work, when they are reached, and the time between two of them.

use hiplaunch::driver::{Driver, EventOptions, RawEvent};

use crate::rig::{D0, PROBE, Rig, code, output, value};

pub(crate) fn an_event_orders_two_streams(rig: &Rig) {
    let (a, b, event, probe) = (rig.stream(), rig.stream(), rig.event(), rig.load(&PROBE));
    for _ in 0..5 {
        let (out, expected) = rig.busy(&probe, a);
        rig.record(event, a);
        rig.wait(b, event);
        probe.launch("bump", 1, 64, b, &[output(out, 256), value(64i32)]).unwrap();
        assert_eq!(rig.read::<u32>(out, 64, b), expected.map(|word| word.wrapping_add(1)));
    }
}

pub(crate) fn an_event_that_was_never_recorded_is_reached(rig: &Rig) {
    let (stream, event) = (rig.stream(), rig.event());
    assert!(rig.reached(event));
    rig.sync_event(event);
    rig.wait(stream, event);
    let ptr = rig.upload(&[3u32; 16], stream);
    assert_eq!(rig.read::<u32>(ptr, 16, stream), [3; 16]);
}

pub(crate) fn an_event_is_reached_when_its_work_has_finished(rig: &Rig) {
    let (stream, event, probe, pinned) = (rig.stream(), rig.event(), rig.load(&PROBE), rig.pinned(256));
    for poll in [false, true] {
        let (out, expected) = rig.busy(&probe, stream);
        let hold = rig.hold(&probe, stream);
        pinned.to_host(0, out, 256, stream);
        rig.record(event, stream);
        if hold.is_sure() {
            assert!(!rig.reached(event));
        }
        hold.let_go();
        if poll {
            while !rig.reached(event) {
                std::thread::yield_now();
            }
        } else {
            rig.sync_event(event);
        }
        assert!(rig.reached(event));
        assert_eq!(pinned.read::<u32>(0, 64), expected);
    }
}

pub(crate) fn a_wait_keeps_the_record_that_it_saw(rig: &Rig) {
    let (slow, idle, waiting) = (rig.stream(), rig.stream(), rig.stream());
    let (event, probe, copy) = (rig.event(), rig.load(&PROBE), rig.malloc(256));
    let (out, expected) = rig.busy(&probe, slow);
    rig.record(event, slow);
    rig.wait(waiting, event);
    // The event is recorded again on an idle stream and is reached at once. The wait still waits for the first record.
    rig.record(event, idle);
    rig.sync_event(event);
    assert!(rig.reached(event));
    rig.copy(copy, out, 256, waiting);
    assert_eq!(rig.read::<u32>(copy, 64, waiting), expected);
}

pub(crate) fn a_destroyed_event_is_still_waited_for(rig: &Rig) {
    let (a, b, event, probe) = (rig.stream(), rig.stream(), rig.event(), rig.load(&PROBE));
    let (out, expected) = rig.busy(&probe, a);
    rig.record(event, a);
    rig.wait(b, event);
    rig.destroy_event(event);
    assert_eq!(rig.read::<u32>(out, 64, b), expected);
}

fn elapsed(rig: &Rig, start: RawEvent, end: RawEvent) -> hiplaunch::driver::DriverResult<f32> {
    let driver: &dyn Driver = &*rig.driver;
    // SAFETY: live events.
    unsafe { driver.event_elapsed_ms(D0, start, end) }
}

pub(crate) fn time_passes_between_two_events(rig: &Rig) {
    if !rig.has(hiplaunch::driver::Capability::EventTiming) {
        return;
    }
    let (stream, probe) = (rig.stream(), rig.load(&PROBE));
    let timed = || rig.event_with(EventOptions { timing: true });
    let (start, middle, end) = (timed(), timed(), timed());
    rig.record(start, stream);
    rig.busy(&probe, stream);
    rig.record(middle, stream);
    rig.record(end, stream);
    rig.sync_event(end);
    let (first, all) = (elapsed(rig, start, middle).unwrap(), elapsed(rig, start, end).unwrap());
    // 300,000 dependent multiplications take more than 10 µs on any device.
    assert!(first > 0.01 && first < 600_000.0, "{first} ms");
    assert!(all >= first, "{all} ms for all, {first} ms for the first part");
    assert_eq!(elapsed(rig, start, start).unwrap(), 0.0);
}

pub(crate) fn an_event_without_timing_has_no_time(rig: &Rig) {
    if !rig.has(hiplaunch::driver::Capability::EventTiming) {
        return;
    }
    let (stream, untimed, timed) = (rig.stream(), rig.event(), rig.event_with(EventOptions { timing: true }));
    rig.record(timed, stream);
    rig.record(untimed, stream);
    rig.sync(stream);
    code(elapsed(rig, timed, untimed));
    let never = rig.event_with(EventOptions { timing: true });
    code(elapsed(rig, timed, never));
}

pub(crate) fn events_order_a_chain_through_many_streams(rig: &Rig) {
    let probe = rig.load(&PROBE);
    let streams: Vec<_> = (0..8).map(|_| rig.stream()).collect();
    let events: Vec<_> = (0..8).map(|_| rig.event()).collect();
    let words = rig.upload(&[0u32; 100], streams[0]);
    const ROUNDS: usize = 10;
    for step in 0..ROUNDS * streams.len() {
        let (stream, event) = (streams[step % 8], events[step % 8]);
        probe.launch("bump", 1, 128, stream, &[output(words, 400), value(100i32)]).unwrap();
        rig.record(event, stream);
        rig.wait(streams[(step + 1) % 8], event);
    }
    assert_eq!(rig.read::<u32>(words, 100, streams[0]), [8 * ROUNDS as u32; 100]);
}

/// A graph with branches does this at every submission: streams fork and join, with the same events each time.
pub(crate) fn branches_fork_and_join_with_the_same_events(rig: &Rig) {
    const BYTES: usize = 256;
    let (main, fork, probe) = (rig.stream(), rig.event(), rig.load(&PROBE));
    let sides = [(); 3].map(|()| (rig.stream(), rig.event(), rig.malloc(BYTES)));
    let bump =
        |ptr, stream| probe.launch("bump", 1, 64, stream, &[output(ptr, BYTES), value(64i32)]).unwrap();
    let base = rig.upload(&[0u32; 64], main);
    let mut expected = 0;
    for round in 0..12 {
        bump(base, main);
        rig.record(fork, main);
        for (i, &(stream, join, own)) in sides.iter().enumerate() {
            rig.wait(stream, fork);
            rig.copy(own, base, BYTES, stream);
            (0..=i).for_each(|_| bump(own, stream));
            rig.record(join, stream);
        }
        sides.iter().for_each(|&(_, join, _)| rig.wait(main, join));
        rig.copy(base, sides[round % 3].2, BYTES, main);
        expected += 2 + (round % 3) as u32;
    }
    assert_eq!(rig.read::<u32>(base, 64, main), [expected; 64]);
}
