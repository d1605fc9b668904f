//! A batch as one graph: recorded again each time, with a cached graph program, and submitted as a driver graph.

use std::sync::Arc;

use hiplaunch::graph::{Access, Graph, GraphArg, GraphValue, Submission};
use hiplaunch::{Device, Error, Stream, Ticket};

use super::launcher::Registered;
use super::work::{Sink, Work};
use super::{Job, MethodStream, Setup, Stop};

/// The graph that is being recorded.
struct Recording {
    graph: Graph,
    /// The value of all results of the batch, one after the other.
    results: Option<GraphValue>,
    sink: Option<GraphValue>,
}

/// A stream whose launches are recorded and computed together.
pub(super) struct Graphs {
    kernel: Arc<Registered>,
    device: Device,
    stream: Stream,
    recording: Option<Recording>,
    ticket: Option<Ticket>,
    work: Work,
    sink: Sink,
    words: u32,
    results: usize,
    in_flight: usize,
}

impl Graphs {
    pub(super) fn prepare(job: &Job, setup: &Setup<'_>, kernel: &Arc<Registered>) -> Result<Graphs, Error> {
        let stream = setup.launcher.stream(setup.device)?;
        Ok(Graphs {
            kernel: kernel.clone(),
            device: setup.device.clone(),
            recording: None,
            ticket: None,
            work: Work::new(job, true),
            sink: Sink::new(job, &stream)?,
            stream,
            words: (job.arguments / 4) as u32,
            results: job.results,
            in_flight: job.in_flight(),
        })
    }

    fn begin(&self) -> Result<Recording, Error> {
        let mut graph = self.kernel.launcher.graph(&self.device)?;
        let results = match self.results * self.in_flight {
            0 => None,
            bytes => Some(graph.temporary::<u8>(bytes)?),
        };
        let sink = self.sink.buffer().map(|sink| graph.buffer(sink)).transpose()?;
        Ok(Recording { graph, results, sink })
    }
}

impl MethodStream for Graphs {
    fn launch(&mut self) -> Result<(), Error> {
        let mut recording = match self.recording.take() {
            Some(recording) => recording,
            None => self.begin()?,
        };
        let (slot, bytes) = self.work.next();
        let Recording { graph, results, sink } = &mut recording;
        let Registered { handle, dims, .. } = *self.kernel;
        let result = match results {
            Some(all) => Some(all.slice((slot * self.results) as u64, self.results as u64)?),
            None => None,
        };
        match sink {
            Some(sink) => {
                let patch = result.map(|result| (0, result));
                let block = graph.block(bytes, patch.as_slice())?;
                let args = [
                    GraphArg::Read(block),
                    GraphArg::ReadWrite(*sink),
                    self.words.into(),
                    ((self.results / 4) as u32).into(),
                ];
                // SAFETY: the kernel accesses the block, the sink, and the result through the block, as the arguments
                // say.
                unsafe { graph.launch(handle, dims, &args) }?;
                if let Some(result) = &result {
                    graph.uses(result, Access::Write)?;
                }
            }
            None => {
                // SAFETY: the kernel accesses no memory.
                unsafe { graph.launch(handle, dims, &[]) }?;
            }
        }
        self.recording = Some(recording);
        Ok(())
    }

    fn submit(&mut self) -> Result<(), Error> {
        let Some(Recording { mut graph, results, .. }) = self.recording.take() else { return Ok(()) };
        if let Some(results) = &results {
            // A batch may have fewer launches than the memory has results.
            graph.read(&results.slice(0, self.work.results().len() as u64)?)?;
        }
        self.ticket = Some(graph.compute_by(&self.stream, Submission::DriverGraph)?);
        Ok(())
    }

    fn collect(&mut self) -> Result<(), Error> {
        if let Some(ticket) = self.ticket.take() {
            let output = ticket.read()?;
            let to = self.work.results();
            if !to.is_empty() {
                let from = output.bytes(0)?;
                to.copy_from_slice(from);
            }
        }
        self.work.collected();
        Ok(())
    }

    fn check_results(&self) -> Result<(), Stop> {
        self.work.check_results()
    }

    fn check_sum(&self) -> Result<(), Stop> {
        self.work.check_sum(self.sink.read(&self.stream)?)
    }

    fn stream(&self) -> &Stream {
        &self.stream
    }
}
