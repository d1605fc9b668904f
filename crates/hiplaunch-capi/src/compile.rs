//! Compiling HIP C++, LLVM IR and assembly while the program runs.

use std::ffi::{CString, c_char, c_void};
use std::mem::{MaybeUninit, offset_of};
use std::sync::{Mutex, PoisonError};

use code_object::TargetId;

use hip_compile::{CompileError, Compiled, Compiler, DiskCache, Input, InputKind};

use super::handles::{Kind, Owner, Table};
use super::input::{Versioned, bytes, enumeration, enumerator, reserved, slice, text, versioned, wanted};
use super::status::{Failure, Result, call, hiplaunch_status};
use super::text::{hiplaunch_text, new_text};

/// A header that a source may include, given as a text.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct hiplaunch_include {
    /// The name in the source's #include.
    pub name: *const c_char,
    /// The text of the header.
    pub text: *const c_char,
}

/// What an input of hiplaunch_compile_inputs is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum hiplaunch_input_kind {
    /// HIP C++.
    Hip = 0,
    /// LLVM IR as text.
    LlvmIr = 1,
    /// LLVM bitcode.
    Bitcode = 2,
    /// AMDGPU assembly.
    Assembly = 3,
    /// A relocatable object file (ELF).
    Relocatable = 4,
}
enumeration!(hiplaunch_input_kind: Hip, LlvmIr, Bitcode, Assembly, Relocatable);

impl From<hiplaunch_input_kind> for InputKind {
    fn from(kind: hiplaunch_input_kind) -> InputKind {
        match kind {
            hiplaunch_input_kind::Hip => InputKind::Hip,
            hiplaunch_input_kind::LlvmIr => InputKind::LlvmIr,
            hiplaunch_input_kind::Bitcode => InputKind::Bitcode,
            hiplaunch_input_kind::Assembly => InputKind::Assembly,
            hiplaunch_input_kind::Relocatable => InputKind::Relocatable,
        }
    }
}

/// One input of hiplaunch_compile_inputs.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct hiplaunch_input {
    /// A hiplaunch_input_kind.
    pub kind: u32,
    /// 0.
    pub reserved: u32,
    /// The bytes. A text needs no NUL at its end.
    pub data: *const c_void,
    /// The number of bytes.
    pub size: usize,
    /// The name in the compiler's messages; null for "kernel" with the extension of the kind, such as "kernel.ll".
    pub name: *const c_char,
}

/// Options of hiplaunch_compile and hiplaunch_compile_inputs. Set struct_size to sizeof(hiplaunch_compile_options); zero in any other field is its
/// default.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct hiplaunch_compile_options {
    /// sizeof(hiplaunch_compile_options).
    pub struct_size: usize,
    /// The name of the source of hiplaunch_compile in the compiler's messages; null for "kernel.hip". Inputs have their own.
    pub name: *const c_char,
    /// Options of clang, such as "-O3" or "-DN=4". The library adds the option for the target.
    pub options: *const *const c_char,
    /// The number of options.
    pub option_count: usize,
    /// Headers that the source may include.
    pub includes: *const hiplaunch_include,
    /// The number of headers.
    pub include_count: usize,
    /// The folder in which compiled code objects are cached, or "off" for none. Null is the process's cache: the folder
    /// of HIPLAUNCH_CACHE_DIR in the environment, else hiplaunch in the user's cache folder.
    pub cache_folder: *const c_char,
    /// The greatest number of bytes kept in cache_folder; 0 for 256 MiB. Ignored if cache_folder is null.
    pub cache_limit: u64,
    /// A clang that compiles LLVM IR, bitcode and assembly: a path, or a name in PATH. Null is that of HIPLAUNCH_CLANG in the
    /// environment, else ROCm's comgr, else the newest clang of 15 or later.
    pub clang: *const c_char,
    /// 1 to link LLVM IR with ROCm's device libraries (ocml, ockl and their controls), else 0.
    pub device_libraries: u32,
    /// 0.
    pub reserved: u32,
}

// SAFETY: integers and pointers; the first version ended behind `cache_limit`.
unsafe impl Versioned for hiplaunch_compile_options {
    const NAME: &'static str = "hiplaunch_compile_options";
    const SIZES: &'static [usize] =
        &[offset_of!(hiplaunch_compile_options, clang), size_of::<hiplaunch_compile_options>()];
}

/// A code object that was compiled by this call or read from the cache.
pub struct hiplaunch_compiled {
    _opaque: (),
}

/// The compiled code and its log. Pointers to them that C has stay valid while the handle is open.
#[derive(Debug)]
struct CompiledObject {
    compiled: Compiled,
    log: CString,
}

static COMPILED: Table<CompiledObject> = Table::new(Kind::Compiled);

impl From<CompileError> for Failure {
    #[cold]
    fn from(error: CompileError) -> Failure {
        Failure::new(status_of(&error), error.to_string())
    }
}

/// Returns the status for a failed compilation.
pub(super) fn status_of(error: &CompileError) -> hiplaunch_status {
    match error {
        CompileError::NotFound { .. } | CompileError::UnknownTarget { .. } => hiplaunch_status::NoCompiler,
        CompileError::Option { .. } | CompileError::Text { .. } => hiplaunch_status::InvalidArgument,
        CompileError::CodeObject { .. } => hiplaunch_status::CodeObject,
        _ => hiplaunch_status::Compile,
    }
}

/// # Safety
/// Unless null, the text must end with a NUL.
unsafe fn target(given: *const c_char) -> Result<TargetId> {
    // SAFETY: the caller's promise.
    let given = unsafe { text(given, "target") }?;
    given.parse().map_err(|e: code_object::Error| Failure::invalid(format!("`target`: {e}")))
}

/// Returns the cache in a folder. The cache that was requested last is kept, so that it warns only once if its folder
/// can't be written.
fn cache(folder: &str, limit: u64) -> DiskCache {
    static LAST: Mutex<Option<(String, u64, DiskCache)>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    match &*last {
        Some((its, of, cache)) if its == folder && *of == limit => cache.clone(),
        _ => {
            let cache = match (folder, limit) {
                ("off", _) => DiskCache::off(),
                (folder, 0) => DiskCache::new(folder),
                (folder, limit) => DiskCache::with_limit(folder, limit),
            };
            *last = Some((folder.to_owned(), limit, cache.clone()));
            cache
        }
    }
}

/// # Safety
/// Texts must end with NULs, and arrays must be as long as their counts say.
unsafe fn compiler(target: &TargetId, options: *const hiplaunch_compile_options) -> Result<Compiler> {
    let mut compiler = Compiler::new(target);
    if options.is_null() {
        return Ok(compiler);
    }
    // SAFETY: not null; the caller's promise for versioned structs, arrays and texts.
    unsafe {
        let how = versioned(options, "options")?;
        if !how.name.is_null() {
            compiler = compiler.name(text(how.name, "name")?);
        }
        for &option in slice(how.options, how.option_count, "options")? {
            compiler = compiler.option(text(option, "options")?);
        }
        for include in slice(how.includes, how.include_count, "includes")? {
            compiler = compiler.header(text(include.name, "includes")?, text(include.text, "includes")?);
        }
        if !how.cache_folder.is_null() {
            compiler = compiler.cache(&cache(text(how.cache_folder, "cache_folder")?, how.cache_limit));
        }
        if !how.clang.is_null() {
            compiler = compiler.clang(text(how.clang, "clang")?);
        }
        reserved(how.reserved, "hiplaunch_compile_options")?;
        match how.device_libraries {
            0 => {}
            1 => compiler = compiler.device_libraries(),
            other => return Err(Failure::invalid(format!("`device_libraries` is {other}, not 0 or 1"))),
        }
    }
    Ok(compiler)
}

/// # Safety
/// The data must be as long as its size says, and the name end with a NUL.
unsafe fn input<'a>(given: &hiplaunch_input) -> Result<Input<'a>> {
    reserved(given.reserved, "hiplaunch_input")?;
    let kind = InputKind::from(enumerator::<hiplaunch_input_kind>(given.kind)?);
    // SAFETY: the caller's promise.
    unsafe {
        let input = Input::new(kind, bytes(given.data, given.size, "data")?);
        Ok(if given.name.is_null() { input } else { input.named(text(given.name, "name")?) })
    }
}

/// Gives C the result of a compile.
fn give(compiled: Compiled, out: &mut MaybeUninit<*mut hiplaunch_compiled>) -> Result<()> {
    let log = CString::new(compiled.log().replace('\0', "\u{fffd}")).unwrap_or_default();
    out.write(COMPILED.insert(Owner::NONE, CompiledObject { compiled, log })?);
    Ok(())
}

/// Compiles HIP C++ for a target with ROCm's runtime compiler, hiprtc, which is loaded when it is first needed and
/// needs no GPU. If the cache has the code object of the same source, options and compiler, this function reads it
/// instead. A source that reads files, by -I or an #include of a file that is not in `options`, is compiled every time.
///
/// `target` is the target of a device (hiplaunch_device_properties), or a processor: "gfx90a". `options` may be null.
///
/// Ownership: the caller closes the compiled code; the arguments are not kept. Threads: any; one source is compiled at
/// a time. Errors: HIPLAUNCH_STATUS_COMPILE, whose message has the compiler's log with lines and columns;
/// HIPLAUNCH_STATUS_NO_COMPILER if there is no compiler for the target, whose message says what to install;
/// HIPLAUNCH_STATUS_CODE_OBJECT if the compiler's output can't be read; HIPLAUNCH_STATUS_STRUCT_SIZE,
/// HIPLAUNCH_STATUS_NULL_POINTER, HIPLAUNCH_STATUS_INVALID_ARGUMENT. A cache that can't be read or written is a warning
/// in the log.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_compile(
    target: *const c_char,
    source: *const c_char,
    options: *const hiplaunch_compile_options,
    compiled: Option<&mut MaybeUninit<*mut hiplaunch_compiled>>,
) -> hiplaunch_status {
    call("hiplaunch_compile", || {
        let out = wanted(compiled, "compiled")?;
        // SAFETY: the caller's promise for texts, arrays and versioned structs.
        let (compiler, source) = unsafe {
            let target = self::target(target)?;
            (self::compiler(&target, options)?, text(source, "source")?)
        };
        give(compiler.compile(source)?, out)
    })
}

/// Compiles inputs of any kinds to one code object: HIP C++, LLVM IR as text or bitcode, assembly and object files. LLVM IR,
/// bitcode and assembly are compiled by ROCm's comgr, else by clang and lld, which are loaded or run when they are first needed,
/// and need no GPU. All LLVM IR is linked before code is generated, then object files are linked. HIP C++ among other inputs
/// needs HIP 5.3. The cache is that of hiplaunch_compile.
///
/// `target` is as for hiplaunch_compile; `options` may be null.
///
/// Ownership, threads: as hiplaunch_compile. Errors: those of hiplaunch_compile; HIPLAUNCH_STATUS_COMPILE also if LLVM IR or an
/// object file is for another target, or nothing defines a symbol, whose name is in the message;
/// HIPLAUNCH_STATUS_INVALID_ARGUMENT also for no input, an empty one, and one that is no object file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_compile_inputs(
    target: *const c_char,
    inputs: *const hiplaunch_input,
    input_count: usize,
    options: *const hiplaunch_compile_options,
    compiled: Option<&mut MaybeUninit<*mut hiplaunch_compiled>>,
) -> hiplaunch_status {
    call("hiplaunch_compile_inputs", || {
        let out = wanted(compiled, "compiled")?;
        // SAFETY: the caller's promise for texts, arrays and versioned structs.
        let (compiler, inputs) = unsafe {
            let target = self::target(target)?;
            let inputs = slice(inputs, input_count, "inputs")?;
            let inputs = inputs.iter().map(|given| input(given)).collect::<Result<Vec<_>>>()?;
            (self::compiler(&target, options)?, inputs)
        };
        give(compiler.compile_inputs(&inputs)?, out)
    })
}

/// The bytes of the code object, for hiplaunch_register.
///
/// Ownership: the bytes belong to the compiled code, and are valid until it is closed. Threads: any. Errors:
/// HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_compiled_code(
    compiled: *const hiplaunch_compiled,
    data: Option<&mut MaybeUninit<*const c_void>>,
    bytes: Option<&mut MaybeUninit<usize>>,
) -> hiplaunch_status {
    call("hiplaunch_compiled_code", || {
        let (data, bytes) = (wanted(data, "data")?, wanted(bytes, "bytes")?);
        COMPILED.look(compiled, |found| {
            let elf = found.value.compiled.elf();
            data.write(elf.as_ptr().cast());
            bytes.write(elf.len());
        })
    })
}

/// The compiler's warnings, as UTF-8 with a NUL at the end; empty if there are none. `length`, which may be null, gets
/// the number of bytes before the NUL.
///
/// Ownership, threads, errors: as hiplaunch_compiled_code.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_compiled_log(
    compiled: *const hiplaunch_compiled,
    log: Option<&mut MaybeUninit<*const c_char>>,
    length: Option<&mut MaybeUninit<usize>>,
) -> hiplaunch_status {
    call("hiplaunch_compiled_log", || {
        let log = wanted(log, "log")?;
        COMPILED.look(compiled, |found| {
            log.write(found.value.log.as_ptr());
            if let Some(length) = length {
                length.write(found.value.log.as_bytes().len());
            }
        })
    })
}

/// Whether the code object was in the cache, so that nothing was compiled.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_compiled_from_cache(
    compiled: *const hiplaunch_compiled,
    from_cache: Option<&mut MaybeUninit<bool>>,
) -> hiplaunch_status {
    call("hiplaunch_compiled_from_cache", || {
        let from_cache = wanted(from_cache, "from_cache")?;
        COMPILED.look(compiled, |found| {
            from_cache.write(found.value.compiled.from_cache());
        })
    })
}

/// Closes compiled code. Kernels that were registered from it stay registered.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_compiled_close(compiled: *mut hiplaunch_compiled) -> hiplaunch_status {
    call("hiplaunch_compiled_close", || COMPILED.take(compiled).map(drop))
}

/// Describes the compiler that hiplaunch_compile uses for a target, in one line with its version and file: hiprtc.
///
/// Ownership: the caller closes the text. Threads: any. Errors: HIPLAUNCH_STATUS_NO_COMPILER, whose message says what
/// to install; HIPLAUNCH_STATUS_INVALID_ARGUMENT if `target` is no target; HIPLAUNCH_STATUS_NULL_POINTER.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_describe_compiler(
    target: *const c_char,
    text: Option<&mut MaybeUninit<*mut hiplaunch_text>>,
) -> hiplaunch_status {
    call("hiplaunch_describe_compiler", || {
        let out = wanted(text, "text")?;
        // SAFETY: the caller's promise for texts.
        let target = unsafe { self::target(target) }?;
        out.write(new_text(Compiler::new(&target).check()?)?);
        Ok(())
    })
}

/// Describes the compiler that hiplaunch_compile_inputs uses for a target and a kind of input (a hiplaunch_input_kind), in one
/// line with its version and file: hiprtc for HIP C++, else comgr or clang.
///
/// Ownership, threads, errors: as hiplaunch_describe_compiler; HIPLAUNCH_STATUS_INVALID_ARGUMENT also for a number that is no
/// kind.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_describe_compiler_of(
    target: *const c_char,
    kind: u32,
    text: Option<&mut MaybeUninit<*mut hiplaunch_text>>,
) -> hiplaunch_status {
    call("hiplaunch_describe_compiler_of", || {
        let out = wanted(text, "text")?;
        // SAFETY: the caller's promise for texts.
        let target = unsafe { self::target(target) }?;
        let kind = InputKind::from(enumerator::<hiplaunch_input_kind>(kind)?);
        out.write(new_text(Compiler::new(&target).check_kind(kind)?)?);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;
    use std::ptr::{null, null_mut};

    use super::super::status::hiplaunch_last_error_message;
    use super::super::text::hiplaunch_text_close;
    use super::*;

    const SOURCE: &CStr = cr#"#include "one.h"
extern "C" __global__ void add(int* x) { x[threadIdx.x] += ONE + TWO; }
"#;

    fn message() -> String {
        // SAFETY: never null, NUL-terminated, and no call fails meanwhile on this thread.
        unsafe { CStr::from_ptr(hiplaunch_last_error_message()) }.to_str().unwrap().to_owned()
    }

    fn options() -> hiplaunch_compile_options {
        hiplaunch_compile_options {
            struct_size: size_of::<hiplaunch_compile_options>(),
            name: null(),
            options: null(),
            option_count: 0,
            includes: null(),
            include_count: 0,
            cache_folder: c"off".as_ptr(),
            cache_limit: 0,
            clang: null(),
            device_libraries: 0,
            reserved: 0,
        }
    }

    /// A kernel that stores 42 and needs no other input.
    const STORE: &CStr = c"define amdgpu_kernel void @store(ptr addrspace(1) %x) {
  store i32 42, ptr addrspace(1) %x
  ret void
}
";

    fn compile_inputs(
        inputs: &[hiplaunch_input],
        options: &hiplaunch_compile_options,
    ) -> (hiplaunch_status, *mut hiplaunch_compiled) {
        let (mut compiled, target) = (MaybeUninit::new(null_mut()), c"gfx90a".as_ptr());
        // SAFETY: what the function asks for.
        let status = unsafe {
            hiplaunch_compile_inputs(target, inputs.as_ptr(), inputs.len(), options, Some(&mut compiled))
        };
        // SAFETY: initialised above.
        (status, unsafe { compiled.assume_init() })
    }

    fn input_of(kind: hiplaunch_input_kind, text: &CStr) -> hiplaunch_input {
        let (kind, data, size) = (kind as u32, text.as_ptr().cast(), text.count_bytes());
        hiplaunch_input { kind, reserved: 0, data, size, name: c"input".as_ptr() }
    }

    /// Needs no compiler.
    #[test]
    fn invalid_inputs_are_a_status_without_a_compiler() {
        let (store, how) = (input_of(hiplaunch_input_kind::LlvmIr, STORE), options());
        let other = c"target triple = \"nvptx64-nvidia-cuda\"\n";
        for (input, status, part) in [
            (
                hiplaunch_input { kind: 5, ..store },
                hiplaunch_status::InvalidArgument,
                "5 is no hiplaunch_input_kind",
            ),
            (hiplaunch_input { reserved: 1, ..store }, hiplaunch_status::InvalidArgument, "reserved"),
            (hiplaunch_input { data: null(), ..store }, hiplaunch_status::NullPointer, "data"),
            (hiplaunch_input { size: 0, ..store }, hiplaunch_status::InvalidArgument, "input is empty"),
            (input_of(hiplaunch_input_kind::Relocatable, STORE), hiplaunch_status::InvalidArgument, "no ELF"),
            (input_of(hiplaunch_input_kind::LlvmIr, other), hiplaunch_status::Compile, "nvptx64-nvidia-cuda"),
        ] {
            assert_eq!(compile_inputs(&[input], &how).0, status, "{part}");
            assert!(message().contains(part), "{}", message());
        }
        assert_eq!(compile_inputs(&[], &how).0, hiplaunch_status::InvalidArgument);
        for how in [
            hiplaunch_compile_options { device_libraries: 2, ..how },
            hiplaunch_compile_options { reserved: 1, ..how },
        ] {
            assert_eq!(compile_inputs(&[store], &how).0, hiplaunch_status::InvalidArgument);
        }
        let how = hiplaunch_compile_options { clang: c"/nowhere/clang".as_ptr(), ..how };
        assert_eq!(compile_inputs(&[store], &how).0, hiplaunch_status::NoCompiler);
        assert!(message().contains("/nowhere/clang: "), "{}", message());
    }

    #[test]
    fn llvm_ir_is_compiled_and_its_errors_have_lines() {
        let (mut line, kind) = (MaybeUninit::uninit(), hiplaunch_input_kind::LlvmIr as u32);
        // SAFETY: a text, and memory for a handle.
        let status = unsafe { hiplaunch_describe_compiler_of(c"gfx90a".as_ptr(), kind, Some(&mut line)) };
        if status != hiplaunch_status::Ok {
            return println!("skipped: {}", message());
        }
        // SAFETY: the call before wrote it.
        assert_eq!(hiplaunch_text_close(unsafe { line.assume_init() }), hiplaunch_status::Ok);
        // The options of the first version, too.
        let first = offset_of!(hiplaunch_compile_options, clang);
        for size in [first, size_of::<hiplaunch_compile_options>()] {
            let how = hiplaunch_compile_options { struct_size: size, ..options() };
            let (status, compiled) = compile_inputs(&[input_of(hiplaunch_input_kind::LlvmIr, STORE)], &how);
            assert_eq!(status, hiplaunch_status::Ok, "{}", message());
            COMPILED
                .look(compiled, |found| assert!(found.value.compiled.code_object().kernel("store").is_ok()))
                .unwrap();
            assert_eq!(hiplaunch_compiled_close(compiled), hiplaunch_status::Ok);
        }
        let bad = input_of(hiplaunch_input_kind::LlvmIr, c"define void @f() {\n  rat void\n}\n");
        assert_eq!(compile_inputs(&[bad], &options()).0, hiplaunch_status::Compile);
        assert!(message().contains("input:2:3: error: "), "{}", message());
    }

    fn compile(
        target: *const c_char,
        source: *const c_char,
        options: *const hiplaunch_compile_options,
    ) -> (hiplaunch_status, *mut hiplaunch_compiled) {
        let mut compiled = MaybeUninit::new(null_mut());
        // SAFETY: null, or what the function asks for.
        let status = unsafe { hiplaunch_compile(target, source, options, Some(&mut compiled)) };
        // SAFETY: initialised above.
        (status, unsafe { compiled.assume_init() })
    }

    /// Needs no compiler: all errors but those in a source are found before a compiler is loaded.
    #[test]
    fn invalid_input_is_a_status_without_a_compiler() {
        let (gfx90a, source, plain) = (c"gfx90a".as_ptr(), SOURCE.as_ptr(), options());
        assert_eq!(compile(null(), source, &plain).0, hiplaunch_status::NullPointer);
        assert_eq!(compile(gfx90a, null(), &plain).0, hiplaunch_status::NullPointer);
        assert_eq!(compile(c"sm_90".as_ptr(), source, &plain).0, hiplaunch_status::InvalidArgument);
        assert!(message().contains("sm_90"), "{}", message());
        let small = hiplaunch_compile_options { struct_size: 8, ..plain };
        assert_eq!(compile(gfx90a, source, &small).0, hiplaunch_status::StructSize);
        let missing = hiplaunch_compile_options { option_count: 1, ..plain };
        assert_eq!(compile(gfx90a, source, &missing).0, hiplaunch_status::NullPointer);
        // SAFETY: null is found.
        let status = unsafe { hiplaunch_compile(gfx90a, source, &plain, None) };
        assert_eq!(status, hiplaunch_status::NullPointer);
        assert_eq!(compile(c"gfx9999".as_ptr(), source, &plain).0, hiplaunch_status::NoCompiler);
        assert_eq!(hiplaunch_compiled_close(null_mut()), hiplaunch_status::InvalidHandle);
        let mut is = MaybeUninit::uninit();
        let status = hiplaunch_compiled_from_cache(std::ptr::without_provenance(77), Some(&mut is));
        assert_eq!(status, hiplaunch_status::InvalidHandle);
    }

    #[test]
    fn code_log_and_errors_are_returned() {
        let mut line = MaybeUninit::uninit();
        // SAFETY: a text, and memory for a handle.
        if unsafe { hiplaunch_describe_compiler(c"gfx90a".as_ptr(), Some(&mut line)) } != hiplaunch_status::Ok
        {
            println!("skipped: {}", message());
            return;
        }
        // SAFETY: the call before wrote it.
        assert_eq!(hiplaunch_text_close(unsafe { line.assume_init() }), hiplaunch_status::Ok);
        let includes =
            [hiplaunch_include { name: c"one.h".as_ptr(), text: c"#warning one\n#define ONE 1\n".as_ptr() }];
        let words = [c"-DTWO=2".as_ptr()];
        let mut how =
            hiplaunch_compile_options { includes: includes.as_ptr(), include_count: 1, ..options() };
        let (status, _) = compile(c"gfx90a".as_ptr(), SOURCE.as_ptr(), &how);
        assert_eq!(status, hiplaunch_status::Compile);
        assert!(message().contains("kernel.hip:2:"), "{}", message());
        (how.options, how.option_count) = (words.as_ptr(), 1);
        let (status, compiled) = compile(c"gfx90a".as_ptr(), SOURCE.as_ptr(), &how);
        assert_eq!(status, hiplaunch_status::Ok, "{}", message());
        let (mut data, mut bytes) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        assert_eq!(
            hiplaunch_compiled_code(compiled, Some(&mut data), Some(&mut bytes)),
            hiplaunch_status::Ok
        );
        let (mut log, mut from_cache) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        assert_eq!(hiplaunch_compiled_log(compiled, Some(&mut log), None), hiplaunch_status::Ok);
        assert_eq!(hiplaunch_compiled_from_cache(compiled, Some(&mut from_cache)), hiplaunch_status::Ok);
        // SAFETY: written by calls that succeeded, and valid while the handle is open.
        unsafe {
            let elf = std::slice::from_raw_parts(data.assume_init().cast::<u8>(), bytes.assume_init());
            assert!(code_object::CodeObject::parse(elf).unwrap().kernel("add").is_ok());
            let log = CStr::from_ptr(log.assume_init()).to_str().unwrap();
            assert!(log.contains("one.h:1:2: warning: one"), "{log}");
            assert!(!from_cache.assume_init());
        }
        assert_eq!(hiplaunch_compiled_close(compiled), hiplaunch_status::Ok);
        assert_eq!(hiplaunch_compiled_close(compiled), hiplaunch_status::InvalidHandle);
    }
}
