//! The crate's errors.

/// A `Result` with [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// An error of this crate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The code object is for a processor that this crate doesn't support.
    #[error("the code object is for {target}, and not for {known} or their generic processors")]
    UnsupportedTarget {
        /// The code object's target, as its file names it.
        target: String,
        /// The processors that it could be for, as [`Target::listed_processors`](crate::Target::listed_processors) has them, or with
        /// those whose code is only disassembled.
        known: String,
    },
}
