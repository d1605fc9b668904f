//! The drivers that the cases run over, and why one is not there.

use std::sync::{Arc, Mutex, PoisonError};

use hiplaunch::driver::Driver;
use hiplaunch::driver::hip::HipDriver;
use hiplaunch::driver::timeline::{DeviceTimes, Timeline, TimelineOptions};
use hiplaunch::driver::validation::ValidationDriver;

use crate::rig::Rig;
use hiplaunch_testing::well_formed::assert_well_formed;

/// What goes around a driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layers {
    Bare,
    Validation,
    /// The timeline, which gets the device's times from the driver if it has them, under the validation layer.
    ValidationOverTimeline,
    /// The timeline, with events of its own, over the validation layer.
    TimelineOverValidation,
}

/// A driver, alone or under layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// Devices of the named target.
    Emulated {
        target: &'static str,
        layers: Layers,
    },
    Hip {
        layers: Layers,
    },
}

/// The emulator with devices of one target.
pub(crate) const fn emulated_subject(target: &'static str, layers: Layers) -> Subject {
    Subject::Emulated { target, layers }
}

impl Subject {
    /// Whether stale handles are noticed, by the driver or by a layer.
    pub(crate) fn checks_handles(self) -> bool {
        self != Subject::Hip { layers: Layers::Bare }
    }

    /// The driver with at least one device, or the reason why there is none.
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
    // Two devices, so that what concerns two is always tried; one thread each, since the cases run side by side.
    let target = target.parse().expect("a target");
    let options = EmulatorOptions { devices: 2, threads: 1, target, ..EmulatorOptions::default() };
    Ok(EmulatedDriver::new(options).expect("the emulator needs nothing"))
}

#[cfg(not(feature = "emulator"))]
fn emulated(_: &str) -> Result<Arc<dyn Driver>, String> {
    Err("this build has no emulator (feature `emulator`)".to_owned())
}

/// Held by each case on HIP. While one waits for the device, HIP 7 blocks the calls of another on a busy stream
/// (`tests/hip_quirks/`): a case that holds a stream by a host function would never come to let it go.
static HIP: Mutex<()> = Mutex::new(());

/// Runs a case over a driver of its own (HIP's is the process's, and its cases run one after the other), and looks at what is
/// left behind.
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
