//! Graphs that are compiled once and submitted with other buffers and scalars, without allocation.

use hiplaunch::driver::validation::CallKind;
use hiplaunch::driver::{Capability, ErrorCode};
use hiplaunch::graph::{
    Access, Branches, CompiledGraph, GraphArg, GraphCounts, GraphProblem, GraphValue, NodeId, Submission,
};
use hiplaunch::{Backend, DeviceBuffer, Error, LaunchDims, LaunchProblem, Launcher};
use proptest::prelude::*;

use crate::branches::any_operation;
use crate::order::{Kernels, M, N, VALUES, run};
use hiplaunch_testing::rig::*;

/// Compiles `out = a * x + y`. Returns it with the values of `x`, `y` and `out`. `a` is argument 0 of node 0.
fn compiled(rig: &Rig, k: &Kernels, buffers: [&DeviceBuffer<f32>; 3]) -> (CompiledGraph, [GraphValue; 3]) {
    let mut g = rig.launcher.graph(&rig.device).unwrap();
    let [x, y, out] = buffers.map(|b| g.buffer(b).unwrap());
    let t = g.temporary::<f32>(N).unwrap();
    k.scale(&mut g, 2.0, &x, &t);
    k.add(&mut g, &t, &y, &out);
    g.read(&out.slice(0, 4).unwrap()).unwrap();
    (g.compile(&rig.stream).unwrap(), [x, y, out])
}

fn graph_problem<T: std::fmt::Debug>(outcome: hiplaunch::Result<T>) -> GraphProblem {
    match outcome {
        Err(Error::Graph { problem, .. }) => *problem,
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_submission_runs_once_and_uses_what_was_set() {
    on_each(|rig| {
        let k = Kernels::of(&rig);
        let of = |v: f32| DeviceBuffer::from_slice(&rig.stream, &[v; N]).unwrap();
        let (a, b, out, other) = (of(1.0), of(10.0), of(0.0), of(0.0));
        let before = rig.validation().counts();
        let (mut graph, [x, y, to]) = compiled(&rig, &k, [&a, &b, &out]);
        let counts = rig.validation().counts().since(&before);
        assert_eq!(counts.get(CallKind::LaunchKernel), 0, "compiled, not submitted");
        let submit = |graph: &mut CompiledGraph| -> f32 {
            let before = rig.validation().counts();
            let result = graph.submit().unwrap().read().unwrap().value(0).unwrap();
            let counts = rig.validation().counts().since(&before);
            // Two kernels, the copy of the result, and the wait for it.
            assert_eq!((counts.get(CallKind::LaunchKernel), counts.device_calls()), (2, 4), "{counts}");
            result
        };
        // The first submission allocates pinned memory for results.
        graph.submit().unwrap().read().unwrap();
        assert_eq!([submit(&mut graph), submit(&mut graph)], [12.0, 12.0]);
        // SAFETY: any factor is good.
        unsafe { graph.set_scalar(NodeId(0), 0, -3.0f32) }.unwrap();
        assert_eq!(submit(&mut graph), 7.0);
        graph.set_buffer(&x, &b).unwrap();
        graph.set_buffer(&y, &a).unwrap();
        graph.set_buffer(&to, &other).unwrap();
        assert_eq!(submit(&mut graph), -29.0);
        assert_eq!(
            (out.to_vec(&rig.stream).unwrap()[5], other.to_vec(&rig.stream).unwrap()[5]),
            (7.0, -29.0)
        );
        assert_eq!(
            rig.launcher.graph_counts(),
            GraphCounts { kept: 1, hits: 0, misses: 1 },
            "never looked up again"
        );
        // Another graph of the same structure uses the same arguments and workspace in between.
        let (mut same, _) = compiled(&rig, &k, [&a, &a, &out]);
        assert_eq!([submit(&mut same), submit(&mut graph), submit(&mut same)], [3.0, -29.0, 3.0]);
        rig.launcher.forget_graphs();
        assert_eq!(submit(&mut graph), -29.0, "it keeps what it needs");
        rig.assert_clean();
    });
}

#[test]
fn buffers_that_overlap_differently_are_planned_again() {
    on_each(|rig| {
        let k = Kernels::of(&rig);
        let of = |v: f32| DeviceBuffer::from_slice(&rig.stream, &[v; N]).unwrap();
        let (a, b, out) = (of(1.0), of(10.0), of(0.0));
        let (mut graph, [x, y, to]) = compiled(&rig, &k, [&a, &b, &out]);
        let submit =
            |graph: &mut CompiledGraph| -> f32 { graph.submit().unwrap().read().unwrap().value(0).unwrap() };
        assert_eq!(submit(&mut graph), 12.0);
        // The sum is written to its first operand's buffer: a write after a read.
        graph.set_buffer(&to, &a).unwrap();
        assert_eq!([submit(&mut graph), submit(&mut graph)], [12.0, 34.0]);
        assert_eq!(rig.launcher.graph_counts().misses, 2, "planned once more");
        // The sum is written to its second operand's buffer, for which the kernel is not declared in place: refused,
        // and nothing submitted.
        graph.set_buffer(&to, &b).unwrap();
        let before = rig.validation().counts();
        assert_eq!(graph_problem(graph.submit()), GraphProblem::Overlap { reads: 1, writes: 2 });
        assert_eq!(graph_problem(graph.submit()), GraphProblem::Overlap { reads: 1, writes: 2 });
        assert_eq!(rig.validation().counts().since(&before).device_calls(), 0);
        graph.set_buffer(&y, &out).unwrap();
        graph.set_buffer(&x, &b).unwrap();
        assert_eq!(submit(&mut graph), 32.0, "other overlaps again");
        // What was refused is refused again, until the buffers overlap only where they may.
        rig.launcher.forget_graphs();
        let spare = of(5.0);
        for v in [&x, &y, &to] {
            graph.set_buffer(v, &spare).unwrap();
        }
        assert!(graph.submit().is_err());
        graph.set_buffer(&to, &out).unwrap();
        assert_eq!([submit(&mut graph), submit(&mut graph)], [15.0, 15.0]);
        rig.assert_clean();
    });
}

#[test]
fn an_argument_block_gets_other_bytes() {
    on_each(|rig| {
        let sum = rig.kernel(&JIT, "jit_polynomial");
        let out = DeviceBuffer::<f32>::on(&rig.stream, 16).unwrap();
        let bytes = |c: f32| -> Vec<u8> {
            let mut bytes = vec![0; 32];
            bytes[8..12].copy_from_slice(&16u32.to_le_bytes());
            bytes[16..20].copy_from_slice(&c.to_le_bytes());
            (0..16).for_each(|i| bytes.extend_from_slice(&(i as f32).to_le_bytes()));
            bytes
        };
        let mut g = rig.launcher.graph(&rig.device).unwrap();
        let to = g.buffer(&out).unwrap();
        let block = g.block(&bytes(1.0), &[(0, to)]).unwrap();
        // SAFETY: as the kernel takes it.
        unsafe { g.launch(sum, LaunchDims::linear(1, 64), &[GraphArg::Read(block)]) }.unwrap();
        g.uses(&to, Access::Write).unwrap();
        g.read(&to).unwrap();
        let mut graph = g.compile(&rig.stream).unwrap();
        for (c, copies) in [(1.0, 1), (1.0, 0), (4.5, 1), (4.5, 0)] {
            // SAFETY: as above.
            unsafe { graph.set_argument_block(&block, &bytes(c)) }.unwrap();
            let before = rig.validation().counts();
            let output = graph.submit().unwrap().read().unwrap();
            assert_eq!(output.slice::<f32>(0).unwrap(), [c; 16]);
            let counts = rig.validation().counts().since(&before);
            assert_eq!(counts.get(CallKind::MemcpyHtodAsync), copies, "{c}");
        }
        // A copy that failed is repeated by the next submission.
        // SAFETY: as above.
        unsafe { graph.set_argument_block(&block, &bytes(7.0)) }.unwrap();
        rig.validation().inject(CallKind::MemcpyHtodAsync, 1, ErrorCode::INVALID_VALUE);
        assert!(matches!(graph.submit(), Err(Error::Node { .. })));
        assert_eq!(graph.submit().unwrap().read().unwrap().slice::<f32>(0).unwrap(), [7.0; 16]);
        rig.assert_clean();
    });
}

#[test]
fn what_does_not_fit_is_refused_and_changes_nothing() {
    on_each(|rig| {
        let k = Kernels::of(&rig);
        let of = |n| DeviceBuffer::from_slice(&rig.stream, &vec![1.0f32; n]).unwrap();
        let (a, b, out, short) = (of(N), of(N), of(N), of(N - 1));
        let (mut graph, [x, ..]) = compiled(&rig, &k, [&a, &b, &out]);
        let (recorded, bytes) = (4 * N as u64, 4 * N as u64 - 4);
        assert_eq!(
            graph_problem(graph.set_buffer(&x, &short)),
            GraphProblem::OtherLength { value: 0, recorded, bytes }
        );
        let view = a.view_strided(0, &[N / 2, 2], &[1, (N / 2) as isize]).unwrap();
        assert_eq!(graph_problem(graph.set_buffer(&x, &view)), GraphProblem::NotContiguous { value: 0 });
        let gaps = of(2 * N).view_strided(0, &[N], &[2]).unwrap();
        assert_eq!(graph_problem(graph.set_buffer(&x, &gaps)), GraphProblem::NotContiguous { value: 0 });
        let mut foreign = rig.launcher.graph(&rig.device).unwrap();
        let foreign = foreign.buffer(&a).unwrap();
        assert_eq!(graph_problem(graph.set_buffer(&foreign, &a)), GraphProblem::ForeignValue { value: 0 });
        let other = Rig::open(Launcher::builder(), Backend::Emulator);
        let theirs = DeviceBuffer::<f32>::on(&other.stream, N).unwrap();
        assert!(matches!(
            graph_problem(graph.set_buffer(&x, &theirs)),
            GraphProblem::ForeignBuffer { value: 0, .. }
        ));
        // SAFETY: none of these is set.
        unsafe {
            assert!(matches!(graph.set_scalar(NodeId(0), 0, 1.0f64), Err(Error::Launch { .. })));
            assert_eq!(
                graph_problem(graph.set_scalar(NodeId(0), 1, 1.0f32)),
                GraphProblem::NotByValue { argument: 1 }
            );
            assert_eq!(
                graph_problem(graph.set_scalar(NodeId(2), 0, 1.0f32)),
                GraphProblem::NotByValue { argument: 0 }
            );
            assert_eq!(
                graph_problem(graph.set_scalar(NodeId(9), 0, 1u32)),
                GraphProblem::NoNode { nodes: 3 }
            );
            assert_eq!(
                graph_problem(graph.set_argument_block(&x, &[])),
                GraphProblem::NotABuffer { value: 0 }
            );
        }
        assert_eq!(graph.submit().unwrap().read().unwrap().value::<f32>(0).unwrap(), 3.0);
        // A stream of another launcher.
        let g = rig.launcher.graph(&rig.device).unwrap();
        assert_eq!(graph_problem(g.compile(&other.stream)), GraphProblem::WrongDevice);
        rig.assert_clean();
    });
}

#[test]
fn a_kernel_that_was_unregistered_or_does_not_fit_is_named() {
    on_each(|rig| {
        let k = Kernels::of(&rig);
        let a = DeviceBuffer::from_slice(&rig.stream, &[1.0f32; N]).unwrap();
        let out = DeviceBuffer::<f32>::on(&rig.stream, N).unwrap();
        let (mut graph, _) = compiled(&rig, &k, [&a, &a, &out]);
        rig.launcher.unregister(k.saxpy).unwrap();
        graph.submit().unwrap();
        // SAFETY: a kernel of hip/.
        unsafe { rig.launcher.replace(k.vadd, VECTOR.for_device(&rig.device), "fill_u32") }.unwrap();
        let before = rig.validation().counts();
        for _ in 0..2 {
            let refused = graph.submit().unwrap_err();
            let Error::Node { node: 1, kernel, source } = &refused else { panic!("{refused:?}") };
            assert_eq!(kernel.as_deref(), Some("vadd_f32"));
            let Error::Launch { kernel, problem } = &**source else { panic!("{source:?}") };
            assert_eq!(&**kernel, "fill_u32", "{refused}");
            assert!(matches!(**problem, LaunchProblem::ArgumentCount { expected: 3, got: 4 }), "{refused}");
        }
        let mut late = rig.launcher.graph(&rig.device).unwrap();
        let (x, to) = (late.buffer(&a).unwrap(), late.buffer(&out).unwrap());
        k.scale(&mut late, 1.0, &x, &to);
        rig.launcher.unregister(k.vscale).unwrap();
        assert!(matches!(graph.submit(), Err(Error::Graph { node: Some(0), .. })));
        let kernel = "vscale".into();
        assert_eq!(graph_problem(late.compile(&rig.stream)), GraphProblem::KernelChanged { kernel });
        assert_eq!(rig.validation().counts().since(&before).get(CallKind::LaunchKernel), 0);
        drop(graph);
        rig.stream.synchronize().unwrap();
        rig.assert_clean();
    });
}

/// saxpy and vscale take the same arguments: `y = a * x + y` and `y = a * x`.
#[test]
fn a_compiled_graph_goes_on_with_a_kernel_that_replaced_its_own() {
    on_each(|rig| {
        let k = Kernels::of(&rig);
        let x = DeviceBuffer::from_slice(&rig.stream, &[3.0f32; N]).unwrap();
        let mut y = DeviceBuffer::from_slice(&rig.stream, &[5.0f32; N]).unwrap();
        let mut g = rig.launcher.graph(&rig.device).unwrap();
        let (from, to) = (g.buffer(&x).unwrap(), g.buffer(&y).unwrap());
        k.saxpy(&mut g, 2.0, &from, &to);
        g.read(&to.slice(0, 4).unwrap()).unwrap();
        let mut graph = g.compile(&rig.stream).unwrap();
        let replace = |name: &str| {
            // SAFETY: a kernel of hip/, which takes what the other takes, and reads and writes no more.
            unsafe { rig.launcher.replace(k.saxpy, VECTOR.for_device(&rig.device), name) }.unwrap();
        };
        let graphs = rig.launcher.driver().capabilities().has(Capability::Graphs);
        for by in [Submission::Stream, Submission::DriverGraph].into_iter().take(1 + usize::from(graphs)) {
            y.fill(&rig.stream, 5.0).unwrap();
            let mut submit = || graph.submit_by(by).unwrap().read().unwrap().value::<f32>(0).unwrap();
            assert_eq!([submit(), submit()], [11.0, 17.0]);
            replace("vscale");
            let compiled = rig.launcher.graph_counts();
            assert_eq!([submit(), submit()], [6.0, 6.0]);
            // SAFETY: any factor is good.
            unsafe { graph.set_scalar(NodeId(0), 0, 4.0f32) }.unwrap();
            let mut submit = || graph.submit_by(by).unwrap().read().unwrap().value::<f32>(0).unwrap();
            assert_eq!(submit(), 12.0);
            let misses = rig.launcher.graph_counts().misses - compiled.misses;
            assert!(misses <= 1, "compiled {misses} times for one replacement");
            replace("saxpy");
            assert_eq!(submit(), 24.0);
            // SAFETY: as above.
            unsafe { graph.set_scalar(NodeId(0), 0, 2.0f32) }.unwrap();
        }
        drop(graph);
        rig.assert_clean();
    });
}

#[test]
fn a_graph_recorded_before_a_replacement_computes_with_the_old_kernel_and_does_not_keep_it() {
    on_each(|rig| {
        let k = Kernels::of(&rig);
        let x = DeviceBuffer::from_slice(&rig.stream, &[1.0f32; N]).unwrap();
        let recorded = || {
            let mut g = rig.launcher.graph(&rig.device).unwrap();
            let (from, to) = (g.buffer(&x).unwrap(), g.temporary::<f32>(N).unwrap());
            k.scale(&mut g, 2.0, &from, &to);
            g.read(&to.slice(0, 4).unwrap()).unwrap();
            g
        };
        let [first, second, third] = [recorded(), recorded(), recorded()];
        assert_eq!(first.compute(&rig.stream).unwrap().read().unwrap().value::<f32>(0).unwrap(), 2.0);
        // Another name and other parameters.
        // SAFETY: a kernel of hip/.
        unsafe { rig.launcher.replace(k.vscale, VECTOR.for_device(&rig.device), "fill_u32") }.unwrap();
        assert_eq!(rig.launcher.graph_counts().kept, 0);
        assert!(matches!(second.compile(&rig.stream), Err(Error::Node { node: 0, .. })));
        let before = rig.validation().counts();
        assert_eq!(third.compute(&rig.stream).unwrap().read().unwrap().value::<f32>(0).unwrap(), 2.0);
        rig.launcher.collect();
        assert_eq!(rig.launcher.graph_counts().kept, 0);
        assert_eq!(rig.validation().counts().since(&before).get(CallKind::ModuleUnload), 1);
        rig.assert_clean();
    });
}

#[test]
fn a_compiled_graph_may_be_submitted_by_another_thread() {
    on_each(|rig| {
        let k = Kernels::of(&rig);
        let a = DeviceBuffer::from_slice(&rig.stream, &[1.0f32; N]).unwrap();
        let out = DeviceBuffer::<f32>::on(&rig.stream, N).unwrap();
        let (mut graph, _) = compiled(&rig, &k, [&a, &a, &out]);
        let other = compiled(&rig, &k, [&out, &a, &out]).0;
        std::thread::scope(|scope| {
            for mut graph in [other, compiled(&rig, &k, [&a, &a, &out]).0] {
                scope.spawn(move || (0..20).for_each(|_| drop(graph.submit().unwrap())));
            }
        });
        assert_eq!(graph.submit().unwrap().read().unwrap().value::<f32>(0).unwrap(), 3.0);
        rig.assert_clean();
    });
}

#[test]
fn its_driver_graph_is_created_once() {
    on_each(|rig| {
        if !rig.launcher.driver().capabilities().has(hiplaunch::driver::Capability::Graphs) {
            println!("skipped: the driver has no graphs");
            return;
        }
        let k = Kernels::of(&rig);
        let a = DeviceBuffer::from_slice(&rig.stream, &[1.0f32; N]).unwrap();
        let out = DeviceBuffer::<f32>::on(&rig.stream, N).unwrap();
        let (mut graph, _) = compiled(&rig, &k, [&a, &a, &out]);
        let before = rig.validation().counts();
        for way in [Submission::DriverGraph, Submission::Stream, Submission::DriverGraph] {
            let result: f32 = graph.submit_by(way).unwrap().read().unwrap().value(0).unwrap();
            assert_eq!(result, 3.0, "{way:?}");
        }
        let counts = rig.validation().counts().since(&before);
        assert_eq!((counts.get(CallKind::GraphInstantiate), counts.get(CallKind::GraphLaunch)), (1, 2));
        rig.assert_clean();
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn with_other_buffers_it_computes_what_a_new_graph_would(
        // So few that every value is an integer that an f32 has. Otherwise other operations would be recorded.
        operations in prop::collection::vec(any_operation(), 1..10),
        streams in 1u32..4,
        rounds in prop::collection::vec((0usize..6, 0usize..5), 1..6),
    ) {
        const BUFFERS: usize = 3;
        const ORDERS: [[usize; BUFFERS]; 6] =
            [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
        let rig = Rig::open(Launcher::builder(), Backend::Emulator);
        let k = Kernels::of(&rig);
        // SAFETY: each work-item reads its element before it writes it.
        unsafe {
            rig.launcher.declare_in_place(k.vadd, true).unwrap();
            rig.launcher.declare_in_place(k.vscale, true).unwrap();
        }
        let start = |v: usize, seed: usize| -> Vec<f32> { (0..M).map(|i| ((i + v + seed) % 5) as f32).collect() };
        let mut buffers: Vec<_> = (0..BUFFERS).map(|_| DeviceBuffer::<f32>::on(&rig.stream, M).unwrap()).collect();
        // Records the operations, and computes on the host what they compute from these values.
        let record = |buffers: &[DeviceBuffer<f32>], host: [Vec<f32>; BUFFERS]| {
            let mut g = rig.launcher.graph(&rig.device).unwrap();
            g.set_branches(Branches::Streams(streams));
            let mut values: Vec<GraphValue> = buffers.iter().map(|b| g.buffer(b).unwrap()).collect();
            let mut host: Vec<Option<Vec<f32>>> = host.into_iter().map(Some).collect();
            for _ in BUFFERS..VALUES {
                values.push(g.temporary::<f32>(M).unwrap());
                host.push(None);
            }
            let mut reads = Vec::new();
            run(&k, &mut g, &values, &mut host, &mut reads, &operations);
            (g, values, host.into_iter().take(BUFFERS).flatten().collect::<Vec<_>>(), reads)
        };
        let (g, values, ..) = record(&buffers, [0, 1, 2].map(|v| start(v, 0)));
        let mut graph = g.compile(&rig.stream).unwrap();
        for (order, seed) in rounds {
            let order = ORDERS[order];
            for (v, buffer) in buffers.iter_mut().enumerate() {
                buffer.upload(&rig.stream, &start(v, seed)).unwrap();
            }
            for (value, &b) in values.iter().zip(&order) {
                graph.set_buffer(value, &buffers[b]).unwrap();
            }
            let output = graph.submit().unwrap().read().unwrap();
            let (_, _, expected, reads) = record(&buffers, order.map(|b| start(b, seed)));
            prop_assert_eq!(output.len(), reads.len());
            for (i, read) in reads.iter().enumerate() {
                prop_assert_eq!(output.slice::<f32>(i).unwrap(), &read[..]);
            }
            for (&b, expected) in order.iter().zip(&expected) {
                prop_assert_eq!(&buffers[b].to_vec(&rig.stream).unwrap(), expected);
            }
        }
        prop_assert_eq!(rig.launcher.graph_counts().misses, 1, "planned once");
        rig.assert_clean();
    }
}
