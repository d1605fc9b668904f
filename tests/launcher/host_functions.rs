//! Functions of the host in the order of a stream.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use hiplaunch::driver::{Capability, ErrorCode};
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

/// On the emulator only, because HIP ends the process.
#[test]
fn a_host_function_behind_a_fault_is_told_of_it() {
    let rig = Rig::open(Launcher::builder(), Backend::Emulator);
    let stray = rig.kernel(&PROBE, "oob_store");
    let buffer = DeviceBuffer::<f32>::new(&rig.device, 64).unwrap();
    let (told, is_told) = mpsc::channel();
    rig.launch(stray, LaunchDims::linear(1, 64), &[Arg::Pointer(buffer.ptr()), Arg::from(1i64 << 40)])
        .unwrap();
    rig.stream.host_function(move |status| told.send(status).unwrap()).unwrap();
    let error = is_told.recv_timeout(LONG).unwrap().unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::ILLEGAL_ADDRESS), "{error}");
    assert!(matches!(rig.stream.synchronize(), Err(Error::DeviceLost(_))));
    // The loss is known: the function is dropped.
    assert!(matches!(rig.stream.host_function(|_| panic!("it ran")), Err(Error::DeviceLost(_))));
}
