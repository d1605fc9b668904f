//! VOP3-only instructions, and the lane accesses that are no lane operations.

use crate::inst::{Flow, Inst};
use crate::isa::Exec;
use crate::lanes::Op3;
use crate::wave::{LANES, Mode, VROWS, Wave};
use crate::workgroup::Ctx;

pub(crate) struct FmaF32;
impl Op3 for FmaF32 {
    type D = f32;
    type A = f32;
    type B = f32;
    type C = f32;
    #[inline(always)]
    fn f(_: Mode, a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
}

/// `v_readfirstlane_b32`: of lane 0 if none is active.
pub(crate) struct Readfirstlane;
impl Exec for Readfirstlane {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut Ctx, i: &Inst) -> Flow {
        let exec = w.exec();
        let lane = if exec == 0 { 0 } else { exec.trailing_zeros() as usize };
        let value = w.v(i.src[0]).flat()[lane];
        w.set_s32(i.dst, value);
        Flow::Next
    }
}

/// `v_readlane_b32`: whatever EXEC is.
pub(crate) struct Readlane;
impl Exec for Readlane {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut Ctx, i: &Inst) -> Flow {
        let lane = w.s32(i.src[1]) as usize % LANES;
        let value = w.v(i.src[0]).flat()[lane];
        w.set_s32(i.dst, value);
        Flow::Next
    }
}

/// `v_writelane_b32`: whatever EXEC is.
pub(crate) struct Writelane;
impl Exec for Writelane {
    #[inline(always)]
    fn exec(w: &mut Wave, _: &mut Ctx, i: &Inst) -> Flow {
        let value = w.s32(i.src[0]);
        let lane = w.s32(i.src[1]) as usize % LANES;
        w.r.v[i.dst as usize & (VROWS - 1)].flat_mut()[lane] = value;
        Flow::Next
    }
}
