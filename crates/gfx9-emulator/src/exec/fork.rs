//! Branches that take both ways: `s_cbranch_g_fork`, `s_cbranch_i_fork`, `s_cbranch_join` (CDNA3 ISA, the instructions'
//! pseudocode).
//!
//! Where some lanes jump and others don't, a fork goes on with the fewer of them, and pushes the others' lanes and address
//! to a stack of scalar registers, four for an entry, from s0 on; MODE's CSP is the number of entries. As each entry has at
//! least half of the lanes, there are at most six. The join at the end of the ways is given the CSP from before the
//! fork: while there is more on the stack, it goes on with the way that was put off. The lanes of all ways are for the
//! program to restore.

use crate::exec::control::jump;
use crate::exec::inst::{Exec, ExecContext, Flow, Inst};
use crate::state::wave::Wave;

/// Scalar registers of the entry that `csp` names: EXEC, then the address.
fn entry(csp: u32) -> (u16, u16) {
    let first = 4 * (csp & 7) as u16;
    (first, first + 2)
}

/// Whether a fork goes on at `target`; else it goes on at `next`, behind it. The lanes of `mask` want to jump.
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

/// `s_cbranch_g_fork`: to an address in registers.
pub(crate) struct GFork;
impl Exec for GFork {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
        let (mask, target) = (w.s64(i.src[0]), w.s64(i.src[1]));
        let has_literal = i.raw[0] & 0xff == 0xff || i.raw[0] >> 8 & 0xff == 0xff;
        let next = cx.address_after(i, 1 + u32::from(has_literal));
        if fork(w, mask, target, next) { jump(w, cx, target) } else { Flow::Next }
    }
}

/// `s_cbranch_i_fork`: by a constant distance.
pub(crate) struct IFork;
impl Exec for IFork {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
        let next = cx.address_after(i, 1);
        let target = next.wrapping_add_signed(4 * i64::from(i.imm as i32));
        if fork(w, w.s64(i.dst), target, next) {
            w.next = i.target;
            return Flow::Jump;
        }
        Flow::Next
    }
}

/// `s_cbranch_join`.
pub(crate) struct Join;
impl Exec for Join {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
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
