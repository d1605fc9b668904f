//! What a run prints: the sums on the way, the field's checksum, and counts that do not depend on the machine's speed.

use std::fmt::Write;

use hip_driver_layers::counts::CallCounts;
use hiplaunch::driver::CallGroup;
use hiplaunch::driver::CallKind::{EventQuery, ExchangeCaptureMode, StreamCaptureInfo, StreamQuery};
use hiplaunch_mpi::Counters;
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::error::Result;
use crate::field::Domain;

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
    /// The first and the last step.
    pub(crate) steps: [u64; 2],
    pub(crate) diffusion: f64,
    pub(crate) sums: Vec<Sums>,
    /// Of the field at the end.
    pub(crate) checksum: u64,
    /// Wall time of the steps on rank 0.
    pub(crate) seconds: f64,
}

/// A count of every rank during the steps, by name.
pub(crate) type Counts = Vec<(&'static str, Vec<u64>)>;

/// Gathers the counts of all ranks, with their sums and checkpoints, from the driver's calls, the communicator's counters
/// before and after, and the solver's launches. All ranks must call it; it waits for them.
pub(crate) fn counts(
    cluster: &Cluster,
    calls: &CallCounts,
    (before, after): (Counters, Counters),
    launches: u64,
) -> Result<Counts> {
    // How many queries there are depends on the machine's speed.
    let queries = [EventQuery, StreamQuery, StreamCaptureInfo, ExchangeCaptureMode];
    let queries: u64 = queries.into_iter().map(|kind| calls.get(kind)).sum();
    let mine = [
        ("launches", launches),
        ("driver_calls", calls.device_calls() - queries),
        ("host_waits", calls.get(CallGroup::Synchronize)),
        ("stream_waits_for_ranks", after.stream_waits - before.stream_waits),
        ("messages_sent", after.messages_sent - before.messages_sent),
        ("bytes_sent", after.bytes_sent - before.bytes_sent),
        ("messages_received", after.messages_received - before.messages_received),
        ("bytes_received", after.bytes_received - before.bytes_received),
        ("collectives", after.collectives - before.collectives),
        ("collective_bytes", after.collective_bytes - before.collective_bytes),
        ("pack_kernels", after.pack_kernels - before.pack_kernels),
    ];
    mine.into_iter().map(|(name, count)| Ok((name, cluster.gather(count)?))).collect()
}

impl Report {
    /// The report as a JSON document, with the counts of all ranks.
    pub(crate) fn json(&self, counts: &Counts) -> String {
        let [first, last] = self.steps;
        let steps = (last - first).max(1) as f64;
        let sum = |sums: &Sums| {
            let bits = [sums.change, sums.heat].map(|sum| format!("{:016x}", sum.to_bits()));
            json!({"step": sums.step, "change": sums.change, "heat": sums.heat, "bits": bits})
        };
        // The rank with the most neighbours says what a step costs.
        let most = |ranks: &[u64]| ranks.iter().max().copied().unwrap_or(0) as f64;
        let a_step = counts.iter().map(|(name, ranks)| (name.to_string(), json!(most(ranks) / steps)));
        let document = json!({
            "width": self.domain.width,
            "height": self.domain.height,
            "ranks": self.domain.ranks(),
            "ranks_across": self.domain.across,
            "ranks_down": self.domain.down,
            "first_step": first,
            "last_step": last,
            "diffusion": self.diffusion,
            "checksum": format!("{:016x}", self.checksum),
            "sums": self.sums.iter().map(sum).collect::<Vec<_>>(),
            "seconds": self.seconds,
            "counts_a_step": a_step.collect::<Value>(),
            "counts": counts.iter().map(|(name, ranks)| (name.to_string(), json!(ranks))).collect::<Value>(),
        });
        format!("{document:#}\n")
    }

    /// The report for people.
    pub(crate) fn text(&self, counts: &Counts) -> String {
        let Report { domain: Domain { width, height, across, down }, steps: [first, last], .. } = self;
        let mut text = format!("{width}x{height} cells over {across}x{down} ranks\n");
        for Sums { step, change, heat } in &self.sums {
            // Writing to a string can't fail.
            let _ = writeln!(text, "step {step:6}  change {change:.6e}  heat {heat:.6}");
        }
        let of = |wanted| {
            counts.iter().find(|(name, _)| *name == wanted).map_or(0, |(_, n)| n.iter().sum::<u64>())
        };
        let (messages, bytes) = (of("messages_sent"), of("bytes_sent"));
        let _ = writeln!(
            text,
            "steps {first} to {last} in {:.2} s; {messages} messages with {bytes} bytes; checksum {:016x}",
            self.seconds, self.checksum
        );
        text
    }
}
