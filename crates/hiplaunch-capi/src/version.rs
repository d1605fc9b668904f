//! The library's version, for a program to compare with its header's.

use std::ffi::c_char;

/// The first part of the header's version.
pub const HIPLAUNCH_VERSION_MAJOR: u32 = 0;
/// The second part of the header's version.
pub const HIPLAUNCH_VERSION_MINOR: u32 = 1;
/// The third part of the header's version.
pub const HIPLAUNCH_VERSION_PATCH: u32 = 0;

/// The library's version: "0.1.0". Never null; the text is static. Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// The library's version as one number, `major << 16 | minor << 8 | patch`, for a comparison with the header's
/// HIPLAUNCH_VERSION_MAJOR, HIPLAUNCH_VERSION_MINOR and HIPLAUNCH_VERSION_PATCH. Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_version_number() -> u32 {
    HIPLAUNCH_VERSION_MAJOR << 16 | HIPLAUNCH_VERSION_MINOR << 8 | HIPLAUNCH_VERSION_PATCH
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_headers_version_is_the_packages() {
        let header = format!("{HIPLAUNCH_VERSION_MAJOR}.{HIPLAUNCH_VERSION_MINOR}.{HIPLAUNCH_VERSION_PATCH}");
        assert_eq!(header, env!("CARGO_PKG_VERSION"));
        assert_eq!(hiplaunch_version_number(), 0x0100);
        // SAFETY: a static text with a NUL at its end.
        let text = unsafe { std::ffi::CStr::from_ptr(hiplaunch_version()) };
        assert_eq!(text.to_str(), Ok(env!("CARGO_PKG_VERSION")));
    }
}
