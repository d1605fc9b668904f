//! Options of the emulated driver: its devices and their machines. And the properties of its devices.

use amdgpu_emulator::MachineConfig;
use amdgpu_isa::Target;
use code_object::{FeatureSetting, Processor, TargetId};

use super::devices;
use super::listener::Listener;
use hip_driver::{DeviceProperties, DriverError, DriverResult, ErrorCode};

/// The maximum number of devices of one driver.
const MAX_DEVICES: u32 = 64;

/// Options of a new emulated driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmulatorOptions {
    /// The number of devices, 1 to 64. Default: 1.
    pub devices: u32,
    /// The target of the devices, whose processor is one of [`Target::processors`]. Settings that it leaves open become sramecc on
    /// and xnack off; gfx11 has none.
    /// Default: `gfx90a:sramecc+:xnack-`.
    pub target: TargetId,
    /// The machine of each device: memory, threads, limits, observers. The driver sets its
    /// [`compute_units`](MachineConfig::compute_units), [`lds_bytes`](MachineConfig::lds_bytes) and [`sram_ecc`](MachineConfig::sram_ecc) by the
    /// target. Without a
    /// [`time_budget`](MachineConfig::time_budget), a kernel that never ends blocks its stream forever, and so everything that
    /// waits for the stream, including the drop of the driver.
    pub machine: MachineConfig,
    /// With strict [`bounds`](MachineConfig::bounds), finds accesses past the end of a memory pool's blocks: pools leave addresses unused behind each block
    /// ([`Observer::separates_blocks`](hip_driver::Observer::separates_blocks)), and an access there is a fault whose report
    /// names the block, and what a GPU would have accessed. Default: on.
    pub pool_boundaries: bool,
    /// Receives the kernels that ran, and faults. Default: `None`.
    pub listener: Option<Listener>,
}

/// Returns the target of a device, given the requested one: sramecc is on and xnack is off where that leaves them
/// open. What the processor doesn't have stays unsupported.
pub fn device_target(mut requested: TargetId) -> TargetId {
    requested.sramecc = requested.sramecc.or(FeatureSetting::On);
    requested.xnack = requested.xnack.or(FeatureSetting::Off);
    requested
}

impl Default for EmulatorOptions {
    fn default() -> Self {
        EmulatorOptions {
            devices: 1,
            target: TargetId::new(Processor::Gfx90a),
            machine: MachineConfig::default(),
            pool_boundaries: true,
            listener: None,
        }
    }
}

impl From<MachineConfig> for EmulatorOptions {
    fn from(machine: MachineConfig) -> Self {
        EmulatorOptions { machine, ..EmulatorOptions::default() }
    }
}

impl EmulatorOptions {
    /// The defaults, with one host thread for each device: workgroups run in the same order each time.
    pub fn single_threaded() -> Self {
        MachineConfig { threads: 1, ..MachineConfig::default() }.into()
    }

    /// Checks whether these options can be emulated.
    ///
    /// # Errors
    /// `INVALID_VALUE`, with a detail that says what is wrong.
    pub fn check(&self) -> DriverResult<()> {
        self.clone().checked("hipInit").map(drop)
    }

    /// Checks the numbers and fills in the open settings of the target.
    pub(super) fn checked(mut self, call: &'static str) -> DriverResult<Self> {
        let refuse = |detail: String| Err(DriverError::with_detail(call, ErrorCode::INVALID_VALUE, detail));
        if !(1..=MAX_DEVICES).contains(&self.devices) {
            return refuse(format!("{} emulated devices: 1 to {MAX_DEVICES} are possible", self.devices));
        }
        let properties = self.properties(call)?;
        if self.machine.threads == 0 {
            return refuse("0 threads: a device needs at least 1".to_owned());
        }
        if self.machine.hazards && !self.machine.sanitize {
            return refuse("`hazards` needs `sanitize`, which looks for them".to_owned());
        }
        self.target = device_target(self.target);
        self.machine.compute_units = properties.compute_units;
        self.machine.lds_bytes = Some(properties.max_lds_per_block);
        self.machine.sram_ecc = self.target.sramecc == FeatureSetting::On;
        Ok(self)
    }

    /// Returns the settings of each device's machine, with those that follow from the target.
    ///
    /// # Errors
    /// As [`check`](EmulatorOptions::check).
    pub fn machine_config(&self) -> DriverResult<MachineConfig> {
        self.clone().checked("hipInit").map(|options| options.machine)
    }

    /// Returns the properties that each device of such a driver has.
    ///
    /// # Errors
    /// As [`check`](EmulatorOptions::check).
    pub fn device_properties(&self) -> DriverResult<DeviceProperties> {
        let call = "hipInit";
        self.clone().checked(call)?.properties(call)
    }

    /// Returns the properties of each device, whose target has its settings.
    pub(super) fn properties(&self, call: &'static str) -> DriverResult<DeviceProperties> {
        devices::properties(&self.target, self.machine.memory_bytes).ok_or_else(|| {
            let (target, possible) = (self.target.short(), Target::listed_processors());
            let detail = format!("no emulator for {target}: {possible} are possible");
            DriverError::with_detail(call, ErrorCode::INVALID_VALUE, detail)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_settings_are_filled_in_and_given_ones_kept() {
        let options = EmulatorOptions::default().checked("new").unwrap();
        assert_eq!(options.target.short(), "gfx90a:sramecc+:xnack-");
        let target = "gfx942:xnack+".parse().unwrap();
        let options = EmulatorOptions { target, ..EmulatorOptions::default() }.checked("new").unwrap();
        assert_eq!(options.target.short(), "gfx942:sramecc+:xnack+");
        assert_eq!(options.properties("new").unwrap().compute_units, 304);
        let options = EmulatorOptions { target: "gfx950".parse().unwrap(), ..EmulatorOptions::default() };
        let properties = options.checked("new").unwrap().properties("new").unwrap();
        assert_eq!((properties.compute_units, properties.max_lds_per_block), (256, 160 << 10));
    }

    #[test]
    fn gfx11_has_no_settings() {
        for name in Target::processors().filter(|name| name.starts_with("gfx11")) {
            let options = EmulatorOptions { target: name.parse().unwrap(), ..EmulatorOptions::default() };
            let options = options.checked("new").unwrap();
            assert_eq!(options.target.short(), name);
            assert_eq!(options.target.xnack, FeatureSetting::Unsupported);
        }
        assert!("gfx1100:xnack+".parse::<TargetId>().is_err());
    }

    #[test]
    fn what_cannot_be_emulated_is_refused() {
        for devices in [0, MAX_DEVICES + 1] {
            let error = EmulatorOptions { devices, ..EmulatorOptions::default() }.checked("new").unwrap_err();
            assert_eq!(error.code, ErrorCode::INVALID_VALUE);
        }
        for name in ["gfx1010", "gfx908", "gfx11-generic", "gfx9-4-generic"] {
            let target = name.parse().unwrap();
            let error = EmulatorOptions { target, ..EmulatorOptions::default() }.checked("new").unwrap_err();
            let text = error.to_string();
            assert!(text.contains(&format!("no emulator for {name}: gfx90a, gfx942, ")), "{text}");
            assert!(text.contains("gfx1200 and gfx1201 are possible"), "{text}");
        }
    }
}
