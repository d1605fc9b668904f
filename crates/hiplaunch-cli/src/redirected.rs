//! The functions of the C library that take the path of a file, a row each: `path` is that argument, and what is behind `else` is
//! returned where the C library has no such function.
//!
//! Those that may have a mode as well, `open` and its kind, always get it passed on: the processors that Linux runs on have variable
//! arguments where others are. build.rs reads the names.

/// Makes the rows a list of names.
#[allow(unused_macros, reason = "build.rs uses it")]
macro_rules! names {
    ($($name:ident $args:tt -> $result:ty, else $failed:expr;)*) => { &[$(stringify!($name)),*] };
}

/// Passes the rows to a macro.
macro_rules! redirected {
    ($consumer:ident) => {
        $consumer! {
            open(path: Path, flags: c_int, mode: c_uint) -> c_int, else -1;
            open64(path: Path, flags: c_int, mode: c_uint) -> c_int, else -1;
            openat(folder: c_int, path: Path, flags: c_int, mode: c_uint) -> c_int, else -1;
            openat64(folder: c_int, path: Path, flags: c_int, mode: c_uint) -> c_int, else -1;
            __open_2(path: Path, flags: c_int) -> c_int, else -1;
            __open64_2(path: Path, flags: c_int) -> c_int, else -1;
            __openat_2(folder: c_int, path: Path, flags: c_int) -> c_int, else -1;
            __openat64_2(folder: c_int, path: Path, flags: c_int) -> c_int, else -1;
            fopen(path: Path, mode: Any) -> Any, else std::ptr::null_mut();
            fopen64(path: Path, mode: Any) -> Any, else std::ptr::null_mut();
            opendir(path: Path) -> Any, else std::ptr::null_mut();
            scandir(path: Path, list: Any, filter: Any, compare: Any) -> c_int, else -1;
            scandir64(path: Path, list: Any, filter: Any, compare: Any) -> c_int, else -1;
            stat(path: Path, to: Any) -> c_int, else -1;
            stat64(path: Path, to: Any) -> c_int, else -1;
            lstat(path: Path, to: Any) -> c_int, else -1;
            lstat64(path: Path, to: Any) -> c_int, else -1;
            fstatat(folder: c_int, path: Path, to: Any, flags: c_int) -> c_int, else -1;
            fstatat64(folder: c_int, path: Path, to: Any, flags: c_int) -> c_int, else -1;
            // The names of these before glibc 2.33.
            __xstat(version: c_int, path: Path, to: Any) -> c_int, else -1;
            __xstat64(version: c_int, path: Path, to: Any) -> c_int, else -1;
            __lxstat(version: c_int, path: Path, to: Any) -> c_int, else -1;
            __lxstat64(version: c_int, path: Path, to: Any) -> c_int, else -1;
            __fxstatat(version: c_int, folder: c_int, path: Path, to: Any, flags: c_int) -> c_int, else -1;
            __fxstatat64(version: c_int, folder: c_int, path: Path, to: Any, flags: c_int) -> c_int, else -1;
            statx(folder: c_int, path: Path, flags: c_int, mask: c_uint, to: Any) -> c_int, else -1;
            access(path: Path, mode: c_int) -> c_int, else -1;
            eaccess(path: Path, mode: c_int) -> c_int, else -1;
            euidaccess(path: Path, mode: c_int) -> c_int, else -1;
            faccessat(folder: c_int, path: Path, mode: c_int, flags: c_int) -> c_int, else -1;
            readlink(path: Path, to: Any, room: usize) -> isize, else -1;
            readlinkat(folder: c_int, path: Path, to: Any, room: usize) -> isize, else -1;
            __readlink_chk(path: Path, to: Any, room: usize, all: usize) -> isize, else -1;
            __readlinkat_chk(folder: c_int, path: Path, to: Any, room: usize, all: usize) -> isize, else -1;
            realpath(path: Path, to: Any) -> Any, else std::ptr::null_mut();
            __realpath_chk(path: Path, to: Any, room: usize) -> Any, else std::ptr::null_mut();
            canonicalize_file_name(path: Path) -> Any, else std::ptr::null_mut();
            chdir(path: Path) -> c_int, else -1;
            statfs(path: Path, to: Any) -> c_int, else -1;
            statfs64(path: Path, to: Any) -> c_int, else -1;
            // `ls -l` asks for access lists.
            getxattr(path: Path, name: Any, to: Any, room: usize) -> isize, else -1;
            lgetxattr(path: Path, name: Any, to: Any, room: usize) -> isize, else -1;
            listxattr(path: Path, to: Any, room: usize) -> isize, else -1;
            llistxattr(path: Path, to: Any, room: usize) -> isize, else -1;
        }
    };
}
