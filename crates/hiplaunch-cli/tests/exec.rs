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

fn exec(options: &[&str], program: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hiplaunch"));
    command.arg("exec").args(options).arg("--").args(program);
    // The tests' own environment asks for nothing.
    for variable in [
        "HIPLAUNCH_BACKEND",
        "HIPLAUNCH_HIP_LIBRARY",
        "HIPLAUNCH_VALIDATE",
        "HIPLAUNCH_EMULATOR_DEVICES",
        "HIPLAUNCH_EMULATOR_TARGET",
        "HIPLAUNCH_EMULATOR_BOUNDS",
    ] {
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
fn kernels_that_step_past_an_allocation_run_with_bounds_of_pages() {
    let options = ["--offload-arch=gfx90a", "-gline-tables-only"];
    let Some(bounds) = compiled("bounds.hip", &options, "bounds") else { return };
    let bounds = bounds.to_str().unwrap();
    let ran = exec(&["--bounds", "pages", "--validate"], &[bounds]);
    let each = "hipSuccess\n1 63\nhipErrorInvalidValue hipErrorInvalidValue\n";
    assert_eq!(text(&ran.stdout), each.repeat(3), "{}", text(&ran.stderr));

    let ran = exec(&[], &[bounds]);
    assert!(text(&ran.stdout).starts_with("hipErrorIllegalAddress\n"), "{}", text(&ran.stdout));
    let err = text(&ran.stderr);
    assert!(
        err.contains("out-of-bounds read of 4 bytes") && err.contains("so does `--bounds pages`"),
        "{err}"
    );
    // The line of the kernel that reads it.
    assert!(err.contains("bounds.hip:6:"), "{err}");

    let ran = exec(&["--bounds", "pages", "--sanitize"], &[bounds]);
    let err = text(&ran.stderr);
    assert!(err.contains("read of never-written bytes") && err.contains("0 bytes past the end of"), "{err}");
}

#[test]
fn what_kernels_print_is_in_order_with_what_the_program_prints() {
    let Some(printing) = program("printing.hip") else { return };
    prints(&[printing.to_str().unwrap()], "printing.expected");
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

/// The folder with the library's names, as a program that `exec` starts sees it.
fn library_folder() -> PathBuf {
    let ran = exec(&[], &["sh", "-c", "printf %s \"$LD_LIBRARY_PATH\""]);
    PathBuf::from(text(&ran.stdout).split(':').next().unwrap())
}

#[test]
fn a_library_that_is_not_amds_is_an_error_and_is_not_called() {
    let own = library_folder().join("libamdhip64.so");
    let refused = |library: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hiplaunch"));
        command.args(["exec", "--backend", "hip", "--", "true"]).env("HIPLAUNCH_HIP_LIBRARY", library);
        let ran = command.output().unwrap();
        assert_eq!(ran.status.code(), Some(2));
        text(&ran.stderr)
    };
    assert!(refused(&own).contains("is hiplaunch's own library, not AMD's"));
    assert!(refused(Path::new("/nowhere/libamdhip64.so")).contains("/nowhere/libamdhip64.so"));
    // A program that is not started by the command gets the same from the library.
    let Some(mistakes) = program("mistakes.hip") else { return };
    for (library, reason) in [
        (own.to_str().unwrap(), "is hiplaunch's own library, not AMD's"),
        ("/nowhere/libamdhip64.so", "/nowhere/libamdhip64.so: cannot open shared object file"),
        (mistakes.to_str().unwrap(), "can't be loaded"),
    ] {
        let command =
            format!("HIPLAUNCH_BACKEND=hip HIPLAUNCH_HIP_LIBRARY={library} exec {}", mistakes.display());
        let ran = exec(&[], &["sh", "-c", &command]);
        assert_eq!(text(&ran.stdout), "launch: hipErrorNotInitialized\n");
        assert_eq!(text(&ran.stderr).matches(reason).count(), 1, "{}", text(&ran.stderr));
    }
}

#[test]
fn options_of_the_emulator_are_refused_over_amds_library() {
    for option in [["--target", "gfx90a"], ["--devices", "2"], ["--time-budget", "1"]] {
        let ran = exec(&[&["--backend", "hip"], &option[..]].concat(), &["true"]);
        assert_eq!(ran.status.code(), Some(2));
        assert!(text(&ran.stderr).contains(option[0]), "{}", text(&ran.stderr));
    }
}

/// `libamdhip64` for a machine without a GPU answers this much: that there is none.
#[test]
fn calls_reach_amds_library_and_are_counted() {
    let Some(mistakes) = program("mistakes.hip") else { return };
    let ran = exec(&["--backend", "hip", "--count"], &[mistakes.to_str().unwrap()]);
    let err = text(&ran.stderr);
    if err.contains("no usable libamdhip64") {
        println!("skipped: no libamdhip64");
        return;
    }
    assert!(err.contains("HIP calls: ") && err.contains("        2 hipDeviceSynchronize\n"), "{err}");
    assert!(err.contains("        1 __hipRegisterFatBinary\n"), "{err}");
}
