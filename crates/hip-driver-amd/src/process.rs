//! The process's one driver. It is loaded once, tracks each thread's current device, and is not used in a forked child.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::ffi::c_int;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, RwLock};

use crate::call::{check, code_of, forked, ordinal, owned, unsupported};
use crate::capture::Captures;
use crate::graph::Graphs;
use crate::symbols::Api;
use crate::versions::{
    CAPTURES_TAKE_MODULE_LAUNCHES, GRAPHS_TAKE_MODULE_KERNELS, LAUNCHES_NEED_NO_DEFAULT_QUEUE,
    LOADS_GENERIC_CODE, MODULE_LAUNCHES_KNOW_THREAD_STREAMS,
};
use crate::{DRIVER, HipDriver, LoadError, Symbol, device, load};
use hip_driver::{Capabilities, Capability, DeviceId, DriverResult, ErrorCode};

/// The value of [`CURRENT_DEVICE`] on a thread on which the driver has set no device.
pub(crate) const NO_DEVICE_SET: c_int = -1;

thread_local! {
    pub(crate) static CURRENT_DEVICE: Cell<c_int> = const { Cell::new(NO_DEVICE_SET) };
}

impl HipDriver {
    /// Returns the driver of this process. The first call loads it; after a failure, the next call tries again.
    ///
    /// # Errors
    ///
    /// [`LoadError::NotFound`], with what was tried, if there is no usable library; other [`LoadError`]s if it is too
    /// old or HIP failed to start. No GPU is no error: [`device_count`](hip_driver::Driver::device_count) is 0 then.
    pub fn load() -> Result<Arc<HipDriver>, LoadError> {
        // A forked child does not use the cell: in the parent, another thread may have been initialising it, forever
        // now.
        if load::is_forked_child() {
            return DRIVER.get().cloned().ok_or(LoadError::Forked);
        }
        let init = || load::load().map(|loaded| Arc::new(HipDriver::new(loaded)));
        DRIVER.get_or_try_init(init).cloned()
    }

    /// Returns the driver of this process, which is loaded from this file if it is not loaded yet.
    ///
    /// # Errors
    ///
    /// As for [`load`](HipDriver::load).
    pub fn load_from(library: &Path) -> Result<Arc<HipDriver>, LoadError> {
        if load::is_forked_child() {
            return DRIVER.get().cloned().ok_or(LoadError::Forked);
        }
        let init = || load::load_from(library).map(|loaded| Arc::new(HipDriver::new(loaded)));
        DRIVER.get_or_try_init(init).cloned()
    }

    /// Returns the file of the library that [`load`](HipDriver::load) would take if `first` was the first name that it
    /// tries, and if only `wanted` files counted. It stays loaded in this process, and HIP is not initialised.
    ///
    /// # Errors
    ///
    /// [`LoadError::NotFound`], with what was tried, if there is none.
    pub fn find_library(first: Option<&str>, wanted: impl Fn(&Path) -> bool) -> Result<PathBuf, LoadError> {
        load::search(first, wanted).map(|(_, library)| library)
    }

    pub(crate) fn new(loaded: load::Loaded) -> HipDriver {
        let works = |capability: &Capability| match capability {
            Capability::Graphs => loaded.version >= GRAPHS_TAKE_MODULE_KERNELS,
            Capability::StreamCapture => loaded.version >= CAPTURES_TAKE_MODULE_LAUNCHES,
            Capability::StreamValues => device::wait_for_values(&loaded.api),
            _ => true,
        };
        let mut capabilities: Capabilities = loaded
            .api
            .capabilities()
            .iter()
            .filter(works)
            .chain((loaded.version >= LOADS_GENERIC_CODE).then_some(Capability::GenericCodeObjects))
            .collect();
        if loaded.version >= MODULE_LAUNCHES_KNOW_THREAD_STREAMS {
            capabilities = capabilities.with(Capability::PerThreadStream);
        }
        if loaded.version >= LAUNCHES_NEED_NO_DEFAULT_QUEUE {
            capabilities = capabilities.with(Capability::DefaultQueueArg);
        }
        HipDriver {
            capabilities,
            loaded,
            images: Mutex::new(HashMap::new()),
            graphs: Graphs::default(),
            captures: Captures::default(),
            pool_gate: RwLock::new(()),
            pool_used: AtomicBool::new(false),
            null_streams: Mutex::new(HashSet::new()),
            kernel_gate: RwLock::new(()),
        }
    }

    /// Returns every function of HIP that the driver uses, required ones first, and whether the library has it.
    pub fn symbols(&self) -> impl Iterator<Item = Symbol> + use<> {
        self.loaded.api.symbols().into_iter()
    }

    /// Returns the library's file, as the system's loader names it.
    pub fn library_path(&self) -> &Path {
        &self.loaded.library
    }

    /// Returns HIP's version number: `major * 10_000_000 + minor * 100_000 + patch`.
    pub fn runtime_version(&self) -> i32 {
        self.loaded.version
    }

    /// Makes the driver set the device again at this thread's next call. For programs that call `hipSetDevice`
    /// themselves.
    pub fn forget_current_device(&self) {
        CURRENT_DEVICE.set(NO_DEVICE_SET);
    }

    /// Returns HIP's name of a result code.
    pub fn error_name(&self, code: ErrorCode) -> String {
        // SAFETY: the function takes any number, and returns a C string that lives forever, or null.
        unsafe {
            owned(if load::is_forked_child() {
                ptr::null()
            } else {
                (self.loaded.api.hipGetErrorName)(code_of(code))
            })
        }
    }

    /// Returns HIP's text for a result code.
    pub fn error_text(&self, code: ErrorCode) -> String {
        // SAFETY: the function takes any number, and returns a C string that lives forever, or null.
        unsafe {
            owned(if load::is_forked_child() {
                ptr::null()
            } else {
                (self.loaded.api.hipGetErrorString)(code_of(code))
            })
        }
    }

    /// Returns the current device of this thread in HIP.
    ///
    /// # Errors
    ///
    /// Returns the driver's error, for example if there is no device.
    pub fn current_device(&self) -> DriverResult<DeviceId> {
        const CALL: &str = "hipGetDevice";
        let mut ordinal: c_int = 0;
        // SAFETY: the pointer is to a live integer.
        check(CALL, unsafe { (self.api(CALL)?.hipGetDevice)(&mut ordinal) })?;
        Ok(DeviceId(u32::try_from(ordinal).unwrap_or(0)))
    }

    /// Returns the functions, or an error in a forked child.
    #[inline]
    pub(crate) fn api(&self, call: &'static str) -> DriverResult<&Api> {
        if load::is_forked_child() { Err(forked(call)) } else { Ok(&self.loaded.api) }
    }

    /// Returns the functions, after setting `device` as the thread's current device.
    #[inline]
    pub(crate) fn on(&self, device: DeviceId, call: &'static str) -> DriverResult<&Api> {
        let api = self.api(call)?;
        if CURRENT_DEVICE.get() != device.0 as c_int || device.0 > c_int::MAX as u32 {
            set_device(api, device)?;
        }
        Ok(api)
    }

    /// Returns an optional function, or an error if the library does not have it.
    #[inline]
    pub(crate) fn optional<F>(&self, call: &'static str, function: Option<F>) -> DriverResult<F> {
        function.ok_or_else(|| unsupported(call))
    }
}

/// Sets the thread's current device.
#[cold]
fn set_device(api: &Api, device: DeviceId) -> DriverResult<()> {
    let ordinal = ordinal("hipSetDevice", device)?;
    // SAFETY: an ordinal without a device gives an error.
    check("hipSetDevice", unsafe { (api.hipSetDevice)(ordinal) })?;
    CURRENT_DEVICE.set(ordinal);
    Ok(())
}
