//! What is wrong with a text, and where in it.

use std::fmt;

/// A message with the text and the place that it is about.
#[derive(Debug)]
pub(super) struct Problem {
    text: String,
    /// Bytes before the place.
    at: usize,
    message: String,
}

impl Problem {
    /// A problem at byte `at` of `text`.
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
