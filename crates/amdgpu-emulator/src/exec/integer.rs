//! Integer arithmetic of 16, 32 and 64 bits; the `*Clamp` operations are the ones with the clamp bit.

use super::op::{ops2, ops3};

/// Returns the low 24 bits.
#[inline(always)]
fn u24(a: u32) -> u32 {
    a & 0xff_ffff
}

/// Returns the low 24 bits, sign-extended.
#[inline(always)]
fn i24(a: u32) -> i32 {
    (a << 8) as i32 >> 8
}

ops2! {
    AddU32: |_, a: u32, b: u32| -> u32 { a.wrapping_add(b) }
    AddU32Clamp: |_, a: u32, b: u32| -> u32 { a.saturating_add(b) }
    SubU32: |_, a: u32, b: u32| -> u32 { a.wrapping_sub(b) }
    SubU32Clamp: |_, a: u32, b: u32| -> u32 { a.saturating_sub(b) }
    SubrevU32: |_, a: u32, b: u32| -> u32 { b.wrapping_sub(a) }
    SubrevU32Clamp: |_, a: u32, b: u32| -> u32 { b.saturating_sub(a) }
    AddI32Clamp: |_, a: i32, b: i32| -> i32 { a.saturating_add(b) }
    SubI32Clamp: |_, a: i32, b: i32| -> i32 { a.saturating_sub(b) }
    MulLoU32: |_, a: u32, b: u32| -> u32 { a.wrapping_mul(b) }
    MulHiU32: |_, a: u32, b: u32| -> u32 { (u64::from(a) * u64::from(b) >> 32) as u32 }
    MulHiI32: |_, a: i32, b: i32| -> i32 { (i64::from(a) * i64::from(b) >> 32) as i32 }
    MulI32I24: |_, a: u32, b: u32| -> i32 { i24(a).wrapping_mul(i24(b)) }
    MulHiI32I24: |_, a: u32, b: u32| -> i32 { (i64::from(i24(a)) * i64::from(i24(b)) >> 32) as i32 }
    MulU32U24: |_, a: u32, b: u32| -> u32 { u24(a).wrapping_mul(u24(b)) }
    MulHiU32U24: |_, a: u32, b: u32| -> u32 { (u64::from(u24(a)) * u64::from(u24(b)) >> 32) as u32 }
    MinI32: |_, a: i32, b: i32| -> i32 { a.min(b) }
    MaxI32: |_, a: i32, b: i32| -> i32 { a.max(b) }
    MinU32: |_, a: u32, b: u32| -> u32 { a.min(b) }
    MaxU32: |_, a: u32, b: u32| -> u32 { a.max(b) }

    AddU16: |_, a: u16, b: u16| -> u16 { a.wrapping_add(b) }
    AddU16Clamp: |_, a: u16, b: u16| -> u16 { a.saturating_add(b) }
    SubU16: |_, a: u16, b: u16| -> u16 { a.wrapping_sub(b) }
    SubU16Clamp: |_, a: u16, b: u16| -> u16 { a.saturating_sub(b) }
    SubrevU16: |_, a: u16, b: u16| -> u16 { b.wrapping_sub(a) }
    SubrevU16Clamp: |_, a: u16, b: u16| -> u16 { b.saturating_sub(a) }
    AddI16Clamp: |_, a: i16, b: i16| -> i16 { a.saturating_add(b) }
    SubI16Clamp: |_, a: i16, b: i16| -> i16 { a.saturating_sub(b) }
    MulLoU16: |_, a: u16, b: u16| -> u16 { a.wrapping_mul(b) }
    MulLoU16Clamp: |_, a: u16, b: u16| -> u16 { a.saturating_mul(b) }
    MinI16: |_, a: i16, b: i16| -> i16 { a.min(b) }
    MaxI16: |_, a: i16, b: i16| -> i16 { a.max(b) }
    MinU16: |_, a: u16, b: u16| -> u16 { a.min(b) }
    MaxU16: |_, a: u16, b: u16| -> u16 { a.max(b) }
}

ops3! {
    MadU32U24: |_, a: u32, b: u32, c: u32| -> u32 { u24(a).wrapping_mul(u24(b)).wrapping_add(c) }
    MadU32U24Clamp: |_, a: u32, b: u32, c: u32| -> u32 {
        let sum = u64::from(u24(a)) * u64::from(u24(b)) + u64::from(c);
        if sum > u64::from(u32::MAX) { u32::MAX } else { sum as u32 }
    }
    MadI32I24: |_, a: u32, b: u32, c: i32| -> i32 { i24(a).wrapping_mul(i24(b)).wrapping_add(c) }
    MadI32I24Clamp: |_, a: u32, b: u32, c: i32| -> i32 {
        let sum = i64::from(i24(a)) * i64::from(i24(b)) + i64::from(c);
        sum.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32
    }
    MadU32U16: |_, a: u16, b: u16, c: u32| -> u32 { (u32::from(a) * u32::from(b)).wrapping_add(c) }
    MadU32U16Clamp: |_, a: u16, b: u16, c: u32| -> u32 { (u32::from(a) * u32::from(b)).saturating_add(c) }
    MadI32I16: |_, a: i16, b: i16, c: i32| -> i32 { (i32::from(a) * i32::from(b)).wrapping_add(c) }
    MadI32I16Clamp: |_, a: i16, b: i16, c: i32| -> i32 { (i32::from(a) * i32::from(b)).saturating_add(c) }
    MadU16: |_, a: u16, b: u16, c: u16| -> u16 { a.wrapping_mul(b).wrapping_add(c) }
    MadU16Clamp: |_, a: u16, b: u16, c: u16| -> u16 {
        let sum = u64::from(a) * u64::from(b) + u64::from(c);
        sum.min(0xffff) as u16
    }
    MadI16Clamp: |_, a: i16, b: i16, c: i16| -> i16 {
        let sum = i64::from(a) * i64::from(b) + i64::from(c);
        sum.clamp(-0x8000, 0x7fff) as i16
    }
    Add3U32: |_, a: u32, b: u32, c: u32| -> u32 { a.wrapping_add(b).wrapping_add(c) }
    LshlAddU32: |_, a: u32, b: u32, c: u32| -> u32 { (a << (b & 31)).wrapping_add(c) }
    AddLshlU32: |_, a: u32, b: u32, c: u32| -> u32 { a.wrapping_add(b) << (c & 31) }
    /// Of the count, the three low bits are read; 5 to 7 are not supported and count as 0 (CDNA ISA, `V_LSHL_ADD_U64`:
    /// the pseudocode and the notes).
    LshlAddU64: |_, a: u64, b: u32, c: u64| -> u64 {
        let count = if b & 7 > 4 { 0 } else { b & 7 };
        (a << count).wrapping_add(c)
    }
    XadU32: |_, a: u32, b: u32, c: u32| -> u32 { (a ^ b).wrapping_add(c) }

    /// Shifts two numbers, saturates them to 8 bits and packs these.
    AshrPkI8I32: |_, a: i32, b: i32, n: u32| -> u16 {
        let part = |v: i32| (v >> (n & 31)).clamp(-128, 127) as u8;
        u16::from_le_bytes([part(a), part(b)])
    }
    AshrPkU8I32: |_, a: i32, b: i32, n: u32| -> u16 {
        let part = |v: i32| (v >> (n & 31)).clamp(0, 255) as u8;
        u16::from_le_bytes([part(a), part(b)])
    }
    Min3I32: |_, a: i32, b: i32, c: i32| -> i32 { a.min(b).min(c) }
    Max3I32: |_, a: i32, b: i32, c: i32| -> i32 { a.max(b).max(c) }
    MaxMinI32: |_, a: i32, b: i32, c: i32| -> i32 { a.max(b).min(c) }
    MinMaxI32: |_, a: i32, b: i32, c: i32| -> i32 { a.min(b).max(c) }
    MaxMinU32: |_, a: u32, b: u32, c: u32| -> u32 { a.max(b).min(c) }
    MinMaxU32: |_, a: u32, b: u32, c: u32| -> u32 { a.min(b).max(c) }
    Med3I32: |_, a: i32, b: i32, c: i32| -> i32 { a.min(b).max(a.max(b).min(c)) }
    Min3U32: |_, a: u32, b: u32, c: u32| -> u32 { a.min(b).min(c) }
    Max3U32: |_, a: u32, b: u32, c: u32| -> u32 { a.max(b).max(c) }
    Med3U32: |_, a: u32, b: u32, c: u32| -> u32 { a.min(b).max(a.max(b).min(c)) }
    Min3I16: |_, a: i16, b: i16, c: i16| -> i16 { a.min(b).min(c) }
    Max3I16: |_, a: i16, b: i16, c: i16| -> i16 { a.max(b).max(c) }
    Med3I16: |_, a: i16, b: i16, c: i16| -> i16 { a.min(b).max(a.max(b).min(c)) }
    Min3U16: |_, a: u16, b: u16, c: u16| -> u16 { a.min(b).min(c) }
    Max3U16: |_, a: u16, b: u16, c: u16| -> u16 { a.max(b).max(c) }
    Med3U16: |_, a: u16, b: u16, c: u16| -> u16 { a.min(b).max(a.max(b).min(c)) }

    /// `v_dot2c_i32_i16`; the destination is the third source.
    Dot2cI32I16: |_, a: u32, b: u32, c: u32| -> u32 { c.wrapping_add(wrapping_dot::<16>(a, b)) }
    Dot2cI32I16Clamp: |_, a: u32, b: u32, c: i32| -> i32 { saturate(i64::from(c) + dot(a, b, 16)) }
    /// `v_dot4c_i32_i8`.
    Dot4cI32I8: |_, a: u32, b: u32, c: u32| -> u32 { c.wrapping_add(wrapping_dot::<8>(a, b)) }
    Dot4cI32I8Clamp: |_, a: u32, b: u32, c: i32| -> i32 { saturate(i64::from(c) + dot(a, b, 8)) }
    /// `v_dot8c_i32_i4`.
    Dot8cI32I4: |_, a: u32, b: u32, c: u32| -> u32 { c.wrapping_add(wrapping_dot::<4>(a, b)) }
    Dot8cI32I4Clamp: |_, a: u32, b: u32, c: i32| -> i32 { saturate(i64::from(c) + dot(a, b, 4)) }
}

/// Returns the sum of the products of signed parts of `bits` bits.
#[inline(always)]
fn dot(a: u32, b: u32, bits: u32) -> i64 {
    let part = |v: u32, n: u32| i64::from((v << (32 - bits * (n + 1))) as i32 >> (32 - bits));
    (0..32 / bits).map(|n| part(a, n) * part(b, n)).sum()
}

/// Returns the low 32 bits of [`dot`].
#[inline(always)]
fn wrapping_dot<const BITS: u32>(a: u32, b: u32) -> u32 {
    let mut sum = 0u32;
    for n in 0..32 / BITS {
        let (up, down) = (32 - BITS * (n + 1), 32 - BITS);
        let (a, b) = ((a << up) as i32 >> down, (b << up) as i32 >> down);
        sum = sum.wrapping_add(a.wrapping_mul(b) as u32);
    }
    sum
}

#[inline(always)]
fn saturate(v: i64) -> i32 {
    v.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32
}
