//! Launch scripts (`NAME.launch.toml`), which say what to load, fill, launch and compare. `docs/launch-script.md`
//! documents the format.
//!
//! ```no_run
//! use hiplaunch::Launcher;
//! use hiplaunch_cli::script::{RunOptions, Script};
//!
//! let script = Script::read("saxpy.launch.toml")?;
//! let launcher = Launcher::new()?;
//! // SAFETY: the script and its code object are ours.
//! let report = unsafe { script.run(&launcher, launcher.device(0)?, &RunOptions::default()) }?;
//! assert!(report.passed());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod read;
mod run;
mod table;
mod value;

use std::path::{Path, PathBuf};

pub use error::{ScriptError, ScriptProblem};
pub use run::{Difference, ExpectationReport, RunOptions, ScriptReport};
pub use value::Dtype;

use hiplaunch::launcher::LaunchDims;

/// The version of the format.
pub const VERSION: i64 = 1;
/// The size in bytes of the longest script that is read.
pub const MAX_SCRIPT_BYTES: u64 = 16 << 20;
/// The greatest number of bytes that a script's buffers may have together.
pub const MAX_BUFFER_BYTES: u64 = 8 << 30;

/// A launch script that was read and checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    path: PathBuf,
    description: String,
    code_object: PathBuf,
    buffers: Vec<Buffer>,
    launches: Vec<Launch>,
    expectations: Vec<Expectation>,
}

/// A device buffer and its first contents.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Buffer {
    name: String,
    bytes: usize,
    contents: Contents,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Contents {
    File(PathBuf),
    Fill(u8),
}

/// One launch.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Launch {
    kernel: String,
    dims: LaunchDims,
    args: Vec<Argument>,
}

/// One explicit argument.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Argument {
    /// A number's bits and its size in bytes.
    Scalar {
        bits: u64,
        size: u8,
    },
    /// A struct by value.
    Bytes(Vec<u8>),
    /// A buffer's index and an offset in bytes.
    Buffer {
        index: usize,
        offset: u64,
    },
    Null,
}

/// What a buffer must hold after the last launch.
#[derive(Clone, Debug, PartialEq)]
struct Expectation {
    buffer: usize,
    file: PathBuf,
    dtype: Dtype,
    rtol: f64,
    atol: f64,
}

impl Script {
    /// Reads a script and checks everything that needs no device: keys, types, ranges, names, that files exist and that
    /// sizes agree.
    ///
    /// # Errors
    /// Returns a [`ScriptError`], which names the file, the line, the key and what to do.
    pub fn read(path: impl AsRef<Path>) -> Result<Script, ScriptError> {
        read::read(path.as_ref())
    }

    /// The path of the script.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The script's description; empty if it has none.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The path of the code object, with the script's folder before it.
    pub fn code_object(&self) -> &Path {
        &self.code_object
    }

    /// The paths of the files that fill buffers and that buffers are compared with, with the script's folder before them.
    pub fn data_files(&self) -> Vec<PathBuf> {
        let filled = self.buffers.iter().filter_map(|buffer| match &buffer.contents {
            Contents::File(path) => Some(path),
            Contents::Fill(_) => None,
        });
        filled.chain(self.expectations.iter().map(|expectation| &expectation.file)).cloned().collect()
    }

    /// The number of launches.
    pub fn launches(&self) -> usize {
        self.launches.len()
    }

    /// The number of bytes of all buffers.
    pub fn buffer_bytes(&self) -> usize {
        self.buffers.iter().map(|b| b.bytes).sum()
    }
}
