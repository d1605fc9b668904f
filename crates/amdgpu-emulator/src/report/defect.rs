//! The defects that the sanitizer reports.

use std::fmt;

use code_object::SourceLocation;

use super::access::{AccessKind, LaneAddress, MemorySpace};
use super::source;

/// A kind of defect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DefectKind {
    /// A use of bytes that were never written: by a kernel, a copy, a fill or the host. Copying them is no defect.
    UninitializedRead,
    /// Two accesses to the same bytes by different waves, at least one of them a write, that nothing orders.
    DataRace,
    /// A floating-point atomic to fine-grained memory, which gfx90a's hardware does not perform.
    FineGrainedAtomic,
    /// A use of registers, or of bytes of LDS, before the load that writes them has ended.
    UseBeforeWait,
    /// An overwrite of registers, or of bytes of LDS, before the memory instruction that writes or reads them has
    /// ended.
    OverwriteBeforeWait,
    /// An access to bytes of LDS after a barrier, while an access of another wave from before the barrier may not have
    /// ended: that wave did not wait for it before the barrier.
    BarrierBeforeWait,
    /// Fewer wait states between two dependent instructions than the hardware needs.
    Hazard,
}

/// An instruction that accessed memory, with the workgroup, wave and lane that executed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// The kind of access. An instruction that uses registers too early reads, one that overwrites them writes.
    pub access: AccessKind,
    /// The position of the workgroup in the grid: x, y, z.
    pub workgroup: [u32; 3],
    /// The number of the wave in the workgroup, from 0.
    pub wave: u32,
    /// The lane, 0 to 63; `None` for scalar accesses.
    pub lane: Option<u8>,
    /// The ELF virtual address of the instruction.
    pub pc: u64,
    /// The function that contains the instruction, and the instruction's offset in bytes; `None` if no symbol covers
    /// it.
    pub function: Option<(String, u64)>,
    /// Where in the source the instruction is from, as far as debug information says. If its function was inlined, the
    /// places of the calls follow.
    pub source: Vec<SourceLocation>,
    /// The disassembled instruction.
    pub instruction: String,
}

/// A defect that the sanitizer found.
///
/// If the same instructions cause a defect several times, the first one is described and the others are
/// [counted](Self::count).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Defect {
    /// The kind of defect.
    pub kind: DefectKind,
    /// The memory that was accessed. If a wait is missing, the memory that the earlier instruction accesses.
    pub space: MemorySpace,
    /// Bytes that each lane accesses.
    pub size: u32,
    /// The lanes with the defect, at most sixteen, and their addresses; empty if the defect is one of
    /// [registers](Self::registers).
    pub lanes: Vec<LaneAddress>,
    /// The access. Of two instructions, the one that the emulator executed later.
    pub site: Site,
    /// The earlier instruction of a race or of a missing wait, or the one that uses what a load has read; `None` for other
    /// defects.
    pub other: Option<Site>,
    /// The registers that were used or overwritten too early, such as `v[2:3]`; `None` for other defects.
    pub registers: Option<String>,
    /// The wait that is missing after the earlier instruction, such as `s_waitcnt vmcnt(0)` or, for a hazard, `s_nop 1`;
    /// `None` for other defects.
    pub wait: Option<String>,
    /// The offset of the first address in its allocation, as text; `None` unless the space is [`MemorySpace::Global`].
    pub allocation: Option<String>,
    /// The number of accesses by these instructions that had the defect, including this one.
    pub count: u64,
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.workgroup;
        write!(f, "`{}` at {:#x}", self.instruction, self.pc)?;
        if let Some((name, offset)) = &self.function {
            write!(f, " ({name}+{offset:#x})")?;
        }
        source::write(f, &self.source)?;
        write!(f, ", workgroup ({x}, {y}, {z}), wave {}", self.wave)?;
        match self.lane {
            Some(lane) => write!(f, ", lane {lane}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.kind {
            DefectKind::UninitializedRead => "read of never-written bytes",
            DefectKind::DataRace => "data race",
            DefectKind::FineGrainedAtomic => "floating-point atomic, not performed on gfx90a hardware,",
            DefectKind::UseBeforeWait => "use before the load has ended",
            DefectKind::OverwriteBeforeWait => "overwrite before a memory instruction has ended",
            DefectKind::BarrierBeforeWait => "barrier before an access has ended",
            DefectKind::Hazard => "too few wait states",
        };
        match &self.registers {
            Some(registers) => write!(f, "{name}: {registers}")?,
            None => self.write_access(f, name)?,
        }
        write!(f, "; {}", self.site)?;
        match (&self.other, &self.wait) {
            (Some(other), None) if self.kind == DefectKind::UninitializedRead => {
                write!(f, "; used by `{}` at {:#x}", other.instruction, other.pc)?;
                source::write(f, &other.source)?;
            }
            (Some(other), None) => write!(f, "; not ordered after the {} by {other}", other.access.name())?,
            (Some(other), Some(wait)) if self.kind == DefectKind::BarrierBeforeWait => {
                write!(f, "; `{wait}` is missing between {other}, and the barrier")?;
            }
            (Some(other), Some(wait)) => write!(f, "; `{wait}` is missing after {other}")?,
            (None, _) => {}
        }
        if self.count > 1 {
            write!(f, "; {} times", self.count)?;
        }
        Ok(())
    }
}

impl Defect {
    /// Writes what was accessed.
    fn write_access(&self, f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
        write!(f, "{name} in {}: {} of {} bytes", self.space.name(), self.site.access.name(), self.size)?;
        for (n, lane) in self.lanes.iter().take(4).enumerate() {
            let separator = if n == 0 { " by" } else { "," };
            match lane.lane {
                Some(number) => write!(f, "{separator} lane {number} at {:#x}", lane.address)?,
                None => write!(f, "{separator} the wave at {:#x}", lane.address)?,
            }
        }
        if self.lanes.len() > 4 {
            f.write_str(", ...")?;
        }
        match &self.allocation {
            Some(allocation) => write!(f, " ({allocation})"),
            None => Ok(()),
        }
    }
}
