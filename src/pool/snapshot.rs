//! The pool segments and pool blocks of a pool at one moment.

use hip_driver::DeviceId;

use super::bins::GRANULE;
use super::block_records::BlockState;
use super::core::PoolCore;
use super::counters::PoolCounters;
use super::heap::SegmentKind;

/// The state of a pool block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolBlockState {
    /// Allocated.
    InUse,
    /// Freed, but other streams may still use it.
    HeldBack,
    /// Kept for the next request of exactly its size.
    Cached,
    /// Free for any request.
    Free,
}

impl PoolBlockState {
    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            PoolBlockState::InUse => "in use",
            PoolBlockState::HeldBack => "held back",
            PoolBlockState::Cached => "cached",
            PoolBlockState::Free => "free",
        }
    }
}

/// One pool block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolBlockSnapshot {
    /// Its address. On a driver that separates blocks, there are gaps between them.
    pub address: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// The number of bytes that were asked for, or 0 if it is not in use.
    pub requested: u64,
    /// Its state.
    pub state: PoolBlockState,
}

/// One pool segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolSegmentSnapshot {
    /// The number of the stream that it belongs to, or 0 for none.
    pub stream: u64,
    /// Its address.
    pub address: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// Whether it is for small pool blocks.
    pub small: bool,
    /// Its pool blocks by address. Together they cover all its bytes.
    pub blocks: Vec<PoolBlockSnapshot>,
}

/// The contents of a pool at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolSnapshot {
    /// The pool's device.
    pub device: DeviceId,
    /// Its counters, read just after the segments.
    pub counters: PoolCounters,
    /// Every pool segment, one stream after the other.
    pub segments: Vec<PoolSegmentSnapshot>,
}

impl PoolCore {
    /// Returns the segments and blocks. Those of one stream are read at one moment.
    pub(crate) fn snapshot(&self) -> PoolSnapshot {
        let mut segments = Vec::new();
        for arena in self.all() {
            let stream = arena.number();
            arena.core().with(|heap, _| {
                for segment in heap.live_segments() {
                    let blocks = heap.blocks(segment).map(|(_, n)| {
                        let bytes = u64::from(n.granules) * GRANULE;
                        let state = match n.state {
                            BlockState::Live => PoolBlockState::InUse,
                            BlockState::Held => PoolBlockState::HeldBack,
                            BlockState::Cached => PoolBlockState::Cached,
                            BlockState::Free | BlockState::Vacant => PoolBlockState::Free,
                        };
                        let live = n.state == BlockState::Live;
                        let requested = if live { bytes - u64::from(n.slack) } else { 0 };
                        let address = self.shared.seen_at(segment, n.address);
                        PoolBlockSnapshot { address, bytes, requested, state }
                    });
                    segments.push(PoolSegmentSnapshot {
                        stream,
                        address: segment.address,
                        bytes: segment.bytes(),
                        small: segment.kind == SegmentKind::Small,
                        blocks: blocks.collect(),
                    });
                }
            });
        }
        // Counting joins cached blocks with their neighbours, so it comes last.
        PoolSnapshot { device: self.shared.device, counters: self.counters(), segments }
    }
}
