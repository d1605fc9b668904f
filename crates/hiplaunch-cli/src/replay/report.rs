//! What a replay has to say, for people and as JSON.

use std::path::Path;

use hip_driver::DriverInfo;
use hiplaunch::memory::{Action, PoolBackend, PoolCounters, PoolOptions, PoolSnapshot};
use serde_json::{Value, json};

use super::order::Found;
use super::play::Measured;
use super::read::{Kind, Trace};
use crate::Failure;
use crate::output::{Output, Style, bytes, counted, grouped};

/// See the [module](self).
pub(super) struct Report<'a> {
    pub(super) trace: &'a Trace,
    pub(super) options: PoolOptions,
    pub(super) driver: DriverInfo,
    pub(super) measured: Measured,
    /// Nanoseconds an operation, of each repeat, in order of size.
    pub(super) times: Vec<f64>,
    /// The pool with most, when it was most.
    pub(super) peak: Option<PoolSnapshot>,
    pub(super) validated: Option<Found>,
    pub(super) order: Option<Found>,
}

fn pool_name(backend: PoolBackend) -> &'static str {
    match backend {
        PoolBackend::Caching => "caching",
        PoolBackend::StreamOrdered => "async",
        PoolBackend::Plain => "plain",
    }
}

fn ratio(a: u64, b: u64) -> Option<f64> {
    (b > 0).then(|| a as f64 / b as f64)
}

fn or_none(figure: Option<f64>, show: impl FnOnce(f64) -> String) -> String {
    figure.map_or_else(|| "none".to_owned(), show)
}

impl Report<'_> {
    fn sum(&self, of: impl Fn(&PoolCounters) -> u64) -> u64 {
        self.measured.counters.iter().map(of).sum()
    }

    fn kinds(&self, is: impl Fn(Kind) -> bool) -> u64 {
        self.trace.ops.iter().filter(|op| is(op.kind)).count() as u64
    }

    fn peak_requested(&self) -> u64 {
        self.measured.peak_requested.iter().sum()
    }

    /// Rows of the table.
    fn rows(&self) -> Vec<(&'static str, String)> {
        let (trace, operations) = (self.trace, self.trace.ops.len() as u64);
        let calls = self.sum(|c| c.calls.total());
        let (hits, misses) = (self.sum(|c| c.hits), self.sum(|c| c.misses));
        let reserved = self.sum(|c| c.peak_reserved);
        let time = match self.times.as_slice() {
            [] => "none".to_owned(),
            times @ [first, .., last] => {
                format!("{:.1} (median of {}, {first:.1} to {last:.1})", times[times.len() / 2], times.len())
            }
            [one] => format!("{one:.1}"),
        };
        let mut rows = vec![
            ("operations", grouped(operations)),
            ("ns per operation", time),
            (
                "device calls per operation",
                or_none(ratio(calls, operations), |n| format!("{n:.4} ({})", grouped(calls))),
            ),
            ("peak reserved", bytes(reserved)),
            ("peak requested", bytes(self.peak_requested())),
            (
                "peak reserved / peak requested",
                or_none(ratio(reserved, self.peak_requested()), |n| format!("{n:.3}")),
            ),
            ("failures", grouped(self.measured.failures)),
            (
                "hits, misses, steals",
                format!("{}, {}, {}", grouped(hits), grouped(misses), grouped(self.sum(|c| c.steals))),
            ),
            ("hit rate", or_none(ratio(hits, hits + misses), |n| format!("{:.2}%", n * 100.0))),
            (
                "fragmentation at the peak",
                or_none(self.peak.as_ref().map(|p| p.counters.fragmentation()), |n| format!("{n:.3}")),
            ),
            (
                "never freed in the trace",
                match trace.leaks {
                    0 => "0".to_owned(),
                    n => format!("{}, {}", counted(n as usize, "block", "blocks"), bytes(trace.leaked_bytes)),
                },
            ),
            ("frees and uses of unknown memory", grouped(trace.unknown)),
        ];
        if trace.foreign_frees > 0 {
            rows.push(("freed on another stream", grouped(trace.foreign_frees)));
        }
        if let Some(found) = &self.order {
            rows.push(("ordering violations", grouped(found.order)));
            rows.push(("other violations", grouped(found.others)));
        }
        if let Some(found) = &self.validated {
            rows.push(("validation while timing", grouped(found.total())));
        }
        rows
    }

    pub(super) fn show(&self, path: &Path, out: &mut Output) -> Result<(), Failure> {
        let trace = self.trace;
        let lines = counted(trace.lines as usize, "line", "lines");
        out.line(format_args!(
            "trace {}: {lines}, {}, {}, {}",
            path.display(),
            counted(trace.devices.len(), "device", "devices"),
            counted(trace.streams.len(), "stream", "streams"),
            counted(trace.threads, "thread", "threads"),
        ))?;
        let recorded: Vec<String> = Action::ALL
            .into_iter()
            .filter(|action| trace.count(*action) > 0)
            .map(|action| format!("{action} {}", grouped(trace.count(action))))
            .collect();
        if !recorded.is_empty() {
            out.line(format_args!("recorded: {}", recorded.join(", ")))?;
        }
        out.line(format_args!(
            "replayed on driver {} {} ({}), pool {}",
            self.driver.name,
            self.driver.version,
            self.driver.source,
            pool_name(self.options.backend)
        ))?;
        out.line("")?;
        for (name, value) in self.rows() {
            out.line(format_args!("{name:34}{value}"))?;
        }
        for violation in [&self.validated, &self.order].into_iter().flatten().flat_map(|found| &found.first) {
            out.line(out.styled(Style::Bad, &format!("validation: {violation}")))?;
        }
        Ok(())
    }

    pub(super) fn json(&self, path: &Path) -> Value {
        let trace = self.trace;
        let recorded: serde_json::Map<String, Value> = Action::ALL
            .iter()
            .map(|action| (action.name().to_owned(), trace.count(*action).into()))
            .collect();
        let operations = trace.ops.len() as u64;
        let (hits, misses) = (self.sum(|c| c.hits), self.sum(|c| c.misses));
        let (reserved, requested) = (self.sum(|c| c.peak_reserved), self.peak_requested());
        let found = |found: &Option<Found>| {
            found.as_ref().map(|f| json!({ "order": f.order, "others": f.others, "first": f.first }))
        };
        let calls = |of: fn(&PoolCounters) -> u64| self.sum(of);
        json!({
            "trace": {
                "file": path.display().to_string(),
                "lines": trace.lines,
                "devices": trace.devices,
                "streams": trace.streams.len(),
                "threads": trace.threads,
                "recorded": recorded,
                "never_freed": trace.leaks,
                "never_freed_bytes": trace.leaked_bytes,
                "unknown_memory": trace.unknown,
                "freed_on_another_stream": trace.foreign_frees,
            },
            "driver": { "name": self.driver.name, "version": self.driver.version, "source": self.driver.source },
            "pool": {
                "backend": pool_name(self.options.backend),
                "cap": self.options.cap,
                "soft_target": self.options.soft_target,
            },
            "operations": operations,
            "allocations": self.kinds(|kind| matches!(kind, Kind::Allocate { .. })),
            "frees": self.kinds(|kind| kind == Kind::Free),
            "records": self.kinds(|kind| kind == Kind::Record),
            "ns_per_operation": {
                "median": self.times.get(self.times.len() / 2),
                "least": self.times.first(),
                "most": self.times.last(),
                "repeats": self.times.len(),
            },
            "device_calls": {
                "mallocs": calls(|c| c.calls.mallocs),
                "frees": calls(|c| c.calls.frees),
                "records": calls(|c| c.calls.records),
                "waits": calls(|c| c.calls.waits),
                "queries": calls(|c| c.calls.queries),
                "synchronizes": calls(|c| c.calls.synchronizes),
            },
            "device_calls_per_operation": ratio(self.sum(|c| c.calls.total()), operations),
            "peak_reserved": reserved,
            "peak_requested": requested,
            "peak_reserved_over_peak_requested": ratio(reserved, requested),
            "failures": self.measured.failures,
            "hits": hits,
            "misses": misses,
            "steals": self.sum(|c| c.steals),
            "hit_rate": ratio(hits, hits + misses),
            "fragmentation_at_peak": self.peak.as_ref().map(|p| p.counters.fragmentation()),
            "ordering": found(&self.order),
            "validation": found(&self.validated),
        })
    }
}
