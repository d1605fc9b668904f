//! Leads programs that look for AMD's GPUs in Linux's files to those that `hiplaunch exec` wrote, by the functions of the C library
//! that take a path.
//!
//! The audit library is preloaded as well (`LD_PRELOAD`), so these functions come before the C library's. That reaches libraries and
//! children, and needs no rights, as mounting something over `/sys` would. A path elsewhere costs the comparison of a few bytes.

#[macro_use]
#[path = "redirected.rs"]
mod redirected;

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStringExt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::folder;

type Path = *const c_char;
/// A pointer that is passed on.
type Any = *mut c_void;

/// The files and folders that `exec` writes.
const PLACES: [&[u8]; 4] =
    [b"/sys/class/kfd", b"/sys/devices/virtual/kfd", b"/sys/module/amdgpu", b"/proc/modules"];

/// The device file of AMD's kernel driver, by which programs would work with the driver: it is not there. But rocminfo opens it to say
/// who may not, and does nothing with it.
const DEVICE: &[u8] = b"/dev/kfd";
const OPENS_DEVICE: &[u8] = b"rocminfo";

/// A path that has room in a buffer.
const ROOM: usize = 4096;

unsafe extern "C" {
    /// The name of the program, without its folder.
    static program_invocation_short_name: *const c_char;
}

macro_rules! functions {
    ($($name:ident($($arg:ident: $type:ty),*) -> $result:ty, else $failed:expr;)*) => {$(
        /// The C library's function, on the path that leads to what `exec` wrote. It passes exceptions on, and the end of a thread that is
        /// cancelled in it.
        ///
        /// # Safety
        /// That of the C library's function.
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name($($arg: $type),*) -> $result {
            type Function = unsafe extern "C-unwind" fn($($type),*) -> $result;
            static NEXT: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
            const NAME: &CStr = match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => panic!("a name has no zero byte"),
            };

            /// Calls it with another path, for which there is room here alone: a thread's stack may be small.
            ///
            /// # Safety
            /// That of the C library's function, which `next` is.
            #[cold]
            #[inline(never)]
            unsafe fn elsewhere(next: Function, $($arg: $type),*) -> $result {
                let mut room: Room = [MaybeUninit::uninit(); ROOM];
                // SAFETY: the caller's promise: a path is null, or text.
                $(let $arg = unsafe { $arg.passed_on(&mut room) };)*
                // SAFETY: the caller's promise; the path is that of the caller or text in `room`.
                unsafe { next($($arg),*) }
            }

            let Some(next) = next(&NEXT, NAME) else { return $failed };
            // SAFETY: the row has the types of the C library's function of this name. It is called as one without variable arguments,
            // which have no other registers.
            let next: Function = unsafe { std::mem::transmute(next) };
            // SAFETY: the caller's promise: a path is null, or text.
            if $(unsafe { $arg.stays() })&&* {
                // SAFETY: the caller's promise.
                return unsafe { next($($arg),*) };
            }
            // SAFETY: the caller's promise.
            unsafe { elsewhere(next, $($arg),*) }
        }
    )*};
}

/// The room for another path.
type Room = [MaybeUninit<c_char>; ROOM];

/// An argument of a function.
trait Argument: Sized {
    /// Whether the C library gets it as it is.
    ///
    /// # Safety
    /// A path is null, or text that ends with a zero byte.
    unsafe fn stays(&self) -> bool {
        true
    }

    /// The argument that the C library gets: of a path, that which leads to what `exec` wrote, which then lies in `room`.
    ///
    /// # Safety
    /// A path is null, or text that ends with a zero byte.
    unsafe fn passed_on(self, _room: &mut Room) -> Self {
        self
    }
}

impl Argument for c_int {}
impl Argument for c_uint {}
impl Argument for usize {}
impl Argument for Any {}

impl Argument for Path {
    unsafe fn stays(&self) -> bool {
        // SAFETY: not null, and then the caller's promise.
        self.is_null() || !is_redirected(unsafe { CStr::from_ptr(*self) }.to_bytes())
    }

    unsafe fn passed_on(self, room: &mut Room) -> Path {
        // SAFETY: the caller's promise. The path does not stay, so it is not null.
        let text = unsafe { CStr::from_ptr(self) };
        redirect(text, room).unwrap_or(self)
    }
}

redirected! { functions }

/// The function of the library that comes next: the C library's. `errno` says so if there is none.
fn next(known: &AtomicPtr<c_void>, name: &CStr) -> Option<*mut c_void> {
    let mut function = known.load(Ordering::Relaxed);
    if function.is_null() {
        // SAFETY: a name that ends with a zero byte.
        function = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
        #[cfg(target_env = "gnu")]
        if function.is_null() {
            // Programs that were built with an older C library need functions that `dlsym` does not find without the version.
            let version = if cfg!(target_arch = "x86_64") { c"GLIBC_2.2.5" } else { c"GLIBC_2.17" };
            // SAFETY: a name and a version that end with a zero byte.
            function = unsafe { libc::dlvsym(libc::RTLD_NEXT, name.as_ptr(), version.as_ptr()) };
        }
        if function.is_null() {
            // SAFETY: the C library's variable of this thread.
            unsafe { *libc::__errno_location() = libc::ENOSYS };
            return None;
        }
        known.store(function, Ordering::Relaxed);
    }
    Some(function)
}

/// Writes the path of the file that `exec` wrote to `room`, and returns it; `None` if there is nothing, or no room.
fn redirect(path: &CStr, room: &mut Room) -> Option<Path> {
    let root = root()?;
    if root.count_bytes() + path.count_bytes() >= ROOM {
        return None;
    }
    for (to, byte) in room.iter_mut().zip(root.to_bytes().iter().chain(path.to_bytes_with_nul())) {
        to.write(*byte as c_char);
    }
    Some(room.as_ptr().cast())
}

/// Whether a path is below one of the places.
fn is_redirected(path: &[u8]) -> bool {
    let is_below =
        |place: &[u8]| path.strip_prefix(place).is_some_and(|rest| matches!(rest, [] | [b'/', ..]));
    // Most paths are elsewhere.
    match path {
        [b'/', b's', b'y', b's', b'/', ..] | [b'/', b'p', b'r', b'o', b'c', b'/', ..] => {
            PLACES.iter().any(|place| is_below(place))
        }
        _ => path == DEVICE && opens_device(),
    }
}

fn opens_device() -> bool {
    // SAFETY: the C library sets the variable before `main`, and nothing changes it; its text ends with a zero byte.
    let name = unsafe { program_invocation_short_name };
    // SAFETY: not null, and then the text.
    !name.is_null() && unsafe { CStr::from_ptr(name) }.to_bytes() == OPENS_DEVICE
}

/// The folder with what `exec` wrote, beside this library; `None` if there is nothing.
fn root() -> Option<&'static CStr> {
    static ROOT: OnceLock<Option<CString>> = OnceLock::new();
    let root = ROOT.get_or_init(|| {
        let root = folder()?.join(super::names::FILES);
        root.exists().then(|| CString::new(root.into_os_string().into_vec()).ok()).flatten()
    });
    root.as_deref()
}
