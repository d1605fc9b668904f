//! `--trace`: a timeline of a command, written when the command has ended.

use std::io;
use std::path::PathBuf;

use hiplaunch::Timeline;

use super::output::complain;
use super::session::DriverArgs;
use super::whole_file::WholeFile;
use super::{CommandError, CommandOutcome};

/// The option of commands that can write a timeline.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct TraceOption {
    /// Write a timeline of driver calls and device work here, as JSON that https://ui.perfetto.dev opens.
    ///
    /// A track for each thread has its driver calls, one for each stream the kernels, copies and fills that it ran, with
    /// arrows between them. What is recorded takes time: figures are higher than without. The file is written when the
    /// command has ended, whole or not at all.
    #[arg(long, value_name = "FILE.json")]
    trace: Option<PathBuf>,
}

impl TraceOption {
    /// Begins the timeline, if one is wanted. That its file can be written is known before the work is done.
    pub(crate) fn start(&self) -> io::Result<Option<Recording>> {
        let Some(path) = &self.trace else { return Ok(None) };
        Ok(Some(Recording { timeline: Timeline::default(), file: WholeFile::create(path)? }))
    }
}

/// A timeline that is being recorded, and the file that it goes to.
#[derive(Debug)]
pub(crate) struct Recording {
    timeline: Timeline,
    file: WholeFile,
}

impl Recording {
    /// A driver's options with the timeline.
    pub(crate) fn on(&self, driver: &DriverArgs) -> DriverArgs {
        DriverArgs { timeline: Some(self.timeline.clone()), ..driver.clone() }
    }

    /// Writes the timeline of a command that has ended; one of a command that failed on the device is the more wanted.
    pub(crate) fn finish(
        mut self,
        result: Result<CommandOutcome, CommandError>,
    ) -> Result<CommandOutcome, CommandError> {
        if let Err(CommandError::Unusable(_) | CommandError::Output(_)) = result {
            return result;
        }
        let snapshot = self.timeline.snapshot();
        hiplaunch_reports::write_chrome_trace(&snapshot, &mut self.file)?;
        self.file.finish()?;
        let (calls, work) = (snapshot.dropped_calls, snapshot.dropped_work);
        if calls + work > 0 {
            complain(&format!(
                "the timeline is not complete: {calls} calls and {work} pieces of device work more (it keeps {} of each)",
                snapshot.limit
            ));
        }
        result
    }
}
