//! Tests of the sanitizer's reports of missing waits.
//!
//! The kernels are compiled correctly, so a defect is made of one by replacing an `s_waitcnt` with an `s_nop`. Whether a
//! result then depends on the wait shows if results are delivered as late as the other waits allow.

mod common;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex};

use amdgpu_emulator::{Defect, DefectKind, Error, InstructionTrace, MachineConfig, MemorySpace, TraceFilter};
use common::{Arg, Rig, U32, U64, threads};

/// An argument of a launch: a buffer with its contents, or a number.
enum Value {
    Words(Vec<u32>),
    Number(u32),
    Wide(u64),
}
use Value::{Number, Wide, Words};

/// A launch of one kernel.
struct Launch {
    /// The code object's path from this package's folder.
    file: &'static str,
    kernel: &'static str,
    grid: u32,
    block: [u32; 2],
    dynamic_lds: u32,
    args: Vec<Value>,
}

fn launch(file: &'static str, kernel: &'static str, grid: u32, block: u32, args: Vec<Value>) -> Launch {
    Launch { file, kernel, grid, block: [block, 1], dynamic_lds: 4096, args }
}

/// Small numbers, each different from its neighbours.
fn integers(count: u32) -> Value {
    Words((0..count).map(|n| n * 7 % 251 + 1).collect())
}

fn floats(count: u32) -> Value {
    Words((0..count).map(|n| ((n * 7 % 251) as f32 / 8.0 + 1.0).to_bits()).collect())
}

fn doubles(count: u32) -> Value {
    let bits = (0..count).map(|n| (f64::from(n * 7 % 251) / 8.0 + 1.0).to_bits());
    Words(bits.flat_map(|bits| [bits as u32, (bits >> 32) as u32]).collect())
}

fn zeros(count: usize) -> Value {
    Words(vec![0; count])
}

#[rustfmt::skip]
fn launches() -> Vec<Launch> {
    let square = || vec![floats(400), floats(400), zeros(400), Number(20), Number(20), Number(20)];
    let a = Number(2.5f32.to_bits());
    let triton = || vec![floats(1536), floats(1024), zeros(1536), Number(128), Number(32)];
    vec![
        Launch { grid: 4, block: [16, 16], ..launch("../../hip/tensor.gfx90a.co", "product_f32", 4, 0, square()) },
        Launch { grid: 4, block: [16, 16], ..launch("../../hip/tensor.gfx942.co", "product_i32", 4, 0, square()) },
        launch("../../hip/tensor.gfx90a.co", "sum_rows_f64", 2, 256, vec![doubles(600), zeros(4), Number(300), Number(2)]),
        launch("../../hip/tensor.gfx942.co", "sum_serial_f32", 1, 64, vec![floats(640), zeros(64), Number(10), Number(64), Number(64)]),
        launch("../../hip/tensor.gfx942.co", "div_f64_tt", 1, 64, vec![doubles(64), doubles(64), zeros(128), Number(64)]),
        launch("../../hip/tensor.gfx90a.co", "fma_f32_ttt", 1, 64, vec![floats(64), floats(64), floats(64), zeros(64), Number(64)]),
        Launch { block: [16, 16], ..launch("../../hip/matmul.gfx90a.co", "matmul_f32", 1, 0, square()) },
        launch("../../hip/reduce.gfx90a.co", "reduce_sum_f32", 2, 256, vec![floats(1000), zeros(2), Number(1000)]),
        launch("../../hip/reduce.gfx942.co", "reduce_sum_dyn_f32", 2, 128, vec![floats(1000), zeros(2), Number(1000)]),
        launch("../../hip/vector.gfx942.co", "saxpy", 2, 64, vec![a, floats(128), floats(128), Number(100)]),
        launch("../../hip/probe.gfx90a.co", "dynamic_lds_reverse", 1, 128, vec![floats(300), zeros(300), Number(300)]),
        launch("../../hip/probe.gfx942.co", "ids", 2, 128, vec![zeros(12 * 256)]),
        launch("tests/data/kernels.gfx90a.co", "last_block", 6, 128, vec![zeros(6), zeros(1), zeros(1), Number(6)]),
        launch("tests/data/kernels.gfx942.co", "recurse", 1, 64, vec![integers(64), Number(3)]),
        launch("tests/data/kernels.gfx90a.O0.co", "reverse", 2, 128, vec![integers(256)]),
        launch("tests/data/kernels.gfx90a.O0.co", "generic", 1, 64, vec![integers(64), Number(1)]),
        launch("tests/data/kernels.gfx90a.O0.co", "pointers", 1, 64, vec![integers(64)]),
        launch("tests/data/defects.gfx90a.co", "two_barriers", 2, 256, vec![integers(512), Number(3)]),
        launch("tests/data/defects.gfx90a.co", "histogram", 2, 128, vec![integers(256), zeros(16)]),
        launch("tests/data/compilers/triton.gfx942.co", "matmul_kernel", 3, 64, triton()),
        launch("tests/data/compilers/triton.gfx90a.O0.co", "softmax_kernel_0d1d2d34", 2, 256,
            vec![zeros(520), floats(512), Number(256), Number(260), Number(200), Wide(0), Wide(0)]),
        launch("tests/data/compilers/opencl.gfx90a.co", "reverse", 4, 64,
            vec![integers(256), Number(0), zeros(256), Number(256), Number(180)]),
        launch("tests/data/compilers/generic.co", "mixed", 2, 64, vec![zeros(128), Number(100)]),
        launch("tests/data/compilers/wave.gfx90a.co", "calls", 1, 64, vec![integers(64), zeros(64)]),
        launch("tests/data/compilers/wave.gfx942.co", "buffer", 1, 64, vec![integers(64), zeros(64)]),
        launch("tests/data/compilers/bytes.gfx90a.co", "bytes_and_halves", 2, 70, vec![zeros(18), zeros(2)]),
    ]
}

/// Runs a launch of the given code. Returns the contents of all buffers, or the error.
fn run(launch: &Launch, object: &[u8], config: &MachineConfig) -> Result<Vec<Vec<u32>>, Error> {
    let rig = Rig::new(config, launch.file, object);
    let mut buffers = Vec::new();
    let args: Vec<Arg> = launch
        .args
        .iter()
        .map(|value| match value {
            Words(words) => {
                let address = rig.words(words);
                buffers.push((address, words.len()));
                U64(address)
            }
            Number(number) => U32(*number),
            Wide(number) => U64(*number),
        })
        .collect();
    let [x, y] = launch.block;
    rig.launch(launch.kernel, [launch.grid, 1, 1], [x, y, 1], launch.dynamic_lds, &args)?;
    Ok(buffers.into_iter().map(|(address, count)| rig.read(address, count)).collect())
}

fn read(launch: &Launch) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(launch.file);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the settings for code that may never end.
fn late() -> MachineConfig {
    let mut config = threads(1);
    config.late_results = true;
    config.instruction_budget = Some(200_000);
    config
}

/// Returns the settings for code that may never end.
fn sanitized() -> MachineConfig {
    let mut config = threads(1);
    config.sanitize = true;
    config.hazards = true;
    config.instruction_budget = Some(200_000);
    config
}

/// Returns the addresses of the waits that a launch executes.
fn waits(launch: &Launch, object: &[u8]) -> BTreeSet<u64> {
    let found = Arc::new(Mutex::new(BTreeSet::new()));
    let sink = Arc::clone(&found);
    let mut filter = TraceFilter::default();
    filter.mnemonic = Some("s_waitcnt".into());
    filter.limit = Some(u64::MAX);
    let mut config = threads(1);
    config.instruction_trace = Some(InstructionTrace::new(filter, move |traced| {
        sink.lock().unwrap().insert(traced.pc);
    }));
    run(launch, object, &config).unwrap();
    std::mem::take(&mut *found.lock().unwrap())
}

/// Returns the position in an ELF file of a virtual address.
fn position(object: &[u8], address: u64) -> usize {
    let number = |at: usize, size: usize| {
        object[at..at + size].iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
    };
    let (table, entry, count) = (number(32, 8), number(54, 2), number(56, 2));
    let segment = (0..count).map(|n| (table + n * entry) as usize).find_map(|at| {
        let (offset, start, size) = (number(at + 8, 8), number(at + 16, 8), number(at + 32, 8));
        (start..start + size).contains(&address).then(|| (offset + address - start) as usize)
    });
    segment.unwrap_or_else(|| panic!("no segment has {address:#x}"))
}

fn is_missing_wait(defect: &Defect) -> bool {
    matches!(
        defect.kind,
        DefectKind::UseBeforeWait | DefectKind::OverwriteBeforeWait | DefectKind::BarrierBeforeWait
    )
}

fn defects(error: &Error) -> &[Defect] {
    match error {
        Error::Sanitizer { defects, .. } => defects,
        Error::Fault(report) => &report.defects,
        _ => &[],
    }
}

#[test]
fn every_wait_on_which_a_result_depends_is_missed() {
    let (mut removed, mut mattered, mut reported, mut kernels) = (0, 0, 0, 0);
    for launch in launches() {
        let context = format!("{} of {}", launch.kernel, launch.file);
        let object = read(&launch);
        let expected = run(&launch, &object, &threads(1)).unwrap_or_else(|e| panic!("{context}: {e}"));
        let correct = run(&launch, &object, &late()).unwrap_or_else(|e| panic!("{context}: {e}"));
        assert_eq!(correct, expected, "{context}, with late results");
        // The sizes are not multiples of a tile's, so that some kernels read LDS that was never written.
        if let Err(error) = run(&launch, &object, &sanitized()) {
            let others = !defects(&error).is_empty() && defects(&error).iter().all(|d| d.wait.is_none());
            assert!(others, "{context}: {error}");
        }
        let (mut here, mut matters) = (0, 0);
        for wait in waits(&launch, &object) {
            let mut mutant = object.clone();
            let at = position(&object, wait);
            assert_eq!(mutant[at + 2..at + 4], [0x8c, 0xbf], "{context}: no s_waitcnt at {wait:#x}");
            mutant[at..at + 4].copy_from_slice(&0xbf80_0000u32.to_le_bytes());
            let differs = !matches!(run(&launch, &mutant, &late()), Ok(results) if results == expected);
            let ended = run(&launch, &mutant, &sanitized());
            let is_reported = ended.as_ref().is_err_and(|error| defects(error).iter().any(is_missing_wait));
            assert!(!differs || is_reported, "{context}: without the wait at {wait:#x}: {ended:?}");
            here += 1;
            matters += usize::from(differs);
            reported += usize::from(is_reported);
        }
        println!("{context}: {matters} of {here} waits matter");
        (removed, mattered, kernels) = (removed + here, mattered + matters, kernels + 1);
    }
    println!(
        "{kernels} kernels, {removed} waits removed, {mattered} of them matter, {reported} are reported"
    );
    assert!(kernels >= 20 && mattered > 150, "{kernels} kernels, {mattered} waits matter");
}

/// The newer compiler doesn't wait before a barrier that has no fence.
#[test]
fn a_barrier_before_a_wait_is_found() {
    let mut config = threads(1);
    config.sanitize = true;
    let reverse = launch("tests/data/kernels.gfx942.co", "reverse", 1, 256, vec![integers(256)]);
    let error = run(&reverse, &read(&reverse), &config).unwrap_err();
    let [defect] = defects(&error) else { panic!("{error}") };
    assert_eq!((defect.kind, defect.space), (DefectKind::BarrierBeforeWait, MemorySpace::Lds));
    assert_eq!(defect.wait.as_deref(), Some("s_waitcnt lgkmcnt(0)"));
    assert!(defect.site.instruction.starts_with("ds_read_b32 "), "{defect}");
    let other = defect.other.as_ref().unwrap();
    assert!(other.instruction.starts_with("ds_write_b32 ") && other.wave != defect.site.wave, "{defect}");
}
