//! The table of functions against the symbols of AMD's libraries.

use std::collections::BTreeSet;

#[path = "../src/functions/table.rs"]
#[macro_use]
mod table;

const FUNCTIONS: &[(&str, &str)] = functions! { names };

#[test]
fn every_function_has_one_row() {
    let names: BTreeSet<&str> = FUNCTIONS.iter().map(|(_, name)| *name).collect();
    assert!(names.len() > 500, "{}", names.len());
    assert_eq!(names.len(), FUNCTIONS.len());
}

/// Programs start only if each function that they name is there, whether headers declare it or not.
#[test]
fn every_symbol_of_amds_libraries_has_a_row_with_its_version() {
    let own: BTreeSet<String> =
        FUNCTIONS.iter().map(|(version, name)| format!("{name}@@hip_{version}")).collect();
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
