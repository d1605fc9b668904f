//! The one driver of a process: loaded once, never used in a forked child, with a current device on each thread.

use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::c_int;
use std::path::Path;
use std::ptr;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, RwLock};

use once_cell::sync::OnceCell;

use super::call::{check, code_of, forked, ordinal, owned, unsupported};
use super::graph::Graphs;
use super::symbols::Api;
use super::{HipDriver, LoadError, Symbol, load};
use crate::{Capability, DeviceId, DriverResult, ErrorCode};

/// From this version on kernels of modules are known to be taken as nodes of graphs (seen with 5.2); before, those that the
/// program was linked with.
const GRAPHS_TAKE_MODULE_KERNELS: i32 = 50_200_000;
/// From this version on HIP loads code objects for generic processors; [`Capability::since`] says how that is known.
const LOADS_GENERIC_CODE: i32 = 60_400_000;

/// The driver of this process.
pub(super) static DRIVER: OnceCell<Arc<HipDriver>> = OnceCell::new();

/// No device has been set on the thread by this driver.
pub(super) const NO_DEVICE_SET: c_int = -1;

thread_local! {
    pub(super) static CURRENT_DEVICE: Cell<c_int> = const { Cell::new(NO_DEVICE_SET) };
}

impl HipDriver {
    /// The driver of this process, loaded at the first call. A call that failed is tried again by the next.
    ///
    /// # Errors
    ///
    /// No library that can be used, with everything that was tried; or HIP failed to start. No GPU is no error:
    /// [`device_count`](crate::Driver::device_count) is 0 then.
    pub fn load() -> Result<Arc<HipDriver>, LoadError> {
        // Not through the cell in a forked child: another thread of the parent may have been inside it for ever.
        if load::is_forked_child() {
            return DRIVER.get().cloned().ok_or(LoadError::Forked);
        }
        let init = || load::load().map(|loaded| Arc::new(HipDriver::new(loaded)));
        DRIVER.get_or_try_init(init).cloned()
    }

    pub(super) fn new(loaded: load::Loaded) -> HipDriver {
        let works = |capability: &Capability| {
            *capability != Capability::Graphs || loaded.version >= GRAPHS_TAKE_MODULE_KERNELS
        };
        HipDriver {
            capabilities: loaded
                .api
                .capabilities()
                .iter()
                .filter(works)
                .chain((loaded.version >= LOADS_GENERIC_CODE).then_some(Capability::GenericCodeObjects))
                .collect(),
            loaded,
            images: Mutex::new(HashMap::new()),
            graphs: Graphs::default(),
            pool_gate: RwLock::new(()),
            pool_used: AtomicBool::new(false),
            kernel_gate: RwLock::new(()),
        }
    }

    /// Every entry point of HIP that is looked for, required ones first, and whether the library has it.
    pub fn symbols(&self) -> impl Iterator<Item = Symbol> + use<> {
        self.loaded.api.symbols().into_iter()
    }

    /// The library's file, as the system's loader names it.
    pub fn library_path(&self) -> &Path {
        &self.loaded.library
    }

    /// HIP's version number: `major * 10_000_000 + minor * 100_000 + patch`.
    pub fn runtime_version(&self) -> i32 {
        self.loaded.version
    }

    /// Makes the driver set the device anew at this thread's next call: for programs that call `hipSetDevice`
    /// themselves.
    pub fn forget_current_device(&self) {
        CURRENT_DEVICE.set(NO_DEVICE_SET);
    }

    /// HIP's own name of a result code.
    pub fn error_name(&self, code: ErrorCode) -> String {
        // SAFETY: the function takes any number, and returns a C string that lives for ever, or null.
        unsafe {
            owned(if load::is_forked_child() {
                ptr::null()
            } else {
                (self.loaded.api.hipGetErrorName)(code_of(code))
            })
        }
    }

    /// HIP's own words for a result code.
    pub fn error_text(&self, code: ErrorCode) -> String {
        // SAFETY: as above.
        unsafe {
            owned(if load::is_forked_child() {
                ptr::null()
            } else {
                (self.loaded.api.hipGetErrorString)(code_of(code))
            })
        }
    }

    /// The device that HIP has as this thread's current one.
    ///
    /// # Errors
    ///
    /// HIP's code, as where there is no device.
    pub fn current_device(&self) -> DriverResult<DeviceId> {
        const CALL: &str = "hipGetDevice";
        let mut ordinal: c_int = 0;
        // SAFETY: the pointer is to a live integer.
        check(CALL, unsafe { (self.api(CALL)?.hipGetDevice)(&mut ordinal) })?;
        Ok(DeviceId(u32::try_from(ordinal).unwrap_or(0)))
    }

    /// The functions, unless this is a forked child.
    #[inline]
    pub(super) fn api(&self, call: &'static str) -> DriverResult<&Api> {
        if load::is_forked_child() { Err(forked(call)) } else { Ok(&self.loaded.api) }
    }

    /// The functions, with `device` the thread's current one.
    #[inline]
    pub(super) fn on(&self, device: DeviceId, call: &'static str) -> DriverResult<&Api> {
        let api = self.api(call)?;
        if CURRENT_DEVICE.get() != device.0 as c_int || device.0 > c_int::MAX as u32 {
            set_device(api, device)?;
        }
        Ok(api)
    }

    /// An optional function.
    #[inline]
    pub(super) fn optional<F>(&self, call: &'static str, function: Option<F>) -> DriverResult<F> {
        function.ok_or_else(|| unsupported(call))
    }
}

/// Sets the thread's current device.
#[cold]
fn set_device(api: &Api, device: DeviceId) -> DriverResult<()> {
    let ordinal = ordinal("hipSetDevice", device)?;
    // SAFETY: an ordinal that is not there gives an error.
    check("hipSetDevice", unsafe { (api.hipSetDevice)(ordinal) })?;
    CURRENT_DEVICE.set(ordinal);
    Ok(())
}
