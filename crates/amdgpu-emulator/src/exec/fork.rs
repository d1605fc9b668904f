//! Branches that execute both sides, one after the other: `s_cbranch_g_fork`, `s_cbranch_i_fork`, `s_cbranch_join`
//! (CDNA3 ISA, the instructions' pseudocode).
//!
//! If some active lanes jump and others don't, a fork divides them into two sides. It continues with the side that has
//! fewer lanes, and pushes the lanes and the address of the other side on a stack. A stack entry is four scalar
//! registers, the first one s0 to s3. MODE's CSP is the number of stack entries. There are at most six, as each has at
//! least half of the lanes that were active.
//!
//! Both sides end at a join, whose operand is the CSP from before the fork. While the stack has more entries, the join
//! continues with the side that was pushed last. The program restores EXEC after the last join.

use crate::exec::control::jump;
use crate::exec::inst::{Flow, executors};
use crate::state::wave::Wave;

/// Returns the first scalar registers of EXEC and of the address in stack entry `csp`.
fn entry(csp: u32) -> (u16, u16) {
    let first = 4 * (csp & 7) as u16;
    (first, first + 2)
}

/// Divides the active lanes: the lanes of `mask` jump to `target`, the others continue at `next`, after the fork.
/// Returns whether the wave continues at `target`.
fn fork(w: &mut Wave, mask: u64, target: u64, next: u64) -> bool {
    let exec = w.exec();
    let (pass, fail) = (exec & mask, exec & !mask);
    if pass == exec {
        return true;
    }
    if fail == exec {
        return false;
    }
    let jumps = fail.count_ones() >= pass.count_ones();
    let (now, later, address) = if jumps { (pass, fail, next) } else { (fail, pass, target) };
    let (lanes, place) = entry(w.mode.csp());
    w.set_s64(lanes, later);
    w.set_s64(place, address);
    w.mode = w.mode.with_csp(w.mode.csp() + 1);
    w.set_exec(now);
    jumps
}

executors! {
    /// `s_cbranch_g_fork`: a fork to an address in registers.
    GFork |w, cx, i| {
        let (mask, target) = (w.s64(i.src[0]), w.s64(i.src[1]));
        let has_literal = i.raw[0] & 0xff == 0xff || i.raw[0] >> 8 & 0xff == 0xff;
        let next = cx.address_after(i, 1 + u32::from(has_literal));
        if fork(w, mask, target, next) { jump(w, cx, target) } else { Flow::Next }
    }
    /// `s_cbranch_i_fork`: a fork by a constant distance.
    IFork |w, cx, i| {
        let next = cx.address_after(i, 1);
        let target = next.wrapping_add_signed(4 * i64::from(i.imm as i32));
        if fork(w, w.s64(i.dst), target, next) {
            w.next = i.target;
            return Flow::Jump;
        }
        Flow::Next
    }
    /// `s_cbranch_join`.
    Join |w, cx, i| {
        let csp = w.mode.csp();
        if w.s32(i.src[0]) == csp {
            return Flow::Next;
        }
        w.mode = w.mode.with_csp(csp.wrapping_sub(1));
        let (lanes, place) = entry(w.mode.csp());
        let (exec, address) = (w.s64(lanes), w.s64(place));
        w.set_exec(exec);
        jump(w, cx, address)
    }
}
