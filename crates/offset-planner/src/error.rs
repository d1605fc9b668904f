//! What can be wrong with a planning problem: each error names the buffer or node, and says what would do.

use std::fmt;

/// Why a problem can't be stated, or has no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OffsetsError {
    /// A closed lifetime whose last position is before its first, or a half-open one that holds no position.
    #[error("buffer `{buffer}`: its lifetime ends before it begins ({begin} to {end}{})", if *.half_open { ", half-open" } else { "" })]
    LifetimeEndsBeforeItBegins {
        /// The buffer's name.
        buffer: Box<str>,
        /// First position.
        begin: u64,
        /// Last position, or the first one that is no longer part of a half-open lifetime.
        end: u64,
        /// Whether `end` is excluded.
        half_open: bool,
    },
    /// A buffer of 0 bytes: nothing to place, and most likely a size that was computed wrongly.
    #[error("buffer `{buffer}`: its size is 0 bytes; leave out a buffer that holds nothing")]
    ZeroSize {
        /// The buffer's name.
        buffer: Box<str>,
    },
    /// The buffers laid end to end, each with its alignment, would pass the largest offset, 2^62.
    #[error("buffer `{buffer}`: with {size} bytes for it, the sizes add up to more than 2^62 bytes")]
    Overflow {
        /// The buffer at which the sum passes the limit.
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
    /// A fixed offset that is no multiple of the buffer's alignment.
    #[error("buffer `{buffer}`: its fixed offset {offset} is no multiple of its alignment {alignment}")]
    FixedMisaligned {
        /// The buffer's name.
        buffer: Box<str>,
        /// The fixed offset in bytes.
        offset: u64,
        /// The alignment in bytes.
        alignment: u64,
    },
    /// Two fixed buffers that are live together and overlap in bytes.
    #[error("buffers `{first}` and `{second}` are live together, and their fixed offsets make them overlap")]
    FixedConflict {
        /// One buffer's name.
        first: Box<str>,
        /// The other's.
        second: Box<str>,
    },
    /// Two buffers of one name.
    #[error("buffer `{buffer}` is there twice")]
    DuplicateBuffer {
        /// The name.
        buffer: Box<str>,
    },
    /// An id that this problem did not give.
    #[error("no buffer of this problem has the number {index}; it has {buffers}")]
    UnknownBuffer {
        /// The id's number.
        index: usize,
        /// How many buffers there are.
        buffers: usize,
    },
    /// A node that this problem did not give.
    #[error("{}no node of this problem has the number {index}; it has {nodes}", of_buffer(.buffer))]
    UnknownNode {
        /// The buffer that names the node, if it is one.
        buffer: Option<Box<str>>,
        /// The node's number.
        index: usize,
        /// How many nodes there are.
        nodes: usize,
    },
    /// Some lifetimes are intervals and some are nodes of a graph.
    #[error("buffer `{buffer}`: its lifetime is {}, unlike that of the buffers before it", if *.interval { "an interval" } else { "given by nodes" })]
    MixedLifetimes {
        /// The first buffer that differs.
        buffer: Box<str>,
        /// Whether it is that one that has an interval.
        interval: bool,
    },
    /// The graph has a cycle, so it is no partial order.
    #[error("the nodes form a cycle: {}", cycle(.nodes))]
    Cycle {
        /// The names of the nodes along it.
        nodes: Vec<Box<str>>,
    },
    /// A use of a buffer that its definition does not reach.
    #[error("buffer `{buffer}`: node `{node}` uses it, but does not come after its definition")]
    UseBeforeDefinition {
        /// The buffer's name.
        buffer: Box<str>,
        /// The node's name.
        node: Box<str>,
    },
    /// The graph is too wide for the table of what comes before what.
    #[error("{nodes} nodes in {chains} chains: too wide a graph to plan")]
    OrderTooWide {
        /// Nodes.
        nodes: usize,
        /// Chains that cover them.
        chains: usize,
    },
    /// A pair that may not share: the later buffer does not begin where the earlier one ends.
    #[error(
        "buffer `{later}` can't take the bytes of `{earlier}`: they are live together for longer than the one step that reads the one and writes the other"
    )]
    NotInPlace {
        /// The buffer whose bytes are to be taken.
        earlier: Box<str>,
        /// The buffer that was to take them.
        later: Box<str>,
    },
    /// A plan to start from that is none of this problem.
    #[error("the plan to start from is not valid: {0}")]
    StartPlan(Box<super::VerifyError>),
    /// No plan fits the capacity, or none was found within the budget.
    #[error("{}", over_capacity(*.capacity, *.best_total, *.lower_bound, *.proved))]
    OverCapacity {
        /// The capacity in bytes.
        capacity: u64,
        /// The least total found, in bytes; this much would do.
        best_total: u64,
        /// No plan needs less than this, in bytes.
        lower_bound: u64,
        /// Whether it is proved that no plan fits.
        proved: bool,
    },
}

fn of_buffer(buffer: &Option<Box<str>>) -> String {
    buffer.as_ref().map(|buffer| format!("buffer `{buffer}`: ")).unwrap_or_default()
}

fn cycle(nodes: &[Box<str>]) -> String {
    let mut text = String::new();
    for node in nodes.iter().chain(nodes.first()) {
        if !text.is_empty() {
            text.push_str(" -> ");
        }
        text.push_str(&format!("`{node}`"));
    }
    text
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
