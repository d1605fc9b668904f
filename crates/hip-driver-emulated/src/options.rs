//! Options of the emulated driver: its devices and their machines. And the properties of its devices.

use amdgpu_emulator::MachineConfig;
use code_object::{FeatureSetting, Processor, TargetId};

use super::listener::Listener;
use hip_driver::{DeviceProperties, DriverError, DriverResult, ErrorCode};

/// The maximum number of devices of one driver.
const MAX_DEVICES: u32 = 64;

/// Options of a new emulated driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmulatorOptions {
    /// The number of devices, 1 to 64. Default: 1.
    pub devices: u32,
    /// The target of the devices: gfx90a, gfx942 or gfx950. Settings that it leaves open become sramecc on and xnack off.
    /// Default: `gfx90a:sramecc+:xnack-`.
    pub target: TargetId,
    /// The machine of each device: memory, threads, limits, observers. The driver sets its
    /// [`compute_units`](MachineConfig::compute_units) and [`sram_ecc`](MachineConfig::sram_ecc) by the target. Without a
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
/// open.
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
        if !matches!(self.target.processor, Processor::Gfx90a | Processor::Gfx942 | Processor::Gfx950) {
            return refuse(format!(
                "no emulator for {}: gfx90a, gfx942 and gfx950 are possible",
                self.target.short()
            ));
        }
        if self.machine.threads == 0 {
            return refuse("0 threads: a device needs at least 1".to_owned());
        }
        if self.machine.hazards && !self.machine.sanitize {
            return refuse("`hazards` needs `sanitize`, which looks for them".to_owned());
        }
        self.target = device_target(self.target);
        self.machine.compute_units = self.properties().compute_units;
        self.machine.sram_ecc = self.target.sramecc != FeatureSetting::Off;
        Ok(self)
    }

    /// Returns the properties of each device: those of one die of an MI250, of an MI300X or of an MI350X, except for the memory.
    pub(super) fn properties(&self) -> DeviceProperties {
        // From the white papers of CDNA 2, 3 and 4: compute units, peak engine clock, L2 cache of a die. From the data
        // sheets of MI210 (one die of an MI250), MI300X and MI350X: 3.2 Gbps over 4096 bits, 5.2 and 8 Gbps over 8192
        // bits, two transfers in a cycle.
        let (name, compute_units, clock_khz, memory_clock_khz, memory_bus_bits, l2_bytes) = match self
            .target
            .processor
        {
            Processor::Gfx942 => ("AMD Instinct MI300X (emulated)", 304, 2_100_000, 2_600_000, 8192, 4 << 20),
            Processor::Gfx950 => ("AMD Instinct MI350X (emulated)", 256, 2_200_000, 4_000_000, 8192, 4 << 20),
            _ => ("AMD Instinct MI250 (emulated)", 104, 1_700_000, 1_600_000, 4096, 8 << 20),
        };
        DeviceProperties {
            name: name.to_owned(),
            target: self.target.clone(),
            pci_bus_id: "emulated".to_owned(),
            total_memory: self.machine.memory_bytes,
            compute_units,
            wavefront_size: 64,
            max_threads_per_block: 1024,
            max_block: [1024; 3],
            // As HIP 5 has it. The hardware takes 2^32 - 1 work-items in each axis.
            max_grid: [0x7fff_ffff; 3],
            max_lds_per_block: if self.target.processor == Processor::Gfx950 { 160 << 10 } else { 64 << 10 },
            clock_khz,
            memory_clock_khz: Some(memory_clock_khz),
            memory_bus_bits: Some(memory_bus_bits),
            l2_bytes: Some(l2_bytes),
            // A compute unit has four SIMDs with 512 VGPRs for 64 work-items each ("AMD Instinct MI300 Instruction Set
            // Architecture", and that of MI200).
            registers_per_block: Some(4 * 512 * 64),
        }
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
        assert_eq!(options.properties().compute_units, 304);
        let options = EmulatorOptions { target: "gfx950".parse().unwrap(), ..EmulatorOptions::default() };
        let properties = options.checked("new").unwrap().properties();
        assert_eq!((properties.compute_units, properties.max_lds_per_block), (256, 160 << 10));
    }

    #[test]
    fn what_cannot_be_emulated_is_refused() {
        for devices in [0, MAX_DEVICES + 1] {
            let error = EmulatorOptions { devices, ..EmulatorOptions::default() }.checked("new").unwrap_err();
            assert_eq!(error.code, ErrorCode::INVALID_VALUE);
        }
        let target = "gfx1100".parse().unwrap();
        let error = EmulatorOptions { target, ..EmulatorOptions::default() }.checked("new").unwrap_err();
        assert!(error.to_string().contains("gfx1100"), "{error}");
    }
}
