//! Compares operations on chunks of f16 with the operations on one lane that they replace, which convert with integers:
//! for all numbers of one source, for all pairs of special ones, and at random. Also those on floats of 8 bits.

#![allow(clippy::needless_range_loop, reason = "a lane's number indexes several arrays")]

use super::arith::{
    Add, Ceil, Floor, Fma, Fract, Mad, Max, Max3, Maximum3, Med3, Min, Min3, Minimum3, Mul, Rndne, Sub,
    Subrev, Trunc,
};
use super::convert::{
    CvtF16I16, CvtF16U16, CvtI16F16, CvtNormI16F16, CvtNormU16F16, CvtU16F16, FrexpExpI16F16, FrexpMant,
    LdexpF16,
};
use super::halves::HalfOp;
use super::lanes::{Op1, Op2, Op3, Word};
use super::level::SimdLevel;
use super::number::half16::{F16c, Half, InLoops};
use super::number::narrow::in_f64::{Rounding, Value};
use super::number::narrow::{self, BF6, BF8, FP4, FP6, FP8, Narrow};
use super::transcendental::{CosF16, ExpF16, LogF16, RcpF16, RsqF16, SinF16, SqrtF16};
use crate::state::wave::{CHUNK, Mode};
use crate::testing::test_wave::Random;

/// The modes that round to nearest even and keep denormals, with and without IEEE.
const MODES: [Mode; 2] = [Mode(0xf0), Mode(0x2f0)];

/// Numbers at the limits of what is special, of both signs.
fn special() -> Vec<u16> {
    let positive = [
        0, 1, 2, 3, 0x1ff, 0x200, 0x3ff, 0x400, 0x401, 0x7ff, 0x800, 0x1000, 0x1400, 0x13ff, 0x2400, 0x3800,
        0x3801, 0x3bff, 0x3c00, 0x3c01, 0x3e00, 0x4000, 0x4200, 0x57ff, 0x6400, 0x6401, 0x6800, 0x77ff,
        0x7800, 0x7bfe, 0x7bff, 0x7c00, 0x7c01, 0x7dff, 0x7e00, 0x7fff,
    ];
    positive.iter().flat_map(|x| [*x, *x | 0x8000]).collect()
}

/// Computes an operation on lists of sources.
fn chunks<O: HalfOp>(m: Mode, f16c: bool, sources: &[[u16; 3]]) -> Vec<u16> {
    let mut out = Vec::new();
    for part in sources.chunks(CHUNK) {
        let mut x = [[0; CHUNK]; 3];
        for (j, values) in part.iter().enumerate() {
            for n in 0..3 {
                x[n][j] = values[n];
            }
        }
        let d = if f16c { O::chunk::<F16c>(m, x) } else { O::chunk::<InLoops>(m, x) };
        out.extend(&d[..part.len()]);
    }
    out
}

fn is_nan(x: u16) -> bool {
    x & 0x7fff > 0x7c00
}

/// Compares an operation with the function `one`, which computes it for one lane. NaNs of floats may differ.
fn compare<O: HalfOp>(float: bool, sources: &[[u16; 3]], one: impl Fn(Mode, [u16; 3]) -> u16) {
    for m in MODES {
        for f16c in [false, SimdLevel::Avx2.is_available()] {
            let got = chunks::<O>(m, f16c, sources);
            for (x, got) in sources.iter().zip(got) {
                let want = one(m, *x);
                let same = got == want || float && is_nan(got) && is_nan(want);
                assert!(same, "{} of {x:x?}: {got:#x}, not {want:#x}", std::any::type_name::<O>());
            }
        }
    }
}

/// The low halves of lanes.
fn half<T: Word>(x: u16) -> T {
    T::new(u32::from(x), 0)
}

fn all_of_one<O: HalfOp + Op1>(float: bool) {
    let all: Vec<[u16; 3]> = (0..=u16::MAX).map(|x| [x, 0, 0]).collect();
    compare::<O>(float, &all, |m, [a, ..]| O::f(m, half(a)).lo() as u16);
}

/// Special numbers together, then random ones, of which many are near each other's size.
fn triples(count: usize) -> Vec<[u16; 3]> {
    let special = special();
    let mut all: Vec<[u16; 3]> = Vec::new();
    for (n, a) in special.iter().enumerate() {
        for (k, b) in special.iter().enumerate() {
            all.push([*a, *b, special[(7 * n + 13 * k) % special.len()]]);
            all.push([*a, *b, (0x1357 * (n + 1) * (k + 3)) as u16]);
        }
    }
    let mut random = Random::new(5);
    for _ in 0..count {
        let bits = random.next();
        let [a, b, c, coarse] = [0, 16, 32, 48].map(|at| (bits >> at) as u16);
        // With few bits in their fractions, sums and products are often halfway between two f16.
        let mask = [!0, 0xfff0, 0xffc0, 0xfff8][usize::from(coarse & 3)];
        let c = if coarse & 4 != 0 { c } else { c & 0x83ff | (a.wrapping_add(b) & 0x7c00) };
        all.push([a & mask, b & mask, c]);
    }
    all
}

#[test]
fn operations_of_one_source_agree_for_all_f16() {
    all_of_one::<Floor<Half>>(true);
    all_of_one::<Ceil<Half>>(true);
    all_of_one::<Trunc<Half>>(true);
    all_of_one::<Rndne<Half>>(true);
    all_of_one::<Fract<Half>>(true);
    all_of_one::<RcpF16>(true);
    all_of_one::<SqrtF16>(true);
    all_of_one::<RsqF16>(true);
    all_of_one::<ExpF16>(true);
    all_of_one::<LogF16>(true);
    all_of_one::<SinF16>(true);
    all_of_one::<CosF16>(true);
    all_of_one::<FrexpMant<Half>>(true);
    all_of_one::<FrexpExpI16F16>(false);
    all_of_one::<CvtU16F16>(false);
    all_of_one::<CvtI16F16>(false);
    all_of_one::<CvtNormI16F16>(false);
    all_of_one::<CvtNormU16F16>(false);
    all_of_one::<CvtF16U16>(true);
    all_of_one::<CvtF16I16>(true);
}

#[test]
fn operations_of_two_sources_agree() {
    fn two<O: HalfOp + Op2>(all: &[[u16; 3]]) {
        compare::<O>(true, all, |m, [a, b, _]| O::f(m, half(a), half(b)).lo() as u16);
    }
    let all = triples(300_000);
    two::<Add<Half>>(&all);
    two::<Sub<Half>>(&all);
    two::<Subrev<Half>>(&all);
    two::<Mul<Half>>(&all);
    two::<Min<Half>>(&all);
    two::<Max<Half>>(&all);
    two::<LdexpF16>(&all);
    let near: Vec<[u16; 3]> = all.iter().map(|[a, b, c]| [*a, (*b as i16 % 50) as u16, *c]).collect();
    two::<LdexpF16>(&near);
}

#[test]
fn operations_of_three_sources_agree() {
    fn three<O: HalfOp + Op3>(all: &[[u16; 3]]) {
        compare::<O>(true, all, |m, [a, b, c]| O::f(m, half(a), half(b), half(c)).lo() as u16);
    }
    let all = triples(600_000);
    three::<Fma<Half>>(&all);
    three::<Mad<Half>>(&all);
    three::<Min3<Half>>(&all);
    three::<Max3<Half>>(&all);
    three::<Minimum3<Half>>(&all);
    three::<Maximum3<Half>>(&all);
    three::<Med3<Half>>(&all);
}

/// Sums of a product and a number that is halfway between two f16, or nearly: the far smaller summand decides.
#[test]
fn the_lesser_summand_decides_ties() {
    let mut all = Vec::new();
    for large in [0x3c01, 0x3c00, 0x7801, 0x4bff, 0x0403, 0x0001, 0x03ff] {
        // 0.5 to the 11th of the large number's power of two is half of its last place.
        for tie in [0x1000u16, 0x0c00, 0x1001, 0x0fff] {
            for tiny in [0u16, 1, 2, 0x10, 0x400, 0x8001, 0x8010] {
                all.extend([
                    [large, tie, tiny],
                    [tie, tiny, large],
                    [large, 0x3c01, tie],
                    [large | 0x8000, tie, large],
                ]);
            }
        }
    }
    // 1 + 2^-11 times 1 + n * 2^-10: products whose lowest bits are below a tie, with what cancels the rest.
    for a in 0x3c00..0x3c40 {
        for b in 0x3c00..0x3c40 {
            for c in [0x0001u16, 0x8001, 0x1000, 0x9000, 0x0800, 0xbc00, 0x3c00, 0x8400] {
                all.push([a, b, c]);
            }
        }
    }
    compare::<Fma<Half>>(true, &all, |m, [a, b, c]| Fma::f(m, Half(a), Half(b), Half(c)).0);
}

#[test]
fn halves_are_compared_as_f32() {
    use super::number::float::Float;
    let mut random = Random::new(7);
    let pairs = triples(300_000).into_iter().map(|[a, b, _]| (a, b));
    let equal: Vec<(u16, u16)> =
        (0..=u16::MAX).flat_map(|x| [(x, x), (x, x ^ 0x8000), (x, random.next() as u16)]).collect();
    for (a, b) in pairs.chain(equal) {
        let (x, y) = (Half(a).to_f32(), Half(b).to_f32());
        assert_eq!((Half(a).lt(Half(b)), Half(a).eq(Half(b))), (x < y, x == y), "{a:#x} {b:#x}");
    }
}

/// An f32 around the exponents of small formats, with a short fraction often, so that ties occur.
fn near_small(random: &mut Random, n: u32) -> f32 {
    let bits = random.next();
    let mask = !0u32 << (n % 24);
    let exponent = if n % 8 == 0 { bits as u32 >> 24 } else { 127 - 24 + (bits >> 40) as u32 % 44 };
    let a = (bits as u32 & 0x807f_ffff | exponent << 23) & mask;
    f32::from_bits(a.wrapping_add((bits >> 62) as u32).wrapping_sub(1))
}

const LIMITS: [f32; 9] =
    [0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, -f32::NAN, f32::MAX, f32::MIN_POSITIVE, 1e-45];

#[test]
fn small_floats_agree() {
    let mut random = Random::new(9);
    for format in [FP8, BF8, FP6, BF6, FP4] {
        for code in 0..1 << format.bits {
            let (got, want) = (format.to_f32(code), format.decode(code) as f32);
            assert!(got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(), "{format:?} {code:#x}");
        }
        let numbers: Vec<f32> = (0..400_000).map(|n| near_small(&mut random, n)).chain(LIMITS).collect();
        for (n, a) in numbers.into_iter().enumerate() {
            for saturate in [false, true] {
                let want = format.encode(Value::of_f32(a), Rounding::Nearest, saturate);
                assert_eq!(format.nearest(a, saturate), want, "{format:?} {a:e}");
            }
            at_random(&mut random, format, a, n % 2 == 0);
        }
    }
    for format in [narrow::F16, narrow::BF16] {
        for n in 0..400_000 {
            let a = near_small(&mut random, n);
            at_random(&mut random, format, a, n % 2 == 0);
            let b = f32::from_bits(random.next() as u32);
            at_random(&mut random, format, b, false);
        }
        LIMITS.into_iter().for_each(|a| at_random(&mut random, format, a, false));
    }
}

/// Compares rounding at random of an f32, and of one with as many bits as an f16 or bfloat16 has.
fn at_random(random: &mut Random, format: Narrow, a: f32, saturate: bool) {
    let seed = random.next() as u32;
    for fraction in [23, 10, 7].into_iter().filter(|fraction| *fraction > format.fraction) {
        let a = f32::from_bits(a.to_bits() >> (23 - fraction) << (23 - fraction));
        // Denormals of f32 have other fractions in f64.
        if fraction < 23 && a.is_subnormal() {
            continue;
        }
        let want = format.encode(Value::of_f32(a), Rounding::Stochastic { seed, fraction }, saturate);
        assert_eq!(format.random(a, seed, fraction, saturate), want, "{format:?} {a:e}, seed {seed:#x}");
    }
}
