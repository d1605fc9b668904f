//! Graphs: counts, refusals, violations and injected faults, when nodes are added, at instantiation and at each launch.

use hip_driver::{DeviceId, Driver, ErrorCode, HostNode, RawGraph, RawGraphNode, RawStream, Work};
use hip_driver_layers::validation::{CallGroup, CallKind, HandleKind, Leak, ObservedKind, Violation};

use crate::rig::{D0, D1, Rig, reads, writes};

/// An executable graph with one node, which fills bytes of a new allocation.
struct One {
    graph: RawGraph,
    exec: hip_driver::RawGraphExec,
    ptr: hip_driver::DevicePtr,
}

fn one(rig: &Rig) -> One {
    let (graph, ptr) = (rig.graph(), rig.malloc(256));
    rig.add_memset(graph, &[], ptr, 64).unwrap();
    One { graph, exec: rig.instantiate(graph).unwrap(), ptr }
}

#[test]
fn calls_reach_the_driver_and_are_counted() {
    let rig = Rig::new();
    let (stream, ptr, pinned, (_, saxpy)) = (rig.stream(), rig.malloc(256), rig.pinned(256), rig.module());
    let host = pinned.host.as_ptr();
    rig.fake.take_calls();
    let before = rig.layer.counts();
    let graph = rig.graph();
    let mut node = rig.add_empty(graph, &[]).unwrap();
    node = rig.add_htod(graph, &[node], ptr, host, 64).unwrap();
    node = rig.add_kernel(graph, &[node], saxpy, &[writes(ptr, 64)]).unwrap();
    node = rig.add_dtod(graph, &[node], ptr.offset(64), ptr, 64).unwrap();
    node = rig.add_memset(graph, &[node], ptr, 1).unwrap();
    // SAFETY: as in the rig.
    node = unsafe {
        rig.layer.graph_add(D0, graph, &[node], &Work::FillWords { dst: ptr, value: 1, count: 16 })
    }
    .unwrap();
    rig.add_dtoh(graph, &[node], host, ptr, 64).unwrap();
    let exec = rig.instantiate(graph).unwrap();
    rig.launch_graph(exec, stream).unwrap();
    rig.launch_graph(exec, stream).unwrap();
    rig.sync(stream).unwrap();
    rig.destroy_exec(exec).unwrap();
    rig.destroy_graph(graph).unwrap();
    let expected = [
        "graph_create",
        "graph_add_empty",
        "graph_add_memcpy_htod",
        "graph_add_kernel",
        "graph_add_memcpy_dtod",
        "graph_add_memset_d8",
        "graph_add_memset_d32",
        "graph_add_memcpy_dtoh",
        "graph_instantiate",
        "graph_launch",
        "graph_launch",
        "stream_synchronize",
        "graph_exec_destroy",
        "graph_destroy",
    ];
    assert_eq!(rig.fake.take_calls(), expected);
    let counts = rig.layer.counts().since(&before);
    assert_eq!((counts[CallGroup::GraphNode], counts[CallKind::GraphLaunch]), (7, 2));
    for kind in [
        CallKind::GraphCreate,
        CallKind::GraphAddEmpty,
        CallKind::GraphAddMemcpyHtod,
        CallKind::GraphAddKernel,
        CallKind::GraphAddMemcpyDtod,
        CallKind::GraphAddMemsetD8,
        CallKind::GraphAddMemsetD32,
        CallKind::GraphAddMemcpyDtoh,
        CallKind::GraphInstantiate,
        CallKind::GraphExecDestroy,
        CallKind::GraphDestroy,
    ] {
        assert_eq!(counts[kind], 1, "{kind}");
    }
    assert_eq!(counts.device_calls(), expected.len() as u64);
    rig.clean();
}

#[test]
fn stale_and_foreign_handles_are_refused() {
    let rig = Rig::new();
    let (stream, One { graph, exec, .. }) = (rig.stream(), one(&rig));
    let kind_of = |violation| match violation {
        Violation::DestroyedHandle { kind, .. } | Violation::UnknownHandle { kind, .. } => kind,
        other => panic!("{other}"),
    };
    rig.destroy_exec(exec).unwrap();
    // Before the driver uses any handle again.
    let refused = rig.refused(ErrorCode::INVALID_HANDLE, || rig.launch_graph(exec, stream));
    assert!(matches!(refused, Violation::DestroyedHandle { .. }));
    assert_eq!(kind_of(refused), HandleKind::GraphExec);
    let refused = rig.refused(ErrorCode::INVALID_HANDLE, || rig.destroy_exec(exec));
    assert_eq!(kind_of(refused), HandleKind::GraphExec);
    rig.destroy_graph(graph).unwrap();
    for call in [&|| rig.add_empty(graph, &[]).map(drop) as _, &|| rig.instantiate(graph).map(drop), &|| {
        rig.destroy_graph(graph)
    }] as [&dyn Fn() -> _; 3]
    {
        assert_eq!(kind_of(rig.refused(ErrorCode::INVALID_HANDLE, call)), HandleKind::Graph);
    }
    // Handles of other kinds and of another device.
    let graph = rig.graph();
    let refused = rig.refused(ErrorCode::INVALID_HANDLE, || rig.add_empty(RawGraph(stream.0), &[]));
    assert!(matches!(refused, Violation::UnknownHandle { kind: HandleKind::Graph, .. }));
    // SAFETY: as in the rig.
    let refused = rig
        .refused(ErrorCode::INVALID_CONTEXT, || unsafe { rig.layer.graph_add(D1, graph, &[], &Work::Empty) });
    assert!(matches!(refused, Violation::HandleOfOtherDevice { owner: D0, given: DeviceId(1), .. }));
    let exec = rig.instantiate(graph).unwrap();
    let refused = rig.refused(ErrorCode::INVALID_HANDLE, || rig.launch_graph(exec, RawStream(0x7777)));
    assert!(matches!(refused, Violation::UnknownHandle { kind: HandleKind::Stream, .. }));
}

#[test]
fn dependencies_are_nodes_of_the_same_graph() {
    let rig = Rig::new();
    let (one, other) = (rig.graph(), rig.graph());
    let node = rig.add_empty(one, &[]).unwrap();
    for foreign in [node, RawGraphNode(0x9999)] {
        match rig.refused(ErrorCode::INVALID_VALUE, || rig.add_empty(other, &[foreign])) {
            Violation::NodeOfOtherGraph { node, graph, .. } => {
                assert_eq!((node, graph), (foreign.0, other.0))
            }
            violation => panic!("{violation}"),
        }
    }
    rig.add_empty(one, &[node, node]).unwrap();
    // A graph that has the handle of a destroyed one has none of its nodes.
    rig.destroy_graph(one).unwrap();
    let again = rig.graph();
    assert_eq!(one, again);
    rig.refused(ErrorCode::INVALID_VALUE, || rig.add_empty(again, &[node]));
}

#[test]
fn memory_of_a_node_is_checked_when_the_node_is_added() {
    let rig = Rig::new();
    let (graph, ptr, (_, saxpy)) = (rig.graph(), rig.malloc(256), rig.module());
    let invalid = ErrorCode::INVALID_VALUE;
    let refused = rig.refused(invalid, || rig.add_memset(graph, &[], ptr, 257));
    assert!(matches!(
        refused,
        Violation::OutOfRange { over: 1, call: ObservedKind::Call(CallKind::GraphAddMemsetD8), .. }
    ));
    let refused = rig.refused(invalid, || rig.add_dtod(graph, &[], ptr, ptr.offset(32), 64));
    assert!(matches!(refused, Violation::Overlap { .. }));
    // SAFETY: as in the rig.
    let refused = rig.refused(invalid, || unsafe {
        rig.layer.graph_add(D0, graph, &[], &Work::FillWords { dst: ptr.offset(2), value: 0, count: 1 })
    });
    assert!(matches!(refused, Violation::Misaligned { align: 4, .. }));
    let pageable = [0u8; 64];
    let refused = rig.refused(invalid, || rig.add_htod(graph, &[], ptr, pageable.as_ptr(), 64));
    assert!(matches!(refused, Violation::NotPinned { bytes: 64, .. }));
    let pinned = rig.pinned(64);
    rig.host_free(pinned).unwrap();
    let refused = rig.refused(ErrorCode::INVALID_DEVICE_POINTER, || {
        rig.add_dtoh(graph, &[], pinned.host.as_ptr(), ptr, 64)
    });
    assert!(matches!(refused, Violation::UseAfterFree { .. }));
    let refused = rig.refused(invalid, || rig.add_kernel(graph, &[], saxpy, &[reads(ptr, 300)]));
    assert!(matches!(
        refused,
        Violation::OutOfRange { call: ObservedKind::Call(CallKind::GraphAddKernel), .. }
    ));
    rig.free(ptr).unwrap();
    let refused = rig.refused(ErrorCode::INVALID_DEVICE_POINTER, || rig.add_memset(graph, &[], ptr, 1));
    assert!(matches!(refused, Violation::UseAfterFree { .. }));
    // None of them became a node: a launch accesses nothing.
    let (exec, stream) = (rig.instantiate(graph).unwrap(), rig.stream());
    rig.launch_graph(exec, stream).unwrap();
    rig.clean();
}

#[test]
fn freed_memory_and_unloaded_kernels_are_refused_at_the_next_launch() {
    let rig = Rig::new();
    let (stream, graph, ptr, pinned, (module, saxpy)) =
        (rig.stream(), rig.graph(), rig.malloc(256), rig.pinned(64), rig.module());
    let copy = rig.add_htod(graph, &[], ptr, pinned.host.as_ptr(), 64).unwrap();
    let copies = rig.instantiate(graph).unwrap();
    rig.add_kernel(graph, &[copy], saxpy, &[reads(ptr, 64)]).unwrap();
    let kernels = rig.instantiate(graph).unwrap();
    rig.launch_graph(kernels, stream).unwrap();
    // In flight, a kernel of a graph needs its module like any other kernel.
    rig.unload(module).unwrap();
    match rig.found() {
        Violation::UnloadInFlight { in_flight, .. } => {
            assert_eq!((in_flight.call, in_flight.stream), (CallKind::GraphAddKernel, Some(stream)));
            assert!(in_flight.node.is_some());
        }
        other => panic!("{other}"),
    }
    let refused = rig.refused(ErrorCode::INVALID_HANDLE, || rig.launch_graph(kernels, stream));
    assert!(matches!(refused, Violation::DestroyedHandle { kind: HandleKind::Kernel, .. }));
    rig.launch_graph(copies, stream).unwrap();
    rig.sync(stream).unwrap();
    rig.host_free(pinned).unwrap();
    let gone = ErrorCode::INVALID_DEVICE_POINTER;
    let refused = rig.refused(gone, || rig.launch_graph(copies, stream));
    assert!(matches!(
        refused,
        Violation::UseAfterFree { call: ObservedKind::Call(CallKind::GraphLaunch), .. }
    ));
    let One { exec, ptr, .. } = one(&rig);
    rig.launch_graph(exec, stream).unwrap();
    rig.free(ptr).unwrap();
    let refused = rig.refused(gone, || rig.launch_graph(exec, stream));
    assert!(matches!(
        refused,
        Violation::UseAfterFree { call: ObservedKind::Call(CallKind::GraphLaunch), .. }
    ));
}

#[test]
fn launches_are_ordered_like_other_work() {
    let rig = Rig::new();
    let (a, b, event, One { exec, ptr, .. }) = (rig.stream(), rig.stream(), rig.event(), one(&rig));
    // On one stream, and with events between two.
    rig.memset(ptr, 256, a).unwrap();
    rig.launch_graph(exec, a).unwrap();
    rig.memset(ptr, 256, a).unwrap();
    rig.record(event, a).unwrap();
    rig.wait(b, event).unwrap();
    rig.launch_graph(exec, b).unwrap();
    rig.clean();
    // After the launch, but without an order.
    rig.memset(ptr.offset(60), 10, a).unwrap();
    match rig.found() {
        Violation::Race { first, second, range, .. } => {
            assert_eq!((first.call, first.stream), (CallKind::GraphAddMemsetD8, Some(b)));
            assert!(first.node.is_some() && second.node.is_none());
            assert_eq!((range.start, range.end), (60, 64));
            assert!(first.to_string().contains("graph node"), "{first}");
        }
        other => panic!("{other}"),
    }
    // Before the launch, but without an order: the node is the second.
    rig.sync(a).unwrap();
    rig.sync(b).unwrap();
    rig.memset(ptr, 8, a).unwrap();
    rig.launch_graph(exec, b).unwrap();
    match rig.found() {
        Violation::Race { first, second, .. } => {
            assert_eq!((first.call, second.call), (CallKind::MemsetD8Async, CallKind::GraphAddMemsetD8));
        }
        other => panic!("{other}"),
    }
}

#[test]
fn a_host_write_of_what_a_launch_reads_is_reported() {
    let rig = Rig::new();
    let (stream, graph, ptr, pinned) = (rig.stream(), rig.graph(), rig.malloc(64), rig.pinned(256));
    rig.add_htod(graph, &[], ptr, pinned.host.as_ptr().wrapping_add(64), 64).unwrap();
    let exec = rig.instantiate(graph).unwrap();
    rig.host_writes(&pinned, 64, 64);
    rig.launch_graph(exec, stream).unwrap();
    rig.host_writes(&pinned, 0, 64);
    rig.host_reads(&pinned, 64, 64);
    rig.clean();
    rig.host_writes(&pinned, 127, 1);
    match rig.found() {
        Violation::HostRace { write: true, in_flight, .. } => {
            assert_eq!(in_flight.call, CallKind::GraphAddMemcpyHtod);
        }
        other => panic!("{other}"),
    }
    rig.sync(stream).unwrap();
    rig.host_writes(&pinned, 127, 1);
    rig.clean();
}

/// Returns the calls and the common bytes of the one race between two nodes.
#[track_caller]
fn graph_race(rig: &Rig) -> (CallKind, CallKind, (u64, u64)) {
    match rig.found() {
        ref violation @ Violation::GraphRace { ref first, ref second, range, .. } => {
            assert!(violation.is_order() && violation.to_string().contains("depends on"), "{violation}");
            assert!(first.node.is_some() && second.node.is_some() && first.stream.is_none());
            (first.call, second.call, (range.start, range.end))
        }
        other => panic!("{other}"),
    }
}

#[test]
fn nodes_without_a_path_between_them_race() {
    let rig = Rig::new();
    let (graph, ptr, (_, saxpy)) = (rig.graph(), rig.malloc(256), rig.module());
    let fill = rig.add_memset(graph, &[], ptr, 64).unwrap();
    let read = rig.add_kernel(graph, &[fill], saxpy, &[reads(ptr, 64)]).unwrap();
    let other = rig.add_kernel(graph, &[fill], saxpy, &[reads(ptr, 64), writes(ptr.offset(64), 64)]).unwrap();
    // Two readers do not race, and neither does a node that comes after both, directly or not.
    let joined = rig.add_empty(graph, &[read, other]).unwrap();
    rig.add_memset(graph, &[joined], ptr, 128).unwrap();
    rig.instantiate(graph).unwrap();
    rig.clean();
    // This node comes after one reader only.
    rig.add_dtod(graph, &[read], ptr.offset(32), ptr.offset(128), 16).unwrap();
    rig.fake.take_calls();
    let exec = rig.instantiate(graph).unwrap();
    assert_eq!(rig.fake.take_calls(), ["graph_instantiate"], "it goes through");
    // It races with the other reader, and so with the fill after that reader, which is reported for both.
    let expected = (CallKind::GraphAddMemsetD8, CallKind::GraphAddMemcpyDtod, (32, 48));
    assert_eq!(graph_race(&rig), expected);
    // Reported once, not at each launch.
    let stream = rig.stream();
    rig.launch_graph(exec, stream).unwrap();
    rig.launch_graph(exec, stream).unwrap();
    rig.clean();
}

#[test]
fn roots_race_and_long_chains_do_not() {
    let rig = Rig::new();
    let (graph, ptr) = (rig.graph(), rig.malloc(256));
    let mut last = rig.add_memset(graph, &[], ptr, 8).unwrap();
    for _ in 0..500 {
        last = rig.add_memset(graph, &[last], ptr, 8).unwrap();
    }
    // Branches that join again and again.
    for _ in 0..50 {
        let left = rig.add_memset(graph, &[last], ptr, 4).unwrap();
        let right = rig.add_memset(graph, &[last], ptr.offset(4), 4).unwrap();
        last = rig.add_memset(graph, &[left, right], ptr, 8).unwrap();
    }
    rig.instantiate(graph).unwrap();
    rig.clean();
    rig.add_memset(graph, &[], ptr.offset(8), 8).unwrap();
    rig.instantiate(graph).unwrap();
    rig.clean();
    rig.add_memset(graph, &[last], ptr.offset(12), 8).unwrap();
    rig.instantiate(graph).unwrap();
    let fill = CallKind::GraphAddMemsetD8;
    assert_eq!(graph_race(&rig), (fill, fill, (12, 16)));
}

#[test]
fn races_are_those_of_pairs_without_a_path() {
    let rig = Rig::new();
    let ptr = rig.malloc(256);
    let (_, saxpy) = rig.module();
    let mut seed = 1u32;
    let mut below = |n: usize| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) as usize % n
    };
    let mut with_races = 0;
    for round in 0..400 {
        let graph = rig.graph();
        let mut nodes: Vec<RawGraphNode> = Vec::new();
        // For each node, the nodes that it comes after, and the bytes that it accesses.
        let mut after: Vec<Vec<bool>> = Vec::new();
        let mut touched: Vec<(usize, usize, bool)> = Vec::new();
        for i in 0..2 + below(10) {
            let direct: Vec<usize> = (0..below(4).min(i)).map(|_| below(i)).collect();
            let mut all = vec![false; i];
            for &d in &direct {
                all[d] = true;
                after[d].iter().enumerate().for_each(|(j, &before)| all[j] |= before);
            }
            let (start, bytes, write) = (below(40), 1 + below(6), below(2) == 0);
            let range = ptr.offset(start as u64);
            let access = if write { writes(range, bytes) } else { reads(range, bytes) };
            let dependencies: Vec<_> = direct.iter().map(|&d| nodes[d]).collect();
            nodes.push(rig.add_kernel(graph, &dependencies, saxpy, &[access]).unwrap());
            after.push(all);
            touched.push((start, start + bytes, write));
        }
        let races = |first: usize, second: usize| {
            let (a, b) = (touched[first], touched[second]);
            a.0 < b.1 && b.0 < a.1 && (a.2 || b.2) && !after[second][first]
        };
        let any = (0..nodes.len()).any(|j| (0..j).any(|i| races(i, j)));
        let exec = rig.instantiate(graph).unwrap();
        let found = rig.layer.take_violations();
        assert_eq!(any, !found.is_empty(), "graph {round}: {found:#?}");
        for violation in &found {
            let Violation::GraphRace { first, second, .. } = violation else { panic!("{violation}") };
            let index = |node| nodes.iter().position(|n| Some(*n) == node).unwrap();
            assert!(races(index(first.node), index(second.node)), "graph {round}: {violation}");
        }
        with_races += usize::from(any);
        rig.destroy_exec(exec).unwrap();
        rig.destroy_graph(graph).unwrap();
    }
    assert!((100..300).contains(&with_races), "{with_races} of 400 graphs tell little");
}

#[test]
fn launches_of_one_executable_graph_must_be_ordered() {
    let rig = Rig::new();
    let (a, b, event, graph) = (rig.stream(), rig.stream(), rig.event(), rig.graph());
    rig.add_empty(graph, &[]).unwrap();
    let exec = rig.instantiate(graph).unwrap();
    rig.launch_graph(exec, a).unwrap();
    rig.launch_graph(exec, a).unwrap();
    rig.record(event, a).unwrap();
    rig.wait(b, event).unwrap();
    rig.launch_graph(exec, b).unwrap();
    rig.clean();
    rig.launch_graph(exec, a).unwrap();
    match rig.found() {
        Violation::ExecInFlight { call: ObservedKind::Call(CallKind::GraphLaunch), in_flight, exec: e } => {
            assert_eq!((in_flight.stream, in_flight.sequence, e), (Some(b), 1, exec.0));
        }
        other => panic!("{other}"),
    }
    // It must not be destroyed while it runs, either. Another executable graph of the same graph is independent.
    let other = rig.instantiate(graph).unwrap();
    rig.sync(b).unwrap();
    rig.launch_graph(other, b).unwrap();
    rig.destroy_graph(graph).unwrap();
    rig.clean();
    rig.destroy_exec(exec).unwrap();
    match rig.found() {
        Violation::ExecInFlight {
            call: ObservedKind::Call(CallKind::GraphExecDestroy), in_flight, ..
        } => {
            assert_eq!(in_flight.stream, Some(a));
        }
        other => panic!("{other}"),
    }
    rig.sync(b).unwrap();
    rig.destroy_exec(other).unwrap();
    rig.clean();
}

#[test]
fn graphs_that_are_not_destroyed_are_leaks() {
    let rig = Rig::new();
    let One { graph, exec, ptr } = one(&rig);
    let handles: Vec<_> = rig
        .layer
        .report_leaks()
        .into_iter()
        .filter_map(|leak| match leak {
            Leak::Handle { kind, handle, .. } => Some((kind, handle)),
            Leak::Memory(_) => None,
            other => panic!("{other}"),
        })
        .collect();
    assert_eq!(handles, [(HandleKind::Graph, graph.0), (HandleKind::GraphExec, exec.0)]);
    rig.destroy_exec(exec).unwrap();
    rig.destroy_graph(graph).unwrap();
    rig.free(ptr).unwrap();
    rig.layer.assert_clean_and_empty().unwrap();
}

#[test]
fn injected_and_real_failures_leave_everything_as_it_was() {
    let rig = Rig::new();
    let (stream, other, One { graph, exec, ptr }) = (rig.stream(), rig.stream(), one(&rig));
    let code = ErrorCode::OUT_OF_MEMORY;
    rig.layer.inject(CallGroup::GraphNode, 2, code);
    let node = rig.add_empty(graph, &[]).unwrap();
    rig.fake.take_calls();
    assert_eq!(rig.add_memset(graph, &[node], ptr, 64).unwrap_err().code, code);
    rig.layer.inject(CallKind::GraphInstantiate, 1, code);
    assert_eq!(rig.instantiate(graph).unwrap_err().code, code);
    rig.layer.inject(CallKind::GraphLaunch, 1, code);
    assert_eq!(rig.launch_graph(exec, stream).unwrap_err().code, code);
    rig.layer.inject(CallKind::GraphCreate, 1, code);
    assert_eq!(rig.layer.graph_create(D0).unwrap_err().code, code);
    assert_eq!(rig.fake.take_calls(), [""; 0]);
    assert_eq!(rig.layer.pending_injections(), 0);
    // Failures of the driver: a launch that failed is no work, and a graph that could not be destroyed is still alive.
    rig.fake.fail("graph_launch", code);
    assert_eq!(rig.launch_graph(exec, stream).unwrap_err().code, code);
    rig.memset(ptr, 64, other).unwrap();
    rig.fake.fail("graph_destroy", code);
    assert_eq!(rig.destroy_graph(graph).unwrap_err().code, code);
    rig.fake.fail("graph_exec_destroy", code);
    assert_eq!(rig.destroy_exec(exec).unwrap_err().code, code);
    rig.clean();
    rig.launch_graph(exec, other).unwrap();
    rig.add_empty(graph, &[node]).unwrap();
    rig.clean();
    // After a sticky code, nothing runs any more.
    rig.fake.fail("graph_launch", ErrorCode::ILLEGAL_ADDRESS);
    assert_eq!(rig.launch_graph(exec, other).unwrap_err().code, ErrorCode::ILLEGAL_ADDRESS);
    rig.destroy_exec(exec).unwrap();
    rig.destroy_graph(graph).unwrap();
    rig.clean();
}

#[test]
fn the_host_knows_what_is_before_a_host_function_of_a_graph_when_it_runs() {
    let rig = Rig::new();
    let (stream, pinned, memory) = (rig.stream(), rig.pinned(64), rig.malloc(64));
    let (sender, receiver) = std::sync::mpsc::channel();
    let function = HostNode::new(move |_| sender.send(()).unwrap());
    let graph = rig.graph();
    let copy = rig.add_dtoh(graph, &[], pinned.host.as_ptr(), memory, 64).unwrap();
    // SAFETY: the function lives until the end.
    let call = unsafe { rig.layer.graph_add(D0, graph, &[copy], &Work::HostNode(&function)) }.unwrap();
    rig.add_empty(graph, &[call]).unwrap();
    let exec = rig.instantiate(graph).unwrap();
    // Launches that the driver refuses, of the graph and of the function, run nothing.
    rig.fake.fail("graph_launch", ErrorCode::OUT_OF_MEMORY);
    rig.launch_graph(exec, stream).unwrap_err();
    rig.fake.fail("launch_host_func", ErrorCode::OUT_OF_MEMORY);
    // SAFETY: a live stream.
    unsafe { rig.layer.enqueue(D0, stream, &Work::HostNode(&function)) }.unwrap_err();
    for _ in 0..2 {
        rig.launch_graph(exec, stream).unwrap();
        // The fake driver runs no nodes.
        function.call(Ok(()));
        receiver.recv().unwrap();
        rig.host_reads(&pinned, 0, 64);
        rig.clean();
    }
    rig.launch_graph(exec, stream).unwrap();
    rig.host_reads(&pinned, 0, 64);
    assert!(matches!(rig.found(), Violation::HostRace { .. }), "it has not run");
}
