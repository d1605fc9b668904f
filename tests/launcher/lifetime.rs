//! Handles, modules and streams: replaced, unregistered and dropped while launches are in flight.

use hiplaunch::driver::validation::CallKind;
use hiplaunch::{Arg, Error, LaunchDims, args};

use hiplaunch_testing::rig::*;

#[test]
fn a_stale_handle_is_told_from_its_slot_s_next_owner() {
    on_each(|rig| {
        let first = rig.kernel(&VECTOR, "saxpy");
        rig.launcher.unregister(first).unwrap();
        let second = rig.kernel(&VECTOR, "vscale");
        assert_eq!(first.0 as u32, second.0 as u32, "the slot is used again");
        assert_ne!(first, second);
        assert!(matches!(rig.launcher.unregister(first), Err(Error::StaleHandle(h)) if h == first.0));
        let stale = rig.launch(first, LaunchDims::linear(1, 1), &[]);
        assert!(matches!(stale, Err(Error::StaleHandle(h)) if h == first.0));
        assert!(matches!(rig.launcher.signature(first), Err(Error::StaleHandle(_))));
        assert_eq!(rig.launcher.signature(second).unwrap().name, "vscale");
        rig.assert_clean();
    });
}

#[test]
fn unregistering_waits_for_the_last_launch_and_not_for_the_caller() {
    on_each(|rig| {
        let spin = rig.kernel(&PROBE, "spin");
        let args = [Arg::from(200_000u64), Arg::output::<u32>(64)];
        let before = rig.validation().counts();
        let ticket = rig.launch(spin, LaunchDims::linear(1, 64), &args).unwrap();
        rig.launcher.unregister(spin).unwrap();
        let during = rig.validation().counts().since(&before);
        assert_eq!(during.get(CallKind::Synchronize), 0, "unregister does not wait");
        assert!(matches!(rig.launch(spin, LaunchDims::linear(1, 64), &args), Err(Error::StaleHandle(_))));
        let output = ticket.read().unwrap();
        assert_eq!(output.slice::<u32>(0).unwrap().len(), 64);
        rig.stream.synchronize().unwrap();
        let after = rig.validation().counts().since(&before);
        assert_eq!(after.get(CallKind::ModuleUnload), 1, "its module is gone");
        assert_eq!(rig.stream.scratch_bytes(), 0, "and its scratch");
        rig.assert_clean();
    });
}

#[test]
fn replacing_keeps_launches_in_flight_on_the_old_kernel() {
    on_each(|rig| {
        let handle = rig.kernel(&VECTOR, "iota_u32");
        let launch = |start: u32| {
            let args = [Arg::output::<u32>(4), Arg::from(start), Arg::from(4i32)];
            rig.launch(handle, LaunchDims::linear(1, 64), &args).unwrap()
        };
        let old = launch(5);
        let before = rig.validation().counts();
        // SAFETY: a kernel of hip/ with the same parameters.
        unsafe { rig.launcher.replace(handle, VECTOR.for_device(&rig.device), "fill_u32") }.unwrap();
        let new = launch(5);
        assert_eq!(old.read().unwrap().slice::<u32>(0).unwrap(), [5, 6, 7, 8]);
        assert_eq!(new.read().unwrap().slice::<u32>(0).unwrap(), [5; 4]);
        rig.stream.synchronize().unwrap();
        rig.launcher.collect();
        assert_eq!(rig.validation().counts().since(&before).get(CallKind::ModuleUnload), 1);

        // A replacement that fails leaves the kernel as it was.
        // SAFETY: refused.
        let failed = unsafe { rig.launcher.replace(handle, VECTOR.for_device(&rig.device), "nothing") };
        assert!(matches!(failed, Err(Error::CodeObject(_))));
        assert_eq!(launch(9).read().unwrap().slice::<u32>(0).unwrap(), [9; 4]);
        rig.assert_clean();
    });
}

#[test]
fn kernels_of_one_module_share_it() {
    on_each(|rig| {
        let before = rig.validation().counts();
        // SAFETY: kernels of hip/.
        let module = unsafe { hiplaunch::Module::load(&rig.device, VECTOR.for_device(&rig.device)) }.unwrap();
        let handles =
            ["saxpy", "vscale", "iota_u32"].map(|k| rig.launcher.register_from(&module, k).unwrap());
        drop(module);
        let counts = |kind| rig.validation().counts().since(&before).get(kind);
        assert_eq!(counts(CallKind::ModuleLoad), 1);
        handles[..2].iter().for_each(|h| rig.launcher.unregister(*h).unwrap());
        assert_eq!(counts(CallKind::ModuleUnload), 0);
        rig.launcher.unregister(handles[2]).unwrap();
        assert_eq!(counts(CallKind::ModuleUnload), 1);
        rig.assert_clean();
    });
}

#[test]
fn dropping_everything_leaks_nothing() {
    on_each(|rig| {
        let echo = rig.kernel(&JIT, "jit_echo");
        let saxpy = rig.kernel(&VECTOR, "saxpy");
        let x = hiplaunch::DeviceBuffer::<f32>::new(&rig.device, 100).unwrap();
        let bytes = echo_bytes(b"hello");
        let block = echo_block(&bytes, 5);
        let mut tickets = Vec::new();
        for _ in 0..50 {
            rig.launch(saxpy, LaunchDims::linear(1, 64), &args![0.0f32, &x, &x, 64i32]).unwrap();
            tickets.push(rig.launch(echo, LaunchDims::linear(1, 64), &[Arg::Block(&block)]).unwrap());
        }
        let validation = rig.validation().clone();
        drop((tickets, x, rig));
        let leaks = validation.report_leaks();
        assert!(leaks.is_empty(), "{leaks:?}");
        assert!(validation.violations().is_empty(), "{:?}", validation.violations());
    });
}
