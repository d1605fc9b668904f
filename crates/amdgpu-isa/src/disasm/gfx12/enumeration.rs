//! The encodings of gfx12 in the golden list that are not as on gfx11: see [`super::super::gfx11::enumeration`].

use std::collections::BTreeSet;

use super::super::enumeration::{Fields, LITERALS};
use crate::encoding::{Encoding, has_sampler_on_gfx12};
use crate::target::Target;

const TARGET: Target = Target::Gfx12;
const NULL: u32 = 124;
const LITERAL: u32 = 255;

/// Returns variant `n` of the encodings of a memory instruction of gfx12; `None` for other instructions and targets.
pub(in super::super) fn memory(
    f: &mut Fields,
    target: Target,
    encoding: Encoding,
    op: u32,
    n: usize,
) -> Option<[u32; 3]> {
    if !target.is_gfx12() {
        return None;
    }
    let short = |rest: u32| encoding.first_dword(TARGET, op, rest);
    // The temporal hint and the scope of the encodings of three dwords.
    let policy = |f: &mut Fields| f.sparse(5) << 18;
    Some(match encoding {
        Encoding::Smem => {
            let base = f.one_of(&[0, 1, 2, 6, 24, 48, 50, 52, 53, 54, 56]);
            let rest = f.sparse(4) << 21 | f.register() << 6 | base;
            let soffset = if n.is_multiple_of(2) { NULL } else { f.register() };
            // The length of a prefetch has five bits.
            let mask = if (36..=40).contains(&op) && n < 4 { !(0x60 << 6) } else { !0 };
            [short(rest & mask), soffset << 25 | f.sparse(24), 0]
        }
        Encoding::Flat | Encoding::Global | Encoding::Scratch => {
            let saddr = match (encoding, n % 2) {
                (Encoding::Flat, _) | (_, 0) => NULL,
                _ => f.register(),
            };
            let sve = if encoding == Encoding::Scratch { f.below(2) << 17 } else { 0 };
            [short(saddr), f.vgpr() | sve | policy(f) | f.vgpr() << 23, f.vgpr() | f.sparse(24) << 8]
        }
        Encoding::Mubuf | Encoding::Mtbuf => {
            let rest = f.register() | f.sparse(1) << 22;
            let format = if encoding == Encoding::Mtbuf { f.below(128) } else { f.sparse(7) };
            let second = f.vgpr() | f.below(26) << 11 | policy(f) | format << 23 | f.sparse(2) << 30;
            [short(rest), second, f.vgpr() | f.sparse(23) << 8]
        }
        Encoding::Mimg if has_sampler_on_gfx12(op) => {
            let rest = f.below(8) | f.sparse(4) << 3 | f.sparse(1) << 13 | f.sparse(4) << 22;
            let second = f.vgpr() | f.sparse(1) << 8 | f.below(26) << 11 | policy(f) | f.below(26) << 25;
            [short(rest), second, f.vgpr() | f.vgpr() << 8 | f.vgpr() << 16 | f.vgpr() << 24]
        }
        Encoding::Mimg => {
            let rest = f.below(8) | f.sparse(3) << 4 | f.sparse(4) << 22;
            let second = f.vgpr() | f.below(26) << 11 | policy(f) | f.sparse(1) << 23;
            [short(rest), second, f.vgpr() | f.vgpr() << 8 | f.vgpr() << 16 | f.vgpr() << 24]
        }
        Encoding::Ds => {
            let unused = [0xff, 0xffff, 0xff_ffff, 0xff00_00ff, 0xff00_ffff, u32::MAX, 0xff00_0000, 0xff00];
            let registers = f.vgpr() | f.vgpr() << 8 | f.vgpr() << 16 | f.vgpr() << 24;
            [short(f.sparse(16)), registers & unused[(n + op as usize) % 8], 0]
        }
        _ => return None,
    })
}

/// Returns the number of opcodes of a memory encoding of gfx12, and registers as operands: the rest of the first dword, and the two that follow.
pub(in super::super) fn memory_operands(target: Target, encoding: Encoding) -> Option<(u32, u32, u32, u32)> {
    if !target.is_gfx12() {
        return None;
    }
    Some(match encoding {
        Encoding::Smem => (64, 2, 0xf800_0008, 0),
        Encoding::Flat | Encoding::Global => (136, NULL, 0x0300_0002, 4),
        Encoding::Scratch => (136, NULL, 0x0302_0002, 4),
        Encoding::Mubuf => (128, NULL, 0x0080_1002, 4),
        Encoding::Mtbuf => (16, NULL, 0x0080_1002, 4),
        Encoding::Mimg => (256, 0x0040_0001, 0x1002, 0x0504),
        _ => return None,
    })
}

/// Adds every value of the fields that have named values, and encodings whose unused bits are set.
pub(in super::super) fn add(all: &mut BTreeSet<[u32; 3]>) {
    // Loads, stores and atomics of each memory encoding, with every hint and scope.
    let global = |op: u32, policy: u32| {
        [Encoding::Global.first_dword(TARGET, op, NULL), 0x0300_0002 | policy << 18, 4]
    };
    for policy in 0..32 {
        for op in [20, 26, 53] {
            all.insert(global(op, policy));
        }
        for op in [20, 29, 65] {
            let first = Encoding::Mubuf.first_dword(TARGET, op, NULL);
            all.insert([first, 0x0080_1002 | policy << 18, 4]);
        }
        for op in [0, 6, 12] {
            let first = Encoding::Mimg.first_dword(TARGET, op, 0x0040_0071 & !(policy << 4));
            all.insert([first, 0x1002 | policy << 18, 0x0504]);
        }
        let load = Encoding::Smem.first_dword(TARGET, policy % 4, 2 | (policy & 15) << 21);
        all.insert([load, 0xf800_0000 | policy, 0]);
        let control = [43, 44, 79][policy as usize % 3];
        all.insert([Encoding::Global.first_dword(TARGET, control, NULL), policy << 18, 0]);
    }
    for bit in 0..32 {
        for encoding in [Encoding::Flat, Encoding::Global, Encoding::Scratch] {
            let first = encoding.first_dword(TARGET, 20, NULL);
            all.insert([encoding.first_dword(TARGET, 20, NULL ^ 1 << bit), 0x0300_0002, 4]);
            all.insert([first, 0x0300_0002 ^ 1 << bit, 4]);
            all.insert([first, 0x0300_0002, 4 ^ 1 << bit]);
        }
        for (encoding, op) in [(Encoding::Mubuf, 20), (Encoding::Mtbuf, 0)] {
            let first = encoding.first_dword(TARGET, op, NULL);
            all.insert([encoding.first_dword(TARGET, op, NULL ^ 1 << bit), 0x0080_1002, 4]);
            all.insert([first, 0x0080_1002 ^ 1 << bit, 4]);
            all.insert([first, 0x0080_1002, 4 ^ 1 << bit]);
        }
        let first = Encoding::Mimg.first_dword(TARGET, 0, 0x0040_0001);
        all.insert([Encoding::Mimg.first_dword(TARGET, 0, 0x0040_0001 ^ 1 << bit), 0x1002, 0x0504]);
        all.insert([first, 0x1002 ^ 1 << bit, 0x0504]);
        all.insert([first, 0x1002, 0x0504 ^ 1 << bit]);
        all.insert([Encoding::Smem.first_dword(TARGET, 0, 2 ^ 1 << bit), 0xf800_0008, 0]);
        all.insert([Encoding::Smem.first_dword(TARGET, 0, 2), 0xf800_0008 ^ 1 << bit, 0]);
        all.insert([Encoding::Ds.first_dword(TARGET, 54, 1 << bit), 0x0200_0004, 0]);
    }
    for format in 0..128 {
        all.insert([Encoding::Mtbuf.first_dword(TARGET, 3, NULL), 0x1002 | format << 23, 4]);
    }
    for literal in LITERALS {
        // v_cvt_f32_fp8, v_cvt_pk_f32_fp8; v_add_f64, v_lshlrev_b64.
        for op in [108, 110] {
            all.insert([Encoding::Vop1.first_dword(TARGET, op, 2 << 17 | LITERAL), literal, 0]);
        }
        for op in [2, 31] {
            all.insert([Encoding::Vop2.first_dword(TARGET, op, LITERAL), literal, 0]);
        }
    }
    of_matrices(all);
}

/// Adds the modifiers of the matrix instructions, and their third operands.
fn of_matrices(all: &mut BTreeSet<[u32; 3]>) {
    let registers = 264 | 272 << 9 | 3 << 27;
    for op in (64..96).filter(|op| Encoding::Vop3p.row(TARGET, *op).is_some()) {
        let first = |rest: u32| Encoding::Vop3p.first_dword(TARGET, op, rest | 2);
        for bits in [1, 2, 3, 4] {
            all.insert([first(0x4000 | bits << 11), registers | 280 << 18, 0]);
            all.insert([first(0x4000 | bits << 8), registers | 280 << 18, 0]);
            all.insert([first(0x4000), registers | 280 << 18 | bits << 29, 0]);
            all.insert([first(bits << 13), registers | 280 << 18, 0]);
        }
        for source in [4, NULL, 128, 193, 240, 242, 248] {
            all.insert([first(0x4000), registers | source << 18, 0]);
        }
        for literal in [0x3f80_0000, 0x3c00, 0x1234_5678, 64, 0x3ff0_0000] {
            all.insert([first(0x4000), registers | 255 << 18, literal]);
        }
    }
}
