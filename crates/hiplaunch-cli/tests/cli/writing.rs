//! Output that can't be written: closed pipes and full disks. Also checks which files are left.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use super::{Folder, command, data, hip, hiplaunch, read};

/// Runs a command, reads some lines of its stdout and closes the pipe. Returns the exit status and stderr. With 0
/// lines, the pipe is closed before the command starts.
fn closed_after(lines: usize, args: &[&str]) -> (Option<i32>, String) {
    let (reader, writer) = std::io::pipe().unwrap();
    let mut reader = (lines > 0).then_some(BufReader::new(reader));
    let mut child = command(args).stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
    for _ in 0..lines {
        reader.as_mut().unwrap().read_line(&mut String::new()).unwrap();
    }
    drop(reader);
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    (child.wait().unwrap().code(), err)
}

/// If the reader closes the pipe early, as `head` does, the command prints one line on stderr and has status 3.
#[test]
fn a_closed_pipe_is_no_panic() {
    let script = data("saxpy.launch.toml");
    let object = hip("tensor.gfx90a.co");
    for (lines, args) in [
        (0, &["demo", "--launches", "50", "--backend", "emulator"][..]),
        (1, &["demo", "--launches", "500", "--backend", "emulator"]),
        (0, &["run", &script, "--backend", "emulator"]),
        (0, &["info"]),
        (0, &["info", "--json"]),
        // More output than a pipe holds.
        (1, &["inspect", &object, &object, &object, &object]),
        (0, &["inspect", "--json", &object]),
        (0, &["completions", "zsh"]),
        (0, &["man"]),
        (0, &["--help"]),
    ] {
        let (status, err) = closed_after(lines, args);
        assert_eq!(status, Some(3), "{args:?}: {err}");
        assert_eq!(err, "hiplaunch: the output's reader went away before its end\n", "{args:?}");
    }
}

/// `hiplaunch ... | head -1`, as a shell runs it.
#[cfg(unix)]
#[test]
fn head_takes_its_line() {
    let line =
        format!("{} inspect {} 2>&1 | head -1", env!("CARGO_BIN_EXE_hiplaunch"), hip("tensor.gfx90a.co"));
    let output = Command::new("sh").args(["-c", &line]).output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(out.contains("tensor.gfx90a.co: code object") && out.lines().count() == 1, "{out}");
}

/// Stdout and stderr are closed before the command starts.
#[cfg(unix)]
#[test]
fn closed_from_the_start() {
    let binary = env!("CARGO_BIN_EXE_hiplaunch");
    for (line, status) in
        [("info >&-", 0), ("info 2>&-", 0), ("frob 2>&-", 2), ("inspect none.co >&- 2>&-", 2)]
    {
        let output = Command::new("sh").args(["-c", &format!("{binary} {line}")]).output().unwrap();
        assert_eq!(output.status.code(), Some(status), "{line}");
    }
}

/// Stdout is a full disk.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported() {
    let object = hip("vector.gfx90a.co");
    for args in [&["info"][..], &["inspect", &object], &["man"], &["completions", "bash"], &["--version"]] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let (status, _, err) = read(command(args).stdout(full).output().unwrap());
        assert_eq!(status, 3, "{args:?}");
        assert!(err.starts_with("hiplaunch: cannot write the output: "), "{args:?}: {err}");
        assert!(
            err.contains("No space left on device") && err.contains("free some space"),
            "{args:?}: {err}"
        );
    }
}

/// Returns commands that write a file, each with a path in `folder`.
fn reports(folder: &str) -> Vec<Vec<String>> {
    let at = |name: &str| format!("{folder}/{name}");
    let docs = |name: &str| {
        let path = hiplaunch_testing::root().join("docs").join(name);
        path.to_str().unwrap().to_owned()
    };
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let (trace, plan) = (docs("pool.trace.csv"), docs("plan.csv"));
    vec![
        words(&["plan", &plan, "--svg", &at("old")]),
        words(&["replay", &trace, "--backend", "emulator", "--snapshot", &at("old.svg")]),
        words(&["trace", "-o", &at("old"), "demo", "--launches", "3", "--backend", "emulator"]),
        words(&["man", "--folder", folder]),
    ]
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A limit on the size of files acts as a disk that is full after some bytes: the write fails, the command reports it,
/// an existing file stays, and no incomplete file is left.
#[cfg(unix)]
#[test]
fn a_file_that_does_not_fit() {
    for args in reports("FOLDER") {
        let folder = Folder::new();
        let path = folder.0.to_str().unwrap();
        let args: Vec<String> = args.iter().map(|arg| arg.replace("FOLDER", path)).collect();
        for name in ["old", "old.svg", "hiplaunch.1"] {
            folder.write(name, "before");
        }
        // A limit of one block, which is 512 bytes or 1 KiB, depending on the shell.
        let line = format!("trap '' XFSZ; ulimit -f 1; exec {} \"$@\"", env!("CARGO_BIN_EXE_hiplaunch"));
        let output = Command::new("sh").args(["-c", &line, "sh"]).args(&args).output().unwrap();
        let (status, _, err) = read(output);
        assert_eq!(status, 3, "{args:?}: {err}");
        assert!(err.contains("cannot write the output: ") && err.contains(path), "{args:?}: {err}");
        assert!(err.contains("free some space, or write it elsewhere"), "{args:?}: {err}");
        assert_eq!(names(&folder.0), ["hiplaunch.1", "old", "old.svg"], "{args:?}");
        for name in names(&folder.0) {
            assert_eq!(fs::read(folder.0.join(&name)).unwrap(), b"before", "{args:?}: {name}");
        }
    }
}

/// The same on a full file system of 16 KiB, if this process may mount one.
#[cfg(target_os = "linux")]
#[test]
fn a_small_file_system() {
    let folder = Folder::new();
    let path = folder.0.to_str().unwrap();
    let inside = |script: &str| {
        let script = format!("mount -t tmpfs -o size=16k tmpfs '{path}' && {{ {script}\n}}");
        Command::new("unshare").args(["-rm", "sh", "-c", &script]).output()
    };
    match inside("true") {
        Ok(output) if output.status.success() => {}
        Ok(output) => return println!("skipped: {}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => return println!("skipped: unshare: {error}"),
    }
    for args in reports(path).iter().take(3) {
        let binary = env!("CARGO_BIN_EXE_hiplaunch");
        let script = format!(
            "cd '{path}'; echo before > old; echo before > old.svg; head -c 7k /dev/zero > filler\n\
             {binary} {}; echo status $?; cat old old.svg; ls -A",
            args.iter().map(|arg| format!("'{arg}'")).collect::<Vec<_>>().join(" ")
        );
        let output = inside(&script).unwrap();
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(out.ends_with("status 3\nbefore\nbefore\nfiller\nold\nold.svg\n"), "{args:?}: {out}{err}");
        assert!(err.contains("No space left on device"), "{args:?}: {err}");
    }
}

/// A command that is killed while it works leaves no file in the target's folder.
#[cfg(unix)]
#[test]
fn a_killed_command_leaves_nothing() {
    let folder = Folder::new();
    let csv = folder.0.join("demo.csv");
    let mut child = command(&["trace", "-o", csv.to_str().unwrap()])
        .args(["demo", "--launches", "1000000", "--backend", "emulator"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // When the command prints its first line, it has begun to work.
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(names(&folder.0), [""; 0]);
}

#[test]
fn places_that_cannot_be_written() {
    let folder = Folder::new();
    let path = folder.0.to_str().unwrap();
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/plan.csv");
    for (args, words) in [
        (&["plan", docs, "--svg", path][..], "name a file in it"),
        (&["plan", docs, "--svg", &format!("{path}/none/a.svg")], "make the folder"),
        (&["man", "--folder", &format!("{path}/none")], "make the folder"),
    ] {
        let (status, _, err) = hiplaunch(args);
        assert_eq!(status, 3, "{args:?}: {err}");
        assert!(err.contains("cannot write the output: ") && err.contains(words), "{args:?}: {err}");
    }
}
