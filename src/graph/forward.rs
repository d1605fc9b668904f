//! Writes temporaries that are only copied to a buffer directly to that buffer, and omits the copy.

use super::program::ALIGN;
use super::record::{Graph, NodeKind, Storage, ValueAccess};

/// For each temporary that is written directly to a buffer: the value and the offset of the buffer.
pub(super) type Forwarded = Vec<Option<(u32, u64)>>;

/// Finds the temporaries that can be written directly to a buffer, and removes their copies from `live`. The copy must be
/// the temporary's last use, of all its bytes, to memory with the alignment of a temporary, and nothing else may access
/// the target bytes from the temporary's first use on.
pub(super) fn forward_copies(graph: &Graph, live: &mut Vec<u32>) -> Forwarded {
    let mut forwarded: Forwarded = vec![None; graph.values.len()];
    let mut spans: Vec<Option<(usize, usize)>> = vec![None; graph.values.len()];
    for (position, &index) in live.iter().enumerate() {
        for u in graph.uses_of(index as usize) {
            let span = &mut spans[u.value as usize];
            *span = Some(span.map_or((position, position), |(first, _)| (first, position)));
        }
    }
    let mut gone = Vec::new();
    for (position, &index) in live.iter().enumerate() {
        if !matches!(graph.nodes[index as usize].work, NodeKind::Copy)
            || graph.order.iter().any(|&(a, b)| a == index || b == index)
        {
            continue;
        }
        let [from, to] = graph.uses_of(index as usize) else { continue };
        let info = &graph.values[from.value as usize];
        let whole = matches!(info.place, Storage::Temporary) && from.offset == 0 && from.bytes == info.bytes;
        let (Some((first, last)), Some((start, end))) =
            (spans[from.value as usize], range(graph, &forwarded, to))
        else {
            continue;
        };
        if !whole || last != position || from.bytes == 0 || !start.is_multiple_of(ALIGN) {
            continue;
        }
        let free = live[first..position].iter().all(|&i| {
            graph
                .uses_of(i as usize)
                .iter()
                .all(|u| range(graph, &forwarded, u).is_none_or(|(s, e)| e <= start || end <= s))
        });
        if free {
            forwarded[from.value as usize] = Some((to.value, to.offset));
            gone.push(index);
        }
    }
    if !gone.is_empty() {
        live.retain(|index| gone.binary_search(index).is_err());
    }
    forwarded
}

/// Returns the addresses of the bytes of a buffer that a use accesses.
fn range(graph: &Graph, forwarded: &Forwarded, u: &ValueAccess) -> Option<(u64, u64)> {
    let (value, offset) = match forwarded[u.value as usize] {
        Some((value, offset)) => (value, offset + u.offset),
        None => (u.value, u.offset),
    };
    match graph.values[value as usize].place {
        Storage::External { address, .. } => Some((address + offset, address + offset + u.bytes)),
        Storage::Temporary | Storage::ArgumentBlock { .. } => None,
    }
}
