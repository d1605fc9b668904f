//! Files that are written completely or not at all.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A file that appears, or replaces an existing file, when it is finished. Until then, or if it is never finished, an
/// existing file stays as it is.
///
/// [`create`](WholeFile::create) checks that the file can be written, so an unusable name is an error before any work
/// is done. The temporary file is created with the first byte, so a command that is killed before leaves no file.
#[derive(Debug)]
pub(crate) struct WholeFile {
    target: PathBuf,
    /// The path of the temporary file; `None` if the target is a pipe or a device.
    temporary: Option<PathBuf>,
    /// The open file; `None` until something is written.
    file: Option<BufWriter<File>>,
}

fn with_path(path: &Path) -> impl FnOnce(io::Error) -> io::Error {
    move |e| io::Error::new(e.kind(), format!("{}: {e}", path.display()))
}

impl WholeFile {
    /// Checks that a file can be created in the folder of `path`.
    pub(crate) fn create(path: &Path) -> io::Result<WholeFile> {
        let named = with_path(path);
        let create = || {
            // If `path` is a link, its target is replaced, not the link.
            let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
            if fs::metadata(&target).is_ok_and(|m| !m.is_file()) {
                let file = BufWriter::new(File::options().write(true).open(&target)?);
                return Ok(WholeFile { target, temporary: None, file: Some(file) });
            }
            let Some(name) = target.file_name() else {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, "no name of a file"));
            };
            let mut hidden = OsString::from(".");
            hidden.push(name);
            hidden.push(format!(".{}.part", std::process::id()));
            let temporary = target.with_file_name(hidden);
            File::create(&temporary)?;
            fs::remove_file(&temporary)?;
            Ok(WholeFile { target, temporary: Some(temporary), file: None })
        };
        create().map_err(named)
    }

    fn file(&mut self) -> io::Result<&mut BufWriter<File>> {
        let (file, temporary) = (&mut self.file, &self.temporary);
        match (file, temporary) {
            (Some(file), _) => Ok(file),
            (none, Some(temporary)) => Ok(none.insert(BufWriter::new(File::create(temporary)?))),
            (None, None) => Err(io::Error::other("it is closed")),
        }
    }

    /// Writes everything to the disk and renames the temporary file to its target.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        let mut finish = || {
            let file = self.file()?;
            file.flush()?;
            let Some(temporary) = self.temporary.clone() else { return Ok(()) };
            // Some file systems report only now that they are full.
            self.file()?.get_ref().sync_all()?;
            fs::rename(temporary, &self.target)
        };
        finish().map_err(with_path(&self.target))?;
        self.temporary = None;
        Ok(())
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file().and_then(|file| file.write(bytes));
        written.map_err(with_path(&self.target))
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.file().and_then(|file| file.flush());
        flushed.map_err(with_path(&self.target))
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        // Without the buffer's own drop, which would write what is buffered.
        let Some(file) = self.file.take() else { return };
        let (file, _) = file.into_parts();
        drop(file);
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
    fn an_unfinished_file_leaves_nothing() {
        let folder = std::env::temp_dir().join(format!("hiplaunch-whole-file-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("file");
        let names = || fs::read_dir(&folder).unwrap().count();
        fs::write(&path, "before").unwrap();
        let mut file = WholeFile::create(&path).unwrap();
        assert_eq!(names(), 1);
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
