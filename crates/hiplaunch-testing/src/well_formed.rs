//! A check of what holds for every timeline.

use std::collections::HashMap;

use hip_driver_layers::timeline::{HostSpan, TimelineSnapshot};

/// Asserts that the spans of a thread nest, that the spans of a stream do not overlap, and that work begins after the
/// call that enqueued it has begun.
#[track_caller]
pub fn assert_well_formed(timeline: &TimelineSnapshot) {
    let mut calls: HashMap<u64, &HostSpan> = HashMap::new();
    for thread in &timeline.threads {
        let mut open: Vec<&HostSpan> = Vec::new();
        for span in &thread.spans {
            assert!(span.begin <= span.end, "{span:?}");
            while open.last().is_some_and(|outer| outer.end <= span.begin && outer.begin < span.begin) {
                open.pop();
            }
            if let Some(outer) = open.last() {
                assert!(outer.begin <= span.begin && span.end <= outer.end, "{outer:?}\n{span:?}");
                assert!(outer.device.is_none(), "a call in a call: {outer:?}\n{span:?}");
            }
            open.push(span);
            if let Some(number) = span.correlation {
                let other = calls.insert(number, span);
                assert!(other.is_none(), "two calls have {number}: {other:?}\n{span:?}");
            }
        }
    }
    for stream in timeline.devices.iter().flat_map(|device| &device.streams) {
        for (before, after) in stream.spans.iter().zip(stream.spans.iter().skip(1)) {
            assert!(before.end <= after.begin, "stream {}: {before:?}\n{after:?}", stream.number);
        }
        for span in &stream.spans {
            assert!(span.begin <= span.end, "{span:?}");
            let call = calls.get(&span.correlation).unwrap_or_else(|| panic!("no call enqueued {span:?}"));
            assert!(call.begin <= span.begin, "{call:?}\n{span:?}");
            assert_eq!(call.stream, Some(stream.number), "{call:?}\n{span:?}");
        }
    }
}
