//! VOP3P: packed math and MFMA; and moves to and from AGPRs.

use crate::inst::{Flow, Inst};
use crate::isa::Exec;
use crate::lanes::{L1, Op1};
use crate::wave::{Mode, Wave};
use crate::workgroup::Ctx;

/// `v_accvgpr_read_b32` and `v_accvgpr_write_b32`; decoding has made the AGPR's index of it.
pub(crate) struct Move;
impl Op1 for Move {
    type D = u32;
    type A = u32;
    #[inline(always)]
    fn f(_: Mode, a: u32) -> u32 {
        a
    }
}

/// [`Move`] between vectors, as an executor that takes its operands as they are.
pub(crate) struct AccvgprRead;
impl Exec for AccvgprRead {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut Ctx, i: &Inst) -> Flow {
        <L1<Move, 0> as Exec>::exec(w, cx, i)
    }
}
