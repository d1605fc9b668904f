//! AMD's own library, where the environment asks for it: finding it, and the addresses of its functions.
//!
//! It is opened when this library is loaded, so that it ends after the program's destructors, as it does where the program
//! itself loads it. It is opened by its path, and its references to HIP's functions bind to itself. The names by which programs ask for
//! `libamdhip64` are bound to this library before, because the loader would otherwise find AMD's by its soname. The path has
//! `/./` in it, so that the audit library of `hiplaunch exec` lets it pass.

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::abi::version::{loaded_as, module_base};
use crate::settings;

/// The names by which programs ask for the library.
const NAMES: [&CStr; 4] = [c"libamdhip64.so.5", c"libamdhip64.so.6", c"libamdhip64.so.7", c"libamdhip64.so"];

/// `RTLD_DEEPBIND` of glibc.
const DEEPBIND: c_int = 8;

/// AMD's library, which stays open.
pub(crate) struct RealLibrary {
    handle: *mut c_void,
    pub(crate) path: PathBuf,
}

// SAFETY: the handle is only passed to `dlsym`, which any thread may call.
unsafe impl Send for RealLibrary {}
// SAFETY: `dlsym` may be called by several threads at once.
unsafe impl Sync for RealLibrary {}

static LIBRARY: OnceLock<Option<Result<RealLibrary, String>>> = OnceLock::new();

fn opened() -> Option<&'static Result<RealLibrary, String>> {
    let open = || settings::wants_hip().then(|| settings::library().and_then(|path| open(&path)));
    LIBRARY.get_or_init(open).as_ref()
}

/// Runs when this library is loaded, before the program's constructors.
extern "C" fn at_load() {
    // A panic here is one in every later call, where it is reported.
    let _ = std::panic::catch_unwind(opened);
}

#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = at_load;

/// AMD's library, if the environment asks for it and it can be used.
pub(crate) fn library() -> Option<&'static RealLibrary> {
    opened()?.as_ref().ok()
}

/// Why AMD's library can't be used, if the environment asks for it.
pub(crate) fn failure() -> Option<&'static str> {
    if cfg!(not(target_arch = "x86_64")) && settings::wants_hip() {
        return Some("programs run over AMD's library on x86-64 alone");
    }
    opened()?.as_ref().err().map(String::as_str)
}

impl RealLibrary {
    /// The address of one of its functions.
    pub(crate) fn address(&self, name: &CStr) -> Option<*const ()> {
        // SAFETY: the library is open forever, and the name is text.
        let address = unsafe { libc::dlsym(self.handle, name.as_ptr()) };
        (!address.is_null()).then(|| address.cast_const().cast())
    }
}

fn open(path: &Path) -> Result<RealLibrary, String> {
    let own_folder = loaded_as().and_then(|own| Path::new(OsStr::from_bytes(own.to_bytes())).parent());
    for name in NAMES {
        let beside = own_folder.map(|folder| folder.join(OsStr::from_bytes(name.to_bytes())));
        if beside.is_some_and(|file| file.exists()) {
            // The loader finds the file, which is loaded already, and keeps the name for it.
            // SAFETY: no code runs that did not run before, and the name is text.
            unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_LOCAL) };
        }
    }
    let marked = match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => folder.join(".").join(name),
        _ => path.to_owned(),
    };
    let file = CString::new(marked.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
    // SAFETY: AMD's library, whose initialisers require nothing of the program.
    let handle = unsafe { libc::dlopen(file.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL | DEEPBIND) };
    if handle.is_null() {
        return Err(format!("AMD's library can't be loaded: {}", loader_message()));
    }
    let library = RealLibrary { handle, path: marked };
    let Some(function) = library.address(c"hipMalloc") else {
        return Err(format!("{} is not AMD's libamdhip64: it has no hipMalloc", path.display()));
    };
    let here: *const () = open as *const ();
    if module_base(function) == module_base(here) {
        return Err(format!(
            "{} is hiplaunch's own library, not AMD's; set {} to AMD's libamdhip64",
            path.display(),
            settings::LIBRARY
        ));
    }
    Ok(library)
}

/// The message of the loader's last failure on this thread.
fn loader_message() -> String {
    // SAFETY: it returns null or text that lives until the thread's next call of the loader.
    let message: *const c_char = unsafe { libc::dlerror() };
    if message.is_null() {
        return "unknown reason".to_owned();
    }
    // SAFETY: the loader's text, which lives until this thread's next call of the loader; this makes none.
    unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned()
}
