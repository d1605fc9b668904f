//! The lists of instructions, one for each encoding. New instructions are added here.
//!
//! A line is an instruction: its mnemonic, its opcodes on gfx90a, gfx942 and gfx950 (-1 if the target doesn't have it), the
//! types of its destination and its sources ([`columns`](crate::table) shortens the names of [`Ty`](crate::Ty)), and
//! its [flags](crate::flags), among them how it accesses memory, and how many bytes. The opcodes are those of LLVM's assembler (llvm-mc 15 for gfx90a, 22 for the others).
//!
//! Each list is a macro that passes its lines to another macro: mnemonic.rs generates an enum from them, table.rs a
//! table.

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
