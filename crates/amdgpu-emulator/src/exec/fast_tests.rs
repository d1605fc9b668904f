//! Tests that the faster ways of lane operations (`fast`), which only loops over lanes use, give the same bits as the
//! operations themselves. These are tested in [`valu_tests`](super::valu_tests).

use crate::exec::arith::*;
use crate::exec::bits::PermB32;
use crate::exec::carry::OpFlag;
use crate::exec::convert::*;
use crate::exec::divide::{DivFixup, DivScale};
use crate::exec::lanes::{Op1, Op2, Op3, Word};
use crate::exec::level::SimdLevel;
use crate::exec::number::half16::Half;
use crate::exec::vop3::bytes_of;
use crate::state::wave::{CHUNK, Mode};
use crate::testing::test_wave::Random;

/// Dwords that are special as f32, as the upper half of an f64, as an f16 or as an integer.
const SPECIAL: [u32; 24] = [
    0,
    1,
    0x7fff_ffff,
    0x007f_ffff,
    0x0080_0000,
    0x0000_03ff,
    0x0000_0400,
    0x0000_7c00,
    0x0000_7c01,
    0x0000_7e00,
    0x3f00_0000,
    0x3f80_0000,
    0x3ff0_0000,
    0x437f_0000,
    0x437f_8000,
    0x41e0_0000,
    0x4f00_0000,
    0x4f80_0000,
    0x7f80_0000,
    0x7f80_0001,
    0x7fc0_0000,
    0x7ff0_0000,
    0x7ff8_0000,
    0x0c07_0603,
];

/// Returns a value: often a special one, one beside it, or one of small magnitude.
fn value<T: Word>(random: &mut Random) -> T {
    let mut dword = || {
        let bits = random.next();
        let special = SPECIAL[bits as usize % SPECIAL.len()];
        match bits >> 32 & 7 {
            0 | 1 => special ^ (bits >> 8) as u32 & 0x8000_8000,
            2 => special.wrapping_add((bits >> 40) as u32 & 7).wrapping_sub(3),
            // Numbers from 2^-8 to 2^32.
            3 | 4 => (0x3b80_0000 + (bits >> 35) as u32 % 0x1400_0000) ^ (bits as u32) << 31,
            5 => (bits >> 35) as u32 & 0x0707_0707,
            6 => ((bits >> 35) as i32 % 1500) as u32,
            _ => random.next() as u32,
        }
    };
    let (lo, hi) = (dword(), dword());
    T::new(lo, hi)
}

/// Returns whether two results are equal, or both NaN.
fn same<T: Word>(a: T, b: T) -> bool {
    let is_nan = |v: T| match (T::FLOAT, T::WIDE) {
        (true, true) => f64::new(v.lo(), v.hi()).is_nan(),
        (true, false) => f32::new(v.lo(), 0).is_nan(),
        _ => false,
    };
    (a.lo(), a.hi()) == (b.lo(), b.hi()) || is_nan(a) && is_nan(b)
}

/// Declares a function that compares both ways of an operation, in both settings of IEEE. At least a twentieth of the
/// values must have a result in the faster way.
macro_rules! compare {
    ($name:ident, $Op:ident, $($v:ident: $Source:ident),*) => {
        fn $name<O: $Op>() {
            let name = std::any::type_name::<O>();
            let mut random = Random::new(3);
            let (mut certain, count) = (0, if cfg!(debug_assertions) { 30_000 } else { 1_000_000 });
            for n in 0..count {
                let m = if n % 2 == 0 { Mode::DEFAULT } else { Mode(0xf0) };
                $(let $v: O::$Source = value(&mut random);)*
                let (d, unsure) = O::fast(m, $($v),*);
                if unsure == 0 {
                    certain += 1;
                    let want = O::f(m, $($v),*);
                    let sources = [$(($v.lo(), $v.hi())),*];
                    assert!(same(d, want), "{name} of {sources:x?}: {:x?}", (d.lo(), d.hi(), want.lo(), want.hi()));
                }
            }
            assert!(certain > count / 20, "{name}: {certain} of {count}");
        }
    };
}

compare!(one, Op1, a: A);
compare!(two, Op2, a: A, b: B);
compare!(three, Op3, a: A, b: B, c: C);

#[test]
fn extrema() {
    two::<Min<f32>>();
    two::<Max<f32>>();
    two::<Min<f64>>();
    two::<Max<f64>>();
    two::<Min<Half>>();
    two::<Max<Half>>();
    three::<Min3<f32>>();
    three::<Max3<f32>>();
    three::<Med3<f32>>();
    three::<Min3<Half>>();
    three::<Max3<Half>>();
    three::<Med3<Half>>();
}

#[test]
fn quotients() {
    three::<DivFixup<f32>>();
    three::<DivFixup<f64>>();
    scaled::<f32, DivScale<f32>>();
    scaled::<f64, DivScale<f64>>();
}

/// Compares both ways of `v_div_scale`.
fn scaled<T: Word, O: OpFlag<D = T, A = T, C = T>>() {
    let mut random = Random::new(3);
    let (mut certain, count) = (0, if cfg!(debug_assertions) { 30_000 } else { 1_000_000 });
    for n in 0..count {
        let (a, b): (T, T) = (value(&mut random), value(&mut random));
        let first = if n % 2 == 0 { a } else { b };
        let (d, fast_flag, unsure) = O::fast(first, a, b);
        if unsure == 0 {
            certain += 1;
            let (want, flag) = O::f(first, a, b);
            assert!(
                same(d, want) && flag >> 31 == fast_flag >> 31,
                "{:x?}",
                [(a.lo(), a.hi()), (b.lo(), b.hi()), (d.lo(), d.hi())]
            );
        }
    }
    assert!(certain > count / 20, "{certain} of {count}");
}

#[test]
fn conversions() {
    one::<CvtI32F64>();
    one::<CvtU32F64>();
    one::<CvtI32F32>();
    one::<CvtU32F32>();
    one::<CvtRpiI32F32>();
    one::<CvtFlrI32F32>();
    two::<LdexpF64>();
    three::<CvtPkU8F32>();
}

#[test]
fn permuted_bytes() {
    if !SimdLevel::Avx2.is_available() {
        return;
    }
    let mut random = Random::new(3);
    for n in 0..10_000 {
        // Every other chunk has no selector of a sign or a constant.
        let mask = if n % 2 == 0 { 0x0707_0707 } else { 0x0f0f_ffff };
        let [a, b, c] = [!0, !0, mask].map(|mask| [0; CHUNK].map(|_: u32| random.next() as u32 & mask));
        let want: [u32; CHUNK] = std::array::from_fn(|j| PermB32::f(Mode::DEFAULT, a[j], b[j], c[j]));
        // SAFETY: the host has AVX2.
        assert_eq!(unsafe { bytes_of(a, b, c) }, want, "{a:x?} {b:x?} {c:x?}");
    }
}
