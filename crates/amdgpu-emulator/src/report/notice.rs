//! Accesses that the emulator performed although hardware, or strict bounds, would not.

use std::fmt;

use super::access::{AccessKind, MemorySpace};
use super::defect::{Defect, DefectKind, Site};

/// Why an access is noted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum NoticeKind {
    /// It is past the end of an allocation and in its last page, or past the end of LDS, which
    /// [`Bounds::Pages`](crate::Bounds::Pages) allows and [`Bounds::Strict`](crate::Bounds::Strict) does not.
    PastEnd,
    /// It is a floating-point atomic to fine-grained memory, which gfx90a's hardware does not perform.
    FineGrainedAtomic,
}

impl NoticeKind {
    /// Returns the name that JSON documents and Python use: `past_end` or `fine_grained_atomic`.
    pub fn name(self) -> &'static str {
        match self {
            NoticeKind::PastEnd => "past_end",
            NoticeKind::FineGrainedAtomic => "fine_grained_atomic",
        }
    }
}

/// An instruction whose accesses are noted.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Notice {
    /// Why.
    pub kind: NoticeKind,
    /// The kernel's name.
    pub kernel: String,
    /// The memory that was accessed.
    pub space: MemorySpace,
    /// Bytes that each lane accesses.
    pub size: u32,
    /// The instruction, and who executed it first.
    pub site: Site,
    /// The address of the first such access. For LDS, the offset in bytes.
    pub address: u64,
    /// The first address of the memory that the first such access meant: of an allocation, or 0 for LDS.
    pub base: u64,
    /// The length of that memory in bytes.
    pub len: u64,
    /// How far past the end of their memory the accesses of [`NoticeKind::PastEnd`] went at most, in bytes; otherwise 0.
    pub past: u64,
    /// The number of such accesses by this instruction. Each lane counts.
    pub count: u64,
}

impl Notice {
    /// Adds the notice to a list, in which each instruction has one notice of a kind.
    pub fn add_to(self, notices: &mut Vec<Notice>) {
        let same = |other: &&mut Notice| {
            (other.kind, other.site.pc, &other.kernel) == (self.kind, self.site.pc, &self.kernel)
        };
        match notices.iter_mut().find(same) {
            Some(known) => {
                known.count += self.count;
                known.past = known.past.max(self.past);
            }
            None => notices.push(self),
        }
    }

    /// Describes the accesses without the kernel's name and who made the first.
    pub fn brief(&self) -> String {
        let source = self.site.source.first().map(|at| format!(", at {at}")).unwrap_or_default();
        format!("{}; `{}` at {:#x}{source}", self.accesses(), self.site.instruction, self.site.pc)
    }

    /// Describes the accesses and the memory.
    fn accesses(&self) -> String {
        let (access, space, size) = (self.site.access.name(), self.space.name(), self.size);
        let (memory, address) = (self.memory(), self.address);
        match self.kind {
            NoticeKind::PastEnd => format!(
                "{access} of {size} bytes in {space}, up to {} bytes past the end of {memory}: address {address:#x}",
                self.past
            ),
            NoticeKind::FineGrainedAtomic => format!(
                "floating-point atomic of {size} bytes at {address:#x} in fine-grained memory {memory}, not performed on gfx90a \
                 hardware"
            ),
        }
    }

    /// Describes the memory that the first access meant.
    fn memory(&self) -> String {
        let (base, len) = (self.base, self.len);
        match self.space {
            MemorySpace::Lds => format!("the workgroup's {len} bytes"),
            _ => format!("{base:#x}..{:#x} ({len} bytes)", base.wrapping_add(len)),
        }
    }
}

impl From<&Notice> for Defect {
    fn from(notice: &Notice) -> Defect {
        Defect {
            kind: DefectKind::FineGrainedAtomic,
            space: notice.space,
            size: notice.size,
            lanes: vec![super::access::LaneAddress { lane: notice.site.lane, address: notice.address }],
            site: notice.site.clone(),
            other: None,
            allocation: Some(format!(
                "byte {} of {}, fine-grained memory",
                notice.address.wrapping_sub(notice.base),
                notice.memory()
            )),
            registers: None,
            wait: None,
            count: notice.count,
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.accesses(), self.site)?;
        if self.count > 1 {
            write!(f, "; {} times", self.count)?;
        }
        Ok(())
    }
}

/// The first of the noted accesses of an instruction, and their number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Noted {
    pub(crate) workgroup: [u32; 3],
    pub(crate) wave: u32,
    pub(crate) lane: Option<u8>,
    pub(crate) access: AccessKind,
    pub(crate) space: MemorySpace,
    pub(crate) size: u32,
    pub(crate) address: u64,
    pub(crate) base: u64,
    pub(crate) len: u64,
    pub(crate) past: u64,
    pub(crate) count: u64,
}

impl Noted {
    /// Adds the accesses of `other`, which are later.
    pub(crate) fn merge(&mut self, other: &Noted) {
        self.count += other.count;
        self.past = self.past.max(other.past);
    }
}
