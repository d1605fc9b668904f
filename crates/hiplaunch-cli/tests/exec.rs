//! `hiplaunch exec` with programs that hipcc compiles: those of crates/hip-dropin/tests/programs.
//!
//! Where hipcc is absent, the tests of compiled programs print that they are skipped.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, OnceLock, PoisonError};

const PROGRAMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../hip-dropin/tests/programs");

/// Compiles a program, or a code object with `--genco`; `None` without hipcc.
fn compiled(name: &str, options: &[&str], output: &str) -> Option<PathBuf> {
    static HIPCC: OnceLock<bool> = OnceLock::new();
    let found = HIPCC
        .get_or_init(|| Command::new("hipcc").arg("--version").output().is_ok_and(|o| o.status.success()));
    if !found {
        println!("skipped: no hipcc");
        return None;
    }
    let output = Path::new(env!("CARGO_TARGET_TMPDIR")).join(output);
    // Several tests use a program, at the same time: it is compiled once.
    static COMPILED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
    let mut done = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    if done.contains(&output) {
        return Some(output);
    }
    let built = Command::new("hipcc")
        .args(["-w", "-O1"])
        .args(options)
        .arg("-o")
        .arg(&output)
        .arg(Path::new(PROGRAMS).join(name))
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    done.push(output.clone());
    Some(output)
}

fn program(name: &str) -> Option<PathBuf> {
    compiled(name, &["--offload-arch=gfx90a"], name.trim_end_matches(".hip"))
}

/// A program for HIP 7: it asks for the library by that version's name.
fn hip_7(name: &str) -> Option<PathBuf> {
    let program = program(name)?;
    let mut bytes = std::fs::read(&program).unwrap();
    let (old, new) = (b"libamdhip64.so.5\0", b"libamdhip64.so.7\0");
    let at = bytes.windows(old.len()).position(|bytes| bytes == old).expect("the name of HIP 5");
    bytes[at..at + new.len()].copy_from_slice(new);
    let changed = program.with_extension("7");
    std::fs::write(&changed, bytes).unwrap();
    std::fs::set_permissions(&changed, std::fs::metadata(&program).unwrap().permissions()).unwrap();
    Some(changed)
}

fn exec(options: &[&str], program: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hiplaunch"));
    command.arg("exec").args(options).arg("--").args(program);
    // The tests' own environment asks for nothing.
    for variable in ["HIPLAUNCH_VALIDATE", "HIPLAUNCH_EMULATOR_DEVICES", "HIPLAUNCH_EMULATOR_TARGET"] {
        command.env_remove(variable);
    }
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What a program prints on the emulator is what it prints on AMD's library 5.2.3, with nothing on stderr.
#[track_caller]
fn prints(program: &[&str], expected: &str) {
    let ran = exec(&[], program);
    assert_eq!(text(&ran.stdout), std::fs::read_to_string(Path::new(PROGRAMS).join(expected)).unwrap());
    assert_eq!(text(&ran.stderr), "");
    assert_eq!(ran.status.code(), Some(0));
}

#[test]
fn a_program_prints_what_it_prints_on_amds_library() {
    let Some(basics) = program("basics.hip") else { return };
    prints(&[basics.to_str().unwrap()], "basics.expected");
}

#[test]
fn modules_and_graphs_work_as_on_amds_library() {
    let Some(program) = program("modules.hip") else { return };
    let object = compiled("modules.hip", &["--offload-arch=gfx90a", "--genco"], "modules.co").unwrap();
    prints(&[program.to_str().unwrap(), object.to_str().unwrap()], "modules.expected");
}

#[test]
fn captured_work_runs_when_its_graph_is_launched() {
    let Some(capture) = program("capture.hip") else { return };
    prints(&[capture.to_str().unwrap()], "capture.expected");
}

/// AMD's library 5.2.3 does not refuse what later versions do, and can't update a graph so.
#[test]
fn captures_refuse_what_would_wait_for_them() {
    let Some(capture) = program("capture.hip") else { return };
    prints(&[capture.to_str().unwrap(), "all"], "capture_all.expected");
    let ran = exec(&["--validate"], &[capture.to_str().unwrap(), "all"]);
    assert!(text(&ran.stderr).contains("validation: 0 violations, 0 leaks"), "{}", text(&ran.stderr));
}

/// As AMD's library 7.2.4 prints.
#[test]
fn graphs_allocate_and_can_be_updated_in_many_ways() {
    let Some(nodes) = hip_7("graph_nodes.hip") else { return };
    prints(&[nodes.to_str().unwrap()], "graph_nodes.expected");
    let ran = exec(&["--validate"], &[nodes.to_str().unwrap()]);
    assert!(text(&ran.stderr).contains("validation: 0 violations, 0 leaks"), "{}", text(&ran.stderr));
}

/// As AMD's library 7.2.4 does, but for the launch of a graph on a captured stream: that library runs it at once.
#[test]
fn captures_take_allocations_graphs_and_dependencies_of_the_program() {
    let Some(captured) = hip_7("captured_memory.hip") else { return };
    prints(&[captured.to_str().unwrap()], "captured_memory.expected");
    let ran = exec(&["--validate"], &[captured.to_str().unwrap()]);
    assert!(text(&ran.stderr).contains("validation: 0 violations, 0 leaks"), "{}", text(&ran.stderr));
}

/// As AMD's library 7.2.4 does, but for the operations in batches, which it refuses without a GPU.
#[test]
fn streams_wait_for_values_of_memory_and_write_them() {
    let Some(operations) = hip_7("memory_operations.hip") else { return };
    prints(&[operations.to_str().unwrap()], "memory_operations.expected");
}

/// As AMD's library 7.2.4 does, but for memory of other processes, which it refuses without a GPU.
#[test]
fn libraries_batches_and_memory_of_other_processes_work() {
    let Some(program) = hip_7("libraries.hip") else { return };
    let object = compiled("libraries.hip", &["--offload-arch=gfx90a", "--genco"], "libraries.co").unwrap();
    prints(&[program.to_str().unwrap(), object.to_str().unwrap()], "libraries.expected");
}

#[test]
fn a_fault_is_reported_at_once_and_the_exit_status_is_the_programs() {
    let Some(fault) = program("fault.hip") else { return };
    let ran = exec(&[], &[fault.to_str().unwrap()]);
    let (out, err) = (text(&ran.stdout), text(&ran.stderr));
    assert_eq!(ran.status.code(), Some(7), "{err}");
    assert!(out.contains("sticky: hipErrorIllegalAddress\nlater: hipErrorIllegalAddress\n"), "{out}");
    assert!(
        err.contains("out-of-bounds write of 4 bytes") && err.contains("3936 bytes past the end"),
        "{err}"
    );
    assert!(err.contains("not supported:") && err.contains("1 hipMallocArray"), "{err}");
}

#[test]
fn validation_counts_and_a_trace_are_written_when_they_are_asked_for() {
    let Some(basics) = program("basics.hip") else { return };
    let trace = Path::new(env!("CARGO_TARGET_TMPDIR")).join("exec.json");
    let options = ["--validate", "--count", "--trace", trace.to_str().unwrap(), "--schedule-seed", "3"];
    let ran = exec(&options, &[basics.to_str().unwrap()]);
    let err = text(&ran.stderr);
    assert!(err.contains("validation: 0 violations, 0 leaks"), "{err}");
    assert!(err.lines().any(|line| line.ends_with(" 11 hipModuleLaunchKernel")), "{err}");
    let trace: serde_json::Value = serde_json::from_slice(&std::fs::read(trace).unwrap()).unwrap();
    assert!(trace.to_string().contains("saxpy"));
}

#[test]
fn the_validation_layer_finds_races_uses_of_freed_memory_and_leaks() {
    let Some(mistakes) = program("mistakes.hip") else { return };
    let ran = exec(&["--validate"], &[mistakes.to_str().unwrap()]);
    let err = text(&ran.stderr);
    assert!(err.contains("validation: 2 violations, 1 leaks"), "{err}");
    assert!(err.contains("race: hipMemcpyDtoHAsync") && err.contains("hipMemsetD8Async"), "{err}");
    assert!(err.contains("hipModuleLaunchKernel") && err.contains("freed"), "{err}");
    assert!(err.contains("256 bytes") && err.contains("was never freed"), "{err}");
    let quiet = exec(&[], &[mistakes.to_str().unwrap()]);
    assert_eq!((text(&quiet.stdout).as_str(), text(&quiet.stderr).as_str()), ("launch: hipSuccess\n", ""));
}

#[test]
fn a_program_without_code_for_an_emulated_target_says_which_it_has() {
    let Some(basics) = compiled("basics.hip", &["--offload-arch=gfx940"], "basics940") else { return };
    let ran = exec(&[], &[basics.to_str().unwrap()]);
    let err = text(&ran.stderr);
    assert!(err.contains("gfx940") && err.contains("--target"), "{err}");
    assert!(text(&ran.stdout).contains("hipErrorNoBinaryForGpu"), "{}", text(&ran.stdout));
}

#[test]
fn several_devices_are_seen_by_children() {
    let Some(devices) = program("devices.hip") else { return };
    let command = format!("{} && echo done", devices.display());
    let ran = exec(&["--devices", "3", "--target", "gfx90a:xnack-"], &["sh", "-c", &command]);
    let expected = "3 devices, gfx90a:sramecc+:xnack-, peer copy 42, on device 2\ndone\n";
    assert_eq!((text(&ran.stdout).as_str(), text(&ran.stderr).as_str()), (expected, ""));
}

#[test]
fn forks_threads_and_destructors_after_main_are_defined() {
    let Some(program) = program("process.hip") else { return };
    let ran = exec(&[], &[program.to_str().unwrap()]);
    let expected = "fork before: hipSuccess\nfork after: hipErrorNotInitialized\nthreads: 19\n\
                    last error of a new thread: hipSuccess\ndestructor: hipSuccess\n";
    assert_eq!(text(&ran.stdout), expected);
    assert!(text(&ran.stderr).contains("forked after its first HIP call"), "{}", text(&ran.stderr));
    assert_eq!(ran.status.code(), Some(0));
}

#[test]
fn the_hip_version_is_that_of_the_name_by_which_the_library_is_loaded() {
    let script = "import ctypes, sys\n\
                  hip = ctypes.CDLL(sys.argv[1])\n\
                  version = ctypes.c_int()\n\
                  hip.hipRuntimeGetVersion(ctypes.byref(version))\n\
                  hip.hipGetErrorString.restype = ctypes.c_char_p\n\
                  print(version.value // 10000000, hip.hipGetErrorString(2).decode())";
    if Command::new("python3").arg("--version").output().is_err() {
        return println!("skipped: no python3");
    }
    let versions = [
        ("libamdhip64.so.5", "5 hipErrorOutOfMemory\n"),
        ("libamdhip64.so.6", "6 out of memory\n"),
        ("libamdhip64.so.7", "7 out of memory\n"),
        ("libamdhip64.so", "7 out of memory\n"),
    ];
    for (name, expected) in versions {
        let ran = exec(&[], &["python3", "-c", script, name]);
        assert_eq!((text(&ran.stdout).as_str(), text(&ran.stderr).as_str()), (expected, ""), "{name}");
    }
}

#[test]
fn standard_streams_and_signals_are_the_programs() {
    let ran = exec(&[], &["sh", "-c", "echo out; echo err >&2; kill -TERM $$"]);
    assert_eq!((text(&ran.stdout).as_str(), text(&ran.stderr).as_str()), ("out\n", "err\n"));
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ran.status), Some(15));
}

#[test]
fn a_missing_program_or_library_is_an_error_that_says_so() {
    let ran = exec(&[], &["/nonexistent/program"]);
    assert_eq!(ran.status.code(), Some(2));
    assert!(text(&ran.stderr).contains("/nonexistent/program can't be run"), "{}", text(&ran.stderr));
    let mut command = Command::new(env!("CARGO_BIN_EXE_hiplaunch"));
    let ran =
        command.env("HIPLAUNCH_LIBAMDHIP64", "/nonexistent/library").args(["exec", "true"]).output().unwrap();
    assert_eq!(ran.status.code(), Some(2));
    let err = text(&ran.stderr);
    assert!(err.contains("/nonexistent/library") && err.contains("cargo build --release"), "{err}");
}

#[test]
fn a_setting_that_is_not_understood_is_named() {
    let Some(devices) = program("devices.hip") else { return };
    let ran = exec(&["--devices", "1000"], &[devices.to_str().unwrap()]);
    assert!(text(&ran.stderr).contains("1000 emulated devices: 1 to 64"), "{}", text(&ran.stderr));
}

#[test]
fn ten_thousand_kernels_are_registered_quickly() {
    let Some(register) = program("register.hip") else { return };
    let ran = exec(&[], &[register.to_str().unwrap()]);
    let out = text(&ran.stdout);
    let milliseconds: f64 = out.trim().strip_suffix(" ms").and_then(|text| text.parse().ok()).expect(&out);
    // 50 ms in a build with optimisations; tests have none.
    assert!(milliseconds < 500.0, "{milliseconds} ms");
}
