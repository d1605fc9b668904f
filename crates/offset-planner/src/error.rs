//! The errors of planning problems. Each names the buffer or node, and says what would be accepted.

use std::fmt;

/// The property of a [`Buffer`](super::Buffer) that makes it invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BufferProperty {
    /// Its lifetime, which ends before it begins, is of another kind than those before, or names an unknown node.
    Lifetime,
    /// Its size: 0, or so large that all sizes add up to more than 2^62 bytes.
    Size,
    /// Its alignment, which is not a power of two.
    Alignment,
    /// Its fixed offset, which is not a multiple of its alignment.
    Fixed,
}

/// The reason why a problem is invalid, or has no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OffsetsError {
    /// A buffer can't be added.
    #[error("buffer `{buffer}`: {problem}")]
    Buffer {
        /// The buffer's name.
        buffer: Box<str>,
        /// What is wrong with it.
        property: BufferProperty,
        /// The same in words.
        problem: Box<str>,
    },
    /// The problem as a whole is invalid: a name or id, the graph, or what buffers share. The text names it.
    #[error("{0}")]
    Invalid(Box<str>),
    /// The plan to start from is not a valid plan of this problem.
    #[error("the plan to start from is not valid: {0}")]
    StartPlan(Box<super::VerifyError>),
    /// No plan fits the capacity, or none was found within the budget.
    #[error("{}", over_capacity(*.capacity, *.best_total, *.lower_bound, *.proved))]
    OverCapacity {
        /// The capacity in bytes.
        capacity: u64,
        /// The least total that was found, in bytes.
        best_total: u64,
        /// A lower bound in bytes: no plan has a smaller total.
        lower_bound: u64,
        /// Whether it is proved that no plan fits.
        proved: bool,
    },
}

impl OffsetsError {
    pub(super) fn invalid(problem: String) -> OffsetsError {
        OffsetsError::Invalid(problem.into())
    }
}

fn over_capacity(capacity: u64, best_total: u64, lower_bound: u64, proved: bool) -> impl fmt::Display {
    let over = best_total.saturating_sub(capacity);
    let certain = match (proved, best_total == lower_bound) {
        (true, true) => format!("; no plan needs less than {lower_bound}"),
        (true, false) => format!("; no plan fits, and none needs less than {lower_bound}"),
        (false, _) => format!(
            "; no plan needs less than {lower_bound}, so one that fits may exist: give the search a larger budget"
        ),
    };
    format!(
        "the capacity of {capacity} bytes is {over} bytes too small: {best_total} bytes would do{certain}"
    )
}
