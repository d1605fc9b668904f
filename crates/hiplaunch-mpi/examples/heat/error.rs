//! What can go wrong, with the rank, the file and what to do.

use std::path::{Path, PathBuf};

/// The result of a call that can fail.
pub(crate) type Result<T> = std::result::Result<T, HeatError>;

/// An error of the solver.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HeatError {
    /// The field has too few tiles for the ranks.
    #[error(
        "a field of {width}x{height} cells can't be divided among {ranks} ranks, which need a tile of {tile}x{tile} \
         cells each: take fewer ranks, or a larger --size"
    )]
    TooManyRanks { width: usize, height: usize, ranks: usize, tile: usize },
    /// A file can't be written or read.
    #[error("rank {rank}: {action} {}: {problem}", path.display())]
    File { rank: usize, action: &'static str, path: PathBuf, problem: FileProblem },
    /// This rank had no error, but another one had, which it reports itself.
    #[error("rank {rank}: stopped, because {during} failed on rank {failed}, which says why")]
    Elsewhere { rank: usize, during: &'static str, failed: usize },
    /// The device, or a launch.
    #[error("rank {rank}: {error}")]
    Launch { rank: usize, error: hiplaunch::Error },
    /// An exchange with other ranks.
    #[error("rank {rank}: {error}")]
    Exchange { rank: usize, error: Box<dyn std::error::Error + Send + Sync> },
}

/// What is wrong with a file.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileProblem {
    /// The file system refuses.
    #[error("{error}; {advice}")]
    Io { error: std::io::Error, advice: &'static str },
    /// Some other file.
    #[error("this is no checkpoint of heat: name the file that --checkpoint wrote")]
    Foreign,
    /// A checkpoint of another version of the program.
    #[error(
        "the checkpoint's format is version {0}, this program reads version {1}: restart with the program that wrote it"
    )]
    Version(u32, u32),
    /// The end is missing.
    #[error("the checkpoint is truncated: {found} bytes of {expected}; restart from an older copy")]
    Truncated { expected: u64, found: u64 },
    /// Bytes are not what was written.
    #[error("the checkpoint is damaged: its {part} is not what was written; restart from an older copy")]
    Damaged { part: &'static str },
    /// A picture can't be encoded.
    #[error("{0}")]
    Picture(png::EncodingError),
}

impl FileProblem {
    /// The problem of an error of the file system, with what to do about it.
    pub(crate) fn io(error: std::io::Error) -> FileProblem {
        use std::io::ErrorKind;
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
        FileProblem::Io { error, advice }
    }

    /// The error of a rank about a file.
    pub(crate) fn of(self, rank: usize, action: &'static str, path: &Path) -> HeatError {
        HeatError::File { rank, action, path: path.to_owned(), problem: self }
    }
}
