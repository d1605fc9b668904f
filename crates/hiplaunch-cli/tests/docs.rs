//! The pictures in docs/ are what the commands beside them make. With `HIPLAUNCH_WRITE_DOCS` set, they are made anew.

#[path = "../../lds-layout/examples/lds_layout.rs"]
#[allow(dead_code, reason = "its main is the examples' test's")]
mod lds_example;

use std::path::PathBuf;

use lds_layout::LdsTarget;

fn compare(name: &str, made: &str) {
    let path = hiplaunch_testing::root().to_owned().join("docs").join(name);
    if std::env::var_os("HIPLAUNCH_WRITE_DOCS").is_some() {
        std::fs::write(&path, made).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap().replace("\r\n", "\n");
    assert!(kept == made, "docs/{name} is another picture; HIPLAUNCH_WRITE_DOCS=1 cargo test --test docs");
}

#[test]
fn the_layout_of_the_example() {
    let kernel = lds_example::kernel().unwrap();
    let wanted = LdsTarget::GFX942.workgroups(kernel.least_bytes().unwrap());
    let layout = kernel.layout_for_occupancy(&LdsTarget::GFX942, wanted, 0).unwrap();
    let svg = hiplaunch_reports::lds_svg(&layout);
    roxmltree::Document::parse(&svg).unwrap();
    compare("lds.svg", &svg);
}

#[test]
fn the_plan_beside_its_problem() {
    let docs = hiplaunch_testing::root().to_owned().join("docs");
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
fn the_bench_beside_its_results() {
    let docs = hiplaunch_testing::root().to_owned().join("docs");
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

/// Links between documents, and from them to files and headings, lead somewhere.
#[test]
fn links_lead_somewhere() {
    let root = hiplaunch_testing::root().to_owned();
    let anchors = |text: &str| -> Vec<String> {
        let heads = text.lines().filter(|line| line.starts_with('#'));
        let plain = heads.map(|line| line.trim_start_matches('#').trim().to_lowercase().replace(' ', "-"));
        plain
            .map(|head| head.chars().filter(|c| c.is_alphanumeric() || "-_".contains(*c)).collect())
            .collect()
    };
    let mut seen = 0;
    for folder in ["", "docs", "examples", "hip", "crates/gfx9-emulator"] {
        for entry in std::fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "md") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            for link in text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link)
            {
                let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
                if file.contains("://") || file.contains(char::is_whitespace) {
                    continue;
                }
                let to = if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
                assert!(to.exists(), "{}: {link}", path.display());
                if !anchor.is_empty() {
                    let found = anchors(&std::fs::read_to_string(&to).unwrap()).contains(&anchor.to_owned());
                    assert!(found, "{}: {link}", path.display());
                }
                seen += 1;
            }
        }
    }
    assert!(seen > 30, "{seen} links");
}
