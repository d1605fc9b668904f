//! A kernel into which code is inserted, and a machine that runs it.

use amdgpu_emulator::{Machine, MachineConfig, Printer, SimdLevel};
use amdgpu_isa::Target;

/// The number of instructions after which kernels are stopped.
const BUDGET: u64 = 2000;
/// Code objects with a kernel `stream`, whose code is 512 dwords (tests/data/assembly/stream.S).
const TEMPLATES: [&[u8]; 3] = [
    include_bytes!("../../tests/data/assembly/stream.gfx90a.co"),
    include_bytes!("../../tests/data/assembly/stream.gfx942.co"),
    include_bytes!("../../tests/data/assembly/stream.gfx950.co"),
];
/// The number of dwords of code in [`TEMPLATES`], all of them `s_endpgm`.
const ROOM: usize = 512;
/// `s_endpgm`.
const END: u32 = 0xbf81_0000;

/// Returns a code object of one kernel with this code, of at most 512 dwords. The kernel has all registers, 1024 bytes of
/// LDS and 256 of private memory.
///
/// # Panics
/// If the template's code has changed.
pub fn assemble(target: Target, words: &[u32]) -> Vec<u8> {
    let mut bytes = TEMPLATES[target as usize].to_vec();
    let filler = END.to_le_bytes().repeat(ROOM);
    let at = bytes.windows(filler.len()).position(|part| part == filler).expect("the template's code");
    for (word, to) in words.iter().zip(bytes[at..at + filler.len()].as_chunks_mut::<4>().0) {
        *to = word.to_le_bytes();
    }
    bytes
}

/// Returns a machine with little memory and an instruction budget.
pub(crate) fn machine(level: SimdLevel, threads: usize) -> Machine {
    let config = MachineConfig {
        memory_bytes: 64 << 20,
        threads,
        level,
        instruction_budget: Some(BUDGET),
        printer: Printer::new(|_, _| {}),
        ..MachineConfig::default()
    };
    Machine::new(config).expect("a machine")
}
