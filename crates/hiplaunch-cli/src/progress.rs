//! A bar on stderr while something long goes on: only where stderr is a terminal, and never between what is written.

use std::io::{self, IsTerminal};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// The bar that is shown.
static SHOWN: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Something long that goes on; its bar goes when this does.
#[derive(Debug)]
pub(crate) struct Progress(Option<ProgressBar>);

impl Progress {
    /// Something of so many steps.
    pub(crate) fn steps(count: usize, what: &'static str) -> Progress {
        let bar = || {
            let style = ProgressStyle::with_template("{msg} [{bar:30}] {pos}/{len} {elapsed}");
            let bar = ProgressBar::new(count as u64).with_message(what);
            style.map(|style| bar.with_style(style.progress_chars("=> "))).ok()
        };
        Progress::show(bar, None)
    }

    /// Something of which nobody knows how long it takes.
    pub(crate) fn unknown(what: &'static str) -> Progress {
        let bar = || {
            let style = ProgressStyle::with_template("{spinner} {msg} {elapsed}").ok()?;
            let bar = ProgressBar::new_spinner().with_message(what).with_style(style);
            Some(bar)
        };
        Progress::show(bar, Some(Duration::from_millis(100)))
    }

    /// Draws a bar, and again after each `tick`.
    fn show(bar: impl FnOnce() -> Option<ProgressBar>, tick: Option<Duration>) -> Progress {
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        if dumb || !io::stderr().is_terminal() {
            return Progress(None);
        }
        let bar = bar();
        if let Some(bar) = &bar {
            bar.tick();
            // Now, as one that is drawn by its own thread is not drawn at once.
            tick.into_iter().for_each(|tick| bar.enable_steady_tick(tick));
        }
        *SHOWN.lock().unwrap_or_else(PoisonError::into_inner) = bar.clone();
        Progress(bar)
    }

    /// What the step is that begins now.
    pub(crate) fn at(&self, what: &str) {
        if let Some(bar) = &self.0 {
            bar.set_message(what.to_owned());
        }
    }

    /// One step is done.
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

/// Writes something while no bar is there. The bar is locked meanwhile, so `write` must not come here again.
pub(crate) fn aside<R>(write: impl FnOnce() -> R) -> R {
    let shown = SHOWN.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match shown {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}
