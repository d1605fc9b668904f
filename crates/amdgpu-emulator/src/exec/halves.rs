//! Operations on f16 that are computed in f32, a chunk of lanes at a time, with the host's conversions.

#![allow(clippy::needless_range_loop, reason = "a lane's number indexes several arrays")]

use std::marker::PhantomData;

use super::arith::{
    Add, Ceil, Floor, Fma, Fract, Kept, Mad, Max, Max3, MaxMin, Maximum, Maximum3, MaximumMinimum, Med3, Min,
    Min3, MinMax, Minimum, Minimum3, MinimumMaximum, Mul, PkFmacF16, Rndne, Sub, Subrev, Trunc,
};
use super::convert::{
    CvtF16F32, CvtF16I16, CvtF16U16, CvtF32F16, CvtI16F16, CvtNormI16F16, CvtNormU16F16, CvtU16F16,
    FrexpExpI16F16, FrexpMant, LdexpF16,
};
use super::transcendental::{RcpF16, SqrtF16};
use crate::exec::inst::{Exec, ExecContext, Flow, Inst};
use crate::exec::lanes::{
    Each1, Each2, Each3, Forms, Op2, SOURCE_HALVES, active_chunks, all, by_exec, half_written, load,
    load_each, ones, store, vector_of, vectors_of,
};
use crate::exec::level::{Columns, with_f16c};
use crate::exec::number::float::Float;
use crate::exec::number::half16::{Conversion, F16c, Half, to_integer};
use crate::exec::operand::temp;
use crate::exec::packed::{Packed, Select, halves, slow_halves, unit};
use crate::state::wave::{CHUNK, Mode, Wave};

/// An operation on f16, rounding to nearest even and keeping denormals.
pub(crate) trait HalfOp {
    /// The number of sources. Those from [`FLOATS`](Self::FLOATS) on are integers, which have no sign modifiers.
    const SOURCES: usize;
    const FLOATS: usize;
    /// Executes the operation in any mode.
    type Each: Exec;
    fn chunk<V: Conversion>(m: Mode, x: [[u16; CHUNK]; 3]) -> [u16; CHUNK];
}

/// Returns a number that was an f16. LLVM knows that, and would round or compare it as an f16, lane by lane: it doesn't see
/// through these products, which are exact.
#[inline(always)]
pub(crate) fn as_f32(a: f32) -> f32 {
    a * 0.5 * 2.0
}

// No closures: they would be functions that the compiler need not inline into those with the host's features.

/// Declares operations whose result in f32, rounded to f16, is that of one rounding: f32 has more than twice the precision.
macro_rules! in_f32 {
    ($($O:ty: $sources:literal $Each:ident, |$a:ident $(, $b:ident)?| $e:expr;)*) => {$(
        impl HalfOp for $O {
            const SOURCES: usize = $sources;
            const FLOATS: usize = $sources;
            type Each = $Each<$O>;
            #[inline(always)]
            fn chunk<V: Conversion>(_: Mode, [$a $(, $b)?, ..]: [[u16; CHUNK]; 3]) -> [u16; CHUNK] {
                let $a = V::widen($a);
                $(let $b = V::widen($b);)?
                let mut d = [0.0; CHUNK];
                for j in 0..CHUNK {
                    let $a = $a[j];
                    $(let $b = $b[j];)?
                    d[j] = $e;
                }
                V::narrow(d)
            }
        }
    )*};
}

in_f32! {
    Add<Half>: 2 Each2, |a, b| a + b;
    Sub<Half>: 2 Each2, |a, b| a - b;
    Subrev<Half>: 2 Each2, |a, b| b - a;
    Mul<Half>: 2 Each2, |a, b| a * b;
    Floor<Half>: 1 Each1, |a| as_f32(a).floor();
    Ceil<Half>: 1 Each1, |a| as_f32(a).ceil();
    Trunc<Half>: 1 Each1, |a| as_f32(a).trunc();
    Rndne<Half>: 1 Each1, |a| as_f32(a).round_ties_even();
    Fract<Half>: 1 Each1, |a| {
        let d = a - as_f32(a).floor();
        let below = 1.0 - 0.5f32.powi(11);
        if d > below { below } else { d }
    };
    RcpF16: 1 Each1, |a| 1.0 / a;
    SqrtF16: 1 Each1, |a| a.sqrt();
    FrexpMant<Half>: 1 Each1, |a| f32::from_bits(if frexp(a).0 { a.to_bits() & 0x807f_ffff | 126 << 23 } else { a.to_bits() });
}

/// Declares conversions from an f16 to an integer.
macro_rules! to_integers {
    ($($O:ty: |$a:ident| $e:expr;)*) => {$(
        impl HalfOp for $O {
            const SOURCES: usize = 1;
            const FLOATS: usize = 1;
            type Each = Each1<$O>;
            #[inline(always)]
            fn chunk<V: Conversion>(_: Mode, [a, ..]: [[u16; CHUNK]; 3]) -> [u16; CHUNK] {
                let a = V::widen(a);
                let mut d = [0; CHUNK];
                for j in 0..CHUNK {
                    let $a = a[j];
                    d[j] = $e;
                }
                d
            }
        }
    )*};
}

to_integers! {
    CvtU16F16: |a| to_integer(as_f32(a).trunc(), 0.0, 65535.0);
    CvtI16F16: |a| to_integer(as_f32(a).trunc(), -32768.0, 32767.0);
    CvtNormI16F16: |a| to_integer(a * 32767.0, -32767.0, 32767.0);
    CvtNormU16F16: |a| to_integer(a * 65535.0, 0.0, 65535.0);
    FrexpExpI16F16: |a| frexp(a).1;
}

/// Declares conversions from an integer to an f16.
macro_rules! from_integers {
    ($($O:ty: |$a:ident| $e:expr;)*) => {$(
        impl HalfOp for $O {
            const SOURCES: usize = 1;
            const FLOATS: usize = 0;
            type Each = Each1<$O>;
            #[inline(always)]
            fn chunk<V: Conversion>(_: Mode, [a, ..]: [[u16; CHUNK]; 3]) -> [u16; CHUNK] {
                let mut d = [0.0; CHUNK];
                for j in 0..CHUNK {
                    let $a = a[j];
                    d[j] = f32::from($e);
                }
                V::narrow(d)
            }
        }
    )*};
}

from_integers! {
    CvtF16U16: |a| a;
    CvtF16I16: |a| a as i16;
}

/// Returns whether a number is neither zero, infinite nor NaN, and if so, the exponent that makes its fraction 0.5 to
/// below 1, otherwise 0.
#[inline(always)]
fn frexp(a: f32) -> (bool, u16) {
    let field = a.to_bits() >> 23 & 0xff;
    let ordinary = field != 0 && field != 0xff;
    (ordinary, if ordinary { field.wrapping_sub(126) as u16 } else { 0 })
}

impl HalfOp for LdexpF16 {
    const SOURCES: usize = 2;
    const FLOATS: usize = 1;
    type Each = Each2<LdexpF16>;
    #[inline(always)]
    fn chunk<V: Conversion>(_: Mode, [a, n, _]: [[u16; CHUNK]; 3]) -> [u16; CHUNK] {
        let a = V::widen(a);
        let mut d = [0.0; CHUNK];
        for j in 0..CHUNK {
            // The product is exact in f32.
            let power = i32::from((n[j] as i16).clamp(-60, 60)) + 127;
            d[j] = a[j] * f32::from_bits((power as u32) << 23);
        }
        V::narrow(d)
    }
}

impl HalfOp for Mad<Half> {
    const SOURCES: usize = 3;
    const FLOATS: usize = 3;
    type Each = Each3<Mad<Half>>;
    #[inline(always)]
    fn chunk<V: Conversion>(m: Mode, [a, b, c]: [[u16; CHUNK]; 3]) -> [u16; CHUNK] {
        Add::<Half>::chunk::<V>(m, [Mul::<Half>::chunk::<V>(m, [a, b, c]), c, c])
    }
}

impl HalfOp for Fma<Half> {
    const SOURCES: usize = 3;
    const FLOATS: usize = 3;
    type Each = Each3<Fma<Half>>;
    #[inline(always)]
    fn chunk<V: Conversion>(_: Mode, [a, b, c]: [[u16; CHUNK]; 3]) -> [u16; CHUNK] {
        let (a, b, c) = (V::widen(a), V::widen(b), V::widen(c));
        // A sum that is rounded to an f32 and then to an f16 is wrong only if the first is halfway between two f16: then the thirteen
        // bits that an f16 doesn't have are a one and zeros, or the f16 is denormal.
        let (mut sum, mut unsure) = ([0.0; CHUNK], [0; CHUNK]);
        for j in 0..CHUNK {
            sum[j] = a[j].mul_add(b[j], c[j]);
        }
        for j in 0..CHUNK {
            let bits = sum[j].to_bits();
            let is_denormal = (bits << 1).wrapping_sub(1) < LEAST_NORMAL_HALF * 2 - 1;
            unsure[j] = ones((bits << 19 == 1 << 31) | is_denormal);
        }
        if unsure.iter().fold(0, |any, one| any | one) == 0 {
            return V::narrow(sum);
        }
        let mut d = [0.0; CHUNK];
        for j in 0..CHUNK {
            d[j] = sum_to_odd(a[j] * b[j], c[j]);
        }
        V::narrow(d)
    }
}

/// 2^-14 as an f32. Lesser f16 are denormal.
const LEAST_NORMAL_HALF: u32 = (127 - 14) << 23;

/// Returns whether two chunks are the same. Comparing them as arrays would store them, and wait for that.
#[inline(always)]
pub(crate) fn agree(a: &[u16; CHUNK], b: &[u16; CHUNK]) -> bool {
    let (a, b): ([u64; CHUNK / 4], [u64; CHUNK / 4]) = (bytemuck::must_cast(*a), bytemuck::must_cast(*b));
    let mut differences = 0;
    for (a, b) in a.iter().zip(b) {
        differences |= a ^ b;
    }
    differences == 0
}

/// Returns a sum rounded to odd: of the two f32 around an inexact sum, the one whose last bit is 1. Rounding this again, to
/// an f16, gives what one rounding does.
#[inline(always)]
fn sum_to_odd(a: f32, b: f32) -> f32 {
    let near = a + b;
    // The error is an f32 (Knuth's two-sum); of infinite sums it is NaN.
    let other = near - a;
    let error = (a - (near - other)) + (b - other);
    let inexact = u32::from(error.abs() > 0.0);
    let too_large = (error.to_bits() ^ near.to_bits()) >> 31 & inexact;
    f32::from_bits(near.to_bits().wrapping_sub(too_large) | inexact)
}

/// The place of NaNs in the order from which the lesser or the greater number is taken.
#[derive(Clone, Copy)]
struct Order {
    quiet: i16,
    signaling: i16,
    /// The bit that is set in a resulting NaN.
    quieted: u16,
    /// Of two NaN, the first is the result.
    first: bool,
}

/// The ranks of NaNs below and above all numbers.
const BELOW: i16 = i16::MIN;
const ABOVE: i16 = i16::MAX;

impl Order {
    /// Returns the order of `v_min` (`float::min` says what it gives) or, with `MAX`, of `v_max`: quiet NaNs never win, and
    /// signaling ones do in IEEE mode.
    #[inline(always)]
    fn of_numbers<const MAX: bool>(m: Mode) -> Order {
        let (loses, wins) = if MAX { (BELOW, ABOVE) } else { (ABOVE, BELOW) };
        match m.ieee() {
            true => Order { quiet: loses, signaling: wins, quieted: 0x200, first: false },
            false if m.prefers_numbers() => {
                Order { quiet: loses, signaling: loses, quieted: 0x200, first: true }
            }
            false => Order { quiet: loses, signaling: loses, quieted: 0, first: false },
        }
    }

    /// Returns the order in which every NaN wins.
    #[inline(always)]
    fn of_nans<const MAX: bool>(_: Mode) -> Order {
        let wins = if MAX { ABOVE } else { BELOW };
        Order { quiet: wins, signaling: wins, quieted: 0x200, first: false }
    }

    #[inline(always)]
    fn rank(self, x: u16) -> i16 {
        let ordered = (x ^ ((x as i16 >> 15) as u16 >> 1)) as i16;
        let nan = if x & 0x200 != 0 { self.quiet } else { self.signaling };
        if x & 0x7fff > 0x7c00 { nan } else { ordered }
    }

    #[inline(always)]
    fn pick<const MAX: bool>(self, a: u16, b: u16) -> u16 {
        let (rank_a, rank_b) = (self.rank(a), self.rank(b));
        let first =
            if MAX { (rank_a > rank_b) | (rank_a == ABOVE) } else { (rank_a < rank_b) | (rank_a == BELOW) };
        let d = if first | self.first & (rank_a == rank_b) { a } else { b };
        if d & 0x7fff > 0x7c00 { d | self.quieted } else { d }
    }
}

/// Declares the operations that return the least or greatest of two or three numbers.
macro_rules! extremes {
    ($($O:ident: $sources:literal $Each:ident, $max:literal, $order:ident;)*) => {$(
        impl HalfOp for $O<Half> {
            const SOURCES: usize = $sources;
            const FLOATS: usize = $sources;
            type Each = $Each<$O<Half>>;
            #[inline(always)]
            fn chunk<V: Conversion>(m: Mode, [a, b, c]: [[u16; CHUNK]; 3]) -> [u16; CHUNK] {
                let order = Order::$order::<$max>(m);
                let mut d = [0; CHUNK];
                for j in 0..CHUNK {
                    d[j] = order.pick::<$max>(a[j], b[j]);
                    if $sources == 3 {
                        d[j] = order.pick::<$max>(d[j], c[j]);
                    }
                }
                d
            }
        }
    )*};
}

extremes! {
    Min: 2 Each2, false, of_numbers;
    Max: 2 Each2, true, of_numbers;
    Min3: 3 Each3, false, of_numbers;
    Max3: 3 Each3, true, of_numbers;
    Minimum: 2 Each2, false, of_nans;
    Maximum: 2 Each2, true, of_nans;
    Minimum3: 3 Each3, false, of_nans;
    Maximum3: 3 Each3, true, of_nans;
}

/// Declares the operations that limit the first source by the second, then by the third.
macro_rules! limits {
    ($($O:ident: first $first:literal, $order:ident;)*) => {$(
        impl HalfOp for $O<Half> {
            const SOURCES: usize = 3;
            const FLOATS: usize = 3;
            type Each = Each3<$O<Half>>;
            #[inline(always)]
            fn chunk<V: Conversion>(m: Mode, [a, b, c]: [[u16; CHUNK]; 3]) -> [u16; CHUNK] {
                let (first, second) = (Order::$order::<$first>(m), Order::$order::<{ !$first }>(m));
                let mut d = [0; CHUNK];
                for j in 0..CHUNK {
                    d[j] = second.pick::<{ !$first }>(first.pick::<$first>(a[j], b[j]), c[j]);
                }
                d
            }
        }
    )*};
}

limits! {
    MaxMin: first true, of_numbers;
    MinMax: first false, of_numbers;
    MaximumMinimum: first true, of_nans;
    MinimumMaximum: first false, of_nans;
}

impl HalfOp for Med3<Half> {
    const SOURCES: usize = 3;
    const FLOATS: usize = 3;
    type Each = Each3<Med3<Half>>;
    #[inline(always)]
    fn chunk<V: Conversion>(m: Mode, [a, b, c]: [[u16; CHUNK]; 3]) -> [u16; CHUNK] {
        let (greatest, least) = (Order::of_numbers::<true>(m), Order::of_numbers::<false>(m));
        let mut d = [0; CHUNK];
        for j in 0..CHUNK {
            let (a, b, c) = (a[j], b[j], c[j]);
            let most = Half(greatest.pick::<true>(greatest.pick::<true>(a, b), c));
            let low = least.pick::<false>(least.pick::<false>(a, b), c);
            let (is_a, is_b) = (most.eq(Half(a)), most.eq(Half(b)));
            let middle = greatest.pick::<true>(if is_a { b } else { a }, if is_a | is_b { c } else { b });
            let nan = Half(a).is_nan() | Half(b).is_nan() | Half(c).is_nan();
            d[j] = if nan { low } else { middle };
        }
        d
    }
}

/// Declares the operations of gfx11, which differ only in other modes.
macro_rules! kept {
    ($($O:ident $Each:ident;)*) => {$(
        impl HalfOp for Kept<$O<Half>> {
            const SOURCES: usize = <$O<Half> as HalfOp>::SOURCES;
            const FLOATS: usize = <$O<Half> as HalfOp>::FLOATS;
            type Each = $Each<Kept<$O<Half>>>;
            #[inline(always)]
            fn chunk<V: Conversion>(m: Mode, x: [[u16; CHUNK]; 3]) -> [u16; CHUNK] {
                $O::<Half>::chunk::<V>(m, x)
            }
        }
    )*};
}

kept! {
    Min Each2;
    Max Each2;
    Min3 Each3;
    Max3 Each3;
    Med3 Each3;
    MaxMin Each3;
    MinMax Each3;
    Minimum Each2;
    Maximum Each2;
    Minimum3 Each3;
    Maximum3 Each3;
    MinimumMaximum Each3;
    MaximumMinimum Each3;
}

/// The forms of an operation on f16.
pub(crate) struct HalfForms<O>(PhantomData<O>);

impl<O: HalfOp> HalfForms<O> {
    /// The executor for any operands, which also applies the signs of sources, and reads and writes either half of a register.
    pub(crate) const ANY: Columns = with_f16c::<O::Each, HalfLanes<O>>();
    pub(crate) const FORMS: Forms = &all(Self::ANY);
}

/// Executes an operation on f16 in halves of lanes, at levels with F16C. The lanes of two chunks are put together, as
/// the low and the high halves of dwords, which is faster than packing those of one.
pub(crate) struct HalfLanes<O>(PhantomData<O>);

impl<O: HalfOp> Exec for HalfLanes<O> {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
        let m = w.mode;
        if !m.is_default_float() {
            return O::Each::exec(w, cx, i);
        }
        let (to, kept) = half_written(i);
        let mut at = [0; 3];
        for n in 0..O::SOURCES {
            at[n] = low_halves(w, i, n, n < O::FLOATS);
        }
        by_exec!(w, MASKED => {
            let chunks = w.chunks();
            let (r, mask) = (&mut *w.r, &*w.mask);
            for c in chunks.step_by(2) {
                let mut x = [[0; CHUNK]; 3];
                for n in 0..O::SOURCES {
                    let (low, high) = (r.v(at[n]).0[c], r.v(at[n]).0[c + 1]);
                    for j in 0..CHUNK {
                        x[n][j] = low[j] & 0xffff | high[j] << 16;
                    }
                }
                let d: [u32; CHUNK] = bytemuck::must_cast(both::<O>(m, x));
                let (mut low, mut high) = (d, d);
                for j in 0..CHUNK {
                    (low[j], high[j]) = (d[j] & 0xffff, d[j] >> 16);
                }
                if kept == 0 {
                    store::<_, MASKED>(r, mask, i.dst, c, &low);
                    store::<_, MASKED>(r, mask, i.dst, c + 1, &high);
                } else {
                    let old = [r.v(i.dst).0[c], r.v(i.dst).0[c + 1]];
                    for j in 0..CHUNK {
                        low[j] = low[j] << to | old[0][j] & kept;
                        high[j] = high[j] << to | old[1][j] & kept;
                    }
                    store::<_, MASKED>(r, mask, i.dst, c, &low);
                    store::<_, MASKED>(r, mask, i.dst, c + 1, &high);
                }
            }
        });
        Flow::Next
    }
}

/// Returns the vector register whose low halves are source `n`, with the half that [`SOURCE_HALVES`] says and, if it is a float, the signs
/// that [`Inst::imm`] says: the source's temporary register, unless the source is a low half in a vector register as it is.
#[inline(always)]
fn low_halves(w: &mut Wave, i: &Inst, n: usize, float: bool) -> u16 {
    let is_high = i.imm >> (SOURCE_HALVES + n as u32) & 1;
    let (neg, abs) = if float { (i.imm >> n & 1, i.imm >> (n + 3) & 1) } else { (0, 0) };
    let from = vector_of::<u32>(w, i, n);
    if is_high | neg | abs == 0 {
        return from;
    }
    let (shift, keep, flip) = (16 * is_high, !(abs << 15), neg << 15);
    for c in w.chunks() {
        let mut x = w.v(from).0[c];
        for v in &mut x {
            *v = *v >> shift & keep ^ flip;
        }
        w.v_mut(temp(n)).0[c] = x;
    }
    temp(n)
}

/// Executes an operation on both halves of dwords, at levels with F16C; `P` in other modes.
pub(crate) struct PackedHalves<P, O>(PhantomData<(P, O)>);

impl<P: Packed, O: HalfOp> Exec for PackedHalves<P, O> {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        let src = halves(w, i, O::SOURCES);
        let m = w.mode;
        if !m.is_default_float() {
            return slow_halves::<P>(w, i, src);
        }
        let clamp = Select(i.imm).clamp();
        active_chunks!(w, MASKED, r, mask, c => {
            let mut x = [[0; CHUNK]; 3];
            for n in 0..O::SOURCES {
                x[n] = r.v(src[n]).0[c];
            }
            let mut d = both::<O>(m, x);
            if clamp {
                for v in d.as_flattened_mut() {
                    *v = unit(m, Half(*v)).0;
                }
            }
            let d: [u32; CHUNK] = bytemuck::must_cast(d);
            store::<_, MASKED>(r, mask, i.dst, c, &d);
        });
        Flow::Next
    }
}

/// Computes an operation for both halves of dwords.
#[inline(always)]
fn both<O: HalfOp>(m: Mode, [a, b, c]: [[u32; CHUNK]; 3]) -> [[u16; CHUNK]; 2] {
    let a: [[u16; CHUNK]; 2] = bytemuck::must_cast(a);
    let b: [[u16; CHUNK]; 2] = bytemuck::must_cast(b);
    let c: [[u16; CHUNK]; 2] = bytemuck::must_cast(c);
    [O::chunk::<F16c>(m, [a[0], b[0], c[0]]), O::chunk::<F16c>(m, [a[1], b[1], c[1]])]
}

/// Executes `v_pk_fmac_f16` at levels with F16C.
pub(crate) struct PkFmac;

impl Exec for PkFmac {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
        let m = w.mode;
        if !m.is_default_float() {
            return Each3::<PkFmacF16>::exec(w, cx, i);
        }
        let at = vectors_of::<u32, 3>(w, i);
        active_chunks!(w, MASKED, r, mask, c => {
            let x = load_each(r, at, c);
            let d: [u32; CHUNK] = bytemuck::must_cast(both::<Fma<Half>>(m, x));
            store::<_, MASKED>(r, mask, i.dst, c, &d);
        });
        Flow::Next
    }
}

pub(crate) const PK_FMAC: Forms = &all(with_f16c::<Each3<PkFmacF16>, PkFmac>());

/// Executes conversions of two f32 to two f16 at levels with F16C: `v_cvt_pkrtz_f16_f32`, towards `ZERO`, and
/// `v_cvt_pk_f16_f32`; `O` in other modes.
pub(crate) struct CvtPk<O, const ZERO: bool>(PhantomData<O>);

impl<O: Op2, const ZERO: bool> CvtPk<O, ZERO> {
    pub(crate) const FORMS: Forms = &all(with_f16c::<Each2<O>, Self>());
}

impl<O: Op2, const ZERO: bool> Exec for CvtPk<O, ZERO> {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
        if !w.mode.is_default_float() {
            return Each2::<O>::exec(w, cx, i);
        }
        let at = vectors_of::<f32, 2>(w, i);
        active_chunks!(w, MASKED, r, mask, c => {
            let [a, b] = load_each(r, at, c);
            let (low, high) = (narrow::<ZERO>(a), narrow::<ZERO>(b));
            let mut d = [0; CHUNK];
            for j in 0..CHUNK {
                d[j] = u32::from(low[j]) | u32::from(high[j]) << 16;
            }
            store::<_, MASKED>(r, mask, i.dst, c, &d);
        });
        Flow::Next
    }
}

#[inline(always)]
fn narrow<const ZERO: bool>(x: [f32; CHUNK]) -> [u16; CHUNK] {
    if ZERO { F16c::truncate(x) } else { F16c::narrow(x) }
}

/// Declares executors of conversions of chunks of one source at levels with F16C, and their forms; `$O` is for other modes and levels.
macro_rules! converted {
    ($($(#[$doc:meta])* $name:ident, $FORMS:ident: $O:ident($A:ty), |$a:ident| $e:expr;)*) => {$(
        $(#[$doc])*
        pub(crate) struct $name;

        impl Exec for $name {
            #[inline(always)]
            fn exec(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
                if !w.mode.is_default_float() {
                    return Each1::<$O>::exec(w, cx, i);
                }
                let at = vector_of::<$A>(w, i, 0);
                active_chunks!(w, MASKED, r, mask, c => {
                    let $a: [$A; CHUNK] = load(r, at, c);
                    store::<_, MASKED>(r, mask, i.dst, c, &$e);
                });
                Flow::Next
            }
        }

        pub(crate) const $FORMS: Forms = &all(with_f16c::<Each1<$O>, $name>());
    )*};
}

converted! {
    /// Executes `v_cvt_f32_f16` at levels with F16C.
    Widen, CVT_F32_F16: CvtF32F16(u16), |a| F16c::widen(a);
    /// Executes `v_cvt_f16_f32` at levels with F16C.
    Narrow, CVT_F16_F32: CvtF16F32(f32), |a| F16c::narrow(a);
}
