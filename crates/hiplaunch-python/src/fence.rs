//! Fences: marks on a stream that Python polls, waits for, or awaits.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::exceptions::{PyTimeoutError, PyValueError};
use pyo3::prelude::*;

use crate::callbacks::{Added, Callbacks};
use crate::errors::raise;
use crate::live::{Live, Shared};

/// A mark behind the work that was enqueued on a stream when Stream.fence made it. `result()` waits for it, `await fence` does so
/// without blocking the event loop. It may be dropped at any time.
#[pyclass(frozen, module = "hiplaunch", weakref)]
pub(crate) struct Fence {
    fence: Live<hiplaunch::Fence>,
    /// What is called when it is reached.
    callbacks: Mutex<Callbacks>,
}

impl Fence {
    pub(crate) fn new(shared: &Arc<Shared>, stream: &hiplaunch::Stream) -> PyResult<Fence> {
        let fence = Live::new(shared, stream.fence().map_err(raise)?);
        Ok(Fence { fence, callbacks: Mutex::default() })
    }
}

#[pymethods]
impl Fence {
    /// Whether the work before it has finished, or the device is lost. Never waits.
    #[getter]
    fn done(&self) -> PyResult<bool> {
        Ok(self.fence.open()?.is_reached().unwrap_or(true))
    }

    /// Waits for the work before it; raises TimeoutError if that takes longer than `timeout` seconds. The loss of the device is raised
    /// here as DeviceLostError.
    #[pyo3(signature = (timeout=None))]
    fn result(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<()> {
        let fence = self.fence.open()?;
        let Some(seconds) = timeout else {
            return py.detach(|| fence.wait()).map_err(raise);
        };
        let limit = Duration::try_from_secs_f64(seconds)
            .map_err(|error| PyValueError::new_err(format!("timeout of {seconds} seconds: {error}")))?;
        match py.detach(|| fence.wait_timeout(limit)).map_err(raise)? {
            true => Ok(()),
            false => Err(PyTimeoutError::new_err(format!(
                "the work before the fence takes longer than {seconds} s"
            ))),
        }
    }

    /// Calls `function()` once the work before it has finished, from a thread of the library; at once if it has. It may be called
    /// several times, for as many functions. An exception of the function is reported by sys.unraisablehook.
    fn add_done_callback(&self, function: Bound<'_, PyAny>) -> PyResult<()> {
        let mut fence = self.fence.open()?.clone();
        let added = self.callbacks.lock().unwrap_or_else(PoisonError::into_inner).add(&function, &mut fence);
        match added {
            Added::Will => Ok(()),
            Added::Finished(_) => function.call0().map(drop),
        }
    }

    /// Waits without blocking the event loop of asyncio.
    fn __await__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        this.get().fence.open()?;
        let waiting = this.py().import("hiplaunch._waiting")?.getattr("wait")?;
        waiting.call1((this,))?.call_method0("__await__")
    }
}
