//! Branches on several streams: the same bits as on one stream, no race, and nothing created again after the first
//! compute.

use hiplaunch::driver::validation::{CallGroup, CallKind};
use hiplaunch::driver::{ErrorCode, HostFunction, Work};
use hiplaunch::graph::{Branches, Graph, GraphArg, GraphProblem, GraphValue, NodeId, Submission};
use hiplaunch::{Backend, DeviceBuffer, Error, LaunchDims, Launcher, Ticket};
use proptest::prelude::*;

use crate::order::{Kernels, M, N, Operation, VALUES, run};
use hiplaunch_testing::rig::*;

/// Records `branches` chains from `x` that are added in the end: `out = sum over b of (b + 2)^length * x`.
fn fan(
    rig: &Rig,
    k: &Kernels,
    (x, out): (&DeviceBuffer<f32>, &DeviceBuffer<f32>),
    (branches, length): (usize, usize),
    streams: Branches,
) -> Graph {
    let mut g = rig.launcher.graph(&rig.device).unwrap();
    g.set_branches(streams);
    let (x, out) = (g.buffer(x).unwrap(), g.buffer(out).unwrap());
    let ends: Vec<GraphValue> = (0..branches)
        .map(|b| {
            (0..length).fold(x, |last, _| {
                let next = g.temporary::<f32>(N).unwrap();
                k.scale(&mut g, (b + 2) as f32, &last, &next);
                next
            })
        })
        .collect();
    let (last, rest) = ends.split_last().unwrap();
    let sum = rest.iter().fold(*last, |sum, end| {
        let next = g.temporary::<f32>(N).unwrap();
        k.add(&mut g, &sum, end, &next);
        next
    });
    g.copy(&sum, &out).unwrap();
    g.read(&out.slice(0, 4).unwrap()).unwrap();
    g
}

fn first(ticket: hiplaunch::Result<Ticket>) -> f32 {
    ticket.unwrap().read().unwrap().value(0).unwrap()
}

#[test]
fn four_branches_run_on_four_streams_with_events_that_are_used_again() {
    on_each(|rig| {
        let k = Kernels::of(&rig);
        let x = DeviceBuffer::from_slice(&rig.stream, &[1.0f32; N]).unwrap();
        let out = DeviceBuffer::<f32>::on(&rig.stream, N).unwrap();
        let before = rig.validation().counts();
        let compiled = fan(&rig, &k, (&x, &out), (4, 3), Branches::Streams(8)).compile(&rig.stream).unwrap();
        assert_eq!((compiled.streams(), compiled.steps()), (4, 4 * 3 + 3 + 1), "the copy need not be made");
        // The fork, and the ends of three branches: the sums and the read follow one of the four.
        assert_eq!(compiled.events(), 4);
        let counts = rig.validation().counts().since(&before);
        assert_eq!((counts.get(CallKind::StreamCreate), counts.get(CallKind::EventCreate)), (3, 4));
        drop(compiled);
        rig.launcher.forget_graphs();

        let mut made = Vec::new();
        for _ in 0..4 {
            let before = rig.validation().counts();
            let graph = fan(&rig, &k, (&x, &out), (4, 3), Branches::Streams(8));
            assert_eq!(first(graph.compute(&rig.stream)), 8.0 + 27.0 + 64.0 + 125.0);
            let counts = rig.validation().counts().since(&before);
            assert_eq!(counts.get(CallKind::StreamCreate), 0, "the streams created above are used again");
            made.push((counts.get(CallKind::EventCreate), counts.get(CallGroup::DeviceAllocation)));
            assert_eq!((counts.get(CallKind::EventRecord), counts.get(CallKind::StreamWaitEvent)), (4, 6));
            assert_eq!(counts.get(CallKind::LaunchKernel), 15);
        }
        assert!(made[1..].iter().all(|m| *m == (0, 0)), "events are used again: {made:?}");
        // Another graph has events of its own, and the same streams.
        let before = rig.validation().counts();
        let graph = fan(&rig, &k, (&x, &out), (3, 2), Branches::Streams(3));
        assert_eq!(first(graph.compute(&rig.stream)), 4.0 + 9.0 + 16.0);
        assert_eq!(rig.validation().counts().since(&before).get(CallKind::StreamCreate), 0);
        rig.assert_clean();
        let validation = rig.validation().clone();
        drop((x, out, rig));
        assert_eq!(validation.report_leaks(), []);
    });
}

#[test]
fn one_stream_several_streams_and_a_driver_graph_compute_the_same() {
    on_each(|rig| {
        let k = Kernels::of(&rig);
        let x = DeviceBuffer::from_slice(&rig.stream, &[1.5f32; N]).unwrap();
        let out = DeviceBuffer::<f32>::on(&rig.stream, N).unwrap();
        let of = |streams| fan(&rig, &k, (&x, &out), (5, 2), streams);
        let expected = first(of(Branches::One).compute(&rig.stream));
        let bits = out.to_vec(&rig.stream).unwrap();
        rig.launcher.set_graph_break_even(1);
        for streams in [0, 1, 2, 3, 5, 100] {
            for way in [Submission::Auto, Submission::Stream, Submission::DriverGraph] {
                let before = rig.validation().counts();
                match of(Branches::Streams(streams)).compute_by(&rig.stream, way) {
                    Err(Error::Graph { problem, .. }) if way == Submission::DriverGraph => {
                        assert!(matches!(*problem, GraphProblem::NoDriverGraph(_)));
                        continue;
                    }
                    ticket => assert_eq!(first(ticket), expected, "{streams} {way:?}"),
                }
                assert_eq!(out.to_vec(&rig.stream).unwrap(), bits);
                let counts = rig.validation().counts().since(&before);
                if way == Submission::DriverGraph {
                    assert_eq!(counts.get(CallKind::GraphLaunch), 1);
                    assert_eq!(counts.get(CallKind::StreamWaitEvent), 0, "the driver keeps the order");
                }
                if way == Submission::Auto && streams > 1 {
                    assert_eq!(counts.get(CallKind::GraphLaunch), 0, "branches stay on their streams");
                }
            }
        }
        rig.assert_clean();
    });
}

#[test]
fn concurrent_branches_share_no_bytes_and_branches_of_one_stream_do() {
    on_each(|rig| {
        let k = Kernels::of(&rig);
        let x = DeviceBuffer::from_slice(&rig.stream, &[1.0f32; N]).unwrap();
        let out = DeviceBuffer::<f32>::on(&rig.stream, N).unwrap();
        let bytes = |streams| {
            let graph = fan(&rig, &k, (&x, &out), (4, 8), streams);
            graph.compile(&rig.stream).unwrap().workspace_bytes() / (4 * N as u64).next_multiple_of(256)
        };
        // On one stream: the ends of three chains and two temporaries of the last. On four: two for each branch.
        assert_eq!([Branches::One, Branches::Streams(2), Branches::Streams(4)].map(bytes), [5, 6, 8]);
        rig.assert_clean();
    });
}

#[test]
fn many_nodes_are_planned_by_stream_and_compute_the_same() {
    on_each(|rig| {
        let k = Kernels::of(&rig);
        let x = DeviceBuffer::from_slice(&rig.stream, &[1.0f32; N]).unwrap();
        let outs = [(); 2].map(|()| DeviceBuffer::<f32>::on(&rig.stream, N).unwrap());
        let of = |streams, out| {
            let mut g = rig.launcher.graph(&rig.device).unwrap();
            g.set_branches(streams);
            let (x, out) = (g.buffer(&x).unwrap(), g.buffer(out).unwrap());
            // Four chains that meet every 50 steps, and read each other's results.
            let mut ends = [x; 4];
            for _ in 0..5 {
                let met: Vec<GraphValue> = (0..4)
                    .map(|i| {
                        let sum = g.temporary::<f32>(N).unwrap();
                        k.add(&mut g, &ends[i], &ends[(i + 1) % 4], &sum);
                        (0..49).fold(sum, |last, step| {
                            let next = g.temporary::<f32>(N).unwrap();
                            k.scale(&mut g, if step % 2 == 0 { -0.5 } else { -2.0 }, &last, &next);
                            next
                        })
                    })
                    .collect();
                ends.copy_from_slice(&met);
            }
            k.add(&mut g, &ends[0], &ends[3], &out);
            g.compile(&rig.stream).unwrap()
        };
        let mut one = of(Branches::One, &outs[0]);
        let mut four = of(Branches::Streams(4), &outs[1]);
        // No node reads two ends of the last round, and so one of the round before is dead too.
        assert_eq!((four.streams(), four.steps()), (4, 1001 - 3 * 50));
        // Two for each stream, and the temporaries that several streams access: two times four at once.
        assert!(four.workspace_bytes() <= 16 * 2048, "{}", four.workspace_bytes());
        for _ in 0..3 {
            one.submit().unwrap();
            four.submit().unwrap();
            let [a, b] = [0, 1].map(|i| outs[i].to_vec(&rig.stream).unwrap());
            assert_eq!(a, b);
            // Each round doubles, and has 25 factors of -0.5 and 24 of -2.
            assert_eq!(a[N - 1], 2.0 * (-1.0f32).powi(5));
        }
        rig.assert_clean();
    });
}

#[test]
fn a_branch_is_done_while_another_runs() {
    // This test reads memory in a race, on purpose.
    let launcher = Launcher::builder().backend(Backend::Emulator).validate(false).build().unwrap();
    let device = launcher.device(0).unwrap().clone();
    let [stream, watcher] = [(); 2].map(|()| launcher.stream(&device).unwrap());
    // SAFETY: a kernel of hip/.
    let spin = unsafe { launcher.register(&device, PROBE.for_device(&device), "spin") }.unwrap();
    let outs = [(); 2].map(|()| DeviceBuffer::from_slice(&stream, &[0u32; 64]).unwrap());
    let mut g = launcher.graph(&device).unwrap();
    g.set_branches(Branches::Streams(2));
    for (out, iterations) in outs.iter().zip([1u64 << 23, 1]) {
        let out = g.buffer(out).unwrap();
        // SAFETY: as the kernel takes it.
        unsafe { g.launch(spin, LaunchDims::linear(1, 64), &[iterations.into(), GraphArg::Write(out)]) }
            .unwrap();
    }
    let ticket = g.compute(&stream).unwrap();
    let seen = |out: &DeviceBuffer<u32>| out.to_vec(&watcher).unwrap()[0];
    while seen(&outs[1]) == 0 {
        std::thread::yield_now();
    }
    assert_eq!(seen(&outs[0]), 0, "recorded first, and still running");
    assert!(!ticket.is_ready(), "it is ready when all are");
    ticket.read().unwrap();
    assert_ne!(seen(&outs[0]), 0);
}

#[test]
fn a_failure_in_a_branch_names_the_node_and_leaves_the_stream_in_order() {
    on_each(|rig| {
        let k = Kernels::of(&rig);
        let x = DeviceBuffer::from_slice(&rig.stream, &[1.0f32; N]).unwrap();
        let out = DeviceBuffer::<f32>::on(&rig.stream, N).unwrap();
        let compute =
            || fan(&rig, &k, (&x, &out), (3, 2), Branches::Streams(3)).compute(&rig.stream)?.read()?.value(0);
        let expected = 4.0 + 9.0 + 16.0;
        // Streams and events are created before anything is submitted.
        for call in [CallKind::StreamCreate, CallKind::EventCreate] {
            rig.validation().inject(call, 2, ErrorCode::OUT_OF_MEMORY);
            let before = rig.validation().counts();
            let outcome: hiplaunch::Result<f32> = compute();
            assert!(outcome.is_err(), "{call}: {outcome:?}");
            let counts = rig.validation().counts().since(&before);
            assert_eq!(counts.get(CallKind::LaunchKernel) + counts.get(CallKind::EventRecord), 0, "{call}");
            rig.validation().clear_injections();
        }
        assert_eq!(compute().unwrap(), expected);
        for (call, calls) in
            [(CallKind::LaunchKernel, 4), (CallKind::EventRecord, 3), (CallKind::StreamWaitEvent, 4)]
        {
            for nth in 1..=calls {
                rig.validation().inject(call, nth, ErrorCode::INVALID_VALUE);
                match compute() {
                    Err(Error::Node { source, .. }) => {
                        assert_eq!(source.code(), Some(ErrorCode::INVALID_VALUE), "{call} {nth}");
                    }
                    other => panic!("{call} {nth}: {other:?}"),
                }
                rig.validation().clear_injections();
                // Its memory may be freed at once: what was submitted of it comes first.
                rig.launcher.forget_graphs();
                drop(DeviceBuffer::from_slice(&rig.stream, &[7.0f32; 8 * N]).unwrap());
                assert_eq!(compute().unwrap(), expected, "{call} {nth}");
            }
        }
        rig.assert_clean();
        let validation = rig.validation().clone();
        drop((x, out, rig));
        assert_eq!(validation.report_leaks(), []);
    });
}

/// Records two branches, of which the second stores out of bounds, and a read of the first.
fn stray(rig: &Rig, k: &Kernels, x: &DeviceBuffer<f32>, outs: &[DeviceBuffer<f32>; 2]) -> Graph {
    let store = rig.kernel(&PROBE, "oob_store");
    let mut g = rig.launcher.graph(&rig.device).unwrap();
    g.set_branches(Branches::Streams(2));
    let [from, a, b] = [x, &outs[0], &outs[1]].map(|o| g.buffer(o).unwrap());
    k.scale(&mut g, 2.0, &from, &a);
    let args = [GraphArg::Write(b), (1i64 << 40).into()];
    // SAFETY: the emulator reports the address, which belongs to no allocation.
    unsafe { g.launch(store, LaunchDims::linear(1, 64), &args) }.unwrap();
    g.read(&a).unwrap();
    g
}

/// Returns the kernels that were in flight according to the report of a lost device.
fn in_flight<T: std::fmt::Debug>(result: hiplaunch::Result<T>) -> Vec<String> {
    match result {
        Err(Error::DeviceLost(report)) => report.in_flight.iter().map(|l| l.kernel.to_string()).collect(),
        other => panic!("{other:?}"),
    }
}

// A GPU may need a reset after a fault: these tests use only the emulator.

#[test]
fn a_fault_in_a_branch_is_returned_by_the_wait_for_the_graph() {
    let rig = Rig::open(Launcher::builder(), Backend::Emulator);
    let k = Kernels::of(&rig);
    let x = DeviceBuffer::from_slice(&rig.stream, &[1.0f32; N]).unwrap();
    let outs = [(); 2].map(|()| DeviceBuffer::<f32>::on(&rig.stream, N).unwrap());
    let graph = stray(&rig, &k, &x, &outs);
    // Holds the graph until all of it is submitted: a kernel that faults earlier ends the submission.
    let (submitted, wait) = std::sync::mpsc::channel::<()>();
    let hold = move || wait.recv().unwrap_or_default();
    // SAFETY: a live stream of the device.
    unsafe {
        rig.launcher.driver().enqueue(
            rig.device.id(),
            rig.stream.as_raw(),
            &Work::HostFunction(&HostFunction::new(hold)),
        )
    }
    .unwrap();
    let ticket = graph.compute(&rig.stream).unwrap();
    submitted.send(()).unwrap();
    let named = in_flight(ticket.read());
    assert!(named.iter().any(|kernel| kernel == "oob_store"), "{named:?}");
    let late = fan(&rig, &k, (&x, &outs[0]), (2, 1), Branches::Streams(2)).compute(&rig.stream);
    assert_eq!(in_flight(late), named, "every later call has the same report");
}

/// Kernels run while the rest of their graph is submitted, so the fault of one may be returned by the submission.
#[test]
fn a_fault_while_a_graph_is_submitted_names_the_launches_before_it() {
    for branches in [Branches::One, Branches::Streams(2)] {
        for call in [CallKind::MemcpyDtohAsync, CallKind::EventRecord] {
            for nth in 1..=3 {
                let rig = Rig::open(Launcher::builder(), Backend::Emulator);
                let k = Kernels::of(&rig);
                let x = DeviceBuffer::from_slice(&rig.stream, &[1.0f32; N]).unwrap();
                let outs = [(); 2].map(|()| DeviceBuffer::<f32>::on(&rig.stream, N).unwrap());
                let mut graph = stray(&rig, &k, &x, &outs);
                graph.set_branches(branches);
                rig.stream.synchronize().unwrap();
                // Held until everything is submitted, so that this call fails and no earlier one.
                let (submitted, wait) = std::sync::mpsc::channel::<()>();
                let hold = move || wait.recv().unwrap_or_default();
                // SAFETY: a live stream of the device.
                unsafe {
                    rig.launcher.driver().enqueue(
                        rig.device.id(),
                        rig.stream.as_raw(),
                        &Work::HostFunction(&HostFunction::new(hold)),
                    )
                }
                .unwrap();
                let before = rig.validation().counts();
                rig.validation().inject(call, nth, ErrorCode::ILLEGAL_ADDRESS);
                let outcome = graph.compute(&rig.stream);
                let fired = rig.validation().pending_injections() == 0;
                let launches = rig.validation().counts().since(&before).get(CallKind::LaunchKernel);
                submitted.send(()).unwrap();
                if !fired {
                    assert!(outcome.is_ok(), "{outcome:?}");
                    continue;
                }
                let named = in_flight(outcome);
                let expected = ["vscale", "oob_store"];
                assert_eq!(named, expected[..launches as usize], "{branches:?} {call} {nth}");
            }
        }
    }
}

#[test]
fn an_explicit_order_is_kept_and_a_cycle_is_refused() {
    on_each(|rig| {
        let k = Kernels::of(&rig);
        let x = DeviceBuffer::from_slice(&rig.stream, &[1.0f32; N]).unwrap();
        let outs = [(); 2].map(|()| DeviceBuffer::<f32>::on(&rig.stream, N).unwrap());
        let events = |ordered: bool| {
            let mut g = rig.launcher.graph(&rig.device).unwrap();
            g.set_branches(Branches::Streams(2));
            let (x, a, b) = (g.buffer(&x).unwrap(), g.buffer(&outs[0]).unwrap(), g.buffer(&outs[1]).unwrap());
            let nodes = [a, b].map(|out| {
                k.scale(&mut g, 2.0, &x, &out);
                NodeId(g.len() as u32 - 1)
            });
            if ordered {
                for (before, after) in [(nodes[1], nodes[0]), (nodes[1], nodes[1])] {
                    match g.order(before, after) {
                        Err(Error::Graph { node: Some(at), problem }) => {
                            assert_eq!(at, after.0);
                            let expected = GraphProblem::Cycle { before: before.0, after: after.0 };
                            assert_eq!(*problem, expected);
                        }
                        other => panic!("{other:?}"),
                    }
                }
                assert!(g.order(nodes[0], NodeId(2)).is_err());
                g.order(nodes[0], nodes[1]).unwrap();
            }
            let mut compiled = g.compile(&rig.stream).unwrap();
            compiled.submit().unwrap().read().unwrap();
            (compiled.streams(), compiled.events())
        };
        assert_eq!(events(false), (2, 2));
        assert_eq!(events(true), (1, 0), "one after the other: on one stream");
        rig.assert_clean();
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn random_graphs_on_several_streams_compute_what_the_host_computes(
        operations in prop::collection::vec(any_operation(), 1..50),
        streams in 2u32..6,
    ) {
        let rig = Rig::open(Launcher::builder(), Backend::Emulator);
        let k = Kernels::of(&rig);
        // SAFETY: each work-item reads its element before it writes it.
        unsafe {
            rig.launcher.declare_in_place(k.vadd, true).unwrap();
            rig.launcher.declare_in_place(k.vscale, true).unwrap();
        }
        const BUFFERS: usize = 3;
        for round in 0..2 {
            let start = |v: usize| -> Vec<f32> { (0..M).map(|i| ((i + v + round) % 5) as f32).collect() };
            let mut all = Vec::new();
            for branches in [Branches::One, Branches::Streams(streams)] {
                let buffers: Vec<_> =
                    (0..BUFFERS).map(|v| DeviceBuffer::from_slice(&rig.stream, &start(v)).unwrap()).collect();
                let mut g = rig.launcher.graph(&rig.device).unwrap();
                g.set_branches(branches);
                let mut values: Vec<GraphValue> = buffers.iter().map(|b| g.buffer(b).unwrap()).collect();
                let mut host: Vec<Option<Vec<f32>>> = (0..BUFFERS).map(|v| Some(start(v))).collect();
                for _ in BUFFERS..VALUES {
                    values.push(g.temporary::<f32>(M).unwrap());
                    host.push(None);
                }
                let mut reads = Vec::new();
                run(&k, &mut g, &values, &mut host, &mut reads, &operations);
                let output = g.compute(&rig.stream).unwrap().read().unwrap();
                let mut bits: Vec<Vec<f32>> =
                    (0..reads.len()).map(|i| output.slice::<f32>(i).unwrap().to_vec()).collect();
                bits.extend(buffers.iter().map(|b| b.to_vec(&rig.stream).unwrap()));
                reads.extend(host.into_iter().take(BUFFERS).flatten());
                prop_assert_eq!(&bits, &reads);
                all.push(bits);
            }
            prop_assert_eq!(&all[0], &all[1]);
        }
        rig.assert_clean();
    }
}

pub(crate) fn any_operation() -> impl Strategy<Value = Operation> {
    (0u8..5, 0..VALUES, 0..VALUES, 0..VALUES, -3i8..4)
}
