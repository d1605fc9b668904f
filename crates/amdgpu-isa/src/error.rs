//! The crate's errors.

/// A `Result` with [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// An error of this crate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The code object is for a processor that this crate doesn't support.
    #[error("the code object is for {target}, which is none of gfx90a, gfx942, gfx950 and gfx9-4-generic")]
    UnsupportedTarget {
        /// The code object's target, as its file names it.
        target: String,
    },
}
