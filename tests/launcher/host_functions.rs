//! Functions of the host in the order of a stream.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use hiplaunch::driver::{Capability, ErrorCode};
use hiplaunch::stream::CaptureMode;
use hiplaunch::{Arg, Backend, DeviceBuffer, Error, Launch, LaunchDims, Launcher};

use crate::adopted::on_each;
use hiplaunch_testing::rig::{PROBE, Rig, VECTOR};

/// Long enough for any machine; a test that waits so long has failed.
const LONG: Duration = Duration::from_secs(60);

#[test]
fn a_host_function_runs_after_what_was_before_it_and_holds_what_comes_after_it() {
    on_each(|rig| {
        let (entered, has_entered) = mpsc::channel();
        let (release, is_released) = mpsc::channel::<()>();
        let function = move |status: hiplaunch::Result<()>| {
            entered.send(status.is_ok()).unwrap();
            let _ = is_released.recv_timeout(LONG);
        };
        if !rig.launcher.driver().capabilities().has(Capability::HostFunc) {
            let refused = rig.stream.host_function(function).unwrap_err();
            assert_eq!(refused.code(), Some(ErrorCode::NOT_SUPPORTED), "{refused}");
            return;
        }
        let iota = rig.kernel(&VECTOR, "iota_u32");
        let words = DeviceBuffer::<u32>::new(&rig.device, 64).unwrap();
        let fill = |first: u32| {
            let args = [Arg::from(&words), Arg::from(first), Arg::from(64i32)];
            // SAFETY: as the kernel takes it.
            unsafe {
                rig.launcher.enqueue(iota, &rig.stream, Launch::new(LaunchDims::linear(1, 64)).args(&args))
            }
            .unwrap();
        };
        fill(1);
        rig.stream.host_function(function).unwrap();
        fill(100);
        assert_eq!(has_entered.recv_timeout(LONG), Ok(true));
        assert!(!rig.stream.is_idle().unwrap(), "the later launch waits for the function");
        release.send(()).unwrap();
        assert_eq!(words.to_vec(&rig.stream).unwrap()[..2], [100, 101]);
        rig.validation().assert_clean().unwrap();
    });
}

#[test]
fn a_panic_of_a_host_function_stays_in_it_and_the_stream_goes_on() {
    on_each(|rig| {
        if !rig.launcher.driver().capabilities().has(Capability::HostFunc) {
            return println!("skipped: this driver has no host functions");
        }
        rig.stream.host_function(|_| panic!("stays inside")).unwrap();
        let ran = Arc::new(AtomicBool::new(false));
        let sets = Arc::clone(&ran);
        rig.stream.host_function(move |_| sets.store(true, Ordering::Relaxed)).unwrap();
        rig.stream.synchronize().unwrap();
        assert!(ran.load(Ordering::Relaxed));
    });
}

#[test]
fn a_captured_function_runs_at_every_launch_and_lives_as_long_as_the_graph() {
    on_each(|rig| {
        let capabilities = rig.launcher.driver().capabilities();
        if !capabilities.has(Capability::HostFunc) || !capabilities.has(Capability::StreamCapture) {
            return println!("skipped: this driver has no host functions, or captures nothing");
        }
        let alive = Arc::new(());
        let (sender, receiver) = mpsc::channel();
        let (kept, words) = (Arc::clone(&alive), DeviceBuffer::<u32>::new(&rig.device, 64).unwrap());
        let iota = rig.kernel(&VECTOR, "iota_u32");
        let args = [Arg::from(&words), Arg::from(5u32), Arg::from(64i32)];
        rig.stream.synchronize().unwrap();
        let graph = rig.stream.capture(CaptureMode::ThreadLocal, |stream| {
            // SAFETY: as the kernel takes it.
            unsafe {
                rig.launcher.enqueue(iota, stream, Launch::new(LaunchDims::linear(1, 64)).args(&args))
            }?;
            // One that runs once is refused, and says what to use.
            let refused = stream.host_function(|_| panic!("it ran")).unwrap_err();
            assert!(matches!(refused, Error::Captured { .. }));
            assert!(refused.to_string().contains("repeated_host_function"), "{refused}");
            stream.repeated_host_function(move |status| {
                let _kept = &kept;
                sender.send(status.is_ok()).unwrap();
            })
        });
        let graph = graph.unwrap();
        assert!(receiver.try_recv().is_err(), "a capture runs nothing");
        for _ in 0..3 {
            // SAFETY: nothing else uses the buffer.
            unsafe { graph.launch(&rig.stream) }.unwrap();
            assert_eq!(receiver.recv_timeout(LONG), Ok(true));
        }
        // A launch in flight keeps it.
        // SAFETY: as above.
        unsafe { graph.launch(&rig.stream) }.unwrap();
        drop(graph);
        rig.stream.synchronize().unwrap();
        assert_eq!(receiver.try_iter().count(), 1);
        rig.stream.synchronize().unwrap();
        assert_eq!(Arc::strong_count(&alive), 1, "it was dropped with the graph");
        rig.validation().assert_clean().unwrap();
    });
}

#[test]
fn a_function_that_can_run_often_runs_once_on_a_stream_that_is_not_captured() {
    on_each(|rig| {
        if !rig.launcher.driver().capabilities().has(Capability::HostFunc) {
            let refused = rig.stream.repeated_host_function(|_| panic!("it ran")).unwrap_err();
            assert_eq!(refused.code(), Some(ErrorCode::NOT_SUPPORTED), "{refused}");
            return;
        }
        let (sender, receiver) = mpsc::channel();
        rig.stream.repeated_host_function(move |status| sender.send(status.is_ok()).unwrap()).unwrap();
        rig.stream.synchronize().unwrap();
        assert_eq!(receiver.iter().collect::<Vec<_>>(), [true]);
    });
}

/// On the emulator only: HIP waits for itself.
#[test]
fn a_host_function_that_waits_for_its_own_stream_is_refused() {
    let rig = Rig::open(Launcher::builder(), Backend::Emulator);
    let (told, is_told) = mpsc::channel();
    let stream = rig.stream.clone();
    rig.stream
        .host_function(move |_| {
            let fence = stream.fence().and_then(|fence| fence.wait());
            told.send([stream.synchronize(), fence].map(|result| result.unwrap_err().code())).unwrap();
        })
        .unwrap();
    assert_eq!(is_told.recv_timeout(LONG), Ok([Some(ErrorCode::ILLEGAL_STATE); 2]));
    rig.stream.synchronize().unwrap();
}

#[test]
fn a_host_function_that_does_not_return_holds_its_stream_alone() {
    let rig = Rig::open(Launcher::builder(), Backend::Emulator);
    let (release, is_released) = mpsc::channel::<()>();
    rig.stream.host_function(move |_| assert!(is_released.recv().is_err())).unwrap();
    let behind = rig.stream.fence().unwrap();
    assert!(!behind.wait_timeout(Duration::from_millis(20)).unwrap());
    let other = rig.launcher.stream(&rig.device).unwrap();
    assert_eq!(DeviceBuffer::<u32>::from_slice(&other, &[3]).unwrap().to_vec(&other).unwrap(), [3]);
    drop(release);
    assert!(behind.wait_timeout(LONG).unwrap());
}

/// On the emulator only, because HIP ends the process.
#[test]
fn a_host_function_behind_a_fault_is_told_of_it() {
    let rig = Rig::open(Launcher::builder(), Backend::Emulator);
    let stray = rig.kernel(&PROBE, "oob_store");
    let buffer = DeviceBuffer::<f32>::new(&rig.device, 64).unwrap();
    let (told, is_told) = mpsc::channel();
    // The fault comes when everything is enqueued.
    let (release, held) = mpsc::channel::<()>();
    rig.stream.host_function(move |_| assert!(held.recv().is_err())).unwrap();
    rig.launch(stray, LaunchDims::linear(1, 64), &[Arg::Pointer(buffer.ptr()), Arg::from(1i64 << 40)])
        .unwrap();
    rig.stream.host_function(move |status| told.send(status).unwrap()).unwrap();
    drop(release);
    let error = is_told.recv_timeout(LONG).unwrap().unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::ILLEGAL_ADDRESS), "{error}");
    assert!(matches!(rig.stream.synchronize(), Err(Error::DeviceLost(_))));
    // The loss is known: the function is dropped.
    assert!(matches!(rig.stream.host_function(|_| panic!("it ran")), Err(Error::DeviceLost(_))));
}
