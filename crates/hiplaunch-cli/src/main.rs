//! The command line `hiplaunch`: its work is done in `cli`, on the library's public interface.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
