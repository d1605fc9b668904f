//! Executors that read or write a lane mask in addition to vectors: carries, selection, 64-bit multiply-add.

#![allow(clippy::needless_range_loop, reason = "a lane's number indexes several arrays")]

use std::marker::PhantomData;

use crate::exec::inst::{Exec, ExecContext, Flow, Inst};
use crate::exec::lanes::{
    Forms, Word, active_chunks, all, but_portable, ones, scalar, set_lane, source, store, vector_of,
};
use crate::exec::level::{Columns, columns, same, two_columns};
use crate::exec::vectors::{AnyHost, Vectors};
use crate::state::wave::{CHUNK, Mode, Regs, Wave, expanded, lanes_of};

/// A value for `SCALAR`: which sources are scalars is determined when the instruction executes.
const ANY: u8 = 8;

/// Returns the vector register of source `n`, which has no meaning if bit `n` of `SCALAR` is set.
#[inline(always)]
fn register_of<T: Word, const SCALAR: u8>(w: &mut Wave, i: &Inst, n: usize) -> u16 {
    if SCALAR == ANY { vector_of::<T>(w, i, n) } else { i.src[n] }
}

/// Returns one chunk of lanes of source `n`, which is register `at`, in the order that `wide` says ([`Vectors`]). If bit `n` of `SCALAR`
/// is set, the source is the scalar `s`.
#[inline(always)]
fn operand<T: Word, V: Vectors, const SCALAR: u8>(
    r: &Regs,
    at: u16,
    n: usize,
    c: usize,
    s: T,
    wide: bool,
) -> [T; CHUNK] {
    if SCALAR >> n & 1 != 0 { [s; CHUNK] } else { V::load(r, at, c, wide) }
}

/// An addition or subtraction that returns a carry or borrow. With `IN` it also takes one.
///
/// A carry in is all ones if it is set, else 0. A carry out is the top bit of a dword, as it comes out of a full adder without
/// a comparison, and as [`collect`] takes it.
pub(crate) trait OpCarry {
    const IN: bool;
    fn f(a: u32, b: u32, carry: u32) -> (u32, u32);
    /// Computes the operation with the clamp bit.
    fn clamped(a: u32, b: u32, carry: u32) -> (u32, u32);
}

/// Returns whether the top bit of a flag is set.
#[inline(always)]
fn is_set(flag: u32) -> bool {
    flag >> 31 != 0
}

#[inline(always)]
fn add(a: u32, b: u32, carry: u32) -> (u32, u32) {
    let sum = a.wrapping_add(b).wrapping_sub(carry);
    // A bit is carried if both bits are set, or one is and their sum was carried into, which left 0.
    (sum, a & b | (a | b) & !sum)
}

#[inline(always)]
fn sub(a: u32, b: u32, borrow: u32) -> (u32, u32) {
    let difference = a.wrapping_sub(b).wrapping_add(borrow);
    (difference, !a & b | (!a | b) & difference)
}

macro_rules! carries {
    ($($name:ident, $in:expr, |$a:ident, $b:ident, $c:ident| $e:expr, $limit:expr;)*) => {$(
        pub(crate) struct $name;
        impl OpCarry for $name {
            const IN: bool = $in;
            #[inline(always)]
            fn f($a: u32, $b: u32, $c: u32) -> (u32, u32) {
                $e
            }
            #[inline(always)]
            fn clamped(a: u32, b: u32, c: u32) -> (u32, u32) {
                let (d, over) = Self::f(a, b, c);
                (if is_set(over) { $limit } else { d }, over)
            }
        }
    )*};
}

carries! {
    AddCo, false, |a, b, _c| { let sum = a.wrapping_add(b); (sum, ones(sum < a)) }, u32::MAX;
    SubCo, false, |a, b, _c| (a.wrapping_sub(b), ones(a < b)), 0;
    SubrevCo, false, |a, b, _c| (b.wrapping_sub(a), ones(b < a)), 0;
    AddcCo, true, |a, b, c| add(a, b, c), u32::MAX;
    SubbCo, true, |a, b, c| sub(a, b, c), 0;
    SubbrevCo, true, |a, b, c| sub(b, a, c), 0;
}

/// Executes an [`OpCarry`]. The mask of carries in is at `src[2]`, the mask of carries out at `sdst`; it is 0 in
/// inactive lanes.
pub(crate) struct CarryLanes<O, const SCALAR: u8, const CLAMP: bool>(PhantomData<O>);

impl<O: OpCarry, const SCALAR: u8, const CLAMP: bool> Exec for CarryLanes<O, SCALAR, CLAMP> {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
        Self::exec_with::<AnyHost>(w, cx, i)
    }

    #[inline(always)]
    fn exec_with<V: Vectors>(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        let sa: u32 = if SCALAR & 1 != 0 { scalar(&w.r, i.src[0]) } else { 0 };
        let sb: u32 = if SCALAR & 2 != 0 { scalar(&w.r, i.src[1]) } else { 0 };
        let at = [register_of::<u32, SCALAR>(w, i, 0), register_of::<u32, SCALAR>(w, i, 1)];
        let carries = if O::IN { w.s64(i.src[2]) } else { 0 };
        let mut mask = 0;
        active_chunks!(w, MASKED, r, mask_of_lanes, c => {
            let a = operand::<_, V, SCALAR>(r, at[0], 0, c, sa, false);
            let b = operand::<_, V, SCALAR>(r, at[1], 1, c, sb, false);
            let carry = if O::IN { V::expanded(carries, c) } else { [0; CHUNK] };
            let (mut d, mut flags) = ([0u32; CHUNK], [0; CHUNK]);
            for j in 0..CHUNK {
                (d[j], flags[j]) =
                    if CLAMP { O::clamped(a[j], b[j], carry[j]) } else { O::f(a[j], b[j], carry[j]) };
            }
            mask |= V::collect(c, flags, false);
            store::<_, MASKED>(r, mask_of_lanes, i.dst, c, &d);
        });
        w.set_mask(i.sdst, mask & w.exec());
        Flow::Next
    }
}

/// The forms of an [`OpCarry`]: one for each combination of scalar sources that compilers use.
pub(crate) struct FormsCarry<O>(PhantomData<O>);
impl<O: OpCarry> FormsCarry<O> {
    const ANY: Columns = same::<CarryLanes<O, ANY, false>>();
    pub(crate) const F: Forms = &[
        (0, but_portable(Self::ANY, columns::<CarryLanes<O, 0, false>>())),
        (1, but_portable(Self::ANY, columns::<CarryLanes<O, 1, false>>())),
        (2, but_portable(Self::ANY, two_columns::<CarryLanes<O, 2, false>>())),
    ];
    pub(crate) const CLAMP: Forms = &[(0, same::<CarryLanes<O, ANY, true>>())];
}

/// `v_cndmask_b32`: selects the second source where the mask at `src[2]` is set, else the first.
pub(crate) struct Cndmask<const SCALAR: u8>;
impl<const SCALAR: u8> Exec for Cndmask<SCALAR> {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        let sa: u32 = if SCALAR & 1 != 0 { scalar(&w.r, i.src[0]) } else { 0 };
        let sb: u32 = if SCALAR & 2 != 0 { scalar(&w.r, i.src[1]) } else { 0 };
        let at = [register_of::<u32, SCALAR>(w, i, 0), register_of::<u32, SCALAR>(w, i, 1)];
        let picked = w.s64(i.src[2]);
        active_chunks!(w, MASKED, r, mask, c => {
            let a = operand::<_, AnyHost, SCALAR>(r, at[0], 0, c, sa, false);
            let b = operand::<_, AnyHost, SCALAR>(r, at[1], 1, c, sb, false);
            let pick = expanded(picked, c);
            let mut d = [0u32; CHUNK];
            for j in 0..CHUNK {
                d[j] = b[j] & pick[j] | a[j] & !pick[j];
            }
            store::<_, MASKED>(r, mask, i.dst, c, &d);
        });
        Flow::Next
    }
}

const CNDMASK_ANY: Columns = same::<Cndmask<ANY>>();

/// The forms of [`Cndmask`].
pub(crate) const CNDMASK: Forms = &[
    (0, but_portable(CNDMASK_ANY, columns::<Cndmask<0>>())),
    (1, but_portable(CNDMASK_ANY, columns::<Cndmask<1>>())),
    (2, but_portable(CNDMASK_ANY, columns::<Cndmask<2>>())),
    (3, but_portable(CNDMASK_ANY, columns::<Cndmask<3>>())),
];

/// A lane operation of three sources that also returns a flag: the top bit of a dword.
pub(crate) trait OpFlag {
    type D: Word;
    type A: Word;
    type C: Word;
    /// Whether denormals are flushed as the mode says.
    const FLUSHES: bool = false;
    fn f(a: Self::A, b: Self::A, c: Self::C) -> (Self::D, u32);
    /// Computes `f` faster, if the third number returned is 0. If it is not, `f` is called.
    #[inline(always)]
    fn fast(a: Self::A, b: Self::A, c: Self::C) -> (Self::D, u32, u32) {
        let (d, flag) = Self::f(a, b, c);
        (d, flag, 0)
    }
    /// Computes `f` where the level has its own order of lanes ([`Vectors`]), which is faster with operations of 64 bits.
    #[inline(always)]
    fn paired(a: Self::A, b: Self::A, c: Self::C) -> (Self::D, u32, u32) {
        Self::fast(a, b, c)
    }
}

/// Adds 64-bit numbers. The top bit of the dword that is returned is the carry. These are operations of 32 bits, of which a vector has
/// twice as many.
#[inline(always)]
fn add_dwords(low: u32, high: u32, c: u64) -> (u64, u32) {
    let (low, carry) = low.overflowing_add(c as u32);
    let (high, carry) = add(high, (c >> 32) as u32, ones(carry));
    (u64::from(low) | u64::from(high) << 32, carry)
}

/// The same as [`add_dwords`] in operations of 64 bits.
#[inline(always)]
fn add_pairs(a: u64, b: u64) -> (u64, u32) {
    let sum = a.wrapping_add(b);
    // As in `add`.
    (sum, ((a & b | (a | b) & !sum) >> 32) as u32)
}

/// Declares operations `Name(type of the product, of the factors): |a, b, c| (result, flag);`. A second expression is for
/// [`OpFlag::paired`].
macro_rules! flag_ops {
    ($($(#[$doc:meta])* $name:ident($d:ty, $a:ty): |$x:ident, $y:ident, $z:ident| $e:expr $(, paired $p:expr)?;)*) => {$(
        $(#[$doc])*
        pub(crate) struct $name;
        impl OpFlag for $name {
            type D = $d;
            type A = $a;
            type C = $d;
            #[inline(always)]
            fn f($x: $a, $y: $a, $z: $d) -> ($d, u32) {
                $e
            }
            $(#[inline(always)]
            fn paired($x: $a, $y: $a, $z: $d) -> ($d, u32, u32) {
                let (d, flag): ($d, u32) = $p;
                (d, flag, 0)
            })?
        }
    )*};
}

flag_ops! {
    /// `v_mad_u64_u32`.
    MadU64U32(u64, u32): |a, b, c| {
        let high = (u64::from(a) * u64::from(b) >> 32) as u32;
        add_dwords(a.wrapping_mul(b), high, c)
    }, paired add_pairs(u64::from(a) * u64::from(b), c);
    /// [`MadU64U32`] with the clamp bit.
    MadU64U32Clamp(u64, u32): |a, b, c| {
        let (d, over) = MadU64U32::f(a, b, c);
        (if is_set(over) { u64::MAX } else { d }, over)
    };
    /// `v_mad_i64_i32`; the flag is bit 64 of the sum.
    MadI64I32(i64, i32): |a, b, c| {
        let high = (i64::from(a) * i64::from(b) >> 32) as i32;
        let (sum, carry) = add_dwords(a.wrapping_mul(b) as u32, high as u32, c as u64);
        // Bit 64 of a sum of sign-extended numbers.
        (sum as i64, high as u32 ^ (c >> 32) as u32 ^ carry)
    }, paired {
        let product = i64::from(a) * i64::from(b);
        let (sum, carry) = add_pairs(product as u64, c as u64);
        (sum as i64, (product >> 32) as u32 ^ (c >> 32) as u32 ^ carry)
    };
    /// [`MadI64I32`] with the clamp bit.
    MadI64I32Clamp(i64, i32): |a, b, c| {
        ((i64::from(a) * i64::from(b)).saturating_add(c), MadI64I32::f(a, b, c).1)
    };
}

/// Executes an [`OpFlag`]. The mask of flags is written to `sdst`; it is 0 in inactive lanes.
pub(crate) struct FlagLanes<O, const SCALAR: u8>(PhantomData<O>);

impl<O: OpFlag, const SCALAR: u8> Exec for FlagLanes<O, SCALAR> {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
        Self::exec_with::<AnyHost>(w, cx, i)
    }

    #[inline(always)]
    fn exec_with<V: Vectors>(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
        let sa = if SCALAR & 1 != 0 { scalar(&w.r, i.src[0]) } else { O::A::ZERO };
        let sb = if SCALAR & 2 != 0 { scalar(&w.r, i.src[1]) } else { O::A::ZERO };
        let sc = if SCALAR & 4 != 0 { scalar(&w.r, i.src[2]) } else { O::C::ZERO };
        let at = [
            register_of::<O::A, SCALAR>(w, i, 0),
            register_of::<O::A, SCALAR>(w, i, 1),
            register_of::<O::C, SCALAR>(w, i, 2),
        ];
        // Products of dwords are in the level's order only where that is faster.
        let wide = O::A::WIDE || O::C::WIDE && !V::WIDENS;
        let (m, exec) = (w.mode, w.exec());
        if O::FLUSHES && !m.is_default_float() {
            let mask = Self::lanes(&mut w.r, m, i, exec);
            w.set_mask(i.sdst, mask);
            return Flow::Next;
        }
        let mut mask = 0;
        active_chunks!(w, MASKED, r, mask_of_lanes, c => {
            let a = operand::<_, V, SCALAR>(r, at[0], 0, c, sa, wide);
            let b = operand::<_, V, SCALAR>(r, at[1], 1, c, sb, wide);
            let e = operand::<_, V, SCALAR>(r, at[2], 2, c, sc, wide);
            let (mut d, mut flags, mut unsure) = ([O::D::ZERO; CHUNK], [0; CHUNK], [0; CHUNK]);
            for j in 0..CHUNK {
                let (result, flag, careful) =
                    if wide { O::paired(a[j], b[j], e[j]) } else { O::fast(a[j], b[j], e[j]) };
                (d[j], flags[j], unsure[j]) = (result, flag, ones(careful != 0));
            }
            if V::any(unsure) {
                for j in 0..CHUNK {
                    (d[j], flags[j]) = O::f(a[j], b[j], e[j]);
                }
            }
            mask |= V::collect(c, flags, wide);
            V::store::<_, MASKED>(r, mask_of_lanes, i.dst, c, &d, wide);
        });
        w.set_mask(i.sdst, mask & exec);
        Flow::Next
    }
}

impl<O: OpFlag, const SCALAR: u8> FlagLanes<O, SCALAR> {
    /// Executes the operation in some lanes, in any mode, and returns their flags.
    #[cold]
    #[inline(never)]
    fn lanes(r: &mut Regs, m: Mode, i: &Inst, lanes: u64) -> u64 {
        let mut mask = 0;
        for l in lanes_of(lanes) {
            let (a, b): (O::A, O::A) = (source(r, i, 0, l), source(r, i, 1, l));
            let c: O::C = source(r, i, 2, l);
            let (a, b, c) = if O::FLUSHES {
                (a.flush(m, false), b.flush(m, false), c.flush(m, false))
            } else {
                (a, b, c)
            };
            let (d, flag) = O::f(a, b, c);
            set_lane(r, i.dst, l, if O::FLUSHES { d.flush(m, true) } else { d });
            mask |= u64::from(is_set(flag)) << l;
        }
        mask
    }
}

/// The forms of an [`OpFlag`]. `F` has one for each combination of scalar sources that compilers use with
/// `v_mad_u64_u32`.
pub(crate) struct FormsFlag<O>(PhantomData<O>);
impl<O: OpFlag> FormsFlag<O> {
    const ANY: Columns = same::<FlagLanes<O, ANY>>();
    pub(crate) const F: Forms = &[
        (0, but_portable(Self::ANY, columns::<FlagLanes<O, 0>>())),
        (1, but_portable(Self::ANY, columns::<FlagLanes<O, 1>>())),
        (2, but_portable(Self::ANY, columns::<FlagLanes<O, 2>>())),
        (4, but_portable(Self::ANY, two_columns::<FlagLanes<O, 4>>())),
        (6, but_portable(Self::ANY, two_columns::<FlagLanes<O, 6>>())),
    ];
    pub(crate) const RARE: Forms = &all(but_portable(Self::ANY, two_columns::<FlagLanes<O, ANY>>()));
}
