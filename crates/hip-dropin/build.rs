//! Writes the list of functions for `src/exports.s`, and tells the package that links the library where `hip.map` is.

use std::path::Path;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=hip.map");
    println!("cargo::metadata=map={}/hip.map", env!("CARGO_MANIFEST_DIR"));
    let map = fs::read_to_string("hip.map").expect("hip.map lies beside this file");
    let mut list = String::new();
    for name in map.lines().filter_map(|line| line.trim().strip_suffix(';')) {
        // The other lines with a semicolon end a version, or hide all other symbols.
        if !name.contains(['}', ' ', '*']) {
            list.push_str(&format!("export {name}\n"));
        }
    }
    list.push_str(".section .data.rel.hiplaunch_exports, \"aw\", @progbits\n");
    list.push_str(
        ".globl hiplaunch_exports_end\n.hidden hiplaunch_exports_end\nhiplaunch_exports_end:\n.text\n",
    );
    let folder = env::var_os("OUT_DIR").expect("Cargo sets it");
    fs::write(Path::new(&folder).join("exports.s"), list).expect("Cargo's folder is writable");
}
