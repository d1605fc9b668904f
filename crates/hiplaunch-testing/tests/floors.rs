//! The floors of each crate: a module uses those below it, and none above it or beside it.
//!
//! A row of [`CRATES`] has a crate's modules (those of `lib.rs`) from the top floor down. Modules that use each other stand on one
//! floor, joined by `+`: a cycle, which should become smaller. A new module is added where it belongs; a new arrow up is a reason to
//! move code, not the row.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The folder of each crate, and its floors.
const CRATES: &[(&str, &[&str])] = &[
    (
        ".",
        &[
            "graph",
            "launcher",
            "buffer",
            "stream",
            "code, staging",
            "device",
            "pool",
            "driver_stream, error",
            "backend, fault",
        ],
    ),
    (
        "crates/code-object",
        &[
            "source",
            "code_object + elf",
            "metadata, occupancy",
            "bundle, msgpack, signature",
            "descriptor, error + target, limits",
        ],
    ),
    (
        "crates/amdgpu-isa",
        &[
            "disasm",
            "fields, sample_form, table",
            "row",
            "mnemonic",
            "encoding",
            "image",
            "target",
            "error, image_layout, lists",
        ],
    ),
    ("crates/amdgpu-emulator", &["host", "observe", "exec", "memory", "report, state"]),
    (
        "crates/hip-driver",
        &[
            "driver_captures, noop",
            "captures, checks, limits, node_numbers, observer",
            "activity, call, capability, capture, code, host, kinds, stderr, thread_number, types, value",
        ],
    ),
    (
        "crates/hip-driver-amd",
        &[
            "process, work",
            "capture, device, graph, memory",
            "call, load",
            "image, symbols",
            "bindings, versions",
        ],
    ),
    (
        "crates/hip-compile",
        &[
            "origin, toolchain",
            "clang, hiprtc",
            "comgr",
            "job",
            "input",
            "cache, error",
            "entry",
            "bitcode, compiled, digest, includes, messages, namespace",
        ],
    ),
    (
        "crates/hip-driver-layers",
        &[
            "validation",
            "counts, timeline",
            "captures, default_streams, inject, intercept, pinned",
            "counted",
        ],
    ),
    (
        "crates/hip-driver-emulated",
        &[
            "calls, memory, settings, streams, virtual_memory",
            "physical",
            "capture + command + device + event + graph + module + stream + watch, options",
            "devices, handles, listener, pinned, queue",
            "sync, system, visible",
        ],
    ),
    (
        "crates/hip-dropin",
        &[
            "summary",
            "exports",
            "functions",
            "compile, interpose, layouts",
            "device",
            "graph, texture",
            "copy",
            "kernel",
            "memory",
            "stream",
            "process",
            "settings",
            "abi",
            "report",
        ],
    ),
    (
        "crates/hsa-driver",
        &[
            "driver",
            "capture + event, work",
            "graph",
            "blit + device + module + stream",
            "host, queue",
            "services",
            "marker, memory",
            "gpu",
            "properties, signals",
            "load, ring",
            "functions, packet",
            "abi",
        ],
    ),
    ("crates/kernel-services", &["buffered, hostcall", "format, memory, printer"]),
    ("crates/hsa-dropin", &["functions", "hsa, smi", "abi, machine"]),
    (
        "crates/hiplaunch-capi",
        &[
            "attributes, devices, launch, parameters, peers, pool, timeline",
            "arguments + buffers + capture + compiled_graph + events + graph + graph_values + kernels + launcher + \
             memory + modules + packed + streams + tickets + views",
            "layouts",
            "lds, logging, offsets",
            "compile + handles + input + status + text",
            "arena, version",
        ],
    ),
    (
        "crates/hip-conformance",
        &[
            "run",
            "captures",
            "default_streams, graphs, launch, memory, modules, ordering, properties, streams, threads",
            "graph_rig",
            "rig",
            "subject",
        ],
    ),
    (
        "crates/hiplaunch-cli",
        &[
            "replay",
            "script_runner, selftest, trace",
            "demo, run",
            "bench, inspect, profile",
            "compile, completions, exec, fidelity, fleet, info, man, notices, occupancy, plan, timeline",
            "manual, page",
            "audit, logging, output, session, topology",
            "program_folder, redirect",
            "advice, colour, demangle, emulator, kernels, libamdhip64, libhsa_runtime64, names, other_target, \
             pool_recorder, progress, redirected, script, whole_file",
        ],
    ),
    (
        "crates/hiplaunch-python",
        &[
            "launcher",
            "graph, triton",
            "kernel",
            "packed",
            "arguments",
            "host_memory",
            "buffer",
            "adopted, reports, stream",
            "fence, ticket",
            "callbacks, compile, dlpack",
            "live",
            "array, command_line, dtype, errors, notices, scripts",
            "dict",
        ],
    ),
    ("crates/hiplaunch-reports", &["lds, plan, pool_svg", "canvas", "chrome, pool_json, sample, style"]),
    (
        "crates/hiplaunch-tensor",
        &[
            "compute",
            "lowered",
            "lower",
            "clusters, lazy",
            "dag",
            "node",
            "context",
            "kept, kernels",
            "fuse",
            "element, error, op",
        ],
    ),
    (
        "crates/lds-layout",
        &[
            "fewest",
            "layout",
            "place, promote",
            "build, candidates, check, separation, text",
            "lifetime",
            "program",
            "builder",
            "bits, error, picture",
        ],
    ),
    (
        "crates/offset-planner",
        &[
            "planner",
            "exact",
            "anneal, local_search, search",
            "cliques, greedy, merge, online",
            "bound, plan",
            "instance, problem",
            "error, order, random, verify",
        ],
    ),
];

/// The crates that have too few modules for floors, or whose modules only pass another crate on.
const WITHOUT: [&str; 5] =
    ["handle-table", "hiplaunch-rccl", "hiplaunch-testing", "libhiplaunch", "rocm-library"];

/// Whether a file or folder has tests alone, which may use everything.
fn is_of_tests(name: &str) -> bool {
    name.ends_with("tests") || matches!(name, "testing" | "memory_model")
}

/// The name of a source file or folder, as a module.
fn module_name(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Adds the source files below a folder, except those of tests.
fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.unwrap().path();
        if is_of_tests(&module_name(&path)) {
            continue;
        } else if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}

/// A file's text without its tests and comments.
fn code(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// The names that follow `prefix` in a text, also those of a list in braces.
fn named_after(text: &str, prefix: &str, into: &mut BTreeSet<String>) {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let word = |text: &str| text.trim_start().chars().take_while(|c| is_word(*c)).collect::<String>();
    for (at, _) in text.match_indices(prefix) {
        if text[..at].ends_with(|c: char| is_word(c) || c == ':') {
            continue;
        }
        let Some(list) = text[at + prefix.len()..].strip_prefix('{') else {
            into.insert(word(&text[at + prefix.len()..]));
            continue;
        };
        let (mut depth, mut begins) = (1, true);
        for (at, c) in list.char_indices() {
            if begins && depth == 1 && is_word(c) {
                into.insert(word(&list[at..]));
            }
            begins = c == ',' || begins && c.is_whitespace();
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
    }
}

/// Returns the modules that a file names, by `crate::` or by `super::` up to the crate.
fn used(file: &Path, root: &Path) -> BTreeSet<String> {
    let below = file.strip_prefix(root).unwrap().with_extension("");
    let depth = below.iter().filter(|part| *part != "mod").count();
    let (text, mut names) = (code(file), BTreeSet::new());
    named_after(&text, "crate::", &mut names);
    named_after(&text, &"super::".repeat(depth), &mut names);
    names
}

#[test]
fn no_module_uses_one_above_it() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (mut wrong, mut files) = (Vec::new(), 0);
    for (name, floors) in CRATES {
        let root = workspace.join(name).join("src");
        let cycles: Vec<(usize, BTreeSet<&str>)> = (floors.iter().enumerate())
            .flat_map(|(floor, modules)| {
                modules.split(", ").map(move |cycle| (floor, cycle.split(" + ").collect()))
            })
            .collect();
        let place = |module: &str| cycles.iter().position(|(_, cycle)| cycle.contains(module));
        for entry in fs::read_dir(&root).unwrap() {
            let path = entry.unwrap().path();
            let module = module_name(&path);
            if is_of_tests(&module)
                || matches!(&*module, "lib" | "main")
                || !(path.is_dir() || path.extension().is_some_and(|e| e == "rs"))
            {
                continue;
            }
            let Some(own) = place(&module) else {
                wrong.push(format!("{name}: {module} is on no floor"));
                continue;
            };
            let mut all = Vec::new();
            if path.is_dir() {
                sources(&path, &mut all)
            } else {
                all.push(path)
            }
            for file in &all {
                for other in used(file, &root) {
                    let Some(place) = place(&other).filter(|place| *place != own) else { continue };
                    if cycles[place].0 <= cycles[own].0 {
                        wrong.push(format!("{} uses {other}, which is not below {module}", file.display()));
                    }
                }
            }
            files += all.len();
        }
        let gone = cycles
            .iter()
            .flat_map(|(_, cycle)| cycle)
            .filter(|module| !root.join(module).is_dir() && !root.join(format!("{module}.rs")).is_file());
        wrong.extend(gone.map(|module| format!("{name}: there is no module {module}")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(files > 400, "only {files} files");
}

#[test]
fn every_crate_has_floors() {
    let manifest =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml")).unwrap();
    let members = manifest.split("members = [").nth(1).unwrap().split(']').next().unwrap();
    for member in members.split('"').skip(1).step_by(2).filter(|member| *member != ".") {
        let has_row = CRATES.iter().any(|(name, _)| *name == member);
        let is_left_out = WITHOUT.iter().any(|name| member.ends_with(name));
        assert!(has_row != is_left_out, "{member} has floors: {has_row}; is left out: {is_left_out}");
    }
}
