//! Lines on standard error.

use std::fmt::Display;
use std::io::Write as _;

/// Writes a line to standard error in one piece. `eprintln!` writes each part of its format by itself, so that lines of ranks and other
/// processes that share the terminal or a log are mixed, and panics where standard error is closed. This does nothing then.
pub fn stderr_line(line: impl Display) {
    // A closed stderr can't be reported.
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixDatagram;
    use std::process::{Command, Stdio};

    use super::stderr_line;

    const CHILD: &str = "HIP_DRIVER_TEST_STDERR_CHILD";

    /// Runs this test again with something else as its standard error, where it writes a line.
    fn child(stderr: Stdio) -> bool {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "stderr::tests::a_line_is_one_write", "--nocapture"]);
        command.env(CHILD, "1").stdout(Stdio::null()).stderr(stderr).status().unwrap().success()
    }

    #[test]
    #[cfg_attr(miri, ignore = "starts a process")]
    fn a_line_is_one_write() {
        if std::env::var_os(CHILD).is_some() {
            return stderr_line(format_args!("rank {}: {}", 3, "a reason"));
        }
        // A datagram is what one call wrote.
        let (theirs, ours) = UnixDatagram::pair().unwrap();
        assert!(child(OwnedFd::from(theirs).into()));
        let mut text = [0; 64];
        let length = ours.recv(&mut text).unwrap();
        assert_eq!(std::str::from_utf8(&text[..length]), Ok("rank 3: a reason\n"));
        // The file that takes no byte.
        if let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") {
            assert!(child(full.into()), "a line that can't be written does not panic");
        }
    }
}
