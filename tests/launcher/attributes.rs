//! What registered kernels need, and how many of their workgroups fit on a compute unit.

use hiplaunch::occupancy::{OccupancyError, OccupancyLimit};
use hiplaunch::{Error, KernelHandle, LaunchProblem, Registration};
use hiplaunch_testing::rig::{PROBE, REDUCE, VECTOR, on_each};

use super::lds::layout;

#[test]
fn attributes_are_those_of_the_code_object() {
    on_each(|rig| {
        let sum = rig.kernel(&REDUCE, "reduce_sum_f32");
        let attributes = rig.launcher.kernel(sum).unwrap().attributes(&rig.device).unwrap();
        let signature = rig.launcher.signature(sum).unwrap();
        assert_eq!((attributes.static_lds, attributes.max_threads_per_block), (1024, 256));
        assert_eq!((attributes.private_bytes, attributes.uses_dynamic_stack), (0, false));
        assert_eq!((attributes.spilled_vgprs, attributes.spilled_sgprs), (0, 0));
        assert_eq!(attributes.vgprs + attributes.agprs, signature.vgpr_count);
        assert!(attributes.vgprs > 0 && attributes.sgprs == signature.sgpr_count, "{attributes:?}");
        assert_eq!(attributes.wavefront_size, rig.device.properties().wavefront_size);
        assert_eq!((attributes.kernarg_bytes, attributes.required_block), (signature.kernarg_size, None));
        let saxpy =
            rig.launcher.kernel(rig.kernel(&VECTOR, "saxpy")).unwrap().attributes(&rig.device).unwrap();
        assert_eq!((saxpy.static_lds, saxpy.max_threads_per_block), (0, 1024));
        assert!(matches!(rig.launcher.kernel(KernelHandle(7)), Err(Error::StaleHandle(7))));
    });
}

#[test]
fn occupancy_is_that_of_the_kernels_device() {
    on_each(|rig| {
        let nothing = rig.kernel(&PROBE, "no_args");
        let full = rig.launcher.kernel(nothing).unwrap().occupancy(&rig.device, 256, 0).unwrap();
        let processor = &rig.device.properties().target.processor;
        assert_eq!((full.processor, full.limited_by), (processor.name(), OccupancyLimit::Waves));
        assert_eq!(full.blocks_per_cu * full.waves_per_block, full.simds * full.max_waves_per_simd);
        let half = rig.launcher.kernel(nothing).unwrap().occupancy(&rig.device, 64, 32 << 10).unwrap();
        assert_eq!((half.blocks_per_cu, half.limited_by), (2, OccupancyLimit::Lds));
        let error = rig.launcher.kernel(nothing).unwrap().occupancy(&rig.device, 1025, 0).unwrap_err();
        let most = OccupancyError::TooManyWorkItems { block: 1025, most: 1024 };
        assert!(matches!(&error, Error::Occupancy(found) if *found == most), "{error}");
        let error = rig.launcher.kernel(nothing).unwrap().occupancy(&rig.device, 64, 1 << 20).unwrap_err();
        assert!(matches!(error, Error::Occupancy(OccupancyError::TooMuchLds { .. })), "{error}");
    });
}

#[test]
fn occupancy_counts_the_lds_of_a_layout_as_a_launch_does() {
    on_each(|rig| {
        // SAFETY: the kernels of hip/ do what their README says.
        let module = unsafe { hiplaunch::Module::load(&rig.device, PROBE.for_device(&rig.device)) }.unwrap();
        let registration = Registration::new(&module, "no_args").lds_layout(&layout(16 << 10));
        let kernel = rig.launcher.register_kernel(registration).unwrap();
        assert_eq!(
            rig.launcher.kernel(kernel).unwrap().occupancy(&rig.device, 64, 0).unwrap().blocks_per_cu,
            4
        );
        assert_eq!(
            rig.launcher.kernel(kernel).unwrap().occupancy(&rig.device, 64, 32 << 10).unwrap().blocks_per_cu,
            2
        );
        let error = rig.launcher.kernel(kernel).unwrap().occupancy(&rig.device, 64, 1024).unwrap_err();
        let Error::Launch { problem, .. } = &error else { panic!("{error}") };
        assert!(matches!(**problem, LaunchProblem::LdsLayout { layout: 16384, got: 1024 }), "{error}");
    });
}
