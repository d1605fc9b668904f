//! The list of functions for the linker, `hip.map`, against the functions in the sources.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => sources(&path, found),
            false => found.push(path),
        }
    }
}

/// The names in `text` that begin as HIP's functions do.
fn names(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let is_name = |word: &&str| {
        ["hip", "__hip", "_Z24hip"]
            .iter()
            .any(|start| word.strip_prefix(start).is_some_and(|rest| !rest.is_empty()))
    };
    words
        .map(|word| word.strip_prefix("emulated_").unwrap_or(word))
        .filter(is_name)
        .map(str::to_owned)
        .collect()
}

/// The symbols of the list.
fn listed() -> BTreeSet<String> {
    let map = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/hip.map")).unwrap();
    let symbols = map.lines().filter_map(|line| line.trim().strip_suffix(';'));
    symbols.filter(|line| !line.contains(['}', ' ', '*'])).map(str::to_owned).collect()
}

#[test]
fn every_listed_function_is_in_the_sources() {
    let mut paths = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut paths);
    let text: String = paths.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    let (listed, written) = (listed(), names(&text));
    assert!(listed.len() > 500, "{}", listed.len());
    let missing: Vec<&String> = listed.difference(&written).collect();
    assert!(missing.is_empty(), "in hip.map, not in the sources: {missing:?}");
}

#[test]
fn every_function_of_the_sources_is_listed() {
    let mut paths = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut paths);
    let listed = listed();
    for path in paths {
        for line in fs::read_to_string(&path).unwrap().lines() {
            if let Some((_, rest)) = line.split_once("export_name = \"") {
                let name = rest.split('"').next().unwrap().strip_prefix("emulated_");
                let name = name.unwrap_or_else(|| panic!("no prefix in {}: {line}", path.display()));
                assert!(listed.contains(name), "{name} of {} is not in hip.map", path.display());
            }
        }
    }
}
