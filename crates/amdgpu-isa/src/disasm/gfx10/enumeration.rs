//! The encodings of gfx10 in the golden list: see [`super::super::enumeration`].

use std::collections::BTreeSet;

use super::super::enumeration::{Fields, LITERALS, Random, seed};
use super::super::gfx11::enumeration::{control, encode_simple, long_sources};
use crate::encoding::Encoding;
use crate::row::flags::MASK_IN;
use crate::row::{Row, Ty};
use crate::sample_form::SampleForm;
use crate::target::Target;

type Encodings = BTreeSet<[u32; 3]>;

const NULL: u32 = 125;
/// The code of SADDR of SCRATCH without an address.
const NEITHER: u32 = 127;
const LITERAL: u32 = 255;
const SDWA: u32 = 249;
/// The codes of source 0 for a control dword of DPP.
const CONTROLS: [u32; 3] = [233, 234, 250];
const TARGET: Target = Target::Gfx103;

fn short_vector(f: &mut Fields, row: &Row, encoding: Encoding, op: u32, n: usize) -> [u32; 3] {
    let sources = row.src.iter().filter(|ty| **ty != Ty::None).count();
    let (registers, offset) = match encoding {
        Encoding::Vop1 => (f.vgpr() << 17, 384),
        Encoding::Vop2 => (f.vgpr() << 17 | f.vgpr() << 9, 256),
        _ => (f.vgpr() << 9, 0),
    };
    let short = |rest: u32| encoding.first_dword(TARGET, op, rest);
    match n % 8 {
        0 | 5 => [short(registers | f.source()), f.literal(), 0],
        1 => {
            let code = f.one_of(&CONTROLS);
            [short(registers | code), control(f, code, sources), 0]
        }
        2 | 6 => [short(registers | SDWA), f.sdwa(sources), 0],
        _ => {
            let dst = if encoding == Encoding::Vopc { f.register() } else { f.vgpr() };
            let first = Encoding::Vop3.first_dword(TARGET, offset + op, f.sparse(8) << 8 | dst);
            let (mut high, third) = long_sources(f, sources, false);
            if row.is(MASK_IN) {
                high |= f.register() << 18;
            }
            [first, high, third]
        }
    }
}

/// Returns variant `n` of the encodings of a row.
fn encode(f: &mut Fields, row: &Row, encoding: Encoding, op: u32, n: usize) -> [u32; 3] {
    let sources = row.src.iter().filter(|ty| **ty != Ty::None).count();
    let short = |rest: u32| encoding.first_dword(TARGET, op, rest);
    match encoding {
        Encoding::Smem => {
            let base = f.one_of(&[0, 1, 2, 6, 24, 48, 50, 52, 53, 54, 56]);
            let rest = f.sparse(1) << 16 | f.sparse(1) << 14 | f.register() << 6 | base;
            let soffset = if n.is_multiple_of(2) { NULL } else { f.register() };
            [short(rest), soffset << 25 | f.sparse(21), 0]
        }
        Encoding::Vop1 | Encoding::Vop2 | Encoding::Vopc => short_vector(f, row, encoding, op, n),
        // gfx10 does not have it.
        Encoding::Vopd => [0; 3],
        Encoding::Vop3 | Encoding::Vop3p => {
            let mut low = f.sparse(8) << 8 | f.vgpr();
            let (mut high, third) = long_sources(f, sources, false);
            if encoding == Encoding::Vop3p && n.is_multiple_of(2) {
                low |= 1 << 14;
                high |= 3 << 27;
            }
            [short(low), high, third]
        }
        Encoding::Flat | Encoding::Global | Encoding::Scratch => {
            let rest = f.sparse(2) << 16 | f.sparse(1) << 13 | f.sparse(13);
            let saddr = match (encoding, n % 3) {
                (Encoding::Flat, _) | (_, 0) => NULL,
                (Encoding::Scratch, 1) => NEITHER,
                _ => f.register(),
            };
            [short(rest), f.vgpr() | f.vgpr() << 8 | f.vgpr() << 24 | f.sparse(1) << 23 | saddr << 16, 0]
        }
        Encoding::Mubuf | Encoding::Mtbuf => {
            let (format, opcode, lds) = match encoding {
                Encoding::Mtbuf => (f.below(128) << 19, (op >> 3) << 21, 0),
                _ => (0, 0, f.sparse(1) << 16),
            };
            let rest = format | f.sparse(4) << 12 | f.sparse(12) | lds;
            let registers = f.vgpr() | f.vgpr() << 8 | f.below(26) << 16 | f.sparse(2) << 22;
            [short(rest), registers | opcode | f.long_scalar() << 24, 0]
        }
        Encoding::Mimg => {
            let flags = f.sparse(1) << 25 | f.sparse(2) << 16 | f.sparse(4) << 12 | f.sparse(1) << 7;
            let separate = if n % 4 == 3 { f.below(4) } else { n as u32 & 1 };
            let few = SampleForm::of(row).is_none() && n < 4;
            let dmask = if few { [1, 3, 3, 15][n] } else { f.sparse(4) };
            let rest = flags | dmask << 8 | f.below(8) << 3 | separate << 1;
            let high = f.vgpr() | f.vgpr() << 8 | f.below(26) << 16 | f.sparse(2) << 30;
            [short(rest), high | f.below(26) << 21 & 0x03e0_0000 * u32::from(n % 8 == 6), f.next() as u32]
        }
        _ => encode_simple(f, TARGET, row, encoding, op, n),
    }
}

fn of_rows(all: &mut Encodings) {
    for encoding in Encoding::ALL {
        for row in encoding.rows() {
            let Some(op) = row.opcode(TARGET) else { continue };
            let mut f = Fields(Random::new(seed(row.name)));
            let count = match encoding {
                Encoding::Vop1 | Encoding::Vop2 | Encoding::Vop3 | Encoding::Vop3p => 8,
                Encoding::Mimg => 12,
                Encoding::Vopc => 5,
                _ => 6,
            };
            for n in 0..count {
                all.insert(encode(&mut f, row, encoding, op.into(), n));
            }
        }
    }
}

/// Adds every possible opcode, with registers as operands.
fn of_opcodes(all: &mut Encodings) {
    for encoding in Encoding::ALL {
        let (count, low, high) = match encoding {
            Encoding::Vopd => continue,
            Encoding::Sop1 => (256, 0x0002_0004, 0),
            Encoding::Sop2 => (96, 0x0002_0604, 0),
            Encoding::Sopk => (29, 0x0002_0000, 0),
            Encoding::Sopc => (128, 0x0604, 0),
            Encoding::Sopp => (128, 0, 0),
            Encoding::Smem => (256, 0x0082, 0xfa00_0008),
            Encoding::Vop1 => (256, 0x0104, 0),
            Encoding::Vop2 => (62, 0x0104, 0x3456),
            Encoding::Vopc => (256, 0x0104, 0),
            Encoding::Vop3 => (1024, 2, 0x0402_0d02),
            Encoding::Vop3p => (128, 0x4002, 0x1c42_2108),
            Encoding::Ds => (256, 0, 0),
            Encoding::Flat | Encoding::Global | Encoding::Scratch => (128, 0, 0x027d_0602),
            Encoding::Mubuf => (256, 0, 0x0401_0602),
            Encoding::Mtbuf => (16, 0, 0x0401_0602),
            Encoding::Mimg => (256, 0x0108, 0x0001_0602),
        };
        for op in 0..count {
            let more = if encoding == Encoding::Mtbuf { (op >> 3) << 21 } else { 0 };
            all.insert([encoding.first_dword(TARGET, op, low), high | more, 0]);
        }
    }
    // Bit 23 of VOP3P is part of the prefix.
    all.insert([Encoding::Vop3p.first_dword(TARGET, 15, 0x4002) | 1 << 23, 0x1802_2108, 0]);
}

/// Adds every value of operands that have named values.
fn of_names(all: &mut Encodings) {
    for source in 96..=258 {
        if !matches!(source, 233 | 234 | SDWA | 250) {
            // v_mov_b32, v_ceil_f64; v_add_f16, v_dot2c_f32_f16, v_pk_fmac_f16.
            for op in [1, 24] {
                all.insert([Encoding::Vop1.first_dword(TARGET, op, 2 << 17 | source), 0x0001_0203, 0]);
            }
            for op in [50, 2, 60] {
                all.insert([Encoding::Vop2.first_dword(TARGET, op, source), 0x0001_0203, 0]);
            }
        }
        if source < 256 {
            for op in [3, 4] {
                all.insert([Encoding::Sop1.first_dword(TARGET, op, source), 0x0001_0203, 0]);
            }
            // Scalars in SDWA: v_add_f32, v_cmp_lt_f32.
            for (encoding, op) in [(Encoding::Vop2, 3), (Encoding::Vopc, 1)] {
                all.insert([encoding.first_dword(TARGET, op, 4 << 9 | SDWA), 0x0686_0600 | source, 0]);
            }
        }
        // v_pk_add_f16, v_pk_add_u16, v_fma_mix_f32, v_fma_f64, v_mad_i16.
        for (encoding, op) in [
            (Encoding::Vop3p, 15),
            (Encoding::Vop3p, 10),
            (Encoding::Vop3p, 32),
            (Encoding::Vop3, 332),
            (Encoding::Vop3, 862),
        ] {
            let high = 0x0400_0000 | source << 9 | 0x102;
            all.insert([encoding.first_dword(TARGET, op, 2), high, 0x0001_0203]);
        }
    }
    // s_getpc_b64 has no source.
    for destination in [0, 2, 80, 96, 100, 110] {
        all.insert([Encoding::Sop1.first_dword(TARGET, 31, destination << 16), 0, 0]);
    }
    // v_readlane_b32, v_writelane_b32: the lane is a scalar.
    for lane in [4, 106, 124, 125, 128, 191, 253] {
        all.insert([Encoding::Vop3.first_dword(TARGET, 864, 5), lane << 9 | 0x102, 0]);
        all.insert([Encoding::Vop3.first_dword(TARGET, 865, 5), lane << 9 | 3, 0]);
    }
    // Of ds_gws_* and ds_ordered_count: only with the GDS bit, and with the operands that each has.
    for op in [24, 25, 26, 27, 28, 29, 63] {
        for (low, high) in [(0, 0), (5, 4), (0, 0x400), (5, 0x0600_0004), (0, 0x0600_0400)] {
            all.insert([Encoding::Ds.first_dword(TARGET, op, 0x2_0000 | low), high, 0]);
        }
    }
    // v_permlane16_b32, v_permlanex16_b32: the lanes are scalars.
    for (n, lanes) in [4, 106, 124, 125, 128, 191, 253, 255].into_iter().enumerate() {
        for op in [887, 888] {
            let first = Encoding::Vop3.first_dword(TARGET, op, 5 | (n as u32 & 3) << 11);
            all.insert([first, lanes << 18 | 7 << 9 | 0x102, 0x1234]);
            all.insert([first, 7 << 18 | lanes << 9 | 0x103, 0x40]);
        }
    }
}

/// Adds literals for operands of each type.
fn of_literals(all: &mut Encodings) {
    for literal in LITERALS {
        for op in [1, 24, 80] {
            all.insert([Encoding::Vop1.first_dword(TARGET, op, LITERAL), literal, 0]);
        }
        for op in [2, 13, 50, 55, 59, 60] {
            all.insert([Encoding::Vop2.first_dword(TARGET, op, LITERAL), literal, 0]);
        }
        for op in [3, 4] {
            all.insert([Encoding::Sop1.first_dword(TARGET, op, LITERAL), literal, 0]);
        }
        for (encoding, op) in [
            (Encoding::Vop3p, 15),
            (Encoding::Vop3p, 10),
            (Encoding::Vop3p, 32),
            (Encoding::Vop3p, 22),
            (Encoding::Vop3, 332),
            (Encoding::Vop3, 862),
            (Encoding::Vop3, 331),
            (Encoding::Vop3, 767),
        ] {
            let high = 0x0400_0000 | LITERAL << 9 | 0x102;
            all.insert([encoding.first_dword(TARGET, op, 0x4002), high, literal]);
        }
        all.insert([Encoding::Sopk.first_dword(TARGET, 21, 0xf801), literal, 0]);
    }
}

/// Adds the values of the control dwords of DPP and SDWA.
fn of_controls(all: &mut Encodings) {
    for control in 0..512 {
        // All permutations of four lanes would be too many.
        if control >= 256 || control % 7 == 0 {
            all.insert([Encoding::Vop1.first_dword(TARGET, 1, 250), 0xff08_0004 | control << 8, 0]);
        }
    }
    for lanes in [0, 0x05_3977, 0x12_3456] {
        for code in [233, 234] {
            all.insert([Encoding::Vop2.first_dword(TARGET, 50, code | 0x500), lanes << 8 | 0x84, 0]);
        }
    }
    let sdwa =
        |encoding: Encoding, op, control| [encoding.first_dword(TARGET, op, 2 << 9 | SDWA), control, 0];
    // LLVM crashes on the eighth part.
    for select in 0..7 {
        for unused in 0..3 {
            all.insert(sdwa(Encoding::Vop2, 3, 0x0606_0004 | select << 8 | unused << 11));
        }
        all.insert(sdwa(Encoding::Vop2, 37, 0x0006_0604 | select << 24));
        all.insert(sdwa(Encoding::Vopc, 2, 0x0600_8a04 | select << 16));
    }
    // The destination of comparisons.
    for destination in 0..128 {
        all.insert(sdwa(Encoding::Vopc, 1, 0x0606_8004 | destination << 8));
    }
}

/// Adds every value of the immediates that have named values.
fn of_immediates(all: &mut Encodings) {
    let sopp = |op: u32, imm: u32| [Encoding::Sopp.first_dword(TARGET, op, imm & 0xffff), 0, 0];
    for n in 0..64 {
        all.insert(sopp(12, (n & 15) | (n >> 4) << 14 | 0x3f70));
        all.insert(sopp(12, n << 8 | 0xc07f));
        all.insert(sopp(12, n * 1031));
        all.insert(sopp(35, n * 1031 & !0x60));
        all.insert(sopp(35, (0xff9f ^ 1 << (n % 16)) & !(n >> 4)));
        all.insert([Encoding::Sopk.first_dword(TARGET, 18, 2 << 16 | 0xf800 | n), 0, 0]);
        all.insert([Encoding::Sopk.first_dword(TARGET, 19, 2 << 16 | n << 6 | 1), 0, 0]);
    }
    for n in 0..256 {
        all.insert(sopp(16, n));
        all.insert(sopp(if n % 2 == 0 { 16 } else { 17 }, n * 259));
    }
    for imm in [0, 1, 16, 64, 65, 0x7fff, 0x8000, 0xfff0, 0xffff] {
        for op in 0..64 {
            all.insert(sopp(op, imm));
        }
        for op in 22..29 {
            all.insert([Encoding::Sopk.first_dword(TARGET, op, NULL << 16 | imm), 0, 0]);
        }
    }
    for version in [0, 4, 6, 9, 0x2004, 0x4004, 0xe004, 0x100] {
        all.insert([Encoding::Sopk.first_dword(TARGET, 1, version), 0, 0]);
    }
    for n in 0..256u32 {
        let masks =
            [0x8000 | n, n * 129 & 0x7fff, 0x1f | (n & 31) << 10, n & 0x1f | (n >> 3) << 5, 0xc000 | n << 6];
        all.insert([Encoding::Ds.first_dword(TARGET, 53, masks[n as usize % 5]), 0x0200_0004, 0]);
    }
    for format in 0..128 {
        all.insert([Encoding::Mtbuf.first_dword(TARGET, 3, format << 19), 0x8001_0604, 0]);
    }
}

/// Returns the encodings of the golden list, in order, each with dwords after it, which may not belong to it.
pub(in super::super) fn encodings() -> Vec<[u32; 3]> {
    let mut all = BTreeSet::new();
    of_rows(&mut all);
    of_opcodes(&mut all);
    of_names(&mut all);
    of_literals(&mut all);
    of_controls(&mut all);
    of_immediates(&mut all);
    all.into_iter().collect()
}
