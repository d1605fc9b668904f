//! The methods of launching a kernel that `bench` and `demo` compare.
//!
//! A [`LaunchMethod`] prepares a [`Job`] as a number of [`MethodStream`]s: a stream each, with the memory and the kernel
//! that its launches need. They use the library's public interface alone, so that `benches/launch.rs` measures the same.

mod graph;
mod kernels;
mod launcher;
mod naive;
mod raw;
mod raw_graph;
mod work;

use code_object::CodeObject;
use std::fmt;

use hip_driver::Capability;
use hiplaunch::{Device, Error, Launcher, Stream};

pub use kernels::{BY_VALUE, code};

/// How a kernel is launched again and again: by this library, by HIP calls alone, or as programs do that allocate on every
/// launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LaunchMethod {
    /// Every launch allocates its memory, copies in, launches and copies out, and waits after each of these.
    Naive,
    /// As `Naive`, with allocations and copies in stream order and one wait for a batch.
    Async,
    /// This library: arguments in the kernarg segment.
    Value,
    /// This library: an argument block with other bytes at each launch.
    Block,
    /// This library: an argument block with the same bytes at each launch.
    Unchanged,
    /// This library: an argument block and results in pinned memory that the kernel uses itself.
    Mapped,
    /// This library: a batch of launches recorded and computed as a graph.
    Graph,
    /// Driver calls alone, for what `Value` does.
    RawValue,
    /// Driver calls alone, for what `Block` does.
    RawBlock,
    /// Driver calls alone, for what `Unchanged` does.
    RawResident,
    /// Driver calls alone, for what `Mapped` does.
    RawMapped,
    /// Driver calls alone, for what `Graph` does.
    RawGraph,
}

impl LaunchMethod {
    /// Every method, in the order of tables and pictures.
    pub const ALL: [LaunchMethod; 12] = [
        LaunchMethod::Naive,
        LaunchMethod::Async,
        LaunchMethod::Value,
        LaunchMethod::Block,
        LaunchMethod::Unchanged,
        LaunchMethod::Mapped,
        LaunchMethod::Graph,
        LaunchMethod::RawValue,
        LaunchMethod::RawBlock,
        LaunchMethod::RawResident,
        LaunchMethod::RawMapped,
        LaunchMethod::RawGraph,
    ];

    /// What names it in cases, files and filters.
    pub fn name(self) -> &'static str {
        match self {
            LaunchMethod::Naive => "naive",
            LaunchMethod::Async => "async",
            LaunchMethod::Value => "value",
            LaunchMethod::Block => "block",
            LaunchMethod::Unchanged => "unchanged",
            LaunchMethod::Mapped => "mapped",
            LaunchMethod::Graph => "graph",
            LaunchMethod::RawValue => "raw-value",
            LaunchMethod::RawBlock => "raw-block",
            LaunchMethod::RawResident => "raw-unchanged",
            LaunchMethod::RawMapped => "raw-mapped",
            LaunchMethod::RawGraph => "raw-graph",
        }
    }

    /// The method whose [`name`](LaunchMethod::name) this is.
    pub fn named(name: &str) -> Option<LaunchMethod> {
        LaunchMethod::ALL.into_iter().find(|method| method.name() == name)
    }

    /// What a person reads in tables and pictures.
    pub fn title(self) -> &'static str {
        match self {
            LaunchMethod::Naive => "naive launch",
            LaunchMethod::Async => "hipMallocAsync",
            LaunchMethod::Value => "by value",
            LaunchMethod::Block => "argument block",
            LaunchMethod::Unchanged => "block unchanged",
            LaunchMethod::Mapped => "mapped",
            LaunchMethod::Graph => "graph replay",
            LaunchMethod::RawValue => "driver: by value",
            LaunchMethod::RawBlock => "driver: block",
            LaunchMethod::RawResident => "driver: unchanged",
            LaunchMethod::RawMapped => "driver: mapped",
            LaunchMethod::RawGraph => "driver: graph",
        }
    }

    /// What a launch does, in a sentence.
    pub fn description(self) -> &'static str {
        match self {
            LaunchMethod::Naive => {
                "every launch allocates its arguments and result, copies in and waits, launches and waits, copies out \
                 and waits, and frees both"
            }
            LaunchMethod::Async => {
                "every launch takes and frees both with hipMallocAsync in stream order; copies from and to pinned \
                 memory that is kept; one wait a batch"
            }
            LaunchMethod::Value => "this launcher: arguments in the kernarg segment, at most 4 KiB",
            LaunchMethod::Block => {
                "this launcher: an argument block with other bytes each time, staged and copied"
            }
            LaunchMethod::Unchanged => {
                "this launcher: an argument block with the same bytes each time, not copied again"
            }
            LaunchMethod::Mapped => {
                "this launcher: block and results in pinned memory that the kernel reads and writes itself"
            }
            LaunchMethod::Graph => {
                "this launcher: the batch recorded anew and computed as one of the driver's graphs, blocks changed"
            }
            LaunchMethod::RawValue => {
                "driver calls alone: launch, copy out; memory made before, one wait a batch"
            }
            LaunchMethod::RawBlock => {
                "driver calls alone: copy in, launch, copy out; memory made before, one wait a batch"
            }
            LaunchMethod::RawResident => {
                "driver calls alone: launch with a block that is there, copy out; one wait a batch"
            }
            LaunchMethod::RawMapped => "driver calls alone: launch on pinned memory; one wait a batch",
            LaunchMethod::RawGraph => {
                "driver calls alone: one hipGraphLaunch a batch of copy in, launches, copy out; made before"
            }
        }
    }

    /// The method that does the same with driver calls alone, which no launcher can be faster than; `None` for those
    /// methods themselves.
    pub fn floor(self) -> Option<LaunchMethod> {
        match self {
            LaunchMethod::Naive | LaunchMethod::Async | LaunchMethod::Block => Some(LaunchMethod::RawBlock),
            LaunchMethod::Value => Some(LaunchMethod::RawValue),
            LaunchMethod::Unchanged => Some(LaunchMethod::RawResident),
            LaunchMethod::Mapped => Some(LaunchMethod::RawMapped),
            LaunchMethod::Graph => Some(LaunchMethod::RawGraph),
            _ => None,
        }
    }

    /// Whether it uses driver calls alone.
    pub fn is_floor(self) -> bool {
        self.floor().is_none()
    }

    /// Why this method can't do a job on this device; `None` where it can.
    pub fn unsupported(self, job: &Job, device: &Device) -> Option<&'static str> {
        let capabilities = device.driver().capabilities();
        let lacks = |capability| !capabilities.has(capability);
        match self {
            LaunchMethod::Naive if lacks(Capability::BlockingCopy) => {
                Some("the driver has no blocking copies")
            }
            LaunchMethod::Async if lacks(Capability::StreamOrderedAllocator) => {
                Some("the driver has no stream-ordered allocator")
            }
            LaunchMethod::Mapped | LaunchMethod::RawMapped if lacks(Capability::MappedHostMemory) => {
                Some("the driver has no mapped host memory")
            }
            LaunchMethod::Graph | LaunchMethod::RawGraph if lacks(Capability::Graphs) => {
                Some("the driver has no graphs")
            }
            LaunchMethod::Value | LaunchMethod::RawValue
                if job.arguments > 0 && !BY_VALUE.contains(&job.arguments) =>
            {
                Some("the kernarg segment has 4 KiB")
            }
            LaunchMethod::Async
            | LaunchMethod::Block
            | LaunchMethod::Unchanged
            | LaunchMethod::Mapped
            | LaunchMethod::RawBlock
            | LaunchMethod::RawResident
            | LaunchMethod::RawMapped
                if job.arguments == 0 =>
            {
                Some("there are no arguments")
            }
            _ => None,
        }
    }

    /// Makes everything that the launches of a job need: for each of its threads, its streams.
    ///
    /// # Errors
    /// The library's or the driver's; nothing is left behind.
    pub fn prepare(self, job: &Job, setup: &Setup<'_>) -> Result<Vec<Vec<Box<dyn MethodStream>>>, Error> {
        match self {
            LaunchMethod::Naive => each(job, || naive::Blocking::prepare(job, setup)),
            LaunchMethod::Async => each(job, || naive::StreamOrdered::prepare(job, setup)),
            LaunchMethod::Value | LaunchMethod::Block | LaunchMethod::Unchanged | LaunchMethod::Mapped => {
                let kernel = launcher::Registered::new(self, job, setup)?;
                each(job, || launcher::Launched::prepare(self, job, setup, &kernel))
            }
            LaunchMethod::Graph => {
                let kernel = launcher::Registered::new(self, job, setup)?;
                each(job, || graph::Graphs::prepare(job, setup, &kernel))
            }
            LaunchMethod::RawValue
            | LaunchMethod::RawBlock
            | LaunchMethod::RawResident
            | LaunchMethod::RawMapped => each(job, || raw::Calls::prepare(self, job, setup)),
            LaunchMethod::RawGraph => each(job, || raw_graph::Replayed::prepare(job, setup)),
        }
    }
}

impl fmt::Display for LaunchMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

fn each<L: MethodStream + 'static>(
    job: &Job,
    mut one: impl FnMut() -> Result<L, Error>,
) -> Result<Vec<Vec<Box<dyn MethodStream>>>, Error> {
    let mut boxed = || one().map(|stream| Box::new(stream) as Box<dyn MethodStream>);
    (0..job.threads).map(|_| (0..job.streams).map(|_| boxed()).collect()).collect()
}

/// What is launched, and how often before its results are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// Bytes of arguments that the kernel reads, a multiple of 4; with 0 the kernel is empty.
    pub arguments: usize,
    /// Bytes of the result, a multiple of 4.
    pub results: usize,
    /// Launches of a thread before it reads their results.
    pub depth: usize,
    /// Streams of each thread, used in turn.
    pub streams: usize,
    /// Threads that launch at the same time.
    pub threads: usize,
}

impl Job {
    /// Most launches in flight on one stream.
    fn in_flight(&self) -> usize {
        self.depth.div_ceil(self.streams.max(1)).max(1)
    }
}

/// The device that methods are compared on.
#[derive(Clone, Debug)]
pub struct Setup<'a> {
    /// The launcher of this library's methods; the others use its driver.
    pub launcher: &'a Launcher,
    /// The device.
    pub device: &'a Device,
    /// The code object of hip/bench.hip for the device.
    pub code: CodeObject,
}

/// Why a measurement stopped.
#[derive(Debug)]
pub enum Stop {
    /// The library or the driver refused something.
    Error(Error),
    /// A result is not what the host computes.
    Wrong(String),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Error(error)
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stop::Error(error) => error.fmt(f),
            Stop::Wrong(what) => write!(f, "wrong result: {what}"),
        }
    }
}

/// A stream with a prepared kernel, and the memory that its launches need.
pub trait MethodStream: Send {
    /// Launches once more; at most as often as the job says before the results are collected.
    ///
    /// # Errors
    /// The library's or the driver's.
    fn launch(&mut self) -> Result<(), Error>;
    /// Hands to the driver what [`launch`](MethodStream::launch) only recorded.
    ///
    /// # Errors
    /// The library's or the driver's.
    fn submit(&mut self) -> Result<(), Error> {
        Ok(())
    }
    /// Waits for everything launched since the last time, and copies the results to the host's own memory.
    ///
    /// # Errors
    /// The library's or the driver's.
    fn collect(&mut self) -> Result<(), Error>;
    /// Compares the results collected last with the host's; makes no device call.
    ///
    /// # Errors
    /// [`Stop::Wrong`] says which result differs.
    fn check_results(&self) -> Result<(), Stop>;
    /// Compares the sum that the kernels made over all launches with the host's: a copy from the device.
    ///
    /// # Errors
    /// [`Stop::Wrong`] where it differs; [`Stop::Error`] where it can't be read.
    fn check_sum(&self) -> Result<(), Stop>;
    /// Both checks.
    ///
    /// # Errors
    /// As theirs.
    fn check(&self) -> Result<(), Stop> {
        self.check_results()?;
        self.check_sum()
    }
    /// The stream that it launches on.
    fn stream(&self) -> &Stream;
}
