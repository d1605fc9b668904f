//! Prints results: a table of the typical launch, and one for each axis.

use std::io;

use super::cases::{Axis, Point};
use super::methods::LaunchMethod;
use super::results::{Measured, Results};
use crate::output::{Output, Style};

/// Returns a time with three significant digits and a unit.
pub(super) fn time(ns: f64) -> String {
    match ns {
        _ if ns < 1e3 => format!("{} ns", digits(ns)),
        _ if ns < 1e6 => format!("{} us", digits(ns / 1e3)),
        _ if ns < 1e9 => format!("{} ms", digits(ns / 1e6)),
        _ => format!("{} s", digits(ns / 1e9)),
    }
}

/// Returns a number of launches a second, with a unit.
pub(super) fn rate(per_second: f64) -> String {
    match per_second {
        _ if per_second >= 1e6 => format!("{} M/s", digits(per_second / 1e6)),
        _ if per_second >= 1e3 => format!("{} k/s", digits(per_second / 1e3)),
        _ => format!("{} /s", digits(per_second)),
    }
}

/// Returns a figure with three significant digits.
pub(super) fn digits(figure: f64) -> String {
    match figure {
        _ if figure >= 99.95 => format!("{figure:.0}"),
        _ if figure >= 9.995 => format!("{figure:.1}"),
        _ => format!("{figure:.2}"),
    }
}

/// Returns a number of calls, without decimals if it is whole.
fn count(calls: f64) -> String {
    let text = format!("{calls:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A column of the typical launch's table: its head, and the text for a method.
type Column<'a> = (&'a str, Box<dyn Fn(LaunchMethod) -> Option<String> + 'a>);

/// Returns the columns of the typical launch's table.
pub(super) fn columns<'a>(typical: &'a Measured, latency: Option<&'a Measured>) -> Vec<Column<'a>> {
    let mut columns: Vec<Column<'a>> = vec![
        ("a launch", Box::new(|method| Some(time(typical.case(method)?.total()?.median)))),
        (
            "+-",
            Box::new(|method| {
                let total = typical.case(method)?.total()?;
                Some(format!("{:.0} %", total.mad / total.median.max(1e-9) * 100.0))
            }),
        ),
        ("in calls", Box::new(|method| Some(time(typical.case(method)?.host()?.median)))),
        ("latency", Box::new(move |method| Some(time(latency?.case(method)?.total()?.median)))),
        ("launches", Box::new(|method| Some(rate(typical.case(method)?.rate()?.median)))),
        ("faster", Box::new(|method| Some(format!("{}x", digits(typical.over_naive(method)?.median))))),
        ("over driver", Box::new(|method| Some(format!("{}x", digits(typical.over_floor(method)?.median))))),
    ];
    if typical.cases.iter().any(|case| case.calls.is_some()) {
        columns.push(("calls", Box::new(|method| Some(count(typical.case(method)?.calls?)))));
    }
    if typical.cases.iter().any(|case| case.device.is_some()) {
        columns.push(("on device", Box::new(|method| Some(time(typical.case(method)?.device?)))));
    }
    columns
}

/// The meaning of each column of the typical launch's table.
pub(super) const LEGEND: [(&str, &str); 9] = [
    (
        "a launch",
        "from the first launch of a batch until its last result is read, divided by its launches: median of the rounds",
    ),
    ("+-", "median absolute deviation of the rounds"),
    ("in calls", "the part of it within the launch calls, in which the host can do nothing else"),
    ("latency", "from the call until the result is read, one launch at a time"),
    ("launches", "launches a second"),
    ("faster", "the naive launch's time divided by this one's, for each round"),
    (
        "over driver",
        "this method's time divided by that of the driver's calls alone that do the same (the rows `driver`; for the naive launch and hipMallocAsync, `driver: block`)",
    ),
    (
        "calls",
        "driver calls of a launch, with its share of the wait; counted by the validation layer in a run of its own",
    ),
    ("on device", "from before a batch to after it on the stream, by events, divided by its launches"),
];

/// Returns warnings: for the emulator, the validation layer, and a debug build.
pub(super) fn notes(results: &Results) -> Vec<&'static str> {
    let mut notes = Vec::new();
    if results.about.emulated {
        notes.push(
            "Kernels and copies ran in the emulator, on the same processor: their times mean nothing for a GPU. What the host \
             does by each method, and how many calls it makes, is the same as with one.",
        );
    }
    if results.about.validated {
        notes.push("The validation layer was over the driver: it costs more than what is measured.");
    }
    if results.about("build").is_some_and(|build| build.starts_with("debug")) {
        notes.push("This is a debug build: its times mean nothing. Build with --release.");
    }
    notes
}

/// Returns the methods that were measured.
fn methods(results: &Results) -> Vec<LaunchMethod> {
    let measured = |method: &LaunchMethod| results.points.iter().any(|point| point.case(*method).is_some());
    LaunchMethod::ALL.into_iter().filter(measured).collect()
}

pub(super) fn show(results: &Results, out: &mut Output) -> io::Result<()> {
    for (name, text) in &results.about.lines {
        out.line(format_args!("{name:10}  {text}"))?;
    }
    for note in notes(results) {
        out.line("")?;
        paragraph(note, 0, out, Style::Strong)?;
    }
    if let Some(typical) = results.find(Point::is_typical) {
        summary(results, typical, out)?;
    }
    for axis in Axis::ALL {
        matrix(results, axis, out)?;
    }
    out.line("")?;
    for method in methods(results) {
        out.line(out.styled(Style::Strong, method.title()))?;
        paragraph(method.description(), 4, out, Style::Faint)?;
    }
    out.line("")?;
    paragraph(
        "Every method has its turn in every round. Results were compared with the host's.",
        0,
        out,
        Style::Plain,
    )
}

fn summary(results: &Results, typical: &Measured, out: &mut Output) -> io::Result<()> {
    out.line("")?;
    let title = "A typical launch: 64 bytes of arguments, 64-byte result, 16 launches before a read";
    out.line(out.styled(Style::Strong, title))?;
    let columns = columns(typical, results.find(Point::is_latency));
    let mut head = format!("{:18}", "");
    columns.iter().for_each(|(name, _)| head.push_str(&format!("{name:>11}")));
    out.line(out.styled(Style::Faint, &head))?;
    for method in methods(results).into_iter().filter(|method| typical.case(*method).is_some()) {
        let mut line = format!("{:18}", method.title());
        for (_, figure) in &columns {
            line.push_str(&format!("{:>11}", figure(method).unwrap_or_else(|| "-".to_owned())));
        }
        let style = match method {
            _ if method.is_floor() => Style::Faint,
            LaunchMethod::Naive | LaunchMethod::Async => Style::Plain,
            _ => Style::Good,
        };
        out.line(out.styled(style, &line))?;
    }
    let shown = |name: &str| columns.iter().any(|(column, _)| *column == name);
    for (name, meaning) in LEGEND.iter().filter(|(name, _)| shown(name)) {
        paragraph(&format!("{name}: {meaning}"), 4, out, Style::Faint)?;
    }
    Ok(())
}

/// Prints a table of an axis, with a row for each method and a column for each value.
fn matrix(results: &Results, axis: Axis, out: &mut Output) -> io::Result<()> {
    let points: Vec<&Measured> = results.points.iter().filter(|m| m.point.axis == axis).collect();
    if points.is_empty() {
        return Ok(());
    }
    let rates = matches!(axis, Axis::Streams | Axis::Threads);
    let what = if rates { "launches a second, by" } else { "microseconds a launch, by" };
    out.line("")?;
    out.line(out.styled(Style::Strong, &format!("{}: {what} {}", axis.title(), axis.unit())))?;
    paragraph(axis.description(), 0, out, Style::Faint)?;
    let mut head = format!("{:18}", "");
    points.iter().for_each(|m| head.push_str(&format!("{:>10}", m.point.label())));
    out.line(out.styled(Style::Faint, &head))?;
    for method in
        methods(results).into_iter().filter(|method| points.iter().any(|m| m.case(*method).is_some()))
    {
        let mut line = format!("{:18}", method.title());
        for measured in &points {
            let cell = measured.case(method).and_then(|case| match rates {
                true => case.rate().map(|s| rate(s.median)),
                false => case.total().map(|s| digits(s.median / 1e3)),
            });
            line.push_str(&format!("{:>10}", cell.unwrap_or_else(|| ".".to_owned())));
        }
        out.line(out.styled(if method.is_floor() { Style::Faint } else { Style::Plain }, &line))?;
    }
    Ok(())
}

/// Prints text in lines of at most 110 characters.
pub(super) fn paragraph(text: &str, indent: usize, out: &mut Output, style: Style) -> io::Result<()> {
    let mut line = " ".repeat(indent);
    for word in text.split_whitespace() {
        if line.len() > indent && line.len() + 1 + word.len() > 110 {
            out.line(out.styled(style, &line))?;
            line = " ".repeat(indent);
        }
        if line.len() > indent {
            line.push(' ');
        }
        line.push_str(word);
    }
    out.line(out.styled(style, &line))
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn every_column_is_explained() {
        let results = super::super::json::tests::results();
        for (name, _) in columns(&results.points[0], None) {
            assert!(LEGEND.iter().any(|(column, _)| *column == name), "{name}");
        }
    }
}
