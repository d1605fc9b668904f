//! Compilers: finding them, their features, and compiling programs.

use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::generate::Features;

/// The time limit of a program on the host. Programs that take longer are skipped.
const HOST_TIME: Duration = Duration::from_secs(5);
const COMPILE_TIME: Duration = Duration::from_secs(90);

/// The reason why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It can't be started.
    Start(String),
    /// It took too long.
    Time,
    /// It ended with an error, and printed this.
    Status(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Start(why) => f.write_str(why),
            Failure::Time => f.write_str("it took too long"),
            Failure::Status(said) => {
                // The first line with an error, or else the first line.
                let line = said.lines().find(|line| line.contains("error")).or(said.lines().next());
                let line = line.unwrap_or("it failed");
                f.write_str(
                    line.split_once("error: ")
                        .map_or(line, |(_, what)| what.split(" 0x").next().unwrap_or(what)),
                )
            }
        }
    }
}

/// Runs a command for a limited time. Its output is written to a file, so that it never waits for a reader.
fn run(command: &mut Command, said: &Path, limit: Duration) -> Result<(), Failure> {
    let name = command.get_program().to_string_lossy().into_owned();
    let start = |e: std::io::Error| Failure::Start(format!("{name}: {e}"));
    let file = File::create(said).map_err(start)?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file);
    let mut child = command.spawn().map_err(start)?;
    let begun = Instant::now();
    let status = loop {
        match child.try_wait().map_err(start)? {
            Some(status) => break status,
            None if begun.elapsed() > limit => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(Failure::Time);
            }
            None => sleep(Duration::from_millis(2)),
        }
    };
    if status.success() {
        return Ok(());
    }
    let said = fs::read(said).map(|said| String::from_utf8_lossy(&said).into_owned()).unwrap_or_default();
    Err(Failure::Status(if said.is_empty() { status.to_string() } else { said }))
}

/// A clang with the AMDGPU target and the host's target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Compiler {
    pub(crate) command: String,
    pub(crate) version: u32,
}

impl Compiler {
    /// Returns the compiler of a command, with its version.
    pub(crate) fn find(command: &str) -> Result<Compiler, String> {
        let missing = |why: String| {
            format!(
                "{command}: {why}; Debian's packages clang-15 and lld-15, or clang-22 and lld-22 of apt.llvm.org, have it"
            )
        };
        let output = Command::new(command).arg("--version").output().map_err(|e| missing(e.to_string()))?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let version = said
            .split_once("clang version ")
            .and_then(|(_, rest)| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok())
            .ok_or_else(|| missing("it doesn't say that it is a clang".into()))?;
        Ok(Compiler { command: command.into(), version })
    }
}

/// A compiler with a target, a level and flags for the device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Variation {
    pub(crate) compiler: Compiler,
    /// A processor, perhaps with features: `gfx90a:xnack+`. `gfx1100.w64` has waves of 64 lanes.
    pub(crate) target: String,
    /// The optimisation level, such as `O0`.
    pub(crate) level: String,
    pub(crate) flags: Vec<String>,
}

impl Variation {
    /// Returns the features that programs for it may have. Versions between 15 and 22, which were not tried, get those
    /// of 15.
    pub(crate) fn features(&self) -> Features {
        let new = self.compiler.version >= 22;
        let global_isel = self.flags.iter().any(|flag| flag.contains("-global-isel"));
        Features {
            wide_division: new,
            square_root: new,
            half_division: new,
            kernel_attributes: new,
            byte_vector_insertion: new,
            wide_vectors: new,
            lds_in_functions: !global_isel,
            odd_integers: !global_isel,
            floats: true,
            vectors: true,
            lanes: !self.target.starts_with("gfx11"),
        }
    }
}

impl fmt::Display for Variation {
    /// Formats it as options of this program.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--compiler {} --target {} --opt {}", self.compiler.command, self.target, self.level)?;
        if self.flags.is_empty() { Ok(()) } else { write!(f, " --flags '{}'", self.flags.join(" ")) }
    }
}

/// The flags for host and device: they exclude behaviour that differs between machines.
const SAME: [&str; 7] =
    ["-x", "c", "-w", "-fwrapv", "-fno-strict-aliasing", "-ffp-contract=off", "-ffreestanding"];

/// A directory for the files of one thread.
#[derive(Debug)]
pub(crate) struct Workshop {
    dir: PathBuf,
}

impl Workshop {
    pub(crate) fn new(dir: PathBuf) -> std::io::Result<Workshop> {
        fs::create_dir_all(&dir)?;
        fs::write(dir.join("prelude.h"), include_str!("prelude.h"))?;
        fs::write(dir.join("host_main.h"), include_str!("host_main.h"))?;
        Ok(Workshop { dir })
    }

    fn source(&self, text: &str) -> Result<PathBuf, Failure> {
        let path = self.dir.join("program.c");
        fs::write(&path, text).map_err(|e| Failure::Start(format!("{}: {e}", path.display())))?;
        Ok(path)
    }

    /// Compiles a program to a code object.
    pub(crate) fn device(&self, text: &str, variation: &Variation) -> Result<Vec<u8>, Failure> {
        let source = self.source(text)?;
        let object = self.dir.join("program.co");
        let mut command = Command::new(&variation.compiler.command);
        command.args(SAME).args(["--target=amdgcn-amd-amdhsa", "-nogpulib", "-fvisibility=hidden"]);
        let (target, wide) = match variation.target.strip_suffix(".w64") {
            Some(target) => (target, true),
            None => (variation.target.as_str(), false),
        };
        command.arg(format!("-mcpu={target}")).arg(format!("-{}", variation.level));
        command.args(wide.then_some("-mwavefrontsize64"));
        command.args(&variation.flags).arg("-o").arg(&object).arg(source);
        run(&mut command, &self.dir.join("said"), COMPILE_TIME)?;
        fs::read(&object).map_err(|e| Failure::Start(format!("{}: {e}", object.display())))
    }

    /// Compiles and runs a program on the host. Returns the memory that it leaves: `out`, `own`, `shared`.
    pub(crate) fn host(
        &self,
        text: &str,
        compiler: &Compiler,
        input: &[u8],
        param: u32,
    ) -> Result<Vec<u8>, Failure> {
        let source = self.source(text)?;
        let [program, inputs, output] = ["program", "input", "output"].map(|name| self.dir.join(name));
        let mut command = Command::new(&compiler.command);
        command.args(SAME).arg("-O1");
        if compiler.version >= 16 {
            // Each operation on halves is rounded, as on the device.
            command.args(["-Xclang", "-ffloat16-excess-precision=none"]);
        }
        // Uses these instructions if the host has them; otherwise they are library calls, which are slower.
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("fma") && std::arch::is_x86_feature_detected!("f16c") {
            command.args(["-mfma", "-mf16c"]);
        }
        command.arg("-o").arg(&program).arg(source).arg("-lm");
        run(&mut command, &self.dir.join("said"), COMPILE_TIME)?;
        let failed = |e: std::io::Error| Failure::Start(e.to_string());
        fs::write(&inputs, input).map_err(failed)?;
        let mut command = Command::new(&program);
        command.arg(&inputs).arg(&output).arg(param.to_string());
        run(&mut command, &self.dir.join("said"), HOST_TIME)?;
        fs::read(&output).map_err(failed)
    }
}
