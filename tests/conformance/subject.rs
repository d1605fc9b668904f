//! The drivers that the cases run on, and why one is missing.

use std::sync::{Arc, Mutex, PoisonError};

use hiplaunch::driver::Driver;
use hiplaunch::driver::amd::HipDriver;
use hiplaunch::driver::timeline::{DeviceTimes, Timeline, TimelineOptions};
use hiplaunch::driver::validation::ValidationDriver;

use crate::rig::Rig;
use hiplaunch_testing::well_formed::assert_well_formed;

/// The layers over a driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layers {
    Bare,
    Validation,
    /// The validation layer over the timeline, which gets the device's times from the driver if the driver has them.
    ValidationOverTimeline,
    /// The timeline over the validation layer. The timeline measures with events of its own.
    TimelineOverValidation,
}

/// A driver, alone or under layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// The emulator with devices of a target.
    Emulated {
        target: &'static str,
        layers: Layers,
    },
    Hip {
        layers: Layers,
    },
}

/// Returns the emulator with devices of a target.
pub(crate) const fn emulated_subject(target: &'static str, layers: Layers) -> Subject {
    Subject::Emulated { target, layers }
}

impl Subject {
    /// Returns whether the driver or a layer refuses stale handles.
    pub(crate) fn checks_handles(self) -> bool {
        self != Subject::Hip { layers: Layers::Bare }
    }

    /// Opens the driver, without layers. Returns the reason if it can't be opened or has no device.
    fn open(self) -> Result<Arc<dyn Driver>, String> {
        let driver: Arc<dyn Driver> = match self {
            Subject::Emulated { target, .. } => emulated(target)?,
            Subject::Hip { .. } => HipDriver::load().map_err(|error| error.to_string())?,
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

/// Each case on HIP holds this lock. While one case waits for the device, HIP 7 blocks another case's calls on a busy
/// stream (`tests/hip_quirks/`). A case that blocks a stream with a host function could then never end that function.
static HIP: Mutex<()> = Mutex::new(());

/// Runs a case on a driver of its own, and checks that it leaves no violation and no object. HIP has one driver for the
/// process, so its cases run one after the other.
pub(crate) fn run(subject: Subject, case: fn(&Rig)) {
    let _alone =
        matches!(subject, Subject::Hip { .. }).then(|| HIP.lock().unwrap_or_else(PoisonError::into_inner));
    let driver = match subject.open() {
        Ok(driver) => driver,
        Err(reason) => {
            println!("skipped on {subject:?}: {reason}");
            return;
        }
    };
    let (Subject::Emulated { layers, .. } | Subject::Hip { layers }) = subject;
    let (rig, timeline) = match layers {
        Layers::Bare => (Rig::new(subject, driver, None), None),
        Layers::Validation => {
            let layer = ValidationDriver::new(driver);
            (Rig::new(subject, layer.clone(), Some(layer)), None)
        }
        Layers::ValidationOverTimeline => {
            let timeline = Timeline::default();
            let layer = ValidationDriver::new(timeline.layer(driver));
            (Rig::new(subject, layer.clone(), Some(layer)), Some(timeline))
        }
        Layers::TimelineOverValidation => {
            let options = TimelineOptions { device_times: DeviceTimes::Events, ..TimelineOptions::default() };
            let timeline = Timeline::new(options);
            let layer = ValidationDriver::new(driver);
            (Rig::new(subject, timeline.layer(layer.clone()), Some(layer)), Some(timeline))
        }
    };
    case(&rig);
    rig.finish();
    if let Some(timeline) = timeline {
        assert_well_formed(&timeline.snapshot());
    }
}
