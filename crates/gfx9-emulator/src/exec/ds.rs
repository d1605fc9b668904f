//! DS: LDS loads, stores and atomics, lane permutations.

use crate::fault::{Access, Space};
use crate::inst::{Flow, Inst};
use crate::isa::Exec;
use crate::wave::{LANES, Wave};
use crate::workgroup::Ctx;

/// The lanes of `exec`, in order.
#[inline(always)]
pub(crate) fn active(exec: u64) -> impl Iterator<Item = usize> {
    let mut left = exec;
    std::iter::from_fn(move || {
        if left == 0 {
            return None;
        }
        let lane = left.trailing_zeros() as usize;
        left &= left - 1;
        Some(lane)
    })
}

pub(crate) struct ReadB32;
impl Exec for ReadB32 {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut Ctx, i: &Inst) -> Flow {
        let exec = w.exec();
        let addresses = *w.v(i.src[0]).flat();
        for lane in active(exec) {
            let Some(value) = cx.lds.load_u32(addresses[lane].wrapping_add(i.imm)) else {
                return lds_fault(cx, Access::Read, &addresses, exec, i.imm, 4);
            };
            w.v_mut(i.dst).flat_mut()[lane] = value;
        }
        Flow::Next
    }
}

/// Reports the lanes that are out of bounds.
#[cold]
pub(crate) fn lds_fault(
    cx: &mut Ctx,
    access: Access,
    addresses: &[u32; LANES],
    exec: u64,
    offset: u32,
    size: u32,
) -> Flow {
    let end = u64::from(cx.lds.size());
    let lanes: Vec<(u8, u64)> = active(exec)
        .map(|lane| (lane as u8, u64::from(addresses[lane].wrapping_add(offset))))
        .filter(|(_, address)| address + u64::from(size) > end)
        .collect();
    cx.out_of_bounds(access, Space::Lds, size, lanes)
}
