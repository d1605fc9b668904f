//! Functions of the host in graphs: called once at every submission, between what was recorded before and after them.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use hiplaunch::driver::{Capability, ErrorCode};
use hiplaunch::graph::{Branches, Submission};
use hiplaunch::{Backend, DeviceBuffer, Error, Launcher};

use hiplaunch_testing::rig::*;

const LONG: Duration = Duration::from_secs(60);

#[test]
fn it_is_called_once_at_every_submission_and_dropped_with_the_graph() {
    on_each(|rig| {
        let capabilities = rig.launcher.driver().capabilities();
        if !capabilities.has(Capability::HostFunc) {
            let mut g = rig.launcher.graph(&rig.device).unwrap();
            g.host_function(|_| panic!("it ran"));
            let refused = g.compute(&rig.stream).unwrap_err();
            assert_eq!(refused.code(), Some(ErrorCode::NOT_SUPPORTED), "{refused}");
            return;
        }
        let words = DeviceBuffer::<u32>::on(&rig.stream, 64).unwrap();
        let (sender, receiver) = mpsc::channel();
        let alive = Arc::new(());
        for submission in [Submission::Stream, Submission::DriverGraph] {
            if submission == Submission::DriverGraph && !capabilities.has(Capability::Graphs) {
                continue;
            }
            for n in 0..3 {
                let mut g = rig.launcher.graph(&rig.device).unwrap();
                let value = g.buffer(&words).unwrap();
                g.fill_words(&value, n).unwrap();
                let (sender, kept) = (sender.clone(), Arc::clone(&alive));
                g.host_function(move |status| {
                    let _kept = &kept;
                    sender.send((status.is_ok(), n)).unwrap();
                });
                g.read(&value.slice(0, 4).unwrap()).unwrap();
                let ticket = g.compute_by(&rig.stream, submission).unwrap();
                assert_eq!(ticket.read().unwrap().value::<u32>(0).unwrap(), n);
                assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [(true, n)], "{submission:?}");
            }
            rig.stream.synchronize().unwrap();
            assert_eq!(Arc::strong_count(&alive), 1, "{submission:?}: the cache keeps no function");
        }
        // Compiled, it is called again.
        let mut g = rig.launcher.graph(&rig.device).unwrap();
        let (sender, kept) = (sender.clone(), Arc::clone(&alive));
        g.host_function(move |_| sender.send((Arc::strong_count(&kept) > 1, 9)).unwrap());
        let mut compiled = g.compile(&rig.stream).unwrap();
        for _ in 0..3 {
            compiled.submit().unwrap().read().unwrap();
        }
        assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [(true, 9); 3]);
        drop(compiled);
        rig.stream.synchronize().unwrap();
        assert_eq!(Arc::strong_count(&alive), 1);
        rig.validation().assert_clean().unwrap();
    });
}

/// On the emulator, where what has run can be seen meanwhile.
#[test]
fn it_stands_between_the_nodes_before_and_after_it_on_any_number_of_streams() {
    for branches in [Branches::One, Branches::Streams(4)] {
        let rig = Rig::open(Launcher::builder(), Backend::Emulator);
        let buffers: Vec<_> =
            (0..6).map(|_| DeviceBuffer::<u32>::from_slice(&rig.stream, &[0]).unwrap()).collect();
        rig.stream.synchronize().unwrap();
        let mut g = rig.launcher.graph(&rig.device).unwrap();
        g.set_branches(branches);
        let values: Vec<_> = buffers.iter().map(|buffer| g.buffer(buffer).unwrap()).collect();
        let (entered, has_entered) = mpsc::channel();
        let (release, is_released) = mpsc::channel::<()>();
        let is_released = std::sync::Mutex::new(is_released);
        for (n, value) in values.iter().enumerate() {
            g.fill_words(value, 1).unwrap();
            if n == 2 {
                g.host_function(|_| ());
                let is_released = std::mem::replace(&mut *is_released.lock().unwrap(), mpsc::channel().1);
                let (entered, is_released) = (entered.clone(), std::sync::Mutex::new(is_released));
                g.host_function(move |_| {
                    entered.send(()).unwrap();
                    is_released.lock().unwrap().recv_timeout(LONG).unwrap();
                });
            }
        }
        let ticket = g.compute_by(&rig.stream, Submission::Stream).unwrap();
        has_entered.recv_timeout(LONG).unwrap();
        std::thread::sleep(Duration::from_millis(10));
        let other = rig.launcher.stream(&rig.device).unwrap();
        let seen: Vec<u32> = buffers.iter().map(|buffer| buffer.to_vec(&other).unwrap()[0]).collect();
        assert_eq!(seen, [1, 1, 1, 0, 0, 0], "{branches:?}");
        release.send(()).unwrap();
        ticket.read().unwrap();
        let seen: Vec<u32> = buffers.iter().map(|buffer| buffer.to_vec(&rig.stream).unwrap()[0]).collect();
        assert_eq!(seen, [1; 6]);
        // The looks in between were not ordered.
        rig.validation().take_violations();
    }
}

#[test]
fn a_panic_of_it_stays_in_it_and_the_device_is_not_lost() {
    let rig = Rig::open(Launcher::builder(), Backend::Emulator);
    for submission in [Submission::Stream, Submission::DriverGraph] {
        let mut g = rig.launcher.graph(&rig.device).unwrap();
        g.host_function(|_| panic!("stays inside"));
        g.compute_by(&rig.stream, submission).unwrap().read().unwrap();
    }
    assert!(rig.device.check().is_ok() && !matches!(rig.stream.synchronize(), Err(Error::DeviceLost(_))));
}
