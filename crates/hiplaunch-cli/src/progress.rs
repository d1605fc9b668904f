//! A progress bar on stderr during long work, only if stderr is a terminal. It is hidden while other output is written.

use std::io::{self, IsTerminal};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// The bar that is shown now.
static SHOWN: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Long work that is in progress. Its bar is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Progress(Option<ProgressBar>);

impl Progress {
    /// Shows a bar for work of `count` steps.
    pub(crate) fn steps(count: usize, what: &'static str) -> Progress {
        let bar = || {
            let style = ProgressStyle::with_template("{msg} [{bar:30}] {pos}/{len} {elapsed}");
            let bar = ProgressBar::new(count as u64).with_message(what);
            style.map(|style| bar.with_style(style.progress_chars("=> "))).ok()
        };
        Progress::show(bar, None)
    }

    /// Shows a spinner for work of unknown length.
    pub(crate) fn unknown(what: &'static str) -> Progress {
        let bar = || {
            let style = ProgressStyle::with_template("{spinner} {msg} {elapsed}").ok()?;
            let bar = ProgressBar::new_spinner().with_message(what).with_style(style);
            Some(bar)
        };
        Progress::show(bar, Some(Duration::from_millis(100)))
    }

    /// Draws a bar, and draws it again after each `tick`.
    fn show(bar: impl FnOnce() -> Option<ProgressBar>, tick: Option<Duration>) -> Progress {
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        if dumb || !io::stderr().is_terminal() {
            return Progress(None);
        }
        let bar = bar();
        if let Some(bar) = &bar {
            bar.tick();
            // Drawn now, because the bar's own thread draws it only after the first tick.
            tick.into_iter().for_each(|tick| bar.enable_steady_tick(tick));
        }
        *SHOWN.lock().unwrap_or_else(PoisonError::into_inner) = bar.clone();
        Progress(bar)
    }

    /// Sets the message for the step that begins now.
    pub(crate) fn at(&self, what: &str) {
        if let Some(bar) = &self.0 {
            bar.set_message(what.to_owned());
        }
    }

    /// Counts one finished step.
    pub(crate) fn step(&self) {
        if let Some(bar) = &self.0 {
            bar.inc(1);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = self.0.take() {
            bar.finish_and_clear();
            *SHOWN.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }
}

/// Calls `write` while no bar is shown. The bar is locked meanwhile, so `write` must not call this function.
pub(crate) fn aside<R>(write: impl FnOnce() -> R) -> R {
    let shown = SHOWN.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match shown {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}
