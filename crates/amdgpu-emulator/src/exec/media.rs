//! Sums of absolute differences, byte averages and cube maps.

#![allow(clippy::needless_range_loop, reason = "a number indexes several arrays")]

use crate::exec::inst::{Exec, ExecContext, Flow, Inst};
use crate::exec::lanes::{Word, active_chunks, load, store};
use crate::exec::number::float::Float;
use crate::state::wave::{CHUNK, Wave};

use super::op::ops3;

/// Returns the four bytes of a dword.
#[inline(always)]
fn bytes(v: u32) -> [u32; 4] {
    [v & 0xff, v >> 8 & 0xff, v >> 16 & 0xff, v >> 24]
}

/// Returns the sum of the absolute differences of the bytes. With `MASKED`, bytes whose reference (in `b`) is 0 don't
/// count.
#[inline(always)]
fn sad<const MASKED: bool>(a: u32, b: u32) -> u32 {
    let (a, b) = (bytes(a), bytes(b));
    let mut sum = 0;
    for n in 0..4 {
        let difference = a[n].max(b[n]) - a[n].min(b[n]);
        sum += if MASKED && b[n] == 0 { 0 } else { difference };
    }
    sum
}

/// Returns four 16-bit sums. Sum `n` is [`sad`] of four bytes of `a`, from byte `n` on, and of `b`, plus part `n` of
/// `c`.
#[inline(always)]
fn quad16<const MASKED: bool>(a: u64, b: u32, c: u64, clamp: bool) -> u64 {
    let mut d = 0;
    for n in 0..4 {
        let sum = u64::from(sad::<MASKED>((a >> (8 * n)) as u32, b)) + (c >> (16 * n) & 0xffff);
        d |= (if clamp { sum.min(0xffff) } else { sum & 0xffff }) << (16 * n);
    }
    d
}

ops3! {
    SadU8: |_, a: u32, b: u32, c: u32| -> u32 { sad::<false>(a, b).wrapping_add(c) }
    SadU8Clamp: |_, a: u32, b: u32, c: u32| -> u32 { sad::<false>(a, b).saturating_add(c) }
    SadHiU8: |_, a: u32, b: u32, c: u32| -> u32 { (sad::<false>(a, b) << 16).wrapping_add(c) }
    SadHiU8Clamp: |_, a: u32, b: u32, c: u32| -> u32 { (sad::<false>(a, b) << 16).saturating_add(c) }
    SadU16: |_, a: u32, b: u32, c: u32| -> u32 { sad16(a, b).wrapping_add(c) }
    SadU16Clamp: |_, a: u32, b: u32, c: u32| -> u32 { sad16(a, b).saturating_add(c) }
    SadU32: |_, a: u32, b: u32, c: u32| -> u32 { a.abs_diff(b).wrapping_add(c) }
    SadU32Clamp: |_, a: u32, b: u32, c: u32| -> u32 { a.abs_diff(b).saturating_add(c) }
    MsadU8: |_, a: u32, b: u32, c: u32| -> u32 { sad::<true>(a, b).wrapping_add(c) }
    MsadU8Clamp: |_, a: u32, b: u32, c: u32| -> u32 { sad::<true>(a, b).saturating_add(c) }
    QsadPkU16U8: |_, a: u64, b: u32, c: u64| -> u64 { quad16::<false>(a, b, c, false) }
    QsadPkU16U8Clamp: |_, a: u64, b: u32, c: u64| -> u64 { quad16::<false>(a, b, c, true) }
    MqsadPkU16U8: |_, a: u64, b: u32, c: u64| -> u64 { quad16::<true>(a, b, c, false) }
    MqsadPkU16U8Clamp: |_, a: u64, b: u32, c: u64| -> u64 { quad16::<true>(a, b, c, true) }
    /// Averages bytes. An average is rounded up if the lowest bit of the third source's byte is set.
    LerpU8: |_, a: u32, b: u32, c: u32| -> u32 {
        let (a, b, c) = (bytes(a), bytes(b), bytes(c));
        let mut d = 0;
        for n in 0..4 {
            d |= (a[n] + b[n] + (c[n] & 1)) >> 1 << (8 * n);
        }
        d
    }
    CubeidF32: |_, x: f32, y: f32, z: f32| -> f32 { cube(x, y, z).face }
    CubescF32: |_, x: f32, y: f32, z: f32| -> f32 { cube(x, y, z).s }
    CubetcF32: |_, x: f32, y: f32, z: f32| -> f32 { cube(x, y, z).t }
    /// Twice the major axis.
    CubemaF32: |m, x: f32, y: f32, z: f32| -> f32 { let _ = m; 2.0 * cube(x, y, z).major } => {
        let [x, y, z] = [x, y, z].map(|v| v.flush(m, false));
        cube(x, y, z).major.mul_in(m, 2.0).flush(m, true)
    }
}

#[inline(always)]
fn sad16(a: u32, b: u32) -> u32 {
    (a & 0xffff).abs_diff(b & 0xffff) + (a >> 16).abs_diff(b >> 16)
}

/// The point at which a direction intersects a cube.
struct Cube {
    face: f32,
    s: f32,
    t: f32,
    major: f32,
}

/// Returns the point on the face of the largest coordinate; of equal ones z comes before y, and y before x (CDNA2 ISA,
/// `V_CUBEID_F32` and so on).
#[inline(always)]
fn cube(x: f32, y: f32, z: f32) -> Cube {
    let z_is_major = (z.abs() >= x.abs()) & (z.abs() >= y.abs());
    let y_is_major = !z_is_major & (y.abs() >= x.abs());
    let pick = |of_z: f32, of_y: f32, of_x: f32| {
        let other = if y_is_major { of_y } else { of_x };
        if z_is_major { of_z } else { other }
    };
    let (back, down, left) = (z < 0.0, y < 0.0, x < 0.0);
    Cube {
        face: pick(if back { 5.0 } else { 4.0 }, if down { 3.0 } else { 2.0 }, if left { 1.0 } else { 0.0 }),
        s: pick(if back { -x } else { x }, x, if left { z } else { -z }),
        t: pick(-y, if down { -z } else { z }, -y),
        major: pick(z, y, x),
    }
}

/// `v_mqsad_u32_u8`: four masked 32-bit sums, added to those in the third source.
pub(crate) struct MqsadU32U8<const CLAMP: bool>;
impl<const CLAMP: bool> Exec for MqsadU32U8<CLAMP> {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        active_chunks!(w, MASKED, r, mask, chunk => {
            let lo: [u32; CHUNK] = load(r, i.src[0], chunk);
            let hi: [u32; CHUNK] = load(r, i.src[0].wrapping_add(1), chunk);
            let b: [u32; CHUNK] = load(r, i.src[1], chunk);
            let mut d: [[u32; CHUNK]; 4] =
                std::array::from_fn(|n| load(r, i.src[2].wrapping_add(n as u16), chunk));
            for n in 0..4 {
                for j in 0..CHUNK {
                    // Four bytes from byte n on.
                    let a = lo[j] >> (8 * n) | hi[j] << 1 << (31 - 8 * n);
                    let sum = sad::<true>(a, b[j]);
                    d[n][j] = if CLAMP { sum.saturating_add(d[n][j]) } else { sum.wrapping_add(d[n][j]) };
                }
            }
            for n in 0..4 {
                store::<_, MASKED>(r, mask, i.dst.wrapping_add(n as u16), chunk, &d[n]);
            }
        });
        Flow::Next
    }
}
