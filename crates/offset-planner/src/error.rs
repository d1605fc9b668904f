//! The errors of planning problems. Each names the buffer or node, and says what would be accepted.

use std::fmt;

/// The reason why a problem is invalid, or has no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OffsetsError {
    /// A closed lifetime ends before it begins, or a half-open lifetime is empty.
    #[error("buffer `{buffer}`: its lifetime ends before it begins ({begin} to {end}{})", if *.half_open { ", half-open" } else { "" })]
    LifetimeEndsBeforeItBegins {
        /// The buffer's name.
        buffer: Box<str>,
        /// The first position.
        begin: u64,
        /// The last position; for a half-open lifetime, the position after the last.
        end: u64,
        /// Whether the lifetime is half-open, so that `end` is excluded.
        half_open: bool,
    },
    /// A buffer has a size of 0 bytes. Most likely its size was computed wrongly.
    #[error("buffer `{buffer}`: its size is 0 bytes; do not add an empty buffer")]
    ZeroSize {
        /// The buffer's name.
        buffer: Box<str>,
    },
    /// The buffers, end to end with their alignments, exceed the largest offset, 2^62 bytes.
    #[error("buffer `{buffer}`: with {size} bytes for it, the sizes add up to more than 2^62 bytes")]
    Overflow {
        /// The buffer at which the sum exceeds the limit.
        buffer: Box<str>,
        /// The size of the buffer in bytes.
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
    /// A fixed offset is not a multiple of the buffer's alignment.
    #[error("buffer `{buffer}`: its fixed offset {offset} is not a multiple of its alignment {alignment}")]
    FixedMisaligned {
        /// The buffer's name.
        buffer: Box<str>,
        /// The fixed offset in bytes.
        offset: u64,
        /// The alignment in bytes.
        alignment: u64,
    },
    /// Two fixed buffers overlap in bytes and are live at the same time.
    #[error("buffers `{first}` and `{second}` are live at the same time, and overlap at their fixed offsets")]
    FixedConflict {
        /// The name of one buffer.
        first: Box<str>,
        /// The name of the other buffer.
        second: Box<str>,
    },
    /// Two buffers have the same name.
    #[error("buffer `{buffer}` already exists")]
    DuplicateBuffer {
        /// The name.
        buffer: Box<str>,
    },
    /// A buffer id is not of this problem.
    #[error("no buffer of this problem has the number {index}; it has {buffers}")]
    UnknownBuffer {
        /// The number of the id.
        index: usize,
        /// The number of buffers in the problem.
        buffers: usize,
    },
    /// A node id is not of this problem.
    #[error("{}no node of this problem has the number {index}; it has {nodes}", of_buffer(.buffer))]
    UnknownNode {
        /// The buffer whose lifetime names the node, if the node is from a lifetime.
        buffer: Option<Box<str>>,
        /// The number of the node id.
        index: usize,
        /// The number of nodes in the problem.
        nodes: usize,
    },
    /// Some lifetimes are intervals and others are given by nodes.
    #[error("buffer `{buffer}`: its lifetime is {}, unlike that of the buffers before it", if *.interval { "an interval" } else { "given by nodes" })]
    MixedLifetimes {
        /// The first buffer whose lifetime is of the other kind.
        buffer: Box<str>,
        /// Whether the lifetime of this buffer is an interval.
        interval: bool,
    },
    /// The graph has a cycle, so it is not a partial order.
    #[error("the nodes form a cycle: {}", cycle(.nodes))]
    Cycle {
        /// The names of the nodes on the cycle.
        nodes: Vec<Box<str>>,
    },
    /// A node uses a buffer, but does not come after the buffer's definition.
    #[error("buffer `{buffer}`: node `{node}` uses it, but does not come after its definition")]
    UseBeforeDefinition {
        /// The buffer's name.
        buffer: Box<str>,
        /// The node's name.
        node: Box<str>,
    },
    /// The graph is too wide for the table of its partial order.
    #[error("{nodes} nodes in {chains} chains: the graph is too wide to plan")]
    OrderTooWide {
        /// The number of nodes.
        nodes: usize,
        /// The number of chains that cover the nodes.
        chains: usize,
    },
    /// A pair may not share bytes, because the later buffer does not begin where the earlier one ends.
    #[error(
        "buffer `{later}` can't reuse the bytes of `{earlier}`: they are live at the same time for longer than the one step that reads the one and writes the other"
    )]
    NotInPlace {
        /// The buffer whose bytes would be reused.
        earlier: Box<str>,
        /// The buffer that would reuse them.
        later: Box<str>,
    },
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
