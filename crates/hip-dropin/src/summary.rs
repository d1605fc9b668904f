//! What is said on stderr: at once when something goes wrong, and a summary when the process ends.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hip_driver::DriverError;
use hip_driver_layers::validation::ValidationDriver;

use crate::interpose;
use crate::process::Process;

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

/// Writes the summary to stderr, if there is something to say: counts of calls with their title, and what the validation
/// layer found.
fn summarize(title: &str, counts: Option<Vec<(&str, u64)>>, validation: Option<&ValidationDriver>) {
    let mut text = String::new();
    let mut line = |indent: &str, what: std::fmt::Arguments<'_>| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "hiplaunch: {indent}{what}");
    };
    if let Some(counts) = counts {
        line("", format_args!("{title}: {}", counts.iter().map(|(_, count)| count).sum::<u64>()));
        for (name, count) in counts {
            line("  ", format_args!("{count:>10} {name}"));
        }
    }
    if let Some(layer) = validation {
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
    // A closed stderr can't be reported.
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Runs after the program's destructors: the loader finishes a program before its libraries.
extern "C" fn at_exit() {
    if let Some(process) = Process::opened() {
        process.write_trace();
        process.destroy_helpers();
        summarize("driver calls", process.counts(), process.validation.as_deref());
    } else if let Some(over) = interpose::opened() {
        over.write_trace();
        summarize("HIP calls", over.counts(), over.validation());
    }
}

#[used]
#[unsafe(link_section = ".fini_array")]
static AT_EXIT: extern "C" fn() = at_exit;
