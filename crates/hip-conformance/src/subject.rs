//! The drivers that the cases run on.

use std::sync::Arc;

use hiplaunch::driver::Driver;
use hiplaunch::driver::amd::HipDriver;
use hiplaunch::driver::hsa::HsaDriver;

/// The layers over a driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layers {
    /// None.
    Bare,
    /// The validation layer.
    Validation,
    /// The validation layer over the timeline, which gets the device's times from the driver if the driver has them.
    ValidationOverTimeline,
    /// The timeline over the validation layer. The timeline measures with events of its own.
    TimelineOverValidation,
}

/// A driver, alone or under layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The emulator with devices of a target.
    Emulated {
        /// The target, such as `gfx90a`.
        target: &'static str,
        /// The layers.
        layers: Layers,
    },
    /// The installed libamdhip64.
    Hip {
        /// The layers.
        layers: Layers,
    },
    /// The installed libhsa-runtime64, with no HIP between.
    Hsa {
        /// The layers.
        layers: Layers,
    },
}

impl Subject {
    /// Returns whether the driver or a layer refuses stale handles.
    pub(crate) fn checks_handles(self) -> bool {
        !matches!(self, Subject::Hip { layers: Layers::Bare } | Subject::Hsa { layers: Layers::Bare })
    }

    /// Opens the driver, without layers. Returns the reason if it can't be opened or has no device.
    pub(crate) fn open(self) -> Result<Arc<dyn Driver>, String> {
        let driver: Arc<dyn Driver> = match self {
            Subject::Emulated { target, .. } => emulated(target)?,
            Subject::Hip { .. } => HipDriver::load().map_err(|error| error.to_string())?,
            Subject::Hsa { .. } => HsaDriver::load().map_err(|error| error.to_string())?.shared(),
        };
        match driver.device_count() {
            Ok(0) => Err(format!("{} has no device", driver.info().source)),
            Ok(_) => Ok(driver),
            Err(error) => Err(error.to_string()),
        }
    }
}

#[cfg(feature = "emulator")]
fn emulated(target: &str) -> Result<Arc<dyn Driver>, String> {
    use hiplaunch::driver::emulated::{EmulatedDriver, EmulatorOptions};
    // Two devices, so that cases with two devices always run. One thread for each device, because cases run at the same
    // time.
    let target = target.parse().expect("a target");
    let options = EmulatorOptions { devices: 2, target, ..EmulatorOptions::single_threaded() };
    Ok(EmulatedDriver::new(options).expect("the emulator needs nothing"))
}

#[cfg(not(feature = "emulator"))]
fn emulated(_: &str) -> Result<Arc<dyn Driver>, String> {
    Err("this build has no emulator (feature `emulator`)".to_owned())
}
