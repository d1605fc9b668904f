//! The cost of a compute: driver calls, counted by the validation layer, and memory, counted by the pool.

use hiplaunch::DeviceBuffer;
use hiplaunch::driver::Capability;
use hiplaunch::driver::validation::CallKind;
use hiplaunch_tensor::LazyTensor;

use crate::operations::one_by_one as tensors;
use hiplaunch_testing::rig::*;

/// Large enough for each buffer to show in the counters.
const N: usize = 1 << 16;

#[test]
fn a_hundred_operations_peak_at_three_buffers() {
    on_each(|rig| {
        let t = tensors(&rig);
        let x = t.from_slice(&vec![1.0f32; N], &[N]).unwrap();
        let mut chain = x.clone();
        for _ in 0..50 {
            chain = chain.mul(2.0).sub(&x);
        }
        assert_eq!(chain.operations().unwrap(), 100);
        let result = chain.compute().unwrap();
        let counters = rig.device.pool().counters();
        assert_eq!(counters.peak_requested, 3 * 4 * N as u64, "input, one temporary in place, result");
        assert!(result.to_vec().unwrap().iter().all(|v| *v == 1.0));
        rig.assert_clean();
    });
}

#[test]
fn each_operation_is_one_launch_and_nothing_else() {
    on_each(|rig| {
        let t = tensors(&rig);
        let inputs: Vec<_> = (0..3).map(|i| t.from_slice(&[i as f32; 64], &[8, 8]).unwrap()).collect();
        let mut out = DeviceBuffer::<f32>::on(&rig.stream, 64).unwrap();
        for (i, x) in inputs.iter().enumerate() {
            // Each iteration has other data and another scalar, and 100 operations.
            let mut chain = x.clone();
            for _ in 0..49 {
                chain = chain.add(i as f32).neg();
            }
            let root = chain.matmul(x).sum(1);
            assert_eq!(root.operations().unwrap(), 100);
            let measure = |compute: &mut dyn FnMut()| {
                let (before, pool) = (rig.validation().counts(), rig.device.pool().counters());
                compute();
                let (counts, after) =
                    (rig.validation().counts().since(&before), rig.device.pool().counters());
                let blocks = after.hits + after.misses - pool.hits - pool.misses;
                (counts.get(CallKind::LaunchKernel), counts.device_calls(), blocks)
            };
            if i == 0 {
                root.compute().unwrap();
            }
            let mut result = None;
            assert_eq!(measure(&mut || result = Some(root.compute().unwrap())), (100, 100, 1), "the result");
            assert_eq!(measure(&mut || root.compute_into(&mut out).unwrap()), (100, 100, 0));
            assert_eq!(out.to_vec(&rig.stream).unwrap(), result.unwrap().to_vec().unwrap());
        }
        assert_eq!(rig.launcher.graph_counts().misses, 1, "planned once");
        rig.assert_clean();
    });
}

#[test]
fn an_expression_that_is_a_driver_graph_is_one_call() {
    on_each(|rig| {
        let driver = rig.launcher.driver();
        if !driver.capabilities().has(Capability::Graphs) {
            println!("skipped: no graphs");
            return;
        }
        let t = tensors(&rig);
        let mut out = DeviceBuffer::<f64>::on(&rig.stream, 64).unwrap();
        let x = t.from_slice(&(0..64).map(f64::from).collect::<Vec<_>>(), &[8, 8]).unwrap();
        let chain = |x: &LazyTensor<f64>| (0..50).fold(x.clone(), |c, i| c.mul(0.5).sub(f64::from(i))).exp();
        let first = chain(&x).matmul(&x).to_vec().unwrap();
        rig.launcher.set_graph_break_even(1);
        for compute in 0..3 {
            let before = rig.validation().counts();
            chain(&x).matmul(&x).compute_into(&mut out).unwrap();
            let counts = rig.validation().counts().since(&before);
            // With other pointers than the last time, one call for each node. With the same pointers, a driver graph is
            // created. Then it is launched.
            let launches = (counts.get(CallKind::LaunchKernel), counts.get(CallKind::GraphLaunch));
            assert_eq!(launches, if compute == 0 { (102, 0) } else { (0, 1) });
            assert!(compute < 2 || counts.device_calls() == 1, "{counts}");
            assert_eq!(out.to_vec(&rig.stream).unwrap(), first);
        }
        rig.assert_clean();
    });
}

#[test]
fn shared_parts_are_computed_once_and_unused_ones_never() {
    on_each(|rig| {
        let t = tensors(&rig);
        let x = t.from_slice(&[3i32; 16], &[16]).unwrap();
        let shared = x.mul(2);
        let unused = shared.sub(100);
        let mut sum = shared.clone();
        for _ in 0..10 {
            // 2^10 paths lead to `shared`.
            sum = sum.add(&sum);
        }
        let root = sum.add(&shared);
        assert_eq!(root.operations().unwrap(), 12);
        let before = rig.validation().counts();
        assert_eq!(root.to_vec().unwrap(), [6 * 1024 + 6; 16]);
        assert_eq!(rig.validation().counts().since(&before).get(CallKind::LaunchKernel), 12);
        assert_eq!(unused.to_vec().unwrap(), [-94; 16]);
        rig.assert_clean();
    });
}

#[test]
fn kernels_are_loaded_once_and_only_when_they_are_needed() {
    on_each(|rig| {
        let before = rig.validation().counts();
        let since = |kind| rig.validation().counts().since(&before).get(kind);
        let t = tensors(&rig);
        let x = t.from_slice(&[3i32; 16], &[16]).unwrap();
        let recorded = x.mul(2).add(&x).mul(3);
        assert_eq!((since(CallKind::ModuleLoad), t.registered()), (0, 0));
        let registered = rig.launcher.registered();
        recorded.compute().unwrap();
        assert_eq!((since(CallKind::ModuleLoad), t.registered()), (1, 2));
        let other = t.on_stream(&rig.launcher.stream(&rig.device).unwrap()).unwrap();
        let y = other.from_slice(&[3.0f32; 16], &[16]).unwrap();
        assert_eq!(y.mul(2.0).to_vec().unwrap(), [6.0; 16]);
        assert_eq!((since(CallKind::ModuleLoad), t.registered()), (1, 3));
        drop((t, x, recorded, other, y));
        assert_eq!(rig.launcher.registered(), registered, "they go with the last tensor");
        rig.stream.synchronize().unwrap();
        rig.assert_clean();
    });
}

#[test]
fn several_threads_compute_on_one_stream() {
    on_each(|rig| {
        let t = tensors(&rig);
        let x = t.from_slice(&[1i32; 1000], &[1000]).unwrap();
        let shared = x.mul(3).add(&x);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (x, shared) = (&x, &shared);
                scope.spawn(move || {
                    for i in 0..20 {
                        let result = shared.add(thread).mul(i).sub(x).to_vec().unwrap();
                        assert_eq!(result, [(4 + thread) * i - 1; 1000]);
                    }
                });
            }
        });
        rig.assert_clean();
    });
}
