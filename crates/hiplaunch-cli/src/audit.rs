//! The audit library (rtld-audit(7)) with which `hiplaunch exec` starts programs: glibc's loader asks it for the file of each
//! library that a program needs or opens.
//!
//! `LD_LIBRARY_PATH` does not reach a program that names AMD's library by a path, or that has an `RPATH` to it, as Python
//! packages with a copy of it have. The audit library answers all of them with the link beside itself. A path with `/./` in it
//! stays as it is: by such a path, hiplaunch's library opens AMD's. So do the paths by which a library that was opened so opens
//! others, as one does that stands between hiplaunch's and AMD's.
//!
//! Programs also have it preloaded, for the files of Linux that they read (`redirect.rs`).
//!
//! build.rs links it as a shared library. It has no `main`, and uses little of the standard library, because every process that a
//! program starts loads it.

#![no_main]

#[path = "names.rs"]
mod names;
#[path = "redirect.rs"]
mod redirect;

use std::ffi::{CStr, CString, OsStr, c_char, c_uint};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use names::{NAMES, index_of, is_of_hip, link};

/// The paths of the links, in the order of [`NAMES`].
static LINKS: OnceLock<Vec<CString>> = OnceLock::new();

/// The version of the interface (`LAV_CURRENT` of link.h: 1 before glibc 2.35). Both have the functions that are used here.
const VERSION: c_uint = 2;

/// `LA_SER_ORIG` of link.h: the name is the one that the program asks for.
const ORIGINAL: c_uint = 1;

/// Accepts the loader's version of the interface. The loader calls it first.
#[unsafe(no_mangle)]
extern "C" fn la_version(loaders: c_uint) -> c_uint {
    let links = folder().map(|folder| {
        let path = |index| CString::new(link(&folder, index).into_os_string().into_encoded_bytes()).ok();
        (0..NAMES.len()).filter_map(path).collect()
    });
    let _ = LINKS.set(links.unwrap_or_default());
    loaders.min(VERSION)
}

/// The folder of this library.
fn folder() -> Option<PathBuf> {
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: the address is code of this library, and `info` has room for the answer.
    if unsafe { libc::dladdr((folder as *const ()).cast(), info.as_mut_ptr()) } == 0 {
        return None;
    }
    // SAFETY: all zero bits are a value of the struct, and dladdr filled it in.
    let name = unsafe { info.assume_init() }.dli_fname;
    if name.is_null() {
        return None;
    }
    // SAFETY: the loader's text for this library, which is never unloaded.
    let name = unsafe { CStr::from_ptr(name) };
    Path::new(OsStr::from_bytes(name.to_bytes())).parent().map(Path::to_path_buf)
}

/// The beginning of `struct link_map` of link.h.
#[repr(C)]
struct LinkMap {
    address: usize,
    /// The path by which the file was opened.
    name: *const c_char,
}

/// The cookie of a library that was opened by a path that stays as it is. Others keep theirs, an address.
const KEEPS_PATHS: usize = 0;

/// Marks libraries that may open AMD's by a path. Returns that nothing else is asked about the library.
///
/// # Safety
/// `map` and `cookie` are the loader's, of a library that it has just opened.
#[unsafe(no_mangle)]
unsafe extern "C" fn la_objopen(map: *const LinkMap, _: libc::Lmid_t, cookie: *mut usize) -> c_uint {
    // SAFETY: the caller's promise.
    let name = unsafe { (*map).name };
    // SAFETY: the loader's text.
    if !name.is_null() && is_marked(unsafe { CStr::from_ptr(name) }.to_bytes()) {
        // SAFETY: the caller's promise.
        unsafe { cookie.write(KEEPS_PATHS) };
    }
    0
}

/// Returns the file that the loader opens for a name.
///
/// A name without a folder stays, and the loader asks again for each folder where it would look: there the answer is the link. So
/// the loader keeps the name for the library, by which it looks for the symbol versions that other libraries need of it. If this
/// function answered with a path at once, the loader would know the library by that path alone, and end in an assertion when
/// it is asked for versions of a second name.
///
/// AMD's own libraries, which hiplaunch's opens, get AMD's own libraries below HIP, unless the program has AMD's libamdhip64 over the emulator.
///
/// # Safety
/// `name` is text that ends with a zero byte, and `cookie` is that of the library that asks.
#[unsafe(no_mangle)]
unsafe extern "C" fn la_objsearch(name: *const c_char, cookie: *mut usize, flag: c_uint) -> *const c_char {
    if name.is_null() {
        return name;
    }
    // SAFETY: the loader's text.
    let text = unsafe { CStr::from_ptr(name) }.to_bytes();
    // SAFETY: the caller's promise.
    let keeps_paths = !cookie.is_null() && unsafe { cookie.read() } == KEEPS_PATHS;
    if flag == ORIGINAL && (keeps_paths || !text.contains(&b'/') || is_marked(text)) {
        return name;
    }
    link_for(text, keeps_paths).map_or(name, CStr::as_ptr)
}

/// Whether a path stays as it is.
fn is_marked(path: &[u8]) -> bool {
    path.windows(3).any(|part| part == b"/./")
}

/// Whether there is a library in place of AMD's with HIP's functions. Where there is not, AMD's own runs over what is below HIP here.
fn stands_for_hip() -> bool {
    LINKS.get().and_then(|links| links.first()).is_some_and(|link| exists(link))
}

/// Whether a link is there. Links may be gone, as from a folder of temporary files.
fn exists(link: &CStr) -> bool {
    Path::new(OsStr::from_bytes(link.to_bytes())).exists()
}

/// The link to open for a name, if it is a name of AMD's libraries; with `of_hip`, of those of HIP.
fn link_for(name: &[u8], of_hip: bool) -> Option<&'static CStr> {
    let last = |path: &[u8]| path.rsplit(|byte| *byte == b'/').next().and_then(index_of);
    let mut index = last(name).filter(|index| !of_hip || is_of_hip(*index) || !stands_for_hip())?;
    // The file behind a name without a version has one in its own name.
    if NAMES[index].ends_with(".so") && name.contains(&b'/') {
        let file = Path::new(OsStr::from_bytes(name)).canonicalize().ok();
        index = file.and_then(|file| last(file.as_os_str().as_bytes())).unwrap_or(index);
    }
    let link = LINKS.get()?.get(index)?;
    exists(link).then_some(link.as_c_str())
}
