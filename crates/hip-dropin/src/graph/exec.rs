//! Executable graphs.

use std::sync::{Arc, Mutex};

use hip_driver::DeviceId;

use super::check::Check;
use super::memory::GraphMemory;
use super::payload::Payload;
use super::{Graph, GraphHandle, Graphs, NodeHandle, lock};
use crate::abi::{Handle, HipResult, Out, Status};
use crate::process::Process;
use crate::stream::StreamHandle;

/// A `hipGraphExec_t`.
pub(crate) type ExecHandle = Handle<Exec>;

/// An executable graph.
pub(crate) struct Exec {
    steps: Mutex<Vec<Step>>,
    pub(crate) flags: u64,
    /// The program's objects that it keeps alive, with the numbers of its references.
    user_objects: Vec<(u64, u64)>,
}

/// A node as it was when the graph was instantiated, or as it was set since.
#[derive(Clone)]
pub(super) struct Step {
    /// The node's handle.
    node: u64,
    payload: Payload,
    /// How many nodes it comes after.
    after: usize,
    pub(super) enabled: bool,
}

impl Step {
    /// The memory that it allocates.
    fn allocates(&self) -> Option<&GraphMemory> {
        match &self.payload {
            Payload::Allocate(memory) => Some(memory),
            _ => None,
        }
    }

    /// Fails unless a launch can leave the node out: a kernel, a copy or a fill.
    pub(super) fn check_can_be_disabled(&self) -> HipResult {
        match self.payload {
            Payload::Kernel(..) | Payload::Copy(_) | Payload::Fill(_) => Ok(()),
            _ => Err(Status::INVALID_VALUE),
        }
    }
}

impl Exec {
    /// What a launch enqueues, in order.
    pub(super) fn launched(&self) -> Vec<Payload> {
        let steps = lock(&self.steps);
        let done = steps.iter().filter(|step| step.enabled && !matches!(step.payload, Payload::Child(_)));
        done.map(|step| step.payload.clone()).collect()
    }

    /// Checks a launch on a stream of `device`. Memory that it allocates must be free, unless the program has asked that launches
    /// free it.
    fn check(&self, process: &Process, device: DeviceId) -> HipResult {
        let (steps, mut check) = (lock(&self.steps), Check::new(process, device));
        for memory in steps.iter().filter_map(Step::allocates) {
            if memory.is_allocated() && self.flags & AUTO_FREE == 0 {
                return Err(Status::INVALID_VALUE);
            }
            check.frees_first(memory.address());
        }
        steps.iter().filter(|step| step.enabled).try_for_each(|step| check.next(&step.payload))
    }

    /// Frees the memory that a launch allocates anew.
    fn free_memory(&self, process: &Process) {
        for memory in lock(&self.steps).iter().filter_map(Step::allocates) {
            if memory.is_allocated() {
                memory.set_allocated(process, false);
            }
        }
    }

    /// Changes the step of a node. Fails with `INVALID_VALUE` if the graph had no such node.
    pub(super) fn with_step(
        &self,
        node: NodeHandle,
        change: impl FnOnce(&mut Step) -> HipResult,
    ) -> HipResult {
        let mut steps = lock(&self.steps);
        change(steps.iter_mut().find(|step| step.node == node.0).ok_or(Status::INVALID_VALUE)?)
    }

    /// Sets what a node does, if `check` agrees.
    pub(super) fn set(
        &self,
        node: NodeHandle,
        payload: Payload,
        check: impl FnOnce(&Payload, &Payload) -> HipResult,
    ) -> HipResult {
        self.with_step(node, |step| {
            check(&step.payload, &payload)?;
            step.payload.replace(payload);
            Ok(())
        })
    }
}

impl Graphs {
    /// Returns an executable graph. Fails with `INVALID_VALUE` if it does not exist.
    pub(crate) fn exec(&self, handle: ExecHandle) -> HipResult<Arc<Exec>> {
        self.execs.expect(handle.0, Status::INVALID_VALUE)
    }

    /// The steps of a graph and of its child graphs. Those of a child stand behind the step of its node.
    pub(super) fn steps(&self, graph: &Graph) -> HipResult<Vec<Step>> {
        let mut steps = Vec::new();
        for node in graph.in_order()? {
            let payload = node.payload().clone();
            let child = match payload {
                Payload::Child(child) => Some(child),
                _ => None,
            };
            let after = lock(&node.after).len();
            steps.push(Step { node: node.handle(), payload, after, enabled: true });
            if let Some(child) = child {
                steps.extend(self.steps(&*self.graph(GraphHandle::new(child))?)?);
            }
        }
        Ok(steps)
    }

    /// Sets the child graph of a node of an executable graph: a graph of the same structure.
    pub(super) fn set_child(&self, exec: &Exec, node: NodeHandle, graph: &Graph) -> HipResult {
        let Payload::Child(old) = *self.node(node)?.payload() else { return Err(Status::INVALID_VALUE) };
        let (old, new) = (self.steps(&*self.graph(GraphHandle::new(old))?)?, self.steps(graph)?);
        if old.len() != new.len() {
            return Err(Status::INVALID_VALUE);
        }
        let mut steps = lock(&exec.steps);
        let start = steps.iter().position(|step| step.node == node.0).ok_or(Status::INVALID_VALUE)? + 1;
        let children = steps.get_mut(start..start + new.len()).ok_or(Status::INVALID_VALUE)?;
        if children.iter().zip(&new).any(|(old, new)| old.payload.node_type() != new.payload.node_type()) {
            return Err(Status::INVALID_VALUE);
        }
        for (old, new) in children.iter_mut().zip(new) {
            old.payload = new.payload;
        }
        Ok(())
    }
}

// Flags of hipGraphInstantiateWithFlags.
const AUTO_FREE: u64 = 1;
const UPLOAD: u64 = 2;
const ALL_FLAGS: u64 = 0xf;

pub(crate) fn instantiate(
    process: &Process,
    exec: Out<ExecHandle>,
    graph: GraphHandle,
    flags: u64,
) -> HipResult {
    exec.check()?;
    // hipGraphInstantiateFlagAutoFreeOnLaunch, ...Upload, ...DeviceLaunch, ...UseNodePriority: one of them.
    if flags & !ALL_FLAGS != 0 || flags.count_ones() > 1 {
        return Err(Status::INVALID_VALUE);
    }
    let graph = process.graphs().graph(graph)?;
    let steps = Mutex::new(process.graphs().steps(&graph)?);
    let user_objects = process.retain_objects(&graph);
    exec.set(Handle::new(process.graphs().execs.add(Exec { steps, flags, user_objects })))
}

pub(crate) fn hipGraphInstantiate(
    process: &Process,
    exec: Out<ExecHandle>,
    graph: GraphHandle,
    error_node: Out<NodeHandle>,
    log: Out<u8>,
    log_bytes: usize,
) -> HipResult {
    error_node.set_if_wanted(Handle::NULL);
    if log_bytes > 0 {
        log.set_if_wanted(0);
    }
    instantiate(process, exec, graph, 0)
}

/// `hipGraphInstantiateParams`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct InstantiateParams {
    error_node: NodeHandle,
    flags: u64,
    /// `hipGraphInstantiateResult`.
    result: i32,
    upload_stream: StreamHandle,
}

pub(crate) fn hipGraphInstantiateWithParams(
    process: &Process,
    exec: Out<ExecHandle>,
    graph: GraphHandle,
    params: Out<InstantiateParams>,
) -> HipResult {
    let given = params.get()?;
    if given.flags == UPLOAD {
        process.stream(given.upload_stream)?;
    }
    let instantiated = instantiate(process, exec, graph, given.flags);
    // hipGraphInstantiateSuccess, ...Error.
    let result = i32::from(instantiated.is_err());
    params.set(InstantiateParams { error_node: Handle::NULL, result, ..given })?;
    instantiated
}

pub(crate) fn hipGraphExecDestroy(process: &Process, exec: ExecHandle) -> HipResult {
    let exec = process.graphs().execs.remove(exec.0).ok_or(Status::INVALID_VALUE)?;
    if !exec.user_objects.is_empty() {
        // Launches in flight may use the objects.
        process.device_ids().try_for_each(|device| process.driver.device_synchronize(device))?;
        process.release_objects(&exec.user_objects);
    }
    Ok(())
}

pub(crate) fn hipGraphUpload(process: &Process, exec: ExecHandle, stream: StreamHandle) -> HipResult {
    process.graphs().exec(exec)?;
    process.stream(stream).map(drop)
}

pub(crate) fn hipGraphLaunch(process: &'static Process, exec: ExecHandle, stream: StreamHandle) -> HipResult {
    let exec = process.graphs().exec(exec)?;
    let on = process.stream(stream)?;
    if process.capture_graph(on, &exec)? {
        return Ok(());
    }
    exec.check(process, on.0)?;
    exec.free_memory(process);
    let steps = lock(&exec.steps);
    steps.iter().filter(|step| step.enabled).try_for_each(|step| step.payload.enqueue(process, stream))
}

// hipGraphExecUpdateResult.
const UPDATED: i32 = 0;
const ERROR: i32 = 1;
const TOPOLOGY_CHANGED: i32 = 2;
const TYPE_CHANGED: i32 = 3;
const PARAMETERS_CHANGED: i32 = 5;
const UNSUPPORTED_FUNCTION_CHANGE: i32 = 7;

/// Why a step can't take the place of another (`hipGraphExecUpdateResult`), with the checks of clr.
fn difference(old: &Step, new: &Step) -> Option<i32> {
    if old.payload.node_type() != new.payload.node_type() {
        return Some(TYPE_CHANGED);
    }
    match (&old.payload, &new.payload) {
        (Payload::Kernel(old, _), Payload::Kernel(new, _)) if old.device() != new.device() => {
            return Some(UNSUPPORTED_FUNCTION_CHANGE);
        }
        (Payload::Copy(old), Payload::Copy(new)) if old.copy.kind != new.copy.kind => {
            return Some(PARAMETERS_CHANGED);
        }
        _ => {}
    }
    (old.after != new.after).then_some(TOPOLOGY_CHANGED)
}

pub(crate) fn hipGraphExecUpdate(
    process: &Process,
    exec: ExecHandle,
    graph: GraphHandle,
    error_node: Out<NodeHandle>,
    result: Out<i32>,
) -> HipResult {
    error_node.check()?;
    result.check()?;
    error_node.set(Handle::NULL)?;
    result.set(ERROR)?;
    let exec = process.graphs().exec(exec)?;
    let new = process.graphs().steps(&*process.graphs().graph(graph)?)?;
    let mut steps = lock(&exec.steps);
    if steps.len() != new.len() {
        result.set(TOPOLOGY_CHANGED)?;
        return Err(Status::GRAPH_EXEC_UPDATE_FAILURE);
    }
    let differs = |(old, new)| Some((new, difference(old, new)?));
    if let Some((step, difference)) = steps.iter().zip(&new).find_map(differs) {
        error_node.set(Handle::new(step.node))?;
        result.set(difference)?;
        return Err(Status::GRAPH_EXEC_UPDATE_FAILURE);
    }
    for (old, new) in steps.iter_mut().zip(new) {
        old.payload = new.payload;
    }
    result.set(UPDATED)
}
