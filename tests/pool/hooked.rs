//! A driver that runs a hook of the test before each call that a pool makes.

use std::ffi::CStr;
use std::fmt;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};

use hiplaunch::driver::{
    Capabilities, Capability, CaptureInfo, CaptureMode, DeviceId, DeviceProperties, DevicePtr, Driver,
    DriverInfo, DriverResult, EventOptions, IpcHandle, MemInfo, NodeLaunch, PinnedAllocation, RawEvent,
    RawFunction, RawGraph, RawGraphExec, RawModule, RawStream, StreamOptions, Work,
};

type Hook = Arc<dyn Fn(&'static str) + Send + Sync>;

/// A driver that runs a hook before each call that a pool makes. See the [module](self).
pub(crate) struct HookedDriver {
    inner: Arc<dyn Driver>,
    hook: Mutex<Option<Hook>>,
    lacks: Option<Capability>,
}

impl HookedDriver {
    pub(crate) fn new(inner: Arc<dyn Driver>) -> Arc<HookedDriver> {
        Arc::new(HookedDriver { inner, hook: Mutex::new(None), lacks: None })
    }

    /// Creates a driver that lacks a capability.
    pub(crate) fn without(inner: Arc<dyn Driver>, lacks: Capability) -> Arc<HookedDriver> {
        Arc::new(HookedDriver { inner, hook: Mutex::new(None), lacks: Some(lacks) })
    }

    /// Sets the hook, which gets the name of the trait's method.
    pub(crate) fn set(&self, hook: Option<Hook>) {
        *self.hook.lock().unwrap() = hook;
    }

    /// Runs the hook. Driver calls that the hook makes run no hook.
    fn run(&self, call: &'static str) {
        let hook = self.hook.lock().unwrap().take();
        if let Some(hook) = hook {
            hook(call);
            self.hook.lock().unwrap().get_or_insert(hook);
        }
    }
}

impl fmt::Debug for HookedDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HookedDriver").field("inner", &self.inner).finish_non_exhaustive()
    }
}

/// The calls that a pool makes.
const HOOKED: &[&str] = &[
    "malloc",
    "free",
    "event_create",
    "event_record",
    "event_query",
    "event_synchronize",
    "stream_query",
    "stream_synchronize",
    "stream_wait_event",
];

macro_rules! forward {
    ($($kind:ident $name:literal [$($group:ident)*] ($($unsafe:tt)?) fn $method:ident($device:ident $(, $arg:ident: $ty:ty)*) -> $result:ty;)*) => {
        #[allow(clippy::extra_unused_lifetimes, clippy::needless_lifetimes, reason = "rows name their lifetimes")]
        impl Driver for HookedDriver {
            fn info(&self) -> DriverInfo {
                self.inner.info()
            }
            fn capabilities(&self) -> Capabilities {
                self.inner.capabilities().iter().filter(|c| Some(*c) != self.lacks).collect()
            }
            fn device_count(&self) -> DriverResult<u32> {
                self.inner.device_count()
            }
            unsafe fn enqueue(&self, device: DeviceId, stream: RawStream, work: &Work<'_>) -> DriverResult<()> {
                // SAFETY: the caller's promise, passed on.
                unsafe { self.inner.enqueue(device, stream, work) }
            }
            unsafe fn copy_blocking(&self, device: DeviceId, work: &Work<'_>) -> DriverResult<()> {
                // SAFETY: the caller's promise, passed on.
                unsafe { self.inner.copy_blocking(device, work) }
            }
            $($($unsafe)? fn $method<'a>(&self, $device: DeviceId $(, $arg: $ty)*) -> DriverResult<$result> {
                if HOOKED.contains(&stringify!($method)) {
                    self.run(stringify!($method));
                }
                // SAFETY: the caller's promise, passed on.
                $($unsafe)? { self.inner.$method($device $(, $arg)*) }
            })*
        }
    };
}

hip_driver::for_each_call!(forward);
