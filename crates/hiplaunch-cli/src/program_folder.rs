//! The folder that `hiplaunch exec` gives to programs: links to the libraries under AMD's names, and files that stand for those of Linux.

#![cfg_attr(
    not(all(target_os = "linux", feature = "emulator")),
    allow(dead_code, reason = "there is no `exec`")
)]

use std::path::PathBuf;

/// The name of the link to the audit library.
pub(crate) const AUDIT: &str = "hiplaunch-audit";

/// What stands for something of Linux.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Entry {
    /// A file with this text.
    Text(String),
    /// A link to what is at this path from its folder.
    Link(&'static str),
    /// An empty folder.
    Folder,
}

/// What is in a folder.
#[derive(Debug, Default, Hash)]
pub(crate) struct Contents {
    /// The library with HIP's functions.
    pub(crate) hip: PathBuf,
    /// How many of [`NAMES`] are links to it.
    pub(crate) hip_names: usize,
    /// The library with what is below HIP, if programs get one.
    pub(crate) below: Option<PathBuf>,
    /// The audit library.
    pub(crate) audit: PathBuf,
    /// What stands for something of Linux, by its path below the root of all files.
    pub(crate) files: Vec<(PathBuf, Entry)>,
}

#[cfg(target_os = "linux")]
mod linux {
    use std::hash::{DefaultHasher, Hash, Hasher};
    use std::io::{Error, ErrorKind, Result};
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, symlink};
    use std::path::{Path, PathBuf};

    use super::super::names::{FILES, NAMES, is_of_hip, link};
    use super::{AUDIT, Contents, Entry};

    impl Contents {
        /// Returns a folder of this user's own with these contents. It stays there for the next program that gets the same.
        pub(crate) fn folder(&self) -> Result<PathBuf> {
            let mut hasher = DefaultHasher::new();
            self.hash(&mut hasher);
            // SAFETY: it only returns a number.
            let user = unsafe { libc::geteuid() };
            let folder = std::env::temp_dir().join(format!("hiplaunch-{user}-{:016x}", hasher.finish()));
            existing(std::fs::DirBuilder::new().mode(0o700).create(&folder))?;
            // Another user could have made it, to put other libraries there.
            let metadata = folder.symlink_metadata()?;
            if !metadata.is_dir() || metadata.uid() != user || metadata.mode() & 0o022 != 0 {
                return Err(Error::new(
                    ErrorKind::PermissionDenied,
                    format!("{} is not this user's", folder.display()),
                ));
            }
            for index in 0..NAMES.len() {
                let file = if is_of_hip(index) {
                    (index < self.hip_names).then_some(&self.hip)
                } else {
                    self.below.as_ref()
                };
                if let Some(file) = file {
                    self.link(file, &link(&folder, index))?;
                }
            }
            self.link(&self.audit, &folder.join(AUDIT))?;
            self.write_files(&folder.join(FILES))?;
            Ok(folder)
        }

        fn link(&self, file: &Path, name: &Path) -> Result<()> {
            if let Some(folder) = name.parent() {
                std::fs::create_dir_all(folder)?;
            }
            existing(symlink(file, name))
        }

        /// Writes the files that are not there, each as a whole: another program may read them.
        fn write_files(&self, root: &Path) -> Result<()> {
            for (path, entry) in &self.files {
                let path = root.join(path);
                match entry {
                    Entry::Folder => std::fs::create_dir_all(path)?,
                    Entry::Link(to) => self.link(Path::new(to), &path)?,
                    Entry::Text(_) if path.exists() => {}
                    Entry::Text(text) => {
                        if let Some(folder) = path.parent() {
                            std::fs::create_dir_all(folder)?;
                        }
                        let new = path.with_extension(format!("new-{}", std::process::id()));
                        std::fs::write(&new, text)?;
                        std::fs::rename(&new, &path)?;
                    }
                }
            }
            Ok(())
        }
    }

    /// What is there already was made by another program.
    fn existing(made: Result<()>) -> Result<()> {
        match made {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    }
}
