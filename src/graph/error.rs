//! What is wrong with a graph.

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
    /// The buffer is on another device.
    #[error("its buffer is on another device than the graph")]
    WrongDevice,
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
    #[error("it can't be submitted as a driver's graph: {0}; submit it as a burst")]
    NoDriverGraph(Box<str>),
    /// The temporaries can't be planned.
    #[error("planning its temporaries: {0}")]
    Plan(Box<str>),
    /// A value is larger than can be addressed.
    #[error("{0} bytes are more than can be addressed")]
    TooLarge(u64),
}
