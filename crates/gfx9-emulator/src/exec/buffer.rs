//! MUBUF and MTBUF: access through buffer descriptors, scratch on gfx90a, and cache control.

use crate::inst::{Flow, Inst};
use crate::isa::Exec;
use crate::wave::Wave;
use crate::workgroup::Ctx;

/// Cache write-back and invalidation: memory here is coherent, and workgroups see each other's stores in order.
pub(crate) struct CacheControl;
impl Exec for CacheControl {
    #[inline(always)]
    fn exec(_: &mut Wave, _: &mut Ctx, _: &Inst) -> Flow {
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
        Flow::Next
    }
}
