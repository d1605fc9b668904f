//! The demo's cases: jobs and launch methods of `bench`.

use std::fmt;

use hiplaunch::Device;

use super::DEPTH;
use crate::bench::methods::{Job, LaunchMethod};

/// A job, and the launch method of this library that is compared with the naive one.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) name: &'static str,
    /// The number of bytes of the result.
    results: usize,
    /// The number of launches before their results are read.
    pub(super) depth: usize,
    method: LaunchMethod,
}

/// The number of bytes of arguments.
const ARGUMENTS: usize = 64;
/// The number of bytes of the result, if there is one.
const RESULT: usize = 64;

impl Case {
    pub(super) const ALL: &'static [Case] = &[
        Case { name: "value", results: 0, depth: DEPTH, method: LaunchMethod::Value },
        Case { name: "result", results: RESULT, depth: DEPTH, method: LaunchMethod::Value },
        Case { name: "block", results: RESULT, depth: DEPTH, method: LaunchMethod::Block },
        Case { name: "unchanged", results: RESULT, depth: DEPTH, method: LaunchMethod::Unchanged },
        Case { name: "mapped", results: RESULT, depth: DEPTH, method: LaunchMethod::Mapped },
        Case { name: "graph", results: RESULT, depth: DEPTH, method: LaunchMethod::Graph },
        Case { name: "result-each", results: RESULT, depth: 1, method: LaunchMethod::Value },
        Case { name: "block-each", results: RESULT, depth: 1, method: LaunchMethod::Block },
        Case { name: "unchanged-each", results: RESULT, depth: 1, method: LaunchMethod::Unchanged },
        Case { name: "mapped-each", results: RESULT, depth: 1, method: LaunchMethod::Mapped },
    ];

    /// Returns the case's two rows, the naive one first.
    pub(super) fn rows(&'static self) -> [Row; 2] {
        [Row { case: self, method: LaunchMethod::Naive }, Row { case: self, method: self.method }]
    }

    pub(super) fn job(&self) -> Job {
        Job { arguments: ARGUMENTS, results: self.results, depth: self.depth, streams: 1, threads: 1 }
    }

    fn result(&self) -> String {
        match self.results {
            0 => "no result".to_owned(),
            bytes => format!("a result of {bytes} bytes"),
        }
    }
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) case: &'static Case,
    pub(super) method: LaunchMethod,
}

impl Row {
    /// Returns all rows, by case.
    pub(super) fn all() -> impl Iterator<Item = Row> {
        Case::ALL.iter().flat_map(Case::rows)
    }

    pub(super) fn named(name: &str) -> Option<Row> {
        Row::all().find(|row| row.to_string() == name)
    }

    pub(super) fn is_naive(self) -> bool {
        self.method == LaunchMethod::Naive
    }

    /// Returns the text in the column `method`.
    pub(super) fn method_name(self) -> &'static str {
        if self.is_naive() { "naive" } else { "hiplaunch" }
    }

    pub(super) fn description(self) -> String {
        let Case { depth, .. } = self.case;
        let read = if *depth == 1 { ", read before the next launch" } else { "" };
        format!(
            "{ARGUMENTS} bytes of arguments, {}{read}; {}",
            self.case.result(),
            self.method.row().description
        )
    }

    /// Returns why the driver can't run the row; `None` if it can.
    pub(super) fn unsupported(self, device: &Device) -> Option<&'static str> {
        self.method.unsupported(&self.case.job(), device)
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}/{}", self.case.name, self.method_name()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_rows() {
        assert_eq!(Row::all().count(), 20);
        for row in Row::all() {
            let found = Row::named(&row.to_string()).unwrap();
            assert_eq!((found.case.name, found.method), (row.case.name, row.method));
        }
        assert!(Row::named("value").is_none());
    }
}
