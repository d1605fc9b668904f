//! What can be wrong with the LDS of a kernel: each error names the buffer or the position, and says what would do.

use offset_planner::OffsetsError;

use super::check::CheckError;

/// Why a kernel's use of LDS can't be stated, or has no layout.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LdsError {
    /// A kernel whose last position is before its first.
    #[error("the kernel has no positions: its last, {last}, is before its first, {first}")]
    NoPositions {
        /// First position.
        first: u64,
        /// Last position.
        last: u64,
    },
    /// Something at a position that the kernel does not have.
    #[error("{what} at position {position} is outside of the kernel, whose positions are {first} to {last}")]
    OutsideOfKernel {
        /// What was to be there; an access names its buffer.
        what: Box<str>,
        /// Where.
        position: u64,
        /// The kernel's first position.
        first: u64,
        /// The kernel's last position.
        last: u64,
    },
    /// Two things at one position that have an order only at different ones.
    #[error("position {position} has {one} and {other}: which comes first is not said; give each its own")]
    PositionTaken {
        /// Where.
        position: u64,
        /// What is there; an access names its buffer.
        one: Box<str>,
        /// What else is there.
        other: Box<str>,
    },
    /// The begin or end of a loop or branch that is not behind the one before it.
    #[error("{what} at position {position}: it has to be behind the one at {after}")]
    NotIncreasing {
        /// What it is.
        what: &'static str,
        /// Where.
        position: u64,
        /// Position of the begin or end before it.
        after: u64,
    },
    /// An end, or an `else`, that does not belong to the innermost open loop or branch.
    #[error("{what} at position {position}, but {open} is what is open there")]
    NotOpen {
        /// What it is.
        what: &'static str,
        /// Where.
        position: u64,
        /// The innermost open loop or branch.
        open: Box<str>,
    },
    /// A loop or branch without an end.
    #[error("the {what} that begins at position {position} has no end")]
    Unclosed {
        /// `loop` or `branch`.
        what: &'static str,
        /// Where it begins.
        position: u64,
    },
    /// An id that this builder did not give.
    #[error("no buffer of this kernel has the number {index}; it has {buffers}")]
    UnknownId {
        /// The id's number.
        index: usize,
        /// How many buffers and aliases there are.
        buffers: usize,
    },
    /// Two buffers or aliases of one name.
    #[error("buffer `{buffer}` is there twice")]
    DuplicateBuffer {
        /// The name.
        buffer: Box<str>,
    },
    /// A buffer of 0 bytes.
    #[error("buffer `{buffer}`: its size is 0 bytes; leave out a buffer that holds nothing")]
    ZeroSize {
        /// The buffer's name.
        buffer: Box<str>,
    },
    /// A buffer, or all of them end to end, over `u32::MAX` bytes: LDS addresses have 32 bits.
    #[error(
        "buffer `{buffer}`: with {size} bytes for it, the buffers are over 4294967295 bytes, which LDS addresses end at"
    )]
    TooLarge {
        /// The buffer at which the limit is passed.
        buffer: Box<str>,
        /// Its size in bytes.
        size: u64,
    },
    /// An alignment that is 0 or no power of two.
    #[error("buffer `{buffer}`: alignment {alignment} is no power of two")]
    Alignment {
        /// The buffer's name.
        buffer: Box<str>,
        /// The alignment in bytes.
        alignment: u64,
    },
    /// An alias of a name that there is not.
    #[error("alias `{alias}`: there is no buffer `{of}`")]
    AliasOfNothing {
        /// The alias.
        alias: Box<str>,
        /// What it was to be another name of.
        of: Box<str>,
    },
    /// Aliases that name each other, and no buffer.
    #[error("the aliases {} name each other, and no buffer", quoted(.names))]
    AliasCycle {
        /// Their names, in the order in which one leads to the next.
        names: Vec<Box<str>>,
    },
    /// No place for a barrier lies between two buffers: both are used under one condition that work-items may see
    /// differently, or in one statement.
    #[error(
        "buffer `{buffer}`: no barrier can stand between its last access, at {last}, and position {next}, where `{other}` begins"
    )]
    NoPlaceForBarrier {
        /// The buffer whose bytes were to be reused.
        buffer: Box<str>,
        /// Position of its last access.
        last: u64,
        /// The buffer that was to reuse them.
        other: Box<str>,
        /// Position of that one's first access.
        next: u64,
    },
    /// A budget that no barriers make the layout fit, or none that were found.
    #[error("{}", over_budget(*.budget, *.least, *.lower_bound, *.barriers, *.proved))]
    OverBudget {
        /// What was allowed, in bytes.
        budget: u64,
        /// What would do, in bytes, with a barrier wherever one helps.
        least: u64,
        /// No layout needs less than this, in bytes.
        lower_bound: u64,
        /// How many barriers that takes.
        barriers: usize,
        /// Whether it is proved that nothing fits.
        proved: bool,
    },
    /// More workgroups on a compute unit than the LDS lets there be.
    #[error(
        "{workgroups} workgroups on a compute unit leave {available} bytes of dynamic LDS for each, {} bytes too few: the least that was found is {least}, which allows {possible}",
        least.saturating_sub(*.available)
    )]
    OverOccupancy {
        /// What was asked for.
        workgroups: u32,
        /// Bytes of dynamic LDS that this leaves for each.
        available: u64,
        /// What would do, in bytes.
        least: u64,
        /// How many workgroups that allows.
        possible: u32,
    },
    /// Static LDS that leaves no room, or an occupancy of 0.
    #[error(
        "{workgroups} workgroups with {static_lds} bytes of static LDS each do not fit a compute unit's {bytes} bytes"
    )]
    StaticLds {
        /// What was asked for.
        workgroups: u32,
        /// Static LDS of each, in bytes.
        static_lds: u32,
        /// LDS of a compute unit, in bytes.
        bytes: u32,
    },
    /// The planner's own.
    #[error(transparent)]
    Offsets(#[from] OffsetsError),
    /// A layout that its checks refuse: a fault of the planner, which is not handed out.
    #[error("a layout was planned that is wrong, and is not given out: {0}")]
    Check(#[from] CheckError),
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
