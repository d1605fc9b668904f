//! Where hiprtc and comgr are loaded: among the program's libraries, or apart from them.

use std::ffi::OsStr;
use std::mem::ManuallyDrop;
use std::path::PathBuf;

use rocm_library::{LoadAttempt, isolated};

/// The library that contains hiprtc: one of its own since about HIP 5.5, and only that since 7.0; libamdhip64 in
/// earlier versions. Newest first.
#[cfg(not(windows))]
const NAMES: [&str; 7] = [
    "libhiprtc.so.7",
    "libhiprtc.so.6",
    "libhiprtc.so.5",
    "libamdhip64.so.6",
    "libamdhip64.so.5",
    "libhiprtc.so",
    "libamdhip64.so",
];
#[cfg(windows)]
const NAMES: [&str; 3] = ["hiprtc0700.dll", "hiprtc0604.dll", "hiprtc.dll"];

/// The environment variable that names the file of the library with hiprtc, in place of a search.
pub const LIBRARY_VARIABLE: &str = "HIPLAUNCH_HIPRTC";

/// Where the compiler's libraries are loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Namespace {
    /// Where the program's own libraries are.
    Program,
    /// In a namespace of the loader's.
    Isolated,
}

impl Namespace {
    /// Opens a library there. The error is the loader's message.
    pub(crate) fn open(self, library: &OsStr) -> Result<libloading::Library, String> {
        // SAFETY: a library of ROCm's, by its name or as the user says, whose initialisers require nothing of the program.
        unsafe {
            match self {
                Namespace::Program => rocm_library::open(library),
                Namespace::Isolated => isolated::open(library),
            }
        }
    }

    /// Returns a library that is loaded there already. The handle is never closed.
    pub(crate) fn loaded(self, name: &str) -> Option<ManuallyDrop<libloading::Library>> {
        match self {
            Namespace::Program => rocm_library::loaded(name),
            Namespace::Isolated => isolated::loaded(name),
        }
    }

    /// Returns what to try for hiprtc. The error says which folders have none.
    pub(crate) fn candidates(self) -> Result<Vec<PathBuf>, LoadAttempt> {
        if let Some(library) = std::env::var_os(LIBRARY_VARIABLE).filter(|library| !library.is_empty()) {
            let path = PathBuf::from(library);
            return Ok(vec![std::path::absolute(&path).unwrap_or(path)]);
        }
        match self {
            Namespace::Program => {
                Ok(rocm_library::candidates(&NAMES, std::env::var_os("ROCM_PATH").as_deref()))
            }
            Namespace::Isolated => isolated::files(&NAMES),
        }
    }
}
