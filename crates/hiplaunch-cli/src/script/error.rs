//! Errors of launch scripts, with advice.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// An error of a script that can't be used, or that did not run to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// A file can't be read.
    #[error("{}: cannot be read: {source}{}", .file.display(), advice(source))]
    Read {
        /// The file.
        file: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The script is longer than [`MAX_SCRIPT_BYTES`](super::MAX_SCRIPT_BYTES), or is not UTF-8.
    #[error("{}: {problem}", .file.display())]
    NotText {
        /// The script.
        file: PathBuf,
        /// What is wrong with the file.
        problem: &'static str,
    },
    /// The script is not TOML.
    #[error("{}:{line}:{column}: {message}", .file.display())]
    Toml {
        /// The script.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The column in characters, from 1.
        column: usize,
        /// The message of the TOML parser.
        message: String,
    },
    /// A key is wrong, unknown or missing.
    #[error("{}:{line}: `{key}`: {problem}", .file.display())]
    Key {
        /// The script.
        file: PathBuf,
        /// The key's line, from 1.
        line: usize,
        /// The key from the root, such as `launches[0].args[2].f32`.
        key: String,
        /// What is wrong with the key.
        problem: ScriptProblem,
    },
    /// A data file changed its size after the script was read.
    #[error("{}: has {got} bytes now and had {expected} when the script was read", .file.display())]
    Changed {
        /// The data file.
        file: PathBuf,
        /// The number of bytes when the script was read.
        expected: usize,
        /// The number of bytes now.
        got: usize,
    },
    /// The code object can't be loaded, a buffer can't be allocated, or another step besides the launches failed.
    #[error("{}: {what}: {source}", .file.display())]
    Setup {
        /// The script.
        file: PathBuf,
        /// The step that failed.
        what: String,
        /// Why it failed.
        source: hiplaunch::Error,
    },
    /// A launch was refused, or failed on the device.
    #[error("{}: launch {index}: {source}", .file.display())]
    Launch {
        /// The script.
        file: PathBuf,
        /// The index of the launch, from 0. It is the last launch if the failure was seen only at the end.
        index: usize,
        /// Why it failed.
        source: hiplaunch::Error,
    },
}

impl ScriptError {
    /// Whether a kernel was started and the device failed, and not the script.
    pub fn is_device_failure(&self) -> bool {
        use hiplaunch::Error;
        match self {
            ScriptError::Launch { source, .. } => {
                matches!(source, Error::DeviceLost(_) | Error::Driver { .. })
            }
            ScriptError::Setup { source, .. } => matches!(source, Error::DeviceLost(_)),
            _ => false,
        }
    }

    /// Whether the device is lost, so that nothing runs on it any more.
    pub fn is_device_lost(&self) -> bool {
        match self {
            ScriptError::Launch { source, .. } | ScriptError::Setup { source, .. } => {
                matches!(source, hiplaunch::Error::DeviceLost(_))
            }
            _ => false,
        }
    }
}

/// What is wrong with a key.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScriptProblem {
    /// The format has no such key here.
    Unknown {
        /// The keys that the format has here.
        known: &'static [&'static str],
    },
    /// The key is required, and missing.
    Missing,
    /// The value has another type.
    Type {
        /// The type that it must have.
        expected: &'static str,
        /// The type that it has.
        got: &'static str,
    },
    /// A number is out of range.
    Range {
        /// The number as it is written.
        got: String,
        /// The range.
        allowed: String,
    },
    /// The type can't represent a number exactly.
    Inexact {
        /// The number as it is written.
        got: String,
        /// The type.
        dtype: &'static str,
    },
    /// A list has another length.
    Length {
        /// The number of elements that it must have.
        expected: String,
        /// The number of elements that it has.
        got: usize,
    },
    /// This program does not read the version.
    Version {
        /// The version.
        got: String,
    },
    /// One of two keys is required: both or none are given.
    Either {
        /// What to write.
        expected: &'static str,
    },
    /// A name is used twice.
    Duplicate {
        /// The name.
        name: String,
    },
    /// No buffer has the name.
    NoBuffer {
        /// The name.
        name: String,
        /// The names of the script's buffers.
        known: Vec<String>,
    },
    /// The file does not exist, can't be read or is no regular file.
    File {
        /// The path where it was expected.
        path: PathBuf,
        /// Why it can't be used.
        reason: String,
    },
    /// A path is absolute, and not relative to the script.
    AbsolutePath,
    /// A buffer has no bytes.
    Empty,
    /// The buffers are too large together.
    TooLarge {
        /// The number of bytes of the buffers up to this one.
        bytes: u64,
        /// The greatest number of bytes that they may have.
        limit: u64,
    },
    /// An offset is outside of its buffer.
    Offset {
        /// The offset.
        offset: u64,
        /// The name of the buffer.
        buffer: String,
        /// The size of the buffer in bytes.
        bytes: usize,
    },
    /// The expected file has another size than the buffer.
    Size {
        /// The number of bytes of the file.
        file: u64,
        /// The number of bytes of the buffer.
        buffer: usize,
    },
    /// A size is no whole number of elements.
    Elements {
        /// The number of bytes.
        bytes: usize,
        /// The element type.
        dtype: &'static str,
        /// The size of an element in bytes.
        element: usize,
    },
    /// A word is not allowed.
    Word {
        /// The word.
        got: String,
        /// The words that are allowed.
        allowed: &'static [&'static str],
    },
    /// Bytes are not hexadecimal.
    Hex {
        /// What is wrong.
        reason: &'static str,
    },
    /// A tolerance is given for `bytes`, which are compared exactly.
    ToleranceOnBytes,
    /// `null` has another value than `true`.
    NullNotTrue,
}

impl fmt::Display for ScriptProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScriptProblem::Unknown { known } => {
                write!(f, "unknown key; remove it, or use one of {}", list(known))
            }
            ScriptProblem::Missing => write!(f, "is missing; add it"),
            ScriptProblem::Type { expected, got } => write!(f, "is {got}; write {expected}"),
            ScriptProblem::Range { got, allowed } => write!(f, "{got} is out of range; use {allowed}"),
            ScriptProblem::Inexact { got, dtype } => {
                write!(f, "the integer {got} has no exact value in {dtype}; write one that has, or a float")
            }
            ScriptProblem::Length { expected, got } => write!(f, "has {got} elements; give {expected}"),
            ScriptProblem::Version { got } => {
                write!(f, "version {got} is not understood; this program reads version {}", super::VERSION)
            }
            ScriptProblem::Either { expected } => write!(f, "{expected}"),
            ScriptProblem::Duplicate { name } => write!(f, "`{name}` is there twice; give each its own name"),
            ScriptProblem::NoBuffer { name, known } if known.is_empty() => {
                write!(f, "there is no buffer `{name}`; add it under [[buffers]]")
            }
            ScriptProblem::NoBuffer { name, known } => {
                write!(
                    f,
                    "there is no buffer `{name}`; add it under [[buffers]], or use one of {}",
                    list(known)
                )
            }
            ScriptProblem::File { path, reason } => {
                write!(f, "{}: {reason}; paths are relative to the script", path.display())
            }
            ScriptProblem::AbsolutePath => write!(f, "is absolute; paths are relative to the script"),
            ScriptProblem::Empty => {
                write!(
                    f,
                    "a buffer of 0 bytes has no address; give it a byte, or pass {{ null = true }} instead"
                )
            }
            ScriptProblem::TooLarge { bytes, limit } => {
                write!(f, "the buffers up to this one have {bytes} bytes; all together may have {limit}")
            }
            ScriptProblem::Offset { offset, buffer, bytes } => {
                write!(f, "{offset} is past the end of buffer `{buffer}`, which has {bytes} bytes")
            }
            ScriptProblem::Size { file, buffer } => {
                write!(f, "has {file} bytes and its buffer {buffer}; buffers are compared whole")
            }
            ScriptProblem::Elements { bytes, dtype, element } => {
                write!(
                    f,
                    "{bytes} bytes are no whole number of {dtype}, which has {element}; choose another dtype"
                )
            }
            ScriptProblem::Word { got, allowed } => {
                write!(f, "`{got}` is unknown; use one of {}", list(allowed))
            }
            ScriptProblem::Hex { reason } => {
                write!(f, "{reason}; write two hexadecimal digits for each byte")
            }
            ScriptProblem::ToleranceOnBytes => {
                write!(f, "`bytes` are compared exactly; use dtype u8 for a tolerance")
            }
            ScriptProblem::NullNotTrue => write!(f, "write {{ null = true }} for a null pointer"),
        }
    }
}

fn list<S: AsRef<str>>(words: &[S]) -> String {
    const LISTED: usize = 24;
    let mut text =
        words.iter().take(LISTED).map(|w| format!("`{}`", w.as_ref())).collect::<Vec<_>>().join(", ");
    if words.len() > LISTED {
        text.push_str(&format!(" and {} more", words.len() - LISTED));
    }
    text
}

/// Returns the line and the column, from 1, of a byte offset.
pub(super) fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    (before.matches('\n').count() + 1, before[start..].chars().count() + 1)
}

/// Returns the error for a file that can't be read.
pub(super) fn unreadable(file: &Path, source: io::Error) -> ScriptError {
    ScriptError::Read { file: file.to_owned(), source }
}

/// Returns what to do about a file that can't be read.
fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "; check its name (those in a script are relative to the script)",
        _ => "",
    }
}
