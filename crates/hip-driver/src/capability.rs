//! Capabilities: what a driver may be unable to do.

/// Something that a driver may be unable to do. A call that needs a capability which the driver lacks returns
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
    /// Access of kernels to pinned host memory.
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
    /// Graphs of kernels, copies and fills.
    Graphs,
    /// Other arguments for kernels of an executable graph. AMD's library has a function for it, which keeps what the arguments were
    /// (rocm-systems 10713), so that only drivers of our own have it.
    GraphUpdates,
    /// Waits for [values](super::Work::WaitValue) in memory, and [writes](super::Work::WriteValue) of them, in stream order.
    StreamValues,
    /// Kernels on [`RawStream::PER_THREAD`](super::RawStream::PER_THREAD).
    PerThreadStream,
    /// Kernels with the hidden argument `hidden_default_queue`. clang 22 gives it to those that call functions of other
    /// files, in code objects of every version; clang 15 does not in version 4.
    DefaultQueueArg,
    /// [Cooperative launches](super::Work::CooperativeKernel).
    CooperativeLaunch,
    /// Code objects for generic processors, such as gfx11-generic.
    GenericCodeObjects,
    /// Memory that host and devices access at one address.
    ManagedMemory,
    /// Device memory that several processes use.
    SharedMemory,
    /// Saying which device an address belongs to.
    PointerAttributes,
    /// [Captures](super::Driver::stream_begin_capture) of streams that get launches of modules' kernels.
    StreamCapture,
}

impl Capability {
    /// Every capability, in declaration order.
    pub const ALL: [Capability; 25] = [
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
        Capability::GraphUpdates,
        Capability::StreamValues,
        Capability::PerThreadStream,
        Capability::DefaultQueueArg,
        Capability::CooperativeLaunch,
        Capability::GenericCodeObjects,
        Capability::ManagedMemory,
        Capability::SharedMemory,
        Capability::PointerAttributes,
        Capability::StreamCapture,
    ];

    /// Returns the first HIP version that has it; `None` if all supported versions have it, or none.
    pub const fn since(self) -> Option<&'static str> {
        match self {
            Capability::StreamOrderedAllocator => Some("5.1"),
            Capability::HostFunc => Some("5.3"),
            // The functions are older, but 5.2 is the first version known to accept kernels of modules.
            Capability::Graphs => Some("5.2"),
            // The oldest seen to have it; 5.2.3 crashes.
            Capability::PerThreadStream | Capability::DefaultQueueArg => Some("6.4"),
            Capability::CooperativeLaunch => Some("5.5"),
            // libamdhip64 6.4.43484 knows every generic processor; the sources of 6.3 (clr, rocm-rel-6.3.0.1) know none, and
            // 5.2.21153 refuses code objects of version 6 with hipErrorSharedObjectInitFailed.
            Capability::GenericCodeObjects => Some("6.4"),
            // The oldest seen to capture launches of modules' kernels; 5.2.3 runs them at once.
            Capability::StreamCapture => Some("6.4"),
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

    /// Returns this set with `capability` added.
    #[must_use]
    pub const fn with(self, capability: Capability) -> Capabilities {
        Capabilities(self.0 | 1 << capability as u8)
    }

    /// Returns whether `capability` is in the set.
    pub const fn has(self, capability: Capability) -> bool {
        self.0 & 1 << capability as u8 != 0
    }

    /// Returns the capabilities of the set, in declaration order.
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
