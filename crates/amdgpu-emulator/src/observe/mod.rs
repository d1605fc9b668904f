//! Observing a dispatch: each instruction, and the bytes that it accesses, before the instruction is executed.
//!
//! An observed dispatch runs in a separate interpreter loop (`interpret::run_wave_observed`), so that other dispatches
//! are not slowed down.

mod accesses;
#[cfg(test)]
mod accesses_tests;
mod class;
mod hazards;
mod hazards_gfx11;
#[cfg(test)]
mod hazards_gfx11_tests;
mod hazards_masks;
#[cfg(test)]
mod hazards_tests;
mod history;
#[cfg(test)]
mod history_tests;
#[cfg(test)]
mod image_tests;
mod late;
mod lock;
mod missing_waits;
#[cfg(test)]
mod missing_waits_tests;
mod observers;
mod operands;
#[cfg(test)]
mod operands_tests;
mod profile;
mod races;
mod registers;
mod sanitizer;
mod trace;
mod unwritten;
mod waits;
mod written;

pub(crate) use class::Info;
pub use class::InstructionClass;
pub(crate) use observers::{Observers, WorkgroupObserver, infos};
pub use profile::{BytesAccessed, Profile};
pub(crate) use sanitizer::Sanitizer;
pub(crate) use trace::Tracing;
pub use trace::{InstructionTrace, TraceFilter, TracedInstruction, TracedRegister};
