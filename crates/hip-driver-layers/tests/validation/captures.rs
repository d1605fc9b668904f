//! Captures of streams: captured work does not run, and counts when its graph is launched.

use hip_driver::{CaptureMode, Driver, DriverResult, ErrorCode, RawGraph, RawStream};
use hip_driver_layers::validation::{CallKind, ObservedKind, Violation};

use crate::rig::{D0, Rig, reads, writes};

fn begin(rig: &Rig, stream: RawStream) {
    // SAFETY: a driver that does nothing.
    unsafe { rig.layer.stream_begin_capture(D0, stream, CaptureMode::Relaxed) }.unwrap();
}

fn try_end(rig: &Rig, stream: RawStream) -> DriverResult<RawGraph> {
    // SAFETY: a driver that does nothing.
    unsafe { rig.layer.stream_end_capture(D0, stream) }
}

fn end(rig: &Rig, stream: RawStream) -> RawGraph {
    try_end(rig, stream).unwrap()
}

#[test]
fn captured_work_accesses_memory_when_its_graph_is_launched() {
    let rig = Rig::new();
    let (stream, other, ptr, pinned) = (rig.stream(), rig.stream(), rig.malloc(256), rig.pinned(256));
    begin(&rig, stream);
    rig.htod(ptr, &pinned, 0, 64, stream).unwrap();
    rig.memset(ptr, 64, stream).unwrap();
    let graph = end(&rig, stream);
    let exec = rig.instantiate(graph).unwrap();
    // Nothing has run: the host and other streams may use the memory.
    rig.host_writes(&pinned, 0, 64);
    rig.memset(ptr, 64, other).unwrap();
    rig.sync(other).unwrap();
    rig.clean();
    rig.launch_graph(exec, stream).unwrap();
    rig.host_writes(&pinned, 0, 64);
    assert!(matches!(rig.found(), Violation::HostRace { .. }));
    rig.memset(ptr, 1, other).unwrap();
    assert!(matches!(rig.found(), Violation::Race { .. }));
    rig.sync(stream).unwrap();
    rig.sync(other).unwrap();
    rig.destroy_exec(exec).unwrap();
    rig.destroy_graph(graph).unwrap();
    rig.clean();
}

#[test]
fn memory_and_kernels_must_live_until_the_graph_was_launched() {
    let rig = Rig::new();
    let (stream, ptr, pinned, (module, kernel)) =
        (rig.stream(), rig.malloc(256), rig.pinned(256), rig.module());
    let captured = |work: &dyn Fn()| {
        begin(&rig, stream);
        work();
        rig.instantiate(end(&rig, stream)).unwrap()
    };
    let copies = captured(&|| rig.htod(ptr, &pinned, 0, 64, stream).unwrap());
    let fills = captured(&|| rig.memset(ptr, 64, stream).unwrap());
    let launches = captured(&|| rig.launch(kernel, stream, &[writes(ptr, 64)]).unwrap());
    rig.launch_graph(copies, stream).unwrap();
    rig.sync(stream).unwrap();
    rig.host_free(pinned).unwrap();
    let refused = rig.refused(ErrorCode::INVALID_DEVICE_POINTER, || rig.launch_graph(copies, stream));
    assert!(matches!(
        refused,
        Violation::UseAfterFree { call: ObservedKind::Call(CallKind::GraphLaunch), .. }
    ));
    rig.unload(module).unwrap();
    let refused = rig.refused(ErrorCode::INVALID_HANDLE, || rig.launch_graph(launches, stream));
    assert!(matches!(refused, Violation::DestroyedHandle { .. }));
    rig.free(ptr).unwrap();
    let refused = rig.refused(ErrorCode::INVALID_DEVICE_POINTER, || rig.launch_graph(fills, stream));
    assert!(matches!(refused, Violation::UseAfterFree { .. }));
    // Memory that is freed is refused in a capture, too.
    begin(&rig, stream);
    let refused = rig.refused(ErrorCode::INVALID_DEVICE_POINTER, || rig.memset(ptr, 64, stream));
    assert!(matches!(refused, Violation::UseAfterFree { .. }));
    end(&rig, stream);
}

#[test]
fn nodes_are_ordered_as_the_captured_streams_were() {
    let rig = Rig::new();
    let (main, side, ptr, (_, kernel)) = (rig.stream(), rig.stream(), rig.malloc(256), rig.module());
    let (fork, join) = (rig.event(), rig.event());
    for joined_before in [true, false] {
        begin(&rig, main);
        rig.launch(kernel, main, &[writes(ptr, 64)]).unwrap();
        rig.record(fork, main).unwrap();
        rig.wait(side, fork).unwrap();
        rig.launch(kernel, side, &[reads(ptr, 64), writes(ptr.offset(64), 64)]).unwrap();
        rig.record(join, side).unwrap();
        if joined_before {
            rig.wait(main, join).unwrap();
        }
        rig.launch(kernel, main, &[reads(ptr.offset(64), 64)]).unwrap();
        if !joined_before {
            rig.wait(main, join).unwrap();
        }
        rig.instantiate(end(&rig, main)).unwrap();
        match joined_before {
            true => rig.clean(),
            false => assert!(matches!(rig.found(), Violation::GraphRace { .. })),
        }
    }
    // The streams take work again that runs, and the events of the capture order nothing.
    rig.launch(kernel, main, &[writes(ptr, 64)]).unwrap();
    rig.wait(side, fork).unwrap();
    rig.launch(kernel, side, &[writes(ptr, 64)]).unwrap();
    assert!(matches!(rig.found(), Violation::Race { .. }));
}

#[test]
fn a_capture_that_is_over_is_forgotten() {
    let rig = Rig::new();
    let (stream, other, ptr) = (rig.stream(), rig.stream(), rig.malloc(256));
    for (code, is_over) in [
        (ErrorCode::STREAM_CAPTURE_WRONG_THREAD, false),
        (ErrorCode::STREAM_CAPTURE_INVALIDATED, true),
        (ErrorCode::STREAM_CAPTURE_UNJOINED, true),
    ] {
        begin(&rig, stream);
        rig.fake.fail("stream_end_capture", code);
        assert_eq!(try_end(&rig, stream).unwrap_err().code, code);
        rig.memset(ptr, 64, stream).unwrap();
        rig.memset(ptr, 64, other).unwrap();
        match is_over {
            true => assert!(matches!(rig.found(), Violation::Race { .. }), "{code}"),
            false => {
                rig.clean();
                end(&rig, stream);
            }
        }
        rig.sync(stream).unwrap();
        rig.sync(other).unwrap();
    }
}
