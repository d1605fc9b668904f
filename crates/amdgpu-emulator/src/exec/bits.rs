//! Operations on bits: moves, logic, shifts, fields, counts, bytes.

use super::op::{ops1, ops2, ops3};
use crate::exec::number::half16::Half;
use crate::exec::scaled::next_random;

ops1! {
    MovB32: |_, a: u32| -> u32 { a }
    MovB64: |_, a: u64| -> u64 { a }
    NotB32: |_, a: u32| -> u32 { !a }
    BfrevB32: |_, a: u32| -> u32 { a.reverse_bits() }
    /// The number of zeros above the highest one; -1 if there is no one.
    FfbhU32: |_, a: u32| -> u32 { if a == 0 { !0 } else { a.leading_zeros() } }
    /// The position of the lowest one; -1 if there is none.
    FfblB32: |_, a: u32| -> u32 { if a == 0 { !0 } else { a.trailing_zeros() } }
    /// The number of leading bits that equal the sign bit; -1 if all do.
    FfbhI32: |_, a: u32| -> u32 {
        let flipped = if a as i32 >= 0 { a } else { !a };
        if flipped == 0 { !0 } else { flipped.leading_zeros() }
    }
    /// The next number of a sequence of pseudorandom ones.
    PrngB32: |_, a: u32| -> u32 { next_random(a) }
    SatPkU8I16: |_, a: u32| -> u32 {
        let part = |n: u32| (i32::from((a >> n) as i16)).clamp(0, 255) as u32;
        part(0) | part(16) << 8
    }
    /// A mask of the shader engines, of four, that a rectangle of tiles overlaps. The tile at x, y belongs to engine
    /// `{x[0] ^ y[1], y[0] ^ x[1]}`. The source has the first and last x and the first and last y, modulo 4 (Vega ISA,
    /// `V_SCREEN_PARTITION_4SE_B32`).
    ScreenPartition4SeB32: |_, a: u32| -> u32 {
        let (x0, x1, y0, y1) = (a >> 6 & 3, a >> 4 & 3, a >> 2 & 3, a & 3);
        let mut engines = 0;
        for dx in 0..4 {
            for dy in 0..4 {
                let (x, y) = ((x0 + dx) & 3, (y0 + dy) & 3);
                let inside = dx <= (x1.wrapping_sub(x0) & 3) && dy <= (y1.wrapping_sub(y0) & 3);
                let engine = ((x ^ y >> 1) & 1) << 1 | (y ^ x >> 1) & 1;
                engines |= u32::from(inside) << engine;
            }
        }
        engines
    }
}

ops2! {
    AndB32: |_, a: u32, b: u32| -> u32 { a & b }
    OrB32: |_, a: u32, b: u32| -> u32 { a | b }
    XorB32: |_, a: u32, b: u32| -> u32 { a ^ b }
    XnorB32: |_, a: u32, b: u32| -> u32 { !(a ^ b) }
    LshlrevB32: |_, a: u32, b: u32| -> u32 { b << (a & 31) }
    LshrrevB32: |_, a: u32, b: u32| -> u32 { b >> (a & 31) }
    AshrrevI32: |_, a: u32, b: i32| -> i32 { b >> (a & 31) }
    LshlrevB64: |_, a: u32, b: u64| -> u64 { b << (a & 63) }
    LshrrevB64: |_, a: u32, b: u64| -> u64 { b >> (a & 63) }
    AshrrevI64: |_, a: u32, b: i64| -> i64 { b >> (a & 63) }
    LshlrevB16: |_, a: u16, b: u16| -> u16 { b << (a & 15) }
    LshrrevB16: |_, a: u16, b: u16| -> u16 { b >> (a & 15) }
    AshrrevI16: |_, a: u16, b: i16| -> i16 { b >> (a & 15) }
    BcntU32B32: |_, a: u32, b: u32| -> u32 { a.count_ones().wrapping_add(b) }
    BfmB32: |_, a: u32, b: u32| -> u32 { ((1 << (a & 31)) - 1) << (b & 31) }
    /// Packs two f16. The sources are made canonical (LLVM, `is_canonicalized_2`): the mode says whether denormals are
    /// flushed.
    PackB32F16: |_, a: Half, b: Half| -> u32 { u32::from(a.0) | u32::from(b.0) << 16 }
}

ops3! {
    BfeU32: |_, a: u32, b: u32, c: u32| -> u32 { a >> (b & 31) & ((1 << (c & 31)) - 1) }
    BfeI32: |_, a: u32, b: u32, c: u32| -> i32 {
        let width = c & 31;
        let unused = (32 - width) & 31;
        let field = ((a as i32 >> (b & 31)) << unused) >> unused;
        if width == 0 { 0 } else { field }
    }
    BfiB32: |_, a: u32, b: u32, c: u32| -> u32 { a & b | !a & c }
    AlignbitB32: |_, a: u32, b: u32, c: u32| -> u32 { ((u64::from(a) << 32 | u64::from(b)) >> (c & 31)) as u32 }
    AlignbyteB32: |_, a: u32, b: u32, c: u32| -> u32 {
        ((u64::from(a) << 32 | u64::from(b)) >> (8 * (c & 3))) as u32
    }
    Xor3B32: |_, a: u32, b: u32, c: u32| -> u32 { a ^ b ^ c }
    LshlOrB32: |_, a: u32, b: u32, c: u32| -> u32 { a << (b & 31) | c }
    AndOrB32: |_, a: u32, b: u32, c: u32| -> u32 { a & b | c }
    Or3B32: |_, a: u32, b: u32, c: u32| -> u32 { a | b | c }
    /// Each byte of `c` selects a byte of `{a, b}`, a sign, or a constant.
    PermB32: |_, a: u32, b: u32, c: u32| -> u32 {
        let both = u64::from(a) << 32 | u64::from(b);
        let mut d = 0;
        for n in 0..4 {
            let selector = c >> (8 * n) & 0xff;
            let byte = (both >> (8 * (selector & 7))) as u32 & 0xff;
            // Selectors 8 to 11 give the sign of one of the four halves.
            let sign = ((both >> (15 + 16 * (selector & 3))) as u32 & 1) * 0xff;
            let constant = if selector == 12 { 0 } else { 0xff };
            let picked = if selector < 12 { sign } else { constant };
            d |= (if selector < 8 { byte } else { picked }) << (8 * n);
        }
        d
    }
}
