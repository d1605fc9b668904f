//! The report: a document and the sections of a page.

use serde_json::{Value, json};

use super::outcome::{CaseReport, PartReport};
use super::parts::Part;
use crate::bench;
use crate::output::Style;
use crate::page::Section;

/// The document's format.
const FORMAT: &str = "hiplaunch selftest 1";

/// Returns the document.
pub(super) fn document(reports: &[PartReport]) -> Value {
    let part = |report: &PartReport| {
        json!({
            "part": report.part.row().name,
            "passed": !report.has_failed(),
            "cases": report.cases,
        })
    };
    let parts: Vec<Value> = reports.iter().map(part).collect();
    let mut document = json!({ "format": FORMAT, "version": env!("CARGO_PKG_VERSION"), "parts": parts });
    let private = Private::of_this_machine();
    private.remove(&mut document);
    document
}

/// Returns the sections of the page.
pub(super) fn sections(reports: &[PartReport]) -> Vec<Section> {
    let private = Private::of_this_machine();
    let mut all = vec![summary(reports)];
    for report in reports {
        match report.part {
            Part::About => all.extend(report.cases.iter().map(about)),
            Part::Conformance | Part::Arithmetic => all.push(cases(report)),
            Part::Calls => all.extend(report.cases.iter().map(calls)),
            Part::Launches => all.extend(report.cases.iter().flat_map(launches)),
        }
    }
    for section in &mut all {
        let texts = section.rows.iter_mut().flat_map(|(_, cells)| cells);
        texts.chain([&mut section.text]).for_each(|text| *text = private.removed(text));
    }
    all
}

fn summary(reports: &[PartReport]) -> Section {
    let style = |failed| if failed { Style::Bad } else { Style::Good };
    let mut rows: Vec<(Style, Vec<String>)> = reports
        .iter()
        .map(|report| (style(report.has_failed()), vec![report.part.row().title.to_owned(), report.counts()]))
        .collect();
    let failed = reports.iter().flat_map(|report| &report.cases).filter(|case| !case.state.is_good());
    rows.extend(
        failed
            .map(|case| (Style::Bad, vec![format!("{} {}", case.name, case.state.name()), case.why.clone()])),
    );
    Section { rows, ..Section::default() }
}

fn about(case: &CaseReport) -> Section {
    let lines = case.found["lines"].as_array().into_iter().flatten();
    let cells = |line: &Value| vec![text(&line[0]), text(&line[1])];
    let mut rows: Vec<_> = lines.map(|line| (Style::Plain, cells(line))).collect();
    let names: Vec<String> = case.found["capabilities"].as_array().into_iter().flatten().map(text).collect();
    rows.push((Style::Plain, vec!["capabilities".to_owned(), names.join(", ")]));
    Section { title: Part::About.row().title.to_owned(), rows, ..Section::default() }
}

/// Returns the table of a part's cases.
fn cases(report: &PartReport) -> Section {
    let row = |case: &CaseReport| {
        let style = match case.state {
            state if !state.is_good() => Style::Bad,
            super::outcome::State::Skipped => Style::Faint,
            _ => Style::Plain,
        };
        let found = match &case.found {
            Value::Null => case.why.clone(),
            found => format!(
                "{} of {} differ, at most by {} in the last place",
                found["differing"], found["elements"], found["units_in_the_last_place"]
            ),
        };
        let seconds = case.seconds.map_or_else(String::new, |seconds| format!("{seconds:.2}"));
        (style, vec![case.name.replace('_', " "), case.state.name().to_owned(), seconds, found])
    };
    Section {
        title: report.part.row().title.to_owned(),
        head: ["case", "", "s", ""].map(str::to_owned).into(),
        rows: report.cases.iter().map(row).collect(),
        ..Section::default()
    }
}

/// Returns the table of the demo: the calls and the microseconds of a launch, naive and by handle.
fn calls(case: &CaseReport) -> Section {
    let rows = case.found["rows"].as_array().into_iter().flatten();
    let row = |row: &Value| {
        let figure =
            |name: &str| row[name].as_f64().map_or_else(String::new, |figure| format!("{figure:.2}"));
        let calls = row["calls_per_launch"]["calls"].as_f64().map_or_else(String::new, |n| format!("{n:.2}"));
        (
            Style::Plain,
            vec![
                text(&row["name"]),
                calls,
                figure("microseconds_per_launch"),
                figure("times_as_fast_as_naive"),
            ],
        )
    };
    Section {
        title: Part::Calls.row().title.to_owned(),
        text: case.why.clone(),
        head: ["case", "calls", "us", "times as fast as naive"].map(str::to_owned).into(),
        rows: rows.map(row).collect(),
        ..Section::default()
    }
}

fn launches(case: &CaseReport) -> Vec<Section> {
    let title = Part::Launches.row().title.to_owned();
    match bench::sections(&case.found) {
        Ok(mut sections) => {
            // Its first section says what the device is.
            if let Some(first) = sections.first_mut() {
                *first =
                    Section { title, warnings: std::mem::take(&mut first.warnings), ..Section::default() };
            }
            sections
        }
        Err(_) => vec![Section { title, text: case.why.clone(), ..Section::default() }],
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Words that are nobody's business, and what stands for them.
struct Private(Vec<(String, &'static str)>);

impl Private {
    fn of_this_machine() -> Private {
        let variable = |name: &str| std::env::var(name).ok();
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
        let words = [
            (variable("HOME"), "~"),
            (variable("USER"), "USER"),
            (variable("LOGNAME"), "USER"),
            (host.or_else(|| variable("HOSTNAME")), "HOST"),
        ];
        let words = words.into_iter().filter_map(|(word, stands)| Some((word?.trim().to_owned(), stands)));
        // Short ones, such as `/`, are parts of other words.
        Private(words.filter(|(word, _)| word.len() > 3 && word != "root").collect())
    }

    fn removed(&self, text: &str) -> String {
        let text = self.0.iter().fold(text.to_owned(), |text, (word, stands)| text.replace(word, stands));
        without_bus_ids(&text)
    }

    /// Removes the words from all texts of a document.
    fn remove(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.removed(text),
            Value::Array(values) => values.iter_mut().for_each(|value| self.remove(value)),
            Value::Object(fields) => fields.values_mut().for_each(|value| self.remove(value)),
            _ => {}
        }
    }
}

/// Replaces identifiers of PCI devices, such as `0000:03:00.0`.
fn without_bus_ids(text: &str) -> String {
    let is_bus_id = |word: &str| {
        let digits = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_hexdigit());
        let parts: Vec<&str> = word.split([':', '.']).collect();
        word.matches(':').count() == 2 && parts.len() == 4 && parts.into_iter().all(digits)
    };
    let words: Vec<&str> = text
        .split(' ')
        .map(|word| if is_bus_id(word.trim_matches([',', ';'])) { "PCI" } else { word })
        .collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_words_are_removed() {
        let private =
            Private(vec![("/home/ada".into(), "~"), ("ada".into(), "USER"), ("tower7".into(), "HOST")]);
        let mut document =
            json!({ "a": ["/home/ada/rocm, tower7", 1], "b": { "c": "gpu, 0000:03:00.0, ada" } });
        private.remove(&mut document);
        assert_eq!(document, json!({ "a": ["~/rocm, HOST", 1], "b": { "c": "gpu, PCI USER" } }));
        assert_eq!(without_bus_ids("12:34 at 1.2.3 and 0000:c3:00.0"), "12:34 at 1.2.3 and PCI");
    }
}
