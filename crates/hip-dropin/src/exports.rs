//! The functions that programs find, and where a call of one goes.
//!
//! Each function of `hip.map` is an instruction that jumps to where its [`Export`] says (`exports.s`). So a call is passed
//! on without knowing its arguments, and what is not counted costs that jump. The first call of a function resolves it.
//!
//! On other processors than x86-64, the linker makes each function the one over the driver itself.

#[cfg(target_arch = "x86_64")]
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// One function of `hip.map`. exports.s has the same fields.
#[cfg(target_arch = "x86_64")]
#[repr(C, align(64))]
#[allow(dead_code, reason = "exports.s accesses all of them")]
pub(crate) struct Export {
    /// Where a call goes.
    target: AtomicPtr<()>,
    /// Where a counted call goes on.
    callee: AtomicPtr<()>,
    /// The number of counted calls.
    calls: AtomicU64,
    /// Counts a call and goes on to `callee`.
    counted: *const (),
    /// Resolves the function: the first target.
    resolver: *const (),
    /// The function over the driver, which has this name with the prefix `emulated_`.
    emulated: *const (),
    name: *const std::ffi::c_char,
}

// SAFETY: the pointers are to code and text that never change.
#[cfg(target_arch = "x86_64")]
unsafe impl Sync for Export {}

/// Returns where a call of `export` goes, now and from now on.
#[cfg(target_arch = "x86_64")]
extern "C" fn resolve(export: &'static Export) -> *const () {
    export.target.store(export.emulated.cast_mut(), Ordering::Release);
    export.emulated
}

#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    include_str!("exports.s"),
    include_str!(concat!(env!("OUT_DIR"), "/exports.s")),
    resolve = sym resolve
);
