//! Progress bars are shown on a terminal only.

#![cfg(unix)]

use std::fs::File;
use std::io::Read;
use std::os::fd::{FromRawFd, OwnedFd};
use std::process::{Command, Stdio};

use super::{command, data, read};

/// Returns the two ends of a terminal: the test's, and the command's.
fn terminal() -> (File, OwnedFd) {
    let (mut ours, mut theirs) = (0, 0);
    let mut size = libc::winsize { ws_row: 24, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the pointers are to locals that live through the call; a null name and null settings are allowed.
    let status = unsafe {
        libc::openpty(&mut ours, &mut theirs, std::ptr::null_mut(), std::ptr::null_mut(), &raw mut size)
    };
    assert_eq!(status, 0, "{}", std::io::Error::last_os_error());
    // SAFETY: the call opened both, and nothing else owns them.
    unsafe { (File::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs)) }
}

/// Runs a command with a terminal as stderr and a pipe as stdout. Returns the exit status, stdout and stderr.
fn on_terminal(mut command: Command) -> (i32, String, String) {
    let (mut ours, theirs) = terminal();
    let mut child = command.stdout(Stdio::piped()).stderr(theirs).spawn().unwrap();
    // `command` has a copy of the other end, which would keep the terminal open.
    drop(command);
    let shown = std::thread::spawn(move || {
        let (mut shown, mut buffer) = (Vec::new(), [0; 4096]);
        // The end of a terminal is an error on Linux.
        while let Ok(n @ 1..) = ours.read(&mut buffer) {
            shown.extend_from_slice(&buffer[..n]);
        }
        String::from_utf8_lossy(&shown).into_owned()
    });
    let mut out = String::new();
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    (child.wait().unwrap().code().unwrap(), out, shown.join().unwrap())
}

fn commands() -> Vec<(Command, &'static str)> {
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
    let (saxpy, args) = (data("saxpy.launch.toml"), data("args.launch.toml"));
    vec![
        (command(&["run", &saxpy, &args, "--backend", "emulator"]), "scripts ["),
        (command(&["demo", "--launches", "5", "--backend", "emulator", "--json"]), "cases ["),
        (command(&["plan", &format!("{docs}/plan.csv"), "--seconds", "0.3", "--json"]), "planning"),
    ]
}

#[test]
fn a_bar_on_a_terminal() {
    for (mut command, words) in commands() {
        command.env("TERM", "xterm");
        let named = format!("{command:?}");
        let (status, out, shown) = on_terminal(command);
        assert_eq!(status, 0, "{named}: {shown}");
        assert!(shown.contains(words), "{named}: {shown:?}");
        assert!(!out.contains(words) && !out.contains('\x1b'), "{named}: {out}");
        // The bar is removed at the end: the last output clears its line.
        assert!(shown.trim_end_matches(['\r', '\n']).ends_with("\x1b[2K"), "{named}: {shown:?}");
    }
}

#[test]
fn no_bar_elsewhere() {
    for (mut command, _) in commands() {
        let named = format!("{command:?}");
        let (status, _, err) = read(command.env("TERM", "xterm").output().unwrap());
        assert_eq!((status, err.as_str()), (0, ""), "{named}");
        command.env("TERM", "dumb");
        assert_eq!(on_terminal(command).2, "", "{named}");
    }
}
