//! Help, man pages, shell completions, colours, and exit statuses.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use super::{Folder, command, data, hiplaunch, read};

/// Returns the commands that `--help` lists.
fn commands() -> Vec<String> {
    let (status, out, _) = hiplaunch(&["--help"]);
    assert_eq!(status, 0);
    let list =
        out.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names: Vec<String> =
        list.filter_map(|line| line.split_whitespace().next().map(str::to_owned)).collect();
    for name in ["run", "exec", "demo", "trace", "replay", "plan", "info", "inspect", "completions", "man"] {
        assert!(names.iter().any(|n| n == name), "{name}: {names:?}");
    }
    names
}

/// Returns the examples in a command's help.
fn examples(name: &str) -> Vec<String> {
    let (status, out, err) = hiplaunch(&[name, "--help"]);
    assert_eq!((status, err.as_str()), (0, ""), "{name}");
    let lines = out.lines().skip_while(|line| !line.starts_with("Example"));
    lines.filter(|line| line.trim().starts_with("hiplaunch ")).map(|line| line.trim().to_owned()).collect()
}

#[test]
fn every_command_has_help_with_an_example() {
    for name in commands() {
        assert!(!examples(&name).is_empty(), "{name}");
        let (status, short, _) = hiplaunch(&[&name, "-h"]);
        assert_eq!(status, 0);
        assert!(short.contains("Usage: hiplaunch ") && short.contains("Example"), "{short}");
    }
}

#[test]
fn unknown_flags_are_refused() {
    for name in commands() {
        let (status, out, err) = hiplaunch(&[&name, "--frob"]);
        assert_eq!((status, out.as_str()), (2, ""), "{name}: {err}");
        assert!(err.contains("--frob") && err.contains("try '--help'"), "{name}: {err}");
    }
}

/// The examples of the help work. They run in a folder with the files of the repository.
#[cfg(unix)]
#[test]
fn the_examples_work() {
    let root = hiplaunch_testing::root();
    let bin = Path::new(env!("CARGO_BIN_EXE_hiplaunch")).parent().unwrap();
    let path = std::env::join_paths(
        [bin.to_owned()].into_iter().chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    for name in commands() {
        // These take minutes on a busy machine. A fleet needs the Python package and Ray, whose tests run it. HIP needs a GPU.
        let left_out = |line: &str| {
            ["bench", "fleet"].contains(&name.as_str())
                || line == "hiplaunch demo"
                || line.ends_with("--backend hip")
        };
        for line in examples(&name).iter().filter(|line| !left_out(line)) {
            let folder = Folder::new();
            for there in ["hip", "docs", "tests"] {
                std::os::unix::fs::symlink(root.join(there), folder.0.join(there)).unwrap();
            }
            let mut shell = Command::new("sh");
            shell.args(["-c", line]).current_dir(&folder.0).env("PATH", path.as_ref().unwrap());
            let (status, out, err) = read(shell.env("HIPLAUNCH_BACKEND", "auto").output().unwrap());
            if name == "compile" && err.contains("no usable") {
                println!("skipped: {line}: {err}");
                continue;
            }
            assert_eq!(status, 0, "{line}: {out}{err}");
        }
    }
}

/// `fleet` is a command of the Python package. Here `python3` is a program that records what it is asked.
#[cfg(unix)]
#[test]
fn fleet_runs_the_python_package() {
    use std::os::unix::fs::PermissionsExt;

    let folder = Folder::new();
    let python = folder.0.join("python3");
    let run = |text: &str| {
        fs::write(&python, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).unwrap();
        let mut command = command(&["fleet", "run", "a.launch.toml", "--address", "auto", "--help"]);
        read(command.env("PATH", &folder.0).output().unwrap())
    };
    let (status, _, err) = run("exit 1");
    assert_eq!(status, 2);
    assert!(err.contains("pip install 'hiplaunch[ray]'"), "{err}");
    for ends in [0, 1, 2] {
        let (status, out, _) = run(&format!("[ \"$1\" = -c ] && exit 0; echo \"$@\"; exit {ends}"));
        assert_eq!(
            (status, out.as_str()),
            (ends, "-m hiplaunch fleet run a.launch.toml --address auto --help\n")
        );
    }
    fs::remove_file(&python).unwrap();
    let (status, _, err) = read(command(&["fleet", "run"]).env("PATH", &folder.0).output().unwrap());
    assert_eq!(status, 2);
    assert!(err.contains("python3 can't be run"), "{err}");
}

#[test]
fn exit_statuses_are_documented_and_kept() {
    let (_, help, _) = hiplaunch(&["--help"]);
    let (_, man, _) = hiplaunch(&["man"]);
    assert!(
        help.contains("Exit status:\n  0  everything passed\n  1  ") && help.contains("\n  3  "),
        "{help}"
    );
    assert!(man.contains(".SH \"EXIT STATUS\"") || man.contains(".SH EXIT STATUS"), "{man}");
    let (saxpy, wrong) = (data("saxpy.launch.toml"), data("wrong.launch.toml"));
    let fault = data("fault.launch.toml");
    for (status, args) in [
        (0, &["run", &saxpy, "--backend", "emulator"][..]),
        (0, &["--help"]),
        (0, &["--version"]),
        (1, &["run", &wrong, "--backend", "emulator"]),
        (1, &["run", &fault, "--backend", "emulator"]),
        (2, &["run", "none.launch.toml", "--backend", "emulator"]),
        (2, &["inspect", "none.co"]),
        (2, &["plan", "none.csv"]),
        (2, &["replay", "none.csv"]),
        (2, &["info", "--frob"]),
        (2, &[]),
        (2, &["man", "frob"]),
        (2, &["completions", "cmd"]),
        (3, &["trace", "-o", "none/trace.csv", "demo"]),
    ] {
        let (code, out, err) = hiplaunch(args);
        assert_eq!(code, status, "{args:?}: {out}{err}");
        // The errors of a script are in its report.
        assert!(status < 2 || args.first() == Some(&"run") || !err.is_empty(), "{args:?}");
    }
}

#[test]
fn errors_say_what_to_do() {
    let folder = Folder::new();
    let directory = folder.0.to_str().unwrap();
    for (args, words) in [
        (
            &["inspect", "none.co"][..],
            "none.co: cannot be read: No such file or directory (os error 2); check its name",
        ),
        (&["inspect", directory], "name a file in it"),
        (&["plan", directory], "name a file in it"),
        (&["replay", "none.csv"], "check its name"),
        (&["replay", directory], "name a file in it"),
        (
            &["demo", "--target", "gfx1010"],
            "--target gfx1010: no emulator for gfx1010: gfx90a, gfx942, gfx950, gfx1030, gfx1031, ",
        ),
        (&["demo", "--backend", "emulator", "--device", "9"], "`hiplaunch info` lists them"),
        (&["inspect", &folder.write("text", "text")], "hipcc --genco"),
        (&["inspekt"], "'inspect'"),
        (&["info", "--jsn"], "--json"),
        (&["man", "frob"], "has run, exec, demo, "),
        (&["demo", "--color", "sometimes"], "auto, always, never"),
    ] {
        let (status, out, err) = hiplaunch(args);
        assert_eq!((status, out.as_str()), (2, ""), "{args:?}: {err}");
        assert!(err.contains(words), "{args:?}: {err}");
    }
}

#[test]
fn colours_follow_the_option_and_the_environment() {
    let coloured = |args: &[&str], set: &[(&str, &str)]| {
        let output = command(args).envs(set.iter().copied()).output().unwrap();
        let (_, out, err) = read(output);
        out.contains('\x1b') || err.contains('\x1b')
    };
    for args in [&["info"][..], &["--help"], &["frob"], &["inspect", "none.co"]] {
        let with = |option| [&["--color", option], args].concat();
        assert!(!coloured(args, &[]), "{args:?}: it is no terminal");
        assert!(coloured(args, &[("CLICOLOR_FORCE", "1")]), "{args:?}");
        assert!(!coloured(args, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]), "{args:?}");
        assert!(coloured(&with("always"), &[("NO_COLOR", "1")]), "{args:?}");
        assert!(!coloured(&with("never"), &[("CLICOLOR_FORCE", "1")]), "{args:?}");
    }
    assert!(coloured(&["info", "--color=always"], &[]));
}

/// Whether a program exists. Prints that a test is skipped if it does not.
fn there(name: &str) -> bool {
    let found = Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if found.is_err() {
        println!("skipped: no {name}");
    }
    found.is_ok()
}

#[test]
fn completions_are_scripts_of_their_shells() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let (status, script, err) = hiplaunch(&["completions", shell]);
        assert_eq!((status, err.as_str()), (0, ""), "{shell}");
        for word in commands() {
            assert!(script.contains(&word), "{shell}: {word}");
        }
        if ["bash", "zsh", "fish"].contains(&shell) && there(shell) {
            let mut child = Command::new(shell).arg("-n").stdin(Stdio::piped()).spawn().unwrap();
            child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
            assert!(child.wait().unwrap().success(), "{shell} -n");
        }
    }
}

/// Checks what bash offers after some words.
#[test]
fn bash_completes() {
    if !there("bash") {
        return;
    }
    let folder = Folder::new();
    let script = folder.write("hiplaunch.bash", hiplaunch(&["completions", "bash"]).1);
    let offers = |words: &[&str]| {
        let line = format!(
            "source '{script}'; COMP_WORDS=({}); COMP_CWORD={}; _hiplaunch hiplaunch '{}' '{}'; echo \"${{COMPREPLY[@]}}\"",
            words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" "),
            words.len() - 1,
            words[words.len() - 1],
            words[words.len() - 2]
        );
        let output = Command::new("bash").args(["--norc", "-c", &line]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(offers(&["hiplaunch", "in"]).split_whitespace().eq(["info", "inspect"]));
    assert_eq!(offers(&["hiplaunch", "inspect", "--ker"]).trim(), "--kernel");
    assert!(
        offers(&["hiplaunch", "demo", "--backend", ""])
            .split_whitespace()
            .eq(["auto", "hip", "hsa", "emulator"])
    );
    assert!(offers(&["hiplaunch", "completions", ""]).contains("fish"));
}

#[test]
fn man_pages_render() {
    let folder = Folder::new();
    let (status, out, err) = hiplaunch(&["man", "--folder", folder.0.to_str().unwrap()]);
    assert_eq!((status, out.as_str(), err.as_str()), (0, "", ""));
    let pages: Vec<_> = fs::read_dir(&folder.0).unwrap().map(|entry| entry.unwrap().path()).collect();
    // The pages of each command, of the commands of `trace`, and of hiplaunch.
    assert_eq!(pages.len(), commands().len() + 3, "{pages:?}");
    for command in commands() {
        let page = fs::read_to_string(folder.0.join(format!("hiplaunch-{command}.1"))).unwrap();
        for section in ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES"] {
            assert!(page.contains(&format!(".SH {section}\n")), "{command}: {section}");
        }
    }
    let whole = fs::read_to_string(folder.0.join("hiplaunch.1")).unwrap();
    assert_eq!(hiplaunch(&["man"]).1, whole);
    let trace_run = fs::read_to_string(folder.0.join("hiplaunch-trace-run.1")).unwrap();
    assert_eq!(hiplaunch(&["man", "trace", "run"]).1, trace_run);

    if there("groff") {
        for page in &pages {
            let mut groff = Command::new("groff");
            let output = groff.args(["-man", "-Tutf8", "-ww", "-P-cbuo"]).arg(page).output().unwrap();
            let (out, err) =
                (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            assert!(output.status.success() && err.is_empty(), "{page:?}: {err}");
            assert!(out.contains("SYNOPSIS") && out.contains("EXIT STATUS"), "{out}");
        }
    }
    if there("man") {
        let mut man = Command::new("man");
        let output = man.args(["--warnings", "-l"]).arg(folder.0.join("hiplaunch.1")).env("MANWIDTH", "100");
        let output = output.env("LC_ALL", "C.UTF-8").env("MANPAGER", "cat").output().unwrap();
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && err.is_empty(), "{err}");
        for words in ["hiplaunch-inspect(1)", "HIPLAUNCH_BACKEND", "NO_COLOR", "everything passed"] {
            assert!(out.contains(words), "{words}: {out}");
        }
    }
}

#[test]
fn the_guide_has_every_command_and_status() {
    let page =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/command-line.md")).unwrap();
    for name in commands() {
        assert!(page.contains(&format!("hiplaunch {name}")), "{name}");
    }
    for status in 0..=3 {
        assert!(page.contains(&format!("\n| {status} | ")), "{status}");
    }
}
