//! SMEM: scalar loads, stores and atomics, clocks, cache control.

use std::marker::PhantomData;
use std::sync::atomic::{Ordering, fence};
use std::time::Instant;

use amdgpu_isa::Generation;

use crate::exec::atomics::{Bits, Rmw};
use crate::exec::inst::{Exec, ExecContext, Flow, Inst, NONE, executors, flag};
use crate::exec::notices::Who;
use crate::memory::GuestRange;
use crate::memory::apertures::{SCRATCH_BASE, SCRATCH_SPAN};
use crate::report::access::{AccessKind, LaneAddress, MemorySpace};
use crate::report::fault::FaultCause;
use crate::state::wave::{Mode, Wave};

/// Returns the sum of a base and of the instruction's offsets, for an access of `size` bytes. The hardware ignores the bits below a
/// dword, of loads of one or two bytes those below the number: on gfx12 in each part (RDNA4 ISA, 8.1.1), here on the others in the sum.
#[inline(always)]
fn sum(w: &Wave, i: &Inst, base: u64, size: u64) -> u64 {
    let aligned = |v: u64| v & !(size.min(4) - 1);
    let soffset = if i.sdst == NONE { 0 } else { u64::from(w.s32(i.sdst)) };
    let mut parts = [base, i64::from(i.imm as i32) as u64, soffset];
    if flag::generation(i.flags) == Generation::Gfx12 {
        parts = parts.map(aligned);
    }
    aligned(parts[0].wrapping_add(parts[1]).wrapping_add(parts[2]))
}

/// Returns the guest address of an access of `size` bytes through a 64-bit base.
#[inline(always)]
pub(crate) fn address(w: &Wave, i: &Inst, size: u64) -> u64 {
    sum(w, i, w.s64(i.src[0]), size)
}

/// Returns the guest address of an access through a buffer descriptor, and how many of its `size` bytes are in range: whole dwords, or
/// all of less than a dword. The others read as 0 and are not written (CDNA2 ISA, "Scalar memory reads", out-of-range rules).
#[inline(always)]
pub(crate) fn buffer_address(w: &Wave, i: &Inst, size: u64) -> (u64, u64) {
    let (low, records) = (w.s64(i.src[0]), u64::from(w.s32(i.src[0] + 2)));
    let base = low & 0xffff_ffff_ffff;
    let stride = low >> 48 & 0x3fff;
    let bytes = if stride == 0 { records } else { records * stride };
    let (offset, unit) = (sum(w, i, 0, size), size.min(4));
    let inside = (bytes.saturating_sub(offset) / unit * unit).min(size);
    ((base & !(unit - 1)).wrapping_add(offset), inside)
}

fn who(w: &Wave, i: &Inst) -> Who {
    Who { pc: i.pc, wave: w.id, lane: None }
}

/// Returns the range for a load that is not inside of memory, where it is allowed nevertheless.
#[cold]
fn outside(w: &Wave, cx: &mut ExecContext, i: &Inst, address: u64, size: usize) -> Option<GuestRange> {
    let who = who(w, i);
    cx.last_granule(who, address, size).or_else(|| cx.past_end(who, AccessKind::Read, address, size))
}

/// Loads the first `size` bytes of `N` dwords. The others become 0.
#[inline(always)]
fn load<const N: usize>(w: &mut Wave, cx: &mut ExecContext, i: &Inst, address: u64, size: u64) -> Flow {
    let mut values = [0; N];
    if size > 0 {
        let range = match cx.mem.readable(address, size) {
            Some(range) => range,
            None => match outside(w, cx, i, address, size as usize) {
                Some(range) => range,
                None => return cx.scalar_out_of_bounds(AccessKind::Read, address, size as u32),
            },
        };
        match range.load_dwords(address) {
            Some(all) if size == 4 * N as u64 => values = all,
            _ => {
                for (n, value) in values.iter_mut().enumerate().take(size as usize / 4) {
                    *value = range.load_u32(address + 4 * n as u64).unwrap_or(0);
                }
            }
        }
    }
    // A load past the last scalar register has no effect.
    let to = w.r.s[..128].get_mut(usize::from(i.dst)..).unwrap_or_default();
    match to.first_chunk_mut() {
        Some(to) => *to = values,
        None => to.copy_from_slice(&values[..to.len()]),
    }
    Flow::Next
}

/// Stores the first `size` bytes of `N` dwords.
#[inline(always)]
fn store<const N: usize>(w: &mut Wave, cx: &mut ExecContext, i: &Inst, address: u64, size: u64) -> Flow {
    if size > 0 {
        let range = cx.mem.range(address, size);
        let Some(range) = range.or_else(|| cx.past_end(who(w, i), AccessKind::Write, address, size as usize))
        else {
            return cx.scalar_out_of_bounds(AccessKind::Write, address, size as u32);
        };
        for n in 0..N.min(size as usize / 4) {
            let value = w.s32(i.dst + n as u16);
            let _ = range.store_u32(address + 4 * n as u64, value);
        }
    }
    Flow::Next
}

/// Loads a number of `size` bytes, 1 or 2, whose sign is extended with `signed`.
fn load_small(w: &mut Wave, cx: &mut ExecContext, i: &Inst, address: u64, signed: bool, size: u64) -> Flow {
    let Some(range) = cx
        .mem
        .range(address, size)
        .or_else(|| cx.past_end(who(w, i), AccessKind::Read, address, size as usize))
    else {
        return cx.scalar_out_of_bounds(AccessKind::Read, address, size as u32);
    };
    let value = match size {
        1 => range.load::<u8>(address).map(u32::from),
        _ => range.load::<u16>(address).map(u32::from),
    };
    let value = value.unwrap_or(0);
    let unused = 32 - 8 * size as u32;
    w.set_s32(i.dst, if signed { ((value << unused) as i32 >> unused) as u32 } else { value });
    Flow::Next
}

executors! {
    /// `s_load_u8` and similar instructions of gfx12: loads a number of `SIZE` bytes.
    LoadSmall<const SIZE: u64, const SIGNED: bool> |w, cx, i| {
        let address = address(w, i, SIZE);
        load_small(w, cx, i, address, SIGNED, SIZE)
    }
    /// `s_buffer_load_u8` and similar instructions. Out of range the result is 0.
    BufferLoadSmall<const SIZE: u64, const SIGNED: bool> |w, cx, i| {
        let (address, inside) = buffer_address(w, i, SIZE);
        if inside == 0 {
            w.set_s32(i.dst, 0);
            return Flow::Next;
        }
        load_small(w, cx, i, address, SIGNED, SIZE)
    }
    /// `s_load_dword` and its wider forms: loads `N` dwords.
    Load<const N: usize> |w, cx, i| {
        let size = 4 * N as u64;
        let address = address(w, i, size);
        load::<N>(w, cx, i, address, size)
    }
    /// `s_buffer_load_dword` and its wider forms.
    BufferLoad<const N: usize> |w, cx, i| {
        let (address, inside) = buffer_address(w, i, 4 * N as u64);
        load::<N>(w, cx, i, address, inside)
    }
    /// `s_store_dword` and its wider forms.
    Store<const N: usize> |w, cx, i| {
        let size = 4 * N as u64;
        let address = address(w, i, size);
        store::<N>(w, cx, i, address, size)
    }
    /// `s_buffer_store_dword` and its wider forms.
    BufferStore<const N: usize> |w, cx, i| {
        let (address, inside) = buffer_address(w, i, 4 * N as u64);
        store::<N>(w, cx, i, address, inside)
    }
}

/// Returns the guest address of `s_scratch_*`. An offset in a register counts bytes of each of 64 lanes (CDNA3 ISA,
/// "Scalar memory addressing").
#[inline(always)]
pub(crate) fn scratch_address(w: &Wave, i: &Inst) -> u64 {
    let soffset = if i.sdst == NONE { 0 } else { 64 * u64::from(w.s32(i.sdst)) };
    w.s64(i.src[0]).wrapping_add(i64::from(i.imm as i32) as u64).wrapping_add(soffset) & !3
}

/// Returns the byte offset in the wave's private memory, if the address is in it. Private memory begins at the address
/// in FLAT_SCRATCH.
#[inline(always)]
pub(crate) fn wave_scratch(address: u64) -> Option<u64> {
    address.checked_sub(SCRATCH_BASE).filter(|offset| *offset < SCRATCH_SPAN)
}

/// Faults because some of the dwords are outside of the wave's private memory.
#[cold]
fn scratch_fault(cx: &mut ExecContext, access: AccessKind, offset: u64, dwords: usize) -> Flow {
    let lanes = vec![LaneAddress { lane: None, address: offset }];
    cx.fault(FaultCause::OutOfBounds { access, space: MemorySpace::Scratch, size: 4 * dwords as u32, lanes })
}

executors! {
    /// `s_scratch_load_dword` and its wider forms: loads `N` dwords of the wave's private memory, in which the dwords of
    /// the lanes alternate.
    ScratchLoad<const N: usize> |w, cx, i| {
        let address = scratch_address(w, i);
        let Some(offset) = wave_scratch(address) else { return load::<N>(w, cx, i, address, 4 * N as u64) };
        let mut values = [0; N];
        for (n, value) in values.iter_mut().enumerate() {
            match w.scratch.wave_dword(offset + 4 * n as u64) {
                Some(dword) => *value = *dword,
                None => return scratch_fault(cx, AccessKind::Read, offset, N),
            }
        }
        for (to, value) in (i.dst..128).zip(values) {
            w.set_s32(to, value);
        }
        Flow::Next
    }
    /// `s_scratch_store_dword` and its wider forms.
    ScratchStore<const N: usize> |w, cx, i| {
        let address = scratch_address(w, i);
        let Some(offset) = wave_scratch(address) else { return store::<N>(w, cx, i, address, 4 * N as u64) };
        // Nothing is stored unless all dwords are in bounds.
        if w.scratch.wave_dword(offset + 4 * (N as u64 - 1)).is_none() {
            return scratch_fault(cx, AccessKind::Write, offset, N);
        }
        for n in 0..N {
            let value = w.s32(i.dst + n as u16);
            if let Some(dword) = w.scratch.wave_dword(offset + 4 * n as u64) {
                *dword = value;
            }
        }
        Flow::Next
    }
}

/// The cycles that [`cycles`] counts for an instruction. A GPU executes thousands of waves at once, the emulator a few:
/// with this many, workgroups that each wait for a number of cycles, which programs take from the clock rate, together
/// wait about as long as on a GPU.
const CYCLES_PER_INSTRUCTION: u64 = 64;

/// Reads the clock of cycles: counts the instructions that the workgroup has executed in place of cycles, so that results don't
/// depend on the host's speed.
pub(crate) fn cycles(cx: &mut ExecContext) -> u64 {
    // The count does not have the instructions of the current time slice yet, but two reads must return different times.
    cx.ticks += 40;
    CYCLES_PER_INSTRUCTION * (cx.count + cx.ticks)
}

/// Reads the clock of real time: the host's, in units of 10 ns.
pub(crate) fn real_time() -> u64 {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    let elapsed = START.get_or_init(Instant::now).elapsed();
    // Never 0, so that a kernel can recognise an unset time.
    elapsed.as_nanos() as u64 / 10 + 1
}

executors! {
    /// `s_memtime`.
    Memtime |w, cx, i| {
        w.set_s64(i.dst, cycles(cx));
        Flow::Next
    }
    /// `s_memrealtime`.
    Memrealtime |w, _, i| {
        w.set_s64(i.dst, real_time());
        Flow::Next
    }
    /// Scalar cache write-back and invalidation: only a memory fence, as memory is coherent.
    CacheControl |_, _, _| {
        fence(Ordering::SeqCst);
        Flow::Next
    }
}

/// A value in SGPRs, as scalar atomics use it.
pub(crate) trait Scalar: Bits {
    const SIZE: u32;
    fn read(w: &Wave, index: u16) -> Self;
    fn write(self, w: &mut Wave, index: u16);
}

impl Scalar for u32 {
    const SIZE: u32 = 4;
    #[inline(always)]
    fn read(w: &Wave, index: u16) -> u32 {
        w.s32(index)
    }
    #[inline(always)]
    fn write(self, w: &mut Wave, index: u16) {
        w.set_s32(index, self);
    }
}

impl Scalar for u64 {
    const SIZE: u32 = 8;
    #[inline(always)]
    fn read(w: &Wave, index: u16) -> u64 {
        w.s64(index)
    }
    #[inline(always)]
    fn write(self, w: &mut Wave, index: u16) {
        w.set_s64(index, self);
    }
}

/// Executes a scalar atomic. With glc, the previous value is written to the register of the data.
#[inline(always)]
fn rmw<O: Rmw<T: Scalar>>(w: &mut Wave, cx: &mut ExecContext, i: &Inst, address: u64) -> Flow {
    let a = O::T::read(w, i.dst);
    let b = if O::TWO { O::T::read(w, i.dst + O::T::N) } else { a };
    let size = O::T::SIZE;
    match O::T::with_cell(cx, who(w, i), address, |cell| O::atomic(cell, Mode::DEFAULT, a, b)) {
        Some(old) => {
            if i.flags & flag::GLC != 0 {
                old.write(w, i.dst);
            }
            Flow::Next
        }
        None if address % u64::from(size) != 0 => {
            let lanes = vec![LaneAddress { lane: None, address }];
            cx.fault(FaultCause::Misaligned { space: MemorySpace::Global, size, lanes })
        }
        None => cx.scalar_out_of_bounds(AccessKind::Atomic, address, size),
    }
}

/// `s_atomic_*`.
pub(crate) struct Atomic<O>(PhantomData<O>);
impl<O: Rmw<T: Scalar>> Exec for Atomic<O> {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
        let address = address(w, i, O::T::SIZE.into());
        rmw::<O>(w, cx, i, address)
    }
}

/// `s_buffer_atomic_*`. Out of range it changes nothing, and the result is 0.
pub(crate) struct BufferAtomic<O>(PhantomData<O>);
impl<O: Rmw<T: Scalar>> Exec for BufferAtomic<O> {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
        let size = u64::from(O::T::SIZE);
        let (address, inside) = buffer_address(w, i, size);
        if inside == size {
            return rmw::<O>(w, cx, i, address);
        }
        if i.flags & flag::GLC != 0 {
            for n in 0..O::T::N {
                w.set_s32(i.dst + n, 0);
            }
        }
        Flow::Next
    }
}
