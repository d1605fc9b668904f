//! Links the binary targets `hiplaunch-libamdhip64`, `hiplaunch-libhsa-runtime64` and `hiplaunch-audit` as shared libraries.
//!
//! They are binary targets and no libraries, because `cargo install` installs binaries alone, and because Cargo's own list of a
//! library's symbols leaves no room for symbol versions.

use std::env;
use std::fs;
use std::path::Path;

#[macro_use]
#[path = "src/redirected.rs"]
mod redirected;

/// The libraries in place of AMD's.
const OF_HIP: &str = "hiplaunch-libamdhip64";
const BELOW_HIP: &str = "hiplaunch-libhsa-runtime64";

/// The functions that the audit library exports: those for which the loader asks, and those that it has in place of the C library's.
const OF_LOADER: &[&str] = &["la_version", "la_objopen", "la_objsearch"];
const OF_C_LIBRARY: &[&str] = redirected! { names };

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/redirected.rs");
    let on_linux = env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux");
    // The lists of the functions, from the build scripts of hip-dropin and hsa-dropin.
    let list = |crate_name: &str| env::var(format!("DEP_{crate_name}_MAP")).ok();
    let (Some(of_hip), Some(below_hip)) = (list("HIP_DROPIN"), list("HSA_DROPIN")) else { return };
    println!("cargo::rerun-if-changed={of_hip}");
    println!("cargo::rerun-if-changed={below_hip}");
    if !on_linux {
        return;
    }
    link_audit();
    // The newest of AMD's names, and of those below HIP the only one of HSA. The loader adds those by which a library is asked for.
    let names = link_library(OF_HIP, "libamdhip64.so.7", &of_hip);
    link_library(BELOW_HIP, "libhsa-runtime64.so.1", &below_hip);
    write_hiprtc_versions(&names);
    // exports.s of hip-dropin has the functions for this processor alone. For others, the linker makes them.
    let has_exports = env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|processor| processor == "x86_64");
    if !has_exports {
        for name in names.iter().filter(|name| !name.starts_with("hiplaunch_")) {
            link_argument(OF_HIP, &format!("-Wl,-u,emulated_{name},--defsym={name}=emulated_{name}"));
        }
    }
}

fn link_argument(target: &str, argument: &str) {
    println!("cargo::rustc-link-arg-bin={target}={argument}");
}

/// Links a shared library with the functions of a version script, and returns their names.
fn link_library(target: &str, soname: &str, map: &str) -> Vec<String> {
    link_argument(target, "-shared");
    // Threads of the library run until the process ends, even if the program closes it.
    link_argument(target, "-Wl,-z,nodelete");
    link_argument(target, &format!("-Wl,-soname,{soname}"));
    link_argument(target, &format!("-Wl,--version-script={map}"));
    let text = fs::read_to_string(map).expect("the file of the crate's build script");
    let names = text.lines().filter_map(|line| line.trim().strip_suffix(';'));
    let names: Vec<String> =
        names.filter(|name| !name.contains(['}', ' ', '*'])).map(str::to_owned).collect();
    // Nothing in the target refers to the functions, so the linker is told to take them.
    names.iter().for_each(|name| link_argument(target, &format!("-Wl,-u,{name}")));
    names
}

/// The audit library exports what it is for, and needs other libraries only where it uses them.
fn link_audit() {
    let names: Vec<&str> = [OF_LOADER, OF_C_LIBRARY].concat();
    let list = Path::new(&env::var_os("OUT_DIR").expect("Cargo sets it")).join("audit.map");
    fs::write(&list, format!("{{ global: {}; local: *; }};\n", names.join("; "))).expect("a file in OUT_DIR");
    let argument = |argument: &str| link_argument("hiplaunch-audit", argument);
    argument("-shared");
    argument(&format!("-Wl,--version-script={}", list.display()));
    argument("-Wl,--as-needed");
    names.iter().for_each(|name| argument(&format!("-Wl,-u,{name}")));
}

/// Writes the assembly that gives hiprtc's functions a second version, for the target alone: other libraries that link hip-dropin
/// have no such version.
fn write_hiprtc_versions(names: &[String]) {
    let assembly: String = names
        .iter()
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
