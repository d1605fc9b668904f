//! A snapshot as text, and its sums and lines for other reports.

use std::collections::BTreeMap;
use std::fmt;

use super::snapshot::{PoolBlockState, PoolSegmentSnapshot, PoolSnapshot};

/// Formats a number of bytes in the largest unit that fits: `1.5 KiB`.
pub fn amount(n: u64) -> String {
    let units = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    match units.into_iter().find(|(_, shift)| n >> shift > 0) {
        Some((unit, shift)) if n.is_multiple_of(1 << shift) => format!("{} {unit}", n >> shift),
        Some((unit, shift)) => format!("{:.1} {unit}", n as f64 / (1u64 << shift) as f64),
        None => format!("{n} B"),
    }
}

/// The bytes of blocks, by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Bytes that the owners of live blocks asked for.
    pub requested: u64,
    /// Bytes of live blocks that were not asked for.
    pub slack: u64,
    /// Bytes of freed blocks that other streams may still use.
    pub held_back: u64,
    /// Bytes of blocks that are kept for the next request of exactly their size.
    pub cached: u64,
    /// Bytes of all other free blocks.
    pub free: u64,
}

impl Sums {
    /// Returns the sums over all blocks of some segments.
    pub fn of<'a>(segments: impl IntoIterator<Item = &'a PoolSegmentSnapshot>) -> Sums {
        let mut sums = Sums::default();
        for block in segments.into_iter().flat_map(|s| &s.blocks) {
            match block.state {
                PoolBlockState::InUse => {
                    sums.requested += block.requested;
                    sums.slack += block.bytes - block.requested.min(block.bytes);
                }
                PoolBlockState::HeldBack => sums.held_back += block.bytes,
                PoolBlockState::Cached => sums.cached += block.bytes,
                PoolBlockState::Free => sums.free += block.bytes,
            }
        }
        sums
    }
}

impl PoolSnapshot {
    /// A title with the number of the device.
    pub fn title(&self) -> String {
        format!("Memory pool of device {}", self.device.0)
    }

    /// What the pool holds in total, in two lines of at most 120 characters.
    pub fn totals(&self) -> [String; 2] {
        let c = &self.counters;
        [
            format!(
                "reserved {} (peak {}): in use {}, held back {}, cached or free {}",
                amount(c.reserved),
                amount(c.peak_reserved),
                amount(c.in_use),
                amount(c.held_back),
                amount(c.cached)
            ),
            format!(
                "asked for {} in {}, {}; fragmentation of what is free {:.2}",
                amount(c.requested),
                counted(c.live_blocks, "block"),
                counted(c.segments, "segment"),
                c.fragmentation()
            ),
        ]
    }

    /// The segments by the number of their stream. 0, for memory of no stream, is first.
    pub fn by_stream(&self) -> BTreeMap<u64, Vec<&PoolSegmentSnapshot>> {
        let mut streams: BTreeMap<u64, Vec<&PoolSegmentSnapshot>> = BTreeMap::new();
        for segment in &self.segments {
            streams.entry(segment.stream).or_default().push(segment);
        }
        streams
    }
}

fn counted(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// Describes a stream's segments in one line of at most 120 characters.
pub fn stream_line(stream: u64, segments: &[&PoolSegmentSnapshot]) -> String {
    // In pool traces of other programs, 0 is the device's default stream.
    let name =
        if stream == 0 { "stream 0 (none, or the default)".to_owned() } else { format!("stream {stream}") };
    let sums = Sums::of(segments.iter().copied());
    let parts = [
        (sums.requested + sums.slack, PoolBlockState::InUse),
        (sums.held_back, PoolBlockState::HeldBack),
        (sums.cached, PoolBlockState::Cached),
        (sums.free, PoolBlockState::Free),
    ];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(bytes, _)| *bytes > 0)
        .map(|(bytes, state)| format!("{} {}", state.name(), amount(*bytes)))
        .collect();
    let bytes = segments.iter().map(|s| s.bytes).sum();
    format!("{name}: {}, {}: {}", counted(segments.len() as u64, "segment"), amount(bytes), parts.join(", "))
}

impl fmt::Display for PoolSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.title())?;
        for line in self.totals() {
            write!(f, "\n  {line}")?;
        }
        for (stream, segments) in self.by_stream() {
            write!(f, "\n  {}", stream_line(stream, &segments))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::counters::PoolCounters;
    use super::super::snapshot::PoolBlockSnapshot;
    use super::*;
    use hip_driver::DeviceId;

    /// Returns a segment whose blocks have these states, sizes and requested bytes.
    fn segment(stream: u64, blocks: &[(PoolBlockState, u64, u64)]) -> PoolSegmentSnapshot {
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

    fn pool(segments: Vec<PoolSegmentSnapshot>) -> PoolSnapshot {
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

    #[test]
    fn amounts_are_short() {
        let shown = [0, 1023, 1024, 1536, 3 << 20, (5 << 30) + (1 << 29), u64::MAX].map(amount);
        let want = ["0 B", "1023 B", "1 KiB", "1.5 KiB", "3 MiB", "5.5 GiB", "16777216.0 TiB"];
        assert_eq!(shown, want);
    }

    #[test]
    fn text_says_what_each_stream_holds() {
        let snapshot = pool(vec![
            segment(3, &[(PoolBlockState::InUse, 1 << 20, 1_000_000), (PoolBlockState::Free, 1 << 20, 0)]),
            segment(0, &[(PoolBlockState::Cached, 65536, 0)]),
            segment(3, &[(PoolBlockState::HeldBack, 4096, 0)]),
        ]);
        let text = snapshot.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "Memory pool of device 1");
        assert!(lines[1].contains("reserved 2.1 MiB") && lines[1].contains("in use 1 MiB"), "{text}");
        assert_eq!(lines[3], "  stream 0 (none, or the default): 1 segment, 64 KiB: cached 64 KiB");
        assert_eq!(lines[4], "  stream 3: 2 segments, 2.0 MiB: in use 1 MiB, held back 4 KiB, free 1 MiB");
    }
}
