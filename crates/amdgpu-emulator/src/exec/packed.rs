//! Packed operations: sources with two values, each of which is selected and negated separately.

use std::marker::PhantomData;

use crate::exec::inst::{Exec, ExecContext, Flow, Inst};
use crate::exec::lanes::{Op2, Op3, Word, active_chunks, load, splat, store};
use crate::exec::number::float::Float;
use crate::exec::operand::temp;
use crate::state::wave::{CHUNK, Mode, Regs, Wave, lanes_of};

/// The modifiers of a VOP3P instruction, in `Inst::imm`: for each source four bits (`op_sel`, `op_sel_hi`, `neg_lo`,
/// `neg_hi`), then clamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Select(pub(crate) u32);

impl Select {
    /// The bits of a source whose halves are unchanged.
    const PLAIN: u32 = 2;
    pub(crate) const NONE: Select = Select(Self::PLAIN * 0x111);

    pub(crate) const fn with(
        self,
        n: usize,
        op_sel: u32,
        op_sel_hi: u32,
        neg_lo: u32,
        neg_hi: u32,
    ) -> Select {
        let bits = op_sel | op_sel_hi << 1 | neg_lo << 2 | neg_hi << 3;
        Select(self.0 & !(15 << (4 * n)) | bits << (4 * n))
    }

    pub(crate) const fn clamped(self, clamp: bool) -> Select {
        Select(self.0 & !(1 << 12) | (clamp as u32) << 12)
    }

    pub(crate) const fn clamp(self) -> bool {
        self.0 >> 12 & 1 != 0
    }

    const fn plain(self, n: usize) -> bool {
        self.0 >> (4 * n) & 15 == Self::PLAIN
    }

    /// Returns `op_sel` of source `n`.
    pub(crate) const fn lo(self, n: usize) -> u16 {
        (self.0 >> (4 * n) & 1) as u16
    }

    /// Returns `op_sel_hi` of source `n`.
    pub(crate) const fn hi(self, n: usize) -> u16 {
        (self.0 >> (4 * n + 1) & 1) as u16
    }

    /// Returns `neg_lo` of source `n`.
    pub(crate) const fn neg_lo(self, n: usize) -> u32 {
        self.0 >> (4 * n + 2) & 1
    }

    /// Returns `neg_hi` of source `n`.
    pub(crate) const fn neg_hi(self, n: usize) -> u32 {
        self.0 >> (4 * n + 3) & 1
    }
}

/// Returns whether source `n` is a vector.
#[inline(always)]
pub(crate) fn is_vector(i: &Inst, n: usize) -> bool {
    i.flags >> n & 1 != 0
}

/// Returns one chunk of lanes of a dword of source `n`, which may be a vector or a scalar.
#[inline(always)]
pub(crate) fn chunk(r: &Regs, i: &Inst, n: usize, dword: u16, c: usize) -> [u32; CHUNK] {
    let index = i.src[n].wrapping_add(dword);
    if is_vector(i, n) { r.v(index).0[c] } else { [r.s32(index); CHUNK] }
}

/// Applies the modifiers of the first `count` sources, each of two halves. Returns the vector registers of the results:
/// the source's own if nothing changed, otherwise a temporary register.
#[inline(always)]
pub(crate) fn halves(w: &mut Wave, i: &Inst, count: usize) -> [u16; 3] {
    let select = Select(i.imm);
    let mut out = i.src;
    for n in 0..count {
        if is_vector(i, n) && select.plain(n) {
            continue;
        }
        let (lo, hi) = (16 * u32::from(select.lo(n)), 16 * u32::from(select.hi(n)));
        let sign = select.neg_lo(n) << 15 | select.neg_hi(n) << 31;
        for c in w.chunks() {
            let mut x = chunk(&w.r, i, n, 0, c);
            for v in &mut x {
                *v = (*v >> lo & 0xffff | *v >> hi << 16) ^ sign;
            }
            w.v_mut(temp(n)).0[c] = x;
        }
        out[n] = temp(n);
    }
    out
}

/// Applies the modifiers of the first `count` sources, each of two dwords. Returns the vector registers of each source,
/// for the low and for the high result.
#[inline(always)]
fn pairs(w: &mut Wave, i: &Inst, count: usize) -> [[u16; 2]; 3] {
    let select = Select(i.imm);
    let mut out = [[0; 2]; 3];
    for n in 0..count {
        let sel = [select.lo(n), select.hi(n)];
        let neg = [select.neg_lo(n), select.neg_hi(n)];
        for k in 0..2 {
            let index = i.src[n].wrapping_add(sel[k]);
            if is_vector(i, n) && neg[k] == 0 {
                out[n][k] = index;
                continue;
            }
            let to = temp(n) + k as u16;
            if is_vector(i, n) {
                for c in w.chunks() {
                    w.v_mut(to).0[c] = w.v(index).0[c].map(|v| v ^ neg[k] << 31);
                }
            } else {
                *w.v_mut(to) = splat(w.s32(index) ^ neg[k] << 31);
            }
            out[n][k] = to;
        }
    }
    out
}

/// An operation that is applied to both packed values.
pub(crate) trait Packed {
    type T: Word;
    const SOURCES: usize;
    fn f(m: Mode, a: Self::T, b: Self::T, c: Self::T) -> Self::T;
    /// Computes the operation in a mode other than the default; see [`crate::exec::lanes::Op1::moded`].
    #[inline]
    fn moded(m: Mode, a: Self::T, b: Self::T, c: Self::T) -> Self::T {
        Self::f(m, a, b, c)
    }
    /// Returns the result with the clamp bit, given the result `d` without it.
    #[inline(always)]
    fn clamped(_: Mode, _: [Self::T; 3], d: Self::T) -> Self::T {
        d
    }
}

/// Clamps a value to 0..1. -0 becomes +0 (RDNA3 ISA, 7.5; RDNA4 ISA, 7.7).
#[inline(always)]
pub(crate) fn unit<T: Float>(m: Mode, x: T) -> T {
    let upper = if T::ONE.lt(x) { T::ONE } else { x };
    let keep = T::ZERO.lt(upper) | (x.is_nan() & !m.dx10_clamp());
    if keep { upper } else { T::ZERO }
}

/// A floating-point operation of two sources as a packed one.
pub(crate) struct Two<O>(PhantomData<O>);
impl<T: Float, O: Op2<D = T, A = T, B = T>> Packed for Two<O> {
    type T = T;
    const SOURCES: usize = 2;
    #[inline(always)]
    fn f(m: Mode, a: T, b: T, _: T) -> T {
        O::f(m, a, b)
    }
    #[inline]
    fn moded(m: Mode, a: T, b: T, _: T) -> T {
        O::moded(m, a, b)
    }
    #[inline(always)]
    fn clamped(m: Mode, _: [T; 3], d: T) -> T {
        unit(m, d)
    }
}

/// A floating-point operation of three sources as a packed one.
pub(crate) struct Three<O>(PhantomData<O>);
impl<T: Float, O: Op3<D = T, A = T, B = T, C = T>> Packed for Three<O> {
    type T = T;
    const SOURCES: usize = 3;
    #[inline(always)]
    fn f(m: Mode, a: T, b: T, c: T) -> T {
        O::f(m, a, b, c)
    }
    #[inline]
    fn moded(m: Mode, a: T, b: T, c: T) -> T {
        O::moded(m, a, b, c)
    }
    #[inline(always)]
    fn clamped(m: Mode, _: [T; 3], d: T) -> T {
        unit(m, d)
    }
}

/// Executes a [`Packed`] on the halves of dwords.
pub(crate) struct Halves<O>(PhantomData<O>);

impl<O: Packed> Exec for Halves<O> {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        let src = halves(w, i, O::SOURCES);
        if O::T::FLOAT && !w.mode.is_default_float() {
            return slow_halves::<O>(w, i, src);
        }
        if Select(i.imm).clamp() {
            run_halves::<O, true>(w, i, src)
        } else {
            run_halves::<O, false>(w, i, src)
        }
        Flow::Next
    }
}

#[inline(always)]
fn run_halves<O: Packed, const CLAMP: bool>(w: &mut Wave, i: &Inst, src: [u16; 3]) {
    let m = w.mode;
    active_chunks!(w, MASKED, r, mask, c => {
        let get = |n: usize| -> [u16; 2 * CHUNK] {
            if n < O::SOURCES { bytemuck::must_cast(r.v(src[n]).0[c]) } else { [0; 2 * CHUNK] }
        };
        let (a, b, e) = (get(0), get(1), get(2));
        let mut d = [0u16; 2 * CHUNK];
        for j in 0..2 * CHUNK {
            d[j] = half::<O, CLAMP>(m, [a[j], b[j], e[j]]);
        }
        let d: [u32; CHUNK] = bytemuck::must_cast(d);
        store::<_, MASKED>(r, mask, i.dst, c, &d);
    });
}

#[inline(always)]
fn half<O: Packed, const CLAMP: bool>(m: Mode, v: [u16; 3]) -> u16 {
    let [a, b, c] = v.map(|v| O::T::new(u32::from(v), 0));
    let d = O::f(m, a, b, c);
    (if CLAMP { O::clamped(m, [a, b, c], d) } else { d }).lo() as u16
}

#[cold]
#[inline(never)]
pub(super) fn slow_halves<O: Packed>(w: &mut Wave, i: &Inst, src: [u16; 3]) -> Flow {
    let m = w.mode;
    for l in lanes_of(w.exec()) {
        let mut d = 0;
        for k in 0..2 {
            let [a, b, c] = src.map(|s| O::T::new(w.v(s).flat()[l] >> (16 * k) & 0xffff, 0));
            let r = O::moded(m, a, b, c);
            let r = if Select(i.imm).clamp() { O::clamped(m, [a, b, c], r) } else { r };
            d |= (r.lo() & 0xffff) << (16 * k);
        }
        w.v_mut(i.dst).flat_mut()[l] = d;
    }
    Flow::Next
}

/// Executes a [`Packed`] on the dwords of register pairs.
pub(crate) struct Pairs<O>(PhantomData<O>);

impl<O: Packed> Exec for Pairs<O> {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        let src = pairs(w, i, O::SOURCES);
        if O::T::FLOAT && !w.mode.is_default_float() {
            return slow_pairs::<O>(w, i, src);
        }
        if Select(i.imm).clamp() {
            run_pairs::<O, true>(w, i, src)
        } else {
            run_pairs::<O, false>(w, i, src)
        }
        Flow::Next
    }
}

#[inline(always)]
fn run_pairs<O: Packed, const CLAMP: bool>(w: &mut Wave, i: &Inst, src: [[u16; 2]; 3]) {
    let m = w.mode;
    active_chunks!(w, MASKED, r, mask, c => {
        let mut d = [[O::T::ZERO; CHUNK]; 2];
        for k in 0..2 {
            let get = |n: usize| -> [O::T; CHUNK] {
                if n < O::SOURCES { load(r, src[n][k], c) } else { [O::T::ZERO; CHUNK] }
            };
            let (a, b, e) = (get(0), get(1), get(2));
            for j in 0..CHUNK {
                let r = O::f(m, a[j], b[j], e[j]);
                d[k][j] = if CLAMP { O::clamped(m, [a[j], b[j], e[j]], r) } else { r };
            }
        }
        store::<_, MASKED>(r, mask, i.dst, c, &d[0]);
        store::<_, MASKED>(r, mask, i.dst.wrapping_add(1), c, &d[1]);
    });
}

#[cold]
#[inline(never)]
fn slow_pairs<O: Packed>(w: &mut Wave, i: &Inst, src: [[u16; 2]; 3]) -> Flow {
    let m = w.mode;
    for l in lanes_of(w.exec()) {
        let d = [0, 1].map(|k| {
            let [a, b, c] = src.map(|s| O::T::new(w.v(s[k]).flat()[l], 0));
            let r = O::moded(m, a, b, c);
            (if Select(i.imm).clamp() { O::clamped(m, [a, b, c], r) } else { r }).lo()
        });
        for (k, d) in (0..).zip(d) {
            w.v_mut(i.dst.wrapping_add(k)).flat_mut()[l] = d;
        }
    }
    Flow::Next
}
