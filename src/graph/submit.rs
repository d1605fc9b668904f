//! Computes a graph: finds or compiles its program, binds addresses and scalars, and submits it.

use std::cmp::Reverse;
use std::ptr::NonNull;
use std::sync::{Arc, PoisonError};

use crate::error::{Error, Result};
use crate::launcher::Ticket;
use crate::pool::RequestContext;
use crate::staging::{LockedFailure, StagingRing};
use crate::stream::{EnqueueState, RECENT_LAUNCHES, Stream, StreamState};
use hip_driver::{Capability, DevicePtr, DriverError, Note, Work};

use super::cache::{BoundData, ProgramInstance};
use super::exec::{DriverGraph, addresses, reads_at_end};
use super::program::{GraphProgram, Location, Step, StepData, compile};
use super::record::{Graph, Storage, ValueInfo, problem};
use super::side_streams::SideStreams;
use crate::error::GraphProblem;

/// How a graph is submitted. The results are the same to the last bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Submission {
    /// A driver graph, for a graph with at least the number of nodes of
    /// [`Launcher::set_graph_break_even`](crate::Launcher::set_graph_break_even), if its addresses and its scalars
    /// outside of argument blocks are those of the last compute, or the driver replaces them in the driver graph. Otherwise a stream
    /// submission. A graph with
    /// [branches](super::Branches) on several streams is always a stream submission: no supported driver runs the
    /// branches of a driver graph at the same time.
    #[default]
    Auto,
    /// A stream submission: one driver call for each node, and the calls for the events of [branches](super::Branches).
    Stream,
    /// A driver graph, launched with one call (`hipGraphLaunch`). It is created again if an argument or address in it
    /// changed.
    DriverGraph,
}

/// Whether kernels of a driver graph can get other arguments.
fn can_update(stream_state: &StreamState) -> bool {
    stream_state.device().raw().capabilities().has(Capability::GraphUpdates)
}

/// When a driver graph is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DriverGraphUse {
    Never,
    /// Use it if its arguments and addresses did not change since the last compute, or the driver replaces them in the one that there is.
    Unchanged,
    Always,
}

/// Whether work that was submitted writes the result buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ResultsUse {
    /// None does.
    Unused,
    /// Copies to it may be in flight, and no event says when they have finished, so it is not used again.
    Unknown,
    /// Copies to it are in flight, and its event is deferred.
    Deferred,
}

/// A failed submission.
struct SubmissionFailure {
    /// The recorded node.
    node: u32,
    failure: LockedFailure,
    /// The number of steps that were enqueued.
    submitted: usize,
    results: ResultsUse,
}

impl SubmissionFailure {
    /// A failure before anything was enqueued.
    fn before(node: u32, failure: impl Into<LockedFailure>) -> SubmissionFailure {
        SubmissionFailure { node, failure: failure.into(), submitted: 0, results: ResultsUse::Unused }
    }
}

type Submitted<T> = std::result::Result<T, SubmissionFailure>;

impl Graph {
    /// Runs the graph once on `stream`: its kernels, copies and fills in the order of recording, or its
    /// [branches](Graph::set_branches) on several streams. Doesn't wait for the device. The outputs of the ticket are
    /// the values that [`read`](Graph::read) named, in that order. A kernel that was replaced or unregistered since its
    /// launch was recorded runs as it was recorded.
    ///
    /// The first compute of a graph key plans the graph and allocates its workspace from the pool. Later ones find both
    /// and allocate nothing.
    ///
    /// # Errors
    /// Returns [`Error::Graph`] or [`Error::OutOfMemory`] if nothing was submitted. Returns [`Error::Node`] if the
    /// driver refused a node: the nodes before it run, and those after it don't. Returns [`Error::DeviceLost`] if a
    /// kernel faulted, perhaps one of this graph that ran before the rest was submitted.
    pub fn compute(self, stream: &Stream) -> Result<Ticket> {
        self.compute_by(stream, Submission::Auto)
    }

    /// Computes as [`compute`](Graph::compute), submitted by the method `submission`.
    ///
    /// # Errors
    /// Returns the errors of [`compute`](Graph::compute), and [`GraphProblem::NoDriverGraph`] if `submission` is
    /// [`Submission::DriverGraph`] and the graph can't be one.
    pub fn compute_by(mut self, stream: &Stream, submission: Submission) -> Result<Ticket> {
        self.check_stream(&stream.0)?;
        self.describe_buffers();
        let instance = self.instance(&stream.0, false)?;
        self.run(&stream.0, &instance, submission, 0)
    }

    pub(super) fn check_stream(&self, stream_state: &StreamState) -> Result<()> {
        stream_state.check()?;
        stream_state.refuse_if_captured("a graph")?;
        if *stream_state.device() != self.device {
            return Err(problem(None, GraphProblem::WrongDevice));
        }
        Ok(())
    }

    /// Returns the program instance for the key, compiled if it is new; takes the key unless `keep`.
    pub(super) fn instance(
        &mut self,
        stream_state: &Arc<StreamState>,
        keep: bool,
    ) -> Result<Arc<ProgramInstance>> {
        let cache = &self.cache;
        if let Some(instance) = cache.find(&self.key, stream_state) {
            return Ok(instance);
        }
        let instance = Arc::new(self.prepare(stream_state)?);
        // No other graph will have the key of a kernel that is gone, or of a function; the cache would keep module and function.
        if self.has_current_kernels() && !self.calls_the_host() {
            let key = if keep { self.key.clone() } else { std::mem::take(&mut self.key) };
            cache.insert(key, &instance);
        }
        Ok(instance)
    }

    /// Submits a program of this graph. `state` is 0, or a number for the bound data: submissions with the same number
    /// bind the same data.
    pub(super) fn run(
        &self,
        stream_state: &Arc<StreamState>,
        instance: &Arc<ProgramInstance>,
        submission: Submission,
        state: u64,
    ) -> Result<Ticket> {
        let by_graph = self.decide(&instance.program, submission)?;
        for &value in &instance.program.external {
            if let Storage::External { block: Some(block), .. } = &self.values[value as usize].place {
                stream_state.record_use(block);
            }
        }
        match self.enqueue(stream_state, instance, by_graph, state) {
            Ok(ticket) => Ok(ticket),
            // The lock has been released here.
            Err(SubmissionFailure { node, failure, .. }) => {
                let source = failure.into_error(&self.device);
                Err(match source {
                    lost @ Error::DeviceLost(_) => lost,
                    source => Error::Node { node, kernel: self.kernel_name(node), source: Box::new(source) },
                })
            }
        }
    }

    /// Returns when to use a driver graph.
    ///
    /// # Errors
    /// Returns [`GraphProblem::NoDriverGraph`] if `submission` is [`Submission::DriverGraph`] and the graph can't be one.
    fn decide(&self, program: &GraphProgram, submission: Submission) -> Result<DriverGraphUse> {
        let can = || {
            if !self.device.raw().capabilities().has(Capability::Graphs) {
                return Err("the driver has no graphs".to_owned());
            }
            reads_at_end(program)
                .map_err(|step| format!("node {} reads what later nodes write", program.nodes[step]))
        };
        match submission {
            Submission::Stream => Ok(DriverGraphUse::Never),
            Submission::DriverGraph => match can() {
                Ok(()) => Ok(DriverGraphUse::Always),
                Err(why) => Err(problem(None, GraphProblem::NoDriverGraph(why.into_boxed_str()))),
            },
            Submission::Auto
                if program.steps.len() >= self.cache.break_even() as usize
                    && program.schedule.is_none()
                    && can().is_ok() =>
            {
                Ok(DriverGraphUse::Unchanged)
            }
            Submission::Auto => Ok(DriverGraphUse::Never),
        }
    }

    fn prepare(&self, stream_state: &Arc<StreamState>) -> Result<ProgramInstance> {
        let program = compile(self)?;
        let workspace = match program.workspace_bytes {
            0 => None,
            bytes => {
                let pool = self.device.pool_core();
                let block = pool
                    .allocate(stream_state.arena(), bytes, RequestContext::Free)
                    .map_err(|e| self.device.allocation_error("device", bytes as usize, e))
                    .map_err(|e| self.explain_out_of_memory(&program, e))?;
                Some(block)
            }
        };
        program.kernels.iter().for_each(|kernel| kernel.runs_on(stream_state));
        let mut kernargs = vec![0; program.kernarg_bytes];
        let base = workspace.as_ref().map_or(0, |a| a.ptr().0);
        for patch in &program.addresses {
            if let Location::Workspace(offset) = patch.to {
                put_address(&mut kernargs, patch.at, base + offset);
            }
        }
        let bound =
            BoundData { kernargs, blocks: vec![0; program.block_bytes as usize], ..BoundData::default() };
        let side = program.schedule.as_ref().map(|s| SideStreams::new(stream_state, s)).transpose()?;
        Ok(ProgramInstance {
            program,
            stream_state: Arc::downgrade(stream_state),
            workspace,
            side,
            bound: bound.into(),
            used: 0.into(),
        })
    }

    /// Adds to an out-of-memory error what the memory was for: the workspace, and its largest temporary.
    #[cold]
    fn explain_out_of_memory(&self, program: &GraphProgram, error: Error) -> Error {
        let Error::OutOfMemory(mut error) = error else { return error };
        let uses =
            program.nodes.iter().flat_map(|&n| self.uses_of(n as usize).iter().map(move |u| (n, u.value)));
        let temporaries = uses.filter_map(|(node, value)| match &self.values[value as usize] {
            ValueInfo { place: Storage::Temporary, bytes } => Some((*bytes, value, node)),
            _ => None,
        });
        let mut why = format!("the workspace of a graph of {} nodes", program.nodes.len());
        // Of the uses of one value, take the first.
        if let Some((bytes, value, node)) = temporaries.max_by_key(|&(b, v, n)| (b, Reverse(v), Reverse(n))) {
            why +=
                &format!(", the largest temporary being value {value}, {bytes} bytes, from node {node} on");
        }
        if let Some(more) = &error.why {
            why += "; ";
            why += more;
        }
        error.why = Some(why.into_boxed_str());
        Error::OutOfMemory(error)
    }

    fn address(&self, instance: &ProgramInstance, at: Location) -> u64 {
        match at {
            Location::Workspace(offset) => instance.workspace.as_ref().map_or(0, |a| a.ptr().0) + offset,
            Location::Value(value, offset) => match &self.values[value as usize].place {
                Storage::External { address, .. } => address + offset,
                Storage::Temporary | Storage::ArgumentBlock { .. } => 0,
            },
        }
    }

    /// Writes the addresses and immediates into the packed arguments. Returns whether that changed any.
    fn bind(&self, program: &GraphProgram, kernargs: &mut [u8]) -> bool {
        let mut changed = false;
        for patch in &program.addresses {
            if let Location::Value(value, offset) = patch.to
                && let Storage::External { address, .. } = &self.values[value as usize].place
            {
                changed |= put_address(kernargs, patch.at, address + offset);
            }
        }
        for patch in &program.immediates {
            let immediate = &self.immediates[patch.index as usize];
            let from = immediate.at as usize;
            changed |= put(kernargs, patch.at, &self.bytes[from..from + immediate.len as usize]);
        }
        changed
    }

    /// Writes the argument blocks. Returns whether that changed any.
    fn bind_blocks(&self, instance: &ProgramInstance, blocks: &mut [u8]) -> bool {
        let (program, mut changed) = (&instance.program, false);
        let mut patches = program.block_patches.iter().peekable();
        for &(value, start) in &program.blocks {
            let info = &self.values[value as usize];
            let Storage::ArgumentBlock { at, .. } = info.place else { continue };
            let (bytes, end) =
                (&self.bytes[at as usize..at as usize + info.bytes as usize], start + info.bytes);
            // The bytes of a patch hold the address.
            let mut from = 0;
            while let Some(&&(place, to)) = patches.peek()
                && place < end
            {
                let upto = (place - start) as usize;
                changed |= put(blocks, start as u32 + from as u32, &bytes[from..upto]);
                changed |= put_address(blocks, place as u32, self.address(instance, to));
                from = upto + 8;
                patches.next();
            }
            changed |= put(blocks, start as u32 + from as u32, &bytes[from..]);
        }
        changed
    }

    /// Copies the argument blocks to the workspace unless it holds those of `state` already.
    #[inline]
    fn stage_blocks(
        &self,
        stream_state: &StreamState,
        instance: &ProgramInstance,
        bound: &mut BoundData,
        ring: &mut StagingRing,
        state: u64,
        position: u64,
    ) -> Submitted<()> {
        if state != 0 && bound.blocks_state == state && bound.workspace_has_blocks {
            return Ok(());
        }
        bound.blocks_state = 0;
        if !instance.program.blocks.is_empty()
            && (self.bind_blocks(instance, &mut bound.blocks) || !bound.workspace_has_blocks)
        {
            let first = instance.program.nodes.first().copied().unwrap_or(0);
            self.copy_blocks(stream_state, instance, bound, ring, position)
                .map_err(|e| SubmissionFailure::before(first, e))?;
        }
        bound.blocks_state = state;
        Ok(())
    }

    /// Copies the argument blocks to the workspace.
    fn copy_blocks(
        &self,
        stream_state: &StreamState,
        instance: &ProgramInstance,
        bound: &mut BoundData,
        ring: &mut StagingRing,
        position: u64,
    ) -> std::result::Result<(), LockedFailure> {
        // Until the copy is enqueued, the workspace holds other bytes.
        bound.workspace_has_blocks = false;
        let (device, bytes) = (stream_state.device(), bound.blocks.len());
        let staging = ring.take(&stream_state.driver_stream, bytes)?;
        device.note(&Note::HostWrite { ptr: staging.host.as_ptr(), bytes });
        // SAFETY: the ring returned this many bytes that no work in flight uses.
        unsafe { std::ptr::copy_nonoverlapping(bound.blocks.as_ptr(), staging.host.as_ptr(), bytes) };
        ring.used_by(position);
        let to = DevicePtr(self.address(instance, Location::Workspace(0)));
        let copy = Work::CopyToDevice { dst: to, src: staging.host.as_ptr(), bytes };
        // SAFETY: the ring keeps the staged bytes until its fence; the blocks are the workspace's first bytes.
        unsafe { device.raw().enqueue(device.id(), stream_state.driver_stream.for_work()?, &copy) }?;
        bound.workspace_has_blocks = true;
        Ok(())
    }

    fn enqueue(
        &self,
        stream_state: &Arc<StreamState>,
        instance: &ProgramInstance,
        by_graph: DriverGraphUse,
        state: u64,
    ) -> Submitted<Ticket> {
        let program = &instance.program;
        let last = program.nodes.last().copied().unwrap_or(0);
        let mut locked = stream_state.lock();
        let EnqueueState { ring, results, recent, .. } = &mut *locked;
        let mut buffer = None;
        if !program.outputs.is_empty() {
            let bytes = program.result_bytes as usize;
            let taken = results.take(&stream_state.driver_stream, &stream_state.returned, bytes);
            let mut taken = taken.map_err(|e| SubmissionFailure::before(last, e))?;
            taken.value.spans.extend_from_slice(&program.outputs);
            buffer = Some(taken);
        }
        let mut bound = instance.bound.lock().unwrap_or_else(PoisonError::into_inner);
        let bound = &mut *bound;
        let changed = self.bind_all(instance, by_graph, state, bound);
        let position = stream_state.progress().next();
        let all = program.steps.len();
        // Before anything is submitted, because it may fail.
        let outcome = self.choose_driver_graph(stream_state, instance, by_graph, changed, bound);
        let outcome = outcome.and_then(|by_graph| {
            self.stage_blocks(stream_state, instance, bound, ring, state, position)?;
            let host = buffer.as_ref().map(|buffer| buffer.value.host);
            self.submit_bound(stream_state, instance, bound, host, by_graph)
        });
        let outcome = outcome.and_then(|()| {
            let Some(buffer) = &buffer else { return Ok(()) };
            let deferred = stream_state.driver_stream.defer(position, buffer.value.event);
            deferred.map_err(|e| SubmissionFailure {
                node: last,
                failure: e.into(),
                submitted: all,
                results: ResultsUse::Deferred,
            })
        });
        // Even after a failure, some work may have been enqueued. Its fault may be the reason why the rest was refused.
        stream_state.progress().publish(position);
        let submitted = outcome.as_ref().map_or_else(|failure| failure.submitted, |()| all);
        for step in &program.steps[submitted.saturating_sub(RECENT_LAUNCHES)..submitted] {
            if let Step::Launch { kernel, dims, kernarg, explicit_bytes, .. } = step {
                let bytes = &bound.kernargs[kernarg.0 as usize..(kernarg.0 + kernarg.1) as usize];
                recent.push(position, *kernel, dims, *explicit_bytes, bytes);
            }
        }
        if let Err(failure) = outcome {
            if let Some(buffer) = buffer
                && failure.results != ResultsUse::Unknown
            {
                results.give_back(buffer, (failure.results == ResultsUse::Deferred).then_some(position));
            }
            return Err(failure);
        }
        Ok(Ticket::new(stream_state.clone(), position, buffer))
    }

    /// Binds arguments and addresses, unless they are bound for the same `state`. Returns whether that changed what a
    /// driver graph has in it.
    #[inline]
    fn bind_all(
        &self,
        instance: &ProgramInstance,
        by_graph: DriverGraphUse,
        state: u64,
        bound: &mut BoundData,
    ) -> bool {
        let program = &instance.program;
        let is_bound = state != 0 && bound.state == state;
        let mut changed = !is_bound && self.bind(program, &mut bound.kernargs);
        bound.state = state;
        if by_graph != DriverGraphUse::Never {
            let before = std::mem::take(&mut bound.addresses);
            addresses(program, |at| self.address(instance, at), &mut bound.addresses);
            changed |= before != bound.addresses;
        }
        changed
    }

    /// Returns whether to submit a driver graph, which then is there for the bound arguments and addresses.
    #[inline]
    fn choose_driver_graph(
        &self,
        stream_state: &StreamState,
        instance: &ProgramInstance,
        by_graph: DriverGraphUse,
        changed: bool,
        bound: &mut BoundData,
    ) -> Submitted<bool> {
        match by_graph {
            DriverGraphUse::Never => Ok(false),
            DriverGraphUse::Always => self.ensure_driver_graph(stream_state, instance, bound).map(|()| true),
            DriverGraphUse::Unchanged if changed && !(bound.exec.is_some() && can_update(stream_state)) => {
                Ok(false)
            }
            DriverGraphUse::Unchanged => Ok(self.ensure_driver_graph(stream_state, instance, bound).is_ok()),
        }
    }

    /// Submits what is bound: as a driver graph and the reads after it, or step by step.
    #[inline]
    fn submit_bound(
        &self,
        stream_state: &StreamState,
        instance: &ProgramInstance,
        bound: &BoundData,
        host: Option<NonNull<u8>>,
        by_graph: bool,
    ) -> Submitted<()> {
        let kernargs = &bound.kernargs[..];
        let Some(exec) = bound.exec.as_ref().filter(|_| by_graph) else {
            return self.submit_steps(stream_state, instance, kernargs, host, false).inspect_err(|_| {
                if let Some(side) = &instance.side {
                    side.abandon(stream_state.device(), stream_state.driver_stream.raw());
                }
            });
        };
        let first = instance.program.nodes.first().copied().unwrap_or(0);
        let stream = stream_state.driver_stream.for_work();
        // SAFETY: the graph and its records on the stream keep the memory that the nodes access; all its launches are on
        // this stream.
        let launched = stream.and_then(|stream| unsafe { exec.launch(stream) });
        launched.map_err(|e| SubmissionFailure::before(first, e))?;
        self.submit_steps(stream_state, instance, kernargs, host, true)
    }

    /// Ensures that there is a driver graph for the bound arguments and addresses.
    fn ensure_driver_graph(
        &self,
        stream_state: &StreamState,
        instance: &ProgramInstance,
        bound: &mut BoundData,
    ) -> Submitted<()> {
        let address = |at| self.address(instance, at);
        if bound.exec.as_ref().is_some_and(|e| e.matches(&bound.kernargs, &bound.addresses)) {
            return Ok(());
        }
        let program = &instance.program;
        if let Some(exec) = &mut bound.exec {
            let wants_accesses = stream_state.device().pool_core().shared.wants_accesses;
            let updated =
                // SAFETY: as below.
                unsafe { exec.update(program, &bound.kernargs, &bound.addresses, address, wants_accesses) };
            if updated {
                return Ok(());
            }
        }
        let completed = stream_state.progress().completed();
        bound.retired.retain(|(position, _)| *position > completed);
        let device = stream_state.device();
        // SAFETY: arguments and ranges were checked when they were recorded; the instance keeps kernels and workspace,
        // and the graph is launched only for a compute with the same addresses.
        let created =
            unsafe { DriverGraph::make(device.driver(), device.id(), program, &bound.kernargs, address) };
        let created = created.map_err(|(step, e)| {
            SubmissionFailure::before(program.nodes.get(step).copied().unwrap_or(0), e)
        })?;
        if let Some(old) = bound.exec.replace(created) {
            // Its last launch may still run.
            bound.retired.push((stream_state.progress().enqueued(), old));
        }
        Ok(())
    }

    /// Enqueues every step in order; with `reads_only`, only the reads, which a driver graph leaves to the stream.
    fn submit_steps(
        &self,
        stream_state: &StreamState,
        instance: &ProgramInstance,
        kernargs: &[u8],
        host: Option<NonNull<u8>>,
        reads_only: bool,
    ) -> Submitted<()> {
        let device = stream_state.device();
        let (driver, id) = (device.raw(), device.id());
        let program = &instance.program;
        let data = StepData {
            kernargs,
            address: |at| self.address(instance, at),
            host,
            wants_accesses: device.pool_core().shared.wants_accesses,
        };
        // What a driver graph leaves to the stream is enqueued after it on the main stream.
        let side = instance.side.as_ref().zip(program.schedule.as_ref()).filter(|_| !reads_only);
        let failed = |index: usize, e: DriverError| SubmissionFailure {
            node: program.nodes.get(index).or(program.nodes.last()).copied().unwrap_or(0),
            failure: e.into(),
            // A driver graph has run all kernels before.
            submitted: if reads_only { program.steps.len() } else { index },
            results: match program.steps[..index].iter().any(|step| matches!(step, Step::Read { .. })) {
                true => ResultsUse::Unknown,
                false => ResultsUse::Unused,
            },
        };
        let mut accesses = Vec::new();
        let main = stream_state.driver_stream.for_work().map_err(|e| failed(0, e))?;
        if let Some((side, schedule)) = side {
            let fork = schedule.fork.map_or(Ok(()), |event| side.record(device, event, main));
            fork.map_err(|e| failed(0, e))?;
        }
        for (index, step) in program.steps.iter().enumerate() {
            if reads_only && !matches!(step, Step::Read { .. }) {
                continue;
            }
            let mut stream = main;
            if let Some((side, schedule)) = side {
                stream = side.of(schedule, index, main);
                let mut waits = schedule.waits[index].iter();
                let waited = waits.try_for_each(|&event| side.wait(device, event, stream));
                waited.map_err(|e| failed(index, e))?;
            }
            let enqueued = program.with_work((index, step), &data, &mut accesses, Ok(()), |work| {
                // SAFETY: the kernarg segment is as long as the metadata says, and was packed after every argument was
                // checked against it when it was recorded; the caller that recorded the launch promised that the kernel
                // accesses nothing else. Ranges were checked against their values when they were recorded, and words
                // begin at multiples of 4, as pool blocks and temporaries do of 256; the graph and its records on the
                // stream keep the values' memory. The result buffer is as long as all results together, and is this
                // graph's until its ticket releases it, after the event that is recorded next.
                unsafe { driver.enqueue(id, stream, work) }
            });
            enqueued.map_err(|e| failed(index, e))?;
            // Also after a step that had nothing to do.
            if let Some((side, schedule)) = side
                && let Some(event) = schedule.records[index]
            {
                side.record(device, event, stream).map_err(|e| failed(index + 1, e))?;
            }
        }
        if let Some((side, schedule)) = side {
            let mut joins = schedule.joins.iter();
            let joined = joins.try_for_each(|&event| side.wait(device, event, main));
            joined.map_err(|e| failed(program.steps.len(), e))?;
        }
        Ok(())
    }
}

/// Writes an address and returns whether it changed.
#[inline]
fn put_address(place: &mut [u8], at: u32, address: u64) -> bool {
    put_array(place, at, address.to_le_bytes())
}

/// Writes bytes and returns whether they changed.
#[inline]
fn put(place: &mut [u8], at: u32, bytes: &[u8]) -> bool {
    // Most are numbers, which are compared without a call.
    if let Ok(word) = <[u8; 4]>::try_from(bytes) {
        return put_array(place, at, word);
    }
    let at = at as usize;
    match place.get_mut(at..at + bytes.len()) {
        Some(place) if place != bytes => {
            place.copy_from_slice(bytes);
            true
        }
        _ => false,
    }
}

#[inline]
fn put_array<const N: usize>(place: &mut [u8], at: u32, bytes: [u8; N]) -> bool {
    let place = place.get_mut(at as usize..).and_then(|rest| rest.first_chunk_mut::<N>());
    place.is_some_and(|place| std::mem::replace(place, bytes) != bytes)
}
