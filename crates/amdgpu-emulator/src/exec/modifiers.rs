//! Source and result modifiers of lane operations, and operands for which an operation has no form.
//!
//! Sources are prepared in temporary registers, the operation runs on these as on any vectors, and the result is
//! modified and merged into the destination. Instructions without modifiers therefore have no cost for them, and
//! operations need not implement them.

#![allow(clippy::needless_range_loop, reason = "a lane's number indexes several arrays")]

use amdgpu_isa::Ty;

use crate::exec::dpp::{Dpp, permute};
use crate::exec::inst::{Exec, ExecContext, Flow, Inst, PreparedScalars};
use crate::exec::lanes::{by_exec, load, splat, store};
use crate::exec::level::{Columns, with_f16c};
use crate::exec::number::float::Float;
use crate::exec::number::half16::Half;
use crate::exec::number::soft;
use crate::exec::operand::{
    DwordPart, Operand, ResultModifier, SourceModifier, TEMP_DST, UnwrittenBits, spill, temp,
};
use crate::state::wave::{CHUNK, Mode, Wave, sreg};

/// Writes to [`Regs::s`](crate::state::wave::Regs::s) the scalars that operands use and that are not kept there: VCCZ,
/// EXECZ and spilled constants.
#[cold]
pub(crate) fn prepare_scalars(w: &mut Wave, scalars: &PreparedScalars) {
    if scalars.zero_flags {
        let (vccz, execz) = (w.vcc() == 0, w.exec() == 0);
        w.set_s32(sreg::VCCZ, u32::from(vccz));
        w.set_s32(sreg::EXECZ, u32::from(execz));
    }
    for (n, value) in scalars.spilled.iter().enumerate() {
        if let Some(value) = value {
            w.set_s64(spill(n), *value);
        }
    }
}

/// Executes an instruction that has a [`ModifierInst`]; with `AVX2`, at levels that have it.
pub(crate) struct Modified<const AVX2: bool>;

pub(crate) const MODIFIED: Columns = with_f16c::<Modified<false>, Modified<true>>();

impl<const AVX2: bool> Exec for Modified<AVX2> {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
        let Some(ext) = &i.ext else { return Flow::Next };
        if let Some(scalars) = &ext.scalars {
            prepare_scalars(w, scalars);
        }
        let before = w.exec();
        let [first, second, third] = &ext.fixes;
        if let Some(fix) = first {
            prepare::<AVX2>(w, fix, ext.dpp.as_ref(), temp(0));
        }
        for (n, fix) in [(1, second), (2, third)] {
            if let Some(fix) = fix {
                prepare::<AVX2>(w, fix, None, temp(n));
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

/// Writes a source to the temporary register `to` and, if it has 64 bits, to the next one: moves it between lanes, selects
/// the part, takes the magnitude, then negates.
#[inline(always)]
fn prepare<const AVX2: bool>(w: &mut Wave, fix: &SourceModifier, dpp: Option<&Dpp>, to: u16) {
    let dwords = u16::from(fix.ty.dwords().min(2));
    let mut from = fix.from;
    if let (Some(dpp), Operand::Vector(v)) = (dpp, from) {
        // SAFETY: `MODIFIED` sets `AVX2` at levels that have it only, and the decoder picks those that the host has.
        unsafe { permute::<AVX2>(w, dpp, dwords, v, to) };
        from = Operand::Vector(to);
        if fix.is_plain() {
            return;
        }
    }
    let (up, down) = fix.part.shifts();
    for d in 0..dwords {
        // Of an f64, the second dword has the sign.
        let sign = match (fix.ty, d) {
            (Ty::F16 | Ty::Bf16 | Ty::I16, _) => 1u32 << 15,
            (Ty::P16F | Ty::P16Bf, _) => 1 << 15 | 1 << 31,
            (Ty::F64 | Ty::B64, 1) => 1 << 31,
            (Ty::F64 | Ty::B64, _) | (_, 1) => 0,
            _ => 1 << 31,
        };
        let part = if fix.signed { !0 } else { !0 >> down };
        let keep = if fix.abs { part & !sign } else { part };
        let flip = if fix.neg { sign } else { 0 };
        // A loop, as `map` may be a function without the host's features.
        let changed = |x: u32| ((x << up) as i32 >> down) as u32 & keep ^ flip;
        match from {
            Operand::Vector(v) => {
                for c in w.chunks() {
                    let mut x = w.v(v.wrapping_add(d)).0[c];
                    for j in 0..CHUNK {
                        x[j] = changed(x[j]);
                    }
                    w.v_mut(to + d).0[c] = x;
                }
            }
            Operand::Scalar(s) => *w.v_mut(to + d) = splat(changed(w.s32(s.wrapping_add(d)))),
            Operand::None => {}
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
    let part = post.part;
    if part == DwordPart::ALL {
        by_exec!(w, MASKED => {
            for d in 0..u16::from(post.ty.dwords()) {
                for c in w.chunks() {
                    let v: [u32; CHUNK] = load(&w.r, TEMP_DST + d, c);
                    store::<_, MASKED>(&mut w.r, &w.mask, post.dst.wrapping_add(d), c, &v);
                }
            }
        });
        return;
    }
    // The part of the result goes to its place in the dword, the rest of which is 0, the sign, or what it was.
    let (_, down) = part.shifts();
    let mask = !0 >> down << part.shift;
    let written = if post.rest == UnwrittenBits::Sign { !0 } else { mask };
    let kept = if post.rest == UnwrittenBits::Keep { !mask } else { 0 };
    by_exec!(w, MASKED => {
        for d in 0..u16::from(post.ty.dwords()) {
            for c in w.chunks() {
                let mut v: [u32; CHUNK] = load(&w.r, TEMP_DST + d, c);
                let old: [u32; CHUNK] = load(&w.r, post.dst, c);
                for j in 0..CHUNK {
                    let placed = ((v[j] << down) as i32 >> down << part.shift) as u32;
                    v[j] = placed & written | old[j] & kept;
                }
                store::<_, MASKED>(&mut w.r, &w.mask, post.dst.wrapping_add(d), c, &v);
            }
        }
    });
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
    for c in w.chunks() {
        let mut v: [T; CHUNK] = load(&w.r, at, c);
        limit_values(m, post.omod, post.clamp, &mut v);
        store::<_, false>(&mut w.r, &w.mask, at, c, &v);
    }
}

/// Does what [`limit_at`] does.
#[inline(always)]
pub(crate) fn limit_values<T: Float>(m: Mode, omod: u8, clamp: bool, values: &mut [T]) {
    let denormals = if T::FORMAT == soft::F32 { m.denorm32() } else { m.denorm64() };
    if omod != 0 && !m.ieee() && denormals & 2 == 0 {
        let power = [0, 1, 2, -1][usize::from(omod & 3)];
        let factor = T::of(soft::scale(T::FORMAT, soft::Round::Even, T::ONE.bits(), power));
        for x in &mut *values {
            *x = x.mul_in(m, factor).flush(m, true).add(T::ZERO);
        }
    }
    if clamp {
        let nan_to_zero = m.dx10_clamp();
        for x in values {
            let upper = if T::ONE.lt(*x) { T::ONE } else { *x };
            let keep = T::ZERO.lt(upper) | (x.is_nan() & !nan_to_zero);
            *x = if keep { upper } else { T::ZERO };
        }
    }
}
