//! Finds and loads libamdhip64, and reports what was tried.

use std::ffi::{OsStr, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::bindings::hipError_t;
use crate::symbols::Api;
use crate::versions::OLDEST;
use hip_driver::ErrorCode;
pub use rocm_library::LoadAttempt;
use rocm_library::{LoadAttempts, address};

/// SONAMEs, newest first. Plain names are last: on Debian the headers' package has them, elsewhere they have no
/// version.
#[cfg(not(windows))]
const NAMES: [&str; 4] = ["libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"];
#[cfg(windows)]
const NAMES: [&str; 3] = ["amdhip64_7.dll", "amdhip64_6.dll", "amdhip64.dll"];

/// Why there is no HIP driver. A machine with the library but without a GPU is no error: `device_count` is 0.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// No usable library was found.
    #[error(
        "no usable libamdhip64; install ROCm (Debian: libamdhip64-5) or set ROCM_PATH; tried:{}",
        LoadAttempts(tried)
    )]
    NotFound {
        /// The libraries that were tried, in order.
        tried: Vec<LoadAttempt>,
    },
    /// The library is older than 5.0.
    #[error("{} is HIP {}; 5.0 or newer is needed", library.display(), version_text(*version))]
    TooOld {
        /// The library.
        library: PathBuf,
        /// The library's version in HIP's numbering.
        version: i32,
    },
    /// `hipInit` or `hipRuntimeGetVersion` failed.
    #[error("{call} of {} failed: {code}: {}", library.display(), code.advice())]
    Init {
        /// The library.
        library: PathBuf,
        /// The call that failed.
        call: &'static str,
        /// The code that the call returned.
        code: ErrorCode,
    },
    /// This process was forked while its parent was loading HIP.
    #[error("this process was forked from one that used HIP; start a new process (fork and exec)")]
    Forked,
}

/// Converts HIP's version number to `major.minor.patch`.
pub(crate) fn version_text(version: i32) -> String {
    format!("{}.{}.{}", version / 10_000_000, version / 100_000 % 100, version % 100_000)
}

/// Set in a child that was forked after HIP was loaded. HIP's threads and its connection to the kernel driver do not
/// exist in such a child: calls hang or crash.
static FORKED: AtomicBool = AtomicBool::new(false);

/// Returns whether this process is a forked child of one that loaded HIP.
#[inline]
pub(crate) fn is_forked_child() -> bool {
    FORKED.load(Ordering::Relaxed)
}

/// Registers the handler that sets [`FORKED`] in forked children.
fn watch_for_forks() {
    #[cfg(unix)]
    {
        extern "C" fn in_child() {
            FORKED.store(true, Ordering::Relaxed);
        }
        static ONCE: std::sync::Once = std::sync::Once::new();
        // SAFETY: the handler only stores to an atomic, which is allowed in a forked child. The result is non-zero only
        // if there is no memory; then forks are not detected, as in any other program.
        ONCE.call_once(|| unsafe {
            libc::pthread_atfork(None, None, Some(in_child));
        });
    }
}

/// Returns whether a call that names no device failed because there is none. HIP 5.2 returns `INVALID_DEVICE`, later
/// versions `NO_DEVICE`.
pub(crate) fn means_no_device(code: ErrorCode) -> bool {
    code == ErrorCode::NO_DEVICE || code == ErrorCode::INVALID_DEVICE
}

/// A loaded and initialised library.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) api: Api,
    pub(crate) library: PathBuf,
    pub(crate) version: i32,
}

/// Finds the library, checks its version and initialises HIP.
pub(crate) fn load() -> Result<Loaded, LoadError> {
    if is_forked_child() {
        return Err(LoadError::Forked);
    }
    start(find()?)
}

/// Loads this library, checks its version and initialises HIP.
pub(crate) fn load_from(library: &Path) -> Result<Loaded, LoadError> {
    if is_forked_child() {
        return Err(LoadError::Forked);
    }
    start(resolve(library).map_err(|attempt| LoadError::NotFound { tried: vec![attempt] })?)
}

/// Checks the version and initialises HIP.
fn start((api, library): (Api, PathBuf)) -> Result<Loaded, LoadError> {
    watch_for_forks();
    let fail = |call, code: hipError_t| LoadError::Init {
        library: library.clone(),
        call,
        code: ErrorCode(code.0 as i32),
    };
    // SAFETY: flags must be 0; any thread may call it, any number of times.
    let code = unsafe { (api.hipInit)(0) };
    // The driver loads without a device too: then `device_count` returns 0.
    if code != hipError_t::hipSuccess && !means_no_device(ErrorCode(code.0 as i32)) {
        return Err(fail("hipInit", code));
    }
    rocm_library::llvm::set_up_llvm();
    let mut version: c_int = 0;
    // SAFETY: the pointer is to a live integer.
    let code = unsafe { (api.hipRuntimeGetVersion)(&mut version) };
    if code != hipError_t::hipSuccess {
        return Err(fail("hipRuntimeGetVersion", code));
    }
    if version < OLDEST {
        return Err(LoadError::TooOld { library, version });
    }
    Ok(Loaded { api, library, version })
}

/// Resolves the functions of the library with which the program is linked. Optional functions are searched by name: the
/// library at run time may be older or newer than at build time.
#[cfg(feature = "link-hip")]
fn find() -> Result<(Api, PathBuf), LoadError> {
    #[cfg(unix)]
    let library = Some(libloading::Library::from(libloading::os::unix::Library::this()));
    #[cfg(windows)]
    let library = NAMES
        .iter()
        .find_map(|name| libloading::os::windows::Library::open_already_loaded(name).ok())
        .map(libloading::Library::from);
    let find = |name| crate::symbols::linked(name).or_else(|| address(library.as_ref()?, name));
    // SAFETY: `linked` returns the address that the linker bound to the name, `address` that of the symbol of that
    // name; a linked library is never unloaded.
    let api = unsafe { Api::resolve(find) };
    std::mem::forget(library);
    match api {
        Ok(api) => {
            let path = path_of(&api).unwrap_or_else(|| PathBuf::from("linked libamdhip64"));
            Ok((api, path))
        }
        Err(missing) => {
            Err(LoadError::NotFound { tried: vec![attempt("linked libamdhip64".as_ref(), missing)] })
        }
    }
}

/// Resolves the functions of the first library that can be loaded and has every required function.
#[cfg(not(feature = "link-hip"))]
fn find() -> Result<(Api, PathBuf), LoadError> {
    search(None, |_| true)
}

/// Looks for a library that can be loaded, has every required function and is `wanted`. The name `first` is tried before
/// the others.
pub(crate) fn search(
    first: Option<&str>,
    wanted: impl Fn(&Path) -> bool,
) -> Result<(Api, PathBuf), LoadError> {
    let others = NAMES.into_iter().filter(|name| Some(*name) != first);
    let names: Vec<&str> = first.into_iter().chain(others).collect();
    let mut tried = Vec::new();
    for candidate in rocm_library::candidates(&names, std::env::var_os("ROCM_PATH").as_deref()) {
        match resolve(&candidate) {
            Ok((_, library)) if !wanted(&library) => {
                let reason = format!("{} is not wanted here", library.display());
                tried.push(LoadAttempt { library: candidate, reason });
            }
            Ok(found) => return Ok(found),
            Err(attempt) => tried.push(attempt),
        }
    }
    Err(LoadError::NotFound { tried })
}

/// Loads a library and resolves its functions.
fn resolve(library: &Path) -> Result<(Api, PathBuf), LoadAttempt> {
    // SAFETY: a libamdhip64, by its name or as the caller says, whose initialisers require nothing of the program.
    let opened = unsafe { rocm_library::open(library.as_ref()) }
        .map_err(|reason| LoadAttempt { library: library.to_owned(), reason })?;
    // SAFETY: `address` returns the address of the symbol of that name, and the library is never unloaded.
    let api = unsafe { Api::resolve(|name| address(&opened, name)) };
    // Never unloaded, used or not: HIP starts threads and registers destructors that outlive any handle.
    std::mem::forget(opened);
    let api = api.map_err(|missing| attempt(library.as_ref(), missing))?;
    let path = path_of(&api).unwrap_or_else(|| library.to_owned());
    Ok((api, path))
}

/// Describes an attempt that failed because symbols are missing.
fn attempt(library: &OsStr, missing: Vec<&str>) -> LoadAttempt {
    LoadAttempt {
        library: library.into(),
        reason: format!("required symbols missing: {}", missing.join(", ")),
    }
}

/// Returns the file that contains the functions.
fn path_of(api: &Api) -> Option<PathBuf> {
    // SAFETY: the library is never unloaded.
    unsafe { rocm_library::path_of(api.hipInit as *const c_void) }
}

#[cfg(test)]
mod tests {
    use std::ptr::NonNull;

    use super::*;

    #[test]
    fn a_missing_library_error_lists_everything_that_was_tried() {
        let error = LoadError::NotFound {
            tried: vec![
                LoadAttempt {
                    library: "libamdhip64.so.7".into(),
                    reason: "cannot open shared object file".into(),
                },
                attempt(OsStr::new("/opt/rocm/lib/libamdhip64.so"), vec!["hipMalloc", "hipFree"]),
            ],
        };
        let text = error.to_string();
        assert!(text.contains("\n  libamdhip64.so.7: cannot open shared object file"), "{text}");
        assert!(text.contains("required symbols missing: hipMalloc, hipFree"), "{text}");
        assert!(text.contains("ROCM_PATH"), "{text}");
    }

    #[test]
    fn a_missing_required_function_is_named() {
        let never = NonNull::new(std::ptr::dangling_mut::<c_void>());
        // SAFETY: none of the addresses is called; the test only inspects the table.
        let missing = unsafe { Api::resolve(|name| if name == "hipFree" { None } else { never }) };
        assert_eq!(missing.unwrap_err(), ["hipFree"]);
        // Without optional symbols, the table resolves and has no capability.
        let required: Vec<_> = {
            // SAFETY: as above.
            let all = unsafe { Api::resolve(|_| never) }.unwrap();
            all.symbols().iter().filter(|s| s.required).map(|s| s.name).collect()
        };
        // SAFETY: as above.
        let bare =
            unsafe { Api::resolve(|name| if required.contains(&name) { never } else { None }) }.unwrap();
        assert_eq!(bare.capabilities(), hip_driver::Capabilities::NONE);
        assert!(bare.symbols().iter().all(|s| s.present == s.required));
    }

    #[test]
    fn versions_are_written_as_rocm_writes_them() {
        assert_eq!(version_text(50_221_153), "5.2.21153");
        assert_eq!(version_text(70_100_012), "7.1.12");
    }
}
