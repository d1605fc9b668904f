//! The functions that programs find, and where a call of one goes.
//!
//! Each function of the table is an instruction that jumps to where its [`Export`] says (`exports.s`). So a call is passed
//! on without knowing its arguments, and what is not counted costs that jump. The first call of a function decides where
//! all its calls go:
//!
//! * on the emulator, to the function over the driver;
//! * with AMD's library, to that library's function, or to its wrapper in `interpose` if there are layers.
//!
//! On other processors than x86-64, the linker makes each function the one over the driver itself.

#[cfg(not(target_arch = "x86_64"))]
pub(crate) use elsewhere::*;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::*;

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::ffi::{CStr, c_char};
    use std::panic::catch_unwind;
    use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

    use crate::abi::status::Status;
    use crate::process::{real, thread};
    use crate::report::record;
    use crate::{functions, interpose, settings};

    /// One function. exports.s has the same fields.
    #[repr(C, align(64))]
    pub(crate) struct Export {
        /// Where a call goes.
        target: AtomicPtr<()>,
        /// Where a counted call goes on.
        callee: AtomicPtr<()>,
        /// The number of counted calls.
        calls: AtomicU64,
        /// Counts a call and goes on to `callee`.
        counted: *const (),
        /// The function over the driver, which has this name with the prefix `emulated_`.
        emulated: *const (),
        name: *const c_char,
    }

    // SAFETY: the pointers are to code and text that never change.
    unsafe impl Sync for Export {}

    unsafe extern "C" {
        /// The records, and what is behind the last one.
        static hiplaunch_exports: Export;
        static hiplaunch_exports_end: Export;
    }

    std::arch::global_asm!(
        include_str!("exports.s"),
        include_str!(concat!(env!("OUT_DIR"), "/exports.s")),
        resolve = sym resolve
    );

    /// Returns where a call goes: the first call of a function, and each call of one that AMD's library does not have.
    extern "C" fn resolve(export: &'static Export) -> *const () {
        catch_unwind(|| export.resolve()).unwrap_or(not_supported as *const ())
    }

    impl Export {
        fn name(&self) -> &'static CStr {
            // SAFETY: exports.s has text with a zero byte there.
            unsafe { CStr::from_ptr(self.name) }
        }

        fn resolve(&self) -> *const () {
            let callee = match real::library() {
                None => self.emulated,
                Some(library) => {
                    let name = self.name();
                    let Some(original) = library.address(name) else { return self.absent() };
                    let function = name.to_str().ok().and_then(functions::find);
                    let wrapper = function.and_then(|function| function.wrapper.as_ref());
                    interpose::wrapper(wrapper, original).unwrap_or(original)
                }
            };
            // A variable that is not understood is reported where the other settings are read.
            if settings::counts_calls().unwrap_or(false) {
                self.callee.store(callee.cast_mut(), Ordering::Release);
                self.target.store(self.counted.cast_mut(), Ordering::Release);
                return self.counted;
            }
            self.target.store(callee.cast_mut(), Ordering::Release);
            callee
        }

        /// Where a call of a function goes that AMD's library does not have.
        #[cold]
        fn absent(&self) -> *const () {
            record::unsupported(self.name().to_str().unwrap_or("a function"));
            not_supported as *const ()
        }
    }

    extern "C" fn not_supported() -> Status {
        thread::set_last_error(Status::NOT_SUPPORTED);
        Status::NOT_SUPPORTED
    }

    fn all() -> &'static [Export] {
        let (start, end) = (&raw const hiplaunch_exports, &raw const hiplaunch_exports_end);
        let count = (end.addr() - start.addr()) / size_of::<Export>();
        // SAFETY: exports.s has the records one after another between the two symbols.
        unsafe { std::slice::from_raw_parts(start, count) }
    }

    /// How often each function was called, of those that were, in the order of the table.
    pub(crate) fn counts() -> Vec<(&'static str, u64)> {
        let counts = all().iter().map(|export| (export.name(), export.calls.load(Ordering::Relaxed)));
        counts
            .filter(|(_, calls)| *calls > 0)
            .map(|(name, calls)| (name.to_str().unwrap_or(""), calls))
            .collect()
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod elsewhere {
    /// Calls are not counted by function.
    pub(crate) fn counts() -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}
