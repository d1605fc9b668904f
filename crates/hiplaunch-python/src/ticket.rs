//! Tickets: the pending results of a launch.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use smallvec::SmallVec;

use crate::array::ArrayBytes;
use crate::callbacks::{Added, Callbacks};
use crate::errors::raise;
use crate::live::{Live, Shared};

/// The pending results of a launch. `result()` waits for it; `await ticket` does so without blocking the event loop.
///
/// A ticket may be dropped: the launch runs all the same, and its outputs are lost.
#[pyclass(frozen, module = "hiplaunch", weakref)]
pub(crate) struct Ticket(Live<Mutex<State>>);

/// Where each output goes; to new `bytes` for `None`.
pub(crate) type Outputs = SmallVec<[Option<Py<PyAny>>; 2]>;

struct State {
    /// `None` once it was read.
    work: Option<Work>,
    outputs: Outputs,
    /// What `result` returned or raised.
    results: Option<Result<Py<PyList>, PyErr>>,
    /// What is called when the launch has finished.
    callbacks: Callbacks,
}

impl State {
    /// Adds a function to be called when the launch has finished. Returns false if it has.
    fn add(&mut self, function: &Bound<'_, PyAny>) -> bool {
        let Some(Work::Pending(ticket)) = &mut self.work else { return false };
        match self.callbacks.add(function, ticket) {
            Added::Will => true,
            Added::Finished(None) => false,
            Added::Finished(Some(output)) => {
                self.work = Some(Work::Finished(output));
                false
            }
        }
    }
}

enum Work {
    Pending(hiplaunch::Ticket),
    /// The host saw that it has finished.
    Finished(hiplaunch::Result<hiplaunch::Output>),
}

impl Work {
    fn is_ready(&self) -> bool {
        match self {
            Work::Pending(ticket) => ticket.is_ready(),
            Work::Finished(_) => true,
        }
    }

    /// Waits for the outputs.
    fn read(self) -> hiplaunch::Result<hiplaunch::Output> {
        match self {
            Work::Pending(ticket) => ticket.read(),
            Work::Finished(output) => output,
        }
    }
}

/// Waits for a launch and writes its outputs.
fn read(py: Python<'_>, work: Work, outputs: Outputs) -> PyResult<Py<PyList>> {
    let output = if work.is_ready() { work.read() } else { py.detach(|| work.read()) }.map_err(raise)?;
    let results = PyList::empty(py);
    for (index, array) in outputs.into_iter().enumerate() {
        let bytes = output.bytes(index).map_err(raise)?;
        match array {
            Some(array) => {
                let array = array.into_bound(py);
                // SAFETY: writable; a thread that reads the array meanwhile gets either contents.
                unsafe { ArrayBytes::of(&array, true)?.write(bytes) };
                results.append(array)?;
            }
            None => results.append(PyBytes::new(py, bytes))?,
        }
    }
    Ok(results.unbind())
}

impl Ticket {
    pub(crate) fn new(shared: &Arc<Shared>, ticket: hiplaunch::Ticket, outputs: Outputs) -> Ticket {
        Ticket(Live::new(
            shared,
            Mutex::new(State {
                work: Some(Work::Pending(ticket)),
                outputs,
                results: None,
                callbacks: Callbacks::default(),
            }),
        ))
    }
}

#[pymethods]
impl Ticket {
    /// Whether the launch has finished. Never waits.
    #[getter]
    fn done(&self) -> PyResult<bool> {
        let state = self.0.open()?.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(state.work.as_ref().is_none_or(Work::is_ready))
    }

    /// Waits for the launch and returns its outputs, in the order of the arguments: the arrays of Out and InOut, which were written
    /// now, and bytes for Out of a number of bytes. A kernel's fault is raised here as DeviceLostError. A second call returns the
    /// same list.
    fn result(&self, py: Python<'_>) -> PyResult<Py<PyList>> {
        let cell = self.0.open()?;
        let lock = || cell.lock().unwrap_or_else(PoisonError::into_inner);
        let work = loop {
            let mut state = lock();
            match &state.results {
                Some(Ok(results)) => return Ok(results.clone_ref(py)),
                Some(Err(error)) => return Err(error.clone_ref(py)),
                None => {}
            }
            if let Some(work) = state.work.take() {
                break work;
            }
            // Another thread reads it.
            drop(state);
            py.detach(|| std::thread::sleep(Duration::from_micros(50)));
        };
        let outputs = std::mem::take(&mut lock().outputs);
        let results = read(py, work, outputs);
        lock().results = Some(match &results {
            Ok(results) => Ok(results.clone_ref(py)),
            Err(error) => Err(error.clone_ref(py)),
        });
        results
    }

    /// Calls `function()` once the launch has finished, from a thread of the library; at once if it has. It may be called several
    /// times, for as many functions. An exception of the function is reported by sys.unraisablehook.
    fn add_done_callback(&self, function: Bound<'_, PyAny>) -> PyResult<()> {
        let mut state = self.0.open()?.lock().unwrap_or_else(PoisonError::into_inner);
        let is_pending = state.add(&function);
        drop(state);
        if is_pending { Ok(()) } else { function.call0().map(drop) }
    }

    /// Waits without blocking the event loop of asyncio, and returns what `result` returns.
    fn __await__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        this.get().0.open()?;
        let waiting = this.py().import("hiplaunch._waiting")?.getattr("wait")?;
        waiting.call1((this,))?.call_method0("__await__")
    }
}
