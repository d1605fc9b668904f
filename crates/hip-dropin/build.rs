//! Writes what the linker needs of the functions' table: their symbol versions, and the exported functions for `src/exports.s`.

use std::path::Path;
use std::{env, fs};

#[path = "src/functions/table.rs"]
#[macro_use]
mod table;

const FUNCTIONS: &[(&str, &str)] = functions! { names };

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/functions/table.rs");
    let folder = env::var_os("OUT_DIR").expect("Cargo sets it");
    let write = |name: &str, text: String| {
        let path = Path::new(&folder).join(name);
        fs::write(&path, text).expect("Cargo's folder is writable");
        path
    };
    // The package that links the library gives it to the linker.
    println!("cargo::metadata=map={}", write("hip.map", version_script()).display());
    write("exports.s", exports());
}

/// The versions of the functions. Each version inherits from the one before, as in AMD's libraries.
fn version_script() -> String {
    let mut versions: Vec<&str> = FUNCTIONS.iter().map(|(version, _)| *version).collect();
    versions.sort_unstable();
    versions.dedup();
    let (mut script, mut before) = (String::new(), String::new());
    for version in versions {
        let functions = FUNCTIONS.iter().filter(|function| function.0 == version);
        let names: String = functions.map(|(_, name)| format!("    {name};\n")).collect();
        let hidden = if before.is_empty() { "  local:\n    *;\n" } else { "" };
        script.push_str(&format!("hip_{version} {{\n  global:\n{names}{hidden}}}{before};\n"));
        before = format!(" hip_{version}");
    }
    // What the library for what is below HIP asks this one.
    script.push_str("hiplaunch {\n  global:\n    hiplaunch_used_memory;\n};\n");
    // A version that libraries may need of libhiprtc. build.rs of hiplaunch-cli gives it to hiprtc's functions.
    script.push_str("hiprtc_9 {\n};\n");
    script
}

/// The functions for `src/exports.s`.
fn exports() -> String {
    let exports: String = FUNCTIONS.iter().map(|(_, name)| format!("export {name}\n")).collect();
    format!(
        "{exports}.section .data.rel.hiplaunch_exports, \"aw\", @progbits\n\
         .globl hiplaunch_exports_end\n.hidden hiplaunch_exports_end\nhiplaunch_exports_end:\n.text\n"
    )
}
