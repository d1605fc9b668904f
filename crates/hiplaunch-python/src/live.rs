//! What the objects of a launcher share: whether it is open, and whether this process opened it.
//!
//! A forked process has the objects of its parent, but not the threads that they need. So every object knows the process that
//! made it, by a number that a fork counts up. In a forked process, use raises and dropping leaks.

use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use hip_driver_emulated::Interrupt;
use pyo3::prelude::*;
use pyo3::types::PyCFunction;

use crate::errors::{ClosedError, ForkedError, raise};

/// How often the process was forked.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// The launchers of the process, to be closed when the interpreter ends.
static LAUNCHERS: Mutex<Vec<Weak<Shared>>> = Mutex::new(Vec::new());

/// A launcher and what its objects need of it.
pub(crate) struct Shared {
    launcher: ManuallyDrop<hiplaunch::Launcher>,
    /// The default stream of each device; empty before it is used. Emptied when the launcher is closed.
    streams: Mutex<Vec<Option<hiplaunch::Stream>>>,
    closed: AtomicBool,
    forks: u32,
    /// Ends the kernels of the emulator; `None` on a GPU.
    pub(crate) interrupt: Option<Interrupt>,
}

/// The name of a launcher's driver, whatever layers are over it: `hip`, `hsa`, `emulated` or `noop`.
pub(crate) fn below_layers(launcher: &hiplaunch::Launcher) -> String {
    let name = launcher.driver().info().name;
    name.rsplit(" over ").next().unwrap_or_default().to_owned()
}

impl Shared {
    pub(crate) fn new(launcher: hiplaunch::Launcher, interrupt: Option<Interrupt>) -> Arc<Shared> {
        let streams = Mutex::new(vec![None; launcher.devices().len()]);
        let shared = Arc::new(Shared {
            launcher: ManuallyDrop::new(launcher),
            streams,
            closed: AtomicBool::new(false),
            forks: FORKS.load(Ordering::Relaxed),
            interrupt,
        });
        let mut launchers = LAUNCHERS.lock().unwrap_or_else(PoisonError::into_inner);
        launchers.retain(|other| other.strong_count() != 0);
        launchers.push(Arc::downgrade(&shared));
        shared
    }

    /// Returns the launcher.
    ///
    /// # Errors
    /// `ClosedError` after [`close`](Shared::close), `ForkedError` in a process that was forked from the launcher's.
    #[inline]
    pub(crate) fn open(&self) -> PyResult<&hiplaunch::Launcher> {
        match self.is_usable() {
            true => Ok(&self.launcher),
            false => Err(self.unusable()),
        }
    }

    #[inline]
    pub(crate) fn is_usable(&self) -> bool {
        self.is_of_this_process() && !self.closed.load(Ordering::Relaxed)
    }

    #[inline]
    fn is_of_this_process(&self) -> bool {
        self.forks == FORKS.load(Ordering::Relaxed)
    }

    #[cold]
    fn unusable(&self) -> PyErr {
        match self.is_of_this_process() {
            true => ClosedError::new_err("the launcher was closed; its objects can't be used any more"),
            false => ForkedError::new_err(
                "the object is of a process that this one was forked from, whose threads it needs; open a launcher in this process, or start \
                 processes with multiprocessing's `spawn` or `forkserver`",
            ),
        }
    }

    /// Returns a device by its ordinal.
    pub(crate) fn device(&self, ordinal: u32) -> PyResult<&hiplaunch::Device> {
        self.open()?.device(ordinal).map_err(raise)
    }

    /// Returns the default stream of a device.
    pub(crate) fn default_stream(&self, ordinal: u32) -> PyResult<hiplaunch::Stream> {
        let (launcher, device) = (self.open()?, self.device(ordinal)?);
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Some(stream)) = streams.get(ordinal as usize) {
            return Ok(stream.clone());
        }
        let stream = launcher.stream(device).map_err(raise)?;
        if let Some(place) = streams.get_mut(ordinal as usize) {
            *place = Some(stream.clone());
        }
        Ok(stream)
    }

    /// Waits for the work of all devices, and refuses further use. Returns the first error, such as a kernel's fault.
    pub(crate) fn close(&self) -> hiplaunch::Result<()> {
        if !self.is_of_this_process() || self.closed.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        self.streams.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.synchronize()
    }

    /// Waits for the work of all devices.
    pub(crate) fn synchronize(&self) -> hiplaunch::Result<()> {
        let mut first = Ok(());
        for device in self.launcher.devices() {
            first = first.and(device.synchronize());
        }
        first
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if self.is_of_this_process() {
            // SAFETY: dropped here alone, and not used afterwards.
            unsafe { ManuallyDrop::drop(&mut self.launcher) };
        } else {
            // Dropping a stream waits for threads that this process does not have.
            let streams = self.streams.get_mut().unwrap_or_else(PoisonError::into_inner);
            streams.drain(..).for_each(std::mem::forget);
        }
    }
}

/// A value that belongs to a launcher. It is dropped only in the process that made it.
pub(crate) struct Live<T> {
    shared: Arc<Shared>,
    value: ManuallyDrop<T>,
}

impl<T> Live<T> {
    pub(crate) fn new(shared: &Arc<Shared>, value: T) -> Live<T> {
        Live { shared: shared.clone(), value: ManuallyDrop::new(value) }
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Returns the value.
    ///
    /// # Errors
    /// The errors of [`Shared::open`].
    #[inline]
    pub(crate) fn open(&self) -> PyResult<&T> {
        self.shared.open().map(|_| &*self.value)
    }

    /// Returns the value if this process made it, whether or not the launcher is closed.
    pub(crate) fn own(&self) -> PyResult<&T> {
        match self.shared.is_of_this_process() {
            true => Ok(&self.value),
            false => Err(self.shared.unusable()),
        }
    }

    /// Returns the value for what never changes and needs no open launcher, such as a name.
    #[inline]
    pub(crate) fn constant(&self) -> &T {
        &self.value
    }

    /// Whether two values are of one launcher.
    #[inline]
    pub(crate) fn is_of(&self, shared: &Arc<Shared>) -> bool {
        Arc::ptr_eq(&self.shared, shared)
    }
}

impl<T> Drop for Live<T> {
    fn drop(&mut self) {
        if self.shared.is_of_this_process() {
            // SAFETY: dropped here alone, and not used afterwards.
            unsafe { ManuallyDrop::drop(&mut self.value) };
        }
    }
}

/// Tells Python to count forks, and to close launchers when the interpreter ends.
pub(crate) fn forget_launchers_after_fork(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let forked = PyCFunction::new_closure(py, Some(c"forked"), None, |_, _| {
        FORKS.fetch_add(1, Ordering::Relaxed);
        // The threads that call are the parent's.
        CALLS.store(0, Ordering::SeqCst);
    })?;
    let options = pyo3::types::PyDict::new(py);
    options.set_item("after_in_child", forked)?;
    // Systems without `fork` have no such function.
    if let Ok(register) = py.import("os")?.getattr("register_at_fork") {
        register.call((), Some(&options))?;
    }
    let ended = PyCFunction::new_closure(py, Some(c"ended"), None, |arguments, _| {
        arguments.py().detach(close_all);
    })?;
    py.import("atexit")?.call_method1("register", (ended,))?;
    Ok(())
}

/// Whether the interpreter ends.
static ENDS: AtomicBool = AtomicBool::new(false);

/// The number of threads of the library that call functions of Python.
static CALLS: AtomicU32 = AtomicU32::new(0);

/// Calls a function from a thread of the library, with the interpreter attached, unless the interpreter ends.
///
/// Before Python 3.14, a thread that attaches while the interpreter ends is killed, which Rust can't stand.
pub(crate) fn with_interpreter(call: impl FnOnce(Python<'_>)) {
    CALLS.fetch_add(1, Ordering::SeqCst);
    if !ENDS.load(Ordering::SeqCst) {
        Python::try_attach(call);
    }
    CALLS.fetch_sub(1, Ordering::SeqCst);
}

/// Runs without the interpreter attached: calls that have begun need it to end.
fn close_all() {
    ENDS.store(true, Ordering::SeqCst);
    while CALLS.load(Ordering::SeqCst) != 0 {
        std::thread::sleep(Duration::from_micros(100));
    }
    let launchers = std::mem::take(&mut *LAUNCHERS.lock().unwrap_or_else(PoisonError::into_inner));
    for shared in launchers.iter().filter_map(Weak::upgrade) {
        if let Err(error) = shared.close() {
            log::warn!("work in flight when the interpreter ended: {error}");
        }
    }
}
