//! The disassembler.
//!
//! The text is exactly `llvm-objdump`'s: LLVM 15's for gfx90a, LLVM 22's for the other targets. An encoding that LLVM does not
//! recognise as an instruction, or prints with a comment that an operand is invalid, is not an instruction here either.

#[cfg(test)]
mod enumeration;
#[cfg(test)]
mod gfx10;
mod gfx11;
mod gfx12;
#[cfg(test)]
mod golden_tests;
mod image;
mod instruction;
mod listing;
mod memory;
mod modifiers;
mod operand;
mod packed;
mod scalar;
mod sdwa;
mod symbolic;
mod text;
mod vector;
mod words;

pub use instruction::{Instruction, disassemble, disassemble_lenient, disassemble_words, encoded_length};
pub use listing::{Function, Instructions, Listing};
