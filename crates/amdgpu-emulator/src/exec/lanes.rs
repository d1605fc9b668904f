//! The loops over lanes: they turn an operation on one lane's values into executors for vector and scalar sources, and
//! for any EXEC.
//!
//! A whole chunk of lanes is loaded before its results are stored. A destination may therefore also be a source, and
//! the compiler can vectorise the loops.

#![allow(clippy::needless_range_loop, reason = "a lane's number indexes several arrays")]

use std::marker::PhantomData;

use amdgpu_isa::flags::EXEC_OUT;

use crate::exec::inst::{Exec, ExecContext, Flow, Inst};
use crate::exec::level::{Columns, columns, same, two_columns};
use crate::exec::operand::temp;
use crate::exec::vectors::{AnyHost, Vectors};
use crate::state::wave::{CHUNK, CHUNKS, Lanes, Mode, Regs, Wave, expand, lanes_of};

/// A value that one lane holds in one or two dwords.
pub(crate) trait Word: Copy {
    /// Whether it has two dwords.
    const WIDE: bool;
    /// Whether it is a floating-point number, for which the MODE register matters.
    const FLOAT: bool = false;
    const ZERO: Self;
    fn new(lo: u32, hi: u32) -> Self;
    fn lo(self) -> u32;
    fn hi(self) -> u32;
    /// Replaces a denormal with zero of the same sign, unless the mode keeps denormals of results (`result`) or of
    /// sources.
    #[inline(always)]
    fn flush(self, _: Mode, _result: bool) -> Self {
        self
    }
    /// Returns the magnitude if `abs` is 1, then the negative of that if `neg` is 1. Only for floats.
    #[inline(always)]
    fn signed(self, _abs: u32, _neg: u32) -> Self {
        self
    }
}

macro_rules! word {
    ($($ty:ty, $wide:expr, $zero:expr, |$lo:ident, $hi:ident| $new:expr, |$v:ident| $bits:expr;)*) => {$(
        impl Word for $ty {
            const WIDE: bool = $wide;
            const ZERO: Self = $zero;
            #[inline(always)]
            fn new($lo: u32, $hi: u32) -> Self {
                let _ = $hi;
                $new
            }
            #[inline(always)]
            fn lo(self) -> u32 {
                let $v = self;
                $bits as u32
            }
            #[inline(always)]
            fn hi(self) -> u32 {
                let $v = self;
                (u64::from($bits) >> 32) as u32
            }
        }
    )*};
}

word! {
    u16, false, 0, |lo, hi| lo as u16, |v| v;
    i16, false, 0, |lo, hi| lo as i16, |v| v as u16;
    u32, false, 0, |lo, hi| lo, |v| v;
    i32, false, 0, |lo, hi| lo as i32, |v| v as u32;
    u64, true, 0, |lo, hi| u64::from(lo) | u64::from(hi) << 32, |v| v;
    i64, true, 0, |lo, hi| (u64::from(lo) | u64::from(hi) << 32) as i64, |v| v as u64;
}

impl Word for f32 {
    const WIDE: bool = false;
    const FLOAT: bool = true;
    const ZERO: Self = 0.0;
    #[inline(always)]
    fn new(lo: u32, _: u32) -> Self {
        f32::from_bits(lo)
    }
    #[inline(always)]
    fn lo(self) -> u32 {
        self.to_bits()
    }
    #[inline(always)]
    fn hi(self) -> u32 {
        0
    }
    #[inline(always)]
    fn flush(self, m: Mode, result: bool) -> Self {
        let keep = m.denorm32() >> u32::from(result) & 1 != 0;
        if self.is_subnormal() && !keep { 0f32.copysign(self) } else { self }
    }
    #[inline(always)]
    fn signed(self, abs: u32, neg: u32) -> Self {
        f32::from_bits(self.to_bits() & !(abs << 31) ^ (neg << 31))
    }
}

impl Word for f64 {
    const WIDE: bool = true;
    const FLOAT: bool = true;
    const ZERO: Self = 0.0;
    #[inline(always)]
    fn new(lo: u32, hi: u32) -> Self {
        f64::from_bits(u64::from(lo) | u64::from(hi) << 32)
    }
    #[inline(always)]
    fn lo(self) -> u32 {
        self.to_bits() as u32
    }
    #[inline(always)]
    fn hi(self) -> u32 {
        (self.to_bits() >> 32) as u32
    }
    #[inline(always)]
    fn flush(self, m: Mode, result: bool) -> Self {
        let keep = m.denorm64() >> u32::from(result) & 1 != 0;
        if self.is_subnormal() && !keep { 0f64.copysign(self) } else { self }
    }
    #[inline(always)]
    fn signed(self, abs: u32, neg: u32) -> Self {
        f64::from_bits(self.to_bits() & !(u64::from(abs) << 63) ^ (u64::from(neg) << 63))
    }
}

/// Loads one chunk of lanes of a vector operand.
#[inline(always)]
pub(crate) fn load<T: Word>(r: &Regs, index: u16, c: usize) -> [T; CHUNK] {
    let lo = r.v(index).0[c];
    let hi = if T::WIDE { r.v(index.wrapping_add(1)).0[c] } else { [0; CHUNK] };
    let mut out = [T::ZERO; CHUNK];
    for j in 0..CHUNK {
        out[j] = T::new(lo[j], hi[j]);
    }
    out
}

/// Loads a scalar operand.
#[inline(always)]
pub(crate) fn scalar<T: Word>(r: &Regs, index: u16) -> T {
    T::new(r.s32(index), if T::WIDE { r.s32(index.wrapping_add(1)) } else { 0 })
}

/// Stores one chunk of lanes of a result. With `MASKED`, only the lanes in `mask` are stored, which is the wave's.
#[inline(always)]
pub(crate) fn store<T: Word, const MASKED: bool>(
    r: &mut Regs,
    mask: &Lanes,
    index: u16,
    c: usize,
    values: &[T; CHUNK],
) {
    let mut lo = [0; CHUNK];
    for j in 0..CHUNK {
        lo[j] = values[j].lo();
    }
    store_dwords::<MASKED>(r, mask, index, c, lo);
    if T::WIDE {
        let mut hi = [0; CHUNK];
        for j in 0..CHUNK {
            hi[j] = values[j].hi();
        }
        store_dwords::<MASKED>(r, mask, index.wrapping_add(1), c, hi);
    }
}

#[inline(always)]
pub(crate) fn store_dwords<const MASKED: bool>(
    r: &mut Regs,
    mask: &Lanes,
    index: u16,
    c: usize,
    mut new: [u32; CHUNK],
) {
    if MASKED {
        let mask = mask.0[c];
        let old = r.v(index).0[c];
        for j in 0..CHUNK {
            new[j] = new[j] & mask[j] | old[j] & !mask[j];
        }
    }
    r.v_mut(index).0[c] = new;
}

/// Runs `$body` with a constant `MASKED`, which is true if a lane is inactive. `w.mask` is then up to date.
macro_rules! by_exec {
    ($w:ident, $masked:ident => $body:block) => {{
        let exec = $w.exec();
        if exec == $w.all {
            const $masked: bool = false;
            $body
        } else {
            $w.refresh_mask(exec);
            const $masked: bool = true;
            $body
        }
    }};
}
pub(crate) use by_exec;

/// Runs `$body` for each chunk of the wave, with the wave's registers as a reference. The loops have constant lengths, and the reference
/// is made once: the compiler unrolls them, has the places of the lanes as constants, and need not read again where the registers are
/// after each store. It does in a loop over [`Wave::chunks`].
macro_rules! each_chunk {
    ($w:ident, $registers:ident, $chunk:ident => $body:block) => {{
        let has_64_lanes = $w.has_64_lanes();
        let $registers = &mut *$w.r;
        if has_64_lanes {
            for $chunk in 0..$crate::state::wave::CHUNKS $body
        } else {
            for $chunk in 0..$crate::state::wave::CHUNKS / 2 $body
        }
    }};
}

/// Does what [`by_exec`] and [`each_chunk`] do, with the wave's mask as another reference: `$body` stores with `$masked`.
///
/// All bits of EXEC are set in most waves of 64, which take no other test. A wave of 32 whose upper half of EXEC is set, too, computes
/// lanes that it has not; nothing reads them.
macro_rules! active_chunks {
    ($w:ident, $masked:ident, $registers:ident, $mask:ident, $chunk:ident => $body:block) => {{
        let exec = $w.exec_pair();
        if exec == !0 {
            const $masked: bool = false;
            let ($registers, $mask) = (&mut *$w.r, &*$w.mask);
            for $chunk in 0..$crate::state::wave::CHUNKS $body
        } else if exec & $w.all == $w.all {
            const $masked: bool = false;
            let ($registers, $mask) = (&mut *$w.r, &*$w.mask);
            for $chunk in 0..$crate::state::wave::CHUNKS / 2 $body
        } else {
            const $masked: bool = true;
            $w.refresh_mask(exec & $w.all);
            let chunks = $w.chunks();
            let ($registers, $mask) = (&mut *$w.r, &*$w.mask);
            for $chunk in chunks $body
        }
    }};
}
pub(crate) use active_chunks;

/// A comparison of one lane's values. Its executors write the mask of the results, 0 in inactive lanes, to
/// `Inst::sdst`; those of `v_cmpx` write it to EXEC too.
pub(crate) trait OpCmp {
    type A: Word;
    type B: Word;
    /// Whether denormals are flushed as the mode says.
    const FLUSHES: bool = true;
    /// Whether a source has two dwords.
    const WIDE: bool = <Self::A as Word>::WIDE || <Self::B as Word>::WIDE;
    fn f(m: Mode, a: Self::A, b: Self::B) -> bool;
}

/// Returns one lane's value of an operand.
#[inline(always)]
pub(crate) fn lane<T: Word>(r: &Regs, index: u16, scalar: bool, lane: usize) -> T {
    let at = |n: u16| {
        let index = index.wrapping_add(n);
        if scalar { r.s32(index) } else { r.v(index).flat()[lane] }
    };
    T::new(at(0), if T::WIDE { at(1) } else { 0 })
}

/// Stores one lane's result.
#[inline(always)]
pub(crate) fn set_lane<T: Word>(r: &mut Regs, index: u16, lane: usize, value: T) {
    r.v_mut(index).flat_mut()[lane] = value.lo();
    if T::WIDE {
        r.v_mut(index.wrapping_add(1)).flat_mut()[lane] = value.hi();
    }
}

/// Returns whether source `n` of the instruction is a scalar operand.
#[inline(always)]
pub(crate) fn is_scalar(i: &Inst, n: u32) -> bool {
    i.flags >> n & 1 == 0
}

/// Bit `SOURCE_HALVES + n` of [`Inst::imm`] says that source `n` is the high half of its register.
pub(crate) const SOURCE_HALVES: u32 = 6;
/// The bit of [`Inst::imm`] that says that the result is written to one half of the destination, and the other half is kept.
pub(crate) const KEEPS_HALF: u32 = 1 << 9;
/// The bit of [`Inst::imm`], besides [`KEEPS_HALF`], that says that the result is written to the high half.
pub(crate) const TO_HIGH_HALF: u32 = 1 << 10;

/// Returns one lane's value of source `n`, from the half of the register that [`SOURCE_HALVES`] says, with the sign modifiers that
/// [`load_source`] describes.
#[inline(always)]
pub(crate) fn source<T: Word>(r: &Regs, i: &Inst, n: usize, l: usize) -> T {
    let v: T = lane(r, i.src[n], is_scalar(i, n as u32), l);
    let high = i.imm >> (SOURCE_HALVES + n as u32) & 1 != 0;
    let v = if high { T::new(lane::<u32>(r, i.src[n], is_scalar(i, n as u32), l) >> 16, 0) } else { v };
    v.signed(i.imm >> (n + 3) & 1, i.imm >> n & 1)
}

/// Returns the first bit of the half of the destination to which a result of 16 bits is written, and a mask of the bits that are kept.
#[inline(always)]
pub(crate) fn half_written(i: &Inst) -> (u32, u32) {
    let to = if i.imm & TO_HIGH_HALF != 0 { 16 } else { 0 };
    (to, if i.imm & KEEPS_HALF != 0 { !(0xffff << to) } else { 0 })
}

/// Stores one lane's result, to the half of the register that [`half_written`] says if it is one.
#[inline(always)]
fn set_result<T: Word>(r: &mut Regs, i: &Inst, l: usize, value: T) {
    if i.imm & KEEPS_HALF == 0 {
        return set_lane(r, i.dst, l, value);
    }
    let (to, kept) = half_written(i);
    let dword = &mut r.v_mut(i.dst).flat_mut()[l];
    *dword = *dword & kept | (value.lo() & 0xffff) << to;
}

/// Executes an [`OpCmp`] lane by lane, in any mode, with any operands. The code is small and slow.
pub(crate) struct EachCmp<O, const X: bool>(PhantomData<O>);
impl<O: OpCmp, const X: bool> EachCmp<O, X> {
    #[cold]
    #[inline(never)]
    fn run(w: &mut Wave, i: &Inst) -> Flow {
        let m = w.mode;
        let mut mask = 0;
        for l in lanes_of(w.exec()) {
            let a: O::A = lane(&w.r, i.src[0], is_scalar(i, 0), l);
            let b: O::B = lane(&w.r, i.src[1], is_scalar(i, 1), l);
            let (a, b) = if O::FLUSHES { (a.flush(m, false), b.flush(m, false)) } else { (a, b) };
            mask |= u64::from(O::f(m, a, b)) << l;
        }
        w.set_mask(i.sdst, mask);
        if X {
            w.set_exec(mask);
        }
        Flow::Next
    }
}

impl<O: OpCmp, const X: bool> Exec for EachCmp<O, X> {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        Self::run(w, i)
    }
}

/// Returns the vector register of source `n`: if the source is a scalar, the source's temporary register, to which it is copied. A loop
/// over chunks that chose between the two itself would keep the sixteen lanes that it chose in memory.
#[inline(always)]
pub(crate) fn vector_of<T: Word>(w: &mut Wave, i: &Inst, n: usize) -> u16 {
    if !is_scalar(i, n as u32) {
        return i.src[n];
    }
    let to = temp(n);
    for d in 0..if T::WIDE { 2 } else { 1 } {
        *w.v_mut(to + d) = splat(w.s32(i.src[n].wrapping_add(d)));
    }
    to
}

/// Returns [`vector_of`] of the first `N` sources.
#[inline(always)]
pub(crate) fn vectors_of<T: Word, const N: usize>(w: &mut Wave, i: &Inst) -> [u16; N] {
    let mut at = [0; N];
    for n in 0..N {
        at[n] = vector_of::<T>(w, i, n);
    }
    at
}

/// Loads one chunk of lanes of each of some vector operands.
#[inline(always)]
pub(crate) fn load_each<T: Word, const N: usize>(r: &Regs, at: [u16; N], c: usize) -> [[T; CHUNK]; N] {
    let mut out = [[T::ZERO; CHUNK]; N];
    for n in 0..N {
        out[n] = load(r, at[n], c);
    }
    out
}

/// Returns one chunk of lanes of source `n`, which is register `at`. With `SIGNS`, bits 3 to 5 of [`Inst::imm`] say of which sources to
/// take the magnitude, and bits 0 to 2 which to negate after that.
#[inline(always)]
fn load_source<T: Word, V: Vectors, const SIGNS: bool>(
    r: &Regs,
    i: &Inst,
    (n, at): (usize, u16),
    c: usize,
    wide: bool,
) -> [T; CHUNK] {
    let mut v: [T; CHUNK] = V::load(r, at, c, wide);
    if SIGNS {
        let (neg, abs) = (i.imm >> n & 1, i.imm >> (n + 3) & 1);
        for j in 0..CHUNK {
            v[j] = v[j].signed(abs, neg);
        }
    }
    v
}

/// Returns one chunk of lanes of source `n`, which may be a vector or a scalar, with the signs that [`load_source`] describes.
#[inline(always)]
fn source_chunk<T: Word>(r: &Regs, i: &Inst, n: usize, c: usize) -> [T; CHUNK] {
    if is_scalar(i, n as u32) {
        let v: T = scalar(r, i.src[n]);
        [v.signed(i.imm >> (n + 3) & 1, i.imm >> n & 1); CHUNK]
    } else {
        load_source::<T, AnyHost, true>(r, i, (n, i.src[n]), c, false)
    }
}

/// Executes an [`OpCmp`] with any operands. It is a `v_cmpx` if its row says so.
pub(crate) struct CmpAny<O>(PhantomData<O>);

impl<O: OpCmp> Exec for CmpAny<O> {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
        Self::exec_with::<AnyHost>(w, cx, i)
    }

    #[inline(always)]
    fn exec_with<V: Vectors>(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        let m = w.mode;
        let x = i.row.is(EXEC_OUT);
        if O::A::FLOAT && !m.is_default_float() {
            return if x { EachCmp::<O, true>::run(w, i) } else { EachCmp::<O, false>::run(w, i) };
        }
        let mut mask = 0;
        let at = [vector_of::<O::A>(w, i, 0), vector_of::<O::B>(w, i, 1)];
        for c in w.chunks() {
            let a: [O::A; CHUNK] = V::load(&w.r, at[0], c, O::WIDE);
            let b: [O::B; CHUNK] = V::load(&w.r, at[1], c, O::WIDE);
            let flags = std::array::from_fn(|j| ones(O::f(m, a[j], b[j])));
            mask |= V::collect(c, flags, O::WIDE);
        }
        mask &= w.exec();
        w.set_mask(i.sdst, mask);
        if x {
            w.set_exec(mask);
        }
        Flow::Next
    }
}

/// Executes an [`OpCmp`]. With `X`, it is a `v_cmpx`.
pub(crate) struct CmpLanes<O, const SCALAR: u8, const X: bool>(PhantomData<O>);

impl<O: OpCmp, const SCALAR: u8, const X: bool> Exec for CmpLanes<O, SCALAR, X> {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
        Self::exec_with::<AnyHost>(w, cx, i)
    }

    #[inline(always)]
    fn exec_with<V: Vectors>(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        let m = w.mode;
        if O::A::FLOAT && !m.is_default_float() {
            return EachCmp::<O, X>::run(w, i);
        }
        let sa = if SCALAR & 1 != 0 { scalar(&w.r, i.src[0]) } else { O::A::ZERO };
        let sb = if SCALAR & 2 != 0 { scalar(&w.r, i.src[1]) } else { O::B::ZERO };
        let mut mask = 0;
        each_chunk!(w, r, c => {
            let a = if SCALAR & 1 != 0 { [sa; CHUNK] } else { V::load(r, i.src[0], c, O::WIDE) };
            let b = if SCALAR & 2 != 0 { [sb; CHUNK] } else { V::load(r, i.src[1], c, O::WIDE) };
            let flags = std::array::from_fn(|j| ones(O::f(m, a[j], b[j])));
            mask |= V::collect(c, flags, O::WIDE);
        });
        mask &= w.exec();
        w.set_mask(i.sdst, mask);
        if X {
            w.set_exec(mask);
        }
        Flow::Next
    }
}

/// Returns a dword of ones or zeros, which is what comparisons of vectors give.
#[inline(always)]
pub(crate) fn ones(flag: bool) -> u32 {
    u32::from(flag).wrapping_neg()
}

/// Returns the mask of the lanes of chunk `c` whose flag has its top bit set.
#[inline(always)]
pub(crate) fn collect(c: usize, flags: [u32; CHUNK]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    let mask = {
        use std::arch::x86_64::*;
        let [a, b, c, d]: [__m128i; 4] = bytemuck::must_cast(flags);
        // SAFETY: every x86-64 host has SSE2. These are intrinsics as no loop compiles to them. Packing saturates, which
        // keeps the top bit.
        unsafe {
            let bytes = _mm_packs_epi16(_mm_packs_epi32(a, b), _mm_packs_epi32(c, d));
            _mm_movemask_epi8(bytes) as u64
        }
    };
    #[cfg(not(target_arch = "x86_64"))]
    let mask = flags.iter().rev().fold(0, |mask, flag| mask << 1 | u64::from(flag >> 31));
    mask << (c * CHUNK)
}

/// The forms of one lane operation: for each, a mask of the sources that are scalars, and its executors. The first form
/// has only vectors. For a combination without a form, scalars are copied to temporary vectors.
pub(crate) type Forms = &'static [(u8, Columns)];

/// Returns forms that use one executor for all combinations of scalars.
pub(crate) const fn all(each: Columns) -> [(u8, Columns); 8] {
    [(0, each), (1, each), (2, each), (3, each), (4, each), (5, each), (6, each), (7, each)]
}

/// Replaces the executor for the portable level, at which a copy for each combination would not be worth its size.
pub(crate) const fn but_portable(portable: Columns, columns: Columns) -> Columns {
    [portable[0], columns[1], columns[2]]
}

// Each operation has three sets of forms. `RARE`, for instructions that compilers rarely use, has one copy for AVX2, for any
// sources. `F` has two, for vectors and for a scalar first source, as the short encodings allow. `HOT`, for instructions of inner
// loops, also has scalars in other sources, and a copy for AVX-512.

/// Declares, for each number of sources, the trait of a lane operation, its executors and its forms. A source is given
/// by its number, the name of its type and the name of its value. Each number in `hot` is a mask of scalar sources for
/// which `HOT` has a form.
macro_rules! lane_operations {
    ($(
        $(#[$doc:meta])*
        $Op:ident, $Each:ident, $Any:ident, $L:ident, $Forms:ident:
        $($n:literal $Source:ident $v:ident),*;
        hot $($scalars:literal $columns:ident),*;
    )*) => {$(
        $(#[$doc])*
        pub(crate) trait $Op {
            type D: Word;
            $(type $Source: Word;)*
            /// Whether rounding or denormals matter.
            const FLOAT: bool = <Self::D as Word>::FLOAT $(|| <Self::$Source as Word>::FLOAT)*;
            /// Whether a source has two dwords.
            const WIDE: bool = false $(|| <Self::$Source as Word>::WIDE)*;
            /// Computes the operation, rounding to nearest even and keeping denormals. Must be `#[inline(always)]`.
            fn f(m: Mode, $($v: Self::$Source),*) -> Self::D;
            /// Computes `f` faster, if the second number returned is 0. If it is not, `f` is called. Executors of loops
            /// over lanes call it.
            #[inline(always)]
            fn fast(m: Mode, $($v: Self::$Source),*) -> (Self::D, u32) {
                (Self::f(m, $($v),*), 0)
            }
            /// Computes the operation in a mode with another rounding or denormal handling than `f`.
            #[inline]
            fn moded(m: Mode, $($v: Self::$Source),*) -> Self::D {
                Self::f(m, $($v.flush(m, false)),*).flush(m, true)
            }
        }

        /// Executes an operation lane by lane, in any mode, with any operands. The code is small and slow.
        pub(crate) struct $Each<O>(PhantomData<O>);
        impl<O: $Op> $Each<O> {
            /// Computes one chunk with `fast`. Returns whether all results are right; if not, [`chunk`](Self::chunk) has to compute
            /// them.
            #[inline(always)]
            fn fast_chunk<V: Vectors>(m: Mode, $($v: [O::$Source; CHUNK]),*) -> ([O::D; CHUNK], bool) {
                let (mut d, mut unsure) = ([O::D::ZERO; CHUNK], [0; CHUNK]);
                for j in 0..CHUNK {
                    let (result, flag) = O::fast(m, $($v[j]),*);
                    (d[j], unsure[j]) = (result, ones(flag != 0));
                }
                (d, !V::any(unsure))
            }

            /// Computes one chunk with `f`, and stores it to the lanes of `exec`. It loads the sources again: if it was given them, they
            /// would be in memory, and not in the host's registers, also where it is not called.
            #[cold]
            #[inline(never)]
            fn chunk(r: &mut Regs, m: Mode, i: &Inst, chunk: usize, exec: u64) {
                $(let $v: [O::$Source; CHUNK] = source_chunk(r, i, $n, chunk);)*
                let d = std::array::from_fn(|j| O::f(m, $($v[j]),*));
                let mut mask = Lanes::ZERO;
                expand(exec, &mut mask);
                store::<_, true>(r, &mask, i.dst, chunk, &d);
            }

            /// Executes the operation in some lanes.
            #[cold]
            #[inline(never)]
            fn lanes(r: &mut Regs, m: Mode, i: &Inst, lanes: u64) {
                let moded = O::FLOAT && !m.is_default_float();
                for l in lanes_of(lanes) {
                    $(let $v = source(r, i, $n, l);)*
                    let d = if moded { O::moded(m, $($v),*) } else { O::f(m, $($v),*) };
                    set_result(r, i, l, d);
                }
            }

            #[inline(always)]
            fn run(w: &mut Wave, i: &Inst) -> Flow {
                let lanes = w.exec();
                Self::lanes(&mut w.r, w.mode, i, lanes);
                Flow::Next
            }
        }
        impl<O: $Op> Exec for $Each<O> {
            #[inline(always)]
            fn exec(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
                Self::run(w, i)
            }
        }

        /// Executes an operation with any operands. [`load_source`] describes `SIGNS`.
        pub(crate) struct $Any<O, const SIGNS: bool>(PhantomData<O>);
        impl<O: $Op, const SIGNS: bool> Exec for $Any<O, SIGNS> {
            #[inline(always)]
            fn exec(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
                Self::exec_with::<AnyHost>(w, cx, i)
            }

            #[inline(always)]
            fn exec_with<V: Vectors>(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
                let m = w.mode;
                if O::FLOAT && !m.is_default_float() {
                    return $Each::<O>::run(w, i);
                }
                let at = [$(vector_of::<O::$Source>(w, i, $n)),*];
                let exec = w.exec();
                active_chunks!(w, MASKED, r, mask, chunk => {
                    $(let $v = load_source::<_, V, SIGNS>(r, i, ($n, at[$n]), chunk, O::WIDE);)*
                    let (d, right) = $Each::<O>::fast_chunk::<V>(m, $($v),*);
                    if right {
                        V::store::<_, MASKED>(r, mask, i.dst, chunk, &d, O::WIDE);
                    } else {
                        $Each::<O>::chunk(r, m, i, chunk, exec);
                    }
                });
                Flow::Next
            }
        }

        /// Executes an operation. Bit `n` of `SCALAR` says that source `n` is a scalar operand.
        pub(crate) struct $L<O, const SCALAR: u8>(PhantomData<O>);
        impl<O: $Op, const SCALAR: u8> Exec for $L<O, SCALAR> {
            #[inline(always)]
            fn exec(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
                Self::exec_with::<AnyHost>(w, cx, i)
            }

            #[inline(always)]
            fn exec_with<V: Vectors>(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
                let m = w.mode;
                if O::FLOAT && !m.is_default_float() {
                    return $Each::<O>::run(w, i);
                }
                $(let $v = if SCALAR >> $n & 1 != 0 { scalar(&w.r, i.src[$n]) } else { O::$Source::ZERO };)*
                let exec = w.exec();
                active_chunks!(w, MASKED, r, mask, chunk => {
                    $(let $v = if SCALAR >> $n & 1 != 0 { [$v; CHUNK] } else { V::load(r, i.src[$n], chunk, O::WIDE) };)*
                    let (d, right) = $Each::<O>::fast_chunk::<V>(m, $($v),*);
                    if right {
                        V::store::<_, MASKED>(r, mask, i.dst, chunk, &d, O::WIDE);
                    } else {
                        $Each::<O>::chunk(r, m, i, chunk, exec);
                    }
                });
                Flow::Next
            }
        }

        /// The forms of an operation.
        pub(crate) struct $Forms<O>(PhantomData<O>);
        impl<O: $Op> $Forms<O> {
            const EACH: Columns = same::<$Each<O>>();
            const ANY: Columns = same::<$Any<O, false>>();
            pub(crate) const RARE: Forms = &all(but_portable(Self::EACH, two_columns::<$Any<O, false>>()));
            pub(crate) const F: Forms = &[
                (0, but_portable(Self::EACH, two_columns::<$L<O, 0>>())),
                (1, but_portable(Self::EACH, two_columns::<$L<O, 1>>())),
            ];
            pub(crate) const HOT: Forms = &[
                $(($scalars, but_portable(Self::ANY, $columns::<$L<O, $scalars>>()))),*
            ];
        }
    )*};
}

lane_operations! {
    /// A lane operation of one source.
    Op1, Each1, Any1, L1, Forms1: 0 A a; hot 0 columns, 1 columns;
    /// A lane operation of two sources.
    Op2, Each2, Any2, L2, Forms2: 0 A a, 1 B b; hot 0 columns, 1 columns, 2 columns;
    /// A lane operation of three sources. For those that accumulate into the destination (`v_fmac_f32`), decoding makes
    /// the destination the third source.
    Op3, Each3, Any3, L3, Forms3: 0 A a, 1 B b, 2 C c;
        hot 0 columns, 1 columns, 2 columns, 3 two_columns, 4 columns, 6 two_columns;
}

impl<O: Op2> Forms2<O> {
    /// The executors for sources with sign modifiers.
    pub(crate) const SIGNS: Columns = two_columns::<Any2<O, true>>();
}

impl<O: Op3> Forms3<O> {
    /// The executors for sources with sign modifiers.
    pub(crate) const SIGNS: Columns = two_columns::<Any3<O, true>>();
}

pub(crate) struct FormsCmp<O, const X: bool>(PhantomData<O>);
impl<O: OpCmp, const X: bool> FormsCmp<O, X> {
    const EACH: Columns = same::<EachCmp<O, X>>();
    pub(crate) const RARE: Forms = &all(but_portable(Self::EACH, two_columns::<CmpAny<O>>()));
    pub(crate) const F: Forms = &[
        (0, but_portable(Self::EACH, two_columns::<CmpLanes<O, 0, X>>())),
        (1, but_portable(Self::EACH, two_columns::<CmpLanes<O, 1, X>>())),
    ];
    pub(crate) const HOT: Forms = &[
        (0, but_portable(Self::EACH, columns::<CmpLanes<O, 0, X>>())),
        (1, but_portable(Self::EACH, columns::<CmpLanes<O, 1, X>>())),
        (2, but_portable(Self::EACH, two_columns::<CmpLanes<O, 2, X>>())),
    ];
}

/// Returns a register whose lanes all hold `value`.
#[inline(always)]
pub(crate) fn splat(value: u32) -> Lanes {
    Lanes([[value; CHUNK]; CHUNKS])
}
