//! Compares two results: the ratio of each case's times, with its confidence interval.

use serde_json::{Value, json};

use super::about::COMPARABLE;
use super::cases::Point;
use super::methods::LaunchMethod;
use super::report::{Section, digits, time};
use super::results::{Measured, Results};
use crate::output::Style;

/// Changes below this part of the time are not reported, however certain they are.
const NOTABLE: f64 = 0.05;

/// A case that both results have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Change {
    pub(super) point: Point,
    pub(super) method: LaunchMethod,
    /// The median nanoseconds of a launch.
    pub(super) old: f64,
    pub(super) new: f64,
    /// The ratio of new to old, and the interval in which it lies, from the confidence intervals of both medians.
    pub(super) ratio: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// Whether a change is significant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Significance {
    Faster,
    Slower,
    /// The change is too small or too uncertain.
    Same,
}

impl Change {
    pub(super) fn verdict(&self) -> Significance {
        match self.ratio {
            ratio if ratio <= 1.0 - NOTABLE && self.high < 1.0 => Significance::Faster,
            ratio if ratio >= 1.0 + NOTABLE && self.low > 1.0 => Significance::Slower,
            _ => Significance::Same,
        }
    }
}

impl Significance {
    pub(super) fn name(self) -> &'static str {
        match self {
            Significance::Faster => "faster",
            Significance::Slower => "slower",
            Significance::Same => "same",
        }
    }
}

/// The comparison of two results.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Comparison {
    /// The date of the older results.
    pub(super) date: String,
    pub(super) changes: Vec<Change>,
    /// The circumstances that differ, so that the ratios mean nothing.
    pub(super) differs: Vec<String>,
}

/// Compares the cases that both results have.
pub(super) fn compare(old: &Results, new: &Results) -> Comparison {
    let mut changes = Vec::new();
    for measured in &new.points {
        let Some(before) = old.find(|point| point == measured.point) else { continue };
        changes.extend(LaunchMethod::all().filter_map(|method| change(before, measured, method)));
    }
    let text = |results: &Results, name: &str| results.about(name).unwrap_or("not known").to_owned();
    let differs = COMPARABLE.iter().filter_map(|name| {
        let (old, new) = (text(old, name), text(new, name));
        (old != new).then(|| format!("{name}: {old}; now {new}"))
    });
    Comparison { date: text(old, "date"), changes, differs: differs.collect() }
}

fn change(old: &Measured, new: &Measured, method: LaunchMethod) -> Option<Change> {
    let (before, now) = (old.case(method)?.total()?, new.case(method)?.total()?);
    // A median of 0 would make the ratio undefined.
    let over = |a: f64, b: f64| if b > 0.0 { a / b } else { f64::INFINITY };
    Some(Change {
        point: new.point,
        method,
        old: before.median,
        new: now.median,
        ratio: over(now.median, before.median),
        low: over(now.low, before.high),
        high: over(now.high, before.low),
    })
}

impl Comparison {
    pub(super) fn section(&self) -> Section {
        let [faster, slower, same] = [Significance::Faster, Significance::Slower, Significance::Same]
            .map(|verdict| self.changes.iter().filter(|change| change.verdict() == verdict).count());
        let row = |change: &Change| {
            let style = match change.verdict() {
                Significance::Faster => Style::Good,
                Significance::Slower => Style::Bad,
                Significance::Same => Style::Plain,
            };
            let cells = vec![
                change.point.case(change.method),
                time(change.old),
                time(change.new),
                digits(change.ratio),
                format!("{} - {}", digits(change.low), digits(change.high)),
                change.verdict().name().to_owned(),
            ];
            (style, cells)
        };
        Section {
            title: format!(
                "{} cases compared with {}: {faster} faster, {slower} slower, {same} the same (less than 5 %, or not sure)",
                self.changes.len(),
                self.date
            ),
            warnings: self.differs.iter().map(|line| format!("not the same {line}")).collect(),
            head: ["case", "old", "new", "ratio", "between", ""].map(str::to_owned).into(),
            rows: self.changes.iter().map(row).collect(),
            ..Section::default()
        }
    }

    pub(super) fn json(&self) -> Value {
        let changes = self.changes.iter().map(|change| {
            json!({
                "case": change.point.case(change.method),
                "old_ns": change.old,
                "new_ns": change.new,
                "ratio": change.ratio,
                "low": change.low,
                "high": change.high,
                "verdict": change.verdict().name(),
            })
        });
        json!({
            "with": self.date,
            "differs": self.differs,
            "changes": changes.collect::<Vec<_>>(),
        })
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
                let wanted = if change.method == LaunchMethod::Block { verdict } else { Significance::Same };
                assert_eq!(change.verdict(), wanted, "{change:?}");
                assert!(change.low <= change.ratio && change.ratio <= change.high);
            }
        }
    }

    #[test]
    fn what_is_unsure_is_the_same() {
        let mut noisy = scaled(1.2);
        noisy.points[0].cases[1].total = vec![500.0, 1200.0, 3000.0];
        let comparison = compare(&results(), &noisy);
        let change = comparison.changes.iter().find(|c| c.method == LaunchMethod::Block).unwrap();
        assert_eq!(change.verdict(), Significance::Same);
        assert!(comparison.differs.is_empty());
        noisy.about.lines.push(("device".to_owned(), "another".to_owned()));
        assert_eq!(compare(&results(), &noisy).differs, ["device: not known; now another"]);
    }
}
