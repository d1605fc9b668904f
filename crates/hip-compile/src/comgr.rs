//! AMD's code object manager (comgr): LLVM as a library, with which hiprtc compiles, and which compiles LLVM IR, bitcode and
//! assembly here. Its version, and the processors that it knows.
//!
//! hiprtc of HIP 5 loads comgr at its first compile and does not check whether that succeeded. For a processor that
//! comgr does not know, hiprtc frees memory that it never allocated. So comgr is asked before hiprtc is called.
//!
//! HIP itself uses comgr when a module is loaded and when the first stream is created, see [`set_up_llvm`](llvm::set_up_llvm).

mod api;
mod build;

use std::ffi::{CStr, c_char, c_int};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use code_object::{Processor, TargetId};

use self::api::{Api, SUCCESS};
use crate::digest::state;
use crate::namespace::Namespace;
use rocm_library::llvm::{self, COMGR_NAMES};
use rocm_library::{LoadAttempt, isolated};

/// A comgr that is loaded, and never unloaded.
#[derive(Clone, Debug)]
pub(crate) struct Comgr {
    /// The version, such as 2 and 4.
    version: (usize, usize),
    /// The library's file, if it is known.
    path: Option<PathBuf>,
    processors: Vec<Processor>,
    api: Api,
}

/// Waits until no other thread compiles with comgr or hiprtc, which compiles with it: not every version says that several
/// threads can use it.
pub(crate) fn turn() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the comgr of a namespace, which the first call searches for. The calling thread can use it. The error says what was
/// tried.
pub(crate) fn comgr(namespace: Namespace) -> Result<&'static Comgr, &'static [LoadAttempt]> {
    static PROGRAM: OnceLock<Result<Comgr, Vec<LoadAttempt>>> = OnceLock::new();
    static ISOLATED: OnceLock<Result<Comgr, Vec<LoadAttempt>>> = OnceLock::new();
    let comgr = if namespace == Namespace::Program { &PROGRAM } else { &ISOLATED };
    let found = comgr.get_or_init(|| Comgr::find(namespace, None, c_int::MAX)).as_ref();
    if namespace == Namespace::Isolated {
        isolated::prepare_thread();
    }
    found.map_err(Vec::as_slice)
}

impl fmt::Display for Comgr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "comgr {}", self.version())?;
        match &self.path {
            Some(path) => write!(f, " ({})", path.display()),
            None => Ok(()),
        }
    }
}

impl Comgr {
    /// Returns the version, such as `2.4`.
    pub(crate) fn version(&self) -> String {
        format!("{}.{}", self.version.0, self.version.1)
    }

    /// Returns a text that differs between two versions that may generate different code.
    pub(crate) fn identity(&self) -> String {
        format!("comgr {} {}", self.version(), state(self.path.as_deref()))
    }

    /// Asks the comgr that hiprtc, whose file is `hiprtc`, uses or will use: one that is already loaded, else one in
    /// the same folder, else one that the loader finds.
    pub(crate) fn find(
        namespace: Namespace,
        hiprtc: Option<&Path>,
        major: c_int,
    ) -> Result<Comgr, Vec<LoadAttempt>> {
        let mut names = COMGR_NAMES;
        if major < 6 {
            // HIP before 6 used version 2 of the library.
            names.swap(0, 1);
        }
        if let Some(comgr) = names.iter().find_map(|name| ask(&*namespace.loaded(name)?)) {
            return Ok(comgr);
        }
        let beside = hiprtc.and_then(Path::parent).filter(|folder| folder.is_absolute());
        let candidates = beside
            .into_iter()
            .flat_map(|folder| names.iter().map(|name| folder.join(name)))
            .chain(rocm_library::candidates(&names, std::env::var_os("ROCM_PATH").as_deref()));
        let mut tried: Vec<LoadAttempt> = Vec::new();
        for candidate in candidates {
            if tried.iter().any(|attempt| attempt.library == candidate) {
                continue;
            }
            let reason = match namespace.open(candidate.as_ref()) {
                Ok(found) => {
                    let comgr = ask(&found);
                    // Never unloaded, just as hiprtc never unloads it: LLVM's own destructors run at exit.
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

    /// Returns whether it can compile for a processor.
    pub(crate) fn knows(&self, processor: &Processor) -> bool {
        self.processors.contains(processor)
    }
}

/// Returns a library's version and processors; `None` if it is another library or knows no processor.
fn ask(library: &libloading::Library) -> Option<Comgr> {
    type Version = unsafe extern "C" fn(*mut usize, *mut usize);
    type Count = unsafe extern "C" fn(*mut usize) -> c_int;
    type Name = unsafe extern "C" fn(usize, *mut *const c_char) -> c_int;
    let version = rocm_library::address(library, "amd_comgr_get_version")?.as_ptr();
    // SAFETY: a library with comgr's functions, which is open.
    let path = unsafe {
        llvm::set_up_llvm_of(library);
        rocm_library::path_of(version)
    };
    let (mut major, mut minor, mut count) = (0, 0, 0);
    // SAFETY: the types are those of amd_comgr.h, the same in every version; the pointers are to live integers.
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
        // SAFETY: an index below the count, and a pointer to a live pointer.
        if unsafe { name(index, &mut text) } != SUCCESS || text.is_null() {
            continue;
        }
        // SAFETY: a C string that lives as long as the library, which is longer than this call.
        let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
        let processor = text.parse::<TargetId>().ok().map(|target| target.processor);
        processors.extend(processor.filter(|p| !processors.contains(p)));
    }
    let api = Api::resolve(library)?;
    (!processors.is_empty()).then_some(Comgr { version: (major, minor), path, processors, api })
}
