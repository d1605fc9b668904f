//! The machine that a process is told of: the emulated devices that the environment asks for, and the host.

use std::sync::{Arc, OnceLock};

use amdgpu_emulator::AddressSpace;

use hip_driver::DeviceProperties;
use hip_driver_emulated::system::Host;
use hip_driver_emulated::{EmulatorOptions, Hardware, MachineConfig, visible};

/// The machine. All devices have the same properties.
pub(crate) struct Machine {
    pub(crate) host: Host,
    pub(crate) properties: DeviceProperties,
    pub(crate) hardware: Hardware,
    /// The settings of each device's emulator.
    pub(crate) emulator: MachineConfig,
    /// How many devices there are.
    pub(crate) devices: u32,
    /// The numbers of those that HSA's runtime shows.
    pub(crate) of_hsa: Vec<u32>,
}

/// The memory of devices that HSA has started, by their numbers.
pub(crate) static STARTED: OnceLock<Vec<(u32, Arc<AddressSpace>)>> = OnceLock::new();

impl Machine {
    /// The machine that the environment asks for. `None` if it asks for what can't be emulated, which stderr says once.
    pub(crate) fn get() -> Option<&'static Machine> {
        static MACHINE: OnceLock<Option<Machine>> = OnceLock::new();
        let machine = MACHINE.get_or_init(|| {
            Machine::open(|name| std::env::var_os(name))
                .map_err(|reason| hip_driver::stderr_line(format_args!("hiplaunch: {reason}")))
                .ok()
        });
        machine.as_ref()
    }

    fn open(variable: impl Fn(&str) -> Option<std::ffi::OsString>) -> Result<Machine, String> {
        let options = EmulatorOptions::from_env().map_err(|error| error.to_string())?;
        Machine::of(&options, variable)
    }

    /// The machine with the devices that these options make.
    pub(crate) fn of(
        options: &EmulatorOptions,
        variable: impl Fn(&str) -> Option<std::ffi::OsString>,
    ) -> Result<Machine, String> {
        let properties = options.device_properties().map_err(|error| error.to_string())?;
        let hardware = Hardware::of(&properties).ok_or("a device of an unknown processor")?;
        let emulator = options.machine_config().map_err(|error| error.to_string())?;
        let of_hsa = visible::devices_of_hsa(options.devices, variable);
        Ok(Machine { host: Host::here(), properties, hardware, emulator, devices: options.devices, of_hsa })
    }

    /// The bytes of a device's memory that this process uses, by HSA and by the library with HIP's functions, if the process has it. Each
    /// process has the memory of its own emulated devices.
    pub(crate) fn used_memory(device: u32) -> u64 {
        let started = STARTED.get().into_iter().flatten().filter(|(number, _)| *number == device);
        let by_hsa: u64 = started.map(|(_, space)| space.usage().used).sum();
        by_hsa + Machine::used_by_hip(device)
    }

    fn used_by_hip(device: u32) -> u64 {
        type Used = extern "C" fn(u32) -> u64;
        // SAFETY: the name ends with a zero byte, and nothing is loaded.
        let library =
            unsafe { libc::dlopen(c"libamdhip64.so.7".as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY) };
        if library.is_null() {
            return 0;
        }
        // SAFETY: an open library, which stays so, and a name that ends with a zero byte.
        let used = unsafe { libc::dlsym(library, c"hiplaunch_used_memory".as_ptr()) };
        if used.is_null() {
            return 0;
        }
        // SAFETY: hip-dropin's function of this name has this type.
        let used: Used = unsafe { std::mem::transmute(used) };
        used(device)
    }
}
