//! Lifetimes: kernels that are replaced or unregistered, and objects that are dropped, while launches are in flight.

use hiplaunch::driver::validation::{CallGroup, CallKind};
use hiplaunch::{Arg, DeviceBuffer, Error, Launch, LaunchDims, LaunchProblem, Launcher, Registration, args};

use hiplaunch_testing::rig::*;

#[test]
fn the_handle_of_an_unregistered_kernel_stays_stale() {
    on_each(|rig| {
        let first = rig.kernel(&VECTOR, "saxpy");
        rig.launcher.unregister(first).unwrap();
        let second = rig.kernel(&VECTOR, "vscale");
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
fn every_method_refuses_the_handle_of_another_launcher() {
    on_each(|rig| {
        let other = Launcher::builder().driver(rig.launcher.driver().clone()).build().unwrap();
        let device = other.device(0).unwrap();
        // SAFETY: kernels of hip/.
        let register = |name| unsafe { other.register(device, VECTOR.for_device(device), name) }.unwrap();
        let foreign = ["saxpy", "vadd_f32", "vscale"].map(register);
        let own = ["iota_u32", "fill_u32", "vscale"].map(|name| rig.kernel(&VECTOR, name));
        assert!(foreign.iter().all(|handle| !own.contains(handle)), "{foreign:?} {own:?}");

        let dims = LaunchDims::linear(1, 64);
        let calls = rig.validation().counts();
        for handle in foreign {
            let mut out = DeviceBuffer::<u32>::new(&rig.device, 0).unwrap();
            let into = Launch::new(dims).args(&[Arg::Destination]).destination(&mut out, &[4]);
            // SAFETY: refused before anything runs.
            let refused = unsafe {
                let mut graph = rig.launcher.graph(&rig.device).unwrap();
                [
                    rig.launch(handle, dims, &[]).map(drop),
                    rig.submit(handle, Launch::new(dims).packed(&[0; 16])).map(drop),
                    rig.launcher.enqueue(handle, &rig.stream, into),
                    rig.launcher.replace(handle, VECTOR.for_device(&rig.device), "saxpy"),
                    rig.launcher.declare_in_place(handle, true),
                    rig.launcher.signature(handle).map(drop),
                    graph.launch(handle, dims, &[]).map(drop),
                    rig.launcher.unregister(handle),
                ]
            };
            for (index, result) in refused.into_iter().enumerate() {
                assert!(
                    matches!(result, Err(Error::StaleHandle(h)) if h == handle.0),
                    "call {index}: {result:?}"
                );
            }
        }
        assert_eq!(rig.validation().counts().since(&calls).get(CallKind::LaunchKernel), 0);
        assert_eq!((rig.launcher.registered(), other.registered()), (3, 3));
        rig.assert_clean();
    });
}

#[test]
fn the_handle_of_a_dropped_launcher_is_stale() {
    on_each(|rig| {
        let dead = {
            let other = Launcher::builder().driver(rig.launcher.driver().clone()).build().unwrap();
            let device = other.device(0).unwrap();
            // SAFETY: a kernel of hip/.
            unsafe { other.register(device, VECTOR.for_device(device), "saxpy") }.unwrap()
        };
        let own = rig.kernel(&VECTOR, "iota_u32");
        assert_ne!(dead, own);
        let launched = rig.launch(dead, LaunchDims::linear(1, 64), &[]);
        assert!(matches!(launched, Err(Error::StaleHandle(h)) if h == dead.0), "{launched:?}");
        rig.assert_clean();
    });
}

#[test]
fn a_module_is_unloaded_after_its_last_launch_and_unregistering_does_not_wait() {
    on_each(|rig| {
        let spin = rig.kernel(&PROBE, "spin");
        let args = [Arg::from(200_000u64), Arg::output::<u32>(64)];
        let before = rig.validation().counts();
        let ticket = rig.launch(spin, LaunchDims::linear(1, 64), &args).unwrap();
        rig.launcher.unregister(spin).unwrap();
        let during = rig.validation().counts().since(&before);
        assert_eq!(during.get(CallGroup::Synchronize), 0, "unregister does not wait");
        assert!(matches!(rig.launch(spin, LaunchDims::linear(1, 64), &args), Err(Error::StaleHandle(_))));
        let output = ticket.read().unwrap();
        assert_eq!(output.slice::<u32>(0).unwrap().len(), 64);
        rig.stream.synchronize().unwrap();
        let after = rig.validation().counts().since(&before);
        assert_eq!(after.get(CallKind::ModuleUnload), 1, "its module is unloaded");
        assert_eq!(rig.stream.scratch_bytes(), 0, "its device scratch is freed");
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
        // SAFETY: the call is refused.
        let failed = unsafe { rig.launcher.replace(handle, VECTOR.for_device(&rig.device), "nothing") };
        assert!(matches!(failed, Err(Error::CodeObject(_))));
        assert_eq!(launch(9).read().unwrap().slice::<u32>(0).unwrap(), [9; 4]);
        rig.assert_clean();
    });
}

#[test]
fn launches_are_checked_against_the_kernel_that_replaced_the_one_with_other_parameters() {
    on_each(|rig| {
        let handle = rig.kernel(&VECTOR, "vscale");
        let dims = LaunchDims::linear(1, 64);
        let scale = || [3.0f32.into(), Arg::input(&[1.0f32; 4]), Arg::output::<f32>(4), Arg::from(4i32)];
        let fill = || [Arg::output::<u32>(4), Arg::from(7u32), Arg::from(4i32)];
        let refused = |args: &[Arg<'_>], name: &str, takes: usize| match rig.launch(handle, dims, args) {
            Err(Error::Launch { kernel, problem }) => {
                let (expected, got) = (takes, args.len());
                assert_eq!(*problem, LaunchProblem::ArgumentCount { expected, got });
                assert_eq!(&*kernel, name);
            }
            other => panic!("{other:?}"),
        };
        rig.launch(handle, dims, &scale()).unwrap();
        refused(&fill(), "vscale", 4);
        // SAFETY: a kernel of hip/.
        unsafe { rig.launcher.replace(handle, VECTOR.for_device(&rig.device), "fill_u32") }.unwrap();
        refused(&scale(), "fill_u32", 3);
        let ticket = rig.launch(handle, dims, &fill()).unwrap();
        assert_eq!(ticket.read().unwrap().slice::<u32>(0).unwrap(), [7; 4]);
        rig.assert_clean();
    });
}

#[test]
fn kernels_of_one_module_share_it() {
    on_each(|rig| {
        let before = rig.validation().counts();
        // SAFETY: kernels of hip/.
        let module = unsafe { hiplaunch::Module::load(&rig.device, VECTOR.for_device(&rig.device)) }.unwrap();
        let handles = ["saxpy", "vscale", "iota_u32"]
            .map(|k| rig.launcher.register_kernel(Registration::new(&module, k)).unwrap());
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
            tickets.push(rig.launch(echo, LaunchDims::linear(1, 64), &[Arg::ArgumentBlock(&block)]).unwrap());
        }
        let validation = rig.validation().clone();
        drop((tickets, x, rig));
        let leaks = validation.report_leaks();
        assert!(leaks.is_empty(), "{leaks:?}");
        assert!(validation.violations().is_empty(), "{:?}", validation.violations());
    });
}
