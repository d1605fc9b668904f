//! Why a source was not compiled.

use rocm_library::{LoadAttempt, LoadAttempts};

/// Why a source was not compiled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompileError {
    /// No usable compiler was found.
    #[error("no usable {missing}; tried:{}", LoadAttempts(tried))]
    NotFound {
        /// What is missing, and what to install: [`HIPRTC`](Self::HIPRTC) and the other texts of this type.
        missing: &'static str,
        /// The libraries that were tried, in order.
        tried: Vec<LoadAttempt>,
    },
    /// The compiler is older than the target and does not know it.
    #[error("{compiler} does not know {target}; install a newer ROCm, or compile for another target")]
    UnknownTarget {
        /// The target, such as `gfx942`.
        target: String,
        /// The compiler and its version.
        compiler: String,
    },
    /// An input that says it is for something else than the target.
    #[error(
        "{name} is for {found}, but it is compiled for {target}; compile for its target, or generate it for this one"
    )]
    OtherTarget {
        /// The input's name.
        name: String,
        /// What it is for: a processor or a triple.
        found: String,
        /// The target, as a processor or a triple.
        target: String,
    },
    /// An option that cannot be used.
    #[error("compile option `{option}`: {problem}")]
    Option {
        /// The option.
        option: String,
        /// What is wrong with it, and what to do.
        problem: &'static str,
    },
    /// A text that cannot be passed to the compiler.
    #[error("{what} {problem}")]
    Text {
        /// Which text: the source, a name, a header or an option.
        what: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The compiler found errors in the source or rejected an option.
    #[error("compiling {name} for {target} failed:\n{}", or_nothing(log))]
    Failed {
        /// The source's name.
        name: String,
        /// The target.
        target: String,
        /// The compiler's messages, with lines and columns.
        log: String,
    },
    /// A call of the compiler failed for a reason other than the source.
    #[error("{call} of {compiler} returned {code} ({message}) for {name}{}", advice(*code))]
    Call {
        /// The name of the call.
        call: &'static str,
        /// The compiler and its version.
        compiler: String,
        /// The `hiprtcResult` or `amd_comgr_status_t` that the call returned.
        code: i32,
        /// The compiler's text for the code.
        message: String,
        /// The source's name.
        name: String,
    },
    /// A compiler could not be run, or its files could not be written or read.
    #[error("compiling {name}: {what}: {reason}")]
    Run {
        /// The program or file.
        what: String,
        /// The system's message.
        reason: String,
        /// The inputs' names.
        name: String,
    },
    /// The compiler's output cannot be read.
    #[error("{compiler} compiled {name} to an unusable code object: {source}")]
    CodeObject {
        /// The compiler and its version.
        compiler: String,
        /// The source's name.
        name: String,
        /// What is wrong with the output.
        source: Box<code_object::Error>,
    },
}

impl CompileError {
    /// hiprtc is missing, which compiles HIP C++.
    pub const HIPRTC: &'static str = "HIP runtime compiler (hiprtc); install ROCm's hiprtc (Debian: libamdhip64-5, libhiprtc-builtins5 and libamd-comgr2) or set ROCM_PATH";
    /// comgr and clang are missing, which compile everything else.
    pub const LLVM: &'static str = "compiler of LLVM IR and assembly for AMD's GPUs: neither ROCm's comgr nor clang and lld of 15 or later; install one (Debian: libamd-comgr2, or clang and lld), or name a clang in HIPLAUNCH_CLANG";
    /// The device libraries are missing, for clang.
    pub const DEVICE_LIBRARIES: &'static str = "device libraries (ocml.bc and others); install ROCm's (Debian: rocm-device-libs), or name their folder in HIP_DEVICE_LIB_PATH";
}

fn or_nothing(log: &str) -> &str {
    const NOTHING: &str = "(the compiler said nothing; it needs space for temporary files in TMPDIR or /tmp)";
    if log.is_empty() { NOTHING } else { log }
}

/// `HIPRTC_ERROR_BUILTIN_OPERATION_FAILURE`: hip/hiprtc.h.
const BUILTIN_OPERATION_FAILURE: i32 = 7;

fn advice(code: i32) -> &'static str {
    match code {
        BUILTIN_OPERATION_FAILURE => "; install hiprtc's built-in headers (Debian: libhiprtc-builtins5)",
        _ => "",
    }
}
