//! The methods of hiplaunch: by value, an argument block, the same block again, and mapped.

use std::sync::Arc;

use hiplaunch::{
    Arg, ArgumentBlock, Error, KernelHandle, Launch, LaunchDims, Launcher, Patch, PatchTarget, Staging,
    Stream, Ticket, args,
};

use super::kernels::kernel;
use super::work::{Sink, WORDS_AT, Work};
use super::{Job, LaunchMethod, MethodStream, Setup, Stop};

const PATCHES: [Patch; 1] = [Patch { offset: 0, target: PatchTarget::Result }];

/// A registered kernel that all streams of a job share.
pub(super) struct Registered {
    pub(super) launcher: Launcher,
    pub(super) handle: KernelHandle,
    pub(super) dims: LaunchDims,
}

impl Registered {
    pub(super) fn new(method: LaunchMethod, job: &Job, setup: &Setup<'_>) -> Result<Arc<Registered>, Error> {
        let (name, dims) = kernel(method, job);
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

/// A stream that launches by handle.
pub(super) struct Launched {
    kernel: Arc<Registered>,
    method: LaunchMethod,
    stream: Stream,
    tickets: Vec<Ticket>,
    work: Work,
    sink: Sink,
    arguments: usize,
    results: usize,
}

impl Launched {
    pub(super) fn prepare(
        method: LaunchMethod,
        job: &Job,
        setup: &Setup<'_>,
        kernel: &Arc<Registered>,
    ) -> Result<Launched, Error> {
        let stream = setup.launcher.stream(setup.device)?;
        Ok(Launched {
            kernel: kernel.clone(),
            method,
            tickets: Vec::with_capacity(job.in_flight()),
            work: Work::new(job, method != LaunchMethod::Unchanged),
            sink: Sink::new(job, &stream)?,
            stream,
            arguments: job.arguments,
            results: job.results,
        })
    }
}

impl MethodStream for Launched {
    fn launch(&mut self) -> Result<(), Error> {
        let (_, bytes) = self.work.next();
        let Registered { launcher, handle, dims } = &*self.kernel;
        let staging = if self.method == LaunchMethod::Mapped { Staging::Mapped } else { Staging::Copy };
        let launch = |args: &[Arg<'_>]| {
            // SAFETY: sink and result are as large as the kernel's contract (hip/bench.hip) asks for; the sink outlives
            // its launches.
            unsafe { launcher.submit(*handle, &self.stream, Launch::new(*dims).args(args).staging(staging)) }
        };
        let results = (self.results / 4) as u32;
        let ticket = match (self.sink.buffer(), self.method) {
            (None, _) => launch(&[])?,
            (Some(sink), LaunchMethod::Value) => {
                let result = match results {
                    0 => Arg::null(),
                    _ => Arg::output::<u32>(results as usize),
                };
                launch(&[Arg::Value(&bytes[WORDS_AT..]), result, sink.into(), results.into()])?
            }
            (Some(sink), _) => {
                let patches: &[Patch] = if self.results > 0 { &PATCHES } else { &[] };
                let block = ArgumentBlock { bytes, patches, arrays: &[], result_bytes: self.results };
                launch(&args![&block, sink, (self.arguments / 4) as u32, results])?
            }
        };
        if self.results > 0 {
            self.tickets.push(ticket);
        }
        Ok(())
    }

    /// Reads from the last result to the first, so that only the first read waits.
    fn collect(&mut self) -> Result<(), Error> {
        if self.results == 0 {
            self.stream.synchronize()?;
        }
        for (slot, ticket) in self.tickets.drain(..).enumerate().rev() {
            self.work.result(slot).copy_from_slice(ticket.read()?.bytes(0)?);
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
