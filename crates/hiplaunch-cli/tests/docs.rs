//! Checks the pages: their links have targets, their Rust is part of an example that the tests run, and their pictures
//! are what the commands draw. With `HIPLAUNCH_WRITE_DOCS` set, the pictures are written again. Also checks that each
//! crate has the files that a published crate needs.

#[path = "../../lds-layout/examples/lds_layout.rs"]
#[allow(dead_code, reason = "its main is the examples' test's")]
mod lds_example;

use std::path::{Path, PathBuf};

use lds_layout::LdsCapacity;

fn compare(name: &str, made: &str) {
    let path = root().join("docs").join(name);
    if std::env::var_os("HIPLAUNCH_WRITE_DOCS").is_some() {
        std::fs::write(&path, made).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap().replace("\r\n", "\n");
    assert!(
        kept == made,
        "docs/{name} would be another one; HIPLAUNCH_WRITE_DOCS=1 cargo test -p hiplaunch-cli --test docs"
    );
}

#[test]
fn the_picture_of_the_layout_is_the_examples() {
    let kernel = lds_example::kernel().unwrap();
    let wanted = LdsCapacity::GFX90A.workgroups(kernel.least_bytes().unwrap());
    let layout = kernel.layout_for_occupancy(LdsCapacity::GFX90A, wanted, 0).unwrap();
    let svg = hiplaunch_reports::lds_svg(&layout);
    roxmltree::Document::parse(&svg).unwrap();
    compare("lds.svg", &svg);
}

#[test]
fn the_picture_of_the_plan_is_of_its_problem() {
    let docs = root().join("docs");
    let made = std::env::temp_dir().join(format!("hiplaunch-plan-{}.svg", std::process::id()));
    let status = std::process::Command::new(env!("CARGO_BIN_EXE_hiplaunch"))
        .args(["plan", "plan.csv", "--svg"])
        .arg(&made)
        .current_dir(&docs)
        .status()
        .unwrap();
    assert!(status.success());
    let svg = std::fs::read_to_string(&made).unwrap();
    std::fs::remove_file(&made).unwrap();
    compare("plan.svg", &svg);
}

#[test]
fn the_picture_of_the_bench_is_of_its_results() {
    let docs = root().join("docs");
    let made = std::env::temp_dir().join(format!("hiplaunch-bench-{}.svg", std::process::id()));
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_hiplaunch"))
        .args(["bench", "--from", "bench.json", "--svg"])
        .arg(&made)
        .current_dir(&docs)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let svg = std::fs::read_to_string(&made).unwrap();
    std::fs::remove_file(&made).unwrap();
    compare("bench.svg", &svg);
}

/// The table of the emulator's settings has each with its variable, default and documentation, and every page leads to it.
#[test]
fn the_table_of_settings_is_the_emulators() {
    let head = "| setting | environment | default | what it does |\n|---|---|---|---|\n";
    let rows = hip_driver_emulated::SETTINGS.iter().map(|setting| {
        let default = if setting.default.is_empty() { "" } else { &format!("`{}`", setting.default) };
        let help = setting.paragraphs().next().unwrap();
        format!("| `{}` | `{}` | {default} | {help} |\n", setting.name, setting.variable)
    });
    let page = std::fs::read_to_string(root().join("docs/drivers.md")).unwrap().replace("\r\n", "\n");
    let (before, rest) = page.split_once(head).unwrap();
    let after = rest[rest.find("\n\n").unwrap()..].trim_start();
    compare("drivers.md", &format!("{before}{head}{}\n{after}", rows.collect::<String>()));
    for name in ["command-line.md", "exec.md", "c.md", "python.md"] {
        let links = links(&root().join("docs").join(name));
        assert!(
            links.iter().any(|link| link == "drivers.md#the-emulator"),
            "{name} does not lead to the table"
        );
    }
}

fn root() -> PathBuf {
    hiplaunch_testing::root().to_owned()
}

/// Returns the Markdown files of a folder, sorted by name.
fn pages(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join(folder)).unwrap();
    let mut all: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    all.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    all.sort();
    all
}

/// Returns a page without its code blocks, and the code blocks with their language.
fn prose_and_code(page: &Path) -> (String, Vec<(String, String)>) {
    let (mut prose, mut code) = (String::new(), Vec::new());
    let mut block: Option<(String, String)> = None;
    for line in std::fs::read_to_string(page).unwrap().lines() {
        match (line.trim_start().strip_prefix("```"), &mut block) {
            (Some(_), Some(_)) => code.extend(block.take()),
            (Some(language), None) => block = Some((language.to_owned(), String::new())),
            (None, Some((_, text))) => *text += &format!("{}\n", line.trim()),
            (None, None) => prose += &format!("{line}\n"),
        }
    }
    assert!(block.is_none(), "{}: a code block without an end", page.display());
    (prose, code)
}

/// Returns the targets of a page's links, except web addresses.
fn links(page: &Path) -> Vec<String> {
    let (prose, _) = prose_and_code(page);
    // In code, the same characters are something else.
    let prose: String = prose.split('`').step_by(2).collect();
    let targets = prose.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link);
    targets.filter(|link| !link.contains("://") && !link.contains(' ')).map(str::to_owned).collect()
}

fn anchors(page: &Path) -> Vec<String> {
    let (prose, _) = prose_and_code(page);
    let heads = prose.lines().filter(|line| line.starts_with('#'));
    let plain = heads.map(|line| line.trim_start_matches('#').trim().to_lowercase().replace(' ', "-"));
    plain.map(|head| head.chars().filter(|c| c.is_alphanumeric() || "-_".contains(*c)).collect()).collect()
}

/// Links from pages to pages, files and headings have targets.
#[test]
fn links_have_targets() {
    let mut seen = 0;
    let crates = std::fs::read_dir(root().join("crates")).unwrap();
    let crates: Vec<String> =
        crates.map(|entry| format!("crates/{}", entry.unwrap().file_name().display())).collect();
    let folders = ["", "docs", "examples", "hip"].into_iter().chain(crates.iter().map(String::as_str));
    for page in folders.flat_map(pages) {
        for link in links(&page) {
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let to = if file.is_empty() { page.clone() } else { page.parent().unwrap().join(file) };
            assert!(to.exists(), "{}: {link}", page.display());
            let found = anchor.is_empty() || anchors(&to).contains(&anchor.to_owned());
            assert!(found, "{}: {link}", page.display());
            seen += 1;
        }
    }
    assert!(seen > 30, "{seen} links");
}

/// The guide is a complete book: its summary has every chapter, and no link leads out of its folder.
#[test]
fn the_book_is_complete() {
    let (docs, summary) = (root().join("docs"), root().join("docs/SUMMARY.md"));
    let chapters = links(&summary);
    let contents = links(&docs.join("README.md"));
    for page in pages("docs") {
        let name = page.file_name().unwrap().to_str().unwrap().to_owned();
        assert!(name == "SUMMARY.md" || chapters.contains(&name), "SUMMARY.md lacks {name}");
        assert!(
            ["SUMMARY.md", "README.md"].contains(&&*name) || contents.contains(&name),
            "README.md lacks {name}"
        );
        for link in links(&page) {
            assert!(!link.starts_with(".."), "{name}: {link} leads out of the book");
        }
    }
}

/// Files of the repository that a page names in code style exist.
#[test]
fn named_files_exist() {
    let mut seen = 0;
    for page in pages("").into_iter().chain(pages("docs")) {
        if page.ends_with("CHANGELOG.md") {
            continue; // names what was there
        }
        let (prose, _) = prose_and_code(&page);
        for code in prose.split('`').skip(1).step_by(2) {
            let top = code.split('/').next().unwrap();
            let plain = code.chars().all(|c| c.is_alphanumeric() || "/._-".contains(c));
            if plain
                && code.contains('/')
                && ["benches", "crates", "docs", "examples", "hip", "src", "tests"].contains(&top)
            {
                assert!(root().join(code).exists(), "{}: no {code}", page.display());
                seen += 1;
            }
        }
    }
    assert!(seen > 10, "{seen} files");
}

/// The Rust, C and C++ in the README and in the guide are parts of examples and test programs, which the tests compile and
/// run.
#[test]
fn code_in_the_pages_is_part_of_an_example() {
    let of_crates = [
        "lds-layout/examples",
        "hip-dropin/tests/programs",
        "hiplaunch-mpi/examples",
        "hiplaunch-tensor/examples",
        "libhiplaunch/tests/programs",
    ];
    let mut folders = vec![root().join("examples")];
    folders.extend(of_crates.map(|folder| root().join("crates").join(folder)));
    let mut examples = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path
                .extension()
                .is_some_and(|extension| ["rs", "c", "cpp", "hip"].iter().any(|e| extension == *e))
            {
                let text = std::fs::read_to_string(&path).unwrap();
                examples.push(text.lines().map(|line| format!("{}\n", line.trim())).collect::<String>());
            }
        }
    }
    let mut seen = [("rust", 0), ("c", 0), ("cpp", 0)];
    for page in [root().join("README.md")].into_iter().chain(pages("docs")) {
        for (language, code) in &prose_and_code(&page).1 {
            let Some((_, count)) = seen.iter_mut().find(|(name, _)| name == language) else { continue };
            let found = examples.iter().any(|example| example.contains(code.as_str()));
            assert!(found, "{}: no example has this:\n{code}", page.display());
            *count += 1;
        }
    }
    assert!(seen[0].1 >= 7 && seen[1].1 >= 4 && seen[2].1 >= 4, "{seen:?}");
}

#[test]
fn the_readme_is_short_and_shows_the_first_example() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    assert!(readme.lines().count() <= 150, "{} lines", readme.lines().count());
    let example = std::fs::read_to_string(root().join("examples/01_first_launch.rs")).unwrap();
    let program = example.split_once("\n\n").unwrap().1.split_once("\n#[test]").unwrap().0;
    assert!(readme.contains(&format!("```rust\n{}\n```", program.trim_end())), "another first example");
    for command in ["cargo run --release -- demo", "cargo test --workspace"] {
        assert!(readme.contains(&format!("\n{command}\n")), "{command}");
    }
}

/// Every crate without `publish = false` has what a published crate needs.
#[test]
fn every_crate_can_be_published() {
    let crates = std::fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path());
    let mut seen = 0;
    for folder in crates.chain([root()]) {
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        if manifest.lines().any(|line| line == "publish = false") {
            continue;
        }
        for key in ["description", "readme", "keywords", "categories", "license"] {
            let given = manifest.lines().any(|line| line.starts_with(key));
            assert!(given, "{}: no {key} in Cargo.toml", folder.display());
        }
        for (name, original) in ["LICENSE-APACHE", "LICENSE-MIT"].map(|name| (name, root().join(name))) {
            let text = std::fs::read_to_string(folder.join(name)).unwrap_or_default();
            assert!(text == std::fs::read_to_string(original).unwrap(), "{}: no {name}", folder.display());
        }
        assert!(folder.join("README.md").is_file(), "{}: no README.md", folder.display());
        seen += 1;
    }
    assert!(seen >= 3, "{seen} crates");
}

/// The hops of CONTRIBUTING.md from the README to a place in the sources exist: the README links to ARCHITECTURE.md,
/// which has the heading and names the file below it, which has the function.
#[test]
fn the_newcomers_hops_exist() {
    let read = |name: &str| std::fs::read_to_string(root().join(name)).unwrap();
    let (contributing, architecture) = (read("CONTRIBUTING.md"), read("ARCHITECTURE.md"));
    assert!(read("README.md").contains("](ARCHITECTURE.md)"));
    let table = contributing.split("## A newcomer's test").nth(1).unwrap().split("\n## ").next().unwrap();
    let mut seen = 0;
    for row in table.lines().filter(|line| line.contains("ARCHITECTURE.md, ")) {
        let heading = row.split("ARCHITECTURE.md, \"").nth(1).unwrap().split('"').next().unwrap();
        let section =
            architecture.split(&format!("## {heading}\n")).nth(1).unwrap_or_else(|| panic!("no {heading}"));
        let section = section.split("\n## ").next().unwrap();
        let last = row.trim_end_matches([' ', '|']).rsplit('|').next().unwrap();
        let [file, function] = last.split('`').skip(1).step_by(2).collect::<Vec<_>>()[..] else {
            panic!("{last}")
        };
        assert!(section.contains(&format!("`{file}`")), "{heading} does not name {file}");
        assert!(read(file).contains(&format!("fn {function}")), "{file} has no {function}");
        seen += 1;
    }
    assert_eq!(seen, 5);
}
