//! Times of repeats, and tables.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hiplaunch::Error;
use hiplaunch::driver::Driver;

use super::ledger::Ledger;
use super::options::Scale;

/// The times of one operation in nanoseconds.
#[derive(Clone, Debug)]
pub(crate) struct Times {
    /// In ascending order.
    sorted: Vec<f64>,
}

impl Times {
    /// Repeats `once`, which returns how long it took and its number of operations, until there are enough repeats.
    pub(crate) fn repeat(
        scale: Scale,
        mut once: impl FnMut() -> Result<(Duration, u64), Error>,
    ) -> Result<Times, Error> {
        let (most, enough) = scale.repeats();
        let (mut sorted, start) = (Vec::new(), Instant::now());
        while sorted.len() < most && (sorted.len() < most.min(3) || start.elapsed() < enough) {
            let (time, operations) = once()?;
            sorted.push(time.as_secs_f64() * 1e9 / operations as f64);
        }
        sorted.sort_by(f64::total_cmp);
        Ok(Times { sorted })
    }

    pub(crate) fn best(&self) -> f64 {
        self.sorted.first().copied().unwrap_or(f64::NAN)
    }

    pub(crate) fn median(&self) -> f64 {
        self.sorted.get(self.sorted.len() / 2).copied().unwrap_or(f64::NAN)
    }

    fn max(&self) -> f64 {
        self.sorted.last().copied().unwrap_or(f64::NAN)
    }

    /// Columns as in [`TIME_COLUMNS`].
    pub(crate) fn columns(&self) -> Vec<String> {
        vec![number(self.best()), number(self.median()), number(self.max()), self.sorted.len().to_string()]
    }
}

pub(crate) const TIME_COLUMNS: [&str; 4] = ["best", "median", "max", "repeats"];

/// Returns the number of calls of `step` that take about as long as `slice`.
pub(crate) fn calibrate(slice: Duration, mut step: impl FnMut()) -> u64 {
    let (start, mut steps) = (Instant::now(), 0u64);
    while start.elapsed() < slice / 4 || steps < 16 {
        (0..16).for_each(|_| step());
        steps += 16;
    }
    (slice.as_secs_f64() / start.elapsed().as_secs_f64() * steps as f64).max(16.0) as u64
}

/// The cost of an untimed run in device calls and memory.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cost {
    /// The number of operations that were counted.
    pub(crate) operations: u64,
    /// The number of device calls in these.
    pub(crate) calls: u64,
    /// The number of these calls that wait on the host.
    pub(crate) waits: u64,
    /// The most bytes held from the driver at once.
    pub(crate) peak_reserved: u64,
    /// The most bytes that were requested and not yet freed.
    pub(crate) peak_requested: u64,
    /// The number of failed requests.
    pub(crate) failures: u64,
}

impl Cost {
    /// Columns as in [`COST_COLUMNS`].
    pub(crate) fn columns(&self) -> Vec<String> {
        let per_operation = |calls: u64| match calls {
            0 => "0".to_owned(),
            _ => format!("{:.4}", calls as f64 / self.operations.max(1) as f64),
        };
        let (calls, waits) = (per_operation(self.calls), per_operation(self.waits));
        vec![calls, waits, format!("{:.3}", self.waste()), self.failures.to_string()]
    }

    /// The peak of reserved bytes over the peak of requested bytes.
    pub(crate) fn waste(&self) -> f64 {
        self.peak_reserved as f64 / self.peak_requested.max(1) as f64
    }
}

pub(crate) const COST_COLUMNS: [&str; 4] = ["calls/op", "waits/op", "reserved/requested", "failures"];

/// Creates a counting layer over a driver. Returns it, and the same as a driver.
pub(crate) fn ledger(driver: &Arc<dyn Driver>, limit: u64) -> (Arc<Ledger>, Arc<dyn Driver>) {
    let ledger = Ledger::new(driver, limit);
    (ledger.clone(), ledger)
}

/// Drops a pool, and checks that it freed all of the driver's memory.
pub(crate) fn close<S>(pool: S, ledger: &Ledger) {
    drop(pool);
    assert_eq!(ledger.held(), 0, "bytes that the pool did not free");
}

/// Formats a time or ratio in few digits.
pub(crate) fn number(value: f64) -> String {
    match value {
        v if v.is_nan() => "-".to_owned(),
        v if v < 100.0 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

/// Formats whether a figure is at most its goal.
pub(crate) fn at_most(value: f64, bar: f64) -> String {
    format!("{} {bar}", if value <= bar { "ok   <=" } else { "OVER <=" })
}

/// Formats whether a figure is at least its goal.
pub(crate) fn at_least(value: f64, bar: f64) -> String {
    format!("{} {bar}", if value >= bar { "ok   >=" } else { "UNDER >=" })
}

/// A table that is printed when it is dropped.
pub(crate) struct Table {
    title: String,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new<'a>(title: impl Into<String>, columns: impl IntoIterator<Item = &'a str>) -> Table {
        Table { title: title.into(), rows: vec![columns.into_iter().map(str::to_owned).collect()] }
    }

    pub(crate) fn row(&mut self, columns: Vec<String>) {
        self.rows.push(columns);
    }
}

impl Drop for Table {
    /// Prints the table, with the first column aligned to the left and the others to the right.
    fn drop(&mut self) {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns)
            .map(|c| self.rows.iter().filter_map(|r| r.get(c)).map(|s| s.chars().count()).max().unwrap_or(0))
            .collect();
        println!("\n{}", self.title);
        for row in &self.rows {
            let mut line = String::new();
            for (c, (text, &width)) in row.iter().zip(&widths).enumerate() {
                if c == 0 {
                    line += &format!("  {text:<width$}");
                } else {
                    line += &format!("  {text:>width$}");
                }
            }
            println!("{}", line.trim_end());
        }
    }
}
