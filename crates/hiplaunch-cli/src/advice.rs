//! Advice for errors of the operating system.

use std::io::{self, ErrorKind};
use std::path::Path;

/// Says why a file can't be read, and what to do.
pub(crate) fn unreadable(path: &Path, error: &io::Error) -> String {
    format!("{}: {}", path.display(), unread(error))
}

/// The same without the file's name.
pub(crate) fn unread(error: &io::Error) -> String {
    let next = match error.kind() {
        ErrorKind::NotFound => "check its name, and the folder that it is looked for in",
        ErrorKind::PermissionDenied => "let yourself read it (chmod u+r), or name a copy",
        ErrorKind::IsADirectory => "name a file in it",
        ErrorKind::InvalidData => "it is no text; name the file that was meant",
        _ => return format!("cannot be read: {error}"),
    };
    format!("cannot be read: {error}; {next}")
}

/// Says why the output can't be written, and what to do.
pub(crate) fn unwritable(error: &io::Error) -> String {
    let next = match error.kind() {
        ErrorKind::BrokenPipe => return "the output's reader went away before its end".to_owned(),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            "free some space, or write it elsewhere"
        }
        ErrorKind::NotFound => "make the folder that it is to be in",
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => "name a place that you may write to",
        ErrorKind::IsADirectory => "name a file in it",
        _ => return format!("cannot write the output: {error}"),
    };
    format!("cannot write the output: {error}; {next}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_what_to_do() {
        let error = |kind| io::Error::new(kind, "what");
        let read = |kind| unreadable(Path::new("f"), &error(kind));
        assert_eq!(read(ErrorKind::IsADirectory), "f: cannot be read: what; name a file in it");
        assert_eq!(read(ErrorKind::Other), "f: cannot be read: what");
        assert_eq!(
            unwritable(&error(ErrorKind::StorageFull)),
            "cannot write the output: what; free some space, or write it elsewhere"
        );
        assert_eq!(unwritable(&error(ErrorKind::BrokenPipe)), "the output's reader went away before its end");
    }
}
