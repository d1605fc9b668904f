//! Tests of graphs that hold for the emulated driver only.

use std::sync::{Arc, mpsc};

use hip_driver::{Driver, ErrorCode, HostNode, Work};

use crate::ALLOCATIONS;
use crate::rig::{D0, D1, PROBE, Rig, code};

#[test]
fn a_launch_is_one_command_and_allocates_nothing() {
    let rig = Rig::one();
    let (stream, probe) = (rig.stream(D0), rig.load(D0, PROBE));
    let counter = rig.words(D0, &[0]);
    let graph = rig.graph(D0);
    let mut last = Vec::new();
    for _ in 0..100 {
        let args = [&counter.0.to_le_bytes()[..]];
        last = vec![rig.add_kernel(graph, &last, &probe, "atomic_count", (1, 1), &args).unwrap()];
    }
    let exec = rig.instantiate(D0, graph);
    rig.launch_graph(D0, exec, stream).unwrap();
    rig.sync(D0, stream).unwrap();
    let gate = rig.gate(D0, stream);
    let before = ALLOCATIONS.get();
    for _ in 0..100 {
        rig.launch_graph(D0, exec, stream).unwrap();
    }
    assert_eq!(ALLOCATIONS.get() - before, 0);
    gate.open();
    rig.sync(D0, stream).unwrap();
    assert_eq!(rig.read(D0, counter, 1), [101 * 100]);
}

#[test]
fn host_memory_of_a_node_is_pinned_when_it_is_added_and_when_it_is_launched() {
    let rig = Rig::one();
    let (stream, ptr, graph) = (rig.stream(D0), rig.words(D0, &[0; 4]), rig.graph(D0));
    let pageable = [1u32; 4];
    let refused = rig.add_htod(D0, graph, &[], ptr, pageable.as_ptr().cast(), 16).unwrap_err();
    assert_eq!(refused.code, ErrorCode::INVALID_VALUE);
    assert!(refused.to_string().contains("not in pinned memory"), "{refused}");
    let pinned = rig.pinned(D0, &[2; 4]);
    assert_eq!(code(rig.add_htod(D0, graph, &[], ptr, pinned.ptr(), 17)), ErrorCode::INVALID_VALUE);
    assert_eq!(code(rig.add_htod(D0, graph, &[], ptr, std::ptr::null(), 16)), ErrorCode::INVALID_VALUE);
    rig.add_htod(D0, graph, &[], ptr, pinned.ptr(), 16).unwrap();
    let exec = rig.instantiate(D0, graph);
    rig.launch_graph(D0, exec, stream).unwrap();
    rig.sync(D0, stream).unwrap();
    assert_eq!(rig.read(D0, ptr, 4), [2; 4]);
    // SAFETY: nothing uses it any more.
    unsafe { rig.driver.host_free(D0, pinned.allocation) }.unwrap();
    assert_eq!(code(rig.launch_graph(D0, exec, stream)), ErrorCode::INVALID_VALUE);
    // The stream works as before.
    rig.sync(D0, stream).unwrap();
}

#[test]
fn a_node_that_accesses_freed_device_memory_is_a_fault() {
    let rig = Rig::one();
    let (stream, graph) = (rig.stream(D0), rig.graph(D0));
    let (kept, gone) = (rig.words(D0, &[0; 64]), rig.words(D0, &[0; 1 << 16]));
    let first = rig.add_fill(D0, graph, &[], kept, 7, 64).unwrap();
    rig.add_fill(D0, graph, &[first], gone, 7, 1 << 16).unwrap();
    assert_eq!(code(rig.add_fill(D0, graph, &[first], kept, 7, 65)), ErrorCode::INVALID_VALUE);
    assert_eq!(code(rig.add_fill(D0, graph, &[first], kept.offset(2), 7, 1)), ErrorCode::INVALID_VALUE);
    let exec = rig.instantiate(D0, graph);
    rig.free(D0, gone).unwrap();
    rig.launch_graph(D0, exec, stream).unwrap();
    let fault = rig.sync(D0, stream).unwrap_err();
    assert_eq!(fault.code, ErrorCode::ILLEGAL_ADDRESS);
    assert!(fault.to_string().contains("node 2 of 2 of a graph: fill of 262144 bytes"), "{fault}");
    assert_eq!(code(rig.launch_graph(D0, exec, stream)), ErrorCode::ILLEGAL_ADDRESS);
    // On a lost device, everything can still be freed.
    // SAFETY: checked by the driver.
    unsafe {
        rig.driver.graph_exec_destroy(D0, exec).unwrap();
        rig.driver.graph_destroy(D0, graph).unwrap();
    }
}

#[test]
fn graphs_belong_to_a_device() {
    let rig = Rig::two();
    let (graph, ptr) = (rig.graph(D0), rig.words(D1, &[0]));
    let (near, far, probe) = (rig.stream(D0), rig.stream(D1), rig.load(D1, PROBE));
    let other_device = ErrorCode::INVALID_CONTEXT;
    assert_eq!(code(rig.add_fill(D1, graph, &[], ptr, 1, 1)), other_device);
    assert_eq!(code(rig.add_kernel(graph, &[], &probe, "no_args", (1, 1), &[])), other_device);
    // Memory of the other device, without peer access.
    assert_eq!(code(rig.add_fill(D0, graph, &[], ptr, 1, 1)), ErrorCode::INVALID_VALUE);
    let exec = rig.instantiate(D0, graph);
    assert_eq!(code(rig.launch_graph(D1, exec, far)), other_device);
    assert_eq!(code(rig.launch_graph(D0, exec, far)), other_device);
    // SAFETY: checked by the driver.
    unsafe {
        assert_eq!(code(rig.driver.graph_exec_destroy(D1, exec)), other_device);
        assert_eq!(code(rig.driver.graph_destroy(D1, graph)), other_device);
    }
    rig.launch_graph(D0, exec, near).unwrap();
    rig.sync(D0, near).unwrap();
}

#[test]
fn a_kernel_of_a_graph_outlives_its_module() {
    let rig = Rig::one();
    let (stream, probe, counter) = (rig.stream(D0), rig.load(D0, PROBE), rig.words(D0, &[0]));
    let graph = rig.graph(D0);
    let args = [&counter.0.to_le_bytes()[..]];
    rig.add_kernel(graph, &[], &probe, "atomic_count", (1, 64), &args).unwrap();
    let exec = rig.instantiate(D0, graph);
    // SAFETY: the emulator keeps what graphs need, beyond what the trait requires.
    unsafe { rig.driver.module_unload(D0, probe.module) }.unwrap();
    rig.launch_graph(D0, exec, stream).unwrap();
    rig.sync(D0, stream).unwrap();
    assert_eq!(rig.read(D0, counter, 1), [64]);
}

#[test]
fn host_functions_of_a_graph_run_behind_a_fault_and_are_told() {
    let rig = Rig::one();
    let (stream, kernels) = (rig.stream(D0), rig.load(D0, PROBE));
    let words = rig.words(D0, &[0; 64]);
    let (sender, receiver) = mpsc::channel();
    let (first, last) = (sender.clone(), sender);
    let driver = Arc::clone(&rig.driver);
    let before = HostNode::new(move |status| {
        // SAFETY: the driver checks and refuses the call.
        let waited = unsafe { driver.stream_synchronize(D0, stream) };
        first.send((status.is_ok(), code(waited))).unwrap();
        panic!("a test's panic");
    });
    let behind = HostNode::new(move |status| last.send((false, code(status))).unwrap());
    // SAFETY: checked by the driver; the functions live until the end.
    let graph = rig.driver.graph_create(D0).unwrap();
    let stray = 1_i64 << 30;
    let stores: [&[u8]; 2] = [&words.0.to_le_bytes(), &stray.to_le_bytes()];
    // SAFETY: as above.
    unsafe { rig.driver.graph_add(D0, graph, &[], &Work::HostNode(&before)) }.unwrap();
    rig.add_kernel(graph, &[], &kernels, "oob_store", (1, 64), &stores).unwrap();
    // SAFETY: as above.
    unsafe { rig.driver.graph_add(D0, graph, &[], &Work::HostNode(&behind)) }.unwrap();
    let exec = rig.instantiate(D0, graph);
    rig.launch_graph(D0, exec, stream).unwrap();
    let error = rig.sync(D0, stream).unwrap_err();
    assert_eq!(error.code, ErrorCode::ILLEGAL_ADDRESS);
    assert!(error.to_string().contains("node 2 of 3 of a graph"), "{error}");
    let told: Vec<_> = receiver.try_iter().collect();
    assert_eq!(told, [(true, ErrorCode::ILLEGAL_STATE), (false, ErrorCode::ILLEGAL_ADDRESS)]);
}
