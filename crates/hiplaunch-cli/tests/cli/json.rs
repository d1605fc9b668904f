//! The JSON documents: docs/json.md has exactly the fields of the reports.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use super::{Folder, data, hip, hiplaunch};

/// Collects the paths of a document's fields, such as `a.b[].c`.
fn paths(value: &Value, at: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
                found.insert(path.clone());
                paths(value, &path, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| paths(item, &format!("{at}[]"), found)),
        _ => {}
    }
}

/// Returns the fields that a section of docs/json.md lists, in lines that begin with "- `path`".
fn documented(section: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.md")).unwrap();
    let section =
        text.split("\n## ").find(|part| part.starts_with(section)).unwrap_or_else(|| panic!("{section}"));
    let fields = section.lines().filter_map(|line| line.strip_prefix("- `")?.split('`').next());
    fields.map(str::to_owned).collect()
}

/// Whether a path matches a documented one, in which `*` is any name.
fn is(path: &str, documented: &str) -> bool {
    let (mut path, mut documented) = (path.split('.'), documented.split('.'));
    loop {
        match (path.next(), documented.next()) {
            (None, None) => return true,
            (Some(a), Some(b)) if a == b || b == "*" => {}
            _ => return false,
        }
    }
}

/// Runs commands, and checks that their documents together have exactly the fields of a section. They may lack fields
/// that depend on the machine.
fn check(section: &str, commands: &[&[&str]], may_lack: &[&str]) {
    let documented = documented(section);
    let mut found = BTreeSet::new();
    for args in commands {
        let (status, out, err) = hiplaunch(args);
        assert!(status < 3, "{args:?}: {err}");
        let document = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{args:?}: {e}: {out}{err}"));
        paths(&document, "", &mut found);
    }
    let unknown: Vec<_> = found.iter().filter(|path| !documented.iter().any(|d| is(path, d))).collect();
    assert!(unknown.is_empty(), "docs/json.md lacks, in {section}: {unknown:#?}");
    let lacks =
        |d: &&String| !found.iter().any(|path| is(path, d)) && !may_lack.iter().any(|m| d.starts_with(m));
    let gone: Vec<_> = documented.iter().filter(lacks).collect();
    assert!(gone.is_empty(), "docs/json.md has, in {section}, what no report has: {gone:#?}");
}

#[test]
fn fields_of_info() {
    // Fields of a library that may be missing, and of errors that may not happen.
    check("info", &[&["info", "--json"]], &["drivers[].symbols[]", "drivers[].error", "auto.error"]);
}

#[test]
fn fields_of_run() {
    let (wrong, saxpy) = (data("wrong.launch.toml"), data("saxpy.launch.toml"));
    // One store past the end of its buffer, which bounds of pages list.
    let folder = Folder::new();
    folder.write("lines.co", include_bytes!("../../../amdgpu-emulator/tests/data/lines.gfx90a.co"));
    let past = folder.write(
        "past.launch.toml",
        "version = 1\ndescription = \"a store past the end\"\ncode_object = \"lines.co\"\n\n[[buffers]]\n\
         name = \"out\"\nbytes = 64\nfill = 0\n\n[[launches]]\nkernel = \"direct\"\ngrid = [1, 1, 1]\n\
         block = [64, 1, 1]\nargs = [{ buffer = \"out\" }, { u32 = 128 }]\n",
    );
    let emulator = ["--backend", "emulator"];
    check(
        "run",
        &[
            &[&["run", "--json", &wrong, &saxpy, "none.launch.toml", "--profile"], &emulator[..]].concat(),
            &[&["run", "--json", &past, "--bounds", "pages"], &emulator[..]].concat(),
        ],
        &[],
    );
}

#[test]
fn fields_of_demo() {
    let emulator = ["--backend", "emulator", "--json"];
    let with = |args: &[&'static str]| [&["demo"], args, &emulator].concat();
    check(
        "demo",
        &[
            &with(&["--launches", "2", "--explain"]),
            &with(&["--launches", "2", "--only", "value/hiplaunch"]),
            &with(&["--only", "list"]),
        ],
        &[],
    );
}

#[test]
fn fields_of_plan_and_replay() {
    let docs = |name: &str| format!("{}/docs/{name}", hiplaunch_testing::root().display());
    check("plan", &[&["plan", "--json", &docs("plan.csv"), "--capacity", "2000"]], &[]);
    let trace = docs("pool.trace.csv");
    check("replay", &[&["replay", "--json", &trace, "--backend", "emulator", "--validate"]], &[]);
}

#[test]
fn fields_of_inspect() {
    let folder = Folder::new();
    let bundle = concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates/code-object/tests/data/zstd-v2.hipfb");
    let plain = concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates/code-object/tests/data/plain.hipfb");
    let mut broken = fs::read(plain).unwrap();
    let end = broken.len() - 3000;
    broken[end..].fill(0xff);
    let broken = folder.write("broken.hipfb", broken);
    let generic = concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates/code-object/tests/data/generic.co");
    // A code object that can't be disassembled.
    let other = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../crates/amdgpu-emulator/tests/data/assembly/empty.gfx908.co"
    );
    check(
        "inspect",
        &[&[
            "inspect",
            "--json",
            "--symbols",
            "--disassemble",
            bundle,
            generic,
            other,
            "none.co",
            &broken,
            &hip("reduce.gfx942.co"),
        ]],
        &[],
    );
}

#[test]
fn fields_of_trace() {
    let folder = Folder::new();
    let (csv, svg) = (folder.0.join("a.csv"), folder.0.join("a.svg"));
    let (csv, svg) = (csv.to_str().unwrap(), svg.to_str().unwrap());
    let script = data("saxpy.launch.toml");
    let trace = ["trace", "-o", csv, "--snapshot", svg, "--json"];
    let args = [&trace[..], &["run", &script, "--backend", "emulator"]].concat();
    let (status, out, err) = hiplaunch(&args);
    assert_eq!((status, err.as_str()), (0, ""), "{out}");
    let document: Value = serde_json::from_str(&out).unwrap();
    let mut found = BTreeSet::new();
    paths(&document, "", &mut found);
    // The report is the document of the traced command, which has its own section.
    found.retain(|path| !path.starts_with("report."));
    let documented = documented("trace");
    for path in &found {
        assert!(documented.iter().any(|d| is(path, d)), "{path}");
    }
    for d in &documented {
        assert!(found.iter().any(|path| is(path, d)), "{d}");
    }
    assert_eq!(document["report"]["totals"]["passed"], 1);
    let lines = fs::read_to_string(csv).unwrap().lines().count();
    assert_eq!(document["trace"]["operations"], lines - 1);
    assert_eq!((&document["trace"]["file"], &document["snapshot"]), (&csv.into(), &svg.into()));

    // The trace is on stdout, and its report on stderr.
    let (status, out, err) =
        hiplaunch(&["trace", "-o", "-", "--json", "run", &script, "--backend", "emulator"]);
    assert_eq!(status, 0, "{err}");
    assert!(out.starts_with("Thread,"), "{out}");
    assert_eq!(serde_json::from_str::<Value>(&err).unwrap()["trace"]["operations"], out.lines().count() - 1);
}
