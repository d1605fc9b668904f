//! AMD's code object manager, which hiprtc compiles with: which processors it knows, and which version it is.
//!
//! hiprtc of HIP 5 loads it when it first compiles, and goes on without looking whether that worked; a processor that it
//! does not know makes hiprtc free memory that it never had. So it is asked before hiprtc is.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::{Path, PathBuf};

use code_object::{Processor, TargetId};

use crate::library::{self, LoadAttempt};

#[cfg(not(windows))]
const NAMES: [&str; 3] = ["libamd_comgr.so.3", "libamd_comgr.so.2", "libamd_comgr.so"];
#[cfg(windows)]
const NAMES: [&str; 3] = ["amd_comgr_3.dll", "amd_comgr_2.dll", "amd_comgr.dll"];

/// `AMD_COMGR_STATUS_SUCCESS`
const SUCCESS: c_int = 0;

/// What is known of it.
#[derive(Clone, Debug)]
pub(super) struct Comgr {
    /// `2.4`, for one.
    pub(super) version: String,
    /// Where it is, if that is known.
    pub(super) path: Option<PathBuf>,
    processors: Vec<Processor>,
}

impl Comgr {
    /// Asks the one that hiprtc, which is in `hiprtc`, uses or will use: one that is loaded already, else one in the same
    /// folder, else what the loader finds.
    pub(super) fn find(hiprtc: Option<&Path>, major: c_int) -> Result<Comgr, Vec<LoadAttempt>> {
        let mut names = NAMES;
        if major < 6 {
            // Until then it was the second version's library.
            names.swap(0, 1);
        }
        if let Some(comgr) = names.iter().find_map(|name| ask(&*loaded(name)?)) {
            return Ok(comgr);
        }
        let beside = hiprtc.and_then(Path::parent).filter(|folder| folder.is_absolute());
        let candidates = beside
            .into_iter()
            .flat_map(|folder| names.iter().map(|name| folder.join(name)))
            .chain(library::candidates(&names, std::env::var_os("ROCM_PATH").as_deref()));
        let mut tried: Vec<LoadAttempt> = Vec::new();
        for candidate in candidates {
            if tried.iter().any(|attempt| attempt.library == candidate) {
                continue;
            }
            let reason = match library::open(candidate.as_ref()) {
                Ok(found) => {
                    let comgr = ask(&found);
                    // Kept for ever, as hiprtc keeps it: LLVM's own destructors run at exit.
                    std::mem::forget(found);
                    match comgr {
                        Some(comgr) => return Ok(comgr),
                        None => "required symbols missing, or it knows no processor".to_owned(),
                    }
                }
                Err(reason) => reason,
            };
            tried.push(LoadAttempt { library: candidate, reason });
        }
        Err(tried)
    }

    /// Whether it can compile for a processor.
    pub(super) fn knows(&self, processor: &Processor) -> bool {
        self.processors.contains(processor)
    }
}

/// A library that is loaded already. The handle is kept for ever.
#[cfg(unix)]
fn loaded(name: &str) -> Option<std::mem::ManuallyDrop<libloading::Library>> {
    use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
    // SAFETY: nothing is loaded, so that no initialiser runs.
    let found = unsafe { Library::open(Some(name), RTLD_NOW | RTLD_LOCAL | libc::RTLD_NOLOAD) }.ok()?;
    Some(std::mem::ManuallyDrop::new(found.into()))
}

#[cfg(windows)]
fn loaded(name: &str) -> Option<std::mem::ManuallyDrop<libloading::Library>> {
    let found = libloading::os::windows::Library::open_already_loaded(name).ok()?;
    Some(std::mem::ManuallyDrop::new(found.into()))
}

#[cfg(not(any(unix, windows)))]
fn loaded(_: &str) -> Option<std::mem::ManuallyDrop<libloading::Library>> {
    None
}

/// Its version and processors; `None` for another library, or one that knows none.
fn ask(library: &libloading::Library) -> Option<Comgr> {
    type Version = unsafe extern "C" fn(*mut usize, *mut usize);
    type Count = unsafe extern "C" fn(*mut usize) -> c_int;
    type Name = unsafe extern "C" fn(usize, *mut *const c_char) -> c_int;
    let path =
        library::path_of(library::address(library, "amd_comgr_get_version")?.as_ptr() as *const c_void);
    let (mut major, mut minor, mut count) = (0, 0, 0);
    // SAFETY: the types are those of amd_comgr.h, the same in every version; places for two numbers and for one.
    let name = unsafe {
        library.get::<Version>("amd_comgr_get_version").ok()?(&mut major, &mut minor);
        if library.get::<Count>("amd_comgr_get_isa_count").ok()?(&mut count) != SUCCESS {
            return None;
        }
        library.get::<Name>("amd_comgr_get_isa_name").ok()?
    };
    let mut processors: Vec<Processor> = Vec::with_capacity(count.min(1024));
    for index in 0..count {
        let mut text = std::ptr::null();
        // SAFETY: an index below the count, and a place for the string's address.
        if unsafe { name(index, &mut text) } != SUCCESS || text.is_null() {
            continue;
        }
        // SAFETY: a C string that lives as long as the library, and longer than this.
        let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
        let processor = text.parse::<TargetId>().ok().map(|target| target.processor);
        processors.extend(processor.filter(|p| !processors.contains(p)));
    }
    (!processors.is_empty()).then(|| Comgr { version: format!("{major}.{minor}"), path, processors })
}
