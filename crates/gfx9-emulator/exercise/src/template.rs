//! A kernel with room for code, and a machine to run it.

use gfx9_emulator::{Machine, MachineConfig, Printer, SimdLevel};
use gfx9_isa::Target;

/// Instructions after which the kernels here are stopped.
const BUDGET: u64 = 2000;
/// Both targets.
pub(crate) const TARGETS: [Target; 2] = [Target::Gfx90a, Target::Gfx942];

/// A kernel `stream` with room for 512 dwords of code, as tests/data/assembly/stream.S says.
const TEMPLATES: [&[u8]; 2] = [
    include_bytes!("../../tests/data/assembly/stream.gfx90a.co"),
    include_bytes!("../../tests/data/assembly/stream.gfx942.co"),
];
/// Dwords of code in [`TEMPLATES`], all of them `s_endpgm`.
const ROOM: usize = 512;
/// `s_endpgm`.
const END: u32 = 0xbf81_0000;

/// The template with this code.
pub(crate) fn assemble(target: Target, words: &[u32]) -> Vec<u8> {
    let mut bytes = TEMPLATES[target as usize].to_vec();
    let filler = END.to_le_bytes().repeat(ROOM);
    let at = bytes.windows(filler.len()).position(|part| part == filler).expect("the template's code");
    for (word, to) in words.iter().zip(bytes[at..at + filler.len()].as_chunks_mut::<4>().0) {
        *to = word.to_le_bytes();
    }
    bytes
}

/// A small machine.
pub(crate) fn machine(level: SimdLevel, threads: usize) -> Machine {
    let mut config = MachineConfig::default();
    config.device_memory = 64 << 20;
    config.threads = threads;
    config.level = level;
    config.instruction_budget = Some(BUDGET);
    config.printer = Printer::new(|_, _| {});
    Machine::new(config).expect("a machine")
}
