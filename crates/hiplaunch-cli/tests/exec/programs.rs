//! Compiling test programs and running them under `hiplaunch exec`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, OnceLock, PoisonError};

pub(crate) const PROGRAMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../hip-dropin/tests/programs");

/// Compiles a program, or a code object with `--genco`; `None` without hipcc.
pub(crate) fn compiled(name: &str, options: &[&str], output: &str) -> Option<PathBuf> {
    static HIPCC: OnceLock<bool> = OnceLock::new();
    let found = HIPCC
        .get_or_init(|| Command::new("hipcc").arg("--version").output().is_ok_and(|o| o.status.success()));
    if !found {
        println!("skipped: no hipcc");
        return None;
    }
    let output = Path::new(env!("CARGO_TARGET_TMPDIR")).join(output);
    // Several tests use a program, at the same time: it is compiled once.
    static COMPILED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
    let mut done = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    if done.contains(&output) {
        return Some(output);
    }
    let built = Command::new("hipcc")
        .args(["-w", "-O1"])
        .args(options)
        .arg("-o")
        .arg(&output)
        .arg(Path::new(PROGRAMS).join(name))
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    done.push(output.clone());
    Some(output)
}

pub(crate) fn program(name: &str) -> Option<PathBuf> {
    compiled(name, &["--offload-arch=gfx90a"], name.trim_end_matches(".hip"))
}

/// A program for HIP 7: it asks for the library by that version's name.
pub(crate) fn hip_7(name: &str) -> Option<PathBuf> {
    let program = program(name)?;
    let mut bytes = std::fs::read(&program).unwrap();
    let (old, new) = (b"libamdhip64.so.5\0", b"libamdhip64.so.7\0");
    let at = bytes.windows(old.len()).position(|bytes| bytes == old).expect("the name of HIP 5");
    bytes[at..at + new.len()].copy_from_slice(new);
    let changed = program.with_extension("7");
    std::fs::write(&changed, bytes).unwrap();
    std::fs::set_permissions(&changed, std::fs::metadata(&program).unwrap().permissions()).unwrap();
    Some(changed)
}

pub(crate) fn exec(options: &[&str], program: &[&str]) -> Output {
    command(options, program).output().unwrap()
}

/// A new folder below Cargo's for tests.
pub(crate) fn new_folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

pub(crate) fn command(options: &[&str], program: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hiplaunch"));
    command.arg("exec").args(options).arg("--").args(program);
    // The tests' own environment asks for nothing.
    for variable in ["HIPLAUNCH_BACKEND", "HIPLAUNCH_HIP_LIBRARY", "HIPLAUNCH_VALIDATE", "HSA_XNACK"] {
        command.env_remove(variable);
    }
    for setting in hip_driver_emulated::SETTINGS {
        command.env_remove(setting.variable);
    }
    command
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
