//! Many threads at once, and stale handles.

use hiplaunch::driver::validation::Violation;
use hiplaunch::driver::{ErrorCode, RawEvent, RawStream, Work};

use crate::rig::{D0, PROBE, Rig, VECTOR, code, output, value};

const THREADS: usize = 8;

pub(crate) fn threads_launch_on_their_own_streams(rig: &Rig) {
    let probe = rig.load(&PROBE);
    std::thread::scope(|scope| {
        for t in 0..THREADS as u32 {
            let probe = &probe;
            scope.spawn(move || {
                let (stream, pinned) = (rig.stream(), rig.pinned(4));
                let counter = rig.upload(&[t], stream);
                for round in 1..=20u32 {
                    probe.launch("atomic_count", 2, 64, stream, &[output(counter, 4)]).unwrap();
                    pinned.to_host(0, counter, 4, stream);
                    rig.sync(stream);
                    assert_eq!(pinned.read::<u32>(0, 1), [t + 128 * round]);
                }
            });
        }
    });
}

pub(crate) fn threads_launch_on_one_stream(rig: &Rig) {
    let (stream, probe) = (rig.stream(), rig.load(&PROBE));
    let counter = rig.upload(&[0u32], stream);
    const LAUNCHES: u32 = 30;
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..LAUNCHES {
                    probe.launch("atomic_count", 1, 64, stream, &[output(counter, 4)]).unwrap();
                }
            });
        }
    });
    assert_eq!(rig.read::<u32>(counter, 1, stream), [THREADS as u32 * LAUNCHES * 64]);
}

pub(crate) fn threads_wait_for_their_launches_on_one_stream(rig: &Rig) {
    let (stream, probe) = (rig.stream(), rig.load(&PROBE));
    let counters = rig.upload(&[0u32; THREADS], stream);
    std::thread::scope(|scope| {
        for t in 0..THREADS as u64 {
            let probe = &probe;
            // A thread of a program may have a small stack.
            let thread = std::thread::Builder::new().stack_size(512 << 10);
            let waits = move || {
                let counter = counters.offset(4 * t);
                for round in 1..=40u32 {
                    probe.launch("atomic_count", 1, 64, stream, &[output(counter, 4)]).unwrap();
                    rig.sync(stream);
                    assert_eq!(rig.read::<u32>(counter, 1, stream), [64 * round]);
                }
            };
            thread.spawn_scoped(scope, waits).unwrap();
        }
    });
}

pub(crate) fn threads_create_use_and_destroy_everything_at_once(rig: &Rig) {
    let ready = rig.stream();
    let shared = rig.upload(&(0..256u32).collect::<Vec<_>>(), ready);
    rig.sync(ready);
    std::thread::scope(|scope| {
        for t in 0..THREADS as u32 {
            scope.spawn(move || {
                // Creates, uses and destroys objects of every kind, several times.
                for round in 0..5u32 {
                    let (stream, second, event) = (rig.stream(), rig.stream(), rig.event());
                    let (vector, ptr) = (rig.load(&VECTOR), rig.malloc(1024));
                    let args = [output(ptr, 1024), value(t + round), value(256i32)];
                    vector.launch("iota_u32", 1, 256, stream, &args).unwrap();
                    rig.record(event, stream);
                    rig.wait(second, event);
                    let got = rig.read::<u32>(ptr, 256, second);
                    assert_eq!(got, (t + round..t + round + 256).collect::<Vec<_>>());
                    assert_eq!(rig.read::<u32>(shared, 256, second), (0..256).collect::<Vec<_>>());
                    rig.destroy_stream(stream);
                    rig.destroy_stream(second);
                    rig.destroy_event(event);
                    rig.unload(D0, vector.module);
                    rig.free(D0, ptr);
                }
            });
        }
    });
}

pub(crate) fn the_validation_layer_refuses_stale_handles(rig: &Rig) {
    if rig.validation.is_none() {
        // Without the layer this is undefined in HIP, which may crash.
        return rig.skip("stale handles are undefined without the validation layer");
    }
    let (stream, gone, event) = (rig.stream(), rig.stream(), rig.event());
    let ptr = rig.malloc(64);
    rig.destroy_stream(gone);
    let d = &rig.driver;
    let destroyed =
        |v: &Violation| matches!(v, Violation::DestroyedHandle { .. } | Violation::UnknownHandle { .. });
    // SAFETY: the layer refuses every one of these calls.
    unsafe {
        assert_eq!(code(d.stream_synchronize(D0, gone)), ErrorCode::INVALID_HANDLE);
        rig.expect_violation(destroyed);
        assert_eq!(code(d.event_record(D0, event, gone)), ErrorCode::INVALID_HANDLE);
        rig.expect_violation(destroyed);
        assert_eq!(code(d.stream_query(D0, RawStream(3))), ErrorCode::INVALID_HANDLE);
        rig.expect_violation(destroyed);
        assert_eq!(code(d.stream_wait_event(D0, stream, RawEvent(5))), ErrorCode::INVALID_HANDLE);
        rig.expect_violation(destroyed);
        assert_eq!(code(d.free(D0, ptr.offset(8))), ErrorCode::INVALID_DEVICE_POINTER);
        rig.expect_violation(|v| matches!(v, Violation::WrongFree { .. }));
        assert_eq!(
            code(d.enqueue(D0, stream, &Work::FillBytes { dst: ptr, value: 0, bytes: 65 })),
            ErrorCode::INVALID_VALUE
        );
        rig.expect_violation(|v| matches!(v, Violation::OutOfRange { over: 1, .. }));
    }
    // The driver works as before.
    rig.write(ptr, &[4u32; 16], stream);
    assert_eq!(rig.read::<u32>(ptr, 16, stream), [4; 16]);
}
