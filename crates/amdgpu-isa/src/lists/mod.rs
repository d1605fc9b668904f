//! The lists of instructions, one for each encoding. New instructions are added here.
//!
//! A line is an instruction: its mnemonic, its opcodes on gfx90a, gfx942 and gfx950 (-1 if the target doesn't have it), the
//! types of its destination and its sources ([`columns`](crate::table) shortens the names of [`Ty`](crate::Ty)), and
//! its [flags](crate::flags), among them how it accesses memory, and how many bytes. The opcodes are those of LLVM's assembler (llvm-mc 15 for gfx90a, 22 for the others).
//! The last lines of a list are operations that only RDNA has: [`rdna`] has their opcodes.
//!
//! Each list is a macro that passes its lines to another macro: mnemonic.rs generates an enum from them, table.rs a
//! table.

/// Passes the encodings to a macro: the name in code and in the ISA documents, the number of dwords, and the layouts of the first dword
/// on gfx9, gfx10, gfx11 and gfx12. A layout is the prefix and its number of bits, the opcode's position and number of bits, and the bits that
/// tell FLAT, GLOBAL and SCRATCH apart, and MUBUF and MTBUF of gfx12, with their mask. If a generation has another number of dwords, its layout
/// ends with it. The opcodes of MTBUF and MIMG on gfx10 have another bit elsewhere: see [`fields`](crate::fields).
macro_rules! encodings {
    ($make:ident) => {
        $make! {
            Sop1 "SOP1" 1 [0x17d 9, 8 8, 0 0] [0x17d 9, 8 8, 0 0] [0x17d 9, 8 8, 0 0] [0x17d 9, 8 8, 0 0];
            Sop2 "SOP2" 1 [0b10 2, 23 7, 0 0] [0b10 2, 23 7, 0 0] [0b10 2, 23 7, 0 0] [0b10 2, 23 7, 0 0];
            Sopk "SOPK" 1 [0xb 4, 23 5, 0 0] [0xb 4, 23 5, 0 0] [0xb 4, 23 5, 0 0] [0xb 4, 23 5, 0 0];
            Sopc "SOPC" 1 [0x17e 9, 16 7, 0 0] [0x17e 9, 16 7, 0 0] [0x17e 9, 16 7, 0 0] [0x17e 9, 16 7, 0 0];
            Sopp "SOPP" 1 [0x17f 9, 16 7, 0 0] [0x17f 9, 16 7, 0 0] [0x17f 9, 16 7, 0 0] [0x17f 9, 16 7, 0 0];
            Smem "SMEM" 2 [0x30 6, 18 8, 0 0] [0x3d 6, 18 8, 0 0] [0x3d 6, 18 8, 0 0] [0x3d 6, 13 6, 0 0];
            Vop1 "VOP1" 1 [0x3f 7, 9 8, 0 0] [0x3f 7, 9 8, 0 0] [0x3f 7, 9 8, 0 0] [0x3f 7, 9 8, 0 0];
            Vop2 "VOP2" 1 [0 1, 25 6, 0 0] [0 1, 25 6, 0 0] [0 1, 25 6, 0 0] [0 1, 25 6, 0 0];
            Vopc "VOPC" 1 [0x3e 7, 17 8, 0 0] [0x3e 7, 17 8, 0 0] [0x3e 7, 17 8, 0 0] [0x3e 7, 17 8, 0 0];
            Vop3 "VOP3" 2 [0x34 6, 16 10, 0 0] [0x35 6, 16 10, 0 0] [0x35 6, 16 10, 0 0] [0x35 6, 16 10, 0 0];
            Vop3p "VOP3P" 2 [0x1a7 9, 16 7, 0 0] [0x198 9, 16 7, 0 0] [0x198 9, 16 7, 0 0] [0x198 9, 16 7, 0 0];
            Vopd "VOPD" 2 [none] [none] [0x32 6, 22 4, 0 0] [0x32 6, 22 4, 0 0];
            Ds "DS" 2 [0x36 6, 17 8, 0 0] [0x36 6, 18 8, 0 0] [0x36 6, 18 8, 0 0] [0x36 6, 18 8, 0 0];
            Flat "FLAT" 2 [0x37 6, 18 7, 0 0xc000] [0x37 6, 18 7, 0 0xc000] [0x37 6, 18 7, 0 0x30000] [0x3b 6, 14 8, 0 0x300_0000, 3];
            Global "GLOBAL" 2 [0x37 6, 18 7, 0x8000 0xc000] [0x37 6, 18 7, 0x8000 0xc000] [0x37 6, 18 7, 0x20000 0x30000] [0x3b 6, 14 8, 0x200_0000 0x300_0000, 3];
            Scratch "SCRATCH" 2 [0x37 6, 18 7, 0x4000 0xc000] [0x37 6, 18 7, 0x4000 0xc000] [0x37 6, 18 7, 0x10000 0x30000] [0x3b 6, 14 8, 0x100_0000 0x300_0000, 3];
            Mubuf "MUBUF" 2 [0x38 6, 18 7, 0 0] [0x38 6, 18 8, 0 0] [0x38 6, 18 8, 0 0] [0x31 6, 14 7, 0 0x20_0000, 3];
            Mtbuf "MTBUF" 2 [0x3a 6, 15 4, 0 0] [0x3a 6, 16 3, 0 0] [0x3a 6, 15 4, 0 0] [0x31 6, 14 4, 0x20_0000 0x3c_0000, 3];
            Mimg "MIMG" 2 [0x3c 6, 18 7, 0 0] [0x3c 6, 18 7, 0 0] [0x3c 6, 18 8, 0 0] [0x34 6, 14 8, 0 0, 3];
        }
    };
}

mod buffer;
mod ds;
mod flat;
mod image;
pub(crate) mod rdna;
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
pub(crate) use encodings;
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
