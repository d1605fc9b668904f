//! A right program is not accused, and a wrong one is.

use super::programs::*;

/// The layer knows order by host functions that have run, values in memory, and the waits that HIP documents.
#[test]
fn right_programs_have_no_violations() {
    let Some(program) = program("ordered.hip") else { return };
    for case in 0..=8 {
        let ran = exec(&["--validate"], &[program.to_str().unwrap(), &case.to_string()]);
        let (out, err) = (text(&ran.stdout), text(&ran.stderr));
        assert_eq!(out, if case == 5 { "1 hipSuccess\n" } else { "hipSuccess\n" }, "{case}: {err}");
        let is_right = err == "hiplaunch: validation: 0 violations, 0 leaks\n";
        assert_eq!(is_right, !matches!(case, 6 | 8), "{case}: {err}");
        assert!(is_right || err.contains("race: "), "{case}: {err}");
    }
}
