//! Errors are found while recording, returned by compute, and nothing is submitted.

use hiplaunch::driver::validation::CallKind;
use hiplaunch::driver::{Driver, ErrorCode};
use hiplaunch::{Backend, DeviceBuffer, Launcher};
use hiplaunch_tensor::Error;
use hiplaunch_tensor::{Element, MAX_ELEMENTS};
use hiplaunch_tensor::{LazyTensor, Tensors};

use crate::operations::{one_by_one, tensors};
use hiplaunch_testing::rig::*;

#[track_caller]
fn refused<T: Element>(tensor: &LazyTensor<T>) -> (&'static str, String) {
    match tensor.compute() {
        Err(Error::Operation { operation, problem }) => (operation, problem.into()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn mismatched_shapes_are_errors_that_name_them() {
    on_each(|rig| {
        let t = tensors(&rig);
        let a = t.from_slice(&[1.0f32; 6], &[2, 3]).unwrap();
        let b = t.from_slice(&[1.0f32; 6], &[3, 2]).unwrap();
        let before = rig.validation().counts();
        let differ = "the shapes [2, 3] and [3, 2] differ".to_owned();
        for (name, wrong) in [
            ("add", a.add(&b)),
            ("sub", a.sub(&b)),
            ("mul", a.mul(&b)),
            ("div", a.div(&b)),
            ("max", a.max(&b)),
            ("min", a.min(&b)),
            ("fma", a.mul_add(&a, &b)),
            ("fma", a.mul_add(&b, 1.0)),
        ] {
            assert_eq!(refused(&wrong), (name, differ.clone()));
        }
        // The first error of a chain is returned, whatever follows, from either operand.
        let chain = a.add(&b).mul(5.0).sub(&a).sqrt().sum(7).matmul(&b);
        assert_eq!(refused(&chain), ("add", differ.clone()));
        assert_eq!(refused(&b.mul(&a.add(&b))), ("add", differ));
        let shown = chain.error().unwrap().to_string();
        assert_eq!(shown, "tensor operation `add`: the shapes [2, 3] and [3, 2] differ");
        assert!(chain.shape().is_err() && chain.operations().is_err() && chain.to_vec().is_err());

        let no_product = |right: &str| {
            format!("shapes [2, 3] and {right} have no matrix product; it takes [m, k] and [k, n]")
        };
        assert_eq!(refused(&a.matmul(&a)), ("matmul", no_product("[2, 3]")));
        let vector = a.sum(0);
        assert_eq!(refused(&a.matmul(&vector)), ("matmul", no_product("[3]")));
        assert_eq!(refused(&a.sum(2)), ("sum", "shape [2, 3] has no axis 2".to_owned()));
        assert_eq!(rig.validation().counts().since(&before).device_calls(), 0, "nothing was submitted");
        rig.assert_clean();
    });
}

#[test]
fn wrong_lengths_sizes_and_divisors_are_errors() {
    on_each(|rig| {
        let t = tensors(&rig);
        match t.from_slice(&[1i32; 5], &[2, 3]) {
            Err(Error::Operation { operation: "from_slice", problem }) => {
                assert_eq!(&*problem, "5 elements do not fill the shape [2, 3]");
            }
            other => panic!("{other:?}"),
        }
        for shape in [[usize::MAX, 2], [1 << 16, 1 << 16]] {
            match t.from_slice(&[1i32; 5], &shape) {
                Err(Error::Operation { problem, .. }) => {
                    assert_eq!(&*problem, format!("shape {shape:?} has more than {MAX_ELEMENTS} elements"));
                }
                other => panic!("{other:?}"),
            }
        }
        let column = t.from_slice(&[1i32; 1 << 16], &[1 << 16, 1]).unwrap();
        let row = t.from_slice(&[1i32; 1 << 16], &[1, 1 << 16]).unwrap();
        let too_large = format!("shape [65536, 65536] has more than {MAX_ELEMENTS} elements");
        assert_eq!(refused(&column.matmul(&row)), ("matmul", too_large));
        assert_eq!(refused(&row.div(0)), ("div", "integers can't be divided by the scalar 0".to_owned()));
        assert_eq!(row.div(2).to_vec().unwrap()[0], 0);
        rig.assert_clean();
    });
}

#[test]
fn tensors_of_other_streams_and_launchers_are_refused() {
    on_each(|rig| {
        let t = tensors(&rig);
        let a = t.from_slice(&[1.0f64; 4], &[4]).unwrap();
        let other_stream = rig.launcher.stream(&rig.device).unwrap();
        let b = t.on_stream(&other_stream).unwrap().from_slice(&[1.0f64; 4], &[4]).unwrap();
        let other_stream =
            "its operands are of different streams; create both with the `Tensors` of one stream";
        assert_eq!(refused(&a.add(&b)), ("add", other_stream.to_owned()));
        assert_eq!(refused(&a.mul_add(2.0, &b)), ("fma", other_stream.to_owned()));
        // Contexts that were created separately for the same stream can be mixed.
        let c = tensors(&rig).from_slice(&[1.0f64; 4], &[4]).unwrap();
        assert_eq!(a.add(&c).to_vec().unwrap(), [2.0; 4]);

        let other = Rig::open(Launcher::builder(), Backend::Emulator);
        let d = tensors(&other).from_slice(&[1.0f64; 4], &[4]).unwrap();
        let other_launcher = "its operands are of different launchers; no launcher can compute with both";
        assert_eq!(refused(&a.max(&d)), ("max", other_launcher.to_owned()));
        assert!(matches!(
            Tensors::new(&rig.launcher, &other.stream),
            Err(Error::Launcher(hiplaunch::Error::Invalid { .. }))
        ));
        let buffer = DeviceBuffer::<f64>::new(&other.device, 4).unwrap();
        assert!(matches!(t.from_buffer(buffer), Err(Error::Operation { operation: "from_buffer", .. })));
        rig.assert_clean();
    });
}

#[test]
fn a_tensor_of_another_device_is_refused() {
    use hiplaunch::driver::emulated::{EmulatedDriver, EmulatorOptions};
    let options = EmulatorOptions { devices: 2, ..EmulatorOptions::default() };
    let driver: std::sync::Arc<dyn Driver> = EmulatedDriver::new(options).unwrap();
    let launcher = Launcher::builder().driver(driver).validate(true).build().unwrap();
    let on = |device: u32| {
        let stream = launcher.stream(launcher.device(device).unwrap()).unwrap();
        Tensors::new(&launcher, &stream).unwrap()
    };
    let (first, second) = (on(0), on(1));
    let a = first.from_slice(&[1i32; 4], &[4]).unwrap();
    let b = second.from_slice(&[1i32; 4], &[4]).unwrap();
    let ids = (first.device().id(), second.device().id());
    let other_device = format!("the operand is on {}, not on {}; copy it first", ids.1, ids.0);
    assert_eq!(refused(&a.add(&b)), ("add", other_device));
    // A destination on the other device gets memory on this one.
    let mut out = DeviceBuffer::<i32>::on(second.stream(), 4).unwrap();
    a.add(1).compute_into(&mut out).unwrap();
    assert_eq!((out.device(), out.to_vec(first.stream()).unwrap()), (first.device(), vec![2; 4]));
}

#[test]
fn a_refused_submission_names_the_node_and_the_next_one_works() {
    on_each(|rig| {
        let t = one_by_one(&rig);
        let a = t.from_slice(&[1.0f32; 4], &[4]).unwrap();
        let chain = a.add(1.0).mul(2.0).neg();
        assert_eq!(chain.to_vec().unwrap(), [-4.0; 4]);
        let mut out = DeviceBuffer::<f32>::on(&rig.stream, 100).unwrap();
        rig.validation().inject(CallKind::LaunchKernel, 2, ErrorCode::INVALID_VALUE);
        match chain.compute_into(&mut out) {
            Err(Error::Launcher(hiplaunch::Error::Node { node: 1, kernel: Some(kernel), .. })) => {
                assert_eq!(&*kernel, "mul_f32_ts")
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(out.shape(), [100]);
        rig.validation().clear_injections();
        chain.compute_into(&mut out).unwrap();
        assert_eq!(out.to_vec(&rig.stream).unwrap(), [-4.0; 4]);
        // There is no memory for the result: nothing is submitted, and the destination is unchanged.
        let big = t.from_slice(&vec![1.0f32; 1 << 20], &[1 << 20]).unwrap();
        rig.validation().inject_repeating(CallKind::Malloc, 1, ErrorCode::OUT_OF_MEMORY);
        let before = rig.validation().counts();
        let result = big.add(1.0).mul(2.0).compute_into(&mut out);
        assert!(matches!(result, Err(Error::Launcher(hiplaunch::Error::OutOfMemory(_)))), "{result:?}");
        assert_eq!(rig.validation().counts().since(&before).get(CallKind::LaunchKernel), 0);
        assert_eq!(out.shape(), [4]);
        rig.validation().clear_injections();
        // There is no memory for the temporaries: the same, and the error says what for.
        let mut large = DeviceBuffer::<f32>::on(&rig.stream, 1 << 20).unwrap();
        rig.validation().inject_repeating(CallKind::Malloc, 1, ErrorCode::OUT_OF_MEMORY);
        let before = rig.validation().counts();
        match big.add(1.0).mul(2.0).compute_into(&mut large) {
            Err(Error::Launcher(hiplaunch::Error::OutOfMemory(e))) => {
                let why = e.why.unwrap_or_default();
                assert!(why.contains("the workspace of a graph of 2 nodes, the largest temporary"), "{why}");
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(rig.validation().counts().since(&before).get(CallKind::LaunchKernel), 0);
        rig.validation().clear_injections();
        big.add(1.0).mul(2.0).compute_into(&mut large).unwrap();
        assert_eq!(large.to_vec(&rig.stream).unwrap()[1 << 19], 4.0);
        rig.assert_clean();
        let validation = rig.validation().clone();
        drop((t, a, chain, out, big, large, rig));
        assert_eq!(validation.report_leaks(), [], "kernels, modules and memory are given back");
    });
}
