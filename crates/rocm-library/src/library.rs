//! Loading shared libraries at run time: where they are searched, why one was not used, and which file a function came
//! from.

use std::ffi::{OsStr, c_void};
use std::fmt;
use std::path::PathBuf;
use std::ptr::NonNull;

/// Where ROCm keeps its libraries, below `$ROCM_PATH`.
const LIBRARY_FOLDER: &str = if cfg!(windows) { "bin" } else { "lib" };

/// One library that was tried, and why it was not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadAttempt {
    /// The name or path that was passed to the loader.
    pub library: PathBuf,
    /// The loader's message, or the required symbols that are missing.
    pub reason: String,
}

/// Displays attempts, one on each line.
#[derive(Clone, Copy, Debug)]
pub struct LoadAttempts<'a>(pub &'a [LoadAttempt]);

impl fmt::Display for LoadAttempts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|a| write!(f, "\n  {}: {}", a.library.display(), a.reason))
    }
}

/// Returns the names and paths to try for a library: the names alone, for the loader's own search path, then paths in
/// `$ROCM_PATH`, then paths in ROCm's default folder.
pub fn candidates(names: &[&str], rocm_path: Option<&OsStr>) -> Vec<PathBuf> {
    let mut roots: Vec<PathBuf> =
        rocm_path.filter(|p| !p.is_empty()).map(PathBuf::from).into_iter().collect();
    if cfg!(not(windows)) && roots.iter().all(|root| root.as_os_str() != "/opt/rocm") {
        roots.push(PathBuf::from("/opt/rocm"));
    }
    let in_roots =
        roots.iter().flat_map(|root| names.iter().map(move |name| root.join(LIBRARY_FOLDER).join(name)));
    names.iter().map(PathBuf::from).chain(in_roots).collect()
}

/// Opens a library.
///
/// # Errors
/// The loader's message.
///
/// # Safety
/// The library is ROCm's, or one whose initialisers require nothing of the program.
pub unsafe fn open(library: &OsStr) -> Result<libloading::Library, String> {
    // The loader's message is the source of libloading's error.
    fn message(error: libloading::Error) -> String {
        match std::error::Error::source(&error) {
            Some(source) => source.to_string(),
            None => error.to_string(),
        }
    }
    #[cfg(unix)]
    {
        use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
        // SAFETY: its initialisers require nothing of the program (the caller's promise).
        unsafe { Library::open(Some(library), RTLD_NOW | RTLD_LOCAL) }.map(Into::into).map_err(message)
    }
    #[cfg(not(unix))]
    {
        // SAFETY: its initialisers require nothing of the program (the caller's promise).
        unsafe { libloading::Library::new(library) }.map_err(message)
    }
}

/// Returns a library that is loaded already. The handle is never closed.
#[cfg(unix)]
pub fn loaded(name: &str) -> Option<std::mem::ManuallyDrop<libloading::Library>> {
    use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
    // SAFETY: nothing is loaded, so no initialiser runs.
    let found = unsafe { Library::open(Some(name), RTLD_NOW | RTLD_LOCAL | libc::RTLD_NOLOAD) }.ok()?;
    Some(std::mem::ManuallyDrop::new(found.into()))
}

/// Returns a library that is loaded already. The handle is never closed.
#[cfg(windows)]
pub fn loaded(name: &str) -> Option<std::mem::ManuallyDrop<libloading::Library>> {
    let found = libloading::os::windows::Library::open_already_loaded(name).ok()?;
    Some(std::mem::ManuallyDrop::new(found.into()))
}

/// Returns a library that is loaded already: unknown on other systems.
#[cfg(not(any(unix, windows)))]
pub fn loaded(_: &str) -> Option<std::mem::ManuallyDrop<libloading::Library>> {
    None
}

/// Returns the address of a symbol.
pub fn address(library: &libloading::Library, name: &str) -> Option<NonNull<c_void>> {
    // SAFETY: the symbol is taken as a bare address; nothing is called or read through it here.
    let symbol = unsafe { library.get::<*mut c_void>(name) }.ok()?;
    // SAFETY: it is a bare address still; who calls it keeps the library loaded.
    let raw = unsafe { symbol.into_raw() };
    #[cfg(unix)]
    return NonNull::new(raw.as_raw_ptr());
    #[cfg(not(unix))]
    return NonNull::new(raw.as_raw_ptr() as *mut c_void);
}

/// Returns the file that contains a function.
///
/// # Safety
/// The function's library, if it is one's, is not unloaded meanwhile.
#[cfg(unix)]
pub unsafe fn path_of(function: *const c_void) -> Option<PathBuf> {
    use std::ffi::CStr;
    use std::os::unix::ffi::OsStrExt;

    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: dladdr accepts any address; `info` is writable and of the right type.
    let found = unsafe { libc::dladdr(function, info.as_mut_ptr()) };
    // SAFETY: zeroes are a valid `Dl_info` (null pointers), and dladdr has filled it when it returns non-zero.
    let info = unsafe { info.assume_init() };
    if found == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: a C string that the loader keeps as long as the library is loaded (the caller's promise).
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    Some(PathBuf::from(OsStr::from_bytes(name.to_bytes())))
}

/// Returns the file that contains a function: unknown on other systems.
///
/// # Safety
/// None: it has the signature that it has on Unix.
#[cfg(not(unix))]
pub unsafe fn path_of(_: *const c_void) -> Option<PathBuf> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_search_order_is_name_then_rocm_path_then_opt_rocm() {
        const NAMES: [&str; 2] = ["libnew.so.7", "libnew.so.6"];
        let all = candidates(&NAMES, Some(OsStr::new("/some/rocm")));
        assert_eq!(all.len(), if cfg!(windows) { 2 } else { 3 } * NAMES.len());
        assert_eq!(all[0], PathBuf::from(NAMES[0]));
        assert_eq!(all[2], PathBuf::from("/some/rocm").join(LIBRARY_FOLDER).join(NAMES[0]));
        if cfg!(not(windows)) {
            assert_eq!(all[5], PathBuf::from("/opt/rocm/lib/libnew.so.6"));
        }
        // An empty variable counts as unset, and /opt/rocm is not tried twice.
        assert_eq!(candidates(&NAMES, Some(OsStr::new(""))), candidates(&NAMES, None));
        if cfg!(not(windows)) {
            assert_eq!(candidates(&NAMES, Some(OsStr::new("/opt/rocm"))), candidates(&NAMES, None));
        }
    }

    #[test]
    fn a_library_that_is_not_there_gives_the_loaders_message() {
        // SAFETY: there is no such library, so nothing is run.
        let message = unsafe { open(OsStr::new("libamdhip64-that-is-not-there.so")) }.unwrap_err();
        assert!(message.contains("libamdhip64-that-is-not-there.so"), "{message}");
    }
}
