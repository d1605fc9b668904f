//! All samples of a run, the figures that are computed from them, and the file that keeps them.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::cases::Point;
use super::methods::LaunchMethod;
use super::statistics::{Summary, ratios, summary};
use crate::CommandError;
use crate::advice::unreadable;
use crate::session::unusable;

/// The document's format.
const FORMAT: &str = "hiplaunch bench 2";

/// A method at a point: the nanoseconds of a launch, with one sample for each round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Case {
    pub(super) method: LaunchMethod,
    /// Why the case was not measured; `None` if it was.
    pub(super) skipped: Option<String>,
    /// The time from the first launch of a batch until its last result is read, divided by the launches of all threads.
    #[serde(rename = "total_ns_samples")]
    pub(super) total: Vec<f64>,
    /// The time within the launch calls of a thread, divided by its launches.
    #[serde(rename = "host_ns_samples")]
    pub(super) host: Vec<f64>,
    /// The driver calls of a launch, with its share of a read. They are counted for the typical launch only.
    #[serde(rename = "driver_calls")]
    pub(super) calls: Option<f64>,
    /// The median time on the device, measured by events around a batch.
    #[serde(rename = "device_ns")]
    pub(super) device: Option<f64>,
}

/// The cases of all methods at a point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Measured {
    #[serde(flatten)]
    pub(super) point: Point,
    #[serde(rename = "methods")]
    pub(super) cases: Vec<Case>,
}

/// The circumstances of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct About {
    /// Whether kernels ran in the emulator, so that their times mean nothing for a GPU.
    pub(super) emulated: bool,
    /// Whether the validation layer was over the driver; it costs more than a launch.
    pub(super) validated: bool,
    /// Pairs of a name and a text, in the order in which they are shown.
    pub(super) lines: Vec<(String, String)>,
}

/// The results of a whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Results {
    pub(super) about: About,
    pub(super) points: Vec<Measured>,
}

impl Case {
    pub(super) fn new(method: LaunchMethod) -> Case {
        Case { method, skipped: None, total: Vec::new(), host: Vec::new(), calls: None, device: None }
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
        let (floor, case) = (self.case(method.row().floor?)?, self.case(method)?);
        summary(&ratios(&case.total, &floor.total))
    }

    /// Returns the samples, and the figures that follow from them.
    fn json(&self) -> Value {
        let job = self.point.job();
        let mut document = json!(self);
        document["argument_bytes"] = json!(job.arguments);
        document["result_bytes"] = json!(job.results);
        document["launches_before_a_read"] = json!(job.depth);
        document["streams"] = json!(job.streams * job.threads);
        document["threads"] = json!(job.threads);
        for (i, case) in self.cases.iter().enumerate() {
            let method = &mut document["methods"][i];
            method["title"] = json!(case.method.row().title);
            method["floor"] = json!(case.method.row().floor);
            method["total_ns"] = json!(case.total());
            method["host_ns"] = json!(case.host());
            method["times_as_fast_as_naive"] = json!(self.over_naive(case.method));
            method["times_the_floor"] = json!(self.over_floor(case.method));
        }
        document
    }
}

impl Results {
    pub(super) fn about(&self, name: &str) -> Option<&str> {
        self.about.lines.iter().find(|(other, _)| other == name).map(|(_, text)| text.as_str())
    }

    pub(super) fn find(&self, point: Point) -> Option<&Measured> {
        self.points.iter().find(|measured| measured.point == point)
    }

    /// Returns everything that [`read`](Results::read) reads, and the figures that follow from it.
    pub(super) fn json(&self) -> Value {
        let points: Vec<Value> = self.points.iter().map(Measured::json).collect();
        json!({ "format": FORMAT, "about": self.about, "points": points })
    }

    /// Reads a file that [`json`](Results::json) wrote.
    pub(super) fn read(file: &Path) -> Result<Results, CommandError> {
        let text = std::fs::read_to_string(file).map_err(|error| unusable(unreadable(file, &error)))?;
        parse(&text).map_err(|problem| unusable(format!("{}: {problem}", file.display())))
    }
}

pub(super) fn parse(text: &str) -> Result<Results, String> {
    let document: Value = serde_json::from_str(text)
        .map_err(|e| format!("no JSON: {e}; give what `hiplaunch bench --json FILE` wrote"))?;
    match document.get("format").and_then(Value::as_str) {
        Some(FORMAT) => {}
        Some(other) => return Err(format!("its format is `{other}`; this version reads `{FORMAT}`")),
        None => return Err("no results of `hiplaunch bench`: `format` is missing".to_owned()),
    }
    let results: Results = serde_json::from_str(text).map_err(|e| e.to_string())?;
    for Measured { point, cases } in &results.points {
        for case in cases {
            if case.total.iter().chain(&case.host).chain(&case.device).any(|ns| *ns < 0.0) {
                return Err(format!("{}: a time is less than 0", point.case(case.method)));
            }
        }
    }
    Ok(results)
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::cases::Axis;
    use super::*;

    /// Returns results with two points of four methods, one of them skipped.
    pub(crate) fn results() -> Results {
        let case = |method, ns: f64| Case {
            total: vec![ns, ns + 1.0, ns + 4.0],
            host: vec![ns / 2.0; 3],
            calls: Some(ns / 1000.0),
            device: Some(ns / 4.0),
            ..Case::new(method)
        };
        let points = [64usize, 4096].map(|value| Measured {
            point: Point { axis: Axis::Args, value },
            cases: vec![
                case(LaunchMethod::Naive, 8000.0),
                case(LaunchMethod::Block, 1000.0),
                Case { skipped: Some("too \"large\"".to_owned()), ..Case::new(LaunchMethod::Value) },
                case(LaunchMethod::RawBlock, 500.0),
            ],
        });
        let lines = vec![("date".to_owned(), "2026-11-21 <&>".to_owned())];
        Results { about: About { lines, emulated: true, validated: false }, points: points.into() }
    }

    #[test]
    fn what_was_written_is_read() {
        let results = results();
        let value = results.json();
        assert_eq!(parse(&value.to_string()).unwrap(), results);
        let block = &value["points"][0]["methods"][1];
        assert_eq!(block["times_as_fast_as_naive"]["median"], 7.99);
        assert_eq!(block["times_the_floor"]["samples"], 3);
        assert_eq!(block["total_ns"]["median"], 1001.0);
    }

    #[test]
    fn what_is_something_else_is_refused() {
        for (pointer, new, problem) in [
            ("/format", json!("hiplaunch bench 9"), "reads `hiplaunch bench 2`"),
            ("/format", json!(null), "`format` is missing"),
            ("/about/emulated", json!(1), "expected a boolean"),
            ("/points/1/axis", json!("x"), "unknown variant `x`"),
            ("/points/1/value", json!(-1), "expected usize"),
            ("/points/0/methods/1/method", json!("y"), "unknown variant `y`"),
            ("/points/0/methods/1/total_ns_samples", json!(["1"]), "expected f64"),
            ("/points/0/methods/1/total_ns_samples", json!([-1]), "args/64B/block: a time is less than 0"),
            ("/points/0/methods", json!({}), "expected a sequence"),
        ] {
            let mut value = results().json();
            *value.pointer_mut(pointer).unwrap() = new;
            let error = parse(&value.to_string()).unwrap_err();
            assert!(error.contains(problem), "{pointer}: {error}");
        }
    }
}
