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
        ["hip", "__hip", "_Z22hip", "_Z23hip", "_Z24hip", "_ZN8hip", "__gnu_", "amd_dbgapi_"]
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

/// The functions of the list with their versions, as `name@@version`.
fn versioned() -> BTreeSet<String> {
    let map = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/hip.map")).unwrap();
    let (mut version, mut found) = ("", BTreeSet::new());
    for line in map.lines().map(str::trim) {
        if let Some(name) = line.strip_suffix(" {") {
            version = name;
        } else if let Some(name) = line.strip_suffix(';').filter(|name| !name.contains(['}', '*'])) {
            found.insert(format!("{name}@@{version}"));
        }
    }
    found
}

/// Programs start only if each function that they name is there, whether headers declare it or not.
#[test]
fn every_symbol_of_amds_libraries_is_listed_with_its_version() {
    let own = versioned();
    for amd in [
        include_str!("data/libamdhip64.so.5.txt"),
        include_str!("data/libamdhip64.so.6.txt"),
        include_str!("data/libamdhip64.so.7.txt"),
    ] {
        assert!(amd.lines().count() > 400);
        let missing: Vec<&str> = amd.lines().filter(|symbol| !own.contains(*symbol)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
