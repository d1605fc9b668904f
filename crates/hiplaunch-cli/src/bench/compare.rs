//! Compares two results: the ratio of each case's times, with its confidence interval.

use serde::Serialize;

use super::about::COMPARABLE;
use super::methods::LaunchMethod;
use super::report::{digits, time};
use super::results::{Measured, Results};
use crate::output::Style;
use crate::page::Section;

/// Changes below this part of the time are not reported, however certain they are.
const NOTABLE: f64 = 0.05;

/// A case that both results have.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Change {
    case: String,
    /// The median nanoseconds of a launch.
    old_ns: f64,
    new_ns: f64,
    /// The ratio of new to old, and the interval in which it lies, from the confidence intervals of both medians.
    ratio: f64,
    low: f64,
    high: f64,
    verdict: Significance,
}

/// Whether a change is significant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Significance {
    Faster,
    Slower,
    /// The change is too small or too uncertain.
    Same,
}

/// The comparison of two results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Comparison {
    /// The date of the older results.
    with: String,
    /// The circumstances that differ, so that the ratios mean nothing.
    differs: Vec<String>,
    changes: Vec<Change>,
}

/// Compares the cases that both results have.
pub(super) fn compare(old: &Results, new: &Results) -> Comparison {
    let both = new.points.iter().filter_map(|now| Some((old.find(now.point)?, now)));
    let changes = both.flat_map(|(before, now)| LaunchMethod::all().filter_map(|m| change(before, now, m)));
    let text = |results: &Results, name: &str| results.about(name).unwrap_or("not known").to_owned();
    let differs = COMPARABLE.iter().filter_map(|name| {
        let (old, new) = (text(old, name), text(new, name));
        (old != new).then(|| format!("{name}: {old}; now {new}"))
    });
    Comparison { with: text(old, "date"), differs: differs.collect(), changes: changes.collect() }
}

fn change(old: &Measured, new: &Measured, method: LaunchMethod) -> Option<Change> {
    let (before, now) = (old.case(method)?.total()?, new.case(method)?.total()?);
    // A median of 0 would make the ratio undefined.
    let over = |a: f64, b: f64| if b > 0.0 { a / b } else { f64::INFINITY };
    let ratio = over(now.median, before.median);
    let (low, high) = (over(now.low, before.high), over(now.high, before.low));
    let verdict = match ratio {
        _ if ratio <= 1.0 - NOTABLE && high < 1.0 => Significance::Faster,
        _ if ratio >= 1.0 + NOTABLE && low > 1.0 => Significance::Slower,
        _ => Significance::Same,
    };
    let (old_ns, new_ns) = (before.median, now.median);
    Some(Change { case: new.point.case(method), old_ns, new_ns, ratio, low, high, verdict })
}

impl Comparison {
    pub(super) fn section(&self) -> Section {
        let count = |verdict| self.changes.iter().filter(|change| change.verdict == verdict).count();
        let [faster, slower, same] =
            [Significance::Faster, Significance::Slower, Significance::Same].map(count);
        let row = |change: &Change| {
            let (style, verdict) = match change.verdict {
                Significance::Faster => (Style::Good, "faster"),
                Significance::Slower => (Style::Bad, "slower"),
                Significance::Same => (Style::Plain, "same"),
            };
            let between = format!("{} - {}", digits(change.low), digits(change.high));
            let [old, new, ratio] = [time(change.old_ns), time(change.new_ns), digits(change.ratio)];
            (style, vec![change.case.clone(), old, new, ratio, between, verdict.to_owned()])
        };
        Section {
            title: format!(
                "{} cases compared with {}: {faster} faster, {slower} slower, {same} the same (less than 5 %, or not sure)",
                self.changes.len(),
                self.with
            ),
            warnings: self.differs.iter().map(|line| format!("not the same {line}")).collect(),
            head: ["case", "old", "new", "ratio", "between", ""].map(str::to_owned).into(),
            rows: self.changes.iter().map(row).collect(),
            ..Section::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::results;
    use super::*;

    fn scaled(factor: f64) -> Results {
        let mut results = results();
        for case in results.points.iter_mut().flat_map(|point| &mut point.cases) {
            if case.method == LaunchMethod::Block {
                case.total.iter_mut().for_each(|ns| *ns *= factor);
            }
        }
        results
    }

    #[test]
    fn changes_are_found_and_nothing_else() {
        for (factor, verdict) in [
            (1.0, Significance::Same),
            (1.03, Significance::Same),
            (1.2, Significance::Slower),
            (0.5, Significance::Faster),
        ] {
            let comparison = compare(&results(), &scaled(factor));
            assert_eq!(comparison.changes.len(), 6, "the skipped are in neither");
            for change in &comparison.changes {
                let wanted = if change.case.ends_with("/block") { verdict } else { Significance::Same };
                assert_eq!(change.verdict, wanted, "{change:?}");
                assert!(change.low <= change.ratio && change.ratio <= change.high);
            }
        }
    }

    #[test]
    fn what_is_unsure_is_the_same() {
        let mut noisy = scaled(1.2);
        noisy.points[0].cases[1].total = vec![500.0, 1200.0, 3000.0];
        let comparison = compare(&results(), &noisy);
        let change = comparison.changes.iter().find(|c| c.case.ends_with("/block")).unwrap();
        assert_eq!(change.verdict, Significance::Same);
        assert!(comparison.differs.is_empty());
        noisy.about.lines.push(("device".to_owned(), "another".to_owned()));
        assert_eq!(compare(&results(), &noisy).differs, ["device: not known; now another"]);
    }
}
