//! Which bytes an instruction is about to access.

use crate::exec::access::Place;
use crate::exec::buffer::{Reach, own_scratch};
use crate::exec::buffer_format::Format;
use crate::exec::inst::{Inst, NONE, flag};
use crate::exec::to_lds::{buffer_base, flat_base};
use crate::exec::{address, buffer, ds, ds_permute, modifiers, smem};
use crate::memory::Addresses;
use crate::observe::class::Shape;
use crate::report::access::{Access, Space};
use crate::state::wave::{LANES, Wave, lanes_of};

/// Accesses of one kind and size by some lanes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Touch {
    pub(crate) space: Space,
    pub(crate) access: Access,
    /// Bytes of each lane.
    pub(crate) size: u32,
    /// Which lanes; of scalar accesses lane 0.
    pub(crate) lanes: u64,
    /// One access of the wave's, not of a lane's.
    pub(crate) is_scalar: bool,
    /// Each lane's address; in LDS and scratch its offset.
    pub(crate) at: [u64; LANES],
}

impl Touch {
    fn scalar(space: Space, access: Access, address: u64, size: u32) -> Touch {
        Touch { space, access, size, lanes: 1, is_scalar: true, at: [address; LANES] }
    }

    /// Each lane and its address.
    pub(crate) fn each(&self) -> impl Iterator<Item = (usize, u64)> {
        lanes_of(self.lanes).map(|lane| (lane, self.at[lane]))
    }
}

/// Puts into `out` what `i` is about to access, in the order in which it does. What is in no allocation, or outside of LDS
/// or scratch, is among it: the instruction will fault. Only temporary registers of `w` change.
pub(crate) fn find(w: &mut Wave, i: &Inst, shape: Shape, out: &mut Vec<Touch>) {
    out.clear();
    if shape == Shape::None {
        return;
    }
    let i = match &i.ext {
        Some(ext) => {
            modifiers::prepare_scalars(w, ext);
            &ext.inner
        }
        None => i,
    };
    if i.src[0] == NONE {
        // Its operands are none that it can have: it is illegal, and has a row only to be named.
        return;
    }
    let exec = w.exec();
    let lanes = |space, access, size, lanes: u64, at: [u64; LANES]| Touch {
        space,
        access,
        size,
        lanes,
        is_scalar: false,
        at,
    };
    let lds = |access, size, at: [u32; LANES]| lanes(Space::Lds, access, size, exec, at.map(u64::from));
    let row = |base: u32| -> [u32; LANES] { std::array::from_fn(|n| base.wrapping_add(4 * n as u32)) };
    match shape {
        Shape::None => {}
        Shape::Scalar(access, size) => {
            out.push(Touch::scalar(Space::Global, access, smem::address(w, i), size));
        }
        Shape::ScalarScratch(access, size) => {
            let address = smem::scratch_address(w, i);
            let (space, at) = match smem::wave_scratch(address) {
                Some(offset) => (Space::Scratch, offset),
                None => (Space::Global, address),
            };
            out.push(Touch::scalar(space, access, at, size));
        }
        Shape::ScalarBuffer(access, size) => {
            let (address, inside) = smem::buffer_address(w, i, u64::from(size / 4));
            if inside > 0 && (access != Access::Atomic || inside == u64::from(size / 4)) {
                out.push(Touch::scalar(Space::Global, access, address, 4 * inside as u32));
            }
        }
        Shape::Ds(..) | Shape::DsTwo(..) | Shape::DsAligned(..) | Shape::DsByLane(_) | Shape::DsCount
            if ds::is_gds(i) => {}
        Shape::Ds(access, size) => out.push(lds(access, size, ds::addresses(w, i, i.imm).0)),
        Shape::DsTwo(access, size, unit) => {
            let (first, second) = ds::two_offsets(i, unit);
            out.push(lds(access, size, ds::addresses(w, i, first).0));
            out.push(lds(access, size, ds::addresses(w, i, second).0));
        }
        Shape::DsAligned(access, size) => {
            out.push(lds(access, size, ds::addresses(w, i, i.imm).map(|at| at & !7)));
        }
        Shape::DsByLane(access) => out.push(lds(access, 4, ds_permute::by_lane(w, i))),
        Shape::DsCount => {
            let at = u64::from(ds_permute::count_address(w, i));
            out.push(Touch::scalar(Space::Lds, Access::Atomic, at, 4));
        }
        Shape::Flat(access, size) => {
            let at = address::wide(w, i);
            let places: [Place; LANES] = std::array::from_fn(|lane| Place::of(at.at(lane)));
            for space in [Space::Global, Space::Lds, Space::Scratch] {
                let there = lanes_of(exec)
                    .filter(|lane| places[*lane].space() == space)
                    .fold(0, |mask, lane| mask | 1 << lane);
                if there != 0 {
                    out.push(lanes(space, access, size, there, places.map(Place::offset)));
                }
            }
        }
        Shape::Global(access, size) => {
            out.push(lanes(Space::Global, access, size, exec, global_addresses(w, i)));
            if i.flags & flag::LDS != 0 && access == Access::Read {
                out.push(lds(Access::Write, 4, row(flat_base(w, i))));
            }
        }
        Shape::GlobalToLds(size) => {
            out.push(lanes(Space::Global, Access::Read, size, exec, global_addresses(w, i)));
            out.push(lds(Access::Write, 4, row(flat_base(w, i))));
        }
        Shape::Scratch(access, size) => {
            let at = address::scratch_offsets(w, i).map(u64::from);
            out.push(lanes(Space::Scratch, access, size, exec, at));
            if i.flags & flag::LDS != 0 && access == Access::Read {
                out.push(lds(Access::Write, 4, row(flat_base(w, i))));
            }
        }
        Shape::ScratchToLds(size) => {
            let at = address::scratch_offsets(w, i).map(u64::from);
            out.push(lanes(Space::Scratch, Access::Read, size, exec, at));
            out.push(lds(Access::Write, 4, row(flat_base(w, i))));
        }
        Shape::Buffer(access, size) => {
            let scratch = buffer::scratch_offsets(w, i).filter(|_| access != Access::Atomic);
            if let Some(at) = scratch {
                if own_scratch(w, i) {
                    out.push(lanes(Space::Scratch, access, size, exec, at.map(u64::from)));
                }
            } else {
                let reach = Reach::new(w, i);
                if access == Access::Atomic {
                    let inside = reach.whole(exec, size);
                    out.push(lanes(Space::Global, access, size, inside, reach.addresses().0));
                } else if let Some(at) = reach.plain(exec, size) {
                    out.push(lanes(Space::Global, access, size, exec, at.0));
                } else {
                    parts(&reach, access, size, size.min(4), exec, out);
                }
            }
            if i.flags & flag::LDS != 0 && access == Access::Read {
                out.push(lds(Access::Write, 4, row(buffer_base(w, i))));
            }
        }
        Shape::Format(access) => {
            let (reach, format) = (Reach::new(w, i), Format::of(w, i));
            let size = format.size();
            if size > 0 {
                let inside = reach.whole(exec, size);
                parts(&reach, access, size, format.unit(), inside, out);
            }
            if i.flags & flag::LDS != 0 && access == Access::Read {
                out.push(lds(Access::Write, 4, row(buffer_base(w, i))));
            }
        }
    }
    out.retain(|touch| touch.lanes != 0);
}

fn global_addresses(w: &Wave, i: &Inst) -> [u64; LANES] {
    if i.sdst == NONE {
        address::wide(w, i).0
    } else {
        let at = address::based(w, i);
        std::array::from_fn(|lane| at.at(lane))
    }
}

/// `size` bytes, `unit` of them at a time, of which those in range are accessed.
fn parts(reach: &Reach, access: Access, size: u32, unit: u32, lanes: u64, out: &mut Vec<Touch>) {
    for extra in (0..size).step_by(4) {
        let inside = lanes_of(lanes)
            .filter(|lane| reach.inside(*lane, extra, unit))
            .fold(0, |mask, lane| mask | 1 << lane);
        out.push(Touch {
            space: Space::Global,
            access,
            size: unit,
            lanes: inside,
            is_scalar: false,
            at: std::array::from_fn(|lane| reach.address(lane, extra)),
        });
    }
}
