//! The errors of LDS layouts. Each names the buffer or the position, and says what would be accepted.

use offset_planner::{OffsetsError, VerifyError};

/// Why a layout is wrong: the text names the buffers, and their positions or offsets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LayoutCheckError(pub(super) Box<str>);

impl From<VerifyError> for LayoutCheckError {
    fn from(error: VerifyError) -> LayoutCheckError {
        LayoutCheckError(error.to_string().into())
    }
}

/// The reason why a kernel's use of LDS is invalid, or has no layout.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LdsError {
    /// What was recorded, or asked for, is not possible: a size, an alignment, a name, a position, a loop or branch, or
    /// an occupancy. The text names it.
    #[error("{0}")]
    Invalid(Box<str>),
    /// No barrier can be inserted between the accesses of two buffers: both are accessed in one statement, or under one
    /// condition that may differ between work-items.
    #[error(
        "buffer `{buffer}`: no barrier can stand between its last access, at {last}, and position {next}, where `{other}` begins"
    )]
    NoPlaceForBarrier {
        /// The buffer whose bytes were to be reused.
        buffer: Box<str>,
        /// Position of its last access.
        last: u64,
        /// The buffer that would reuse the bytes.
        other: Box<str>,
        /// The position of its first access.
        next: u64,
    },
    /// No layout within the budget was found, with any barriers inserted.
    #[error("{}", over_budget(*.budget, *.least, *.lower_bound, *.barriers, *.proved))]
    OverBudget {
        /// The budget in bytes.
        budget: u64,
        /// The least total that was found, in bytes, with a barrier wherever one helps.
        least: u64,
        /// A lower bound in bytes: no layout needs less.
        lower_bound: u64,
        /// The number of inserted barriers with which `least` is reached.
        barriers: usize,
        /// Whether it is proved that no layout is within the budget.
        proved: bool,
    },
    /// A compute unit has too little LDS for this many workgroups.
    #[error(
        "{workgroups} workgroups on a compute unit leave {available} bytes of dynamic LDS for each, {} bytes too few: the least that was found is {least}, which allows {possible}",
        least.saturating_sub(*.available)
    )]
    OverOccupancy {
        /// The number of workgroups that was asked for.
        workgroups: u32,
        /// The bytes of dynamic LDS that are available to each workgroup.
        available: u64,
        /// The least total that was found, in bytes.
        least: u64,
        /// The number of workgroups that a compute unit can hold with `least` bytes each.
        possible: u32,
    },
    /// The offset planner returned an error.
    #[error(transparent)]
    Offsets(#[from] OffsetsError),
    /// The checks found an error in a planned layout. This is a bug of the planner; the layout is not returned.
    #[error("the planned layout is wrong (a bug of the planner) and was not returned: {0}")]
    Check(#[from] LayoutCheckError),
}

impl LdsError {
    pub(super) fn invalid(problem: impl Into<Box<str>>) -> LdsError {
        LdsError::Invalid(problem.into())
    }

    pub(super) fn unknown_id(index: usize, buffers: usize) -> LdsError {
        LdsError::invalid(format!("no buffer of this kernel has the number {index}; it has {buffers}"))
    }
}

fn over_budget(budget: u64, least: u64, lower_bound: u64, barriers: usize, proved: bool) -> String {
    let over = least.saturating_sub(budget);
    let certain = match (proved, least == lower_bound) {
        (true, true) => "no layout needs less".to_string(),
        (true, false) => format!("no layout fits, and none needs less than {lower_bound}"),
        (false, _) => format!("no layout needs less than {lower_bound}, so one that fits may exist"),
    };
    let with = match barriers {
        0 => String::new(),
        1 => ", with 1 barrier inserted".to_string(),
        n => format!(", with {n} barriers inserted"),
    };
    format!(
        "the budget of {budget} bytes of LDS is {over} bytes too small: {least} bytes would do{with}; {certain}"
    )
}
