//! The graph of an expression is reused for expressions of the same structure with other data, scalars and results.

use hiplaunch::DeviceBuffer;
use hiplaunch::driver::validation::CallKind;
use hiplaunch::graph::Branches;
use hiplaunch_tensor::LazyTensor;

use crate::operations::{one_by_one, tensors};
use hiplaunch_testing::rig::*;

#[test]
fn other_data_scalars_and_destinations_reuse_the_graph() {
    on_each(|rig| {
        for t in [one_by_one(&rig), tensors(&rig)] {
            for round in 0..6 {
                let v = round as f32;
                let x = t.from_slice(&[v; 24], &[4, 6]).unwrap();
                let y = t.from_slice(&[v + 1.0; 24], &[4, 6]).unwrap();
                // Scalars on either side and as the last operand, and a value that is read three times.
                let shared = x.mul(v).sub_from(10.0);
                let root = shared.mul_add(&y, 0.5 - v).add(&shared).max(&shared.neg()).sum(1);
                let s = 10.0 - v * v;
                let expected = ((s * (v + 1.0) + 0.5 - v) + s).max(-s) * 6.0;
                assert_eq!(root.to_vec().unwrap(), [expected; 4], "{round}");
                let mut out = DeviceBuffer::<f32>::on(&rig.stream, 4 + round).unwrap();
                root.compute_into(&mut out).unwrap();
                assert_eq!(out.to_vec(&rig.stream).unwrap(), [expected; 4]);
            }
        }
        let forms = one_by_one(&rig).lowered();
        assert_eq!(forms, 0, "each keeps its own");
        rig.assert_clean();
    });
}

#[test]
fn expressions_of_another_structure_get_another_graph() {
    on_each(|rig| {
        let t = one_by_one(&rig);
        let x = t.from_slice(&[2.0f32, 3.0], &[2]).unwrap();
        let y = t.from_slice(&[5.0f32, 7.0], &[2]).unwrap();
        let wide = t.from_slice(&[2.0f32, 3.0], &[1, 2]).unwrap();
        let twice = |a: &LazyTensor<f32>, b: &LazyTensor<f32>| a.neg().sub(&b.neg());
        let once = |a: &LazyTensor<f32>| {
            let n = a.neg();
            n.sub(&n)
        };
        let all: [(LazyTensor<f32>, &[f32]); 10] = [
            (x.sub(&y), &[-3.0, -4.0]),
            (x.sub(&x), &[0.0, 0.0]),
            (y.sub(&x), &[3.0, 4.0]),
            (x.sub(2.0), &[0.0, 1.0]),
            (x.sub_from(2.0), &[0.0, -1.0]),
            (x.add(2.0), &[4.0, 5.0]),
            (twice(&x, &y), &[3.0, 4.0]),
            (once(&x), &[0.0, 0.0]),
            (wide.sum(0), &[2.0, 3.0]),
            (wide.sum(1), &[5.0]),
        ];
        for _ in 0..2 {
            for (tensor, expected) in &all {
                assert_eq!(tensor.to_vec().unwrap(), *expected);
            }
        }
        // `y - x` has the structure of `x - y`.
        assert_eq!(t.lowered(), 9);
        let i = t.from_slice(&[2i32, 3], &[2]).unwrap();
        assert_eq!(i.sub(2).to_vec().unwrap(), [0, 1]);
        assert_eq!(t.with_fusion(false).lowered(), 10, "of one stream");
        rig.assert_clean();
    });
}

#[test]
fn at_most_64_graphs_are_kept_and_the_least_recently_used_is_dropped() {
    on_each(|rig| {
        let t = one_by_one(&rig);
        let x = t.from_slice(&[1i32; 8], &[8]).unwrap();
        let chain = |length: i32| (0..length).fold(x.clone(), |c, i| c.add(i));
        for length in 1..=80 {
            assert_eq!(chain(length).to_vec().unwrap(), [1 + length * (length - 1) / 2; 8]);
            assert_eq!(chain(1).to_vec().unwrap(), [1; 8]);
        }
        assert_eq!(t.lowered(), 64);
        // The expression that is used all the time is still kept, and so is its graph program.
        let misses = rig.launcher.graph_counts().misses;
        assert_eq!(chain(1).to_vec().unwrap(), [1; 8]);
        assert_eq!(rig.launcher.graph_counts().misses, misses);
        rig.assert_clean();
    });
}

#[test]
fn kept_graphs_hold_no_data_or_memory_and_survive_forget_graphs() {
    on_each(|rig| {
        let t = one_by_one(&rig);
        let n = 1 << 16;
        let before = rig.device.pool().counters().requested;
        let compute = || {
            let x = t.from_slice(&vec![1.0f32; n], &[n]).unwrap();
            x.add(1.0).mul(&x).sub(&x).to_vec().unwrap()[n - 1]
        };
        assert_eq!([compute(), compute()], [1.0, 1.0]);
        assert_eq!(rig.device.pool().counters().requested - before, 4 * n as u64, "the temporary alone");
        rig.launcher.forget_graphs();
        assert_eq!(rig.device.pool().counters().requested, before);
        assert_eq!([compute(), compute()], [1.0, 1.0]);
        // Unregistering another kernel causes one more check, and nothing else.
        let other = rig.kernel(&VECTOR, "vscale");
        rig.launcher.unregister(other).unwrap();
        assert_eq!([compute(), compute()], [1.0, 1.0]);
        assert_eq!(t.lowered(), 1);
        rig.assert_clean();
    });
}

#[test]
fn operands_may_share_memory_in_some_computes() {
    on_each(|rig| {
        let t = one_by_one(&rig);
        let buffer = std::sync::Arc::new(DeviceBuffer::from_slice(&rig.stream, &[3.0f32; 8]).unwrap());
        let a = t.from_buffer(buffer.clone()).unwrap();
        let again = t.from_buffer(buffer).unwrap();
        let b = t.from_slice(&[4.0f32; 8], &[8]).unwrap();
        for _ in 0..3 {
            assert_eq!(a.mul(&b).to_vec().unwrap(), [12.0; 8]);
            assert_eq!(a.mul(&again).to_vec().unwrap(), [9.0; 8]);
        }
        rig.assert_clean();
    });
}

#[test]
fn views_are_read_in_place_and_never_overwritten() {
    on_each(|rig| {
        for t in [one_by_one(&rig), tensors(&rig)] {
            let host: Vec<f32> = (0..24).map(|i| i as f32).collect();
            let mut buffer = DeviceBuffer::from_slice(&rig.stream, &host).unwrap();
            buffer.reshape(&[4, 6]).unwrap();
            let whole = buffer.view();
            let row = |i| t.from_view(&whole.slice(0, i, i + 1).unwrap()).unwrap();
            for i in 0..4 {
                let before = rig.validation().counts();
                let sum = row(i).add(&row((i + 1) % 4)).mul(2.0);
                assert_eq!(sum.shape().unwrap(), [1, 6]);
                let result = sum.compute().unwrap();
                let counts = rig.validation().counts().since(&before);
                assert_eq!(counts.get(CallKind::MemcpyDtodAsync), 0, "read where they are");
                let expected: Vec<f32> =
                    (0..6).map(|j| 2.0 * (host[6 * i + j] + host[6 * ((i + 1) % 4) + j])).collect();
                assert_eq!(result.to_vec().unwrap(), expected);
            }
            // A view alone is copied to a new buffer.
            let copy = row(2).compute().unwrap();
            assert_eq!((copy.operations().unwrap(), row(2).operations().unwrap()), (0, 0));
            assert_eq!(copy.to_vec().unwrap(), host[12..18]);
            // Computing into the memory of the views uses other memory, because elements would be read after they were
            // overwritten.
            let shifted = t.from_view(&buffer.view_strided(1, &[23], &[1]).unwrap()).unwrap();
            shifted.add(0.5).compute_into(&mut buffer).unwrap();
            assert_eq!(buffer.to_vec(&rig.stream).unwrap()[..3], [1.5, 2.5, 3.5]);
            assert_eq!(whole.to_vec(&rig.stream).unwrap(), host, "the view keeps the old");

            match t.from_view(&whole.permute(&[1, 0]).unwrap()) {
                Err(hiplaunch_tensor::Error::Operation { problem, .. }) => assert_eq!(
                    &*problem,
                    "a view of shape [6, 4] and strides [1, 6] is not contiguous; copy it to a buffer first"
                ),
                other => panic!("{other:?}"),
            }
        }
        let other = Rig::open(hiplaunch::Launcher::builder(), hiplaunch::Backend::Emulator);
        let theirs = DeviceBuffer::<f32>::on(&other.stream, 4).unwrap();
        match tensors(&rig).from_view(&theirs.view()) {
            Err(hiplaunch_tensor::Error::Operation { problem, .. }) => {
                assert!(problem.ends_with("copy it first"), "{problem}");
            }
            other => panic!("{other:?}"),
        }
        rig.assert_clean();
    });
}

#[test]
fn independent_parts_on_several_streams_give_the_same_bits() {
    on_each(|rig| {
        let one = one_by_one(&rig);
        let host: Vec<f32> = (0..256).map(|i| (i as f32 / 7.0).sin()).collect();
        let result = |t: &hiplaunch_tensor::Tensors, scale: f32| {
            let x = t.from_slice(&host, &[16, 16]).unwrap();
            let parts = [x.matmul(&x), x.mul(scale).matmul(&x.neg()), x.exp().matmul(&x.sqrt().max(0.0))];
            parts[0].add(&parts[1]).add(&parts[2]).to_vec().unwrap()
        };
        let several = one.with_branches(Branches::Streams(3));
        for round in 0..3 {
            let before = rig.validation().counts();
            let expected = result(&one, round as f32);
            assert_eq!(rig.validation().counts().since(&before).get(CallKind::StreamWaitEvent), 0);
            let got = result(&several, round as f32);
            let counts = rig.validation().counts().since(&before);
            assert!(counts.get(CallKind::StreamWaitEvent) >= 4, "{counts}");
            assert!(
                round == 0 || counts.get(CallKind::StreamCreate) + counts.get(CallKind::EventCreate) == 0
            );
            let bits = |all: &[f32]| all.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&got), bits(&expected));
        }
        assert_eq!(one.lowered(), 2);
        rig.assert_clean();
    });
}
