//! Accesses to memory, as reports name them.

/// Which kind of access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AccessKind {
    /// A load.
    Read,
    /// A store.
    Write,
    /// A read-modify-write.
    Atomic,
}

/// Which memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Space {
    /// Device memory and mapped host memory.
    Global,
    /// The workgroup's LDS.
    Lds,
    /// The work-item's scratch.
    Scratch,
}

/// One lane's access that faulted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LaneAddress {
    /// The lane, 0 to 63; none for scalar accesses.
    pub lane: Option<u8>,
    /// The address; in LDS and scratch the offset.
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

impl Space {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Space::Global => "global memory",
            Space::Lds => "LDS",
            Space::Scratch => "scratch",
        }
    }
}
