//! Kernels: they get their arguments, ids and LDS, and a launch that can't run is an error.

use hiplaunch::driver::validation::Violation;
use hiplaunch::driver::{Capability, Driver, ErrorCode, KernelLaunch, Work};

use crate::rig::{Arg, D0, D1, GRID, JIT, MATMUL, PROBE, REDUCE, Rig, VECTOR, code, input, output, value};
use crate::subject::Subject;

/// Returns `n` random floats between -8 and 8 that use most bits of their mantissa.
fn floats(n: usize, seed: u32) -> Vec<f32> {
    let mut s = seed;
    (0..n)
        .map(|_| {
            s = s.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (s >> 8) as f32 / (1 << 20) as f32 - 8.0
        })
        .collect()
}

pub(crate) fn saxpy_of_many_sizes(rig: &Rig) {
    let (stream, vector) = (rig.stream(), rig.load(&VECTOR));
    for n in [1usize, 63, 64, 65, 255, 1000, 10_007] {
        let (x, y) = (floats(n, 1), floats(n, 2));
        let (dx, dy) = (rig.upload(&x, stream), rig.upload(&y, stream));
        for block in [64, 100, 256] {
            let args = [value(2.5f32), input(dx, 4 * n), output(dy, 4 * n), value(n as i32)];
            rig.write(dy, &y, stream);
            vector.launch("saxpy", (n as u32).div_ceil(block), block, stream, &args).unwrap();
            let expected: Vec<f32> = x.iter().zip(&y).map(|(x, y)| 2.5f32.mul_add(*x, *y)).collect();
            assert_eq!(rig.read::<f32>(dy, n, stream), expected, "{n} elements in blocks of {block}");
        }
    }
}

/// Returns the sums that the workgroups of a reduction kernel compute, added in the kernel's order.
fn block_sums(x: &[f32], grid: usize, block: usize) -> Vec<f32> {
    let all = grid * block;
    (0..grid)
        .map(|g| {
            let own = |t: usize| x.iter().skip(g * block + t).step_by(all).fold(0.0f32, |sum, x| sum + x);
            let mut v: Vec<f32> = (0..block).map(own).collect();
            let mut half = block / 2;
            while half > 0 {
                for t in 0..half {
                    v[t] += v[t + half];
                }
                half /= 2;
            }
            v[0]
        })
        .collect()
}

pub(crate) fn reductions_through_static_and_dynamic_lds(rig: &Rig) {
    let (stream, reduce) = (rig.stream(), rig.load(&REDUCE));
    const N: usize = 5000;
    let x = floats(N, 3);
    let (dx, partial) = (rig.upload(&x, stream), rig.malloc(64));
    let args = |grid: usize| [input(dx, 4 * N), output(partial, 4 * grid), value(N as i32)];
    for grid in [1usize, 3, 16] {
        reduce.launch("reduce_sum_f32", grid as u32, 256, stream, &args(grid)).unwrap();
        assert_eq!(rig.read::<f32>(partial, grid, stream), block_sums(&x, grid, 256), "grid {grid}");
    }
    for block in [1u32, 2, 64, 512, 1024] {
        let dims = ([2, 1, 1], [block, 1, 1]);
        reduce.launch_with("reduce_sum_dyn_f32", dims.0, dims.1, 4 * block, stream, &args(2)).unwrap();
        assert_eq!(rig.read::<f32>(partial, 2, stream), block_sums(&x, 2, block as usize), "block {block}");
    }
}

pub(crate) fn a_matrix_product_on_a_grid_of_two_dimensions(rig: &Rig) {
    let (stream, matmul) = (rig.stream(), rig.load(&MATMUL));
    let (m, n, k) = (35usize, 50usize, 21usize);
    let (a, b) = (floats(m * k, 4), floats(k * n, 5));
    let (da, db, dc) = (rig.upload(&a, stream), rig.upload(&b, stream), rig.malloc(4 * m * n));
    let sizes = [m, n, k].map(|size| value(size as i32));
    let args = [input(da, 4 * m * k), input(db, 4 * k * n), output(dc, 4 * m * n)];
    let args = [args, sizes].concat();
    let grid = [n.div_ceil(16) as u32, m.div_ceil(16) as u32, 1];
    matmul.launch_with("matmul_f32", grid, [16, 16, 1], 0, stream, &args).unwrap();
    let element = |i: usize| {
        let (row, column) = (i / n, i % n);
        (0..k).fold(0.0f32, |sum, i| a[row * k + i].mul_add(b[i * n + column], sum))
    };
    assert_eq!(rig.read::<f32>(dc, m * n, stream), (0..m * n).map(element).collect::<Vec<_>>());
}

pub(crate) fn arguments_of_every_size_reach_the_kernel(rig: &Rig) {
    let (stream, probe, out) = (rig.stream(), rig.load(&PROBE), rig.malloc(72));
    let args = [
        value(-5i8),
        value(-300i16),
        value(-70_000i32),
        value(-(1i64 << 40)),
        value(-1.5f32),
        value(2.25f64),
        value([1i32, -2, i32::MIN]),
        output(out, 72),
    ];
    probe.launch("args_mixed", 1, 1, stream, &args).unwrap();
    let expected = [
        -5i64,
        -300,
        -70_000,
        -(1 << 40),
        (-1.5f64).to_bits() as i64,
        2.25f64.to_bits() as i64,
        1,
        -2,
        i64::from(i32::MIN),
    ];
    assert_eq!(rig.read::<i64>(out, 9, stream), expected);
}

pub(crate) fn many_arguments_reach_the_kernel(rig: &Rig) {
    let (stream, probe) = (rig.stream(), rig.load(&PROBE));
    let words: Vec<_> = (0..24).map(|_| rig.malloc(4)).collect();
    let args: Vec<Arg> = words.iter().map(|&ptr| output(ptr, 4)).collect();
    probe.launch("many_args", 1, 1, stream, &args).unwrap();
    for (i, &ptr) in words.iter().enumerate() {
        assert_eq!(rig.read::<u32>(ptr, 1, stream), [i as u32 + 1]);
    }
}

/// Returns all points x, y, z below `dims`. x changes fastest.
fn points(dims: [u32; 3]) -> impl Iterator<Item = [u32; 3]> {
    let [x, y, z] = dims;
    (0..z).flat_map(move |k| (0..y).flat_map(move |j| (0..x).map(move |i| [i, j, k])))
}

pub(crate) fn a_kernel_sees_its_ids_in_one_two_and_three_dimensions(rig: &Rig) {
    let (stream, probe) = (rig.stream(), rig.load(&PROBE));
    let cases = [
        ([1, 1, 1], [1, 1, 1]),
        ([5, 1, 1], [64, 1, 1]),
        ([3, 1, 1], [1000, 1, 1]),
        ([2, 3, 1], [16, 4, 1]),
        ([2, 3, 4], [5, 3, 2]),
        ([1, 1, 7], [1, 1, 65]),
        ([1, 9, 1], [1, 130, 1]),
    ];
    for (grid, block) in cases {
        let expected: Vec<[u32; 12]> = points(grid)
            .flat_map(|b| points(block).map(move |t| [b, t, block, grid]))
            .map(|four| std::array::from_fn(|i| four[i / 3][i % 3]))
            .collect();
        let bytes = expected.len() * 48;
        let out = rig.malloc(bytes);
        probe.launch_with("ids", grid, block, 0, stream, &[output(out, bytes)]).unwrap();
        let got = rig.read::<[u32; 12]>(out, expected.len(), stream);
        let wrong = got.iter().zip(&expected).position(|(got, expected)| got != expected);
        if let Some(i) = wrong {
            panic!("grid {grid:?}, block {block:?}, item {i}: {:?}, not {:?}", got[i], expected[i]);
        }
    }
}

pub(crate) fn dynamic_lds_is_as_large_as_asked(rig: &Rig) {
    let (stream, probe) = (rig.stream(), rig.load(&PROBE));
    let out = rig.malloc(20);
    let limit = rig.driver.device_properties(D0).unwrap().max_lds_per_block;
    let most = limit - probe.signature("dynamic_lds_size").group_segment_fixed_size;
    for bytes in [0, 4, 1024, 40_000, most / 16 * 16] {
        probe.launch_with("dynamic_lds_size", [1; 3], [64, 1, 1], bytes, stream, &[output(out, 20)]).unwrap();
        let got = rig.read::<u32>(out, 5, stream);
        // The packet's size may be rounded up.
        assert!(got[0] >= bytes && got[0] < bytes + 512, "{} bytes for {bytes}", got[0]);
        assert_eq!(got[1..], [1, 2, 3, 4], "static and dynamic LDS overlap");
    }
    let x: Vec<f32> = floats(300, 6);
    let (from, to) = (rig.upload(&x, stream), rig.malloc(1200));
    let args = [input(from, 1200), output(to, 1200), value(300i32)];
    probe.launch_with("dynamic_lds_reverse", [1; 3], [64, 1, 1], 1200, stream, &args).unwrap();
    assert_eq!(rig.read::<f32>(to, 300, stream), x.into_iter().rev().collect::<Vec<_>>());
}

pub(crate) fn a_kernel_without_arguments_runs(rig: &Rig) {
    let (stream, probe) = (rig.stream(), rig.load(&PROBE));
    for _ in 0..10 {
        probe.launch("no_args", 3, 64, stream, &[]).unwrap();
    }
    rig.sync(stream);
}

pub(crate) fn the_kernarg_segment_may_be_changed_after_the_call(rig: &Rig) {
    let (stream, vector) = (rig.stream(), rig.load(&VECTOR));
    let function = vector.function("fill_u32");
    const LAUNCHES: u64 = 200;
    let all = rig.malloc(256 * LAUNCHES as usize);
    // One buffer is used for every launch, while earlier launches have not run yet.
    let mut kernarg = vec![0; vector.signature("fill_u32").kernarg_size as usize];
    for i in 0..LAUNCHES {
        let args = [output(all.offset(256 * i), 256), value(i as u32), value(64i32)];
        kernarg.copy_from_slice(&vector.kernarg("fill_u32", &args));
        let launch = KernelLaunch {
            function,
            grid: [1; 3],
            block: [64, 1, 1],
            dynamic_lds: 0,
            kernarg: &kernarg,
            accesses: &[],
        };
        // SAFETY: a complete kernarg segment, and memory as large as the kernel fills.
        unsafe { rig.driver.enqueue(D0, stream, &Work::Kernel(&launch)) }.unwrap();
        kernarg.fill(0xff);
    }
    let got = rig.read::<u32>(all, 64 * LAUNCHES as usize, stream);
    assert!(got.iter().enumerate().all(|(i, word)| *word == i as u32 / 64));
}

pub(crate) fn kernels_reach_pinned_memory(rig: &Rig) {
    if !rig.has(Capability::MappedHostMemory) {
        return;
    }
    let (stream, vector, pinned) = (rig.stream(), rig.load(&VECTOR), rig.pinned(8192));
    let x = floats(1000, 7);
    pinned.write(0, &x);
    let args =
        [value(3.0f32), input(pinned.device(0), 4000), output(pinned.device(4096), 4000), value(1000i32)];
    vector.launch("vscale", 4, 256, stream, &args).unwrap();
    rig.sync(stream);
    assert_eq!(pinned.read::<f32>(4096, 1000), x.iter().map(|x| 3.0 * x).collect::<Vec<_>>());
}

pub(crate) fn a_jit_kernel_with_an_argument_block(rig: &Rig) {
    let (stream, jit, pinned) = (rig.stream(), rig.load(&JIT), rig.pinned(4096));
    let (block, result) = (rig.malloc(4096), rig.malloc(256));
    let x = floats(50, 8);
    let y = floats(50, 9);
    let (dx, dy) = (rig.upload(&x, stream), rig.upload(&y, stream));
    // DotBlock of jit.hip: result, x, y, n.
    let words = [result.0, dx.0, dy.0, 50];
    pinned.write(0, &words);
    pinned.to_device(0, block, 32, stream);
    jit.launch("jit_dot", 1, 256, stream, &[input(block, 32)]).unwrap();
    let mut sums = vec![0.0f64; 256];
    for (i, (x, y)) in x.iter().zip(&y).enumerate() {
        sums[i] += f64::from(*x) * f64::from(*y);
    }
    let mut half = 128;
    while half > 0 {
        for t in 0..half {
            sums[t] += sums[t + half];
        }
        half /= 2;
    }
    assert_eq!(rig.read::<f64>(result, 1, stream), [sums[0]]);
}

pub(crate) fn configurations_out_of_limits_are_refused(rig: &Rig) {
    let (stream, probe) = (rig.stream(), rig.load(&PROBE));
    let limits = rig.driver.device_properties(D0).unwrap();
    let counter = rig.upload(&[0u32], stream);
    let launch =
        |grid, block, lds| probe.launch_with("atomic_count", grid, block, lds, stream, &[output(counter, 4)]);
    for (grid, block) in [([0, 1, 1], [64, 1, 1]), ([1, 1, 1], [64, 0, 1])] {
        code(launch(grid, block, 0));
        rig.expect_violation(|v| matches!(v, Violation::ZeroDimension { .. }));
    }
    let most = limits.max_threads_per_block;
    code(launch([1, 1, 1], [most + 1, 1, 1], 0));
    code(launch([1, 1, 1], [most / 2, 3, 1], 0));
    code(launch([1, 1, 1], [64, 1, 1], limits.max_lds_per_block + 1));
    // More than 2^32 work-items along x.
    code(launch([u32::MAX, 1, 1], [1024, 1, 1], 0));
    assert_eq!(rig.read::<u32>(counter, 1, stream), [0], "no kernel ran");
    launch([1, 1, 1], [most, 1, 1], 0).unwrap();
    assert_eq!(rig.read::<u32>(counter, 1, stream), [most]);
}

/// Returns whether the process can go on after a fault. After a fault HIP can't be used in the process any more
/// (versions 5 and 6 abort it), so only the emulator's devices can be lost in a test.
pub(crate) fn survives_faults(rig: &Rig) -> bool {
    let survives = matches!(rig.subject, Subject::Emulated { .. });
    if !survives {
        rig.skip("HIP can't be used in the process any more when a kernel faults");
    }
    survives
}

pub(crate) fn a_fault_is_an_error_on_its_device_alone(rig: &Rig) {
    if !survives_faults(rig) {
        return;
    }
    let (stream, other, probe) = (rig.stream(), rig.stream_on(D1), rig.load(&PROBE));
    let healthy = rig.load_on(D1, &PROBE);
    let (words, pinned) = (rig.malloc(256), rig.pinned(256));
    let counter = rig.malloc_on(D1, 4);
    rig.write_on(D1, counter, &[0u32], other);
    probe.launch("oob_store", 1, 64, stream, &[output(words, 256), value(1i64 << 30)]).unwrap();
    // SAFETY: a live stream.
    let error = unsafe { rig.driver.stream_synchronize(D0, stream) }.unwrap_err();
    rig.lose_device();
    assert_eq!(error.code, ErrorCode::ILLEGAL_ADDRESS);
    assert!(error.to_string().contains("oob_store"), "{error}");
    // Every later call on the device returns the same code.
    let driver: &dyn Driver = &*rig.driver;
    assert_eq!(code(driver.malloc(D0, 64)), ErrorCode::ILLEGAL_ADDRESS);
    assert_eq!(code(driver.device_synchronize(D0)), ErrorCode::ILLEGAL_ADDRESS);
    assert_eq!(code(probe.try_function("no_args")), ErrorCode::ILLEGAL_ADDRESS);
    // Nothing is in flight any more, so the host may write its memory.
    pinned.write(0, &[0u32; 64]);
    // The other device still works.
    healthy.launch("atomic_count", 2, 64, other, &[output(counter, 4)]).unwrap();
    assert_eq!(rig.read_on::<u32>(D1, counter, 1, other), [128]);
}

pub(crate) fn a_trap_is_an_error(rig: &Rig) {
    if !survives_faults(rig) {
        return;
    }
    let (stream, probe) = (rig.stream(), rig.load(&PROBE));
    probe.launch("trap_kernel", 1, 1, stream, &[]).unwrap();
    // SAFETY: a live stream.
    let error = unsafe { rig.driver.stream_synchronize(D0, stream) }.unwrap_err();
    rig.lose_device();
    assert!(error.code.is_sticky(), "{error}");
    assert!(error.to_string().contains("trap_kernel"), "{error}");
}

pub(crate) fn a_cooperative_grid_waits_for_itself(rig: &Rig) {
    if !rig.has(Capability::CooperativeLaunch) || !rig.has_code(&GRID) {
        return;
    }
    const N: usize = 1000;
    let (stream, grid) = (rig.stream(), rig.load(&GRID));
    let (a, b) = (rig.upload(&[1u32; N], stream), rig.malloc(4 * N));
    for (round, groups) in [1u32, 2, 7, 16].into_iter().enumerate() {
        let args = [output(a, 4 * N), output(b, 4 * N), value(N as i32), value(4i32)];
        grid.launch_cooperative("grid_stencil", groups, 64, stream, &args).unwrap();
        // Each step makes every value four times as large.
        let expected = 1u32.wrapping_shl(8 * (round as u32 + 1));
        let expected = if 8 * (round as u32 + 1) < 32 { expected } else { 0 };
        assert_eq!(rig.read::<u32>(a, N, stream), [expected; N], "{groups} workgroups");
    }
}

pub(crate) fn a_cooperative_grid_that_does_not_fit_is_refused(rig: &Rig) {
    if !rig.has(Capability::CooperativeLaunch) || !rig.has_code(&GRID) {
        return;
    }
    let (stream, grid) = (rig.stream(), rig.load(&GRID));
    let a = rig.upload(&[1u32; 4], stream);
    let args = [output(a, 16), value(a), value(4i32), value(1i32)];
    let refused = grid.launch_cooperative("grid_stencil", 1 << 20, 64, stream, &args);
    assert_eq!(code(refused), ErrorCode::COOPERATIVE_LAUNCH_TOO_LARGE);
    assert_eq!(rig.read::<u32>(a, 4, stream), [1; 4]);
}

pub(crate) fn no_graph_takes_a_cooperative_launch(rig: &Rig) {
    if !rig.has(Capability::Graphs) {
        return;
    }
    let (probe, graph) = (rig.load(&PROBE), rig.graph());
    let (function, kernarg) = (probe.function("no_args"), probe.kernarg("no_args", &[]));
    let launch = KernelLaunch {
        function,
        grid: [1; 3],
        block: [64, 1, 1],
        dynamic_lds: 0,
        kernarg: &kernarg,
        accesses: &[],
    };
    let work = Work::CooperativeKernel { launch: &launch, offsets: &[] };
    // SAFETY: the graph is live; the driver refuses the work.
    let refused = unsafe { rig.driver.graph_add(D0, graph, &[], &work) };
    assert_eq!(code(refused), ErrorCode::NOT_SUPPORTED);
}
