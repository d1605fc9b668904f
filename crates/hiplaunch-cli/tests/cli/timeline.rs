//! `--trace`: a timeline that is written completely or not at all.

use std::fs;

use serde_json::Value;

use super::{Folder, command, data, emulated, hiplaunch, read};

fn at(folder: &Folder, name: &str) -> String {
    folder.0.join(name).to_str().unwrap().to_owned()
}

fn files(folder: &Folder) -> Vec<String> {
    let entries = fs::read_dir(&folder.0).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// Returns the spans of a timeline file: process, name, arguments.
fn spans(path: &str) -> Vec<(u64, String, Value)> {
    let trace: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(trace["otherData"]["dropped_calls"], 0);
    let events = trace["traceEvents"].as_array().unwrap();
    let spans = events.iter().filter(|event| event["ph"] == "X");
    spans
        .map(|e| (e["pid"].as_u64().unwrap(), e["name"].as_str().unwrap().to_owned(), e["args"].clone()))
        .collect()
}

#[test]
fn a_scripts_timeline() {
    let folder = Folder::new();
    let (trace, script) = (at(&folder, "run.json"), data("saxpy.launch.toml"));
    let (status, out, err) = hiplaunch(&emulated(&["run", &script, "--trace", &trace]));
    assert_eq!((status, err.as_str()), (0, ""), "{out}");
    assert!(out.contains("driver validation over timeline over emulated"), "{out}");
    let spans = spans(&trace);
    assert_eq!(spans.iter().filter(|(pid, name, _)| *pid == 1 && *name == script).count(), 1);
    let kernels: Vec<_> = spans.iter().filter(|(pid, name, _)| *pid == 2 && name == "saxpy").collect();
    let [(_, _, args)] = kernels[..] else { panic!("{spans:?}") };
    assert_eq!((&args["kernel"], args["waves"].as_u64()), (&Value::from("saxpy"), Some(2)));
    let copied = |name: &str| -> Vec<u64> {
        let of_name = spans.iter().filter(|(pid, n, _)| *pid == 2 && n == name);
        of_name.filter_map(|(_, _, args)| args["bytes"].as_u64()).collect()
    };
    assert_eq!((copied("H2D copy"), copied("D2H copy")), (vec![512, 512], vec![512]));
    assert_eq!(files(&folder), ["run.json"]);
}

#[test]
fn a_demos_timeline_has_every_launch() {
    let folder = Folder::new();
    let trace = at(&folder, "demo.json");
    let args =
        ["demo", "--backend", "emulator", "--only", "value/hiplaunch", "--launches", "20", "--trace", &trace];
    let (status, out, err) = hiplaunch(&args);
    assert_eq!((status, err.as_str()), (0, ""), "{out}");
    let spans = spans(&trace);
    assert_eq!(spans.iter().filter(|(pid, name, _)| *pid == 2 && name == "bench_value_64").count(), 20);
    let launches = spans.iter().filter(|(pid, name, _)| *pid == 1 && name == "hipModuleLaunchKernel");
    assert_eq!(launches.count(), 20);
    assert!(spans.iter().any(|(pid, name, _)| *pid == 1 && name == "value/hiplaunch"));

    // All rows, also on the launchers that count calls.
    let (status, out, err) = hiplaunch(&[
        "demo",
        "--backend",
        "emulator",
        "--launches",
        "2",
        "--explain",
        "--json",
        "--trace",
        &trace,
    ]);
    assert_eq!((status, err.as_str()), (0, ""), "{out}");
    let spans = self::spans(&trace);
    for name in ["value/hiplaunch: calls counted", "value/naive: round 1", "batches of operations"] {
        assert!(spans.iter().any(|(pid, n, _)| *pid == 1 && n == name), "{name}");
    }
}

#[test]
fn a_fault_has_a_timeline_and_the_next_driver_a_device_of_its_own() {
    let folder = Folder::new();
    let trace = at(&folder, "fault.json");
    let (fault, good) = (data("fault.launch.toml"), data("saxpy.launch.toml"));
    let (status, out, _) = hiplaunch(&["run", "--backend", "emulator", &fault, &good, "--trace", &trace]);
    assert_eq!(status, 1, "{out}");
    let spans = spans(&trace);
    assert!(spans.iter().any(|(_, _, args)| args["error"].as_str().is_some_and(|e| e.contains("700"))));
    assert!(spans.iter().any(|(pid, name, _)| *pid > 1 && name == "saxpy"), "{spans:?}");
}

#[test]
fn a_timeline_that_cannot_be_written_is_reported_and_leaves_nothing() {
    let folder = Folder::new();
    let script = data("saxpy.launch.toml");
    let nowhere = at(&folder, "none/trace.json");
    let (status, out, err) = hiplaunch(&["run", &script, "--backend", "emulator", "--trace", &nowhere]);
    assert_eq!((status, out.as_str()), (3, ""), "known before the work is done");
    assert!(err.contains("cannot write the output") && err.contains("none/trace.json"), "{err}");

    let (status, _, err) = hiplaunch(&["run", &script, "--backend", "emulator", "--trace", "/dev/full"]);
    assert_eq!(status, 3);
    assert!(err.contains("/dev/full") && err.contains("No space left"), "{err}");
    // A timeline that fills the disk long before its end.
    let (status, _, err) =
        hiplaunch(&["demo", "--launches", "2", "--backend", "emulator", "--trace", "/dev/full"]);
    assert_eq!(status, 3);
    assert!(err.contains("/dev/full") && err.contains("No space left"), "{err}");

    // With unusable input, no file is written, and an existing file stays.
    let kept = folder.write("kept.json", "before");
    let (status, ..) = hiplaunch(&["demo", "--only", "no such case", "--trace", &kept]);
    assert_eq!((status, fs::read_to_string(&kept).unwrap().as_str()), (2, "before"));
    // An existing file also stays if stdout is a closed pipe.
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let (status, ..) = read(command(&["run", &script, "--trace", &kept]).stdout(full).output().unwrap());
    assert_eq!((status, fs::read_to_string(&kept).unwrap().as_str()), (3, "before"));
    assert_eq!(files(&folder), ["kept.json"]);
}
