//! Views as inputs and outputs, and temporaries that are written directly to buffers.

use hiplaunch::driver::validation::CallKind;
use hiplaunch::graph::{Branches, GraphArg, GraphProblem};
use hiplaunch::{Backend, DeviceBuffer, Error, LaunchDims, Launcher};
use proptest::prelude::*;

use crate::order::{Kernels, N};
use hiplaunch_testing::rig::*;

#[test]
fn views_of_one_buffer_depend_on_each_other_by_their_bytes() {
    on_each(|rig| {
        let k = Kernels::of(&rig);
        let host: Vec<f32> = (0..4 * N).map(|i| i as f32).collect();
        for branches in [Branches::One, Branches::Streams(4)] {
            let buffer = DeviceBuffer::from_slice(&rig.stream, &host).unwrap();
            let rows = buffer.view_strided(0, &[4, N], &[N as isize, 1]).unwrap();
            let row = |i: usize| rows.slice(0, i, i + 1).unwrap();
            let mut g = rig.launcher.graph(&rig.device).unwrap();
            g.set_branches(branches);
            let all = g.buffer(&buffer).unwrap();
            let [a, b, c, d] = [0, 1, 2, 3].map(|i| g.buffer(&row(i)).unwrap());
            // RAW through the buffer, WAR and WAW through views of it.
            k.add(&mut g, &a, &b, &c);
            k.add(&mut g, &c, &all.slice(4 * N as u64, 4 * N as u64).unwrap(), &d);
            k.scale(&mut g, -1.0, &d, &b);
            g.read(&all).unwrap();
            let graph_result = g.compute(&rig.stream).unwrap().read().unwrap();
            let mut expected = host.clone();
            for i in 0..N {
                expected[2 * N + i] = expected[i] + expected[N + i];
                expected[3 * N + i] = expected[2 * N + i] + expected[N + i];
                expected[N + i] = -expected[3 * N + i];
            }
            assert_eq!(graph_result.slice::<f32>(0).unwrap(), expected, "{branches:?}");
        }
        rig.assert_clean();
    });
}

#[test]
fn views_without_a_common_byte_are_independent() {
    on_each(|rig| {
        let k = Kernels::of(&rig);
        let buffer = DeviceBuffer::from_slice(&rig.stream, &[1.0f32; 4 * N]).unwrap();
        let rows = buffer.view_strided(0, &[4, N], &[N as isize, 1]).unwrap();
        let streams = |pairs: [(usize, usize); 2]| {
            let mut g = rig.launcher.graph(&rig.device).unwrap();
            g.set_branches(Branches::Streams(2));
            for (from, to) in pairs {
                let view = |i: usize| rows.slice(0, i, i + 1).unwrap();
                let (from, to) = (g.buffer(&view(from)).unwrap(), g.buffer(&view(to)).unwrap());
                k.scale(&mut g, 2.0, &from, &to);
            }
            g.compile(&rig.stream).unwrap().streams()
        };
        assert_eq!([streams([(0, 1), (2, 3)]), streams([(0, 1), (0, 2)])], [2, 2]);
        assert_eq!([streams([(0, 1), (1, 2)]), streams([(0, 1), (2, 0)]), streams([(0, 1), (2, 1)])], [1; 3]);
        rig.assert_clean();
    });
}

#[test]
fn overlapping_views_are_refused_where_a_kernel_or_a_copy_can_t_have_them() {
    on_each(|rig| {
        let k = Kernels::of(&rig);
        let buffer = DeviceBuffer::from_slice(&rig.stream, &[1.0f32; 2 * N]).unwrap();
        let part = |from: usize| buffer.view_strided(from, &[N], &[1]).unwrap();
        let mut g = rig.launcher.graph(&rig.device).unwrap();
        let [a, b, again] = [0, 1, 0].map(|from| g.buffer(&part(from)).unwrap());
        let problem = |outcome: hiplaunch::Result<hiplaunch::graph::NodeId>| match outcome {
            Err(Error::Graph { node: Some(0), problem }) => *problem,
            other => panic!("{other:?}"),
        };
        let (dims, n) = (LaunchDims::cover(N as u32, 256), N as i32);
        let mut add = |x, to, in_place| {
            // SAFETY: each work-item reads its element before it writes it.
            unsafe { rig.launcher.declare_in_place(k.vadd, in_place) }.unwrap();
            // SAFETY: as the kernel takes it.
            unsafe {
                g.launch(k.vadd, dims, &[GraphArg::Read(x), GraphArg::Read(x), GraphArg::Write(to), n.into()])
            }
        };
        let overlap = GraphProblem::Overlap { reads: 0, writes: 2 };
        assert_eq!(problem(add(a, b, false)), overlap);
        assert_eq!(problem(add(a, b, true)), overlap, "shifted");
        assert_eq!(problem(add(a, again, false)), overlap);
        assert_eq!(problem(g.copy(&a, &b)), GraphProblem::CopyOverlaps);
        let strided = buffer.view_strided(0, &[N], &[2]).unwrap();
        match g.buffer(&strided) {
            Err(Error::Graph { problem, .. }) => {
                assert_eq!(*problem, GraphProblem::NotContiguous { value: 3 })
            }
            other => panic!("{other:?}"),
        }
        assert!(g.is_empty());
        // SAFETY: as the kernel takes it, and declared.
        unsafe {
            rig.launcher.declare_in_place(k.vadd, true).unwrap();
            g.launch(k.vadd, dims, &[GraphArg::Read(a), GraphArg::Read(b), GraphArg::Write(again), n.into()])
                .unwrap_err();
            g.launch(k.vadd, dims, &[GraphArg::Read(a), GraphArg::Read(a), GraphArg::Write(again), n.into()])
                .unwrap();
        }
        g.compute(&rig.stream).unwrap();
        assert_eq!(buffer.to_vec(&rig.stream).unwrap()[N - 1..N + 1], [2.0, 1.0]);
        rig.assert_clean();
    });
}

#[test]
fn a_result_is_written_directly_to_its_buffer_if_nothing_prevents_that() {
    on_each(|rig| {
        let k = Kernels::of(&rig);
        let x = DeviceBuffer::from_slice(&rig.stream, &[3.0f32; N]).unwrap();
        let out = DeviceBuffer::from_slice(&rig.stream, &[5.0f32; 2 * N]).unwrap();
        // In case 0 nothing prevents it. Case 1 reads the buffer while the temporary is alive, 2 reads the temporary
        // later, 3 copies a part, and 4 copies to a view that is not aligned.
        for case in 0..5 {
            let mut g = rig.launcher.graph(&rig.device).unwrap();
            let (xv, t) = (g.buffer(&x).unwrap(), g.temporary::<f32>(N).unwrap());
            let to = match case {
                4 => g.buffer(&out.view_strided(1, &[N], &[1]).unwrap()).unwrap(),
                _ => g.buffer(&out.view_strided(0, &[N], &[1]).unwrap()).unwrap(),
            };
            k.scale(&mut g, 2.0, &xv, &t);
            let mut expected = [6.0f32; N];
            match case {
                1 => {
                    let seen = g.temporary::<f32>(N).unwrap();
                    k.add(&mut g, &to, &xv, &seen);
                    g.read(&seen).unwrap();
                }
                3 => {
                    let half = 4 * (N as u64) / 2;
                    g.copy(&t.slice(0, half).unwrap(), &to.slice(0, half).unwrap()).unwrap();
                    expected[N / 2..].fill(6.0);
                }
                _ => {}
            }
            if case != 3 {
                g.copy(&t, &to).unwrap();
            }
            if case == 2 {
                g.read(&t).unwrap();
            }
            let before = rig.validation().counts();
            g.compute(&rig.stream).unwrap();
            let counts = rig.validation().counts().since(&before);
            assert_eq!(counts.get(CallKind::MemcpyDtodAsync), u64::from(case != 0), "case {case}");
            let at = usize::from(case == 4);
            assert_eq!(out.to_vec(&rig.stream).unwrap()[at..at + N], expected, "case {case}");
        }
        rig.assert_clean();
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn random_work_on_views_that_overlap_is_what_the_host_does(
        operations in prop::collection::vec((0u8..4, 0usize..25, 0usize..25, -2i8..3), 1..30),
        streams in 1u32..5,
    ) {
        // Views of 64 elements, one for every 8th element.
        const LEN: usize = 64;
        const ALL: usize = 25 * 8 + LEN;
        let rig = Rig::open(Launcher::builder(), Backend::Emulator);
        let k = Kernels::of(&rig);
        // SAFETY: each work-item reads its element before it writes it.
        unsafe { rig.launcher.declare_in_place(k.vscale, true) }.unwrap();
        let mut host: Vec<f32> = (0..ALL).map(|i| (i % 7) as f32).collect();
        let buffer = DeviceBuffer::from_slice(&rig.stream, &host).unwrap();
        let mut g = rig.launcher.graph(&rig.device).unwrap();
        g.set_branches(Branches::Streams(streams));
        let mut reads: Vec<Vec<f32>> = Vec::new();
        for (kind, from, to, scalar) in operations {
            let (from, to) = (from * 8, to * 8);
            let [x, y] = [from, to].map(|at| g.buffer(&buffer.view_strided(at, &[LEN], &[1]).unwrap()).unwrap());
            let apart = from.abs_diff(to) >= LEN;
            let read = host[from..from + LEN].to_vec();
            match kind {
                0 if apart || from == to => {
                    k.scale(&mut g, f32::from(scalar), &x, &y);
                    let scaled = read.iter().map(|v| v * f32::from(scalar));
                    scaled.zip(&mut host[to..]).for_each(|(v, h)| *h = v);
                }
                1 if apart => {
                    g.copy(&x, &y).unwrap();
                    host[to..to + LEN].copy_from_slice(&read);
                }
                2 => {
                    g.fill_words(&y, f32::from(scalar).to_bits()).unwrap();
                    host[to..to + LEN].fill(f32::from(scalar));
                }
                3 => {
                    g.read(&x).unwrap();
                    reads.push(read);
                }
                _ => {}
            }
        }
        let output = g.compute(&rig.stream).unwrap().read().unwrap();
        for (i, read) in reads.iter().enumerate() {
            prop_assert_eq!(output.slice::<f32>(i).unwrap(), &read[..]);
        }
        prop_assert_eq!(buffer.to_vec(&rig.stream).unwrap(), host);
        rig.assert_clean();
    }
}
