//! The program `hiplaunch`, which calls the library of this package.

fn main() -> std::process::ExitCode {
    hiplaunch_cli::main()
}
