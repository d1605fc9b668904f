//! Sets the C library's soname.

/// The soname. Its number is increased with each change of the C API after which programs have to be linked again; it
/// is independent of the crate's version. hip/install.sh and the tests read it from the library.
const SONAME: &str = "libhiplaunch.so.1";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,{SONAME}");
    }
}
