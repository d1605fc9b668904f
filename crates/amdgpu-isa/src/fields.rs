//! The fields of each encoding, and their positions.
//!
//! Each encoding has a type whose fields have the ISA documents' names. Its function `of` reads the fields of an
//! instruction. It checks neither that the instruction has this encoding nor that the target has such an instruction.
//! It takes an encoding of two dwords as one `u64` with the first dword in the low half, and one of three, which gfx12 has, as a `u128`.
//!
//! ```
//! use amdgpu_isa::{Target, fields};
//!
//! // v_add_f32_e32 v0, v1, v2
//! let add = fields::Vop2::of(Target::Gfx90a, 0x0200_0501);
//! assert_eq!((add.op, add.vdst, add.src0, add.src1), (1, 0, 256 + 1, 2));
//! ```

use crate::encoding::Encoding;
use crate::row::Ty;
use crate::target::{Generation, Target};

/// The type of a field.
trait Field {
    /// Makes the field of its bits and their number.
    fn from_bits(bits: u32, count: u32) -> Self;
}

impl Field for u32 {
    fn from_bits(bits: u32, _count: u32) -> u32 {
        bits
    }
}

impl Field for i32 {
    fn from_bits(bits: u32, count: u32) -> i32 {
        // A field without bits is 0.
        let unused = 32 - count.max(1);
        (bits << unused) as i32 >> unused
    }
}

impl Field for bool {
    fn from_bits(bits: u32, _count: u32) -> bool {
        bits != 0
    }
}

/// Returns the first bit and the number of bits of a field: those on gfx9, gfx10, gfx11 and gfx12. Where the last ones are left out, the
/// field is where the last one given is.
macro_rules! position {
    ($generation:ident: $at:literal $bits:literal) => {
        ($at, $bits)
    };
    ($generation:ident: $at:literal $bits:literal, $at_10:literal $bits_10:literal) => {
        position!($generation: $at $bits, $at_10 $bits_10, $at_10 $bits_10, $at_10 $bits_10)
    };
    ($generation:ident: $at:literal $bits:literal, $at_10:literal $bits_10:literal, $at_11:literal $bits_11:literal) => {
        position!($generation: $at $bits, $at_10 $bits_10, $at_11 $bits_11, $at_11 $bits_11)
    };
    (
        $generation:ident: $at:literal $bits:literal, $at_10:literal $bits_10:literal, $at_11:literal $bits_11:literal,
        $at_12:literal $bits_12:literal
    ) => {
        match $generation {
            Generation::Gfx9 => ($at, $bits),
            Generation::Gfx10 => ($at_10, $bits_10),
            Generation::Gfx11 => ($at_11, $bits_11),
            Generation::Gfx12 => ($at_12, $bits_12),
        }
    };
}

/// Declares an encoding's fields, each with its name, type, first bit and number of bits, on gfx9, gfx10, gfx11 and gfx12. The last ones may
/// be left out if they are the same as the one before. A field that a generation doesn't have has no bits. An encoding of up to three dwords is
/// taken as a `u128`, or as a `u64` where it has two.
macro_rules! fields {
    ($($(#[$doc:meta])* $Name:ident($Word:ty as $Long:ty) { $($(#[$field_doc:meta])* $field:ident: $Type:ty = $($position:literal $bits:literal),+;)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[allow(missing_docs, reason = "the names are the documents'")]
        pub struct $Name {
            $($(#[$field_doc])* pub $field: $Type,)*
        }

        impl $Name {
            /// Reads the fields of an instruction.
            #[inline]
            pub fn of(target: Target, word: $Word) -> $Name {
                let long: $Long = word.into();
                let generation = target.generation();
                let _ = generation;
                $Name {
                    $($field: {
                        let (at, bits): (u32, u32) = position!(generation: $($position $bits),+);
                        Field::from_bits((long >> at) as u32 & ((1u32 << bits) - 1), bits)
                    },)*
                }
            }
        }
    )*};
}

fields! {
    /// SOP1: scalar, one source.
    Sop1(u32 as u64) {
        src0: u32 = 0 8;
        op: u32 = 8 8;
        sdst: u32 = 16 7;
    }
    /// SOP2: scalar, two sources.
    Sop2(u32 as u64) {
        src0: u32 = 0 8;
        src1: u32 = 8 8;
        sdst: u32 = 16 7;
        op: u32 = 23 7;
    }
    /// SOPK: scalar, with a constant.
    Sopk(u32 as u64) {
        simm: u32 = 0 16;
        sdst: u32 = 16 7;
        op: u32 = 23 5;
    }
    /// SOPC: scalar comparisons.
    Sopc(u32 as u64) {
        src0: u32 = 0 8;
        src1: u32 = 8 8;
        op: u32 = 16 7;
    }
    /// SOPP: branches, barriers, messages, waits.
    Sopp(u32 as u64) {
        simm: u32 = 0 16;
        op: u32 = 16 7;
    }
    /// SMEM: scalar memory.
    Smem(u64 as u64) {
        sbase: u32 = 0 6;
        sdata: u32 = 6 7;
        soffset_en: bool = 14 1, 0 0;
        glc: bool = 16 1, 16 1, 14 1, 0 0;
        imm: bool = 17 1, 0 0;
        op: u32 = 18 8, 18 8, 18 8, 13 6;
        offset: u32 = 32 21, 32 21, 32 21, 32 24;
        /// The signed offset: see [`Smem::signed_offset`].
        signed: i32 = 32 21, 32 21, 32 21, 32 24;
        soffset: u32 = 57 7;
        dlc: bool = 0 0, 14 1, 13 1, 0 0;
        scope: u32 = 0 0, 0 0, 0 0, 21 2;
        th: u32 = 0 0, 0 0, 0 0, 23 2;
        /// These two bits have no meaning on gfx12. gfx1250 uses them.
        nv: bool = 0 0, 0 0, 0 0, 20 1;
        scale_offset: bool = 0 0, 0 0, 0 0, 56 1;
    }
    /// VOP1: vector, one source.
    Vop1(u32 as u64) {
        src0: u32 = 0 9;
        op: u32 = 9 8;
        vdst: u32 = 17 8;
    }
    /// VOP2: vector, two sources.
    Vop2(u32 as u64) {
        src0: u32 = 0 9;
        src1: u32 = 9 8;
        vdst: u32 = 17 8;
        op: u32 = 25 6;
    }
    /// VOPC: vector comparisons.
    Vopc(u32 as u64) {
        src0: u32 = 0 9;
        src1: u32 = 9 8;
        op: u32 = 17 8;
    }
    /// VOP3: vector, three sources, and the long forms of VOP1, VOP2 and VOPC. Instructions that also write a mask
    /// (VOP3B) have `sdst` in place of `abs` and `op_sel`.
    Vop3(u64 as u64) {
        vdst: u32 = 0 8;
        abs: u32 = 8 3;
        sdst: u32 = 8 7;
        op_sel: u32 = 11 4;
        clamp: bool = 15 1;
        op: u32 = 16 10;
        src0: u32 = 32 9;
        src1: u32 = 41 9;
        src2: u32 = 50 9;
        omod: u32 = 59 2;
        neg: u32 = 61 3;
    }
    /// VOP3P: packed arithmetic. `op_sel_hi` is in two fields; [`Vop3p::op_sel_hi`] joins them.
    Vop3p(u64 as u64) {
        vdst: u32 = 0 8;
        neg_hi: u32 = 8 3;
        op_sel: u32 = 11 3;
        op_sel_hi_2: u32 = 14 1;
        clamp: bool = 15 1;
        op: u32 = 16 7;
        src0: u32 = 32 9;
        src1: u32 = 41 9;
        src2: u32 = 50 9;
        op_sel_hi_01: u32 = 59 2;
        neg_lo: u32 = 61 3;
    }
    /// VOP3P-MAI: the matrix instructions among VOP3P.
    Mai(u64 as u64) {
        vdst: u32 = 0 8;
        cbsz: u32 = 8 3;
        abid: u32 = 11 4;
        acc_cd: bool = 15 1;
        op: u32 = 16 7;
        src0: u32 = 32 9;
        src1: u32 = 41 9;
        src2: u32 = 50 9;
        acc_a: bool = 59 1;
        acc_b: bool = 60 1;
        blgp: u32 = 61 3;
    }
    /// The control dword of SDWA. VOPC has `sdst` where others have `dst_sel` to `omod`.
    Sdwa(u32 as u64) {
        src0: u32 = 0 8;
        dst_sel: u32 = 8 3;
        sdst: u32 = 8 7;
        dst_unused: u32 = 11 2;
        clamp: bool = 13 1;
        omod: u32 = 14 2;
        has_sdst: bool = 15 1;
        src0_sel: u32 = 16 3;
        src0_sext: bool = 19 1;
        src0_neg: bool = 20 1;
        src0_abs: bool = 21 1;
        src0_is_scalar: bool = 23 1;
        src1_sel: u32 = 24 3;
        src1_sext: bool = 27 1;
        src1_neg: bool = 28 1;
        src1_abs: bool = 29 1;
        src1_is_scalar: bool = 31 1;
    }
    /// The control dword of DPP.
    Dpp(u32 as u64) {
        src0: u32 = 0 8;
        control: u32 = 8 9;
        bound_ctrl: bool = 19 1;
        src0_neg: bool = 20 1;
        src0_abs: bool = 21 1;
        src1_neg: bool = 22 1;
        src1_abs: bool = 23 1;
        bank_mask: u32 = 24 4;
        row_mask: u32 = 28 4;
        /// Lanes that are inactive are read.
        fetch_inactive: bool = 0 0, 18 1;
    }
    /// The control dword of DPP8.
    Dpp8(u32 as u64) {
        src0: u32 = 0 8;
        lanes: u32 = 8 24;
    }
    /// VOPD: the halves X and Y. `vdst_y` lacks its lowest bit, which is the opposite of that of `vdst_x`.
    Vopd(u64 as u64) {
        src0_x: u32 = 0 9;
        src1_x: u32 = 9 8;
        op_y: u32 = 17 5;
        op_x: u32 = 22 4;
        src0_y: u32 = 32 9;
        src1_y: u32 = 41 8;
        vdst_y: u32 = 49 7;
        vdst_x: u32 = 56 8;
    }
    /// DS: LDS and global wave sync.
    Ds(u64 as u64) {
        offset: u32 = 0 16;
        gds: bool = 16 1, 17 1;
        op: u32 = 17 8, 18 8;
        acc: bool = 25 1, 0 0;
        addr: u32 = 32 8;
        data0: u32 = 40 8;
        data1: u32 = 48 8;
        vdst: u32 = 56 8;
    }
    /// FLAT, GLOBAL and SCRATCH. On gfx942, SCRATCH has the bit `sve` in place of `lds`: it says that `addr` is used.
    Flat(impl Into<u128> as u128) {
        offset: u32 = 0 13, 0 12, 0 13, 72 24;
        /// The signed offset: see [`Flat::signed_offset`].
        signed: i32 = 0 13, 0 12, 0 13, 72 24;
        lds: bool = 13 1, 13 1, 0 0;
        seg: u32 = 14 2, 14 2, 16 2, 24 2;
        /// An atomic returns the old value. On gfx12, this is the lowest bit of `th`.
        glc: bool = 16 1, 16 1, 14 1, 52 1;
        slc: bool = 17 1, 17 1, 15 1, 0 0;
        op: u32 = 18 7, 18 7, 18 7, 14 8;
        scc: bool = 25 1, 0 0;
        addr: u32 = 32 8, 32 8, 32 8, 64 8;
        data: u32 = 40 8, 40 8, 40 8, 55 8;
        saddr: u32 = 48 7, 48 7, 48 7, 0 7;
        acc: bool = 55 1, 0 0;
        vdst: u32 = 56 8, 56 8, 56 8, 32 8;
        dlc: bool = 0 0, 12 1, 13 1, 0 0;
        /// SCRATCH: `addr` is used. gfx942 has it in place of `lds`.
        sve: bool = 13 1, 0 0, 55 1, 49 1;
        scope: u32 = 0 0, 0 0, 0 0, 50 2;
        th: u32 = 0 0, 0 0, 0 0, 52 3;
        /// These two bits have no meaning on gfx12. gfx1250 uses them.
        nv: bool = 0 0, 0 0, 0 0, 7 1;
        scale_offset: bool = 0 0, 0 0, 0 0, 48 1;
        reserved: bool = 0 0, 55 1, 0 0;
    }
    /// The fields that MUBUF and MTBUF have in common.
    Buffer(impl Into<u128> as u128) {
        offset: u32 = 0 12, 0 12, 0 12, 72 24;
        offen: bool = 12 1, 12 1, 54 1, 62 1;
        idxen: bool = 13 1, 13 1, 55 1, 63 1;
        /// An atomic returns the old value. On gfx12, this is the lowest bit of `th`.
        glc: bool = 14 1, 14 1, 14 1, 52 1;
        vaddr: u32 = 32 8, 32 8, 32 8, 64 8;
        vdata: u32 = 40 8, 40 8, 40 8, 32 8;
        srsrc: u32 = 48 5, 48 5, 48 5, 43 7;
        /// The lowest bits of the register's number, which only gfx12 has.
        srsrc_low: u32 = 0 0, 0 0, 0 0, 41 2;
        acc: bool = 55 1, 0 0;
        soffset: u32 = 56 8, 56 8, 56 8, 0 7;
        dlc: bool = 0 0, 15 1, 13 1, 0 0;
        tfe: bool = 0 0, 55 1, 53 1, 22 1;
        scope: u32 = 0 0, 0 0, 0 0, 50 2;
        th: u32 = 0 0, 0 0, 0 0, 52 3;
        /// The bit has no meaning on gfx12. gfx1250 uses it.
        nv: bool = 0 0, 0 0, 0 0, 7 1;
    }
    /// The fields of MUBUF that are not in [`Buffer`].
    Mubuf(impl Into<u128> as u128) {
        scc: bool = 15 1, 0 0;
        lds: bool = 16 1, 16 1, 0 0;
        slc: bool = 17 1, 54 1, 12 1, 0 0;
        op: u32 = 18 7, 18 8, 18 8, 14 7;
    }
    /// The fields of MTBUF that are not in [`Buffer`].
    Mtbuf(impl Into<u128> as u128) {
        /// The opcode, on gfx10 without its highest bit: see [`opcode`](Mtbuf::opcode).
        op: u32 = 15 4, 16 3, 15 4, 14 4;
        op_high: u32 = 0 0, 53 1, 0 0;
        format: u32 = 19 7, 19 7, 19 7, 55 7;
        scc: bool = 53 1, 0 0;
        slc: bool = 54 1, 54 1, 12 1, 0 0;
    }
    /// MIMG: images.
    Mimg(impl Into<u128> as u128) {
        reserved: bool = 0 1, 0 0;
        scc: bool = 7 1, 0 0;
        dmask: u32 = 8 4, 8 4, 8 4, 22 4;
        unorm: bool = 12 1, 12 1, 7 1, 0 0;
        /// An atomic returns the old value. On gfx12, this is the lowest bit of `th`.
        glc: bool = 13 1, 13 1, 14 1, 52 1;
        da: bool = 14 1, 0 0;
        a16: bool = 15 1, 62 1, 16 1, 6 1;
        acc: bool = 16 1, 0 0;
        lwe: bool = 17 1, 17 1, 54 1, 0 0;
        /// The opcode, on gfx10 without its highest bit: see [`opcode`](Mimg::opcode).
        op: u32 = 18 7, 18 7, 18 8, 14 8;
        op_high: u32 = 0 0, 0 1, 0 0;
        slc: bool = 25 1, 25 1, 12 1, 0 0;
        vaddr: u32 = 32 8, 32 8, 32 8, 64 8;
        vdata: u32 = 40 8, 40 8, 40 8, 32 8;
        srsrc: u32 = 48 5, 48 5, 48 5, 43 7;
        /// The lowest bits of the register's number, which only gfx12 has.
        srsrc_low: u32 = 0 0, 0 0, 0 0, 41 2;
        ssamp: u32 = 53 5, 53 5, 58 5, 0 0;
        /// The lowest bits of the register's number, which only gfx12 has.
        ssamp_low: u32 = 0 0, 0 0, 0 0, 0 0;
        /// The instruction is one of VSAMPLE, the encoding of gfx12 with a sampler: see [`Mimg::read`].
        is_vsample: bool = 0 0, 0 0, 0 0, 26 1;
        d16: bool = 63 1, 63 1, 17 1, 5 1;
        /// The addresses are in registers that the following dwords name. On gfx12, the instruction itself has five such fields.
        nsa: bool = 0 0, 1 2, 0 1, 0 0;
        /// The number of these dwords.
        nsa_dwords: u32 = 0 0, 1 2, 0 1, 0 0;
        dim: u32 = 0 0, 3 3, 2 3, 0 3;
        dlc: bool = 0 0, 7 1, 13 1, 0 0;
        r128: bool = 0 0, 15 1, 15 1, 4 1;
        tfe: bool = 0 0, 16 1, 53 1, 55 1;
        /// The bit has no meaning on gfx12. gfx1250 uses it.
        nv: bool = 0 0, 0 0, 0 0, 7 1;
        scope: u32 = 0 0, 0 0, 0 0, 50 2;
        th: u32 = 0 0, 0 0, 0 0, 52 3;
        vaddr1: u32 = 0 0, 0 0, 0 0, 72 8;
        vaddr2: u32 = 0 0, 0 0, 0 0, 80 8;
        vaddr3: u32 = 0 0, 0 0, 0 0, 88 8;
        vaddr4: u32 = 0 0, 0 0, 0 0, 56 8;
    }
}

fields! {
    /// The fields of VSAMPLE, of gfx12, that are not where [`Mimg`] has them.
    Vsample(u128 as u128) {
        tfe: bool = 0 0, 0 0, 0 0, 3 1;
        unorm: bool = 0 0, 0 0, 0 0, 13 1;
        lwe: bool = 0 0, 0 0, 0 0, 40 1;
        ssamp_low: u32 = 0 0, 0 0, 0 0, 55 2;
        ssamp: u32 = 0 0, 0 0, 0 0, 57 7;
    }
}

impl Smem {
    /// Returns the signed offset in bytes. The instruction uses it only if `imm` is set.
    #[inline]
    pub fn signed_offset(&self) -> i32 {
        self.signed
    }

    /// Returns the number of the SGPR that holds an offset: `soffset`, or, if there is no immediate, the low bits of
    /// `offset`. `None` if no SGPR does.
    #[inline]
    pub fn offset_register(&self) -> Option<u32> {
        match (self.soffset_en, self.imm) {
            (true, _) => Some(self.soffset),
            (false, false) => Some(self.offset & 0x7f),
            (false, true) => None,
        }
    }
}

impl Vop3 {
    /// Returns the encoding whose long form this is, and the opcode in that encoding. Opcodes above the ranges of VOPC,
    /// VOP2 and VOP1 are VOP3's own.
    #[inline]
    pub fn operation(&self, target: Target) -> (Encoding, u32) {
        match (self.op, target.is_rdna()) {
            (0..=255, _) => (Encoding::Vopc, self.op),
            (256..=319, _) => (Encoding::Vop2, self.op - 256),
            (320..=447, false) => (Encoding::Vop1, self.op - 320),
            (384..=511, true) => (Encoding::Vop1, self.op - 384),
            _ => (Encoding::Vop3, self.op),
        }
    }

    /// Returns the three sources.
    #[inline]
    pub fn src(&self) -> [u32; 3] {
        [self.src0, self.src1, self.src2]
    }

    /// Returns the truth table of `v_bitop3_b32` and `v_bitop3_b16`, which have it in place of the modifiers. Its bit
    /// `4 * a + 2 * b + c` is the result for bits `a`, `b` and `c` of the sources (LLVM, `VOP3_BITOP3Features`).
    #[inline]
    pub fn truth_table(&self) -> u32 {
        self.neg & 7 | (self.abs & 7) << 3 | (self.omod & 3) << 6
    }
}

impl Vop3p {
    /// Returns a bit for each source, which selects the half from which the high half of the result is computed.
    #[inline]
    pub fn op_sel_hi(&self) -> u32 {
        self.op_sel_hi_01 | self.op_sel_hi_2 << 2
    }

    /// Returns the three sources.
    #[inline]
    pub fn src(&self) -> [u32; 3] {
        [self.src0, self.src1, self.src2]
    }
}

impl Mai {
    /// Returns the type of A in an instruction whose name ends with `_f8f6f4`: `cbsz` selects the format of its elements,
    /// and thereby the number of registers. See [`b_type`](Self::b_type).
    pub fn a_type(&self) -> Ty {
        small_float_type(self.cbsz)
    }

    /// Returns the type of B in an instruction whose name ends with `_f8f6f4`: `blgp` selects the format of its elements.
    /// It is 0 for fp8 (E4M3), 1 for bf8 (E5M2), 2 for fp6 (E2M3), 3 for bf6 (E3M2) and 4 for fp4 (E2M1).
    pub fn b_type(&self) -> Ty {
        small_float_type(self.blgp)
    }
}

/// Returns the registers of 32 elements of a format.
fn small_float_type(format: u32) -> Ty {
    match format {
        2 | 3 => Ty::Wide(6),
        4 => Ty::Wide(4),
        _ => Ty::Wide(8),
    }
}

impl Flat {
    /// Returns the encoding: FLAT, GLOBAL or SCRATCH. `None` for the fourth value of `seg`.
    #[inline]
    pub fn encoding(&self) -> Option<Encoding> {
        match self.seg {
            0 => Some(Encoding::Flat),
            1 => Some(Encoding::Scratch),
            2 => Some(Encoding::Global),
            _ => None,
        }
    }

    /// Returns the signed offset in bytes of GLOBAL and SCRATCH. The offset of FLAT is unsigned.
    #[inline]
    pub fn signed_offset(&self) -> i32 {
        self.signed
    }
}

impl Mtbuf {
    /// Returns the opcode, whose highest bit is elsewhere on gfx10.
    #[inline]
    pub fn opcode(&self) -> u32 {
        self.op | self.op_high << 3
    }
}

impl Mimg {
    /// Reads the fields of an instruction, some of which are elsewhere on gfx12 if it has a sampler.
    pub fn read(target: Target, long: impl Into<u128>) -> Mimg {
        let long = long.into();
        let f = Mimg::of(target, long);
        if !target.is_gfx12() || !f.is_vsample {
            return f;
        }
        let Vsample { tfe, unorm, lwe, ssamp_low, ssamp } = Vsample::of(target, long);
        Mimg { tfe, unorm, lwe, ssamp_low, ssamp, vaddr4: 0, ..f }
    }

    /// Returns the registers of the address that the instruction itself names, of gfx12.
    #[inline]
    pub fn vaddrs(&self) -> [u32; 5] {
        [self.vaddr, self.vaddr1, self.vaddr2, self.vaddr3, self.vaddr4]
    }

    /// Returns the opcode, whose highest bit is elsewhere on gfx10.
    #[inline]
    pub fn opcode(&self) -> u32 {
        self.op | self.op_high << 7
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the opcode that `fields` reads from a first dword.
    fn opcode(target: Target, encoding: Encoding, word: u32) -> u32 {
        let long = u64::from(word);
        match encoding {
            Encoding::Sop1 => Sop1::of(target, word).op,
            Encoding::Sop2 => Sop2::of(target, word).op,
            Encoding::Sopk => Sopk::of(target, word).op,
            Encoding::Sopc => Sopc::of(target, word).op,
            Encoding::Sopp => Sopp::of(target, word).op,
            Encoding::Smem => Smem::of(target, long).op,
            Encoding::Vop1 => Vop1::of(target, word).op,
            Encoding::Vop2 => Vop2::of(target, word).op,
            Encoding::Vopc => Vopc::of(target, word).op,
            Encoding::Vop3 => Vop3::of(target, long).op,
            Encoding::Vop3p => Vop3p::of(target, long).op,
            Encoding::Vopd => Vopd::of(target, long).op_x,
            Encoding::Ds => Ds::of(target, long).op,
            Encoding::Flat | Encoding::Global | Encoding::Scratch => Flat::of(target, long).op,
            Encoding::Mubuf => Mubuf::of(target, long).op,
            Encoding::Mtbuf => Mtbuf::of(target, long).opcode(),
            Encoding::Mimg => Mimg::of(target, long).opcode(),
        }
    }

    #[test]
    fn opcodes_are_read_as_they_were_composed() {
        for encoding in Encoding::ALL {
            for target in Target::ALL {
                for (op, name) in encoding.opcodes(target) {
                    // Only the half Y of VOPD has these, and the composed opcode is that of X.
                    if encoding == Encoding::Vopd && op > 15 {
                        continue;
                    }
                    // The highest bit is in the second dword.
                    if (encoding, target) == (Encoding::Mtbuf, Target::Gfx103) && op > 7 {
                        continue;
                    }
                    for rest in [0, !0] {
                        let word = encoding.first_dword(target, op.into(), rest);
                        assert_eq!(opcode(target, encoding, word), u32::from(op), "{name}: {word:#010x}");
                    }
                }
            }
        }
    }

    #[test]
    fn offsets_are_sign_extended() {
        let smem = Smem::of(Target::Gfx90a, 0x001f_ffff << 32 | 1 << 17);
        assert_eq!((smem.signed_offset(), smem.offset_register()), (-1, None));
        assert_eq!(Smem::of(Target::Gfx90a, 0x05 << 32).offset_register(), Some(5));
        assert_eq!(Smem::of(Target::Gfx90a, 7 << 57 | 1 << 14 | 1 << 17).offset_register(), Some(7));
        assert_eq!(Flat::of(Target::Gfx90a, 0x1fff_u64).signed_offset(), -1);
        assert_eq!(Flat::of(Target::Gfx90a, 0x0fff_u64).signed_offset(), 0xfff);
        assert_eq!(Flat::of(Target::Gfx103, 0xdc00_0fff_u64).signed_offset(), -1);
        assert_eq!(Flat::of(Target::Gfx103, 0xdc00_17ff_u64).signed_offset(), 0x7ff);
    }
}
