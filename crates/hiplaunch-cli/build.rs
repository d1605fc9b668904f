//! Links the binary target `hiplaunch-libamdhip64` as a shared library.
//!
//! It is a binary target and no library, because `cargo install` installs binaries alone, and because Cargo's own list of a
//! library's symbols leaves no room for symbol versions.

use std::env;
use std::fs;

const TARGET: &str = "hiplaunch-libamdhip64";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let on_linux = env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux");
    // The list of the functions, from the build script of hip-dropin.
    let Ok(map) = env::var("DEP_HIP_DROPIN_MAP") else { return };
    println!("cargo::rerun-if-changed={map}");
    if !on_linux {
        return;
    }
    let argument = |argument: &str| println!("cargo::rustc-link-arg-bin={TARGET}={argument}");
    argument("-shared");
    argument(&format!("-Wl,--version-script={map}"));
    // exports.s of hip-dropin has the functions for this processor alone. For others, the linker makes them.
    let has_exports = env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|processor| processor == "x86_64");
    // Nothing in the target refers to the functions, so the linker is told to take them.
    let text = fs::read_to_string(&map).expect("hip.map of hip-dropin");
    for line in text.lines().map(str::trim) {
        if let Some(name) =
            line.strip_suffix(';').filter(|name| name.contains("hip") && !name.contains(['}', ' ']))
        {
            argument(&format!("-Wl,-u,{name}"));
            if !has_exports {
                argument(&format!("-Wl,-u,emulated_{name},--defsym={name}=emulated_{name}"));
            }
        }
    }
}
