//! Everything that can be done with machine code and code objects from outside: the bodies of the fuzz targets, which
//! tests/hostile.rs runs too.

#![allow(dead_code, reason = "each fuzz target uses one of them")]

mod stream;

use code_object::CodeObject;
use gfx9_emulator::{Config, Dispatch, Error, Level, Machine, Printer};
use gfx9_isa::{Listing, Target};

pub(crate) use stream::stream;

/// Instructions after which the kernels here are stopped.
const BUDGET: u64 = 2000;
/// Both targets.
const TARGETS: [Target; 2] = [Target::Gfx90a, Target::Gfx942];

/// A kernel `stream` with room for 512 dwords of code, as tests/data/assembly/stream.S says.
const TEMPLATES: [&[u8]; 2] = [
    include_bytes!("../data/assembly/stream.gfx90a.co"),
    include_bytes!("../data/assembly/stream.gfx942.co"),
];
/// Dwords of code in [`TEMPLATES`], all of them `s_endpgm`.
const ROOM: usize = 512;
/// `s_endpgm`.
const END: u32 = 0xbf81_0000;

/// The template with this code.
fn assemble(target: Target, words: &[u32]) -> Vec<u8> {
    let mut bytes = TEMPLATES[target as usize].to_vec();
    let filler = END.to_le_bytes().repeat(ROOM);
    let at = bytes.windows(filler.len()).position(|part| part == filler).expect("the template's code");
    for (word, to) in words.iter().zip(bytes[at..at + filler.len()].as_chunks_mut::<4>().0) {
        *to = word.to_le_bytes();
    }
    bytes
}

/// A small machine.
fn machine(level: Level, threads: usize) -> Machine {
    let mut config = Config::default();
    config.device_memory = 64 << 20;
    config.threads = threads;
    config.level = level;
    config.instruction_budget = Some(BUDGET);
    config.printer = Printer::new(|_, _| {});
    Machine::new(config).expect("a machine")
}

/// Any words are code: they are decoded and run until they end, fault, or are stopped.
pub(crate) fn words(code: &[u8]) {
    let words: Vec<u32> = code.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect();
    for target in TARGETS {
        load(&assemble(target, &words));
    }
}

/// Any bytes are a code object or an error, and its kernels end, fault, or are stopped.
pub(crate) fn load(bytes: &[u8]) {
    let Ok(object) = CodeObject::parse(bytes) else { return };
    if let Ok(listing) = Listing::of(&object) {
        for function in listing.functions() {
            function.instructions().for_each(drop);
        }
    }
    let machine = machine(Level::best(), 1);
    let Ok(program) = machine.load(&object) else { return };
    for kernel in 0..program.kernels().len().min(4) {
        let kernarg = vec![0; program.kernels()[kernel].explicit_size() as usize];
        let block = program.kernels()[kernel].reqd_workgroup_size.unwrap_or([65, 1, 1]);
        let dispatch = Dispatch { kernel, grid: [2, 1, 1], block, dynamic_lds: 16, kernarg: &kernarg };
        // What it does is its own affair, but a panic is ours.
        if let Err(error @ Error::Incomplete { .. }) = machine.dispatch(&program, &dispatch) {
            panic!("{error}");
        }
    }
}
