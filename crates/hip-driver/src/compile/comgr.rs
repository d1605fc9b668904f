//! AMD's code object manager (comgr), with which hiprtc compiles: its version and the processors that it knows.
//!
//! hiprtc of HIP 5 loads comgr at its first compile and does not check whether that succeeded. For a processor that
//! comgr does not know, hiprtc frees memory that it never allocated. So comgr is asked before hiprtc is called.
//!
//! HIP itself uses comgr when a module is loaded and when the first stream is created, see [`set_up_llvm`].

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use code_object::{Processor, TargetId};

use super::hiprtc::Place;
use crate::library::{self, LoadAttempt};

#[cfg(not(windows))]
const NAMES: [&str; 3] = ["libamd_comgr.so.3", "libamd_comgr.so.2", "libamd_comgr.so"];
#[cfg(windows)]
const NAMES: [&str; 3] = ["amd_comgr_3.dll", "amd_comgr_2.dll", "amd_comgr.dll"];

/// `AMD_COMGR_STATUS_SUCCESS`
const SUCCESS: c_int = 0;

/// What comgr says about itself.
#[derive(Clone, Debug)]
pub(super) struct Comgr {
    /// The version, such as `2.4`.
    pub(super) version: String,
    /// The library's file, if it is known.
    pub(super) path: Option<PathBuf>,
    processors: Vec<Processor>,
}

impl Comgr {
    /// Asks the comgr that hiprtc, whose file is `hiprtc`, uses or will use: one that is already loaded, else one in
    /// the same folder, else one that the loader finds.
    pub(super) fn find(place: Place, hiprtc: Option<&Path>, major: c_int) -> Result<Comgr, Vec<LoadAttempt>> {
        let mut names = NAMES;
        if major < 6 {
            // HIP before 6 used version 2 of the library.
            names.swap(0, 1);
        }
        if let Some(comgr) = names.iter().find_map(|name| ask(&*place.loaded(name)?)) {
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
            let reason = match place.open(candidate.as_ref()) {
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
    pub(super) fn knows(&self, processor: &Processor) -> bool {
        self.processors.contains(processor)
    }
}

/// Makes the comgr that the program has loaded, if any, set up LLVM.
///
/// comgr does so at its first use. In that of HIP 5.2, two threads can do it at the same time, which LLVM does not
/// allow: LLVM then finds no target for as long as the process lives, HIP creates no stream (`hipErrorOutOfMemory`), and
/// hiprtc compiles nothing. Later versions hold a lock (`COMGR::ensureLLVMInitialized`).
pub(crate) fn set_up_llvm() {
    if let Some(comgr) = NAMES.iter().find_map(|name| library::loaded(name)) {
        set_up_llvm_of(&comgr);
    }
}

/// Makes a comgr set up LLVM: it does so before it creates a disassembler, its quickest use of LLVM (0.5 ms).
fn set_up_llvm_of(library: &libloading::Library) {
    type ReadMemory = unsafe extern "C" fn(u64, *mut c_char, u64, *mut c_void) -> u64;
    type PrintInstruction = unsafe extern "C" fn(*const c_char, *mut c_void);
    type PrintAddress = unsafe extern "C" fn(u64, *mut c_void);
    type Create =
        unsafe extern "C" fn(*const c_char, ReadMemory, PrintInstruction, PrintAddress, *mut u64) -> c_int;
    type Destroy = unsafe extern "C" fn(u64) -> c_int;

    unsafe extern "C" fn read_memory(_: u64, _: *mut c_char, _: u64, _: *mut c_void) -> u64 {
        0
    }
    unsafe extern "C" fn print_instruction(_: *const c_char, _: *mut c_void) {}
    unsafe extern "C" fn print_address(_: u64, _: *mut c_void) {}

    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    // LLVM ends the process if it has no disassembler for a processor; it has one for this in every version.
    let isa = c"amdgcn-amd-amdhsa--gfx90a".as_ptr();
    let mut disassembler = 0;
    // SAFETY: the types are those of amd_comgr.h, the same in every version (its handles are structs of one u64); a C
    // string, functions that are never called, as nothing is disassembled, and a pointer to a live handle.
    unsafe {
        let (Ok(create), Ok(destroy)) = (
            library.get::<Create>("amd_comgr_create_disassembly_info"),
            library.get::<Destroy>("amd_comgr_destroy_disassembly_info"),
        ) else {
            return;
        };
        if create(isa, read_memory, print_instruction, print_address, &mut disassembler) == SUCCESS {
            destroy(disassembler);
        }
    }
}

/// Returns a library's version and processors; `None` if it is another library or knows no processor.
fn ask(library: &libloading::Library) -> Option<Comgr> {
    type Version = unsafe extern "C" fn(*mut usize, *mut usize);
    type Count = unsafe extern "C" fn(*mut usize) -> c_int;
    type Name = unsafe extern "C" fn(usize, *mut *const c_char) -> c_int;
    set_up_llvm_of(library);
    let path =
        library::path_of(library::address(library, "amd_comgr_get_version")?.as_ptr() as *const c_void);
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
    (!processors.is_empty()).then(|| Comgr { version: format!("{major}.{minor}"), path, processors })
}
