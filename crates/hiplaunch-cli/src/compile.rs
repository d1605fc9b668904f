//! `hiplaunch compile`: compiles HIP C++, LLVM IR, assembly and object files to a code object.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use code_object::TargetId;
use hiplaunch::Compiler;
use hiplaunch::compile::{Input, InputKind};

use super::output::{Output, complain, counted, grouped};
use super::whole_file::WholeFile;
use super::{CommandError, CommandOutcome};

/// Compile files to one code object: HIP C++, LLVM IR as text or bitcode, assembly and object files.
///
/// HIP C++ is compiled by ROCm's hiprtc; everything else by ROCm's comgr, or by clang and lld of 15 or later if comgr is not
/// installed or rejects it. HIPLAUNCH_CLANG names a clang. No device is used. LLVM IR is linked before code is generated, then
/// object files are linked. The result is kept in the cache of compiled kernels.
#[derive(Debug, clap::Args)]
pub(crate) struct CompileArgs {
    /// The files. Their extensions say what they are: .hip or .cpp, .ll, .bc, .s, .o.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Write the code object into this file.
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,

    /// What to compile for, such as gfx942 or gfx90a:xnack-.
    #[arg(long, value_name = "TARGET", default_value = "gfx90a")]
    target: TargetId,

    /// What the files are, whatever their extensions say.
    #[arg(long, value_name = "KIND", value_parser = clap::builder::PossibleValuesParser::new(InputKind::NAMES))]
    kind: Option<String>,

    /// Link LLVM IR with ROCm's device libraries: ocml, ockl and their controls. HIP C++ always has them.
    #[arg(long)]
    device_libs: bool,

    /// An option of clang, such as -O1, or of the linker, such as -Wl,--strip-all. May be given several times.
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    option: Vec<String>,
}

impl CompileArgs {
    fn input(&self, path: &Path) -> Result<Input<'static>, String> {
        let file = path.display();
        let kind = match &self.kind {
            Some(name) => name.parse().map_err(|error| format!("--kind: {error}"))?,
            None => InputKind::of_path(path).ok_or_else(|| {
                format!("{file}: its extension does not say what it is; say it with --kind")
            })?,
        };
        let bytes = fs::read(path).map_err(|error| format!("{file}: {error}"))?;
        Ok(Input::new(kind, bytes).named(file.to_string()))
    }
}

pub(crate) fn run(args: &CompileArgs, out: &mut Output) -> Result<CommandOutcome, CommandError> {
    let inputs: Result<Vec<_>, _> = args.files.iter().map(|path| args.input(path)).collect();
    let inputs = inputs.map_err(CommandError::Unusable)?;
    let mut file = WholeFile::create(&args.output)?;
    // hiprtc has HIP's declarations built in. The empty header stands for the one that most sources include.
    let mut compiler = Compiler::new(&args.target).options(&args.option).header("hip/hip_runtime.h", "");
    if args.device_libs {
        compiler = compiler.device_libraries();
    }
    let compiled =
        compiler.compile_inputs(&inputs).map_err(|error| CommandError::Unusable(error.to_string()))?;
    if !compiled.log().is_empty() {
        complain(compiled.log().trim_end());
    }
    file.write_all(compiled.elf())?;
    file.finish()?;
    let kernels: Vec<&str> = compiled.code_object().kernels().iter().map(|kernel| &*kernel.name).collect();
    let names = if kernels.is_empty() { String::new() } else { format!(": {}", kernels.join(", ")) };
    out.line(format!(
        "{}: {} bytes for {}, {}{names}",
        args.output.display(),
        grouped(compiled.elf().len() as u64),
        args.target.short(),
        counted(kernels.len(), "kernel", "kernels"),
    ))?;
    Ok(CommandOutcome::Passed)
}
