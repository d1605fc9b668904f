//! What can go wrong, with the file and what to do. The rank is put before it where it is printed.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::field::TILE;

/// The result of a call that can fail.
pub(crate) type Result<T> = std::result::Result<T, HeatError>;

/// An error of the solver.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HeatError {
    /// The field has too few tiles for the ranks.
    #[error(
        "a field of {width}x{height} cells can't be divided among {ranks} ranks, which need a tile of {TILE}x{TILE} cells \
         each: take fewer ranks, or a larger --size"
    )]
    TooManyRanks { width: usize, height: usize, ranks: usize },
    /// A file can't be written or read.
    #[error("{action} {}: {problem}", path.display())]
    File { action: &'static str, path: PathBuf, problem: String },
    /// This rank had no error, but another one had, which it reports itself.
    #[error("stopped, because {during} failed on rank {failed}, which says why")]
    Elsewhere { during: &'static str, failed: usize },
    /// The device, or a launch.
    #[error(transparent)]
    Launch(#[from] hiplaunch::Error),
    /// An exchange with other ranks.
    #[error(transparent)]
    Exchange(#[from] hiplaunch_mpi::Error),
}

/// Returns a function that makes an error of a file's problem.
pub(crate) fn of_file(action: &'static str, path: &Path) -> impl Fn(String) -> HeatError {
    move |problem| HeatError::File { action, path: path.to_owned(), problem }
}

/// The problem of an error of the file system, with what to do about it.
pub(crate) fn advice(error: std::io::Error) -> String {
    let advice = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            "free some space or name a file on another disk; the previous file is as it was"
        }
        ErrorKind::NotFound => "check the path; it must be the same on all ranks",
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "name a file in a folder that this user may write to"
        }
        _ => "check the path and the disk",
    };
    format!("{error}; {advice}")
}
