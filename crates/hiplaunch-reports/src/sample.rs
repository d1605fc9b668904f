//! Snapshots of pools for tests.

use hip_driver::DeviceId;
use hiplaunch::memory::report::Sums;
use hiplaunch::memory::{PoolBlockSnapshot, PoolBlockState, PoolCounters, PoolSegmentSnapshot, PoolSnapshot};

/// Creates a segment of blocks with these sizes in bytes, and the bytes that were requested.
pub(crate) fn segment(stream: u64, blocks: &[(PoolBlockState, u64, u64)]) -> PoolSegmentSnapshot {
    let mut address = 0x7000_0000_0000 + (stream << 32);
    let blocks: Vec<PoolBlockSnapshot> = blocks
        .iter()
        .map(|&(state, bytes, requested)| {
            let block = PoolBlockSnapshot { address, bytes, requested, state };
            address += bytes;
            block
        })
        .collect();
    let (address, bytes) = (blocks[0].address, blocks.iter().map(|b| b.bytes).sum());
    PoolSegmentSnapshot { stream, address, bytes, small: bytes <= 1 << 20, blocks }
}

pub(crate) fn pool(segments: Vec<PoolSegmentSnapshot>) -> PoolSnapshot {
    let sums = Sums::of(&segments);
    let counters = PoolCounters {
        requested: sums.requested,
        in_use: sums.requested + sums.slack,
        held_back: sums.held_back,
        cached: sums.cached + sums.free,
        reserved: segments.iter().map(|s| s.bytes).sum(),
        segments: segments.len() as u64,
        ..PoolCounters::default()
    };
    PoolSnapshot { device: DeviceId(1), counters, segments }
}
