//! Kernels that call the host, on HSA's queues: `printf` by calls and by a buffer, a failed assert, `malloc`.
//!
//! What they print goes to the standard output and error of the process, and a failed assert loses the device: each test runs in a process of its own.
//! Where HSA has no gfx90a, a test says so and does nothing.

use std::env;
use std::process::{Command, Output};
use std::sync::Arc;

use code_object::{CodeObject, KernelSignature};
use hip_driver::{
    DeviceId, DevicePtr, Driver, DriverResult, ErrorCode, KernelLaunch, RawFunction, RawStream,
    StreamOptions, Work,
};
use hsa_driver::HsaDriver;

const PRINTING: &[u8] = include_bytes!("../../amdgpu-emulator/tests/data/printing.gfx90a.bundle");
const HEAP: &[u8] = include_bytes!("../../amdgpu-emulator/tests/data/heap.gfx90a.bundle");
const OPENCL: &[u8] = include_bytes!("../../amdgpu-emulator/tests/data/compilers/opencl.gfx90a.co");

/// Names what the process of a test does.
const INSIDE: &str = "HSA_DRIVER_TEST_INSIDE";
const SKIPPED: &str = "skipped: ";
const DEVICE: DeviceId = DeviceId(0);

/// Runs a test's process. `None` if it was skipped, which is printed.
fn outside(test: &str) -> Option<(String, String, Output)> {
    let mut again = Command::new(env::current_exe().unwrap());
    let output = again.args(["--exact", "inside", "--nocapture"]).env(INSIDE, test).output().unwrap();
    let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    assert!(output.status.success(), "{test}: {}\n{out}{err}", output.status);
    if let Some(line) = out.lines().find(|line| line.starts_with(SKIPPED)) {
        println!("{line}");
        return None;
    }
    Some((out, err, output))
}

/// An argument of a kernel.
#[derive(Clone, Copy)]
enum Arg {
    U32(u32),
    U64(u64),
}

/// A device, and the kernels of a code object.
struct Rig {
    driver: Arc<dyn Driver>,
    object: CodeObject,
    stream: RawStream,
    module: hip_driver::RawModule,
}

impl Rig {
    fn new(image: &[u8]) -> Option<Rig> {
        let skip = |why: String| println!("{SKIPPED}{why}");
        let driver = HsaDriver::load().map_err(|error| skip(error.to_string())).ok()?.shared();
        if driver.device_count().unwrap() == 0 {
            skip("HSA has no GPU".to_owned());
            return None;
        }
        let target = driver.device_properties(DEVICE).unwrap().target;
        let object = CodeObject::from_any(image, &target).map_err(|error| skip(error.to_string())).ok()?;
        // SAFETY: the kernels are those of this test.
        let module = unsafe { driver.module_load(DEVICE, image) }.unwrap();
        let stream = driver.stream_create(DEVICE, StreamOptions::default()).unwrap();
        Some(Rig { driver, object, stream, module })
    }

    /// Allocates words of a value.
    fn words(&self, value: u32, count: usize) -> DevicePtr {
        let dst = self.driver.malloc(DEVICE, 4 * count).unwrap();
        let fill = Work::FillWords { dst, value, count };
        // SAFETY: live handles and memory.
        unsafe { self.driver.enqueue(DEVICE, self.stream, &fill) }.unwrap();
        dst
    }

    fn read(&self, src: DevicePtr, count: usize) -> Vec<u32> {
        let mut words = vec![0u32; count];
        let copy = Work::CopyToHost { dst: words.as_mut_ptr().cast(), src, bytes: 4 * count };
        // SAFETY: live memory of as many bytes.
        unsafe { self.driver.copy_blocking(DEVICE, &copy) }.unwrap();
        words
    }

    fn function(&self, kernel: &str) -> (RawFunction, &KernelSignature) {
        let name = std::ffi::CString::new(kernel).unwrap();
        // SAFETY: a live module.
        let function = unsafe { self.driver.module_get_function(DEVICE, self.module, &name) }.unwrap();
        (function, self.object.kernel(kernel).unwrap())
    }

    /// Does something with a launch of a kernel.
    fn with<R>(
        &self,
        kernel: &str,
        [grid, block]: [u32; 2],
        args: &[Arg],
        act: impl FnOnce(&Work<'_>) -> R,
    ) -> R {
        let (function, signature) = self.function(kernel);
        let mut kernarg = vec![0; signature.kernarg_size as usize];
        for (place, arg) in signature.explicit_args().iter().zip(args) {
            let at = place.offset as usize;
            match arg {
                Arg::U32(value) => kernarg[at..at + 4].copy_from_slice(&value.to_le_bytes()),
                Arg::U64(value) => kernarg[at..at + 8].copy_from_slice(&value.to_le_bytes()),
            }
        }
        act(&Work::Kernel(&KernelLaunch {
            function,
            grid: [grid, 1, 1],
            block: [block, 1, 1],
            dynamic_lds: 0,
            kernarg: &kernarg,
            accesses: &[],
        }))
    }

    fn launch(&self, kernel: &str, shape: [u32; 2], args: &[Arg]) -> DriverResult<()> {
        // SAFETY: live handles, and arguments as the kernel has them.
        self.with(kernel, shape, args, |work| unsafe { self.driver.enqueue(DEVICE, self.stream, work) })
    }

    fn synchronize(&self) -> DriverResult<()> {
        // SAFETY: a live stream.
        unsafe { self.driver.stream_synchronize(DEVICE, self.stream) }
    }

    fn run(&self, kernel: &str, shape: [u32; 2], args: &[Arg]) {
        self.launch(kernel, shape, args).unwrap();
        self.synchronize().unwrap();
    }
}

/// What the process of a test does.
#[test]
fn inside() {
    match env::var(INSIDE).as_deref() {
        Ok("printf") => print_by_calls(),
        Ok("many") => print_from_many_waves(),
        Ok("buffer") => print_to_a_buffer(),
        Ok("graph") => print_in_a_graph(),
        Ok("assert") => fail_an_assert(),
        Ok("malloc") => allocate(),
        Ok("heap") => keep_and_take(),
        Ok("exit") => exit_while_a_kernel_prints(),
        _ => {}
    }
}

fn print_by_calls() {
    let Some(rig) = Rig::new(PRINTING) else { return };
    for _ in 0..2 {
        rig.run("print", [3, 100], &[Arg::U32(-42i32 as u32), Arg::U64(2.5f64.to_bits())]);
    }
}

#[test]
fn printf_prints_while_the_kernel_runs() {
    let Some((out, ..)) = outside("printf") else { return };
    for (block, item) in (0..3).flat_map(|block| [5, 37, 69].map(|item| (block, item))) {
        let line = format!(
            "item {item} of block {block}: -42 2.500 a string that is longer than one packet holds, so that it takes several of them to \
             arrive and %\n"
        );
        assert_eq!(out.matches(&line).count(), 2, "{line}{out}");
    }
}

fn print_from_many_waves() {
    let Some(rig) = Rig::new(PRINTING) else { return };
    let streams: Vec<RawStream> =
        (0..3).map(|_| rig.driver.stream_create(DEVICE, StreamOptions::default()).unwrap()).collect();
    let args = [Arg::U32(7), Arg::U64(0)];
    for stream in streams {
        // SAFETY: live handles, and arguments as the kernel has them.
        rig.with("print", [400, 256], &args, |work| unsafe { rig.driver.enqueue(DEVICE, stream, work) })
            .unwrap();
    }
    rig.driver.device_synchronize(DEVICE).unwrap();
}

/// More waves than the buffer has packets, from several streams.
#[test]
fn many_waves_print() {
    let Some((out, ..)) = outside("many") else { return };
    assert_eq!(out.matches(": 7 0.000 a string").count(), 3 * 400 * 8);
}

fn print_to_a_buffer() {
    let Some(rig) = Rig::new(OPENCL) else { return };
    for n in [5, 6] {
        rig.launch("print", [3, 70], &[Arg::U32(n)]).unwrap();
    }
    rig.synchronize().unwrap();
    println!("synchronized");
}

#[test]
fn printf_prints_a_buffer_behind_its_kernel() {
    let Some((out, ..)) = outside("buffer") else { return };
    let (out, after) = out.split_once("synchronized\n").unwrap();
    assert!(!after.contains("item:"), "{after}");
    let lines: Vec<&str> = out.lines().filter(|line| line.starts_with("item:")).collect();
    assert_eq!(lines.len(), 420);
    // Kernels of a stream print one behind the other.
    let first = "item:5 \"a:b\"  7.50 1,-2,3,5 a,14,1e 0x104 42949672960 1.250000,-2.500000";
    let second = "item:6 \"a:b\"  9.00 1,-2,3,6 a,14,1e 0x105 51539607552 1.250000,-2.500000";
    assert!(lines[..210].iter().all(|line| *line == first), "{out}");
    assert!(lines[210..].iter().all(|line| *line == second), "{out}");
    assert_eq!(out.matches("no arguments, 100%\n").count(), 420);
}

fn print_in_a_graph() {
    let (Some(calls), Some(buffer)) = (Rig::new(PRINTING), Rig::new(OPENCL)) else { return };
    let driver = &calls.driver;
    let graph = driver.graph_create(DEVICE).unwrap();
    // SAFETY: live handles, arguments as the kernels have them.
    let add = |after: &[_], work: &Work<'_>| unsafe { driver.graph_add(DEVICE, graph, after, work) }.unwrap();
    let first = buffer.with("print", [1, 1], &[Arg::U32(5)], |work| add(&[], work));
    let beside = buffer.with("print", [1, 1], &[Arg::U32(6)], |work| add(&[], work));
    let args = [Arg::U32(1), Arg::U64(2.5f64.to_bits())];
    calls.with("print", [1, 32], &args, |work| add(&[first, beside], work));
    // SAFETY: live handles.
    unsafe {
        let exec = driver.graph_instantiate(DEVICE, graph).unwrap();
        for _ in 0..3 {
            driver.enqueue(DEVICE, calls.stream, &Work::Graph(exec)).unwrap();
        }
    }
    calls.synchronize().unwrap();
}

#[test]
fn nodes_of_a_graph_print_at_each_launch() {
    let Some((out, ..)) = outside("graph") else { return };
    for line in ["item:5 ", "item:6 ", "item 5 of block 0: 1 2.500 "] {
        assert_eq!(out.matches(line).count(), 3, "{out}");
    }
}

fn fail_an_assert() {
    let Some(rig) = Rig::new(PRINTING) else { return };
    let values = rig.words(7, 64);
    rig.run("check", [1, 64], &[Arg::U64(values.0), Arg::U32(8)]);
    rig.launch("check", [1, 64], &[Arg::U64(values.0), Arg::U32(7)]).unwrap();
    let error = rig.synchronize().unwrap_err();
    println!("lost: {error}");
    assert!(error.code.is_sticky(), "{error}");
    assert!([ErrorCode::ASSERT, ErrorCode::LAUNCH_FAILURE].contains(&error.code), "{error}");
    assert!(error.to_string().contains("check"), "{error}");
    assert_eq!(rig.driver.malloc(DEVICE, 4).unwrap_err().code, error.code);
}

#[test]
fn a_failed_assert_is_printed_and_loses_the_device() {
    let Some((_, err, _)) = outside("assert") else { return };
    assert!(err.contains("values[threadIdx.x] < limit"), "{err}");
}

fn allocate() {
    let Some(rig) = Rig::new(PRINTING) else { return };
    let out = rig.words(0, 256);
    for _ in 0..2 {
        rig.run("heap", [4, 64], &[Arg::U64(out.0)]);
        assert_eq!(rig.read(out, 256), (0..256).map(|n| 6 * (n % 64)).collect::<Vec<u32>>());
    }
}

#[test]
fn kernels_allocate_and_free() {
    outside("malloc");
}

fn keep_and_take() {
    let Some(rig) = Rig::new(HEAP) else { return };
    let (values, out) = (rig.words(0, 128), rig.words(0, 64));
    for _ in 0..3 {
        rig.run("keep", [1, 64], &[Arg::U64(values.0)]);
        rig.run("take", [1, 64], &[Arg::U64(values.0), Arg::U64(out.0)]);
        assert_eq!(rig.read(out, 64), (0..64).map(|n| 3 * n).collect::<Vec<u32>>());
    }
}

/// In code object v5 the heap is an argument, and all kernels have the same: what one takes, another frees.
#[test]
fn the_heap_is_the_devices() {
    outside("heap");
}

fn exit_while_a_kernel_prints() {
    let Some(rig) = Rig::new(PRINTING) else { return };
    rig.run("print", [1, 64], &[Arg::U32(1), Arg::U64(0)]);
    rig.launch("print", [300, 100], &[Arg::U32(2), Arg::U64(0)]).unwrap();
    std::process::exit(0);
}

#[test]
fn a_process_ends_while_a_kernel_prints() {
    outside("exit");
}
