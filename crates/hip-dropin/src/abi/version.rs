//! The HIP version that the library stands for: that of the name by which it was loaded.

use std::ffi::{CStr, c_void};
use std::sync::OnceLock;

use hip_driver::DeviceProperties;

/// A major version of HIP. Layouts and codes that a later version changed depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Version {
    Hip5,
    Hip6,
    Hip7,
}

impl Version {
    /// Returns the version of the name `libamdhip64.so.N` by which the loader found this library; the newest for others.
    #[inline]
    pub(crate) fn current() -> Version {
        static CURRENT: OnceLock<Version> = OnceLock::new();
        *CURRENT.get_or_init(|| match loaded_as() {
            Some(name) if name.to_bytes().ends_with(b".so.5") => Version::Hip5,
            Some(name) if name.to_bytes().ends_with(b".so.6") => Version::Hip6,
            _ => Version::Hip7,
        })
    }

    /// HIP's number of the version: the one of Debian's library of that name.
    pub(crate) fn number(self) -> i32 {
        match self {
            Version::Hip5 => 50_221_153,
            Version::Hip6 => 60_443_484,
            Version::Hip7 => 70_253_211,
        }
    }
}

/// The largest grid that a version of HIP reports. HIP 6 and 7 report less in y and z than they and the hardware take: clr up to
/// 7.2 checks neither (rocm-systems#2375).
pub(crate) fn reported_grid(properties: &DeviceProperties) -> [u32; 3] {
    let [x, y, z] = properties.max_grid;
    match Version::current() {
        Version::Hip5 => [x, y, z],
        Version::Hip6 | Version::Hip7 => [x, y.min(65_535), z.min(65_535)],
    }
}

/// The path by which the loader found this library.
pub(crate) fn loaded_as() -> Option<&'static CStr> {
    let name = module_of((loaded_as as *const ()).cast())?.dli_fname;
    // SAFETY: the loader's text for this library, which is never unloaded while its code runs.
    (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) })
}

/// The address at which the library with some code is loaded.
pub(crate) fn module_base(code: *const ()) -> Option<usize> {
    module_of(code.cast()).map(|module| module.dli_fbase.addr())
}

/// The name of the exported function that begins at an address.
pub(crate) fn symbol_of(code: *const ()) -> Option<&'static CStr> {
    let module = module_of(code.cast())?;
    let is_it = module.dli_saddr.addr() == code.addr() && !module.dli_sname.is_null();
    // SAFETY: text of a library that stays loaded, as programs call its functions.
    is_it.then(|| unsafe { CStr::from_ptr(module.dli_sname) })
}

/// What the loader knows of the library with some code.
fn module_of(code: *const c_void) -> Option<libc::Dl_info> {
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: any address may be asked for, and `info` has room for the answer.
    if unsafe { libc::dladdr(code, info.as_mut_ptr()) } == 0 {
        return None;
    }
    // SAFETY: all zero bits are a value of the struct, and dladdr filled it in.
    Some(unsafe { info.assume_init() })
}

/// Whether this copy of the library is in a namespace of the loader's other than the program's: hiprtc, which is in one,
/// asks a copy there for the target of the current device when it links (`findIsa` in hiprtcInternal.cpp of clr).
pub(crate) fn is_isolated() -> bool {
    let Some(path) = loaded_as() else { return false };
    // SAFETY: the path is text, and the library is loaded already: nothing runs that could not run before.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    if library.is_null() {
        return false;
    }
    let mut namespace: libc::Lmid_t = libc::LM_ID_BASE;
    // SAFETY: an open library, and room for what this request returns.
    let found = unsafe { libc::dlinfo(library, libc::RTLD_DI_LMID, (&raw mut namespace).cast()) } == 0;
    // SAFETY: the library was opened above; it stays loaded, as this code runs.
    unsafe { libc::dlclose(library) };
    found && namespace != libc::LM_ID_BASE
}
