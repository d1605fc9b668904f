//! The parts of help and manual pages besides the options: exit status, environment and examples.

use clap::{Command, CommandFactory};

use super::Cli;
use super::output::wrapped;

/// Each exit status, and what it means.
pub(crate) const EXIT_STATUS: [(u8, &str); 4] = [
    (0, "everything passed"),
    (
        1,
        "an expectation or a capacity was not met, a result was wrong, a kernel faulted, or the validation layer found \
         a misuse",
    ),
    (
        2,
        "unusable input: the command line, a script, a trace, a code object, a launch that does not fit its kernel; or \
         no driver",
    ),
    (3, "the output could not be written, or its reader went away before its end"),
];

/// Environment variables, and what they set, but for those of the emulator's settings.
const ENVIRONMENT: [(&str, &str); 11] = [
    ("HIPLAUNCH_BACKEND", "the driver for --backend auto: auto, hip, hsa or emulator"),
    ("HIPLAUNCH_VALIDATE", "1 turns the validation layer on without --validate"),
    ("HIPLAUNCH_POOL", "where device memory comes from: caching (default), async or plain"),
    ("HIPLAUNCH_CACHE_DIR", "where kernels compiled at run time are kept; off for nowhere"),
    ("HIPLAUNCH_CLANG", "the clang that compiles LLVM IR and assembly, in place of ROCm's comgr"),
    ("HIPLAUNCH_LIBAMDHIP64", "the library that exec gives to programs, if it is not beside the command"),
    ("HIPLAUNCH_LOG, RUST_LOG", "log level on stderr: off, error, warn (default), info, debug or trace"),
    ("ROCM_PATH", "where ROCm is installed"),
    ("NO_COLOR", "set to anything: no colours with --color auto"),
    ("CLICOLOR_FORCE", "set to anything but 0: colours also without a terminal"),
    ("CLICOLOR", "0: no colours"),
];

/// Returns every environment variable with what it sets.
pub(crate) fn environment() -> impl Iterator<Item = (&'static str, String)> {
    #[cfg(feature = "emulator")]
    let emulator = hip_driver_emulated::SETTINGS
        .iter()
        .map(|setting| (setting.variable, setting.paragraphs().next().unwrap_or_default()));
    #[cfg(not(feature = "emulator"))]
    let emulator = std::iter::empty();
    ENVIRONMENT.iter().map(|(variable, meaning)| (*variable, (*meaning).to_owned())).chain(emulator)
}

/// A command line, and what it does.
type Example = (&'static str, &'static str);

/// Examples by command. A test runs them, in the repository's folder.
const EXAMPLES: [(&str, &[Example]); 15] = [
    (
        "run",
        &[
            (
                "hiplaunch run tests/data/saxpy.launch.toml --validate",
                "run a launch script under the validation layer",
            ),
            (
                "hiplaunch run tests/data/saxpy.launch.toml --target gfx942 --code-object hip/vector.gfx942.co",
                "run it with the code object for another target",
            ),
            ("hiplaunch run tests/data/saxpy.launch.toml --profile", "count what each kernel does"),
        ],
    ),
    (
        "exec",
        &[(
            "hiplaunch exec --devices 2 --validate -- true",
            "run a program, here `true`, that finds two emulated devices, under the validation layer",
        )],
    ),
    (
        "demo",
        &[
            ("hiplaunch demo", "compare naive launches with hiplaunch's on the driver in use"),
            (
                "hiplaunch demo --launches 100 --explain",
                "explain the rows, and count the calls of operations with and without a memory pool",
            ),
            (
                "hiplaunch demo --only block/hiplaunch --launches 100 --json",
                "measure one case, and print JSON",
            ),
        ],
    ),
    (
        "bench",
        &[(
            "hiplaunch bench --quick --html report.html",
            "measure the launch methods side by side, and write a report with pictures",
        )],
    ),
    (
        "selftest",
        &[
            ("hiplaunch selftest --backend hip", "test a GPU and its driver, and write a report to send"),
            (
                "hiplaunch selftest --only about --only arithmetic --report report.json",
                "compare the arithmetic of the device in use with the emulator's",
            ),
        ],
    ),
    (
        "fleet",
        &[
            (
                "hiplaunch fleet run 'tests/data/sax*.launch.toml' --workers 2",
                "run launch scripts on two emulated devices of this machine",
            ),
            (
                "hiplaunch fleet run 'corpus/**/*.launch.toml' --address auto --html report.html",
                "run them on the devices of the Ray cluster that this machine belongs to, and write a page",
            ),
        ],
    ),
    (
        "trace",
        &[(
            "hiplaunch trace --output demo.csv --snapshot demo.svg demo --launches 10",
            "write what the demo's memory pool did, and a picture of it",
        )],
    ),
    (
        "replay",
        &[
            (
                "hiplaunch replay docs/pool.trace.csv --cap 2MiB",
                "run a trace on a pool that may hold two mebibytes, and count what did not fit",
            ),
            (
                "hiplaunch replay docs/pool.trace.csv --pool plain --json",
                "the same with a pool that caches nothing, on the driver in use",
            ),
        ],
    ),
    (
        "plan",
        &[
            ("hiplaunch plan docs/plan.csv --svg plan.svg", "place the buffers, and draw where they lie"),
            (
                "hiplaunch plan docs/plan.csv --capacity 2048 --json",
                "stop at a plan that fits; print its offsets",
            ),
        ],
    ),
    (
        "info",
        &[
            ("hiplaunch info", "show which driver is used, and why"),
            ("hiplaunch info --json", "the same for a program"),
        ],
    ),
    (
        "compile",
        &[
            ("hiplaunch compile tests/data/twice.ll -o twice.co", "compile LLVM IR for gfx90a"),
            (
                "hiplaunch compile tests/data/twice.ll -o twice.co --device-libs --option -O1",
                "link the device libraries, and optimise less",
            ),
        ],
    ),
    (
        "inspect",
        &[
            (
                "hiplaunch inspect hip/reduce.gfx90a.co --block 256",
                "show what is in a code object, and how many blocks of 256 a compute unit holds",
            ),
            (
                "hiplaunch inspect hip/vector.gfx942.co --kernel saxpy --disassemble",
                "one kernel, with its machine code",
            ),
            ("hiplaunch inspect hip/*.co --json", "all of many code objects, for a program"),
        ],
    ),
    (
        "fidelity",
        &[
            ("hiplaunch fidelity --target gfx950", "which instructions of gfx950 are exact, and why"),
            (
                "hiplaunch fidelity hip/reduce.gfx90a.co --json",
                "the same for the instructions of a code object, for a program",
            ),
        ],
    ),
    (
        "completions",
        &[
            (
                "hiplaunch completions bash > hiplaunch.bash",
                "bash reads it from ~/.local/share/bash-completion/completions, under the name hiplaunch",
            ),
            (
                "hiplaunch completions zsh > _hiplaunch",
                "zsh reads it from a folder of $fpath; fish from ~/.config/fish/completions",
            ),
        ],
    ),
    (
        "man",
        &[
            ("hiplaunch man > hiplaunch.1", "man -l hiplaunch.1 shows it"),
            ("hiplaunch man --folder .", "the pages of all commands"),
        ],
    ),
];

/// Returns the definition of the command line, with the texts of its help.
pub(crate) fn command() -> Command {
    let status = EXIT_STATUS.iter().map(|(status, says)| listed(&format!("{status}"), 2, says));
    let environment = environment().map(|(name, meaning)| listed(name, 28, &meaning));
    let help = format!(
        "Exit status:\n{}\nEnvironment:\n{}\n`hiplaunch COMMAND --help` has examples of a command, `hiplaunch man` a manual page.",
        status.collect::<String>(),
        environment.collect::<String>()
    );
    EXAMPLES.iter().fold(Cli::command().after_help(help), |command, (name, examples)| {
        // A command may have its own text after the help, or not be in this build.
        if command.find_subcommand(name).is_none_or(|c| c.get_after_help().is_some()) {
            return command;
        }
        let lines = examples.iter().map(|(line, does)| format!("  {line}\n      {does}\n"));
        command.mut_subcommand(name, |c| c.after_help(format!("Examples:\n{}", lines.collect::<String>())))
    })
}

/// Returns a line of a list, wrapped and indented after its label.
fn listed(label: &str, width: usize, says: &str) -> String {
    wrapped(&format!("  {label:width$} "), says.split_whitespace(), " ").join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_command_has_an_example() {
        for command in super::command().get_subcommands() {
            let help = command.get_after_help().map(|help| help.to_string()).unwrap_or_default();
            assert!(help.contains("Example") && help.contains("hiplaunch "), "{}", command.get_name());
        }
    }

    #[test]
    fn lists_are_wrapped_after_their_labels() {
        let text = super::listed("a", 2, &"word ".repeat(30));
        assert!(text.starts_with("  a  word") && text.lines().all(|line| line.len() <= 110), "{text}");
        assert!(text.lines().all(|line| line == line.trim_end()), "{text}");
        assert!(text.lines().nth(1).is_some_and(|line| line.starts_with("     word")), "{text}");
    }
}
