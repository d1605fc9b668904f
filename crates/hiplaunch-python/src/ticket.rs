//! Tickets: the pending results of a launch.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use smallvec::SmallVec;

use crate::array::ArrayBytes;
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
    /// What `result` returned.
    results: Option<Py<PyList>>,
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

impl Ticket {
    pub(crate) fn new(shared: &Arc<Shared>, ticket: hiplaunch::Ticket, outputs: Outputs) -> Ticket {
        Ticket(Live::new(
            shared,
            Mutex::new(State { work: Some(Work::Pending(ticket)), outputs, results: None }),
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
        let work = {
            let mut state = lock();
            if let Some(results) = &state.results {
                return Ok(results.clone_ref(py));
            }
            match state.work.take() {
                Some(work) => work,
                None => {
                    return Err(PyValueError::new_err(
                        "another thread reads the ticket, or reading it failed",
                    ));
                }
            }
        };
        let output = if work.is_ready() { work.read() } else { py.detach(|| work.read()) }.map_err(raise)?;
        let outputs = std::mem::take(&mut lock().outputs);
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
        let results = results.unbind();
        lock().results = Some(results.clone_ref(py));
        Ok(results)
    }

    /// Calls `function()` once the launch has finished, from a thread of the library; at once if it has.
    fn add_done_callback(&self, function: Bound<'_, PyAny>) -> PyResult<()> {
        let mut state = self.0.open()?.lock().unwrap_or_else(PoisonError::into_inner);
        let waker = Waker::from(Arc::new(Callback(function.clone().unbind())));
        let polled = match &mut state.work {
            Some(Work::Pending(ticket)) => Pin::new(ticket).poll(&mut Context::from_waker(&waker)),
            _ => Poll::Pending,
        };
        if let Poll::Ready(output) = polled {
            state.work = Some(Work::Finished(output));
        }
        let is_pending = matches!(state.work, Some(Work::Pending(_)));
        drop(state);
        if is_pending { Ok(()) } else { function.call0().map(drop) }
    }
}

/// Calls a function of Python.
struct Callback(Py<PyAny>);

impl Wake for Callback {
    fn wake(self: Arc<Self>) {
        // After the interpreter has ended nobody waits any more.
        Python::try_attach(|py| {
            if let Err(error) = self.0.call0(py) {
                error.write_unraisable(py, None);
            }
        });
    }
}
