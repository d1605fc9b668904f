//! A graph computes what its nodes compute one by one.

use hiplaunch::driver::validation::CallKind;
use hiplaunch::graph::{Graph, GraphArg, GraphCounts, GraphValue, Submission};
use hiplaunch::{DeviceBuffer, KernelHandle, LaunchDims};
use proptest::prelude::*;

use hiplaunch_testing::rig::*;

pub(crate) const N: usize = 500;

pub(crate) struct Kernels {
    pub(crate) vadd: KernelHandle,
    pub(crate) vscale: KernelHandle,
    pub(crate) saxpy: KernelHandle,
}

impl Kernels {
    pub(crate) fn of(rig: &Rig) -> Kernels {
        Kernels {
            vadd: rig.kernel(&VECTOR, "vadd_f32"),
            vscale: rig.kernel(&VECTOR, "vscale"),
            saxpy: rig.kernel(&VECTOR, "saxpy"),
        }
    }

    /// `out = x + y`
    pub(crate) fn add(&self, g: &mut Graph, x: &GraphValue, y: &GraphValue, out: &GraphValue) {
        let n = (out.bytes() / 4) as i32;
        let args = [GraphArg::Read(*x), GraphArg::Read(*y), GraphArg::Write(*out), n.into()];
        // SAFETY: as the kernel takes it.
        unsafe { g.launch(self.vadd, LaunchDims::cover(n as u32, 256), &args) }.unwrap();
    }

    /// `out = a * x`
    pub(crate) fn scale(&self, g: &mut Graph, a: f32, x: &GraphValue, out: &GraphValue) {
        let n = (out.bytes() / 4) as i32;
        let args = [a.into(), GraphArg::Read(*x), GraphArg::Write(*out), n.into()];
        // SAFETY: as the kernel takes it.
        unsafe { g.launch(self.vscale, LaunchDims::cover(n as u32, 256), &args) }.unwrap();
    }

    /// `y = a * x + y`
    pub(crate) fn saxpy(&self, g: &mut Graph, a: f32, x: &GraphValue, y: &GraphValue) {
        let n = (y.bytes() / 4) as i32;
        let args = [a.into(), GraphArg::Read(*x), GraphArg::ReadWrite(*y), n.into()];
        // SAFETY: as the kernel takes it.
        unsafe { g.launch(self.saxpy, LaunchDims::cover(n as u32, 256), &args) }.unwrap();
    }
}

#[test]
fn a_chain_that_reads_its_input_again_is_right() {
    on_each(|rig| {
        let k = Kernels::of(&rig);
        let m1: Vec<f32> = (0..N).map(|i| i as f32).collect();
        let a = DeviceBuffer::from_slice(&rig.stream, &m1).unwrap();
        let b = DeviceBuffer::from_slice(&rig.stream, &[2.0f32; N]).unwrap();
        let mut g = rig.launcher.graph(&rig.device).unwrap();
        let (m1, m2) = (g.buffer(&a).unwrap(), g.buffer(&b).unwrap());
        let t: Vec<GraphValue> = (0..3).map(|_| g.temporary::<f32>(N).unwrap()).collect();
        k.add(&mut g, &m1, &m2, &t[0]);
        k.scale(&mut g, 5.0, &t[0], &t[1]);
        k.scale(&mut g, -1.0, &m1, &t[2]);
        k.saxpy(&mut g, 1.0, &t[1], &t[2]);
        g.read(&t[2]).unwrap();
        let output = g.compute(&rig.stream).unwrap().read().unwrap();
        let result = output.slice::<f32>(0).unwrap();
        assert!(result.iter().enumerate().all(|(i, v)| *v == (i as f32 + 2.0) * 5.0 - i as f32));
        assert_eq!(a.to_vec(&rig.stream).unwrap()[7], 7.0, "the input is as it was");
        rig.assert_clean();
    });
}

#[test]
fn copies_fills_and_parts_of_values() {
    on_each(|rig| {
        let k = Kernels::of(&rig);
        let out = DeviceBuffer::from_slice(&rig.stream, &[9.0f32; N]).unwrap();
        let mut g = rig.launcher.graph(&rig.device).unwrap();
        let whole = g.buffer(&out).unwrap();
        let t = g.temporary::<f32>(N).unwrap();
        g.fill_words(&t, 1.5f32.to_bits()).unwrap();
        let half = t.slice(N as u64 * 2, N as u64 * 2).unwrap();
        g.fill_bytes(&half, 0).unwrap();
        let front = t.slice(0, N as u64 * 2).unwrap();
        k.add(&mut g, &front, &front, &whole.slice(0, N as u64 * 2).unwrap());
        g.copy(&half, &whole.slice(N as u64 * 2, N as u64 * 2).unwrap()).unwrap();
        g.read(&whole.slice(0, 4).unwrap()).unwrap();
        g.read(&t.slice(N as u64 * 2 - 4, 8).unwrap()).unwrap();
        let output = g.compute(&rig.stream).unwrap().read().unwrap();
        assert_eq!((output.len(), output.value::<f32>(0).unwrap()), (2, 3.0));
        assert_eq!(output.slice::<f32>(1).unwrap(), [1.5, 0.0]);
        let all = out.to_vec(&rig.stream).unwrap();
        assert!(all[..N / 2].iter().all(|v| *v == 3.0) && all[N / 2..].iter().all(|v| *v == 0.0));
        rig.assert_clean();
    });
}

#[test]
fn buffers_may_be_dropped_once_the_graph_was_computed() {
    on_each(|rig| {
        let k = Kernels::of(&rig);
        let other = rig.launcher.stream(&rig.device).unwrap();
        let x = DeviceBuffer::from_slice(&other, &[1.0f32; N]).unwrap();
        other.synchronize().unwrap();
        let mut g = rig.launcher.graph(&rig.device).unwrap();
        let xv = g.buffer(&x).unwrap();
        let t = g.temporary::<f32>(N).unwrap();
        k.add(&mut g, &xv, &xv, &t);
        g.read(&t).unwrap();
        // The graph is another owner of the memory of its buffers.
        drop(x);
        let ticket = g.compute(&rig.stream).unwrap();
        // The other stream's memory is not allocated again before this stream has read it.
        let again = DeviceBuffer::from_slice(&other, &[5.0f32; N]).unwrap();
        assert_eq!(ticket.read().unwrap().slice::<f32>(0).unwrap(), [2.0; N]);
        drop(again);
        rig.assert_clean();
    });
}

#[test]
fn a_graph_that_is_not_computed_does_nothing() {
    on_each(|rig| {
        let k = Kernels::of(&rig);
        let x = DeviceBuffer::from_slice(&rig.stream, &[1.0f32; N]).unwrap();
        rig.stream.synchronize().unwrap();
        let before = rig.validation().counts();
        let mut g = rig.launcher.graph(&rig.device).unwrap();
        let xv = g.buffer(&x).unwrap();
        let t = g.temporary::<f32>(N).unwrap();
        for _ in 0..100 {
            k.add(&mut g, &xv, &xv, &t);
        }
        assert_eq!(g.len(), 100);
        drop(g);
        let counts = rig.validation().counts().since(&before);
        assert_eq!(counts.device_calls(), 0, "{counts}");
        // Computing it does nothing either: nothing reads what it writes.
        let mut g = rig.launcher.graph(&rig.device).unwrap();
        let (xv, t) = (g.buffer(&x).unwrap(), g.temporary::<f32>(N).unwrap());
        k.add(&mut g, &xv, &xv, &t);
        drop(g.compute(&rig.stream).unwrap());
        assert_eq!(rig.validation().counts().since(&before).get(CallKind::LaunchKernel), 0);
        rig.assert_clean();
    });
}

/// One operation of a random graph: kind, sources and destination among the values, and a scalar.
pub(crate) type Operation = (u8, usize, usize, usize, i8);

pub(crate) const VALUES: usize = 6;
const BUFFERS: usize = 3;
pub(crate) const M: usize = 64;

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn random_graphs_compute_what_the_host_computes(
        operations in prop::collection::vec((0u8..5, 0..VALUES, 0..VALUES, 0..VALUES, -3i8..4), 1..40),
        repeats in 1usize..4,
    ) {
        let rig = Rig::open(hiplaunch::Launcher::builder(), hiplaunch::Backend::Emulator);
        let k = Kernels::of(&rig);
        // SAFETY: each work-item reads its element before it writes it.
        unsafe {
            rig.launcher.declare_in_place(k.vadd, true).unwrap();
            rig.launcher.declare_in_place(k.vscale, true).unwrap();
        }
        for repeat in 0..repeats {
            // Integers, so that every order of rounding gives the same.
            let start = |v: usize| -> Vec<f32> { (0..M).map(|i| ((i + v + repeat) % 5) as f32).collect() };
            let buffers: Vec<_> =
                (0..BUFFERS).map(|v| DeviceBuffer::from_slice(&rig.stream, &start(v)).unwrap()).collect();
            let mut g = rig.launcher.graph(&rig.device).unwrap();
            let mut values: Vec<GraphValue> = buffers.iter().map(|b| g.buffer(b).unwrap()).collect();
            let mut host: Vec<Option<Vec<f32>>> = (0..BUFFERS).map(|v| Some(start(v))).collect();
            for _ in BUFFERS..VALUES {
                values.push(g.temporary::<f32>(M).unwrap());
                host.push(None);
            }
            let mut reads = Vec::new();
            run(&k, &mut g, &values, &mut host, &mut reads, &operations);
            // A driver graph where the graph can be one, otherwise a stream submission: the same bits.
            let again = repeat % 2 == 1;
            let way = if again { Submission::DriverGraph } else { Submission::Stream };
            let ticket = match g.compute_by(&rig.stream, way) {
                Err(hiplaunch::Error::Graph { problem, .. }) if again => {
                    prop_assert!(matches!(*problem, hiplaunch::graph::GraphProblem::NoDriverGraph(_)));
                    let mut g = rig.launcher.graph(&rig.device).unwrap();
                    let mut values: Vec<GraphValue> = buffers.iter().map(|b| g.buffer(b).unwrap()).collect();
                    let mut host: Vec<Option<Vec<f32>>> = (0..BUFFERS).map(|v| Some(start(v))).collect();
                    for _ in BUFFERS..VALUES {
                        values.push(g.temporary::<f32>(M).unwrap());
                        host.push(None);
                    }
                    run(&k, &mut g, &values, &mut host, &mut Vec::new(), &operations);
                    g.compute(&rig.stream).unwrap()
                }
                other => other.unwrap(),
            };
            let output = ticket.read().unwrap();
            prop_assert_eq!(output.len(), reads.len());
            for (i, expected) in reads.iter().enumerate() {
                prop_assert_eq!(output.slice::<f32>(i).unwrap(), &expected[..]);
            }
            for (buffer, expected) in buffers.iter().zip(&host) {
                prop_assert_eq!(&buffer.to_vec(&rig.stream).unwrap(), expected.as_ref().unwrap());
            }
        }
        let GraphCounts { kept, hits, misses } = rig.launcher.graph_counts();
        prop_assert_eq!((kept, misses), (1, 1));
        prop_assert!(hits >= repeats as u64 - 1);
        rig.assert_clean();
    }
}

pub(crate) fn run(
    k: &Kernels,
    g: &mut Graph,
    values: &[GraphValue],
    host: &mut [Option<Vec<f32>>],
    reads: &mut Vec<Vec<f32>>,
    operations: &[Operation],
) {
    for &(kind, x, y, to, scalar) in operations {
        // Small, so that every value is an integer that an f32 has.
        let keep = |v: Vec<f32>| -> bool { v.iter().all(|x| x.abs() < 1e6) };
        let (Some(hx), hy) = (host[x].clone(), host[y].clone()) else { continue };
        match (kind, hy) {
            (0, Some(hy)) => {
                let sum: Vec<f32> = hx.iter().zip(&hy).map(|(a, b)| a + b).collect();
                if keep(sum.clone()) {
                    k.add(g, &values[x], &values[y], &values[to]);
                    host[to] = Some(sum);
                }
            }
            (1, _) => {
                let scaled: Vec<f32> = hx.iter().map(|a| a * f32::from(scalar)).collect();
                if keep(scaled.clone()) {
                    k.scale(g, f32::from(scalar), &values[x], &values[to]);
                    host[to] = Some(scaled);
                }
            }
            (2, _) if x != to => {
                g.copy(&values[x], &values[to]).unwrap();
                host[to] = Some(hx);
            }
            (3, _) => {
                g.fill_words(&values[to], f32::from(scalar).to_bits()).unwrap();
                host[to] = Some(vec![f32::from(scalar); M]);
            }
            (4, _) => {
                g.read(&values[x]).unwrap();
                reads.push(hx);
            }
            _ => {}
        }
    }
}
