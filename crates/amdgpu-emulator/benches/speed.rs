//! Measures the speed of the interpreter on one thread, in million wave instructions per second:
//! `cargo bench -p amdgpu-emulator`.
//!
//! `cargo bench -p amdgpu-emulator -- [--level portable|avx2|avx512] [--threads N] [NAME...]`
//!
//! `-- --object FILE KERNEL load` loads another code object, whose kernel ends when all its arguments are 0.
//!
//! `-- --count N [--sanitize] NAME` only dispatches a small grid of a kernel N times, under a counter of the host's instructions: the
//! difference between two runs is that of their dispatches.

use std::error::Error;
use std::time::{Duration, Instant};

use amdgpu_emulator::{Dispatch, LoadedProgram, Machine, MachineConfig, SimdLevel};
use code_object::CodeObject;

const KERNELS: &[u8] = include_bytes!("data/kernels.gfx90a.co");
const MEMORY: &[u8] = include_bytes!("data/memory.gfx90a.co");
const MATRICES: [(&str, &[u8]); 4] = [
    ("gfx90a", include_bytes!("data/matrices.gfx90a.co")),
    ("gfx942", include_bytes!("data/matrices.gfx942.co")),
    ("gfx950", include_bytes!("data/matrices.gfx950.co")),
    ("gfx1100", include_bytes!("data/matrices.gfx1100.co")),
];
/// Kernels of matrix instructions, and the number of products that are added by each instruction.
const MATRIX_KERNELS: [(&str, u64); 12] = [
    ("matrix_f32", 1024),
    ("matrix_f16", 4096),
    ("matrix_bf16", 4096),
    ("matrix_f8", 8192),
    ("matrix_f16x2", 8192),
    ("matrix_bf16x2", 8192),
    ("matrix_f8f6f4", 32768),
    ("matrix_scaled_f8", 32768),
    ("matrix_scaled_f4", 32768),
    ("wmma_f16", 4096),
    ("wmma_bf16", 4096),
    ("wmma_i8", 4096),
];

/// The kernel's name, grid and block, and a function that returns the arguments for the addresses of two inputs and the
/// output.
type Case = (&'static str, [u32; 3], [u32; 3], fn([u64; 3]) -> Vec<u8>);

const CASES: &[Case] = &[
    ("xorshift", [64, 1, 1], [256, 1, 1], |[_, _, out]| pack(&[out], &[20_000])),
    ("mandelbrot", [40, 30, 1], [16, 16, 1], |[_, _, out]| pack(&[out], &[640, 480, 1000])),
    ("matmul", [16, 16, 1], [16, 16, 1], |[a, b, out]| pack(&[a, b, out], &[256])),
    ("nbody", [16, 1, 1], [256, 1, 1], |[a, _, out]| pack(&[a, out], &[4096])),
];

/// Small grids of the same kernels, and of another that streams, for `--count`.
const COUNTED: &[Case] = &[
    ("xorshift", [1, 1, 1], [256, 1, 1], |[_, _, out]| pack(&[out], &[2000])),
    ("mandelbrot", [4, 3, 1], [16, 16, 1], |[_, _, out]| pack(&[out], &[640, 480, 100])),
    ("matmul", [4, 4, 1], [16, 16, 1], |[a, b, out]| pack(&[a, b, out], &[64])),
    ("nbody", [2, 1, 1], [256, 1, 1], |[a, _, out]| pack(&[a, out], &[512])),
    ("add", [256, 1, 1], [256, 1, 1], |[a, b, out]| pack(&[a, b, out], &[65536])),
];

/// Kernels of `data/memory.hip`, in workgroups of 256.
const MEMORY_CASES: &[Case] = &[
    ("add", [256, 1, 1], [256, 1, 1], |[a, b, out]| pack(&[a, b, out], &[])),
    ("copy16", [64, 1, 1], [256, 1, 1], |[a, _, out]| pack(&[a, out], &[])),
    ("add16", [256, 1, 1], [256, 1, 1], |[a, b, out]| pack(&[a, b, out], &[])),
    ("gather", [256, 1, 1], [256, 1, 1], |[a, _, out]| pack(&[a, out], &[])),
    ("rows", [16, 1, 1], [256, 1, 1], |[a, _, out]| pack(&[a, out], &[])),
    ("softmax", [16, 1, 1], [256, 1, 1], |[a, _, out]| pack(&[a, out], &[])),
    ("histogram", [64, 1, 1], [256, 1, 1], |[a, _, out]| pack(&[a, out], &[])),
];

fn pack(pointers: &[u64], words: &[u32]) -> Vec<u8> {
    let mut bytes: Vec<u8> = pointers.iter().flat_map(|p| p.to_le_bytes()).collect();
    bytes.extend(words.iter().flat_map(|w| w.to_le_bytes()));
    bytes
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut config = MachineConfig { threads: 1, ..MachineConfig::default() };
    let (mut names, mut count) = (Vec::new(), 0);
    let (mut object, mut kernel) = (KERNELS.to_vec(), "xorshift".to_owned());
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--level" => {
                config.level = match args.next().as_deref() {
                    Some("portable") => SimdLevel::Portable,
                    Some("avx512") => SimdLevel::Avx512,
                    _ => SimdLevel::Avx2,
                }
            }
            "--sanitize" => config.sanitize = true,
            "--count" => count = args.next().ok_or("--count N")?.parse()?,
            "--object" => {
                object = std::fs::read(args.next().ok_or("--object FILE KERNEL")?)?;
                kernel = args.next().ok_or("--object FILE KERNEL")?;
            }
            "--threads" => config.threads = args.next().ok_or("--threads N")?.parse()?,
            // Cargo passes this argument.
            "--bench" => {}
            _ => names.push(arg),
        }
    }
    let machine = Machine::new(config)?;
    let program = machine.load(&CodeObject::parse(KERNELS)?)?;
    let buffers = inputs_and_output(&machine)?;
    if count > 0 {
        machine.memory().fill(buffers[2], &[0], 2 << 20)?;
        let memory = machine.load(&CodeObject::parse(MEMORY)?)?;
        let counted = COUNTED.iter().map(|case| (&program, case));
        let cases = counted.chain(MEMORY_CASES.iter().map(|case| (&memory, case)));
        let mut cases = cases.filter(|(_, case)| names.iter().any(|name| name == case.0));
        return cases.try_for_each(|(program, case)| dispatches(&machine, program, case, buffers, count));
    }
    let large = machine.memory().alloc(32 << 20, 0)?;
    println!("{} thread(s), {:?}", machine.config().threads, machine.config().level);
    for case in CASES.iter().filter(|case| names.is_empty() || names.iter().any(|n| n == case.0)) {
        let (rate, instructions) = measure(&machine, &program, case, buffers)?;
        println!("{:12} {rate:8.1} M wave instructions/s  ({instructions} a launch)", case.0);
    }
    for (target, object) in MATRICES {
        let program = machine.load(&CodeObject::parse(object)?)?;
        for (name, macs) in MATRIX_KERNELS {
            let chosen = names.is_empty() || names.iter().any(|n| n == name);
            if !chosen || program.kernel_index(name).is_none() {
                continue;
            }
            // One wave.
            let block = if target == "gfx1100" { 32 } else { 64 };
            let case: Case = (name, [4, 1, 1], [block, 1, 1], |[_, _, out]| pack(&[out], &[200]));
            let (rate, instructions) = measure(&machine, &program, &case, buffers)?;
            // 32 matrix instructions in each of 200 iterations of four waves.
            let share = (4 * 200 * 32) as f64 / instructions as f64;
            println!("{target} {name:16} {:6.2} G multiply-adds/s", rate * share * macs as f64 / 1e3);
        }
    }
    if names.is_empty() || names.iter().any(|n| n == "load") {
        load(&machine, &object, &kernel, &pack(&[buffers[2]], &[0]))?;
    }
    if names.is_empty() || names.iter().any(|n| n == "waves") {
        // A kernel of 17 instructions, in as many waves as a launch of one element a work-item has.
        let case: Case = ("xorshift", [4096, 1, 1], [1024, 1, 1], |[_, _, out]| pack(&[out], &[0]));
        let (rate, instructions) = measure(&machine, &program, &case, [buffers[0], buffers[1], large])?;
        let (waves, micros) = (4096 * 16, instructions as f64 / rate);
        println!("a wave of {} instructions: {:.0} ns", instructions / waves, micros * 1e3 / waves as f64);
    }
    if names.is_empty() || names.iter().any(|n| n == "sanitized") {
        sanitized(machine.config(), &names)?;
    }
    if names.is_empty() || names.iter().any(|n| n == "memory") {
        memory(&machine)?;
        stream(&machine, &program)?;
        allocations(&machine)?;
    }
    if names.is_empty() || names.iter().any(|n| n == "launch") {
        launches(&machine, &program, buffers[2])?;
    }
    Ok(())
}

/// Allocates and fills two inputs, and allocates an output.
fn inputs_and_output(machine: &Machine) -> Result<[u64; 3], Box<dyn Error>> {
    let memory = machine.memory();
    let buffers = [memory.alloc(256 << 10, 0)?, memory.alloc(256 << 10, 0)?, memory.alloc(2 << 20, 0)?];
    let floats: Vec<u8> =
        (0..65536u32).flat_map(|n| ((n * 7919 % 1000) as f32 / 500.0 - 1.0).to_le_bytes()).collect();
    memory.write(buffers[0], &floats)?;
    memory.write(buffers[1], &floats)?;
    Ok(buffers)
}

/// Measures how much slower kernels are with the sanitizer: those that `names` has, or all.
fn sanitized(config: &MachineConfig, names: &[String]) -> Result<(), Box<dyn Error>> {
    let (mut logarithms, mut count) = (0.0, 0);
    let is_named = |case: &&Case| names.iter().any(|name| name == case.0);
    let all = !CASES.iter().chain(MEMORY_CASES).any(|case| is_named(&case));
    for (object, cases) in [(KERNELS, CASES), (MEMORY, MEMORY_CASES)] {
        for case in cases.iter().filter(|case| all || is_named(case)) {
            let mut rates = [0.0; 2];
            for (rate, sanitize) in rates.iter_mut().zip([false, true]) {
                let machine = Machine::new(MachineConfig { sanitize, ..config.clone() })?;
                let program = machine.load(&CodeObject::parse(object)?)?;
                let buffers = inputs_and_output(&machine)?;
                // Fills the output, so that atomics find it written.
                machine.memory().fill(buffers[2], &[0], 2 << 20)?;
                *rate = measure(&machine, &program, case, buffers)?.0;
            }
            let factor = rates[0] / rates[1];
            println!(
                "{:12} {:8.1} M/s, sanitized {:8.1}: {factor:5.2} times slower",
                case.0, rates[0], rates[1]
            );
            (logarithms, count) = (logarithms + factor.ln(), count + 1);
        }
    }
    println!("sanitized: {:.2} times slower in the geometric mean", (logarithms / f64::from(count)).exp());
    Ok(())
}

/// Measures launches of a short kernel, which writes to `out`.
fn launches(machine: &Machine, program: &LoadedProgram, out: u64) -> Result<(), Box<dyn Error>> {
    let kernel = program.kernel_index("xorshift").ok_or("no such kernel")?;
    let kernarg = pack(&[out], &[0]);
    for (grid, block) in [(1, 64), (1, 1024), (16, 256)] {
        let dispatch = Dispatch {
            cooperative: false,
            kernel,
            grid: [grid, 1, 1],
            block: [block, 1, 1],
            dynamic_lds: 0,
            kernarg: &kernarg,
        };
        let (start, count) = (Instant::now(), 20_000);
        for _ in 0..count {
            machine.dispatch(program, &dispatch)?;
        }
        let micros = start.elapsed().as_secs_f64() * 1e6 / f64::from(count);
        println!("launch of {grid} x {block:4} work-items: {micros:6.2} us");
    }
    Ok(())
}

/// Measures fills and copies of 64 MiB, beside those of the host's memory by the standard library.
fn memory(machine: &Machine) -> Result<(), Box<dyn Error>> {
    const BYTES: u64 = 64 << 20;
    let memory = machine.memory();
    let (a, b) = (memory.alloc(BYTES, 0)?, memory.alloc(BYTES, 0)?);
    let (mut x, mut y) = (vec![1u8; BYTES as usize], vec![2u8; BYTES as usize]);
    let report = |what: &str, run: &mut dyn FnMut() -> Result<(), Box<dyn Error>>| {
        let mut best = f64::MAX;
        for _ in 0..10 {
            let start = Instant::now();
            run()?;
            best = best.min(start.elapsed().as_secs_f64());
        }
        println!("{what:28} {:6.2} GB/s", BYTES as f64 / best / 1e9);
        Ok::<(), Box<dyn Error>>(())
    };
    report("fill of bytes", &mut || Ok(memory.fill(a, &[7], BYTES)?))?;
    report("fill of dwords", &mut || Ok(memory.fill(a, &[1, 2, 3, 4], BYTES / 4)?))?;
    report("copy, device to device", &mut || Ok(memory.copy(b, a, BYTES)?))?;
    report("write from the host", &mut || Ok(memory.write(a, &x)?))?;
    report("read to the host", &mut || Ok(memory.read(a, &mut y)?))?;
    report("the host's own fill", &mut || {
        y.fill(std::hint::black_box(3));
        Ok(())
    })?;
    report("the host's own copy", &mut || {
        x.copy_from_slice(std::hint::black_box(&y));
        Ok(())
    })?;
    memory.free(a)?;
    memory.free(b)?;
    Ok(())
}

/// Measures a kernel that adds two arrays of 32 MiB, beside the host's copy of as many bytes.
fn stream(machine: &Machine, program: &LoadedProgram) -> Result<(), Box<dyn Error>> {
    const BYTES: u64 = 32 << 20;
    let memory = machine.memory();
    let (a, b, c) = (memory.alloc(BYTES, 0)?, memory.alloc(BYTES, 0)?, memory.alloc(BYTES, 0)?);
    let kernel = program.kernel_index("add").ok_or("no such kernel")?;
    let words = BYTES as u32 / 4;
    let kernarg = pack(&[a, b, c], &[words]);
    let (grid, block) = ([words / 256, 1, 1], [256, 1, 1]);
    let dispatch = Dispatch { cooperative: false, kernel, grid, block, dynamic_lds: 0, kernarg: &kernarg };
    let (mut best, mut best_copy) = (f64::MAX, f64::MAX);
    // A copy reads and writes each byte.
    let (x, mut y) = (vec![1u8; 3 * BYTES as usize / 2], vec![2u8; 3 * BYTES as usize / 2]);
    for _ in 0..10 {
        let start = Instant::now();
        machine.dispatch(program, &dispatch)?;
        best = best.min(start.elapsed().as_secs_f64());
        let start = Instant::now();
        y.copy_from_slice(std::hint::black_box(&x));
        best_copy = best_copy.min(start.elapsed().as_secs_f64());
        std::hint::black_box(&mut y);
    }
    let rate = |seconds: f64| 3.0 * BYTES as f64 / seconds / 1e9;
    println!("kernel that adds two arrays: {:.2} GB/s; the host's copy {:.2}", rate(best), rate(best_copy));
    for ptr in [a, b, c] {
        memory.free(ptr)?;
    }
    Ok(())
}

/// Measures allocating memory, writing to each page, and freeing it.
fn allocations(machine: &Machine) -> Result<(), Box<dyn Error>> {
    for bytes in [64u64 << 10, 1 << 20, 64 << 20] {
        let mut best = f64::MAX;
        for _ in 0..20 {
            let start = Instant::now();
            let ptr = machine.memory().alloc(bytes, 0)?;
            for page in (0..bytes).step_by(4096) {
                machine.memory().write(ptr + page, &[1; 4])?;
            }
            machine.memory().free(ptr)?;
            best = best.min(start.elapsed().as_secs_f64());
        }
        println!("allocation of {:5} KiB, each page written: {:8.1} us", bytes >> 10, best * 1e6);
    }
    Ok(())
}

/// Measures loading a code object: parsing it, copying it to memory, and a launch of one wave, before which the kernel's code is
/// decoded. The kernel of this bench's own object gets `arguments`, another gets zeros.
fn load(machine: &Machine, object: &[u8], name: &str, arguments: &[u8]) -> Result<(), Box<dyn Error>> {
    let mut kernarg = vec![0; CodeObject::parse(object)?.kernel(name)?.kernarg_size as usize];
    if object == KERNELS {
        kernarg[..arguments.len()].copy_from_slice(arguments);
    }
    let begin = Instant::now();
    let ([mut parse, mut map, mut run], mut loads) = ([0.0; 3], 0);
    while begin.elapsed() < Duration::from_secs(2) {
        let start = now(begin, true);
        let code = CodeObject::parse(object)?;
        let parsed = now(begin, true);
        let program = machine.load(&code)?;
        let mapped = now(begin, true);
        let kernel = program.kernel_index(name).ok_or("no such kernel")?;
        let (grid, block) = ([1, 1, 1], [64, 1, 1]);
        machine.dispatch(
            &program,
            &Dispatch { cooperative: false, kernel, grid, block, dynamic_lds: 0, kernarg: &kernarg },
        )?;
        parse += parsed - start;
        map += mapped - parsed;
        run += now(begin, true) - mapped;
        loads += 1;
    }
    let each = 1e6 / f64::from(loads);
    println!(
        "load of {} KB: {:.0} us parsed, {:.0} mapped, {:.0} decoded and launched: {:.0} MB/s",
        object.len() / 1000,
        parse * each,
        map * each,
        run * each,
        object.len() as f64 / each / (parse + map + run)
    );
    Ok(())
}

/// Returns the CPU time of this thread in seconds on Linux, so that other processes don't matter; otherwise the time
/// since `start`.
fn now(start: Instant, cpu: bool) -> f64 {
    #[cfg(target_os = "linux")]
    if cpu {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        return time.tv_sec as f64 + time.tv_nsec as f64 / 1e9;
    }
    let _ = cpu;
    start.elapsed().as_secs_f64()
}

/// Dispatches a kernel some times.
fn dispatches(
    machine: &Machine,
    program: &LoadedProgram,
    (name, grid, block, args): &Case,
    buffers: [u64; 3],
    count: u32,
) -> Result<(), Box<dyn Error>> {
    let kernel = program.kernel_index(name).ok_or("no such kernel")?;
    let kernarg = args(buffers);
    let (grid, block) = (*grid, *block);
    let dispatch = Dispatch { cooperative: false, kernel, grid, block, dynamic_lds: 0, kernarg: &kernarg };
    (0..count).try_for_each(|_| machine.dispatch(program, &dispatch).map(drop))?;
    Ok(())
}

/// Returns the speed of the fastest launch of those that fit into two seconds.
fn measure(
    machine: &Machine,
    program: &LoadedProgram,
    (name, grid, block, args): &Case,
    buffers: [u64; 3],
) -> Result<(f64, u64), Box<dyn Error>> {
    let kernel = program.kernel_index(name).ok_or("no such kernel")?;
    let kernarg = args(buffers);
    let dispatch = Dispatch {
        cooperative: false,
        kernel,
        grid: *grid,
        block: *block,
        dynamic_lds: 0,
        kernarg: &kernarg,
    };
    let begin = Instant::now();
    let (mut best, mut instructions) = (f64::MAX, 0);
    while begin.elapsed() < Duration::from_secs(2) {
        let one = machine.config().threads == 1;
        let start = now(begin, one);
        instructions = machine.dispatch(program, &dispatch)?.wave_instructions;
        best = best.min(now(begin, one) - start);
    }
    Ok((instructions as f64 / best / 1e6, instructions))
}
