//! The devices as machines of the emulator. They are started when a program first needs memory, a signal, a queue or code.
//!
//! Each device has an address space; another has the host's memory. All allocations are at addresses of the process, so that the host and
//! the agents have the same pointers. An agent that may access memory of another space shares it.

use std::sync::{Arc, OnceLock};

use amdgpu_emulator::AddressSpace;

use super::agent::{Agent, Kind};
use super::runtime::machine;
use super::status::Status;
use crate::machine::{Machine, STARTED};

/// One device.
pub(super) struct Device {
    pub(super) agent: Agent,
    pub(super) space: Arc<AddressSpace>,
    pub(super) machine: amdgpu_emulator::Machine,
}

/// The devices that the runtime shows, and the host's memory.
pub(super) struct Devices {
    pub(super) host: Arc<AddressSpace>,
    pub(super) all: Vec<Device>,
}

impl Devices {
    /// The devices, if the runtime is initialised. Fails with `OUT_OF_RESOURCES` if they can't be started, which stderr says once.
    pub(super) fn get() -> Result<&'static Devices, Status> {
        static DEVICES: OnceLock<Option<Devices>> = OnceLock::new();
        let machine = machine()?;
        let devices = DEVICES.get_or_init(|| {
            Devices::start(machine)
                .map_err(|reason| hip_driver::stderr_line(format_args!("hiplaunch: {reason}")))
                .ok()
        });
        devices.as_ref().ok_or(Status::OUT_OF_RESOURCES)
    }

    fn start(machine: &Machine) -> Result<Devices, String> {
        let (config, count) = (&machine.emulator, machine.devices);
        let space = |bytes, index| Arc::new(AddressSpace::one_of(bytes, index, count + 1).at_own_addresses());
        let device = |number: &u32| {
            let space = space(config.memory_bytes, *number);
            let machine = amdgpu_emulator::Machine::with_memory(config.clone(), Arc::clone(&space))
                .map_err(|error| error.to_string())?;
            Ok(Device { agent: Agent::of_device(*number), space, machine })
        };
        let all = machine.of_hsa.iter().map(device).collect::<Result<Vec<_>, String>>()?;
        let spaces = all.iter().map(|device| Arc::clone(&device.space));
        // Devices are started once.
        let _ = STARTED.set(machine.of_hsa.iter().copied().zip(spaces).collect());
        // More than the host has: what is not written needs none.
        Ok(Devices { host: space(machine.host.memory_bytes.saturating_mul(2), count), all })
    }

    /// The device that an agent is. Fails with `INVALID_AGENT` for another number and for the host.
    pub(super) fn device(&self, agent: Agent) -> Result<&Device, Status> {
        self.all.iter().find(|device| device.agent == agent).ok_or(Status::INVALID_AGENT)
    }

    /// The memory of an agent.
    pub(super) fn space(&self, agent: Agent) -> Result<&Arc<AddressSpace>, Status> {
        match agent.kind(machine()?)? {
            Kind::Host => Ok(&self.host),
            Kind::Device(_) => self.device(agent).map(|device| &device.space),
        }
    }

    /// Allocates memory of the host for the runtime and all agents. The host sees what they write.
    pub(super) fn allocate_for_all(&self, bytes: u64) -> Result<u64, Status> {
        let address = self.host.alloc(bytes, 0).map_err(|_| Status::OUT_OF_RESOURCES)?;
        let shared = self
            .host
            .set_fine_grained(address, true)
            .and_then(|()| self.all.iter().try_for_each(|device| self.host.share(address, &device.space)));
        if shared.is_err() {
            self.free_for_all(address);
            return Err(Status::OUT_OF_RESOURCES);
        }
        Ok(address)
    }

    /// Frees what `allocate_for_all` allocated. A dispatch that runs keeps the memory until it has ended.
    pub(super) fn free_for_all(&self, address: u64) {
        self.all.iter().for_each(|device| device.space.unshare(address));
        // Whoever calls this has allocated it.
        let _ = self.host.free(address);
    }
}
