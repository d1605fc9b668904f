//! The instruction tables of gfx90a (MI200), gfx942 (MI300), gfx950 (MI350), gfx10.3 (RDNA 2), gfx11 (RDNA 3) and gfx12 (RDNA 4), the fields of each
//! encoding, and a disassembler.
//!
//! - [`Encoding::rows`] returns the instructions of an encoding, and [`Encoding::row`] finds one by its opcode.
//! - [`fields`] splits an instruction into its fields.
//! - [`image`] has the fields of the descriptors of images, samplers and buffers, and [`image_layout`] says where the texels of linear images
//!   are.
//! - [`disassemble`], [`Instructions`] and [`Listing`] return the text that LLVM prints.
//!
//! The crate executes nothing. The crate `amdgpu-emulator` executes the instructions that are listed here, except for those of gfx10.3.

mod disasm;
mod encoding;
mod error;
pub mod fields;
pub mod image;
pub mod image_layout;
mod lists;
mod mnemonic;
mod row;
mod sample_form;
mod table;
mod target;

pub use disasm::{
    Function, Instruction, Instructions, Listing, disassemble, disassemble_lenient, disassemble_words,
    encoded_length,
};
pub use encoding::Encoding;
pub use error::{Error, Result};
pub use mnemonic::{
    Ds, Flat, Global, Mimg, Mnemonic, Mtbuf, Mubuf, Scratch, Smem, Sop1, Sop2, Sopc, Sopk, Sopp, Vop1, Vop2,
    Vop3, Vop3p, Vopc, Vopd,
};
pub use row::{ILLEGAL, MemoryAccess, Row, Ty, flags};
pub use sample_form::{SampleForm, SampleKind, SampleLevel};
pub use target::{Generation, Isa, Target, WaveSize};

/// Compiles and runs the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
