//! Computing a graph: its program from the cache or made anew, what changes written in, and all of it submitted at once.

use std::sync::{Arc, PoisonError};

use crate::driver::{DevicePtr, KernelLaunch, MemoryAccess};
use crate::error::{Error, Result};
use crate::launcher::{Lane, Stream, Ticket};
use crate::memory::Failed;
use crate::memory::pool::Caller;

use super::cache::Instance;
use super::error::GraphProblem;
use super::program::{At, Program, Step, compile};
use super::record::{Graph, Place, problem};

/// What stopped a submission: the recorded node, and why.
struct Stopped {
    node: u32,
    failed: Failed,
    slot_in_use: bool,
}

impl Graph {
    /// Runs the graph on `stream`, once: kernels, copies and fills in the order of recording, with nothing between. Never
    /// waits for the device. The ticket's outputs are what [`read`](Graph::read) named, in that order.
    ///
    /// The first compute of a structure plans it and takes its arena from the pool; later ones find it and allocate
    /// nothing.
    ///
    /// # Errors
    /// [`Error::Graph`] and [`Error::OutOfMemory`] before anything was submitted; [`Error::Node`] when the driver
    /// refused a node: those before it run, none after it does.
    pub fn compute(mut self, stream: &Stream) -> Result<Ticket> {
        let lane = &stream.0;
        self.device.check()?;
        if *lane.core.device() != self.device {
            return Err(problem(None, GraphProblem::WrongDevice));
        }
        self.describe_overlaps();
        let launcher = self.launcher.clone();
        let cache = launcher.graphs();
        let instance = match cache.find(&self.key, lane) {
            Some(instance) => instance,
            None => {
                let instance = Arc::new(self.prepare(lane)?);
                cache.insert(std::mem::take(&mut self.key), lane, &instance);
                instance
            }
        };
        for &value in &instance.program.external {
            if let Place::External { block: Some(block), .. } = &self.values[value as usize].place {
                lane.core.note_use(block);
            }
        }
        match self.enqueue(lane, &instance) {
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

    fn prepare(&self, lane: &Arc<Lane>) -> Result<Instance> {
        let program = compile(self)?;
        let arena = match program.arena_bytes {
            0 => None,
            bytes => {
                let pool = self.device.pool_core();
                let block = pool
                    .allocate(lane.core.arena(), bytes, Caller::Free)
                    .map_err(|e| self.device.allocation_error("device", bytes as usize, e))?;
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
        Ok(Instance { program, arena, kernargs: kernargs.into() })
    }

    fn address(&self, instance: &Instance, at: At) -> u64 {
        match at {
            At::Arena(offset) => instance.arena.as_ref().map_or(0, |a| a.ptr().0) + offset,
            At::Value(value, offset) => match &self.values[value as usize].place {
                Place::External { address, .. } => address + offset,
                Place::Temporary => 0,
            },
        }
    }

    /// Writes this compute's addresses and immediates into the packed arguments.
    fn bind(&self, program: &Program, kernargs: &mut [u8]) {
        for patch in &program.addresses {
            if let At::Value(value, offset) = patch.to
                && let Place::External { address, .. } = &self.values[value as usize].place
            {
                put(kernargs, patch.at, &(address + offset).to_le_bytes());
            }
        }
        for patch in &program.immediates {
            let immediate = &self.immediates[patch.index as usize];
            let from = immediate.at as usize;
            put(kernargs, patch.at, &self.bytes[from..from + immediate.len as usize]);
        }
    }

    fn enqueue(&self, lane: &Arc<Lane>, instance: &Instance) -> std::result::Result<Ticket, Stopped> {
        let program = &instance.program;
        let stop = |node: u32, failed: Failed| Stopped { node, failed, slot_in_use: false };
        let mut state = lane.lock();
        let slot = match program.result_bytes {
            0 => None,
            bytes => {
                let node = program.nodes.last().copied().unwrap_or(0);
                Some(lane.slots().take(&lane.core, bytes as usize).map_err(|e| stop(node, e))?)
            }
        };
        let mut kernargs = instance.kernargs.lock().unwrap_or_else(PoisonError::into_inner);
        self.bind(program, &mut kernargs);
        let sequence = lane.core.next();
        let host = slot.map(|s| s.host);
        let outcome = self.submit(lane, instance, &kernargs, host);
        let outcome = outcome.and_then(|()| match &slot {
            Some(slot) => {
                let (device, stream) = (lane.core.device(), lane.core.raw());
                // SAFETY: the slot's own event and a live stream of one device.
                unsafe { device.raw().event_record(device.id(), slot.event, stream) }.map_err(|e| Stopped {
                    node: program.nodes.last().copied().unwrap_or(0),
                    failed: e.into(),
                    slot_in_use: true,
                })
            }
            None => Ok(()),
        });
        // Whatever happened, something may have been enqueued.
        lane.core.publish(sequence);
        if let Err(stopped) = outcome {
            if let Some(slot) = slot
                && !stopped.slot_in_use
            {
                lane.slots().release(slot);
            }
            return Err(stopped);
        }
        let first = program.steps.len().saturating_sub(crate::launcher::REMEMBERED);
        for step in &program.steps[first..] {
            if let Step::Launch { handle, dims, kernarg, explicit_bytes, .. } = step {
                let bytes = &kernargs[kernarg.0 as usize..(kernarg.0 + kernarg.1) as usize];
                state.recent.push(sequence, *handle, *dims, *explicit_bytes, bytes);
            }
        }
        Ok(Ticket::new(lane.clone(), sequence, slot, program.outputs.clone()))
    }

    /// Every step, in order.
    fn submit(
        &self,
        lane: &Lane,
        instance: &Instance,
        kernargs: &[u8],
        host: Option<std::ptr::NonNull<u8>>,
    ) -> std::result::Result<(), Stopped> {
        let (device, stream) = (lane.core.device(), lane.core.raw());
        let (driver, id) = (device.raw(), device.id());
        let watched = device.pool_core().shared.watched;
        let program = &instance.program;
        let mut accesses = Vec::new();
        for (index, step) in program.steps.iter().enumerate() {
            let result = match *step {
                Step::Launch { function, dims, kernarg, .. } => {
                    if dims.is_empty() {
                        continue;
                    }
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
                        stream,
                        kernarg: &kernargs[kernarg.0 as usize..(kernarg.0 + kernarg.1) as usize],
                        accesses: &accesses,
                    };
                    // SAFETY: the segment is as long as the metadata say, and was packed after every argument was
                    // checked against them when it was recorded; that the kernel touches nothing else is the promise of
                    // whoever recorded it.
                    unsafe { driver.launch_kernel(id, &launch) }
                }
                Step::Copy { bytes: 0, .. } | Step::Fill { bytes: 0, .. } | Step::Read { bytes: 0, .. } => {
                    continue;
                }
                Step::Copy { from, to, bytes } => {
                    let (from, to) =
                        (DevicePtr(self.address(instance, from)), DevicePtr(self.address(instance, to)));
                    // SAFETY: both ranges were checked against their values when they were recorded; the values' memory
                    // is kept by the graph and by its marks on the stream.
                    unsafe { driver.memcpy_dtod_async(id, to, from, bytes as usize, stream) }
                }
                Step::Fill { at, bytes, pattern, width } => {
                    let at = DevicePtr(self.address(instance, at));
                    // SAFETY: as above; words begin at multiples of 4, as blocks and temporaries do of 256.
                    unsafe {
                        match width {
                            4 => driver.memset_d32_async(id, at, pattern, bytes as usize / 4, stream),
                            _ => driver.memset_d8_async(id, at, pattern as u8, bytes as usize, stream),
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
                        driver.memcpy_dtoh_async(id, to, from, bytes as usize, stream)
                    }
                }
            };
            if let Err(e) = result {
                // Copies to the slot may be under way, and nothing says when they have run.
                let read = program.steps[..index].iter().any(|s| matches!(s, Step::Read { .. }));
                return Err(Stopped { node: program.nodes[index], failed: e.into(), slot_in_use: read });
            }
        }
        Ok(())
    }
}

#[inline]
fn put(kernargs: &mut [u8], at: u32, bytes: &[u8]) {
    let at = at as usize;
    if let Some(place) = kernargs.get_mut(at..at + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}
