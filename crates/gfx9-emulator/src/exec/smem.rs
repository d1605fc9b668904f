//! SMEM: scalar loads, stores and atomics, clocks, cache control.

use crate::fault::Access;
use crate::inst::{Flow, Inst, NONE};
use crate::isa::Exec;
use crate::wave::Wave;
use crate::workgroup::Ctx;

/// Guest address of an access through a 64-bit base. The hardware ignores the low two bits.
#[inline(always)]
fn address(w: &Wave, i: &Inst) -> u64 {
    let soffset = if i.sdst == NONE { 0 } else { u64::from(w.s32(i.sdst)) };
    let offset = i64::from(i.imm as i32) as u64;
    w.s64(i.src[0]).wrapping_add(offset).wrapping_add(soffset) & !3
}

/// `s_load_dword` and its wider forms: `N` dwords.
pub(crate) struct Load<const N: usize>;
impl<const N: usize> Exec for Load<N> {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut Ctx, i: &Inst) -> Flow {
        let address = address(w, i);
        let size = 4 * N as u32;
        let Some(window) = cx.mem.window(address, u64::from(size)) else {
            return cx.scalar_out_of_bounds(Access::Read, address, size);
        };
        for n in 0..N {
            let value = window.load_u32(address + 4 * n as u64).unwrap_or(0);
            w.set_s32(i.dst + n as u16, value);
        }
        Flow::Next
    }
}
