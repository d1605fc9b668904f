//! Optional abilities of a driver: each a typed capability, never a panic.

/// An ability that a driver may lack. A call that needs an absent one returns
/// [`ErrorCode::NOT_SUPPORTED`](super::ErrorCode::NOT_SUPPORTED).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum Capability {
    /// Streams with a priority.
    StreamPriority,
    /// Time between two events.
    EventTiming,
    /// Asynchronous copies within a device.
    CopyDeviceToDevice,
    /// Asynchronous copies between devices.
    CopyPeer,
    /// Asynchronous fills.
    Memset,
    /// Blocking copies (`hipMemcpyHtoD`, `hipMemcpyDtoH`).
    BlockingCopy,
    /// Free and total device memory.
    MemInfo,
    /// Addresses of a module's global variables.
    ModuleGlobals,
    /// Kernels can address pinned host memory.
    MappedHostMemory,
    /// Pinning memory that the caller allocated.
    HostRegister,
    /// Access to another device's memory.
    PeerAccess,
    /// Occupancy computed by the driver.
    Occupancy,
    /// `hipMallocAsync`, `hipFreeAsync` and memory pools.
    StreamOrderedAllocator,
    /// Host functions in stream order.
    HostFunc,
    /// Graphs made node by node, of kernels, copies and fills.
    Graphs,
    /// Memory that host and devices access at one address.
    ManagedMemory,
    /// Device memory that several processes use.
    SharedMemory,
    /// Saying which device an address belongs to.
    PointerAttributes,
}

impl Capability {
    /// Every capability, in declaration order.
    pub const ALL: [Capability; 18] = [
        Capability::StreamPriority,
        Capability::EventTiming,
        Capability::CopyDeviceToDevice,
        Capability::CopyPeer,
        Capability::Memset,
        Capability::BlockingCopy,
        Capability::MemInfo,
        Capability::ModuleGlobals,
        Capability::MappedHostMemory,
        Capability::HostRegister,
        Capability::PeerAccess,
        Capability::Occupancy,
        Capability::StreamOrderedAllocator,
        Capability::HostFunc,
        Capability::Graphs,
        Capability::ManagedMemory,
        Capability::SharedMemory,
        Capability::PointerAttributes,
    ];

    /// The first HIP version that has it, where that is later than 4.0.
    pub const fn since(self) -> Option<&'static str> {
        match self {
            Capability::StreamOrderedAllocator => Some("5.1"),
            Capability::HostFunc => Some("5.3"),
            // The calls are older; kernels of modules are known to be taken from here on.
            Capability::Graphs => Some("5.2"),
            _ => None,
        }
    }
}

/// A set of [`Capability`]s.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Capabilities(u64);

impl Capabilities {
    /// The empty set.
    pub const NONE: Capabilities = Capabilities(0);

    /// This set and one more.
    #[must_use]
    pub const fn with(self, capability: Capability) -> Capabilities {
        Capabilities(self.0 | 1 << capability as u8)
    }

    /// Whether `capability` is in the set.
    pub const fn has(self, capability: Capability) -> bool {
        self.0 & 1 << capability as u8 != 0
    }

    /// What is in the set, in declaration order.
    pub fn iter(self) -> impl Iterator<Item = Capability> {
        Capability::ALL.into_iter().filter(move |c| self.has(*c))
    }
}

impl FromIterator<Capability> for Capabilities {
    fn from_iter<I: IntoIterator<Item = Capability>>(iter: I) -> Self {
        iter.into_iter().fold(Capabilities::NONE, Capabilities::with)
    }
}

impl std::fmt::Debug for Capabilities {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
