//! `--trace`: writes a timeline of a command when the command has ended.

use std::io;
use std::path::PathBuf;

use hiplaunch::Timeline;

use super::output::complain;
use super::session::DriverArgs;
use super::whole_file::WholeFile;
use super::{CommandError, CommandOutcome};

/// The option of commands that can write a timeline.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct TraceOption {
    /// Write a timeline of driver calls and device work to this file, as JSON that https://ui.perfetto.dev opens.
    ///
    /// Each thread has a track with its driver calls, and each stream a track with the kernels, copies and fills that
    /// it ran. Arrows lead from calls to their work. Recording takes time, so measured times are higher. The file is
    /// written when the command has ended, completely or not at all.
    #[arg(long, value_name = "FILE.json")]
    trace: Option<PathBuf>,
}

impl TraceOption {
    pub(crate) fn is_given(&self) -> bool {
        self.trace.is_some()
    }

    /// Begins the timeline, if the option was given, and checks that its file can be written.
    pub(crate) fn start(&self) -> io::Result<Option<Recording>> {
        let Some(path) = &self.trace else { return Ok(None) };
        Ok(Some(Recording { timeline: Timeline::default(), file: WholeFile::create(path)? }))
    }
}

/// A timeline that is being recorded, and its file.
#[derive(Debug)]
pub(crate) struct Recording {
    timeline: Timeline,
    file: WholeFile,
}

impl Recording {
    /// Returns a driver's options with the timeline.
    pub(crate) fn on(&self, driver: &DriverArgs) -> DriverArgs {
        DriverArgs { timeline: Some(self.timeline.clone()), ..driver.clone() }
    }

    /// Writes the timeline of a command that has ended, also if it failed on the device, and returns the command's
    /// result.
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
