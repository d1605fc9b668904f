//! Atomic operations: the new value of each, and how it is applied to global memory, LDS and private memory.
//!
//! LDS is accessed by one host thread and private memory by one lane, so only global memory needs atomic instructions
//! of the host. The lanes of a wave are processed in order.

use std::marker::PhantomData;

use amdgpu_isa::{Target, Ty};
use half::bf16;

use crate::exec::access::{FlatTarget, flat_fault, global_fault, lds_fault};
use crate::exec::address::{InPair, Offsets, Places};
use crate::exec::ds::{addresses, two_offsets};
use crate::exec::inst::{Exec, ExecContext, Flow, Inst, NONE, executors, flag};
use crate::exec::notices::Who;
use crate::exec::number::float::Float;
use crate::exec::number::half16::Half;
use crate::memory::bounds::Bounds;
use crate::memory::{Addresses, Cell, Element, Wide};
use crate::report::access::{AccessKind, MemorySpace};
use crate::report::fault::FaultCause;
use crate::state::bytes::Bytes;
use crate::state::wave::{Active, LANES, Lanes, Mode, Wave, lanes_of};

/// A value of 32 or 64 bits that atomics work on.
pub(crate) trait Bits: Copy + Eq {
    type E: Element;
    /// The number of dwords.
    const N: u16;
    fn get(w: &Wave, index: u16, lane: usize) -> Self;
    fn set(self, w: &mut Wave, index: u16, lane: usize);
    fn element(self) -> Self::E;
    fn of_element(element: Self::E) -> Self;
    /// Replaces the value with what `f` returns for it, and returns the previous value.
    fn update(cell: &Cell<Self>, f: impl FnMut(Self) -> Self) -> Self;
    /// Calls `f` with the cell at an address. Returns `None` if the cell is out of bounds or misaligned.
    fn with_cell<R>(
        cx: &mut ExecContext,
        who: Who,
        address: u64,
        f: impl FnOnce(&Cell<Self>) -> R,
    ) -> Option<R>;
}

impl Bits for u32 {
    type E = [u32; 1];
    const N: u16 = 1;
    #[inline(always)]
    fn get(w: &Wave, index: u16, lane: usize) -> u32 {
        w.v(index).flat()[lane]
    }
    #[inline(always)]
    fn set(self, w: &mut Wave, index: u16, lane: usize) {
        w.v_mut(index).flat_mut()[lane] = self;
    }
    #[inline(always)]
    fn element(self) -> [u32; 1] {
        [self]
    }
    #[inline(always)]
    fn of_element([value]: [u32; 1]) -> u32 {
        value
    }
    #[inline(always)]
    fn update(cell: &Cell<u32>, f: impl FnMut(u32) -> u32) -> u32 {
        cell.update(f)
    }
    fn with_cell<R>(
        cx: &mut ExecContext,
        who: Who,
        address: u64,
        f: impl FnOnce(&Cell<u32>) -> R,
    ) -> Option<R> {
        let range = cx.mem.readable(address, 4);
        let range = range.or_else(|| cx.past_end(who, AccessKind::Atomic, address, 4))?;
        range.atomic_u32(address).map(|cell| f(&cell))
    }
}

impl Bits for u64 {
    type E = [u32; 2];
    const N: u16 = 2;
    #[inline(always)]
    fn get(w: &Wave, index: u16, lane: usize) -> u64 {
        u64::from(w.v(index).flat()[lane]) | u64::from(w.v(index + 1).flat()[lane]) << 32
    }
    #[inline(always)]
    fn set(self, w: &mut Wave, index: u16, lane: usize) {
        w.v_mut(index).flat_mut()[lane] = self as u32;
        w.v_mut(index + 1).flat_mut()[lane] = (self >> 32) as u32;
    }
    #[inline(always)]
    fn element(self) -> [u32; 2] {
        [self as u32, (self >> 32) as u32]
    }
    #[inline(always)]
    fn of_element([lo, hi]: [u32; 2]) -> u64 {
        u64::from(lo) | u64::from(hi) << 32
    }
    #[inline(always)]
    fn update(cell: &Cell<u64>, f: impl FnMut(u64) -> u64) -> u64 {
        cell.update(f)
    }
    fn with_cell<R>(
        cx: &mut ExecContext,
        who: Who,
        address: u64,
        f: impl FnOnce(&Cell<u64>) -> R,
    ) -> Option<R> {
        let range = cx.mem.range(address, 8);
        let range = range.or_else(|| cx.past_end(who, AccessKind::Atomic, address, 8))?;
        range.atomic_u64(address).map(|cell| f(&cell))
    }
}

/// An atomic operation.
pub(crate) trait Rmw {
    type T: Bits;
    /// Whether the operation has two data operands.
    const TWO: bool = false;
    /// Whether the operation is on floats. gfx90a does not perform these in fine-grained memory.
    const FLOAT: bool = false;
    /// Whether the operation adds floats.
    const SUMS: bool = false;
    /// Returns the new value. `m` says whether denormals are flushed.
    fn f(m: Mode, old: Self::T, a: Self::T, b: Self::T) -> Self::T;
    /// Applies the operation to memory that other threads may access, and returns the previous value.
    #[inline(always)]
    fn atomic(cell: &Cell<Self::T>, m: Mode, a: Self::T, b: Self::T) -> Self::T {
        Self::T::update(cell, |old| Self::f(m, old, a, b))
    }
}

/// Declares operations of one data operand on `u32` and `u64`: `Name: |old, a| new, method;`. `Signed` is the signed
/// type of the same size. `method` is the method of [`Cell`] that uses the host's instruction for it, if there is one.
macro_rules! integer_ops {
    ($($(#[$doc:meta])* $name:ident: |$old:ident, $a:ident| $new:expr $(, $native:ident)?;)*) => {$(
        $(#[$doc])*
        pub(crate) struct $name<T>(PhantomData<T>);
        integer_ops!(@one $name, u32, i32, $old, $a, $new $(, $native)?);
        integer_ops!(@one $name, u64, i64, $old, $a, $new $(, $native)?);
    )*};
    (@one $name:ident, $ty:ty, $signed:ty, $old:ident, $a:ident, $new:expr $(, $native:ident)?) => {
        impl Rmw for $name<$ty> {
            type T = $ty;
            #[inline(always)]
            fn f(_: Mode, $old: $ty, $a: $ty, _: $ty) -> $ty {
                #[allow(dead_code, reason = "only some operations are signed")]
                type Signed = $signed;
                $new
            }
            $(
                #[inline(always)]
                fn atomic(cell: &Cell<$ty>, _: Mode, a: $ty, _: $ty) -> $ty {
                    cell.$native(a)
                }
            )?
        }
    };
}

integer_ops! {
    Add: |old, a| old.wrapping_add(a), add;
    Sub: |old, a| old.wrapping_sub(a);
    Rsub: |old, a| a.wrapping_sub(old);
    Inc: |old, a| if old >= a { 0 } else { old + 1 };
    Dec: |old, a| if old == 0 || old > a { a } else { old - 1 };
    MinI: |old, a| (old as Signed).min(a as Signed) as _;
    MaxI: |old, a| (old as Signed).max(a as Signed) as _;
    MinU: |old, a| old.min(a);
    MaxU: |old, a| old.max(a);
    And: |old, a| old & a;
    Or: |old, a| old | a;
    Xor: |old, a| old ^ a;
    Swap: |_old, a| a, swap;
}

/// `*_atomic_csub_u32`: subtracts; the result is 0 where it would be negative (RDNA3 ISA, `GLOBAL_ATOMIC_CSUB_U32`).
pub(crate) struct SubClamp;
impl Rmw for SubClamp {
    type T = u32;
    #[inline(always)]
    fn f(_: Mode, old: u32, a: u32, _: u32) -> u32 {
        old.saturating_sub(a)
    }
}

/// `*_cond_sub_u32`: subtracts, unless the result would be negative (RDNA4 ISA, `DS_COND_SUB_U32`).
pub(crate) struct CondSub;
impl Rmw for CondSub {
    type T = u32;
    #[inline(always)]
    fn f(_: Mode, old: u32, a: u32, _: u32) -> u32 {
        if old >= a { old - a } else { old }
    }
}

/// Declares operations of two data operands: `Name(types): |mode, old, a, b| new;`.
macro_rules! two_ops {
    ($($(#[$doc:meta])* $name:ident($($ty:ty),*): |$m:pat_param, $old:ident, $a:ident, $b:ident| $new:expr;)*) => {$(
        $(#[$doc])*
        pub(crate) struct $name<T>(PhantomData<T>);
        $(impl Rmw for $name<$ty> {
            type T = $ty;
            const TWO: bool = true;
            #[inline(always)]
            fn f($m: Mode, $old: $ty, $a: $ty, $b: $ty) -> $ty {
                $new
            }
        })*
    )*};
}

two_ops! {
    /// `*_atomic_cmpswap`: the operands are the new value, then the value to compare with.
    CmpSwap(u32, u64): |_, old, a, b| if old == b { a } else { old };
    /// `ds_cmpst_b32`: the operands are the value to compare with, then the new value.
    Cmpst(u32, u64): |_, old, a, b| if old == a { b } else { old };
    Mskor(u32, u64): |_, old, a, b| old & !a | b;
    Wrap(u32): |_, old, a, b| if old >= a { old - a } else { old.wrapping_add(b) };
}

/// A floating-point format, as operations on its bits.
trait Format {
    type B: Copy + Ord;
    fn is_nan(v: Self::B) -> bool;
    fn is_signalling(v: Self::B) -> bool;
    fn quiet(v: Self::B) -> Self::B;
    /// Replaces a denormal with zero of the same sign.
    fn flush(v: Self::B) -> Self::B;
    /// Returns an integer that orders as the number does, with -0 before +0.
    fn key(v: Self::B) -> Self::B;
    fn equal(a: Self::B, b: Self::B) -> bool;
}

macro_rules! formats {
    ($($name:ident, $float:ty, $bits:ty, $quiet:expr, $mantissa:expr;)*) => {$(
        struct $name;
        impl Format for $name {
            type B = $bits;
            #[inline(always)]
            fn is_nan(v: $bits) -> bool {
                <$float>::from_bits(v).is_nan()
            }
            #[inline(always)]
            fn is_signalling(v: $bits) -> bool {
                Self::is_nan(v) & (v & $quiet == 0)
            }
            #[inline(always)]
            fn quiet(v: $bits) -> $bits {
                v | $quiet
            }
            #[inline(always)]
            fn flush(v: $bits) -> $bits {
                let is_small = v << 1 <= $mantissa << 1;
                if is_small { v & !$mantissa } else { v }
            }
            #[inline(always)]
            fn key(v: $bits) -> $bits {
                const SIGN: $bits = 1 << (<$bits>::BITS - 1);
                if v & SIGN != 0 { !v } else { v | SIGN }
            }
            #[inline(always)]
            fn equal(a: $bits, b: $bits) -> bool {
                <$float>::from_bits(a) == <$float>::from_bits(b)
            }
        }
    )*};
}

formats! {
    F32, f32, u32, 1 << 22, 0x007f_ffff;
    F64, f64, u64, 1 << 51, 0x000f_ffff_ffff_ffff;
}

/// Returns the minimum or maximum. A signalling NaN is the result, quieted; a quiet NaN is not, unless both are NaNs
/// (CDNA ISA, "Float memory atomics", NaN handling). Denormals are flushed for the comparison only. On gfx12 see [`choose_number`].
#[inline(always)]
fn choose<F: Format>(m: Mode, old: F::B, new: F::B, max: bool, flush: bool) -> F::B {
    if m.prefers_numbers() {
        return if flush {
            choose_number::<F>(F::flush(old), F::flush(new), max)
        } else {
            choose_number::<F>(old, new, max)
        };
    }
    if F::is_signalling(old) {
        return F::quiet(old);
    }
    if F::is_signalling(new) {
        return F::quiet(new);
    }
    if F::is_nan(old) || F::is_nan(new) {
        return if F::is_nan(old) { new } else { old };
    }
    let key = |v| F::key(if flush { F::flush(v) } else { v });
    let better = if max { key(new) > key(old) } else { key(new) < key(old) };
    if better { new } else { old }
}

/// Returns gfx12's minimum or maximum: no NaN is the result unless both are NaNs, and denormals that are flushed are flushed before (RDNA4
/// ISA, 13.2 and 13.3, "MINNUM").
#[inline(always)]
fn choose_number<F: Format>(old: F::B, new: F::B, max: bool) -> F::B {
    let better = if max { F::key(new) > F::key(old) } else { F::key(new) < F::key(old) };
    match (F::is_nan(old), F::is_nan(new)) {
        (true, true) => F::quiet(new),
        (true, false) => new,
        (false, true) => old,
        _ if better => new,
        _ => old,
    }
}

/// Returns the bits of the sum. If an operand is a NaN, the result is the first such operand, quieted. If the addition
/// itself gives NaN, the result is the default NaN.
macro_rules! add {
    ($format:ty, $float:ty, $default:expr, $old:expr, $new:expr) => {{
        let (old, new) = ($old, $new);
        // Without branches, so that the lanes of a row in LDS become vectors.
        let sum = <$float>::from_bits(old) + <$float>::from_bits(new);
        let bits = if sum.is_nan() { $default } else { sum.to_bits() };
        let bits = if <$format>::is_nan(new) { <$format>::quiet(new) } else { bits };
        if <$format>::is_nan(old) { <$format>::quiet(old) } else { bits }
    }};
}

/// Declares float operations on the bits: `Name(type): |mode, old, a| new;`, with `sums true` after the type of sums.
macro_rules! float_ops {
    ($($(#[$doc:meta])* $name:ident($ty:ty $(, sums $sums:literal)?): |$m:ident, $old:ident, $a:ident| $new:expr;)*) => {$(
        $(#[$doc])*
        pub(crate) struct $name;
        impl Rmw for $name {
            type T = $ty;
            const FLOAT: bool = true;
            $(const SUMS: bool = $sums;)?
            #[inline(always)]
            fn f($m: Mode, $old: $ty, $a: $ty, _: $ty) -> $ty {
                $new
            }
        }
    )*};
}

/// Returns the highest 16 bits of a NaN that an addition makes, of which only the sign is set, if at all: on gfx12 (RDNA4 ISA, 13.3).
#[inline(always)]
fn new_nan_sign(m: Mode) -> u32 {
    if m.prefers_numbers() { 0x8000 } else { 0 }
}

#[inline(always)]
fn flush_in32(m: Mode) -> bool {
    m.denorm32() & 1 == 0
}

#[inline(always)]
fn flush_in64(m: Mode) -> bool {
    m.denorm64() & 1 == 0
}

float_ops! {
    AddF32(u32, sums true): |m, old, a| {
        let flush = |v, on: bool| if on { F32::flush(v) } else { v };
        let (old, a) = (flush(old, flush_in32(m)), flush(a, flush_in32(m)));
        flush(add!(F32, f32, 0x7fc0_0000 | new_nan_sign(m) << 16, old, a), m.denorm32() & 2 == 0)
    };
    /// Adds; never flushes denormals.
    AddF64(u64, sums true): |_m, old, a| add!(F64, f64, 0x7ff8_0000_0000_0000, old, a);
    MinF32(u32): |m, old, a| choose::<F32>(m, old, a, false, flush_in32(m));
    MaxF32(u32): |m, old, a| choose::<F32>(m, old, a, true, flush_in32(m));
    MinF64(u64): |m, old, a| choose::<F64>(m, old, a, false, flush_in64(m));
    MaxF64(u64): |m, old, a| choose::<F64>(m, old, a, true, flush_in64(m));
    PkAddF16(u32, sums true): |m, old, a| halves(old, a, |x, y| add_f16(m, x, y));
    PkAddBf16(u32, sums true): |m, old, a| halves(old, a, |x, y| add_bf16(m, x, y));
}

#[inline(always)]
fn halves(old: u32, a: u32, f: impl Fn(u16, u16) -> u16) -> u32 {
    u32::from(f(old as u16, a as u16)) | u32::from(f((old >> 16) as u16, (a >> 16) as u16)) << 16
}

/// Adds two f16. The sum is rounded to f32's 24 bits and then to 11. As 24 is at least 2 * 11 + 2, the result is the
/// one of a single rounding.
fn add_f16(m: Mode, old: u16, a: u16) -> u16 {
    let flush = |v: u16, on: bool| if on && v & 0x7c00 == 0 { v & 0x8000 } else { v };
    let (old, a) = (flush(old, flush_in64(m)), flush(a, flush_in64(m)));
    let (x, y) = (Half(old), Half(a));
    if x.is_nan() {
        old | 0x200
    } else if y.is_nan() {
        a | 0x200
    } else {
        let sum = Half::from_f32(x.to_f32() + y.to_f32());
        if sum.is_nan() { 0x7e00 | new_nan_sign(m) as u16 } else { flush(sum.0, m.denorm64() & 2 == 0) }
    }
}

/// Adds two bf16, of 8 bits; see [`add_f16`].
fn add_bf16(m: Mode, old: u16, a: u16) -> u16 {
    let flush = |v: u16, on: bool| if on && v & 0x7f80 == 0 { v & 0x8000 } else { v };
    let (old, a) = (flush(old, flush_in64(m)), flush(a, flush_in64(m)));
    let (x, y) = (bf16::from_bits(old), bf16::from_bits(a));
    if x.is_nan() {
        old | 0x40
    } else if y.is_nan() {
        a | 0x40
    } else {
        let sum = bf16::from_f32(x.to_f32() + y.to_f32());
        if sum.is_nan() {
            0x7fc0 | new_nan_sign(m) as u16
        } else {
            flush(sum.to_bits(), m.denorm64() & 2 == 0)
        }
    }
}

/// Declares compare-and-swaps of floats: `Name(type, format, flush_in): (compare, new);`, with the data operands that are the value
/// to compare with and the new value.
macro_rules! float_swaps {
    ($($(#[$doc:meta])* $name:ident($ty:ty, $format:ty, $flush:ident): |$a:ident, $b:ident| $compare:ident, $new:ident;)*) => {$(
        $(#[$doc])*
        pub(crate) struct $name;
        impl Rmw for $name {
            type T = $ty;
            const TWO: bool = true;
            const FLOAT: bool = true;
            #[inline(always)]
            fn f(m: Mode, old: $ty, $a: $ty, $b: $ty) -> $ty {
                let flush = |v| if $flush(m) { <$format>::flush(v) } else { v };
                flush(if <$format>::equal(flush(old), flush($compare)) { $new } else { old })
            }
        }
    )*};
}

float_swaps! {
    /// `ds_cmpst_f32`: compares as numbers. If the mode flushes denormals of sources, the stored value is flushed too.
    CmpstF32(u32, F32, flush_in32): |a, b| a, b;
    CmpstF64(u64, F64, flush_in64): |a, b| a, b;
    /// `ds_cmpstore_f32` and `*_atomic_cmpswap_f32`, whose operands are the new value, then the value to compare with
    /// (RDNA3 ISA, `DS_CMPSTORE_F32`; 13.2 for denormals).
    CmpSwapF32(u32, F32, flush_in32): |a, b| b, a;
    CmpSwapF64(u64, F64, flush_in64): |a, b| b, a;
}

/// The registers of an atomic's operands.
#[derive(Clone, Copy)]
struct Operands {
    a: u16,
    b: u16,
    /// The destination of the previous value, if it is returned.
    back: Option<u16>,
}

impl Operands {
    /// Returns the operands of a FLAT, GLOBAL or MUBUF instruction. The second data operand follows the first.
    fn of_memory<O: Rmw>(i: &Inst) -> Operands {
        let back = (i.flags & flag::GLC != 0).then_some(i.dst);
        Operands { a: i.src[1], b: i.src[1] + O::T::N, back }
    }

    /// Returns the operands of a DS instruction.
    fn of_ds(i: &Inst) -> Operands {
        Operands { a: i.src[1], b: i.src[2], back: (i.row.dst != Ty::None).then_some(i.dst) }
    }

    #[inline(always)]
    fn get<O: Rmw>(self, w: &Wave, lane: usize) -> (O::T, O::T) {
        let a = O::T::get(w, self.a, lane);
        (a, if O::TWO { O::T::get(w, self.b, lane) } else { a })
    }

    #[inline(always)]
    fn put<T: Bits>(self, w: &mut Wave, lane: usize, old: T) {
        if let Some(back) = self.back {
            old.set(w, back, lane);
        }
    }
}

/// Returns a MODE with the denormal handling of global atomics. Denormals are kept, except that the L2 cache of gfx90a flushes
/// them in f32 sums (LLVM, `FeatureMemoryAtomicFAddF32DenormalSupport`). On gfx11, sums flush those of sources, and comparisons
/// do what MODE says about those of sources (RDNA3 ISA, 13.2).
fn memory_mode<O: Rmw>(cx: &ExecContext, mode: Mode) -> Mode {
    match cx.code.target {
        Target::Gfx90a => Mode(0xc0),
        Target::Gfx942 | Target::Gfx950 => Mode(0xf0),
        // LLVM, `FeatureMemoryAtomicFAddF32DenormalSupport`; RDNA4 ISA, 13.2.
        Target::Gfx12 => Mode(0xf0 | Mode::PREFERS_NUMBERS),
        Target::Gfx11 | Target::Gfx115 | Target::Gfx103 if O::SUMS => Mode(0xe0),
        Target::Gfx11 | Target::Gfx115 | Target::Gfx103 => mode,
    }
}

/// Applies an operation to global memory for the lanes of `exec`. With `flat`, the addresses are flat.
#[inline(never)]
fn memory_rmw<O: Rmw>(
    w: &mut Wave,
    cx: &mut ExecContext,
    slot: u32,
    at: &Wide,
    exec: u64,
    o: Operands,
    flat: bool,
) -> Flow {
    let mut mask = Lanes::ZERO;
    let Some(active) = Active::of(exec, &mut mask) else { return Flow::Next };
    let m = memory_mode::<O>(cx, w.mode);
    let size = <O::T as Bits>::E::SIZE;
    let Some(cells) = cx.mem.checked::<Wide, <O::T as Bits>::E>(slot, at, &active) else {
        return memory_rmw_apart::<O>(w, cx, slot, at, exec, o, flat);
    };
    if O::FLOAT && cx.ignores_atomics(at.at(active.first())) {
        return memory_rmw_apart::<O>(w, cx, slot, at, exec, o, flat);
    }
    let mut misaligned = false;
    for lane in lanes_of(exec) {
        let Some(cell) = cells.cell::<O::T>(lane) else {
            misaligned = true;
            continue;
        };
        let (a, b) = o.get::<O>(w, lane);
        let old = O::atomic(&cell, m, a, b);
        o.put(w, lane, old);
    }
    if misaligned {
        misaligned_fault(cx, MemorySpace::Global, &|lane| at.at(lane), exec, size)
    } else {
        Flow::Next
    }
}

/// Does what [`memory_rmw`] does when the lanes are not all in one allocation, or in a fine-grained one.
#[cold]
#[inline(never)]
fn memory_rmw_apart<O: Rmw>(
    w: &mut Wave,
    cx: &mut ExecContext,
    pc: u32,
    at: &Wide,
    exec: u64,
    o: Operands,
    flat: bool,
) -> Flow {
    let m = memory_mode::<O>(cx, w.mode);
    let is_gfx12 = cx.code.target.is_gfx12();
    // RDNA4 ISA, 13.2: "Flat instructions that are processed by LDS do not flush denorms".
    let lds_mode = if is_gfx12 { m } else { w.mode };
    let size = <O::T as Bits>::E::SIZE;
    for lane in lanes_of(exec) {
        let who = Who::lane(pc, w.id, lane);
        let (a, b) = o.get::<O>(w, lane);
        let place = if flat { FlatTarget::of(at.at(lane)) } else { FlatTarget::Global(at.at(lane)) };
        let (offset, space) = match place {
            FlatTarget::Global(address) => (address, MemorySpace::Global),
            FlatTarget::Lds(offset) => (offset.into(), MemorySpace::Lds),
            FlatTarget::Scratch(offset) => (offset.into(), MemorySpace::Scratch),
        };
        let old = match place {
            _ if offset % size as u64 != 0 => {
                return misaligned_fault(cx, space, &|_| offset, 1 << lane, size);
            }
            FlatTarget::Global(address)
                if O::FLOAT && cx.ignores_atomics(address) && cx.ignored_atomic(who, address, size) =>
            {
                Some(O::T::of_element(<O::T as Bits>::E::from_bytes([0; 16])))
            }
            FlatTarget::Global(address) => O::T::with_cell(cx, who, address, |cell| O::atomic(cell, m, a, b)),
            FlatTarget::Lds(offset) => cx.load_lds_for_atomic(who, offset).map(|old| {
                let old = O::T::of_element(old);
                let _ = cx.lds.store_one(offset, O::f(lds_mode, old, a, b).element());
                old
            }),
            // RDNA4 ISA, 11.1.1: such an atomic is a memory violation.
            FlatTarget::Scratch(_) if is_gfx12 && size == 8 => {
                let detail = "atomics of 64 bits in private memory, which are memory violations on hardware";
                return cx.fault(FaultCause::Unimplemented { detail: detail.into() });
            }
            FlatTarget::Scratch(offset) => w.scratch.load(lane, offset).map(|old| {
                let old = O::T::of_element(old);
                let _ = w.scratch.store(lane, offset, O::f(m, old, a, b).element());
                old
            }),
        };
        match old {
            Some(old) => o.put(w, lane, old),
            None if flat => return flat_fault(w, cx, AccessKind::Atomic, &|l| at.at(l), exec, size, lane),
            None => return global_fault(cx, AccessKind::Atomic, &|l| at.at(l), exec, size),
        }
    }
    Flow::Next
}

/// Faults with the lanes whose address is not a multiple of `size`.
#[cold]
fn misaligned_fault(
    cx: &mut ExecContext,
    space: MemorySpace,
    at: &dyn Fn(usize) -> u64,
    exec: u64,
    size: usize,
) -> Flow {
    let lanes: Vec<(u8, u64)> = lanes_of(exec)
        .map(|lane| (lane as u8, at(lane)))
        .filter(|(_, address)| address % size as u64 != 0)
        .collect();
    cx.misaligned(space, size as u32, lanes)
}

/// Executes `buffer_atomic_*` for the lanes of `exec`, which are in the buffer's range.
pub(crate) fn buffer_rmw<O: Rmw>(w: &mut Wave, cx: &mut ExecContext, i: &Inst, at: &Wide, exec: u64) -> Flow {
    memory_rmw::<O>(w, cx, i.pc, at, exec, Operands::of_memory::<O>(i), false)
}

executors! {
    /// `global_atomic_*`.
    GlobalRmw<O: Rmw> |w, cx, i| {
        let at = if i.sdst == NONE {
            InPair(i).all(w)
        } else {
            let at = Offsets(i).all(w);
            Wide(std::array::from_fn(|lane| at.at(lane)))
        };
        memory_rmw::<O>(w, cx, i.pc, &at, w.exec(), Operands::of_memory::<O>(i), false)
    }
    /// `flat_atomic_*`.
    FlatRmw<O: Rmw> |w, cx, i| {
        let at = InPair(i).all(w);
        memory_rmw::<O>(w, cx, i.pc, &at, w.exec(), Operands::of_memory::<O>(i), true)
    }
    /// `ds_*` atomics of one address.
    DsRmw<O: Rmw> |w, cx, i| {
        let at = addresses(w, i, i.imm);
        lds_rmw::<O>(w, cx, i.pc, &at, Operands::of_ds(i))
    }
}

/// `ds_wrxchg2_*`: exchanges at two addresses, with offsets in units of `UNIT` bytes.
pub(crate) struct DsXchg2<T, const UNIT: u32>(PhantomData<T>);
impl<T: Bits, const UNIT: u32> Exec for DsXchg2<T, UNIT>
where
    Swap<T>: Rmw<T = T>,
{
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
        let (first, second) = two_offsets(i, UNIT);
        let (one, two) = (addresses(w, i, first), addresses(w, i, second));
        // The result of the first exchange may overwrite the data of the second.
        let data: [T; LANES] = std::array::from_fn(|lane| T::get(w, i.src[2], lane));
        let o = Operands { a: i.src[1], b: i.src[1], back: Some(i.dst) };
        match lds_rmw::<Swap<T>>(w, cx, i.pc, &one, o) {
            Flow::Next => lds_exchange(w, cx, i.pc, &two, |_, lane, _| data[lane], Some(i.dst + T::N)),
            fault => fault,
        }
    }
}

executors! {
    /// `ds_condxchg32_rtn_b64`: exchanges two dwords. Each is stored, with its top bit cleared, only if the top bit of its
    /// data is set.
    DsCondxchg32 |w, cx, i| {
        // The hardware ignores the low bits (CDNA3 ISA). It also ignores the bits above 16; here an address with such
        // bits is out of bounds.
        let at = addresses(w, i, i.imm).map(|a| a & !7);
        let data = i.src[1];
        let f = |w: &Wave, lane: usize, old: u64| {
            let half = |shift: u32| {
                let new = u64::get(w, data, lane) >> shift & 0xffff_ffff;
                if new >> 31 != 0 { new & 0x7fff_ffff } else { old >> shift & 0xffff_ffff }
            };
            half(0) | half(32) << 32
        };
        lds_exchange::<u64>(w, cx, i.pc, &at, f, Some(i.dst))
    }
}

#[inline(never)]
fn lds_rmw<O: Rmw>(w: &mut Wave, cx: &mut ExecContext, pc: u32, at: &[u32; LANES], o: Operands) -> Flow {
    let m = w.mode;
    let f = |w: &Wave, lane: usize, old: O::T| {
        let (a, b) = o.get::<O>(w, lane);
        O::f(m, old, a, b)
    };
    lds_exchange::<O::T>(w, cx, pc, at, f, o.back)
}

/// Replaces each active lane's value in LDS with what `f` returns for it, and writes the previous values to `back`.
#[inline(always)]
fn lds_exchange<T: Bits>(
    w: &mut Wave,
    cx: &mut ExecContext,
    pc: u32,
    at: &[u32; LANES],
    f: impl Fn(&Wave, usize, T) -> T,
    back: Option<u16>,
) -> Flow {
    let Some(active) = w.active() else { return Flow::Next };
    let (exec, size) = (active.exec(), T::E::SIZE);
    let low = if active.all() {
        at.iter().fold(0, |low, at| low | at)
    } else {
        at.iter().enumerate().fold(0, |low, (lane, at)| low | at & active.keep(lane))
    };
    if low as usize % size != 0 {
        return misaligned_fault(cx, MemorySpace::Lds, &|lane| u64::from(at[lane]), exec, size);
    }
    let Some(mut cells) = cx.lds.checked::<T::E>(at, &active) else {
        return lds_exchange_apart(w, cx, pc, at, exec, &f, back);
    };
    cells.modify(
        w,
        |w, lane, old| f(w, lane, T::of_element(old)).element(),
        |w, lanes, old| {
            if let Some(back) = back {
                for (lane, old) in lanes.zip(old) {
                    T::of_element(*old).set(w, back, lane);
                }
            }
        },
    );
    Flow::Next
}

/// Does what [`lds_exchange`] does when some of the lanes of `exec` are past the end of LDS.
#[cold]
#[inline(never)]
fn lds_exchange_apart<T: Bits>(
    w: &mut Wave,
    cx: &mut ExecContext,
    pc: u32,
    at: &[u32; LANES],
    exec: u64,
    f: &dyn Fn(&Wave, usize, T) -> T,
    back: Option<u16>,
) -> Flow {
    if cx.notices.bounds == Bounds::Strict {
        return lds_fault(cx, AccessKind::Atomic, at, exec, T::E::SIZE);
    }
    for lane in lanes_of(exec) {
        let Some(old) = cx.load_lds_for_atomic(Who::lane(pc, w.id, lane), at[lane]) else { continue };
        let old = T::of_element(old);
        let new = f(w, lane, old);
        // Past the end, nothing is written.
        let _ = cx.lds.store_one(at[lane], new.element());
        if let Some(back) = back {
            old.set(w, back, lane);
        }
    }
    Flow::Next
}
