//! VOP1: one source.

use crate::lanes::Op1;
use crate::wave::Mode;

pub(crate) struct MovB32;
impl Op1 for MovB32 {
    type D = u32;
    type A = u32;
    #[inline(always)]
    fn f(_: Mode, a: u32) -> u32 {
        a
    }
}
