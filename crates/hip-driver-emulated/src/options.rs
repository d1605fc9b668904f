//! What an emulated machine has: devices, memory, threads; and the properties that its devices show.

use std::time::Duration;

use code_object::{FeatureSetting, Processor, TargetId};
use gfx9_emulator::InstructionTrace;

use hip_driver::{DeviceProperties, DriverError, DriverResult, ErrorCode};

/// How many devices [`EmulatorOptions::from_env`] makes.
pub const DEVICES_VARIABLE: &str = "HIPLAUNCH_EMULATOR_DEVICES";

/// How many host threads [`EmulatorOptions::from_env`] gives each device.
pub const THREADS_VARIABLE: &str = "HIPLAUNCH_EMULATOR_THREADS";

/// The most devices that one driver has.
const MAX_DEVICES: u32 = 64;

/// How an emulated driver is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmulatorOptions {
    /// Devices, 1 to 64. Default: 1.
    pub devices: u32,
    /// Memory of each device in bytes. Host memory is taken only as it is allocated and touched. Default: 16 GiB.
    pub memory_bytes: u64,
    /// Host threads that run a kernel's workgroups, 0 for as many as the machine has cores. Default: 0.
    pub threads: usize,
    /// What the devices are: gfx90a or gfx942. A setting that it leaves open is sramecc on, xnack off.
    /// Default: `gfx90a:sramecc+:xnack-`.
    pub target: TargetId,
    /// How long one kernel may run before it counts as faulty; `None` for as long as it likes. A kernel that never
    /// ends keeps its stream, and with it everything that waits for the stream, the drop of the driver included, for
    /// ever. Default: `None`.
    pub time_budget: Option<Duration>,
    /// How many instructions one kernel may execute, one for a wave, before it counts as faulty; `None` for as many as it
    /// likes. Unlike a time, the same on every machine. Default: `None`.
    pub instruction_budget: Option<u64>,
    /// Bytes of stack that each work-item gets besides what the kernel declares, if the kernel uses a dynamic stack
    /// (recursion, calls through pointers), whose need no compiler knows. Default: 16 KiB.
    pub dynamic_stack: u32,
    /// Shuffles the order in which workgroups and waves run. Kernels without data races give the same results with any
    /// seed. Default: `None`, the usual order.
    pub schedule_seed: Option<u64>,
    /// Counts what each kernel does: [`EmulatedDriver::take_profiles`](super::EmulatedDriver::take_profiles). Kernels run
    /// much slower. Default: off.
    pub profile: bool,
    /// Looks for reads of memory that nothing has written and for data races; a kernel that has either is faulty when it
    /// has run. Kernels run very much slower. Memory that a pool hands out again counts as written. Default: off.
    pub sanitize: bool,
    /// Finds accesses past the end of a memory pool's blocks: pools leave addresses unused behind each block
    /// ([`Observer::separates_blocks`](hip_driver::Observer::separates_blocks)), and an access there is a fault whose report
    /// names the block, and what a GPU would have accessed. Default: on.
    pub pool_boundaries: bool,
    /// Is given the instructions that kernels execute. Default: `None`.
    pub instruction_trace: Option<InstructionTrace>,
}

impl Default for EmulatorOptions {
    fn default() -> Self {
        EmulatorOptions {
            devices: 1,
            memory_bytes: 16 << 30,
            threads: 0,
            target: TargetId::new(Processor::Gfx90a),
            time_budget: None,
            instruction_budget: None,
            dynamic_stack: 16 << 10,
            schedule_seed: None,
            profile: false,
            sanitize: false,
            pool_boundaries: true,
            instruction_trace: None,
        }
    }
}

impl EmulatorOptions {
    /// The defaults, with the numbers in [`DEVICES_VARIABLE`] and [`THREADS_VARIABLE`] where these are set.
    ///
    /// # Errors
    /// `INVALID_VALUE` for a variable that holds no number.
    pub fn from_env() -> DriverResult<Self> {
        let mut options = EmulatorOptions::default();
        if let Some(devices) = number(DEVICES_VARIABLE)? {
            options.devices = devices;
        }
        if let Some(threads) = number(THREADS_VARIABLE)? {
            options.threads = threads as usize;
        }
        Ok(options)
    }

    /// Fails for options that no emulator can have.
    ///
    /// # Errors
    /// `INVALID_VALUE`, with what is wrong.
    pub fn check(&self) -> DriverResult<()> {
        self.clone().checked("hipInit").map(drop)
    }

    /// Checks the numbers, and fills in the target's open settings.
    pub(super) fn checked(mut self, call: &'static str) -> DriverResult<Self> {
        let refuse = |detail: String| Err(DriverError::with_detail(call, ErrorCode::INVALID_VALUE, detail));
        if !(1..=MAX_DEVICES).contains(&self.devices) {
            return refuse(format!("{} emulated devices: 1 to {MAX_DEVICES} are possible", self.devices));
        }
        if !matches!(self.target.processor, Processor::Gfx90a | Processor::Gfx942) {
            return refuse(format!(
                "no emulator for {}: gfx90a and gfx942 are possible",
                self.target.short()
            ));
        }
        for (setting, default) in
            [(&mut self.target.sramecc, FeatureSetting::On), (&mut self.target.xnack, FeatureSetting::Off)]
        {
            if !setting.is_specified() {
                *setting = default;
            }
        }
        Ok(self)
    }

    /// What each device shows: one die of an MI250, or an MI300X, but for the memory.
    pub(super) fn properties(&self) -> DeviceProperties {
        // From the CDNA 2 and CDNA 3 white papers: compute units and peak engine clock.
        let (name, compute_units, clock_khz) = match self.target.processor {
            Processor::Gfx942 => ("AMD Instinct MI300X (emulated)", 304, 2_100_000),
            _ => ("AMD Instinct MI250 (emulated)", 104, 1_700_000),
        };
        DeviceProperties {
            name: name.to_owned(),
            target: self.target.clone(),
            pci_bus_id: "emulated".to_owned(),
            total_memory: self.memory_bytes,
            compute_units,
            wavefront_size: 64,
            max_threads_per_block: 1024,
            max_block: [1024; 3],
            max_grid: [0x7fff_ffff, 65535, 65535],
            max_lds_per_block: 64 << 10,
            clock_khz,
        }
    }
}

fn number(variable: &'static str) -> DriverResult<Option<u32>> {
    let Some(value) = std::env::var_os(variable).filter(|value| !value.is_empty()) else { return Ok(None) };
    let text = value.to_string_lossy();
    text.trim().parse().map(Some).map_err(|_| {
        DriverError::with_detail(
            "hipInit",
            ErrorCode::INVALID_VALUE,
            format!("{variable}={text} is not a number"),
        )
    })
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
