//! Handles of the nodes of graphs.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::RawGraphNode;

/// Handles for the nodes of all graphs of a driver that executes graphs itself. No handle is given twice, and none is that of another kind of
/// object: those of `handle-table` have a kind other than 0 in their five highest bits, and no process has memory at such an address.
#[derive(Debug, Default)]
pub struct NodeNumbers(AtomicU64);

impl NodeNumbers {
    /// Returns a handle that was not given before.
    pub fn next(&self) -> RawGraphNode {
        RawGraphNode(7 << 56 | (self.0.fetch_add(1, Ordering::Relaxed) + 1))
    }
}
