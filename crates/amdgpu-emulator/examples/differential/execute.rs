//! Runs a program on the host and on the emulator, and compares the results.

use std::fmt;

use amdgpu_emulator::{Dispatch, Machine, MachineConfig, SimdLevel};
use code_object::CodeObject;

use super::compile::{Compiler, Failure, Variation, Workshop};
use super::generate::OWN_WORDS;
use super::program::Shape;
use super::random::input;

/// The number of instructions after which a kernel is considered to hang. It is far above the number that a program
/// executes within the host's time limit.
const INSTRUCTIONS: u64 = 50_000_000;
/// The number of 64-bit words of the shared counters, as in the prelude.
const SHARED: usize = 11 * 16;

/// The text of a program, and its launch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Job<'a> {
    pub(crate) text: &'a str,
    pub(crate) seed: u64,
    pub(crate) shape: Shape,
}

/// The result of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    Same,
    /// The first words that differ, each with its description, the expected and the actual value; and the number of all
    /// words that differ.
    Differs(Vec<(String, u64, u64)>, usize),
    /// The emulator's error. No generated program should cause one.
    Failed(String),
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Same => f.write_str("the same"),
            Outcome::Failed(why) => f.write_str(why),
            Outcome::Differs(words, count) => {
                write!(f, "{count} words differ:")?;
                for (place, expected, got) in words {
                    write!(f, "\n  {place}: expected {expected:#x}, got {got:#x}")?;
                }
                Ok(())
            }
        }
    }
}

fn input_bytes(seed: u64) -> Vec<u8> {
    input(seed).iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Returns the memory that the program leaves on the host.
pub(crate) fn on_host(workshop: &Workshop, job: &Job<'_>, compiler: &Compiler) -> Result<Vec<u8>, Failure> {
    workshop.host(job.text, compiler, &input_bytes(job.seed), job.shape.param)
}

/// Compiles the program for the device, runs it on the emulator and compares the memory.
pub(crate) fn compare(
    workshop: &Workshop,
    job: &Job<'_>,
    variation: &Variation,
    expected: &[u8],
) -> Result<Outcome, Failure> {
    let object = workshop.device(job.text, variation)?;
    Ok(match on_emulator(&object, job) {
        Err(e) => Outcome::Failed(e.to_string()),
        Ok(got) => difference(&job.shape, expected, &got),
    })
}

fn on_emulator(object: &[u8], job: &Job<'_>) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let mut config =
        MachineConfig { threads: 1, instruction_budget: Some(INSTRUCTIONS), ..MachineConfig::default() };
    // The seed selects the SIMD level and the interpreter loop, so that all of them are used.
    if job.seed % 3 == 1 {
        config.level = SimdLevel::Portable;
    }
    if job.seed % 8 == 5 {
        config.schedule_seed = Some(job.seed);
    }
    let machine = Machine::new(config)?;
    let program = machine.load(&CodeObject::parse(object)?)?;
    let memory = machine.memory();
    let items = job.shape.items();
    let sizes = [items * 8, items * OWN_WORDS * 4, SHARED * 8];
    let read_only = input_bytes(job.seed);
    let at = memory.alloc(read_only.len() as u64, 0)?;
    memory.write(at, &read_only)?;
    let mut kernarg = at.to_le_bytes().to_vec();
    let mut buffers = Vec::new();
    for size in sizes {
        let at = memory.alloc(size as u64, 0)?;
        memory.write(at, &vec![0; size])?;
        kernarg.extend(at.to_le_bytes());
        buffers.push((at, size));
    }
    kernarg.extend(job.shape.param.to_le_bytes());
    let kernel = program.kernel_index("k").ok_or("the code object has no kernel k")?;
    let Shape { grid, block, .. } = job.shape;
    machine.dispatch(
        &program,
        &Dispatch { cooperative: false, kernel, grid, block, dynamic_lds: 0, kernarg: &kernarg },
    )?;
    let mut all = Vec::new();
    for (at, size) in buffers {
        let mut bytes = vec![0; size];
        memory.read(at, &mut bytes)?;
        all.extend(bytes);
    }
    Ok(all)
}

fn difference(shape: &Shape, expected: &[u8], got: &[u8]) -> Outcome {
    if expected.len() != got.len() {
        return Outcome::Failed(format!(
            "the host left {} bytes, the emulator {}",
            expected.len(),
            got.len()
        ));
    }
    let items = shape.items();
    let place = |word: usize| {
        let item = |n: usize| {
            let (group, item) = (n / shape.block_size(), n % shape.block_size());
            format!("workgroup {group}, work-item {item}")
        };
        match word.checked_sub(items) {
            None => format!("result of {}", item(word)),
            Some(n) => match n.checked_sub(items * OWN_WORDS / 2) {
                None => {
                    format!("words {} of {}", 2 * (n % (OWN_WORDS / 2)), item(n / (OWN_WORDS / 2)))
                }
                Some(n) => format!("shared counter {n}"),
            },
        }
    };
    let words =
        |bytes: &[u8]| bytes.as_chunks::<8>().0.iter().map(|b| u64::from_le_bytes(*b)).collect::<Vec<_>>();
    let differing: Vec<(usize, (u64, u64))> =
        words(expected).into_iter().zip(words(got)).enumerate().filter(|(_, (a, b))| a != b).collect();
    match differing.len() {
        0 => Outcome::Same,
        count => {
            let first = differing.into_iter().take(8).map(|(n, (a, b))| (place(n), a, b)).collect();
            Outcome::Differs(first, count)
        }
    }
}
