//! The device libraries on disk, for clang: ocml (mathematics), ockl (the device's own functions) and the constants that
//! control them (oclc). comgr contains its own.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::Clang;
use crate::error::CompileError;
use crate::job::Job;
use rocm_library::LoadAttempt;

/// The environment variable of clang's that names the folder.
const VARIABLE: &str = "HIP_DEVICE_LIB_PATH";

/// The constants that are the same for every job: those of clang without options.
const CONTROLS: [&str; 4] = [
    "oclc_correctly_rounded_sqrt_on.bc",
    "oclc_daz_opt_off.bc",
    "oclc_finite_only_off.bc",
    "oclc_unsafe_math_off.bc",
];

/// Returns the files for a job.
pub(super) fn files(clang: &Clang, job: &Job<'_>) -> Result<Vec<PathBuf>, CompileError> {
    let mut tried = Vec::new();
    for folder in folders(clang) {
        let isa = job.target.processor.name().trim_start_matches("gfx").replace('-', "_");
        let isa = format!("oclc_isa_version_{isa}.bc");
        let abi = abi_files(clang, job).into_iter().find(|file| folder.join(file).is_file());
        let abi = abi.unwrap_or_else(|| "oclc_abi_version_500.bc".to_owned());
        let wavefronts = if job.has_wavefronts_of_64() { "on" } else { "off" };
        let wavefronts = format!("oclc_wavefrontsize64_{wavefronts}.bc");
        let names = ["ocml.bc".to_owned(), "ockl.bc".to_owned(), isa, abi, wavefronts];
        let names = names.into_iter().chain(CONTROLS.map(str::to_owned));
        let files: Vec<PathBuf> = names.map(|name| folder.join(name)).collect();
        match files.iter().find(|file| !file.is_file()) {
            None => return Ok(files),
            Some(missing) => {
                let reason = "there is no such file".to_owned();
                tried.push(LoadAttempt { library: missing.clone(), reason });
            }
        }
    }
    Err(CompileError::NotFound { missing: CompileError::DEVICE_LIBRARIES, tried })
}

/// The names of the file for the version of code objects, the best first. It says how kernels find their hidden arguments,
/// which 6 does as 5.
fn abi_files(clang: &Clang, job: &Job<'_>) -> Vec<String> {
    let option = job.options.iter().rev().find_map(|option| option.strip_prefix("-mcode-object-version="));
    // The default of LLVM: 4 until 17.
    let version =
        option.and_then(|version| version.parse().ok()).unwrap_or(if clang.major < 18 { 4 } else { 5 });
    let versions: &[u32] = if version < 5 { &[4] } else { &[5, 6] };
    versions.iter().map(|version| format!("oclc_abi_version_{version}00.bc")).collect()
}

fn folders(clang: &Clang) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    folders.extend(variable(VARIABLE));
    folders.extend(variable("ROCM_PATH").map(|root| root.join("amdgcn/bitcode")));
    folders.push("/opt/rocm/amdgcn/bitcode".into());
    // Newer versions of ROCm and of distributions keep them among clang's own files.
    let mut command = Command::new(&clang.path);
    if let Ok(output) = command.arg("--print-resource-dir").stdin(Stdio::null()).output() {
        let resources = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
        folders.extend(["lib/amdgcn/bitcode", "amdgcn/bitcode"].map(|folder| resources.join(folder)));
    }
    let multiarch = format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
    folders.extend(
        [&multiarch, "/usr/lib64", "/usr/lib", "/usr"].map(|at| PathBuf::from(at).join("amdgcn/bitcode")),
    );
    folders
}
