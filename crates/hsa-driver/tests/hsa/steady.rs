//! What repeats allocates nothing.

use hip_driver::{EventOptions, Work};
use hiplaunch_testing::counting::heap_allocations;

use crate::alone;
use crate::rig::{D0, launch};

#[test]
fn launches_events_and_graphs_allocate_nothing_once_they_repeat() {
    alone("steady::launches_events_and_graphs_allocate_nothing_once_they_repeat", |rig| {
        let (one, other) = (rig.stream(D0).unwrap(), rig.stream(D0).unwrap());
        let probe = rig.load(D0).unwrap();
        let counter = rig.driver.malloc(D0, 4).unwrap();
        let (function, kernarg) = (
            rig.function(&probe, "atomic_count").unwrap(),
            rig.kernarg(&probe, "atomic_count", &[counter.0]),
        );
        let event = rig.driver.event_create(D0, EventOptions::default()).unwrap();
        let pinned = rig.driver.host_malloc(D0, 4).unwrap();
        let driver = &*rig.driver;
        // SAFETY: live handles, and a kernel with all its arguments.
        let exec = unsafe {
            let graph = driver.graph_create(D0).unwrap();
            driver.graph_add(D0, graph, &[], &Work::Kernel(&launch(function, &kernarg))).unwrap();
            driver.graph_instantiate(D0, graph).unwrap()
        };
        rig.enqueue(D0, one, &Work::FillWords { dst: counter, value: 0, count: 1 }).unwrap();
        let round = || {
            for _ in 0..100 {
                rig.enqueue(D0, one, &Work::Kernel(&launch(function, &kernarg))).unwrap();
                rig.enqueue(D0, one, &Work::Graph(exec)).unwrap();
            }
            rig.enqueue(D0, one, &Work::CopyToHost { dst: pinned.host.as_ptr(), src: counter, bytes: 4 })
                .unwrap();
            // SAFETY: live handles.
            unsafe {
                driver.event_record(D0, event, one).unwrap();
                driver.stream_wait_event(D0, other, event).unwrap();
            }
            rig.sync(D0, other).unwrap();
        };
        // The tables of streams and the signals grow at first.
        const ROUNDS: u32 = 50;
        (0..ROUNDS).for_each(|_| round());
        let before = heap_allocations();
        (0..ROUNDS).for_each(|_| round());
        assert_eq!(heap_allocations() - before, 0);
        // SAFETY: pinned memory, which nothing in flight uses.
        let count = unsafe { pinned.host.cast::<u32>().read() };
        assert_eq!(count, 2 * ROUNDS * 200 * 64);
    });
}
