//! The encodings of gfx10.3, gfx11 and gfx12, one list for each.
//!
//! A line is an instruction: its mnemonic, its opcodes on gfx10.3, gfx11, gfx11.5 and gfx12 (-1 if the target doesn't have it, or has it
//! under another name, in another line), and the operation that it is, by the list of the operation and its name there. Types and flags are the operation's, unless the line has its
//! own. The opcodes are those of LLVM 22's assembler.

mod buffer;
mod ds;
mod flat;
mod image;
mod smem;
mod sop;
mod vop1;
mod vop2;
mod vop3;
mod vop3p;
mod vopc;
mod vopd;

pub(crate) use buffer::{mtbuf, mubuf};
pub(crate) use ds::ds;
pub(crate) use flat::{flat, global, scratch};
pub(crate) use image::mimg;
pub(crate) use smem::smem;
pub(crate) use sop::{sop1, sop2, sopc, sopk, sopp};
pub(crate) use vop1::vop1;
pub(crate) use vop2::vop2;
pub(crate) use vop3::vop3;
pub(crate) use vop3p::vop3p;
pub(crate) use vopc::vopc;
pub(crate) use vopd::vopd;
