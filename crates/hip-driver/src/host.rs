//! Functions of the host in the order of a stream: those that run once, and those that run at every launch of a graph.

use std::cell::Cell;
use std::ffi::c_void;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::{CallKind, DriverError, DriverResult, ErrorCode};

/// A function that the driver runs in stream order, even behind a fault: somebody may wait for it. It is passed the state of the
/// stream, and must not call the driver (`hipLaunchHostFunc`'s rule).
pub type HostFunc = Box<dyn FnOnce(DriverResult<()>) + Send + 'static>;

/// A function that a driver runs once, in stream order. The driver that enqueues it takes it out.
pub struct HostFunction(Cell<Option<HostFunc>>);

impl HostFunction {
    /// Wraps a function. It must not call the driver (`hipLaunchHostFunc`'s rule).
    pub fn new(function: impl FnOnce() + Send + 'static) -> HostFunction {
        HostFunction::with_status(|_| function())
    }

    /// Wraps a function to which the driver says whether the work before it was done: the error of a lost device. HIP does not say
    /// it to host functions, so that `Ok` of AMD's library means only that the stream came to the function.
    pub fn with_status(function: impl FnOnce(DriverResult<()>) + Send + 'static) -> HostFunction {
        HostFunction(Cell::new(Some(Box::new(function))))
    }

    /// Takes the function out. For drivers.
    ///
    /// # Errors
    /// Returns `INVALID_VALUE` if it was taken before.
    pub fn take(&self) -> DriverResult<HostFunc> {
        self.0.take().ok_or_else(|| {
            let detail = "the host function was enqueued before";
            DriverError::with_detail(CallKind::LaunchHostFunc.name(), ErrorCode::INVALID_VALUE, detail)
        })
    }

    /// Replaces the function with one that calls it. For layers. Does nothing if it was taken.
    pub fn wrap(&self, around: impl FnOnce(HostFunc) -> HostFunc) {
        if let Some(function) = self.0.take() {
            self.0.set(Some(around(function)));
        }
    }
}

impl fmt::Debug for HostFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HostFunction(..)")
    }
}

/// A function that a driver runs at every launch of the graph of which it is a node, under the rules of [`HostFunction`]. Clones are
/// the same function.
#[derive(Clone)]
pub struct HostNode(Arc<Repeated>);

struct Repeated {
    number: u64,
    function: Box<dyn Fn(DriverResult<()>) + Send + Sync>,
    observers: Mutex<Vec<Arc<dyn Fn() + Send + Sync>>>,
}

impl HostNode {
    /// Wraps a function. Launches that are not ordered call it at the same time.
    pub fn new(function: impl Fn(DriverResult<()>) + Send + Sync + 'static) -> HostNode {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        HostNode(Arc::new(Repeated { number, function: Box::new(function), observers: Mutex::default() }))
    }

    /// Returns the function's number, which no other of the process has.
    pub fn number(&self) -> u64 {
        self.0.number
    }

    /// Has a function called each time before this one. For layers.
    pub fn observe(&self, observer: impl Fn() + Send + Sync + 'static) {
        self.0.observers.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::new(observer));
    }

    /// Calls the function. For drivers.
    pub fn call(&self, status: DriverResult<()>) {
        self.0.call(status);
    }

    /// Returns what [`call_raw`](HostNode::call_raw) takes, for HIP's argument of host functions. It is valid as long as a clone lives.
    pub fn as_raw(&self) -> *mut c_void {
        Arc::as_ptr(&self.0).cast_mut().cast()
    }

    /// Calls the function with `Ok`. For drivers.
    ///
    /// # Safety
    /// `raw` is of [`as_raw`](HostNode::as_raw), and a clone of that node lives until this returns.
    pub unsafe fn call_raw(raw: *const c_void) {
        // SAFETY: the address of a live value of this type, which is only read (the caller's promise).
        unsafe { &*raw.cast::<Repeated>() }.call(Ok(()));
    }
}

impl Repeated {
    fn call(&self, status: DriverResult<()>) {
        // Without the lock: an observer may be added meanwhile.
        let observers = self.observers.lock().unwrap_or_else(PoisonError::into_inner).clone();
        observers.iter().for_each(|observer| observer());
        (self.function)(status);
    }
}

impl fmt::Debug for HostNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HostNode(..)")
    }
}
