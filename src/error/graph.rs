//! Errors of recording and computing graphs.

use hip_driver::DeviceId;

/// The reason why a graph can't be recorded or computed. Nothing was submitted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GraphProblem {
    /// A value is of another graph.
    #[error("value {value} is of another graph; create it with this one")]
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
        /// The graph's device.
        graph: DeviceId,
    },
    /// The elements of a view are not contiguous.
    #[error(
        "the view for value {value} is not contiguous; give the graph its buffer, and the kernel offset and strides as arguments"
    )]
    NotContiguous {
        /// The value's number.
        value: u32,
    },
    /// A kernel was unregistered after the graph was recorded.
    #[error("kernel `{kernel}` was unregistered since the graph was recorded; record it again")]
    KernelChanged {
        /// The kernel's name.
        kernel: std::sync::Arc<str>,
    },
    /// Another buffer was set for a value that is no buffer, or other bytes for one that is no argument block.
    #[error(
        "value {value} is of another kind: buffers take buffers, argument blocks take bytes, temporaries nothing"
    )]
    NotABuffer {
        /// The value's number.
        value: u32,
    },
    /// A buffer or bytes of another length were set.
    #[error(
        "{bytes} bytes for value {value}, which was recorded with {recorded}; record the graph again for other lengths"
    )]
    OtherLength {
        /// The value's number.
        value: u32,
        /// Its length in bytes.
        recorded: u64,
        /// The length in bytes of what was set for it.
        bytes: u64,
    },
    /// Another scalar was set for an argument that is not passed by value.
    #[error(
        "argument {argument} is not one that is passed by value; name a scalar or struct of a recorded launch"
    )]
    NotByValue {
        /// The index of the argument, from 0.
        argument: usize,
    },
    /// [`Graph::order`](crate::graph::Graph::order) was called for nodes that were not recorded in this order.
    #[error(
        "node {after} can't come after node {before}, which is it or was recorded later: nodes run in the order of recording"
    )]
    Cycle {
        /// The node that had to come first.
        before: u32,
        /// The node that had to come after it.
        after: u32,
    },
    /// No node has this number.
    #[error("there are {nodes} nodes; name one that this graph recorded")]
    NoNode {
        /// The number of nodes recorded so far.
        nodes: u32,
    },
    /// The kernel is registered on another device, or by another launcher.
    #[error("kernel `{kernel}` is registered on another device than the graph's")]
    ForeignKernel {
        /// The kernel's name.
        kernel: std::sync::Arc<str>,
    },
    /// A node reads bytes of a temporary that no node wrote.
    #[error("bytes {start}..{end} of temporary {value} are read, but no node before wrote them all")]
    NeverWritten {
        /// The temporary's number.
        value: u32,
        /// The first byte that is read.
        start: u64,
        /// One past the last byte that is read.
        end: u64,
    },
    /// A range is not inside its value.
    #[error("bytes {start}..{end} of a value of {bytes}")]
    OutOfRange {
        /// The first byte of the range.
        start: u64,
        /// One past the last byte of the range.
        end: u64,
        /// The value's length in bytes.
        bytes: u64,
    },
    /// The lengths of a copy's source and destination differ.
    #[error("a copy of {from} bytes to {to}")]
    LengthsDiffer {
        /// The length of the source in bytes.
        from: u64,
        /// The length of the destination in bytes.
        to: u64,
    },
    /// The source and destination of a copy overlap.
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
    /// A node writes an argument block, or [`Graph::uses`](crate::graph::Graph::uses) was called before a node was recorded.
    #[error("argument block {value} is written, or a use of value {value} is recorded before any node")]
    BlockWritten {
        /// The value's number.
        value: u32,
    },
    /// The driver has no graphs, or a node reads bytes that a later node overwrites.
    #[error("it can't be submitted as a driver graph: {0}; submit it with `Submission::Stream`")]
    NoDriverGraph(Box<str>),
    /// Planning the workspace failed.
    #[error("planning its temporaries: {0}")]
    Plan(Box<str>),
    /// A value is larger than can be addressed.
    #[error("{0} bytes are more than can be addressed")]
    TooLarge(u64),
}
