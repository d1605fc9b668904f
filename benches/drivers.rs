//! Measures what launches, events and graphs cost the host over a driver of GPUs, in nanoseconds: HIP's or HSA's.
//!
//! `cargo bench --bench drivers -- hip|hsa` prints one line for each case: the median and the smallest of the samples. What is measured
//! has the driver and AMD's library in it, and on a device of software, what that does on the calling thread; run both backends in
//! turn on one machine. BENCHMARKS.md has the figures. With `-- hsa only CASE N`,
//! it does one case N times, for an instruction counter. With `-- hsa grow N`, it launches N times, and prints what the process's memory grew by.
//! As a test (`cargo test --bench drivers`), each case runs twice on each driver of the machine.

use std::time::Instant;

use hiplaunch::driver::{
    DeviceId, Driver, EventOptions, KernelLaunch, RawEvent, RawFunction, RawGraphExec, RawStream,
    StreamOptions, Work,
};
use hiplaunch::graph::{CompiledGraph, GraphArg, GraphValue};
use hiplaunch::{
    Arg, ArgumentBlock, Backend, DeviceBuffer, Error, KernelHandle, Launch, LaunchDims, Launcher, Patch,
    PatchTarget, Stream, args,
};

const DEVICE: DeviceId = DeviceId(0);
const VECTOR: &[u8] = include_bytes!("../hip/vector.gfx90a.co");
const JIT: &[u8] = include_bytes!("../hip/jit.gfx90a.co");
/// The calls of a sample, after which the host waits, and the samples.
const CALLS: usize = 500;
const SAMPLES: usize = 201;
/// The kernels of a graph.
const NODES: usize = 100;
/// Bytes of arguments of `saxpy`: a, x, y, n.
const SAXPY_BYTES: usize = 28;
const PATCHES: [Patch; 1] = [Patch { offset: 0, target: PatchTarget::Result }];

struct Rig {
    launcher: Launcher,
    stream: Stream,
    saxpy: KernelHandle,
    polynomial: KernelHandle,
    x: DeviceBuffer<f32>,
    y: DeviceBuffer<f32>,
    graph: CompiledGraph,
    values: [GraphValue; 2],
    raw: Raw,
    count: u32,
}

/// The same below the launcher.
struct Raw {
    streams: [RawStream; 2],
    event: RawEvent,
    function: RawFunction,
    kernarg: Vec<u8>,
    exec: RawGraphExec,
}

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

impl Raw {
    fn open(driver: &dyn Driver, x: u64, y: u64) -> Result<Raw> {
        let stream = || driver.stream_create(DEVICE, StreamOptions::default());
        // SAFETY: a code object of this repository.
        let module = unsafe { driver.module_load(DEVICE, VECTOR) }?;
        // SAFETY: the module is loaded, and never unloaded.
        let function = unsafe { driver.module_get_function(DEVICE, module, c"saxpy") }?;
        let bytes = hiplaunch::code_object::CodeObject::parse(VECTOR)?.kernel("saxpy")?.kernarg_size as usize;
        let mut kernarg = vec![0; bytes];
        kernarg[..4].copy_from_slice(&1.0f32.to_le_bytes());
        kernarg[8..16].copy_from_slice(&x.to_le_bytes());
        kernarg[16..24].copy_from_slice(&y.to_le_bytes());
        kernarg[24..SAXPY_BYTES].copy_from_slice(&64i32.to_le_bytes());
        let graph = driver.graph_create(DEVICE)?;
        let mut last = Vec::new();
        for _ in 0..NODES {
            let work = Raw::launch_of(function, &kernarg);
            // SAFETY: a live graph, its last node, and a kernel with all its arguments.
            last = vec![unsafe { driver.graph_add(DEVICE, graph, &last, &Work::Kernel(&work)) }?];
        }
        // SAFETY: a live graph.
        let exec = unsafe { driver.graph_instantiate(DEVICE, graph) }?;
        let event = driver.event_create(DEVICE, EventOptions { timing: false })?;
        Ok(Raw { streams: [stream()?, stream()?], event, function, kernarg, exec })
    }

    fn launch_of(function: RawFunction, kernarg: &[u8]) -> KernelLaunch<'_> {
        let (grid, block) = ([1, 1, 1], [64, 1, 1]);
        KernelLaunch { function, grid, block, dynamic_lds: 0, kernarg, accesses: &[] }
    }
}

impl Rig {
    fn open(backend: Backend) -> Result<Rig> {
        let launcher = Launcher::builder().backend(backend).validate(false).build()?;
        let device = launcher.device(0)?.clone();
        let stream = launcher.stream(&device)?;
        // SAFETY: code objects of this repository.
        let (saxpy, polynomial) = unsafe {
            (launcher.register(&device, VECTOR, "saxpy")?, launcher.register(&device, JIT, "jit_polynomial")?)
        };
        let (x, y) = (DeviceBuffer::new(&device, 64)?, DeviceBuffer::new(&device, 64)?);
        // As a driver's graph, whatever its length.
        launcher.set_graph_break_even(1);
        let mut g = launcher.graph(&device)?;
        let (from, to) = (g.buffer(&x)?, g.buffer(&y)?);
        for _ in 0..NODES {
            let args = [1.0f32.into(), GraphArg::Read(from), GraphArg::ReadWrite(to), 64i32.into()];
            // SAFETY: what the kernel takes.
            unsafe { g.launch(saxpy, LaunchDims::linear(1, 64), &args) }?;
        }
        let graph = g.compile(&stream)?;
        let raw = Raw::open(&**launcher.driver(), x.ptr().0, y.ptr().0)?;
        Ok(Rig { launcher, stream, saxpy, polynomial, x, y, graph, values: [from, to], raw, count: 0 })
    }

    fn driver(&self) -> &dyn Driver {
        &**self.launcher.driver()
    }

    fn by_value(&self) -> std::result::Result<(), Error> {
        let args = args![1.0f32, &self.x, &self.y, 64i32];
        // SAFETY: what the kernel takes.
        unsafe { self.launcher.launch(self.saxpy, &self.stream, LaunchDims::linear(1, 64), &args) }.map(drop)
    }

    /// An argument block with a 64-byte result, which is read.
    fn block(&mut self) -> std::result::Result<(), Error> {
        self.count += 1;
        let mut bytes = [0; 96];
        bytes[8..12].copy_from_slice(&16u32.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.count.to_le_bytes());
        let block = ArgumentBlock { bytes: &bytes, patches: &PATCHES, arrays: &[], result_bytes: 64 };
        let args = [Arg::ArgumentBlock(&block)];
        let launch = Launch::new(LaunchDims::linear(1, 64)).args(&args);
        // SAFETY: what the kernel takes.
        unsafe { self.launcher.submit(self.polynomial, &self.stream, launch) }?.read().map(drop)
    }

    /// Does one thing of a case.
    fn run(&mut self, case: Case) -> Result<()> {
        let [one, other] = self.raw.streams;
        let launch = Raw::launch_of(self.raw.function, &self.raw.kernarg);
        // SAFETY: live handles of this driver, and a kernel with all its arguments.
        unsafe {
            match case {
                Case::Launch => self.driver().enqueue(DEVICE, one, &Work::Kernel(&launch))?,
                Case::Event => {
                    self.driver().enqueue(DEVICE, one, &Work::Kernel(&launch))?;
                    self.driver().event_record(DEVICE, self.raw.event, one)?;
                }
                Case::Edge => {
                    self.driver().enqueue(DEVICE, one, &Work::Kernel(&launch))?;
                    self.driver().event_record(DEVICE, self.raw.event, one)?;
                    self.driver().stream_wait_event(DEVICE, other, self.raw.event)?;
                }
                Case::Wait => {
                    self.driver().enqueue(DEVICE, one, &Work::Kernel(&launch))?;
                    self.driver().stream_synchronize(DEVICE, one)?;
                }
                Case::Replay => self.driver().enqueue(DEVICE, one, &Work::Graph(self.raw.exec))?,
                Case::ByValue => self.by_value()?,
                Case::Block => self.block()?,
                Case::Graph => drop(self.graph.submit()?),
                Case::Rebound => {
                    self.count += 1;
                    let (x, y) =
                        if self.count.is_multiple_of(2) { (&self.x, &self.y) } else { (&self.y, &self.x) };
                    self.graph.set_buffer(&self.values[0], x)?;
                    self.graph.set_buffer(&self.values[1], y)?;
                    drop(self.graph.submit()?);
                }
            }
        }
        Ok(())
    }

    fn wait(&self) -> Result<()> {
        Ok(self.driver().device_synchronize(DEVICE)?)
    }
}

#[derive(Clone, Copy)]
enum Case {
    Launch,
    Event,
    Edge,
    Wait,
    Replay,
    ByValue,
    Block,
    Graph,
    Rebound,
}

const CASES: [(Case, &str, usize); 9] = [
    (Case::Launch, "driver: launch", 1),
    (Case::Event, "driver: launch, event", 1),
    (Case::Edge, "driver: launch, event, wait of another stream", 1),
    (Case::Wait, "driver: launch, wait", 1),
    (Case::Replay, "driver: graph of 100 kernels", 20),
    (Case::ByValue, "launcher: by value", 1),
    (Case::Block, "launcher: argument block, result read", 1),
    (Case::Graph, "launcher: graph of 100 kernels", 20),
    (Case::Rebound, "launcher: the same, rebound", 20),
];

/// The nanoseconds of one thing of a case: the median and the smallest of the samples.
fn measure(rig: &mut Rig, case: Case, share: usize, samples: usize) -> Result<(f64, f64)> {
    let calls = (CALLS / share).max(1);
    let mut all = Vec::with_capacity(samples);
    for _ in 0..samples {
        rig.wait()?;
        let start = Instant::now();
        for _ in 0..calls {
            rig.run(case)?;
        }
        all.push(start.elapsed().as_nanos() as f64 / calls as f64);
    }
    all.sort_by(f64::total_cmp);
    Ok((all[all.len() / 2], all[0]))
}

/// The process's memory in KiB, as Linux counts it; 0 elsewhere.
fn resident_kib() -> usize {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Does `count` launches, and one submission of a graph with other buffers for each ten, and prints what memory grew by.
fn grow(rig: &mut Rig, count: usize) -> Result<()> {
    let mut before = 0;
    for done in 0..count + count / 10 {
        rig.run(Case::ByValue)?;
        if done.is_multiple_of(10) {
            rig.run(Case::Rebound)?;
        }
        if done.is_multiple_of(1000) {
            rig.wait()?;
        }
        // What is made once is there then.
        if done == count / 10 {
            before = resident_kib();
        }
    }
    rig.wait()?;
    println!("{count} launches and {} graphs: {} KiB before, {} after", count / 10, before, resident_kib());
    Ok(())
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo bench` passes `--bench`, `cargo test` does not.
    let is_bench = arguments.iter().any(|argument| argument == "--bench");
    let words: Vec<&str> =
        arguments.iter().map(String::as_str).filter(|word| !word.starts_with("--")).collect();
    let backends = match words.first().filter(|_| is_bench) {
        Some(name) => vec![name.parse::<Backend>()?],
        None => Backend::OF_GPUS.to_vec(),
    };
    for backend in backends {
        let mut rig = match Rig::open(backend) {
            Ok(rig) => rig,
            Err(error) if !is_bench => {
                println!("skipped on {backend}: {error}");
                continue;
            }
            Err(error) => return Err(error),
        };
        if let [_, "only", name, count] = words[..] {
            let case = CASES.iter().find(|case| case.1 == name).ok_or("no such case")?.0;
            // What replaces the arguments of a driver's graph needs one.
            (0..3).try_for_each(|_| rig.run(Case::Graph))?;
            for done in 1..=count.parse::<usize>()? {
                rig.run(case)?;
                if done.is_multiple_of(CALLS) {
                    rig.wait()?;
                }
            }
            rig.wait()?;
            continue;
        }
        if let [_, "grow", count] = words[..] {
            grow(&mut rig, count.parse()?)?;
            continue;
        }
        println!("{} {}", rig.driver().info().name, rig.driver().info().version);
        for (case, name, share) in CASES {
            let (median, least) = measure(&mut rig, case, share, if is_bench { SAMPLES } else { 2 })?;
            println!("{name:45} {median:10.0} {least:10.0}");
        }
    }
    Ok(())
}
