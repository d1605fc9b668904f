//! What is left after a fault, and in a forked child.

use std::sync::mpsc;
use std::time::Duration;

use hip_driver::{ErrorCode, EventOptions, HostFunction, Work};

use crate::alone;
use crate::rig::{D0, D1};

#[test]
fn a_fault_loses_its_device_alone() {
    alone("faults::a_fault_loses_its_device_alone", |rig| {
        if !rig.has_second_device() {
            return;
        }
        let (stream, other) = (rig.stream(D0).unwrap(), rig.stream(D1).unwrap());
        let (probe, healthy) = (rig.load(D0).unwrap(), rig.load(D1).unwrap());
        let words = rig.driver.malloc(D0, 256).unwrap();
        let counter = rig.driver.malloc(D1, 4).unwrap();
        rig.enqueue(D1, other, &Work::FillWords { dst: counter, value: 0, count: 1 }).unwrap();
        let event = rig.driver.event_create(D0, EventOptions::default()).unwrap();
        // The stream stands still until all is enqueued.
        let (open, gate) = mpsc::channel::<()>();
        let gate = HostFunction::new(move || gate.recv().unwrap());
        rig.enqueue(D0, stream, &Work::HostFunction(&gate)).unwrap();
        rig.launch(&probe, "oob_store", stream, &[words.0, 1 << 40]).unwrap();
        // A stream of the other device waits for what never comes, and a function of the host for the same.
        // SAFETY: live handles.
        unsafe {
            rig.driver.event_record(D0, event, stream).unwrap();
            rig.driver.stream_wait_event(D1, other, event).unwrap();
        }
        let (said, status) = mpsc::channel();
        let function = HostFunction::with_status(move |status| said.send(status).unwrap());
        rig.enqueue(D0, stream, &Work::HostFunction(&function)).unwrap();
        open.send(()).unwrap();
        let error = rig.sync(D0, stream).unwrap_err();
        let code = error.code;
        assert!(code.is_sticky() && error.to_string().contains("oob_store"), "{error}");
        let status = status.recv_timeout(Duration::from_secs(10)).expect("the function is called");
        assert_eq!(status.unwrap_err().code, code);
        // Every later call on the device returns the same code.
        assert_eq!(rig.driver.malloc(D0, 64).unwrap_err().code, code);
        assert_eq!(rig.driver.device_synchronize(D0).unwrap_err().code, code);
        assert_eq!(rig.launch(&probe, "no_args", stream, &[]).unwrap_err().code, code);
        // The other device goes on.
        rig.launch(&healthy, "atomic_count", other, &[counter.0]).unwrap();
        assert_eq!(rig.word(D1, counter, other).unwrap(), 64);
        // SAFETY: nothing uses it any more.
        unsafe { rig.driver.free(D0, words) }.unwrap();
    });
}

#[test]
fn a_trap_is_an_error_that_names_its_kernel() {
    alone("faults::a_trap_is_an_error_that_names_its_kernel", |rig| {
        let (stream, probe) = (rig.stream(D0).unwrap(), rig.load(D0).unwrap());
        rig.launch(&probe, "trap_kernel", stream, &[]).unwrap();
        let error = rig.sync(D0, stream).unwrap_err();
        assert!(error.code.is_sticky() && error.to_string().contains("trap_kernel"), "{error}");
    });
}

#[test]
fn a_forked_child_is_refused() {
    alone("faults::a_forked_child_is_refused", |rig| {
        rig.sync(D0, rig.stream(D0).unwrap()).unwrap();
        // SAFETY: the child calls the driver, which makes no call of HSA there, and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let refused =
                rig.driver.malloc(D0, 64).is_err_and(|error| error.code == ErrorCode::NOT_INITIALIZED);
            // SAFETY: ends the child without destructors, of which HSA's would hang.
            unsafe { libc::_exit(if refused { 0 } else { 1 }) };
        }
        let mut status = 0;
        // SAFETY: the child of above, and a live integer.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(status, 0, "the child's call was refused");
        rig.driver.malloc(D0, 64).unwrap();
    });
}
