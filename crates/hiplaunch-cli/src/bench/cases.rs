//! The cases: axes, the points on each, and their names.

use super::methods::{Job, LaunchMethod};

/// The quantity that changes from point to point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
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

impl Axis {
    pub(super) const ALL: [Axis; 6] =
        [Axis::Empty, Axis::Args, Axis::Results, Axis::Depth, Axis::Streams, Axis::Threads];

    /// The axis's name in cases, files and filters.
    pub(super) fn name(self) -> &'static str {
        match self {
            Axis::Empty => "empty",
            Axis::Args => "args",
            Axis::Results => "results",
            Axis::Depth => "depth",
            Axis::Streams => "streams",
            Axis::Threads => "threads",
        }
    }

    pub(super) fn named(name: &str) -> Option<Axis> {
        Axis::ALL.into_iter().find(|axis| axis.name() == name)
    }

    /// The title of the axis's table and figure.
    pub(super) fn title(self) -> &'static str {
        match self {
            Axis::Empty => "An empty kernel",
            Axis::Args => "Arguments",
            Axis::Results => "Results",
            Axis::Depth => "Launches before a read",
            Axis::Streams => "Streams",
            Axis::Threads => "Threads",
        }
    }

    /// What is the same at all points of the axis.
    pub(super) fn description(self) -> &'static str {
        match self {
            Axis::Empty => "no arguments, no results, a number of launches before a wait; one stream",
            Axis::Args => {
                "bytes of arguments, which the kernel reads; 64-byte result, 16 launches before a read, one stream"
            }
            Axis::Results => {
                "bytes of the result, which the host reads; 64 bytes of arguments, 16 launches before a read, one stream"
            }
            Axis::Depth => {
                "launches before their results are read; with 1 it is the latency; 64 bytes of arguments, 64-byte \
                 result, one stream"
            }
            Axis::Streams => {
                "streams that one thread launches on in turn, 64 launches before a read; 64 bytes of arguments, 64-byte \
                 result"
            }
            Axis::Threads => {
                "threads, each with a stream of its own and 16 launches before a read; 64 bytes of arguments, 64-byte \
                 result"
            }
        }
    }

    /// The unit of the axis's values.
    pub(super) fn unit(self) -> &'static str {
        match self {
            Axis::Empty | Axis::Depth => "launches before a read",
            Axis::Args => "bytes of arguments",
            Axis::Results => "bytes of the result",
            Axis::Streams => "streams",
            Axis::Threads => "threads",
        }
    }

    /// Whether the axis's values are bytes.
    pub(super) fn is_bytes(self) -> bool {
        matches!(self, Axis::Args | Axis::Results)
    }

    fn values(self, quick: bool) -> &'static [usize] {
        match (self, quick) {
            (Axis::Empty, true) => &[1, 16],
            (Axis::Empty, false) => &[1, 16, 128],
            (Axis::Args, true) => &[8, 64, 256, 1 << 10, 4 << 10, 64 << 10, 1 << 20],
            (Axis::Args, false) => &[8, 64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20],
            (Axis::Results, true) => &[0, 8, 512, 8 << 10, 64 << 10],
            (Axis::Results, false) => &[0, 8, 64, 512, 4 << 10, 16 << 10, 64 << 10],
            (Axis::Depth, true) => &[1, 4, 64, 1000],
            (Axis::Depth, false) => &[1, 4, 16, 64, 256, 1000],
            (Axis::Streams | Axis::Threads, _) => &[1, 2, 4, 8],
        }
    }
}

/// A point: a job that all methods do in turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Point {
    pub(super) axis: Axis,
    /// The point's value on the axis.
    pub(super) value: usize,
}

impl Point {
    pub(super) fn all(quick: bool) -> impl Iterator<Item = Point> {
        let of = move |axis: Axis| axis.values(quick).iter().map(move |&value| Point { axis, value });
        Axis::ALL.into_iter().flat_map(of)
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
        label(self.axis, self.value)
    }

    /// Whether this is the typical launch, which the summary shows.
    pub(super) fn is_typical(self) -> bool {
        self == Point { axis: Axis::Args, value: ARGUMENTS }
    }

    /// Whether this is the point of the summary's latencies.
    pub(super) fn is_latency(self) -> bool {
        self == Point { axis: Axis::Depth, value: 1 }
    }

    pub(super) fn case(self, method: LaunchMethod) -> String {
        format!("{}/{}/{}", self.axis.name(), self.label(), method.name())
    }
}

/// Returns a value of an axis as a text.
pub(super) fn label(axis: Axis, value: usize) -> String {
    match value {
        _ if !axis.is_bytes() => value.to_string(),
        _ if value >= 1 << 20 && value.is_multiple_of(1 << 20) => format!("{}MiB", value >> 20),
        _ if value >= 1 << 10 && value.is_multiple_of(1 << 10) => format!("{}KiB", value >> 10),
        _ => format!("{value}B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_have_names_of_their_own() {
        for quick in [true, false] {
            let mut names: Vec<String> = Point::all(quick)
                .flat_map(|point| LaunchMethod::ALL.map(|method| point.case(method)))
                .collect();
            let all = names.len();
            names.sort();
            names.dedup();
            assert_eq!(names.len(), all);
            assert!(names.contains(&"args/1MiB/unchanged".to_owned()));
            assert_eq!(Point::all(quick).filter(|p| p.is_typical()).count(), 1);
            assert_eq!(Point::all(quick).filter(|p| p.is_latency()).count(), 1);
        }
    }

    #[test]
    fn every_axis_goes_to_its_ends() {
        let jobs: Vec<Job> = Point::all(true).map(Point::job).collect();
        let range = |of: fn(&Job) -> usize| {
            let values = jobs.iter().filter(|job| job.arguments > 0).map(of);
            (values.clone().min(), values.max())
        };
        assert_eq!(range(|job| job.arguments), (Some(8), Some(1 << 20)));
        assert_eq!(range(|job| job.results), (Some(0), Some(64 << 10)));
        assert_eq!(range(|job| job.depth), (Some(1), Some(1000)));
        assert_eq!(range(|job| job.streams), (Some(1), Some(8)));
        assert_eq!(range(|job| job.threads), (Some(1), Some(8)));
    }
}
