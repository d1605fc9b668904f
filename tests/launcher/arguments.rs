//! Every kind of argument, and every mistake for which a launch is refused.

use hiplaunch::driver::DevicePtr;
use hiplaunch::{
    Arg, ArgumentBlock, Backend, DeviceBuffer, Error, HostData, Launch, LaunchDims, LaunchProblem, Launcher,
    Patch, PatchTarget, Staging, args,
};

use hiplaunch_testing::rig::*;

#[test]
fn a_kernel_gets_its_values_and_buffers() {
    on_each(|rig| {
        let saxpy = rig.kernel(&VECTOR, "saxpy");
        let x: Vec<f32> = (0..1000).map(|i| i as f32).collect();
        let xs = DeviceBuffer::from_slice(&rig.stream, &x).unwrap();
        let ys = DeviceBuffer::from_slice(&rig.stream, &vec![1.0f32; 1000]).unwrap();
        rig.launch(saxpy, LaunchDims::cover(1000, 256), &args![2.0f32, &xs, &ys, 1000i32]).unwrap();
        let want: Vec<f32> = x.iter().map(|x| 2.0f32.mul_add(*x, 1.0)).collect();
        assert_eq!(ys.to_vec(&rig.stream).unwrap(), want);
        rig.assert_clean();
    });
}

#[test]
fn mixed_values_are_packed_at_the_metadata_s_offsets() {
    on_each(|rig| {
        let kernel = rig.kernel(&PROBE, "args_mixed");
        let s = [7i32, -8, 9];
        let args = [
            Arg::from(-1i8),
            Arg::from(-2i16),
            Arg::from(-3i32),
            Arg::from(-4i64),
            Arg::from(1.5f32),
            Arg::from(-2.5f64),
            Arg::value(&s),
            Arg::output::<u64>(9),
        ];
        let output = rig.launch(kernel, LaunchDims::linear(1, 1), &args).unwrap().read().unwrap();
        let want = [-1i64, -2, -3, -4, 1.5f64.to_bits() as i64, (-2.5f64).to_bits() as i64, 7, -8, 9];
        assert_eq!(output.slice::<i64>(0).unwrap(), want);

        // The same, packed by the caller.
        let out = DeviceBuffer::<i64>::new(&rig.device, 9).unwrap();
        let mut packed = vec![0u8; 56];
        packed[0] = -1i8 as u8;
        packed[2..4].copy_from_slice(&(-2i16).to_le_bytes());
        packed[4..8].copy_from_slice(&(-3i32).to_le_bytes());
        packed[8..16].copy_from_slice(&(-4i64).to_le_bytes());
        packed[16..20].copy_from_slice(&1.5f32.to_le_bytes());
        packed[24..32].copy_from_slice(&(-2.5f64).to_le_bytes());
        packed[32..44].copy_from_slice(bytemuck::cast_slice(&s));
        packed[48..56].copy_from_slice(&out.ptr().0.to_le_bytes());
        rig.submit(kernel, Launch::new(LaunchDims::linear(1, 1)).packed(&packed)).unwrap();
        assert_eq!(out.to_vec(&rig.stream).unwrap(), want);

        let short = rig.submit(kernel, Launch::new(LaunchDims::linear(1, 1)).packed(&packed[..48]));
        let problem = LaunchProblem::PackedSize { expected: 56, limit: 56, got: 48 };
        assert!(matches!(short, Err(Error::Launch { problem: p, .. }) if *p == problem));
        rig.assert_clean();
    });
}

/// A C struct of a float, two pointers and an int has 32 bytes, of which the last 4 are padding. The kernarg segment
/// has 28.
#[test]
fn packed_arguments_may_end_with_the_padding_of_a_struct() {
    on_each(|rig| {
        let saxpy = rig.kernel(&VECTOR, "saxpy");
        let x = DeviceBuffer::from_slice(&rig.stream, &[1.0f32; 64]).unwrap();
        let y = DeviceBuffer::from_slice(&rig.stream, &[0.0f32; 64]).unwrap();
        let mut packed = [0xffu8; 36];
        packed[..4].copy_from_slice(&2.0f32.to_le_bytes());
        packed[8..16].copy_from_slice(&x.ptr().0.to_le_bytes());
        packed[16..24].copy_from_slice(&y.ptr().0.to_le_bytes());
        packed[24..28].copy_from_slice(&64i32.to_le_bytes());
        let launch =
            |bytes: usize| rig.submit(saxpy, Launch::new(LaunchDims::linear(1, 64)).packed(&packed[..bytes]));
        for (done, bytes) in (28..=32).enumerate() {
            launch(bytes).unwrap();
            assert_eq!(y.to_vec(&rig.stream).unwrap(), [2.0 * (done + 1) as f32; 64], "{bytes} bytes");
        }
        for bytes in [0, 27, 33, 36] {
            let problem = LaunchProblem::PackedSize { expected: 28, limit: 32, got: bytes };
            let refused = launch(bytes).unwrap_err();
            assert!(matches!(&refused, Error::Launch { problem: p, .. } if **p == problem), "{refused}");
        }
        rig.assert_clean();
    });
}

#[test]
fn packed_bytes_in_place_of_hidden_arguments_are_ignored() {
    const SAMPLE: &[u8] = include_bytes!("../../crates/code-object/tests/data/v5.co");
    let rig = Rig::open(Launcher::builder(), Backend::Emulator);
    // SAFETY: the kernel is launched below with the arguments that it takes.
    let scale = unsafe { rig.launcher.register(&rig.device, SAMPLE, "scale") }.unwrap();
    let signature = rig.launcher.signature(scale).unwrap();
    assert_eq!((signature.explicit_size(), signature.kernarg_size), (32, 288));
    let x = DeviceBuffer::from_slice(&rig.stream, &(0..128).map(|i| i as f32).collect::<Vec<_>>()).unwrap();
    // out[i] = 3 * in[i ^ 1] - 3 + [2, 3][i & 1]. The kernel also uses the size of a block, a hidden argument.
    let want: Vec<f32> = (0..128).map(|i| 3.0 * (i ^ 1) as f32 - 3.0 + [2.0, 3.0][i & 1]).collect();
    let mut packed = [0xffu8; 289];
    packed[8..16].copy_from_slice(&x.ptr().0.to_le_bytes());
    packed[16..20].copy_from_slice(&3.0f32.to_le_bytes());
    packed[20..32].copy_from_slice(bytemuck::cast_slice(&[128i32, 1, 0]));
    for bytes in [32, 33, 40, 287, 288, 289] {
        let out = DeviceBuffer::from_slice(&rig.stream, &[0.0f32; 128]).unwrap();
        packed[..8].copy_from_slice(&out.ptr().0.to_le_bytes());
        let launched = rig.submit(scale, Launch::new(LaunchDims::linear(2, 64)).packed(&packed[..bytes]));
        if bytes > 288 {
            let problem = LaunchProblem::PackedSize { expected: 32, limit: 288, got: bytes };
            assert!(matches!(launched, Err(Error::Launch { problem: p, .. }) if *p == problem));
            continue;
        }
        launched.unwrap();
        assert_eq!(out.to_vec(&rig.stream).unwrap(), want, "{bytes} bytes");
    }
    rig.assert_clean();
}

#[test]
fn a_kernel_sees_the_ids_and_sizes_of_a_three_dimensional_launch() {
    on_each(|rig| {
        let kernel = rig.kernel(&PROBE, "ids");
        let (grid, block) = ([2u32, 3, 2], [4u32, 3, 7]);
        let items = (grid.iter().product::<u32>() * block.iter().product::<u32>()) as usize;
        let args = [Arg::output::<u32>(items * 12)];
        let output = rig.launch(kernel, LaunchDims::new(grid, block), &args).unwrap().read().unwrap();
        let words: &[u32] = output.slice(0).unwrap();
        let mut at = 0;
        for g in 0..grid.iter().product::<u32>() {
            for t in 0..block.iter().product::<u32>() {
                let axes = |n: u32, e: [u32; 3]| [n % e[0], n / e[0] % e[1], n / (e[0] * e[1])];
                let want: Vec<u32> = [axes(g, grid), axes(t, block), block, grid].concat();
                assert_eq!(words[at..at + 12], want, "workgroup {g} work-item {t}");
                at += 12;
            }
        }
        rig.assert_clean();
    });
}

#[test]
fn host_arrays_are_copied_in_and_out_with_either_staging() {
    on_each(|rig| {
        let saxpy = rig.kernel(&VECTOR, "saxpy");
        let vadd = rig.kernel(&VECTOR, "vadd_f32");
        for n in [1usize, 63, 64, 1000, 100_000] {
            for staging in [Staging::Copy, Staging::Mapped] {
                let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
                let y = vec![0.5f32; n];
                let dims = LaunchDims::cover(n as u32, 256);
                let args = [Arg::from(3.0f32), Arg::input(&x), Arg::inout(&y), Arg::from(n as i32)];
                let a = rig.submit(saxpy, Launch::new(dims).args(&args).staging(staging)).unwrap();
                let args = [Arg::input(&x), Arg::input(&y), Arg::output::<f32>(n), Arg::from(n as i32)];
                let b = rig.submit(vadd, Launch::new(dims).args(&args).staging(staging)).unwrap();
                // The arrays may be dropped before the results are read.
                drop(y);
                let (a, b) = (a.read().unwrap(), b.read().unwrap());
                assert_eq!((a.len(), b.len()), (1, 1));
                assert!(
                    a.slice::<f32>(0).unwrap().iter().zip(&x).all(|(got, x)| *got == 3.0f32.mul_add(*x, 0.5))
                );
                assert!(b.slice::<f32>(0).unwrap().iter().zip(&x).all(|(got, x)| *got == x + 0.5));
            }
        }
        rig.assert_clean();
    });
}

#[test]
fn argument_blocks_have_arrays_results_and_device_addresses() {
    on_each(|rig| {
        let polynomial = rig.kernel(&JIT, "jit_polynomial");
        let dot = rig.kernel(&JIT, "jit_dot");
        for staging in [Staging::Copy, Staging::Mapped] {
            for round in 0..3 {
                let c = [1.0f32, 2.0, 3.0, round as f32];
                let x: Vec<f32> = (0..16).map(|i| i as f32 / 4.0).collect();
                let mut bytes = vec![0u8; 96];
                bytes[8..12].copy_from_slice(&16u32.to_le_bytes());
                bytes[16..32].copy_from_slice(bytemuck::cast_slice(&c));
                bytes[32..].copy_from_slice(bytemuck::cast_slice(&x));
                let block = ArgumentBlock { bytes: &bytes, patches: &RESULT, arrays: &[], result_bytes: 64 };
                let dims = LaunchDims::linear(1, 64);
                let args = [Arg::ArgumentBlock(&block)];
                let ticket = rig.submit(polynomial, Launch::new(dims).args(&args).staging(staging));
                let output = ticket.unwrap().read().unwrap();
                let want: Vec<f32> =
                    x.iter().map(|x| c[3].mul_add(*x, c[2]).mul_add(*x, c[1]).mul_add(*x, c[0])).collect();
                assert_eq!(output.slice::<f32>(0).unwrap(), want);

                let (p, q): (Vec<f32>, Vec<f32>) = (0..777).map(|i| (i as f32, (i % 5) as f32)).unzip();
                let mut bytes = vec![0u8; 32];
                bytes[24..28].copy_from_slice(&777u32.to_le_bytes());
                let patches = [
                    Patch { offset: 0, target: PatchTarget::Result },
                    Patch { offset: 8, target: PatchTarget::Array(0) },
                    Patch { offset: 16, target: PatchTarget::Array(1) },
                ];
                let segments =
                    [HostData::In(bytemuck::cast_slice(&p)), HostData::In(bytemuck::cast_slice(&q))];
                let block =
                    ArgumentBlock { bytes: &bytes, patches: &patches, arrays: &segments, result_bytes: 8 };
                let dims = LaunchDims::linear(1, 256);
                let args = [Arg::ArgumentBlock(&block)];
                let ticket = rig.submit(dot, Launch::new(dims).args(&args).staging(staging));
                let got: f64 = ticket.unwrap().read().unwrap().value(0).unwrap();
                // Integers: exact in any order.
                let want: f64 = p.iter().zip(&q).map(|(p, q)| f64::from(*p) * f64::from(*q)).sum();
                assert_eq!(got, want);

                // The same with buffers of the caller.
                let ps = DeviceBuffer::from_slice(&rig.stream, &p).unwrap();
                let qs = DeviceBuffer::from_slice(&rig.stream, &q).unwrap();
                let patches = [
                    Patch { offset: 0, target: PatchTarget::Result },
                    Patch { offset: 8, target: PatchTarget::Device(ps.ptr()) },
                    Patch { offset: 16, target: PatchTarget::Device(qs.ptr()) },
                ];
                let block = ArgumentBlock { bytes: &bytes, patches: &patches, arrays: &[], result_bytes: 8 };
                let got: f64 = rig
                    .launch(dot, dims, &[Arg::ArgumentBlock(&block)])
                    .unwrap()
                    .read()
                    .unwrap()
                    .value(0)
                    .unwrap();
                assert_eq!(got, want);
            }
        }
        rig.assert_clean();
    });
}

#[test]
fn wrong_arguments_are_refused_before_any_device_call() {
    on_each(|rig| {
        let saxpy = rig.kernel(&VECTOR, "saxpy");
        let dims = LaunchDims::linear(1, 64);
        let p = DevicePtr(0x1000);
        let before = rig.validation().counts();
        let problem = |args: &[Arg<'_>]| match rig.launch(saxpy, dims, args) {
            Err(Error::Launch { kernel, problem }) => {
                assert_eq!(&*kernel, "saxpy");
                *problem
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(problem(&args![2.0f32, p, p]), LaunchProblem::ArgumentCount { expected: 4, got: 3 });
        assert_eq!(problem(&[]), LaunchProblem::ArgumentCount { expected: 4, got: 0 });
        assert!(matches!(
            problem(&args![2.0f64, p, p, 1i32]),
            LaunchProblem::ArgumentSize { index: 0, expected: 4, got: 8, .. }
        ));
        assert!(matches!(
            problem(&args![2.0f32, 7u64, p, 1i32]),
            LaunchProblem::ArgumentKind { index: 1, got: "scalar", .. }
        ));
        assert!(matches!(
            problem(&args![2.0f32, p, p, p]),
            LaunchProblem::ArgumentKind { index: 3, expected: "value", got: "device pointer", .. }
        ));
        let data = [0u8; 8];
        assert!(matches!(
            problem(&[Arg::input(&data), p.into(), p.into(), 1i32.into()]),
            LaunchProblem::ArgumentKind { index: 0, got: "host array", .. }
        ));

        let good = args![2.0f32, p, p, 1i32];
        let refused = |dims: LaunchDims| match rig.launch(saxpy, dims, &good) {
            Err(Error::Launch { problem, .. }) => *problem,
            other => panic!("{dims:?}: {other:?}"),
        };
        assert!(matches!(refused(LaunchDims::linear(1, 1025)), LaunchProblem::Block { .. }));
        assert!(matches!(refused(LaunchDims::linear(1, 0)), LaunchProblem::Block { .. }));
        assert!(matches!(refused(LaunchDims::new([1; 3], [32, 32, 2])), LaunchProblem::Block { .. }));
        assert!(matches!(refused(LaunchDims::linear(u32::MAX, 1)), LaunchProblem::Grid { .. }));
        // 2^31 - 1 workgroups are allowed, but not 2^32 work-items.
        assert!(matches!(refused(LaunchDims::linear(i32::MAX as u32, 4)), LaunchProblem::Grid { .. }));
        assert!(matches!(refused(dims.with_lds(65537)), LaunchProblem::Lds { fixed: 0, dynamic: 65537, .. }));

        let jit = |bytes: &[u8], patches: &[Patch], result_bytes| {
            let block = ArgumentBlock { bytes, patches, arrays: &[], result_bytes };
            let args = [Arg::from(2.0f32), Arg::ArgumentBlock(&block), Arg::null(), Arg::from(1i32)];
            match rig.launch(saxpy, dims, &args) {
                Err(Error::Launch { problem, .. }) => *problem,
                other => panic!("{other:?}"),
            }
        };
        let at = |offset, target| Patch { offset, target };
        assert!(matches!(jit(&[0; 16], &[at(9, PatchTarget::Result)], 8), LaunchProblem::Patch(_)));
        assert!(matches!(jit(&[0; 16], &[at(usize::MAX, PatchTarget::Result)], 8), LaunchProblem::Patch(_)));
        assert!(matches!(jit(&[0; 16], &[at(0, PatchTarget::Result)], 0), LaunchProblem::Patch(_)));
        assert!(matches!(jit(&[0; 16], &[at(0, PatchTarget::Array(0))], 8), LaunchProblem::Patch(_)));
        let overlapping = [at(0, PatchTarget::Result), at(4, PatchTarget::Result)];
        assert!(matches!(jit(&[0; 16], &overlapping, 8), LaunchProblem::Patch(_)));
        assert!(matches!(jit(&[0; 16], &[], usize::MAX), LaunchProblem::TooMuchData { .. }));

        let calls = rig.validation().counts().since(&before).device_calls();
        assert_eq!(calls, 0, "every launch is refused before any device call");
        rig.assert_clean();
    });
}

#[test]
fn a_grid_with_an_axis_of_0_runs_no_kernel() {
    on_each(|rig| {
        let saxpy = rig.kernel(&VECTOR, "saxpy");
        let bump = rig.kernel(&PROBE, "bump");
        let data = [5u32; 4];
        for axis in 0..3 {
            let mut dims = LaunchDims::linear(1, 64);
            dims.grid[axis] = 0;
            rig.launch(saxpy, dims, &args![2.0f32, DevicePtr::NULL, DevicePtr::NULL, 1i32]).unwrap();
            let ticket = rig.launch(bump, dims, &[Arg::inout(&data), Arg::from(4i32)]).unwrap();
            assert_eq!(ticket.read().unwrap().slice::<u32>(0).unwrap(), data);
        }
        rig.assert_clean();
    });
}

#[test]
fn kernels_use_static_and_dynamic_lds() {
    on_each(|rig| {
        let reverse = rig.kernel(&PROBE, "dynamic_lds_reverse");
        let reduce = rig.kernel(&REDUCE, "reduce_sum_f32");
        let x: Vec<f32> = (0..500).map(|i| i as f32).collect();
        let args = [Arg::input(&x), Arg::output::<f32>(500), Arg::from(500i32)];
        let output =
            rig.launch(reverse, LaunchDims::linear(1, 512).with_lds(2000), &args).unwrap().read().unwrap();
        assert!(output.slice::<f32>(0).unwrap().iter().eq(x.iter().rev()));
        let args = [Arg::input(&x), Arg::output::<f32>(2), Arg::from(500i32)];
        let output = rig.launch(reduce, LaunchDims::linear(2, 256), &args).unwrap().read().unwrap();
        assert_eq!(output.slice::<f32>(0).unwrap().iter().sum::<f32>(), x.iter().sum::<f32>());
        rig.assert_clean();
    });
}

#[test]
fn code_objects_that_do_not_fit_the_device_are_refused() {
    on_each(|rig| {
        // SAFETY: refused before anything runs.
        let wrong = unsafe { rig.launcher.register(&rig.device, VECTOR.wrong_for(&rig.device), "saxpy") };
        assert!(matches!(wrong, Err(Error::WrongTarget { .. } | Error::CodeObject(_))), "{wrong:?}");
        // SAFETY: as above.
        let garbage = unsafe { rig.launcher.register(&rig.device, b"not a code object", "saxpy") };
        assert!(matches!(garbage, Err(Error::CodeObject(_))));
        // SAFETY: as above.
        let unknown = unsafe { rig.launcher.register(&rig.device, VECTOR.for_device(&rig.device), "sapxy") };
        let message = unknown.unwrap_err().to_string();
        assert!(
            message.contains("sapxy") && message.contains("saxpy") && message.contains("vadd_f32"),
            "{message}"
        );
        assert_eq!(rig.launcher.registered(), 0);
        rig.launcher.collect();
        drop(rig.stream);
        assert!(rig.launcher.validation().unwrap().violations().is_empty());
    });
}

#[test]
fn another_device_s_stream_is_refused() {
    let driver =
        hiplaunch::driver::emulated::EmulatedDriver::new(hiplaunch::driver::emulated::EmulatorOptions {
            devices: 2,
            ..Default::default()
        });
    let launcher = Launcher::builder().driver(driver.unwrap()).validate(true).build().unwrap();
    let (a, b) = (launcher.device(0).unwrap(), launcher.device(1).unwrap());
    // SAFETY: a kernel of hip/.
    let on_a = unsafe { launcher.register(a, VECTOR.for_device(a), "iota_u32") }.unwrap();
    // SAFETY: as above.
    let on_b = unsafe { launcher.register(b, VECTOR.for_device(b), "iota_u32") }.unwrap();
    let stream = launcher.stream(b).unwrap();
    let args = [Arg::output::<u32>(8), Arg::from(3u32), Arg::from(8i32)];
    // SAFETY: the arguments are those that the kernel takes.
    let wrong = unsafe { launcher.launch(on_a, &stream, LaunchDims::linear(1, 64), &args) };
    let Err(Error::Launch { problem, .. }) = wrong else { panic!("{wrong:?}") };
    assert_eq!(*problem, LaunchProblem::WrongDevice { kernel: a.id(), stream: b.id() });
    // SAFETY: as above.
    let right = unsafe { launcher.launch(on_b, &stream, LaunchDims::linear(1, 64), &args) }.unwrap();
    assert_eq!(right.read().unwrap().slice::<u32>(0).unwrap(), [3, 4, 5, 6, 7, 8, 9, 10]);
    assert!(launcher.validation().unwrap().violations().is_empty());
}
