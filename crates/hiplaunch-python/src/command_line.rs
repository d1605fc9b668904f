//! The command line `hiplaunch`, for `python -m hiplaunch`.

use std::ffi::OsString;
use std::path::PathBuf;

use pyo3::prelude::*;

/// Runs a command line, and returns its exit status. It is for the main function of a process.
///
/// args: the arguments, the first of which is the name of the program.
/// libraries: the folder of the libraries of `hiplaunch exec`.
#[pyfunction]
pub(crate) fn command_line(py: Python<'_>, args: Vec<OsString>, libraries: PathBuf) -> u8 {
    py.detach(|| hiplaunch_cli::main_with(args, Some(&libraries)))
}
