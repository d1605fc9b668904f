//! All samples of a run, and figures that are computed from them.

use super::cases::Point;
use super::methods::LaunchMethod;
use super::statistics::{Summary, ratios, summary};

/// A method at a point: the nanoseconds of a launch, with one sample for each round.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Case {
    pub(super) method: LaunchMethod,
    /// Why the case was not measured; `None` if it was.
    pub(super) skipped: Option<String>,
    /// The time from the first launch of a batch until its last result is read, divided by the launches of all threads.
    pub(super) total: Vec<f64>,
    /// The time within the launch calls of a thread, divided by its launches.
    pub(super) host: Vec<f64>,
    /// The driver calls of a launch, with its share of a read. They are counted for the typical launch only.
    pub(super) calls: Option<f64>,
    /// The median time on the device, measured by events around a batch.
    pub(super) device: Option<f64>,
}

/// The cases of all methods at a point.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Measured {
    pub(super) point: Point,
    pub(super) cases: Vec<Case>,
}

/// The circumstances of a run, as pairs of a name and a text, in the order in which they are shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct About {
    pub(super) lines: Vec<(String, String)>,
    /// Whether kernels ran in the emulator, so that their times mean nothing for a GPU.
    pub(super) emulated: bool,
    /// Whether the validation layer was over the driver; it costs more than a launch.
    pub(super) validated: bool,
}

/// The results of a whole run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Results {
    pub(super) about: About,
    pub(super) points: Vec<Measured>,
}

impl Case {
    pub(super) fn skipped(method: LaunchMethod, reason: &str) -> Case {
        Case {
            method,
            skipped: Some(reason.to_owned()),
            total: Vec::new(),
            host: Vec::new(),
            calls: None,
            device: None,
        }
    }

    pub(super) fn total(&self) -> Option<Summary> {
        summary(&self.total)
    }

    pub(super) fn host(&self) -> Option<Summary> {
        summary(&self.host)
    }

    /// The launches a second. It is the reciprocal of the time, so its 10th percentile is the 90th percentile of the
    /// time.
    pub(super) fn rate(&self) -> Option<Summary> {
        let rates: Vec<f64> = self.total.iter().filter(|ns| **ns > 0.0).map(|ns| 1e9 / ns).collect();
        summary(&rates)
    }
}

impl Measured {
    pub(super) fn case(&self, method: LaunchMethod) -> Option<&Case> {
        self.cases.iter().find(|case| case.method == method && case.skipped.is_none())
    }

    /// The naive launch's time divided by this method's time, for each round.
    pub(super) fn over_naive(&self, method: LaunchMethod) -> Option<Summary> {
        let (naive, case) = (self.case(LaunchMethod::Naive)?, self.case(method)?);
        summary(&ratios(&naive.total, &case.total))
    }

    /// This method's time divided by the time of the driver calls alone, for each round.
    pub(super) fn over_floor(&self, method: LaunchMethod) -> Option<Summary> {
        let (floor, case) = (self.case(method.floor()?)?, self.case(method)?);
        summary(&ratios(&case.total, &floor.total))
    }
}

impl Results {
    pub(super) fn about(&self, name: &str) -> Option<&str> {
        self.about.lines.iter().find(|(other, _)| other == name).map(|(_, text)| text.as_str())
    }

    pub(super) fn find(&self, wanted: impl Fn(Point) -> bool) -> Option<&Measured> {
        self.points.iter().find(|measured| wanted(measured.point))
    }
}
