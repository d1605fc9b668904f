//! The errors of the crate.

use rocm_library::{LoadAttempt, LoadAttempts};

/// The result of every function of this crate that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of a call.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No usable library was found.
    #[error("no usable librccl; install ROCm's package rccl or set ROCM_PATH; tried:{}", LoadAttempts(tried))]
    NotFound {
        /// The libraries that were tried, in order.
        tried: Vec<LoadAttempt>,
    },
    /// A function of RCCL failed.
    #[error("{}{call} failed with {code}: {message}", rank.map(|rank| format!("rank {rank}: ")).unwrap_or_default())]
    Rccl {
        /// The rank, if there is a communicator.
        rank: Option<usize>,
        /// The function.
        call: &'static str,
        /// The value of `ncclResult_t`.
        code: i32,
        /// The text of `ncclGetErrorString`. `NCCL_DEBUG=WARN` makes RCCL print more.
        message: String,
    },
    /// An argument is wrong; RCCL was not called.
    #[error("{call}: {problem}")]
    Invalid {
        /// The function of this crate.
        call: &'static str,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// A call of the launcher failed.
    #[error("{call}: {source}")]
    Launcher {
        /// The function of this crate.
        call: &'static str,
        /// The launcher's error.
        source: hiplaunch::Error,
    },
}

impl Error {
    pub(crate) fn invalid(call: &'static str, problem: impl Into<String>) -> Error {
        Error::Invalid { call, problem: problem.into() }
    }
}
