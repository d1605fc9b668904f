//! Launch scripts, run one after the other in this process. `hiplaunch.fleet` runs them so.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

/// Runs launch scripts with the options of `hiplaunch run`.
///
/// args: what follows `hiplaunch run` on a command line, with one script at least.
#[pyclass(frozen, module = "hiplaunch._native")]
pub(crate) struct ScriptRunner(Mutex<hiplaunch_cli::ScriptRunner>);

impl ScriptRunner {
    fn with<R: Send>(
        &self,
        py: Python<'_>,
        then: impl FnOnce(&mut hiplaunch_cli::ScriptRunner) -> R + Send,
    ) -> R {
        py.detach(|| then(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

#[pymethods]
impl ScriptRunner {
    #[new]
    fn new(args: Vec<OsString>) -> PyResult<ScriptRunner> {
        let runner = hiplaunch_cli::ScriptRunner::new(args).map_err(PyValueError::new_err)?;
        Ok(ScriptRunner(Mutex::new(runner)))
    }

    /// The scripts that the arguments name.
    #[getter]
    fn scripts(&self, py: Python<'_>) -> Vec<OsString> {
        self.with(py, |runner| runner.scripts().iter().map(|path| path.clone().into_os_string()).collect())
    }

    /// Returns the paths of the files that a script needs besides its own. Raises ValueError if the script can't be used.
    fn files(&self, py: Python<'_>, script: PathBuf) -> PyResult<Vec<OsString>> {
        let files = self.with(py, |runner| runner.files(&script)).map_err(PyValueError::new_err)?;
        Ok(files.into_iter().map(PathBuf::into_os_string).collect())
    }

    /// Runs a script and returns its report, an item of `scripts` in the JSON document of `hiplaunch run`, as text. Raises
    /// RuntimeError if there is no driver or device.
    fn run(&self, py: Python<'_>, script: PathBuf) -> PyResult<String> {
        let report = self.with(py, |runner| runner.run(&script)).map_err(PyRuntimeError::new_err)?;
        Ok(report.to_string())
    }

    /// Returns the driver and the device, `session` in the same document, as text; `null` before the first script.
    fn session(&self, py: Python<'_>) -> String {
        self.with(py, |runner| runner.session().to_string())
    }
}
