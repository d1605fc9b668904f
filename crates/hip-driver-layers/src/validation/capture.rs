//! Captures of streams: which streams belong to one, and the nodes that their work becomes.

use std::collections::BTreeMap;

use hip_driver::{AccessRange, DeviceId, RawEvent, RawGraphNode, RawStream, Work};

use super::graph::{GraphState, Runs};
use super::state::State;
use super::violation::Operation;
use crate::default_streams::identity;

/// A capture that has not ended.
#[derive(Debug)]
pub(super) struct CaptureState {
    number: u64,
    /// The identity of the stream on which it was begun.
    first: RawStream,
    /// What the next node of each of its streams comes after, by the streams' identities.
    last: BTreeMap<RawStream, Vec<RawGraphNode>>,
    graph: GraphState,
    /// How many nodes there are. Captured nodes have no handle; within the layer they have a number.
    nodes: u64,
}

/// The record of an event on a captured stream: the number of the capture, and the nodes before it.
pub(super) type CapturedRecord = (u64, Vec<RawGraphNode>);

impl State {
    fn capture_of(&mut self, device: DeviceId, stream: RawStream) -> Option<&mut CaptureState> {
        let stream = identity(device, stream);
        self.captures.iter_mut().find(|capture| capture.last.contains_key(&stream))
    }

    /// Whether a stream is captured.
    pub(super) fn is_captured(&mut self, device: DeviceId, stream: RawStream) -> bool {
        !self.captures.is_empty() && self.capture_of(device, stream).is_some()
    }

    /// Records that a capture was begun on a stream.
    pub(super) fn begin_capture(&mut self, device: DeviceId, stream: RawStream) {
        self.captures_begun += 1;
        let first = identity(device, stream);
        let capture = CaptureState {
            number: self.captures_begun,
            first,
            last: BTreeMap::from([(first, Vec::new())]),
            graph: GraphState::default(),
            nodes: 0,
        };
        self.captures.push(capture);
    }

    /// Removes the capture that was begun on a stream, and returns its graph.
    pub(super) fn forget_capture(&mut self, device: DeviceId, stream: RawStream) -> Option<GraphState> {
        let first = identity(device, stream);
        let index = self.captures.iter().position(|capture| capture.first == first)?;
        Some(self.captures.swap_remove(index).graph)
    }

    /// Makes a node of work that a captured stream has accepted.
    pub(super) fn add_captured(
        &mut self,
        device: DeviceId,
        stream: RawStream,
        work: &Work<'_>,
        runs: Option<Runs>,
    ) {
        // The layer does not know how long pageable memory lives.
        let known = |touch: &AccessRange| !matches!(self.regions.find(work.kind().into(), touch), Ok(None));
        let access_ranges: Box<[AccessRange]> = work.access_ranges(device).filter(known).collect();
        let key = identity(device, stream);
        let Some(capture) = self.capture_of(device, stream) else { return };
        capture.nodes += 1;
        let node = RawGraphNode(capture.nodes);
        let before = capture.last.insert(key, vec![node]).unwrap_or_default();
        capture.graph.add(node, &before, Operation::of_work(work.kind(), work), access_ranges, runs);
    }

    /// What an event that is recorded on a captured stream comes after.
    pub(super) fn captured_record(&mut self, device: DeviceId, stream: RawStream) -> Option<CapturedRecord> {
        let key = identity(device, stream);
        let capture = self.capture_of(device, stream)?;
        Some((capture.number, capture.last.get(&key).cloned().unwrap_or_default()))
    }

    /// Makes a stream wait for an event, if one of the two belongs to a capture. Returns whether one does.
    pub(super) fn captured_wait(&mut self, device: DeviceId, stream: RawStream, event: RawEvent) -> bool {
        if self.captures.is_empty() {
            return false;
        }
        let record = self.events.get(event.0).and_then(|event| event.captured.clone());
        let Some((number, nodes)) = record else { return self.is_captured(device, stream) };
        let key = identity(device, stream);
        let Some(capture) = self.captures.iter_mut().find(|capture| capture.number == number) else {
            return self.is_captured(device, stream);
        };
        let last = capture.last.entry(key).or_default();
        last.extend(nodes);
        last.sort_unstable_by_key(|node| node.0);
        last.dedup();
        true
    }
}
