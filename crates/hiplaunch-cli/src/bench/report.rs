//! What a run shows, to be printed or written as a page: sections with a table, and for the page a figure.

use super::cases::{Axis, Point};
use super::compare::Comparison;
use super::methods::LaunchMethod;
use super::plots;
use super::results::{About, Case, Measured, Results};
use super::statistics::rounded;
use crate::output::Style;
use crate::page::{self, Section};

/// The quantity of an axis's table and figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quantity {
    /// Microseconds of a launch.
    Total,
    /// Microseconds in the launch calls.
    Host,
    /// Microseconds on the device.
    Device,
    /// Launches a second.
    Rate,
}

impl Quantity {
    pub(super) fn unit(self) -> &'static str {
        match self {
            Quantity::Total => "microseconds a launch",
            Quantity::Host => "microseconds in a launch call",
            Quantity::Device => "microseconds of a launch on the device",
            Quantity::Rate => "thousand launches a second",
        }
    }

    /// The median, the 10th and the 90th percentile of a case, in the unit.
    pub(super) fn of(self, case: &Case) -> Option<[f64; 3]> {
        let s = match self {
            Quantity::Total => case.total()?,
            Quantity::Host => case.host()?,
            Quantity::Rate => case.rate()?,
            Quantity::Device => return case.device.map(|ns| [ns / 1e3; 3]),
        };
        Some([s.median, s.p10, s.p90].map(|figure| figure / 1e3))
    }
}

/// Returns all sections, in their order.
pub(super) fn sections(results: &Results, comparison: Option<&Comparison>) -> Vec<Section> {
    let about = results.about.lines.iter();
    let about = about.map(|(name, text)| (Style::Plain, vec![name.clone(), text.clone()])).collect();
    let mut all = vec![Section { rows: about, warnings: warnings(results), ..Section::default() }];
    all.extend(results.find(Point::TYPICAL).map(|typical| summary(results, typical)));
    for axis in Axis::all() {
        let quantities: &[Quantity] = match axis {
            Axis::Streams | Axis::Threads => &[Quantity::Rate],
            Axis::Args => &[Quantity::Total, Quantity::Host, Quantity::Device],
            _ => &[Quantity::Total],
        };
        all.extend(quantities.iter().filter_map(|quantity| matrix(results, axis, *quantity)));
    }
    all.extend(comparison.map(Comparison::section));
    all.push(Section {
        title: "The methods".to_owned(),
        text: "All do the same work: the kernel reads its arguments and writes the result, and the host reads the result. \
               Every method has its turn in every round. Results were compared with the host's."
            .to_owned(),
        terms: methods(results).map(|method| (method.row().title, method.row().description)).collect(),
        ..Section::default()
    });
    all
}

/// Returns warnings: for the emulator, the validation layer, and a debug build.
fn warnings(results: &Results) -> Vec<String> {
    let About { emulated, validated, .. } = results.about;
    let is_debug = results.about("build").is_some_and(|build| build.starts_with("debug"));
    let all = [
        (
            emulated,
            "Kernels and copies ran in the emulator, on the same processor: their times mean nothing for a GPU. What the \
             host does by each method, and how many calls it makes, is the same as with one.",
        ),
        (validated, "The validation layer was over the driver: it costs more than what is measured."),
        (is_debug, "This is a debug build: its times mean nothing. Build with --release."),
    ];
    all.into_iter().filter(|(applies, _)| *applies).map(|(_, text)| text.to_owned()).collect()
}

/// Returns the methods that were measured.
fn methods(results: &Results) -> impl Iterator<Item = LaunchMethod> {
    LaunchMethod::all().filter(|method| results.points.iter().any(|point| point.case(*method).is_some()))
}

/// A column of the typical launch's table: its head, its meaning, and the text for a case of the typical launch. The second
/// of the measured is the latency's.
type Column = (&'static str, &'static str, fn(&Measured, Option<&Measured>, &Case) -> Option<String>);

const COLUMNS: [Column; 9] = [
    (
        "a launch",
        "from the first launch of a batch until its last result is read, divided by its launches: median of the rounds",
        |_, _, case| Some(time(case.total()?.median)),
    ),
    ("+-", "median absolute deviation of the rounds", |_, _, case| {
        let total = case.total()?;
        Some(format!("{:.0} %", total.mad / total.median.max(1e-9) * 100.0))
    }),
    (
        "in calls",
        "the part of it within the launch calls, in which the host can do nothing else",
        |_, _, case| Some(time(case.host()?.median)),
    ),
    ("latency", "from the call until the result is read, one launch at a time", |_, latency, case| {
        Some(time(latency?.case(case.method)?.total()?.median))
    }),
    ("launches", "launches a second", |_, _, case| Some(rate(case.rate()?.median))),
    ("faster", "the naive launch's time divided by this one's, for each round", |typical, _, case| {
        Some(times(typical.over_naive(case.method)?.median))
    }),
    (
        "over driver",
        "this method's time divided by that of the driver's calls alone that do the same (the rows `driver`; for the naive launch and hipMallocAsync, `driver: block`)",
        |typical, _, case| Some(times(typical.over_floor(case.method)?.median)),
    ),
    (
        "calls",
        "driver calls of a launch, with its share of the wait; counted by the validation layer in a run of its own",
        |_, _, case| Some(rounded(case.calls?).to_string()),
    ),
    (
        "on device",
        "from before a batch to after it on the stream, by events, divided by its launches",
        |_, _, case| case.device.map(time),
    ),
];

fn summary(results: &Results, typical: &Measured) -> Section {
    let latency = results.find(Point::LATENCY);
    let cases: Vec<&Case> = typical.cases.iter().filter(|case| case.skipped.is_none()).collect();
    let (mut head, mut terms) = (vec![String::new()], Vec::new());
    let title = |case: &&Case| {
        let style = match case.method {
            method if method.is_floor() => Style::Faint,
            LaunchMethod::Naive | LaunchMethod::Async => Style::Plain,
            _ => Style::Good,
        };
        (style, vec![case.method.row().title.to_owned()])
    };
    let mut rows: Vec<_> = cases.iter().map(title).collect();
    for (name, meaning, figure) in COLUMNS {
        let figures: Vec<_> = cases.iter().map(|case| figure(typical, latency, case)).collect();
        // Calls may not have been counted, and the emulator has no times of a device.
        if figures.iter().all(Option::is_none) {
            continue;
        }
        head.push(name.to_owned());
        terms.push((name, meaning));
        for ((_, row), figure) in rows.iter_mut().zip(figures) {
            row.push(figure.unwrap_or_else(|| "-".to_owned()));
        }
    }
    Section {
        title: "A typical launch: 64 bytes of arguments, 64-byte result, 16 launches before a read"
            .to_owned(),
        figure: Some(plots::bars(results)),
        head,
        rows,
        terms,
        ..Section::default()
    }
}

/// Returns the section of an axis, with a row for each method and a column for each value; `None` without any figure.
fn matrix(results: &Results, axis: Axis, quantity: Quantity) -> Option<Section> {
    let points: Vec<&Measured> = results.points.iter().filter(|m| m.point.axis == axis).collect();
    let row = |method: LaunchMethod| {
        let figures: Vec<_> = points.iter().map(|m| quantity.of(m.case(method)?)).collect();
        let style = if method.is_floor() { Style::Faint } else { Style::Plain };
        let cell = |figure: &Option<[f64; 3]>| figure.map_or(".".to_owned(), |[median, ..]| digits(median));
        let cells = figures.iter().map(cell);
        let row = (style, std::iter::once(method.row().title.to_owned()).chain(cells).collect());
        figures.iter().any(Option::is_some).then_some(row)
    };
    let rows: Vec<_> = LaunchMethod::all().filter_map(row).collect();
    if rows.is_empty() {
        return None;
    }
    let labels = points.iter().map(|m| m.point.label());
    Some(Section {
        title: format!("{}: {}, by {}", axis.row().title, quantity.unit(), axis.row().unit),
        text: axis.row().description.to_owned(),
        head: std::iter::once(String::new()).chain(labels).collect(),
        rows,
        figure: plots::lines(&points, quantity),
        only_page: matches!(quantity, Quantity::Host | Quantity::Device),
        ..Section::default()
    })
}

/// Returns the report as a page.
pub(super) fn page(results: &Results, sections: &[Section]) -> String {
    let device = results.about("device").unwrap_or("an unknown device");
    page::page(&format!("hiplaunch bench: {device}"), "What a launch costs", sections)
}

/// Returns a time with three significant digits and a unit.
pub(super) fn time(ns: f64) -> String {
    with_unit(ns, &[(1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns")])
}

/// Returns a number of launches a second, with a unit.
fn rate(per_second: f64) -> String {
    with_unit(per_second, &[(1e6, "M/s"), (1e3, "k/s"), (1.0, "/s")])
}

/// Returns a figure in the first unit that is not larger, or in the last.
fn with_unit(figure: f64, units: &[(f64, &str)]) -> String {
    let unit = units.iter().find(|(size, _)| figure >= *size).or(units.last());
    unit.map_or_else(String::new, |(size, name)| format!("{} {name}", digits(figure / size)))
}

pub(super) fn times(ratio: f64) -> String {
    format!("{}x", digits(ratio))
}

/// Returns a figure with three significant digits.
pub(super) fn digits(figure: f64) -> String {
    match figure {
        _ if figure >= 99.95 => format!("{figure:.0}"),
        _ if figure >= 9.995 => format!("{figure:.1}"),
        _ => format!("{figure:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::compare::compare;
    use super::*;

    #[test]
    fn figures_have_three_digits() {
        assert_eq!(
            [0.5, 9.99, 9.999, 12.34, 99.96, 1234.0].map(digits),
            ["0.50", "9.99", "10.0", "12.3", "100", "1234"]
        );
        assert_eq!([870.0, 8520.0, 1.23e6, 2e9].map(time), ["870 ns", "8.52 us", "1.23 ms", "2.00 s"]);
        assert_eq!([1.25e6, 117_000.0, 3.0].map(rate), ["1.25 M/s", "117 k/s", "3.00 /s"]);
    }

    /// The page is XML, too, so a parser finds errors in it.
    #[test]
    fn the_page_is_well_formed_and_whole() {
        let (results, none) = (super::super::results::tests::results(), Results::default());
        let comparison = compare(&results, &results);
        let pages = [
            page(&results, &sections(&results, Some(&comparison))),
            page(&results, &sections(&results, None)),
            page(&none, &sections(&none, None)),
        ];
        for text in &pages {
            let body = text.strip_prefix("<!DOCTYPE html>\n").unwrap();
            let document = roxmltree::Document::parse(body).unwrap();
            for node in document.descendants().filter(|node| node.is_element()) {
                assert_ne!(node.tag_name().name(), "script");
                for attribute in ["src", "href"] {
                    assert!(node.attribute(attribute).is_none_or(|to| to.starts_with("data:")), "{node:?}");
                }
            }
            assert!(!text.replace("http://www.w3.org/2000/svg", "").contains("http:"));
        }
        assert!(pages[0].contains("2026-11-21 &lt;&amp;&gt;") && pages[0].contains("6 cases compared"));
        assert_eq!(pages[0].matches("<svg").count(), 4);
    }
}
