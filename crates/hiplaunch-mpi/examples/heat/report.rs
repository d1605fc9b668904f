//! What a run prints: the sums on the way, the field's checksum, and counts that do not depend on the machine's speed.

use std::fmt::Write;

use hip_driver_layers::counts::CallCounts;
use hiplaunch::driver::CallKind;
use hiplaunch_mpi::Counters;
use serde_json::{Value, json};

use crate::domain::Domain;
use crate::error::Result;
use crate::ranks::Ranks;

/// Sums over the field after a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sums {
    pub(crate) step: u64,
    /// The root of the sum of the squared changes of the step.
    pub(crate) change: f64,
    /// The sum of all cells.
    pub(crate) heat: f64,
}

/// A run.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) domain: Domain,
    /// The step at which the run began.
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) diffusion: f64,
    pub(crate) sums: Vec<Sums>,
    /// Of the field at the end.
    pub(crate) checksum: u64,
    /// Wall time of the steps on rank 0.
    pub(crate) seconds: f64,
}

/// What a rank did during the steps, with their sums and checkpoints. Queries are left out: how many there are depends on
/// the machine's speed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counts([u64; NAMES.len()]);

const NAMES: [&str; 11] = [
    "launches",
    "driver_calls",
    "host_waits",
    "stream_waits_for_ranks",
    "messages_sent",
    "bytes_sent",
    "messages_received",
    "bytes_received",
    "collectives",
    "collective_bytes",
    "pack_kernels",
];

impl Counts {
    /// Counts from the driver's calls, from the communicator's counters before and after, and from the solver's launches.
    pub(crate) fn new(calls: &CallCounts, before: &Counters, after: &Counters, launches: u64) -> Counts {
        let queries = [
            CallKind::EventQuery,
            CallKind::StreamQuery,
            CallKind::StreamCaptureInfo,
            CallKind::ExchangeCaptureMode,
        ]
        .map(|kind| calls.get(kind));
        let waits = [CallKind::EventSynchronize, CallKind::StreamSynchronize, CallKind::DeviceSynchronize];
        Counts([
            launches,
            calls.device_calls() - queries.iter().sum::<u64>(),
            waits.map(|kind| calls.get(kind)).iter().sum(),
            after.stream_waits - before.stream_waits,
            after.messages_sent - before.messages_sent,
            after.bytes_sent - before.bytes_sent,
            after.messages_received - before.messages_received,
            after.bytes_received - before.bytes_received,
            after.collectives - before.collectives,
            after.collective_bytes - before.collective_bytes,
            after.pack_kernels - before.pack_kernels,
        ])
    }

    /// Returns the counts of all ranks. All ranks must call it; it waits for them.
    ///
    /// # Errors
    /// The exchange fails.
    pub(crate) fn of_all(&self, ranks: &impl Ranks) -> Result<Vec<Counts>> {
        let mut all = Vec::new();
        for (name, count) in self.0.iter().enumerate() {
            let words = ranks.gather(*count)?;
            all.resize(words.len(), Counts([0; NAMES.len()]));
            for (counts, word) in all.iter_mut().zip(words) {
                counts.0[name] = word;
            }
        }
        Ok(all)
    }

    fn json(&self) -> Value {
        NAMES.iter().zip(self.0).map(|(name, count)| (name.to_string(), json!(count))).collect()
    }
}

impl Report {
    /// The report as a JSON document, with the counts of all ranks.
    pub(crate) fn json(&self, ranks: &[Counts]) -> String {
        let steps = (self.last - self.first).max(1) as f64;
        let sum = |sums: &Sums| {
            let bits = [sums.change, sums.heat].map(|sum| format!("{:016x}", sum.to_bits()));
            json!({"step": sums.step, "change": sums.change, "heat": sums.heat, "bits": bits})
        };
        // The rank with the most neighbours says what a step costs.
        let most = |name: usize| ranks.iter().map(|counts| counts.0[name]).max().unwrap_or(0);
        let a_step: Value = NAMES
            .iter()
            .enumerate()
            .map(|(at, name)| (name.to_string(), json!(most(at) as f64 / steps)))
            .collect();
        let document = json!({
            "width": self.domain.width,
            "height": self.domain.height,
            "ranks": self.domain.ranks(),
            "ranks_across": self.domain.across,
            "ranks_down": self.domain.down,
            "first_step": self.first,
            "last_step": self.last,
            "diffusion": self.diffusion,
            "checksum": format!("{:016x}", self.checksum),
            "sums": self.sums.iter().map(sum).collect::<Vec<_>>(),
            "seconds": self.seconds,
            "counts_a_step": a_step,
            "counts": ranks.iter().map(Counts::json).collect::<Vec<_>>(),
        });
        format!("{document:#}\n")
    }

    /// The report for people.
    pub(crate) fn text(&self, ranks: &[Counts]) -> String {
        let Domain { width, height, across, down } = self.domain;
        let mut text = String::new();
        // Writing to a string can't fail.
        let _ = writeln!(text, "{width}x{height} cells over {across}x{down} ranks");
        for Sums { step, change, heat } in &self.sums {
            let _ = writeln!(text, "step {step:6}  change {change:.6e}  heat {heat:.6}");
        }
        let sum = |name: usize| ranks.iter().map(|counts| counts.0[name]).sum::<u64>();
        let _ = writeln!(
            text,
            "steps {} to {} in {:.2} s; {} messages with {} bytes; checksum {:016x}",
            self.first,
            self.last,
            self.seconds,
            sum(4),
            sum(5),
            self.checksum
        );
        text
    }
}
