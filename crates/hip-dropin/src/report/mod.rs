//! What stderr gets at once when something goes wrong, and what is kept for the summary.

pub(crate) mod record;

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// Writes a message to stderr.
pub(crate) fn say(text: &str) {
    hip_driver::stderr_line(format_args!("hiplaunch: {text}"));
}

/// Writes a message to stderr, unless it was written before.
pub(crate) fn say_once(text: &str) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    // A program that loads without end is not kept whole.
    if said.len() < 1000 && said.insert(text.to_owned()) {
        say(text);
    }
}
