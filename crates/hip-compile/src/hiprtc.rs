//! The HIP runtime compiler (hiprtc), loaded once in a process. It needs no GPU.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fmt;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::OnceLock;

use code_object::Processor;

use crate::comgr::Comgr;
use crate::digest::state;
use crate::entry::Entry;
use crate::error::CompileError;
use crate::messages::without_folders;
use crate::namespace::Namespace;
use rocm_library::{LoadAttempt, isolated};

// `hiprtcResult`: hip/hiprtc.h.
const SUCCESS: c_int = 0;
const INVALID_OPTION: c_int = 5;
const COMPILATION: c_int = 6;

type Program = *mut c_void;

/// The functions of hiprtc that are used; the same in every version (hip/hiprtc.h).
#[derive(Debug)]
struct Api {
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
    /// The functions for bitcode (HIP 5.3).
    bitcode: Option<Bitcode>,
    add_name: unsafe extern "C" fn(Program, *const c_char) -> c_int,
    lowered_name: unsafe extern "C" fn(Program, *const c_char, *mut *const c_char) -> c_int,
    destroy: unsafe extern "C" fn(*mut Program) -> c_int,
    error_string: unsafe extern "C" fn(c_int) -> *const c_char,
    /// The result of `hiprtcVersion`. It is 0.0 for a version without `hiprtcLinkCreate`: HIP 5.2 calls itself 9.0.
    version: (c_int, c_int),
}

/// `hiprtcGetBitcodeSize` and `hiprtcGetBitcode`.
#[derive(Clone, Copy, Debug)]
struct Bitcode {
    size: unsafe extern "C" fn(Program, *mut usize) -> c_int,
    get: unsafe extern "C" fn(Program, *mut c_char) -> c_int,
}

/// The loaded compiler.
#[derive(Debug)]
pub(crate) struct Hiprtc {
    api: Api,
    /// Never unloaded: HIP starts threads and registers destructors that outlive any handle.
    library: ManuallyDrop<libloading::Library>,
    path: PathBuf,
    /// `None` only on Windows, if it was not found there.
    comgr: Option<Comgr>,
    identity: String,
}

/// What one compile reads: all that the compiler sees.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unit<'a> {
    pub(crate) name: &'a str,
    pub(crate) source: &'a str,
    /// The headers' names, as they are included, and texts.
    pub(crate) headers: &'a [(String, String)],
    /// All options, including the target's.
    pub(crate) options: &'a [String],
    /// The target, for messages.
    pub(crate) target: &'a str,
    /// The name expressions whose symbols are wanted.
    pub(crate) expressions: &'a [String],
    /// Whether the result is LLVM bitcode, as the option `-fgpu-rdc` asks.
    pub(crate) bitcode: bool,
}

/// Returns the compiler, which the first call for that namespace searches for. The calling thread can use it. The error says
/// what was tried.
pub(crate) fn hiprtc(namespace: Namespace) -> Result<&'static Hiprtc, CompileError> {
    static PROGRAM: OnceLock<Result<Hiprtc, CompileError>> = OnceLock::new();
    static ISOLATED: OnceLock<Result<Hiprtc, CompileError>> = OnceLock::new();
    let compiler = if namespace == Namespace::Program { &PROGRAM } else { &ISOLATED };
    let found = compiler.get_or_init(|| find(namespace)).as_ref().map_err(CompileError::clone)?;
    if namespace == Namespace::Isolated {
        isolated::prepare_thread();
    }
    Ok(found)
}

fn find(namespace: Namespace) -> Result<Hiprtc, CompileError> {
    let mut tried = Vec::new();
    let candidates = namespace.candidates().unwrap_or_else(|attempt| {
        tried.push(attempt);
        Vec::new()
    });
    for candidate in candidates {
        let library = match namespace.open(candidate.as_ref()) {
            Ok(library) => library,
            Err(reason) => {
                tried.push(LoadAttempt { library: candidate, reason });
                continue;
            }
        };
        // SAFETY: the functions of these names are hiprtc's, and the library is never unloaded.
        let api = unsafe { resolve(&library) };
        // Never unloaded, used or not.
        let library = ManuallyDrop::new(library);
        let Some(api) = api else {
            tried.push(LoadAttempt { library: candidate, reason: "does not contain hiprtc".to_owned() });
            continue;
        };
        // SAFETY: the library is never unloaded.
        let file = unsafe { rocm_library::path_of(api.create as *const c_void) };
        let comgr = match Comgr::find(namespace, file.as_deref(), api.version.0) {
            Ok(comgr) => Some(comgr),
            Err(_) if cfg!(windows) => None,
            Err(attempts) => {
                let reason = "can't compile without libamd_comgr".to_owned();
                tried.push(LoadAttempt { library: candidate, reason });
                tried.extend(attempts);
                continue;
            }
        };
        let identity = identity(&api, file.as_deref(), comgr.as_ref());
        let path = file.unwrap_or(candidate);
        let found = Hiprtc { api, library, path, comgr, identity };
        log::info!("kernels are compiled with {found}");
        return Ok(found);
    }
    let error = CompileError::NotFound { missing: CompileError::HIPRTC, tried };
    log::info!("{error}");
    Err(error)
}

/// # Safety
/// The library's functions of these names are hiprtc's, and it is never unloaded.
unsafe fn resolve(library: &libloading::Library) -> Option<Api> {
    type Version = unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int;
    let (mut major, mut minor) = (0, 0);
    // SAFETY: the caller guarantees it; the pointers are to live integers.
    unsafe {
        let version = library.get::<Version>("hiprtcVersion").ok()?;
        let says = library.get::<*mut c_void>("hiprtcLinkCreate").is_ok();
        let version =
            if says && version(&mut major, &mut minor) == SUCCESS { (major, minor) } else { (0, 0) };
        let bitcode = || {
            let (size, get) =
                (library.get("hiprtcGetBitcodeSize").ok()?, library.get("hiprtcGetBitcode").ok()?);
            Some(Bitcode { size: *size, get: *get })
        };
        Some(Api {
            version,
            create: *library.get("hiprtcCreateProgram").ok()?,
            compile: *library.get("hiprtcCompileProgram").ok()?,
            log_size: *library.get("hiprtcGetProgramLogSize").ok()?,
            log: *library.get("hiprtcGetProgramLog").ok()?,
            code_size: *library.get("hiprtcGetCodeSize").ok()?,
            code: *library.get("hiprtcGetCode").ok()?,
            bitcode: bitcode(),
            add_name: *library.get("hiprtcAddNameExpression").ok()?,
            lowered_name: *library.get("hiprtcGetLoweredName").ok()?,
            destroy: *library.get("hiprtcDestroyProgram").ok()?,
            error_string: *library.get("hiprtcGetErrorString").ok()?,
        })
    }
}

/// Returns a text that differs between compilers: the versions and files of hiprtc and of comgr, which contains LLVM
/// and is updated on its own.
fn identity(api: &Api, hiprtc: Option<&Path>, comgr: Option<&Comgr>) -> String {
    let comgr = comgr.map(Comgr::identity).unwrap_or_default();
    format!("hiprtc {:?} {}; {comgr}", api.version, state(hiprtc))
}

impl fmt::Display for Hiprtc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.api.version {
            (0, _) => f.write_str("hiprtc of HIP before 5.3")?,
            (major, minor) => write!(f, "hiprtc {major}.{minor}")?,
        }
        if let Some(comgr) = &self.comgr {
            write!(f, " with comgr {}", comgr.version())?;
        }
        write!(f, " ({})", self.path.display())
    }
}

impl Hiprtc {
    /// Returns a text that differs between two compilers that may generate different code.
    pub(crate) fn identity(&self) -> &str {
        &self.identity
    }

    /// Returns whether it can compile for a processor.
    pub(crate) fn knows(&self, processor: &Processor) -> bool {
        match (&self.comgr, processor) {
            (Some(comgr), processor) => comgr.knows(processor),
            (None, Processor::Gfx90a) => true,
            (None, _) => self.api.version.0 >= 6,
        }
    }

    /// Returns whether it has the functions that return bitcode.
    pub(crate) fn makes_bitcode(&self) -> bool {
        self.api.bitcode.is_some()
    }

    /// Returns the address of another function of the library, which is never unloaded.
    pub(crate) fn function(&self, name: &str) -> Option<NonNull<c_void>> {
        rocm_library::address(&self.library, name)
    }

    fn failed(&self, call: &'static str, code: c_int, unit: &Unit<'_>) -> CompileError {
        // SAFETY: the function accepts any code.
        let text = unsafe { (self.api.error_string)(code) };
        let message = if text.is_null() {
            "unknown code".to_owned()
        } else {
            // SAFETY: a C string that is never freed.
            unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
        };
        CompileError::Call { call, compiler: self.to_string(), code, message, name: unit.name.to_owned() }
    }
}

/// Returns a text as a C string. `what` names the text in the error.
fn c_text(text: &str, what: impl FnOnce() -> String) -> Result<CString, CompileError> {
    CString::new(text).map_err(|_| CompileError::Text { what: what(), problem: "has a NUL byte in it" })
}

/// Replaces an empty text by a newline: hiprtc of HIP 5.2 rejects an empty text (`HIPRTC_ERROR_INVALID_INPUT`), but a
/// header may be empty.
fn not_empty(text: &str) -> &str {
    if text.is_empty() { "\n" } else { text }
}

impl Hiprtc {
    /// Compiles, while the thread has its [turn](crate::comgr::turn). Returns the code, the compiler's messages and the symbols of
    /// the name expressions.
    pub(crate) fn compile(&self, unit: &Unit<'_>) -> Result<Entry, CompileError> {
        let source = c_text(not_empty(unit.source), || format!("the source {}", unit.name))?;
        let name = c_text(unit.name, || "the source's name".to_owned())?;
        let (mut names, mut texts, mut options) = (Vec::new(), Vec::new(), Vec::new());
        for (name, text) in unit.headers {
            names.push(c_text(name, || "a header's name".to_owned())?);
            texts.push(c_text(not_empty(text), || format!("the header {name}"))?);
        }
        for option in unit.options {
            options.push(c_text(option, || "a compile option".to_owned())?);
        }
        let expressions = unit.expressions.iter();
        let expressions: Vec<CString> = expressions
            .map(|expression| c_text(expression, || "a name expression".to_owned()))
            .collect::<Result<_, _>>()?;
        let pointers = |texts: &[CString]| texts.iter().map(|t| t.as_ptr()).collect::<Vec<_>>();
        let (name_pointers, text_pointers, options) =
            (pointers(&names), pointers(&texts), pointers(&options));
        let (api, mut program): (_, Program) = (&self.api, std::ptr::null_mut());
        let headers = c_int::try_from(names.len()).unwrap_or(c_int::MAX);
        // SAFETY: C strings, which it copies, as many as stated, and a pointer to a live handle.
        let code = unsafe {
            (api.create)(
                &mut program,
                source.as_ptr(),
                name.as_ptr(),
                headers,
                text_pointers.as_ptr(),
                name_pointers.as_ptr(),
            )
        };
        if code != SUCCESS {
            return Err(self.failed("hiprtcCreateProgram", code, unit));
        }
        let result = self.build(program, unit, &options, &expressions);
        // SAFETY: the program that was created above; nothing uses it afterwards.
        unsafe { (api.destroy)(&mut program) };
        result
    }

    fn build(
        &self,
        program: Program,
        unit: &Unit<'_>,
        options: &[*const c_char],
        expressions: &[CString],
    ) -> Result<Entry, CompileError> {
        let api = &self.api;
        for expression in expressions {
            // SAFETY: a live program and a C string, which it copies.
            let code = unsafe { (api.add_name)(program, expression.as_ptr()) };
            if code != SUCCESS {
                return Err(self.failed("hiprtcAddNameExpression", code, unit));
            }
        }
        let count = c_int::try_from(options.len()).unwrap_or(c_int::MAX);
        // SAFETY: a live program, and as many C strings as stated.
        let code = unsafe { (api.compile)(program, count, options.as_ptr()) };
        let log = without_folders(&self.log_of(program), &[("CompileSource", unit.name)]);
        match code {
            SUCCESS => {}
            INVALID_OPTION | COMPILATION => {
                let (name, target) = (unit.name.to_owned(), unit.target.to_owned());
                return Err(CompileError::Failed { name, target, log });
            }
            code => return Err(self.failed("hiprtcCompileProgram", code, unit)),
        }
        let lowered = self.lowered_names(program, expressions);
        let (size, get) = match api.bitcode {
            Some(bitcode) if unit.bitcode => (bitcode.size, bitcode.get),
            _ => (api.code_size, api.code),
        };
        let mut bytes = 0;
        // SAFETY: a live program, and a pointer to a live integer.
        let code = unsafe { size(program, &mut bytes) };
        if code != SUCCESS {
            return Err(self.failed("hiprtcGetCodeSize", code, unit));
        }
        let mut object = vec![0u8; bytes];
        // SAFETY: the buffer has as many bytes as hiprtc said that it writes.
        let code = unsafe { get(program, object.as_mut_ptr().cast()) };
        if code != SUCCESS {
            return Err(self.failed("hiprtcGetCode", code, unit));
        }
        Ok(Entry { log, lowered, code: object })
    }

    /// Returns the name expressions that have a symbol, each with it.
    fn lowered_names(&self, program: Program, expressions: &[CString]) -> Vec<(String, String)> {
        let lowered = expressions.iter().filter_map(|expression| {
            let mut name = std::ptr::null();
            // SAFETY: a live program that was compiled, a C string, and a pointer to a live pointer.
            let code = unsafe { (self.api.lowered_name)(program, expression.as_ptr(), &mut name) };
            if code != SUCCESS || name.is_null() {
                return None;
            }
            // SAFETY: a C string that lives as long as the program.
            let name = unsafe { CStr::from_ptr(name) };
            Some((expression.to_string_lossy().into_owned(), name.to_string_lossy().into_owned()))
        });
        lowered.collect()
    }

    /// Returns the compiler's messages; empty if they are not available.
    fn log_of(&self, program: Program) -> String {
        let (api, mut bytes) = (&self.api, 0);
        // SAFETY: a live program, and a pointer to a live integer.
        if unsafe { (api.log_size)(program, &mut bytes) } != SUCCESS {
            return String::new();
        }
        let mut text = vec![0u8; bytes];
        // SAFETY: the buffer has as many bytes as hiprtc said that it writes; if those are 0, the function is not
        // called.
        if bytes == 0 || unsafe { (api.log)(program, text.as_mut_ptr().cast()) } != SUCCESS {
            return String::new();
        }
        String::from_utf8_lossy(&text).trim_end_matches('\0').to_owned()
    }
}
