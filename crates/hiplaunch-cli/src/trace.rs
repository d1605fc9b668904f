//! `hiplaunch trace`: runs another command and writes a pool trace of its device, as CSV.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use hiplaunch::memory::{PoolSnapshot, PoolTraceAction, PoolTraceEntry, TRACE_COLUMNS};
use serde_json::json;

use super::demo::{self, DemoArgs};
use super::output::{Output, complain};
use super::pool_recorder::PoolRecorder;
use super::run::{self, RunArgs};
use super::whole_file::WholeFile;
use super::{CommandError, CommandOutcome};

/// Run a command and write a trace of its device's memory pool: every allocation, free, use by another stream, wait,
/// and segment allocated or released.
///
/// The file is CSV with RMM's columns Thread, Time, Action, Pointer, Size and Stream, and also Device and Event.
/// `hiplaunch replay` runs it again. It is written when the command has ended, completely or not at all.
#[derive(Debug, clap::Args)]
pub(crate) struct TraceArgs {
    /// Write the trace to this file. With `-`, the trace is on stdout, and what the command prints on stderr.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// Also write a picture (.svg), a document (.json) or a summary (.txt) of the pool, at a moment when memory is
    /// held.
    ///
    /// The moments are the end of each script, and of each batch of the demo, before their buffers are freed. The one
    /// with the most bytes in use or held back is chosen.
    #[arg(long, value_name = "FILE.svg|FILE.json|FILE.txt", value_parser = clap::value_parser!(SnapshotFile))]
    snapshot: Option<SnapshotFile>,

    /// Print one JSON document: a summary of the trace, and the document of the command.
    #[arg(long)]
    json: bool,

    #[command(subcommand)]
    command: Traced,
}

#[derive(Debug, clap::Subcommand)]
enum Traced {
    Demo(DemoArgs),
    Run(RunArgs),
}

impl TraceArgs {
    /// Whether the trace is written to stdout.
    fn to_stdout(&self) -> bool {
        self.output.as_os_str() == "-"
    }

    /// Whether stdout is for the trace, or for a JSON document of this command or of the one that it runs.
    pub(super) fn writes_document(&self) -> bool {
        let json = match &self.command {
            Traced::Demo(args) => args.json,
            Traced::Run(args) => args.json,
        };
        self.to_stdout() || self.json || json
    }
}

/// The file of a snapshot, and the function that formats it.
#[derive(Clone, Debug)]
pub(crate) struct SnapshotFile {
    path: PathBuf,
    write: fn(&PoolSnapshot) -> String,
}

impl std::str::FromStr for SnapshotFile {
    type Err = String;

    fn from_str(path: &str) -> Result<SnapshotFile, String> {
        let write: fn(&PoolSnapshot) -> String = match Path::new(path).extension().and_then(|e| e.to_str()) {
            Some("svg") => hiplaunch_reports::pool_svg,
            Some("json") => |snapshot| format!("{:#}\n", hiplaunch_reports::pool_json(snapshot)),
            Some("txt") => |snapshot| format!("{snapshot}\n"),
            _ => return Err("the name must end in .svg, .json or .txt".to_owned()),
        };
        Ok(SnapshotFile { path: path.into(), write })
    }
}

impl SnapshotFile {
    /// Checks, before any work is done, that the file can be written.
    pub(crate) fn create(&self) -> io::Result<SnapshotWriter> {
        Ok(SnapshotWriter { file: WholeFile::create(&self.path)?, write: self.write })
    }
}

/// An open file for a snapshot.
#[derive(Debug)]
pub(crate) struct SnapshotWriter {
    file: WholeFile,
    write: fn(&PoolSnapshot) -> String,
}

impl SnapshotWriter {
    pub(crate) fn finish(mut self, snapshot: &PoolSnapshot) -> io::Result<()> {
        self.file.write_all((self.write)(snapshot).as_bytes())?;
        self.file.finish()
    }
}

pub(crate) fn run(args: TraceArgs, out: &mut Output) -> Result<CommandOutcome, CommandError> {
    let to_stdout = args.to_stdout();
    let TraceArgs { output, snapshot, json, command } = args;
    let mut file = if to_stdout { None } else { Some(WholeFile::create(&output)?) };
    let picture = snapshot.as_ref().map(|s| s.path.display().to_string());
    let snapshot = snapshot.map(|s| s.create()).transpose()?;
    let recorder = PoolRecorder::default();
    let mut stderr = to_stdout.then(Output::stderr);
    let mut document = json.then(Output::document);
    let says = document.as_mut().or(stderr.as_mut()).unwrap_or(out);
    let result = match command {
        Traced::Demo(mut args) => {
            args.record_on(&recorder, json);
            demo::run(&args, says)
        }
        Traced::Run(mut args) => {
            args.record_on(&recorder, json);
            run::run(args, says)
        }
    };
    // The trace is also written for a command that failed on the device, where it is wanted most.
    if let Err(CommandError::Unusable(_) | CommandError::Output(_)) = result {
        return result;
    }
    let recorded = recorder.take();
    match &mut file {
        Some(file) => write(&recorded.entries, file)?,
        None => write(&recorded.entries, out.writer())?,
    }
    file.map(WholeFile::finish).transpose()?;
    if let (Some(to), Some(snapshot)) = (snapshot, &recorded.snapshot) {
        to.finish(snapshot)?;
    }
    if recorded.dropped > 0 {
        complain(&format!("the trace is not complete: {} operations more", recorded.dropped));
    }
    let says = stderr.as_mut().unwrap_or(out);
    if let Some(document) = document {
        let count = |action| recorded.entries.iter().filter(|entry| entry.action == action).count();
        let actions: serde_json::Map<_, _> =
            PoolTraceAction::ALL.iter().map(|a| (a.name().to_owned(), count(*a).into())).collect();
        says.json(&json!({
            "trace": {
                "file": output.display().to_string(),
                "operations": recorded.entries.len(),
                "dropped": recorded.dropped,
                "actions": actions,
            },
            "snapshot": picture.filter(|_| recorded.snapshot.is_some()),
            "report": document.into_document(),
        }))?;
    }
    result
}

fn write(entries: &[PoolTraceEntry], to: &mut dyn Write) -> io::Result<()> {
    writeln!(to, "{TRACE_COLUMNS}")?;
    entries.iter().try_for_each(|entry| entry.write_csv(to))
}
