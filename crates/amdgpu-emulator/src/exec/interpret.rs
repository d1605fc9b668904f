//! The interpreter's loop.

use super::altered;
use super::inst::{Code, ExecContext, Flow, Inst, Observing, StopReason};
use crate::state::wave::Wave;

/// Runs a wave until it stops, or until the first jump after `slice` instructions.
///
/// `code` is `cx.code`, to which the caller keeps a reference. Waves that meet at barriers stop often; cloning the
/// `Arc` each time would make threads contend for its count.
pub(crate) fn run_wave(w: &mut Wave, cx: &mut ExecContext, code: &Code, slice: u64) -> StopReason {
    if cx.mem.may_be_refused() {
        return interpret::<false, true>(w, cx, code, slice, None);
    }
    interpret::<false, false>(w, cx, code, slice, None)
}

/// Runs a wave like [`run_wave`], but calls the observer for each instruction that it has to see, and stops after exactly `slice`
/// instructions.
pub(crate) fn run_wave_observed(
    w: &mut Wave,
    cx: &mut ExecContext,
    code: &Code,
    slice: u64,
    observer: Observing<'_>,
) -> StopReason {
    interpret::<true, true>(w, cx, code, slice, observer)
}

/// The interpreter's loop. `OBSERVED`, and `REFUSED`, whether the host may refuse accesses, are constants so that the loop
/// without an observer is not slowed down.
fn interpret<const OBSERVED: bool, const REFUSED: bool>(
    w: &mut Wave,
    cx: &mut ExecContext,
    code: &Code,
    slice: u64,
    mut observer: Observing<'_>,
) -> StopReason {
    let insts = &code.insts[..];
    if w.mode.alters()
        && let Some(stop) = altered::run(w, cx, code, slice, observer.as_deref_mut())
    {
        return stop;
    }
    let mut at = w.next as usize;
    let mut count = 0;
    // The next instruction that the observer has to see.
    let mut seen = at;
    let stop = loop {
        let before = at;
        let flow;
        if OBSERVED {
            // Decoding ends every sequence of instructions with one that jumps or faults, so `at` is in range.
            let i = &insts[at];
            at += 1;
            let is_seen = at > seen;
            if is_seen && let Some(observer) = &mut observer {
                seen = observer.before(w, cx, at - 1, i);
            }
            flow = execute::<REFUSED>(w, cx, i);
            if is_seen && let Some(observer) = &mut observer {
                observer.after(w, cx);
            }
        } else {
            (flow, at) = run_on::<REFUSED>(w, cx, insts, at);
        }
        count += (at - before) as u64;
        match flow {
            Flow::Next => {}
            Flow::Jump => {
                at = w.next as usize;
                seen = at;
                if count >= slice {
                    break StopReason::Slice;
                }
            }
            Flow::Yield => break StopReason::Slice,
            Flow::Barrier => break StopReason::Barrier,
            Flow::Wait => break StopReason::Wait,
            Flow::End => break StopReason::End,
            Flow::Altered => {
                w.next = at as u32;
                let stop = altered::run(w, cx, code, slice.saturating_sub(count), observer.as_deref_mut());
                at = w.next as usize;
                seen = at;
                if let Some(stop) = stop {
                    break stop;
                }
            }
            Flow::Fault => {
                at -= 1;
                break StopReason::Fault;
            }
        }
        if OBSERVED && count >= slice {
            break StopReason::Slice;
        }
    };
    w.next = at as u32;
    w.count += count;
    cx.count += count;
    stop
}

#[inline(always)]
fn execute<const REFUSED: bool>(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
    // SAFETY: the code was decoded for a level that this machine has (`LoadedProgram::load`).
    let flow = unsafe { (i.exec)(w, cx, i) };
    if REFUSED { cx.unless_refused(flow) } else { flow }
}

/// Executes the instructions from `at` on up to the first after which the next one may not follow. Returns what that said, and the
/// index behind it. Nothing is counted and no index is kept meanwhile: the loop takes as long as a short instruction.
#[inline(always)]
fn run_on<const REFUSED: bool>(
    w: &mut Wave,
    cx: &mut ExecContext,
    insts: &[Inst],
    at: usize,
) -> (Flow, usize) {
    let mut rest = insts[at..].iter();
    while let Some(i) = rest.next() {
        let flow = execute::<REFUSED>(w, cx, i);
        if flow != Flow::Next {
            return (flow, insts.len() - rest.len());
        }
    }
    // Decoding ends every sequence of instructions with one that jumps or faults.
    (Flow::Fault, insts.len())
}
