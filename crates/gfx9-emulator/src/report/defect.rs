//! What the sanitizer reports.

use std::fmt;

use super::access::{AccessKind, LaneAddress, Space};

/// What is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DefectKind {
    /// A read of bytes that nothing has written: no copy, no fill, no kernel.
    UninitializedRead,
    /// Two accesses to the same bytes, of different waves, one of them a write, that nothing orders.
    DataRace,
}

/// An instruction that accessed memory, and who executed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// What it did.
    pub access: AccessKind,
    /// The workgroup.
    pub workgroup: [u32; 3],
    /// The wave in the workgroup.
    pub wave: u32,
    /// The lane; none for scalar accesses.
    pub lane: Option<u8>,
    /// ELF virtual address of the instruction.
    pub pc: u64,
    /// The function that it is in and the offset in bytes, where that is known.
    pub function: Option<(String, u64)>,
    /// The instruction, disassembled.
    pub instruction: String,
}

/// One defect that the sanitizer found: the first of those that the same instructions made.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Defect {
    /// What is wrong.
    pub kind: DefectKind,
    /// Which memory.
    pub space: Space,
    /// Bytes that each lane accesses.
    pub size: u32,
    /// The lanes of the access in question, the first sixteen, and their addresses.
    pub lanes: Vec<LaneAddress>,
    /// The access: of a race the later one, as it was run.
    pub site: Site,
    /// Of a race: the other access.
    pub other: Option<Site>,
    /// For global memory: the allocation that the first address is in.
    pub allocation: Option<String>,
    /// How many accesses by these instructions had the defect, this one included.
    pub count: u64,
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.workgroup;
        write!(f, "`{}` at {:#x}", self.instruction, self.pc)?;
        if let Some((name, offset)) = &self.function {
            write!(f, " ({name}+{offset:#x})")?;
        }
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
        };
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
        if let Some(allocation) = &self.allocation {
            write!(f, " ({allocation})")?;
        }
        write!(f, "; {}", self.site)?;
        if let Some(other) = &self.other {
            write!(f, "; not ordered after the {} by {other}", other.access.name())?;
        }
        if self.count > 1 {
            write!(f, "; {} times", self.count)?;
        }
        Ok(())
    }
}
