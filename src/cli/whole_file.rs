//! Files that are written whole or not at all.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A file that takes the place of another one, or appears, when it is finished; until then, and when it never is, what
/// was there stays.
#[derive(Debug)]
pub(crate) struct WholeFile {
    target: PathBuf,
    /// The file that is written; none where the target is a pipe or a device.
    temporary: Option<PathBuf>,
    file: BufWriter<File>,
}

fn with_path(path: &Path) -> impl FnOnce(io::Error) -> io::Error {
    move |e| io::Error::new(e.kind(), format!("{}: {e}", path.display()))
}

impl WholeFile {
    /// Makes a file beside `path`.
    pub(crate) fn create(path: &Path) -> io::Result<WholeFile> {
        let named = with_path(path);
        let create = || {
            // What a link leads to is replaced, not the link.
            let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
            if fs::metadata(&target).is_ok_and(|m| !m.is_file()) {
                let file = BufWriter::new(File::options().write(true).open(&target)?);
                return Ok(WholeFile { target, temporary: None, file });
            }
            let Some(name) = target.file_name() else {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, "no name of a file"));
            };
            let mut hidden = OsString::from(".");
            hidden.push(name);
            hidden.push(format!(".{}.part", std::process::id()));
            let temporary = target.with_file_name(hidden);
            let file = BufWriter::new(File::create(&temporary)?);
            Ok(WholeFile { target, temporary: Some(temporary), file })
        };
        create().map_err(named)
    }

    /// Puts it in its place.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        let finished = self.file.flush().and_then(|()| match &self.temporary {
            Some(temporary) => fs::rename(temporary, &self.target),
            None => Ok(()),
        });
        finished.map_err(with_path(&self.target))?;
        self.temporary = None;
        Ok(())
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes).map_err(with_path(&self.target))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush().map_err(with_path(&self.target))
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary
            && let Err(e) = fs::remove_file(temporary)
        {
            log::warn!("{}: {e}", temporary.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_finished_leaves_nothing() {
        let folder = std::env::temp_dir().join(format!("hiplaunch-whole-file-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("file");
        let names = || fs::read_dir(&folder).unwrap().count();
        fs::write(&path, "before").unwrap();
        let mut file = WholeFile::create(&path).unwrap();
        file.write_all(b"half").unwrap();
        file.flush().unwrap();
        assert_eq!((names(), fs::read(&path).unwrap()), (2, b"before".to_vec()));
        drop(file);
        assert_eq!((names(), fs::read(&path).unwrap()), (1, b"before".to_vec()));
        let mut file = WholeFile::create(&path).unwrap();
        file.write_all(b"whole").unwrap();
        file.finish().unwrap();
        assert_eq!((names(), fs::read(&path).unwrap()), (1, b"whole".to_vec()));
        let error = WholeFile::create(&folder.join("none/file")).unwrap_err();
        assert!(error.to_string().contains("none/file"), "{error}");
        fs::remove_dir_all(&folder).unwrap();
    }
}
