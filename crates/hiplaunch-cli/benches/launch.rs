//! Measures the launcher's own cost of a launch, on a driver that does nothing.
//!
//! `cargo bench -p hiplaunch-cli --bench launch` prints the heap allocations of a launch, which must be 0, and the
//! times. With `-- --count CASE N`, it launches N times and exits, for an instruction counter: the difference of two
//! runs is the cost of the launches alone (see BENCHMARKS.md). With `-- --threads CASE`, it prints the processor time of a
//! launch for 1, 2 and 8 threads, each on its own stream: it grows if the threads hinder each other, and does not depend on
//! other work of the machine. `hiplaunch bench` measures whole launches on a driver, and compares methods.

use criterion::{Criterion, Throughput};
use hip_driver::noop;
use hiplaunch::code_object::{Processor, TargetId};
use hiplaunch::driver::Capabilities;
use hiplaunch::{
    Arg, ArgumentBlock, DeviceBuffer, FatBinary, KernelHandle, Launch, LaunchDims, Launcher, LazyModule,
    Patch, PatchTarget, Registration, Staging, Stream, args,
};
use hiplaunch_testing::counting;
use std::hint::black_box;

const VECTOR: &[u8] = include_bytes!("../../../hip/vector.gfx90a.co");
const JIT: &[u8] = include_bytes!("../../../hip/jit.gfx90a.co");

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;

struct Bench {
    launcher: Launcher,
    stream: Stream,
    saxpy: KernelHandle,
    polynomial: KernelHandle,
    x: DeviceBuffer<f32>,
    y: DeviceBuffer<f32>,
    bytes: [u8; 96],
    count: u32,
}

const PATCHES: [Patch; 1] = [Patch { offset: 0, target: PatchTarget::Result }];

impl Bench {
    /// Registers `kernels` further kernels between those that are launched.
    fn new(kernels: usize) -> Result<Bench, hiplaunch::Error> {
        let launcher = Launcher::builder().driver(noop::NoopDriver::open()).validate(false).build()?;
        let device = launcher.device(0)?.clone();
        let stream = launcher.stream(&device)?;
        // SAFETY: the driver runs nothing.
        let (vector, jit) =
            unsafe { (hiplaunch::Module::load(&device, VECTOR)?, hiplaunch::Module::load(&device, JIT)?) };
        for _ in 0..kernels / 2 {
            launcher.register_kernel(Registration::new(&vector, "vadd_f32"))?;
        }
        let saxpy = launcher.register_kernel(Registration::new(&vector, "saxpy"))?;
        let polynomial = launcher.register_kernel(Registration::new(&jit, "jit_polynomial"))?;
        for _ in 0..kernels / 2 {
            launcher.register_kernel(Registration::new(&vector, "vadd_f32"))?;
        }
        let (x, y) = (DeviceBuffer::new(&device, 1024)?, DeviceBuffer::new(&device, 1024)?);
        let mut bytes = [0; 96];
        bytes[8..12].copy_from_slice(&16u32.to_le_bytes());
        Ok(Bench { launcher, stream, saxpy, polynomial, x, y, bytes, count: 0 })
    }

    /// The same kernels on another stream, with buffers of its own.
    #[cfg(unix)]
    fn on_another_stream(&self) -> Result<Bench, hiplaunch::Error> {
        let stream = self.launcher.stream(self.stream.device())?;
        let (x, y) = (DeviceBuffer::on(&stream, 1024)?, DeviceBuffer::on(&stream, 1024)?);
        let Bench { saxpy, polynomial, bytes, .. } = *self;
        Ok(Bench { launcher: self.launcher.clone(), stream, saxpy, polynomial, x, y, bytes, count: 0 })
    }

    fn by_value(&mut self) {
        self.count += 1;
        let args = args![self.count as f32, &self.x, &self.y, 1024i32];
        // SAFETY: the driver runs nothing.
        let ticket =
            unsafe { self.launcher.launch(self.saxpy, &self.stream, LaunchDims::linear(4, 256), &args) };
        black_box(ticket.is_ok());
    }

    fn without_ticket(&mut self) {
        self.count += 1;
        let args = args![self.count as f32, &self.x, &self.y, 1024i32];
        let launch = Launch::new(LaunchDims::linear(4, 256)).args(&args);
        // SAFETY: the driver runs nothing.
        black_box(unsafe { self.launcher.enqueue(self.saxpy, &self.stream, launch) }.is_ok());
    }

    fn destination_launch(&mut self) {
        self.count += 1;
        let args = args![self.count as f32, &self.x, Arg::Destination, 1024i32];
        let launch = Launch::new(LaunchDims::linear(4, 256)).args(&args).destination(&mut self.y, &[1024]);
        // SAFETY: the driver runs nothing.
        black_box(unsafe { self.launcher.enqueue(self.saxpy, &self.stream, launch) }.is_ok());
    }

    fn packed(&mut self) {
        self.count += 1;
        let mut packed = [0u8; 28];
        packed[..4].copy_from_slice(&self.count.to_le_bytes());
        packed[8..16].copy_from_slice(&self.x.ptr().0.to_le_bytes());
        packed[16..24].copy_from_slice(&self.y.ptr().0.to_le_bytes());
        packed[24..].copy_from_slice(&1024i32.to_le_bytes());
        let launch = Launch::new(LaunchDims::linear(4, 256)).packed(&packed);
        // SAFETY: the driver runs nothing.
        let ticket = unsafe { self.launcher.submit(self.saxpy, &self.stream, launch) };
        black_box(ticket.is_ok());
    }

    /// An argument block with a 64-byte result and its ticket, read.
    fn block(&mut self, changed: bool, staging: Staging) {
        if changed {
            self.count += 1;
            self.bytes[16..20].copy_from_slice(&self.count.to_le_bytes());
        }
        let block = ArgumentBlock { bytes: &self.bytes, patches: &PATCHES, arrays: &[], result_bytes: 64 };
        let args = [Arg::ArgumentBlock(&block)];
        let launch = Launch::new(LaunchDims::linear(1, 64)).args(&args).staging(staging);
        // SAFETY: the driver runs nothing.
        let ticket = unsafe { self.launcher.submit(self.polynomial, &self.stream, launch) };
        if let Ok(output) = ticket.and_then(|t| t.read()) {
            black_box(output.bytes(0).map(|b| b[0]).ok());
        }
    }

    fn run(&mut self, case: &str) -> bool {
        match case {
            "by-value" => self.by_value(),
            "by-value, no ticket" => self.without_ticket(),
            "destination" => self.destination_launch(),
            "packed" => self.packed(),
            "block+result" => self.block(true, Staging::Copy),
            "block unchanged+result" => self.block(false, Staging::Copy),
            "mapped+result" => self.block(true, Staging::Mapped),
            _ => return false,
        }
        true
    }
}

const CASES: [&str; 7] = [
    "by-value",
    "by-value, no ticket",
    "destination",
    "packed",
    "block+result",
    "block unchanged+result",
    "mapped+result",
];

/// Launches by one handle, in turn on each of several devices.
struct Devices {
    launcher: Launcher,
    saxpy: KernelHandle,
    /// A stream and a buffer of each device.
    devices: Vec<(Stream, DeviceBuffer<f32>)>,
    next: usize,
}

impl Devices {
    fn new(devices: usize) -> Result<Devices, hiplaunch::Error> {
        let target = TargetId::new(Processor::Gfx90a);
        let driver = noop::NoopDriver::with_devices(vec![target; devices], Capabilities::NONE);
        let launcher = Launcher::builder().driver(driver).validate(false).build()?;
        // SAFETY: the driver runs nothing.
        let vector = unsafe { LazyModule::new(FatBinary::new("vector", VECTOR)) };
        let saxpy = launcher.register_kernel(Registration::new(&vector, "saxpy"))?;
        let of_device = |device| Ok((launcher.stream(device)?, DeviceBuffer::new(device, 1024)?));
        let devices = launcher.devices().iter().map(of_device).collect::<Result<_, hiplaunch::Error>>()?;
        Ok(Devices { launcher, saxpy, devices, next: 0 })
    }

    fn launch(&mut self) {
        self.next = if self.next + 1 < self.devices.len() { self.next + 1 } else { 0 };
        let (stream, x) = &self.devices[self.next];
        let args = args![1.0f32, x, x, 1024i32];
        // SAFETY: the driver runs nothing.
        let ticket = unsafe { self.launcher.launch(self.saxpy, stream, LaunchDims::linear(4, 256), &args) };
        black_box(ticket.is_ok());
    }
}

/// The `N` of the case `N devices`.
fn devices_of(case: &str) -> Option<usize> {
    case.strip_suffix(" devices")?.parse().ok()
}

fn count(case: &str, launches: u64) -> Result<(), hiplaunch::Error> {
    if let Some(devices) = devices_of(case) {
        let mut bench = Devices::new(devices)?;
        (0..launches).for_each(|_| bench.launch());
        return Ok(());
    }
    let mut bench = Bench::new(0)?;
    for _ in 0..launches {
        if !bench.run(case) {
            eprintln!("no case `{case}`: use one of {CASES:?}, or a number and `devices`");
            std::process::exit(2);
        }
    }
    Ok(())
}

/// The launches of a thread in one measurement.
const LAUNCHES: u32 = 20_000;
/// The measurements for each number of threads.
const REPEATS: usize = 40;

/// Returns the processor time in nanoseconds that `thread` takes for a launch.
#[cfg(unix)]
fn processor_time_of_a_launch(thread: &mut Bench, case: &str) -> f64 {
    let now = || {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` is valid for writes.
        assert_eq!(unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) }, 0);
        time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
    };
    (0..LAUNCHES / 10).for_each(|_| assert!(thread.run(case)));
    let start = now();
    (0..LAUNCHES).for_each(|_| assert!(thread.run(case)));
    (now() - start) / f64::from(LAUNCHES)
}

#[cfg(unix)]
fn threads(case: &str) -> Result<(), hiplaunch::Error> {
    let first = Bench::new(0)?;
    if !CASES.contains(&case) {
        eprintln!("no case `{case}`: use one of {CASES:?}");
        std::process::exit(2);
    }
    for count in [1, 2, 8] {
        let mut benches = (0..count).map(|_| first.on_another_stream()).collect::<Result<Vec<_>, _>>()?;
        let mut times: Vec<f64> = (0..REPEATS)
            .map(|_| {
                std::thread::scope(|scope| {
                    let start = |thread| scope.spawn(move || processor_time_of_a_launch(thread, case));
                    let running: Vec<_> = benches.iter_mut().map(start).collect();
                    let all = running.into_iter().map(|thread| thread.join().expect("a thread panicked"));
                    all.sum::<f64>() / f64::from(count)
                })
            })
            .collect();
        times.sort_by(f64::total_cmp);
        let (best, median) = (times[0], times[REPEATS / 2]);
        println!("{case}, threads {count}: {best:.1} ns of processor time a launch, median {median:.1}");
    }
    Ok(())
}

fn main() -> Result<(), hiplaunch::Error> {
    let words: Vec<String> = std::env::args().collect();
    if let Some(at) = words.iter().position(|w| w == "--count")
        && let (Some(case), Some(Ok(launches))) = (words.get(at + 1), words.get(at + 2).map(|n| n.parse()))
    {
        return count(case, launches);
    }
    #[cfg(unix)]
    if let Some(at) = words.iter().position(|w| w == "--threads")
        && let Some(case) = words.get(at + 1)
    {
        return threads(case);
    }

    let mut bench = Bench::new(0)?;
    for case in CASES {
        (0..10_000).for_each(|_| assert!(bench.run(case)));
        let before = counting::process_heap_allocations();
        (0..10_000).for_each(|_| assert!(bench.run(case)));
        let made = counting::process_heap_allocations() - before;
        println!("{case}: {made} heap allocations in 10000 launches");
        assert_eq!(made, 0, "{case} allocates in steady state");
    }

    let mut criterion = Criterion::default().configure_from_args();
    for kernels in [0, 100_000] {
        let mut bench = Bench::new(kernels)?;
        let mut group = criterion.benchmark_group(format!("launch, {} kernels registered", kernels + 2));
        group.throughput(Throughput::Elements(1));
        for case in CASES {
            group.bench_function(case, |b| b.iter(|| bench.run(case)));
        }
        group.finish();
    }
    let mut group = criterion.benchmark_group("launch by value, one handle, in turn on");
    group.throughput(Throughput::Elements(1));
    for devices in [1, 2, 4, 8] {
        let mut bench = Devices::new(devices)?;
        group.bench_function(format!("{devices} devices"), |b| b.iter(|| bench.launch()));
    }
    group.finish();
    criterion.final_summary();
    Ok(())
}
