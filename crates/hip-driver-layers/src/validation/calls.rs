//! Every call: what is checked before it, and how its effects are recorded after it.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use code_object::{CodeObject, KernelSignature};

use hip_driver::{
    AccessRange, Call, DeviceId, Driver, DriverError, DriverResult, HostFunction, HostNode, KernelLaunch,
    Note, ObservedKind, Output, RawStream, Work,
};

use super::Validation;
use super::clock::{Clock, StreamKind};
use super::graph::{ExecState, GraphState, Node, Runs, graph_will_not_run, will_not_run};
use super::memory::Region;
use super::state::{EventState, KernelArguments, ModuleState, RemovedModule, State, StreamEntry, refusal};
use super::violation::{Operation, Violation};
use crate::Layer;
use crate::captures::ends_capture;

/// The result of a check.
pub(super) type Checked<T> = Result<T, Box<Violation>>;

/// What is kept from before a call until after it.
#[derive(Debug)]
pub(super) enum Held {
    Nothing,
    /// What the host knows if the call succeeds and, for a query, answers `true`.
    Learns(Vec<Clock>),
    /// Memory that is being freed, and what the host knows afterwards. It is removed from the tables before the call,
    /// as the driver may return its address to another thread, and added again if the call fails. Handles likewise.
    Region(Option<Region>, Option<Clock>),
    Stream(Option<(DeviceId, StreamEntry)>),
    Event(Option<(DeviceId, EventState)>),
    Module(Option<RemovedModule>),
    Graph(Option<(DeviceId, GraphState)>),
    Exec(Option<(DeviceId, ExecState)>),
    /// What happens before an event's record or a point of a stream.
    Point(Option<Clock>),
    Nodes(Arc<[Node]>),
    /// Of a host function that may run often.
    Runs(Runs),
}

impl Held {
    /// What is known of the host function that a call enqueues or makes a node of.
    pub(super) fn runs(self) -> Option<Runs> {
        if let Held::Runs(runs) = self { Some(runs) } else { None }
    }
}

/// What the layer keeps from before a call until after it.
#[derive(Debug)]
pub struct Checks(Held);

impl Layer for Validation {
    const NAME: &'static str = "validation";

    type Token = Checks;

    /// Checks a call. A violation is reported, and refuses the call unless it is about order.
    fn before(&self, call: &Call<'_>) -> DriverResult<Checks> {
        let mut state = self.lock();
        if let Call::Enqueue { device, stream, work: &Work::HostFunction(function) } = *call {
            self.tell_when_it_runs(&mut state, (device, stream), function);
        }
        let held = state.before(call).map(|held| match *call {
            Call::GraphAdd { work: &Work::HostNode(node), .. } => {
                Held::Runs(self.watch_runs(&mut state, node))
            }
            Call::Enqueue { device, stream, work: &Work::HostNode(node) } => {
                let runs = self.watch_runs(&mut state, node);
                if !state.is_captured(device, stream) {
                    state.will_run(&runs, device, stream);
                }
                Held::Runs(runs)
            }
            _ => held,
        });
        held.map(Checks).map_err(|violation| {
            let error =
                DriverError::with_detail(call.kind().name(), refusal(&violation), violation.to_string());
            state.report(*violation);
            error
        })
    }

    fn after(&self, call: &Call<'_>, Checks(held): Checks, result: Result<Output, &DriverError>) {
        // Done before the lock is taken, as it takes long.
        let kernarg = match (call, result) {
            (Call::ModuleLoad { device, image }, Ok(_)) => kernel_arguments(image, &*self.driver, *device),
            _ => BTreeMap::new(),
        };
        let mut state = self.lock();
        match result {
            Ok(output) => state.succeeded(call, held, output, kernarg),
            Err(error) => {
                state.failed(call, held);
                if let Call::StreamEndCapture { device, stream } = *call
                    && ends_capture(error)
                {
                    state.forget_capture(device, stream);
                }
                // The device runs nothing any more.
                if let (true, Some(device)) = (error.code.is_sticky(), call.device()) {
                    state.order.abandon(device);
                }
            }
        }
    }

    fn takes_notes(&self) -> bool {
        true
    }

    fn note(&self, note: &Note) {
        let kind = note.kind().into();
        let mut state = self.lock();
        match *note {
            Note::HostWrite { ptr, bytes } => state.host_access(AccessRange::host(ptr, bytes, true)),
            Note::HostRead { ptr, bytes } => state.host_access(AccessRange::host(ptr, bytes, false)),
            Note::PoolSegment { device, segment, addresses } => {
                state.pool_note(|regions| regions.add_segment(kind, device, segment, addresses));
            }
            Note::PoolAllocate { device, block, bytes } => {
                state.pool_note(|regions| regions.add_block(kind, device, block, bytes));
            }
            Note::PoolFree { device, block } => {
                state.pool_note(|regions| regions.free_block(kind, device, block))
            }
            Note::Borrow { device, ptr, bytes } => state.regions.add_borrowed(device, ptr, bytes),
            Note::Return { device, ptr } => state.regions.return_borrowed(device, ptr),
            Note::PoolRecord { device, block } => {
                state.pool_note(|regions| regions.check_block(kind, device, block));
            }
            Note::StreamAdopt { device, stream } => state.adopt_stream(device, stream),
            Note::StreamRelease { stream, .. } => state.release_stream(stream),
            Note::EventAdopt { device, event } => state.adopt_event(device, event),
            Note::EventRelease { event, .. } => state.release_event(event),
        }
    }
}

impl Validation {
    /// When a host function runs, the host knows that what was before it on the stream has finished: the program's threads may
    /// learn it from the function in ways that no call shows, such as an atomic variable.
    fn tell_when_it_runs(
        &self,
        state: &mut State,
        (device, stream): (DeviceId, RawStream),
        function: &HostFunction,
    ) {
        if state.known_slot(device, stream).is_none() {
            return;
        }
        let before = state.snapshot(device, stream);
        let shared = Arc::clone(&self.state);
        function.wrap(|function| {
            Box::new(move |status| {
                shared.lock().unwrap_or_else(PoisonError::into_inner).order.host_learns(&before);
                function(status);
            })
        });
    }

    /// What the host knows at each run of a host function that may run often, as above.
    fn watch_runs(&self, known: &mut State, node: &HostNode) -> Runs {
        if let Some(runs) = known.host_nodes.get(&node.number()) {
            return Arc::clone(runs);
        }
        let (runs, state) = (Runs::default(), Arc::clone(&self.state));
        let waiting = Arc::clone(&runs);
        node.observe(move || {
            let before = waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            if let Some(before) = before {
                state.lock().unwrap_or_else(PoisonError::into_inner).order.host_learns(&before);
            }
        });
        // Those of functions that were dropped.
        known.host_nodes.retain(|_, runs| Arc::strong_count(runs) > 1);
        known.host_nodes.insert(node.number(), Arc::clone(&runs));
        runs
    }
}

impl State {
    /// Checks a call, and removes what it is about to free.
    fn before(&mut self, call: &Call<'_>) -> Checked<Held> {
        let kind = call.kind().into();
        Ok(match *call {
            Call::DeviceSynchronize { device } => Held::Learns(vec![self.order.snapshot_device(device)]),
            Call::StreamBeginCapture { device, stream, .. }
            | Call::StreamEndCapture { device, stream }
            | Call::StreamCaptureInfo { device, stream } => {
                self.slot_of(kind, device, stream)?;
                Held::Nothing
            }
            Call::StreamDestroy { device, stream } => {
                self.streams.of(kind, device, stream.0)?;
                Held::Stream(self.streams.remove(stream.0))
            }
            Call::StreamSynchronize { device, stream } | Call::StreamQuery { device, stream } => {
                self.slot_of(kind, device, stream)?;
                Held::Learns(vec![self.snapshot(device, stream)])
            }
            Call::StreamWaitEvent { device, stream, event } => {
                self.slot_of(kind, device, stream)?;
                self.events.any(kind, event.0)?;
                Held::Point(self.recorded(event))
            }
            Call::EventDestroy { device, event } => {
                self.events.of(kind, device, event.0)?;
                Held::Event(self.events.remove(event.0))
            }
            Call::EventRecord { device, event, stream } => {
                self.events.of(kind, device, event.0)?;
                self.slot_of(kind, device, stream)?;
                Held::Point(Some(self.record(device, stream)))
            }
            Call::EventQuery { device, event } | Call::EventSynchronize { device, event } => {
                self.events.of(kind, device, event.0)?;
                Held::Learns(self.recorded(event).into_iter().collect())
            }
            // The call succeeds only if both events were reached.
            Call::EventElapsed { device, start, end } => {
                self.events.of(kind, device, start.0)?;
                self.events.of(kind, device, end.0)?;
                Held::Learns([start, end].into_iter().filter_map(|event| self.recorded(event)).collect())
            }
            Call::ModuleUnload { device, module } => {
                self.modules.of(kind, device, module.0)?;
                Held::Module(self.remove_module(kind, module))
            }
            Call::ModuleGetFunction { device, module, .. } | Call::ModuleGetGlobal { device, module, .. } => {
                self.modules.of(kind, device, module.0)?;
                Held::Nothing
            }
            Call::Occupancy { device, function, .. } => {
                self.functions.of(kind, device, function.0)?;
                Held::Nothing
            }
            Call::Enqueue { device, stream, work } => self.check_work(kind, device, stream, work)?,
            Call::CopyBlocking { device, work } => {
                work.access_ranges(device).try_for_each(|touch| self.regions.find(kind, &touch).map(drop))?;
                Held::Nothing
            }
            Call::GraphDestroy { .. }
            | Call::GraphAdd { .. }
            | Call::GraphInstantiate { .. }
            | Call::GraphUpdate { .. }
            | Call::GraphExecDestroy { .. } => self.before_graph(call)?,
            _ => self.before_memory(call)?,
        })
    }

    /// Records the effects of a call that succeeded.
    fn succeeded(
        &mut self,
        call: &Call<'_>,
        held: Held,
        output: Output,
        kernarg: BTreeMap<Box<str>, KernelArguments>,
    ) {
        match (*call, output, held) {
            (_, Output::Answer(false), Held::Learns(_)) => {}
            (Call::Enqueue { device, stream, work }, _, Held::Learns(clocks)) => {
                self.waited_for(work.kind(), device, stream, work.access_ranges(device));
                clocks.iter().for_each(|clock| self.order.host_learns(clock));
            }
            (_, _, Held::Learns(clocks)) => clocks.iter().for_each(|clock| self.order.host_learns(clock)),
            (Call::StreamCreate { device, options }, Output::Stream(stream), _) => {
                let kind = if options.blocking { StreamKind::Blocking } else { StreamKind::NonBlocking };
                self.add_stream(device, stream, kind, 0);
            }
            (Call::StreamBeginCapture { device, stream, .. }, _, _) => self.begin_capture(device, stream),
            (Call::StreamEndCapture { device, stream }, Output::Graph(graph), _) => {
                let captured = self.forget_capture(device, stream);
                self.graphs.add(graph.0, device, captured.unwrap_or_default());
            }
            (Call::StreamDestroy { stream, .. }, _, Held::Stream(Some((device, entry)))) => {
                self.forget_capture(device, stream);
                self.order.remove_stream(entry.slot);
            }
            (Call::StreamWaitEvent { device, stream, event }, _, Held::Point(recorded)) => {
                if !self.captured_wait(device, stream, event)
                    && let Some(recorded) = recorded
                    && let Some(slot) = self.known_slot(device, stream)
                {
                    self.order.stream_waits(slot, &recorded);
                }
            }
            (Call::EventCreate { device, .. }, Output::Event(event), _) => {
                self.events.add(event.0, device, EventState::default());
            }
            (Call::EventRecord { device, event, stream }, _, Held::Point(point)) => {
                let captured = self.captured_record(device, stream);
                if let Some(state) = self.events.get_mut(event.0) {
                    // After the capture, the event is as if it was never recorded.
                    state.recorded = if captured.is_some() { None } else { point };
                    state.captured = captured;
                }
            }
            (Call::ModuleLoad { device, .. }, Output::Module(module), _) => {
                self.modules.add(module.0, device, ModuleState::new(kernarg));
            }
            (Call::ModuleGetFunction { device, module, name }, Output::Function(function), _) => {
                self.add_function(device, module, function, name);
            }
            (Call::ModuleGetGlobal { device, module, .. }, Output::Global(ptr, bytes), _) => {
                self.regions.add_global(device, module, ptr, bytes);
            }
            (Call::EnablePeerAccess { device, peer }, ..) => self.regions.add_peer(device, peer),
            (Call::Enqueue { device, stream, work }, _, held) => self.enqueued(device, stream, work, held),
            (Call::CopyBlocking { device, work }, ..) => {
                self.blocking(call.kind(), device, work.access_ranges(device))
            }
            (
                Call::GraphCreate { .. }
                | Call::GraphAdd { .. }
                | Call::GraphInstantiate { .. }
                | Call::GraphUpdate { .. },
                output,
                held,
            ) => self.after_graph(call, output, held),
            (_, output, held) => self.after_memory(call, output, held),
        }
    }

    /// Adds again what a failed call did not free.
    fn failed(&mut self, call: &Call<'_>, held: Held) {
        match (*call, held) {
            (_, Held::Region(Some(region), _)) => self.regions.put_back(region),
            (Call::StreamDestroy { stream, .. }, Held::Stream(Some(removed))) => {
                self.streams.put_back(stream.0, removed);
            }
            (Call::EventDestroy { event, .. }, Held::Event(Some(removed))) => {
                self.events.put_back(event.0, removed);
            }
            (_, Held::Module(Some(removed))) => self.put_back_module(removed),
            (Call::GraphDestroy { graph, .. }, Held::Graph(Some(removed))) => {
                self.graphs.put_back(graph.0, removed);
            }
            (Call::GraphExecDestroy { exec, .. }, Held::Exec(Some(removed))) => {
                self.execs.put_back(exec.0, removed);
            }
            (Call::Enqueue { .. }, Held::Nodes(nodes)) => graph_will_not_run(&nodes),
            (Call::Enqueue { device, stream, .. }, Held::Runs(runs)) if !self.is_captured(device, stream) => {
                will_not_run(&runs);
            }
            _ => {}
        }
    }

    /// Checks everything about work for a stream that does not depend on order.
    fn check_work(
        &mut self,
        kind: ObservedKind,
        device: DeviceId,
        stream: RawStream,
        work: &Work<'_>,
    ) -> Checked<Held> {
        self.slot_of(kind, device, stream)?;
        if let Work::Graph(exec) = *work {
            let nodes = self.check_graph_launch(kind, device, exec)?;
            // Before the driver may run them.
            self.graph_will_run(&nodes, device, stream);
            return Ok(Held::Nodes(nodes));
        }
        self.check_shape(kind, device, work)?;
        let is_kernel = launch_of(work).is_some();
        for touch in work.access_ranges(device) {
            let found = self.regions.find_of_work(kind, is_kernel, &touch);
            found.map_err(|violation| self.name_kernel(work, violation))?;
        }
        // A copy to memory that is not pinned waits for the stream.
        Ok(match *work {
            Work::CopyToHost { dst, .. }
                if !self.regions.is_pinned(dst) && !self.is_captured(device, stream) =>
            {
                Held::Learns(vec![self.snapshot(device, stream)])
            }
            _ => Held::Nothing,
        })
    }

    /// Names the kernel and argument of a violation, if the work is a launch.
    pub(super) fn name_kernel(&self, work: &Work<'_>, violation: Box<Violation>) -> Box<Violation> {
        match launch_of(work) {
            Some(launch) => violation.of_kernel(|address| self.kernel_use(launch, address)),
            None => violation,
        }
    }

    /// Checks the parameters of work, except the memory that it accesses.
    pub(super) fn check_shape(
        &mut self,
        call: ObservedKind,
        device: DeviceId,
        work: &Work<'_>,
    ) -> Checked<()> {
        if let Some(launch) = launch_of(work) {
            return self.check_kernel(call, device, launch);
        }
        match *work {
            Work::CopyWithin { dst, src, bytes } if dst.0.abs_diff(src.0) < bytes as u64 => {
                Err(Box::new(Violation::Overlap { call, dst: dst.0, src: src.0, bytes: bytes as u64 }))
            }
            Work::FillWords { dst, .. } if !dst.0.is_multiple_of(4) => {
                Err(Box::new(Violation::Misaligned { call, address: dst.0, align: 4 }))
            }
            Work::WriteValue { dst: at, width, .. } | Work::WaitValue { src: at, width, .. }
                if !at.0.is_multiple_of(width.bytes() as u64) =>
            {
                let align = width.bytes() as u64;
                Err(Box::new(Violation::Misaligned { call, address: at.0, align }))
            }
            _ => Ok(()),
        }
    }

    /// Records work that a stream has accepted.
    fn enqueued(&mut self, device: DeviceId, stream: RawStream, work: &Work<'_>, held: Held) {
        match (work, held) {
            (_, held) if self.is_captured(device, stream) => {
                self.add_captured(device, stream, work, held.runs());
            }
            (Work::Graph(exec), Held::Nodes(nodes)) => self.commit_graph(*exec, device, stream, &nodes),
            (Work::WriteValue { .. } | Work::WaitValue { .. }, _) => self.commit_value(device, stream, work),
            _ => {
                self.commit(Operation::of_work(work.kind(), work), device, stream, work.access_ranges(device))
            }
        }
    }
}

fn launch_of<'a>(work: &Work<'a>) -> Option<&'a KernelLaunch<'a>> {
    match *work {
        Work::Kernel(launch)
        | Work::CooperativeKernel { launch, .. }
        | Work::PartialKernel { launch, .. } => Some(launch),
        _ => None,
    }
}

/// Returns the arguments of each kernel in an image. Empty if the image cannot be read, which the
/// driver reports. Kernels whose arguments are all hidden are left out: they may be launched without arguments.
fn kernel_arguments(
    image: &[u8],
    driver: &dyn Driver,
    device: DeviceId,
) -> BTreeMap<Box<str>, KernelArguments> {
    let Ok(properties) = driver.device_properties(device) else { return BTreeMap::new() };
    let Ok(object) = CodeObject::from_any(image, &properties.target) else { return BTreeMap::new() };
    let with_arguments = object.kernels().iter().filter(|kernel| !kernel.explicit_args().is_empty());
    let arguments = |kernel: &KernelSignature| KernelArguments {
        size: kernel.kernarg_size,
        offsets: kernel.explicit_args().iter().map(|argument| argument.offset).collect(),
    };
    with_arguments.map(|kernel| (kernel.name.as_str().into(), arguments(kernel))).collect()
}
