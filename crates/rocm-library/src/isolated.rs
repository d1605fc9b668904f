//! Libraries of ROCm in a namespace of the loader's own (`dlmopen`), for code that has the functions of such a library
//! itself: neither finds the other's functions, and no program gets this copy by its name.

use std::ffi::{OsStr, c_void};
use std::fs;
use std::path::{Path, PathBuf};

use crate::library::{self, LoadAttempt};

/// Opens a library in the namespace.
///
/// A file is opened by a path with `/./` in it, which the audit library of `hiplaunch exec` lets pass.
///
/// # Errors
/// The loader's message.
///
/// # Safety
/// The library is ROCm's, or one whose initialisers require nothing of the program.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub unsafe fn open(library: &OsStr) -> Result<libloading::Library, String> {
    let path = Path::new(library);
    let marked = match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) if folder.is_absolute() => folder.join(".").join(name),
        _ => path.to_path_buf(),
    };
    // SAFETY: the caller's promise.
    unsafe { in_namespace(marked.as_os_str(), libc::RTLD_NOW | libc::RTLD_LOCAL) }
}

/// Returns a library that is loaded in the namespace already. The handle is never closed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn loaded(name: &str) -> Option<std::mem::ManuallyDrop<libloading::Library>> {
    let flags = libc::RTLD_NOW | libc::RTLD_LOCAL | libc::RTLD_NOLOAD;
    // SAFETY: nothing is loaded, so no initialiser runs.
    unsafe { in_namespace(name.as_ref(), flags) }.ok().map(std::mem::ManuallyDrop::new)
}

/// Prepares the calling thread for the namespace's C library, which has not started it. Without that, the functions of
/// `ctype.h` there read a null pointer: glibc fills in a thread's tables of characters when it starts the thread.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn prepare_thread() {
    use std::cell::Cell;

    type UseLocale = unsafe extern "C" fn(libc::locale_t) -> libc::locale_t;
    thread_local! {
        static PREPARED: Cell<bool> = const { Cell::new(false) };
    }
    if PREPARED.get() {
        return;
    }
    let Some(library) = loaded("libc.so.6") else { return };
    // SAFETY: the type is POSIX's.
    let Ok(use_locale) = (unsafe { library.get::<UseLocale>(b"uselocale\0") }) else { return };
    // `LC_GLOBAL_LOCALE` of locale.h, with which the function fills in the tables.
    let global: libc::locale_t = std::ptr::without_provenance_mut(usize::MAX);
    // SAFETY: the locale is valid at all times, and the one that the thread has there already.
    unsafe { use_locale(global) };
    PREPARED.set(true);
}

/// Prepares the calling thread. This system's loader has no namespaces.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn prepare_thread() {}

/// # Safety
/// If the library is not loaded yet, its initialisers require nothing of the program.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
unsafe fn in_namespace(library: &OsStr, flags: libc::c_int) -> Result<libloading::Library, String> {
    use std::ffi::{CStr, CString};
    use std::os::unix::ffi::OsStrExt;
    use std::sync::{Mutex, PoisonError};

    /// The namespace, once a library is in it.
    static NAMESPACE: Mutex<Option<libc::Lmid_t>> = Mutex::new(None);

    let name = CString::new(library.as_bytes()).map_err(|_| "its name has a NUL byte in it".to_owned())?;
    let mut namespace = NAMESPACE.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: a C string, and a library whose initialisers require nothing of the program (the caller's promise).
    let handle = unsafe { libc::dlmopen(namespace.unwrap_or(libc::LM_ID_NEWLM), name.as_ptr(), flags) };
    if handle.is_null() {
        // SAFETY: the loader's text, which is this thread's own until its next call of the loader.
        let message = unsafe { libc::dlerror() };
        if message.is_null() {
            return Err("is not loaded".to_owned());
        }
        // SAFETY: the loader's text, which is not null and which no call of the loader has replaced.
        return Err(unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned());
    }
    if namespace.is_none() {
        let mut id: libc::Lmid_t = 0;
        // SAFETY: an open library, and room for what this request returns.
        if unsafe { libc::dlinfo(handle, libc::RTLD_DI_LMID, (&raw mut id).cast::<c_void>()) } == 0 {
            *namespace = Some(id);
        }
    }
    // SAFETY: an open handle, which nothing else closes.
    Ok(unsafe { libloading::os::unix::Library::from_raw(handle) }.into())
}

/// Opens a library. This system's loader has no namespaces.
///
/// # Errors
/// The loader's message.
///
/// # Safety
/// That of [`open`](crate::open).
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub unsafe fn open(library: &OsStr) -> Result<libloading::Library, String> {
    // SAFETY: the caller's promise.
    unsafe { library::open(library) }
}

/// Returns a library that is loaded in the namespace already: none, as this system's loader has no namespaces.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn loaded(_: &str) -> Option<std::mem::ManuallyDrop<libloading::Library>> {
    None
}

/// Returns the files of a library's names in the folders where the loader searches, but for those that are this code's own
/// file; the first names first.
///
/// # Errors
/// Which folders were searched, if there are none.
pub fn files(names: &[&str]) -> Result<Vec<PathBuf>, LoadAttempt> {
    let here: *const c_void = (files as *const ()).cast();
    // SAFETY: this code runs, so its library is loaded.
    let own = unsafe { library::path_of(here) }.and_then(|path| path.canonicalize().ok());
    let folders = folders();
    let mut found = Vec::new();
    for path in names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name))) {
        match path.canonicalize() {
            Ok(file) if is_ours(&file, own.as_deref()) => {}
            Ok(_) => found.push(path),
            Err(_) => {}
        }
    }
    if found.is_empty() {
        let folders: Vec<_> = folders.iter().map(|folder| folder.to_string_lossy()).collect();
        let reason = format!("in none of {}", folders.join(", "));
        return Err(LoadAttempt { library: names.join(", ").into(), reason });
    }
    Ok(found)
}

/// Whether a file is the one with this code, or another build of the library that stands in for AMD's, which would search
/// for the same library again.
fn is_ours(file: &Path, own: Option<&Path>) -> bool {
    Some(file) == own || file.file_name().is_some_and(|name| name == "hiplaunch-libamdhip64")
}

/// The folders in which the loader searches (ld.so(8)), and ROCm's.
fn folders() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = Vec::new();
    let mut add = |folder: PathBuf| {
        if folder.is_absolute() && !folders.contains(&folder) {
            folders.push(folder);
        }
    };
    let variable = |name| std::env::var_os(name).unwrap_or_default();
    std::env::split_paths(&variable("LD_LIBRARY_PATH")).for_each(&mut add);
    add(PathBuf::from(variable("ROCM_PATH")).join("lib"));
    add("/opt/rocm/lib".into());
    // The folders of the loader's cache.
    let parts = fs::read_dir("/etc/ld.so.conf.d").into_iter().flatten().flatten().map(|entry| entry.path());
    let mut parts: Vec<PathBuf> = parts.collect();
    parts.sort();
    for part in [PathBuf::from("/etc/ld.so.conf")].into_iter().chain(parts) {
        let text = fs::read_to_string(part).unwrap_or_default();
        text.lines().map(str::trim).filter(|line| line.starts_with('/')).for_each(|line| add(line.into()));
    }
    for folder in ["/lib64", "/usr/lib64", "/lib", "/usr/lib"] {
        add(folder.into());
    }
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_nowhere_gives_the_folders_that_were_searched() {
        let attempt = files(&["libnowhere.so.7", "libnowhere.so"]).unwrap_err();
        assert_eq!(attempt.library, Path::new("libnowhere.so.7, libnowhere.so"));
        assert!(attempt.reason.contains("/opt/rocm/lib, "), "{}", attempt.reason);
    }

    /// The standard C library is in one of the folders.
    #[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
    #[test]
    fn a_library_in_the_namespace_is_another_copy() {
        let path = files(&["libm.so.6"]).unwrap().swap_remove(0);
        assert!(loaded("libm.so.6").is_none());
        // SAFETY: the C library's initialisers require nothing.
        let isolated = unsafe { open(path.as_os_str()) }.unwrap();
        let again = loaded("libm.so.6").unwrap();
        // SAFETY: as of the first copy.
        let program = unsafe { library::open("libm.so.6".as_ref()) }.unwrap();
        let cos = |library| library::address(library, "cos").unwrap();
        assert_eq!(cos(&isolated), cos(&again));
        assert_ne!(cos(&isolated), cos(&program));
    }

    #[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
    #[test]
    fn a_thread_of_the_program_can_call_the_namespaces_c_library() {
        let path = files(&["libm.so.6"]).unwrap().swap_remove(0);
        // SAFETY: the C library's initialisers require nothing.
        let _library = unsafe { open(path.as_os_str()) }.unwrap();
        let is_space = || {
            prepare_thread();
            let library = loaded("libc.so.6").unwrap();
            // SAFETY: the function of the C library has this type.
            let is_space = unsafe { library.get::<unsafe extern "C" fn(i32) -> i32>(b"isspace\0") }.unwrap();
            // SAFETY: both are characters.
            unsafe { [is_space(i32::from(b' ')), is_space(i32::from(b'b'))] }.map(|answer| answer != 0)
        };
        assert_eq!(std::thread::spawn(is_space).join().unwrap(), [true, false]);
    }

    #[test]
    fn the_file_with_this_code_is_not_found() {
        let own = Path::new("/somewhere/library");
        assert!(is_ours(own, Some(own)));
        assert!(is_ours(Path::new("/elsewhere/hiplaunch-libamdhip64"), Some(own)));
        assert!(!is_ours(Path::new("/usr/lib/libamdhip64.so.5.2"), Some(own)));
    }
}
