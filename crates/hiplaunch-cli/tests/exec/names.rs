//! The names of AMD's libraries: any of them in one process lead to one library.

use super::programs::*;
use std::process::Command;

/// glibc's loader ends in an assertion when it is asked for symbol versions of a name by which it does not know a library.
#[test]
fn any_two_names_in_one_process_are_one_library() {
    if Command::new("cc").arg("--version").output().is_err() {
        return println!("skipped: no cc");
    }
    let script = std::path::Path::new(PROGRAMS).join("names.sh");
    let ran = Command::new("bash").arg(script).arg(env!("CARGO_BIN_EXE_hiplaunch")).output().unwrap();
    let out = text(&ran.stdout);
    assert_eq!(out.lines().count(), 10 * 10 + 1, "{out}\n{}", text(&ran.stderr));
    for line in out.lines() {
        assert!(line.ends_with(": 0"), "{line}\n{out}");
        // A probe prints the number of devices, and 10 with a version of hiprtc.
        let probes = line.split_whitespace().filter(|word| ["1", "11"].contains(word)).count();
        assert!(probes > 0 || !line.contains("./lib"), "{line}");
    }
}
