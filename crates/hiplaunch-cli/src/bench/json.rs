//! Writes results as JSON with all samples, and reads them again.

use std::fmt;
use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::cases::{Axis, Point};
use super::methods::LaunchMethod;
use super::results::{About, Case, Measured, Results};
use super::statistics::Summary;

/// The document's format.
const FORMAT: &str = "hiplaunch bench 2";

/// Why a file can't be read as results.
#[derive(Debug)]
pub(super) struct Unreadable {
    file: String,
    problem: String,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file, self.problem)
    }
}

impl Summary {
    pub(super) fn json(&self) -> Value {
        json!({
            "median": round(self.median),
            "mad": round(self.mad),
            "p10": round(self.p10),
            "p90": round(self.p90),
            "median_low": round(self.low),
            "median_high": round(self.high),
            "samples": self.samples,
        })
    }
}

/// Rounds to a hundredth. Figures are nanoseconds and ratios.
fn round(figure: f64) -> f64 {
    (figure * 100.0).round() / 100.0
}

impl Results {
    pub(super) fn json(&self) -> Value {
        json!({
            "format": FORMAT,
            "about": {
                "emulated": self.about.emulated,
                "validated": self.about.validated,
                "lines": self.about.lines,
            },
            "points": self.points.iter().map(point).collect::<Vec<_>>(),
        })
    }

    /// Reads a file that [`json`](Results::json) wrote.
    ///
    /// # Errors
    /// Returns an error if the file can't be read or has another format; it says what is wrong, and where.
    pub(super) fn read(file: &Path) -> Result<Results, Unreadable> {
        let unreadable = |problem| Unreadable { file: file.display().to_string(), problem };
        let text = fs::read_to_string(file).map_err(|e| unreadable(format!("cannot be read: {e}")))?;
        let value: Value = serde_json::from_str(&text).map_err(|e| {
            unreadable(format!("no JSON: {e}; give what `hiplaunch bench --json FILE` wrote"))
        })?;
        parse(&value).map_err(unreadable)
    }
}

fn point(measured: &Measured) -> Value {
    let Measured { point, cases } = measured;
    let job = point.job();
    let methods: Vec<Value> = cases
        .iter()
        .map(|case| {
            let method = case.method;
            let summary = |summary: Option<Summary>| summary.map(|s| s.json());
            let samples = |samples: &[f64]| samples.iter().map(|s| round(*s)).collect::<Vec<_>>();
            json!({
                "method": method.name(),
                "title": method.title(),
                "floor": method.floor().map(LaunchMethod::name),
                "skipped": case.skipped,
                "total_ns": summary(case.total()),
                "host_ns": summary(case.host()),
                "device_ns": case.device.map(round),
                "driver_calls": case.calls.map(round),
                "times_as_fast_as_naive": summary(measured.over_naive(method)),
                "times_the_floor": summary(measured.over_floor(method)),
                "total_ns_samples": samples(&case.total),
                "host_ns_samples": samples(&case.host),
            })
        })
        .collect();
    json!({
        "axis": point.axis.name(),
        "value": point.value,
        "argument_bytes": job.arguments,
        "result_bytes": job.results,
        "launches_before_a_read": job.depth,
        "streams": job.streams * job.threads,
        "threads": job.threads,
        "methods": methods,
    })
}

type Parsed<T> = Result<T, String>;

fn field<'a>(of: &'a Map<String, Value>, name: &str, at: &str) -> Parsed<&'a Value> {
    of.get(name).ok_or_else(|| format!("{at}: `{name}` is missing"))
}

fn object<'a>(value: &'a Value, at: &str) -> Parsed<&'a Map<String, Value>> {
    value.as_object().ok_or_else(|| format!("{at}: expected an object"))
}

fn array<'a>(of: &'a Map<String, Value>, name: &str, at: &str) -> Parsed<&'a Vec<Value>> {
    field(of, name, at)?.as_array().ok_or_else(|| format!("{at}: `{name}` is no array"))
}

fn text<'a>(of: &'a Map<String, Value>, name: &str, at: &str) -> Parsed<&'a str> {
    field(of, name, at)?.as_str().ok_or_else(|| format!("{at}: `{name}` is no text"))
}

fn truth(of: &Map<String, Value>, name: &str, at: &str) -> Parsed<bool> {
    field(of, name, at)?.as_bool().ok_or_else(|| format!("{at}: `{name}` is neither true nor false"))
}

fn numbers(of: &Map<String, Value>, name: &str, at: &str) -> Parsed<Vec<f64>> {
    let positive = |value: &Value| value.as_f64().filter(|n| n.is_finite() && *n >= 0.0);
    let numbers: Option<Vec<f64>> = array(of, name, at)?.iter().map(positive).collect();
    numbers.ok_or_else(|| format!("{at}: `{name}` has something in it that is no time"))
}

fn parse(value: &Value) -> Parsed<Results> {
    let document = object(value, "the document")?;
    match document.get("format").and_then(Value::as_str) {
        Some(FORMAT) => {}
        Some(other) => return Err(format!("its format is `{other}`; this version reads `{FORMAT}`")),
        None => return Err("no results of `hiplaunch bench`: `format` is missing".to_owned()),
    }
    let about = object(field(document, "about", "the document")?, "about")?;
    let line = |line: &Value| match line.as_array().map(Vec::as_slice) {
        Some([Value::String(name), Value::String(text)]) => Ok((name.clone(), text.clone())),
        _ => Err("about: `lines` are pairs of a name and a text".to_owned()),
    };
    let about = About {
        lines: array(about, "lines", "about")?.iter().map(line).collect::<Parsed<_>>()?,
        emulated: truth(about, "emulated", "about")?,
        validated: truth(about, "validated", "about")?,
    };
    let points = array(document, "points", "the document")?.iter().enumerate();
    let points =
        points.map(|(i, value)| parse_point(value, &format!("points[{i}]"))).collect::<Parsed<_>>()?;
    Ok(Results { about, points })
}

fn parse_point(value: &Value, at: &str) -> Parsed<Measured> {
    let point = object(value, at)?;
    let axis = text(point, "axis", at)?;
    let axis = Axis::named(axis).ok_or_else(|| format!("{at}: no axis is called `{axis}`"))?;
    let number = field(point, "value", at)?.as_u64().and_then(|n| usize::try_from(n).ok());
    // No job has larger values, and a picture could not show them.
    let number =
        number.filter(|n| *n <= 1 << 30).ok_or_else(|| format!("{at}: `value` is no size or count"))?;
    let cases = array(point, "methods", at)?.iter().enumerate();
    let cases = cases.map(|(i, value)| parse_case(value, &format!("{at}.methods[{i}]")));
    Ok(Measured { point: Point { axis, value: number }, cases: cases.collect::<Parsed<_>>()? })
}

fn parse_case(value: &Value, at: &str) -> Parsed<Case> {
    let case = object(value, at)?;
    let method = text(case, "method", at)?;
    let method =
        LaunchMethod::named(method).ok_or_else(|| format!("{at}: no method is called `{method}`"))?;
    let skipped = match field(case, "skipped", at)? {
        Value::Null => None,
        Value::String(reason) => Some(reason.clone()),
        _ => return Err(format!("{at}: `skipped` is no text")),
    };
    Ok(Case {
        method,
        skipped,
        total: numbers(case, "total_ns_samples", at)?,
        host: numbers(case, "host_ns_samples", at)?,
        calls: field(case, "driver_calls", at)?.as_f64(),
        device: field(case, "device_ns", at)?.as_f64(),
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Returns results with two points of two methods, one of them skipped.
    pub(crate) fn results() -> Results {
        let case = |method, ns: f64| Case {
            method,
            skipped: None,
            total: vec![ns, ns + 1.0, ns + 4.0],
            host: vec![ns / 2.0; 3],
            calls: Some(ns / 1000.0),
            device: Some(ns / 4.0),
        };
        let lines = vec![("date".to_owned(), "2026-11-21 <&>".to_owned())];
        let about = About { lines, emulated: true, validated: false };
        let points = [64usize, 4096].map(|value| Measured {
            point: Point { axis: Axis::Args, value },
            cases: vec![
                case(LaunchMethod::Naive, 8000.0),
                case(LaunchMethod::Block, 1000.0),
                Case::skipped(LaunchMethod::Value, "too \"large\""),
                case(LaunchMethod::RawBlock, 500.0),
            ],
        });
        Results { about, points: points.into() }
    }

    #[test]
    fn what_was_written_is_read() {
        let results = results();
        let value = results.json();
        assert_eq!(parse(&value).unwrap(), results);
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
            ("/about/emulated", json!(1), "about: `emulated`"),
            ("/points/1/axis", json!("x"), "points[1]: no axis is called `x`"),
            ("/points/1/value", json!(-1), "points[1]: `value`"),
            ("/points/1/value", json!(u64::MAX), "points[1]: `value`"),
            ("/points/0/methods/1/method", json!("y"), "points[0].methods[1]: no method is called `y`"),
            ("/points/0/methods/1/total_ns_samples", json!(["1"]), "no time"),
            ("/points/0/methods", json!({}), "points[0]: `methods` is no array"),
        ] {
            let mut value = results().json();
            *value.pointer_mut(pointer).unwrap() = new;
            let error = parse(&value).unwrap_err();
            assert!(error.contains(problem), "{pointer}: {error}");
        }
    }
}
