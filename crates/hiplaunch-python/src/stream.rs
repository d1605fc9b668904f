//! Streams and events.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hip_driver::EventOptions;
use pyo3::prelude::*;

use crate::errors::raise;
use crate::fence::Fence;
use crate::live::{Live, Shared};

/// A stream of a device: its work runs in the order in which it was enqueued. Launcher.stream makes one.
#[pyclass(frozen, module = "hiplaunch")]
pub(crate) struct Stream(pub(crate) Live<hiplaunch::Stream>);

impl Stream {
    pub(crate) fn new(shared: &Arc<Shared>, stream: hiplaunch::Stream) -> Stream {
        Stream(Live::new(shared, stream))
    }
}

impl Shared {
    /// Returns a stream, or the default stream of a device where none is given.
    pub(crate) fn stream_or_default(
        &self,
        stream: Option<&Stream>,
        device: u32,
    ) -> PyResult<hiplaunch::Stream> {
        match stream {
            Some(stream) => stream.0.open().cloned(),
            None => self.default_stream(device),
        }
    }
}

/// Waits for all work of a stream for a fifth of a second, without executing it: nothing could stop this thread then. Returns
/// whether all work was done, or failed.
fn finishes_soon(stream: &hiplaunch::Stream) -> bool {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_millis(200) {
        if stream.is_idle().unwrap_or(true) {
            return true;
        }
        // Most kernels are short: a sleep of the operating system takes 50 us at least.
        if begin.elapsed() < Duration::from_micros(50) {
            std::thread::yield_now();
        } else {
            std::thread::sleep(Duration::from_micros(50).max(begin.elapsed() / 20));
        }
    }
    false
}

#[pymethods]
impl Stream {
    /// The ordinal of its device.
    #[getter]
    fn device(&self) -> u32 {
        self.0.constant().device().id().0
    }

    /// Its hipStream_t, as a number, for other libraries.
    #[getter]
    fn raw(&self) -> PyResult<u64> {
        Ok(self.0.open()?.as_raw().0)
    }

    /// Whether all its work has finished. Never waits.
    #[getter]
    fn idle(&self) -> PyResult<bool> {
        self.0.open()?.is_idle().map_err(raise)
    }

    /// Waits for all work on the stream. A kernel's fault is raised here as DeviceLostError.
    ///
    /// On the emulator, a signal whose handler raises an exception, as Ctrl-C does, ends the kernel that runs. The device is lost then.
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        let stream = self.0.open()?;
        if let Some(interrupt) = &self.0.shared().interrupt {
            while !py.detach(|| finishes_soon(stream)) {
                if let Err(exception) = py.check_signals() {
                    interrupt.end_dispatches();
                    // The exception says why the kernel failed.
                    let _ = py.detach(|| stream.synchronize());
                    return Err(exception);
                }
            }
        }
        py.detach(|| stream.synchronize()).map_err(raise)
    }

    /// Returns a fence behind all work that is enqueued so far: to be awaited, waited for, or polled.
    fn fence(&self) -> PyResult<Fence> {
        Fence::new(self.0.shared(), self.0.open()?)
    }

    /// Makes work that is enqueued from now on wait for an event, which may be another device's.
    fn wait(&self, event: &Bound<'_, Event>) -> PyResult<()> {
        event.get().0.open()?.wait_on(self.0.open()?).map_err(raise)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Stream>().is_ok_and(|other| other.get().0.constant() == self.0.constant())
    }

    fn __hash__(&self) -> u64 {
        self.0.constant().number()
    }

    fn __repr__(&self) -> String {
        let stream = self.0.constant();
        format!("<hiplaunch.Stream {} of device {}>", stream.number(), stream.device().id().0)
    }
}

/// A mark on a stream, for which the host and other streams can wait. Launcher.event makes one.
#[pyclass(frozen, module = "hiplaunch")]
pub(crate) struct Event(pub(crate) Live<hiplaunch::Event>);

impl Event {
    pub(crate) fn new(shared: &Arc<Shared>, device: u32, timing: bool) -> PyResult<Event> {
        let event = hiplaunch::Event::new(shared.device(device)?, EventOptions { timing }).map_err(raise)?;
        Ok(Event(Live::new(shared, event)))
    }
}

#[pymethods]
impl Event {
    /// Records the event after all work enqueued on the stream so far.
    fn record(&self, stream: &Bound<'_, Stream>) -> PyResult<()> {
        self.0.open()?.record(stream.get().0.open()?).map_err(raise)
    }

    /// Whether the last record has been reached. Never waits.
    #[getter]
    fn reached(&self) -> PyResult<bool> {
        self.0.open()?.is_reached().map_err(raise)
    }

    /// Waits until the last record has been reached.
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        let event = self.0.open()?;
        py.detach(|| event.synchronize()).map_err(raise)
    }

    /// Returns the milliseconds from this event's record to that of `end`. Both have `timing`, and both were reached.
    fn elapsed_ms(&self, end: &Bound<'_, Event>) -> PyResult<f32> {
        self.0.open()?.elapsed_ms(end.get().0.open()?).map_err(raise)
    }

    /// Its hipEvent_t, as a number, for other libraries.
    #[getter]
    fn raw(&self) -> PyResult<u64> {
        Ok(self.0.open()?.as_raw().0)
    }
}
