//! The file in Chrome's trace format, read as Perfetto reads it.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

use hiplaunch::driver::timeline::TimelineSnapshot;
use hiplaunch::{Arg, DeviceBuffer, args};
use serde_json::Value;

use crate::rig::*;

fn written(timeline: &TimelineSnapshot) -> Value {
    let mut bytes = Vec::new();
    hiplaunch_reports::write_chrome_trace(timeline, &mut bytes).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

/// A span of the file; `begin` and `end` are in nanoseconds.
#[derive(Clone, Debug)]
struct Span {
    begin: u64,
    end: u64,
    name: String,
    category: String,
    args: Value,
}

fn nanoseconds(value: &Value) -> u64 {
    let nanoseconds = value.as_f64().expect("a number") * 1e3;
    assert!(nanoseconds >= 0.0 && (nanoseconds - nanoseconds.round()).abs() < 1e-3, "{value}");
    nanoseconds.round() as u64
}

type Track = (u64, u64);

fn track(event: &Value) -> Track {
    (event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap())
}

#[derive(Default)]
struct Trace {
    spans: BTreeMap<Track, Vec<Span>>,
    /// The names of processes (track 0) and threads.
    names: HashMap<(Track, String), String>,
    /// The track and time at which each arrow begins and ends.
    arrows: BTreeMap<u64, [Option<(Track, u64)>; 2]>,
}

impl Trace {
    fn of(json: &Value) -> Trace {
        let mut trace = Trace::default();
        for event in json["traceEvents"].as_array().unwrap() {
            let text = |key: &str| event[key].as_str().unwrap_or_else(|| panic!("{key}: {event}")).to_owned();
            match event["ph"].as_str().unwrap() {
                "X" => {
                    let begin = nanoseconds(&event["ts"]);
                    trace.spans.entry(track(event)).or_default().push(Span {
                        begin,
                        end: begin + nanoseconds(&event["dur"]),
                        name: text("name"),
                        category: text("cat"),
                        args: event["args"].clone(),
                    });
                }
                "M" if event["args"]["name"].is_string() => {
                    let name = event["args"]["name"].as_str().unwrap().to_owned();
                    let other = trace.names.insert((track(event), text("name")), name);
                    assert_eq!(other, None, "named once");
                }
                "M" => assert!(event["args"]["sort_index"].is_u64(), "{event}"),
                end @ ("s" | "f") => {
                    assert_eq!((text("name"), text("cat")), ("enqueued".to_owned(), "enqueued".to_owned()));
                    assert_eq!(event["bp"].as_str(), (end == "f").then_some("e"));
                    let ends = trace.arrows.entry(event["id"].as_u64().unwrap()).or_default();
                    let place = &mut ends[usize::from(end == "f")];
                    assert_eq!(place.replace((track(event), nanoseconds(&event["ts"]))), None);
                }
                other => panic!("{other}: {event}"),
            }
        }
        trace
    }

    /// Returns the innermost span at a time.
    fn at(&self, (track, time): (Track, u64)) -> &Span {
        let open = self.spans[&track].iter().filter(|span| span.begin <= time && time <= span.end);
        // Of two spans that touch, the one that begins there.
        open.min_by_key(|span| (span.begin != time, span.end - span.begin))
            .unwrap_or_else(|| panic!("nothing at {time}"))
    }

    #[track_caller]
    fn assert_sound(&self) {
        let mut threads = HashMap::new();
        for (&(pid, tid), spans) in &self.spans {
            assert!(self.names.contains_key(&((pid, 0), "process_name".to_owned())), "process {pid}");
            assert!(self.names.contains_key(&((pid, tid), "thread_name".to_owned())), "thread {tid}");
            assert_eq!(threads.insert(tid, pid), None, "a track of two processes: {tid}");
            let mut open: Vec<&Span> = Vec::new();
            for span in spans {
                open.retain(|outer| outer.end > span.begin || outer.begin == span.begin);
                for outer in &open {
                    assert!(pid == 1, "two at once on a stream: {outer:?}\n{span:?}");
                    assert!(outer.begin <= span.begin && span.end <= outer.end, "{outer:?}\n{span:?}");
                }
                open.push(span);
            }
        }
        for (id, ends) in &self.arrows {
            let [Some(from), Some(to)] = *ends else { panic!("half an arrow: {id}") };
            assert!(from.0.0 == 1 && to.0.0 > 1 && from.1 <= to.1, "{from:?} {to:?}");
            let (call, work) = (self.at(from), self.at(to));
            assert_eq!(work.begin, to.1);
            assert_eq!(call.category, "driver");
            if call.name == "hipModuleLaunchKernel" {
                assert_eq!(call.args["kernel"].as_str(), Some(work.name.as_str()));
            }
            assert!(work.category != "copy" || call.args["bytes"] == work.args["bytes"], "{call:?} {work:?}");
        }
    }
}

#[test]
fn the_file_follows_the_rules_of_the_trace_format() {
    on_each(|rig| {
        let vscale = rig.kernel("vscale");
        {
            let _span = rig.timeline.span("a \"span\" with \\ and \u{1}");
            for k in 0..50 {
                let x = [k as f32; N];
                let args = [Arg::from(2.0f32), Arg::input(&x), Arg::output::<f32>(N), Arg::from(N as i32)];
                // SAFETY: the arrays have N elements.
                let ticket = unsafe { rig.launcher.launch(vscale, &rig.stream, dims(), &args) }.unwrap();
                assert_eq!(ticket.read().unwrap().slice::<f32>(0).unwrap()[0], 2.0 * x[0]);
            }
        }
        let timeline = rig.snapshot();
        let json = written(&timeline);
        let trace = Trace::of(&json);
        trace.assert_sound();
        assert_eq!(trace.arrows.len(), 150);
        let device: Vec<&Span> =
            trace.spans.iter().filter(|((pid, _), _)| *pid > 1).flat_map(|(_, spans)| spans).collect();
        let of = |category: &str| device.iter().filter(|span| span.category == category).count();
        assert_eq!((of("kernel"), of("copy"), device.len()), (50, 100, 150));
        let kernel = device.iter().find(|span| span.category == "kernel").unwrap();
        assert_eq!((kernel.name.as_str(), &kernel.args["grid"]), ("vscale", &serde_json::json!([16, 1, 1])));
        assert_eq!(kernel.args["waves"].as_u64(), rig.observed.then_some(16));
        let copied = device.iter().filter(|span| span.category == "copy");
        assert!(copied.clone().all(|span| span.args["bytes"] == 4 * N));
        assert!(copied.clone().any(|span| span.name == "H2D copy"));
        let program: Vec<&Span> =
            trace.spans.values().flatten().filter(|span| span.category == "program").collect();
        assert_eq!(program.len(), 1);
        assert_eq!(program[0].name, "a \"span\" with \\ and \u{1}");
        assert_eq!(trace.names[&((1, 0), "process_name".to_owned())], "host");
        let device_name = &trace.names[&((2, 0), "process_name".to_owned())];
        assert_eq!(*device_name, timeline.devices[0].name);
        assert_eq!(json["otherData"]["dropped_calls"], 0);
    });
}

#[test]
fn the_file_has_driver_graphs_and_the_counts_of_dropped_spans() {
    on_each(|rig| {
        if !rig.launcher.driver().capabilities().has(hiplaunch::driver::Capability::Graphs) {
            println!("skipped: the driver has no graphs");
            return;
        }
        let fill = rig.kernel("fill_u32");
        let x = DeviceBuffer::<u32>::on(&rig.stream, N).unwrap();
        for way in [hiplaunch::graph::Submission::DriverGraph, hiplaunch::graph::Submission::DriverGraph] {
            let mut graph = rig.launcher.graph(&rig.device).unwrap();
            let value = graph.buffer(&x).unwrap();
            let args = [hiplaunch::graph::GraphArg::Write(value), 3u32.into(), (N as i32).into()];
            // SAFETY: the buffer has N elements.
            unsafe { graph.launch(fill, dims(), &args) }.unwrap();
            graph.compute_by(&rig.stream, way).unwrap();
        }
        let trace = Trace::of(&written(&rig.snapshot()));
        trace.assert_sound();
        let all: Vec<&Span> = trace.spans.values().flatten().collect();
        let launches: Vec<_> = all.iter().filter(|span| span.name == "hipGraphLaunch").collect();
        assert_eq!(launches.len(), 2);
        assert!(launches.iter().all(|span| span.args["kernels"] == serde_json::json!(["fill_u32"])));
        let ran = all.iter().filter(|span| match rig.observed {
            true => span.category == "kernel" && span.args["graph_node"] == "1 of 1",
            false => span.category == "graph" && span.args["nodes"] == 1,
        });
        assert_eq!((ran.count(), trace.arrows.len()), (2, 2));
    });
    let rig = Rig::emulated(hiplaunch::driver::timeline::TimelineOptions {
        limit: 10,
        ..hiplaunch::driver::timeline::TimelineOptions::default()
    });
    let fill = rig.kernel("fill_u32");
    let buffer = DeviceBuffer::<u32>::on(&rig.stream, N).unwrap();
    for _ in 0..20 {
        // SAFETY: the buffer has N elements.
        unsafe { rig.launcher.launch(fill, &rig.stream, dims(), &args![&buffer, 1u32, N as i32]) }.unwrap();
    }
    let json = written(&rig.snapshot());
    Trace::of(&json).assert_sound();
    assert!(json["otherData"]["dropped_calls"].as_u64().unwrap() >= 10, "{}", json["otherData"]);
    assert_eq!(json["otherData"]["limit_of_spans"], 10);
}

#[test]
fn an_empty_timeline_is_a_file_without_spans() {
    let json = written(&hiplaunch::Timeline::default().snapshot());
    let trace = Trace::of(&json);
    assert!(trace.spans.is_empty() && trace.arrows.is_empty());
}

#[test]
fn writing_returns_the_writers_error() {
    struct Full(usize);
    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let rig = Rig::emulated(Default::default());
    rig.kernel("fill_u32");
    let timeline = rig.snapshot();
    let mut whole = Vec::new();
    hiplaunch_reports::write_chrome_trace(&timeline, &mut whole).unwrap();
    for room in [0, 1, 50, 200, whole.len() - 1] {
        let error = hiplaunch_reports::write_chrome_trace(&timeline, &mut Full(room)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull, "{room}");
    }
    hiplaunch_reports::write_chrome_trace(&timeline, &mut Full(whole.len())).unwrap();
}

#[test]
fn ranks_share_a_trace_and_a_clock() {
    let timelines = [0, 1].map(|_| {
        let rig = Rig::emulated(Default::default());
        rig.kernel("fill_u32");
        rig.snapshot()
    });
    let whole = |number: u32, clock_offset: i64| {
        let rank = hiplaunch_reports::Rank { number, clock_offset };
        hiplaunch_reports::rank_trace(&timelines[number as usize], rank)
    };
    let mut bytes = Vec::new();
    hiplaunch_reports::write_rank_traces(&[whole(1, 5_000_000), whole(0, 0)], &mut bytes).unwrap();
    let both = Trace::of(&serde_json::from_slice(&bytes).unwrap());
    let alone = timelines.each_ref().map(|timeline| Trace::of(&written(timeline)));
    assert_eq!(both.spans.len(), alone[0].spans.len() + alone[1].spans.len());
    assert_eq!(both.arrows.len(), alone[0].arrows.len() + alone[1].arrows.len());
    for (rank, alone) in (0..).zip(&alone) {
        let begins = |of: &Trace, pid: u64, tid: u64| {
            of.spans[&(pid, tid)].iter().map(|s| s.begin).collect::<Vec<_>>()
        };
        for (pid, tid) in alone.spans.keys() {
            let moved: Vec<u64> =
                begins(alone, *pid, *tid).iter().map(|begin| begin + 5_000_000 * rank).collect();
            assert_eq!(begins(&both, rank * 1000 + pid, rank * 100_000 + tid), moved);
        }
        let host = &both.names[&((rank * 1000 + 1, rank * 100_000), "process_name".to_owned())];
        assert_eq!(*host, format!("rank {rank}: host"));
    }
}
