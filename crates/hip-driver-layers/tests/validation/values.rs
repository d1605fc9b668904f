//! Values in memory order the streams that wait for them behind the writes that can have ended the wait.

use hip_driver::{Comparison, DevicePtr, ErrorCode, Note, Observer, RawStream};
use hip_driver_layers::validation::{CallKind, MemoryKind, Violation};

use crate::rig::Rig;

/// Two streams, a value, and memory.
fn rig() -> (Rig, [RawStream; 2], DevicePtr, DevicePtr) {
    let rig = Rig::new();
    let (streams, value, memory) = ([rig.stream(), rig.stream()], rig.malloc(16), rig.malloc(256));
    (rig, streams, value, memory)
}

#[track_caller]
fn is_race(rig: &Rig) {
    match rig.found() {
        Violation::Race { first, .. } => assert_eq!(first.call, CallKind::MemsetD8Async),
        other => panic!("{other}"),
    }
}

#[test]
fn a_wait_is_ordered_behind_the_write_of_its_value() {
    let (rig, [a, b], value, memory) = rig();
    rig.memset(memory, 64, a).unwrap();
    rig.write_value(value, 1, a).unwrap();
    rig.memset(memory.offset(64), 64, a).unwrap();
    rig.wait_value(value, Comparison::Equal, 1, b).unwrap();
    rig.memset(memory, 64, b).unwrap();
    rig.clean();
    // What comes behind the write may still run.
    rig.memset(memory.offset(64), 64, b).unwrap();
    is_race(&rig);
}

#[test]
fn a_wait_for_a_large_value_is_ordered_behind_the_first_that_suffices() {
    let (rig, [a, b], value, memory) = rig();
    for round in 0..3 {
        rig.memset(memory.offset(64 * round), 64, a).unwrap();
        rig.write_value(value, round + 1, a).unwrap();
    }
    rig.wait_value(value, Comparison::AtLeast, 2, b).unwrap();
    rig.memset(memory, 128, b).unwrap();
    rig.clean();
    rig.memset(memory.offset(128), 64, b).unwrap();
    is_race(&rig);
}

#[test]
fn a_value_that_is_written_again_is_ordered_anew() {
    let (rig, [a, b], value, memory) = rig();
    for _ in 0..3 {
        rig.memset(memory, 64, a).unwrap();
        rig.write_value(value, 1, a).unwrap();
        rig.wait_value(value, Comparison::Equal, 1, b).unwrap();
        rig.memset(memory, 64, b).unwrap();
        rig.write_value(value, 0, b).unwrap();
        rig.wait_value(value, Comparison::Equal, 0, a).unwrap();
    }
    rig.clean();
}

#[test]
fn a_wait_that_no_write_explains_is_not_judged() {
    let (rig, [a, b], value, memory) = rig();
    rig.memset(memory, 64, a).unwrap();
    // The program may write it, or a kernel, or the stream does later.
    rig.wait_value(value, Comparison::AtLeast, 1, b).unwrap();
    rig.memset(memory, 64, b).unwrap();
    rig.clean();
    // Also against what is enqueued between the wait and the write.
    rig.memset(memory.offset(64), 64, a).unwrap();
    rig.write_value(value, 1, a).unwrap();
    rig.memset(memory.offset(64), 64, b).unwrap();
    rig.clean();
}

#[test]
fn a_write_that_others_have_overwritten_explains_nothing() {
    let (rig, [a, b], value, memory) = rig();
    rig.write_value(value, 1, a).unwrap();
    rig.memset(value, 16, a).unwrap();
    rig.memset(memory, 64, a).unwrap();
    rig.wait_value(value, Comparison::AtLeast, 1, b).unwrap();
    rig.memset(memory, 64, b).unwrap();
    rig.clean();
}

#[test]
fn the_host_may_have_changed_a_value_that_it_has_seen() {
    let (rig, [a, b], _, memory) = rig();
    let pinned = rig.pinned(16);
    rig.write_value(pinned.device, 1, a).unwrap();
    rig.sync(a).unwrap();
    rig.memset(memory, 64, a).unwrap();
    rig.wait_value(pinned.device, Comparison::Equal, 1, b).unwrap();
    rig.memset(memory, 64, b).unwrap();
    rig.clean();
    // What it says that it writes counts at once.
    let c = rig.stream();
    rig.write_value(pinned.device, 2, c).unwrap();
    rig.sync(c).unwrap();
    rig.layer.note(&Note::HostWrite { ptr: pinned.host.as_ptr(), bytes: 8 });
    rig.clean();
}

#[test]
fn other_accesses_of_a_value_race_with_its_write_and_waits_do_not() {
    let (rig, [a, b], value, _) = rig();
    rig.wait_value(value, Comparison::Equal, 7, b).unwrap();
    rig.write_value(value, 7, a).unwrap();
    rig.clean();
    let c = rig.stream();
    rig.memset(value, 8, c).unwrap();
    match rig.found() {
        Violation::Race { first, .. } => assert_eq!(first.call, CallKind::WriteValue64),
        other => panic!("{other}"),
    }
}

#[test]
fn values_are_in_live_memory_and_aligned() {
    let (rig, [a, _], value, _) = rig();
    let code = |result: hip_driver::DriverResult<()>| result.unwrap_err().code;
    assert_eq!(code(rig.write_value(value.offset(4), 1, a)), ErrorCode::INVALID_VALUE);
    assert!(matches!(rig.found(), Violation::Misaligned { align: 8, .. }));
    assert_eq!(
        code(rig.wait_value(value.offset(16), Comparison::Equal, 1, a)),
        ErrorCode::INVALID_DEVICE_POINTER
    );
    rig.found();
    rig.free(value).unwrap();
    assert_eq!(code(rig.wait_value(value, Comparison::Equal, 1, a)), ErrorCode::INVALID_DEVICE_POINTER);
    match rig.found() {
        Violation::UseAfterFree { memory, .. } => assert_eq!(memory.kind, MemoryKind::Device),
        other => panic!("{other}"),
    }
}
