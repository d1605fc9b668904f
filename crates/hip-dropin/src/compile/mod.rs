//! hiprtc, the runtime compiler: its C functions for programs, over the installed one.
//!
//! HIP 5 has the functions in `libamdhip64`, later versions in `libhiprtc`; this library stands for both. A program's
//! source is compiled by [`Compiler`](hip_compile::Compiler), which finds AMD's compiler, loads it where the
//! program does not see it, and keeps what it compiles on disk. Without `--offload-arch`, the target is that of the
//! thread's current device.

pub(crate) mod functions;
pub(crate) mod link;
mod program;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use hip_compile::CompileError;

use crate::report;

/// A `hiprtcResult`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct RtcStatus(i32);

pub(crate) type RtcResult<T = ()> = Result<T, RtcStatus>;

macro_rules! codes {
    ($($name:ident = $value:literal, $hip:literal;)*) => {
        impl RtcStatus {
            $(#[allow(dead_code, reason = "a complete list")]
            pub(crate) const $name: RtcStatus = RtcStatus($value);)*
        }

        /// The name of a code, with the zero byte that ends it in C.
        pub(crate) fn describe(status: RtcStatus) -> &'static str {
            match status.0 { $($value => concat!($hip, "\0"),)* _ => "Invalid HIPRTC error code\0" }
        }
    };
}

// hip/hiprtc.h.
codes! {
    SUCCESS = 0, "HIPRTC_SUCCESS";
    OUT_OF_MEMORY = 1, "HIPRTC_ERROR_OUT_OF_MEMORY";
    PROGRAM_CREATION_FAILURE = 2, "HIPRTC_ERROR_PROGRAM_CREATION_FAILURE";
    INVALID_INPUT = 3, "HIPRTC_ERROR_INVALID_INPUT";
    INVALID_PROGRAM = 4, "HIPRTC_ERROR_INVALID_PROGRAM";
    INVALID_OPTION = 5, "HIPRTC_ERROR_INVALID_OPTION";
    COMPILATION = 6, "HIPRTC_ERROR_COMPILATION";
    BUILTIN_OPERATION_FAILURE = 7, "HIPRTC_ERROR_BUILTIN_OPERATION_FAILURE";
    NO_NAME_EXPRESSIONS_AFTER_COMPILATION = 8, "HIPRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION";
    NO_LOWERED_NAMES_BEFORE_COMPILATION = 9, "HIPRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION";
    NAME_EXPRESSION_NOT_VALID = 10, "HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID";
    INTERNAL_ERROR = 11, "HIPRTC_ERROR_INTERNAL_ERROR";
    LINKING = 100, "HIPRTC_ERROR_LINKING";
}

static COMPILED: AtomicU64 = AtomicU64::new(0);
static FROM_CACHE: AtomicU64 = AtomicU64::new(0);

/// How many programs were compiled, and how many were found in the cache.
pub(crate) fn counts() -> (u64, u64) {
    (COMPILED.load(Ordering::Relaxed), FROM_CACHE.load(Ordering::Relaxed))
}

/// Counts a program that has code now.
fn count(from_cache: bool) {
    let counter = if from_cache { &FROM_CACHE } else { &COMPILED };
    counter.fetch_add(1, Ordering::Relaxed);
}

/// Runs the body of a function. A panic becomes `INTERNAL_ERROR`.
pub(crate) fn run(name: &'static str, body: impl FnOnce() -> RtcResult) -> RtcStatus {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => RtcStatus::SUCCESS,
        Ok(Err(status)) => status,
        Err(_) => {
            report::say(&format!("{name} panicked, which is a bug in hiplaunch"));
            RtcStatus::INTERNAL_ERROR
        }
    }
}

/// The code for a compiler that can't be used. The first time, stderr gets the reason.
fn unusable(error: &CompileError) -> RtcStatus {
    static SAID: AtomicBool = AtomicBool::new(false);
    if !SAID.swap(true, Ordering::Relaxed) {
        report::say(&error.to_string());
    }
    RtcStatus::INTERNAL_ERROR
}
