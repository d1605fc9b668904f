//! A snapshot as text and as JSON.

use std::collections::BTreeMap;
use std::fmt;

use super::snapshot::{BlockState, PoolSnapshot, SegmentSnapshot};

/// Bytes in a unit that keeps them short.
pub(super) fn amount(n: u64) -> String {
    let units = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    match units.into_iter().find(|(_, shift)| n >> shift > 0) {
        Some((unit, shift)) if n.is_multiple_of(1 << shift) => format!("{} {unit}", n >> shift),
        Some((unit, shift)) => format!("{:.1} {unit}", n as f64 / (1u64 << shift) as f64),
        None => format!("{n} B"),
    }
}

/// Bytes of blocks by what they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    /// Asked for by the owners of live blocks.
    pub(super) requested: u64,
    /// Of live blocks, but not asked for.
    pub(super) slack: u64,
    pub(super) held_back: u64,
    pub(super) cached: u64,
    pub(super) free: u64,
}

impl Sums {
    pub(super) fn of<'a>(segments: impl IntoIterator<Item = &'a SegmentSnapshot>) -> Sums {
        let mut sums = Sums::default();
        for block in segments.into_iter().flat_map(|s| &s.blocks) {
            match block.state {
                BlockState::InUse => {
                    sums.requested += block.requested;
                    sums.slack += block.bytes - block.requested.min(block.bytes);
                }
                BlockState::HeldBack => sums.held_back += block.bytes,
                BlockState::Cached => sums.cached += block.bytes,
                BlockState::Free => sums.free += block.bytes,
            }
        }
        sums
    }
}

impl PoolSnapshot {
    pub(super) fn title(&self) -> String {
        format!("Memory pool of device {}", self.device.0)
    }

    /// What it holds in all, in lines of at most 120 characters.
    pub(super) fn totals(&self) -> [String; 2] {
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

    /// Its segments by stream; 0, for memory of no stream, comes first.
    pub(super) fn by_stream(&self) -> BTreeMap<u64, Vec<&SegmentSnapshot>> {
        let mut streams: BTreeMap<u64, Vec<&SegmentSnapshot>> = BTreeMap::new();
        for segment in &self.segments {
            streams.entry(segment.stream).or_default().push(segment);
        }
        streams
    }

    /// The snapshot as JSON: the device's ordinal, every counter, and the segments with their blocks. Addresses are strings
    /// in hexadecimal, as JSON's numbers lose their last digits in some readers; sizes are bytes.
    #[cfg(feature = "reports")]
    pub fn to_json(&self) -> serde_json::Value {
        use serde_json::{Value, json};
        let c = &self.counters;
        let rungs: serde_json::Map<String, Value> = super::ladder::Rung::ALL
            .into_iter()
            .map(|rung| {
                let (reached, helped) = c.rung(rung);
                (format!("{rung:?}"), json!({ "reached": reached, "helped": helped }))
            })
            .collect();
        let classes: Vec<Value> = c
            .classes
            .iter()
            .map(|k| json!({ "up_to": k.up_to, "hits": k.hits, "misses": k.misses, "steals": k.steals }))
            .collect();
        let streams: Vec<Value> = c
            .streams
            .iter()
            .map(|s| {
                json!({
                    "stream": s.stream,
                    "requested": s.requested,
                    "in_use": s.in_use,
                    "held_back": s.held_back,
                    "cached": s.cached,
                    "reserved": s.reserved,
                    "peak_in_use": s.peak_in_use,
                    "hits": s.hits,
                    "misses": s.misses,
                    "steals": s.steals,
                })
            })
            .collect();
        let segments: Vec<Value> = self.segments.iter().map(segment_json).collect();
        json!({
            "device": self.device.0,
            "counters": {
                "requested": c.requested,
                "in_use": c.in_use,
                "held_back": c.held_back,
                "cached": c.cached,
                "reserved": c.reserved,
                "peak_reserved": c.peak_reserved,
                "peak_in_use": c.peak_in_use,
                "peak_requested": c.peak_requested,
                "largest_free": c.largest_free,
                "fragmentation": c.fragmentation(),
                "hits": c.hits,
                "misses": c.misses,
                "steals": c.steals,
                "frees": c.frees,
                "live_blocks": c.live_blocks,
                "segments": c.segments,
                "driver_calls": {
                    "mallocs": c.calls.mallocs,
                    "frees": c.calls.frees,
                    "records": c.calls.records,
                    "waits": c.calls.waits,
                    "queries": c.calls.queries,
                    "synchronizes": c.calls.synchronizes,
                },
                "rungs": rungs,
                "classes": classes,
                "streams": streams,
            },
            "segments": segments,
        })
    }
}

#[cfg(feature = "reports")]
fn segment_json(segment: &SegmentSnapshot) -> serde_json::Value {
    let blocks: Vec<serde_json::Value> = segment
        .blocks
        .iter()
        .map(|block| {
            serde_json::json!({
                "address": format!("{:#x}", block.address),
                "bytes": block.bytes,
                "requested": block.requested,
                "state": block.state.name(),
            })
        })
        .collect();
    serde_json::json!({
        "stream": segment.stream,
        "address": format!("{:#x}", segment.address),
        "bytes": segment.bytes,
        "small": segment.small,
        "blocks": blocks,
    })
}

fn counted(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// A stream's name and totals in one line of at most 120 characters.
pub(super) fn stream_line(stream: u64, segments: &[&SegmentSnapshot]) -> String {
    // A device's default stream is 0 in traces of others.
    let name =
        if stream == 0 { "stream 0 (none, or the default)".to_owned() } else { format!("stream {stream}") };
    let sums = Sums::of(segments.iter().copied());
    let parts = [
        (sums.requested + sums.slack, BlockState::InUse),
        (sums.held_back, BlockState::HeldBack),
        (sums.cached, BlockState::Cached),
        (sums.free, BlockState::Free),
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
pub(super) mod tests {
    use super::super::counters::PoolCounters;
    use super::super::snapshot::BlockSnapshot;
    use super::*;
    use crate::driver::DeviceId;

    /// A segment whose blocks have these bytes, of which so many were asked for.
    pub(in super::super) fn segment(stream: u64, blocks: &[(BlockState, u64, u64)]) -> SegmentSnapshot {
        let mut address = 0x7000_0000_0000 + (stream << 32);
        let blocks: Vec<BlockSnapshot> = blocks
            .iter()
            .map(|&(state, bytes, requested)| {
                let block = BlockSnapshot { address, bytes, requested, state };
                address += bytes;
                block
            })
            .collect();
        let (address, bytes) = (blocks[0].address, blocks.iter().map(|b| b.bytes).sum());
        SegmentSnapshot { stream, address, bytes, small: bytes <= 1 << 20, blocks }
    }

    pub(in super::super) fn pool(segments: Vec<SegmentSnapshot>) -> PoolSnapshot {
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
            segment(3, &[(BlockState::InUse, 1 << 20, 1_000_000), (BlockState::Free, 1 << 20, 0)]),
            segment(0, &[(BlockState::Cached, 65536, 0)]),
            segment(3, &[(BlockState::HeldBack, 4096, 0)]),
        ]);
        let text = snapshot.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "Memory pool of device 1");
        assert!(lines[1].contains("reserved 2.1 MiB") && lines[1].contains("in use 1 MiB"), "{text}");
        assert_eq!(lines[3], "  stream 0 (none, or the default): 1 segment, 64 KiB: cached 64 KiB");
        assert_eq!(lines[4], "  stream 3: 2 segments, 2.0 MiB: in use 1 MiB, held back 4 KiB, free 1 MiB");
    }

    #[cfg(feature = "reports")]
    #[test]
    fn json_has_every_byte_and_whole_addresses() {
        let snapshot = pool(vec![segment(3, &[(BlockState::InUse, 1024, 1000), (BlockState::Free, 512, 0)])]);
        let json = snapshot.to_json();
        assert_eq!(json["counters"]["in_use"], 1024);
        assert_eq!(json["segments"][0]["address"], "0x700300000000");
        let blocks = json["segments"][0]["blocks"].as_array().unwrap();
        assert_eq!(blocks.iter().map(|b| b["bytes"].as_u64().unwrap()).sum::<u64>(), 1536);
        assert_eq!((&blocks[0]["state"], &blocks[0]["requested"]), (&"in use".into(), &1000.into()));
        assert_eq!(json["counters"]["rungs"].as_object().unwrap().len(), super::super::Rung::ALL.len());
    }
}
