//! A driver that needs no GPU: streams, events and memory like HIP's, over the emulator of gfx90a, gfx942, gfx950 and gfx11.
//!
//! # What is as on a GPU
//!
//! * **Asynchrony.** Each stream has a worker thread, and a call that enqueues work returns before the work has run. A
//!   thread that waits for a stream runs its work itself, if the worker does not run it already. A copy from pinned memory
//!   reads it when the copy runs, so that reusing the memory too early shows, as on a GPU.
//! * **Waiting.** A copy to pageable memory waits for its stream, `free` for its device, `host_free` for all devices.
//! * **Addresses.** No two devices have an address in common, and pinned host memory has the same address on the host
//!   and on every device. Each access of a kernel or copy is checked against the live memory.
//! * **Graphs.** A launch is one command of a stream. The worker runs the nodes one after another.
//! * **Faults.** An access outside live memory, a trap, or an instruction that the emulator lacks loses its device with
//!   a [sticky](ErrorCode::is_sticky) code. Each later call on the device fails with the fault's report, and so
//!   does each call that waits for it meanwhile. Its enqueued work is skipped, but host functions are called, and waits
//!   end. Freeing and destroying still work, and so do other devices.
//!
//! # What it adds
//!
//! Virtual memory, on Linux: [physical memory](EmulatedDriver::create_physical), [reserved
//! addresses](EmulatedDriver::reserve_addresses), and what of the one is [mapped](EmulatedDriver::map_physical) to the other, with the
//! rights of each device. It is beside the trait.
//!
//! [`EmulatorOptions`] can profile kernels, trace their instructions, check them for data races and for reads of memory
//! that was never written, and shuffle the order in which workgroups and waves run.
//!
//! # What differs
//!
//! A stream capture is stricter than HIP's (`hip_driver::captures`). Stream priorities are accepted and have no effect. Kernels
//! are slower than on a GPU. A kernel that never ends blocks everything that waits for its stream; with
//! [`MachineConfig::time_budget`], it is a fault instead.
//!
//! Dropping the driver waits for the enqueued work, joins the workers and frees everything.

mod calls;
mod capture;
mod command;
mod device;
mod devices;
mod event;
mod graph;
mod handles;
mod listener;
mod memory;
mod module;
mod options;
#[cfg(target_os = "linux")]
mod physical;
mod pinned;
mod queue;
mod settings;
mod stream;
mod streams;
mod sync;
pub mod system;
#[cfg(target_os = "linux")]
mod virtual_memory;
pub mod visible;
mod watch;

use std::ffi::CStr;
use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use amdgpu_emulator::{AddressSpace, Blocks, Machine};
pub use amdgpu_emulator::{
    Bounds, BytesAccessed, Defect, DefectKind, FaultReport, Fidelity, FineGrainedAtomics, InstructionClass,
    InstructionFidelity, InstructionTrace, Interrupt, LaneAddress, MachineConfig, MemorySpace, Notice,
    NoticeKind, Printer, PrintfStream, Profile, TraceFilter, TracedInstruction, TracedRegister, fidelities,
    fidelity,
};
pub use amdgpu_isa::Target;

use self::capture::Captures;
use self::command::Command;
use self::device::{Device, lock, wait};
pub use self::devices::Hardware;
use self::event::Event;
use self::graph::{Graph, GraphExec};
use self::handles::Table;
pub use self::listener::{DeviceFault, DeviceListener, Listener, Notices};
use self::module::{Function, Module};
pub use self::options::{EmulatorOptions, device_target};
#[cfg(target_os = "linux")]
pub use self::physical::PhysicalMemory;
use self::pinned::PinnedMemory;
pub use self::settings::{EmulatorSetting, SETTINGS, hsa_xnack};
use self::stream::{Batch, Stream, runs_command};
#[cfg(target_os = "linux")]
pub use self::virtual_memory::{VIRTUAL_GRANULARITY, VirtualAccess};
use self::watch::Watch;
use hip_driver::checks::{belongs, check_host, stale};
use hip_driver::{
    DeviceId, DriverError, DriverResult, ErrorCode, NodeNumbers, RawEvent, RawFunction, RawModule,
};

/// The profile of one kernel on one device, over all its launches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelProfile {
    /// The device.
    pub device: DeviceId,
    /// The kernel's name.
    pub kernel: String,
    /// The counts.
    pub profile: Profile,
}

/// The driver over the emulator. See the [module](self).
pub struct EmulatedDriver {
    devices: Vec<Arc<Device>>,
    watch: Arc<Watch>,
    /// The blocks of pools, on all devices.
    blocks: Arc<Blocks>,
    pool_boundaries: bool,
    shared: memory::SharedFiles,
    #[cfg(target_os = "linux")]
    virtual_memory: virtual_memory::VirtualMemory,
    streams: Table<Arc<Stream>>,
    events: Table<Arc<Event>>,
    modules: Table<Arc<Module>>,
    functions: Table<Arc<Function>>,
    graphs: Table<Arc<Graph>>,
    execs: Table<Arc<GraphExec>>,
    captures: Captures,
    nodes: NodeNumbers,
    pinned: PinnedMemory,
    workers: Mutex<Vec<JoinHandle<()>>>,
    streams_made: AtomicU64,
}

impl EmulatedDriver {
    /// Creates a driver with devices of its own.
    ///
    /// # Errors
    /// `INVALID_VALUE` for options that cannot be emulated; the detail says which. `OUT_OF_MEMORY` if the host cannot
    /// start more threads.
    pub fn new(options: EmulatorOptions) -> DriverResult<Arc<EmulatedDriver>> {
        let call = "hipInit";
        let options = options.checked(call)?;
        let watch = Arc::<Watch>::default();
        let blocks = Arc::<Blocks>::default();
        let devices = (0..options.devices).map(|index| {
            let space = AddressSpace::one_of(options.machine.memory_bytes, index, options.devices);
            let space = Arc::new(space.with_blocks(Arc::clone(&blocks)));
            let machine =
                Machine::with_memory(options.machine.clone(), Arc::clone(&space)).map_err(|error| {
                    DriverError::with_detail(call, ErrorCode::OUT_OF_MEMORY, error.to_string())
                })?;
            let watch = Arc::clone(&watch);
            let listener = options.listener.clone();
            let (id, properties) = (DeviceId(index), options.properties(call)?);
            Ok(Arc::new(Device::new(id, properties, space, machine, watch, listener)))
        });
        let devices = devices.collect::<DriverResult<_>>()?;
        Ok(Arc::new(EmulatedDriver {
            devices,
            watch,
            blocks,
            pool_boundaries: options.pool_boundaries && options.machine.bounds == Bounds::Strict,
            shared: memory::SharedFiles::default(),
            #[cfg(target_os = "linux")]
            virtual_memory: Default::default(),
            streams: Table::new(1),
            events: Table::new(2),
            modules: Table::new(3),
            functions: Table::new(4),
            graphs: Table::new(5),
            execs: Table::new(6),
            captures: Captures::default(),
            nodes: NodeNumbers::default(),
            pinned: PinnedMemory::default(),
            workers: Mutex::default(),
            streams_made: AtomicU64::new(0),
        }))
    }

    /// Returns the profile of each kernel since the last call, by device and name, and resets it. Empty without
    /// [`MachineConfig::profile`]. Only launches that ended without a fault are counted.
    pub fn take_profiles(&self) -> Vec<KernelProfile> {
        let of = |device: &Arc<Device>| {
            let (id, profiles) = (device.id, std::mem::take(&mut *lock(&device.profiles)));
            profiles.into_iter().map(move |(kernel, profile)| KernelProfile { device: id, kernel, profile })
        };
        self.devices.iter().flat_map(of).collect()
    }

    /// Returns what the devices noted since the last call, by device: with bounds of pages the accesses past the end of
    /// allocations, which strict bounds refuse, and atomics that gfx90a's hardware does not perform. Only launches that
    /// ended without a fault are counted.
    pub fn take_notices(&self) -> Vec<(DeviceId, Notice)> {
        let of = |device: &Arc<Device>| {
            let (id, notices) = (device.id, std::mem::take(&mut *lock(&device.notices)));
            notices.into_iter().map(move |notice| (id, notice))
        };
        self.devices.iter().flat_map(of).collect()
    }

    /// Returns a device, even if it is lost.
    fn any_device(&self, call: &'static str, device: DeviceId) -> DriverResult<&Arc<Device>> {
        self.devices.get(device.0 as usize).ok_or_else(|| {
            let detail = format!("{device}: there are {} emulated devices", self.devices.len());
            DriverError::with_detail(call, ErrorCode::INVALID_DEVICE, detail)
        })
    }

    /// Returns a device that is not lost.
    fn device(&self, call: &'static str, device: DeviceId) -> DriverResult<&Arc<Device>> {
        let device = self.any_device(call, device)?;
        device.check(call)?;
        Ok(device)
    }

    fn event(&self, call: &'static str, event: RawEvent) -> DriverResult<Arc<Event>> {
        self.events.get(event.0).ok_or_else(|| stale(call, "event", event.0))
    }

    /// Returns an event of a device that is not lost.
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
}

impl Drop for EmulatedDriver {
    fn drop(&mut self) {
        // Destroyed streams are closed already; their workers are among those that are joined.
        self.streams.drain();
        self.devices.iter().for_each(|device| device.close_streams());
        let remains = Remains {
            workers: std::mem::take(&mut *lock(&self.workers)),
            pinned: ManuallyDrop::new(self.pinned.drain()),
            devices: self.devices.clone(),
        };
        if !runs_command() {
            return remains.clear_up();
        }
        // The last reference was dropped in a host function. Its stream cannot continue until this returns, and other
        // streams may wait for it. So another thread has to wait for them.
        let spawned = std::thread::Builder::new().name("emu-drop".to_owned()).spawn(|| remains.clear_up());
        if let Err(error) = spawned {
            log::error!(
                "no thread to clear up after the emulated driver, its pinned memory is leaked: {error}"
            );
        }
    }
}

/// What remains to be freed after a driver was dropped.
struct Remains {
    workers: Vec<JoinHandle<()>>,
    /// Freed only by [`clear_up`](Remains::clear_up): before that, copies may use it.
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
        // No work runs any more, so nothing uses the pinned memory.
        for memory in ManuallyDrop::into_inner(self.pinned) {
            unmap(&self.devices, &memory);
        }
    }
}

/// Unmaps pinned memory from the devices.
fn unmap(devices: &[Arc<Device>], memory: &pinned::Memory) {
    for device in devices {
        if let Err(error) = device.space.unmap_host(memory.address()) {
            log::error!("unmapping pinned memory from {}: {error}", device.id);
        }
    }
}

/// Returns whether memory of emulated devices has such addresses, live or not; memory of the host has others.
pub fn is_device_address(address: u64) -> bool {
    AddressSpace::is_device_address(address)
}

impl fmt::Debug for EmulatedDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let targets = self.devices.iter().map(|d| d.properties.target.short());
        f.debug_struct("EmulatedDriver")
            .field("devices", &targets.collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

fn invalid(call: &'static str, problem: String) -> DriverError {
    DriverError::with_detail(call, ErrorCode::INVALID_VALUE, problem)
}

fn exhausted(call: &'static str) -> DriverError {
    DriverError::with_detail(call, ErrorCode::OUT_OF_MEMORY, "no handles are left")
}

fn utf8<'a>(call: &'static str, name: &'a CStr) -> DriverResult<&'a str> {
    name.to_str().map_err(|_| {
        DriverError::with_detail(call, ErrorCode::NOT_FOUND, format!("the name {name:?} is not UTF-8"))
    })
}

/// Enqueues a command and returns its number on the stream.
fn push(call: &'static str, stream: &Stream, make: impl FnOnce(&mut Batch) -> Command) -> DriverResult<u64> {
    stream.push(make).ok_or_else(|| {
        let detail = "the stream was destroyed while it was used";
        DriverError::with_detail(call, ErrorCode::INVALID_HANDLE, detail)
    })
}

/// Waits for a stream. Fails if its device is lost.
fn synchronize(call: &'static str, stream: &Arc<Stream>) -> DriverResult<()> {
    wait(call, &stream.mark())
}

/// Runs the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
