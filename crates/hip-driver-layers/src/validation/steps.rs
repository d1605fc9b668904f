//! What surrounds a call: counting, an injected fault, checks before it, and what its result tells.

use std::collections::BTreeMap;

use code_object::CodeObject;

use hip_driver::{DeviceId, Driver, DriverError, DriverResult, RawStream};

use super::ValidationDriver;
use super::counts::CallKind;
use super::memory::Touch;
use super::state::{State, refusal};
use super::violation::{Operation, Violation};

/// What a check says.
pub(super) type Checked<T> = Result<T, Box<Violation>>;

impl ValidationDriver {
    /// Counts a call; fails it where a fault is to be injected.
    #[inline]
    pub(super) fn begin(&self, call: CallKind) -> DriverResult<()> {
        self.begin_with(call, call.groups())
    }

    #[inline]
    pub(super) fn begin_with(&self, call: CallKind, groups: &[CallKind]) -> DriverResult<()> {
        self.counters.add(call);
        groups.iter().for_each(|&group| self.counters.add(group));
        match self.injections.tick([&[call], groups]) {
            None => Ok(()),
            Some(code) => {
                Err(DriverError::with_detail(call.name(), code, "injected by the validation layer"))
            }
        }
    }

    /// Runs a check under the lock; what it finds is reported and refuses the call.
    pub(super) fn check<T>(
        &self,
        call: CallKind,
        check: impl FnOnce(&mut State) -> Checked<T>,
    ) -> DriverResult<T> {
        let mut state = self.lock();
        check(&mut state).map_err(|violation| {
            let error = DriverError::with_detail(call.name(), refusal(&violation), violation.to_string());
            state.report(*violation);
            error
        })
    }

    /// Looks at what the driver below returned: after a sticky code nothing runs on the device any more.
    #[inline]
    pub(super) fn seen<T>(&self, device: DeviceId, result: DriverResult<T>) -> DriverResult<T> {
        if let Err(error) = &result
            && error.code.is_sticky()
        {
            self.lock().order.abandon(device);
        }
        result
    }

    /// A call that puts work on a stream.
    pub(super) fn enqueue<const N: usize>(
        &self,
        call: CallKind,
        device: DeviceId,
        stream: RawStream,
        touches: [Touch; N],
        inner: impl FnOnce() -> DriverResult<()>,
    ) -> DriverResult<()> {
        self.check(call, |state| {
            state.streams.of(call, device, stream.0)?;
            touches.iter().try_for_each(|touch| state.regions.find(call, touch).map(drop))
        })?;
        self.seen(device, inner())?;
        self.lock().commit(Operation::of(call), stream, touches.into_iter());
        Ok(())
    }

    /// A copy that waits on no stream.
    pub(super) fn blocking(
        &self,
        call: CallKind,
        device: DeviceId,
        touches: [Touch; 2],
        inner: impl FnOnce() -> DriverResult<()>,
    ) -> DriverResult<()> {
        self.begin(call)?;
        self.check(call, |state| {
            touches.iter().try_for_each(|touch| state.regions.find(call, touch).map(drop))
        })?;
        self.seen(device, inner())?;
        self.lock().blocking(call, touches.into_iter());
        Ok(())
    }

    pub(super) fn nonzero(&self, call: CallKind, bytes: usize) -> DriverResult<()> {
        if bytes > 0 {
            return Ok(());
        }
        self.check(call, |_| Err(Box::new(Violation::ZeroBytes { call })))
    }
}

/// Kernarg bytes of each kernel of an image; empty where the image cannot be read, which is the driver's to say. A kernel
/// whose arguments are all hidden may be launched without any.
pub(super) fn kernarg_sizes(image: &[u8], driver: &dyn Driver, device: DeviceId) -> BTreeMap<Box<str>, u32> {
    let Ok(properties) = driver.device_properties(device) else { return BTreeMap::new() };
    let Ok(object) = CodeObject::from_any(image, &properties.target) else { return BTreeMap::new() };
    let with_arguments = object.kernels().iter().filter(|kernel| !kernel.explicit_args().is_empty());
    with_arguments.map(|kernel| (kernel.name.as_str().into(), kernel.kernarg_size)).collect()
}
