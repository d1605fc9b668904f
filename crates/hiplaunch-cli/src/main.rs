//! The program `hiplaunch`. All of it is in the library of this package.

fn main() -> std::process::ExitCode {
    hiplaunch_cli::main()
}
