//! Source and result modifiers of lane operations, and operands for which an operation has no form.
//!
//! Sources are prepared in temporary registers, the operation runs on these as on any vectors, and the result is
//! modified and merged into the destination. Instructions without modifiers therefore have no cost for them, and
//! operations need not implement them.

use gfx9_isa::Ty;

use crate::exec::inst::{Exec, ExecContext, Flow, Inst, ModifierInst};
use crate::exec::lanes::{by_exec, load, splat, store};
use crate::exec::level::{Columns, two_columns};
use crate::exec::number::float::Float;
use crate::exec::number::half16::Half;
use crate::exec::number::soft;
use crate::exec::operand::{
    Dpp, DwordPart, Operand, ResultModifier, SourceModifier, TEMP_DST, UnwrittenBits, spill, temp,
};
use crate::state::wave::{CHUNK, CHUNKS, LANES, Lanes, Wave, lanes_of, sreg};

/// Writes to [`Regs::s`](crate::state::wave::Regs::s) the scalars that operands use and that are not kept there: VCCZ,
/// EXECZ and spilled constants.
#[inline(always)]
pub(crate) fn prepare_scalars(w: &mut Wave, ext: &ModifierInst) {
    if ext.zero_flags {
        let (vccz, execz) = (w.vcc() == 0, w.exec() == 0);
        w.set_s32(sreg::VCCZ, u32::from(vccz));
        w.set_s32(sreg::EXECZ, u32::from(execz));
    }
    for (n, value) in ext.spilled.iter().enumerate() {
        if let Some(value) = value {
            w.set_s64(spill(n), *value);
        }
    }
}

/// Executes an instruction that has a [`ModifierInst`].
pub(crate) struct Modified;

pub(crate) const MODIFIED: Columns = two_columns::<Modified>();

impl Exec for Modified {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
        let Some(ext) = &i.ext else { return Flow::Next };
        prepare_scalars(w, ext);
        let before = w.exec();
        for (n, fix) in ext.fixes.iter().enumerate() {
            if let Some(fix) = fix {
                let to = temp(n);
                fetch(w, fix, to);
                if n == 0
                    && let Some(dpp) = &ext.dpp
                {
                    permute(w, dpp, fix.ty.dwords(), to);
                }
                modify(w, fix, to);
            }
        }
        // SAFETY: it was decoded for the same SIMD level as this instruction, which is executing, so the level is
        // available.
        let flow = unsafe { (ext.inner.exec)(w, cx, &ext.inner) };
        if let Some(post) = &ext.post {
            finish(w, post);
        }
        if ext.dpp.is_some() && !ext.writes_exec {
            w.set_exec(before);
        }
        flow
    }
}

/// Copies a source to the temporary register `to` and, if it has 64 bits, to the next one.
#[inline(always)]
fn fetch(w: &mut Wave, fix: &SourceModifier, to: u16) {
    for d in 0..fix.ty.dwords().min(2) as u16 {
        *w.v_mut(to + d) = match fix.from {
            Operand::Vector(v) => *w.v(v.wrapping_add(d)),
            Operand::Scalar(s) => splat(w.s32(s.wrapping_add(d))),
            Operand::None => Lanes::ZERO,
        };
    }
}

/// Moves the dwords from register `to` on between lanes, and removes from EXEC the lanes that must not be written.
#[inline(never)]
fn permute(w: &mut Wave, dpp: &Dpp, dwords: u8, to: u16) {
    let exec = w.exec();
    let mut valid = 0;
    for (lane, from) in dpp.from.iter().enumerate() {
        let from = u32::from(*from);
        valid |= u64::from(from < 64 && exec >> (from & 63) & 1 != 0) << lane;
    }
    for d in 0..u16::from(dwords.min(2)) {
        let old = *w.v(to + d);
        let new = w.v_mut(to + d).flat_mut();
        *new = [0; LANES];
        for lane in lanes_of(valid) {
            new[lane] = old.flat()[usize::from(dpp.from[lane])];
        }
    }
    w.set_exec(exec & dpp.enabled & if dpp.bound_ctrl { !0 } else { valid });
}

/// Applies the modifiers of a source: selects the part, then takes the magnitude, then negates.
#[inline(always)]
fn modify(w: &mut Wave, fix: &SourceModifier, to: u16) {
    if fix.part != DwordPart::ALL {
        for lane in w.v_mut(to).flat_mut() {
            *lane = fix.part.get(*lane, fix.signed);
        }
    }
    if fix.abs || fix.neg {
        let (top, sign) = match fix.ty {
            Ty::F64 | Ty::B64 => (to + 1, 1 << 31),
            Ty::F16 | Ty::Bf16 => (to, 1 << 15),
            _ => (to, 1u32 << 31),
        };
        let (clear, flip) = (if fix.abs { sign } else { 0 }, if fix.neg { sign } else { 0 });
        for lane in w.v_mut(top).flat_mut() {
            *lane = *lane & !clear ^ flip;
        }
    }
}

/// Applies output modifiers to the result in [`TEMP_DST`] and stores it to the active lanes.
#[inline(always)]
fn finish(w: &mut Wave, post: &ResultModifier) {
    if post.clamp || post.omod != 0 {
        match post.ty {
            Ty::F16 => limit::<Half>(w, post),
            Ty::F32 => limit::<f32>(w, post),
            Ty::F64 => limit::<f64>(w, post),
            Ty::P16F => {
                let high = TEMP_DST + 1;
                let both = *w.v(TEMP_DST);
                for (to, from) in w.v_mut(high).flat_mut().iter_mut().zip(both.flat()) {
                    *to = from >> 16;
                }
                limit_at::<Half>(w, post, high);
                limit::<Half>(w, post);
                let upper = *w.v(high);
                for (to, from) in w.v_mut(TEMP_DST).flat_mut().iter_mut().zip(upper.flat()) {
                    *to = *to & 0xffff | from << 16;
                }
            }
            _ => {}
        }
    }
    by_exec!(w, MASKED => {
        for d in 0..u16::from(post.ty.dwords()) {
            for c in 0..CHUNKS {
                let mut v: [u32; CHUNK] = load(w, TEMP_DST + d, c);
                if post.part != DwordPart::ALL {
                    let old: [u32; CHUNK] = load(w, post.dst, c);
                    for j in 0..CHUNK {
                        v[j] = place(v[j], old[j], post.part, post.rest);
                    }
                }
                store::<_, MASKED>(w, post.dst.wrapping_add(d), c, &v);
            }
        }
    });
}

/// Returns dword `old` with the part replaced by `v`.
#[inline(always)]
fn place(v: u32, old: u32, part: DwordPart, rest: UnwrittenBits) -> u32 {
    let low = DwordPart { shift: 0, ..part };
    let field = low.get(v, rest == UnwrittenBits::Sign) << part.shift;
    let mask = low.get(!0, false) << part.shift;
    if rest == UnwrittenBits::Keep { field | old & !mask } else { field }
}

#[inline(always)]
fn limit<T: Float>(w: &mut Wave, post: &ResultModifier) {
    limit_at::<T>(w, post, TEMP_DST);
}

/// Multiplies and clamps. Output modifiers are ignored in IEEE mode and if denormal results are kept; otherwise they
/// flush denormals and replace -0 with +0 (CDNA2 ISA, "Output modifiers").
#[inline(always)]
fn limit_at<T: Float>(w: &mut Wave, post: &ResultModifier, at: u16) {
    let m = w.mode;
    let denormals = if T::FORMAT == soft::F32 { m.denorm32() } else { m.denorm64() };
    let omod = post.omod != 0 && !m.ieee() && denormals & 2 == 0;
    let power = [0, 1, 2, -1][usize::from(post.omod & 3)];
    let factor = T::of(soft::scale(T::FORMAT, soft::Round::Even, T::ONE.bits(), power));
    let nan_to_zero = m.dx10_clamp();
    for c in 0..CHUNKS {
        let mut v: [T; CHUNK] = load(w, at, c);
        for x in &mut v {
            if omod {
                *x = x.mul_in(m, factor).flush(m, true).add(T::ZERO);
            }
            if post.clamp {
                let upper = if T::ONE.lt(*x) { T::ONE } else { *x };
                let keep = T::ZERO.lt(upper) || x.is_nan() && !nan_to_zero;
                *x = if keep { upper } else { T::ZERO };
            }
        }
        store::<_, false>(w, at, c, &v);
    }
}
