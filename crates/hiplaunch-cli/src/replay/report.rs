//! Prints the report of a replay, for people and as JSON.

use std::path::Path;

use hip_driver::DriverInfo;
use hiplaunch::memory::{PoolBackend, PoolCounters, PoolOptions, PoolTraceAction};
use serde_json::{Value, json};

use super::play::Replayed;
use super::read::Trace;
use crate::CommandError;
use crate::output::{Output, bytes, counted, grouped};

/// The report of a replay.
pub(super) struct ReplayReport<'a> {
    pub(super) trace: &'a Trace,
    pub(super) options: PoolOptions,
    pub(super) driver: DriverInfo,
    pub(super) replayed: Replayed,
    pub(super) violations: Vec<String>,
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

fn or_none(figure: Option<f64>) -> String {
    figure.map_or_else(|| "none".to_owned(), |n| format!("{n:.3}"))
}

impl ReplayReport<'_> {
    fn sum(&self, of: impl Fn(&PoolCounters) -> u64) -> u64 {
        self.replayed.counters.iter().map(of).sum()
    }

    fn ns_per_operation(&self) -> Option<f64> {
        match self.trace.ops.len() {
            0 => None,
            n => Some(self.replayed.time.as_secs_f64() * 1e9 / n as f64),
        }
    }

    pub(super) fn show(&self, path: &Path, out: &mut Output) -> Result<(), CommandError> {
        let trace = self.trace;
        out.line(format_args!(
            "trace {}: {}, {}",
            path.display(),
            counted(trace.devices.len(), "device", "devices"),
            counted(trace.streams.len(), "stream", "streams"),
        ))?;
        let recorded = PoolTraceAction::ALL.into_iter().filter(|action| trace.count(*action) > 0);
        let recorded: Vec<String> =
            recorded.map(|action| format!("{action} {}", grouped(trace.count(action)))).collect();
        if !recorded.is_empty() {
            out.line(format_args!("recorded: {}", recorded.join(", ")))?;
        }
        let (name, version, source) = (&self.driver.name, &self.driver.version, &self.driver.source);
        let pool = pool_name(self.options.backend);
        out.line(format_args!("replayed on driver {name} {version} ({source}), pool {pool}"))?;
        out.line("")?;
        let (calls, operations) = (self.sum(|c| c.calls.total()), trace.ops.len() as u64);
        let (reserved, requested) = (self.sum(|c| c.peak_reserved), self.sum(|c| c.peak_requested));
        for (name, value) in [
            ("operations", grouped(operations)),
            ("ns per operation", or_none(self.ns_per_operation())),
            ("device calls", grouped(calls)),
            ("device calls per operation", or_none(ratio(calls, operations))),
            ("peak reserved", bytes(reserved)),
            ("peak requested", bytes(requested)),
            ("peak reserved / peak requested", or_none(ratio(reserved, requested))),
            ("failures", grouped(self.replayed.failures)),
            ("hits", grouped(self.sum(|c| c.hits))),
            ("misses", grouped(self.sum(|c| c.misses))),
            ("steals", grouped(self.sum(|c| c.steals))),
            ("never freed in the trace", counted(trace.leaks as usize, "block", "blocks")),
            ("frees and uses of unknown memory", grouped(trace.unknown)),
        ] {
            out.line(format_args!("{name:34}{value}"))?;
        }
        Ok(())
    }

    pub(super) fn json(&self, path: &Path) -> Value {
        let trace = self.trace;
        let recorded: serde_json::Map<String, Value> =
            PoolTraceAction::ALL.iter().map(|a| (a.name().to_owned(), trace.count(*a).into())).collect();
        json!({
            "trace": {
                "file": path.display().to_string(),
                "devices": trace.devices,
                "streams": trace.streams.len(),
                "recorded": recorded,
                "never_freed": trace.leaks,
                "unknown_memory": trace.unknown,
            },
            "driver": { "name": self.driver.name, "version": self.driver.version, "source": self.driver.source },
            "pool": {
                "backend": pool_name(self.options.backend),
                "cap": self.options.cap,
                "soft_target": self.options.soft_target,
            },
            "operations": trace.ops.len(),
            "ns_per_operation": self.ns_per_operation(),
            "device_calls": {
                "mallocs": self.sum(|c| c.calls.mallocs),
                "frees": self.sum(|c| c.calls.frees),
                "records": self.sum(|c| c.calls.records),
                "waits": self.sum(|c| c.calls.waits),
                "queries": self.sum(|c| c.calls.queries),
                "synchronizes": self.sum(|c| c.calls.synchronizes),
            },
            "peak_reserved": self.sum(|c| c.peak_reserved),
            "peak_requested": self.sum(|c| c.peak_requested),
            "failures": self.replayed.failures,
            "hits": self.sum(|c| c.hits),
            "misses": self.sum(|c| c.misses),
            "steals": self.sum(|c| c.steals),
            "violations": self.violations,
        })
    }
}
