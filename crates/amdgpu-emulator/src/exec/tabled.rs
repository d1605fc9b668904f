//! Exponentials, logarithms, sines and reciprocal roots of f16.
//!
//! All 65,536 results of a function, correctly rounded, are computed when it is first used. At levels with F16C, a chunk of
//! lanes is approximated in f32 first, and looked up only if the approximation is so near a tie that it doesn't tell to
//! which f16 the result rounds. That is once in some thirty chunks of any numbers. A test compares all results.

#![allow(clippy::needless_range_loop, reason = "a lane's number indexes several arrays")]

use std::marker::PhantomData;
use std::sync::OnceLock;

use super::halves::{HalfOp, agree, as_f32};
use super::transcendental::{CosF16, ExpF16, LogF16, RsqF16, SinF16};
use crate::exec::inst::{Exec, ExecContext, Flow, Inst};
use crate::exec::lanes::{Each1, Op1, SOURCE_HALVES, Word, active_chunks, half_written, store, vector_of};
use crate::exec::number::half16::{Conversion, Half};
use crate::state::wave::{CHUNK, Mode, Wave};

/// The results for all f16, in the order of their bits.
type Table = [u16; 1 << 16];

/// A function with a table.
pub(crate) trait Tabled: Op1<D = Half, A = Half> {
    fn table() -> &'static Table;
}

macro_rules! tabled {
    ($($O:ident: $near:expr;)*) => {$(
        impl Tabled for $O {
            fn table() -> &'static Table {
                static TABLE: OnceLock<Box<Table>> = OnceLock::new();
                TABLE.get_or_init(results::<$O>)
            }
        }

        impl HalfOp for $O {
            const SOURCES: usize = 1;
            const FLOATS: usize = 1;
            type Each = TabledLanes<$O>;
            #[inline(always)]
            fn chunk<V: Conversion>(_: Mode, [x, ..]: [[u16; CHUNK]; 3]) -> [u16; CHUNK] {
                let a = V::widen(x);
                let (mut above, mut below) = ([0.0; CHUNK], [0.0; CHUNK]);
                for j in 0..CHUNK {
                    let near = $near(as_f32(a[j]));
                    (above[j], below[j]) = (near * (1.0 + ERROR), near * (1.0 - ERROR));
                }
                let (above, below) = (V::narrow(above), V::narrow(below));
                if agree(&above, &below) { above } else { look_up(<$O>::table(), x) }
            }
        }
    )*};
}

tabled! {
    ExpF16: exp2;
    LogF16: log2;
    SinF16: sin;
    CosF16: cos;
    RsqF16: rsq;
}

/// Computes all results.
fn results<O: Op1<D = Half, A = Half>>() -> Box<Table> {
    let results: Box<[u16]> = (0..=u16::MAX).map(|bits| O::f(Mode::DEFAULT, Half(bits)).0).collect();
    results.try_into().unwrap_or_else(|_| unreachable!("there are 65,536 f16"))
}

/// Inlined, as a function would be given the chunks in memory, and the host's registers could not hold them where it is not called.
#[inline(always)]
fn look_up(table: &Table, x: [u16; CHUNK]) -> [u16; CHUNK] {
    let mut d = [0; CHUNK];
    for j in 0..CHUNK {
        d[j] = table[usize::from(x[j])];
    }
    d
}

/// Looks up the results in the default mode. In others, it computes them.
pub(crate) struct TabledLanes<O>(PhantomData<O>);

impl<O: Tabled> Exec for TabledLanes<O> {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
        if !w.mode.is_default_float() {
            return Each1::<O>::exec(w, cx, i);
        }
        let table = O::table();
        let (from, (to, kept)) = (16 * (i.imm >> SOURCE_HALVES & 1), half_written(i));
        let at = vector_of::<u32>(w, i, 0);
        active_chunks!(w, MASKED, r, mask, c => {
            let (neg, abs) = (i.imm & 1, i.imm >> 3 & 1);
            let (x, mut a) = (r.v(at).0[c], [0; CHUNK]);
            for j in 0..CHUNK {
                a[j] = Half((x[j] >> from) as u16).signed(abs, neg).0;
            }
            let (half, old) = (look_up(table, a), r.v(i.dst).0[c]);
            let mut d = [0; CHUNK];
            for j in 0..CHUNK {
                d[j] = u32::from(half[j]) << to | old[j] & kept;
            }
            store::<_, MASKED>(r, mask, i.dst, c, &d);
        });
        Flow::Next
    }
}

/// The largest relative error of the approximations, of which the largest is 2^-22.1.
const ERROR: f32 = 4.0 * f32::EPSILON;

/// 1.5 * 2^23. Adding it rounds a number to an integer, in the low bits.
const ROUNDER: f32 = 12_582_912.0;

/// Returns `c[0] + c[1] * x + ...`.
#[inline(always)]
fn polynomial<const N: usize>(c: [f32; N], x: f32) -> f32 {
    let mut p = c[N - 1];
    for n in (0..N - 1).rev() {
        p = p.mul_add(x, c[n]);
    }
    p
}

#[inline(always)]
fn exp2(a: f32) -> f32 {
    // ln(2)^n / n!
    const C: [f32; 7] = [
        1.0,
        std::f32::consts::LN_2,
        0.240_226_5,
        0.055_504_11,
        0.009_618_129,
        0.001_333_355_8,
        0.000_154_035_3,
    ];
    let inside = if a > 30.0 { 30.0 } else { a };
    let inside = if inside < -30.0 { -30.0 } else { inside };
    let shifted = inside + ROUNDER;
    let p = polynomial(C, inside - (shifted - ROUNDER));
    // The low bits of a NaN that was an f16 are 0.
    f32::from_bits(p.to_bits().wrapping_add(shifted.to_bits() << 23))
}

#[inline(always)]
fn log2(x: f32) -> f32 {
    // sqrt(1/2).
    const LOW: u32 = 0x3f35_04f3;
    // 2 / ln(2) / (2 n + 1)
    const C: [f32; 6] = [2.885_390_1, 0.961_796_7, 0.577_078, 0.412_198_6, 0.320_598_9, 0.262_308_2];
    let above = x.to_bits().wrapping_sub(LOW);
    let e = (above as i32 >> 23) as f32;
    let m = f32::from_bits((above & 0x7f_ffff).wrapping_add(LOW));
    let s = (m - 1.0) / (m + 1.0);
    let d = s.mul_add(polynomial(C, s * s), e);
    let d = if x == 0.0 { f32::NEG_INFINITY } else { d };
    let d = if x == f32::INFINITY { x } else { d };
    if x >= 0.0 { d } else { f32::NAN }
}

/// Returns the sine of `r` turns, from -1/4 to 1/4.
#[inline(always)]
fn quarter_sine(r: f32) -> f32 {
    // (-1)^n / (2 n + 1)!
    const C: [f32; 7] = [
        1.0,
        -0.166_666_67,
        0.008_333_333,
        -0.000_198_412_7,
        2.755_731_9e-6,
        -2.505_210_8e-8,
        1.605_904_4e-10,
    ];
    let y = r * std::f32::consts::TAU;
    y * polynomial(C, y * y)
}

/// Returns the remainder of a number of turns; see that of f64 in `transcendental.rs`.
#[inline(always)]
fn turn(x: f32) -> f32 {
    let r = x - ((x + ROUNDER) - ROUNDER);
    let inside = if x.abs() <= 256.0 { r } else { 0.0 };
    if x.abs() < f32::INFINITY { inside } else { f32::NAN }
}

#[inline(always)]
fn sin(x: f32) -> f32 {
    let r = turn(x);
    let high = if r > 0.25 { 0.5 - r } else { r };
    quarter_sine(if r < -0.25 { -0.5 - r } else { high })
}

#[inline(always)]
fn cos(x: f32) -> f32 {
    quarter_sine(0.25 - turn(x).abs())
}

#[inline(always)]
fn rsq(a: f32) -> f32 {
    1.0 / a.sqrt()
}
