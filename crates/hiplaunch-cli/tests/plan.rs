//! `hiplaunch plan`: its output, its picture, and its errors for files that can't be used.

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
            format!("hiplaunch-plan-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> String {
        fs::write(self.0.join(name), contents).unwrap();
        self.path(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Runs the command. Returns the exit status, stdout and stderr.
fn plan(args: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hiplaunch"));
    for variable in ["HIPLAUNCH_LOG", "RUST_LOG", "NO_COLOR"] {
        command.env_remove(variable);
    }
    let output = command.arg("plan").args(args).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().expect("it ends by itself"), text(output.stdout), text(output.stderr))
}

/// The example of minimalloc: 5 buffers that fit into 12 bytes.
const SMALL: &str = "id,lower,upper,size\n1,0,3,4\n2,3,9,4\n3,0,9,4\n4,9,21,4\n5,0,21,4\n";

#[test]
fn a_small_problem() {
    let folder = Folder::new();
    let file = folder.write("small.csv", SMALL);
    let (status, out, err) = plan(&[&file]);
    assert_eq!((status, err.as_str()), (0, ""), "{out}");
    let lines: Vec<&str> = out.lines().map(str::trim).collect();
    assert_eq!(lines[0], format!("{file}: 5 buffers"));
    assert_eq!(
        lines[1..4],
        ["total          12 bytes", "lower bound    12 bytes", "optimal        yes, proved"]
    );
    assert!(
        lines[4].starts_with("found by") && lines[5].starts_with("time") && lines[5].ends_with("ms"),
        "{out}"
    );
}

#[test]
fn json_has_every_offset() {
    let folder = Folder::new();
    // Columns in another order, with quotes, spaces, empty lines and CR LF line ends.
    let text = "size, id,alignment,upper,lower,offset\r\n\r\n100,\"a, b\",64,10,0,\r\n 60 ,c,64,10,0, 128\r\n\r\n8,d,,20,10,\r\n";
    let file = folder.write("columns.csv", text);
    let (status, out, err) = plan(&[&file, "--json"]);
    assert_eq!((status, err.as_str()), (0, ""), "{out}");
    let json: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&json["total"], &json["optimal"]), (&188.into(), &true.into()));
    let buffers = json["buffers"].as_array().unwrap();
    let of = |i: usize| (buffers[i]["id"].as_str().unwrap(), buffers[i]["offset"].as_u64().unwrap());
    assert_eq!((of(0), of(1), of(2)), (("a, b", 0), ("c", 128), ("d", 0)));
}

#[test]
fn the_picture() {
    let folder = Folder::new();
    let file = folder.write("small.csv", SMALL);
    let svg = folder.path("small.svg");
    let (status, out, _) = plan(&[&file, "--svg", &svg]);
    assert_eq!(status, 0);
    assert!(out.contains(&format!("picture        {svg}")), "{out}");
    let text = fs::read_to_string(&svg).unwrap();
    let document = roxmltree::Document::parse(&text).unwrap();
    let all = |tag| document.descendants().filter(|n| n.has_tag_name(tag)).collect::<Vec<_>>();
    assert_eq!(all("title")[0].text(), Some("5 buffers in 12 bytes, optimal"));
    // Each buffer has a coloured rectangle of a third of the height, and as wide as its lifetime.
    let number = |node: &roxmltree::Node<'_, '_>, name| node.attribute(name).unwrap().parse::<i64>().unwrap();
    let coloured: Vec<_> = all("rect")
        .into_iter()
        .filter(|r| !["#FFFFFF", "#D8DEE4", "none"].contains(&r.attribute("fill").unwrap_or("none")))
        .map(|r| (number(&r, "x"), number(&r, "y"), number(&r, "width"), number(&r, "height")))
        .collect();
    assert_eq!(coloured.len(), 5, "{text}");
    let third = coloured[0].3;
    assert!(coloured.iter().all(|r| (r.3 - third).abs() <= 1), "{coloured:?}");
    let widest = coloured.iter().map(|r| r.2).max().unwrap();
    assert!((coloured[0].2 * 7 - widest).abs() <= 7, "3 of 21 positions: {coloured:?}");
    for (i, a) in coloured.iter().enumerate() {
        for b in &coloured[..i] {
            let apart = a.0 + a.2 <= b.0 || b.0 + b.2 <= a.0 || a.1 + a.3 <= b.1 || b.1 + b.3 <= a.1;
            assert!(apart, "{a:?} covers {b:?}");
        }
    }
    // A picture that can't be written is an error of the output.
    let (status, _, err) = plan(&[&file, "--svg", &folder.path("none/small.svg")]);
    assert_eq!(status, 3);
    assert!(err.contains("none/small.svg"), "{err}");
}

#[test]
fn capacities_and_budgets() {
    let folder = Folder::new();
    let file = folder.write("small.csv", SMALL);
    let (status, out, _) = plan(&[&file, "--capacity", "16"]);
    assert_eq!(status, 0);
    assert!(out.contains("capacity       16 bytes, 4 to spare"), "{out}");
    let (status, out, err) = plan(&[&file, "--capacity", "11"]);
    assert_eq!((status, out.as_str()), (1, ""));
    assert!(err.contains("1 bytes too small: 12 bytes would do; no plan needs less than 12"), "{err}");
    for budget in [["--nodes", "0"], ["--nodes", "1000"], ["--seconds", "0.5"]] {
        let (status, out, _) = plan(&[&file, budget[0], budget[1]]);
        assert_eq!(status, 0, "{budget:?}: {out}");
    }
    for wrong in [&["--nodes", "1", "--seconds", "1"][..], &["--seconds", "-1"], &["--nodes", "x"]] {
        assert_eq!(plan(&[&[file.as_str()], wrong].concat()).0, 2, "{wrong:?}");
    }
}

#[test]
fn files_that_cannot_be_used() {
    let folder = Folder::new();
    for (text, place, problem) in [
        ("", "", "is empty; expected a header: id,lower,upper,size"),
        ("id,lower,upper\n", ":1", "the column `size` is missing"),
        ("id,lower,upper,size,id\n", ":1:21", "the column `id` is there twice"),
        ("id,lower,upper,length\n", ":1:16", "no column is called `length`"),
        ("id,lower,upper,size\na,0,1\n", ":2", "has 3 fields; the header has 4"),
        ("id,lower,upper,size\n\na,0,x,8\n", ":3:5", "`upper` is `x`; expected a whole number"),
        ("id,lower,upper,size\na,0,1,-8\n", ":2:7", "`size` is `-8`"),
        ("id,lower,upper,size\na,0,1,\n", ":2:7", "`size` is ``"),
        ("id,lower,upper,size\n,0,1,8\n", ":2:1", "the id is empty"),
        ("id,lower,upper,size\na,0,1,8\nb,0,1,8\na,0,1,8\n", ":4:1", "buffer `a` is in line 2 already"),
        ("id,lower,upper,size\na,3,3,8\n", ":2:5", "buffer `a`: its lifetime ends before it begins"),
        ("id,lower,upper,size\na,0,1,0\n", ":2:7", "buffer `a`: its size is 0 bytes"),
        ("id,lower,upper,size\na,0,1,18446744073709551615\n", ":2:7", "add up to more than 2^62"),
        ("id,lower,upper,size,alignment\na,0,1,8,3\n", ":2:9", "alignment 3 is not a power of two"),
        (
            "id,lower,upper,size,alignment,offset\na,0,1,8,16,8\n",
            ":2:12",
            "is not a multiple of its alignment 16",
        ),
        (
            "id,lower,upper,size,offset\na,0,2,8,0\nb,1,3,8,4\n",
            "",
            "buffers `a` and `b` are live at the same time",
        ),
    ] {
        let file = folder.write("bad.csv", text);
        let (status, out, err) = plan(&[&file]);
        assert_eq!((status, out.as_str()), (2, ""), "{text:?}");
        assert!(err.contains(&format!("{file}{place}: ")) && err.contains(problem), "{text:?}: {err}");
    }
    let binary = folder.write("binary.csv", [0xff, 0xfe, 0x00]);
    assert_eq!(plan(&[&binary]).0, 2);
    let (status, _, err) = plan(&[&folder.path("none.csv")]);
    assert_eq!(status, 2);
    assert!(err.contains("none.csv: cannot be read"), "{err}");
    assert_eq!(plan(&[folder.0.to_str().unwrap()]).0, 2);
}
