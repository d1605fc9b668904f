//! `hiplaunch bench` on the emulator: cases, files, comparisons, and the failure of wrong results.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;

/// A folder of one test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name =
            format!("hiplaunch-bench-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    fn files(&self) -> usize {
        fs::read_dir(&self.0).unwrap().count()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Runs the bench. Returns the exit status, stdout and stderr.
fn bench(args: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hiplaunch"));
    for variable in ["HIPLAUNCH_BACKEND", "HIPLAUNCH_VALIDATE", "HIPLAUNCH_LOG", "RUST_LOG", "NO_COLOR"] {
        command.env_remove(variable);
    }
    let output = command.arg("bench").args(args).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().expect("it ends by itself"), text(output.stdout), text(output.stderr))
}

/// Returns the arguments for a few cases of every method, on the emulator.
fn few<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let few = [
        "--quick",
        "--rounds",
        "5",
        "--backend",
        "emulator",
        "--filter",
        "args/64B/",
        "--filter",
        "args/4KiB/",
    ];
    few.iter().chain(&["--filter", "depth/1/", "--filter", "depth/4/"]).chain(more).copied().collect()
}

/// Checks that the page is well-formed and fetches nothing.
fn check_page(text: &str) -> usize {
    let body = text.strip_prefix("<!DOCTYPE html>\n").expect("a page");
    let document = roxmltree::Document::parse(body).unwrap();
    for node in document.descendants().filter(|node| node.is_element()) {
        assert!(!["script", "iframe", "img"].contains(&node.tag_name().name()), "{node:?}");
        for attribute in ["src", "href", "srcset", "data"] {
            assert!(node.attribute(attribute).is_none_or(|to| to.starts_with("data:")), "{node:?}");
        }
    }
    assert!(!text.contains("url(") && !text.contains("@import"));
    document.descendants().filter(|node| node.has_tag_name(("http://www.w3.org/2000/svg", "svg"))).count()
}

#[test]
fn every_method_is_measured_and_written() {
    let folder = Folder::new();
    let (json, html, svg) = (folder.path("r.json"), folder.path("r.html"), folder.path("r.svg"));
    let (status, out, err) = bench(&few(&["--json", &json, "--html", &html, "--svg", &svg]));
    assert_eq!((status, err.as_str()), (0, ""), "{out}");
    assert_eq!(folder.files(), 3, "nothing else is left");
    for text in ["A typical launch", "argument block", "over driver", "mean nothing for a GPU", "Arguments:"]
    {
        assert!(out.contains(text), "{text}: {out}");
    }

    let results: Value = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
    let points = results["points"].as_array().unwrap();
    assert_eq!(points.len(), 4);
    for point in points {
        let methods = point["methods"].as_array().unwrap();
        assert_eq!(methods.len(), 12);
        for method in methods {
            let name = method["method"].as_str().unwrap();
            if point["value"] == 4096 && name.ends_with("value") {
                assert!(method["skipped"].as_str().unwrap().contains("4 KiB"), "{method}");
                continue;
            }
            let (total, host) = (&method["total_ns"], &method["host_ns"]);
            let median = total["median"].as_f64().unwrap();
            assert!(median > 0.0 && host["median"].as_f64().unwrap() > 0.0, "{method}");
            assert!(total["p10"].as_f64().unwrap() <= median && median <= total["p90"].as_f64().unwrap());
            assert_eq!(
                (&total["samples"], method["total_ns_samples"].as_array().unwrap().len()),
                (&5.into(), 5)
            );
            assert!(method["times_as_fast_as_naive"]["median"].as_f64().unwrap() > 0.0, "{method}");
            assert_eq!(method["times_the_floor"].is_null(), name.starts_with("raw-"), "{method}");
            assert!(method["device_ns"].is_null(), "the emulator's device times are none");
        }
    }

    // These figures do not depend on the machine. The wait for 16 launches takes the place of the last one's event.
    let typical = points.iter().find(|point| point["axis"] == "args" && point["value"] == 64).unwrap();
    for (method, calls) in [
        ("naive", 8.0),
        ("async", 7.06),
        ("value", 3.0),
        ("block", 4.0),
        ("unchanged", 3.0),
        ("mapped", 2.0),
        ("graph", 0.25),
        ("raw-value", 2.06),
        ("raw-block", 3.06),
        ("raw-unchanged", 2.06),
        ("raw-mapped", 1.06),
        ("raw-graph", 0.13),
    ] {
        let found =
            typical["methods"].as_array().unwrap().iter().find(|case| case["method"] == method).unwrap();
        let counted = found["driver_calls"].as_f64().unwrap();
        assert!((counted - calls).abs() < 0.011, "{method}: {counted}");
    }

    // The typical launch; arguments, arguments in calls, depth.
    assert_eq!(check_page(&fs::read_to_string(&html).unwrap()), 4);
    let picture = fs::read_to_string(&svg).unwrap();
    let document = roxmltree::Document::parse(&picture).unwrap();
    let texts: Vec<&str> = document.descendants().filter_map(|n| n.text()).map(str::trim).collect();
    for method in ["naive launch", "hipMallocAsync", "by value", "graph replay", "driver: mapped"] {
        assert!(texts.contains(&method), "{method}: {texts:?}");
    }
}

#[test]
fn results_are_compared() {
    let folder = Folder::new();
    let old = folder.path("old.json");
    let (status, out, err) = bench(&few(&["--json", &old]));
    assert_eq!((status, err.as_str()), (0, ""), "{out}");

    // Compares the same results with themselves, without measuring.
    let html = folder.path("r.html");
    let (status, out, err) = bench(&["--from", &old, "--compare", &old, "--html", &html]);
    assert_eq!((status, err.as_str()), (0, ""), "{out}");
    assert!(
        out.contains("46 cases compared with") && out.contains("0 faster, 0 slower, 46 the same"),
        "{out}"
    );
    check_page(&fs::read_to_string(&html).unwrap());

    // One case is slower by half, another one is faster, and the device is another one.
    let mut results: Value = serde_json::from_str(&fs::read_to_string(&old).unwrap()).unwrap();
    for (method, factor) in [(0, 1.5), (3, 0.5)] {
        let samples = results["points"][0]["methods"][method]["total_ns_samples"].as_array_mut().unwrap();
        *samples = vec![(1000.0 * factor).into(); 5];
        let mut before: Value = serde_json::from_str(&fs::read_to_string(&old).unwrap()).unwrap();
        before["points"][0]["methods"][method]["total_ns_samples"] = vec![1000.0; 5].into();
        fs::write(&old, before.to_string()).unwrap();
    }
    for line in results["about"]["lines"].as_array_mut().unwrap() {
        if line[0] == "device" {
            line[1] = "another GPU".into();
        }
    }
    let new = folder.path("new.json");
    fs::write(&new, results.to_string()).unwrap();
    let (status, out, _) = bench(&["--from", &new, "--compare", &old, "--json", "-"]);
    assert_eq!(status, 0, "{out}");
    let printed: Value = serde_json::from_str(&out).unwrap();
    let compared = &printed["compared"];
    let verdict = |case: &str| {
        let changes = compared["changes"].as_array().unwrap();
        let change = changes.iter().find(|change| change["case"] == case).unwrap();
        (change["verdict"].as_str().unwrap().to_owned(), change["ratio"].as_f64().unwrap())
    };
    assert_eq!(verdict("args/64B/naive"), ("slower".to_owned(), 1.5));
    assert_eq!(verdict("args/64B/block"), ("faster".to_owned(), 0.5));
    assert_eq!(verdict("args/64B/mapped").0, "same");
    assert!(compared["differs"][0].as_str().unwrap().contains("another GPU"), "{compared}");
}

#[test]
fn a_kernel_that_computes_something_else_is_a_failure() {
    let folder = Folder::new();
    let object = hiplaunch_testing::root().join("hip/bench.gfx90a.co");
    let mut image = fs::read(object).unwrap();
    // The difference between the words of a result (hip/bench.hip). Compilers subtract its negative.
    let step = 0x9e37_79b9u32.wrapping_neg().to_le_bytes();
    let found: Vec<usize> = (0..image.len() - 4).filter(|&at| image[at..at + 4] == step).collect();
    assert!(!found.is_empty());
    found.iter().for_each(|&at| image[at] ^= 1);
    let (other, html) = (folder.path("other.co"), folder.path("r.html"));
    fs::write(&other, image).unwrap();
    let (status, out, err) = bench(&few(&["--code-object", &other, "--html", &html]));
    assert_eq!((status, out.as_str()), (1, ""), "{err}");
    assert!(err.contains("args/64B/naive: wrong result: launch 0, word 1: got"), "{err}");
    assert_eq!(folder.files(), 1, "no page is left half done");
}

#[test]
fn no_launch_method_misuses_the_driver() {
    let few = ["--quick", "--rounds", "5", "--backend", "emulator", "--validate"];
    let cases = ["empty/1/", "args/8B/", "results/0B/", "results/8KiB/", "streams/2/", "threads/2/"];
    let args: Vec<&str> =
        few.into_iter().chain(cases.into_iter().flat_map(|case| ["--filter", case])).collect();
    let (status, out, err) = bench(&args);
    assert_eq!((status, err.as_str()), (0, ""), "{out}");
    assert!(out.contains("The validation layer was over the driver"), "{out}");
}

#[test]
fn cases_are_listed() {
    let (status, all, _) = bench(&["--list"]);
    assert_eq!(status, 0);
    for case in [
        "args/8B/naive",
        "args/1MiB/block",
        "results/0B/mapped",
        "depth/1000/graph",
        "streams/8/raw-block",
        "threads/8/async",
    ] {
        assert!(all.lines().any(|line| line.split(' ').next() == Some(case)), "{case}: {all}");
    }
    let (_, some, _) = bench(&["--list", "--filter", "threads/", "--filter", "/graph"]);
    assert!(some.lines().count() < all.lines().count() && some.contains("depth/1000/graph"));
    assert!(some.lines().all(|line| line.contains("threads/") || line.contains("/graph")), "{some}");
}

#[test]
fn unusable_input_is_reported() {
    let folder = Folder::new();
    let file = folder.path("file.json");
    for (text, problem) in [
        ("", "no JSON"),
        ("{\"format\": \"other\"}", "this version reads `hiplaunch bench 2`"),
        ("[]", "`format` is missing"),
    ] {
        fs::write(&file, text).unwrap();
        for args in [["--from", &file], ["--compare", &file]] {
            let (status, out, err) = bench(&args);
            assert_eq!((status, out.as_str()), (2, ""), "{args:?} {text}");
            assert!(err.contains(&file) && err.contains(problem), "{err}");
        }
    }
    for (args, status, problem) in [
        (&["--filter", "args/7B/"][..], 2, "no case has `args/7B/` in its name; --list shows them"),
        (&["--from", "none.json"], 2, "none.json: cannot be read"),
        (&["--code-object", "none.co"], 2, "none.co: cannot be read"),
        (&["--rounds", "0"], 2, "--rounds"),
        (&["--from", "a", "--quick"], 2, "cannot be used with"),
        (&["--html", "none/r.html"], 3, "none/r.html"),
        (&["--backend", "emulator", "--target", "gfx1010"], 2, "gfx1010"),
    ] {
        let (got, out, err) = bench(args);
        assert_eq!((got, out.as_str()), (status, ""), "{args:?}: {err}");
        assert!(err.contains(problem), "{args:?}: {err}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported() {
    let (status, _, err) = bench(&few(&["--html", "/dev/full"]));
    assert_eq!(status, 3, "{err}");
    assert!(err.contains("cannot write the output"), "{err}");
}

/// The page in a browser: its console has no error, and all figures are shown.
#[test]
fn a_browser_opens_the_page() {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let found = names
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok_and(|o| o.status.success()));
    let Some(browser) = found else {
        println!("skipped: none of {names:?} is installed");
        return;
    };
    let folder = Folder::new();
    let html = folder.path("r.html");
    let (status, out, _) = bench(&few(&["--html", &html]));
    assert_eq!(status, 0, "{out}");
    let page = fs::read_to_string(&html).unwrap();
    // A wrong page, to check that errors are detected.
    let wrong = folder.path("wrong.html");
    fs::write(
        &wrong,
        page.replace("</body>", "<svg><path d=\"nonsense\"/></svg><script>none()</script></body>"),
    )
    .unwrap();
    let open = |name: &str, file: &str| {
        let output = Command::new(browser)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .args(["--enable-logging=stderr", "--v=0", "--dump-dom"])
            .arg(format!("--user-data-dir={}", folder.path(name)))
            .arg(format!("file://{file}"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let log = String::from_utf8_lossy(&output.stderr).into_owned();
        let console: Vec<String> = log.lines().filter(|l| l.contains("CONSOLE")).map(str::to_owned).collect();
        (String::from_utf8_lossy(&output.stdout).into_owned(), console)
    };
    let (dom, console) = open("profile", &html);
    assert!(console.is_empty(), "{console:?}");
    assert_eq!(dom.matches("<svg").count(), page.matches("<svg").count());
    assert!(dom.trim_end().ends_with("</html>"));
    let (_, console) = open("other", &wrong);
    assert!(!console.is_empty(), "a wrong page has errors");
}
