//! Writing for people: colours only on a terminal, aligned columns, and errors of the pipe returned, not panicked.

use std::fmt;
#[cfg(unix)]
use std::fs::File;
use std::io::{self, IsTerminal, Write};
#[cfg(unix)]
use std::os::fd::AsFd;

use serde_json::Value;

use super::demangle::explained;
use super::{colour, progress};

/// Standard output, or standard error.
pub(crate) struct Output {
    to: io::BufWriter<Box<dyn Write>>,
    colour: bool,
    /// Where a JSON document goes that is to be a part of another one.
    document: Option<Value>,
}

/// What a piece of text stands out as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    Good,
    Bad,
    Strong,
    Faint,
}

impl Output {
    /// Its lock is not held: kernels that print, and libraries, may write there meanwhile.
    pub(crate) fn stdout() -> Output {
        let stdout = io::stdout();
        Output::over(stdout.is_terminal(), Box::new(stdout))
    }

    /// Standard output for a document that a program reads. What kernels, drivers and libraries write to standard output
    /// from now on goes to standard error.
    #[cfg(unix)]
    pub(crate) fn stdout_alone() -> io::Result<Output> {
        let stdout = io::stdout();
        let (terminal, document) = (stdout.is_terminal(), stdout.as_fd().try_clone_to_owned()?);
        // SAFETY: a call with two numbers. Both are open, as Rust's runtime opens what is closed when a program begins, and
        // what 1 was stays open as `document`.
        if unsafe { libc::dup2(libc::STDERR_FILENO, libc::STDOUT_FILENO) } < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Output::over(terminal, Box::new(File::from(document))))
    }

    /// Standard output for a document that a program reads. What kernels print is not kept out of it here.
    #[cfg(not(unix))]
    pub(crate) fn stdout_alone() -> io::Result<Output> {
        Ok(Output::stdout())
    }

    /// For what a command says while its result goes to standard output.
    pub(crate) fn stderr() -> Output {
        let stderr = io::stderr();
        Output::over(stderr.is_terminal(), Box::new(stderr))
    }

    /// For a command whose JSON document is a part of another one: [`into_document`](Output::into_document) has it.
    pub(crate) fn document() -> Output {
        Output { document: Some(Value::Null), ..Output::over(false, Box::new(io::sink())) }
    }

    fn over(terminal: bool, to: Box<dyn Write>) -> Output {
        Output { to: io::BufWriter::new(to), colour: colour::wanted(terminal), document: None }
    }

    /// Writes a line and shows it at once.
    pub(crate) fn line(&mut self, text: impl fmt::Display) -> io::Result<()> {
        let to = &mut self.to;
        progress::aside(|| {
            writeln!(to, "{text}")?;
            to.flush()
        })
    }

    /// For what is no text.
    pub(crate) fn writer(&mut self) -> &mut dyn Write {
        &mut self.to
    }

    /// Text in a style, where there are colours.
    pub(crate) fn styled(&self, style: Style, text: &str) -> String {
        let code = match style {
            _ if !self.colour => return text.to_owned(),
            Style::Plain => return text.to_owned(),
            Style::Good => "32",
            Style::Bad => "31;1",
            Style::Strong => "1",
            Style::Faint => "2",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }

    /// Writes the one JSON document of a command.
    pub(crate) fn json(&mut self, value: &Value) -> io::Result<()> {
        match &mut self.document {
            Some(document) => *document = value.clone(),
            None => self.line(format_args!("{value:#}"))?,
        }
        Ok(())
    }

    /// The document that was written; null if none was, or if it went elsewhere.
    pub(crate) fn into_document(self) -> Value {
        self.document.unwrap_or_default()
    }

    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// A line on stderr, which may be closed. Names of kernels in it are followed by those in the source.
pub(crate) fn complain(message: &str) {
    let message = explained(message);
    let mut stderr = Output::stderr();
    let name = stderr.styled(Style::Bad, "hiplaunch:");
    let _ = stderr.line(format_args!("{name} {message}"));
}

/// A number with a comma between groups of three digits.
pub(crate) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 launch`, `2 launches`.
pub(crate) fn counted(n: usize, one: &str, many: &str) -> String {
    format!("{} {}", grouped(n as u64), if n == 1 { one } else { many })
}

/// Bytes in the largest binary unit that divides them well enough to read.
pub(crate) fn bytes(n: u64) -> String {
    let units = [("GiB", 1u64 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match units.into_iter().find(|(_, size)| n >= *size) {
        Some((unit, size)) if n.is_multiple_of(size) => format!("{} {unit}", grouped(n / size)),
        Some((unit, size)) => format!("{:.1} {unit}", n as f64 / size as f64),
        None => format!("{n} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_for_people() {
        assert_eq!(["0", "999", "1,000", "1,234,567"], [0, 999, 1000, 1_234_567].map(grouped)[..]);
        assert_eq!((counted(1, "x", "xs"), counted(2, "x", "xs")), ("1 x".into(), "2 xs".into()));
        assert_eq!(
            (bytes(512), bytes(65536), bytes(1536)),
            ("512 bytes".into(), "64 KiB".into(), "1.5 KiB".into())
        );
    }
}
