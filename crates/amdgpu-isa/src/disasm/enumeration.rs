//! The encodings of the golden list: every row of the instruction table with random operands and modifiers, every
//! opcode, and every value of the fields that have named values.

use std::collections::BTreeSet;

use super::{gfx10::enumeration as gfx10, gfx11::enumeration as gfx11};
use crate::encoding::Encoding;
use crate::row::Ty;
use crate::row::flags::MASK_IN;
use crate::target::{Generation, Target};

/// Codes of scalar sources, and of other sources that are not VGPRs, which are interesting.
const SCALARS: [u32; 40] = [
    0, 1, 2, 3, 4, 6, 8, 16, 44, 96, 100, 101, 102, 104, 106, 107, 108, 112, 120, 124, 126, 127, 128, 129,
    192, 193, 208, 235, 238, 240, 241, 242, 247, 248, 251, 252, 253, 254, 255, 239,
];
/// Values of literals: inline constants of each type, halves of some, and other numbers.
pub(super) const LITERALS: [u32; 18] = [
    0x1234_5678,
    0,
    1,
    64,
    65,
    0xffff_fff0,
    0xffff_ffef,
    0xffff_ffff,
    0x3f80_0000,
    0x4000_0000,
    0x3e22_f983,
    0x3ff0_0000,
    0x3fe0_0000,
    0x3c00,
    0x3118,
    0xffff,
    0xfff0,
    0x00ff_ffff,
];
/// The code for a literal. LLVM 22 crashes on it in encodings that can't have one.
const LITERAL: u32 = 255;
const SDWA: u32 = 249;
const DPP: u32 = 250;

/// A generator of random numbers (splitmix64), which are the same each time.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        Random(seed | 1)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
}

/// A generator of random fields.
pub(super) struct Fields(pub(super) Random);

impl Fields {
    pub(super) fn next(&mut self) -> u64 {
        self.0.next()
    }

    pub(super) fn below(&mut self, end: u32) -> u32 {
        (self.0.next() % u64::from(end)) as u32
    }

    pub(super) fn one_of(&mut self, from: &[u32]) -> u32 {
        from[self.below(from.len() as u32) as usize]
    }

    /// Returns `bits` bits, few of which are set, often none.
    pub(super) fn sparse(&mut self, bits: u32) -> u32 {
        let mask = ((1u64 << bits) - 1) as u32;
        let mut next = || self.0.next() as u32;
        match next() % 8 {
            0..3 => 0,
            3..6 => next() & next() & next() & mask,
            6 => next() & next() & mask,
            _ => next() & mask,
        }
    }

    pub(super) fn scalar(&mut self) -> u32 {
        self.one_of(&SCALARS)
    }

    /// Returns the code of a source that can't be a literal.
    pub(super) fn long_scalar(&mut self) -> u32 {
        match self.scalar() {
            LITERAL => 254,
            code => code,
        }
    }

    pub(super) fn register(&mut self) -> u32 {
        self.scalar() & 0x7f
    }

    /// Returns the number of a VGPR, mostly an even one, as tuples require.
    pub(super) fn vgpr(&mut self) -> u32 {
        match self.below(8) {
            0 => self.below(255),
            1 => 254,
            _ => self.below(60) * 2,
        }
    }

    pub(super) fn source(&mut self) -> u32 {
        if self.below(2) == 0 { 256 + self.vgpr() } else { self.scalar() }
    }

    pub(super) fn literal(&mut self) -> u32 {
        match self.below(4) {
            0 => self.0.next() as u32,
            _ => self.one_of(&LITERALS),
        }
    }

    /// Returns a control dword of SDWA without reserved bits.
    pub(super) fn sdwa(&mut self, sources: usize) -> u32 {
        let selects = self.below(7) << 16 | self.below(7) << 24 | self.below(7) << 8 | self.below(3) << 11;
        let modifiers =
            self.sparse(1) << 13 | self.sparse(2) << 14 | self.sparse(3) << 19 | self.sparse(3) << 27;
        let control = selects | modifiers | self.vgpr() | (self.sparse(1) << 23) | (self.sparse(1) << 31);
        if sources < 2 { control & 0x00ff_ffff } else { control }
    }

    fn dpp(&mut self, sources: usize) -> u32 {
        let controls = [
            0x101, 0x10f, 0x111, 0x12f, 0x130, 0x134, 0x138, 0x13c, 0x140, 0x141, 0x142, 0x143, 0x150, 0x15f,
        ];
        let control = if self.below(2) == 0 { self.below(256) } else { self.one_of(&controls) };
        let signs = self.sparse(if sources < 2 { 2 } else { 4 }) << 20;
        self.vgpr() | control << 8 | self.sparse(1) << 19 | signs | self.below(256) << 24
    }

    /// Returns the second dword of VOP3.
    fn sources(&mut self, count: usize) -> u32 {
        let mut high = 0;
        for n in 0..count {
            let code = match self.source() {
                LITERAL => 256,
                code => code,
            };
            high |= code << (9 * n);
        }
        high | self.sparse(5) << 27
    }
}

/// Returns a seed for a name, which is the same on every run.
pub(super) fn seed(name: &str) -> u64 {
    name.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// Adds a few encodings of each row.
fn of_rows(target: Target, all: &mut BTreeSet<[u32; 2]>) {
    for encoding in Encoding::ALL {
        for row in encoding.rows() {
            let Ok(op) = u32::try_from(row.op[target as usize]) else { continue };
            let mut f = Fields(Random::new(seed(row.name)));
            let sources = row.src.iter().filter(|ty| **ty != Ty::None).count();
            let count = match encoding {
                Encoding::Vop1 | Encoding::Vop2 | Encoding::Vop3 | Encoding::Vop3p => 8,
                Encoding::Ds | Encoding::Vopc => 5,
                _ => 6,
            };
            for n in 0..count {
                let masks = usize::from(row.flags & MASK_IN != 0);
                all.insert(encode(&mut f, encoding, op, n, sources, masks));
            }
        }
    }
}

/// Returns variant `n` of the encodings of an opcode.
fn encode(f: &mut Fields, encoding: Encoding, op: u32, n: usize, sources: usize, masks: usize) -> [u32; 2] {
    let short = |rest: u32| encoding.first_dword(Target::Gfx90a, op, rest);
    match encoding {
        Encoding::Sop1 | Encoding::Sop2 | Encoding::Sopc => {
            let rest = f.register() << 16 | f.scalar() << 8 | f.scalar();
            [short(rest), f.literal()]
        }
        Encoding::Sopk | Encoding::Sopp => [short(f.register() << 16 | f.sparse(16)), f.literal()],
        Encoding::Smem => {
            let base = f.one_of(&[0, 1, 2, 6, 24, 48, 50, 52, 53, 54, 56]);
            let rest = f.sparse(3) << 16 & 0x3_0000 | f.below(2) << 14 | f.register() << 6 & !0x40 | base;
            [short(rest), if n.is_multiple_of(2) { f.sparse(21) } else { f.register() << 25 | f.register() }]
        }
        Encoding::Vop1 | Encoding::Vop2 | Encoding::Vopc => short_vector(f, encoding, op, n, sources, masks),
        // gfx9 does not have it.
        Encoding::Vopd => [0, 0],
        Encoding::Vop3 | Encoding::Vop3p => {
            let mut low = f.sparse(8) << 8 | f.vgpr();
            let mut high = f.sources(sources);
            if encoding == Encoding::Vop3p && n.is_multiple_of(2) {
                low |= 1 << 14;
                high |= 3 << 27;
            }
            [short(low), high]
        }
        Encoding::Ds => {
            let unused = [0xff, 0xffff, 0xff_ffff, 0xff00_00ff, 0xff00_ffff, u32::MAX, 0xff00_0000, 0xff00];
            let registers = f.vgpr() | f.vgpr() << 8 | f.vgpr() << 16 | f.vgpr() << 24;
            let rest = f.sparse(1) << 25 | f.sparse(1) << 16 | f.sparse(16);
            [short(rest), registers & unused[(n + op as usize) % 8]]
        }
        Encoding::Flat | Encoding::Global | Encoding::Scratch => {
            let vaddr = if encoding == Encoding::Scratch { f.below(2) << 13 } else { 0 };
            let rest = f.sparse(1) << 25 | f.sparse(2) << 16 | vaddr | f.sparse(13);
            let saddr = match (encoding, n % 2) {
                (Encoding::Flat, _) => 0,
                (_, 0) => 0x7f,
                _ => f.register(),
            };
            let registers = f.vgpr() | f.vgpr() << 8 | f.vgpr() << 24;
            [short(rest), registers | saddr << 16 | f.sparse(1) << 23]
        }
        Encoding::Mubuf | Encoding::Mtbuf | Encoding::Mimg => {
            let rest = match encoding {
                Encoding::Mtbuf => {
                    f.below(128) << 19 | f.below(4) << 12 | f.sparse(2) << 14 & 0x4000 | f.sparse(12)
                }
                Encoding::Mubuf => f.sparse(1) << 17 | f.sparse(1) << 16 | f.sparse(4) << 12 | f.sparse(12),
                _ => f.sparse(1) << 25 | f.sparse(2) << 16 | f.sparse(8) << 8,
            };
            let registers = f.vgpr() | f.vgpr() << 8 | f.below(26) << 16;
            let soffset = f.long_scalar() << 24 | f.sparse(1) << 23;
            let last = if encoding == Encoding::Mimg { 0 } else { soffset };
            [short(rest), registers | last]
        }
    }
}

/// The same for an encoding of vector instructions that also has forms with SDWA and DPP, and that of VOP3.
fn short_vector(
    f: &mut Fields,
    encoding: Encoding,
    op: u32,
    n: usize,
    sources: usize,
    masks: usize,
) -> [u32; 2] {
    let short = |rest: u32| encoding.first_dword(Target::Gfx90a, op, rest);
    let (registers, forms): (_, &[u32]) = match encoding {
        Encoding::Vop1 => (f.vgpr() << 17, &[0, 0, 1, 1, 2, 3, 3, 3]),
        Encoding::Vop2 => (f.vgpr() << 17 | f.vgpr() << 9, &[0, 0, 1, 1, 2, 3, 3, 3]),
        _ => (f.vgpr() << 9, &[0, 0, 1, 3, 3]),
    };
    match forms[n % forms.len()] {
        0 => [short(registers | f.source()), f.literal()],
        1 => [short(registers | SDWA), f.sdwa(sources)],
        2 => [short(registers | DPP), f.dpp(sources)],
        _ => {
            let op = op
                + match encoding {
                    Encoding::Vopc => 0,
                    Encoding::Vop2 => 256,
                    _ => 320,
                };
            let dst = if encoding == Encoding::Vopc { f.register() } else { f.vgpr() };
            let first = Encoding::Vop3.first_dword(Target::Gfx90a, op, f.sparse(8) << 8 | dst);
            let mut high = f.sources(sources);
            if masks > 0 {
                high |= f.register() << 18;
            }
            [first, high]
        }
    }
}

/// Adds every possible opcode, with registers as operands.
fn of_opcodes(all: &mut BTreeSet<[u32; 2]>) {
    for encoding in Encoding::ALL {
        let (count, low, high) = match encoding {
            Encoding::Vopd => (0, 0, 0),
            Encoding::Sop1 => (256, 0x0002_0004, 0),
            Encoding::Sop2 => (96, 0x0002_0604, 0),
            Encoding::Sopk => (29, 0x0002_0000, 0),
            Encoding::Sopc => (128, 0x0604, 0),
            Encoding::Sopp => (128, 0, 0),
            Encoding::Smem => (256, 0x0002_0002, 8),
            Encoding::Vop1 => (256, 0x0104, 0),
            Encoding::Vop2 => (62, 0x0104, 0x3456),
            Encoding::Vopc => (256, 0x0104, 0),
            // The last opcodes of VOP3 are those of VOP3P.
            Encoding::Vop3 => (896, 2, 0x0402_0d02),
            Encoding::Vop3p => (128, 0x4002, 0x1c02_0d02),
            Encoding::Ds => (256, 0, 0),
            Encoding::Flat => (128, 0, 0x0200_0602),
            Encoding::Global | Encoding::Scratch => (128, 0, 0x027f_0602),
            Encoding::Mubuf => (128, 0, 0x0401_0602),
            Encoding::Mtbuf => (16, 0, 0x0401_0602),
            Encoding::Mimg => (128, 0x0f00, 0x0001_0602),
        };
        for op in 0..count {
            all.insert([encoding.first_dword(Target::Gfx90a, op, low), high]);
        }
    }
}

/// Adds every value of operands that have named values.
fn of_names(all: &mut BTreeSet<[u32; 2]>) {
    // s_getpc_b64 has no source.
    for destination in [0, 2, 80, 96, 100, 110] {
        all.insert([Encoding::Sop1.first_dword(Target::Gfx90a, 28, destination << 16), 0]);
    }
    let vop1 = |op, source| Encoding::Vop1.first_dword(Target::Gfx90a, op, 2 << 17 | source);
    for source in 96..=258 {
        // v_mov_b32, v_ceil_f64; v_add_f16, v_add_u16, v_dot2c_f32_f16, v_dot2c_i32_i16; s_mov_b32, s_mov_b64.
        if !matches!(source, SDWA | DPP) {
            for op in [1, 24] {
                all.insert([vop1(op, source), 0x0001_0203]);
            }
            for op in [31, 38, 55, 56] {
                all.insert([Encoding::Vop2.first_dword(Target::Gfx90a, op, source), 0x0001_0203]);
            }
        }
        if source < 256 {
            for op in [0, 1] {
                all.insert([Encoding::Sop1.first_dword(Target::Gfx90a, op, source), 0x0001_0203]);
            }
        }
        // v_pk_add_f16, v_pk_add_u16, v_fma_mix_f32, v_fma_f64, v_mad_i16.
        if source != LITERAL {
            for (encoding, op) in [
                (Encoding::Vop3p, 15),
                (Encoding::Vop3p, 10),
                (Encoding::Vop3p, 32),
                (Encoding::Vop3, 460),
                (Encoding::Vop3, 517),
            ] {
                all.insert([encoding.first_dword(Target::Gfx90a, op, 2), 0x0400_0000 | source << 9 | 0x102]);
            }
        }
    }
    // ds_gws_*: only with the GDS bit.
    for op in 152..158 {
        for (low, high) in [(0x1_0000, 0), (0x1_0005, 4), (0x201_0000, 0), (0x1_0000, 0x400)] {
            all.insert([Encoding::Ds.first_dword(Target::Gfx90a, op, low), high]);
        }
    }
    // v_readlane_b32, v_writelane_b32: the lane is a scalar.
    for lane in [4, 106, 124, 128, 191, 253] {
        all.insert([Encoding::Vop3.first_dword(Target::Gfx90a, 649, 5), lane << 9 | 0x102]);
        all.insert([Encoding::Vop3.first_dword(Target::Gfx90a, 650, 5), lane << 9 | 3]);
    }
    for literal in LITERALS {
        for op in [1, 24, 70] {
            all.insert([vop1(op, LITERAL), literal]);
        }
        for op in [24, 31, 36, 37, 38, 55, 56, 60] {
            all.insert([Encoding::Vop2.first_dword(Target::Gfx90a, op, LITERAL), literal]);
        }
        for op in [0, 1] {
            all.insert([Encoding::Sop1.first_dword(Target::Gfx90a, op, LITERAL), literal]);
        }
        all.insert([Encoding::Sopk.first_dword(Target::Gfx90a, 20, 0xf801), literal]);
    }
}

/// Adds every value of the fields of SDWA and DPP that have named values.
fn of_controls(all: &mut BTreeSet<[u32; 2]>) {
    let vop1 = |op, source| Encoding::Vop1.first_dword(Target::Gfx90a, op, 2 << 17 | source);
    for control in 0..512 {
        // All permutations of four lanes would be too many.
        if control >= 256 || control % 5 == 0 {
            all.insert([vop1(1, DPP), 0xff08_0004 | control << 8]);
            all.insert([vop1(24, DPP), 0xff08_0004 | control << 8]);
        }
    }
    for select in 0..7 {
        for unused in 0..3 {
            all.insert([
                Encoding::Vop2.first_dword(Target::Gfx90a, 1, 2 << 9 | SDWA),
                0x0606_0004 | select << 8 | unused << 11,
            ]);
        }
        all.insert([
            Encoding::Vop2.first_dword(Target::Gfx90a, 52, 2 << 9 | SDWA),
            0x0006_0604 | select << 24,
        ]);
        all.insert([
            Encoding::Vopc.first_dword(Target::Gfx90a, 66, 2 << 9 | SDWA),
            0x0600_8a04 | select << 16,
        ]);
    }
}

/// Adds every value of the immediates that have named values, and of the modifiers of single instructions.
fn of_immediates(all: &mut BTreeSet<[u32; 2]>) {
    let sopp = |op: u32, imm: u32| [Encoding::Sopp.first_dword(Target::Gfx90a, op, imm & 0xffff), 0];
    for n in 0..64 {
        all.insert(sopp(12, (n & 15) | (n >> 4) << 14 | 0xf70));
        all.insert(sopp(12, n << 4 | 0xf));
        all.insert(sopp(12, n * 1031));
        all.insert([Encoding::Sopk.first_dword(Target::Gfx90a, 17, 2 << 16 | 0xf800 | n), 0]);
        all.insert([Encoding::Sopk.first_dword(Target::Gfx90a, 18, 2 << 16 | n << 6 | 1), 0]);
    }
    for message in 0..256 {
        all.insert(sopp(16, message));
        all.insert(sopp(if message % 2 == 0 { 16 } else { 17 }, message * 259));
    }
    for imm in [0, 1, 16, 64, 65, 0x7fff, 0x8000, 0xfff0, 0xffff] {
        for op in 0..31 {
            all.insert(sopp(op, imm));
        }
        all.insert([Encoding::Sopk.first_dword(Target::Gfx90a, 21, 2 << 16 | imm), 0]);
    }
    for mode in 0..18 {
        all.insert(sopp(29, mode));
        all.insert([Encoding::Sopc.first_dword(Target::Gfx90a, 17, mode << 8 | 2), 0]);
    }
    for n in 0..256u32 {
        // Permutations of four lanes; AND, OR and XOR masks of each kind; patterns that only LLVM 22 has names for.
        let masks =
            [0x8000 | n, n * 129 & 0x7fff, 0x1f | (n & 31) << 10, n & 0x1f | (n >> 3) << 5, 0xc000 | n << 6];
        all.insert([Encoding::Ds.first_dword(Target::Gfx90a, 61, masks[n as usize % 5]), 0x0200_0004]);
    }
    // v_mfma_ld_scale_b32, v_mfma_f32_16x16x128_f8f6f4 with every format.
    for bits in 0..16 {
        let (low, high) = (0x4000 ^ (bits & 3) << 11 ^ (bits & 1) << 14, (bits >> 2) << 27 | 0x2_3318);
        all.insert([Encoding::Vop3p.first_dword(Target::Gfx90a, 44, low), high]);
    }
    for formats in 0..64 {
        let (a, b) = (formats & 7, formats >> 3);
        all.insert([Encoding::Vop3p.first_dword(Target::Gfx90a, 45, a << 8), b << 29 | 0x0452_1904]);
        all.insert([Encoding::Vop3p.first_dword(Target::Gfx90a, 46, a << 8), b << 29 | 0x0452_1904]);
    }
    // v_bitop3_b16, v_bitop3_b32.
    for table in 0..256 {
        let (low, high) = ((table >> 3 & 7) << 8, table << 29 | (table >> 6) << 27);
        all.insert([Encoding::Vop3.first_dword(Target::Gfx90a, 563 + table % 2, low), high | 0x0402_0d02]);
    }
    for format in 0..128 {
        all.insert([Encoding::Mtbuf.first_dword(Target::Gfx90a, 3, format << 19), 0x8001_0604]);
    }
}

/// Returns the encodings of the golden list, in order, each with dwords after it, which may not belong to it.
pub(super) fn encodings(target: Target) -> Vec<[u32; 3]> {
    match target.generation() {
        Generation::Gfx9 => {}
        Generation::Gfx10 => return gfx10::encodings(),
        Generation::Gfx11 | Generation::Gfx12 => return gfx11::encodings(target),
    }
    let mut all = BTreeSet::new();
    of_rows(target, &mut all);
    of_opcodes(&mut all);
    of_names(&mut all);
    of_controls(&mut all);
    of_immediates(&mut all);
    all.into_iter().map(|[first, second]| [first, second, 0]).collect()
}
