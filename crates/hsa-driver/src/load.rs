//! Finds and loads libhsa-runtime64, initialises it, and reports what was tried.

use std::ffi::{CStr, c_char, c_void};
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use rocm_library::{LoadAttempt, LoadAttempts, address};

use crate::abi::{Status, system_info};
use crate::functions::Functions;
use hip_driver::{DriverError, ErrorCode};

/// The library's SONAME, in every version of ROCm from 2017 on.
const NAMES: [&str; 1] = ["libhsa-runtime64.so.1"];

/// Why there is no driver over HSA. A machine with the library and no GPU is no error: `device_count` is 0, unless ROCr fails to start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// No usable library was found.
    #[error(
        "no usable libhsa-runtime64; install ROCm (Debian: libhsa-runtime64-1) or set ROCM_PATH; tried:{}",
        LoadAttempts(tried)
    )]
    NotFound {
        /// The libraries that were tried, in order.
        tried: Vec<LoadAttempt>,
    },
    /// HSA failed to start, or to name its devices: without `/dev/kfd`, ROCr has the status `HSA_STATUS_ERROR_OUT_OF_RESOURCES`.
    #[error("{call} of {} failed: {status}; is there an AMD GPU, and may this user open /dev/kfd?", library.display())]
    Init {
        /// The library.
        library: PathBuf,
        /// The call that failed.
        call: &'static str,
        /// The status and its text.
        status: String,
    },
    /// This process was forked while its parent used HSA.
    #[error("this process was forked from one that used HSA; start a new process (fork and exec)")]
    Forked,
}

/// Set in a child that was forked after HSA was loaded: its threads and its connection to the kernel driver do not exist there.
static FORKED: AtomicBool = AtomicBool::new(false);

/// Returns whether this process is a forked child of one that loaded HSA.
#[inline]
pub(crate) fn is_forked_child() -> bool {
    FORKED.load(Ordering::Relaxed)
}

/// The error of a call in such a child.
#[cold]
pub(crate) fn forked(call: &'static str) -> DriverError {
    DriverError::with_detail(call, ErrorCode::NOT_INITIALIZED, LoadError::Forked.to_string())
}

fn watch_for_forks() {
    #[cfg(unix)]
    {
        extern "C" fn in_child() {
            FORKED.store(true, Ordering::Relaxed);
        }
        static ONCE: std::sync::Once = std::sync::Once::new();
        // SAFETY: the handler only stores to an atomic, which is allowed in a forked child. The result is non-zero only if there is no
        // memory; then forks are not detected, as in any other program.
        ONCE.call_once(|| unsafe {
            libc::pthread_atfork(None, None, Some(in_child));
        });
    }
}

/// A loaded and initialised library. It is never unloaded or shut down: its threads outlive any owner.
#[derive(Debug)]
pub(crate) struct Hsa {
    pub(crate) functions: Functions,
    pub(crate) library: PathBuf,
    pub(crate) version: String,
    /// Ticks of the system's counter in a second.
    pub(crate) ticks_per_second: u64,
}

impl Hsa {
    /// Finds the library and initialises HSA.
    pub(crate) fn load() -> Result<Hsa, LoadError> {
        if is_forked_child() {
            return Err(LoadError::Forked);
        }
        let mut tried = Vec::new();
        for candidate in rocm_library::candidates(&NAMES, std::env::var_os("ROCM_PATH").as_deref()) {
            match resolve(&candidate) {
                Ok((functions, library)) => return Hsa::start(functions, library),
                Err(attempt) => tried.push(attempt),
            }
        }
        Err(LoadError::NotFound { tried })
    }

    fn start(functions: Functions, library: PathBuf) -> Result<Hsa, LoadError> {
        watch_for_forks();
        // SAFETY: no arguments; any thread may call it, any number of times.
        let status = unsafe { (functions.init)() };
        let mut hsa = Hsa { functions, library, version: String::new(), ticks_per_second: 0 };
        if status != Status::SUCCESS {
            let (library, status) = (hsa.library.clone(), hsa.describe(status));
            return Err(LoadError::Init { library, call: "hsa_init", status });
        }
        hsa.version = hsa.build_version();
        hsa.ticks_per_second =
            hsa.system_info(system_info::TIMESTAMP_FREQUENCY).unwrap_or(1_000_000_000).max(1);
        Ok(hsa)
    }

    /// A number that HSA knows of the system.
    fn system_info<T: Default>(&self, attribute: u32) -> Option<T> {
        let mut value = T::default();
        // SAFETY: the attributes that are asked for here have values of these types.
        let status = unsafe { (self.functions.system_get_info)(attribute, ptr::from_mut(&mut value).cast()) };
        (status == Status::SUCCESS).then_some(value)
    }

    /// ROCr's version as `major.minor.patch`, or that of HSA's specification where the library does not say its own.
    fn build_version(&self) -> String {
        let mut text: *const c_char = ptr::null();
        // SAFETY: the attribute's value is a C string that is never freed.
        let status = unsafe {
            (self.functions.system_get_info)(system_info::BUILD_VERSION, (&raw mut text).cast::<c_void>())
        };
        if status == Status::SUCCESS && !text.is_null() {
            // SAFETY: as above.
            let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
            // What follows the numbers names the build.
            let numbers = text.split(|c: char| c != '.' && !c.is_ascii_digit()).next().unwrap_or_default();
            if numbers.split('.').filter(|part| !part.is_empty()).count() == 3 {
                return numbers.to_owned();
            }
        }
        let [major, minor] = [system_info::VERSION_MAJOR, system_info::VERSION_MINOR]
            .map(|attribute| self.system_info::<u16>(attribute).unwrap_or(0));
        format!("{major}.{minor}.0")
    }

    /// Whether it loads code objects for generic processors: ROCr's versions are 1.14 from ROCm 6.2 on, of which hiplaunch's own and AMD's of ROCm 6.4
    /// and 7.2 were seen to.
    pub(crate) fn loads_generic_code(&self) -> bool {
        let mut numbers = self.version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
        let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        version >= (1, 14)
    }

    /// A status in words.
    pub(crate) fn describe(&self, status: Status) -> String {
        let mut text: *const c_char = ptr::null();
        // SAFETY: the pointer is to a live pointer.
        let known = unsafe { (self.functions.status_string)(status, &mut text) };
        if known != Status::SUCCESS || text.is_null() {
            return format!("HSA's status {:#x}", status.0);
        }
        // SAFETY: a C string of the library's, which is never freed.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }

    /// The error of a call of the driver's, by the status of HSA's function.
    #[cold]
    pub(crate) fn error(&self, call: &'static str, function: &str, status: Status) -> DriverError {
        let code = match status {
            Status::OUT_OF_RESOURCES | Status::INVALID_ALLOCATION => ErrorCode::OUT_OF_MEMORY,
            Status::INVALID_CODE_OBJECT => ErrorCode::INVALID_IMAGE,
            Status::INCOMPATIBLE_ARGUMENTS | Status::INVALID_ISA => ErrorCode::NO_BINARY_FOR_GPU,
            _ => ErrorCode::INVALID_VALUE,
        };
        DriverError::with_detail(call, code, format!("{function}: {}", self.describe(status)))
    }

    /// Fails where a function of HSA's has.
    #[inline]
    pub(crate) fn check(
        &self,
        call: &'static str,
        function: &str,
        status: Status,
    ) -> Result<(), DriverError> {
        if status == Status::SUCCESS { Ok(()) } else { Err(self.error(call, function, status)) }
    }
}

/// Loads a library and resolves its functions.
fn resolve(library: &Path) -> Result<(Functions, PathBuf), LoadAttempt> {
    // SAFETY: a libhsa-runtime64 by its name, whose initialisers require nothing of the program.
    let opened = unsafe { rocm_library::open(library.as_ref()) }
        .map_err(|reason| LoadAttempt { library: library.to_owned(), reason })?;
    // SAFETY: `address` returns the address of the symbol of that name, and the library is never unloaded.
    let functions = unsafe { Functions::resolve(|name| address(&opened, name)) };
    std::mem::forget(opened);
    let functions = functions.map_err(|missing| LoadAttempt {
        library: library.to_owned(),
        reason: format!("required symbols missing: {}", missing.join(", ")),
    })?;
    // SAFETY: the library is never unloaded.
    let path = unsafe { rocm_library::path_of(functions.init as *const c_void) };
    Ok((functions, path.unwrap_or_else(|| library.to_owned())))
}
