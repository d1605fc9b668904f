//! The link by which the loader finds the library, as hip/install.sh makes it.

use std::path::Path;

/// What the library calls itself (build.rs).
pub(crate) const SONAME: &str = "libhiplaunch.so.0";

/// Makes the link beside the library that cargo built in `folder`; other tests may do so at the same time.
pub(crate) fn link(folder: &Path) {
    match std::os::unix::fs::symlink("libhiplaunch.so", folder.join(SONAME)) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
            panic!("{SONAME} in {}: {error}", folder.display())
        }
        _ => {}
    }
}
