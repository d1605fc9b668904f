//! The ways of launching a kernel that are compared, each as lanes: a stream with what its launches need.
//!
//! Knows the library's public interface alone, so that `benches/launch.rs` measures the same ways.

mod graph;
mod kernels;
mod launcher;
mod old;
mod raw;
mod raw_graph;
mod work;

use std::fmt;

use hip_driver::Capability;
use hiplaunch::{Device, Error, Launcher, Stream};

pub use kernels::{BY_VALUE, image};

/// How a kernel is launched again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Way {
    Old,
    Async,
    Value,
    Block,
    Unchanged,
    Mapped,
    Graph,
    RawValue,
    RawBlock,
    RawResident,
    RawMapped,
    RawGraph,
}

impl Way {
    pub const ALL: [Way; 12] = [
        Way::Old,
        Way::Async,
        Way::Value,
        Way::Block,
        Way::Unchanged,
        Way::Mapped,
        Way::Graph,
        Way::RawValue,
        Way::RawBlock,
        Way::RawResident,
        Way::RawMapped,
        Way::RawGraph,
    ];

    /// What names it in cases, files and filters.
    pub fn name(self) -> &'static str {
        match self {
            Way::Old => "old",
            Way::Async => "async",
            Way::Value => "value",
            Way::Block => "block",
            Way::Unchanged => "unchanged",
            Way::Mapped => "mapped",
            Way::Graph => "graph",
            Way::RawValue => "raw-value",
            Way::RawBlock => "raw-block",
            Way::RawResident => "raw-unchanged",
            Way::RawMapped => "raw-mapped",
            Way::RawGraph => "raw-graph",
        }
    }

    pub fn named(name: &str) -> Option<Way> {
        Way::ALL.into_iter().find(|way| way.name() == name)
    }

    /// What a person reads in tables and pictures.
    pub fn title(self) -> &'static str {
        match self {
            Way::Old => "old way",
            Way::Async => "hipMallocAsync",
            Way::Value => "by value",
            Way::Block => "argument block",
            Way::Unchanged => "block unchanged",
            Way::Mapped => "mapped",
            Way::Graph => "graph replay",
            Way::RawValue => "floor: by value",
            Way::RawBlock => "floor: block",
            Way::RawResident => "floor: unchanged",
            Way::RawMapped => "floor: mapped",
            Way::RawGraph => "floor: graph",
        }
    }

    pub fn description(self) -> &'static str {
        match self {
            Way::Old => {
                "every launch allocates its arguments and result, copies in and waits, launches and waits, copies out \
                 and waits, frees"
            }
            Way::Async => {
                "every launch takes and frees both with hipMallocAsync in stream order; copies from and to pinned \
                 memory that is kept; one wait a batch"
            }
            Way::Value => "this launcher: arguments in the kernarg segment, at most 4 KiB",
            Way::Block => "this launcher: an argument block with other bytes each time, staged and copied",
            Way::Unchanged => {
                "this launcher: an argument block with the same bytes each time, not copied again"
            }
            Way::Mapped => {
                "this launcher: block and results in pinned memory that the kernel reads and writes itself"
            }
            Way::Graph => {
                "this launcher: the batch recorded anew and computed as one of the driver's graphs, blocks changed"
            }
            Way::RawValue => "driver calls alone: launch, copy out; memory made before, one wait a batch",
            Way::RawBlock => {
                "driver calls alone: copy in, launch, copy out; memory made before, one wait a batch"
            }
            Way::RawResident => {
                "driver calls alone: launch with a block that is there, copy out; one wait a batch"
            }
            Way::RawMapped => "driver calls alone: launch on pinned memory; one wait a batch",
            Way::RawGraph => {
                "driver calls alone: one hipGraphLaunch a batch of copy in, launches, copy out; made before"
            }
        }
    }

    /// The raw driver calls that do the same; none for those themselves.
    pub fn floor(self) -> Option<Way> {
        match self {
            Way::Old | Way::Async | Way::Block => Some(Way::RawBlock),
            Way::Value => Some(Way::RawValue),
            Way::Unchanged => Some(Way::RawResident),
            Way::Mapped => Some(Way::RawMapped),
            Way::Graph => Some(Way::RawGraph),
            _ => None,
        }
    }

    pub fn is_floor(self) -> bool {
        self.floor().is_none()
    }

    /// Why a job can't be done this way on this device.
    pub fn unsupported(self, job: &Job, device: &Device) -> Option<&'static str> {
        let capabilities = device.driver().capabilities();
        let lacks = |capability| !capabilities.has(capability);
        match self {
            Way::Old if lacks(Capability::BlockingCopy) => Some("the driver has no blocking copies"),
            Way::Async if lacks(Capability::StreamOrderedAllocator) => {
                Some("the driver has no stream-ordered allocator")
            }
            Way::Mapped | Way::RawMapped if lacks(Capability::MappedHostMemory) => {
                Some("the driver has no mapped host memory")
            }
            Way::Graph | Way::RawGraph if lacks(Capability::Graphs) => Some("the driver has no graphs"),
            Way::Value | Way::RawValue if job.arguments > 0 && !BY_VALUE.contains(&job.arguments) => {
                Some("the kernarg segment has 4 KiB")
            }
            Way::Async
            | Way::Block
            | Way::Unchanged
            | Way::Mapped
            | Way::RawBlock
            | Way::RawResident
            | Way::RawMapped
                if job.arguments == 0 =>
            {
                Some("there are no arguments")
            }
            _ => None,
        }
    }

    /// What launches a job this way, for each of its threads the lanes of its streams.
    pub fn prepare(self, job: &Job, setup: &Setup<'_>) -> Result<Vec<Vec<Box<dyn Lane>>>, Error> {
        match self {
            Way::Old => lanes(job, || old::Blocking::prepare(job, setup)),
            Way::Async => lanes(job, || old::StreamOrdered::prepare(job, setup)),
            Way::Value | Way::Block | Way::Unchanged | Way::Mapped => {
                let kernel = launcher::Registered::new(self, job, setup)?;
                lanes(job, || launcher::Launched::prepare(self, job, setup, &kernel))
            }
            Way::Graph => {
                let kernel = launcher::Registered::new(self, job, setup)?;
                lanes(job, || graph::Graphs::prepare(job, setup, &kernel))
            }
            Way::RawValue | Way::RawBlock | Way::RawResident | Way::RawMapped => {
                lanes(job, || raw::Calls::prepare(self, job, setup))
            }
            Way::RawGraph => lanes(job, || raw_graph::Replayed::prepare(job, setup)),
        }
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

fn lanes<L: Lane + 'static>(
    job: &Job,
    mut one: impl FnMut() -> Result<L, Error>,
) -> Result<Vec<Vec<Box<dyn Lane>>>, Error> {
    let mut lane = || one().map(|lane| Box::new(lane) as Box<dyn Lane>);
    (0..job.threads).map(|_| (0..job.streams).map(|_| lane()).collect()).collect()
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
    pub threads: usize,
}

impl Job {
    /// Most launches in flight on one stream.
    fn in_flight(&self) -> usize {
        self.depth.div_ceil(self.streams.max(1)).max(1)
    }
}

/// On what everything runs.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    pub launcher: &'a Launcher,
    pub device: &'a Device,
    /// The code object of hip/bench.hip for the device.
    pub image: &'a [u8],
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

/// A stream, and what its launches need.
pub trait Lane: Send {
    /// Launches once more; at most as often as the job says before the results are collected.
    fn launch(&mut self) -> Result<(), Error>;
    /// Hands to the driver what `launch` only noted.
    fn submit(&mut self) -> Result<(), Error> {
        Ok(())
    }
    /// Waits for what was launched since the last time, and copies the results to memory of the host's own.
    fn collect(&mut self) -> Result<(), Error>;
    /// Compares the results collected last, and the sum over all launches, with the host's.
    fn check(&mut self) -> Result<(), Stop>;
    fn stream(&self) -> &Stream;
}
