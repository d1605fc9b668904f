//! Links the binary targets `hiplaunch-libamdhip64` and `hiplaunch-audit` as shared libraries.
//!
//! They are binary targets and no libraries, because `cargo install` installs binaries alone, and because Cargo's own list of a
//! library's symbols leaves no room for symbol versions.

use std::env;
use std::fs;
use std::path::Path;

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
    link_audit();
    let argument = |argument: &str| println!("cargo::rustc-link-arg-bin={TARGET}={argument}");
    argument("-shared");
    // Threads of the library run until the process ends, even if the program closes it.
    argument("-Wl,-z,nodelete");
    // The newest of AMD's names. The loader adds those by which the library is asked for.
    argument("-Wl,-soname,libamdhip64.so.7");
    argument(&format!("-Wl,--version-script={map}"));
    // exports.s of hip-dropin has the functions for this processor alone. For others, the linker makes them.
    let has_exports = env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|processor| processor == "x86_64");
    // Nothing in the target refers to the functions, so the linker is told to take them.
    let text = fs::read_to_string(&map).expect("hip.map of hip-dropin");
    write_hiprtc_versions(&text);
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_suffix(';').filter(|name| !name.contains(['}', ' ', '*'])) {
            argument(&format!("-Wl,-u,{name}"));
            if !has_exports {
                argument(&format!("-Wl,-u,emulated_{name},--defsym={name}=emulated_{name}"));
            }
        }
    }
}

/// The audit library exports the functions that the loader asks for, and needs other libraries only where it uses them.
fn link_audit() {
    let list = Path::new(&env::var_os("OUT_DIR").expect("Cargo sets it")).join("audit.map");
    fs::write(&list, "{ global: la_version; la_objopen; la_objsearch; local: *; };\n")
        .expect("a file in OUT_DIR");
    let list = format!("-Wl,--version-script={}", list.display());
    for argument in
        ["-shared", &list, "-Wl,--as-needed", "-Wl,-u,la_version", "-Wl,-u,la_objopen", "-Wl,-u,la_objsearch"]
    {
        println!("cargo::rustc-link-arg-bin=hiplaunch-audit={argument}");
    }
}

/// Writes the assembly that gives hiprtc's functions a second version, for the target alone: other libraries that link hip-dropin
/// have no such version.
fn write_hiprtc_versions(map: &str) {
    let names = map.lines().filter_map(|line| line.trim().strip_suffix(';'));
    let assembly: String = names
        .filter(|name| name.starts_with("hiprtc"))
        .map(|name| {
            format!(
                ".globl {name}_9\n.type {name}_9, @function\n{name}_9:\n jmp {name}@PLT\n\
                 .symver {name}_9, {name}@hiprtc_9, remove\n"
            )
        })
        .collect();
    let path = Path::new(&env::var_os("OUT_DIR").expect("Cargo sets it")).join("hiprtc_versions.s");
    fs::write(path, format!(".section .text.hiprtc_versions, \"ax\", @progbits\n{assembly}.text\n"))
        .expect("a file in OUT_DIR");
}
