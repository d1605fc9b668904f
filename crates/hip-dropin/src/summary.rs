//! What is said on stderr: at once when something goes wrong, and a summary when the process ends.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hip_driver::DriverError;

use crate::hiprtc;
use crate::process::Process;
use crate::version;

/// What was seen so far.
struct Seen {
    unsupported: BTreeMap<&'static str, u64>,
    faults: Vec<String>,
}

static SEEN: Mutex<Seen> = Mutex::new(Seen { unsupported: BTreeMap::new(), faults: Vec::new() });

fn seen() -> MutexGuard<'static, Seen> {
    SEEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes a message to stderr.
pub(crate) fn say(text: &str) {
    // A closed stderr can't be reported.
    let _ = writeln!(std::io::stderr().lock(), "hiplaunch: {text}");
}

/// Counts a call of a function that is not supported.
pub(crate) fn unsupported(name: &'static str) {
    *seen().unsupported.entry(name).or_default() += 1;
}

/// Reports a fault of a device, once: a program that ignores errors may wait for ever for what a lost device owes it.
pub(crate) fn fault(error: &DriverError) {
    let report = error.detail.as_deref().unwrap_or(error.code.advice());
    let mut seen = seen();
    if !seen.faults.iter().any(|known| known == report) {
        seen.faults.push(report.to_owned());
        say(&format!("{}: {report}", error.code));
    }
}

/// The summary of the process; empty if there is nothing to say.
fn summary(process: &Process) -> String {
    let mut text = String::new();
    let mut line = |indent: &str, what: std::fmt::Arguments<'_>| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "hiplaunch: {indent}{what}");
    };
    if let Some(counts) = process.counts() {
        line("", format_args!("driver calls: {}", counts.device_calls()));
        for (kind, count) in counts.iter().filter(|(kind, count)| *count > 0 && kind.is_device_call()) {
            line("  ", format_args!("{count:>10} {}", kind.name()));
        }
        let (compiled, cached) = hiprtc::counts();
        if compiled + cached > 0 {
            line("", format_args!("kernels: {compiled} compiled by hiprtc, {cached} from the cache"));
        }
    }
    if let Some(layer) = &process.validation {
        let (violations, leaks) = (layer.take_violations(), layer.report_leaks());
        line("", format_args!("validation: {} violations, {} leaks", violations.len(), leaks.len()));
        violations.iter().for_each(|violation| line("  ", format_args!("{violation}")));
        leaks.iter().for_each(|leak| line("  ", format_args!("{leak}")));
    }
    let seen = seen();
    if !seen.unsupported.is_empty() {
        line("", format_args!("functions that were called and are not supported:"));
        for (name, count) in &seen.unsupported {
            line("  ", format_args!("{count:>10} {name}"));
        }
    }
    if !seen.faults.is_empty() {
        line("", format_args!("devices were lost by {} faults, which are reported above", seen.faults.len()));
    }
    text
}

/// Runs after the program's destructors: the loader finishes a program before its libraries.
extern "C" fn at_exit() {
    let Some(process) = Process::opened() else { return };
    if version::is_isolated() {
        return;
    }
    process.write_trace();
    process.destroy_helpers();
    // A closed stderr can't be reported.
    let _ = std::io::stderr().lock().write_all(summary(process).as_bytes());
}

#[used]
#[unsafe(link_section = ".fini_array")]
static AT_EXIT: extern "C" fn() = at_exit;
