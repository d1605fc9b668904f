//! The launch methods that `bench` and `demo` compare.
//!
//! A [`LaunchMethod`] prepares a [`Job`] as a number of [`MethodStream`]s. Each has a stream, and the memory and the
//! kernel that its launches need. They use only the library's public interface.

mod driver;
mod launcher;
mod work;

use std::fmt;

use code_object::CodeObject;
use hip_driver::Capability;
use hiplaunch::{Device, Error, LaunchDims, Launcher, Stream};
use serde::{Deserialize, Serialize};

use crate::CommandError;
use crate::kernels::BENCH;
pub(crate) use work::StreamWork;

/// A launch method: by this library, by driver calls alone, or by allocating on every launch. [`ROWS`] describes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LaunchMethod {
    Naive,
    Async,
    Value,
    Block,
    Unchanged,
    Mapped,
    Graph,
    RawValue,
    RawBlock,
    RawUnchanged,
    RawMapped,
    RawGraph,
}

/// What is known of a method.
pub(crate) struct Row {
    method: LaunchMethod,
    /// In cases, files and filters.
    pub(crate) name: &'static str,
    /// In tables and pictures.
    pub(crate) title: &'static str,
    /// The method that does the same with driver calls alone: no launcher can be faster.
    pub(crate) floor: Option<LaunchMethod>,
    /// What the driver must be able to do, and the reason if it is not.
    needs: Option<(Capability, &'static str)>,
    /// Whether it can launch a kernel without arguments in a way that no other method has.
    empty: bool,
    /// A launch in a sentence.
    pub(crate) description: &'static str,
}

use LaunchMethod::{
    Async, Block, Graph, Mapped, Naive, RawBlock, RawGraph, RawMapped, RawUnchanged, RawValue, Unchanged,
    Value,
};

const NO_MAPPED: Option<(Capability, &str)> =
    Some((Capability::MappedHostMemory, "the driver has no mapped host memory"));
const NO_GRAPHS: Option<(Capability, &str)> = Some((Capability::Graphs, "the driver has no graphs"));

/// Every method, in the order of tables and pictures, which is the order of the variants.
#[rustfmt::skip]
const ROWS: [Row; 12] = [
    Row {
        method: Naive, name: "naive", title: "naive launch", floor: Some(RawBlock), empty: true,
        needs: Some((Capability::BlockingCopy, "the driver has no blocking copies")),
        description: "every launch allocates its arguments and result, copies in and waits, launches and waits, copies \
                      out and waits, and frees both",
    },
    Row {
        method: Async, name: "async", title: "hipMallocAsync", floor: Some(RawBlock), empty: false,
        needs: Some((Capability::StreamOrderedAllocator, "the driver has no stream-ordered allocator")),
        description: "every launch allocates and frees both with hipMallocAsync in stream order; copies from and to \
                      pinned memory that is kept; one wait a batch",
    },
    Row {
        method: Value, name: "value", title: "by value", floor: Some(RawValue), empty: true, needs: None,
        description: "this launcher: arguments in the kernarg segment, at most 4 KiB",
    },
    Row {
        method: Block, name: "block", title: "argument block", floor: Some(RawBlock), empty: false, needs: None,
        description: "this launcher: an argument block with other bytes each time, staged and copied",
    },
    Row {
        method: Unchanged, name: "unchanged", title: "block unchanged", floor: Some(RawUnchanged), empty: false,
        needs: None,
        description: "this launcher: an argument block with the same bytes each time, not copied again",
    },
    Row {
        method: Mapped, name: "mapped", title: "mapped", floor: Some(RawMapped), empty: false, needs: NO_MAPPED,
        description: "this launcher: block and results in pinned memory that the kernel reads and writes itself",
    },
    Row {
        method: Graph, name: "graph", title: "graph replay", floor: Some(RawGraph), empty: true, needs: NO_GRAPHS,
        description: "this launcher: the batch recorded again and submitted as a driver graph, with changed blocks",
    },
    Row {
        method: RawValue, name: "raw-value", title: "driver: by value", floor: None, empty: true, needs: None,
        description: "driver calls alone: launch, copy out; memory allocated before, one wait a batch",
    },
    Row {
        method: RawBlock, name: "raw-block", title: "driver: block", floor: None, empty: false, needs: None,
        description: "driver calls alone: copy in, launch, copy out; memory allocated before, one wait a batch",
    },
    Row {
        method: RawUnchanged, name: "raw-unchanged", title: "driver: unchanged", floor: None, empty: false,
        needs: None,
        description: "driver calls alone: launch with a block that was copied before, copy out; one wait a batch",
    },
    Row {
        method: RawMapped, name: "raw-mapped", title: "driver: mapped", floor: None, empty: false, needs: NO_MAPPED,
        description: "driver calls alone: launch on pinned memory; one wait a batch",
    },
    Row {
        method: RawGraph, name: "raw-graph", title: "driver: graph", floor: None, empty: true, needs: NO_GRAPHS,
        description: "driver calls alone: one hipGraphLaunch a batch of copy in, launches, copy out; instantiated before",
    },
];

/// The sizes of arguments in bytes for which there is a kernel that takes them by value, with its name.
const BY_VALUE: [(usize, &str); 4] =
    [(8, "bench_value_8"), (64, "bench_value_64"), (256, "bench_value_256"), (1024, "bench_value_1024")];

/// The bytes of arguments and results up to which one wavefront is launched.
const ONE_WAVE: usize = 4096;

impl LaunchMethod {
    /// Every method, in the order of tables and pictures.
    pub(crate) fn all() -> impl Iterator<Item = LaunchMethod> {
        ROWS.iter().map(|row| row.method)
    }

    pub(crate) fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// Whether the method makes driver calls alone.
    pub(crate) fn is_floor(self) -> bool {
        self.row().floor.is_none()
    }

    /// Returns the kernel of hip/bench.hip with which this method does a job, and its dimensions: one workgroup, because
    /// the kernel sums over it. `None` if there is no kernel for arguments of this size.
    fn kernel(self, job: &Job) -> Option<(&'static str, LaunchDims)> {
        let threads = if job.arguments.max(job.results) <= ONE_WAVE { 64 } else { 1024 };
        let name = match job.arguments {
            0 => "bench_nothing",
            bytes if matches!(self, Value | RawValue) => BY_VALUE.iter().find(|(size, _)| *size == bytes)?.1,
            _ => "bench_block",
        };
        Some((name, LaunchDims::linear(1, threads)))
    }

    /// Returns why this method can't do a job on this device; `None` if it can.
    pub(crate) fn unsupported(self, job: &Job, device: &Device) -> Option<&'static str> {
        let Row { needs, empty, .. } = self.row();
        let capabilities = device.driver().capabilities();
        match needs {
            Some((capability, reason)) if !capabilities.has(*capability) => Some(reason),
            _ if self.kernel(job).is_none() => Some("the kernarg segment has 4 KiB"),
            _ => (job.arguments == 0 && !empty).then_some("there are no arguments"),
        }
    }

    /// Creates everything that the launches of a job need. Returns the streams of each of the job's threads.
    pub(crate) fn prepare(self, job: &Job, setup: &Setup<'_>) -> Result<Vec<Vec<MethodStream>>, Error> {
        let problem = "no kernel has arguments of this size";
        let kernel = self.kernel(job).ok_or(Error::Invalid { what: "bench", problem: problem.into() })?;
        let registered = match self {
            Value | Block | Unchanged | Mapped | Graph => Some(launcher::Registered::new(kernel, setup)?),
            _ => None,
        };
        let changing = !matches!(self, Unchanged | RawUnchanged);
        let stream = || {
            let on = StreamWork::new(job, setup.launcher.stream(setup.device)?, changing)?;
            let launches: Box<dyn Launches> = match &registered {
                Some(kernel) if self == Graph => Box::new(launcher::Graphs::new(kernel, setup.device)),
                Some(kernel) => Box::new(launcher::ByHandle::new(self, kernel, job)),
                None => Box::new(driver::DriverCalls::new(self, kernel, setup, &on)?),
            };
            Ok(MethodStream { launches, on })
        };
        (0..job.threads).map(|_| (0..job.streams).map(|_| stream()).collect()).collect()
    }
}

/// The work that is measured: the sizes of arguments and results, and the numbers of launches, streams and threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Job {
    /// The bytes of arguments that the kernel reads, a multiple of 4; with 0 the kernel is empty.
    pub(crate) arguments: usize,
    /// The bytes of the result, a multiple of 4.
    pub(crate) results: usize,
    /// The number of launches of a thread before it reads their results.
    pub(crate) depth: usize,
    /// The number of streams of each thread, used in turn.
    pub(crate) streams: usize,
    /// The number of threads that launch at the same time.
    pub(crate) threads: usize,
}

impl Job {
    /// The greatest number of launches in flight on one stream.
    fn in_flight(&self) -> usize {
        self.depth.div_ceil(self.streams.max(1)).max(1)
    }

    fn argument_words(&self) -> u32 {
        (self.arguments / 4) as u32
    }

    fn result_words(&self) -> u32 {
        (self.results / 4) as u32
    }
}

/// The launcher and the device on which methods are compared.
#[derive(Clone, Debug)]
pub(crate) struct Setup<'a> {
    /// The launcher of this library's methods; the others use its driver.
    pub(crate) launcher: &'a Launcher,
    pub(crate) device: &'a Device,
    /// The code object of hip/bench.hip for the device.
    pub(crate) code: CodeObject,
}

impl<'a> Setup<'a> {
    /// Takes the code object that the command line has for the device.
    pub(crate) fn new(launcher: &'a Launcher, device: &'a Device) -> Result<Setup<'a>, Error> {
        Ok(Setup { launcher, device, code: BENCH.for_device(device)? })
    }
}

/// Why a measurement ended early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MeasureError {
    /// The library or the driver returned an error.
    #[error(transparent)]
    Error(#[from] Error),
    /// A result differs from the host's.
    #[error("wrong result: {0}")]
    Wrong(String),
}

impl MeasureError {
    /// The error of a case, as the command line reports it.
    pub(crate) fn of(self, case: impl fmt::Display) -> CommandError {
        let message = format!("{case}: {self}");
        match self {
            MeasureError::Error(Error::DeviceLost(_) | Error::Driver { .. } | Error::Node { .. })
            | MeasureError::Wrong(_) => CommandError::Failed(message),
            MeasureError::Error(_) => CommandError::Unusable(message),
        }
    }
}

/// What differs between methods: how a stream's launches are made, and how their results get to the host.
pub(crate) trait Launches: Send {
    /// Takes the next launch from the stream's work, and makes it or records it.
    fn launch(&mut self, on: &mut StreamWork) -> Result<(), Error>;
    /// Submits the launches that were only recorded.
    fn submit(&mut self, _: &mut StreamWork) -> Result<(), Error> {
        Ok(())
    }
    /// Waits for all launches since the last call, and copies their results to the work's own memory.
    fn collect(&mut self, on: &mut StreamWork) -> Result<(), Error>;
}

/// A stream with a prepared kernel, and the memory that its launches need.
pub(crate) struct MethodStream {
    // Dropped first: its drop waits for the launches that use the sink.
    launches: Box<dyn Launches>,
    on: StreamWork,
}

impl MethodStream {
    /// Launches once. It may be called `depth` times at most before the results are collected.
    pub(crate) fn launch(&mut self) -> Result<(), Error> {
        self.launches.launch(&mut self.on)
    }

    /// Submits the launches that [`launch`](MethodStream::launch) only recorded.
    pub(crate) fn submit(&mut self) -> Result<(), Error> {
        self.launches.submit(&mut self.on)
    }

    /// Waits for all launches since the last call, and copies their results to the host's own memory.
    pub(crate) fn collect(&mut self) -> Result<(), Error> {
        self.launches.collect(&mut self.on)?;
        self.on.work.collected();
        Ok(())
    }

    /// Compares the results that were collected last with the host's. Makes no driver call.
    pub(crate) fn check_results(&self) -> Result<(), MeasureError> {
        self.on.work.check_results()
    }

    /// Compares the sum that the kernels computed over all launches with the host's, and the results as
    /// [`check_results`](MethodStream::check_results) does.
    pub(crate) fn check(&self) -> Result<(), MeasureError> {
        self.check_results()?;
        self.on.check_sum()
    }

    /// The stream on which the launches are enqueued.
    pub(crate) fn stream(&self) -> &Stream {
        &self.on.stream
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A stream whose launches are of a test.
    pub(crate) fn stream_of(launches: impl Launches + 'static, on: StreamWork) -> MethodStream {
        MethodStream { launches: Box::new(launches), on }
    }

    #[test]
    fn every_method_has_its_row_and_name() {
        for (index, method) in LaunchMethod::all().enumerate() {
            assert_eq!(method as usize, index);
            assert_eq!(serde_json::to_value(method).unwrap(), method.row().name);
        }
    }
}
