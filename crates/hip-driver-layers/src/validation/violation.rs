//! What the layer reports: each misuse typed, and said in a sentence with what to do about it.

use std::fmt;
use std::sync::Arc;

use hip_driver::{CallKind, DeviceId, RawFunction, RawGraphNode, RawStream, Work};

use super::memory::MemoryInfo;

/// What a record remembers of its work; names are looked up only when it is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Operation {
    pub(super) call: CallKind,
    pub(super) function: Option<RawFunction>,
    pub(super) node: Option<RawGraphNode>,
}

impl Operation {
    /// Work that is neither a kernel nor a node of a graph.
    pub(super) const fn of(call: CallKind) -> Operation {
        Operation { call, function: None, node: None }
    }

    /// Work that is enqueued or added by `call`.
    pub(super) const fn of_work(call: CallKind, work: &Work<'_>) -> Operation {
        let function = match work {
            Work::Kernel(launch) | Work::CooperativeKernel { launch, .. } => Some(launch.function),
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

/// Work that was enqueued and touches memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessInfo {
    /// The call that enqueued it, or that added it to a graph.
    pub call: CallKind,
    /// The kernel's name, if it is a launch.
    pub kernel: Option<Arc<str>>,
    /// The node, if it is one of a graph.
    pub node: Option<RawGraphNode>,
    /// Its stream, for a node the one that the graph was launched on; `None` for a blocking copy, and for a node of which
    /// no launch is meant.
    pub stream: Option<RawStream>,
    /// Its number among the work of its stream, from 1, all nodes of a launch having one; 0 where there is no stream.
    pub sequence: u64,
    /// Whether it writes the memory.
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
    /// Offset of the first byte.
    pub start: u64,
    /// Offset behind the last byte.
    pub end: u64,
}

impl fmt::Display for ByteRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bytes {}..{}", self.start, self.end)
    }
}

/// A misuse of a driver.
///
/// The ones about order ([`is_order`](Violation::is_order)) are recorded and the call goes through; any other call is
/// refused and does not reach the driver below. Notes are passed on whatever they say, but what is wrong in one of a
/// pool's changes nothing here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Violation {
    /// A handle that this driver never made.
    #[error("{call}: {kind} {handle:#x} was not made by this driver; pass a handle that it returned")]
    UnknownHandle {
        /// The call.
        call: CallKind,
        /// What the handle should be.
        kind: HandleKind,
        /// Its value.
        handle: u64,
    },
    /// A handle that was destroyed or unloaded before.
    #[error("{call}: {kind} {handle:#x} was destroyed before; keep it until its last use")]
    DestroyedHandle {
        /// The call.
        call: CallKind,
        /// What the handle was.
        kind: HandleKind,
        /// Its value.
        handle: u64,
    },
    /// A handle of another device.
    #[error("{call}: {kind} {handle:#x} belongs to {owner} and was used with {given}; name its own device")]
    HandleOfOtherDevice {
        /// The call.
        call: CallKind,
        /// What the handle is.
        kind: HandleKind,
        /// Its value.
        handle: u64,
        /// The device it was made for.
        owner: DeviceId,
        /// The device of the call.
        given: DeviceId,
    },
    /// Memory of another device, without peer access.
    #[error(
        "{call}: {address:#x} lies in {memory} and was used with {given}; use it there, copy it, or enable peer access"
    )]
    MemoryOfOtherDevice {
        /// The call.
        call: CallKind,
        /// The address.
        address: u64,
        /// What it lies in.
        memory: MemoryInfo,
        /// The device of the call.
        given: DeviceId,
    },
    /// An address in no memory of this driver, or in a pool's segment but in no block of it.
    #[error("{call}: {bytes} bytes at {address:#x} are in no memory of {device}{}", nearest_note(nearest))]
    UnknownAddress {
        /// The call.
        call: CallKind,
        /// The device of the call.
        device: DeviceId,
        /// The address.
        address: u64,
        /// Bytes the call would touch.
        bytes: u64,
        /// The memory that ends closest before the address.
        nearest: Option<MemoryInfo>,
    },
    /// A range that begins in memory and ends behind it.
    #[error(
        "{call}: {bytes} bytes at {address:#x} end {over} bytes behind {memory}; touch less or allocate more"
    )]
    OutOfRange {
        /// The call.
        call: CallKind,
        /// The address.
        address: u64,
        /// Bytes the call would touch.
        bytes: u64,
        /// Bytes of them behind the memory's end.
        over: u64,
        /// What it begins in.
        memory: MemoryInfo,
    },
    /// Memory used after it was freed.
    #[error("{call}: {address:#x} lies in {memory}, which was freed before; free it after its last use")]
    UseAfterFree {
        /// The call.
        call: CallKind,
        /// The address.
        address: u64,
        /// What it lay in.
        memory: MemoryInfo,
    },
    /// Memory freed twice.
    #[error("{call}: {memory} was freed before; free it once")]
    DoubleFree {
        /// The call.
        call: CallKind,
        /// What was freed.
        memory: MemoryInfo,
    },
    /// Freeing an address inside memory, or memory of another kind, or pinned memory under other parameters.
    #[error(
        "{call}: {address:#x} is not what this call frees: it lies in {memory}; free its start with the call that fits"
    )]
    WrongFree {
        /// The call.
        call: CallKind,
        /// The address.
        address: u64,
        /// What it lies in.
        memory: MemoryInfo,
    },
    /// A pool handed out bytes of a block that is live.
    #[error(
        "{call}: {bytes} bytes at {address:#x} overlap {live}, which is live; wait until it is given back"
    )]
    LiveOverlap {
        /// The call.
        call: CallKind,
        /// The address handed out.
        address: u64,
        /// Its length in bytes.
        bytes: u64,
        /// What is live.
        live: MemoryInfo,
    },
    /// A note of a pool about an address that is in memory, but not where the note's would be: a segment begins where an
    /// allocation of `malloc` does, and a block is inside a segment.
    #[error(
        "{call}: {address:#x} is not what this note is about: it lies in {memory}; name blocks inside of segments, and both by their starts"
    )]
    WrongPoolNote {
        /// The call.
        call: CallKind,
        /// The address.
        address: u64,
        /// What it lies in.
        memory: MemoryInfo,
    },
    /// Freeing a pool's segment while blocks in it are live.
    #[error(
        "{call} of {memory}, a pool's segment, while {blocks} blocks in it are live; give them back first"
    )]
    SegmentFreed {
        /// The call.
        call: CallKind,
        /// The segment.
        memory: MemoryInfo,
        /// How many blocks in it are live.
        blocks: usize,
    },
    /// A grid or block without work-items.
    #[error("{call} of `{kernel}`: grid {grid:?}, block {block:?}: none may be 0; launch nothing instead")]
    ZeroDimension {
        /// The call.
        call: CallKind,
        /// The kernel.
        kernel: Arc<str>,
        /// Workgroups in x, y and z.
        grid: [u32; 3],
        /// Work-items of a workgroup in x, y and z.
        block: [u32; 3],
    },
    /// A kernarg segment shorter than the kernel's metadata says: the driver would read past its end.
    #[error(
        "{call} of `{kernel}`: {given} bytes of kernarg, the kernel's metadata says {needed}; pad with zeros"
    )]
    ShortKernarg {
        /// The call.
        call: CallKind,
        /// The kernel.
        kernel: Arc<str>,
        /// Bytes given.
        given: usize,
        /// Bytes that the code object asks for.
        needed: usize,
    },
    /// Host memory of a graph's node that is not pinned: the node reads or writes it at any time.
    #[error("{call}: {bytes} bytes of host memory at {address:#x} are not pinned; a node's have to be")]
    NotPinned {
        /// The call.
        call: CallKind,
        /// The host address.
        address: u64,
        /// Bytes the node would touch.
        bytes: u64,
    },
    /// A dependency on what is no node of the graph.
    #[error("{call}: {node:#x} is no node of graph {graph:#x}; depend on nodes that were added to it")]
    NodeOfOtherGraph {
        /// The call.
        call: CallKind,
        /// The dependency's handle.
        node: u64,
        /// The graph's handle.
        graph: u64,
    },
    /// An allocation of no bytes.
    #[error("{call} of 0 bytes; allocate nothing instead")]
    ZeroBytes {
        /// The call.
        call: CallKind,
    },
    /// An address without the alignment that the call needs.
    #[error("{call}: {address:#x} is not aligned to {align} bytes")]
    Misaligned {
        /// The call.
        call: CallKind,
        /// The address.
        address: u64,
        /// The alignment in bytes.
        align: u64,
    },
    /// A copy whose source and destination overlap.
    #[error("{call}: {bytes} bytes from {src:#x} to {dst:#x} overlap; copy through other memory")]
    Overlap {
        /// The call.
        call: CallKind,
        /// The destination's address.
        dst: u64,
        /// The source's address.
        src: u64,
        /// Bytes to copy.
        bytes: u64,
    },
    /// Two pieces of work touch the same bytes, at least one writes, and nothing orders them.
    #[error(
        "race: {second} and {first} both touch {range} of {memory}, and nothing orders them; record an event behind the first and make the second's stream wait for it"
    )]
    Race {
        /// The work enqueued first.
        first: AccessInfo,
        /// The work enqueued second.
        second: AccessInfo,
        /// The memory.
        memory: MemoryInfo,
        /// Bytes that both touch.
        range: ByteRange,
    },
    /// Two nodes of a graph touch the same bytes, at least one writes, and neither depends on the other.
    #[error(
        "race in graph {graph:#x}: {second} and {first} both touch {range} of {memory}, and neither depends on the other; add the dependency"
    )]
    GraphRace {
        /// The graph's handle.
        graph: u64,
        /// The node added first.
        first: AccessInfo,
        /// The node added second.
        second: AccessInfo,
        /// The memory.
        memory: MemoryInfo,
        /// Bytes that both touch.
        range: ByteRange,
    },
    /// What was instantiated from a graph launched again on another stream, or destroyed, while a launch of it may run.
    #[error(
        "{call} of executable graph {exec:#x} while {in_flight} may still be in flight; order it after that"
    )]
    ExecInFlight {
        /// The call.
        call: CallKind,
        /// The executable graph's handle.
        exec: u64,
        /// The launch that may be in flight.
        in_flight: AccessInfo,
    },
    /// The host touches pinned memory that work in flight uses.
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
        /// Bytes that both touch.
        range: ByteRange,
    },
    /// Memory freed while work in flight uses it.
    #[error("{call} of {memory} while {in_flight} may still be in flight; order the free after it")]
    FreeInFlight {
        /// The call.
        call: CallKind,
        /// What was freed.
        memory: MemoryInfo,
        /// The work that may be in flight.
        in_flight: AccessInfo,
    },
    /// A module unloaded while one of its kernels may run.
    #[error("{call} of module {module:#x} while {in_flight} may still be in flight; wait for it first")]
    UnloadInFlight {
        /// The call.
        call: CallKind,
        /// The module's handle.
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
    /// Whether it is about the order of work: then the call that showed it went through.
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
        /// What it is.
        kind: HandleKind,
        /// Its device.
        device: DeviceId,
        /// Its value.
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

/// What [`assert_clean`](super::ValidationDriver::assert_clean) found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} violations, {} leaks{}", violations.len() + *dropped as usize, leaks.len(), self.lines())]
pub struct ValidationErrors {
    /// The violations kept, oldest first.
    pub violations: Vec<Violation>,
    /// Violations seen but not kept.
    pub dropped: u64,
    /// What is alive, where that was asked for.
    pub leaks: Vec<Leak>,
}

impl ValidationErrors {
    fn lines(&self) -> String {
        let violations = self.violations.iter().map(|v| format!("\n  {v}"));
        violations.chain(self.leaks.iter().map(|l| format!("\n  leak: {l}"))).collect()
    }
}
