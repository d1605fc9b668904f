//! The launch methods that `bench` and `demo` compare.
//!
//! A [`LaunchMethod`] prepares a [`Job`] as a number of [`MethodStream`]s. Each has a stream, and the memory and the
//! kernel that its launches need. They use only the library's public interface. `benches/launch.rs` measures them, too.

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

/// A launch method: by this library, by driver calls alone, or by allocating on every launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LaunchMethod {
    /// Every launch allocates its memory, copies in, launches and copies out, and waits after each of these steps.
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
    /// The driver calls of `Value` alone.
    RawValue,
    /// The driver calls of `Block` alone.
    RawBlock,
    /// The driver calls of `Unchanged` alone.
    RawResident,
    /// The driver calls of `Mapped` alone.
    RawMapped,
    /// The driver calls of `Graph` alone.
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

    /// The method's name in cases, files and filters.
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

    /// Returns the method with a [`name`](LaunchMethod::name).
    pub fn named(name: &str) -> Option<LaunchMethod> {
        LaunchMethod::ALL.into_iter().find(|method| method.name() == name)
    }

    /// The method's title in tables and pictures.
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

    /// Describes a launch in a sentence.
    pub fn description(self) -> &'static str {
        match self {
            LaunchMethod::Naive => {
                "every launch allocates its arguments and result, copies in and waits, launches and waits, copies out \
                 and waits, and frees both"
            }
            LaunchMethod::Async => {
                "every launch allocates and frees both with hipMallocAsync in stream order; copies from and to pinned \
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
                "this launcher: the batch recorded again and submitted as a driver graph, with changed blocks"
            }
            LaunchMethod::RawValue => {
                "driver calls alone: launch, copy out; memory allocated before, one wait a batch"
            }
            LaunchMethod::RawBlock => {
                "driver calls alone: copy in, launch, copy out; memory allocated before, one wait a batch"
            }
            LaunchMethod::RawResident => {
                "driver calls alone: launch with a block that was copied before, copy out; one wait a batch"
            }
            LaunchMethod::RawMapped => "driver calls alone: launch on pinned memory; one wait a batch",
            LaunchMethod::RawGraph => {
                "driver calls alone: one hipGraphLaunch a batch of copy in, launches, copy out; instantiated before"
            }
        }
    }

    /// The method that does the same with driver calls alone: no launcher can be faster. `None` for the methods of
    /// driver calls alone themselves.
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

    /// Whether the method makes driver calls alone.
    pub fn is_floor(self) -> bool {
        self.floor().is_none()
    }

    /// Returns why this method can't do a job on this device; `None` if it can.
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

    /// Creates everything that the launches of a job need. Returns the streams of each of the job's threads.
    ///
    /// # Errors
    /// Returns the error of the library or the driver. Everything that was created is then freed.
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

/// The work that is measured: the sizes of arguments and results, and the numbers of launches, streams and threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// The bytes of arguments that the kernel reads, a multiple of 4; with 0 the kernel is empty.
    pub arguments: usize,
    /// The bytes of the result, a multiple of 4.
    pub results: usize,
    /// The number of launches of a thread before it reads their results.
    pub depth: usize,
    /// The number of streams of each thread, used in turn.
    pub streams: usize,
    /// The number of threads that launch at the same time.
    pub threads: usize,
}

impl Job {
    /// The greatest number of launches in flight on one stream.
    fn in_flight(&self) -> usize {
        self.depth.div_ceil(self.streams.max(1)).max(1)
    }
}

/// The launcher and the device on which methods are compared.
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
    /// The library or the driver returned an error.
    Error(Error),
    /// A result differs from the host's.
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
    /// Launches once. It may be called `depth` times at most before the results are collected.
    ///
    /// # Errors
    /// Returns the error of the library or the driver.
    fn launch(&mut self) -> Result<(), Error>;
    /// Submits the launches that [`launch`](MethodStream::launch) only recorded.
    ///
    /// # Errors
    /// Returns the error of the library or the driver.
    fn submit(&mut self) -> Result<(), Error> {
        Ok(())
    }
    /// Waits for all launches since the last call, and copies their results to the host's own memory.
    ///
    /// # Errors
    /// Returns the error of the library or the driver.
    fn collect(&mut self) -> Result<(), Error>;
    /// Compares the results that were collected last with the host's. Makes no driver call.
    ///
    /// # Errors
    /// Returns [`Stop::Wrong`], which says which result differs.
    fn check_results(&self) -> Result<(), Stop>;
    /// Copies the sum that the kernels computed over all launches from the device, and compares it with the host's.
    ///
    /// # Errors
    /// Returns [`Stop::Wrong`] if it differs, and [`Stop::Error`] if it can't be read.
    fn check_sum(&self) -> Result<(), Stop>;
    /// Does both checks.
    ///
    /// # Errors
    /// Returns the error of the check that failed.
    fn check(&self) -> Result<(), Stop> {
        self.check_results()?;
        self.check_sum()
    }
    /// The stream on which the launches are enqueued.
    fn stream(&self) -> &Stream;
}
