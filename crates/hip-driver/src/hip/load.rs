//! Finding libamdhip64, once per process, and keeping it: what is tried, what went wrong with each.

use std::ffi::{OsStr, c_int, c_void};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use super::bindings::hipError_t;
use super::symbols::Api;
use crate::ErrorCode;
pub use crate::library::LoadAttempt;
use crate::library::{LoadAttempts, address};

/// SONAMEs, newest first. Plain names last: on Debian they come with the headers, elsewhere with no version at all.
#[cfg(all(not(windows), not(feature = "link-hip")))]
const NAMES: [&str; 4] = ["libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"];
#[cfg(windows)]
const NAMES: [&str; 3] = ["amdhip64_7.dll", "amdhip64_6.dll", "amdhip64.dll"];

/// The oldest version that is understood, in HIP's numbering (`major * 10^7 + minor * 10^5 + patch`): device attributes
/// have had their present numbers since then.
const OLDEST: i32 = 50_000_000;

/// Why there is no HIP driver. A machine with the library and without a GPU is no error: `device_count` is 0.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// No library that can be used.
    #[error(
        "no usable libamdhip64; install ROCm (Debian: libamdhip64-5) or set ROCM_PATH; tried:{}",
        LoadAttempts(tried)
    )]
    NotFound {
        /// Everything that was tried, in order.
        tried: Vec<LoadAttempt>,
    },
    /// The library is older than 5.0.
    #[error("{} is HIP {}; 5.0 or newer is needed", library.display(), version_text(*version))]
    TooOld {
        /// The library.
        library: PathBuf,
        /// Its version in HIP's numbering.
        version: i32,
    },
    /// `hipInit` or `hipRuntimeGetVersion` failed.
    #[error("{call} of {} failed: {code}: {}", library.display(), code.advice())]
    Init {
        /// The library.
        library: PathBuf,
        /// The call that failed.
        call: &'static str,
        /// What it returned.
        code: ErrorCode,
    },
    /// The process is a fork of one that was loading HIP.
    #[error("this process was forked from one that used HIP; start it anew (fork and exec)")]
    Forked,
}

/// `major.minor.patch` of HIP's version number.
pub(super) fn version_text(version: i32) -> String {
    format!("{}.{}.{}", version / 10_000_000, version / 100_000 % 100, version % 100_000)
}

/// Set in a child that was forked after HIP was initialised. HIP's threads and its connection to the kernel driver are
/// not there in such a child, and calls hang or crash.
static FORKED: AtomicBool = AtomicBool::new(false);

/// Whether this process is a forked child of one that initialised HIP.
#[inline]
pub(super) fn is_forked_child() -> bool {
    FORKED.load(Ordering::Relaxed)
}

/// Makes [`is_forked_child`] work from now on.
fn watch_for_forks() {
    #[cfg(unix)]
    {
        extern "C" fn in_child() {
            FORKED.store(true, Ordering::Relaxed);
        }
        static ONCE: std::sync::Once = std::sync::Once::new();
        // SAFETY: the handler only stores to an atomic, which is allowed in a forked child. The result is only
        // non-zero when memory has run out; then forks go unnoticed, as they would in any other program.
        ONCE.call_once(|| unsafe {
            libc::pthread_atfork(None, None, Some(in_child));
        });
    }
}

/// Whether a call that names no device failed for want of one. HIP 5.2 returns `INVALID_DEVICE`, others `NO_DEVICE`.
pub(super) fn means_no_device(code: ErrorCode) -> bool {
    code == ErrorCode::NO_DEVICE || code == ErrorCode::INVALID_DEVICE
}

/// A library that has been initialised.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) api: Api,
    pub(super) library: PathBuf,
    pub(super) version: i32,
}

/// Finds the library, initialises HIP, checks its version.
pub(super) fn load() -> Result<Loaded, LoadError> {
    if is_forked_child() {
        return Err(LoadError::Forked);
    }
    let (api, library) = find()?;
    watch_for_forks();
    let fail = |call, code: hipError_t| LoadError::Init {
        library: library.clone(),
        call,
        code: ErrorCode(code.0 as i32),
    };
    // SAFETY: flags must be 0; any thread may call it, any number of times.
    let code = unsafe { (api.hipInit)(0) };
    // No device is no reason to have no driver: `device_count` finds it again and says 0.
    if code != hipError_t::hipSuccess && !means_no_device(ErrorCode(code.0 as i32)) {
        return Err(fail("hipInit", code));
    }
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

/// The table of the library that the program is linked with. Optional symbols are looked up by name all the same: the
/// library at run time may be older or newer than the one at build time.
#[cfg(feature = "link-hip")]
fn find() -> Result<(Api, PathBuf), LoadError> {
    #[cfg(unix)]
    let library = Some(libloading::Library::from(libloading::os::unix::Library::this()));
    #[cfg(windows)]
    let library = NAMES
        .iter()
        .find_map(|name| libloading::os::windows::Library::open_already_loaded(name).ok())
        .map(libloading::Library::from);
    let find = |name| super::symbols::linked(name).or_else(|| address(library.as_ref()?, name));
    // SAFETY: `linked` gives the address that the linker bound to the name, `address` that of the symbol of that name;
    // a linked library is never unloaded.
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

/// The table of the first library that can be loaded and has every required symbol.
#[cfg(not(feature = "link-hip"))]
fn find() -> Result<(Api, PathBuf), LoadError> {
    let mut tried = Vec::new();
    for candidate in crate::library::candidates(&NAMES, std::env::var_os("ROCM_PATH").as_deref()) {
        match crate::library::open(candidate.as_ref()) {
            Err(reason) => tried.push(LoadAttempt { library: candidate, reason }),
            Ok(library) => {
                // SAFETY: `address` returns the address of the symbol of that name, and the library is never unloaded.
                let api = unsafe { Api::resolve(|name| address(&library, name)) };
                // Kept for ever, used or not: HIP starts threads and registers destructors that outlive any handle.
                std::mem::forget(library);
                match api {
                    Ok(api) => {
                        let path = path_of(&api).unwrap_or(candidate);
                        return Ok((api, path));
                    }
                    Err(missing) => tried.push(attempt(candidate.as_ref(), missing)),
                }
            }
        }
    }
    Err(LoadError::NotFound { tried })
}

/// An attempt that failed for want of symbols.
fn attempt(library: &OsStr, missing: Vec<&str>) -> LoadAttempt {
    LoadAttempt {
        library: library.into(),
        reason: format!("required symbols missing: {}", missing.join(", ")),
    }
}

/// The file that the functions come from.
fn path_of(api: &Api) -> Option<PathBuf> {
    crate::library::path_of(api.hipInit as *const c_void)
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
    fn a_table_with_a_hole_names_the_hole() {
        let never = NonNull::new(std::ptr::dangling_mut::<c_void>());
        // SAFETY: none of the addresses is called; the table is only looked at.
        let missing = unsafe { Api::resolve(|name| if name == "hipFree" { None } else { never }) };
        assert_eq!(missing.unwrap_err(), ["hipFree"]);
        // Without any optional symbol there is a table, with no capability.
        let required: Vec<_> = {
            // SAFETY: as above.
            let all = unsafe { Api::resolve(|_| never) }.unwrap();
            all.symbols().iter().filter(|s| s.required).map(|s| s.name).collect()
        };
        // SAFETY: as above.
        let bare =
            unsafe { Api::resolve(|name| if required.contains(&name) { never } else { None }) }.unwrap();
        assert_eq!(bare.capabilities(), crate::Capabilities::NONE);
        assert!(bare.symbols().iter().all(|s| s.present == s.required));
    }

    #[test]
    fn versions_are_written_as_rocm_writes_them() {
        assert_eq!(version_text(50_221_153), "5.2.21153");
        assert_eq!(version_text(70_100_012), "7.1.12");
    }
}
