//! The set-up of LLVM in AMD's code object manager (comgr), which HIP and hiprtc use, before two threads can do it at once.

use std::ffi::{c_char, c_int, c_void};
use std::sync::{Mutex, PoisonError};

use crate::library;

/// The names of comgr's library, newest first.
#[cfg(not(windows))]
pub const COMGR_NAMES: [&str; 3] = ["libamd_comgr.so.3", "libamd_comgr.so.2", "libamd_comgr.so"];
/// The names of comgr's library, newest first.
#[cfg(windows)]
pub const COMGR_NAMES: [&str; 3] = ["amd_comgr_3.dll", "amd_comgr_2.dll", "amd_comgr.dll"];

/// `AMD_COMGR_STATUS_SUCCESS`
const SUCCESS: c_int = 0;

/// Makes the comgr that the program has loaded, if any, set up LLVM.
///
/// comgr does so at its first use. In that of HIP 5.2, two threads can do it at the same time, which LLVM does not
/// allow: LLVM then finds no target for as long as the process lives, HIP creates no stream (`hipErrorOutOfMemory`), and
/// hiprtc compiles nothing. Later versions hold a lock (`COMGR::ensureLLVMInitialized`).
pub fn set_up_llvm() {
    if let Some(comgr) = COMGR_NAMES.iter().find_map(|name| library::loaded(name)) {
        // SAFETY: a library with one of comgr's names is comgr.
        unsafe { set_up_llvm_of(&comgr) };
    }
}

/// Makes a comgr set up LLVM: it does so before it creates a disassembler, its quickest use of LLVM (0.5 ms).
///
/// # Safety
/// Functions of comgr's names in the library are comgr's.
pub unsafe fn set_up_llvm_of(library: &libloading::Library) {
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
    // SAFETY: comgr's functions (the caller's promise). The types are those of amd_comgr.h, the same in every version (its handles are structs of one u64); a C
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
