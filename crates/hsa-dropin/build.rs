//! Writes the symbol versions of the functions' table for the linker.

use std::path::Path;
use std::{env, fs};

#[path = "src/functions/table.rs"]
#[macro_use]
mod table;

const FUNCTIONS: &[(&str, &[&str])] = functions! { names };

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/functions/table.rs");
    let path = Path::new(&env::var_os("OUT_DIR").expect("Cargo sets it")).join("hsa.map");
    let versions = FUNCTIONS.iter().enumerate().map(|(index, (version, names))| {
        let names: String = names.iter().map(|name| format!("    {name};\n")).collect();
        let hidden = if index == 0 { "  local:\n    *;\n" } else { "" };
        format!("{version} {{\n  global:\n{names}{hidden}}};\n")
    });
    fs::write(&path, versions.collect::<String>()).expect("Cargo's folder is writable");
    // The package that links the library gives it to the linker.
    println!("cargo::metadata=map={}", path.display());
}
