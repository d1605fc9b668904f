//! What stands around a lane operation: source and result modifiers, and operands that it has no form for.
//!
//! Sources are prepared in temporary registers, the operation runs on these as it would on any vectors, and the
//! result is finished and merged. So plain instructions pay nothing for modifiers, and operations need not know them.

use crate::inst::{Flow, Inst};
use crate::isa::{Columns, Exec, columns};
use crate::lanes::{by_exec, load, splat, store};
use crate::tables::Ty;
use crate::wave::{CHUNK, CHUNKS, TEMP, Wave, sreg};
use crate::workgroup::Ctx;

/// Where an operand is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operand {
    /// Not there.
    None,
    /// Index of a vector register.
    Vector(u16),
    /// Index of a scalar or a constant.
    Scalar(u16),
}

/// A source to prepare.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fix {
    pub(crate) from: Operand,
    pub(crate) ty: Ty,
    pub(crate) abs: bool,
    pub(crate) neg: bool,
}

/// How to finish a result.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Post {
    pub(crate) dst: u16,
    pub(crate) ty: Ty,
    /// 0 nothing, 1 times 2, 2 times 4, 3 divided by 2.
    pub(crate) omod: u8,
    /// To 0..1.
    pub(crate) clamp: bool,
}

/// What [`Modified`] does around the operation.
pub(crate) struct Ext {
    /// The operation on prepared sources.
    pub(crate) inner: Inst,
    pub(crate) fixes: [Option<Fix>; 3],
    pub(crate) post: Option<Post>,
    /// A source is VCCZ or EXECZ, whose slots are not kept up to date.
    pub(crate) zero_flags: bool,
    /// A constant that there was no slot for, and the slot to put it into.
    pub(crate) literal: Option<(u16, u64)>,
}

/// Temporary registers of source `n`.
pub(crate) const fn temp(n: usize) -> u16 {
    TEMP + 2 * n as u16
}

/// Temporary registers of the result.
pub(crate) const TEMP_DST: u16 = TEMP + 6;

/// Executes an instruction with an [`Ext`].
pub(crate) struct Modified;

pub(crate) const MODIFIED: Columns = columns::<Modified>();

impl Exec for Modified {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut Ctx, i: &Inst) -> Flow {
        let Some(ext) = &i.ext else { return Flow::Next };
        if ext.zero_flags {
            let (vccz, execz) = (w.vcc() == 0, w.exec() == 0);
            w.set_s32(sreg::VCCZ, u32::from(vccz));
            w.set_s32(sreg::EXECZ, u32::from(execz));
        }
        if let Some((slot, value)) = ext.literal {
            w.set_s64(slot, value);
        }
        for (n, fix) in ext.fixes.iter().enumerate() {
            if let Some(fix) = fix {
                prepare(w, fix, temp(n));
            }
        }
        // SAFETY: decoded for the same level as this instruction, which is executing.
        let flow = unsafe { (ext.inner.exec)(w, cx, &ext.inner) };
        if let Some(post) = &ext.post {
            finish(w, post);
        }
        flow
    }
}

/// Copies a source, modified, to the temporary register `to` and, if it has 64 bits, the next.
#[inline(always)]
fn prepare(w: &mut Wave, fix: &Fix, to: u16) {
    for d in 0..fix.ty.dwords().min(2) as u16 {
        *w.v_mut(to + d) = match fix.from {
            Operand::Vector(v) => *w.v(v + d),
            Operand::Scalar(s) => splat(w.s32(s + d)),
            Operand::None => splat(0),
        };
    }
    let (top, sign) = match fix.ty {
        Ty::F64 | Ty::B64 => (to + 1, 1 << 31),
        Ty::F16 => (to, 1 << 15),
        _ => (to, 1 << 31),
    };
    let (clear, flip) = (if fix.abs { sign } else { 0 }, if fix.neg { sign } else { 0u32 });
    if fix.abs || fix.neg {
        for lane in w.v_mut(top).flat_mut() {
            *lane = *lane & !clear ^ flip;
        }
    }
}

/// Applies output modifiers to the result in [`TEMP_DST`] and stores it to the active lanes.
#[inline(always)]
fn finish(w: &mut Wave, post: &Post) {
    let dx10_clamp = w.mode.dx10_clamp();
    by_exec!(w, MASKED => {
        for c in 0..CHUNKS {
            match post.ty {
                Ty::F32 => {
                    let mut v: [f32; CHUNK] = load(w, TEMP_DST, c);
                    for x in &mut v {
                        *x = finish_f64(f64::from(*x), post, dx10_clamp) as f32;
                    }
                    store::<_, MASKED>(w, post.dst, c, &v);
                }
                Ty::F64 => {
                    let mut v: [f64; CHUNK] = load(w, TEMP_DST, c);
                    for x in &mut v {
                        *x = finish_f64(*x, post, dx10_clamp);
                    }
                    store::<_, MASKED>(w, post.dst, c, &v);
                }
                _ => {
                    let v: [u32; CHUNK] = load(w, TEMP_DST, c);
                    store::<_, MASKED>(w, post.dst, c, &v);
                }
            }
        }
    });
}

#[inline(always)]
fn finish_f64(x: f64, post: &Post, dx10_clamp: bool) -> f64 {
    let x = match post.omod {
        1 => x * 2.0,
        2 => x * 4.0,
        3 => x * 0.5,
        _ => x,
    };
    match post.clamp {
        true if x.is_nan() => {
            if dx10_clamp {
                0.0
            } else {
                x
            }
        }
        true => x.clamp(0.0, 1.0),
        false => x,
    }
}
