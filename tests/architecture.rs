//! ARCHITECTURE.md says which module imports which; this compares it with the sources. An arrow that is not listed, one that
//! is listed and not there, and one that goes up without being called so, are failures.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A module's line: where it stands, whom it imports, and who of those stands above it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Listed {
    floor: usize,
    imports: BTreeSet<String>,
    up: BTreeSet<String>,
}

/// The list under the heading "Who imports whom": a name, then what it imports; `^` before what stands above it.
fn listed(document: &str) -> BTreeMap<String, Listed> {
    let section = document.split("### Who imports whom").nth(1).expect("the heading is there");
    let list = section.split("```").nth(1).expect("the list is there");
    let mut all: BTreeMap<String, Listed> = BTreeMap::new();
    let mut last = String::new();
    for (floor, line) in list.lines().skip(1).enumerate() {
        let mut words = line.split_whitespace();
        // A line that begins with a blank goes on with the one before it.
        if !line.starts_with(' ') {
            last = words.next().unwrap_or_default().to_owned();
            assert!(!all.contains_key(&last), "`{last}` has two lines");
            all.insert(last.clone(), Listed { floor, ..Listed::default() });
        }
        let entry = all.get_mut(&last).expect("it was inserted");
        for word in words {
            let name = word.trim_start_matches('^').to_owned();
            if word.starts_with('^') {
                entry.up.insert(name.clone());
            }
            entry.imports.insert(name);
        }
    }
    all
}

fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() {
            sources(&path, into);
        } else if name.ends_with(".rs") && name != "tests.rs" && !name.ends_with("_tests.rs") {
            into.push(path);
        }
    }
}

/// The code without comments and without the test module at its end.
fn code(text: &str) -> String {
    let mut code = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let test = line.starts_with("#[cfg(test)]") || line.starts_with("#[cfg(all(test");
        if test && lines.peek().is_some_and(|next| next.contains("mod ") && next.ends_with('{')) {
            break;
        }
        code.push_str(line.split("//").next().unwrap_or_default());
        code.push('\n');
    }
    code
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Every path of a use tree that begins at `text`: `a::{b::c, d}` is `a::b::c` and `a::d`. What comes after it.
fn tree<'a>(text: &'a str, prefix: &[String], into: &mut Vec<Vec<String>>) -> &'a str {
    let text = text.trim_start();
    if let Some(mut rest) = text.strip_prefix('{') {
        loop {
            rest = rest.trim_start();
            if let Some(after) = rest.strip_prefix('}') {
                return after;
            }
            let before = rest.len();
            rest = tree(rest, prefix, into);
            rest = rest.trim_start();
            rest = rest.strip_prefix(',').unwrap_or(rest);
            if rest.len() == before {
                return rest;
            }
        }
    }
    let end = text.find(|c| !is_word(c)).unwrap_or(text.len());
    let (word, mut rest) = text.split_at(end);
    let mut path = prefix.to_vec();
    if !word.is_empty() && word != "self" {
        path.push(word.to_owned());
    }
    if let Some(next) = rest.strip_prefix("::")
        && next.trim_start().starts_with(|c: char| is_word(c) || c == '{')
    {
        return tree(next, &path, into);
    }
    into.push(path);
    if let Some(renamed) = rest.strip_prefix(" as ") {
        rest = renamed.trim_start_matches(is_word);
    }
    rest
}

/// All paths from the crate's root that a file of module `module` names.
fn paths(code: &str, module: &[String]) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for start in ["crate::", "super::", "code_object::", "gfx9_emulator::"] {
        for (at, _) in code.match_indices(start) {
            // Not the end of another word, nor of a path: `super::super::` counts once, from its beginning.
            if code[..at].ends_with(|c: char| is_word(c) || c == ':' || c == '$') {
                continue;
            }
            let (mut rest, mut prefix) = (&code[at..], Vec::new());
            if let Some(after) = rest.strip_prefix("crate::") {
                rest = after;
            } else if rest.starts_with("super::") {
                prefix = module.to_vec();
                while let Some(after) = rest.strip_prefix("super::") {
                    prefix.pop();
                    rest = after;
                }
            }
            tree(rest, &prefix, &mut all);
        }
    }
    all
}

/// What `lib.rs` gives names at the root: `Device` is `device::Device`.
fn at_the_root(lib: &str) -> BTreeMap<String, Vec<String>> {
    let mut names = BTreeMap::from([("args".to_owned(), vec!["launcher".to_owned()])]);
    for line in code(lib).split(';') {
        let Some((_, used)) = line.split_once("pub use ") else { continue };
        let mut all = Vec::new();
        tree(used, &[], &mut all);
        for path in all {
            names.insert(path.last().expect("a name").clone(), path);
        }
    }
    names
}

#[test]
fn arrows_are_those_of_the_document() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let listed = listed(&std::fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap());
    let roots = at_the_root(&std::fs::read_to_string(root.join("src/lib.rs")).unwrap());
    // The longest name that has a line: `memory/pool` for `memory::pool::PoolError`, else `memory`.
    let owner = |path: &[String]| {
        (1..=path.len()).rev().map(|n| path[..n].join("/")).find(|name| listed.contains_key(name))
    };

    let mut files = Vec::new();
    sources(&root.join("src"), &mut files);
    let mut arrows: BTreeMap<(String, String), String> = BTreeMap::new();
    let mut modules = BTreeSet::new();
    for file in &files {
        let place = file.strip_prefix(root.join("src")).unwrap().with_extension("");
        let mut module: Vec<_> = place.iter().map(|p| p.to_str().unwrap().to_owned()).collect();
        if module.last().is_some_and(|name| name == "mod") {
            module.pop();
        }
        if matches!(module[0].as_str(), "lib" | "main" | "cli") {
            continue; // the root names all; the command line is a crate of its own
        }
        let from =
            owner(&module).unwrap_or_else(|| panic!("{} has no line in ARCHITECTURE.md", file.display()));
        for path in paths(&code(&std::fs::read_to_string(file).unwrap()), &module) {
            let named = match path.first().and_then(|first| roots.get(first)) {
                Some(full) => full.clone(),
                None => path,
            };
            // `sync` and the root itself are nobody's.
            if let Some(to) = owner(&named)
                && to != from
            {
                arrows.entry((from.clone(), to)).or_insert_with(|| place.display().to_string());
            }
        }
        modules.insert(from);
    }
    assert!(modules.len() > 15 && arrows.len() > 50, "the sources were found: {arrows:?}");

    let mut wrong = Vec::new();
    for ((from, to), file) in &arrows {
        let (above, below) = (&listed[from], &listed[to]);
        if !above.imports.contains(to) {
            wrong.push(format!("src/{file}.rs: {from} imports {to}, which ARCHITECTURE.md does not list"));
        }
        if (below.floor < above.floor) != above.up.contains(to) {
            wrong.push(format!("{from} imports {to}: does that go up? `^` says so"));
        }
    }
    for (from, line) in &listed {
        for to in &line.imports {
            if !listed.contains_key(to) {
                wrong.push(format!("{from} imports {to}, which has no line"));
            } else if modules.contains(from) && !arrows.contains_key(&(from.clone(), to.clone())) {
                wrong.push(format!("ARCHITECTURE.md lists that {from} imports {to}; it does not"));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn use_trees_are_read_whole() {
    let module = ["driver", "hip", "load"].map(str::to_owned);
    let code = code(
        "use crate::{a::{b, c::D as E}, f}; // crate::no\nuse super::call::X;\nlet x = super::super::Driver::new(crate::g::H { i: 1 });\n#[cfg(test)]\nmod tests {\nuse crate::z;\n",
    );
    let found: BTreeSet<_> = paths(&code, &module).into_iter().map(|path| path.join("::")).collect();
    let wanted = ["a::b", "a::c::D", "f", "driver::hip::call::X", "driver::Driver::new", "g::H"];
    assert_eq!(found, BTreeSet::from(wanted.map(str::to_owned)));
}
