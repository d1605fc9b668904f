//! Temporaries, the cache, and the driver calls of a compute.

use hiplaunch::DeviceBuffer;
use hiplaunch::driver::validation::CallKind;
use hiplaunch::graph::{GraphCounts, GraphValue};

use crate::order::{Kernels, N};
use hiplaunch_testing::rig::*;

/// Computes `out = x * a^length`, with a temporary for each step but the last.
fn chain(rig: &Rig, k: &Kernels, x: &DeviceBuffer<f32>, out: &DeviceBuffer<f32>, length: usize, a: f32) {
    let mut g = rig.launcher.graph(&rig.device).unwrap();
    let (mut last, end) = (g.buffer(x).unwrap(), g.buffer(out).unwrap());
    for i in 0..length {
        let next: GraphValue = if i + 1 == length { end } else { g.temporary::<f32>(x.len()).unwrap() };
        k.scale(&mut g, a, &last, &next);
        last = next;
    }
    g.compute(&rig.stream).unwrap();
}

#[test]
fn a_chain_of_any_length_needs_two_temporaries_and_one_in_place() {
    on_each(|rig| {
        let k = Kernels::of(&rig);
        let len = 1 << 16;
        let x = DeviceBuffer::from_slice(&rig.stream, &vec![3.0f32; len]).unwrap();
        let out = DeviceBuffer::<f32>::on(&rig.stream, len).unwrap();
        let before = rig.device.pool().counters().requested;
        let temporaries = |length| {
            rig.launcher.forget_graphs();
            chain(&rig, &k, &x, &out, length, -1.0);
            let sign = if length % 2 == 0 { 3.0 } else { -3.0 };
            assert!(out.to_vec(&rig.stream).unwrap().iter().all(|v| *v == sign));
            (rig.device.pool().counters().requested - before) / (4 * len as u64)
        };
        assert_eq!([1, 2, 3, 4, 100].map(temporaries), [0, 1, 2, 2, 2]);
        // SAFETY: each work-item reads its element before it writes it.
        unsafe { rig.launcher.declare_in_place(k.vscale, true) }.unwrap();
        assert_eq!([1, 2, 3, 100].map(temporaries), [0, 1, 1, 1]);
        rig.launcher.forget_graphs();
        assert_eq!(rig.device.pool().counters().requested, before);
        rig.assert_clean();
    });
}

#[test]
fn after_the_first_compute_nothing_is_allocated_and_each_kernel_is_one_call() {
    on_each(|rig| {
        let k = Kernels::of(&rig);
        let out = DeviceBuffer::<f32>::on(&rig.stream, N).unwrap();
        let xs: Vec<_> =
            (0..4).map(|i| DeviceBuffer::from_slice(&rig.stream, &[i as f32; N]).unwrap()).collect();
        chain(&rig, &k, &xs[0], &out, 100, 1.0);
        rig.stream.synchronize().unwrap();
        for (i, x) in xs.iter().enumerate() {
            let before = rig.validation().counts();
            // Other buffers and another scalar each time: nothing is planned again.
            let a = if i % 2 == 0 { 1.0 } else { -1.0 };
            chain(&rig, &k, x, &out, 100, a);
            let counts = rig.validation().counts().since(&before);
            assert_eq!(counts.get(CallKind::LaunchKernel), 100);
            assert_eq!(counts.device_calls(), 100, "{counts}");
            assert_eq!(out.to_vec(&rig.stream).unwrap(), [i as f32; N]);
        }
        assert_eq!(rig.launcher.graph_counts(), GraphCounts { kept: 1, hits: 4, misses: 1 });
        rig.assert_clean();
    });
}

#[test]
fn other_graph_keys_have_their_own_programs_and_the_oldest_are_dropped() {
    on_each(|rig| {
        let k = Kernels::of(&rig);
        let x = DeviceBuffer::from_slice(&rig.stream, &[1.0f32; N]).unwrap();
        let out = DeviceBuffer::<f32>::on(&rig.stream, N).unwrap();
        for length in 1..=100 {
            chain(&rig, &k, &x, &out, length, 1.0);
        }
        let GraphCounts { kept, hits, misses } = rig.launcher.graph_counts();
        assert_eq!((kept, hits, misses), (64, 0, 100));
        chain(&rig, &k, &x, &out, 100, 1.0);
        chain(&rig, &k, &x, &out, 1, 1.0);
        assert_eq!(
            rig.launcher.graph_counts(),
            GraphCounts { kept: 64, hits: 1, misses: 101 },
            "the newest is there, the oldest is not"
        );
        // Unregistering a kernel drops its programs.
        rig.launcher.unregister(k.vscale).unwrap();
        assert_eq!(rig.launcher.graph_counts().kept, 0);
        rig.assert_clean();
    });
}

#[test]
fn buffers_that_overlap_have_another_graph_key() {
    on_each(|rig| {
        let k = Kernels::of(&rig);
        let x = DeviceBuffer::from_slice(&rig.stream, &[1.0f32; N]).unwrap();
        let y = DeviceBuffer::from_slice(&rig.stream, &[2.0f32; N]).unwrap();
        let out = DeviceBuffer::<f32>::on(&rig.stream, N).unwrap();
        let run = |x: &DeviceBuffer<f32>, y: &DeviceBuffer<f32>| {
            let mut g = rig.launcher.graph(&rig.device).unwrap();
            let (x, y, out) = (g.buffer(x).unwrap(), g.buffer(y).unwrap(), g.buffer(&out).unwrap());
            k.add(&mut g, &x, &y, &out);
            g.compute(&rig.stream).unwrap();
        };
        run(&x, &y);
        assert_eq!(out.to_vec(&rig.stream).unwrap(), [3.0; N]);
        run(&x, &x);
        assert_eq!(out.to_vec(&rig.stream).unwrap(), [2.0; N]);
        run(&y, &x);
        assert_eq!(rig.launcher.graph_counts(), GraphCounts { kept: 2, hits: 1, misses: 2 });
        rig.assert_clean();
    });
}
