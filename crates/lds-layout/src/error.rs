//! The errors of LDS layouts. Each names the buffer or the position, and says what would be accepted.

use offset_planner::OffsetsError;

use super::check::LayoutCheckError;

/// The reason why a kernel's use of LDS is invalid, or has no layout.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LdsError {
    /// The last position of the kernel is before its first.
    #[error("the kernel has no positions: its last, {last}, is before its first, {first}")]
    NoPositions {
        /// The first position.
        first: u64,
        /// The last position.
        last: u64,
    },
    /// An event has a position that the kernel does not have.
    #[error("{what} at position {position} is outside the kernel, whose positions are {first} to {last}")]
    OutsideOfKernel {
        /// The event; for an access, with the name of its buffer.
        what: Box<str>,
        /// The position of the event.
        position: u64,
        /// The kernel's first position.
        first: u64,
        /// The kernel's last position.
        last: u64,
    },
    /// Two events have one position, but need an order.
    #[error(
        "position {position} has {one} and {other}: their order is not known; give each a position of its own"
    )]
    PositionTaken {
        /// The position of both events.
        position: u64,
        /// One event; for an access, with the name of its buffer.
        one: Box<str>,
        /// The other event; for an access, with the name of its buffer.
        other: Box<str>,
    },
    /// The begin or end of a loop or branch is not after the previous one.
    #[error("{what} at position {position}: it must be after the previous begin or end, at {after}")]
    NotIncreasing {
        /// The event.
        what: &'static str,
        /// The position of the event.
        position: u64,
        /// The position of the previous begin or end.
        after: u64,
    },
    /// An end or an `else` does not belong to the innermost open loop or branch.
    #[error("{what} at position {position}, but the innermost open scope there is {open}")]
    NotOpen {
        /// The event.
        what: &'static str,
        /// The position of the event.
        position: u64,
        /// The innermost open loop or branch.
        open: Box<str>,
    },
    /// A loop or branch has no end.
    #[error("the {what} that begins at position {position} has no end")]
    Unclosed {
        /// `loop` or `branch`.
        what: &'static str,
        /// The position at which it begins.
        position: u64,
    },
    /// An id is not of this builder.
    #[error("no buffer of this kernel has the number {index}; it has {buffers}")]
    UnknownId {
        /// The number of the id.
        index: usize,
        /// The number of buffers and aliases of this builder.
        buffers: usize,
    },
    /// Two buffers or aliases have the same name.
    #[error("buffer `{buffer}` already exists")]
    DuplicateBuffer {
        /// The name.
        buffer: Box<str>,
    },
    /// A buffer has a size of 0 bytes.
    #[error("buffer `{buffer}`: its size is 0 bytes; do not add an empty buffer")]
    ZeroSize {
        /// The buffer's name.
        buffer: Box<str>,
    },
    /// All buffers end to end take more than `u32::MAX` bytes, the limit of 32-bit LDS addresses.
    #[error(
        "buffer `{buffer}`: with {size} bytes for it, the buffers are over 4294967295 bytes, which LDS addresses end at"
    )]
    TooLarge {
        /// The buffer at which the limit is exceeded.
        buffer: Box<str>,
        /// Its size in bytes.
        size: u64,
    },
    /// An alignment is not a power of two.
    #[error("buffer `{buffer}`: alignment {alignment} is not a power of two")]
    Alignment {
        /// The buffer's name.
        buffer: Box<str>,
        /// The alignment in bytes.
        alignment: u64,
    },
    /// An alias is of a name that does not exist.
    #[error("alias `{alias}`: no buffer has the name `{of}`")]
    AliasOfNothing {
        /// The alias.
        alias: Box<str>,
        /// The name that does not exist.
        of: Box<str>,
    },
    /// Aliases name each other, and no buffer.
    #[error("the aliases {} name each other, and no buffer", quoted(.names))]
    AliasCycle {
        /// The names, in the order in which each refers to the next.
        names: Vec<Box<str>>,
    },
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
    /// The static LDS leaves no bytes for dynamic LDS, or the occupancy is 0.
    #[error(
        "{workgroups} workgroups with {static_lds} bytes of static LDS each do not fit a compute unit's {bytes} bytes"
    )]
    StaticLds {
        /// The number of workgroups that was asked for.
        workgroups: u32,
        /// The static LDS of each workgroup, in bytes.
        static_lds: u32,
        /// The LDS of a compute unit, in bytes.
        bytes: u32,
    },
    /// The offset planner returned an error.
    #[error(transparent)]
    Offsets(#[from] OffsetsError),
    /// The checks found an error in a planned layout. This is a bug of the planner; the layout is not returned.
    #[error("the planned layout is wrong (a bug of the planner) and was not returned: {0}")]
    Check(#[from] LayoutCheckError),
}

fn quoted(names: &[Box<str>]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
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
