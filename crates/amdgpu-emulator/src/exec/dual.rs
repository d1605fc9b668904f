//! VOPD: two operations at once.

use crate::exec::inst::{ExecContext, Flow, Inst, executors};
use crate::exec::level::{Columns, same};
use crate::state::wave::Wave;

/// Which half executes first, so that no half reads the result of the other.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// X, whose result Y doesn't read.
    XFirst,
    /// Y, whose result X doesn't read.
    YFirst,
    /// X, with its result kept back, since each reads the register of the other's result.
    Together,
}

/// The executors of VOPD. The halves have executors for the SIMD level.
pub(crate) const DUAL: Columns = same::<Dual>();

executors! {
    /// Executes the two halves in the order that `Inst::imm` gives.
    Dual |w, cx, i| {
        let Some(ext) = &i.ext else { return Flow::Next };
        let Some(second) = &ext.second else { return Flow::Next };
        let (x, y) = (&ext.inner, second);
        if i.imm == Order::XFirst as u32 {
            run(w, cx, x);
            run(w, cx, y)
        } else if i.imm == Order::YFirst as u32 {
            run(w, cx, y);
            run(w, cx, x)
        } else {
            let before = *w.v(x.dst);
            run(w, cx, x);
            let after = std::mem::replace(w.v_mut(x.dst), before);
            let flow = run(w, cx, y);
            *w.v_mut(x.dst) = after;
            flow
        }
    }
}

/// Executes one half.
#[inline(always)]
fn run(w: &mut Wave, cx: &mut ExecContext, half: &Inst) -> Flow {
    // SAFETY: the half was decoded for the same SIMD level as the instruction, which is executing, so the level is available.
    unsafe { (half.exec)(w, cx, half) }
}
