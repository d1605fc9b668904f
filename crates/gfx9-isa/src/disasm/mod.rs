//! Disassembly: machine code to text, from the tables that the decoder uses.
//!
//! The text is `llvm-objdump`'s, to the letter: LLVM 15's for gfx90a, LLVM 22's for gfx942. An encoding that LLVM takes
//! for no instruction, or prints with a remark that an operand is invalid, is none here either.

#[cfg(test)]
mod enumeration;
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
