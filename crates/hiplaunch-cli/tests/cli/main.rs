//! Runs the built program: its output, its exit status, and that invalid input causes no panic.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;

mod compile;
mod faults;
mod help;
mod inspect;
mod json;
mod pool;
mod printing;
mod progress;
mod writing;

mod timeline;
mod watching;

/// A folder of one test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("hiplaunch-cli-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        fs::write(&path, contents).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn data(name: &str) -> String {
    let path = hiplaunch_testing::root().join("tests/data").join(name);
    path.to_str().unwrap().to_owned()
}

fn hip(name: &str) -> String {
    let path = hiplaunch_testing::root().join("hip").join(name);
    path.to_str().unwrap().to_owned()
}

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hiplaunch"));
    for variable in [
        "HIPLAUNCH_BACKEND",
        "HIPLAUNCH_VALIDATE",
        "HIPLAUNCH_LOG",
        "RUST_LOG",
        "NO_COLOR",
        "CLICOLOR",
        "CLICOLOR_FORCE",
    ] {
        command.env_remove(variable);
    }
    command.args(args);
    command
}

/// Runs the program. Returns the exit status, stdout and stderr.
fn hiplaunch(args: &[&str]) -> (i32, String, String) {
    read(command(args).output().unwrap())
}

fn read(output: Output) -> (i32, String, String) {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().expect("it ends by itself"), text(output.stdout), text(output.stderr))
}

fn emulated<'a>(args: &[&'a str]) -> Vec<&'a str> {
    args.iter().copied().chain(["--backend", "emulator", "--validate"]).collect()
}

#[test]
fn scripts_that_pass() {
    let (status, out, err) =
        hiplaunch(&emulated(&["run", &data("saxpy.launch.toml"), &data("args.launch.toml")]));
    assert_eq!((status, err.as_str()), (0, ""), "{out}");
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines[0].contains("driver validation over emulated"), "{out}");
    assert!(
        lines[1].starts_with("PASS") && lines[1].contains("saxpy") && lines[1].contains("1 launch"),
        "{out}"
    );
    assert!(lines[1].contains("512 bytes compared"), "{out}");
    assert!(lines[2].starts_with("PASS") && lines[2].contains("2 launches"), "{out}");
    assert_eq!(lines[3..], ["2 passed, 0 failed"]);
}

#[test]
fn an_expectation_that_is_not_met() {
    let (status, out, _) =
        hiplaunch(&emulated(&["run", &data("wrong.launch.toml"), &data("saxpy.launch.toml")]));
    assert_eq!(status, 1, "{out}");
    assert!(out.contains("FAIL"), "{out}");
    assert!(out.contains("buffer `y`: 2 of 128 f32 elements differ from"), "{out}");
    // y[3] is 1.75 * -5 + 1.5, and the file has that plus 1.
    assert!(out.contains("[ 3]  got") && out.contains("want -6.25"), "{out}");
    assert!(out.contains("[99]") && out.contains("want NaN"), "{out}");
    assert!(out.ends_with("1 passed, 1 failed\n"), "{out}");

    let (status, out, _) = hiplaunch(&emulated(&["run", "--differences", "1", &data("wrong.launch.toml")]));
    assert_eq!(status, 1);
    assert!(out.contains("... and 1 more") && !out.contains("[99]"), "{out}");
}

#[test]
fn another_code_object() {
    let folder = Folder::new();
    let folder_name = folder.0.to_str().unwrap();
    let vector = hip("vector.gfx90a.co");
    let saxpy = data("saxpy.launch.toml");
    let (status, out, _) = hiplaunch(&emulated(&["run", &saxpy, "--code-object", &vector]));
    assert_eq!(status, 0, "{out}");

    // One pattern for many scripts: with the script's name, its directory, and its own code object.
    fs::copy(&vector, folder.0.join("vector.other.co")).unwrap();
    let elsewhere = format!("{folder_name}/{{stem}}.other.co");
    // A path that exists relative to the script, and not to the current directory.
    for pattern in [&elsewhere, "{dir}/../../hip/{stem}.gfx90a.co", "{}.co", "../../hip/{stem}.gfx90a.co"] {
        let run = emulated(&["run", &saxpy, "--code-object", pattern]);
        let output = command(&run).current_dir(&folder.0).output().unwrap();
        let (status, out, _) = read(output);
        assert_eq!(status, 0, "{pattern}: {out}");
    }

    // The error for a code object without the kernel lists its kernels.
    let (status, out, _) = hiplaunch(&emulated(&["run", &saxpy, "--code-object", &hip("reduce.gfx90a.co")]));
    assert_eq!(status, 2, "{out}");
    assert!(out.contains("saxpy") && out.contains("reduce_sum_f32"), "{out}");
    // For a code object of another target, that target is emulated, unless an option chooses the target.
    let gfx942 = ["run", &saxpy, &saxpy, "--code-object", &hip("vector.gfx942.co")];
    let (status, out, _) = hiplaunch(&emulated(&gfx942));
    assert_eq!(status, 0, "{out}");
    assert_eq!(out.matches("saxpy.launch.toml is for it").count(), 1, "{out}");
    let (status, out, _) = hiplaunch(&[&gfx942[..], &["--target", "gfx90a"]].concat());
    assert_eq!(status, 2, "{out}");
    assert!(out.contains("gfx942") && out.contains("gfx90a"), "{out}");
    let (status, out, _) = hiplaunch(&emulated(&["run", &saxpy, "--code-object", "none.co"]));
    assert_eq!(status, 2, "{out}");
    assert!(out.contains("none.co: cannot be read") && out.contains("; check its name"), "{out}");
    let (status, out, _) = hiplaunch(&emulated(&["run", &saxpy, "--code-object", folder_name]));
    assert_eq!(status, 2, "{out}");
    assert!(out.contains("no regular file"), "{out}");
}

#[test]
fn input_that_cannot_be_used() {
    let folder = Folder::new();
    let good = fs::read_to_string(data("saxpy.launch.toml")).unwrap();
    for name in ["saxpy.x.bin", "saxpy.y.bin", "saxpy.y.expected.bin"] {
        fs::copy(data(name), folder.0.join(name)).unwrap();
    }
    fs::copy(hip("vector.gfx90a.co"), folder.0.join("v.co")).unwrap();
    fs::write(folder.0.join("bad.co"), &fs::read(hip("vector.gfx90a.co")).unwrap()[..100]).unwrap();
    let good = good.replace("../../hip/vector.gfx90a.co", "v.co");
    let path = folder.write("good.launch.toml", &good);
    let (status, out, _) = hiplaunch(&emulated(&["run", &path]));
    assert_eq!(status, 0, "{out}");

    for (name, from, to, words) in [
        ("toml", "version = 1", "version =", "bad.launch.toml:1:"),
        ("unknown", "grid =", "grids =", "`launches[0].grids`: unknown key"),
        ("kernel", "kernel = \"saxpy\"", "kernel = \"saxpi\"", "saxpy"),
        ("object", "\"v.co\"", "\"bad.co\"", "bad.co"),
        ("missing", "\"v.co\"", "\"w.co\"", "`code_object`"),
        ("count", ", { i32 = 100 }", "", "takes 4 arguments, got 3"),
        ("size", "{ i32 = 100 }", "{ i64 = 100 }", "is 4 bytes, got 8"),
        ("kind", "{ buffer = \"x\" }", "{ u64 = 4096 }", "argument 1"),
        ("block", "block = [64, 1, 1]", "block = [64, 64, 64]", "block [64, 64, 64]"),
        ("lds", "block = [64, 1, 1]", "block = [64, 1, 1]\nlds = 1000000", "LDS"),
    ] {
        let path = folder.write("bad.launch.toml", good.replacen(from, to, 1));
        let (status, out, err) = hiplaunch(&emulated(&["run", &path]));
        assert_eq!((status, err.as_str()), (2, ""), "{name}: {out}");
        assert!(out.contains("ERROR") && out.contains(words), "{name}: {out}");
        assert!(out.ends_with("0 passed, 0 failed, 1 unusable\n"), "{name}: {out}");
    }
    let (status, out, _) = hiplaunch(&emulated(&["run", "none.launch.toml"]));
    assert_eq!(status, 2);
    assert!(out.contains("cannot be read"), "{out}");
}

#[test]
fn a_fault_is_reported_and_the_next_script_runs() {
    let (status, out, _) =
        hiplaunch(&emulated(&["run", &data("fault.launch.toml"), &data("saxpy.launch.toml")]));
    assert_eq!(status, 1, "{out}");
    assert!(out.contains("oob_store"), "{out}");
    assert!(out.ends_with("1 passed, 1 failed\n"), "{out}");
}

#[test]
fn reports_as_json() {
    let args = emulated(&["run", "--json", &data("wrong.launch.toml")])
        .iter()
        .map(|s| s.to_string())
        .collect::<Vec<_>>();
    let (status, out, _) = hiplaunch(&args.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(status, 1);
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(report["totals"]["failed"], 1);
    let expectation = &report["scripts"][0]["expectations"][0];
    assert_eq!((&expectation["mismatches"], &expectation["first"][0]["index"]), (&2.into(), &3.into()));

    let (status, out, _) = hiplaunch(&["info", "--json"]);
    assert_eq!(status, 0);
    let info: Value = serde_json::from_str(&out).unwrap();
    let drivers = info["drivers"].as_array().unwrap();
    let emulator = drivers.iter().find(|d| d["backend"] == "emulator").unwrap();
    assert_eq!(emulator["available"], true);
    assert_eq!(emulator["devices"][0]["wavefront_size"], 64);
    assert!(drivers.iter().any(|d| d["backend"] == "hip"));
}

#[test]
fn info_for_people() {
    let (status, out, _) = hiplaunch(&["info"]);
    assert_eq!(status, 0, "{out}");
    for words in ["driver hip", "driver emulator", "gfx90a", "64 KiB of LDS"] {
        assert!(out.contains(words), "{out}");
    }
}

/// The device calls of every row, which the README and BENCHMARKS.md quote.
#[test]
fn the_demo_counts_its_calls() {
    let (status, out, err) = hiplaunch(&["demo", "--launches", "20", "--backend", "emulator", "--json"]);
    assert_eq!((status, err.as_str()), (0, ""), "{out}");
    let report: Value = serde_json::from_str(&out).unwrap();
    let rows = report["rows"].as_array().unwrap();
    // Results are read sixteen at a time, with one wait in the place of the last launch's event; or one by one.
    for (name, calls) in [
        ("value/naive", 5.0),
        ("value/hiplaunch", 1.0 + 1.0 / 16.0),
        ("result/naive", 8.0),
        ("result/hiplaunch", 3.0),
        ("block/naive", 8.0),
        ("block/hiplaunch", 4.0),
        ("unchanged/naive", 8.0),
        ("unchanged/hiplaunch", 3.0),
        ("mapped/naive", 8.0),
        ("mapped/hiplaunch", 2.0),
        ("graph/naive", 8.0),
        ("graph/hiplaunch", 4.0 / 16.0),
        ("result-each/hiplaunch", 3.0),
        ("block-each/naive", 8.0),
        ("block-each/hiplaunch", 4.0),
        ("unchanged-each/hiplaunch", 3.0),
        ("mapped-each/hiplaunch", 2.0),
    ] {
        let row = rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("{name}"));
        assert_eq!(row["calls_per_launch"]["calls"], calls, "{name}: {row:#}");
        assert!(row["microseconds_per_launch"].as_f64().unwrap() > 0.0, "{name}");
        if name.ends_with("/hiplaunch") {
            for none in ["alloc", "free"] {
                assert_eq!(row["calls_per_launch"][none], 0.0, "{name}: {row:#}");
            }
        }
    }
}

#[test]
fn the_demo_prints_a_table() {
    let (status, out, _) = hiplaunch(&emulated(&["demo", "--launches", "3"]));
    assert_eq!(status, 0, "{out}");
    let table: Vec<&str> = out.lines().skip_while(|line| !line.starts_with("case")).take(13).collect();
    assert_eq!(table.len(), 13, "{out}");
    assert!(
        table.iter().all(|line| line.len() == table[0].len() || line.ends_with(char::is_numeric)),
        "{out}"
    );
    assert!(!out.contains('\x1b'), "no colours where there is no terminal");
    assert!(!out.contains("destination"), "{out}");
    let (status, explained, _) = hiplaunch(&emulated(&["demo", "--launches", "3", "--explain"]));
    assert_eq!(status, 0, "{explained}");
    for text in ["\nblock/hiplaunch", "\nnaive ", "\ndestination ", "\nhanded on "] {
        assert!(explained.contains(text), "{text}: {explained}");
    }
}

#[test]
fn one_case_of_the_demo() {
    let (status, list, _) = hiplaunch(&["demo", "--only", "list"]);
    assert_eq!((status, list.lines().count()), (0, 20), "{list}");
    for name in list.lines().filter_map(|line| line.split_whitespace().next()) {
        let (status, out, err) = hiplaunch(&emulated(&["demo", "--only", name, "--launches", "40"]));
        assert_eq!((status, err.as_str()), (0, ""), "{name}: {out}");
        assert!(out.contains(&format!("{name}: 40 launches")), "{out}");
    }
    let (status, _, err) = hiplaunch(&["demo", "--only", "value"]);
    assert_eq!(status, 2);
    assert!(err.contains("value/hiplaunch"), "{err}");
}

#[test]
fn the_emulator_has_as_many_devices_as_the_option_or_the_environment_says() {
    let args = ["demo", "--only", "value/hiplaunch", "--launches", "1", "--device", "2"];
    for extra in [&["--devices", "3"][..], &["--devices", "3", "--target", "gfx942"]] {
        let (status, out, err) = hiplaunch(&[&args, extra].concat());
        assert_eq!((status, err.as_str()), (0, ""), "{out}");
    }
    let run = |devices| {
        let mut command = command(&[&args[..], &["--backend", "emulator"]].concat());
        read(command.env("HIPLAUNCH_EMULATOR_DEVICES", devices).output().unwrap())
    };
    assert_eq!(run("4").0, 0);
    assert_eq!(run("2").0, 2);
}

/// Every command that opens the emulator obeys its variables, and refuses values that are not understood.
#[test]
fn the_environment_sets_the_emulator_for_every_command() {
    let demo = ["demo", "--only", "value/hiplaunch", "--launches", "1", "--backend", "emulator"];
    for (args, names_target) in [
        (&demo[..], false),
        (&["demo", "--only", "value/hiplaunch", "--launches", "1", "--devices", "2"], false),
        (&["bench", "--quick", "--rounds", "2", "--backend", "emulator", "--filter", "args/64B/"], false),
    ] {
        let run = |variable, value| read(command(args).env(variable, value).output().unwrap());
        let (status, out, err) = run("HIPLAUNCH_EMULATOR_TARGET", "gfx942:xnack+");
        assert_eq!(status, 0, "{args:?}: {err}");
        assert!(!names_target || out.contains("gfx942:sramecc+:xnack+"), "{args:?}: {out}");
        for setting in hip_driver_emulated::SETTINGS {
            let (status, _, err) = run(setting.variable, "nonsense");
            assert_eq!(status, 2, "{args:?}: {err}");
            let expected = format!("{}=nonsense is not {}", setting.variable, setting.expected);
            assert!(err.contains(&expected), "{args:?}: {err}");
        }
    }
}

/// Each setting of the emulator is an option, whose value has to be understood.
#[test]
fn the_command_line_sets_the_emulator() {
    let script = data("saxpy.launch.toml");
    for setting in hip_driver_emulated::SETTINGS {
        let option = format!("--{}", setting.name.replace('_', "-"));
        for command in [&["run", &script][..], &["exec"]] {
            let wrong = format!("{option}=nonsense");
            let (status, _, err) = hiplaunch(&[command, &[&wrong, "--", "true"]].concat());
            let says = err.contains(&format!("{wrong} is not {}", setting.expected))
                || err.contains(&option) && setting.words.iter().all(|word| err.contains(word));
            assert!(status == 2 && says, "{err}");
        }
        if !setting.default.is_empty() && setting.name != "threads" {
            let given = format!("{option}={}", setting.default);
            let (status, out, err) = hiplaunch(&["run", &script, &given]);
            assert!(status == 0 && out.contains(&format!("{option} ")), "{out}{err}");
        }
    }
}

#[test]
fn wrong_command_lines() {
    for (args, words) in [
        (&["run"][..], "FILE"),
        (&["frob"], "frob"),
        (&["run", "x", "--backend", "cuda"], "emulator"),
        (&["demo", "--launches", "0"], "--launches"),
        (&["demo", "--backend", "emulator", "--device", "7"], "--device 7"),
        (&["demo", "--target", "gfx1010"], "gfx1010"),
        (&["demo", "--target", "gfx1100:xnack+"], "gfx1100:xnack+"),
        (&["demo", "--target", "gfx942", "--backend", "hip"], "--backend emulator"),
        (&["demo", "--devices", "2", "--backend", "hip"], "--devices is for the emulator"),
        (&["demo", "--devices", "65"], "1 to 64"),
    ] {
        let (status, out, err) = hiplaunch(args);
        assert_eq!((status, out.as_str()), (2, ""), "{args:?}: {err}");
        assert!(err.contains(words), "{args:?}: {err}");
    }
    let output = command(&["info"]).env("HIPLAUNCH_BACKEND", "cuda").output().unwrap();
    let (status, out, _) = read(output);
    assert_eq!(status, 2);
    assert!(out.contains("HIPLAUNCH_BACKEND=cuda"), "{out}");
}

#[test]
fn the_log_says_which_driver_and_why() {
    let run = |level: &str| {
        let output =
            command(&["demo", "--only", "value/hiplaunch", "--launches", "1", "--backend", "emulator"])
                .env("HIPLAUNCH_LOG", level)
                .output()
                .unwrap();
        read(output).2
    };
    assert!(run("info").contains("INFO") && run("info").contains("emulated"));
    assert_eq!(run("warn"), "");
    assert!(run("loud").contains("`loud` is no level"));
    let (_, _, err) =
        hiplaunch(&["demo", "--only", "value/hiplaunch", "--launches", "1", "--backend", "emulator", "-v"]);
    assert!(err.contains("using driver emulated"), "{err}");
}
