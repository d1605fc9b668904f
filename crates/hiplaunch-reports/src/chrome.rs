//! Writes a timeline as a Chrome trace: JSON that ui.perfetto.dev and chrome://tracing open.
//!
//! The format is that of "Trace Event Format" (Google, 2016). `ph` is `X` for a span, `M` for a name, and `s` and `f`
//! for the two ends of an arrow, which bind to the spans around their times; `ts` and `dur` are microseconds. The host
//! is process 1, and each device is another process. Track numbers are unique in a trace, because Perfetto takes them
//! for thread numbers of the whole system.

use std::collections::HashMap;
use std::io::{self, Write};
use std::time::Duration;

use serde_json::{Map, Value, json};

use hip_driver_layers::timeline::{CopyDirection, DeviceSpan, DeviceWork, HostSpan, TimelineSnapshot};

/// The number of the host's process.
const HOST: u32 = 1;
/// The track numbers of streams begin after a multiple of this that exceeds the number of threads.
const STREAMS: u32 = 1000;
/// The number of a graph's kernels that are named at most.
const NAMED: usize = 64;
/// How far apart the process and track numbers of two ranks are.
const RANK_PROCESSES: u32 = 1000;
const RANK_TRACKS: u32 = 100_000;

/// Writes the timeline as a Chrome trace. `otherData` contains the number of spans that were dropped because the
/// timeline was full. There are many small writes, so wrap a file in a buffer.
///
/// # Errors
/// Returns the error of a failed write.
pub fn write_chrome_trace(timeline: &TimelineSnapshot, to: &mut dyn Write) -> io::Result<()> {
    to.write_all(HEAD)?;
    write_events(timeline, None, to)?;
    let other = json!({
        "limit_of_spans": timeline.limit,
        "dropped_calls": timeline.dropped_calls,
        "dropped_work": timeline.dropped_work,
        "written_by": concat!("hiplaunch ", env!("CARGO_PKG_VERSION")),
    });
    writeln!(to, "\n],\"otherData\":{other}}}")
}

const HEAD: &[u8] = b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";

/// A rank of a program of several processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rank {
    /// The number of the rank.
    pub number: u32,
    /// Nanoseconds to add to the times of its timeline, to get those of a clock that all ranks have.
    pub clock_offset: i64,
}

/// Returns the events of one rank, for [`write_rank_traces`].
pub fn rank_trace(timeline: &TimelineSnapshot, rank: Rank) -> Vec<u8> {
    let mut events = Vec::new();
    let written = write_events(timeline, Some(rank), &mut events);
    debug_assert!(written.is_ok(), "writing to a vector does not fail");
    events
}

/// Writes one Chrome trace of the timelines of all ranks. `ranks` are the results of [`rank_trace`], in any order. Each rank's
/// host and devices are processes of their own, named after the rank.
///
/// # Errors
/// Returns the error of a failed write.
pub fn write_rank_traces(ranks: &[Vec<u8>], to: &mut dyn Write) -> io::Result<()> {
    to.write_all(HEAD)?;
    for (n, events) in ranks.iter().filter(|events| !events.is_empty()).enumerate() {
        to.write_all(if n == 0 { b"" } else { b"," })?;
        to.write_all(events)?;
    }
    let other =
        json!({ "ranks": ranks.len(), "written_by": concat!("hiplaunch ", env!("CARGO_PKG_VERSION")) });
    writeln!(to, "\n],\"otherData\":{other}}}")
}

fn write_events(timeline: &TimelineSnapshot, rank: Option<Rank>, to: &mut dyn Write) -> io::Result<()> {
    let mut events = Events { to, rank, any: false, arrows: 0 };
    write_host(timeline, &mut events)?;
    write_devices(timeline, &mut events)
}

fn write_host(timeline: &TimelineSnapshot, events: &mut Events<'_>) -> io::Result<()> {
    events.process(HOST, "host")?;
    for thread in &timeline.threads {
        let name = thread.name.as_deref();
        let name = name.map_or_else(|| format!("thread {}", thread.number), str::to_owned);
        events.thread(HOST, thread.number, &name)?;
        for span in &thread.spans {
            let category = if span.device.is_some() { "driver" } else { "program" };
            events.span(
                (HOST, thread.number),
                &span.name,
                category,
                (span.begin, span.end),
                host_args(span),
            )?;
        }
    }
    Ok(())
}

fn write_devices(timeline: &TimelineSnapshot, events: &mut Events<'_>) -> io::Result<()> {
    let mut calls: HashMap<u64, (u32, Duration)> = HashMap::new();
    for thread in &timeline.threads {
        let enqueued = thread.spans.iter().filter_map(|s| Some((s.correlation?, (thread.number, s.begin))));
        calls.extend(enqueued);
    }
    let last_thread = timeline.threads.iter().map(|thread| thread.number).max().unwrap_or(0);
    let streams = (last_thread + 1).next_multiple_of(STREAMS);
    for (pid, device) in (HOST + 1..).zip(&timeline.devices) {
        let name = match device.driver {
            0 => device.name.clone(),
            driver => format!("{} (driver {})", device.name, driver + 1),
        };
        events.process(pid, &name)?;
        for stream in &device.streams {
            let tid = streams + stream.number;
            events.thread(pid, tid, &format!("stream {}", stream.number))?;
            for span in &stream.spans {
                let name = span.work.to_string();
                let at = (span.begin, span.end);
                events.span((pid, tid), &name, span.work.category(), at, device_args(span))?;
                // One arrow for each call: it goes to the first node of a graph that ran.
                if let Some((thread, begin)) = calls.remove(&span.correlation) {
                    events.arrow(((HOST, thread), begin), ((pid, tid), span.begin))?;
                }
            }
        }
    }
    Ok(())
}

/// Writes the events of a trace one by one.
struct Events<'w> {
    to: &'w mut dyn Write,
    rank: Option<Rank>,
    any: bool,
    arrows: u64,
}

/// A process and one of its threads.
type Track = (u32, u32);

impl Events<'_> {
    /// Writes an event, with the numbers and the clock of its rank.
    fn event(&mut self, mut event: Value) -> io::Result<()> {
        if let Some(rank) = self.rank {
            let number = u64::from(rank.number);
            for (key, apart) in [("pid", RANK_PROCESSES), ("tid", RANK_TRACKS), ("id", 1 << 31)] {
                if let Some(id) = event.get(key).and_then(Value::as_u64) {
                    event[key] = json!(number * u64::from(apart) + id);
                }
            }
            if let Some(time) = event.get("ts").and_then(Value::as_f64) {
                event["ts"] = json!(time + rank.clock_offset as f64 / 1e3);
            }
        }
        let comma: &[u8] = if std::mem::replace(&mut self.any, true) { b",\n" } else { b"\n" };
        self.to.write_all(comma)?;
        serde_json::to_writer(&mut *self.to, &event).map_err(io::Error::from)
    }

    fn process(&mut self, pid: u32, name: &str) -> io::Result<()> {
        let (name, order) = match self.rank {
            None => (name.to_owned(), pid),
            Some(rank) => (format!("rank {}: {name}", rank.number), rank.number * RANK_PROCESSES + pid),
        };
        self.event(
            json!({ "ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": { "name": name } }),
        )?;
        let order = json!({ "sort_index": order });
        self.event(json!({ "ph": "M", "name": "process_sort_index", "pid": pid, "tid": 0, "args": order }))
    }

    fn thread(&mut self, pid: u32, tid: u32, name: &str) -> io::Result<()> {
        self.event(
            json!({ "ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": { "name": name } }),
        )?;
        let order = json!({ "sort_index": tid });
        self.event(json!({ "ph": "M", "name": "thread_sort_index", "pid": pid, "tid": tid, "args": order }))
    }

    fn span(
        &mut self,
        (pid, tid): Track,
        name: &str,
        category: &str,
        (begin, end): (Duration, Duration),
        args: Map<String, Value>,
    ) -> io::Result<()> {
        self.event(json!({
            "ph": "X",
            "name": name,
            "cat": category,
            "pid": pid,
            "tid": tid,
            "ts": microseconds(begin),
            "dur": microseconds(end.saturating_sub(begin)),
            "args": args,
        }))
    }

    /// Writes an arrow from a call to its work.
    fn arrow(&mut self, from: (Track, Duration), to: (Track, Duration)) -> io::Result<()> {
        self.arrows += 1;
        for (ph, ((pid, tid), at)) in [("s", from), ("f", to)] {
            let mut event = json!({
                "ph": ph,
                "name": "enqueued",
                "cat": "enqueued",
                "pid": pid,
                "tid": tid,
                "ts": microseconds(at),
                "id": self.arrows,
            });
            if ph == "f" {
                // Binds to the span that is open at that time, not to the next one.
                event["bp"] = json!("e");
            }
            self.event(event)?;
        }
        Ok(())
    }
}

fn microseconds(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e3
}

fn host_args(span: &HostSpan) -> Map<String, Value> {
    let mut args = Map::new();
    let mut put = |key: &str, value: Value| drop(args.insert(key.to_owned(), value));
    if let Some(device) = span.device {
        put("device", json!(device.0));
    }
    if let Some(stream) = span.stream {
        put("stream", json!(stream));
    }
    if let Some(bytes) = span.bytes {
        put("bytes", json!(bytes));
    }
    if let Some(error) = span.error {
        put("error", json!(error.to_string()));
    }
    if let Some(work) = &span.work {
        work_args(work, &mut args);
    }
    args
}

fn device_args(span: &DeviceSpan) -> Map<String, Value> {
    let mut args = Map::new();
    work_args(&span.work, &mut args);
    let mut put = |key: &str, value: Value| drop(args.insert(key.to_owned(), value));
    if let Some(bytes) = span.work.bytes() {
        put("bytes", json!(bytes));
    }
    if let Some((node, nodes)) = span.node {
        put("graph_node", json!(format!("{} of {nodes}", node + 1)));
    }
    if let Some(counts) = span.counts {
        put("workgroups", json!(counts.workgroups));
        put("waves", json!(counts.waves));
        put("wave_instructions", json!(counts.wave_instructions));
    }
    args
}

fn work_args(work: &DeviceWork, args: &mut Map<String, Value>) {
    let mut put = |key: &str, value: Value| drop(args.insert(key.to_owned(), value));
    match work {
        DeviceWork::Kernel { name, grid, block, dynamic_lds } => {
            put("kernel", json!(**name));
            put("grid", json!(grid));
            put("block", json!(block));
            put("dynamic_lds", json!(dynamic_lds));
        }
        DeviceWork::Copy { direction: CopyDirection::FromPeer(device), .. } => {
            put("from_device", json!(device.0))
        }
        DeviceWork::Graph { nodes } => {
            put("nodes", json!(nodes.len()));
            let kernels: Vec<&str> = nodes
                .iter()
                .filter_map(|node| match node {
                    DeviceWork::Kernel { name, .. } => Some(&**name),
                    _ => None,
                })
                .take(NAMED)
                .collect();
            put("kernels", json!(kernels));
        }
        _ => {}
    }
}
