//! Which workloads are run, and how much of each.

use std::time::Duration;

/// How much is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Every workload once, as small as possible, to test that it works.
    Test,
    /// Fewer repeats, for machines that others use too.
    Quick,
    /// For figures that are kept.
    Full,
}

impl Scale {
    /// Returns the value for this scale.
    pub(crate) fn pick<T>(self, test: T, quick: T, full: T) -> T {
        match self {
            Scale::Test => test,
            Scale::Quick => quick,
            Scale::Full => full,
        }
    }

    /// The largest number of repeats, and the time after which there are enough.
    pub(crate) fn repeats(self) -> (usize, Duration) {
        self.pick((1, Duration::ZERO), (10, Duration::from_millis(400)), (50, Duration::from_secs(2)))
    }

    /// The approximate time of one repeat of a workload that can have any length.
    pub(crate) fn slice(self) -> Duration {
        self.pick(Duration::from_micros(50), Duration::from_millis(5), Duration::from_millis(20))
    }
}

/// The command line.
pub(crate) struct Options {
    pub(crate) scale: Scale,
    /// The number of pairs to run for an instruction counter, and nothing else.
    pub(crate) count: Option<u32>,
    words: Vec<String>,
}

impl Options {
    /// Parses the command line. Without `--bench`, which `cargo bench` adds, it is a test, as in other benchmark
    /// programs.
    pub(crate) fn from_args() -> Options {
        let (flags, words): (Vec<String>, Vec<String>) =
            std::env::args().skip(1).partition(|word| word.starts_with('-'));
        let has = |flag: &str| flags.iter().any(|f| f == flag);
        let scale = if has("--test") || !has("--bench") {
            Scale::Test
        } else if has("--quick") {
            Scale::Quick
        } else {
            Scale::Full
        };
        let count = flags.iter().find_map(|flag| flag.strip_prefix("--count=")?.parse().ok());
        Options { scale, count, words }
    }

    /// Returns whether a workload is to be run: one of the words is a part of its name, or there are no words.
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.words.is_empty() || self.words.iter().any(|word| name.contains(word.as_str()))
    }
}
