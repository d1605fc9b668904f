//! Sums of absolute differences, byte averages and cube maps. They are rare, so one copy serves all SIMD levels.

use crate::exec::inst::{Exec, ExecContext, Flow, Inst};
use crate::exec::lanes::{Word, lane};
use crate::exec::number::float::Float;
use crate::state::wave::{Wave, lanes_of};

use super::op::ops3;

/// Returns the four bytes of a dword.
#[inline(always)]
fn bytes(v: u32) -> [u32; 4] {
    v.to_le_bytes().map(u32::from)
}

/// Returns the sum of the absolute differences of the bytes. With `MASKED`, bytes whose reference (in `b`) is 0 don't
/// count.
#[inline(always)]
fn sad<const MASKED: bool>(a: u32, b: u32) -> u32 {
    let (a, b) = (bytes(a), bytes(b));
    (0..4).filter(|n| !MASKED || b[*n] != 0).map(|n| a[n].abs_diff(b[n])).sum()
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
        (0..4).map(|n| (a[n] + b[n] + (c[n] & 1)) >> 1 << (8 * n)).sum()
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
    if z.abs() >= x.abs() && z.abs() >= y.abs() {
        let back = z < 0.0;
        Cube { face: if back { 5.0 } else { 4.0 }, s: if back { -x } else { x }, t: -y, major: z }
    } else if y.abs() >= x.abs() {
        let down = y < 0.0;
        Cube { face: if down { 3.0 } else { 2.0 }, s: x, t: if down { -z } else { z }, major: y }
    } else {
        let left = x < 0.0;
        Cube { face: if left { 1.0 } else { 0.0 }, s: if left { z } else { -z }, t: -y, major: x }
    }
}

/// `v_mqsad_u32_u8`: four masked 32-bit sums, added to those in the third source.
pub(crate) struct MqsadU32U8<const CLAMP: bool>;
impl<const CLAMP: bool> Exec for MqsadU32U8<CLAMP> {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        for l in lanes_of(w.exec()) {
            let a: u64 = lane(w, i.src[0], false, l);
            let b: u32 = lane(w, i.src[1], false, l);
            let c: [u32; 4] = std::array::from_fn(|n| lane(w, i.src[2] + n as u16, false, l));
            for (n, c) in c.into_iter().enumerate() {
                let sum = sad::<true>((a >> (8 * n)) as u32, b);
                let d = if CLAMP { sum.saturating_add(c) } else { sum.wrapping_add(c) };
                w.v_mut(i.dst.wrapping_add(n as u16)).flat_mut()[l] = d;
            }
        }
        Flow::Next
    }
}
