//! Writes output for people: with colours on a terminal, and errors of a closed pipe returned instead of a panic.

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
    /// With `Some`, the JSON document is stored here, because it is to be part of another one.
    document: Option<Value>,
}

/// How a piece of text is emphasized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    Good,
    Bad,
    Strong,
    Faint,
}

impl Output {
    /// Writes to standard output. Its lock is not held, so kernels that print, and libraries, may write to it
    /// meanwhile.
    pub(crate) fn stdout() -> Output {
        let stdout = io::stdout();
        Output::over(stdout.is_terminal(), Box::new(stdout))
    }

    /// Writes a document for a program to standard output. What kernels, drivers and libraries write to standard output
    /// from now on is redirected to standard error.
    #[cfg(unix)]
    pub(crate) fn stdout_alone() -> io::Result<Output> {
        let stdout = io::stdout();
        let (terminal, document) = (stdout.is_terminal(), stdout.as_fd().try_clone_to_owned()?);
        // SAFETY: the call takes two numbers. Both are open, because Rust's runtime, and the Python package, open closed ones
        // when a program begins. The file that was number 1 stays open as `document`.
        if unsafe { libc::dup2(libc::STDERR_FILENO, libc::STDOUT_FILENO) } < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Output::over(terminal, Box::new(File::from(document))))
    }

    /// Writes a document for a program to standard output. On this system, what kernels print is not redirected.
    #[cfg(not(unix))]
    pub(crate) fn stdout_alone() -> io::Result<Output> {
        Ok(Output::stdout())
    }

    /// Writes to standard error, for a command whose result is on standard output.
    pub(crate) fn stderr() -> Output {
        let stderr = io::stderr();
        Output::over(stderr.is_terminal(), Box::new(stderr))
    }

    /// Stores the JSON document of a command for [`into_document`](Output::into_document), and drops everything else.
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

    /// Returns a writer for bytes that are no lines of text.
    pub(crate) fn writer(&mut self) -> &mut dyn Write {
        &mut self.to
    }

    /// Returns text in a style, or plain if there are no colours.
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

    /// Returns the document that was stored; null if there is none.
    pub(crate) fn into_document(self) -> Value {
        self.document.unwrap_or_default()
    }

    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Writes a line to stderr, which may be closed. Mangled names of kernels are followed by their names in the source.
pub(crate) fn complain(message: &str) {
    let message = explained(message);
    let mut stderr = Output::stderr();
    let name = stderr.styled(Style::Bad, "hiplaunch:");
    let _ = stderr.line(format_args!("{name} {message}"));
}

/// Returns parts in lines of at most 110 characters: the first one begins with the label, the others are indented as far.
pub(crate) fn wrapped<P: AsRef<str>>(
    label: &str,
    parts: impl IntoIterator<Item = P>,
    between: &str,
) -> Vec<String> {
    let (mut lines, mut line) = (Vec::new(), label.to_owned());
    for part in parts {
        let part = part.as_ref();
        if line.len() > label.len() && line.len() + between.len() + part.len() > 110 {
            lines.push(std::mem::replace(&mut line, " ".repeat(label.len())));
        }
        if line.len() > label.len() {
            line.push_str(between);
        }
        line.push_str(part);
    }
    lines.push(line);
    lines
}

/// Returns a number with commas between groups of three digits.
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

/// Returns a number with a noun: `1 launch`, `2 launches`.
pub(crate) fn counted(n: usize, one: &str, many: &str) -> String {
    format!("{} {}", grouped(n as u64), if n == 1 { one } else { many })
}

/// Returns a number of bytes in the largest binary unit that is not larger.
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
    fn parts_are_wrapped_after_their_label() {
        let lines = wrapped("  a ", vec!["word"; 30], "  ");
        assert!(lines.len() == 2 && lines.iter().all(|line| line.len() <= 110), "{lines:?}");
        assert!(
            lines[0].starts_with("  a word  word") && lines[1].starts_with("    word  word"),
            "{lines:?}"
        );
        assert!(lines.iter().all(|line| line == line.trim_end()), "{lines:?}");
    }

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
