//! The encodings of gfx11 and gfx12 in the golden list: see [`super::super::enumeration`].

use std::collections::BTreeSet;

use super::super::enumeration::{Fields, LITERALS, Random, seed};
use super::super::gfx12::enumeration as gfx12;
use crate::encoding::Encoding;
use crate::row::flags::{MASK_IN, WMMA};
use crate::row::{Row, Ty};
use crate::target::Target;

type Encodings = BTreeSet<[u32; 3]>;

const NULL: u32 = 124;
const LITERAL: u32 = 255;
/// The codes of source 0 for a control dword.
const CONTROLS: [u32; 3] = [233, 234, 250];

/// Returns a control dword for a code of source 0.
pub(in super::super) fn control(f: &mut Fields, code: u32, sources: usize) -> u32 {
    if code != 250 {
        return f.vgpr() | (f.next() as u32) << 8;
    }
    let controls =
        [0x101, 0x10f, 0x111, 0x12f, 0x130, 0x140, 0x141, 0x142, 0x150, 0x15f, 0x160, 0x16e, 0x170];
    let control = if f.below(2) == 0 { f.below(256) } else { f.one_of(&controls) };
    let signs = f.sparse(if sources < 2 { 2 } else { 4 }) << 20;
    f.vgpr() | control << 8 | f.sparse(2) << 18 | signs | f.below(256) << 24
}

/// Returns three sources of VOP3, and what follows the encoding.
pub(in super::super) fn long_sources(f: &mut Fields, count: usize, controlled: bool) -> (u32, u32) {
    let mut high = f.sparse(5) << 27;
    for n in 0..count {
        high |= f.source() << (9 * n);
    }
    if controlled {
        let code = f.one_of(&CONTROLS);
        // With a control dword there is no place for a literal.
        for n in 1..count {
            if high >> (9 * n) & 0x1ff == LITERAL {
                high ^= 1 << (9 * n);
            }
        }
        return (high & !0x1ff | code, control(f, code, 1));
    }
    (high, f.literal())
}

fn short_vector(
    f: &mut Fields,
    target: Target,
    row: &Row,
    encoding: Encoding,
    op: u32,
    n: usize,
) -> [u32; 3] {
    let sources = row.src.iter().filter(|ty| **ty != Ty::None).count();
    let (registers, offset) = match encoding {
        Encoding::Vop1 => (f.vgpr() << 17, 384),
        Encoding::Vop2 => (f.vgpr() << 17 | f.vgpr() << 9, 256),
        _ => (f.vgpr() << 9, 0),
    };
    let short = |rest: u32| encoding.first_dword(target, op, rest);
    match n % 8 {
        0 | 5 => [short(registers | f.source()), f.literal(), 0],
        1 => {
            let code = f.one_of(&CONTROLS);
            [short(registers | code), control(f, code, sources), 0]
        }
        _ => {
            let masks = row.is(MASK_IN);
            let dst = if encoding == Encoding::Vopc { f.register() } else { f.vgpr() };
            let first = Encoding::Vop3.first_dword(target, offset + op, f.sparse(8) << 8 | dst);
            let (mut high, third) = long_sources(f, sources, n % 8 == 3);
            if masks {
                high |= f.register() << 18;
            }
            [first, high, third]
        }
    }
}

/// Returns variant `n` of the encodings of a row of SOP1, SOP2, SOPC, SOPK, SOPP or DS, which are the same on all generations of RDNA, except for
/// DS of gfx12.
pub(in super::super) fn encode_simple(
    f: &mut Fields,
    target: Target,
    row: &Row,
    encoding: Encoding,
    op: u32,
    n: usize,
) -> [u32; 3] {
    let short = |rest: u32| encoding.first_dword(target, op, rest);
    match encoding {
        Encoding::Sop1 | Encoding::Sop2 | Encoding::Sopc => {
            // LLVM 22 crashes on a literal as the number of a barrier.
            let is_barrier = row.name.contains("_barrier_");
            let rest = f.register() << 16 | f.scalar() << 8;
            let source = if is_barrier { f.long_scalar() } else { f.scalar() };
            [short(rest | source), f.literal(), 0]
        }
        Encoding::Ds => {
            let unused = [0xff, 0xffff, 0xff_ffff, 0xff00_00ff, 0xff00_ffff, u32::MAX, 0xff00_0000, 0xff00];
            let registers = f.vgpr() | f.vgpr() << 8 | f.vgpr() << 16 | f.vgpr() << 24;
            [short(f.sparse(1) << 17 | f.sparse(16)), registers & unused[(n + op as usize) % 8], 0]
        }
        _ => [short(f.register() << 16 | f.sparse(16)), f.literal(), 0],
    }
}

/// Returns variant `n` of the encodings of a row.
fn encode(f: &mut Fields, target: Target, row: &Row, encoding: Encoding, op: u32, n: usize) -> [u32; 3] {
    let sources = row.src.iter().filter(|ty| **ty != Ty::None).count();
    let short = |rest: u32| encoding.first_dword(target, op, rest);
    if let Some(words) = gfx12::memory(f, target, encoding, op, n) {
        return words;
    }
    match encoding {
        Encoding::Sop1 | Encoding::Sop2 | Encoding::Sopc | Encoding::Sopk | Encoding::Sopp | Encoding::Ds => {
            encode_simple(f, target, row, encoding, op, n)
        }
        Encoding::Smem => {
            let base = f.one_of(&[0, 1, 2, 6, 24, 48, 50, 52, 53, 54, 56]);
            let rest = f.sparse(2) << 13 | f.register() << 6 | base;
            let soffset = if n.is_multiple_of(2) { NULL } else { f.register() };
            [short(rest), soffset << 25 | f.sparse(21), 0]
        }
        Encoding::Vop1 | Encoding::Vop2 | Encoding::Vopc => short_vector(f, target, row, encoding, op, n),
        Encoding::Vopd => {
            let high = f.source() | f.vgpr() << 9 | f.vgpr() << 17 | f.vgpr() << 24;
            [
                0xc800_0000 | (op & 15) << 22 | f.below(19) << 17 | f.vgpr() << 9 | f.source(),
                high,
                f.literal(),
            ]
        }
        Encoding::Vop3 | Encoding::Vop3p => {
            let mut low = f.sparse(8) << 8 | f.vgpr();
            let (mut high, third) = long_sources(f, sources, n % 4 == 3);
            if row.is(WMMA) && n % 4 != 3 {
                high |= 1 << 8 | 1 << 17;
            }
            if encoding == Encoding::Vop3p && n.is_multiple_of(2) {
                low |= 1 << 14;
                high |= 3 << 27;
            }
            [short(low), high, third]
        }
        Encoding::Flat | Encoding::Global | Encoding::Scratch => {
            let rest = f.sparse(3) << 13 | f.sparse(13);
            let saddr = match (encoding, n % 2) {
                (Encoding::Flat, _) | (_, 0) => NULL,
                _ => f.register(),
            };
            let sve = if encoding == Encoding::Scratch { f.below(2) << 23 } else { 0 };
            [short(rest), f.vgpr() | f.vgpr() << 8 | f.vgpr() << 24 | saddr << 16 | sve, 0]
        }
        Encoding::Mubuf | Encoding::Mtbuf => {
            let format = if encoding == Encoding::Mtbuf { f.below(128) << 19 } else { 0 };
            let rest = format | f.sparse(3) << 12 | f.sparse(12);
            let registers = f.vgpr() | f.vgpr() << 8 | f.below(26) << 16 | f.sparse(3) << 21;
            [short(rest), registers | f.long_scalar() << 24, 0]
        }
        Encoding::Mimg => {
            let flags = f.sparse(2) << 16 | f.sparse(4) << 12 | f.sparse(1) << 7;
            let rest = flags | f.sparse(4) << 8 | f.below(8) << 2 | (n as u32 & 1);
            let high = f.vgpr() | f.vgpr() << 8 | f.below(26) << 16 | f.sparse(2) << 21;
            [short(rest), high | (f.below(26) << 26) * u32::from(n % 4 > 1), f.next() as u32]
        }
    }
}

fn of_rows(target: Target, all: &mut Encodings) {
    for encoding in Encoding::ALL {
        for row in encoding.rows() {
            let Some(op) = row.opcode(target) else { continue };
            let mut f = Fields(Random::new(seed(row.name)));
            let count = match encoding {
                Encoding::Vop1 | Encoding::Vop2 | Encoding::Vop3 | Encoding::Vop3p => 8,
                Encoding::Vopd => 12,
                Encoding::Vopc | Encoding::Ds => 5,
                _ => 6,
            };
            // The lists are to have about the same size.
            let is_memory = gfx12::memory_operands(target, encoding).is_some();
            let count = if is_memory { count - 2 } else { count - usize::from(target.is_gfx12()) };
            for n in 0..count {
                all.insert(encode(&mut f, target, row, encoding, op.into(), n));
            }
        }
    }
}

/// Adds every possible opcode, with registers as operands.
fn of_opcodes(target: Target, all: &mut Encodings) {
    for encoding in Encoding::ALL {
        let (count, low, high) = match encoding {
            Encoding::Sop1 => (256, 0x0002_0004, 0),
            Encoding::Sop2 => (96, 0x0002_0604, 0),
            Encoding::Sopk => (29, 0x0002_0000, 0),
            Encoding::Sopc => (128, 0x0604, 0),
            Encoding::Sopp => (128, 0, 0),
            Encoding::Smem => (256, 0x0002_0002 & 0x3_ffff, 0xf800_0008),
            Encoding::Vop1 => (256, 0x0104, 0),
            Encoding::Vop2 => (62, 0x0104, 0x3456),
            Encoding::Vopc => (256, 0x0104, 0),
            Encoding::Vop3 => (1024, 2, 0x0402_0d02),
            Encoding::Vop3p => (128, 0x4002, 0x1c42_2108),
            Encoding::Vopd => (16, 0x0704, 0x0406_0902),
            Encoding::Ds => (256, 0, 0),
            Encoding::Flat | Encoding::Global | Encoding::Scratch => (128, 0, 0x027c_0602),
            Encoding::Mubuf => (256, 0, 0x0401_0602),
            Encoding::Mtbuf => (16, 0, 0x0401_0602),
            Encoding::Mimg => (256, 0x0104, 0x0001_0602),
        };
        let (count, low, high, third) =
            gfx12::memory_operands(target, encoding).unwrap_or((count, low, high, 0));
        for op in 0..count {
            all.insert([encoding.first_dword(target, op, low), high, third]);
        }
    }
    for y in 0..32 {
        // Of gfx12, each with some of the others.
        for x in (0..16).filter(|x| !target.is_gfx12() || (x + y) % 4 == 0) {
            all.insert([Encoding::Vopd.first_dword(target, x, 0x0704 | y << 17), 0x0406_0902, 0x1234]);
        }
    }
}

/// Adds every value of operands that have named values.
fn of_names(target: Target, all: &mut Encodings) {
    for source in 96..=258 {
        if !matches!(source, 233 | 234 | 249 | 250) {
            // v_mov_b32, v_ceil_f64, v_mov_b16; v_add_f16, v_dot2acc_f32_f16.
            for op in [1, 24, 28] {
                all.insert([Encoding::Vop1.first_dword(target, op, 2 << 17 | source), 0x0001_0203, 0]);
            }
            for op in [50, 2] {
                all.insert([Encoding::Vop2.first_dword(target, op, source), 0x0001_0203, 0]);
            }
        }
        if source < 256 {
            for op in [0, 1] {
                all.insert([Encoding::Sop1.first_dword(target, op, source), 0x0001_0203, 0]);
            }
        }
        // v_pk_add_f16, v_pk_add_u16, v_fma_mix_f32, v_fma_f64, v_mad_i16.
        for (encoding, op) in [
            (Encoding::Vop3p, 15),
            (Encoding::Vop3p, 10),
            (Encoding::Vop3p, 32),
            (Encoding::Vop3, 532),
            (Encoding::Vop3, 595),
        ] {
            let high = 0x0400_0000 | source << 9 | 0x102;
            all.insert([encoding.first_dword(target, op, 2), high, 0x0001_0203]);
        }
    }
    // s_getpc_b64 has no source.
    for destination in [0, 2, 80, 96, 100, 110] {
        all.insert([Encoding::Sop1.first_dword(target, 71, destination << 16), 0, 0]);
    }
    for lane in [4, 106, 124, 125, 128, 191, 253] {
        all.insert([Encoding::Vop3.first_dword(target, 864, 5), lane << 9 | 0x102, 0]);
        all.insert([Encoding::Vop3.first_dword(target, 865, 5), lane << 9 | 3, 0]);
    }
    // Of ds_gws_*, ds_ordered_count and ds_*_gs_reg_rtn: only with the GDS bit, and with the operands that each has.
    for op in [24, 25, 26, 27, 28, 29, 63, 122, 123] {
        for (low, high) in [(0, 0), (5, 4), (0, 0x400), (5, 0x0600_0004), (0, 0x0600_0400)] {
            all.insert([Encoding::Ds.first_dword(target, op, 0x2_0000 | low), high, 0]);
        }
    }
    // v_dual_mov_b32 has one source.
    for y in 0..19 {
        all.insert([Encoding::Vopd.first_dword(target, 8, y << 17 | 0x104), 0x0406_0000, 0x1234]);
    }
    // v_permlane16_b32, v_permlanex16_b32: the lanes are scalars.
    for (n, lanes) in [4, 106, 124, 125, 128, 191, 253, 255].into_iter().enumerate() {
        for op in [603, 604] {
            let first = Encoding::Vop3.first_dword(target, op, 5 | (n as u32 & 3) << 11);
            all.insert([first, lanes << 18 | 7 << 9 | 0x102, 0x1234]);
            all.insert([first, 7 << 18 | lanes << 9 | 0x103, 0x40]);
        }
    }
    for literal in LITERALS {
        for op in [1, 24, 28, 80] {
            all.insert([Encoding::Vop1.first_dword(target, op, LITERAL), literal, 0]);
        }
        for op in [2, 50, 55, 59, 60] {
            all.insert([Encoding::Vop2.first_dword(target, op, LITERAL), literal, 0]);
        }
        for op in [0, 1] {
            all.insert([Encoding::Sop1.first_dword(target, op, LITERAL), literal, 0]);
        }
        for (encoding, op) in [
            (Encoding::Vop3p, 15),
            (Encoding::Vop3p, 10),
            (Encoding::Vop3p, 32),
            (Encoding::Vop3p, 22),
            (Encoding::Vop3, 532),
            (Encoding::Vop3, 595),
            (Encoding::Vop3, 531),
            (Encoding::Vop3, 828),
        ] {
            let high = 0x0400_0000 | LITERAL << 9 | 0x102;
            all.insert([encoding.first_dword(target, op, 0x4002), high, literal]);
        }
        all.insert([Encoding::Sopk.first_dword(target, 19, 0xf801), literal, 0]);
    }
}

/// Adds the values of the control dwords of DPP.
fn of_controls(target: Target, all: &mut Encodings) {
    for control in 0..512 {
        // All permutations of four lanes would be too many.
        if control >= 256 || control % 7 == 0 {
            all.insert([Encoding::Vop1.first_dword(target, 1, 250), 0xff08_0004 | control << 8, 0]);
        }
    }
    for lanes in [0, 0x05_3977, 0x12_3456] {
        for code in [233, 234] {
            all.insert([Encoding::Vop2.first_dword(target, 50, code | 0x500), lanes << 8 | 0x84, 0]);
        }
    }
}

/// Adds every value of the immediates that have named values.
fn of_immediates(target: Target, all: &mut Encodings) {
    let sopp = |op: u32, imm: u32| [Encoding::Sopp.first_dword(target, op, imm & 0xffff), 0, 0];
    for n in 0..64 {
        all.insert(sopp(9, n << 10 | 0x3f7));
        all.insert(sopp(9, n << 4 | 0xfc07));
        all.insert(sopp(9, n * 1031));
        all.insert(sopp(8, n * 1031 & !0x60));
        all.insert(sopp(8, (0xff9f ^ 1 << (n % 16)) & !(n >> 4)));
        all.insert([Encoding::Sopk.first_dword(target, 17, 2 << 16 | 0xf800 | n), 0, 0]);
        all.insert([Encoding::Sopk.first_dword(target, 18, 2 << 16 | n << 6 | 1), 0, 0]);
    }
    for n in 0..256 {
        all.insert(sopp(54, n));
        all.insert(sopp(if n % 2 == 0 { 54 } else { 55 }, n * 259));
        all.insert([Encoding::Sop1.first_dword(target, 76 + n % 2, 2 << 16 | n), 0, 0]);
        all.insert(sopp(7, n * 8 + n % 7));
    }
    for imm in [0, 1, 16, 64, 65, 0x7fff, 0x8000, 0xfff0, 0xffff] {
        let is_listed = |op: u32| !target.is_gfx12() || Encoding::Sopp.row(target, op).is_some();
        for op in (0..if target.is_gfx12() { 80 } else { 64 }).filter(|op| is_listed(*op)) {
            all.insert(sopp(op, imm));
        }
        // s_waitcnt_vscnt and its like.
        for op in (24..28).filter(|_| !target.is_gfx12()) {
            all.insert([Encoding::Sopk.first_dword(target, op, 124 << 16 | imm), 0, 0]);
        }
    }
    for n in 0..256u32 {
        let masks =
            [0x8000 | n, n * 129 & 0x7fff, 0x1f | (n & 31) << 10, n & 0x1f | (n >> 3) << 5, 0xc000 | n << 6];
        all.insert([Encoding::Ds.first_dword(target, 53, masks[n as usize % 5]), 0x0200_0004, 0]);
    }
    for format in (0..128).filter(|_| !target.is_gfx12()) {
        all.insert([Encoding::Mtbuf.first_dword(target, 3, format << 19), 0x8001_0604, 0]);
    }
}

/// Returns the encodings of the golden list, in order, each with dwords after it, which may not belong to it.
pub(in super::super) fn encodings(target: Target) -> Vec<[u32; 3]> {
    let mut all = BTreeSet::new();
    of_rows(target, &mut all);
    of_opcodes(target, &mut all);
    of_names(target, &mut all);
    of_controls(target, &mut all);
    of_immediates(target, &mut all);
    if target.is_gfx12() {
        gfx12::add(&mut all);
    }
    all.into_iter().collect()
}
