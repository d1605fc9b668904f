//! Measures what a graph costs the host, compared with the same launches one by one: over a driver that does nothing,
//! in one run.
//!
//! `cargo bench --no-default-features --bench graph`; as a test (`cargo test --bench graph`) each case runs twice.

use std::time::Instant;

use hiplaunch::graph::{Branches, CompiledGraph, Graph, GraphArg, GraphCounts, GraphValue, NodeId};
use hiplaunch::{Backend, DeviceBuffer, Error, KernelHandle, LaunchDims, Launcher, Stream, args};
use hiplaunch_tensor::{LazyTensor, Tensors};

/// The number of elements of each buffer.
const N: usize = 1 << 16;
/// The goals: at most this number of nanoseconds to record a node, and this share of the time of launching to compute.
const RECORD_BAR: f64 = 150.0;
const SHARE_BAR: f64 = 0.5;
/// The goal: at most this number of nanoseconds to compute an operation of tensors that is not fused.
const TENSOR_BAR: f64 = 45.0;

struct Rig {
    launcher: Launcher,
    stream: Stream,
    scale: KernelHandle,
    x: DeviceBuffer<f32>,
    out: DeviceBuffer<f32>,
    between: [DeviceBuffer<f32>; 2],
}

impl Rig {
    fn open() -> Result<Rig, Error> {
        let launcher = Launcher::builder()
            .backend(Backend::Auto)
            .driver(hiplaunch::driver::noop::NoopDriver::open())
            .validate(false)
            .build()?;
        let device = launcher.device(0)?.clone();
        let stream = launcher.stream(&device)?;
        let code = include_bytes!("../hip/vector.gfx90a.co");
        // SAFETY: nothing runs.
        let scale = unsafe { launcher.register(&device, code, "vscale") }?;
        let (x, out) = (DeviceBuffer::on(&stream, N)?, DeviceBuffer::on(&stream, N)?);
        let between = [DeviceBuffer::on(&stream, N)?, DeviceBuffer::on(&stream, N)?];
        Ok(Rig { launcher, stream, scale, x, out, between })
    }

    fn dims(&self) -> LaunchDims {
        LaunchDims::cover(N as u32, 256)
    }

    /// Runs the chain as single launches.
    fn launches(&self, nodes: usize) -> Result<(), Error> {
        for i in 0..nodes {
            let from = if i == 0 { &self.x } else { &self.between[(i + 1) % 2] };
            let to = if i + 1 == nodes { &self.out } else { &self.between[i % 2] };
            let args = args![1.0f32, from, to, N as i32];
            // SAFETY: nothing runs.
            unsafe { self.launcher.launch(self.scale, &self.stream, self.dims(), &args) }?;
        }
        Ok(())
    }

    /// Records the chain. The factor of the first node is its argument 0.
    fn record(&self, nodes: usize) -> Result<(Graph, GraphValue), Error> {
        let mut g = self.launcher.graph(self.stream.device())?;
        let (x, end) = (g.buffer(&self.x)?, g.buffer(&self.out)?);
        let mut last = x;
        for i in 0..nodes {
            let next = if i + 1 == nodes { end } else { g.temporary::<f32>(N)? };
            let args = [1.0f32.into(), GraphArg::Read(last), GraphArg::Write(next), (N as i32).into()];
            // SAFETY: nothing runs.
            unsafe { g.launch(self.scale, self.dims(), &args) }?;
            last = next;
        }
        Ok((g, x))
    }

    /// Runs the chain as a graph. Returns the seconds to record it, and to compute it.
    fn graph(&self, nodes: usize) -> Result<(f64, f64), Error> {
        let start = Instant::now();
        let (g, _) = self.record(nodes)?;
        let recorded = start.elapsed().as_secs_f64();
        let start = Instant::now();
        drop(g.compute(&self.stream)?);
        Ok((recorded, start.elapsed().as_secs_f64()))
    }

    /// Compiles `branches` chains of 25 nodes each, for that number of streams.
    fn fan(&self, branches: usize) -> Result<CompiledGraph, Error> {
        let mut g = self.launcher.graph(self.stream.device())?;
        g.set_branches(Branches::Streams(branches as u32));
        let x = g.buffer(&self.x)?;
        for _ in 0..branches {
            let mut last = x;
            for _ in 0..25 {
                let next = g.temporary::<f32>(N)?;
                let args = [1.0f32.into(), GraphArg::Read(last), GraphArg::Write(next), (N as i32).into()];
                // SAFETY: nothing runs.
                unsafe { g.launch(self.scale, self.dims(), &args) }?;
                last = next;
            }
            g.read(&last.slice(0, 4)?)?;
        }
        g.compile(&self.stream)
    }
}

fn seconds(work: impl FnOnce() -> Result<(), Error>) -> Result<f64, Error> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed().as_secs_f64())
}

/// Computes a chain of `n` operations that are not fused. Returns the seconds to record and drop it, and to compute it.
fn tensors(
    x: &LazyTensor<f32>,
    out: &mut DeviceBuffer<f32>,
    n: usize,
) -> Result<(f64, f64), hiplaunch_tensor::Error> {
    let start = Instant::now();
    let mut chain = x.clone();
    for i in 0..n {
        chain = if i % 2 == 0 { chain.mul(i as f32) } else { chain.sub(x) };
    }
    let recorded = start.elapsed().as_secs_f64();
    let start = Instant::now();
    chain.compute_into(out)?;
    let computed = start.elapsed().as_secs_f64();
    let start = Instant::now();
    drop(chain);
    Ok((recorded + start.elapsed().as_secs_f64(), computed))
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // `cargo bench` passes `--bench`, `cargo test` does not.
    let rounds = if std::env::args().any(|a| a == "--bench") { 2001 } else { 2 };
    let rig = Rig::open()?;
    println!(
        "nodes   launches   record   compute   share   submit   rebound   (median ns a node of {rounds} interleaved rounds)"
    );
    for nodes in [1, 10, 100, 1000] {
        let (mut launch, mut record, mut compute) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rounds {
            launch.push(seconds(|| rig.launches(nodes))?);
            let (recorded, computed) = rig.graph(nodes)?;
            record.push(recorded);
            compute.push(computed);
        }
        let (mut submit, mut rebound) = (Vec::new(), Vec::new());
        let (recorded, x) = rig.record(nodes)?;
        let mut compiled = recorded.compile(&rig.stream)?;
        for round in 0..rounds {
            submit.push(seconds(|| compiled.submit().map(drop))?);
            rebound.push(seconds(|| {
                compiled.set_buffer(&x, &rig.between[round % 2])?;
                // SAFETY: nothing runs.
                unsafe { compiled.set_scalar(NodeId(0), 0, round as f32) }?;
                compiled.submit().map(drop)
            })?);
        }
        let ns = |all| median(all) * 1e9 / nodes as f64;
        let (launch, record, compute) = (ns(launch), ns(record), ns(compute));
        let (submit, rebound) = (ns(submit), ns(rebound));
        let share = compute / launch;
        print!(
            "{nodes:>5} {launch:>10.1} {record:>8.1} {compute:>9.1} {share:>7.2} {submit:>8.1} {rebound:>9.1}"
        );
        if nodes == 100 {
            let word = |met: bool| if met { "met" } else { "MISSED" };
            print!(
                "   bars: record at most {RECORD_BAR} ns {}, share at most {SHARE_BAR} {}",
                word(record <= RECORD_BAR),
                word(share <= SHARE_BAR)
            );
        }
        println!();
    }
    println!("\nstreams   events   submit   compile (us)   (chains of 25 nodes each, median ns a node)");
    for streams in [1, 2, 4, 8] {
        let start = Instant::now();
        let mut fan = rig.fan(streams)?;
        let compile = start.elapsed().as_secs_f64() * 1e6;
        let mut submit = Vec::new();
        for _ in 0..rounds {
            submit.push(seconds(|| fan.submit().map(drop))?);
        }
        let ns = median(submit) * 1e9 / fan.steps() as f64;
        println!("{:>7} {:>8} {ns:>8.1} {compile:>14.0}", fan.streams(), fan.events());
    }
    println!("\ntensors   launches   record   compute   (median ns an operation, not fused)");
    let t = Tensors::new(&rig.launcher, &rig.stream)?.with_fusion(false);
    let x = t.from_buffer(DeviceBuffer::<f32>::on(&rig.stream, N)?)?;
    let mut out = DeviceBuffer::<f32>::on(&rig.stream, N)?;
    for n in [1, 10, 100, 1000] {
        let (mut launch, mut record, mut compute) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rounds {
            launch.push(seconds(|| rig.launches(n))?);
            let (recorded, computed) = tensors(&x, &mut out, n)?;
            record.push(recorded);
            compute.push(computed);
        }
        let ns = |all| median(all) * 1e9 / n as f64;
        let (launch, record, compute) = (ns(launch), ns(record), ns(compute));
        print!("{n:>7} {launch:>10.1} {record:>8.1} {compute:>9.1}");
        if n == 100 {
            let word = if compute <= TENSOR_BAR { "met" } else { "MISSED" };
            print!("   bar: compute at most {TENSOR_BAR} ns {word}");
        }
        println!();
    }
    let GraphCounts { hits, misses, .. } = rig.launcher.graph_counts();
    println!("programs found {hits} times, compiled {misses} times");
    Ok(())
}
