//! The bytes that an instruction is about to access.

use crate::exec::access::FlatTarget;
use crate::exec::buffer::{Reach, own_scratch};
use crate::exec::buffer_format::Format;
use crate::exec::inst::{Inst, NONE, flag};
use crate::exec::to_lds::{buffer_base, distance, flat_base, stored};
use crate::exec::{address, buffer, ds, ds_permute, modifiers, smem};
use crate::memory::Addresses;
use crate::observe::class::AddressingKind;
use crate::report::access::{AccessKind, MemorySpace};
use crate::state::wave::{LANES, Wave, lanes_of};

/// The bytes that an instruction accesses in one memory, with the same kind of access and the same size for each lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AccessedBytes {
    pub(crate) space: MemorySpace,
    pub(crate) access: AccessKind,
    /// The number of bytes that each lane accesses.
    pub(crate) size: u32,
    /// The mask of lanes. For scalar accesses, lane 0.
    pub(crate) lanes: u64,
    /// Whether the access is made once for the wave, and not by each lane.
    pub(crate) is_scalar: bool,
    /// The address of each lane. For LDS and private memory, the offset in bytes.
    pub(crate) at: [u64; LANES],
}

impl AccessedBytes {
    fn scalar(space: MemorySpace, access: AccessKind, address: u64, size: u32) -> AccessedBytes {
        AccessedBytes { space, access, size, lanes: 1, is_scalar: true, at: [address; LANES] }
    }

    /// Returns each lane and its address.
    pub(crate) fn each(&self) -> impl Iterator<Item = (usize, u64)> {
        lanes_of(self.lanes).map(|lane| (lane, self.at[lane]))
    }
}

/// Replaces the contents of `out` with the bytes that `i` is about to access, in the order in which it accesses them.
/// They may be out of bounds; the instruction will then fault. Only temporary registers of `w` change.
pub(crate) fn find(w: &mut Wave, i: &Inst, addressing: AddressingKind, out: &mut Vec<AccessedBytes>) {
    out.clear();
    if addressing == AddressingKind::None {
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
        // The instruction can't have these operands. It is illegal, and has a row only so that reports can name it.
        return;
    }
    let exec = w.exec();
    let lanes = |space, access, size, lanes: u64, at: [u64; LANES]| AccessedBytes {
        space,
        access,
        size,
        lanes,
        is_scalar: false,
        at,
    };
    let lds = |access, size, at: [u32; LANES]| lanes(MemorySpace::Lds, access, size, exec, at.map(u64::from));
    // The bytes that a load to LDS of `size` bytes stores from `base` on.
    let to_lds = |base: u32, size: u32| {
        let at = std::array::from_fn(|n| base.wrapping_add(distance(size) * n as u32));
        lds(AccessKind::Write, stored(size), at)
    };
    match addressing {
        AddressingKind::None => {}
        AddressingKind::Scalar(access, size) => {
            out.push(AccessedBytes::scalar(MemorySpace::Global, access, smem::address(w, i), size));
        }
        AddressingKind::ScalarScratch(access, size) => {
            let address = smem::scratch_address(w, i);
            let (space, at) = match smem::wave_scratch(address) {
                Some(offset) => (MemorySpace::Scratch, offset),
                None => (MemorySpace::Global, address),
            };
            out.push(AccessedBytes::scalar(space, access, at, size));
        }
        AddressingKind::ScalarBuffer(access, size) => {
            let (address, inside) = smem::buffer_address(w, i, u64::from(size / 4));
            if inside > 0 && (access != AccessKind::Atomic || inside == u64::from(size / 4)) {
                out.push(AccessedBytes::scalar(MemorySpace::Global, access, address, 4 * inside as u32));
            }
        }
        AddressingKind::Ds(..)
        | AddressingKind::DsTwo(..)
        | AddressingKind::DsAligned(..)
        | AddressingKind::DsByLane(_)
        | AddressingKind::DsCount
            if ds::is_gds(i) => {}
        AddressingKind::Ds(access, size) => out.push(lds(access, size, ds::addresses(w, i, i.imm).0)),
        AddressingKind::DsTwo(access, size, unit) => {
            let (first, second) = ds::two_offsets(i, unit);
            out.push(lds(access, size, ds::addresses(w, i, first).0));
            out.push(lds(access, size, ds::addresses(w, i, second).0));
        }
        AddressingKind::DsAligned(access, size) => {
            out.push(lds(access, size, ds::addresses(w, i, i.imm).map(|at| at & !7)));
        }
        AddressingKind::DsByLane(access) => out.push(lds(access, 4, ds_permute::by_lane(w, i))),
        AddressingKind::DsCount => {
            let at = u64::from(ds_permute::count_address(w, i));
            out.push(AccessedBytes::scalar(MemorySpace::Lds, AccessKind::Atomic, at, 4));
        }
        AddressingKind::Flat(access, size) => {
            let at = address::wide(w, i);
            let targets: [FlatTarget; LANES] = std::array::from_fn(|lane| FlatTarget::of(at.at(lane)));
            for space in [MemorySpace::Global, MemorySpace::Lds, MemorySpace::Scratch] {
                let there = lanes_of(exec)
                    .filter(|lane| targets[*lane].space() == space)
                    .fold(0, |mask, lane| mask | 1 << lane);
                if there != 0 {
                    out.push(lanes(space, access, size, there, targets.map(FlatTarget::offset)));
                }
            }
        }
        AddressingKind::Global(access, size) => {
            out.push(lanes(MemorySpace::Global, access, size, exec, global_addresses(w, i)));
            if i.flags & flag::LDS != 0 && access == AccessKind::Read {
                out.push(to_lds(flat_base(w, i), size));
            }
        }
        AddressingKind::GlobalToLds(size) => {
            out.push(lanes(MemorySpace::Global, AccessKind::Read, size, exec, global_addresses(w, i)));
            out.push(to_lds(flat_base(w, i), size));
        }
        AddressingKind::Scratch(access, size) => {
            let at = address::scratch_offsets(w, i).map(u64::from);
            out.push(lanes(MemorySpace::Scratch, access, size, exec, at));
            if i.flags & flag::LDS != 0 && access == AccessKind::Read {
                out.push(to_lds(flat_base(w, i), size));
            }
        }
        AddressingKind::ScratchToLds(size) => {
            let at = address::scratch_offsets(w, i).map(u64::from);
            out.push(lanes(MemorySpace::Scratch, AccessKind::Read, size, exec, at));
            out.push(to_lds(flat_base(w, i), size));
        }
        AddressingKind::Buffer(access, size) => {
            let scratch = buffer::scratch_offsets(w, i).filter(|_| access != AccessKind::Atomic);
            if let Some(at) = scratch {
                if own_scratch(w, i) {
                    out.push(lanes(MemorySpace::Scratch, access, size, exec, at.map(u64::from)));
                }
            } else {
                let reach = Reach::new(w, i);
                if access == AccessKind::Atomic {
                    let inside = reach.whole(exec, size);
                    out.push(lanes(MemorySpace::Global, access, size, inside, reach.addresses().0));
                } else if let Some(at) = reach.plain(exec, size) {
                    out.push(lanes(MemorySpace::Global, access, size, exec, at.0));
                } else {
                    parts(&reach, access, size, size.min(4), exec, out);
                }
            }
            if i.flags & flag::LDS != 0 && access == AccessKind::Read {
                out.push(to_lds(buffer_base(w, i), size));
            }
        }
        AddressingKind::Format(access) => {
            let (reach, format) = (Reach::new(w, i), Format::of(w, i));
            let size = format.size();
            if size > 0 {
                let inside = reach.whole(exec, size);
                parts(&reach, access, size, format.unit(), inside, out);
            }
            if i.flags & flag::LDS != 0 && access == AccessKind::Read {
                out.push(to_lds(buffer_base(w, i), 4));
            }
        }
    }
    out.retain(|accessed| accessed.lanes != 0);
}

fn global_addresses(w: &Wave, i: &Inst) -> [u64; LANES] {
    if i.sdst == NONE {
        address::wide(w, i).0
    } else {
        let at = address::based(w, i);
        std::array::from_fn(|lane| at.at(lane))
    }
}

/// Adds the accesses to `size` bytes of each lane, `unit` bytes at a time. Lanes that are out of the buffer's range
/// don't access memory.
fn parts(reach: &Reach, access: AccessKind, size: u32, unit: u32, lanes: u64, out: &mut Vec<AccessedBytes>) {
    for extra in (0..size).step_by(4) {
        let inside = lanes_of(lanes)
            .filter(|lane| reach.inside(*lane, extra, unit))
            .fold(0, |mask, lane| mask | 1 << lane);
        out.push(AccessedBytes {
            space: MemorySpace::Global,
            access,
            size: unit,
            lanes: inside,
            is_scalar: false,
            at: std::array::from_fn(|lane| reach.address(lane, extra)),
        });
    }
}
