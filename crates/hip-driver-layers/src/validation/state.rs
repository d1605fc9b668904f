//! The state of the layer: live handles, live memory, the order of work, and the violations.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ffi::CStr;
use std::sync::Arc;

use hip_driver::{
    AccessRange, CallKind, DeviceId, ErrorCode, KernelLaunch, NoteKind, ObservedKind, RawEvent, RawFunction,
    RawModule, RawStream, Work,
};

use super::capture::{CaptureState, CapturedRecord};
use super::clock::{Clock, HappensBefore, StreamKind, WorkPosition};
use super::graph::{ExecState, GraphState, Runs};
use super::memory::{MemoryInfo, Region, RegionKey, Regions};
use super::ranges::AccessRecord;
use super::violation::{AccessInfo, ByteRange, HandleKind, KernelUse, Leak, Operation, Violation};
use crate::default_streams::identity;

/// The maximum number of violations that are kept; more are only counted.
const KEPT: usize = 1024;
/// The number of destroyed handles that are kept, for each kind.
const REMEMBERED: usize = 1024;

/// The live handles of one kind, and some destroyed ones.
#[derive(Debug)]
pub(super) struct Handles<T> {
    kind: HandleKind,
    live: BTreeMap<u64, (DeviceId, T)>,
    destroyed: VecDeque<u64>,
}

impl<T> Handles<T> {
    fn new(kind: HandleKind) -> Self {
        Handles { kind, live: BTreeMap::new(), destroyed: VecDeque::new() }
    }

    pub(super) fn add(&mut self, handle: u64, device: DeviceId, value: T) {
        self.live.insert(handle, (device, value));
    }

    /// Returns the live object of a handle, on any device.
    pub(super) fn any(
        &mut self,
        call: ObservedKind,
        handle: u64,
    ) -> Result<(DeviceId, &mut T), Box<Violation>> {
        let kind = self.kind;
        match self.live.get_mut(&handle) {
            Some((owner, value)) => Ok((*owner, value)),
            // Live handles are searched first: the driver may have used a destroyed handle again.
            None if self.destroyed.contains(&handle) => {
                Err(Box::new(Violation::DestroyedHandle { call, kind, handle }))
            }
            None => Err(Box::new(Violation::UnknownHandle { call, kind, handle })),
        }
    }

    /// Returns the live object of a handle of this device.
    pub(super) fn of(
        &mut self,
        call: ObservedKind,
        device: DeviceId,
        handle: u64,
    ) -> Result<&mut T, Box<Violation>> {
        let kind = self.kind;
        let (owner, value) = self.any(call, handle)?;
        if owner == device {
            Ok(value)
        } else {
            Err(Box::new(Violation::HandleOfOtherDevice { call, kind, handle, owner, given: device }))
        }
    }

    pub(super) fn get(&self, handle: u64) -> Option<&T> {
        self.live.get(&handle).map(|(_, value)| value)
    }

    /// The live object behind a handle, and its device.
    fn entry(&self, handle: u64) -> Option<(DeviceId, &T)> {
        self.live.get(&handle).map(|(device, value)| (*device, value))
    }

    pub(super) fn get_mut(&mut self, handle: u64) -> Option<&mut T> {
        self.live.get_mut(&handle).map(|(_, value)| value)
    }

    pub(super) fn remove(&mut self, handle: u64) -> Option<(DeviceId, T)> {
        let removed = self.live.remove(&handle)?;
        if self.destroyed.len() == REMEMBERED {
            self.destroyed.pop_front();
        }
        self.destroyed.push_back(handle);
        Some(removed)
    }

    /// Adds an object again, as its destruction failed.
    pub(super) fn put_back(&mut self, handle: u64, (device, value): (DeviceId, T)) {
        self.destroyed.retain(|&h| h != handle);
        self.live.insert(handle, (device, value));
    }

    fn leaks(&self) -> impl Iterator<Item = Leak> + '_ {
        self.leaks_of(|_| true)
    }

    /// What is alive of those that somebody has to destroy.
    fn leaks_of(&self, owned: impl Fn(&T) -> bool) -> impl Iterator<Item = Leak> {
        let owned = self.live.iter().filter(move |(_, (_, value))| owned(value));
        owned.map(|(&handle, &(device, _))| Leak::Handle { kind: self.kind, device, handle })
    }
}

/// A stream's slot in the order, and how many use the stream that others made; 0 for a stream of this driver.
#[derive(Clone, Copy, Debug)]
pub(super) struct StreamEntry {
    pub(super) slot: u32,
    adopted: u32,
}

/// An event.
#[derive(Debug, Default)]
pub(super) struct EventState {
    pub(super) recorded: Option<Clock>,
    /// The last record, if it was on a captured stream.
    pub(super) captured: Option<CapturedRecord>,
    /// How many use the event that others made, and may record; 0 for an event of this driver.
    adopted: u32,
}

#[derive(Debug)]
pub(super) struct ModuleState {
    /// The arguments by kernel name, if the code object could be read.
    kernarg: BTreeMap<Box<str>, KernelArguments>,
    functions: Vec<RawFunction>,
    /// The last launch on each stream.
    launches: Vec<(WorkPosition, Operation)>,
}

impl ModuleState {
    pub(super) fn new(kernarg: BTreeMap<Box<str>, KernelArguments>) -> ModuleState {
        ModuleState { kernarg, functions: Vec::new(), launches: Vec::new() }
    }
}

#[derive(Debug)]
pub(super) struct FunctionState {
    module: RawModule,
    name: Arc<str>,
    kernarg: Option<KernelArguments>,
}

/// What a code object says of a kernel's arguments.
#[derive(Debug, Clone)]
pub(super) struct KernelArguments {
    /// The length of the kernarg segment.
    pub(super) size: u32,
    /// Where each of the explicit arguments begins.
    pub(super) offsets: Arc<[u32]>,
}

/// The state that the layer's lock protects.
#[derive(Debug)]
pub(super) struct State {
    pub(super) order: HappensBefore,
    pub(super) regions: Regions,
    /// Streams by their [identity].
    pub(super) streams: Handles<StreamEntry>,
    pub(super) events: Handles<EventState>,
    pub(super) modules: Handles<ModuleState>,
    pub(super) functions: Handles<FunctionState>,
    pub(super) graphs: Handles<GraphState>,
    pub(super) execs: Handles<ExecState>,
    /// The captures that have not ended, and how many were begun.
    pub(super) captures: Vec<CaptureState>,
    pub(super) captures_begun: u64,
    /// The host functions that may run often, by their number.
    pub(super) host_nodes: HashMap<u64, Runs>,
    violations: Vec<Violation>,
    dropped: u64,
}

impl State {
    pub(super) fn new() -> State {
        State {
            order: HappensBefore::default(),
            regions: Regions::default(),
            streams: Handles::new(HandleKind::Stream),
            events: Handles::new(HandleKind::Event),
            modules: Handles::new(HandleKind::Module),
            functions: Handles::new(HandleKind::Kernel),
            graphs: Handles::new(HandleKind::Graph),
            execs: Handles::new(HandleKind::GraphExec),
            captures: Vec::new(),
            captures_begun: 0,
            host_nodes: HashMap::new(),
            violations: Vec::new(),
            dropped: 0,
        }
    }

    pub(super) fn report(&mut self, violation: Violation) {
        log::error!("{violation}");
        if self.violations.len() < KEPT {
            self.violations.push(violation);
        } else {
            self.dropped += 1;
        }
    }

    pub(super) fn violations(&self) -> (&[Violation], u64) {
        (&self.violations, self.dropped)
    }

    pub(super) fn take_violations(&mut self) -> Vec<Violation> {
        self.dropped = 0;
        std::mem::take(&mut self.violations)
    }

    pub(super) fn leaks(&self) -> Vec<Leak> {
        let memory = self.regions.owned().map(Leak::Memory);
        let streams = self.streams.leaks_of(|stream| stream.adopted == 0);
        let ordering = streams.chain(self.events.leaks_of(|event| event.adopted == 0));
        let graphs = self.graphs.leaks().chain(self.execs.leaks());
        memory.chain(ordering).chain(self.modules.leaks()).chain(graphs).collect()
    }

    /// The slot of the stream that a call names; a default stream gets one when it is first named.
    pub(super) fn slot_of(
        &mut self,
        call: ObservedKind,
        device: DeviceId,
        stream: RawStream,
    ) -> Result<u32, Box<Violation>> {
        let key = identity(device, stream);
        if stream.is_default() && self.streams.get(key.0).is_none() {
            let kind = if stream == RawStream::PER_THREAD { StreamKind::Blocking } else { StreamKind::Null };
            // Nobody has to destroy it, as if it were another's.
            self.add_stream(device, stream, kind, 1);
        }
        self.streams.of(call, device, key.0).map(|entry| entry.slot)
    }

    /// The slot of a stream that was checked before.
    pub(super) fn known_slot(&self, device: DeviceId, stream: RawStream) -> Option<u32> {
        self.streams.get(identity(device, stream).0).map(|entry| entry.slot)
    }

    /// Takes a stream in.
    pub(super) fn add_stream(&mut self, device: DeviceId, stream: RawStream, kind: StreamKind, adopted: u32) {
        let slot = self.order.add_stream(device, stream, kind);
        self.streams.add(identity(device, stream).0, device, StreamEntry { slot, adopted });
    }

    /// Somebody uses a stream that others made; whether it is blocking is not known, and more order finds no race that
    /// is none.
    pub(super) fn adopt_stream(&mut self, device: DeviceId, stream: RawStream) {
        match self.streams.get_mut(stream.0) {
            None => self.add_stream(device, stream, StreamKind::Blocking, 1),
            Some(entry) if entry.adopted > 0 => entry.adopted += 1,
            Some(_) => {}
        }
    }

    /// Somebody has done with a stream that others made.
    pub(super) fn release_stream(&mut self, stream: RawStream) {
        match self.streams.get_mut(stream.0) {
            Some(entry) if entry.adopted > 1 => entry.adopted -= 1,
            Some(&mut StreamEntry { slot, adopted: 1 }) => {
                self.streams.remove(stream.0);
                self.order.remove_stream(slot);
            }
            _ => {}
        }
    }

    /// Somebody uses an event that others made.
    pub(super) fn adopt_event(&mut self, device: DeviceId, event: RawEvent) {
        match self.events.get_mut(event.0) {
            None => self.events.add(event.0, device, EventState { adopted: 1, ..EventState::default() }),
            Some(state) if state.adopted > 0 => state.adopted += 1,
            Some(_) => {}
        }
    }

    /// Somebody has done with an event that others made.
    pub(super) fn release_event(&mut self, event: RawEvent) {
        match self.events.get_mut(event.0) {
            Some(state) if state.adopted > 1 => state.adopted -= 1,
            Some(EventState { adopted: 1, .. }) => drop(self.events.remove(event.0)),
            _ => {}
        }
    }

    pub(super) fn add_function(
        &mut self,
        device: DeviceId,
        module: RawModule,
        function: RawFunction,
        name: &CStr,
    ) {
        let name = name.to_string_lossy();
        let Some(state) = self.modules.get_mut(module.0) else { return };
        // HIP returns the same handle each time a kernel is looked up.
        if !state.functions.contains(&function) {
            state.functions.push(function);
        }
        let kernarg = state.kernarg.get(&*name).cloned();
        self.functions.add(function.0, device, FunctionState { module, name: name.into(), kernarg });
    }

    /// Removes a module with its kernels and globals. Reports launches that may be in flight.
    pub(super) fn remove_module(&mut self, call: ObservedKind, module: RawModule) -> Option<RemovedModule> {
        let (device, state) = self.modules.remove(module.0)?;
        for &(work, operation) in &state.launches {
            if !self.order.is_known(work) {
                let in_flight = self.access(&AccessRecord { work, write: true, operation });
                self.report(Violation::UnloadInFlight { call, module: module.0, in_flight });
            }
        }
        let functions =
            state.functions.iter().filter_map(|f| self.functions.remove(f.0).map(|s| (f.0, s))).collect();
        let globals = self.regions.remove_globals(module);
        Some(RemovedModule { module, state: (device, state), functions, globals })
    }

    /// Adds a module again, as it could not be unloaded.
    pub(super) fn put_back_module(&mut self, removed: RemovedModule) {
        self.modules.put_back(removed.module.0, removed.state);
        for (handle, state) in removed.functions {
            self.functions.put_back(handle, state);
        }
        removed.globals.into_iter().for_each(|region| self.regions.put_back(region));
    }

    /// Checks everything about a launch that does not depend on order, except the memory that it accesses.
    pub(super) fn check_kernel(
        &mut self,
        call: ObservedKind,
        device: DeviceId,
        launch: &KernelLaunch<'_>,
    ) -> Result<(), Box<Violation>> {
        let function = self.functions.of(call, device, launch.function.0)?;
        let kernel = || Arc::clone(&function.name);
        if launch.grid.contains(&0) || launch.block.contains(&0) {
            let KernelLaunch { grid, block, .. } = *launch;
            return Err(Box::new(Violation::ZeroDimension { call, kernel: kernel(), grid, block }));
        }
        if let Some(needed) = function.kernarg.as_ref().map(|kernarg| kernarg.size as usize)
            && launch.kernarg.len() < needed
        {
            let given = launch.kernarg.len();
            return Err(Box::new(Violation::ShortKernarg { call, kernel: kernel(), given, needed }));
        }
        Ok(())
    }

    /// Returns the name of a kernel.
    pub(super) fn kernel_name(&self, function: RawFunction) -> Option<Arc<str>> {
        self.functions.get(function.0).map(|function| Arc::clone(&function.name))
    }

    /// Names the kernel, and the argument with an address.
    pub(super) fn kernel_use(&self, launch: &KernelLaunch<'_>, address: u64) -> KernelUse {
        let Some(function) = self.functions.get(launch.function.0) else { return KernelUse::default() };
        let has_address = |offset: &u32| {
            let value = launch.kernarg.get(*offset as usize..).and_then(|rest| rest.first_chunk());
            value.is_some_and(|value| u64::from_le_bytes(*value) == address)
        };
        let kernarg = function.kernarg.as_ref();
        let argument = kernarg.and_then(|kernarg| kernarg.offsets.iter().position(has_address));
        KernelUse { kernel: Some(Arc::clone(&function.name)), argument }
    }

    /// Records a launch of a module's kernel: the module must stay loaded until the host knows that it has run.
    fn note_launch(&mut self, operation: Operation, work: WorkPosition) {
        let Some(function) = operation.function else { return };
        let Some(module) = self.functions.get(function.0).map(|f| f.module) else { return };
        let Some(state) = self.modules.get_mut(module.0) else { return };
        match state.launches.iter_mut().find(|(w, _)| w.slot == work.slot) {
            Some(last) => *last = (work, operation),
            None => state.launches.push((work, operation)),
        }
    }

    /// Records work that the driver has accepted on a stream. Reports races.
    pub(super) fn commit(
        &mut self,
        operation: Operation,
        device: DeviceId,
        stream: RawStream,
        access_ranges: impl Iterator<Item = AccessRange>,
    ) {
        let Some(slot) = self.known_slot(device, stream) else { return };
        let work = self.order.enqueue(slot);
        self.take_in(operation, work, access_ranges);
    }

    /// Records the accesses of a part of a piece of work. Reports races.
    pub(super) fn take_in(
        &mut self,
        operation: Operation,
        work: WorkPosition,
        access_ranges: impl Iterator<Item = AccessRange>,
    ) {
        self.note_launch(operation, work);
        for touch in access_ranges {
            let is_kernel = operation.function.is_some();
            match self.regions.find_of_work(operation.call.into(), is_kernel, &touch) {
                Ok(Some((key, range))) => {
                    self.touch(key, range, AccessRecord { work, write: touch.write, operation })
                }
                Ok(None) => {}
                // Another thread freed the memory during the call.
                Err(violation) => self.report(*violation),
            }
        }
    }

    /// Records that a stream writes a value, or waits for one. A wait is no access that races: it reads while others write.
    pub(super) fn commit_value(&mut self, device: DeviceId, stream: RawStream, work: &Work<'_>) {
        let Some(slot) = self.known_slot(device, stream) else { return };
        let found = work
            .access_ranges(device)
            .find_map(|touch| self.regions.find(work.kind().into(), &touch).ok()?);
        let Some((key, range)) = found else { return };
        match *work {
            Work::WriteValue { width, value, .. } => {
                let position = self.order.enqueue(slot);
                let operation = Operation::of_work(work.kind(), work);
                self.touch(key, range, AccessRecord { work: position, write: true, operation });
                let mut before = Clock::default();
                self.order.snapshot_into(slot, &mut before);
                if let Some(region) = self.regions.get_mut(key) {
                    region.values.write(range.0, width, value, position, before);
                }
            }
            Work::WaitValue { width, ref condition, .. } => {
                let State { order, regions, .. } = self;
                let Some(region) = regions.get_mut(key) else { return };
                match region.values.explain(range.0, width, condition, |work| order.is_known(work)) {
                    Some(before) => order.stream_waits(slot, &before),
                    None => order.wait_for_value(slot),
                }
                order.enqueue(slot);
            }
            _ => {}
        }
    }

    /// Records one access of a region. Reports races.
    pub(super) fn touch(&mut self, key: RegionKey, range: (u64, u64), record: AccessRecord) {
        let State { order, regions, .. } = self;
        let Some(region) = regions.get_mut(key) else { return };
        if record.write && !matches!(record.operation.call, CallKind::WriteValue32 | CallKind::WriteValue64) {
            region.values.forget(range);
        }
        let slot = record.work.slot;
        let mut races: Vec<(AccessRecord, (u64, u64))> = Vec::new();
        region.accesses.access(
            range,
            record,
            |work| order.is_before(work, slot),
            |work| order.is_known(work),
            |first, common| races.push((*first, common)),
        );
        let named: Vec<_> = races.into_iter().map(|(first, common)| (first, region.name(common))).collect();
        for (first, (memory, range)) in named {
            let (first, second) = (self.access(&first), self.access(&record));
            self.report(Violation::Race { first, second, memory, range });
        }
    }

    /// Checks a blocking copy: it happens after what the host knows and what the null stream waits for, and the host knows
    /// of it at once. Reports races.
    pub(super) fn blocking(
        &mut self,
        call: CallKind,
        device: DeviceId,
        access_ranges: impl Iterator<Item = AccessRange>,
    ) {
        let waited_for = self.order.snapshot_null(device);
        self.order.host_learns(&waited_for);
        self.report_races_of(call, None, access_ranges);
    }

    /// Checks an access of the host to memory that may be pinned. Reports races.
    pub(super) fn host_access(&mut self, touch: AccessRange) {
        let call = if touch.write { NoteKind::HostWrite } else { NoteKind::HostRead }.into();
        match self.regions.find(call, &touch) {
            Ok(Some((key, range))) => {
                for (in_flight, memory, range) in self.unordered(key, range, touch.write, None) {
                    self.report(Violation::HostRace { write: touch.write, in_flight, memory, range });
                }
            }
            Ok(None) => {}
            Err(violation) => self.report(*violation),
        }
    }

    /// Records work on a stream that the host has waited for within the call. Reports races.
    pub(super) fn waited_for(
        &mut self,
        call: CallKind,
        device: DeviceId,
        stream: RawStream,
        access_ranges: impl Iterator<Item = AccessRange>,
    ) {
        let Some(slot) = self.known_slot(device, stream) else { return };
        let work = self.order.enqueue(slot);
        let sequence = self.order.place(work).1;
        self.report_races_of(call, Some((slot, stream, sequence)), access_ranges);
    }

    /// Reports races of work that is over when its call returns. `place` is its slot, stream and number on it.
    fn report_races_of(
        &mut self,
        call: CallKind,
        place: Option<(u32, RawStream, u64)>,
        access_ranges: impl Iterator<Item = AccessRange>,
    ) {
        let slot = place.map(|(slot, ..)| slot);
        let stream = place.map(|(_, stream, _)| stream);
        let sequence = place.map_or(0, |(.., sequence)| sequence);
        for touch in access_ranges {
            let Ok(Some((key, range))) = self.regions.find(call.into(), &touch) else { continue };
            for (first, memory, range) in self.unordered(key, range, touch.write, slot) {
                let second =
                    AccessInfo { call, kernel: None, node: None, stream, sequence, write: touch.write };
                self.report(Violation::Race { first, second, memory, range });
            }
        }
    }

    /// Handles a note of a pool. Reports a violation.
    pub(super) fn pool_note(&mut self, note: impl FnOnce(&mut Regions) -> Result<(), Box<Violation>>) {
        if let Err(violation) = note(&mut self.regions) {
            self.report(*violation);
        }
    }

    /// Reports work that may still use memory that is being freed: work that the host does not know to have finished
    /// or, for a free on a stream, that is not ordered before it.
    pub(super) fn free_in_flight(&mut self, call: ObservedKind, key: RegionKey, stream: Option<RawStream>) {
        let Some(memory) = self.regions.memory(key) else { return };
        let slot = stream.and_then(|s| self.known_slot(memory.device, s));
        for (in_flight, memory, _) in self.unordered(key, (0, memory.bytes), true, slot) {
            self.report(Violation::FreeInFlight { call, memory, in_flight });
        }
    }

    /// Returns the accesses that conflict with one by the host, or by `slot`'s next work, and are not ordered before
    /// it.
    fn unordered(
        &mut self,
        key: RegionKey,
        range: (u64, u64),
        write: bool,
        slot: Option<u32>,
    ) -> Vec<(AccessInfo, MemoryInfo, ByteRange)> {
        if let Some(slot) = slot {
            self.order.catch_up(slot);
        }
        let State { order, regions, .. } = self;
        let Some(region) = regions.get_mut(key) else { return Vec::new() };
        if write {
            region.values.forget(range);
        }
        let mut found = Vec::new();
        region.accesses.unordered(
            range,
            write,
            |work| slot.map_or_else(|| order.is_known(work), |slot| order.is_before(work, slot)),
            |record, common| found.push((*record, common)),
        );
        let named: Vec<_> = found.into_iter().map(|(record, common)| (record, region.name(common))).collect();
        named.into_iter().map(|(record, (memory, range))| (self.access(&record), memory, range)).collect()
    }

    /// Describes a record for a message.
    pub(super) fn access(&self, record: &AccessRecord) -> AccessInfo {
        let (stream, sequence) = self.order.place(record.work);
        AccessInfo { stream: Some(stream), sequence, ..self.access_of(record.operation, record.write) }
    }

    /// Describes an operation for a message, without its stream.
    pub(super) fn access_of(&self, operation: Operation, write: bool) -> AccessInfo {
        let Operation { call, function, node } = operation;
        let kernel = function.and_then(|function| self.kernel_name(function));
        AccessInfo { call, kernel, node, stream: None, sequence: 0, write }
    }

    /// What has happened when the stream is idle.
    pub(super) fn snapshot(&mut self, device: DeviceId, stream: RawStream) -> Clock {
        let mut clock = Clock::default();
        if let Some(slot) = self.known_slot(device, stream) {
            self.order.snapshot_into(slot, &mut clock);
        }
        clock
    }

    /// What happens before an event that is recorded on the stream now.
    pub(super) fn record(&mut self, device: DeviceId, stream: RawStream) -> Clock {
        let mut clock = Clock::default();
        if let Some(slot) = self.known_slot(device, stream) {
            self.order.record_into(slot, &mut clock);
        }
        clock
    }

    /// Returns what happens before the event's last record. A foreign one that was not recorded here may have been recorded
    /// anywhere: everything on its device may happen before.
    pub(super) fn recorded(&self, event: RawEvent) -> Option<Clock> {
        let (device, state) = self.events.entry(event.0)?;
        match &state.recorded {
            None if state.adopted > 0 => Some(self.order.snapshot_device(device)),
            recorded => recorded.clone(),
        }
    }
}

/// A module that is being unloaded, with its kernels and globals.
#[derive(Debug)]
pub(super) struct RemovedModule {
    module: RawModule,
    state: (DeviceId, ModuleState),
    functions: Vec<(u64, (DeviceId, FunctionState))>,
    globals: Vec<Region>,
}

/// Returns the code with which a refused call fails.
pub(super) fn refusal(violation: &Violation) -> ErrorCode {
    match violation {
        Violation::UnknownHandle { .. } | Violation::DestroyedHandle { .. } => ErrorCode::INVALID_HANDLE,
        Violation::HandleOfOtherDevice { .. } => ErrorCode::INVALID_CONTEXT,
        Violation::MemoryOfOtherDevice { .. }
        | Violation::UnknownAddress { .. }
        | Violation::UseAfterFree { .. }
        | Violation::DoubleFree { .. }
        | Violation::WrongFree { .. } => ErrorCode::INVALID_DEVICE_POINTER,
        Violation::ZeroDimension { .. } => ErrorCode::INVALID_CONFIGURATION,
        _ => ErrorCode::INVALID_VALUE,
    }
}
