//! What is wrong with a graph.

use hip_driver::DeviceId;

/// Why a graph can't be recorded or computed. Nothing was submitted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GraphProblem {
    /// A value was made by another graph.
    #[error("value {value} is of another graph; make it with this one")]
    ForeignValue {
        /// The value's number.
        value: u32,
    },
    /// The stream is on another device.
    #[error("the stream is on another device than the graph, or of another launcher")]
    WrongDevice,
    /// A buffer is on another device.
    #[error(
        "the buffer of value {value} is on {buffer}, the graph on {graph}, or they are of two launchers; copy it first"
    )]
    ForeignBuffer {
        /// The value's number.
        value: u32,
        /// The buffer's device.
        buffer: DeviceId,
        /// The graph's.
        graph: DeviceId,
    },
    /// A view's elements have others between them.
    #[error(
        "the view for value {value} is not contiguous; give the graph its buffer, and the kernel offset and strides as arguments"
    )]
    NotContiguous {
        /// The value's number.
        value: u32,
    },
    /// A kernel was unregistered or replaced after the graph was recorded.
    #[error("kernel `{kernel}` was unregistered or replaced since the graph was compiled; record it again")]
    KernelChanged {
        /// The kernel's name.
        kernel: std::sync::Arc<str>,
    },
    /// Another buffer for what is none, or other bytes for what is no block.
    #[error(
        "value {value} was not recorded as that: buffers take buffers, blocks take bytes, temporaries neither"
    )]
    NotABuffer {
        /// The value's number.
        value: u32,
    },
    /// Another buffer, or other bytes, of another length.
    #[error(
        "{given} bytes for value {value}, which was recorded with {recorded}; record the graph again for other lengths"
    )]
    OtherLength {
        /// The value's number.
        value: u32,
        /// Its length in bytes.
        recorded: u64,
        /// That of what was given for it.
        given: u64,
    },
    /// Another scalar for what takes none.
    #[error(
        "argument {argument} is not one that is passed by value; name a scalar or struct of a recorded launch"
    )]
    NotByValue {
        /// The argument, from 0.
        argument: usize,
    },
    /// A node would have to come before itself.
    #[error(
        "node {after} can't come after node {before}, which is it or was recorded later: nodes run in the order of recording"
    )]
    Cycle {
        /// The node that was to come first.
        before: u32,
        /// The node that was to come after it.
        after: u32,
    },
    /// There is no such node.
    #[error("there are {nodes} nodes; name one that this graph recorded")]
    NoNode {
        /// Nodes recorded so far.
        nodes: u32,
    },
    /// The kernel is another launcher's, or registered on another device.
    #[error("kernel `{kernel}` is registered on another device than the graph's")]
    ForeignKernel {
        /// The kernel's name.
        kernel: std::sync::Arc<str>,
    },
    /// Bytes of a temporary are read that no node wrote.
    #[error("bytes {start}..{end} of temporary {value} are read, but no node before wrote them all")]
    NeverWritten {
        /// The temporary's number.
        value: u32,
        /// First byte read.
        start: u64,
        /// One past the last.
        end: u64,
    },
    /// A range leaves its value.
    #[error("bytes {start}..{end} of a value of {bytes}")]
    OutOfRange {
        /// First byte.
        start: u64,
        /// One past the last.
        end: u64,
        /// The value's length in bytes.
        bytes: u64,
    },
    /// Lengths of a copy differ.
    #[error("a copy of {from} bytes to {to}")]
    LengthsDiffer {
        /// Bytes of the source.
        from: u64,
        /// Bytes of the destination.
        to: u64,
    },
    /// A copy onto its own bytes.
    #[error("a copy whose source and destination overlap")]
    CopyOverlaps,
    /// A kernel that is not declared in place writes bytes that it also reads through another argument.
    #[error("arguments {reads} and {writes} overlap, and the kernel is not declared in place")]
    Overlap {
        /// The argument that is read.
        reads: usize,
        /// The argument that is written.
        writes: usize,
    },
    /// A block is written, or a use is named before any node.
    #[error("block {value} is written, or a use of it is named before any node; blocks are for reading")]
    BlockWritten {
        /// The value's number.
        value: u32,
    },
    /// The driver has no graphs, or the graph can't be one: it reads bytes that it overwrites later.
    #[error("it can't be submitted as a driver's graph: {0}; submit it with `Submission::Stream`")]
    NoDriverGraph(Box<str>),
    /// The temporaries can't be planned.
    #[error("planning its temporaries: {0}")]
    Plan(Box<str>),
    /// A value is larger than can be addressed.
    #[error("{0} bytes are more than can be addressed")]
    TooLarge(u64),
}
