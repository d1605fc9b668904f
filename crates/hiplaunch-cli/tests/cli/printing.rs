//! Kernels that print while a command runs them: the command ends, and documents on stdout are complete.

use std::io::Read;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Folder, command};

/// The time after which a command counts as hanging.
const PATIENCE: Duration = Duration::from_secs(120);

/// Runs a command, which must end in time. Returns the exit status, stdout and stderr.
fn ends(args: &[&str]) -> (i32, String, String) {
    let mut child = command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let read = |mut from: Box<dyn Read + Send>| {
        thread::spawn(move || {
            let mut text = String::new();
            from.read_to_string(&mut text).unwrap();
            text
        })
    };
    let (out, err) =
        (read(Box::new(child.stdout.take().unwrap())), read(Box::new(child.stderr.take().unwrap())));
    let deadline = Instant::now() + PATIENCE;
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break Some(status),
            None if Instant::now() > deadline => break None,
            None => thread::sleep(Duration::from_millis(10)),
        }
    };
    if status.is_none() {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let (out, err) = (out.join().unwrap(), err.join().unwrap());
    let status = status.unwrap_or_else(|| panic!("{args:?} hangs\nstdout: {out}\nstderr: {err}"));
    (status.code().expect("it ends by itself"), out, err)
}

/// The output of the kernel `print` for item 37 of block 1.
const LINE: &str = "item 37 of block 1: -42 2.500 a string that is longer than one packet holds, so that it takes \
                    several of them to arrive and %\n";

/// Returns two scripts: of a kernel whose `printf` calls the host, and of a kernel whose `printf` writes to a buffer
/// that is read when the kernel has ended.
fn scripts(folder: &Folder) -> [(String, &'static str); 2] {
    let copy = |name: &str, to: &str| {
        let data = hiplaunch_testing::root().join("crates/amdgpu-emulator/tests/data");
        folder.write(to, std::fs::read(data.join(name)).unwrap());
    };
    copy("printing.gfx90a.bundle", "calls.co");
    copy("compilers/buffered.gfx942.co", "buffered.co");
    folder.write("format.bin", b"the format of a buffer %d\n\0");
    let calls = r#"
        version = 1
        code_object = "calls.co"
        [[launches]]
        kernel = "print"
        grid = [2, 1, 1]
        block = [64, 1, 1]
        args = [ { i32 = -42 }, { f64 = 2.5 } ]
    "#;
    let buffered = r#"
        version = 1
        code_object = "buffered.co"
        [[buffers]]
        name = "format"
        file = "format.bin"
        [[launches]]
        kernel = "print"
        grid = [1, 1, 1]
        block = [1, 1, 1]
        args = [ { i32 = 5 }, { buffer = "format" } ]
    "#;
    [
        (folder.write("calls.launch.toml", calls), LINE),
        (folder.write("buffered.launch.toml", buffered), "the format of a buffer 5\n"),
    ]
}

#[test]
fn what_a_kernel_prints_is_on_stdout_among_the_lines() {
    let folder = Folder::new();
    let [(calls, line), (buffered, other)] = scripts(&folder);
    for options in [&["--backend", "emulator"][..], &["--backend", "emulator", "--validate"]] {
        let (status, out, err) = ends(&[&["run", &calls, &buffered], options].concat());
        assert_eq!((status, err.as_str()), (0, ""), "{out}");
        // The lines are in the order of the events.
        let at = |text: &str| out.find(text).unwrap_or_else(|| panic!("no {text:?} in {out}"));
        let order = [
            at("driver "),
            at(line),
            at("PASS"),
            at(other),
            out.rfind("PASS").unwrap(),
            at("2 passed, 0 failed\n"),
        ];
        assert!(order.is_sorted(), "{order:?}: {out}");
        assert_eq!(out.matches("item ").count(), 4, "{out}");
    }
}

#[test]
fn what_a_kernel_prints_is_on_stderr_where_stdout_is_json() {
    let folder = Folder::new();
    let file = folder.0.join("trace.csv");
    let file = file.to_str().unwrap();
    for (script, line) in &scripts(&folder) {
        let emulator = ["--backend", "emulator"];
        for args in [
            &["run", "--json", script][..],
            &["trace", "-o", file, "--json", "run", script],
            &["trace", "-o", file, "run", "--json", script],
        ] {
            let (status, out, err) = ends(&[args, &emulator].concat());
            assert_eq!(status, 0, "{args:?}: {out}{err}");
            let document: Value =
                serde_json::from_str(&out).unwrap_or_else(|e| panic!("{args:?}: {e}: {out}"));
            let report = document.get("report").unwrap_or(&document);
            assert_eq!(report["totals"]["passed"], 1, "{args:?}: {out}");
            assert!(err.contains(line), "{args:?}: {err}");
        }
    }
}

#[test]
fn what_a_kernel_prints_is_on_stderr_where_stdout_is_a_trace() {
    let folder = Folder::new();
    for (script, line) in &scripts(&folder) {
        let (status, out, err) = ends(&["trace", "-o", "-", "run", script, "--backend", "emulator"]);
        assert_eq!(status, 0, "{out}{err}");
        assert!(out.starts_with("Thread,Time,Action,"), "{out}");
        let columns = out.lines().next().unwrap().split(',').count();
        assert!(out.lines().all(|line| line.split(',').count() == columns), "{out}");
        assert!(err.contains(line) && err.contains("1 passed, 0 failed"), "{err}");
    }
}
