//! `hiplaunch exec`: runs a HIP program with the library of `hip-dropin` in place of AMD's libamdhip64, or over it.
//!
//! The program replaces this process, so that signals, standard streams and its exit status are its own. What it does with
//! HIP is decided by environment variables, which its children inherit.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use hip_driver_amd::HipDriver;

use super::emulator::SettingArgs;
use super::names::{HIP_NAMES, NAMES, OF_HIP};
use super::program_folder::{AUDIT, Contents, Entry};
use super::session::unusable;
use super::{CommandError, CommandOutcome};

/// The environment variables that tell the library that AMD's is to run the calls, and where that is.
const BACKEND_VARIABLE: &str = "HIPLAUNCH_BACKEND";
const REAL_VARIABLE: &str = "HIPLAUNCH_HIP_LIBRARY";

/// The environment variable with the target for which hipcc compiles if no option names one.
const COMPILER_TARGET: &str = "HCC_AMDGPU_TARGET";

/// The environment variable with the path of the library, if it is not beside the command.
const LIBRARY_VARIABLE: &str = "HIPLAUNCH_LIBAMDHIP64";

/// The file names of the libraries beside the command: of that with HIP's functions, and of that with what is below HIP.
const LIBRARY: &str = "hiplaunch-libamdhip64";
const BELOW_HIP: &str = "hiplaunch-libhsa-runtime64";

/// The environment variable with the options of AddressSanitizer, and that it need not be the first library of the process.
const ASAN_VARIABLE: &str = "ASAN_OPTIONS";
const ASAN_OPTION: &str = "verify_asan_link_order=0";

/// Run a compiled HIP program without a GPU, on the emulator, or on a GPU under the layers.
///
/// The program finds hiplaunch's library where it looks for AMD's libamdhip64 or libhiprtc, and so do the processes that it
/// starts. Its standard streams, signals and exit status are its own. On stderr it says what went wrong, and at the end, if something
/// went wrong or an option asks for it, a summary: functions of HIP that are not supported, violations, leaks, faults and
/// counts.
#[derive(Debug, clap::Args)]
pub(crate) struct ExecArgs {
    /// The program and its arguments.
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    program: Vec<OsString>,

    /// What runs the program's calls: the `emulator`, or AMD's own library with `hip`, over which the layers are put.
    ///
    /// AMD's library is looked for where the loader and ROCM_PATH say; HIPLAUNCH_HIP_LIBRARY names its file.
    #[arg(long, value_name = "BACKEND", default_value = "emulator", value_parser = ["emulator", "hip"])]
    backend: String,

    /// Whose libamdhip64 the program gets, on the emulator: hiplaunch's, or the one of AMD's that the loader finds.
    ///
    /// AMD's own runs over hiplaunch's libhsa-runtime64, whose queues the emulator executes. The layers are not over it.
    #[arg(long, value_name = "WHOSE", default_value = "hiplaunch", value_parser = ["hiplaunch", "amd"])]
    hip: String,

    /// Put the validation layer over the driver: it finds uses of freed memory, races between streams, and leaks.
    #[arg(long)]
    validate: bool,

    /// Count the program's calls of HIP; on the emulator also the driver calls, and what each kernel executed.
    #[arg(long)]
    count: bool,

    /// Write a timeline of driver calls and device work to this file, as JSON that https://ui.perfetto.dev opens.
    ///
    /// Processes that the program starts append their process ids to the file's name.
    #[arg(long, value_name = "FILE.json")]
    trace: Option<PathBuf>,

    /// Write the summary to this file, as JSON. docs/json.md lists the fields.
    ///
    /// Processes that the program starts append their process ids to the file's name. A process that is killed or calls
    /// `_exit` writes none.
    #[arg(long, value_name = "FILE.json")]
    json: Option<PathBuf>,

    #[command(flatten)]
    settings: SettingArgs,
}

impl ExecArgs {
    /// With AMD's libamdhip64 on the emulator there is no library of ours that could observe the calls of HIP.
    fn check_hip(&self, over_hip: bool) -> Result<(), CommandError> {
        let observers = [
            ("--backend hip", over_hip),
            ("--validate", self.validate),
            ("--count", self.count),
            ("--trace", self.trace.is_some()),
            ("--json", self.json.is_some()),
        ];
        match observers.into_iter().find(|(_, given)| *given) {
            Some((option, _)) if self.hip == "amd" => Err(CommandError::Unusable(format!(
                "{option} is for hiplaunch's libamdhip64, not for `--hip amd`"
            ))),
            _ => Ok(()),
        }
    }

    /// The variables that the library reads, which its documentation lists.
    fn variables(&self) -> Result<Vec<(&'static str, OsString)>, CommandError> {
        let mut variables = Vec::new();
        let mut set = |name, value: Option<OsString>| variables.extend(value.map(|value| (name, value)));
        let switch = |on: bool| on.then(|| OsString::from("1"));
        for (variable, value) in self.settings.variables() {
            set(variable, Some(value.into()));
        }
        set("HIPLAUNCH_VALIDATE", switch(self.validate));
        set("HIPLAUNCH_COUNT", switch(self.count));
        for (variable, path) in [("HIPLAUNCH_TRACE", &self.trace), ("HIPLAUNCH_JSON", &self.json)] {
            // The program may change its directory before it ends.
            let path = path.as_ref().map(std::path::absolute).transpose().map_err(unusable)?;
            set(variable, path.map(PathBuf::into_os_string));
        }
        set("HIPLAUNCH_MAIN_PROCESS", Some(std::process::id().to_string().into()));
        Ok(variables)
    }
}

/// `folder` has the libraries; `None` for the folder of the running program.
pub(crate) fn run(args: &ExecArgs, folder: Option<&Path>) -> Result<CommandOutcome, CommandError> {
    let (hip, audit) = (library(folder)?, beside(AUDIT, folder)?);
    let mut variables = args.variables()?;
    let over_hip = args.backend == "hip";
    let hip_of_amd = args.hip == "amd";
    args.check_hip(over_hip)?;
    if over_hip {
        if let Some(option) = args.settings.first_option() {
            return Err(CommandError::Unusable(format!(
                "{option} is for the emulator, not for `--backend hip`"
            )));
        }
        let real = real_library(&hip, args.program.first().map(Path::new))?;
        variables.push((BACKEND_VARIABLE, "hip".into()));
        variables.push((REAL_VARIABLE, real.into_os_string()));
    } else {
        if std::env::var_os(BACKEND_VARIABLE).is_some() {
            variables.push((BACKEND_VARIABLE, "auto".into()));
        }
        // hipcc asks ROCm's driver for the GPU if neither it nor this variable names one.
        if std::env::var_os(COMPILER_TARGET).is_none() {
            let target = args.settings.value_or_variable("target");
            variables.push((COMPILER_TARGET, target.unwrap_or_else(|| "gfx90a".into())));
        }
    }
    let contents = if over_hip {
        // AMD's own hiprtc compiles for AMD's own library, which has AMD's own libraries below it and finds the GPUs.
        Contents { hip, hip_names: HIP_NAMES, audit, ..Contents::default() }
    } else {
        let below = Some(beside(BELOW_HIP, folder)?);
        Contents {
            hip,
            hip_names: if hip_of_amd { 0 } else { OF_HIP },
            below,
            audit,
            files: files(&args.settings),
        }
    };
    Err(replace_process(&args.program, &contents, variables))
}

/// The files of Linux that tell of the emulated devices. None for settings that are not understood, of which the library says so.
#[cfg(feature = "emulator")]
fn files(settings: &SettingArgs) -> Vec<(PathBuf, Entry)> {
    let options = hip_driver_emulated::EmulatorOptions::from_env().and_then(|mut options| {
        settings.set(&mut options)?;
        Ok(options)
    });
    options.and_then(|options| super::topology::files(&options)).unwrap_or_else(|error| {
        log::debug!("{error}");
        Vec::new()
    })
}

#[cfg(not(feature = "emulator"))]
fn files(_: &SettingArgs) -> Vec<(PathBuf, Entry)> {
    Vec::new()
}

/// AMD's library for a program: where the variable says, or the first that the loader finds. The version that the program
/// names is tried first.
fn real_library(own: &Path, program: Option<&Path>) -> Result<PathBuf, CommandError> {
    let is_own = |path: &Path| path.canonicalize().is_ok_and(|path| path == own);
    if let Some(named) = std::env::var_os(REAL_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from) {
        let path = named.canonicalize().map_err(|error| {
            CommandError::Unusable(format!("{REAL_VARIABLE}: {}: {error}", named.display()))
        })?;
        if is_own(&path) {
            let text = format!("{REAL_VARIABLE}={} is hiplaunch's own library, not AMD's", named.display());
            return Err(CommandError::Unusable(text));
        }
        return Ok(path);
    }
    let needed = program.and_then(needed_name);
    HipDriver::find_library(needed, |path| !is_own(path)).map_err(unusable)
}

/// The name by which a program's file asks for the library.
fn needed_name(program: &Path) -> Option<&'static str> {
    let bytes = std::fs::read(program).ok()?;
    NAMES[..HIP_NAMES].iter().copied().find(|name| {
        let text = [name.as_bytes(), b"\0"].concat();
        bytes.windows(text.len()).any(|window| window == text)
    })
}

/// The library: beside the command, or where the variable says.
fn library(folder: Option<&Path>) -> Result<PathBuf, CommandError> {
    let named = std::env::var_os(LIBRARY_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
    named.map_or_else(|| beside(LIBRARY, folder), existing)
}

/// A library in a folder, or beside the running program.
fn beside(name: &str, folder: Option<&Path>) -> Result<PathBuf, CommandError> {
    existing(match folder {
        Some(folder) => folder.join(name),
        None => std::env::current_exe().map_err(unusable)?.with_file_name(name),
    })
}

fn existing(path: PathBuf) -> Result<PathBuf, CommandError> {
    path.canonicalize().map_err(|error| {
        CommandError::Unusable(format!(
            "a library for programs is not there ({}: {error})\n`cargo build --release` makes it, and `cargo install` \
             installs it beside the command, with the feature `emulator`; {LIBRARY_VARIABLE} names another place for \
             {LIBRARY}",
            path.display()
        ))
    })
}

/// Runs the program in this process. Returns only if that fails.
#[cfg(target_os = "linux")]
fn replace_process(
    program: &[OsString],
    contents: &Contents,
    variables: Vec<(&'static str, OsString)>,
) -> CommandError {
    use std::os::unix::process::CommandExt;

    let folder = match contents.folder() {
        Ok(folder) => folder,
        Err(error) => return unusable(format!("no folder for the library's names: {error}")),
    };
    let audit = folder.join(AUDIT);
    let (name, arguments) = program.split_first().expect("clap requires a program");
    let mut command = std::process::Command::new(name);
    command
        .args(arguments)
        .env("LD_LIBRARY_PATH", list(Some(&folder), "LD_LIBRARY_PATH", None))
        // The loader asks audit libraries in turn, and another of ours would change the answer of this one.
        .env("LD_AUDIT", list(Some(&audit), "LD_AUDIT", None))
        .envs(variables);
    if contents.hip_names > 0 {
        // Triton and IREE look for the library in files of their own.
        command.env("TRITON_LIBHIP_PATH", folder.join("libamdhip64.so"));
        command.env("IREE_HIP_DYLIB_PATH", &folder);
    }
    // Behind those of the program, of which one may have to be the first. A space ends a name.
    let preloads = !contents.files.is_empty() && !audit.as_os_str().as_encoded_bytes().contains(&b' ');
    let preloaded = list(None, "LD_PRELOAD", preloads.then_some(audit.as_path()));
    if preloads || std::env::var_os("LD_PRELOAD").is_some() {
        command.env("LD_PRELOAD", preloaded);
    }
    if preloads {
        command.env(ASAN_VARIABLE, list(None, ASAN_VARIABLE, Some(Path::new(ASAN_OPTION))));
    }
    let error = command.exec();
    unusable(format!("{} can't be run: {error}", name.display()))
}

/// A variable's list, with another entry before or behind the others. Entries that an `exec` around this one has added are left out.
#[cfg(target_os = "linux")]
fn list(first: Option<&Path>, variable: &str, last: Option<&Path>) -> OsString {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let value = std::env::var_os(variable).unwrap_or_default();
    let others = value.as_encoded_bytes().split(|byte| *byte == b':').map(OsStr::from_bytes);
    let is_ours = |entry: &OsStr| Path::new(entry).ends_with(AUDIT) || Path::new(entry).join(AUDIT).exists();
    let others = others.filter(|entry| !entry.is_empty() && !is_ours(entry));
    let entries = first.map(Path::as_os_str).into_iter().chain(others).chain(last.map(Path::as_os_str));
    entries.collect::<Vec<_>>().join(OsStr::new(":"))
}

#[cfg(not(target_os = "linux"))]
fn replace_process(_: &[OsString], _: &Contents, _: Vec<(&'static str, OsString)>) -> CommandError {
    unusable("`hiplaunch exec` is for Linux")
}
