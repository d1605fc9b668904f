//! The HIP runtime compiler, found once per process and kept: needs no GPU.

use std::ffi::{CString, c_char, c_int, c_void};
use std::path::PathBuf;
use std::ptr::null;
use std::sync::{Mutex, OnceLock, PoisonError};

use code_object::Processor;

/// Its own library since HIP 5.5 or so, and the only one since 7.0; before that it is inside libamdhip64. Newest first.
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

const LIBRARY_FOLDER: &str = if cfg!(windows) { "bin" } else { "lib" };

/// `HIPRTC_SUCCESS`
const SUCCESS: c_int = 0;

/// Why a source was not compiled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum CompileError {
    #[error("{call} returned {code}: {log}")]
    Call { call: &'static str, code: c_int, log: String },
    #[error("a NUL byte in it")]
    Nul,
}

type Program = *mut c_void;

/// Entry points of hiprtc; the same in every version (hip/hiprtc.h).
#[derive(Debug)]
pub(in crate::tensor) struct Compiler {
    create: unsafe extern "C" fn(
        *mut Program,
        *const c_char,
        *const c_char,
        c_int,
        *const *const c_char,
        *const *const c_char,
    ) -> c_int,
    compile: unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int,
    log_size: unsafe extern "C" fn(Program, *mut usize) -> c_int,
    log: unsafe extern "C" fn(Program, *mut c_char) -> c_int,
    code_size: unsafe extern "C" fn(Program, *mut usize) -> c_int,
    code: unsafe extern "C" fn(Program, *mut c_char) -> c_int,
    destroy: unsafe extern "C" fn(*mut Program) -> c_int,
    /// HIP's major version; 0 for those before 5.3, which do not say.
    major: c_int,
    /// One program at a time: not every version says that it can be used by several threads.
    one: Mutex<()>,
}

/// The compiler, where there is one.
pub(in crate::tensor) fn compiler() -> Option<&'static Compiler> {
    static COMPILER: OnceLock<Option<Compiler>> = OnceLock::new();
    COMPILER.get_or_init(find).as_ref()
}

fn find() -> Option<Compiler> {
    let roots = std::env::var_os("ROCM_PATH").filter(|p| !p.is_empty()).map(PathBuf::from);
    let roots: Vec<PathBuf> = roots.into_iter().chain([PathBuf::from("/opt/rocm")]).collect();
    let in_roots =
        roots.iter().flat_map(|root| NAMES.iter().map(|name| root.join(LIBRARY_FOLDER).join(name)));
    for candidate in NAMES.iter().map(PathBuf::from).chain(in_roots) {
        // SAFETY: the initialisers of HIP's libraries have no demands on the program.
        let Ok(library) = (unsafe { libloading::Library::new(&candidate) }) else { continue };
        // SAFETY: the types are those of hip/hiprtc.h.
        let found = unsafe { resolve(&library) };
        // Kept for ever, used or not: HIP starts threads and registers destructors that outlive any handle.
        std::mem::forget(library);
        if let Some(compiler) = found {
            log::info!("fused kernels are compiled with {}", candidate.display());
            return Some(compiler);
        }
    }
    log::info!("no hiprtc: elementwise operations are launched one by one");
    None
}

/// # Safety
/// The library's functions of these names are hiprtc's, and it is never unloaded.
unsafe fn resolve(library: &libloading::Library) -> Option<Compiler> {
    let (mut major, mut minor) = (0, 0);
    // SAFETY: the caller's promise; two places for numbers.
    unsafe {
        type Version = unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int;
        let version = library.get::<Version>("hiprtcVersion").ok()?;
        // HIP 5.2 calls itself 9.0. What it lacks tells it from later ones.
        let says = library.get::<*mut c_void>("hiprtcLinkCreate").is_ok();
        if !says || version(&mut major, &mut minor) != SUCCESS {
            major = 0;
        }
        Some(Compiler {
            major,
            create: *library.get("hiprtcCreateProgram").ok()?,
            compile: *library.get("hiprtcCompileProgram").ok()?,
            log_size: *library.get("hiprtcGetProgramLogSize").ok()?,
            log: *library.get("hiprtcGetProgramLog").ok()?,
            code_size: *library.get("hiprtcGetCodeSize").ok()?,
            code: *library.get("hiprtcGetCode").ok()?,
            destroy: *library.get("hiprtcDestroyProgram").ok()?,
            one: Mutex::new(()),
        })
    }
}

impl Compiler {
    /// Whether it may be asked to compile for a processor. One that does not know the processor does not say so, but
    /// frees memory that it never had (5.2).
    pub(in crate::tensor) fn knows(&self, processor: &Processor) -> bool {
        match processor {
            Processor::Gfx90a => true,
            Processor::Gfx942 => self.major >= 6,
            _ => false,
        }
    }

    /// Compiles a source for a processor (`gfx90a`) to a code object.
    pub(super) fn compile(&self, source: &str, processor: &str) -> Result<Vec<u8>, CompileError> {
        let _one = self.one.lock().unwrap_or_else(PoisonError::into_inner);
        let nul = |_| CompileError::Nul;
        let source = CString::new(source).map_err(nul)?;
        let mut program: Program = std::ptr::null_mut();
        // SAFETY: two C strings, which it copies, no headers, and a place for the handle.
        let code =
            unsafe { (self.create)(&mut program, source.as_ptr(), c"fused.hip".as_ptr(), 0, null(), null()) };
        if code != SUCCESS {
            return Err(CompileError::Call { call: "hiprtcCreateProgram", code, log: String::new() });
        }
        let arch = CString::new(format!("--offload-arch={processor}")).map_err(nul);
        let result = arch.and_then(|arch| self.build(program, &arch));
        // SAFETY: the program that was made above; nobody uses it afterwards.
        unsafe { (self.destroy)(&mut program) };
        result
    }

    fn build(&self, program: Program, arch: &CString) -> Result<Vec<u8>, CompileError> {
        let options = [arch.as_ptr(), c"-O3".as_ptr(), c"-ffp-contract=off".as_ptr()];
        let fail = |call, code| CompileError::Call { call, code, log: self.log_of(program) };
        // SAFETY: a live program and as many C strings as said.
        let code = unsafe { (self.compile)(program, options.len() as c_int, options.as_ptr()) };
        if code != SUCCESS {
            return Err(fail("hiprtcCompileProgram", code));
        }
        let mut bytes = 0;
        // SAFETY: a live program and a place for the number.
        let code = unsafe { (self.code_size)(program, &mut bytes) };
        if code != SUCCESS {
            return Err(fail("hiprtcGetCodeSize", code));
        }
        let mut object = vec![0u8; bytes];
        // SAFETY: as many bytes as it said that it writes.
        let code = unsafe { (self.code)(program, object.as_mut_ptr().cast()) };
        if code != SUCCESS {
            return Err(fail("hiprtcGetCode", code));
        }
        Ok(object)
    }

    /// What the compiler printed; empty where that can't be had.
    fn log_of(&self, program: Program) -> String {
        let mut bytes = 0;
        // SAFETY: a live program and a place for the number.
        if unsafe { (self.log_size)(program, &mut bytes) } != SUCCESS {
            return String::new();
        }
        let mut text = vec![0u8; bytes];
        // SAFETY: as many bytes as it said that it writes; with none, it is not called.
        if bytes == 0 || unsafe { (self.log)(program, text.as_mut_ptr().cast()) } != SUCCESS {
            return String::new();
        }
        String::from_utf8_lossy(&text).trim_end_matches('\0').to_owned()
    }
}
