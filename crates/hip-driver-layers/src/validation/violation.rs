//! Violations and leaks. Each has a type, and a message that says what to do.

use std::fmt;
use std::sync::Arc;

use hip_driver::{CallKind, DeviceId, ObservedKind, RawFunction, RawGraphNode, RawStream, Work};

use super::memory::MemoryInfo;

/// What a record keeps of its work. Names are looked up when it is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Operation {
    pub(super) call: CallKind,
    pub(super) function: Option<RawFunction>,
    pub(super) node: Option<RawGraphNode>,
}

impl Operation {
    /// Creates the operation of work that is neither a kernel nor a node.
    pub(super) const fn of(call: CallKind) -> Operation {
        Operation { call, function: None, node: None }
    }

    /// Creates the operation of work that `call` enqueues or adds to a graph.
    pub(super) const fn of_work(call: CallKind, work: &Work<'_>) -> Operation {
        let function = match work {
            Work::Kernel(launch)
            | Work::CooperativeKernel { launch, .. }
            | Work::PartialKernel { launch, .. } => Some(launch.function),
            _ => None,
        };
        Operation { call, function, node: None }
    }
}

/// A kind of handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HandleKind {
    /// [`RawStream`].
    Stream,
    /// [`RawEvent`](hip_driver::RawEvent).
    Event,
    /// [`RawModule`](hip_driver::RawModule).
    Module,
    /// [`RawFunction`].
    Kernel,
    /// [`RawGraph`](hip_driver::RawGraph).
    Graph,
    /// [`RawGraphExec`](hip_driver::RawGraphExec).
    GraphExec,
}

impl fmt::Display for HandleKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            HandleKind::Stream => "stream",
            HandleKind::Event => "event",
            HandleKind::Module => "module",
            HandleKind::Kernel => "kernel",
            HandleKind::Graph => "graph",
            HandleKind::GraphExec => "executable graph",
        })
    }
}

/// The kernel and its argument that an address was for; neither for other work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelUse {
    /// The kernel's name.
    pub kernel: Option<Arc<str>>,
    /// The argument that has the address, from 0; `None` if the code object could not be read.
    pub argument: Option<usize>,
}

impl fmt::Display for KernelUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(kernel) = &self.kernel else { return Ok(()) };
        write!(f, " of `{kernel}`")?;
        self.argument.map_or(Ok(()), |argument| write!(f, ", argument {argument}"))
    }
}

/// A piece of work or a node, and how it accesses memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessInfo {
    /// The call that enqueued the work or added the node.
    pub call: CallKind,
    /// The kernel's name, for a kernel.
    pub kernel: Option<Arc<str>>,
    /// The node, for a node of a graph.
    pub node: Option<RawGraphNode>,
    /// The stream; for a node, that of the graph's launch. `None` for a blocking copy, and for a node without a launch.
    pub stream: Option<RawStream>,
    /// The number among the work of its stream, from 1; all nodes of a launch have the same. 0 without a stream.
    pub sequence: u64,
    /// Whether it writes the memory. If not, it reads it.
    pub write: bool,
}

impl fmt::Display for AccessInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.call.name())?;
        if let Some(kernel) = &self.kernel {
            write!(f, " of `{kernel}`")?;
        }
        f.write_str(" (")?;
        if let Some(node) = self.node {
            write!(f, "graph node {:#x}, ", node.0)?;
        }
        if let Some(stream) = self.stream {
            write!(f, "no. {} on stream {:#x}, ", self.sequence, stream.0)?;
        }
        f.write_str(if self.write { "writes)" } else { "reads)" })
    }
}

/// A range of bytes in a piece of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteRange {
    /// The offset of the first byte.
    pub start: u64,
    /// The offset after the last byte.
    pub end: u64,
}

impl fmt::Display for ByteRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bytes {}..{}", self.start, self.end)
    }
}

/// A misuse of a driver.
///
/// A call with a violation of order ([`is_order`](Violation::is_order)) is passed on. A call with any other violation
/// is refused and does not reach the driver below. Notes are always passed on, but the layer ignores a note of a pool
/// that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Violation {
    /// A handle that this driver never returned.
    #[error("{call}: {kind} {handle:#x} was never returned by this driver; pass a handle that it returned")]
    UnknownHandle {
        /// The call.
        call: ObservedKind,
        /// The kind of the handle.
        kind: HandleKind,
        /// The handle's value.
        handle: u64,
    },
    /// A handle that was destroyed or unloaded before.
    #[error("{call}: {kind} {handle:#x} was destroyed before; keep it until its last use")]
    DestroyedHandle {
        /// The call.
        call: ObservedKind,
        /// The kind of the handle.
        kind: HandleKind,
        /// The handle's value.
        handle: u64,
    },
    /// A handle of another device.
    #[error("{call}: {kind} {handle:#x} belongs to {owner} and was used with {given}; name its own device")]
    HandleOfOtherDevice {
        /// The call.
        call: ObservedKind,
        /// The kind of the handle.
        kind: HandleKind,
        /// The handle's value.
        handle: u64,
        /// The device to which it belongs.
        owner: DeviceId,
        /// The device of the call.
        given: DeviceId,
    },
    /// Memory of another device, without peer access.
    #[error(
        "{call}{kernel}: {address:#x} lies in {memory} and was used with {given}; use it there, copy it, or enable peer access"
    )]
    MemoryOfOtherDevice {
        /// The call.
        call: ObservedKind,
        /// The kernel that the address was for.
        kernel: KernelUse,
        /// The address.
        address: u64,
        /// The memory that contains the address.
        memory: MemoryInfo,
        /// The device of the call.
        given: DeviceId,
    },
    /// An address in no memory of this driver, or in a pool segment but in none of its blocks.
    #[error(
        "{call}{kernel}: {bytes} bytes at {address:#x} are in no memory of {device}{}",
        nearest_note(nearest)
    )]
    UnknownAddress {
        /// The call.
        call: ObservedKind,
        /// The kernel that the address was for.
        kernel: KernelUse,
        /// The device of the call.
        device: DeviceId,
        /// The address.
        address: u64,
        /// The number of bytes that the call would access.
        bytes: u64,
        /// The memory that ends closest before the address.
        nearest: Option<MemoryInfo>,
    },
    /// A range that begins in memory and ends after the memory's end.
    #[error(
        "{call}{kernel}: {bytes} bytes at {address:#x} end {over} bytes after the end of {memory}; access less or allocate more"
    )]
    OutOfRange {
        /// The call.
        call: ObservedKind,
        /// The kernel that the address was for.
        kernel: KernelUse,
        /// The address.
        address: u64,
        /// The number of bytes that the call would access.
        bytes: u64,
        /// The number of these bytes after the memory's end.
        over: u64,
        /// The memory in which the range begins.
        memory: MemoryInfo,
    },
    /// Memory used after it was freed.
    #[error(
        "{call}{kernel}: {address:#x} lies in {memory}, which was freed before; free it after its last use"
    )]
    UseAfterFree {
        /// The call.
        call: ObservedKind,
        /// The kernel that the address was for.
        kernel: KernelUse,
        /// The address.
        address: u64,
        /// The memory that contained the address.
        memory: MemoryInfo,
    },
    /// Memory freed twice.
    #[error("{call}: {memory} was freed before; free it once")]
    DoubleFree {
        /// The call.
        call: ObservedKind,
        /// The memory that was freed.
        memory: MemoryInfo,
    },
    /// A free of an address inside memory, of memory of another kind, or of pinned memory with other parameters.
    #[error(
        "{call}: {address:#x} is not what this call frees: it lies in {memory}; free its start with the call that fits"
    )]
    WrongFree {
        /// The call.
        call: ObservedKind,
        /// The address.
        address: u64,
        /// The memory that contains the address.
        memory: MemoryInfo,
    },
    /// A pool allocated, or a caller pinned, bytes that overlap live memory.
    #[error("{call}: {bytes} bytes at {address:#x} overlap {live}, which is live; wait until it is freed")]
    LiveOverlap {
        /// The call.
        call: ObservedKind,
        /// The address.
        address: u64,
        /// The length in bytes.
        bytes: u64,
        /// The live memory.
        live: MemoryInfo,
    },
    /// A note of a pool about an address to which it cannot apply: a pool segment begins where an allocation of
    /// `malloc` does, and a block lies inside a pool segment.
    #[error(
        "{call}: {address:#x} cannot have this note: it lies in {memory}; send notes about the start of a pool segment, or of a block inside one"
    )]
    WrongPoolNote {
        /// The call.
        call: ObservedKind,
        /// The address.
        address: u64,
        /// The memory that contains the address.
        memory: MemoryInfo,
    },
    /// A free of a pool segment while blocks in it are live.
    #[error("{call} of {memory}, a pool segment, while {blocks} blocks in it are live; free them first")]
    SegmentFreed {
        /// The call.
        call: ObservedKind,
        /// The pool segment.
        memory: MemoryInfo,
        /// The number of live blocks in it.
        blocks: usize,
    },
    /// A grid or block without work-items.
    #[error("{call} of `{kernel}`: grid {grid:?}, block {block:?}: none may be 0; launch nothing instead")]
    ZeroDimension {
        /// The call.
        call: ObservedKind,
        /// The kernel.
        kernel: Arc<str>,
        /// The number of workgroups in x, y and z.
        grid: [u32; 3],
        /// The number of work-items of a workgroup in x, y and z.
        block: [u32; 3],
    },
    /// A kernarg segment that is shorter than the kernel's metadata says: the driver would read past its end.
    #[error(
        "{call} of `{kernel}`: {given} bytes of kernarg, the kernel's metadata says {needed}; pad with zeros"
    )]
    ShortKernarg {
        /// The call.
        call: ObservedKind,
        /// The kernel.
        kernel: Arc<str>,
        /// The number of bytes in the launch.
        given: usize,
        /// The number of bytes that the code object requires.
        needed: usize,
    },
    /// Host memory of a node that is not pinned: the node may read or write it at any time.
    #[error("{call}: {bytes} bytes of host memory at {address:#x} are not pinned; pin what a node accesses")]
    NotPinned {
        /// The call.
        call: ObservedKind,
        /// The host address.
        address: u64,
        /// The number of bytes that the node would access.
        bytes: u64,
    },
    /// A dependency that is not a node of the graph.
    #[error("{call}: {node:#x} is not a node of graph {graph:#x}; depend on nodes that were added to it")]
    NodeOfOtherGraph {
        /// The call.
        call: ObservedKind,
        /// The handle of the dependency.
        node: u64,
        /// The handle of the graph.
        graph: u64,
    },
    /// An allocation of no bytes.
    #[error("{call} of 0 bytes; allocate nothing instead")]
    ZeroBytes {
        /// The call.
        call: ObservedKind,
    },
    /// An address that is not aligned as the call requires.
    #[error("{call}: {address:#x} is not aligned to {align} bytes")]
    Misaligned {
        /// The call.
        call: ObservedKind,
        /// The address.
        address: u64,
        /// The alignment in bytes.
        align: u64,
    },
    /// A copy whose source and destination overlap.
    #[error("{call}: {bytes} bytes from {src:#x} to {dst:#x} overlap; copy through other memory")]
    Overlap {
        /// The call.
        call: ObservedKind,
        /// The destination's address.
        dst: u64,
        /// The source's address.
        src: u64,
        /// The number of bytes to copy.
        bytes: u64,
    },
    /// Two pieces of work access the same bytes, at least one writes, and nothing orders them.
    #[error(
        "race: {second} and {first} both access {range} of {memory}, and nothing orders them; record an event after the first and make the second's stream wait for it"
    )]
    Race {
        /// The work that was enqueued first.
        first: AccessInfo,
        /// The work that was enqueued second.
        second: AccessInfo,
        /// The memory.
        memory: MemoryInfo,
        /// The bytes that both access.
        range: ByteRange,
    },
    /// Two nodes of a graph access the same bytes, at least one writes, and neither depends on the other.
    #[error(
        "race in graph {graph:#x}: {second} and {first} both access {range} of {memory}, and neither depends on the other; add the dependency"
    )]
    GraphRace {
        /// The handle of the graph.
        graph: u64,
        /// The node that was added first.
        first: AccessInfo,
        /// The node that was added second.
        second: AccessInfo,
        /// The memory.
        memory: MemoryInfo,
        /// The bytes that both access.
        range: ByteRange,
    },
    /// An executable graph was launched on another stream, or destroyed, while a launch of it may be in flight.
    #[error(
        "{call} of executable graph {exec:#x} while {in_flight} may still be in flight; order it after that"
    )]
    ExecInFlight {
        /// The call.
        call: ObservedKind,
        /// The handle of the executable graph.
        exec: u64,
        /// The launch that may be in flight.
        in_flight: AccessInfo,
    },
    /// The host accesses pinned memory that work in flight uses.
    #[error(
        "the host {} {range} of {memory} while {in_flight} may still be in flight; wait for its event or stream first",
        if *write { "writes" } else { "reads" }
    )]
    HostRace {
        /// Whether the host writes.
        write: bool,
        /// The work that may be in flight.
        in_flight: AccessInfo,
        /// The memory.
        memory: MemoryInfo,
        /// The bytes that both access.
        range: ByteRange,
    },
    /// Memory was freed while work in flight uses it.
    #[error("{call} of {memory} while {in_flight} may still be in flight; order the free after it")]
    FreeInFlight {
        /// The call.
        call: ObservedKind,
        /// The memory that was freed.
        memory: MemoryInfo,
        /// The work that may be in flight.
        in_flight: AccessInfo,
    },
    /// A module was unloaded while one of its kernels may be in flight.
    #[error("{call} of module {module:#x} while {in_flight} may still be in flight; wait for it first")]
    UnloadInFlight {
        /// The call.
        call: ObservedKind,
        /// The handle of the module.
        module: u64,
        /// The launch that may be in flight.
        in_flight: AccessInfo,
    },
}

fn nearest_note(nearest: &Option<MemoryInfo>) -> String {
    match nearest {
        Some(memory) => format!("; the nearest before it is {memory}"),
        None => "; allocate it with this driver".to_owned(),
    }
}

impl Violation {
    pub(super) fn other_device(
        call: ObservedKind,
        address: u64,
        memory: MemoryInfo,
        given: DeviceId,
    ) -> Violation {
        Violation::MemoryOfOtherDevice { call, kernel: KernelUse::default(), address, memory, given }
    }

    pub(super) fn unknown_address(
        call: ObservedKind,
        device: DeviceId,
        address: u64,
        bytes: u64,
        nearest: Option<MemoryInfo>,
    ) -> Violation {
        Violation::UnknownAddress { call, kernel: KernelUse::default(), device, address, bytes, nearest }
    }

    pub(super) fn use_after_free(call: ObservedKind, address: u64, memory: MemoryInfo) -> Violation {
        Violation::UseAfterFree { call, kernel: KernelUse::default(), address, memory }
    }

    /// `room` is the number of bytes from the address to the memory's end.
    pub(super) fn out_of_range(
        call: ObservedKind,
        address: u64,
        bytes: u64,
        room: u64,
        memory: MemoryInfo,
    ) -> Violation {
        let (kernel, over) = (KernelUse::default(), bytes - room);
        Violation::OutOfRange { call, kernel, address, bytes, over, memory }
    }

    /// Names the kernel for which an address is wrong.
    pub(super) fn of_kernel(mut self: Box<Self>, named: impl FnOnce(u64) -> KernelUse) -> Box<Self> {
        if let Violation::MemoryOfOtherDevice { kernel, address, .. }
        | Violation::UnknownAddress { kernel, address, .. }
        | Violation::OutOfRange { kernel, address, .. }
        | Violation::UseAfterFree { kernel, address, .. } = &mut *self
        {
            *kernel = named(*address);
        }
        self
    }

    /// Returns whether the violation is about the order of work. The call with such a violation was passed on.
    pub fn is_order(&self) -> bool {
        matches!(
            self,
            Violation::Race { .. }
                | Violation::GraphRace { .. }
                | Violation::ExecInFlight { .. }
                | Violation::HostRace { .. }
                | Violation::FreeInFlight { .. }
                | Violation::UnloadInFlight { .. }
        )
    }
}

/// Something that was never freed, destroyed or unloaded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Leak {
    /// Memory.
    Memory(MemoryInfo),
    /// A stream, event, module or graph.
    Handle {
        /// The kind of the handle.
        kind: HandleKind,
        /// The device to which it belongs.
        device: DeviceId,
        /// The handle's value.
        handle: u64,
    },
}

impl fmt::Display for Leak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Leak::Memory(memory) => write!(f, "{memory} was never freed"),
            Leak::Handle { kind, device, handle } => {
                write!(f, "{kind} {handle:#x} of {device} was never destroyed")
            }
        }
    }
}

/// The violations and leaks that [`assert_clean`](super::ValidationDriver::assert_clean) found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} violations, {} leaks{}", violations.len() + *dropped as usize, leaks.len(), self.lines())]
pub struct ValidationErrors {
    /// The violations that were kept, oldest first.
    pub violations: Vec<Violation>,
    /// The number of violations that were found but not kept.
    pub dropped: u64,
    /// What is alive, for [`assert_clean_and_empty`](super::ValidationDriver::assert_clean_and_empty).
    pub leaks: Vec<Leak>,
}

impl ValidationErrors {
    fn lines(&self) -> String {
        let violations = self.violations.iter().map(|v| format!("\n  {v}"));
        violations.chain(self.leaks.iter().map(|l| format!("\n  leak: {l}"))).collect()
    }
}
