//! Functions of Python that are called once work of a device has finished: by the thread that wakes tasks, never by one of the
//! driver. It attaches to the interpreter, which a thread may hold that waits for the device.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use pyo3::prelude::*;

use crate::live::with_interpreter;

/// The functions that wait for one piece of work.
#[derive(Default)]
pub(crate) struct Callbacks(Option<Arc<Functions>>);

/// What became of a function that was added.
pub(crate) enum Added<T> {
    /// It will be called.
    Will,
    /// It will not: the work has finished, with this result unless the functions were called already.
    Finished(Option<T>),
}

impl Callbacks {
    /// Has a function called when the work has finished.
    pub(crate) fn add<F: Future + Unpin>(
        &mut self,
        function: &Bound<'_, PyAny>,
        work: &mut F,
    ) -> Added<F::Output> {
        if let Some(functions) = &self.0 {
            // The first poll's waker calls all of them.
            return if functions.add(function) { Added::Will } else { Added::Finished(None) };
        }
        let functions = Arc::new(Functions(Mutex::new(Some(vec![function.clone().unbind()]))));
        let waker = Waker::from(functions.clone());
        match Pin::new(work).poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => Added::Finished(Some(output)),
            Poll::Pending => {
                self.0 = Some(functions);
                Added::Will
            }
        }
    }
}

/// `None` once they were called.
struct Functions(Mutex<Option<Vec<Py<PyAny>>>>);

impl Functions {
    /// Adds a function; returns whether it will be called.
    fn add(&self, function: &Bound<'_, PyAny>) -> bool {
        match &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(functions) => {
                functions.push(function.clone().unbind());
                true
            }
            None => false,
        }
    }

    fn take(&self) -> Vec<Py<PyAny>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default()
    }
}

impl Wake for Functions {
    fn wake(self: Arc<Self>) {
        with_interpreter(|py| {
            for function in self.take() {
                if let Err(error) = function.call0(py) {
                    error.write_unraisable(py, None);
                }
            }
        });
    }
}
