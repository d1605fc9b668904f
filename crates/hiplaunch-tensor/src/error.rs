//! The errors of operations on tensors.

use hip_driver::ErrorCode;

/// The result of every fallible function of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// The reason why an expression can't be recorded or computed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An operation can't be recorded. Nothing was submitted. `compute` returns it, and
    /// [`error`](super::LazyTensor::error) shows it before that.
    #[error("tensor operation `{operation}`: {problem}")]
    Operation {
        /// The name of the operation.
        operation: &'static str,
        /// The shapes, devices or streams that do not fit.
        problem: Box<str>,
    },
    /// The launcher refused the work or failed while running it.
    #[error(transparent)]
    Launcher(#[from] hiplaunch::Error),
}

impl Error {
    /// Returns the driver's code if a driver call failed.
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            Error::Operation { .. } => None,
            Error::Launcher(error) => error.code(),
        }
    }
}

impl From<hip_driver::DriverError> for Error {
    fn from(error: hip_driver::DriverError) -> Error {
        Error::Launcher(error.into())
    }
}

#[cold]
pub(super) fn problem(operation: &'static str, problem: impl Into<Box<str>>) -> Error {
    Error::Operation { operation, problem: problem.into() }
}
