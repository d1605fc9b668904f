//! Layers over a driver, and the adaptor that passes calls on.

use std::ffi::CStr;
use std::fmt;
use std::ptr::NonNull;
use std::sync::{Arc, Weak};

use hip_driver::activity::ActivityObserver;
use hip_driver::{
    Call, Capabilities, CaptureInfo, CaptureMode, DeviceId, DeviceProperties, DevicePtr, Driver, DriverError,
    DriverInfo, DriverResult, EventOptions, IpcHandle, MemInfo, NodeLaunch, Note, Observer, Output,
    PinnedAllocation, RawEvent, RawFunction, RawGraph, RawGraphExec, RawGraphNode, RawModule, RawStream,
    StreamOptions, Work, for_each_call,
};

/// Observes the calls of a driver. [`Intercepted`] makes a driver of it.
pub trait Layer: Send + Sync + 'static {
    /// The name that [`Driver::info`] puts before that of the driver below: `NAME over DRIVER`. Empty for none.
    const NAME: &'static str;

    /// What [`before`](Layer::before) passes to [`after`](Layer::after).
    type Token;

    /// Observes a call that is about to be passed on.
    ///
    /// # Errors
    /// An error refuses the call: the driver below does not see it, and the caller gets the error. The error is ignored
    /// for [`Call::Info`] and [`Call::Capabilities`], which cannot fail.
    fn before(&self, call: &Call<'_>) -> DriverResult<Self::Token>;

    /// Observes the result of a call that was not refused.
    fn after(&self, call: &Call<'_>, token: Self::Token, result: Result<Output, &DriverError>);

    /// Returns whether the layer uses notes. The answer never changes.
    fn takes_notes(&self) -> bool {
        false
    }

    /// Observes a note, which is always passed on.
    fn note(&self, note: &Note) {
        let _ = note;
    }
}

/// Two layers as one. The first is the outer one.
impl<A: Layer, B: Layer> Layer for (A, B) {
    const NAME: &'static str = if A::NAME.is_empty() { B::NAME } else { A::NAME };

    type Token = (A::Token, B::Token);

    #[inline]
    fn before(&self, call: &Call<'_>) -> DriverResult<Self::Token> {
        let outer = self.0.before(call)?;
        match self.1.before(call) {
            Ok(inner) => Ok((outer, inner)),
            Err(error) => {
                self.0.after(call, outer, Err(&error));
                Err(error)
            }
        }
    }

    #[inline]
    fn after(&self, call: &Call<'_>, (outer, inner): Self::Token, result: Result<Output, &DriverError>) {
        self.1.after(call, inner, result);
        self.0.after(call, outer, result);
    }

    fn takes_notes(&self) -> bool {
        self.0.takes_notes() || self.1.takes_notes()
    }

    fn note(&self, note: &Note) {
        self.0.note(note);
        self.1.note(note);
    }
}

/// A driver that passes each call on to the driver below and lets a layer observe it.
pub struct Intercepted<L> {
    inner: Arc<dyn Driver>,
    layer: L,
}

impl<L: Layer> Intercepted<L> {
    /// Puts a layer over a driver. The layer only observes calls that are made through it: do not call the driver below
    /// directly.
    pub fn with_layer(inner: Arc<dyn Driver>, layer: L) -> Intercepted<L> {
        Intercepted { inner, layer }
    }

    /// Returns the driver below.
    pub fn inner(&self) -> &Arc<dyn Driver> {
        &self.inner
    }

    /// Returns the layer.
    pub fn layer(&self) -> &L {
        &self.layer
    }

    #[inline]
    fn call<R>(&self, call: &Call<'_>, make: impl FnOnce(&dyn Driver) -> DriverResult<R>) -> DriverResult<R>
    where
        Output: for<'r> From<&'r R>,
    {
        let token = self.layer.before(call)?;
        let result = make(&*self.inner);
        self.layer.after(call, token, result.as_ref().map(Output::from));
        result
    }

    /// Makes a call that cannot fail.
    fn ask<R>(&self, call: &Call<'_>, ask: impl FnOnce(&dyn Driver) -> R) -> R {
        let token = self.layer.before(call);
        let answer = ask(&*self.inner);
        if let Ok(token) = token {
            self.layer.after(call, token, Ok(Output::None));
        }
        answer
    }
}

impl<L: Layer> fmt::Debug for Intercepted<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Intercepted")
            .field("layer", &L::NAME)
            .field("inner", &self.inner)
            .finish_non_exhaustive()
    }
}

impl<L: Layer> Observer for Intercepted<L> {
    fn takes_notes(&self) -> bool {
        self.layer.takes_notes() || self.inner.observer().is_some_and(Observer::takes_notes)
    }

    fn separates_blocks(&self) -> bool {
        self.inner.observer().is_some_and(Observer::separates_blocks)
    }

    fn note(&self, note: &Note) {
        self.layer.note(note);
        if let Some(inner) = self.inner.observer() {
            inner.note(note);
        }
    }

    fn watch_activity(&self, observer: Weak<dyn ActivityObserver>) -> bool {
        self.inner.observer().is_some_and(|inner| inner.watch_activity(observer))
    }
}

macro_rules! forward {
    ($($kind:ident $name:literal [$($group:ident)*] ($($unsafe:tt)?) fn $method:ident($device:ident $(, $arg:ident: $ty:ty)*) -> $result:ty;)*) => {
        #[allow(
            clippy::extra_unused_lifetimes,
            clippy::needless_lifetimes,
            reason = "a row of the list names the lifetime of what it borrows"
        )]
        impl<L: Layer> Driver for Intercepted<L> {
            fn info(&self) -> DriverInfo {
                let info = self.ask(&Call::Info, |driver| driver.info());
                let name = if L::NAME.is_empty() { info.name } else { format!("{} over {}", L::NAME, info.name) };
                DriverInfo { name, ..info }
            }

            fn capabilities(&self) -> Capabilities {
                self.ask(&Call::Capabilities, |driver| driver.capabilities())
            }

            fn observer(&self) -> Option<&dyn Observer> {
                (self.layer.takes_notes() || self.inner.observer().is_some()).then_some(self)
            }

            fn device_count(&self) -> DriverResult<u32> {
                self.call(&Call::DeviceCount, |driver| driver.device_count())
            }

            unsafe fn enqueue(&self, device: DeviceId, stream: RawStream, work: &Work<'_>) -> DriverResult<()> {
                let call = Call::Enqueue { device, stream, work };
                // SAFETY: the caller guarantees what the same method of the driver below requires.
                self.call(&call, |driver| unsafe { driver.enqueue(device, stream, work) })
            }

            unsafe fn copy_blocking(&self, device: DeviceId, work: &Work<'_>) -> DriverResult<()> {
                // SAFETY: the caller guarantees what the same method of the driver below requires.
                self.call(&Call::CopyBlocking { device, work }, |driver| unsafe { driver.copy_blocking(device, work) })
            }

            unsafe fn graph_add(
                &self,
                device: DeviceId,
                graph: RawGraph,
                dependencies: &[RawGraphNode],
                work: &Work<'_>,
            ) -> DriverResult<RawGraphNode> {
                let call = Call::GraphAdd { device, graph, dependencies, work };
                // SAFETY: the caller guarantees what the same method of the driver below requires.
                self.call(&call, |driver| unsafe { driver.graph_add(device, graph, dependencies, work) })
            }

            $($($unsafe)? fn $method<'a>(&self, $device: DeviceId $(, $arg: $ty)*) -> DriverResult<$result> {
                let call = Call::$kind { $device $(, $arg)* };
                // SAFETY: the caller guarantees what the same method of the driver below requires.
                self.call(&call, |driver| $($unsafe)? { driver.$method($device $(, $arg)*) })
            })*
        }
    };
}

for_each_call!(forward);
