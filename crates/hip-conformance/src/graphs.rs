//! Driver graphs: they do in one call what a stream does in several, and can be launched many times.

use std::sync::mpsc;

use hiplaunch::driver::validation::Violation;
use hiplaunch::driver::{Capability, Driver, ErrorCode, HostNode, KernelLaunch, RawGraphNode, Work};

use crate::graph_rig::Graph;
use crate::rig::{D0, JIT, PROBE, Rig, VECTOR, code, input, output, value};
use crate::subject::Subject;

pub(crate) fn a_graph_computes_what_a_stream_computes(rig: &Rig) {
    if !rig.has(Capability::Graphs) {
        return;
    }
    const N: usize = 3000;
    const BYTES: usize = 4 * N;
    let (stream, vector, pinned) = (rig.stream(), rig.load(&VECTOR), rig.pinned(4 * BYTES));
    let x: Vec<f32> = (0..N).map(|i| (i as f32).sqrt() - 20.0).collect();
    pinned.write(0, &x);
    let dims = (N.div_ceil(256) as u32, 256);
    // The same operations are run on a stream and as a graph, each with memory of its own.
    let memory = || [(); 3].map(|()| rig.malloc(BYTES));
    let saxpy = |x, y| [value(1.5f32), input(x, BYTES), output(y, BYTES), value(N as i32)];
    let add = |x, y, z| [input(x, BYTES), input(y, BYTES), output(z, BYTES), value(N as i32)];

    let [a, b, c] = memory();
    pinned.to_device(0, a, BYTES, stream);
    rig.fill_words(b, 0x3fc0_0000, N, stream);
    vector.launch("saxpy", dims.0, dims.1, stream, &saxpy(a, b)).unwrap();
    rig.copy(c, b, BYTES, stream);
    rig.fill_bytes(c.offset(5), 0x40, 1001, stream);
    vector.launch("vadd_f32", dims.0, dims.1, stream, &add(a, c, b)).unwrap();
    pinned.to_host(BYTES, b, BYTES, stream);

    let [a, b, c] = memory();
    let graph = Graph::new(rig);
    let first = graph.to_device(&[], pinned, 0, a, BYTES);
    let node = graph.fill_words(&[first], b, 0x3fc0_0000, N);
    let node = graph.kernel(&[node], &vector, "saxpy", dims, &saxpy(a, b));
    let node = graph.copy(&[node], c, b, BYTES);
    let node = graph.fill_bytes(&[node], c.offset(5), 0x40, 1001);
    let node = graph.kernel(&[node], &vector, "vadd_f32", dims, &add(a, c, b));
    graph.to_host(&[node], pinned, 2 * BYTES, b, BYTES);
    rig.launch_graph(rig.instantiate(graph.raw), stream);
    rig.sync(stream);
    let (streams, graphs) = (pinned.read::<u32>(BYTES, N), pinned.read::<u32>(2 * BYTES, N));
    assert!(streams == graphs, "bits differ");
    assert_eq!(f32::from_bits(graphs[N - 1]), 1.5f32.mul_add(x[N - 1], 1.5) + x[N - 1]);
}

/// A source of random numbers, from which the random graphs are drawn.
struct Choice(u32);

impl Choice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 8) as usize % n
    }
}

pub(crate) fn random_graphs_keep_their_dependencies(rig: &Rig) {
    if !rig.has(Capability::Graphs) {
        return;
    }
    const WORDS: usize = 1024;
    const MOST: usize = 12;
    let (stream, vector) = (rig.stream(), rig.load(&VECTOR));
    let all = rig.malloc(4 * WORDS * MOST);
    let block = |i: usize| all.offset((4 * WORDS * i) as u64);
    let mut choice = Choice(7);
    for round in 0..60 {
        let graph = Graph::new(rig);
        let mut nodes: Vec<RawGraphNode> = Vec::new();
        let mut expected: Vec<u32> = Vec::new();
        for i in 0..=choice.below(MOST) {
            let mut after: Vec<usize> = (0..choice.below(4).min(i)).map(|_| choice.below(i)).collect();
            after.sort_unstable();
            after.dedup();
            let dependencies: Vec<_> = after.iter().map(|&j| nodes[j]).collect();
            let (dst, word) = (block(i), 1000 * round + i as u32);
            let (node, word) = match (choice.below(4), after.last()) {
                (0 | 1, Some(&j)) => (graph.copy(&dependencies, dst, block(j), 4 * WORDS), expected[j]),
                (2, _) => {
                    let args = [output(dst, 4 * WORDS), value(word), value(WORDS as i32)];
                    (graph.kernel(&dependencies, &vector, "fill_u32", (4, 256), &args), word)
                }
                _ => (graph.fill_words(&dependencies, dst, word, WORDS), word),
            };
            nodes.push(node);
            expected.push(word);
        }
        let exec = rig.instantiate(graph.raw);
        for _ in 0..2 {
            rig.fill_bytes(all, 0xff, 4 * WORDS * MOST, stream);
            rig.launch_graph(exec, stream);
            let got = rig.read::<u32>(all, WORDS * expected.len(), stream);
            let wrong = (0..got.len()).find(|&i| got[i] != expected[i / WORDS]);
            assert_eq!(wrong, None, "graph {round} of {} nodes", expected.len());
        }
        rig.destroy_exec(exec);
        rig.destroy_graph(graph.raw);
    }
}

pub(crate) fn launches_of_a_graph_run_one_after_the_other(rig: &Rig) {
    if !rig.has(Capability::Graphs) {
        return;
    }
    let (stream, probe) = (rig.stream(), rig.load(&PROBE));
    let counter = rig.upload(&[0u32], stream);
    let log = rig.malloc(4 * 64);
    let graph = Graph::new(rig);
    let count = graph.kernel(&[], &probe, "atomic_count", (2, 64), &[output(counter, 4)]);
    let copy = graph.copy(&[count], log, counter, 4);
    graph.kernel(&[copy], &probe, "bump", (1, 64), &[output(log, 4), value(1i32)]);
    let exec = rig.instantiate(graph.raw);
    for _ in 0..50 {
        rig.launch_graph(exec, stream);
    }
    assert_eq!(rig.read::<u32>(counter, 1, stream), [50 * 128]);
    assert_eq!(rig.read::<u32>(log, 1, stream), [50 * 128 + 1]);
}

pub(crate) fn a_graph_reads_new_arguments_from_memory(rig: &Rig) {
    if !rig.has(Capability::Graphs) {
        return;
    }
    let (stream, jit, pinned) = (rig.stream(), rig.load(&JIT), rig.pinned(4096));
    let (block, result) = (rig.malloc(256), rig.malloc(256));
    let graph = Graph::new(rig);
    let copy = graph.to_device(&[], pinned, 0, block, 32);
    // The graph does not know which memory the kernel accesses through the argument block.
    let dot = graph.kernel(&[copy], &jit, "jit_dot", (1, 256), &[input(block, 32)]);
    graph.to_host(&[dot], pinned, 64, result, 8);
    let exec = rig.instantiate(graph.raw);
    for n in [1usize, 7, 200] {
        let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
        let (dx, dy) = (rig.upload(&x, stream), rig.upload(&vec![2.0f32; n], stream));
        // DotBlock of jit.hip: result, x, y, n.
        pinned.write(0, &[result.0, dx.0, dy.0, n as u64]);
        rig.launch_graph(exec, stream);
        rig.sync(stream);
        assert_eq!(pinned.read::<f64>(64, 1), [(n * (n - 1)) as f64]);
    }
}

pub(crate) fn a_graph_keeps_to_the_order_of_its_stream(rig: &Rig) {
    if !rig.has(Capability::Graphs) {
        return;
    }
    let (a, b, probe) = (rig.stream(), rig.stream(), rig.load(&PROBE));
    let (before, after) = (rig.event(), rig.event());
    let copy = rig.malloc(256);
    let (out, word) = rig.busy(&probe, a);
    let graph = Graph::new(rig);
    let bump = graph.kernel(&[], &probe, "bump", (1, 64), &[output(out, 256), value(64i32)]);
    graph.copy(&[bump], copy, out, 256);
    let exec = rig.instantiate(graph.raw);
    let bumped = |times: u32| word.map(|w| w.wrapping_add(times)).to_vec();
    // The graph runs after earlier work of its stream and before later work.
    rig.launch_graph(exec, a);
    rig.fill_words(out, 0, 64, a);
    assert_eq!(rig.read::<u32>(copy, 64, a), bumped(1));
    assert_eq!(rig.read::<u32>(out, 64, a), [0; 64]);
    // The graph runs after the event of another stream for which its stream waits, and before the event for which
    // another stream waits.
    for _ in 0..3 {
        let (slow, _) = rig.busy(&probe, a);
        rig.copy(out, slow, 256, a);
        rig.record(before, a);
        rig.wait(b, before);
        rig.launch_graph(exec, b);
        rig.record(after, b);
        rig.wait(a, after);
        assert_eq!(rig.read::<u32>(copy, 64, a), bumped(1));
    }
    // Synchronizing the stream waits for the graph.
    rig.launch_graph(exec, b);
    rig.sync(b);
    assert_eq!(rig.read::<u32>(copy, 64, a), bumped(2));
}

pub(crate) fn a_launch_does_not_wait(rig: &Rig) {
    if !rig.has(Capability::Graphs) {
        return;
    }
    let (stream, probe, pinned) = (rig.stream(), rig.load(&PROBE), rig.pinned(512));
    pinned.write(0, &[1u32; 128]);
    let ptr = rig.malloc(256);
    let graph = Graph::new(rig);
    let copy = graph.to_device(&[], pinned, 0, ptr, 256);
    graph.to_host(&[copy], pinned, 256, ptr, 256);
    let exec = rig.instantiate(graph.raw);
    let hold = rig.hold(&probe, stream);
    rig.launch_graph(exec, stream);
    if hold.is_sure() {
        assert!(!rig.idle(stream));
        // A node reads pinned memory when it runs. The validation layer reports the host's write as a race.
        pinned.write(0, &[2u32; 64]);
        rig.expect_violation(|v| matches!(v, Violation::HostRace { write: true, .. }));
    }
    let expected = if hold.is_sure() { 2 } else { 1 };
    hold.let_go();
    rig.sync(stream);
    assert_eq!(pinned.read::<u32>(256, 64), [expected; 64]);
}

pub(crate) fn kernel_arguments_are_copied_when_added(rig: &Rig) {
    if !rig.has(Capability::Graphs) {
        return;
    }
    let (stream, vector) = (rig.stream(), rig.load(&VECTOR));
    const NODES: u64 = 40;
    let all = rig.malloc(256 * NODES as usize);
    let graph = Graph::new(rig);
    let mut kernarg = vec![0; vector.signature("fill_u32").kernarg_size as usize];
    let mut last = None;
    for i in 0..NODES {
        let args = [output(all.offset(256 * i), 256), value(i as u32), value(64i32)];
        kernarg.copy_from_slice(&vector.kernarg("fill_u32", &args));
        let launch = KernelLaunch {
            function: vector.function("fill_u32"),
            grid: [1; 3],
            block: [64, 1, 1],
            dynamic_lds: 0,
            kernarg: &kernarg,
            accesses: &[],
        };
        // SAFETY: a complete kernarg segment, and memory as large as the kernel fills.
        let node = unsafe { rig.driver.graph_add(D0, graph.raw, last.as_slice(), &Work::Kernel(&launch)) };
        last = Some(node.unwrap());
        kernarg.fill(0xff);
    }
    drop(kernarg);
    let exec = rig.instantiate(graph.raw);
    for _ in 0..3 {
        rig.fill_bytes(all, 0xff, 256 * NODES as usize, stream);
        rig.launch_graph(exec, stream);
        let got = rig.read::<u32>(all, 64 * NODES as usize, stream);
        assert!(got.iter().enumerate().all(|(i, word)| *word == i as u32 / 64));
    }
}

pub(crate) fn kernels_of_an_executable_graph_get_other_arguments(rig: &Rig) {
    if !rig.has(Capability::Graphs) || !rig.has(Capability::GraphUpdates) {
        return;
    }
    let (stream, vector) = (rig.stream(), rig.load(&VECTOR));
    const NODES: usize = 3;
    const LAUNCHES: u32 = 20;
    let all = rig.malloc(256 * NODES * LAUNCHES as usize);
    rig.fill_bytes(all, 0xff, 256 * NODES * LAUNCHES as usize, stream);
    // Launch `l` fills row `l` of each node's rows with `l`.
    let row =
        |node: usize, launch: u32| all.offset(256 * (node as u64 * u64::from(LAUNCHES) + u64::from(launch)));
    let args = |node, launch| [output(row(node, launch), 256), value(launch), value(64i32)];
    let graph = Graph::new(rig);
    let nodes: Vec<RawGraphNode> =
        (0..NODES).map(|node| graph.kernel(&[], &vector, "fill_u32", (1, 64), &args(node, 0))).collect();
    let exec = rig.instantiate(graph.raw);
    for launch in 0..LAUNCHES {
        // Node 1 is updated before each launch, node 2 before every other one, node 0 never; no launch is waited for.
        for (node, every) in [(1, 1), (2, 2)] {
            if launch > 0 && launch % every == 0 {
                rig.update(exec, nodes[node], &vector, "fill_u32", (1, 64), &args(node, launch)).unwrap();
            }
        }
        rig.launch_graph(exec, stream);
    }
    let got = rig.read::<u32>(all, 64 * NODES * LAUNCHES as usize, stream);
    for (place, word) in got.iter().enumerate() {
        let (node, launch) = (place / 64 / LAUNCHES as usize, (place / 64) as u32 % LAUNCHES);
        let is_filled = [launch == 0, true, launch % 2 == 0][node];
        assert_eq!(*word, if is_filled { launch } else { u32::MAX }, "node {node}, launch {launch}");
    }
    // What a launch must not be, and a node of another graph, are refused, and the graph goes on.
    let most = rig.driver.device_properties(D0).unwrap().max_threads_per_block;
    code(rig.update(exec, nodes[1], &vector, "fill_u32", (1, most + 1), &args(1, 0)));
    if rig.subject.checks_handles() {
        code(rig.update(exec, RawGraphNode(0x77), &vector, "fill_u32", (1, 64), &args(1, 0)));
        rig.expect_violation(|v| matches!(v, Violation::NodeOfOtherGraph { .. }));
    }
    rig.launch_graph(exec, stream);
    assert_eq!(rig.read::<u32>(row(1, LAUNCHES - 1), 64, stream), [LAUNCHES - 1; 64]);
}

pub(crate) fn kernels_and_sizes_of_an_executable_graph_are_replaced(rig: &Rig) {
    if !rig.has(Capability::Graphs) || !rig.has(Capability::GraphUpdates) {
        return;
    }
    let (stream, vector, memory) = (rig.stream(), rig.load(&VECTOR), rig.malloc(2048));
    let args = |half: u64, word: u32, count: i32| {
        [output(memory.offset(1024 * half), 4 * count as usize), value(word), value(count)]
    };
    let graph = Graph::new(rig);
    let [first, second] =
        [0, 1].map(|half| graph.kernel(&[], &vector, "fill_u32", (1, 64), &args(half, 7, 64)));
    let exec = rig.instantiate(graph.raw);
    let run = || {
        rig.fill_bytes(memory, 0, 2048, stream);
        rig.launch_graph(exec, stream);
        let got = rig.read::<u32>(memory, 512, stream);
        (got[..256].to_vec(), got[256..].to_vec())
    };
    let filled = |word: u32, count: usize| [vec![word; count], vec![0; 256 - count]].concat();
    let counted = |start: u32| (start..start + 256).collect::<Vec<u32>>();
    assert_eq!(run(), (filled(7, 64), filled(7, 64)));
    // Both by one call: more workgroups, and another kernel. Then back to one workgroup of more work-items.
    let launches = [
        (first, ("fill_u32", (4, 64), &args(0, 8, 256)[..])),
        (second, ("iota_u32", (4, 64), &args(1, 100, 256)[..])),
    ];
    rig.update_all(exec, &vector, &launches).unwrap();
    assert_eq!(run(), (filled(8, 256), counted(100)));
    rig.update(exec, second, &vector, "fill_u32", (1, 128), &args(1, 9, 128)).unwrap();
    assert_eq!(run(), (filled(8, 256), filled(9, 128)));
    // A call that is refused for one node replaces none.
    let most = rig.driver.device_properties(D0).unwrap().max_threads_per_block;
    let launches = [
        (first, ("fill_u32", (4, 64), &args(0, 10, 256)[..])),
        (second, ("fill_u32", (1, most + 1), &args(1, 10, 128)[..])),
    ];
    code(rig.update_all(exec, &vector, &launches));
    assert_eq!(run(), (filled(8, 256), filled(9, 128)));
}

pub(crate) fn an_update_does_not_wait_for_the_last_launch(rig: &Rig) {
    if !rig.has(Capability::Graphs) || !rig.has(Capability::GraphUpdates) || !rig.has(Capability::HostFunc) {
        return;
    }
    let (stream, vector, memory) = (rig.stream(), rig.load(&VECTOR), rig.malloc(512));
    rig.fill_bytes(memory, 0xff, 512, stream);
    let (open, gate) = mpsc::channel::<()>();
    let gate = std::sync::Mutex::new(gate);
    let function = HostNode::new(move |_| gate.lock().unwrap().recv().unwrap());
    let args = |place, word: u32| [output(memory.offset(place), 256), value(word), value(64i32)];
    let graph = Graph::new(rig);
    // SAFETY: the function lives to the end of the case.
    let wait = unsafe { rig.driver.graph_add(D0, graph.raw, &[], &Work::HostNode(&function)) }.unwrap();
    let fill = graph.kernel(&[wait], &vector, "fill_u32", (1, 64), &args(0, 1));
    let exec = rig.instantiate(graph.raw);
    rig.launch_graph(exec, stream);
    // The launch waits for this thread.
    rig.update(exec, fill, &vector, "fill_u32", (1, 64), &args(256, 2)).unwrap();
    open.send(()).unwrap();
    rig.launch_graph(exec, stream);
    open.send(()).unwrap();
    assert_eq!(rig.read::<u32>(memory, 128, stream), [[1; 64], [2; 64]].concat());
}

pub(crate) fn an_instantiated_graph_is_a_copy(rig: &Rig) {
    if !rig.has(Capability::Graphs) {
        return;
    }
    let (stream, ptr) = (rig.stream(), rig.malloc(256));
    let graph = Graph::new(rig);
    let first = graph.fill_words(&[], ptr, 1, 64);
    let early = rig.instantiate(graph.raw);
    graph.fill_words(&[first], ptr, 2, 32);
    let late = rig.instantiate(graph.raw);
    rig.destroy_graph(graph.raw);
    for (exec, expected) in [(late, 2), (early, 1), (late, 2)] {
        rig.launch_graph(exec, stream);
        assert_eq!(rig.read::<u32>(ptr, 64, stream), [[expected; 32], [1; 32]].concat());
    }
    rig.destroy_exec(early);
    rig.launch_graph(late, stream);
    assert_eq!(rig.read::<u32>(ptr, 1, stream), [2]);
}

pub(crate) fn a_graph_of_empty_nodes_does_nothing(rig: &Rig) {
    if !rig.has(Capability::Graphs) {
        return;
    }
    let (stream, pinned) = (rig.stream(), rig.pinned(256));
    let ptr = rig.upload(&[3u32; 64], stream);
    let graph = Graph::new(rig);
    rig.launch_graph(rig.instantiate(graph.raw), stream);
    let nodes = [graph.empty(&[]), graph.empty(&[])];
    let joined = graph.empty(&nodes);
    let nothing = [
        graph.copy(&[joined], ptr, ptr.offset(128), 0),
        graph.to_device(&[joined], pinned, 0, ptr, 0),
        graph.to_host(&[], pinned, 0, ptr, 0),
        graph.fill_bytes(&[joined], ptr, 1, 0),
        graph.fill_words(&[joined], ptr, 1, 0),
    ];
    graph.fill_words(&nothing, ptr, 4, 1);
    rig.launch_graph(rig.instantiate(graph.raw), stream);
    assert_eq!(rig.read::<u32>(ptr, 3, stream), [4, 3, 3]);
}

pub(crate) fn fills_in_a_graph_keep_to_their_range(rig: &Rig) {
    if !rig.has(Capability::Graphs) {
        return;
    }
    const BYTES: usize = 4096;
    let stream = rig.stream();
    let graph = Graph::new(rig);
    let ptr = rig.malloc(BYTES);
    let mut last = graph.fill_bytes(&[], ptr, 0x11, BYTES);
    let mut expected = vec![0x11u8; BYTES];
    let sizes = [1, 2, 3, 5, 7, 8, 9, 31, 64];
    for (i, size) in sizes.into_iter().cycle().take(40).enumerate() {
        let (at, byte) = (100 * i + i % 8, 0x80 + i as u8);
        last = graph.fill_bytes(&[last], ptr.offset(at as u64), byte, size);
        expected[at..at + size].fill(byte);
    }
    for (at, count) in [(4, 1), (12, 3), (516, 33)] {
        last = graph.fill_words(&[last], ptr.offset(at as u64), 0xdead_beef, count);
        expected[at..at + 4 * count]
            .chunks_exact_mut(4)
            .for_each(|w| w.copy_from_slice(&[0xef, 0xbe, 0xad, 0xde]));
    }
    rig.launch_graph(rig.instantiate(graph.raw), stream);
    let got = rig.read::<u8>(ptr, BYTES, stream);
    let wrong = (0..BYTES).find(|&i| got[i] != expected[i]);
    assert_eq!(wrong, None);
}

pub(crate) fn kernels_without_arguments_are_nodes(rig: &Rig) {
    if !rig.has(Capability::Graphs) {
        return;
    }
    let (stream, probe) = (rig.stream(), rig.load(&PROBE));
    let counter = rig.upload(&[0u32], stream);
    let graph = Graph::new(rig);
    let nothing = graph.kernel(&[], &probe, "no_args", (3, 64), &[]);
    let count = graph.kernel(&[nothing], &probe, "atomic_count", (1, 1), &[output(counter, 4)]);
    graph.kernel(&[count], &probe, "no_args", (1, 1), &[]);
    let exec = rig.instantiate(graph.raw);
    for _ in 0..3 {
        rig.launch_graph(exec, stream);
    }
    assert_eq!(rig.read::<u32>(counter, 1, stream), [3]);
}

/// Returns whether the emulator or the validation layer checks handles. HIP does not check them.
fn checks_handles(rig: &Rig) -> bool {
    let checks = rig.subject.checks_handles();
    if !checks {
        rig.skip("HIP does not check handles");
    }
    checks
}

pub(crate) fn nodes_of_another_graph_are_refused(rig: &Rig) {
    if !rig.has(Capability::Graphs) || !checks_handles(rig) {
        return;
    }
    let (one, other) = (Graph::new(rig), Graph::new(rig));
    let (node, ptr) = (one.empty(&[]), rig.malloc(256));
    let foreign = |v: &Violation| matches!(v, Violation::NodeOfOtherGraph { .. });
    assert_eq!(code(other.try_empty(&[node])), ErrorCode::INVALID_VALUE);
    rig.expect_violation(foreign);
    assert_eq!(code(one.try_empty(&[node, RawGraphNode(0x77)])), ErrorCode::INVALID_VALUE);
    rig.expect_violation(foreign);
    // The refused nodes were not added, and the graph still works.
    let stream = rig.stream();
    one.fill_words(&[node], ptr, 9, 64);
    rig.launch_graph(rig.instantiate(one.raw), stream);
    assert_eq!(rig.read::<u32>(ptr, 64, stream), [9; 64]);
}

pub(crate) fn nodes_out_of_limits_are_refused(rig: &Rig) {
    if !rig.has(Capability::Graphs) {
        return;
    }
    let (stream, probe) = (rig.stream(), rig.load(&PROBE));
    let counter = rig.upload(&[0u32], stream);
    let most = rig.driver.device_properties(D0).unwrap().max_threads_per_block;
    let graph = Graph::new(rig);
    code(graph.try_kernel(&[], &probe, "atomic_count", (1, most + 1), &[output(counter, 4)]));
    graph.kernel(&[], &probe, "atomic_count", (1, most), &[output(counter, 4)]);
    rig.launch_graph(rig.instantiate(graph.raw), stream);
    assert_eq!(rig.read::<u32>(counter, 1, stream), [most], "the refused node ran");
}

pub(crate) fn stale_graphs_are_refused(rig: &Rig) {
    if !rig.has(Capability::Graphs) || !checks_handles(rig) {
        return;
    }
    let (stream, graph) = (rig.stream(), Graph::new(rig));
    let exec = rig.instantiate(graph.raw);
    rig.destroy_exec(exec);
    rig.destroy_graph(graph.raw);
    let destroyed = |v: &Violation| matches!(v, Violation::DestroyedHandle { .. });
    let refused = |code| {
        assert_eq!(code, ErrorCode::INVALID_HANDLE);
        rig.expect_violation(destroyed);
    };
    let driver: &dyn Driver = &*rig.driver;
    // SAFETY: the handles are stale, and the calls refuse them before they use them.
    unsafe {
        refused(code(driver.enqueue(D0, stream, &Work::Graph(exec))));
        refused(code(driver.graph_exec_destroy(D0, exec)));
        refused(code(driver.graph_instantiate(D0, graph.raw)));
        refused(code(driver.graph_destroy(D0, graph.raw)));
        refused(code(driver.graph_add(D0, graph.raw, &[], &Work::Empty)));
    }
}

pub(crate) fn many_threads_record_and_launch_graphs(rig: &Rig) {
    if !rig.has(Capability::Graphs) {
        return;
    }
    let probe = rig.load(&PROBE);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let stream = rig.stream();
                let counter = rig.upload(&[0u32], stream);
                for round in 1..=5 {
                    let graph = Graph::new(rig);
                    let mut last = graph.empty(&[]);
                    for _ in 0..10 {
                        last = graph.kernel(&[last], &probe, "atomic_count", (1, 64), &[output(counter, 4)]);
                    }
                    let exec = rig.instantiate(graph.raw);
                    rig.destroy_graph(graph.raw);
                    rig.launch_graph(exec, stream);
                    rig.launch_graph(exec, stream);
                    assert_eq!(rig.read::<u32>(counter, 1, stream), [round * 2 * 10 * 64]);
                    rig.destroy_exec(exec);
                }
            });
        }
    });
}

pub(crate) fn a_fault_names_its_node(rig: &Rig) {
    if !matches!(rig.subject, Subject::Emulated { .. }) {
        rig.skip("HIP can't be used in the process any more when a kernel faults");
        return;
    }
    let (stream, probe, pinned) = (rig.stream(), rig.load(&PROBE), rig.pinned(256));
    pinned.write(0, &[5u32; 64]);
    let ptr = rig.malloc(256);
    let graph = Graph::new(rig);
    let fill = graph.fill_words(&[], ptr, 6, 64);
    let fault = graph.kernel(&[fill], &probe, "oob_store", (1, 64), &[output(ptr, 256), value(1i64 << 30)]);
    graph.to_host(&[fault], pinned, 0, ptr, 256);
    rig.launch_graph(rig.instantiate(graph.raw), stream);
    // SAFETY: a live stream.
    let error = unsafe { rig.driver.stream_synchronize(D0, stream) }.unwrap_err();
    rig.lose_device();
    assert_eq!(error.code, ErrorCode::ILLEGAL_ADDRESS);
    let text = error.to_string();
    assert!(text.contains("node 2 of 3 of a graph: launch of oob_store"), "{text}");
    // The nodes after it did not run. No node can be added, and no graph created.
    assert_eq!(pinned.read::<u32>(0, 64), [5; 64]);
    assert_eq!(code(graph.try_empty(&[])), ErrorCode::ILLEGAL_ADDRESS);
    assert_eq!(code(rig.driver.graph_create(D0)), ErrorCode::ILLEGAL_ADDRESS);
}

pub(crate) fn a_launch_of_a_destroyed_graph_finishes(rig: &Rig) {
    if !matches!(rig.subject, Subject::Emulated { .. }) {
        rig.skip("HIP forbids destroying a graph in flight");
        return;
    }
    let (stream, probe) = (rig.stream(), rig.load(&PROBE));
    let counter = rig.upload(&[0u32], stream);
    let graph = Graph::new(rig);
    graph.kernel(&[], &probe, "atomic_count", (2, 64), &[output(counter, 4)]);
    let exec = rig.instantiate(graph.raw);
    let hold = rig.hold(&probe, stream);
    rig.launch_graph(exec, stream);
    rig.destroy_graph(graph.raw);
    rig.destroy_exec(exec);
    rig.expect_violation(|v| matches!(v, Violation::ExecInFlight { .. }));
    hold.let_go();
    assert_eq!(rig.read::<u32>(counter, 1, stream), [128]);
}

pub(crate) fn a_host_function_of_a_graph_runs_at_every_launch(rig: &Rig) {
    if !rig.has(Capability::Graphs) || !rig.has(Capability::HostFunc) {
        return;
    }
    let (stream, probe, pinned) = (rig.stream(), rig.load(&PROBE), rig.pinned(8));
    let counter = rig.upload(&[0u32], stream);
    let (sender, receiver) = mpsc::channel();
    let host = pinned.host(0) as usize;
    let function = HostNode::new(move |status| {
        // SAFETY: the memory is aligned, lives until the graph has run, and is read after the copy before this node.
        let count = unsafe { (host as *const u32).read_volatile() };
        sender.send((status.is_ok(), count)).unwrap();
        assert_ne!(count, 128, "stays inside");
    });
    let graph = Graph::new(rig);
    let count = graph.kernel(&[], &probe, "atomic_count", (1, 64), &[output(counter, 4)]);
    let copy = graph.to_host(&[count], pinned, 0, counter, 4);
    // SAFETY: the function lives to the end of the case.
    let call = unsafe { rig.driver.graph_add(D0, graph.raw, &[copy], &Work::HostNode(&function)) }.unwrap();
    graph.kernel(&[call], &probe, "bump", (1, 64), &[output(counter, 4), value(0i32)]);
    let exec = rig.instantiate(graph.raw);
    for round in 1..=4 {
        rig.launch_graph(exec, stream);
        // The function is what says that the copy has run.
        assert_eq!(receiver.recv(), Ok((true, 64 * round)));
        assert_eq!(pinned.read::<u32>(0, 1), [64 * round]);
    }
    rig.sync(stream);
    assert_eq!(rig.read::<u32>(counter, 1, stream), [256]);
    // On a stream, it runs once.
    // SAFETY: a live stream.
    unsafe { rig.driver.enqueue(D0, stream, &Work::HostNode(&function)) }.unwrap();
    rig.sync(stream);
    assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [(true, 256)]);
}
