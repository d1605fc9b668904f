//! Kernels with an LDS layout: their launches get the layout's total of dynamic LDS.

use hiplaunch::lds::{LdsBuilder, LdsLayout};
use hiplaunch::{Arg, Error, LaunchDims, LaunchProblem, Module, Registration};

use hiplaunch_testing::rig::{PROBE, REDUCE, on_each};

/// Returns an LDS layout with one buffer of `bytes` bytes.
pub(crate) fn layout(bytes: u64) -> LdsLayout {
    let mut kernel = LdsBuilder::new(0..=9).unwrap();
    let staged = kernel.buffer("staged", bytes).unwrap();
    kernel.write(staged, 1).unwrap();
    kernel.barrier(2).unwrap();
    kernel.read(staged, 3).unwrap();
    kernel.build().unwrap().layout().unwrap()
}

#[test]
fn a_launch_gets_the_dynamic_lds_that_the_layout_needs() {
    on_each(|rig| {
        let code = REDUCE.for_device(&rig.device);
        // SAFETY: the kernels of hip/ do what their README says.
        let module = unsafe { Module::load(&rig.device, code) }.unwrap();
        let reduce = Registration::new(&module, "reduce_sum_dyn_f32").lds_layout(&layout(4 * 256));
        let reduce = rig.launcher.register_kernel(reduce).unwrap();
        let x: Vec<f32> = (0..1000).map(|i| i as f32).collect();
        let args = [Arg::input(&x), Arg::output::<f32>(2), Arg::from(1000i32)];
        let output = rig.launch(reduce, LaunchDims::linear(2, 256), &args).unwrap().read().unwrap();
        assert_eq!(output.slice::<f32>(0).unwrap().iter().sum::<f32>(), x.iter().sum::<f32>());
        rig.assert_clean();
    });
}

/// The kernel writes out how much dynamic LDS it has.
#[test]
fn a_launch_gets_the_layouts_total_unless_it_asks_for_more() {
    on_each(|rig| {
        let size = rig.kernel(&PROBE, "dynamic_lds_size");
        let launched = |dims: LaunchDims| {
            let output = rig.launch(size, dims, &[Arg::output::<u32>(5)])?.read()?;
            let words = output.slice::<u32>(0)?.to_vec();
            assert_eq!(words[1..], [1, 2, 3, 4], "the static LDS has the right contents");
            Ok::<u32, Error>(words[0])
        };
        let dims = LaunchDims::linear(1, 64);
        assert_eq!(launched(dims).unwrap(), 0);
        rig.launcher.set_lds_layout(size, &layout(3000)).unwrap();
        assert_eq!(launched(dims).unwrap(), 3000);
        assert_eq!(launched(dims.with_lds(3000)).unwrap(), 3000);
        assert_eq!(launched(dims.with_lds(4096)).unwrap(), 4096);
        let error = launched(dims.with_lds(2996)).unwrap_err();
        let Error::Launch { kernel, problem } = &error else { panic!("{error}") };
        assert_eq!(&**kernel, "dynamic_lds_size");
        assert_eq!(**problem, LaunchProblem::LdsLayout { layout: 3000, got: 2996 });
        // The kernel has 16 bytes of static LDS too.
        let most = rig.device.properties().max_lds_per_block - 16;
        let error = rig.launcher.set_lds_layout(size, &layout(u64::from(most) + 1)).unwrap_err();
        let Error::Launch { problem, .. } = &error else { panic!("{error}") };
        assert_eq!(**problem, LaunchProblem::Lds { fixed: 16, dynamic: most + 1, limit: most + 16 });
        assert_eq!(launched(dims).unwrap(), 3000, "the layout has not changed");
        rig.launcher.set_lds_layout(size, &layout(u64::from(most))).unwrap();
        assert_eq!(launched(dims).unwrap(), most);
        // Other code has another layout.
        // SAFETY: the kernels of hip/ do what their README says.
        unsafe { rig.launcher.replace(size, PROBE.for_device(&rig.device), "dynamic_lds_size") }.unwrap();
        assert_eq!(launched(dims).unwrap(), 0);
        rig.assert_clean();
    });
}

#[test]
fn a_layout_that_does_not_fit_registers_nothing() {
    on_each(|rig| {
        let code = PROBE.for_device(&rig.device);
        let registered = rig.launcher.registered();
        let large = layout(u64::from(rig.device.properties().max_lds_per_block));
        // SAFETY: nothing is registered, and nothing runs.
        let module = unsafe { Module::load(&rig.device, code) }.unwrap();
        let refused = Registration::new(&module, "dynamic_lds_size").lds_layout(&large);
        let refused = rig.launcher.register_kernel(refused);
        let Err(Error::Launch { problem, .. }) = refused else { panic!("{refused:?}") };
        assert!(matches!(*problem, LaunchProblem::Lds { fixed: 16, .. }));
        assert_eq!(rig.launcher.registered(), registered);
        let handle = rig.kernel(&PROBE, "dynamic_lds_size");
        rig.launcher.unregister(handle).unwrap();
        assert!(matches!(rig.launcher.set_lds_layout(handle, &large), Err(Error::StaleHandle(_))));
        rig.assert_clean();
    });
}
