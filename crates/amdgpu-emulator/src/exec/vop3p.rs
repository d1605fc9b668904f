//! VOP3P except matrices: packed integers, moves of pairs, mixed precision, dot products, moves to and from AGPRs.

#![allow(clippy::needless_range_loop, reason = "a lane's number indexes several arrays")]

use crate::exec::inst::{Exec, ExecContext, Flow, Inst, executors};
use crate::exec::lanes::{
    Forms, L1, Op1, Op3, Word, active_chunks, all, load, load_each, store, vector_of, vectors_of,
};
use crate::exec::level::with_f16c;
use crate::exec::number::float::Float;
use crate::exec::number::half16::{Conversion, F16c, Half, InLoops};
use crate::exec::number::narrow::{self, FP8, to_bf16};
use crate::exec::number::soft::{self, Round};
use crate::exec::wmma::F8;
use crate::state::wave::{CHUNK, Mode, Wave, lanes_of};

use super::integer::{
    Dot2cI32I16, Dot2cI32I16Clamp, Dot4cI32I8, Dot4cI32I8Clamp, Dot8cI32I4, Dot8cI32I4Clamp,
};
use super::matrix_arith::flush;
use super::operand::temp;
use super::packed::{Packed, Select, chunk, halves, unit};

/// `v_accvgpr_read_b32` and `v_accvgpr_write_b32`. Decoding has replaced the register number with the AGPR's index.
pub(crate) struct Move;
impl Op1 for Move {
    type D = u32;
    type A = u32;
    #[inline(always)]
    fn f(_: Mode, a: u32) -> u32 {
        a
    }
}

executors! {
    /// Executes [`Move`] between vectors.
    AccvgprRead |w, cx, i| {
        <L1<Move, 0> as Exec>::exec(w, cx, i)
    }
}

/// Declares packed integer operations. `clamp` gives the exact result, which the clamp bit saturates.
macro_rules! integers {
    ($($name:ident: $sources:literal, |$a:ident, $b:ident, $c:ident: $t:ty| $e:expr $(, clamp $wide:expr)?;)*) => {$(
        pub(crate) struct $name;
        impl Packed for $name {
            type T = $t;
            const SOURCES: usize = $sources;
            #[inline(always)]
            fn f(_: Mode, $a: $t, $b: $t, $c: $t) -> $t {
                let _ = $c;
                $e
            }
            $(
                #[inline(always)]
                fn clamped(_: Mode, v: [$t; 3], _: $t) -> $t {
                    let [$a, $b, $c] = v.map(i64::from);
                    let _ = $c;
                    let wide: i64 = $wide;
                    wide.clamp(i64::from(<$t>::MIN), i64::from(<$t>::MAX)) as $t
                }
            )?
        }
    )*};
}

integers! {
    PkMadI16: 3, |a, b, c: i16| a.wrapping_mul(b).wrapping_add(c), clamp a * b + c;
    PkMadU16: 3, |a, b, c: u16| a.wrapping_mul(b).wrapping_add(c), clamp a * b + c;
    PkAddI16: 2, |a, b, c: i16| a.wrapping_add(b), clamp a + b;
    PkAddU16: 2, |a, b, c: u16| a.wrapping_add(b), clamp a + b;
    PkSubI16: 2, |a, b, c: i16| a.wrapping_sub(b), clamp a - b;
    PkSubU16: 2, |a, b, c: u16| a.wrapping_sub(b), clamp a - b;
    PkMulLoU16: 2, |a, b, c: u16| a.wrapping_mul(b);
    PkMaxI16: 2, |a, b, c: i16| a.max(b);
    PkMinI16: 2, |a, b, c: i16| a.min(b);
    PkMaxU16: 2, |a, b, c: u16| a.max(b);
    PkMinU16: 2, |a, b, c: u16| a.min(b);
    PkLshlrevB16: 2, |a, b, c: u16| b << (a & 15);
    PkLshrrevB16: 2, |a, b, c: u16| b >> (a & 15);
    PkAshrrevI16: 2, |a, b, c: i16| b >> (a & 15);
}

executors! {
    /// `v_pk_mov_b32`: moves one dword of each source, which `op_sel` selects.
    PkMov |w, _, i| {
        let select = Select(i.imm);
        active_chunks!(w, MASKED, r, mask, c => {
            let lo = chunk(r, i, 0, select.lo(0), c);
            let hi = chunk(r, i, 1, select.lo(1), c);
            store::<_, MASKED>(r, mask, i.dst, c, &lo);
            store::<_, MASKED>(r, mask, i.dst.wrapping_add(1), c, &hi);
        });
        Flow::Next
    }
}

/// Values of `TO` in [`FmaMix`]: the part of the destination to which `v_fma_mix` writes its result.
pub(crate) const MIX_F32: u8 = 0;
pub(crate) const MIX_LO: u8 = 1;
pub(crate) const MIX_HI: u8 = 2;

/// `v_fma_mix_f32`, `v_fma_mixlo_f16`, `v_fma_mixhi_f16`: computes an f32 fused multiply-add. `op_sel_hi` says which
/// sources are f16, and `neg_hi` of which to take the magnitude. An f16 result is rounded again; the other half of the
/// destination is kept.
pub(crate) struct FmaMix<const TO: u8, V>(std::marker::PhantomData<V>);

/// Returns a source of `v_fma_mix` as an f32, with its modifiers.
fn mixed(m: Mode, select: Select, n: usize, x: u32) -> f32 {
    let half = Half((x >> (16 * select.lo(n))) as u16);
    let value =
        if select.hi(n) != 0 { half.flush(m, false).to_f32() } else { f32::from_bits(x).flush(m, false) };
    value.signed(select.neg_hi(n), select.neg_lo(n))
}

/// Returns the vector register of what [`mixed`] returns of source `n` in the default mode: the source's temporary register, unless the
/// source is an f32 in a vector register as it is.
#[inline(always)]
fn mixed_register<V: Conversion>(w: &mut Wave, i: &Inst, n: usize) -> u16 {
    let select = Select(i.imm);
    let (is_half, abs, neg) = (select.hi(n) != 0, select.neg_hi(n), select.neg_lo(n));
    let from = vector_of::<u32>(w, i, n);
    if !is_half && abs | neg == 0 {
        return from;
    }
    let to = temp(n);
    let shift = 16 * u32::from(select.lo(n));
    for c in w.chunks() {
        let x = w.v(from).0[c];
        let (mut half, mut value) = ([0; CHUNK], [0.0; CHUNK]);
        if is_half {
            for j in 0..CHUNK {
                half[j] = (x[j] >> shift) as u16;
            }
            value = V::widen(half);
        } else {
            for j in 0..CHUNK {
                value[j] = f32::from_bits(x[j]);
            }
        }
        let mut signed = [0; CHUNK];
        for j in 0..CHUNK {
            signed[j] = value[j].signed(abs, neg).to_bits();
        }
        w.v_mut(to).0[c] = signed;
    }
    to
}

/// Returns the register `old` with the result in the half that `TO` selects.
#[inline(always)]
fn place<const TO: u8>(old: u32, half: u16) -> u32 {
    match TO {
        MIX_LO => old & 0xffff_0000 | u32::from(half),
        _ => old & 0xffff | u32::from(half) << 16,
    }
}

impl<const TO: u8, V: Conversion> Exec for FmaMix<TO, V> {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        let (m, select) = (w.mode, Select(i.imm));
        if !m.is_default_float() {
            return slow_mix::<TO>(w, i);
        }
        let at = [mixed_register::<V>(w, i, 0), mixed_register::<V>(w, i, 1), mixed_register::<V>(w, i, 2)];
        active_chunks!(w, MASKED, registers, mask, c => {
            let [a, b, e] = load_each::<f32, 3>(registers, at, c);
            let mut r = [0.0; CHUNK];
            for j in 0..CHUNK {
                let sum = a[j].mul_add(b[j], e[j]);
                r[j] = if select.clamp() { unit(m, sum) } else { sum };
            }
            if TO == MIX_F32 {
                store::<_, MASKED>(registers, mask, i.dst, c, &r);
            } else {
                let (old, half) = (registers.v(i.dst).0[c], V::narrow(r));
                let mut d = [0; CHUNK];
                for j in 0..CHUNK {
                    d[j] = place::<TO>(old[j], half[j]);
                }
                store::<_, MASKED>(registers, mask, i.dst, c, &d);
            }
        });
        Flow::Next
    }
}

#[cold]
#[inline(never)]
fn slow_mix<const TO: u8>(w: &mut Wave, i: &Inst) -> Flow {
    let (m, select) = (w.mode, Select(i.imm));
    for l in lanes_of(w.exec()) {
        let [a, b, c] = [0, 1, 2].map(|n| mixed(m, select, n, chunk(&w.r, i, n, 0, l / CHUNK)[l % CHUNK]));
        let r = a.fma_in(m, b, c).flush(m, true);
        let r = if select.clamp() { unit(m, r) } else { r };
        let old = w.v(i.dst).flat()[l];
        let to_half = || {
            let bits = soft::convert(soft::F32, soft::F16, Round::of(m.round64()), r.bits());
            Half(bits as u16).flush(m, true)
        };
        w.v_mut(i.dst).flat_mut()[l] =
            if TO == MIX_F32 { r.to_bits() } else { place::<TO>(old, to_half().0) };
    }
    Flow::Next
}

/// Executes a dot product: `F` without, `C` with the clamp bit.
pub(crate) struct Dot<F, C>(std::marker::PhantomData<(F, C)>);
impl<F: Op3, C: Op3> Exec for Dot<F, C> {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        let src = halves(w, i, 3);
        if F::FLOAT && !w.mode.is_default_float() {
            for l in lanes_of(w.exec()) {
                let d = if Select(i.imm).clamp() { moded::<C>(w, src, l) } else { moded::<F>(w, src, l) };
                w.v_mut(i.dst).flat_mut()[l] = d;
            }
            return Flow::Next;
        }
        if Select(i.imm).clamp() {
            run_dot::<C>(w, i, src)
        } else {
            run_dot::<F>(w, i, src)
        }
        Flow::Next
    }
}

fn moded<O: Op3>(w: &Wave, src: [u16; 3], l: usize) -> u32 {
    let [a, b, c] = src.map(|s| w.v(s).flat()[l]);
    O::moded(w.mode, O::A::new(a, 0), O::B::new(b, 0), O::C::new(c, 0)).lo()
}

#[inline(always)]
fn run_dot<O: Op3>(w: &mut Wave, i: &Inst, src: [u16; 3]) {
    let m = w.mode;
    active_chunks!(w, MASKED, r, mask, c => {
        let (a, b, e) = (load(r, src[0], c), load(r, src[1], c), load(r, src[2], c));
        let mut d = [O::D::ZERO; CHUNK];
        for j in 0..CHUNK {
            d[j] = O::f(m, a[j], b[j], e[j]);
        }
        store::<_, MASKED>(r, mask, i.dst, c, &d);
    });
}

/// Computes the sum of the products of unsigned parts of `BITS` bits, plus the third source. It saturates with `CLAMP`,
/// otherwise it wraps.
pub(crate) struct DotU<const BITS: u32, const CLAMP: bool>;
impl<const BITS: u32, const CLAMP: bool> Op3 for DotU<BITS, CLAMP> {
    type D = u32;
    type A = u32;
    type B = u32;
    type C = u32;
    #[inline(always)]
    fn f(_: Mode, a: u32, b: u32, c: u32) -> u32 {
        let part = |v: u32, n: u32| v >> (BITS * n) & ((1 << BITS) - 1);
        // No product of two 16-bit numbers overflows 32 bits, but their sum may.
        if CLAMP {
            let sum: u64 = (0..32 / BITS).map(|n| u64::from(part(a, n) * part(b, n))).sum();
            sum.saturating_add(u64::from(c)).min(u64::from(u32::MAX)) as u32
        } else {
            let mut sum = c;
            for n in 0..32 / BITS {
                sum = sum.wrapping_add(part(a, n) * part(b, n));
            }
            sum
        }
    }
}

/// `v_dot2_f32_f16` and, with `SHORT`, `v_dot2c_f32_f16`, which has no modifiers: two fused multiply-adds, the one of the
/// second pair first. LLVM replaces this sequence with its `fdot2`. With `IN_ORDER`, as on gfx11, the one of the first pair is first
/// (RDNA3.5 ISA, `V_DOT2_F32_F16`; RDNA3 ISA, `V_DOT2ACC_F32_F16`).
///
/// In any MODE they round to nearest even, and flush denormals of sources and of results (CDNA2 and CDNA3 ISA, 6.4).
pub(crate) struct DotF16<const SHORT: bool, const IN_ORDER: bool, V>(std::marker::PhantomData<V>);

impl<const SHORT: bool, const IN_ORDER: bool, V: Conversion> Exec for DotF16<SHORT, IN_ORDER, V> {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        let m = w.mode;
        let clamp = !SHORT && Select(i.imm).clamp();
        let src = if SHORT { vectors_of::<u32, 3>(w, i) } else { halves(w, i, 3) };
        active_chunks!(w, MASKED, r, mask, c => {
            let x = load_each(r, src, c);
            let (a, b) = (flushed_pair::<V>(x[0]), flushed_pair::<V>(x[1]));
            let [first, second] = if IN_ORDER { [0, 1] } else { [1, 0] };
            let mut d = [0.0; CHUNK];
            for j in 0..CHUNK {
                let one = flush(a[first][j].mul_add(b[first][j], flush(f32::from_bits(x[2][j]))));
                let sum = flush(a[second][j].mul_add(b[second][j], one));
                d[j] = if clamp { unit(m, sum) } else { sum };
            }
            store::<_, MASKED>(r, mask, i.dst, c, &d);
        });
        Flow::Next
    }
}

/// Returns the low and the high f16 of dwords. Denormals become zeros of the same sign.
#[inline(always)]
fn flushed_pair<V: Conversion>(x: [u32; CHUNK]) -> [[f32; CHUNK]; 2] {
    let (mut low, mut high) = ([0; CHUNK], [0; CHUNK]);
    for j in 0..CHUNK {
        (low[j], high[j]) = (flush_half(x[j] as u16), flush_half((x[j] >> 16) as u16));
    }
    [V::widen(low), V::widen(high)]
}

#[inline(always)]
fn flush_half(x: u16) -> u16 {
    if x & 0x7c00 == 0 { x & 0x8000 } else { x }
}

pub(crate) const DOT2C_F32_F16: Forms =
    &all(with_f16c::<DotF16<true, false, InLoops>, DotF16<true, false, F16c>>());
pub(crate) const DOT2ACC_F32_F16: Forms =
    &all(with_f16c::<DotF16<true, true, InLoops>, DotF16<true, true, F16c>>());

/// `v_dot2_f32_bf16`, clamped with `CLAMP`: adds the product of the second pair to that of the first, then the third
/// source (CDNA4 ISA, `V_DOT2_F32_BF16`). Denormals of bfloat16 are those of f32 to MODE, as their exponents are.
pub(crate) struct Dot2F32Bf16<const CLAMP: bool>;
impl<const CLAMP: bool> Op3 for Dot2F32Bf16<CLAMP> {
    type D = f32;
    type A = u32;
    type B = u32;
    type C = f32;
    #[inline(always)]
    fn f(m: Mode, a: u32, b: u32, c: f32) -> f32 {
        let [(low_a, high_a), (low_b, high_b)] = [a, b].map(bf16_pair);
        let d = high_a.mul_add(high_b, low_a * low_b) + c;
        if CLAMP { unit(m, d) } else { d }
    }
    fn moded(m: Mode, a: u32, b: u32, c: f32) -> f32 {
        let [(low_a, high_a), (low_b, high_b)] = [a, b].map(|v| flushed(m, bf16_pair(v)));
        let low = low_a.mul_in(m, low_b).flush(m, true);
        let both = high_a.fma_in(m, high_b, low).flush(m, true);
        let d = both.add_in(m, c.flush(m, false)).flush(m, true);
        if CLAMP { unit(m, d) } else { d }
    }
}

/// `v_dot2c_f32_bf16`, and gfx11's `v_dot2_f32_bf16`, clamped with `CLAMP`: two multiply-adds to the third source, the one of the
/// first pair first (CDNA4 ISA, `V_DOT2C_F32_BF16`; RDNA3.5 ISA, `V_DOT2_F32_BF16`; RDNA3 ISA adds the third source last).
pub(crate) struct Dot2cF32Bf16<const CLAMP: bool>;
impl<const CLAMP: bool> Op3 for Dot2cF32Bf16<CLAMP> {
    type D = f32;
    type A = u32;
    type B = u32;
    type C = f32;
    #[inline(always)]
    fn f(m: Mode, a: u32, b: u32, c: f32) -> f32 {
        let [(low_a, high_a), (low_b, high_b)] = [a, b].map(bf16_pair);
        let d = high_a.mul_add(high_b, low_a.mul_add(low_b, c));
        if CLAMP { unit(m, d) } else { d }
    }
    fn moded(m: Mode, a: u32, b: u32, c: f32) -> f32 {
        let [(low_a, high_a), (low_b, high_b)] = [a, b].map(|v| flushed(m, bf16_pair(v)));
        let low = low_a.fma_in(m, low_b, c.flush(m, false)).flush(m, true);
        let d = high_a.fma_in(m, high_b, low).flush(m, true);
        if CLAMP { unit(m, d) } else { d }
    }
}

/// `v_dot2_f16_f16`: two multiply-adds in f32, the one of the first pair first, then one rounding. RDNA3 ISA gives the order of the
/// sum (`V_DOT2_F16_F16`), but not how it is rounded.
pub(crate) struct Dot2F16F16;
impl Op3 for Dot2F16F16 {
    type D = Half;
    type A = u32;
    type B = u32;
    type C = Half;
    #[inline(always)]
    fn f(_: Mode, a: u32, b: u32, c: Half) -> Half {
        let [(low_a, high_a), (low_b, high_b)] = [a, b].map(half_pair);
        let [low_a, high_a, low_b, high_b] = [low_a, high_a, low_b, high_b].map(Half::to_f32);
        Half::from_f32(high_a.mul_add(high_b, low_a.mul_add(low_b, c.to_f32())))
    }
    fn moded(m: Mode, a: u32, b: u32, c: Half) -> Half {
        let [(low_a, high_a), (low_b, high_b)] = [a, b].map(half_pair);
        let [low_a, high_a, low_b, high_b, c] =
            [low_a, high_a, low_b, high_b, c].map(|v| v.flush(m, false).to_f32());
        let d = high_a.mul_add(high_b, low_a.mul_add(low_b, c));
        Half(soft::convert(soft::F32, soft::F16, Round::of(m.round64()), d.bits()) as u16).flush(m, true)
    }
}

/// `v_dot2_bf16_bf16`: as [`Dot2F16F16`].
pub(crate) struct Dot2Bf16Bf16;
impl Op3 for Dot2Bf16Bf16 {
    type D = u16;
    type A = u32;
    type B = u32;
    type C = u16;
    #[inline(always)]
    fn f(m: Mode, a: u32, b: u32, c: u16) -> u16 {
        to_bf16(Dot2cF32Bf16::<false>::f(m, a, b, f32::from_bits(u32::from(c) << 16)))
    }
}

/// Returns the two f16 of a dword.
#[inline(always)]
fn half_pair(v: u32) -> (Half, Half) {
    (Half(v as u16), Half((v >> 16) as u16))
}

/// `v_dot4_i32_iu8` and `v_dot8_i32_iu4`: adds the products of parts of `BITS` bits to the third source. `neg_lo` says which of the
/// first two sources are signed. With the clamp bit the sum saturates, otherwise it wraps (RDNA3 ISA, `V_DOT4_I32_IU8`).
pub(crate) struct DotIu<const BITS: u32>;

impl<const BITS: u32> Exec for DotIu<BITS> {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        let select = Select(i.imm);
        // Of an unsigned source, the upper bits of a part that is sign-extended are cut off again.
        let keep = [0, 1].map(|n| if select.neg_lo(n) != 0 { !0 } else { (1u32 << BITS) - 1 });
        let part =
            |v: u32, n: u32, keep: u32| ((v << (32 - BITS * (n + 1))) as i32 >> (32 - BITS)) & keep as i32;
        let at = vectors_of::<u32, 3>(w, i);
        active_chunks!(w, MASKED, r, mask, c => {
            let [a, b, e] = load_each::<u32, 3>(r, at, c);
            let mut d = [0; CHUNK];
            for j in 0..CHUNK {
                let mut sum = 0i32;
                for n in 0..32 / BITS {
                    sum += part(a[j], n, keep[0]) * part(b[j], n, keep[1]);
                }
                let e = e[j] as i32;
                d[j] = if select.clamp() { e.saturating_add(sum) } else { e.wrapping_add(sum) };
            }
            store::<_, MASKED>(r, mask, i.dst, c, &d);
        });
        Flow::Next
    }
}

/// `v_dot4_f32_fp8_fp8` and similar instructions of gfx12, with the formats of the first two sources: four fused multiply-adds to the third,
/// of the lowest bytes first. `neg_lo` and `neg_hi` of the third source negate it and make it absolute. MODE has no effect, as
/// denormals are kept. The RDNA4 ISA gives only the order of the sum.
pub(crate) struct DotF8<const A: u32, const B: u32>;

impl<const A: u32, const B: u32> Exec for DotF8<A, B> {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        let select = Select(i.imm);
        let format = |fraction: u32| if fraction == F8 { FP8 } else { narrow::BF8 };
        let at = vectors_of::<u32, 3>(w, i);
        active_chunks!(w, MASKED, r, mask, c => {
            let [a, b, e] = load_each::<u32, 3>(r, at, c);
            let mut d = [0.0; CHUNK];
            for j in 0..CHUNK {
                let mut sum = f32::from_bits(e[j]).signed(select.neg_hi(2), select.neg_lo(2));
                for shift in [0, 8, 16, 24] {
                    let (a, b) = (a[j] >> shift & 0xff, b[j] >> shift & 0xff);
                    sum = format(A).to_f32(a).mul_add(format(B).to_f32(b), sum);
                }
                d[j] = sum;
            }
            store::<_, MASKED>(r, mask, i.dst, c, &d);
        });
        Flow::Next
    }
}

/// Returns the two bfloat16 of a dword.
#[inline(always)]
fn bf16_pair(v: u32) -> (f32, f32) {
    (f32::from_bits(v << 16), f32::from_bits(v & 0xffff_0000))
}

fn flushed(m: Mode, (low, high): (f32, f32)) -> (f32, f32) {
    (low.flush(m, false), high.flush(m, false))
}

pub(crate) type DotBf16 = Dot<Dot2F32Bf16<false>, Dot2F32Bf16<true>>;
/// `v_dot2_f32_bf16` on gfx11.
pub(crate) type DotBf16Gfx11 = Dot<Dot2cF32Bf16<false>, Dot2cF32Bf16<true>>;
pub(crate) type DotI16 = Dot<Dot2cI32I16, Dot2cI32I16Clamp>;
pub(crate) type DotI8 = Dot<Dot4cI32I8, Dot4cI32I8Clamp>;
pub(crate) type DotI4 = Dot<Dot8cI32I4, Dot8cI32I4Clamp>;
pub(crate) type DotU16 = Dot<DotU<16, false>, DotU<16, true>>;
pub(crate) type DotU8 = Dot<DotU<8, false>, DotU<8, true>>;
pub(crate) type DotU4 = Dot<DotU<4, false>, DotU<4, true>>;
