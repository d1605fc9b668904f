//! A fault reaches the program, whichever call waits for it.

use std::os::unix::process::ExitStatusExt;

use super::programs::*;

/// Every call that waits returns the error of what it waited for: each call of `waiting_calls.hip` times each fault.
/// On AMD's own library a fault ends the process, so it has no answer of its own.
#[test]
fn every_call_that_waits_returns_the_fault() {
    let Some(program) = program("waiting_calls.hip") else { return };
    for (fault, options, expected) in [
        ("trap", &["--devices", "2"][..], "hipErrorAssert"),
        ("bounds", &["--devices", "2"], "hipErrorIllegalAddress"),
        ("assert", &["--devices", "2"], "hipErrorAssert"),
        ("race", &["--devices", "2", "--sanitize"], "hipErrorLaunchFailure"),
    ] {
        let ran = exec(options, &[program.to_str().unwrap(), fault]);
        let out = text(&ran.stdout);
        assert!(out.lines().count() > 50, "{fault}: {out}\n{}", text(&ran.stderr));
        let hidden: Vec<&str> =
            out.lines().filter(|line| !line.ends_with(&format!(": {expected}"))).collect();
        assert!(hidden.is_empty(), "{fault}: not {expected}:\n{}", hidden.join("\n"));
    }
}

/// A program that waits for its callback or host function gets it, with the fault's error.
#[test]
fn callbacks_and_host_functions_behind_a_fault_are_called() {
    let Some(program) = program("callbacks_after_fault.hip") else { return };
    let ran = exec(&[], &["timeout", "60", program.to_str().unwrap()]);
    let out = text(&ran.stdout);
    let mut lines: Vec<&str> = out.lines().collect();
    // The two streams run at the same time.
    lines.sort_unstable();
    let expected = [
        "callback 0: hipErrorIllegalAddress",
        "callback 2: hipErrorIllegalAddress",
        "enqueued: hipSuccess hipSuccess hipSuccess hipSuccess hipSuccess hipSuccess",
        "event: hipErrorIllegalAddress",
        "function 1",
        "function 3",
        "later: hipErrorIllegalAddress",
        "other: hipErrorIllegalAddress",
    ];
    assert_eq!(lines, expected, "{}", text(&ran.stderr));
}

/// A program may map the memory that it registers read-only (llama.cpp does), and protect, unmap or shorten it later. A
/// kernel's access there is a fault with a report; on AMD's hardware it is one that names the address and ends the process.
#[test]
fn registered_memory_that_the_process_may_not_access_is_a_fault() {
    let Some(program) = program("refused.hip") else { return };
    let reads = ["load", "load1", "load2", "load8", "load16", "scattered", "scalar"];
    let writes =
        ["store", "store1", "store2", "store8", "store16", "apart", "part", "add", "add8", "swap", "swap8"];
    let all = |mode, kernels: &[&'static str]| kernels.iter().map(|k| (mode, *k)).collect::<Vec<_>>();
    let cases = [
        all("readonly", &writes),
        all("none", &reads),
        all("none", &["store", "add"]),
        all("second", &["scattered"]),
        all("unmapped", &["load", "store16"]),
        all("short", &["load", "store"]),
    ];
    for (mode, kernel) in cases.concat() {
        let ran = exec(&[], &[program.to_str().unwrap(), mode, kernel]);
        assert_eq!(text(&ran.stdout), "hipSuccess hipErrorIllegalAddress\n", "{mode} {kernel}: {ran:?}");
        let access = if writes.contains(&kernel) { "write" } else { "read" };
        let report = text(&ran.stderr);
        let first = format!("{access} of registered host memory at 0x");
        // An atomic of memory that may not even be read begins with its load.
        assert!(report.contains(&first) || (mode, kernel) == ("none", "add"), "{mode} {kernel}: {report}");
        assert!(report.contains("wave 0, pc 0x"), "{mode} {kernel}: {report}");
    }
    for (mode, kernel) in [("readonly", "load16"), ("readonly", "scalar"), ("", "add8"), ("second", "load16")]
    {
        let ran = exec(&[], &[program.to_str().unwrap(), mode, kernel]);
        assert_eq!(text(&ran.stdout), "hipSuccess hipSuccess\n", "{mode} {kernel}: {ran:?}");
    }
}

/// The same for copies and fills; and a copy to a device's address where nothing is allocated any more is an error.
#[test]
fn copies_of_memory_that_can_not_be_accessed_are_errors() {
    let Some(program) = program("refused.hip") else { return };
    let cases = [
        ("readonly", "set"),
        ("none", "copy in"),
        ("readonly", "copy out"),
        ("none", "copy few"),
        ("none", "copy later"),
    ];
    for (mode, kind) in cases {
        let ran = exec(&[], &[program.to_str().unwrap(), mode, kind]);
        let out = text(&ran.stdout);
        let error = out.strip_prefix("hipSuccess ").unwrap_or_else(|| panic!("{mode} {kind}: {ran:?}"));
        assert!(
            ["hipErrorIllegalAddress\n", "hipErrorInvalidValue\n"].contains(&error),
            "{mode} {kind}: {ran:?}"
        );
    }
    let ran = exec(&[], &[program.to_str().unwrap(), "", "freed"]);
    assert_eq!(text(&ran.stdout), "hipSuccess hipErrorInvalidValue\n", "{ran:?}");
}

/// What is no access of a kernel goes to the program's handler, or ends the process.
#[test]
fn a_programs_own_segmentation_faults_are_its_own() {
    let Some(program) = program("refused.hip") else { return };
    let ran = exec(&[], &[program.to_str().unwrap(), "own"]);
    assert_eq!((text(&ran.stdout), ran.status.code()), ("own handler\n".into(), Some(0)), "{ran:?}");
    let ran = exec(&[], &[program.to_str().unwrap(), "crash"]);
    assert_eq!(ran.status.signal(), Some(libc::SIGSEGV), "{ran:?}");
}
