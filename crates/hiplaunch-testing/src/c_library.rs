//! The C library, built and ready to be linked.

use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

/// The name that the shared library has in its ELF header (`build.rs` of `libhiplaunch` sets it).
pub const SONAME: &str = "libhiplaunch.so.1";

/// Builds the C library and returns the folder with `libhiplaunch.so`, `libhiplaunch.a`, and the link by which the
/// loader finds the library, as `hip/install.sh` creates it.
///
/// Cargo builds no shared library for a test, so this runs cargo. The library is a debug build. With the packages and the
/// example, the dependencies have the features that they have in `cargo test --workspace`: of the library alone, Cargo
/// would compile the emulator again.
///
/// # Panics
/// Panics when cargo can't build the library.
pub fn folder() -> PathBuf {
    static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
        // The program is in target/PROFILE/deps.
        let program = std::env::current_exe().expect("a test knows its program");
        let folder = program.ancestors().nth(2).expect("target/PROFILE").to_owned();
        let status = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--workspace", "--lib", "--example", "histogram", "--target-dir"])
            .arg(folder.parent().expect("target"))
            .current_dir(crate::root())
            .status()
            .expect("cargo runs");
        assert!(status.success(), "cargo build --workspace --lib: {status}");
        let folder = folder.with_file_name("debug");
        #[cfg(unix)]
        match std::os::unix::fs::symlink("libhiplaunch.so", folder.join(SONAME)) {
            // Other tests may create the link at the same time.
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                panic!("{SONAME} in {}: {error}", folder.display())
            }
            _ => {}
        }
        folder
    });
    FOLDER.clone()
}
