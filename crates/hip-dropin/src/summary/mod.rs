//! The summary: what stderr gets when the process ends, which may also be a JSON document.

mod json;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;

use hip_driver_emulated::Notice;
use hip_driver_layers::validation::ValidationDriver;

use crate::abi::version;
use crate::interpose::{self, Interposed};
use crate::process::Process;
use crate::report::record::{self, Record};
use crate::report::say;
use crate::{compile, exports};

pub use json::notice;

/// The number of kernels that the text has.
const KERNELS: usize = 10;
/// The number of leaks that the text has. Programs that free nothing at their end have thousands.
const LEAKS: usize = 20;

/// What is known of the process at its end.
pub(crate) struct Summary {
    /// The emulated devices; `None` over AMD's library.
    pub(crate) emulated: Option<Emulated>,
    /// How often the program called each function of HIP, if that is counted.
    pub(crate) functions: Option<Vec<(&'static str, u64)>>,
    /// The programs of hiprtc that were compiled, and those that were found in the cache.
    pub(crate) compiled: (u64, u64),
    pub(crate) validation: Option<Findings>,
    pub(crate) record: Record,
}

/// What is known of emulated devices.
pub(crate) struct Emulated {
    /// Their target, and their number.
    pub(crate) target: String,
    pub(crate) devices: usize,
    /// How often each kind of driver call was made, if that is counted.
    pub(crate) calls: Option<Vec<(&'static str, u64)>>,
}

/// What the validation layer found.
pub(crate) struct Findings {
    pub(crate) violations: Vec<String>,
    pub(crate) leaks: Vec<String>,
}

impl Findings {
    fn of(layer: &ValidationDriver) -> Findings {
        Findings {
            violations: layer.take_violations().iter().map(ToString::to_string).collect(),
            leaks: layer.report_leaks().iter().map(ToString::to_string).collect(),
        }
    }
}

impl Summary {
    fn of(process: &Process) -> Summary {
        let calls = process.counts();
        Summary {
            functions: calls.is_some().then(exports::counts),
            emulated: Some(Emulated {
                target: process.devices[0].properties.target.short(),
                devices: process.devices.len(),
                calls,
            }),
            compiled: compile::counts(),
            validation: process.validation.as_deref().map(Findings::of),
            record: record::so_far(),
        }
    }

    fn of_interposed(over: &Interposed) -> Summary {
        Summary {
            functions: over.counts_calls().then(exports::counts),
            emulated: None,
            compiled: (0, 0),
            validation: over.validation().map(Findings::of),
            record: record::so_far(),
        }
    }

    /// The text; empty if there is nothing to say.
    fn text(&self) -> String {
        let mut text = String::new();
        let mut line = |indent: &str, what: std::fmt::Arguments<'_>| {
            // Writing to a string does not fail.
            let _ = writeln!(text, "hiplaunch: {indent}{what}");
        };
        let mut counted = |title: &str, calls: &[(&str, u64)]| {
            line("", format_args!("{title}: {}", calls.iter().map(|(_, count)| count).sum::<u64>()));
            for (name, count) in calls {
                line("  ", format_args!("{count:>10} {name}"));
            }
        };
        if let Some(functions) = &self.functions {
            counted("HIP calls", functions);
        }
        if let Some(Emulated { devices, calls: Some(calls), .. }) = &self.emulated {
            counted("driver calls", calls);
            let (compiled, cached) = self.compiled;
            if compiled + cached > 0 {
                line("", format_args!("kernels: {compiled} compiled by hiprtc, {cached} from the cache"));
            }
            let mut kernels: Vec<_> = self.record.kernels.iter().collect();
            kernels.sort_by_key(|(_, totals)| std::cmp::Reverse(totals.counts.wave_instructions));
            if !kernels.is_empty() {
                line("", format_args!("wave instructions and launches of {} kernels:", kernels.len()));
            }
            for ((device, name), totals) in kernels.iter().take(KERNELS) {
                let (instructions, launches) = (totals.counts.wave_instructions, totals.launches);
                let on = if *devices > 1 { format!(" on {device}") } else { String::new() };
                line("  ", format_args!("{instructions:>14} {launches:>8} {name}{on}"));
            }
            if kernels.len() > KERNELS {
                line("  ", format_args!("and {} more", kernels.len() - KERNELS));
            }
        }
        if let Some(Findings { violations, leaks }) = &self.validation {
            line("", format_args!("validation: {} violations, {} leaks", violations.len(), leaks.len()));
            violations
                .iter()
                .chain(leaks.iter().take(LEAKS))
                .for_each(|item| line("  ", format_args!("{item}")));
            if leaks.len() > LEAKS {
                line("  ", format_args!("and {} more leaks, which `--json` lists", leaks.len() - LEAKS));
            }
        }
        if !self.record.notices.is_empty() {
            line("", format_args!("accesses that hardware, or strict bounds, would not have performed:"));
            for text in noticed(&self.record.notices) {
                line("  ", format_args!("{text}"));
            }
        }
        if !self.record.unsupported.is_empty() {
            line("", format_args!("functions that were called and are not supported:"));
            for (name, count) in &self.record.unsupported {
                line("  ", format_args!("{count:>10} {name}"));
            }
        }
        let faults = self.record.faults.len();
        if faults > 0 {
            line("", format_args!("devices were lost by {faults} faults, which are reported above"));
        }
        text
    }

    /// Writes the JSON document.
    fn write_json(&self, path: &PathBuf) {
        let text = format!("{:#}\n", json::document(self));
        if let Err(error) = std::fs::write(path, text) {
            say(&format!("the summary can't be written to {}: {error}", path.display()));
        }
    }
}

/// The characters of a kernel's name that a line shows.
const NAME: usize = 100;

/// Describes the accesses of each kernel in a line: those of its first instruction, and how many others there are.
fn noticed(notices: &[Notice]) -> Vec<String> {
    let mut kernels: Vec<(&Notice, usize, u64)> = Vec::new();
    for notice in notices {
        match kernels
            .iter_mut()
            .find(|(first, ..)| (first.kind, &first.kernel) == (notice.kind, &notice.kernel))
        {
            Some((_, others, count)) => (*others, *count) = (*others + 1, *count + notice.count),
            None => kernels.push((notice, 0, notice.count)),
        }
    }
    let describe = |(first, others, count): (&Notice, usize, u64)| {
        let mut name: String = first.kernel.chars().take(NAME).collect();
        if name.len() < first.kernel.len() {
            name.push('…');
        }
        let times = if count > 1 { format!("; {count} times") } else { String::new() };
        let others = match others {
            0 => String::new(),
            others => format!(", with {others} other instructions, which `--json` lists"),
        };
        format!("{name}: {}{times}{others}", first.brief())
    };
    kernels.into_iter().map(describe).collect()
}

/// Runs after the program's destructors: the loader finishes a program before its libraries.
extern "C" fn at_exit() {
    if version::is_isolated() {
        return;
    }
    let (summary, json) = if let Some(process) = Process::opened() {
        process.write_trace();
        process.destroy_helpers();
        (Summary::of(process), process.json.as_ref())
    } else if let Some(over) = interpose::opened() {
        over.write_trace();
        (Summary::of_interposed(over), over.json())
    } else {
        return;
    };
    // A closed stderr can't be reported.
    let _ = std::io::stderr().lock().write_all(summary.text().as_bytes());
    if let Some(path) = json {
        summary.write_json(path);
    }
}

#[used]
#[unsafe(link_section = ".fini_array")]
static AT_EXIT: extern "C" fn() = at_exit;
