//! A driver with no GPU: streams, events and memory in HIP's manner over the gfx90a/gfx942 emulator.
//!
//! # What is real
//!
//! * Asynchrony: each stream has a worker thread, and a call that enqueues returns before the work has run. A copy from
//!   pinned memory reads it when it runs, so that reusing the memory too early shows here as it would on a GPU.
//! * Waiting: a pageable copy to the host waits for its stream, `free` for its device, `host_free` for all devices.
//! * Addresses: no two devices have an address in common, and pinned host memory has the same address on the host and
//!   on every device. Each access of a kernel and of a copy is checked against what is live.
//! * Graphs: one entry of a stream's queue, whose nodes the worker runs one after another; so they need no more than one
//!   call, and nothing of one graph runs beside the rest of it.
//! * Faults: a stray access, a trap or an instruction that the emulator lacks ends its device with a
//!   [sticky](ErrorCode::is_sticky) code; each later call on the device fails with the fault's report, work that is
//!   enqueued is skipped, waits end. Freeing and destroying go on working, and so do the other devices.
//!
//! # What can be watched
//!
//! [`EmulatorOptions`] can have kernels profiled, their instructions traced, looked over for data races and reads of memory
//! that nothing has written, and run in shuffled orders.
//!
//! # What is not
//!
//! Stream priorities are accepted and change nothing. Nothing is as fast as a GPU. A kernel that never ends holds up
//! whatever waits for its stream; [`EmulatorOptions::time_budget`] makes it a fault instead.
//!
//! Dropping the driver lets the work that is enqueued run to its end, joins the workers and frees everything.

mod calls;
mod command;
mod device;
mod event;
mod graph;
mod handles;
mod memory;
mod module;
mod options;
mod pinned;
mod stream;
mod watch;

use std::ffi::CStr;
use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use gfx9_emulator::{AddressSpace, Blocks, Machine, MachineConfig};
pub use gfx9_emulator::{
    BytesAccessed, Defect, DefectKind, InstructionClass, InstructionTrace, Profile, TraceFilter,
    TracedInstruction, TracedRegister,
};

use self::command::Command;
use self::device::{Device, lock, wait};
use self::event::Event;
use self::graph::{Graph, GraphExec, NodeNumbers};
use self::handles::Table;
use self::module::{Function, Module};
pub use self::options::{DEVICES_VARIABLE, EmulatorOptions, THREADS_VARIABLE};
use self::pinned::PinnedMemory;
use self::stream::{Batch, Stream, on_worker};
use self::watch::Watch;
use hip_driver::{
    DeviceId, DriverError, DriverResult, ErrorCode, RawEvent, RawFunction, RawModule, RawStream,
};

/// What one kernel did on one device, in all its launches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelProfile {
    /// The device.
    pub device: DeviceId,
    /// The kernel.
    pub kernel: String,
    /// What it did.
    pub profile: Profile,
}

/// See the [module](self).
pub struct EmulatedDriver {
    devices: Vec<Arc<Device>>,
    watch: Arc<Watch>,
    /// The blocks of pools, on all devices.
    blocks: Arc<Blocks>,
    pool_boundaries: bool,
    shared: memory::SharedFiles,
    streams: Table<Arc<Stream>>,
    events: Table<Arc<Event>>,
    modules: Table<Arc<Module>>,
    functions: Table<Arc<Function>>,
    graphs: Table<Arc<Graph>>,
    execs: Table<Arc<GraphExec>>,
    nodes: NodeNumbers,
    pinned: PinnedMemory,
    workers: Mutex<Vec<JoinHandle<()>>>,
    streams_made: AtomicU64,
}

impl EmulatedDriver {
    /// Makes a driver with its own devices.
    ///
    /// # Errors
    /// `INVALID_VALUE` for options that no emulator can have; the detail says which. `OUT_OF_MEMORY` when the host has
    /// no threads left.
    pub fn new(options: EmulatorOptions) -> DriverResult<Arc<EmulatedDriver>> {
        let call = "hipInit";
        let options = options.checked(call)?;
        let mut config = MachineConfig::default();
        config.device_memory = options.memory_bytes;
        config.time_budget = options.time_budget;
        config.instruction_budget = options.instruction_budget;
        config.dynamic_stack = options.dynamic_stack;
        config.schedule_seed = options.schedule_seed;
        config.profile = options.profile;
        config.sanitize = options.sanitize;
        config.instruction_trace = options.instruction_trace.clone();
        if options.threads != 0 {
            config.threads = options.threads;
        }
        let watch = Arc::<Watch>::default();
        let blocks = Arc::<Blocks>::default();
        let devices = (0..options.devices).map(|index| {
            let space = AddressSpace::one_of(options.memory_bytes, index, options.devices);
            let space = Arc::new(space.with_blocks(Arc::clone(&blocks)));
            let machine = Machine::with_memory(config.clone(), Arc::clone(&space)).map_err(|error| {
                DriverError::with_detail(call, ErrorCode::OUT_OF_MEMORY, error.to_string())
            })?;
            let watch = Arc::clone(&watch);
            Ok(Arc::new(Device::new(DeviceId(index), options.properties(), space, machine, watch)))
        });
        let devices = devices.collect::<DriverResult<_>>()?;
        Ok(Arc::new(EmulatedDriver {
            devices,
            watch,
            blocks,
            pool_boundaries: options.pool_boundaries,
            shared: memory::SharedFiles::default(),
            streams: Table::new(1),
            events: Table::new(2),
            modules: Table::new(3),
            functions: Table::new(4),
            graphs: Table::new(5),
            execs: Table::new(6),
            nodes: NodeNumbers::default(),
            pinned: PinnedMemory::default(),
            workers: Mutex::default(),
            streams_made: AtomicU64::new(0),
        }))
    }

    /// What each kernel did since the last call, by device and name, with [`EmulatorOptions::profile`]. Launches count that
    /// have run to their end without a fault.
    pub fn take_profiles(&self) -> Vec<KernelProfile> {
        let of = |device: &Arc<Device>| {
            let (id, profiles) = (device.id, std::mem::take(&mut *lock(&device.profiles)));
            profiles.into_iter().map(move |(kernel, profile)| KernelProfile { device: id, kernel, profile })
        };
        self.devices.iter().flat_map(of).collect()
    }

    /// The device, whether it had a fault or not.
    fn any_device(&self, call: &'static str, device: DeviceId) -> DriverResult<&Arc<Device>> {
        self.devices.get(device.0 as usize).ok_or_else(|| {
            let detail = format!("{device}: there are {} emulated devices", self.devices.len());
            DriverError::with_detail(call, ErrorCode::INVALID_DEVICE, detail)
        })
    }

    /// A device that had no fault.
    fn device(&self, call: &'static str, device: DeviceId) -> DriverResult<&Arc<Device>> {
        let device = self.any_device(call, device)?;
        device.check(call)?;
        Ok(device)
    }

    /// A stream of a device that had no fault.
    fn stream(&self, call: &'static str, device: DeviceId, stream: RawStream) -> DriverResult<Arc<Stream>> {
        self.device(call, device)?;
        let found = self.streams.get(stream.0).ok_or_else(|| stale(call, "stream", stream.0))?;
        belongs(call, "stream", found.device.id, device)?;
        Ok(found)
    }

    fn event(&self, call: &'static str, event: RawEvent) -> DriverResult<Arc<Event>> {
        self.events.get(event.0).ok_or_else(|| stale(call, "event", event.0))
    }

    /// An event of a device that had no fault.
    fn event_of(&self, call: &'static str, device: DeviceId, event: RawEvent) -> DriverResult<Arc<Event>> {
        self.device(call, device)?;
        let found = self.event(call, event)?;
        belongs(call, "event", found.device, device)?;
        Ok(found)
    }

    fn function(
        &self,
        call: &'static str,
        device: DeviceId,
        function: RawFunction,
    ) -> DriverResult<Arc<Function>> {
        let found = self.functions.get(function.0).ok_or_else(|| stale(call, "kernel", function.0))?;
        belongs(call, "kernel", found.module.device.id, device)?;
        Ok(found)
    }

    fn module(&self, call: &'static str, device: DeviceId, module: RawModule) -> DriverResult<Arc<Module>> {
        self.device(call, device)?;
        let found = self.modules.get(module.0).ok_or_else(|| stale(call, "module", module.0))?;
        belongs(call, "module", found.device.id, device)?;
        Ok(found)
    }

    /// Joins the workers that have left.
    fn reap(&self) {
        let mut workers = lock(&self.workers);
        let mut index = 0;
        while index < workers.len() {
            if workers[index].is_finished() {
                // It has left, so this does not wait; a panic would have been logged where it happened.
                drop(workers.swap_remove(index).join());
            } else {
                index += 1;
            }
        }
    }
}

impl Drop for EmulatedDriver {
    fn drop(&mut self) {
        // Destroyed streams are closed already; their workers are among those joined.
        for stream in self.streams.drain() {
            stream.close();
        }
        let remains = Remains {
            workers: std::mem::take(&mut *lock(&self.workers)),
            pinned: ManuallyDrop::new(self.pinned.drain()),
            devices: self.devices.clone(),
        };
        if !on_worker() {
            return remains.clear_up();
        }
        // The last reference went in a host function. Its stream stands still until this returns, and others may wait
        // for it, so another thread has to wait for them.
        let spawned = std::thread::Builder::new().name("emu-drop".to_owned()).spawn(|| remains.clear_up());
        if let Err(error) = spawned {
            log::error!(
                "no thread to clear up after the emulated driver, its pinned memory is leaked: {error}"
            );
        }
    }
}

/// What a driver leaves behind.
struct Remains {
    workers: Vec<JoinHandle<()>>,
    /// Freed by [`clear_up`](Remains::clear_up) alone: before that, copies may use it.
    pinned: ManuallyDrop<Vec<pinned::Memory>>,
    devices: Vec<Arc<Device>>,
}

impl Remains {
    fn clear_up(self) {
        for worker in self.workers {
            if worker.join().is_err() {
                log::error!("a stream's worker panicked");
            }
        }
        // Nothing runs any more, so nothing uses the pinned memory.
        for memory in ManuallyDrop::into_inner(self.pinned) {
            unmap(&self.devices, &memory);
        }
    }
}

/// Takes pinned memory from the devices.
fn unmap(devices: &[Arc<Device>], memory: &pinned::Memory) {
    for device in devices {
        if let Err(error) = device.space.unmap_host(memory.address()) {
            log::error!("unmapping pinned memory from {}: {error}", device.id);
        }
    }
}

impl fmt::Debug for EmulatedDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let targets = self.devices.iter().map(|d| d.properties.target.short());
        f.debug_struct("EmulatedDriver")
            .field("devices", &targets.collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

fn stale(call: &'static str, what: &str, handle: u64) -> DriverError {
    let detail = format!("{what} {handle:#x} was destroyed or never existed");
    DriverError::with_detail(call, ErrorCode::INVALID_HANDLE, detail)
}

fn belongs(call: &'static str, what: &str, owner: DeviceId, device: DeviceId) -> DriverResult<()> {
    if owner == device {
        return Ok(());
    }
    let detail = format!("the {what} belongs to {owner}, not to {device}");
    Err(DriverError::with_detail(call, ErrorCode::INVALID_CONTEXT, detail))
}

fn exhausted(call: &'static str) -> DriverError {
    DriverError::with_detail(call, ErrorCode::OUT_OF_MEMORY, "no handles are left")
}

fn utf8<'a>(call: &'static str, name: &'a CStr) -> DriverResult<&'a str> {
    name.to_str().map_err(|_| {
        DriverError::with_detail(call, ErrorCode::NOT_FOUND, format!("the name {name:?} is not UTF-8"))
    })
}

/// Enqueues a command and returns its number.
fn push(call: &'static str, stream: &Stream, make: impl FnOnce(&mut Batch) -> Command) -> DriverResult<u64> {
    stream.push(make).ok_or_else(|| {
        let detail = "the stream was destroyed while it was used";
        DriverError::with_detail(call, ErrorCode::INVALID_HANDLE, detail)
    })
}

/// Waits for a stream, then says whether its device had a fault.
fn synchronize(call: &'static str, stream: &Arc<Stream>) -> DriverResult<()> {
    wait(call, &stream.mark())?;
    stream.device.check(call)
}

fn check_host(call: &'static str, pointer: *const u8) -> DriverResult<()> {
    if pointer.is_null() {
        return Err(DriverError::with_detail(call, ErrorCode::INVALID_VALUE, "the host pointer is null"));
    }
    Ok(())
}

/// Runs the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
