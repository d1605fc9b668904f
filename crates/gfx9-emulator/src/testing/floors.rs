//! The order of this crate's modules: a module uses the modules below it and none above it.

use std::fs;
use std::path::{Path, PathBuf};

/// The modules, from the top down.
const MODULES: [&str; 6] = ["host", "observe", "exec", "memory", "state", "report"];

/// Adds the source files of a folder and its subfolders, except those of tests.
fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with("tests") || name == "memory_model" {
            continue;
        }
        if path.is_dir() {
            sources(&path, into);
        } else {
            into.push(path);
        }
    }
}

/// Returns a file's text without its tests and comments, which may name modules above it.
fn code(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

#[test]
fn no_module_uses_one_above_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut wrong, mut count) = (Vec::new(), 0);
    for (position, name) in MODULES.iter().enumerate() {
        let mut files = Vec::new();
        sources(&root.join(name), &mut files);
        for file in &files {
            let code = code(file);
            for above in &MODULES[..position] {
                if code.contains(&format!("crate::{above}::")) || code.contains(&format!("crate::{{{above}"))
                {
                    wrong.push(format!("{} uses {above}", file.display()));
                }
            }
        }
        assert!(!files.is_empty(), "{name} has no files");
        count += files.len();
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(count > 60, "only {count} files");
    let there =
        fs::read_dir(&root).unwrap().map(|entry| entry.unwrap()).filter(|entry| entry.path().is_dir());
    let mut modules: Vec<String> =
        there.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    modules.retain(|module| module != "testing" && !MODULES.contains(&module.as_str()));
    assert!(modules.is_empty(), "{modules:?} are not in the order of modules");
}
