//! `hiplaunch selftest` on the emulator: the parts, the report, and what a part that hangs does to it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Runs the test with a home folder of its own. Returns the exit status, the report and the page.
fn selftest(name: &str, args: &[&str]) -> (i32, Value, String) {
    let folder = folder(name);
    let report = folder.join("report.json");
    let output = Command::new(env!("CARGO_BIN_EXE_hiplaunch"))
        .args(["selftest", "--backend", "emulator", "--report"])
        .arg(&report)
        .args(args)
        .env("HOME", "/home/ada.lovelace")
        .env("USER", "ada.lovelace")
        .output()
        .unwrap();
    let read = |path: &Path| fs::read_to_string(path).unwrap();
    let page = read(&report.with_extension("html"));
    let document = serde_json::from_str(&read(&report)).unwrap();
    fs::remove_dir_all(&folder).unwrap();
    (output.status.code().unwrap(), document, page)
}

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("hiplaunch-selftest-{name}-{}", std::process::id()));
    fs::create_dir_all(&path).unwrap();
    path
}

#[test]
fn the_emulator_passes_and_the_report_has_every_case() {
    let (status, report, page) = selftest(
        "all",
        &["--only", "about", "--only", "conformance", "--only", "arithmetic", "--only", "calls"],
    );
    assert_eq!((status, &report["format"]), (0, &Value::from("hiplaunch selftest 1")), "{report:#}");
    let parts = report["parts"].as_array().unwrap();
    let names: Vec<_> = parts.iter().map(|part| part["part"].as_str().unwrap()).collect();
    assert_eq!(names, ["about", "conformance", "arithmetic", "calls"]);
    let cases = |n: usize| parts[n]["cases"].as_array().unwrap();
    assert_eq!(cases(1).len(), hip_conformance::CASES.len());
    assert_eq!(cases(2).len(), 13 + 13 + 10);
    assert!(cases(2).iter().all(|case| case["found"]["differing"] == 0), "the emulator beside itself");
    assert!(cases(3)[0]["found"]["rows"].as_array().is_some_and(|rows| rows.len() > 8));
    let document = roxmltree::Document::parse(page.strip_prefix("<!DOCTYPE html>\n").unwrap()).unwrap();
    let headings = document.descendants().filter(|node| node.has_tag_name("h2")).count();
    assert_eq!(headings, 4, "a heading for each part");
    for text in [report.to_string(), page] {
        assert!(!text.contains("ada.lovelace"), "{text}");
    }
}

#[test]
fn a_part_that_does_not_end_is_killed_and_reported() {
    let (status, report, page) = selftest("hung", &["--only", "launches", "--patience", "5"]);
    let case = &report["parts"][0]["cases"][0];
    assert_eq!((status, &case["name"], &case["state"]), (1, &Value::from("bench"), &Value::from("hung")));
    assert!(page.contains("no end after 5 s"), "{page}");
}

#[test]
fn a_driver_that_can_not_be_opened_is_reported() {
    let (status, report, _) = selftest("missing", &["--only", "conformance", "--device", "99"]);
    let case = &report["parts"][0]["cases"][0];
    assert_eq!((status, &case["name"], &case["state"]), (1, &Value::from("start"), &Value::from("failed")));
    assert!(case["why"].as_str().unwrap().contains("--device 99"), "{case}");
}
