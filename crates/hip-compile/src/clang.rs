//! clang and lld as programs: which are installed, their versions, and the processors that they know.

mod build;
mod device_libraries;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use code_object::Processor;

use crate::digest::state;
use crate::error::CompileError;
use crate::job::Job;
use rocm_library::LoadAttempt;

/// The environment variable that names a clang, which then compiles LLVM IR, bitcode and assembly in place of comgr and of
/// other versions.
pub const CLANG_VARIABLE: &str = "HIPLAUNCH_CLANG";

/// The oldest major version that is used.
const OLDEST: u32 = 15;
/// The newest major version whose name is tried, as of clang-22.
const NEWEST: u32 = 40;

/// A clang that runs, with its lld.
#[derive(Debug)]
pub(crate) struct Clang {
    path: PathBuf,
    lld: PathBuf,
    major: u32,
    /// The first line of what `--version` prints.
    version: String,
    /// Whether it compiles for a processor, of those that were asked for.
    knows: Mutex<BTreeMap<String, bool>>,
}

impl fmt::Display for Clang {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.version, self.path.display())
    }
}

/// What is installed, the newest first, and why others are not used.
pub(crate) struct Installed {
    pub(crate) clangs: Vec<Arc<Clang>>,
    pub(crate) tried: Vec<LoadAttempt>,
}

/// Returns what is installed: in ROCm's folders, and in those of `PATH` by the names `clang`, `clang-22` and so on. The first
/// call searches.
pub(crate) fn installed() -> &'static Installed {
    static INSTALLED: OnceLock<Installed> = OnceLock::new();
    INSTALLED.get_or_init(|| {
        let (mut clangs, mut tried, mut files) = (Vec::new(), Vec::new(), Vec::new());
        for path in candidates() {
            // The same file may have several names.
            let Ok(file) = path.canonicalize() else { continue };
            if files.contains(&file) {
                continue;
            }
            files.push(file);
            match Clang::at(&path) {
                Ok(clang) => clangs.push(Arc::new(clang)),
                Err(attempt) => tried.push(attempt),
            }
        }
        if files.is_empty() {
            let reason = "in none of ROCm's folders and those of PATH".to_owned();
            tried.push(LoadAttempt { library: "clang, clang-22 to clang-15".into(), reason });
        }
        clangs.sort_by_key(|clang| std::cmp::Reverse(clang.major));
        Installed { clangs, tried }
    })
}

/// Returns the clang of a path that the user names. It is searched for once.
pub(crate) fn named(path: &Path) -> Result<Arc<Clang>, LoadAttempt> {
    type Known = BTreeMap<PathBuf, Result<Arc<Clang>, LoadAttempt>>;
    static NAMED: Mutex<Known> = Mutex::new(BTreeMap::new());
    let mut known = NAMED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = known.get(path) {
        return found.clone();
    }
    // A name without a folder is searched in PATH.
    let found = match path.components().count() {
        1 => in_path(path.as_os_str()).next().unwrap_or_else(|| path.to_path_buf()),
        _ => std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf()),
    };
    let found = Clang::at(&found).map(Arc::new);
    known.insert(path.to_path_buf(), found.clone());
    found
}

fn candidates() -> impl Iterator<Item = PathBuf> {
    let roots = [std::env::var_os("ROCM_PATH"), Some("/opt/rocm".into())];
    let roots = roots.into_iter().flatten().filter(|root| !root.is_empty()).map(PathBuf::from);
    let rocm = roots.flat_map(|root| ["llvm/bin/clang", "lib/llvm/bin/clang"].map(|clang| root.join(clang)));
    let numbered = (OLDEST..=NEWEST).rev().map(|major| format!("clang-{major}"));
    let names: Vec<String> = numbered.chain(["clang".to_owned()]).collect();
    rocm.chain(names.into_iter().flat_map(|name| in_path(OsStr::new(&name)).collect::<Vec<_>>()))
}

/// Returns the files of a name in the folders of `PATH`.
fn in_path(name: &OsStr) -> impl Iterator<Item = PathBuf> + use<> {
    let mut name = name.to_owned();
    name.push(std::env::consts::EXE_SUFFIX);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders.into_iter().map(move |folder| folder.join(&name)).filter(|file| file.is_file())
}

impl Clang {
    /// Asks a program for its version, and finds its lld. The error says why it is not used.
    fn at(path: &Path) -> Result<Clang, LoadAttempt> {
        let not_used = |reason: String| LoadAttempt { library: path.to_path_buf(), reason };
        let output = Command::new(path).arg("--version").stdin(Stdio::null()).output();
        let output = output.map_err(|error| not_used(error.to_string()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let version = text.lines().next().unwrap_or_default().trim().to_owned();
        let Some(major) = major(&version) else {
            return Err(not_used("does not say its version as clang does".to_owned()));
        };
        if major < OLDEST {
            return Err(not_used(format!("{version} is older than {OLDEST}")));
        }
        let Some(lld) = lld(path, major) else {
            let reason = format!("there is no ld.lld beside it, and no ld.lld-{major} or ld.lld in PATH");
            return Err(not_used(reason));
        };
        Ok(Clang { path: path.to_path_buf(), lld, major, version, knows: Mutex::default() })
    }

    /// Returns a text that differs between two compilers, or their device libraries, that may generate different code for a job.
    pub(crate) fn identity(&self, job: &Job<'_>) -> Result<String, CompileError> {
        let libraries = if job.device_libraries { device_libraries::files(self, job)? } else { Vec::new() };
        let files = [&self.path, &self.lld].into_iter().chain(&libraries).map(|file| state(Some(file)));
        Ok(format!("{} {}", self.version, files.collect::<Vec<_>>().join(" ")))
    }

    /// Returns whether it can compile for a processor: whether it compiles an empty module for it.
    pub(crate) fn knows(&self, processor: &Processor) -> bool {
        let mut knows = self.knows.lock().unwrap_or_else(PoisonError::into_inner);
        *knows.entry(processor.name().to_owned()).or_insert_with(|| {
            let mut command = Command::new(&self.path);
            command.args(build::target_options(processor.name())).args(["-x", "ir", "-c", "-o", NULL, "-"]);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            command.status().is_ok_and(|status| status.success())
        })
    }
}

/// The file that keeps nothing.
const NULL: &str = if cfg!(windows) { "NUL" } else { "/dev/null" };

/// Returns the major version of a line such as `Debian clang version 15.0.6`.
fn major(line: &str) -> Option<u32> {
    let (_, rest) = line.split_once("clang version ")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// Returns the lld of a clang: beside its file, else by its version's name in `PATH`, else any.
fn lld(clang: &Path, major: u32) -> Option<PathBuf> {
    let name = format!("ld.lld{}", std::env::consts::EXE_SUFFIX);
    let beside = |clang: &Path| Some(clang.parent()?.join(&name)).filter(|lld| lld.is_file());
    let file = clang.canonicalize().ok();
    // A link in a folder of programs may be beside a lld of another version; the file itself is not.
    file.and_then(|file| beside(&file))
        .or_else(|| in_path(OsStr::new(&format!("ld.lld-{major}"))).next())
        .or_else(|| beside(clang))
        .or_else(|| in_path(OsStr::new("ld.lld")).next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        for (line, version) in [
            ("Debian clang version 15.0.6", Some(15)),
            ("clang version 22.1.8 (https://github.com/llvm/llvm-project 1)", Some(22)),
            ("AMD clang version 17.0.0 (https://github.com/RadeonOpenCompute 1)", Some(17)),
            ("Apple clang version 16.0.0 (clang-1600.0.26.6)", Some(16)),
            ("gcc (Debian 12.2.0-14) 12.2.0", None),
            ("clang version x", None),
            ("", None),
        ] {
            assert_eq!(major(line), version, "{line}");
        }
    }

    #[test]
    fn a_program_that_is_no_clang_is_not_used_and_the_reason_is_said() {
        let attempt = named(Path::new("/nowhere/clang")).unwrap_err();
        assert_eq!(attempt.library, Path::new("/nowhere/clang"));
        assert!(!attempt.reason.is_empty());
        // This test's own program prints no version.
        let own = std::env::current_exe().unwrap();
        assert!(named(&own).is_err_and(|attempt| attempt.reason.contains("version")));
    }
}
