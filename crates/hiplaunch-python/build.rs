//! With the feature `wheel`, builds the libraries that `hiplaunch exec` gives to programs into `OUT_DIR`, from where maturin
//! takes them into the package.
//!
//! They are binary targets of hiplaunch-cli, and Cargo gives a package no binary of its dependencies. So Cargo is run here once
//! more, in a target folder of its own, as the folder of the running Cargo is locked.

use std::env;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

const LIBRARIES: [&str; 3] = ["hiplaunch-libamdhip64", "hiplaunch-libhsa-runtime64", "hiplaunch-audit"];

/// The environment variable with a folder of libraries that are built already.
const FOLDER_VARIABLE: &str = "HIPLAUNCH_WHEEL_LIBRARIES";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let on_linux = env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux");
    // On other systems there is no `hiplaunch exec`.
    if env::var_os("CARGO_FEATURE_WHEEL").is_none() || !on_linux {
        return Ok(());
    }
    println!("cargo::rerun-if-env-changed={FOLDER_VARIABLE}");
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    let built = match env::var_os(FOLDER_VARIABLE).filter(|folder| !folder.is_empty()) {
        Some(folder) => PathBuf::from(folder),
        None => build(&out)?,
    };
    for name in LIBRARIES {
        let library = built.join(name);
        println!("cargo::rerun-if-changed={}", library.display());
        std::fs::copy(&library, out.join(name)).map_err(|error| format!("{}: {error}", library.display()))?;
    }
    Ok(())
}

/// Builds the libraries, and returns their folder.
fn build(out: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for part in ["Cargo.lock", "src", "crates"] {
        println!("cargo::rerun-if-changed={}", root.join(part).display());
    }
    let (target, folder) = (env::var("TARGET")?, out.join("exec"));
    let mut cargo = Command::new(env::var_os("CARGO").ok_or("CARGO is not set")?);
    cargo
        .current_dir(&root)
        .args(["build", "--package", "hiplaunch-cli", "--profile", "release", "--target", &target])
        // This package depends on hiplaunch-cli, so the running Cargo has fetched everything.
        .args(["--locked", "--offline", "--target-dir"])
        .arg(&folder)
        .env("CARGO_PROFILE_RELEASE_DEBUG", "false")
        .env("CARGO_PROFILE_RELEASE_STRIP", "symbols");
    for name in LIBRARIES {
        cargo.args(["--bin", name]);
    }
    // What Cargo set for this script is not for what is built: a build script of another package would take it for its own.
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_FEATURE_") || text.starts_with("CARGO_CFG_") || text.starts_with("DEP_") {
            cargo.env_remove(&name);
        }
    }
    let status = cargo.status()?;
    match status.success() {
        true => Ok(folder.join(target).join("release")),
        false => Err(format!("the libraries of `hiplaunch exec` can't be built: {cargo:?}: {status}").into()),
    }
}
