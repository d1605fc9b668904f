//! What can be wrong with a launch script, and what to do about it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A script that can't be used, or that could not be run to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// A file can't be read.
    #[error("{}: cannot be read: {source}{}", .file.display(), advice(source))]
    Read {
        /// The file.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A script longer than [`MAX_SCRIPT_BYTES`](super::MAX_SCRIPT_BYTES), or no UTF-8.
    #[error("{}: {problem}", .file.display())]
    NotText {
        /// The script.
        file: PathBuf,
        /// What it is instead.
        problem: &'static str,
    },
    /// No TOML.
    #[error("{}:{line}:{column}: {message}", .file.display())]
    Toml {
        /// The script.
        file: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// What the TOML parser says.
        message: String,
    },
    /// A key that is wrong, unknown or missing.
    #[error("{}:{line}: `{key}`: {problem}", .file.display())]
    Key {
        /// The script.
        file: PathBuf,
        /// Its line, from 1.
        line: usize,
        /// The key from the root, such as `launches[0].args[2].f32`.
        key: String,
        /// What is wrong with it.
        problem: ScriptProblem,
    },
    /// A data file changed its size after the script was read.
    #[error("{}: has {got} bytes now and had {expected} when the script was read", .file.display())]
    Changed {
        /// The data file.
        file: PathBuf,
        /// Bytes before.
        expected: usize,
        /// Bytes now.
        got: usize,
    },
    /// The code object can't be loaded, a buffer can't be made, or another step apart from the launches failed.
    #[error("{}: {what}: {source}", .file.display())]
    Setup {
        /// The script.
        file: PathBuf,
        /// What was being done.
        what: String,
        /// Why it failed.
        source: hiplaunch::Error,
    },
    /// A launch was refused, or failed on the device.
    #[error("{}: launch {index}: {source}", .file.display())]
    Launch {
        /// The script.
        file: PathBuf,
        /// Which launch, from 0; the last one where a failure was seen only at the end.
        index: usize,
        /// Why it failed.
        source: hiplaunch::Error,
    },
}

impl ScriptError {
    /// Whether a kernel was started and the device, not the script, is what failed.
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

    /// Whether the device's context is gone, so that nothing runs on it any more.
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
        /// The keys it has.
        known: &'static [&'static str],
    },
    /// The key has to be there.
    Missing,
    /// Another type of value.
    Type {
        /// What it has to be.
        expected: &'static str,
        /// What it is.
        got: &'static str,
    },
    /// A number outside its range.
    Range {
        /// The number as it is written.
        got: String,
        /// The range.
        allowed: String,
    },
    /// A number that the type can't hold exactly.
    Inexact {
        /// The number as it is written.
        got: String,
        /// The type.
        dtype: &'static str,
    },
    /// A list of another length.
    Length {
        /// How many elements it must have.
        expected: String,
        /// How many it has.
        got: usize,
    },
    /// A version that this program does not read.
    Version {
        /// The version.
        got: String,
    },
    /// Two keys of which one is needed.
    Either {
        /// What to write.
        expected: &'static str,
    },
    /// A name used twice.
    Duplicate {
        /// The name.
        name: String,
    },
    /// No buffer has the name.
    NoBuffer {
        /// The name.
        name: String,
        /// The buffers there are.
        known: Vec<String>,
    },
    /// The file isn't there, can't be read or is no regular file.
    File {
        /// Where it was looked for.
        path: PathBuf,
        /// Why it can't be used.
        reason: String,
    },
    /// A path that is not relative to the script.
    AbsolutePath,
    /// A buffer of no bytes.
    Empty,
    /// Buffers that are too large together.
    TooLarge {
        /// Bytes of the buffers up to here.
        bytes: u64,
        /// The most they may have.
        limit: u64,
    },
    /// An offset that is not inside its buffer.
    Offset {
        /// The offset.
        offset: u64,
        /// The buffer.
        buffer: String,
        /// Its size in bytes.
        bytes: usize,
    },
    /// An expected file of another size than the buffer.
    Size {
        /// Bytes of the file.
        file: u64,
        /// Bytes of the buffer.
        buffer: usize,
    },
    /// A size that is no whole number of elements.
    Elements {
        /// Bytes.
        bytes: usize,
        /// The element type.
        dtype: &'static str,
        /// Its size in bytes.
        element: usize,
    },
    /// A word that is none of those allowed.
    Word {
        /// The word.
        got: String,
        /// What is allowed.
        allowed: &'static [&'static str],
    },
    /// Bytes that are not hexadecimal.
    Hex {
        /// What is wrong.
        reason: &'static str,
    },
    /// A tolerance for `bytes`, which are compared exactly.
    ToleranceOnBytes,
    /// `null` with another value than `true`.
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
    const MOST: usize = 24;
    let mut text =
        words.iter().take(MOST).map(|w| format!("`{}`", w.as_ref())).collect::<Vec<_>>().join(", ");
    if words.len() > MOST {
        text.push_str(&format!(" and {} more", words.len() - MOST));
    }
    text
}

/// Line and column, from 1, of a byte offset.
pub(super) fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    (before.matches('\n').count() + 1, before[start..].chars().count() + 1)
}

/// The error for a file that can't be read.
pub(super) fn unreadable(file: &Path, source: io::Error) -> ScriptError {
    ScriptError::Read { file: file.to_owned(), source }
}

/// What to do about a file that can't be read.
fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "; check its name (those in a script are relative to the script)",
        _ => "",
    }
}
