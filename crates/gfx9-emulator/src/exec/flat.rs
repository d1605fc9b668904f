//! FLAT, GLOBAL and SCRATCH: loads, stores and atomics through 64-bit addresses, and of scratch.

use crate::exec::ds::active;
use crate::fault::{Access, Space};
use crate::inst::{Flow, Inst, NONE};
use crate::isa::Exec;
use crate::wave::{LANES, Wave};
use crate::workgroup::Ctx;

/// Each lane's address of a GLOBAL instruction.
#[inline(always)]
pub(crate) fn global_addresses(w: &Wave, i: &Inst) -> [u64; LANES] {
    let lo = w.v(i.src[0]).flat();
    let mut out = [0; LANES];
    let offset = i64::from(i.imm as i32) as u64;
    if i.sdst == NONE {
        let hi = w.v(i.src[0] + 1).flat();
        for l in 0..LANES {
            out[l] = (u64::from(lo[l]) | u64::from(hi[l]) << 32).wrapping_add(offset);
        }
    } else {
        let base = w.s64(i.sdst).wrapping_add(offset);
        for l in 0..LANES {
            out[l] = base.wrapping_add(u64::from(lo[l]));
        }
    }
    out
}

/// Reports the active lanes whose `size` bytes are out of bounds.
#[cold]
pub(crate) fn global_fault(
    cx: &mut Ctx,
    access: Access,
    addresses: &[u64; LANES],
    exec: u64,
    size: u32,
) -> Flow {
    let lanes: Vec<(u8, u64)> = active(exec)
        .map(|lane| (lane as u8, addresses[lane]))
        .filter(|(_, address)| cx.mem.window(*address, u64::from(size)).is_none())
        .collect();
    cx.out_of_bounds(access, Space::Global, size, lanes)
}

pub(crate) struct GlobalLoadDword;
impl Exec for GlobalLoadDword {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut Ctx, i: &Inst) -> Flow {
        let exec = w.exec();
        let addresses = global_addresses(w, i);
        for lane in active(exec) {
            let window = cx.mem.window(addresses[lane], 4);
            let Some(value) = window.and_then(|window| window.load_u32(addresses[lane])) else {
                return global_fault(cx, Access::Read, &addresses, exec, 4);
            };
            w.v_mut(i.dst).flat_mut()[lane] = value;
        }
        Flow::Next
    }
}

pub(crate) struct GlobalStoreDword;
impl Exec for GlobalStoreDword {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut Ctx, i: &Inst) -> Flow {
        let exec = w.exec();
        let addresses = global_addresses(w, i);
        let data = w.v(i.src[1]).flat();
        for lane in active(exec) {
            let window = cx.mem.window(addresses[lane], 4);
            if window.and_then(|window| window.store_u32(addresses[lane], data[lane])).is_none() {
                return global_fault(cx, Access::Write, &addresses, exec, 4);
            }
        }
        Flow::Next
    }
}
