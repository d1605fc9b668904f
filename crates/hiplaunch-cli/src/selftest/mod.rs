//! `hiplaunch selftest`: what only a GPU can tell, in one report.
//!
//! ```text
//! selftest ─▶ a child for each part ─▶ its cases, one after the other ─▶ report: JSON and a page
//!     ▲            │ a line for each case that begins and ends
//!     └────────────┘ a child that ends early or hangs: the next one begins after its case
//! ```
//!
//! A fault of a GPU may end the process that caused it, and a hang never ends it. So no case runs in the process that writes the
//! report.

mod arithmetic;
mod child;
mod outcome;
mod parts;
mod report;

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use super::output::{Output, Style};
use super::progress::Progress;
use super::session::{DriverArgs, unusable};
use super::whole_file::WholeFile;
use super::{CommandError, CommandOutcome, page};
use outcome::PartReport;
use parts::Part;

/// Test the driver and the device, and write a report to send.
///
/// Runs the conformance cases of drivers, compares the device's arithmetic with the emulator's, and measures launches, in about
/// three minutes. Each part runs in a process of its own, so that a fault or a hang of the device ends up in the report, too. The
/// report has no paths of your home folder, no user or host name, and no numbers that identify the GPU.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct SelftestArgs {
    /// Write the report to this file as JSON, and as a page beside it, which ends with .html.
    #[arg(long, value_name = "FILE", default_value = "hiplaunch-selftest.json")]
    report: PathBuf,

    /// Run only these parts; may be given more than once.
    #[arg(long, value_name = "PART", value_enum)]
    only: Vec<Part>,

    /// The seconds after which a case that has not ended counts as hung, and is killed.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3600))]
    patience: u64,

    /// Run a part in this process, from case number `from` on, and print what happens.
    #[arg(long, value_enum, hide = true)]
    child: Option<Part>,

    #[arg(long, default_value_t = 0, hide = true)]
    from: usize,

    #[command(flatten)]
    driver: DriverArgs,
}

impl SelftestArgs {
    /// Whether standard output is for the parent process.
    pub(super) fn is_child(&self) -> bool {
        self.child.is_some()
    }
}

pub(crate) fn run(args: &SelftestArgs, out: &mut Output) -> Result<CommandOutcome, CommandError> {
    if let Some(part) = args.child {
        return child::run(part, args.from, &args.driver, out);
    }
    let html = args.report.with_extension("html");
    if html == args.report {
        return Err(unusable(
            "--report: give a name that does not end with .html, which the page beside it has",
        ));
    }
    let (mut json, mut html) = (WholeFile::create(&args.report)?, WholeFile::create(&html)?);
    let wanted = |part: &Part| args.only.is_empty() || args.only.contains(part);
    let parts: Vec<Part> = Part::all().filter(wanted).collect();
    let progress = Progress::steps(parts.len(), "testing");
    let mut reports = Vec::new();
    for part in parts {
        progress.at(part.row().title);
        let report = PartReport::of(part, Duration::from_secs(args.patience));
        let style = if report.has_failed() { Style::Bad } else { Style::Good };
        out.line(out.styled(style, &report.summary()))?;
        for case in report.failures() {
            out.line(format_args!(
                "  {} {}: {}",
                case.name,
                case.state.name(),
                case.why.replace('\n', "\n    ")
            ))?;
        }
        reports.push(report);
        progress.step();
    }
    drop(progress);
    let document = report::document(&reports);
    let sections = report::sections(&reports);
    json.write_all(format!("{document:#}\n").as_bytes())?;
    json.finish()?;
    html.write_all(page::page("hiplaunch selftest", "hiplaunch selftest", &sections).as_bytes())?;
    html.finish()?;
    out.line(format_args!(
        "The report is in {} and, as a page, in the file beside it.",
        args.report.display()
    ))?;
    let failed = reports.iter().any(PartReport::has_failed);
    Ok(if failed { CommandOutcome::Failed } else { CommandOutcome::Passed })
}
