//! A pool's segments and blocks at a moment.

use hip_driver::DeviceId;

use super::bins::GRANULE;
use super::block_records::State;
use super::core::PoolCore;
use super::counters::PoolCounters;
use super::heap::SegmentKind;

/// What a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolBlockState {
    /// Handed out.
    InUse,
    /// Given back, but other streams may still use it.
    HeldBack,
    /// Free for the next request of exactly its size.
    Cached,
    /// Free.
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

/// One block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolBlockSnapshot {
    /// Its address. On a driver that separates blocks, there are gaps between them.
    pub address: u64,
    /// Its bytes.
    pub bytes: u64,
    /// Bytes that were asked for; 0 where it is not in use.
    pub requested: u64,
    /// What it is.
    pub state: PoolBlockState,
}

/// One segment, its blocks by address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolSegmentSnapshot {
    /// The stream that it belongs to; 0 for none.
    pub stream: u64,
    /// Its address.
    pub address: u64,
    /// Its bytes.
    pub bytes: u64,
    /// Whether it is for small blocks.
    pub small: bool,
    /// All of its bytes, in order.
    pub blocks: Vec<PoolBlockSnapshot>,
}

/// A pool at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolSnapshot {
    /// The device.
    pub device: DeviceId,
    /// Its counters, read just after the segments.
    pub counters: PoolCounters,
    /// Every segment, stream by stream.
    pub segments: Vec<PoolSegmentSnapshot>,
}

impl PoolCore {
    /// The segments and blocks now; each stream's are of one moment.
    pub(crate) fn snapshot(&self) -> PoolSnapshot {
        let mut segments = Vec::new();
        for arena in self.all() {
            let stream = arena.number();
            arena.core().with(|heap, _| {
                for segment in heap.live_segments() {
                    let blocks = heap.blocks(segment).map(|(_, n)| {
                        let bytes = u64::from(n.units) * GRANULE;
                        let state = match n.state {
                            State::Live => PoolBlockState::InUse,
                            State::Held => PoolBlockState::HeldBack,
                            State::Cached => PoolBlockState::Cached,
                            State::Free | State::Vacant => PoolBlockState::Free,
                        };
                        let live = n.state == State::Live;
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
