//! The cases: axes, the points on each, and their names.

use serde::{Deserialize, Serialize};

use super::methods::{Job, LaunchMethod};

/// The quantity that changes from point to point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Axis {
    Empty,
    Args,
    Results,
    Depth,
    Streams,
    Threads,
}

/// The bytes of arguments, the bytes of results and the launches before a read, on axes that change another quantity.
const ARGUMENTS: usize = 64;
const RESULTS: usize = 64;
const DEPTH: usize = 16;
/// The launches before a read on the axis of streams: eight on each of eight streams.
const STREAMS_DEPTH: usize = 64;

/// What is known of an axis.
pub(super) struct AxisRow {
    axis: Axis,
    /// The axis's name in cases, files and filters.
    pub(super) name: &'static str,
    /// The title of the axis's table and figure.
    pub(super) title: &'static str,
    /// The unit of the axis's values.
    pub(super) unit: &'static str,
    /// What is the same at all points of the axis.
    pub(super) description: &'static str,
    quick: &'static [usize],
    full: &'static [usize],
}

/// The axes, in the order of the tables, which is the order of the variants.
const AXES: [AxisRow; 6] = [
    AxisRow {
        axis: Axis::Empty,
        name: "empty",
        title: "An empty kernel",
        unit: "launches before a read",
        description: "no arguments, no results, a number of launches before a wait; one stream",
        quick: &[1, 16],
        full: &[1, 16, 128],
    },
    AxisRow {
        axis: Axis::Args,
        name: "args",
        title: "Arguments",
        unit: "bytes of arguments",
        description: "bytes of arguments, which the kernel reads; 64-byte result, 16 launches before a read, one stream",
        quick: &[8, 64, 256, 1 << 10, 4 << 10, 64 << 10, 1 << 20],
        full: &[8, 64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20],
    },
    AxisRow {
        axis: Axis::Results,
        name: "results",
        title: "Results",
        unit: "bytes of the result",
        description: "bytes of the result, which the host reads; 64 bytes of arguments, 16 launches before a read, one \
                      stream",
        quick: &[0, 8, 512, 8 << 10, 64 << 10],
        full: &[0, 8, 64, 512, 4 << 10, 16 << 10, 64 << 10],
    },
    AxisRow {
        axis: Axis::Depth,
        name: "depth",
        title: "Launches before a read",
        unit: "launches before a read",
        description: "launches before their results are read; with 1 it is the latency; 64 bytes of arguments, 64-byte \
                      result, one stream",
        quick: &[1, 4, 64, 1000],
        full: &[1, 4, 16, 64, 256, 1000],
    },
    AxisRow {
        axis: Axis::Streams,
        name: "streams",
        title: "Streams",
        unit: "streams",
        description: "streams that one thread launches on in turn, 64 launches before a read; 64 bytes of arguments, \
                      64-byte result",
        quick: &[1, 2, 4, 8],
        full: &[1, 2, 4, 8],
    },
    AxisRow {
        axis: Axis::Threads,
        name: "threads",
        title: "Threads",
        unit: "threads",
        description: "threads, each with a stream of its own and 16 launches before a read; 64 bytes of arguments, \
                      64-byte result",
        quick: &[1, 2, 4, 8],
        full: &[1, 2, 4, 8],
    },
];

impl Axis {
    pub(super) fn all() -> impl Iterator<Item = Axis> {
        AXES.iter().map(|row| row.axis)
    }

    pub(super) fn row(self) -> &'static AxisRow {
        &AXES[self as usize]
    }
}

/// A point: a job that all methods do in turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Point {
    pub(super) axis: Axis,
    /// The point's value on the axis.
    pub(super) value: usize,
}

impl Point {
    /// The typical launch, which the summary shows.
    pub(super) const TYPICAL: Point = Point { axis: Axis::Args, value: ARGUMENTS };
    /// The point of the summary's latencies.
    pub(super) const LATENCY: Point = Point { axis: Axis::Depth, value: 1 };

    pub(super) fn all(quick: bool) -> impl Iterator<Item = Point> {
        AXES.iter().flat_map(move |row| {
            let values = if quick { row.quick } else { row.full };
            values.iter().map(|&value| Point { axis: row.axis, value })
        })
    }

    pub(super) fn job(self) -> Job {
        let job = Job { arguments: ARGUMENTS, results: RESULTS, depth: DEPTH, streams: 1, threads: 1 };
        let value = self.value;
        match self.axis {
            Axis::Empty => Job { arguments: 0, results: 0, depth: value, ..job },
            Axis::Args => Job { arguments: value, ..job },
            Axis::Results => Job { results: value, ..job },
            Axis::Depth => Job { depth: value, ..job },
            Axis::Streams => Job { streams: value, depth: STREAMS_DEPTH, ..job },
            Axis::Threads => Job { threads: value, ..job },
        }
    }

    /// The point's value as a text: `64`, `4KiB`.
    pub(super) fn label(self) -> String {
        match self.value {
            value if !matches!(self.axis, Axis::Args | Axis::Results) => value.to_string(),
            value if value >= 1 << 20 && value.is_multiple_of(1 << 20) => format!("{}MiB", value >> 20),
            value if value >= 1 << 10 && value.is_multiple_of(1 << 10) => format!("{}KiB", value >> 10),
            value => format!("{value}B"),
        }
    }

    pub(super) fn case(self, method: LaunchMethod) -> String {
        format!("{}/{}/{}", self.axis.row().name, self.label(), method.row().name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_have_names_of_their_own() {
        for quick in [true, false] {
            let mut names: Vec<String> = Point::all(quick)
                .flat_map(|point| LaunchMethod::all().map(move |method| point.case(method)))
                .collect();
            let all = names.len();
            names.sort();
            names.dedup();
            assert_eq!(names.len(), all);
            assert!(names.contains(&"args/1MiB/unchanged".to_owned()));
            assert_eq!(Point::all(quick).filter(|p| *p == Point::TYPICAL).count(), 1);
            assert_eq!(Point::all(quick).filter(|p| *p == Point::LATENCY).count(), 1);
        }
        assert!(Axis::all().enumerate().all(|(index, axis)| axis as usize == index));
    }
}
