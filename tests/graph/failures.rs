//! What graphs refuse, and the state that a failure leaves.

use hiplaunch::driver::ErrorCode;
use hiplaunch::driver::validation::CallKind;
use hiplaunch::graph::{Access, GraphArg, GraphProblem};
use hiplaunch::{DeviceBuffer, Error, LaunchDims};

use crate::order::{Kernels, N};
use hiplaunch_testing::rig::*;

fn graph_problem<T: std::fmt::Debug>(outcome: hiplaunch::Result<T>) -> GraphProblem {
    match outcome {
        Err(Error::Graph { problem, .. }) => *problem,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_does_not_fit_is_refused_while_recording() {
    on_each(|rig| {
        let k = Kernels::of(&rig);
        let mut g = rig.launcher.graph(&rig.device).unwrap();
        let (a, b) = (g.temporary::<f32>(N).unwrap(), g.temporary::<f32>(N).unwrap());
        let dims = LaunchDims::cover(N as u32, 256);
        let n = N as i32;
        let mut launch = |args: &[GraphArg<'_>]| {
            // SAFETY: none of these is recorded.
            unsafe { g.launch(k.vadd, dims, args) }
        };
        let (r, w) = (GraphArg::Read(a), GraphArg::Write(b));
        assert!(matches!(launch(&[r, r, w]), Err(Error::Launch { .. })));
        assert!(matches!(launch(&[r, r, w, 1.0f64.into()]), Err(Error::Launch { .. })));
        assert!(matches!(launch(&[r, n.into(), w, n.into()]), Err(Error::Launch { .. })));
        assert!(matches!(launch(&[r, r, w, w]), Err(Error::Launch { .. })));
        assert_eq!(
            graph_problem(launch(&[r, r, GraphArg::Write(a), n.into()])),
            GraphProblem::Overlap { reads: 0, writes: 2 }
        );
        let mut other = rig.launcher.graph(&rig.device).unwrap();
        let foreign = other.temporary::<f32>(N).unwrap();
        assert_eq!(
            graph_problem(launch(&[r, GraphArg::Read(foreign), w, n.into()])),
            GraphProblem::ForeignValue { value: 0 }
        );
        // SAFETY: as above.
        let bad = unsafe { g.launch(k.vadd, LaunchDims::linear(1, 5000), &[r, r, w, n.into()]) };
        assert!(matches!(bad, Err(Error::Launch { .. })));
        assert_eq!(g.len(), 0, "nothing of it was recorded");

        let short = b.slice(0, 8).unwrap();
        assert!(matches!(graph_problem(g.copy(&a, &short)), GraphProblem::LengthsDiffer { .. }));
        let shifted = (a.slice(0, 400).unwrap(), a.slice(200, 400).unwrap());
        assert_eq!(graph_problem(g.copy(&shifted.0, &shifted.1)), GraphProblem::CopyOverlaps);
        assert!(matches!(
            graph_problem(g.fill_words(&a.slice(0, 6).unwrap(), 0)),
            GraphProblem::OutOfRange { .. }
        ));
        assert!(matches!(graph_problem(a.slice(N as u64 * 4, 1)), GraphProblem::OutOfRange { .. }));
        assert!(matches!(graph_problem(a.slice(u64::MAX, 2)), GraphProblem::OutOfRange { .. }));
        assert!(matches!(graph_problem(g.temporary::<f64>(usize::MAX)), GraphProblem::TooLarge(_)));
        assert!(matches!(graph_problem(g.read(&foreign)), GraphProblem::ForeignValue { .. }));
        rig.launcher.unregister(k.saxpy).unwrap();
        // SAFETY: as above.
        assert!(matches!(unsafe { g.launch(k.saxpy, dims, &[]) }, Err(Error::StaleHandle(_))));
        rig.assert_clean();
    });
}

#[test]
fn a_read_of_what_was_never_computed_names_the_node() {
    on_each(|rig| {
        let k = Kernels::of(&rig);
        let mut g = rig.launcher.graph(&rig.device).unwrap();
        let (a, b) = (g.temporary::<f32>(N).unwrap(), g.temporary::<f32>(N).unwrap());
        g.fill_words(&a.slice(0, 400).unwrap(), 0).unwrap();
        k.add(&mut g, &a, &a, &b);
        g.read(&b).unwrap();
        let before = rig.validation().counts();
        match g.compute(&rig.stream) {
            Err(Error::Graph { node: Some(1), problem }) => {
                assert_eq!(*problem, GraphProblem::NeverWritten { value: 0, start: 0, end: 4 * N as u64 });
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(rig.validation().counts().since(&before).device_calls(), 0);
        // Bytes that two fills write together can be read.
        let mut g = rig.launcher.graph(&rig.device).unwrap();
        let a = g.temporary::<f32>(N).unwrap();
        g.fill_words(&a.slice(400, 4 * N as u64 - 400).unwrap(), 1.0f32.to_bits()).unwrap();
        g.fill_words(&a.slice(0, 400).unwrap(), 2.0f32.to_bits()).unwrap();
        g.read(&a).unwrap();
        let output = g.compute(&rig.stream).unwrap().read().unwrap();
        assert_eq!(output.slice::<f32>(0).unwrap()[98..102], [2.0, 2.0, 1.0, 1.0]);
        rig.assert_clean();
    });
}

#[test]
fn out_of_memory_submits_nothing() {
    on_each(|rig| {
        let k = Kernels::of(&rig);
        let x = DeviceBuffer::from_slice(&rig.stream, &[1.0f32; N]).unwrap();
        let compute = || {
            let mut g = rig.launcher.graph(&rig.device).unwrap();
            let x = g.buffer(&x).unwrap();
            let t = g.temporary::<f32>(1 << 22).unwrap();
            let part = t.slice(0, 4 * N as u64).unwrap();
            g.fill_bytes(&t, 0).unwrap();
            k.add(&mut g, &x, &x, &part);
            g.read(&part).unwrap();
            g.compute(&rig.stream)
        };
        rig.validation().inject_repeating(CallKind::Malloc, 1, ErrorCode::OUT_OF_MEMORY);
        let before = rig.validation().counts();
        match compute() {
            Err(Error::OutOfMemory(e)) => {
                let why = e.why.unwrap_or_default();
                let temporary =
                    "graph of 2 nodes, the largest temporary being value 1, 16777216 bytes, from node 1 on";
                assert!(why.contains(temporary), "{why}");
            }
            other => panic!("{other:?}"),
        }
        let counts = rig.validation().counts().since(&before);
        assert_eq!(counts.get(CallKind::LaunchKernel) + counts.get(CallKind::MemsetD8Async), 0);
        rig.validation().clear_injections();
        assert_eq!(compute().unwrap().read().unwrap().slice::<f32>(0).unwrap(), [2.0; N]);
        rig.assert_clean();
    });
}

#[test]
fn a_node_that_the_driver_refuses_is_named_and_the_stream_stays_usable() {
    on_each(|rig| {
        let k = Kernels::of(&rig);
        let x = DeviceBuffer::from_slice(&rig.stream, &[1.0f32; N]).unwrap();
        let compute = || {
            let mut g = rig.launcher.graph(&rig.device).unwrap();
            let (x, t) = (g.buffer(&x).unwrap(), g.temporary::<f32>(N).unwrap());
            k.add(&mut g, &x, &x, &t);
            g.read(&t).unwrap();
            k.saxpy(&mut g, 1.0, &x, &t);
            g.read(&t).unwrap();
            g.compute(&rig.stream)
        };
        compute().unwrap().read().unwrap();
        let calls = [
            (CallKind::LaunchKernel, 1, 0),
            (CallKind::MemcpyDtohAsync, 1, 1),
            (CallKind::LaunchKernel, 2, 2),
            (CallKind::MemcpyDtohAsync, 2, 3),
        ];
        for (call, nth, at) in calls {
            rig.validation().inject(call, nth, ErrorCode::INVALID_VALUE);
            match compute() {
                Err(Error::Node { node, kernel, source }) => {
                    assert_eq!((node, source.code()), (at, Some(ErrorCode::INVALID_VALUE)));
                    assert_eq!(kernel.is_some(), call == CallKind::LaunchKernel);
                }
                other => panic!("{call} {nth}: {other:?}"),
            }
            rig.validation().clear_injections();
            let output = compute().unwrap().read().unwrap();
            assert_eq!(output.slice::<f32>(0).unwrap(), [2.0; N]);
            assert_eq!(output.slice::<f32>(1).unwrap(), [3.0; N]);
        }
        rig.assert_clean();
        let validation = rig.validation().clone();
        drop((x, rig));
        assert_eq!(validation.report_leaks(), []);
    });
}

#[test]
fn buffers_kernels_and_streams_of_another_launcher_are_refused() {
    on_each(|rig| {
        let other = Rig::open(hiplaunch::Launcher::builder(), hiplaunch::Backend::Emulator);
        let theirs = DeviceBuffer::<f32>::on(&other.stream, N).unwrap();
        let before = rig.validation().counts();
        let mut g = rig.launcher.graph(&rig.device).unwrap();
        g.temporary::<f32>(N).unwrap();
        match graph_problem(g.buffer(&theirs)) {
            GraphProblem::ForeignBuffer { value: 1, buffer, graph } => {
                assert_eq!((buffer, graph), (other.device.id(), rig.device.id()));
            }
            problem => panic!("{problem}"),
        }
        assert!(matches!(rig.launcher.graph(&other.device), Err(Error::Invalid { .. })));
        // Handles of all launchers come from one numbering.
        let handle = other.kernel(&VECTOR, "vscale");
        // SAFETY: not recorded.
        let launched = unsafe { g.launch(handle, LaunchDims::linear(1, 64), &[]) };
        assert!(matches!(launched, Err(Error::StaleHandle(_))), "{launched:?}");
        assert_eq!(graph_problem(g.compute(&other.stream)), GraphProblem::WrongDevice);
        assert_eq!(rig.validation().counts().since(&before).device_calls(), 0);
        assert_eq!(other.validation().counts().get(CallKind::LaunchKernel), 0);
        rig.assert_clean();
    });
}

#[test]
fn no_pinned_memory_for_results_or_blocks_submits_nothing() {
    on_each(|rig| {
        let k = Kernels::of(&rig);
        let polynomial = rig.kernel(&JIT, "jit_polynomial");
        let x = DeviceBuffer::from_slice(&rig.stream, &[1.0f32; N]).unwrap();
        let results = || {
            let mut g = rig.launcher.graph(&rig.device).unwrap();
            let (x, t) = (g.buffer(&x).unwrap(), g.temporary::<f32>(N).unwrap());
            k.add(&mut g, &x, &x, &t);
            g.read(&t).unwrap();
            g.compute(&rig.stream)
        };
        let blocks = || {
            let mut g = rig.launcher.graph(&rig.device).unwrap();
            let (x, t) = (g.buffer(&x).unwrap(), g.temporary::<f32>(N).unwrap());
            k.add(&mut g, &x, &x, &t);
            k.add(&mut g, &t, &x, &x.slice(0, 0).unwrap());
            let block = g.block(&[0; 64], &[(0, x)]).unwrap();
            // SAFETY: no elements: it accesses nothing.
            unsafe { g.launch(polynomial, LaunchDims::linear(1, 64), &[GraphArg::Read(block)]) }.unwrap();
            g.uses(&x, Access::Write).unwrap();
            g.compute(&rig.stream)
        };
        let cases: [(&dyn Fn() -> hiplaunch::Result<hiplaunch::Ticket>, u32); 2] =
            [(&results, 1), (&blocks, 0)];
        for (compute, at) in cases {
            rig.validation().inject_repeating(CallKind::HostMalloc, 1, ErrorCode::OUT_OF_MEMORY);
            let before = rig.validation().counts();
            match compute() {
                Err(Error::Node { node, source, .. }) => {
                    assert_eq!(node, at);
                    assert!(matches!(*source, Error::OutOfMemory(_)), "{source}");
                }
                other => panic!("{other:?}"),
            }
            let counts = rig.validation().counts().since(&before);
            assert_eq!(counts.get(CallKind::LaunchKernel) + counts.get(CallKind::MemcpyHtodAsync), 0);
            rig.validation().clear_injections();
            compute().unwrap().read().unwrap();
        }
        rig.assert_clean();
    });
}
