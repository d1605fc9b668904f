//! Runs a case on a driver, under layers.

use std::sync::{Mutex, PoisonError};

use hiplaunch::driver::timeline::{DeviceTimes, Timeline, TimelineOptions, TimelineSnapshot};
use hiplaunch::driver::validation::ValidationDriver;

use crate::Case;
use crate::rig::Rig;
use crate::subject::{Layers, Subject};

/// Each case on a GPU's driver holds this lock. While one case waits for the device, HIP 7 blocks another case's calls on a busy
/// stream (`tests/hip_quirks/`). A case that blocks a stream with a host function could then never end that function.
static GPU: Mutex<()> = Mutex::new(());

/// What is known of a case that ran and did not fail.
#[derive(Debug, Default)]
pub struct Ran {
    /// Why it did nothing, or not everything.
    pub skipped: Option<String>,
    /// What the timeline recorded, if it was one of the layers.
    pub timeline: Option<TimelineSnapshot>,
}

/// Runs a case on a driver of its own. HIP and HSA have one driver for the process, so their cases run one after the other.
///
/// # Panics
/// The driver fails the case, or the case leaves a violation or an object.
pub fn run(subject: Subject, case: &Case) -> Ran {
    let _alone = matches!(subject, Subject::Hip { .. } | Subject::Hsa { .. })
        .then(|| GPU.lock().unwrap_or_else(PoisonError::into_inner));
    let driver = match subject.open() {
        Ok(driver) => driver,
        Err(reason) => return Ran { skipped: Some(reason), timeline: None },
    };
    let (Subject::Emulated { layers, .. } | Subject::Hip { layers } | Subject::Hsa { layers }) = subject;
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
    (case.run)(&rig);
    let skipped = rig.finish();
    Ran { skipped, timeline: timeline.map(|timeline| timeline.snapshot()) }
}
