//! nvFuser's stack of shared memory: the tests' reference, which the planner is never worse than.

/// A buffer: bytes, first write, last read.
pub(crate) type Access = (u64, u64, u64);

/// Computes offsets with the stack algorithm. Barriers are at positions without accesses.
///
/// Walk the positions. A buffer that is first written waits without an address. At a barrier, if a waiting buffer has
/// ended, all waiting buffers are pushed, the longest-lived first. Then, and also if none waits, ended buffers are
/// popped from the top. The remaining ones are pushed at the end. An address is that of the top of the stack plus its
/// size, aligned.
pub(crate) fn offsets(buffers: &[Access], barriers: &[u64], alignment: u64) -> Vec<u64> {
    let mut stack = Stack { buffers, alignment, offsets: vec![0; buffers.len()], live: Vec::new() };
    let last = buffers.iter().map(|b| b.2).chain(barriers.iter().copied()).max().unwrap_or(0);
    let mut waiting: Vec<usize> = Vec::new();
    for position in 0..=last {
        if barriers.contains(&position) {
            if waiting.iter().any(|&i| buffers[i].2 <= position) {
                stack.push(&mut waiting);
            }
            while waiting.is_empty() && stack.live.last().is_some_and(|&top| buffers[top].2 <= position) {
                stack.live.pop();
            }
        }
        waiting.extend((0..buffers.len()).filter(|&i| buffers[i].1 == position));
    }
    stack.push(&mut waiting);
    stack.offsets
}

pub(crate) fn total(buffers: &[Access], barriers: &[u64], alignment: u64) -> u64 {
    let offsets = offsets(buffers, barriers, alignment);
    buffers.iter().zip(offsets).map(|(b, offset)| offset + b.0).max().unwrap_or(0)
}

struct Stack<'a> {
    buffers: &'a [Access],
    alignment: u64,
    offsets: Vec<u64>,
    live: Vec<usize>,
}

impl Stack<'_> {
    fn push(&mut self, waiting: &mut Vec<usize>) {
        waiting.sort_by_key(|&i| std::cmp::Reverse(self.buffers[i].2));
        for i in waiting.drain(..) {
            let top = self.live.last().map_or(0, |&top| self.offsets[top] + self.buffers[top].0);
            self.offsets[i] = top.next_multiple_of(self.alignment);
            self.live.push(i);
        }
    }
}

/// Returns the same buffers over epochs: the number of barriers that precede an access.
pub(crate) fn epochs(buffers: &[Access], barriers: &[u64]) -> Vec<(u64, u64, u64)> {
    let epoch = |position: u64| barriers.iter().filter(|&&b| b < position).count() as u64;
    buffers.iter().map(|&(size, first, last)| (size, epoch(first), epoch(last))).collect()
}
