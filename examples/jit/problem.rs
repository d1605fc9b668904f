//! Errors in the text of an expression or value, with their position.

use std::fmt;

/// A message with the text that it is about, and a position.
#[derive(Debug)]
pub(super) struct Problem {
    text: String,
    /// The position in bytes from the beginning of the text.
    at: usize,
    message: String,
}

impl Problem {
    /// Creates a problem at byte `at` of `text`.
    pub(super) fn new(text: &str, at: usize, message: impl Into<String>) -> Problem {
        Problem { text: text.to_owned(), at, message: message.into() }
    }
}

impl std::error::Error for Problem {}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let before = self.text.get(..self.at).unwrap_or(&self.text).chars().count();
        write!(f, "column {}: {}\n  {}\n  {:before$}^", before + 1, self.message, self.text, "")
    }
}
