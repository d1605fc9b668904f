//! How far it is, on one line of stderr, where that is a terminal.

use std::io::{self, IsTerminal, Write};

#[derive(Debug)]
pub(super) struct Progress {
    shown: bool,
    of: usize,
}

impl Progress {
    pub(super) fn new(of: usize) -> Progress {
        Progress { shown: io::stderr().is_terminal(), of }
    }

    /// Number `done` begins.
    pub(super) fn show(&self, done: usize, what: &str) {
        if self.shown {
            // Nobody can be told that stderr is closed.
            let _ = write!(io::stderr(), "\r\x1b[K{:>3} of {}  {what}", done + 1, self.of);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
