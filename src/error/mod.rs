//! The errors of the library. Each says which kernel or call failed, why, and what to do about it.

mod graph;
mod no_code;
mod pool;

use std::fmt;
use std::sync::Arc;

pub use graph::GraphProblem;
pub use no_code::{NoCode, NoCodeReason};
pub use pool::PoolError;

use crate::fault::FaultReport;
use hip_driver::{DeviceId, DriverError, ErrorCode};

/// The result of every function of this crate that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of the library. Large parts are boxed, so that a [`Result`] stays small.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A driver call failed.
    #[error("{}", in_kernel(.kernel, .source))]
    Driver {
        /// The name of the kernel that was being launched, if any.
        kernel: Option<Arc<str>>,
        /// The driver's error: the call and its code.
        source: Box<DriverError>,
    },
    /// Device or pinned memory ran out.
    #[error(transparent)]
    OutOfMemory(Box<OutOfMemory>),
    /// The launch does not fit the kernel or the device; no device call was made.
    #[error("kernel `{kernel}`: {problem}")]
    Launch {
        /// The kernel's name.
        kernel: Arc<str>,
        /// Why the launch was refused.
        problem: Box<LaunchProblem>,
    },
    /// The handle's kernel was unregistered, or the handle is another launcher's. Holds the handle's number.
    #[error(
        "kernel handle {0:#018x} names no kernel of this launcher: it was unregistered, or registered with another launcher; register it here"
    )]
    StaleHandle(u64),
    /// The code object could not be read, is for another target or lacks the kernel.
    #[error(transparent)]
    CodeObject(Box<code_object::Error>),
    /// The occupancy of a kernel can't be computed.
    #[error(transparent)]
    Occupancy(#[from] code_object::occupancy::OccupancyError),
    /// A source could not be compiled.
    #[error(transparent)]
    Compile(Box<hip_compile::CompileError>),
    /// The code object is for another target than the device's.
    #[error(
        "code object for {code_object} does not run on {device} ({device_target}); compile it with --offload-arch={device_target}"
    )]
    WrongTarget {
        /// The target that the code object was compiled for.
        code_object: Box<str>,
        /// The device.
        device: DeviceId,
        /// The device's target.
        device_target: Box<str>,
    },
    /// A [`FatBinary`](crate::FatBinary) has no code for the device, and its source can't be compiled.
    #[error(transparent)]
    NoCode(Box<NoCode>),
    /// The device is lost, because a kernel faulted earlier. Every later call on it returns the same report. With the
    /// emulator, a new launcher works in the same process; with HIP, a new process is needed.
    #[error("{0}")]
    DeviceLost(Arc<FaultReport>),
    /// A graph can't be recorded or computed; nothing was submitted.
    #[error("graph{}: {problem}", at_node(.node))]
    Graph {
        /// The node that the problem is about, in the order of recording; `None` if it is not about one node.
        node: Option<u32>,
        /// Why the graph was refused.
        problem: Box<GraphProblem>,
    },
    /// The driver refused a node of a graph. The nodes before it were submitted, the nodes after it were not.
    #[error("graph, node {node}{}: {source}", kernel.as_ref().map(|k| format!(" (kernel `{k}`)")).unwrap_or_default())]
    Node {
        /// The node, in the order of recording.
        node: u32,
        /// The name of the node's kernel, if it is a launch.
        kernel: Option<Arc<str>>,
        /// The driver's error.
        source: Box<Error>,
    },
    /// The stream is captured, and this can't become a part of its graph. No device call was made, and the capture
    /// goes on.
    #[error(
        "{what} is refused while the stream is captured: only launches without host data, copies within the device, fills and repeated host functions become \
         part of its graph; do this before the capture begins or after it has ended"
    )]
    Captured {
        /// What was to be done.
        what: &'static str,
    },
    /// The memory pool refused an address that it was given.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// An argument of a call of this crate is wrong.
    #[error("{what}: {problem}")]
    Invalid {
        /// The function or the value.
        what: &'static str,
        /// What is wrong, and what to do.
        problem: Box<str>,
    },
    /// No driver could be opened.
    #[error(transparent)]
    Open(Box<crate::backend::OpenError>),
}

fn at_node(node: &Option<u32>) -> String {
    node.map(|n| format!(", node {n}")).unwrap_or_default()
}

fn in_kernel(kernel: &Option<Arc<str>>, source: &DriverError) -> String {
    match kernel {
        Some(kernel) => format!("kernel `{kernel}`: {source}"),
        None => source.to_string(),
    }
}

impl Error {
    /// Returns the driver's code, where a driver call failed.
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            Error::Driver { source, .. } => Some(source.code),
            Error::OutOfMemory(_) => Some(ErrorCode::OUT_OF_MEMORY),
            Error::DeviceLost(report) => Some(report.code),
            Error::Node { source, .. } => source.code(),
            _ => None,
        }
    }

    pub(crate) fn invalid(what: &'static str, problem: impl Into<String>) -> Error {
        Error::Invalid { what, problem: problem.into().into_boxed_str() }
    }

    /// Adds the kernel's name to an error that names no kernel yet.
    pub(crate) fn for_kernel(self, name: &Arc<str>) -> Error {
        match self {
            Error::Driver { kernel: None, source } => Error::Driver { kernel: Some(name.clone()), source },
            Error::OutOfMemory(mut oom) if oom.kernel.is_none() => {
                oom.kernel = Some(name.clone());
                Error::OutOfMemory(oom)
            }
            other => other,
        }
    }
}

impl From<DriverError> for Error {
    fn from(source: DriverError) -> Self {
        Error::Driver { kernel: None, source: Box::new(source) }
    }
}

impl From<code_object::Error> for Error {
    fn from(source: code_object::Error) -> Self {
        Error::CodeObject(Box::new(source))
    }
}

impl From<hip_compile::CompileError> for Error {
    fn from(source: hip_compile::CompileError) -> Self {
        Error::Compile(Box::new(source))
    }
}

/// An allocation failed for lack of memory. Memory that was allocated before stays allocated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutOfMemory {
    /// The name of the kernel that was being launched, if any.
    pub kernel: Option<Arc<str>>,
    /// The kind of memory: `device` or `pinned host`.
    pub kind: &'static str,
    /// The device.
    pub device: DeviceId,
    /// The bytes that were asked for.
    pub requested: u64,
    /// The free bytes of the device, where the driver can say.
    pub free: Option<u64>,
    /// The bytes of memory that the device has, where the driver can say.
    pub total: Option<u64>,
    /// The bytes of this kind that this library holds for the device. For device memory it is the sum of `in_use`,
    /// `cached` and `held_back`.
    pub held: u64,
    /// The bytes of allocated pool blocks; 0 for pinned memory, as the next two.
    pub in_use: u64,
    /// The bytes of free pool blocks, none of which is large enough or may be used for the request.
    pub cached: u64,
    /// The bytes of pool blocks that were freed but that other streams may still use.
    pub held_back: u64,
    /// Further details from the driver or the pool, such as a cap that was reached.
    pub why: Option<Box<str>>,
}

impl std::error::Error for OutOfMemory {}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(kernel) = &self.kernel {
            write!(f, "kernel `{kernel}`: ")?;
        }
        write!(
            f,
            "out of {} memory on {}: requested {} bytes, held {}",
            self.kind, self.device, self.requested, self.held
        )?;
        if self.kind == "device" {
            write!(f, " (in use {}, cached {}, held back {})", self.in_use, self.cached, self.held_back)?;
        }
        if let (Some(free), Some(total)) = (self.free, self.total) {
            write!(f, ", free {free} of {total}")?;
        }
        if let Some(why) = &self.why {
            write!(f, " [{why}]")?;
        }
        write!(f, "; drop buffers or tickets, trim streams, or launch with less data")
    }
}

/// Why a launch was refused before any device call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchProblem {
    /// A cooperative launch has more workgroups than the device runs at once.
    #[error(
        "{blocks} workgroups in a cooperative launch; the device runs at most {limit} of this size at once"
    )]
    CooperativeGrid {
        /// Workgroups of the grid.
        blocks: u64,
        /// The most that fit.
        limit: u64,
    },
    /// The number of arguments is not the number of the kernel's explicit parameters.
    #[error("takes {expected} arguments, got {got}")]
    ArgumentCount {
        /// The number of explicit arguments in the kernel's metadata.
        expected: usize,
        /// The number of arguments that were given.
        got: usize,
    },
    /// An argument has another size than the parameter.
    #[error("argument {index}{} is {expected} bytes, got {got}", named(.name))]
    ArgumentSize {
        /// The argument's position, from 0.
        index: usize,
        /// The parameter's name in the source, where the metadata has it.
        name: Option<Box<str>>,
        /// The parameter's size in bytes.
        expected: u32,
        /// The argument's size in bytes.
        got: usize,
    },
    /// A pointer was given for a value, or a value for a pointer.
    #[error("argument {index}{} is a {expected}, got a {got}", named(.name))]
    ArgumentKind {
        /// The argument's position, from 0.
        index: usize,
        /// The parameter's name in the source, where the metadata has it.
        name: Option<Box<str>>,
        /// The kind of the parameter: `pointer` or `value`.
        expected: &'static str,
        /// The kind of the argument, such as `scalar` or `device buffer`.
        got: &'static str,
    },
    /// The packed arguments have too few or too many bytes.
    #[error("takes {} of packed arguments, got {got}", bytes_between(*.expected, *.limit))]
    PackedSize {
        /// The least number of bytes: up to the end of the last explicit argument.
        expected: u32,
        /// The greatest number of bytes: with all the padding that may follow.
        limit: u32,
        /// The number of bytes that were given.
        got: usize,
    },
    /// The kernel's kernarg segment is larger than the 4 KiB that HIP passes by value.
    #[error(
        "its kernarg segment of {bytes} bytes is over the {limit} bytes that HIP passes by value; use an argument block"
    )]
    KernargTooLarge {
        /// The size of the kernarg segment in bytes.
        bytes: u32,
        /// The greatest size in bytes.
        limit: u32,
    },
    /// The block has an axis of 0, or more work-items than the device or the kernel allows.
    #[error(
        "block {block:?} is outside its limits: at most {max_axes:?} work-items an axis and {max_total} in all, none 0"
    )]
    Block {
        /// The block of the launch, in work-items.
        block: [u32; 3],
        /// The greatest number of work-items for each axis.
        max_axes: [u32; 3],
        /// The greatest number of work-items in a workgroup: the smaller of the device's limit and the kernel's
        /// `max_flat_workgroup_size`.
        max_total: u32,
    },
    /// The kernel was compiled for one block size (`reqd_work_group_size`).
    #[error("was compiled for block {required:?} alone, got {block:?}")]
    RequiredBlock {
        /// The block of the launch, in work-items.
        block: [u32; 3],
        /// The only block with which the kernel can be launched.
        required: [u32; 3],
    },
    /// A grid axis is over the device's limit, or has more than `u32::MAX` work-items.
    #[error(
        "grid {grid:?} of blocks {block:?} is over the limit: at most {max_axes:?} workgroups and 4294967295 work-items an axis"
    )]
    Grid {
        /// The grid of the launch, in workgroups.
        grid: [u32; 3],
        /// The block of the launch, in work-items.
        block: [u32; 3],
        /// The greatest number of workgroups for each axis.
        max_axes: [u32; 3],
    },
    /// Static and dynamic LDS together are over the device's limit.
    #[error("needs {fixed} bytes of static and {dynamic} of dynamic LDS, over the device's {limit}")]
    Lds {
        /// The kernel's static LDS in bytes.
        fixed: u32,
        /// The dynamic LDS in bytes.
        dynamic: u32,
        /// The device's LDS for one workgroup, in bytes.
        limit: u32,
    },
    /// A launch asks for less dynamic LDS than the kernel's LDS layout needs.
    #[error(
        "has an LDS layout of {layout} bytes of dynamic LDS, got {got}; ask for 0 to get the layout's bytes, or for more"
    )]
    LdsLayout {
        /// The bytes that the layout needs.
        layout: u32,
        /// The bytes that the launch asked for.
        got: u32,
    },
    /// The stream is on another device than the kernel.
    #[error("is registered on {kernel}, but the stream is on {stream}; register it there too")]
    WrongDevice {
        /// The kernel's device.
        kernel: DeviceId,
        /// The stream's device.
        stream: DeviceId,
    },
    /// A patch of an argument block is out of bounds or out of order, or names an array or a result block that is not
    /// there.
    #[error("argument block: {0}")]
    Patch(Box<str>),
    /// The destination does not fit the launch, or an input lies in its memory.
    #[error("destination: {0}")]
    Destination(Box<str>),
    /// The kernel writes host data, but the launch has no ticket to read them by.
    #[error(
        "has outputs (an inout or out array, or a result block) but no ticket to read them by; ask for a ticket, or pass device memory"
    )]
    OutputWithoutTicket,
    /// The stream is captured, and such a launch can't become a node of its graph. Says what it is, and what to do
    /// instead.
    #[error("the stream is captured, and no graph takes {0}")]
    Captured(&'static str),
    /// The host data and results of the launch are larger than one launch may stage.
    #[error("its staged arguments and results are {bytes} bytes, over the limit of {limit}")]
    TooMuchData {
        /// The bytes of host data and results, with padding.
        bytes: u64,
        /// The greatest number of bytes.
        limit: u64,
    },
}

fn bytes_between(least: u32, most: u32) -> String {
    if least == most { format!("{least} bytes") } else { format!("{least} to {most} bytes") }
}

fn named(name: &Option<Box<str>>) -> String {
    name.as_ref().map(|n| format!(" (`{n}`)")).unwrap_or_default()
}
