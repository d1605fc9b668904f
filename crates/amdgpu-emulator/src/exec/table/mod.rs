//! The executor of each instruction: a match on the mnemonics of each encoding.
//!
//! The decoder calls [`executor`] once for each instruction of a program. The crate does not compile if an instruction
//! of amdgpu-isa has no executor here.

mod buffer;
mod ds;
mod flat;
mod image;
mod notation;
mod smem;
mod sop;
mod vop1;
mod vop2;
mod vop3;
mod vop3p;
mod vopc;

use amdgpu_isa::{Mnemonic, Target};

pub(crate) use notation::Impl;

/// Returns the executors of an instruction on a target. Eight-bit floats have other formats on gfx950 than on gfx942.
pub(crate) fn executor(mnemonic: Mnemonic, target: Target) -> Impl {
    match mnemonic {
        Mnemonic::Illegal => Impl::Unimplemented,
        Mnemonic::Mimg(op) => image::mimg(op),
        Mnemonic::Sop1(op) => sop::sop1(op),
        Mnemonic::Sop2(op) => sop::sop2(op),
        Mnemonic::Sopk(op) => sop::sopk(op),
        Mnemonic::Sopc(op) => sop::sopc(op),
        Mnemonic::Sopp(op) => sop::sopp(op),
        Mnemonic::Smem(op) => smem::smem(op),
        Mnemonic::Vop1(op) => vop1::vop1(op, target),
        Mnemonic::Vop2(op) => vop2::vop2(op, target),
        Mnemonic::Vopc(op) => vopc::vopc(op),
        Mnemonic::Vop3(op) => vop3::vop3(op, target),
        Mnemonic::Vop3p(op) => vop3p::vop3p(op, target),
        Mnemonic::Ds(op) => ds::ds(op),
        Mnemonic::Flat(op) => flat::flat(op),
        Mnemonic::Global(op) => flat::global(op),
        Mnemonic::Scratch(op) => flat::scratch(op),
        Mnemonic::Mubuf(op) => buffer::mubuf(op),
        Mnemonic::Mtbuf(op) => buffer::mtbuf(op),
    }
}

#[cfg(test)]
mod tests {
    use amdgpu_isa::{Encoding, flags};

    use super::*;

    #[test]
    fn saturating_rows_have_an_executor_for_the_clamp_bit() {
        for row in Encoding::ALL.into_iter().flat_map(Encoding::rows) {
            for target in Target::GFX9.into_iter().filter(|&target| row.opcode(target).is_some()) {
                let clamps = matches!(executor(row.mnemonic, target), Impl::Lanes { clamp: Some(_), .. });
                assert_eq!(clamps, row.flags & flags::SAT != 0, "{}", row.name);
            }
        }
    }
}
