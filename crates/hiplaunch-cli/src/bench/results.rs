//! Everything that was measured, and what follows from it.

use super::cases::Point;
use super::methods::LaunchMethod;
use super::statistics::{Summary, ratios, summary};

/// A method at a point: nanoseconds of a launch, a sample a round.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Case {
    pub(super) method: LaunchMethod,
    /// Why nothing was measured.
    pub(super) skipped: Option<String>,
    /// From the first launch of a batch until its last result is read, over the launches of all threads.
    pub(super) total: Vec<f64>,
    /// Within the launch calls of a thread.
    pub(super) host: Vec<f64>,
    /// Calls of the driver that a launch makes, with its share of a read; counted at the typical launch.
    pub(super) calls: Option<f64>,
    /// On the device, by events around a batch: the median.
    pub(super) device: Option<f64>,
}

/// Every method at a point.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Measured {
    pub(super) point: Point,
    pub(super) cases: Vec<Case>,
}

/// On what it was measured, as pairs of a name and a text, in the order in which a person reads them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct About {
    pub(super) lines: Vec<(String, String)>,
    /// Whether kernels ran in the emulator, so that their times mean nothing.
    pub(super) emulated: bool,
    /// Whether the validation layer was over the driver, which costs more than what is measured.
    pub(super) validated: bool,
}

/// A whole run.
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

    /// Launches a second: the reciprocal of the time, so that its tenth part is the time's ninth.
    pub(super) fn rate(&self) -> Option<Summary> {
        let rates: Vec<f64> = self.total.iter().filter(|ns| **ns > 0.0).map(|ns| 1e9 / ns).collect();
        summary(&rates)
    }
}

impl Measured {
    pub(super) fn case(&self, method: LaunchMethod) -> Option<&Case> {
        self.cases.iter().find(|case| case.method == method && case.skipped.is_none())
    }

    /// How many times as fast as the naive launch, round by round.
    pub(super) fn over_naive(&self, method: LaunchMethod) -> Option<Summary> {
        let (naive, case) = (self.case(LaunchMethod::Naive)?, self.case(method)?);
        summary(&ratios(&naive.total, &case.total))
    }

    /// How many times the time of the driver's calls alone, round by round.
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
