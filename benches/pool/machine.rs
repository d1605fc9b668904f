//! The drivers that the pools run on.

use std::sync::Arc;

use hiplaunch::Error;
use hiplaunch::driver::Driver;

/// A driver to run the pools on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Machine {
    /// Does nothing: the time is the pool's own.
    Noop,
    /// The emulator's: real address ranges, and frees that wait for the device.
    #[cfg(feature = "emulator")]
    Emulator,
}

impl Machine {
    pub(crate) const ALL: &[Machine] = &[
        Machine::Noop,
        #[cfg(feature = "emulator")]
        Machine::Emulator,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Machine::Noop => "noop",
            #[cfg(feature = "emulator")]
            Machine::Emulator => "emulator",
        }
    }

    pub(crate) fn open(self) -> Result<Arc<dyn Driver>, Error> {
        match self {
            Machine::Noop => Ok(hiplaunch::driver::noop::NoopDriver::open()),
            #[cfg(feature = "emulator")]
            Machine::Emulator => {
                use hiplaunch::driver::emulated::{EmulatedDriver, MachineConfig};
                // The workloads access none of it, but small allocations cost host memory nevertheless.
                let machine =
                    MachineConfig { memory_bytes: 64 << 30, threads: 1, ..MachineConfig::default() };
                Ok(EmulatedDriver::new(machine.into())?)
            }
        }
    }
}
