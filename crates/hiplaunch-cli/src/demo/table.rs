//! The demo's tables: calls of a launch by kind, and microseconds.

use std::io;

use hip_driver_layers::validation::{CallCounts, CallGroup, CallKind, Counted};
use hiplaunch::Device;
use serde_json::{Value, json};

use super::batches::{Batches, OPERATIONS};
use super::cases::Row;
use crate::bench::methods::LaunchMethod;
use crate::output::{Output, Style};

/// The figures of a row.
pub(super) struct Line {
    pub(super) row: Row,
    /// Why the row was not run; `None` if it was.
    pub(super) skipped: Option<&'static str>,
    /// The calls, and the number of launches that made them.
    pub(super) counts: Option<(CallCounts, u64)>,
    /// The microseconds of a launch: the median of the rounds.
    pub(super) each: Option<f64>,
    /// The naive launch's time divided by this one's.
    pub(super) faster: Option<f64>,
}

/// The columns of calls, with the kinds in each.
const COLUMNS: [(&str, &[Counted]); 7] = [
    ("alloc", &[Counted::Group(CallGroup::DeviceAllocation), Counted::Group(CallGroup::PinnedAllocation)]),
    ("free", &[Counted::Group(CallGroup::DeviceFree), Counted::Group(CallGroup::PinnedFree)]),
    ("H2D", &[Counted::Call(CallKind::MemcpyHtod), Counted::Call(CallKind::MemcpyHtodAsync)]),
    ("launch", &[Counted::Call(CallKind::LaunchKernel)]),
    ("D2H", &[Counted::Call(CallKind::MemcpyDtoh), Counted::Call(CallKind::MemcpyDtohAsync)]),
    (
        "event",
        &[
            Counted::Call(CallKind::EventCreate),
            Counted::Call(CallKind::EventRecord),
            Counted::Call(CallKind::EventDestroy),
        ],
    ),
    ("sync", &[Counted::Group(CallGroup::Synchronize)]),
];

/// Calls that wait for the device.
const WAITS: [Counted; 2] = [Counted::Group(CallGroup::BlockingCopy), Counted::Group(CallGroup::Synchronize)];

/// Returns the calls of a launch: by column, other calls, all calls, and calls that wait.
fn figures(counts: &CallCounts, launches: u64) -> Vec<(&'static str, f64)> {
    let sum = |counted: &[Counted]| counted.iter().map(|counted| counts.get(*counted)).sum::<u64>();
    let mut figures: Vec<(&str, u64)> = COLUMNS.iter().map(|(name, kinds)| (*name, sum(kinds))).collect();
    let all = counts.device_calls();
    let others = all.saturating_sub(figures.iter().map(|(_, n)| n).sum());
    figures.extend([("other", others), ("calls", all), ("waits", sum(&WAITS))]);
    figures.into_iter().map(|(name, n)| (name, n as f64 / launches as f64)).collect()
}

/// Returns the heads of the figures' columns.
fn heads() -> String {
    figures(&CallCounts::default(), 1).into_iter().map(|(name, _)| format!("{name:>7}")).collect()
}

fn cells(counts: &CallCounts, launches: u64) -> String {
    figures(counts, launches).into_iter().map(|(_, figure)| format!("{:>7}", short(figure))).collect()
}

fn by_name(figures: impl IntoIterator<Item = (&'static str, f64)>) -> Value {
    figures.into_iter().map(|(name, figure)| (name.to_owned(), json!(figure))).collect()
}

pub(super) fn head(out: &mut Output) -> io::Result<()> {
    let line = format!("{:15}{:10}{}{:>11}{:>9}", "case", "method", heads(), "us/launch", "faster");
    out.line(out.styled(Style::Strong, &line))
}

pub(super) fn legend(out: &mut Output) -> io::Result<()> {
    out.line("")?;
    let naive = ("naive".to_owned(), LaunchMethod::Naive.row().description.to_owned());
    let rows = Row::all().filter(|row| !row.is_naive()).map(|row| (row.to_string(), row.description()));
    for (name, text) in rows.chain([naive]) {
        out.line(out.styled(Style::Faint, &format!("{name:26}{text}")))?;
    }
    out.line("")?;
    out.line("Calls are per launch; `waits` of them wait for the device. Times are medians of rounds, and include the")?;
    out.line("kernel's own time on this driver.")
}

impl Line {
    /// Creates a line without figures.
    pub(super) fn new(row: Row, device: &Device) -> Line {
        Line { row, skipped: row.unsupported(device), counts: None, each: None, faster: None }
    }

    pub(super) fn show(&self, out: &mut Output) -> io::Result<()> {
        let case = if self.row.is_naive() { self.row.case.name } else { "" };
        let mut line = format!("{case:15}{:10}", self.row.method_name());
        if let Some(reason) = self.skipped {
            line.push_str(&format!("  not run: {reason}"));
        }
        if let Some((counts, launches)) = &self.counts {
            line.push_str(&cells(counts, *launches));
        }
        if let Some(each) = self.each {
            line.push_str(&format!("{each:>11.2}"));
        }
        if let Some(faster) = self.faster {
            line.push_str(&format!("{:>9}", format!("{faster:.1}x")));
        }
        let style = if self.row.is_naive() { Style::Plain } else { Style::Good };
        out.line(out.styled(style, &line))
    }

    pub(super) fn json(&self) -> Value {
        let calls = self.counts.as_ref().map(|(counts, launches)| {
            let kinds = counts.calls().filter(|(kind, _)| kind.is_device_call());
            by_name(kinds.map(|(kind, n)| (kind.name(), n as f64 / *launches as f64)))
        });
        json!({
            "name": self.row.to_string(),
            "description": self.row.description(),
            "skipped": self.skipped,
            "hip_calls_per_launch": calls,
            "calls_per_launch": self.counts.as_ref().map(|(counts, launches)| by_name(figures(counts, *launches))),
            "microseconds_per_launch": self.each,
            "times_as_fast_as_naive": self.faster,
        })
    }
}

/// Prints the second table: batches of operations.
pub(super) fn batches(all: &[Batches], out: &mut Output) -> io::Result<()> {
    out.line("")?;
    let head = format!("{:12}{:>6}{}", "destination", "blocks", heads());
    out.line(out.styled(Style::Strong, &head))?;
    for Batches { destination: (name, _), counts, blocks, batches } in all {
        let blocks = short(*blocks as f64 / *batches as f64);
        out.line(format_args!("{name:12}{blocks:>6}{}", cells(counts, *batches)))?;
    }
    out.line("")?;
    for Batches { destination: (name, description), .. } in all {
        out.line(out.styled(Style::Faint, &format!("{name:18}{description}")))?;
    }
    out.line("")?;
    out.line(format_args!(
        "Pool blocks that were requested, and calls, of a batch of {OPERATIONS} operations, by the memory of their results."
    ))
}

pub(super) fn batches_json(batches: &Batches) -> Value {
    let (name, description) = batches.destination;
    json!({
        "name": name,
        "description": description,
        "operations": OPERATIONS,
        "blocks_per_batch": batches.blocks as f64 / batches.batches as f64,
        "calls_per_batch": by_name(figures(&batches.counts, batches.batches)),
    })
}

/// Returns a figure as a text: without decimals if it is whole, and `.` for 0.
fn short(figure: f64) -> String {
    if figure == 0.0 {
        ".".to_owned()
    } else if figure.fract() == 0.0 {
        format!("{figure:.0}")
    } else {
        format!("{figure:.2}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_is_in_one_column() {
        for kind in CallKind::ALL {
            let of = |counted: &Counted| match *counted {
                Counted::Call(call) => call == *kind,
                Counted::Group(group) => kind.groups().contains(&group),
                Counted::Note(_) => false,
            };
            let columns = COLUMNS.iter().filter(|(_, counted)| counted.iter().any(of)).count();
            assert!(columns <= 1, "{kind:?}");
        }
        let names: Vec<&str> = figures(&CallCounts::default(), 1).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names[7..], ["other", "calls", "waits"]);
    }

    #[test]
    fn figures_are_short() {
        assert_eq!((short(0.0), short(2.0), short(1.0625)), (".".into(), "2".into(), "1.06".into()));
    }
}
