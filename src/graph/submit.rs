//! Computing a graph: its program from the cache or made anew, what changes written in, and all of it submitted at once.

use std::cmp::Reverse;
use std::sync::{Arc, PoisonError};

use crate::error::{Error, Result};
use crate::launcher::{Lane, LaneState, Stream, Ticket};
use crate::memory::Failed;
use crate::memory::pool::Caller;
use hip_driver::{Capability, DevicePtr, DriverError, KernelLaunch, MemoryAccess, Note, Work};

use super::cache::{Bound, Instance};
use super::error::GraphProblem;
use super::exec::{Baked, addresses, reads_at_end};
use super::program::{At, Program, Step, compile};
use super::record::{Graph, Place, ValueInfo, problem};
use super::side_streams::SideStreams;

/// How a graph reaches the device. The results are the same to the last bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Submission {
    /// The driver's graph from as many nodes on as [`Launcher::set_graph_break_even`](crate::Launcher::set_graph_break_even)
    /// says, for a graph whose addresses and scalars outside of blocks are those of the last time; else a burst. A graph
    /// with [branches](super::Branches) on several streams is a burst: no driver here runs a graph's branches at the same time.
    #[default]
    Auto,
    /// One call a node, one after the other, with nothing between but the events of [branches](super::Branches).
    Burst,
    /// One call: `hipGraphLaunch`. What is baked into the driver's graph is made anew when it changes.
    DriverGraph,
}

/// When a driver's graph is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Never,
    /// When what is baked into it did not change since the last compute.
    Unchanged,
    Always,
}

/// What stopped a submission: the recorded node, and why.
struct Stopped {
    node: u32,
    failed: Failed,
    slot_in_use: bool,
    /// How many steps were enqueued.
    submitted: usize,
}

impl Graph {
    /// Runs the graph on `stream`, once: kernels, copies and fills in the order of recording, with nothing between, or its
    /// [branches](Graph::set_branches) on several streams. Never waits for the device. The ticket's outputs are what [`read`](Graph::read) named, in that order.
    ///
    /// The first compute of a structure plans it and takes its arena from the pool; later ones find it and allocate
    /// nothing.
    ///
    /// # Errors
    /// [`Error::Graph`] and [`Error::OutOfMemory`] before anything was submitted; [`Error::Node`] when the driver
    /// refused a node: those before it run, none after it does.
    /// [`Error::DeviceLost`] when a kernel faulted, perhaps one of this graph that ran before the rest was submitted.
    pub fn compute(self, stream: &Stream) -> Result<Ticket> {
        self.compute_by(stream, Submission::Auto)
    }

    /// As [`compute`](Graph::compute), submitted as `way` says.
    ///
    /// # Errors
    /// As [`compute`](Graph::compute); [`GraphProblem::NoDriverGraph`] where [`Submission::DriverGraph`] is asked for and
    /// can't be.
    pub fn compute_by(mut self, stream: &Stream, way: Submission) -> Result<Ticket> {
        self.check_stream(&stream.0)?;
        self.describe_buffers();
        let instance = self.instance(&stream.0, false)?;
        self.run(&stream.0, &instance, way, 0)
    }

    pub(super) fn check_stream(&self, lane: &Lane) -> Result<()> {
        self.device.check()?;
        if *lane.core.device() != self.device {
            return Err(problem(None, GraphProblem::WrongDevice));
        }
        Ok(())
    }

    /// The program for the key, found or made; the key stays only if it is to be kept.
    pub(super) fn instance(&mut self, lane: &Arc<Lane>, keep: bool) -> Result<Arc<Instance>> {
        let cache = self.launcher.graphs();
        if let Some(instance) = cache.find(&self.key, lane) {
            return Ok(instance);
        }
        let instance = Arc::new(self.prepare(lane)?);
        let key = if keep { self.key.clone() } else { std::mem::take(&mut self.key) };
        cache.insert(key, lane, &instance);
        Ok(instance)
    }

    /// Submits a program of this graph. `state` is 0, or names what is bound: two with the same are bound alike.
    pub(super) fn run(
        &self,
        lane: &Arc<Lane>,
        instance: &Arc<Instance>,
        way: Submission,
        state: u64,
    ) -> Result<Ticket> {
        let by_graph = self.decide(&instance.program, way)?;
        for &value in &instance.program.external {
            if let Place::External { block: Some(block), .. } = &self.values[value as usize].place {
                lane.core.note_use(block);
            }
        }
        match self.enqueue(lane, instance, by_graph, state) {
            Ok(ticket) => Ok(ticket),
            // The lock is gone by now.
            Err(Stopped { node, failed, .. }) => {
                let source = failed.into_error(&self.device);
                Err(match source {
                    lost @ Error::DeviceLost(_) => lost,
                    source => Error::Node { node, kernel: self.kernel_name(node), source: Box::new(source) },
                })
            }
        }
    }

    /// Whether a driver's graph may be used; for [`Submission::Auto`], only one that is there or was asked for twice.
    fn decide(&self, program: &Program, way: Submission) -> Result<Use> {
        let can = || {
            if !self.device.raw().capabilities().has(Capability::Graphs) {
                return Err("the driver has no graphs".to_owned());
            }
            reads_at_end(program)
                .map_err(|step| format!("node {} reads what later nodes write", program.nodes[step]))
        };
        match way {
            Submission::Burst => Ok(Use::Never),
            Submission::DriverGraph => match can() {
                Ok(()) => Ok(Use::Always),
                Err(why) => Err(problem(None, GraphProblem::NoDriverGraph(why.into_boxed_str()))),
            },
            Submission::Auto
                if program.steps.len() >= self.launcher.graphs().break_even() as usize
                    && program.schedule.is_none()
                    && can().is_ok() =>
            {
                Ok(Use::Unchanged)
            }
            Submission::Auto => Ok(Use::Never),
        }
    }

    fn prepare(&self, lane: &Arc<Lane>) -> Result<Instance> {
        let program = compile(self)?;
        let arena = match program.arena_bytes {
            0 => None,
            bytes => {
                let pool = self.device.pool_core();
                let block = pool
                    .allocate(lane.core.arena(), bytes, Caller::Free)
                    .map_err(|e| self.device.allocation_error("device", bytes as usize, e))
                    .map_err(|e| self.say_arena(&program, e))?;
                Some(block)
            }
        };
        program.kernels.iter().for_each(|kernel| kernel.runs_on(lane));
        let mut kernargs = vec![0; program.kernarg_bytes];
        let base = arena.as_ref().map_or(0, |a| a.ptr().0);
        for patch in &program.addresses {
            if let At::Arena(offset) = patch.to {
                put(&mut kernargs, patch.at, &(base + offset).to_le_bytes());
            }
        }
        let bound = Bound { kernargs, blocks: vec![0; program.block_bytes as usize], ..Bound::default() };
        let side = program.schedule.as_ref().map(|s| SideStreams::new(lane, s)).transpose()?;
        Ok(Instance { program, lane: Arc::downgrade(lane), arena, side, bound: bound.into(), used: 0.into() })
    }

    /// Says of memory that ran out what it was for: the arena, and the largest temporary in it.
    #[cold]
    fn say_arena(&self, program: &Program, error: Error) -> Error {
        let Error::OutOfMemory(mut error) = error else { return error };
        let uses =
            program.nodes.iter().flat_map(|&n| self.uses_of(n as usize).iter().map(move |u| (n, u.value)));
        let temporaries = uses.filter_map(|(node, value)| match &self.values[value as usize] {
            ValueInfo { place: Place::Temporary, bytes } => Some((*bytes, value, node)),
            _ => None,
        });
        let mut why = format!("the arena of a graph of {} nodes", program.nodes.len());
        // Of one value's uses the first.
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

    fn address(&self, instance: &Instance, at: At) -> u64 {
        match at {
            At::Arena(offset) => instance.arena.as_ref().map_or(0, |a| a.ptr().0) + offset,
            At::Value(value, offset) => match &self.values[value as usize].place {
                Place::External { address, .. } => address + offset,
                Place::Temporary | Place::Block { .. } => 0,
            },
        }
    }

    /// Writes this compute's addresses and immediates into the packed arguments; whether that changed any.
    fn bind(&self, program: &Program, kernargs: &mut [u8]) -> bool {
        let mut changed = false;
        for patch in &program.addresses {
            if let At::Value(value, offset) = patch.to
                && let Place::External { address, .. } = &self.values[value as usize].place
            {
                changed |= put(kernargs, patch.at, &(address + offset).to_le_bytes());
            }
        }
        for patch in &program.immediates {
            let immediate = &self.immediates[patch.index as usize];
            let from = immediate.at as usize;
            changed |= put(kernargs, patch.at, &self.bytes[from..from + immediate.len as usize]);
        }
        changed
    }

    /// Writes this compute's blocks; whether that changed any.
    fn bind_blocks(&self, instance: &Instance, blocks: &mut [u8]) -> bool {
        let (program, mut changed) = (&instance.program, false);
        let mut patches = program.block_patches.iter().peekable();
        for &(value, start) in &program.blocks {
            let info = &self.values[value as usize];
            let Place::Block { at, .. } = info.place else { continue };
            let (bytes, end) =
                (&self.bytes[at as usize..at as usize + info.bytes as usize], start + info.bytes);
            // What is under a patch is the patch's.
            let mut from = 0;
            while let Some(&&(place, to)) = patches.peek()
                && place < end
            {
                let upto = (place - start) as usize;
                changed |= put(blocks, start as u32 + from as u32, &bytes[from..upto]);
                changed |= put(blocks, place as u32, &self.address(instance, to).to_le_bytes());
                from = upto + 8;
                patches.next();
            }
            changed |= put(blocks, start as u32 + from as u32, &bytes[from..]);
        }
        changed
    }

    /// Copies the blocks to the arena, if they are not there.
    fn stage_blocks(
        &self,
        lane: &Lane,
        instance: &Instance,
        bound: &mut Bound,
        ring: &mut crate::memory::PinnedRing,
        sequence: u64,
    ) -> std::result::Result<(), Failed> {
        if instance.program.blocks.is_empty()
            || (!self.bind_blocks(instance, &mut bound.blocks) && bound.blocks_good)
        {
            return Ok(());
        }
        // Until the copy is enqueued, the device holds something else.
        bound.blocks_good = false;
        let (device, bytes) = (lane.core.device(), bound.blocks.len());
        let staging = ring.take(&lane.core, bytes)?;
        device.note(&Note::HostWrite { ptr: staging.host.as_ptr(), bytes });
        // SAFETY: the ring gave out so many bytes that no work in flight uses.
        unsafe { std::ptr::copy_nonoverlapping(bound.blocks.as_ptr(), staging.host.as_ptr(), bytes) };
        ring.used_by(sequence);
        let to = DevicePtr(self.address(instance, At::Arena(0)));
        // SAFETY: the ring keeps the staged bytes until its fence; the blocks are the arena's first bytes.
        unsafe {
            device.raw().enqueue(
                device.id(),
                lane.core.raw(),
                &Work::CopyToDevice { dst: to, src: staging.host.as_ptr(), bytes },
            )
        }?;
        bound.blocks_good = true;
        Ok(())
    }

    fn enqueue(
        &self,
        lane: &Arc<Lane>,
        instance: &Instance,
        by_graph: Use,
        state: u64,
    ) -> std::result::Result<Ticket, Stopped> {
        let program = &instance.program;
        let first = program.nodes.first().copied().unwrap_or(0);
        let last = program.nodes.last().copied().unwrap_or(0);
        let stop = |node: u32, failed: Failed| Stopped { node, failed, slot_in_use: false, submitted: 0 };
        let mut locked = lane.lock();
        let LaneState { ring, recent, .. } = &mut *locked;
        let slot = match program.result_bytes {
            0 => None,
            bytes => Some(lane.slots().take(&lane.core, bytes as usize).map_err(|e| stop(last, e))?),
        };
        let mut bound = instance.bound.lock().unwrap_or_else(PoisonError::into_inner);
        let bound = &mut *bound;
        let same = state != 0 && bound.state == state;
        let mut changed = !same && self.bind(program, &mut bound.kernargs);
        bound.state = state;
        if by_graph != Use::Never {
            let before = std::mem::take(&mut bound.addresses);
            addresses(program, |at| self.address(instance, at), &mut bound.addresses);
            changed |= before != bound.addresses;
        }
        let sequence = lane.core.next();
        let host = slot.map(|s| s.host);
        // Before anything is submitted, as it may fail.
        let outcome = match by_graph {
            Use::Never => Ok(false),
            Use::Always => self.bake(lane, instance, bound).map(|()| true),
            Use::Unchanged if changed => Ok(false),
            Use::Unchanged => Ok(self.bake(lane, instance, bound).is_ok()),
        };
        let outcome = outcome.and_then(|by_graph| {
            if state == 0 || bound.blocks_state != state || !bound.blocks_good {
                bound.blocks_state = 0;
                self.stage_blocks(lane, instance, bound, ring, sequence).map_err(|e| stop(first, e))?;
                bound.blocks_state = state;
            }
            match &bound.exec {
                Some(exec) if by_graph => {
                    // SAFETY: what the nodes touch is kept by the graph and its marks on the stream; all launches of it
                    // are on this stream.
                    unsafe { exec.launch(lane.core.raw()) }.map_err(|e| stop(first, e.into()))?;
                    self.submit(lane, instance, &bound.kernargs, host, true)
                }
                _ => self.submit(lane, instance, &bound.kernargs, host, false).inspect_err(|_| {
                    if let Some(side) = &instance.side {
                        side.abandon(lane.core.device(), lane.core.raw());
                    }
                }),
            }
        });
        let all = program.steps.len();
        let outcome =
            outcome.and_then(|()| match &slot {
                Some(slot) => {
                    let (device, stream) = (lane.core.device(), lane.core.raw());
                    // SAFETY: the slot's own event and a live stream of one device.
                    unsafe { device.raw().event_record(device.id(), slot.event, stream) }.map_err(|e| {
                        Stopped { node: last, failed: e.into(), slot_in_use: true, submitted: all }
                    })
                }
                None => Ok(()),
            });
        // Whatever happened, something may have been enqueued. A fault of what was may be why the rest was refused.
        lane.core.publish(sequence);
        let submitted = outcome.as_ref().map_or_else(|stopped| stopped.submitted, |()| all);
        for step in &program.steps[submitted.saturating_sub(crate::launcher::REMEMBERED)..submitted] {
            if let Step::Launch { kernel, dims, kernarg, explicit_bytes, .. } = step {
                let bytes = &bound.kernargs[kernarg.0 as usize..(kernarg.0 + kernarg.1) as usize];
                recent.push(sequence, *kernel, *dims, *explicit_bytes, bytes);
            }
        }
        if let Err(stopped) = outcome {
            if let Some(slot) = slot
                && !stopped.slot_in_use
            {
                lane.slots().release(slot);
            }
            return Err(stopped);
        }
        Ok(Ticket::new(lane.clone(), sequence, slot, program.outputs.clone()))
    }

    /// Makes sure that there is a driver's graph of what is bound.
    fn bake(&self, lane: &Lane, instance: &Instance, bound: &mut Bound) -> std::result::Result<(), Stopped> {
        let address = |at| self.address(instance, at);
        if bound.exec.as_ref().is_some_and(|e| e.is_good(&bound.kernargs, &bound.addresses)) {
            return Ok(());
        }
        let completed = lane.core.completed();
        bound.retired.retain(|(position, _)| *position > completed);
        let device = lane.core.device();
        let program = &instance.program;
        // SAFETY: arguments and ranges were checked when they were recorded; the instance keeps kernels and arena, and the
        // graph is launched only for a compute with the same addresses.
        let made = unsafe { Baked::make(device.driver(), device.id(), program, &bound.kernargs, address) };
        let made = made.map_err(|(step, e)| {
            let node = program.nodes.get(step).copied().unwrap_or(0);
            Stopped { node, failed: e.into(), slot_in_use: false, submitted: 0 }
        })?;
        if let Some(old) = bound.exec.replace(made) {
            // Its last launch may still run.
            bound.retired.push((lane.core.enqueued(), old));
        }
        Ok(())
    }

    /// Every step, in order; with `rest`, only what a driver's graph leaves to the stream: reads.
    fn submit(
        &self,
        lane: &Lane,
        instance: &Instance,
        kernargs: &[u8],
        host: Option<std::ptr::NonNull<u8>>,
        rest: bool,
    ) -> std::result::Result<(), Stopped> {
        let (device, main) = (lane.core.device(), lane.core.raw());
        let (driver, id) = (device.raw(), device.id());
        let watched = device.pool_core().shared.watched;
        let program = &instance.program;
        // What a driver's graph leaves to the stream comes behind it on the one.
        let side = instance.side.as_ref().zip(program.schedule.as_ref()).filter(|_| !rest);
        let mut accesses = Vec::new();
        let stop = |index: usize, failed: DriverError| {
            // Copies to the slot may be under way, and nothing says when they have run.
            let read = program.steps[..index].iter().any(|s| matches!(s, Step::Read { .. }));
            let node = program.nodes.get(index).or(program.nodes.last()).copied().unwrap_or(0);
            // Behind a driver's graph, all kernels are.
            let submitted = if rest { program.steps.len() } else { index };
            Stopped { node, failed: failed.into(), slot_in_use: read, submitted }
        };
        if let Some((side, schedule)) = side {
            side.fork(device, schedule, main).map_err(|e| stop(0, e))?;
        }
        for (index, step) in program.steps.iter().enumerate() {
            if rest && !matches!(step, Step::Read { .. }) {
                continue;
            }
            let stream = match side {
                Some((side, schedule)) => {
                    let stream = side.of(schedule, index, main);
                    side.before(device, schedule, index, stream).map_err(|e| stop(index, e))?;
                    stream
                }
                None => main,
            };
            let result = match *step {
                // Its event is recorded all the same.
                Step::Launch { dims, .. } if dims.is_empty() => Ok(()),
                Step::Copy { bytes: 0, .. } | Step::Fill { bytes: 0, .. } | Step::Read { bytes: 0, .. } => {
                    Ok(())
                }
                Step::Launch { function, dims, kernarg, .. } => {
                    if watched {
                        accesses.clear();
                        accesses.extend(program.uses[index].iter().filter(|u| u.1 > 0).map(
                            |&(at, bytes, write)| {
                                let ptr = DevicePtr(self.address(instance, at));
                                MemoryAccess { ptr, bytes: bytes as usize, write }
                            },
                        ));
                    }
                    let launch = KernelLaunch {
                        function,
                        grid: dims.grid,
                        block: dims.block,
                        dynamic_lds: dims.dynamic_lds,
                        kernarg: &kernargs[kernarg.0 as usize..(kernarg.0 + kernarg.1) as usize],
                        accesses: &accesses,
                    };
                    // SAFETY: the segment is as long as the metadata say, and was packed after every argument was
                    // checked against them when it was recorded; that the kernel touches nothing else is the promise of
                    // whoever recorded it.
                    unsafe { driver.enqueue(id, stream, &Work::Kernel(&launch)) }
                }
                Step::Copy { from, to, bytes } => {
                    let (from, to) =
                        (DevicePtr(self.address(instance, from)), DevicePtr(self.address(instance, to)));
                    // SAFETY: both ranges were checked against their values when they were recorded; the values' memory
                    // is kept by the graph and by its marks on the stream.
                    unsafe {
                        driver.enqueue(
                            id,
                            stream,
                            &Work::CopyWithin { dst: to, src: from, bytes: bytes as usize },
                        )
                    }
                }
                Step::Fill { at, bytes, pattern, width } => {
                    let at = DevicePtr(self.address(instance, at));
                    // SAFETY: as above; words begin at multiples of 4, as blocks and temporaries do of 256.
                    unsafe {
                        match width {
                            4 => driver.enqueue(
                                id,
                                stream,
                                &Work::FillWords { dst: at, value: pattern, count: bytes as usize / 4 },
                            ),
                            _ => driver.enqueue(
                                id,
                                stream,
                                &Work::FillBytes { dst: at, value: pattern as u8, bytes: bytes as usize },
                            ),
                        }
                    }
                }
                Step::Read { from, bytes, result } => {
                    let from = DevicePtr(self.address(instance, from));
                    let Some(host) = host else { continue };
                    // SAFETY: the slot is as long as all results together, and is this graph's until its ticket gives
                    // it back, after the event recorded behind this.
                    unsafe {
                        let to = host.as_ptr().add(result as usize);
                        driver.enqueue(
                            id,
                            stream,
                            &Work::CopyToHost { dst: to, src: from, bytes: bytes as usize },
                        )
                    }
                }
            };
            result.map_err(|e| stop(index, e))?;
            if let Some((side, schedule)) = side {
                side.after(device, schedule, index, stream).map_err(|e| stop(index + 1, e))?;
            }
        }
        if let Some((side, schedule)) = side {
            side.join(device, schedule, main).map_err(|e| stop(program.steps.len(), e))?;
        }
        Ok(())
    }
}

/// Writes bytes; whether they were others before.
#[inline]
fn put(place: &mut [u8], at: u32, bytes: &[u8]) -> bool {
    let at = at as usize;
    match place.get_mut(at..at + bytes.len()) {
        Some(place) if place != bytes => {
            place.copy_from_slice(bytes);
            true
        }
        _ => false,
    }
}
