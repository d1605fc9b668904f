//! A job done by clang and lld: assembly and LLVM IR to object files, and all of these to one code object.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fs, io};

use super::{Clang, device_libraries};
use crate::entry::Entry;
use crate::error::CompileError;
use crate::input::{Input, InputKind};
use crate::job::{Job, LINKED, QUIET, TO_BITCODE};
use crate::messages::with_names;

type Result<T> = std::result::Result<T, CompileError>;

/// The file of linked LLVM IR.
const LINKED_IR: &str = "hiplaunch-linked.bc";
/// The file of the code object.
const CODE: &str = "hiplaunch-code.co";

/// Returns clang's options for a target, such as `gfx90a:xnack+`.
pub(super) fn target_options(target: &str) -> [String; 3] {
    ["--target=amdgcn-amd-amdhsa".to_owned(), format!("-mcpu={target}"), "-nogpulib".to_owned()]
}

impl Clang {
    /// Does a job.
    pub(crate) fn build(&self, job: &Job<'_>) -> Result<Entry> {
        let folder = Folder::new().map_err(|error| run_error(job, "a folder for temporary files", &error))?;
        let mut build = Build { clang: self, job, folder: &folder.0, log: String::new() };
        let objects = build.objects()?;
        let wishes = job.link_options();
        let wishes = wishes.iter().flat_map(|option| option.trim_start_matches("-Wl,").split(','));
        let options = ["-shared", "--no-undefined", "-o", CODE].into_iter().chain(wishes);
        build.run(&self.lld, options.map(str::to_owned).chain(objects))?;
        let code = build.read(CODE)?;
        Ok(Entry { log: with_names(&build.log, &job.files()), code, ..Entry::default() })
    }
}

struct Build<'a> {
    clang: &'a Clang,
    job: &'a Job<'a>,
    /// Where files are, and where programs run.
    folder: &'a Path,
    /// The messages of all programs.
    log: String,
}

impl Build<'_> {
    /// Writes object files of all inputs, and returns their names: one of all LLVM IR, and one of each other input.
    fn objects(&mut self) -> Result<Vec<String>> {
        let (mut objects, mut modules) = (Vec::new(), Vec::new());
        for (input, file) in self.job.numbered() {
            self.write(&file, input)?;
            match input.kind() {
                InputKind::Assembly => {
                    let object = format!("{file}.o");
                    self.compile("assembler", &file, &self.job.options(), &object)?;
                    objects.push(object);
                }
                InputKind::Relocatable => objects.push(file),
                _ => modules.push(file),
            }
        }
        let linked = match modules.pop() {
            None => return Ok(objects),
            Some(one) if modules.is_empty() && !self.job.device_libraries => one,
            Some(last) => {
                modules.push(last);
                self.link_ir(&modules)?;
                LINKED_IR.to_owned()
            }
        };
        self.compile("ir", &linked, &self.job.options(), LINKED)?;
        objects.push(LINKED.to_owned());
        Ok(objects)
    }

    /// Links modules, and the device libraries if they are wanted. lld does it as for optimisation at link time, but stops before
    /// that; llvm-link is not installed with every clang.
    fn link_ir(&mut self, modules: &[String]) -> Result<()> {
        let processor = self.job.target.processor.name();
        let fixed = ["-shared", "-plugin-opt=emit-llvm", "-o", LINKED_IR];
        let mut options: Vec<OsString> = fixed.map(OsString::from).to_vec();
        options.push(format!("-plugin-opt=mcpu={processor}").into());
        for module in modules {
            let bitcode = format!("{module}.bc");
            self.compile("ir", module, &TO_BITCODE.map(str::to_owned), &bitcode)?;
            options.push(bitcode.into());
        }
        if self.job.device_libraries {
            // Only those that define a symbol that is missing.
            options.push("--start-lib".into());
            options.extend(device_libraries::files(self.clang, self.job)?.into_iter().map(OsString::from));
            options.push("--end-lib".into());
        }
        self.run(&self.clang.lld, options)
    }

    fn compile(&mut self, language: &str, input: &str, options: &[String], output: &str) -> Result<()> {
        let target = target_options(&self.job.target.short());
        let fixed = ["-c", "-fno-crash-diagnostics", "-x", language, input, "-o", output];
        let quiet = QUIET.iter().chain(&fixed).map(|option| (*option).to_owned());
        self.run(&self.clang.path, target.into_iter().chain(options.iter().cloned()).chain(quiet))
    }

    /// Runs a program, and adds its messages.
    fn run(&mut self, program: &Path, options: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Result<()> {
        let mut command = Command::new(program);
        command.args(options).current_dir(self.folder).stdin(Stdio::null()).env("LC_ALL", "C");
        let output = command.output();
        let output = output.map_err(|error| run_error(self.job, &program.to_string_lossy(), &error))?;
        for text in [&output.stdout, &output.stderr] {
            self.log.push_str(&String::from_utf8_lossy(text));
        }
        if output.status.success() {
            return Ok(());
        }
        if self.log.is_empty() {
            self.log = format!("{} ended by {}", program.display(), output.status);
        }
        Err(self.job.failed(with_names(&self.log, &self.job.files())))
    }

    fn write(&self, file: &str, input: &Input<'_>) -> Result<()> {
        fs::write(self.folder.join(file), input.bytes()).map_err(|error| run_error(self.job, file, &error))
    }

    fn read(&self, file: &str) -> Result<Vec<u8>> {
        fs::read(self.folder.join(file)).map_err(|error| run_error(self.job, file, &error))
    }
}

fn run_error(job: &Job<'_>, what: &str, error: &io::Error) -> CompileError {
    CompileError::Run { what: what.to_owned(), reason: error.to_string(), name: job.names() }
}

/// A folder for temporary files, for its owner alone, which is removed when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> io::Result<Folder> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = std::env::temp_dir().join(format!("hiplaunch-clang-{}-{number}", std::process::id()));
            let mut builder = fs::DirBuilder::new();
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            match builder.create(&path) {
                Ok(()) => return Ok(Folder(path)),
                // One of an earlier process with this number, which ended before it removed it.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What can't be removed stays among the temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}
