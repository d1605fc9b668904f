//! Options that only the emulator has: profiles, instruction traces, the sanitizer, schedule seeds.

use std::fs;

use super::{Folder, data, emulated, hiplaunch};

#[test]
fn a_profile_of_each_kernel() {
    let script = data("saxpy.launch.toml");
    let (status, out, err) = hiplaunch(&["run", &script, "--profile"]);
    assert_eq!((status, err.as_str()), (0, ""), "{out}");
    assert!(out.contains("; --profile asks for it"), "{out}");
    assert!(out.contains("saxpy: 1 launch, "), "{out}");
    assert!(out.contains("vmem_load") && out.contains("global ") && out.contains("limited by"), "{out}");
    // Without the option, nothing is counted.
    let (_, out, _) = hiplaunch(&emulated(&["run", &script]));
    assert!(!out.contains("vmem_load"), "{out}");
}

#[test]
fn a_trace_of_instructions() {
    let folder = Folder::new();
    let (script, trace) = (data("saxpy.launch.toml"), folder.0.join("instructions.txt"));
    let run = |filter: &str| {
        hiplaunch(&["run", &script, "--instruction-trace", trace.to_str().unwrap(), "--trace-filter", filter])
    };
    let (status, out, err) = run("kernel=saxpy,workgroup=0,wave=0");
    assert_eq!((status, err.as_str()), (0, ""), "{out}");
    let text = fs::read_to_string(&trace).unwrap();
    assert!(text.lines().all(|line| line.starts_with("saxpy (0,0,0) wave 0 0x")), "{text}");
    assert!(text.contains("global_store_dword") && text.contains("exec "), "{text}");
    let (status, _, err) = run("limit=3");
    assert_eq!(status, 0);
    assert!(err.contains("not complete") && err.contains("limit=N"), "{err}");
    assert_eq!(fs::read_to_string(&trace).unwrap().lines().count(), 3);
    // A filter that matches nothing writes an empty file.
    assert_eq!(run("kernel=other").0, 0);
    assert_eq!(fs::read_to_string(&trace).unwrap(), "");
    let (status, _, err) = run("colour=red");
    assert!(status == 2 && err.contains("colour=red") && err.contains("mnemonic="), "{err}");
}

#[test]
fn a_race_is_a_failure_and_the_next_script_runs() {
    let (race, saxpy) = (data("race.launch.toml"), data("saxpy.launch.toml"));
    let (status, out, _) = hiplaunch(&emulated(&["run", &race, &saxpy]));
    assert_eq!(status, 0, "{out}");
    let (status, out, _) = hiplaunch(&["run", &race, &saxpy, "--sanitize"]);
    assert_eq!(status, 1, "{out}");
    assert!(out.contains("data race in global memory") && out.contains("last_writer+"), "{out}");
    assert!(out.contains("1 passed, 1 failed"), "{out}");
    let (status, out, _) = hiplaunch(&["run", &saxpy, "--sanitize", "--hazards"]);
    assert_eq!(status, 0, "{out}");
}

#[test]
fn seeds_change_no_result_without_races() {
    let script = data("saxpy.launch.toml");
    for seed in ["1", "18446744073709551615"] {
        let (status, out, _) = hiplaunch(&["run", &script, "--schedule-seed", seed, "--validate"]);
        assert_eq!(status, 0, "{out}");
    }
}

#[test]
fn options_of_the_emulator_are_refused_on_hip() {
    let script = data("saxpy.launch.toml");
    for option in [
        &["--profile"][..],
        &["--sanitize"],
        &["--bounds", "pages"],
        &["--schedule-seed", "1"],
        &["--time-budget", "1"],
        &["--instruction-budget", "9"],
        &["--dynamic-stack", "64"],
    ] {
        let (status, _, err) = hiplaunch(&[&["run", &script, "--backend", "hip"], option].concat());
        assert!(status == 2 && err.contains(option[0]) && err.contains("--backend emulator"), "{err}");
    }
}
