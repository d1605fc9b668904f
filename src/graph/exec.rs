//! Runs a graph program as a driver graph, which is instantiated once and launched with one call.

use std::sync::Arc;

use smallvec::SmallVec;

use hip_driver::{
    Capability, DeviceId, Driver, DriverError, DriverResult, HostNode, NodeLaunch, RawGraph, RawGraphExec,
    RawGraphNode, RawStream, Work,
};

use super::program::{GraphProgram, Location, Step, StepData};

/// The most nodes that one call gives other launches.
const UPDATES: usize = 16;

/// An instantiated driver graph. It is destroyed on drop, when its last launch has finished.
#[derive(Debug)]
struct InstantiatedGraph {
    driver: Arc<dyn Driver>,
    device: DeviceId,
    raw: RawGraphExec,
}

impl Drop for InstantiatedGraph {
    fn drop(&mut self) {
        // SAFETY: the owner keeps it until its last launch has finished (`StreamState::keep_until_done`).
        if let Err(e) = unsafe { self.driver.graph_exec_destroy(self.device, self.raw) } {
            log::warn!("destroying a graph of {}: {e}", self.device);
        }
    }
}

/// A driver graph with the arguments and addresses that it was created with. It can be launched again while these are
/// unchanged.
#[derive(Debug)]
pub(super) struct DriverGraph {
    exec: InstantiatedGraph,
    /// The nodes of the steps that have one.
    nodes: Vec<Option<RawGraphNode>>,
    kernargs: Vec<u8>,
    /// The addresses of copies and fills.
    addresses: Vec<u64>,
    /// Dropped after the driver's graph, which has their addresses.
    _host: Vec<HostNode>,
}

/// A driver graph that is being built. It is destroyed on drop.
struct UnfinishedDriverGraph<'a> {
    driver: &'a Arc<dyn Driver>,
    device: DeviceId,
    raw: RawGraph,
}

impl Drop for UnfinishedDriverGraph<'_> {
    fn drop(&mut self) {
        // SAFETY: nothing else uses it; what was instantiated from it stays valid.
        if let Err(e) = unsafe { self.driver.graph_destroy(self.device, self.raw) } {
            log::warn!("destroying a graph of {}: {e}", self.device);
        }
    }
}

/// Succeeds if all reads of a program can be enqueued on the stream after the driver graph. Returns the first that
/// can't, because a later step writes its bytes.
pub(super) fn reads_at_end(program: &GraphProgram) -> Result<(), usize> {
    for (index, step) in program.steps.iter().enumerate() {
        if matches!(step, Step::Read { .. }) {
            // A later step that depends on the read writes the bytes that it reads.
            if program.after[index + 1..].iter().any(|after| after.contains(&(index as u32))) {
                return Err(index);
            }
        }
    }
    Ok(())
}

/// Returns the addresses of everything that is not a kernel argument.
pub(super) fn addresses(program: &GraphProgram, address: impl Fn(Location) -> u64, all: &mut Vec<u64>) {
    all.clear();
    for step in &program.steps {
        match step {
            Step::Copy { from, to, .. } => all.extend([address(*from), address(*to)]),
            Step::Fill { at, .. } => all.push(address(*at)),
            Step::Launch { .. } | Step::Read { .. } | Step::Host(_) => {}
        }
    }
}

impl DriverGraph {
    /// Returns whether the driver graph was created with these arguments and addresses.
    pub(super) fn matches(&self, kernargs: &[u8], addresses: &[u64]) -> bool {
        self.kernargs == kernargs && self.addresses == addresses
    }

    /// Gives kernels whose arguments differ the new ones, if nothing else differs and the driver can do it. Returns whether the driver graph
    /// matches then.
    ///
    /// # Safety
    /// As for [`make`](DriverGraph::make).
    pub(super) unsafe fn update(
        &mut self,
        program: &GraphProgram,
        kernargs: &[u8],
        new_addresses: &[u64],
        address: impl Fn(Location) -> u64 + Copy,
        wants_accesses: bool,
    ) -> bool {
        let InstantiatedGraph { driver, device, raw } = &self.exec;
        if self.addresses != new_addresses
            || self.kernargs.len() != kernargs.len()
            || !driver.capabilities().has(Capability::GraphUpdates)
        {
            return false;
        }
        let data = StepData { kernargs, address, host: None, wants_accesses };
        let differs = |(start, len): (u32, u32)| {
            let range = start as usize..(start + len) as usize;
            self.kernargs[range.clone()] != kernargs[range]
        };
        let kernel = |(index, step): (usize, &Step)| match (step, self.nodes[index]) {
            (Step::Launch { kernarg, .. }, Some(node)) if differs(*kernarg) => Some((index, node)),
            _ => None,
        };
        let replace = |launches: &[NodeLaunch<'_>]| match launches {
            [] => Ok(()),
            // SAFETY: promised by the caller; a live executable graph, which is the caller's alone.
            _ => unsafe { driver.graph_update(*device, *raw, launches) },
        };
        let mut launches: SmallVec<[NodeLaunch<'_>; UPDATES]> = SmallVec::new();
        let mut accesses = Vec::new();
        let mut changed = program.steps.iter().enumerate().filter_map(kernel);
        let replaced = changed.try_for_each(|(index, node)| {
            let step = &program.steps[index];
            if wants_accesses {
                accesses.clear();
                program.add_accesses(index, &data, &mut accesses);
                let launch = step.launch(kernargs, &accesses);
                return launch.map_or(Ok(()), |launch| replace(&[NodeLaunch { node, launch }]));
            }
            if let Some(launch) = step.launch(kernargs, &[]) {
                launches.push(NodeLaunch { node, launch });
            }
            if launches.len() < UPDATES {
                return Ok(());
            }
            let replaced = replace(&launches);
            launches.clear();
            replaced
        });
        if let Err(error) = replaced.and_then(|()| replace(&launches)) {
            log::debug!("a graph of {device} is made anew: {error}");
            // Nodes of earlier calls have other arguments than before: nothing matches it.
            self.kernargs.clear();
            return false;
        }
        self.kernargs.copy_from_slice(kernargs);
        true
    }

    /// Launches the driver graph.
    ///
    /// # Safety
    /// The safety conditions of [`Work::Graph`] apply. `stream` is the instance's own, on which all its launches are
    /// ordered.
    pub(super) unsafe fn launch(&self, stream: RawStream) -> DriverResult<()> {
        // SAFETY: promised by the caller.
        unsafe { self.exec.driver.enqueue(self.exec.device, stream, &Work::Graph(self.exec.raw)) }
    }

    /// Creates the driver graph. On failure, returns the error and the step that caused it.
    ///
    /// # Safety
    /// The addresses and arguments must be valid whenever it is launched, and the kernels' modules must stay loaded.
    pub(super) unsafe fn make(
        driver: &Arc<dyn Driver>,
        device: DeviceId,
        program: &GraphProgram,
        kernargs: &[u8],
        address: impl Fn(Location) -> u64 + Copy,
    ) -> Result<DriverGraph, (usize, DriverError)> {
        let raw = driver.graph_create(device).map_err(|e| (0, e))?;
        let draft = UnfinishedDriverGraph { driver, device, raw };
        let data = StepData { kernargs, address, host: None, wants_accesses: true };
        let mut accesses = Vec::new();
        let mut nodes: Vec<Option<RawGraphNode>> = Vec::with_capacity(program.steps.len());
        for (index, step) in program.steps.iter().enumerate() {
            let node = match step {
                // The stream has it after the driver graph.
                Step::Read { .. } => Ok(None),
                _ => {
                    let after = before(program, &nodes, index);
                    program.with_work((index, step), &data, &mut accesses, Ok(None), |work| {
                        // SAFETY: promised by the caller; ranges were checked when they were recorded.
                        unsafe { driver.graph_add(device, draft.raw, &after, work) }.map(Some)
                    })
                }
            };
            nodes.push(node.map_err(|e| (index, e))?);
        }
        // SAFETY: the graph is ours, and nothing adds nodes to it.
        let raw = unsafe { driver.graph_instantiate(device, draft.raw) }
            .map_err(|e| (program.steps.len().saturating_sub(1), e))?;
        let exec = InstantiatedGraph { driver: driver.clone(), device, raw };
        let host = |step: &Step| if let Step::Host(node) = step { Some(node.clone()) } else { None };
        let _host = program.steps.iter().filter_map(host).collect();
        let mut graph =
            DriverGraph { exec, nodes, kernargs: kernargs.to_vec(), addresses: Vec::new(), _host };
        addresses(program, address, &mut graph.addresses);
        Ok(graph)
    }
}

/// Returns the driver's nodes that a step comes after. If such a step has no node (a read, an empty launch), returns
/// the nodes that it comes after.
fn before(
    program: &GraphProgram,
    nodes: &[Option<RawGraphNode>],
    index: usize,
) -> SmallVec<[RawGraphNode; 4]> {
    let mut before: SmallVec<[RawGraphNode; 4]> = SmallVec::new();
    let mut waiting: SmallVec<[u32; 8]> = program.after[index].iter().copied().collect();
    let mut seen: SmallVec<[u32; 8]> = SmallVec::new();
    while let Some(step) = waiting.pop() {
        if seen.contains(&step) {
            continue;
        }
        seen.push(step);
        match nodes.get(step as usize).copied().flatten() {
            Some(node) => before.push(node),
            None => waiting.extend(program.after[step as usize].iter().copied()),
        }
    }
    before
}
