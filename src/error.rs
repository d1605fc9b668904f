//! Every error of the library: which kernel, which call, which code, and what to do about it.

use std::fmt;
use std::sync::Arc;

use crate::fault::FaultReport;
use hip_driver::{DeviceId, DriverError, ErrorCode};

/// What every fallible function here returns.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong. Large parts are boxed, so that the `Ok` path stays small.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A driver call failed.
    #[error("{}", in_kernel(.kernel, .source))]
    Driver {
        /// The kernel on whose behalf it was made, if any.
        kernel: Option<Arc<str>>,
        /// The call and its code.
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
        /// What does not fit.
        problem: Box<LaunchProblem>,
    },
    /// The handle's kernel was unregistered, or the handle is another launcher's.
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
    Compile(Box<hip_driver::compile::CompileError>),
    /// The code object is for another target than the device's.
    #[error(
        "code object for {code_object} does not run on {device} ({device_target}); compile it with --offload-arch={device_target}"
    )]
    WrongTarget {
        /// What it was compiled for.
        code_object: Box<str>,
        /// The device.
        device: DeviceId,
        /// What the device runs.
        device_target: Box<str>,
    },
    /// A [`FatBinary`](crate::FatBinary) has no code for the device, and its source can't be compiled.
    #[error(transparent)]
    NoCode(Box<crate::fat_binary::NoCode>),
    /// The device context is lost: a kernel faulted earlier. Every later call fails with the same report. It says how to
    /// go on: with the emulator a new launcher works in the same process, with HIP it takes a new process.
    #[error("{0}")]
    DeviceLost(Arc<FaultReport>),
    /// A graph can't be recorded or computed; nothing was submitted.
    #[error("graph{}: {problem}", at_node(.node))]
    Graph {
        /// The node that is concerned, in the order of recording; `None` for none or all.
        node: Option<u32>,
        /// What is wrong.
        problem: Box<crate::graph::GraphProblem>,
    },
    /// The driver refused a graph's node: those before it were submitted, none after it was.
    #[error("graph, node {node}{}: {source}", kernel.as_ref().map(|k| format!(" (kernel `{k}`)")).unwrap_or_default())]
    Node {
        /// The node, in the order of recording.
        node: u32,
        /// Its kernel, if it is a launch.
        kernel: Option<Arc<str>>,
        /// The driver's error.
        source: Box<Error>,
    },
    /// An address was given to the memory pool that it can't take.
    #[error(transparent)]
    Pool(#[from] crate::memory::pool::PoolError),
    /// An argument of a call here is wrong.
    #[error("{what}: {problem}")]
    Invalid {
        /// The function or value.
        what: &'static str,
        /// What is wrong and what to do.
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
    /// The driver's code, where a driver call failed.
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

    /// Names the kernel in an error that does not name one yet.
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

impl From<hip_driver::compile::CompileError> for Error {
    fn from(source: hip_driver::compile::CompileError) -> Self {
        Error::Compile(Box::new(source))
    }
}

/// Memory ran out; what was held before is held still.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutOfMemory {
    /// The kernel whose scratch was to grow, if any.
    pub kernel: Option<Arc<str>>,
    /// `device` or `pinned host`.
    pub kind: &'static str,
    /// The device.
    pub device: DeviceId,
    /// Bytes asked for.
    pub requested: u64,
    /// Bytes free on the device, where the driver says so.
    pub free: Option<u64>,
    /// Bytes the device has, where the driver says so.
    pub total: Option<u64>,
    /// Bytes of that kind that this library holds on the device. Of device memory, that is the sum of the next three.
    pub held: u64,
    /// Bytes in live blocks of the pool.
    pub in_use: u64,
    /// Bytes of the pool that are free, but not in one piece of this size.
    pub cached: u64,
    /// Bytes of the pool that were freed, but which other streams may still use.
    pub held_back: u64,
    /// What else the driver or the pool said: a byte cap that is reached, for one.
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
    /// Too few or too many arguments.
    #[error("takes {expected} arguments, got {got}")]
    ArgumentCount {
        /// Explicit arguments in the kernel's metadata.
        expected: usize,
        /// Arguments given.
        got: usize,
    },
    /// An argument has another size.
    #[error("argument {index}{} is {expected} bytes, got {got}", named(.name))]
    ArgumentSize {
        /// Position, from 0.
        index: usize,
        /// Its name in the source, where the metadata has one.
        name: Option<Box<str>>,
        /// Bytes the kernel takes.
        expected: u32,
        /// Bytes given.
        got: usize,
    },
    /// A pointer where a value is taken, or the other way round.
    #[error("argument {index}{} is a {expected}, got a {got}", named(.name))]
    ArgumentKind {
        /// Position, from 0.
        index: usize,
        /// Its name in the source, where the metadata has one.
        name: Option<Box<str>>,
        /// What the kernel takes.
        expected: &'static str,
        /// What was given.
        got: &'static str,
    },
    /// There are too few or too many bytes of packed arguments.
    #[error("takes {} of packed arguments, got {got}", bytes_between(*.expected, *.limit))]
    PackedSize {
        /// Bytes to the end of the last explicit argument: the least.
        expected: u32,
        /// The same with all the padding that may follow: the most.
        limit: u32,
        /// Bytes given.
        got: usize,
    },
    /// More than the 4 KiB that may be passed by value.
    #[error(
        "its kernarg segment of {bytes} bytes is over the {limit} bytes that HIP passes by value; use an argument block"
    )]
    KernargTooLarge {
        /// Bytes of the kernarg segment.
        bytes: u32,
        /// The limit.
        limit: u32,
    },
    /// A block axis is 0 or over the device's or kernel's limit.
    #[error(
        "block {block:?} is outside its limits: at most {max_axes:?} work-items an axis and {max_total} in all, none 0"
    )]
    Block {
        /// The block asked for.
        block: [u32; 3],
        /// Most work-items of each axis.
        max_axes: [u32; 3],
        /// Most work-items of a workgroup: the smaller of the device's and the kernel's `max_flat_workgroup_size`.
        max_total: u32,
    },
    /// The kernel was compiled for one block size (`reqd_work_group_size`).
    #[error("was compiled for block {required:?} alone, got {block:?}")]
    RequiredBlock {
        /// The block asked for.
        block: [u32; 3],
        /// The only one.
        required: [u32; 3],
    },
    /// A grid axis is over the device's limit, or has more than `u32::MAX` work-items.
    #[error(
        "grid {grid:?} of blocks {block:?} is over the limit: at most {max_axes:?} workgroups and 4294967295 work-items an axis"
    )]
    Grid {
        /// The grid asked for, in workgroups.
        grid: [u32; 3],
        /// The block asked for.
        block: [u32; 3],
        /// Most workgroups of each axis.
        max_axes: [u32; 3],
    },
    /// Static and dynamic LDS together are over the device's limit.
    #[error("needs {fixed} bytes of static and {dynamic} of dynamic LDS, over the device's {limit}")]
    Lds {
        /// Static bytes.
        fixed: u32,
        /// Dynamic bytes.
        dynamic: u32,
        /// The device's limit.
        limit: u32,
    },
    /// A launch asks for less dynamic LDS than the kernel's layout takes.
    #[error("has a layout of {layout} bytes of dynamic LDS, got {got}; give 0 for the layout's, or no less")]
    LdsLayout {
        /// Bytes of the layout.
        layout: u32,
        /// Bytes asked for.
        got: u32,
    },
    /// The stream belongs to another device than the kernel.
    #[error("is registered on {kernel}, but the stream is on {stream}; register it there too")]
    WrongDevice {
        /// The kernel's device.
        kernel: DeviceId,
        /// The stream's device.
        stream: DeviceId,
    },
    /// A patch of an argument block is out of bounds or order, or names nothing.
    #[error("argument block: {0}")]
    Patch(Box<str>),
    /// A destination does not fit the launch, or an input lies in its memory.
    #[error("destination: {0}")]
    Destination(Box<str>),
    /// The kernel writes host data, but the launch has no ticket to read them by.
    #[error(
        "has outputs (an inout or out array, or a result block) but no ticket to read them by; ask for a ticket, or pass device memory"
    )]
    OutputWithoutTicket,
    /// The launch's staged data overflow the address arithmetic.
    #[error("its staged arguments and results are {bytes} bytes, over the limit of {limit}")]
    TooMuchData {
        /// Bytes asked for.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
}

fn bytes_between(least: u32, most: u32) -> String {
    if least == most { format!("{least} bytes") } else { format!("{least} to {most} bytes") }
}

fn named(name: &Option<Box<str>>) -> String {
    name.as_ref().map(|n| format!(" (`{n}`)")).unwrap_or_default()
}
