//! Writes a snapshot of a memory pool as JSON.

use hiplaunch::memory::{PoolSegmentSnapshot, PoolSnapshot, ReclaimStep};
use serde_json::{Value, json};

/// Returns the snapshot as JSON: the device's ordinal, all counters, and the segments with their blocks. Addresses are
/// hexadecimal strings, because some readers of JSON round large numbers. Sizes are in bytes.
pub fn pool_json(snapshot: &PoolSnapshot) -> Value {
    let c = &snapshot.counters;
    let reclaim_steps: serde_json::Map<String, Value> = ReclaimStep::ALL
        .into_iter()
        .map(|step| {
            let (reached, helped) = c.reclaim_step(step);
            (format!("{step:?}"), json!({ "reached": reached, "helped": helped }))
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
    let segments: Vec<Value> = snapshot.segments.iter().map(segment_json).collect();
    json!({
        "device": snapshot.device.0,
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
            "reclaim_steps": reclaim_steps,
            "classes": classes,
            "streams": streams,
        },
        "segments": segments,
    })
}

fn segment_json(segment: &PoolSegmentSnapshot) -> Value {
    let blocks: Vec<Value> = segment
        .blocks
        .iter()
        .map(|block| {
            json!({
                "address": format!("{:#x}", block.address),
                "bytes": block.bytes,
                "requested": block.requested,
                "state": block.state.name(),
            })
        })
        .collect();
    json!({
        "stream": segment.stream,
        "address": format!("{:#x}", segment.address),
        "bytes": segment.bytes,
        "small": segment.small,
        "blocks": blocks,
    })
}

#[cfg(test)]
mod tests {
    use hiplaunch::memory::PoolBlockState;

    use super::*;
    use crate::sample::{pool, segment};

    #[test]
    fn json_has_every_byte_and_whole_addresses() {
        let snapshot =
            pool(vec![segment(3, &[(PoolBlockState::InUse, 1024, 1000), (PoolBlockState::Free, 512, 0)])]);
        let json = pool_json(&snapshot);
        assert_eq!(json["counters"]["in_use"], 1024);
        assert_eq!(json["segments"][0]["address"], "0x700300000000");
        let blocks = json["segments"][0]["blocks"].as_array().unwrap();
        assert_eq!(blocks.iter().map(|b| b["bytes"].as_u64().unwrap()).sum::<u64>(), 1536);
        assert_eq!((&blocks[0]["state"], &blocks[0]["requested"]), (&"in use".into(), &1000.into()));
        assert_eq!(json["counters"]["reclaim_steps"].as_object().unwrap().len(), ReclaimStep::ALL.len());
    }
}
