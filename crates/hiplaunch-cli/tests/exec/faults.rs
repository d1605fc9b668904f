//! A fault reaches the program, whichever call waits for it.

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
