//! The methods of hiplaunch: by value, an argument block, the same block again, mapped, and a batch as one graph.

use std::sync::Arc;

use hiplaunch::graph::{Access, Graph, GraphArg, GraphValue, Submission};
use hiplaunch::{
    Arg, ArgumentBlock, Device, Error, KernelHandle, Launch, LaunchDims, Launcher, Patch, PatchTarget,
    Staging, Ticket, args,
};

use super::work::StreamWork;
use super::{Job, LaunchMethod, Launches, Setup};

const PATCHES: [Patch; 1] = [Patch { offset: 0, target: PatchTarget::Result }];

/// A registered kernel that all streams of a job share.
pub(super) struct Registered {
    launcher: Launcher,
    handle: KernelHandle,
    dims: LaunchDims,
}

impl Registered {
    pub(super) fn new((name, dims): (&str, LaunchDims), setup: &Setup<'_>) -> Result<Arc<Registered>, Error> {
        // SAFETY: the bench's own kernels.
        let handle = unsafe { setup.launcher.register(setup.device, setup.code.elf(), name) }?;
        Ok(Arc::new(Registered { launcher: setup.launcher.clone(), handle, dims }))
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        if let Err(e) = self.launcher.unregister(self.handle) {
            log::warn!("unregistering a kernel of the bench: {e}");
        }
    }
}

/// Launches by handle.
pub(super) struct ByHandle {
    kernel: Arc<Registered>,
    method: LaunchMethod,
    tickets: Vec<Ticket>,
}

impl ByHandle {
    pub(super) fn new(method: LaunchMethod, kernel: &Arc<Registered>, job: &Job) -> ByHandle {
        ByHandle { kernel: kernel.clone(), method, tickets: Vec::with_capacity(job.in_flight()) }
    }
}

impl Launches for ByHandle {
    fn launch(&mut self, on: &mut StreamWork) -> Result<(), Error> {
        on.work.next();
        let Registered { launcher, handle, dims } = &*self.kernel;
        let staging = if self.method == LaunchMethod::Mapped { Staging::Mapped } else { Staging::Copy };
        let launch = |args: &[Arg<'_>]| {
            // SAFETY: sink and result are as large as the kernel's contract (hip/bench.hip) asks for; the sink outlives
            // its launches.
            unsafe { launcher.submit(*handle, &on.stream, Launch::new(*dims).args(args).staging(staging)) }
        };
        let (words, results) = (on.job.argument_words(), on.job.result_words());
        let ticket = match (&on.sink, self.method) {
            (None, _) => launch(&[])?,
            (Some(sink), LaunchMethod::Value) => {
                let result = if results == 0 { Arg::null() } else { Arg::output::<u32>(results as usize) };
                launch(&[Arg::Value(on.work.words()), result, sink.into(), results.into()])?
            }
            (Some(sink), _) => {
                let patches: &[Patch] = if results > 0 { &PATCHES } else { &[] };
                let result_bytes = on.job.results;
                let block = ArgumentBlock { bytes: &on.work.block, patches, arrays: &[], result_bytes };
                launch(&args![&block, sink, words, results])?
            }
        };
        if results > 0 {
            self.tickets.push(ticket);
        }
        Ok(())
    }

    /// Reads from the last result to the first, so that only the first read waits.
    fn collect(&mut self, on: &mut StreamWork) -> Result<(), Error> {
        if on.job.results == 0 {
            on.stream.synchronize()?;
        }
        for (slot, ticket) in self.tickets.drain(..).enumerate().rev() {
            on.work.result(slot).copy_from_slice(ticket.read()?.bytes(0)?);
        }
        Ok(())
    }
}

/// The graph that is being recorded.
struct Recording {
    graph: Graph,
    /// The value of all results of the batch, one after the other.
    results: Option<GraphValue>,
    sink: Option<GraphValue>,
}

/// Records a batch again each time, with a cached graph program, and submits it as a driver graph.
pub(super) struct Graphs {
    kernel: Arc<Registered>,
    device: Device,
    recording: Option<Recording>,
    ticket: Option<Ticket>,
}

impl Graphs {
    pub(super) fn new(kernel: &Arc<Registered>, device: &Device) -> Graphs {
        Graphs { kernel: kernel.clone(), device: device.clone(), recording: None, ticket: None }
    }

    fn begin(&self, on: &StreamWork) -> Result<Recording, Error> {
        let mut graph = self.kernel.launcher.graph(&self.device)?;
        let bytes = on.job.results * on.job.in_flight();
        let results = (bytes > 0).then(|| graph.temporary::<u8>(bytes)).transpose()?;
        let sink = on.sink.as_ref().map(|sink| graph.buffer(sink)).transpose()?;
        Ok(Recording { graph, results, sink })
    }
}

impl Launches for Graphs {
    fn launch(&mut self, on: &mut StreamWork) -> Result<(), Error> {
        let mut recording = match self.recording.take() {
            Some(recording) => recording,
            None => self.begin(on)?,
        };
        let slot = on.work.next();
        let Recording { graph, results, sink } = &mut recording;
        let Registered { handle, dims, .. } = *self.kernel;
        let bytes = on.job.results;
        let result = results.map(|all| all.slice((slot * bytes) as u64, bytes as u64)).transpose()?;
        match sink {
            Some(sink) => {
                let patch = result.map(|result| (0, result));
                let block = graph.block(&on.work.block, patch.as_slice())?;
                let (words, results) = (on.job.argument_words(), on.job.result_words());
                let args = [GraphArg::Read(block), GraphArg::ReadWrite(*sink), words.into(), results.into()];
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

    fn submit(&mut self, on: &mut StreamWork) -> Result<(), Error> {
        let Some(Recording { mut graph, results, .. }) = self.recording.take() else { return Ok(()) };
        if let Some(results) = &results {
            // A batch may have fewer launches than the memory has results.
            graph.read(&results.slice(0, on.work.results().len() as u64)?)?;
        }
        self.ticket = Some(graph.compute_by(&on.stream, Submission::DriverGraph)?);
        Ok(())
    }

    fn collect(&mut self, on: &mut StreamWork) -> Result<(), Error> {
        if let Some(ticket) = self.ticket.take() {
            let output = ticket.read()?;
            let to = on.work.results();
            if !to.is_empty() {
                to.copy_from_slice(output.bytes(0)?);
            }
        }
        Ok(())
    }
}
