//! Driver graphs: launched with one call, created again when an argument or address changes, and not when the bytes of
//! an argument block do.

use hiplaunch::driver::validation::{CallGroup, CallKind};
use hiplaunch::driver::{Capability, ErrorCode};
use hiplaunch::graph::{Access, GraphArg, GraphProblem, GraphValue, Submission, measure_break_even};
use hiplaunch::{DeviceBuffer, Error, LaunchDims};

use crate::order::{Kernels, N};
use hiplaunch_testing::rig::*;

fn has_graphs(rig: &Rig) -> bool {
    let has = rig.launcher.driver().capabilities().has(Capability::Graphs);
    if !has {
        println!("skipped: the driver has no graphs");
    }
    has
}

/// Whether the driver replaces arguments in a driver graph.
fn updates(rig: &Rig) -> bool {
    rig.launcher.driver().capabilities().has(Capability::GraphUpdates)
}

/// Computes `out = a * x + a * x`, submitted by the method `way`.
fn run(
    rig: &Rig,
    k: &Kernels,
    x: &DeviceBuffer<f32>,
    out: &DeviceBuffer<f32>,
    a: f32,
    way: Submission,
) -> hiplaunch::Result<f32> {
    let mut g = rig.launcher.graph(&rig.device)?;
    let (x, out) = (g.buffer(x)?, g.buffer(out)?);
    let t = g.temporary::<f32>(N)?;
    k.scale(&mut g, a, &x, &t);
    k.add(&mut g, &t, &t, &out);
    g.read(&out.slice(0, 4)?)?;
    g.compute_by(&rig.stream, way)?.read()?.value(0)
}

#[test]
fn it_is_launched_with_one_call_and_created_again_when_an_argument_changes() {
    on_each(|rig| {
        if !has_graphs(&rig) {
            return;
        }
        let k = Kernels::of(&rig);
        let x = DeviceBuffer::from_slice(&rig.stream, &[1.5f32; N]).unwrap();
        let out = DeviceBuffer::<f32>::on(&rig.stream, N).unwrap();
        let counted = |a: f32| {
            let before = rig.validation().counts();
            assert_eq!(run(&rig, &k, &x, &out, a, Submission::DriverGraph).unwrap(), 3.0 * a);
            let counts = rig.validation().counts().since(&before);
            assert_eq!(counts.get(CallKind::LaunchKernel), 0);
            (counts.get(CallKind::GraphLaunch), counts.get(CallKind::GraphInstantiate), counts.device_calls())
        };
        let (launches, made, _) = counted(2.0);
        assert_eq!((launches, made), (1, 1));
        // The driver graph, the copy of the result, and the wait in `read`.
        assert_eq!(counted(2.0), (1, 0, 3));
        let (launches, made, _) = counted(-4.0);
        // Another scalar needs another driver graph, unless the driver replaces it in the one that there is.
        assert_eq!((launches, made), (1, u64::from(!updates(&rig))));
        assert_eq!(counted(-4.0), (1, 0, 3));
        // A stream submission between two driver graphs.
        assert_eq!(run(&rig, &k, &x, &out, 1.0, Submission::Stream).unwrap(), 3.0);
        assert_eq!(counted(-4.0).1, 0, "the driver graph has these arguments still");
        rig.assert_clean();
        let validation = rig.validation().clone();
        drop((x, out, rig));
        assert!(validation.report_leaks().is_empty(), "{:?}", validation.report_leaks());
    });
}

#[test]
fn the_break_even_decides_and_is_measured() {
    on_each(|rig| {
        if !has_graphs(&rig) {
            return;
        }
        let k = Kernels::of(&rig);
        let x = DeviceBuffer::from_slice(&rig.stream, &[1.0f32; N]).unwrap();
        let out = DeviceBuffer::<f32>::on(&rig.stream, N).unwrap();
        let graphs = |a: f32| {
            let before = rig.validation().counts();
            assert_eq!(run(&rig, &k, &x, &out, a, Submission::Auto).unwrap(), 2.0 * a);
            rig.validation().counts().since(&before).get(CallKind::GraphLaunch)
        };
        assert_eq!([graphs(1.0), graphs(1.0)], [0, 0], "stream submissions until it is set");
        rig.launcher.set_graph_break_even(3);
        let changed = u64::from(updates(&rig));
        assert_eq!([graphs(1.0), graphs(1.0), graphs(2.0), graphs(2.0)], [1, 1, changed, 1]);
        rig.launcher.set_graph_break_even(4);
        assert_eq!(graphs(2.0), 0);
        let (before, registered) = (rig.validation().counts(), rig.launcher.registered());
        let found = measure_break_even(&rig.launcher, &rig.stream).unwrap();
        println!("a driver graph pays from {found} nodes");
        assert!(found == u32::MAX || found <= 256, "{found}");
        let launched = rig.validation().counts().since(&before).get(CallKind::LaunchKernel);
        assert!(launched >= 256 * 25, "every node of the chains is submitted: {launched}");
        assert_eq!(rig.launcher.registered(), registered);
        rig.launcher.set_graph_break_even(found);
        graphs(3.0);
        rig.assert_clean();
    });
}

#[test]
fn argument_blocks_change_without_another_plan_or_driver_graph() {
    on_each(|rig| {
        let sum = rig.kernel(&JIT, "jit_polynomial");
        let ways = match has_graphs(&rig) {
            true => vec![Submission::Stream, Submission::DriverGraph],
            false => vec![Submission::Stream],
        };
        let outs: Vec<_> = (0..2).map(|_| DeviceBuffer::<f32>::on(&rig.stream, 16).unwrap()).collect();
        for way in ways {
            rig.launcher.forget_graphs();
            let mut made = 0;
            for round in 0..6 {
                let out = &outs[round / 2 % 2];
                let bytes = polynomial(round as f32 / 2.0);
                let before = rig.validation().counts();
                let mut g = rig.launcher.graph(&rig.device).unwrap();
                let result = g.buffer(out).unwrap();
                let block = g.block(&bytes, &[(0, result)]).unwrap();
                // SAFETY: as the kernel takes it.
                unsafe { g.launch(sum, LaunchDims::linear(1, 64), &[GraphArg::Read(block)]) }.unwrap();
                g.uses(&result, Access::Write).unwrap();
                g.read(&result).unwrap();
                let output = g.compute_by(&rig.stream, way).unwrap().read().unwrap();
                let counts = rig.validation().counts().since(&before);
                made += counts.get(CallKind::GraphInstantiate);
                assert_eq!(counts.get(CallKind::MemcpyHtodAsync), 1, "one copy for what changed");
                assert!(round == 0 || counts.get(CallGroup::DeviceAllocation) == 0);
                let c = round as f32 / 2.0;
                let expected: Vec<f32> = (0..16).map(|i| c + (c + 1.0) * (i as f32 / 4.0)).collect();
                assert_eq!(output.slice::<f32>(0).unwrap(), expected, "{way:?} {round}");
            }
            assert_eq!(made, u64::from(way == Submission::DriverGraph));
        }
        rig.assert_clean();
    });
}

/// The argument block of `jit_polynomial` for 16 elements: `c + (c + 1) * x` at `x = i / 4`.
fn polynomial(c: f32) -> Vec<u8> {
    let mut bytes = vec![0; 32];
    bytes[8..12].copy_from_slice(&16u32.to_le_bytes());
    bytes[16..20].copy_from_slice(&c.to_le_bytes());
    bytes[20..24].copy_from_slice(&(c + 1.0).to_le_bytes());
    (0..16).for_each(|i| bytes.extend_from_slice(&(i as f32 / 4.0).to_le_bytes()));
    bytes
}

#[test]
fn a_graph_that_can_not_be_a_driver_graph_is_refused_and_submits_nothing() {
    on_each(|rig| {
        if !has_graphs(&rig) {
            return;
        }
        let mut g = rig.launcher.graph(&rig.device).unwrap();
        let t: GraphValue = g.temporary::<u32>(4).unwrap();
        g.fill_words(&t, 1).unwrap();
        g.read(&t).unwrap();
        g.fill_words(&t, 2).unwrap();
        g.read(&t).unwrap();
        let before = rig.validation().counts();
        match g.compute_by(&rig.stream, Submission::DriverGraph) {
            Err(Error::Graph { problem, .. }) => {
                assert!(matches!(*problem, GraphProblem::NoDriverGraph(_)), "{problem}");
                assert!(problem.to_string().contains("node 1"), "{problem}");
            }
            other => panic!("{other:?}"),
        }
        let counts = rig.validation().counts().since(&before);
        assert_eq!(counts.get(CallKind::GraphLaunch) + counts.get(CallKind::MemsetD32Async), 0);
        rig.assert_clean();
    });
}

#[test]
fn a_failure_while_it_is_created_names_the_node_and_submits_nothing() {
    on_each(|rig| {
        if !has_graphs(&rig) {
            return;
        }
        let k = Kernels::of(&rig);
        let x = DeviceBuffer::from_slice(&rig.stream, &[1.0f32; N]).unwrap();
        let out = DeviceBuffer::<f32>::on(&rig.stream, N).unwrap();
        let calls = [
            (CallKind::GraphCreate, 1, 0),
            (CallKind::GraphAddKernel, 1, 0),
            (CallKind::GraphAddKernel, 2, 1),
            (CallKind::GraphInstantiate, 1, 2),
            (CallKind::GraphLaunch, 1, 0),
        ];
        for (call, nth, at) in calls {
            rig.launcher.forget_graphs();
            rig.validation().inject(call, nth, ErrorCode::INVALID_VALUE);
            let before = rig.validation().counts();
            match run(&rig, &k, &x, &out, 1.0, Submission::DriverGraph) {
                Err(Error::Node { node, source, .. }) => {
                    assert_eq!((node, source.code()), (at, Some(ErrorCode::INVALID_VALUE)), "{call} {nth}");
                }
                other => panic!("{call} {nth}: {other:?}"),
            }
            let counts = rig.validation().counts().since(&before);
            assert_eq!(counts.get(CallKind::MemcpyDtohAsync) + counts.get(CallKind::LaunchKernel), 0);
            assert!(call == CallKind::GraphLaunch || counts.get(CallKind::GraphLaunch) == 0);
            // With `Auto`, a stream submission takes its place, before anything was submitted.
            rig.validation().clear_injections();
            rig.launcher.set_graph_break_even(1);
            run(&rig, &k, &x, &out, 2.0, Submission::Stream).unwrap();
            if call != CallKind::GraphLaunch {
                rig.validation().inject(call, nth, ErrorCode::INVALID_VALUE);
            }
            assert_eq!(run(&rig, &k, &x, &out, 2.0, Submission::Auto).unwrap(), 4.0, "{call}");
            rig.validation().clear_injections();
            assert_eq!(run(&rig, &k, &x, &out, 3.0, Submission::DriverGraph).unwrap(), 6.0);
        }
        rig.assert_clean();
    });
}
