//! Accesses that are performed although hardware, or strict bounds, would not: past the end of allocations and of LDS, with
//! bounds of pages, and atomics to fine-grained memory. They are found where an access would otherwise fault, so that they
//! cost other accesses nothing.

use std::collections::BTreeMap;

use amdgpu_isa::Target;

use crate::exec::inst::ExecContext;
use crate::memory::bounds::Bounds;
use crate::memory::grain::FineGrainedAtomics;
use crate::memory::{Element, GuestRange, Memory};
use crate::report::access::{AccessKind, MemorySpace};
use crate::report::notice::{Noted, NoticeKind};

/// Who accesses memory.
#[derive(Clone, Copy)]
pub(crate) struct Who {
    /// The instruction's place in the code, in dwords.
    pub(crate) pc: u32,
    pub(crate) wave: u32,
    /// `None` for scalar accesses.
    pub(crate) lane: Option<u8>,
}

impl Who {
    pub(crate) fn lane(pc: u32, wave: u32, lane: usize) -> Who {
        Who { pc, wave, lane: Some(lane as u8) }
    }
}

/// The notices of a workgroup, by kind and by the place of the instruction.
pub(crate) type NoticeMap = BTreeMap<(NoticeKind, u32), Noted>;

/// Where Tensile's kernels, those of rocBLAS and hipBLASLt, read LDS on purpose to get 0: they begin sums with it. No GPU has as much
/// LDS. Strict bounds allow it.
const ZERO_OF_LDS: u32 = 0xf0_0000;

/// What is allowed, and what was noted.
#[derive(Debug, Default)]
pub(crate) struct Notices {
    pub(crate) bounds: Bounds,
    pub(crate) fine_grained_atomics: FineGrainedAtomics,
    pub(crate) seen: NoticeMap,
}

impl ExecContext {
    #[cold]
    fn note(
        &mut self,
        kind: NoticeKind,
        who: Who,
        access: AccessKind,
        space: MemorySpace,
        (address, size): (u64, u64),
        memory: Memory,
    ) {
        let end = address.wrapping_sub(memory.base).saturating_add(size);
        let noted = Noted {
            workgroup: self.workgroup,
            wave: who.wave,
            lane: who.lane,
            access,
            space,
            size: size as u32,
            address,
            base: memory.base,
            len: memory.len,
            past: end.saturating_sub(memory.len),
            count: 1,
        };
        self.notices.seen.entry((kind, who.pc)).and_modify(|known| known.merge(&noted)).or_insert(noted);
    }

    /// Returns the range for an access that strict bounds refuse; `None` if other bounds do, too.
    #[cold]
    pub(crate) fn past_end(
        &mut self,
        who: Who,
        access: AccessKind,
        address: u64,
        size: usize,
    ) -> Option<GuestRange> {
        if self.notices.bounds == Bounds::Strict {
            return None;
        }
        let size = size as u64;
        let (range, memory) = self.mem.past_end(address, size)?;
        self.note(NoticeKind::PastEnd, who, access, MemorySpace::Global, (address, size), memory);
        Some(range)
    }

    /// Returns the range for a read that strict bounds allow although it ends past an allocation: `View::last_granule`.
    #[cold]
    pub(crate) fn last_granule(&mut self, who: Who, address: u64, size: usize) -> Option<GuestRange> {
        let size = size as u64;
        let (range, memory) = self.mem.last_granule(address, size)?;
        self.note(NoticeKind::PastEnd, who, AccessKind::Read, MemorySpace::Global, (address, size), memory);
        Some(range)
    }

    /// Returns whether an access past the end of LDS is allowed: it reads 0 and writes nothing, as on hardware.
    #[cold]
    pub(crate) fn past_lds(&mut self, who: Who, access: AccessKind, offset: u32, size: usize) -> bool {
        let zero = access == AccessKind::Read && offset == ZERO_OF_LDS;
        if self.notices.bounds == Bounds::Strict && !zero {
            return false;
        }
        let memory = Memory { base: 0, len: self.lds.size().into() };
        let at = (u64::from(offset), size as u64);
        self.note(NoticeKind::PastEnd, who, access, MemorySpace::Lds, at, memory);
        true
    }

    /// Returns whether hardware ignores floating-point atomics at an address.
    #[inline(always)]
    pub(crate) fn ignores_atomics(&mut self, address: u64) -> bool {
        self.code.target == Target::Gfx90a && self.mem.fine_grained(address).is_some()
    }

    /// Notes a floating-point atomic that hardware does not perform, and returns whether to do nothing.
    #[cold]
    pub(crate) fn ignored_atomic(&mut self, who: Who, address: u64, size: usize) -> bool {
        if let Some(memory) = self.mem.fine_grained(address) {
            let (kind, access) = (NoticeKind::FineGrainedAtomic, AccessKind::Atomic);
            self.note(kind, who, access, MemorySpace::Global, (address, size as u64), memory);
        }
        self.notices.fine_grained_atomics == FineGrainedAtomics::Drop
    }

    /// Loads the element of one lane from global memory; `None` if it is out of bounds.
    pub(crate) fn load_one<E: Element>(&mut self, who: Who, address: u64) -> Option<E> {
        self.mem.load_one(address).or_else(|| {
            let range = self
                .last_granule(who, address, E::SIZE)
                .or_else(|| self.past_end(who, AccessKind::Read, address, E::SIZE))?;
            range.load(address)
        })
    }

    /// Stores the element of one lane to global memory; `None` if it is out of bounds.
    pub(crate) fn store_one<E: Element>(&mut self, who: Who, address: u64, value: E) -> Option<()> {
        self.mem.store_one(address, value).or_else(|| {
            let range = self.past_end(who, AccessKind::Write, address, E::SIZE)?;
            range.store(address, value)
        })
    }

    /// Loads the element of one lane from LDS; `None` if it is out of bounds.
    pub(crate) fn load_lds<E: Element>(&mut self, who: Who, offset: u32) -> Option<E> {
        let value = self.lds.load_one(offset);
        value.or_else(|| {
            self.past_lds(who, AccessKind::Read, offset, E::SIZE)
                .then(|| E::from_bytes(self.dwords_before_end(offset, E::SIZE)))
        })
    }

    /// Returns the dwords of `size` bytes of LDS that are before its end, as those of gfx12 are loaded (RDNA4 ISA, 3.3.5.1). The others
    /// are 0, on other targets all.
    fn dwords_before_end(&self, offset: u32, size: usize) -> [u8; 16] {
        let mut bytes = [[0; 4]; 4];
        if self.code.target.is_gfx12() {
            for (n, dword) in (0..).zip(&mut bytes[..size / 4]) {
                let at = offset.checked_add(4 * n);
                *dword = at.and_then(|at| self.lds.load_u32(at)).unwrap_or(0).to_le_bytes();
            }
        }
        bytemuck::must_cast(bytes)
    }

    /// As [`load_lds`](Self::load_lds), for an atomic. Past the end its result is not stored.
    pub(crate) fn load_lds_for_atomic<E: Element>(&mut self, who: Who, offset: u32) -> Option<E> {
        let value = self.lds.load_one(offset);
        value.or_else(|| {
            self.past_lds(who, AccessKind::Atomic, offset, E::SIZE).then(|| E::from_bytes([0; 16]))
        })
    }

    /// Stores the element of one lane to LDS; `None` if it is out of bounds.
    pub(crate) fn store_lds<E: Element>(&mut self, who: Who, offset: u32, value: E) -> Option<()> {
        if let Some(stored) = self.lds.store_one(offset, value) {
            return Some(stored);
        }
        if !self.past_lds(who, AccessKind::Write, offset, E::SIZE) {
            return None;
        }
        // Of gfx12, the bytes before the end are stored (RDNA4 ISA, 3.3.5.1).
        if self.code.target.is_gfx12() {
            for (n, byte) in (0..).zip(value.to_bytes().into_iter().take(E::SIZE)) {
                let at = offset.checked_add(n);
                at.and_then(|at| self.lds.store_one(at, byte));
            }
        }
        Some(())
    }
}
