//! Memory accesses in reports.

/// A kind of memory access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AccessKind {
    /// A load.
    Read,
    /// A store.
    Write,
    /// A read-modify-write.
    Atomic,
}

/// A memory that instructions access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MemorySpace {
    /// Device memory and mapped host memory.
    Global,
    /// The workgroup's LDS.
    Lds,
    /// The private memory of a work-item, which AMD's documents also call scratch.
    Scratch,
}

/// A lane and the address that it accessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LaneAddress {
    /// The lane, 0 to 63; `None` for scalar accesses.
    pub lane: Option<u8>,
    /// The guest address. For LDS and private memory, the offset in bytes.
    pub address: u64,
}

impl AccessKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            AccessKind::Read => "read",
            AccessKind::Write => "write",
            AccessKind::Atomic => "atomic",
        }
    }
}

impl MemorySpace {
    pub(crate) fn name(self) -> &'static str {
        match self {
            MemorySpace::Global => "global memory",
            MemorySpace::Lds => "LDS",
            MemorySpace::Scratch => "private memory",
        }
    }
}
