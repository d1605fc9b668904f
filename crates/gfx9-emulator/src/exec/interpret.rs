//! The interpreter's loop.

use super::altered;
use super::inst::{Code, ExecContext, Flow, Observing, StopReason};
use crate::state::wave::Wave;

/// Runs a wave until it stops, or at a jump after `slice` instructions. `code` is `cx.code`, which the caller holds on
/// to: waves that meet at barriers stop often, and threads must not count references to it each time.
pub(crate) fn run_wave(w: &mut Wave, cx: &mut ExecContext, code: &Code, slice: u64) -> StopReason {
    interpret::<false>(w, cx, code, slice, None)
}

/// [`run_wave`] for what wants to see or stop a wave at any instruction: it ends after `slice` instructions, wherever
/// that is.
pub(crate) fn run_wave_observed(
    w: &mut Wave,
    cx: &mut ExecContext,
    code: &Code,
    slice: u64,
    observer: Observing<'_>,
) -> StopReason {
    interpret::<true>(w, cx, code, slice, observer)
}

/// The loop. It is compiled separately with `OBSERVED`, so that it is not slowed down without.
fn interpret<const OBSERVED: bool>(
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
    let stop = loop {
        // Decoding ends every run of instructions with one that jumps or faults, so there is a next one.
        let i = &insts[at];
        at += 1;
        count += 1;
        if OBSERVED && let Some(observer) = &mut observer {
            observer.before(w, cx, at - 1, i);
        }
        // SAFETY: the code was decoded for a level that this machine has (`LoadedProgram::load`).
        let flow = unsafe { (i.exec)(w, cx, i) };
        if OBSERVED {
            if let Some(observer) = &mut observer {
                observer.after(w);
            }
        } else if flow == Flow::Next {
            continue;
        }
        match flow {
            Flow::Next => {}
            Flow::Jump => {
                at = w.next as usize;
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
