//! The blocks of one stream: best fit with splitting and coalescing in segments, and lists of exact sizes for small
//! blocks.
//!
//! A heap knows no driver, stream or lock. It computes with addresses.
//!
//! Small blocks have segments of their own, so that a small block with a long life doesn't keep a large segment from
//! being returned to the driver. A freed small block goes to the list of its exact size, and the next request of that
//! size gets it unchanged. Before the heap fails a request, it empties the lists and joins their blocks with their
//! neighbours.

use super::bins::{Bins, GRANULE};
use super::block_records::{BlockRecord, BlockRecords, BlockState, NIL};

/// The largest size of a small block in granules: 128 KiB.
const SMALL: u32 = 512;
/// From this number of bytes in the lists of exact sizes on, freed small blocks are joined with their neighbours at
/// once.
const CACHED_MAX: u64 = 4 << 20;
/// The number of freed large blocks that are kept for the next request of exactly their size.
const RECENT_BLOCKS: usize = 4;
/// The size in granules from which a request is huge: 32 MiB. A huge request is not served from a block that is more
/// than an eighth larger, because the free_segments block would then be kept for a part of it. The driver serves such sizes
/// well.
pub(crate) const HUGE: u32 = 1 << 17;

/// The size in granules of the largest block that a request is served from.
#[inline]
fn largest_served(granules: u32) -> u32 {
    if granules < HUGE { u32::MAX } else { granules + granules / 8 }
}
/// The most granules that stay unsplit at the end of a block: 1 MiB.
const UNSPLIT_MAX: u32 = 4096;

/// The sizes of blocks that a segment is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SegmentKind {
    /// Blocks of at most 128 KiB.
    Small,
    /// Larger blocks.
    Large,
}

impl SegmentKind {
    /// Returns the kind of segment for a request of `granules` granules.
    #[inline]
    pub(crate) fn of(granules: u32) -> SegmentKind {
        if granules <= SMALL { SegmentKind::Small } else { SegmentKind::Large }
    }
}

/// A pool segment: one allocation from the driver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PoolSegment {
    pub(crate) address: u64,
    pub(crate) granules: u32,
    pub(crate) kind: SegmentKind,
    /// The record of its first block, or [`NIL`] if this element of the list is vacant.
    pub(crate) first: u32,
}

impl PoolSegment {
    /// Its size in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        u64::from(self.granules) * GRANULE
    }
}

/// The bytes of a heap, by use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ByteCounts {
    /// Bytes that the owners of live blocks asked for.
    pub(crate) requested: u64,
    /// Bytes of live blocks.
    pub(crate) in_use: u64,
    /// Bytes of held-back blocks.
    pub(crate) held_back: u64,
    /// Bytes of segments.
    pub(crate) reserved: u64,
    /// The peak of `in_use`.
    pub(crate) peak_in_use: u64,
    /// The peak of `requested`.
    pub(crate) peak_requested: u64,
}

/// The blocks of one stream. See the [module](self).
pub(crate) struct Heap {
    records: BlockRecords,
    small: Bins,
    large: Bins,
    /// The first record of the list of cached small blocks, by size in granules.
    cached: Box<[u32; SMALL as usize + 1]>,
    cached_bytes: u64,
    /// The large blocks freed last, or [`NIL`]. The one at index `oldest` is replaced next.
    recent: [u32; RECENT_BLOCKS],
    oldest: usize,
    segments: Vec<PoolSegment>,
    vacant_segments: Vec<u32>,
    /// The number of segments that are one free block.
    free_segments: usize,
    kind_granules: [u64; 2],
    pub(crate) bytes: ByteCounts,
}

/// Returns the granules for a request of `bytes`, or `None` if they don't fit in 32 bits.
#[inline]
pub(crate) fn granules_of(bytes: u64) -> Option<u32> {
    u32::try_from(bytes.div_ceil(GRANULE).max(1)).ok().filter(|&granules| granules < u32::MAX)
}

impl Heap {
    pub(crate) fn new() -> Heap {
        Heap {
            records: BlockRecords::new(),
            small: Bins::new(),
            large: Bins::new(),
            cached: Box::new([NIL; SMALL as usize + 1]),
            cached_bytes: 0,
            recent: [NIL; RECENT_BLOCKS],
            oldest: 0,
            segments: Vec::new(),
            vacant_segments: Vec::new(),
            free_segments: 0,
            kind_granules: [0; 2],
            bytes: ByteCounts::default(),
        }
    }

    /// Allocates a block of at least `bytes` from the free blocks. Returns its record's index and its address.
    #[inline(always)]
    pub(crate) fn allocate(&mut self, bytes: u64, granules: u32) -> Option<(u32, u64)> {
        let id = if granules <= SMALL {
            let head = self.cached[granules as usize];
            if head != NIL {
                self.cached[granules as usize] = self.records[head].bin_next;
                self.cached_bytes -= u64::from(granules) * GRANULE;
                head
            } else {
                self.take_small(granules)?
            }
        } else {
            self.take_large(granules)?
        };
        Some(self.hand_out(id, bytes))
    }

    #[inline]
    fn hand_out(&mut self, id: u32, bytes: u64) -> (u32, u64) {
        let record = &mut self.records[id];
        record.state = BlockState::Live;
        record.owners = 1;
        let size = u64::from(record.granules) * GRANULE;
        record.slack = (size - bytes) as u32;
        let address = record.address;
        let b = &mut self.bytes;
        b.requested += bytes;
        b.in_use += size;
        b.peak_in_use = b.peak_in_use.max(b.in_use);
        b.peak_requested = b.peak_requested.max(b.requested);
        (id, address)
    }

    fn take_small(&mut self, granules: u32) -> Option<u32> {
        if let Some(id) = self.small.find(&self.records.all, granules) {
            return Some(self.split(id, granules));
        }
        if self.cached_bytes > 0 {
            self.join_cached();
            let id = self.small.find(&self.records.all, granules)?;
            return Some(self.split(id, granules));
        }
        None
    }

    #[inline]
    fn take_large(&mut self, granules: u32) -> Option<u32> {
        for place in &mut self.recent {
            if *place != NIL && self.records[*place].granules == granules {
                return Some(std::mem::replace(place, NIL));
            }
        }
        let most = largest_served(granules);
        if let Some(id) = self.large.find(&self.records.all, granules)
            && self.records[id].granules <= most
        {
            return Some(self.split(id, granules));
        }
        self.take_joined(granules, most)
    }

    /// Joins the large blocks that were freed last, and allocates from the result.
    #[cold]
    fn take_joined(&mut self, granules: u32, most: u32) -> Option<u32> {
        if !self.join_recent() {
            return None;
        }
        let id =
            self.large.find(&self.records.all, granules).filter(|&id| self.records[id].granules <= most)?;
        Some(self.split(id, granules))
    }

    /// Joins the large blocks that were freed last with their neighbours. Returns whether there were any.
    fn join_recent(&mut self) -> bool {
        let recent = std::mem::replace(&mut self.recent, [NIL; RECENT_BLOCKS]);
        let mut any = false;
        for id in recent.into_iter().filter(|&id| id != NIL) {
            self.put_free(id);
            any = true;
        }
        any
    }

    /// Allocates as [`allocate`](Heap::allocate), but rather than fail it also takes a small block from a segment for
    /// large ones, or a huge block from one that is far larger.
    pub(crate) fn allocate_anywhere(&mut self, bytes: u64, granules: u32) -> Option<(u32, u64)> {
        if let Some(block) = self.allocate(bytes, granules) {
            return Some(block);
        }
        self.join_recent();
        let id = self.large.find(&self.records.all, granules)?;
        let id = self.split(id, granules);
        Some(self.hand_out(id, bytes))
    }

    /// Removes a free block from its bin and splits it after `granules` granules.
    #[inline]
    fn split(&mut self, id: u32, granules: u32) -> u32 {
        let record = self.records[id];
        if record.prev == NIL && record.next == NIL {
            self.free_segments -= 1;
        }
        let bins = match self.segments[record.segment as usize].kind {
            SegmentKind::Small => &mut self.small,
            SegmentKind::Large => &mut self.large,
        };
        bins.remove(&mut self.records.all, id);
        let rest = record.granules - granules;
        // A small rest of a large block is not split off.
        if rest == 0 || rest < (granules >> 6).min(UNSPLIT_MAX) {
            return id;
        }
        let tail = self.records.add(BlockRecord {
            address: record.address + u64::from(granules) * GRANULE,
            granules: rest,
            prev: id,
            next: record.next,
            segment: record.segment,
            state: BlockState::Free,
            ..BlockRecord::default()
        });
        if record.next != NIL {
            self.records[record.next].prev = tail;
        }
        let record = &mut self.records[id];
        (record.granules, record.next) = (granules, tail);
        bins.insert(&mut self.records.all, tail);
        id
    }

    /// Frees a live block. With `hold`, it is held back until [`release_held`](Heap::release_held).
    #[inline]
    pub(crate) fn free(&mut self, id: u32, hold: bool) {
        let record = &mut self.records[id];
        let size = u64::from(record.granules) * GRANULE;
        self.bytes.requested -= size - u64::from(record.slack);
        self.bytes.in_use -= size;
        record.owners = 0;
        if hold {
            record.state = BlockState::Held;
            self.bytes.held_back += size;
        } else {
            self.reuse(id);
        }
    }

    /// Frees a held-back block after the work that used it has finished.
    pub(crate) fn release_held(&mut self, id: u32) {
        self.bytes.held_back -= u64::from(self.records[id].granules) * GRANULE;
        self.reuse(id);
    }

    #[inline]
    fn reuse(&mut self, id: u32) {
        let granules = self.records[id].granules;
        if granules > SMALL {
            self.records[id].state = BlockState::Cached;
            let last = std::mem::replace(&mut self.recent[self.oldest], id);
            self.oldest = (self.oldest + 1) % RECENT_BLOCKS;
            if last != NIL {
                self.put_free(last);
            }
        } else if self.cached_bytes < CACHED_MAX {
            self.cache(id);
        } else {
            self.put_free(id);
        }
    }

    #[inline]
    fn cache(&mut self, id: u32) {
        let record = &mut self.records[id];
        let head = &mut self.cached[record.granules as usize];
        record.state = BlockState::Cached;
        record.bin_next = *head;
        *head = id;
        self.cached_bytes += u64::from(record.granules) * GRANULE;
    }

    /// Joins a block with its free neighbours, and puts it into its bin.
    fn put_free(&mut self, mut id: u32) {
        let BlockRecord { prev, next, segment, .. } = self.records[id];
        let bins = match self.segments[segment as usize].kind {
            SegmentKind::Small => &mut self.small,
            SegmentKind::Large => &mut self.large,
        };
        if next != NIL && self.records[next].state == BlockState::Free {
            bins.remove(&mut self.records.all, next);
            let BlockRecord { granules, next: after, .. } = self.records[next];
            self.records.remove(next);
            let record = &mut self.records[id];
            (record.granules, record.next) = (record.granules + granules, after);
            if after != NIL {
                self.records[after].prev = id;
            }
        }
        if prev != NIL && self.records[prev].state == BlockState::Free {
            bins.remove(&mut self.records.all, prev);
            let BlockRecord { granules, next: after, .. } = self.records[id];
            self.records.remove(id);
            let record = &mut self.records[prev];
            (record.granules, record.next) = (record.granules + granules, after);
            if after != NIL {
                self.records[after].prev = prev;
            }
            id = prev;
        }
        let record = &mut self.records[id];
        record.state = BlockState::Free;
        if record.prev == NIL && record.next == NIL {
            self.free_segments += 1;
        }
        bins.insert(&mut self.records.all, id);
    }

    /// Joins every cached block with its neighbours.
    pub(crate) fn join_cached(&mut self) {
        self.join_recent();
        for granules in 0..self.cached.len() {
            let mut at = std::mem::replace(&mut self.cached[granules], NIL);
            while at != NIL {
                let next = self.records[at].bin_next;
                self.put_free(at);
                at = next;
            }
        }
        self.cached_bytes = 0;
    }

    /// Adds a segment as one free block.
    pub(crate) fn add_segment(&mut self, address: u64, granules: u32, kind: SegmentKind) {
        let segment = PoolSegment { address, granules, kind, first: NIL };
        let index = match self.vacant_segments.pop() {
            Some(vacant) => {
                self.segments[vacant as usize] = segment;
                vacant as usize
            }
            None => {
                self.segments.push(segment);
                self.segments.len() - 1
            }
        };
        let record = BlockRecord {
            address,
            granules,
            prev: NIL,
            next: NIL,
            segment: index as u32,
            state: BlockState::Free,
            ..BlockRecord::default()
        };
        let id = self.records.add(record);
        self.segments[index].first = id;
        self.bytes.reserved += u64::from(granules) * GRANULE;
        self.kind_granules[kind as usize] += u64::from(granules);
        self.put_free(id);
    }

    /// Removes segments that are one free block: the smallest that together have at least `wanted` bytes, or all of
    /// them. With `fitting`, removes only the smallest one that fits a request of that many granules, if there is one.
    pub(crate) fn take_free_segments(
        &mut self,
        wanted: u64,
        fitting: Option<(u32, SegmentKind)>,
    ) -> Vec<PoolSegment> {
        self.join_cached();
        let mut taken = Vec::new();
        if self.free_segments == 0 {
            return taken;
        }
        let is_free = |s: &PoolSegment, records: &BlockRecords| {
            s.first != NIL && records[s.first].state == BlockState::Free && records[s.first].next == NIL
        };
        if let Some((granules, kind)) = fitting {
            let sizes = granules..=largest_served(granules);
            let fits =
                |s: &&PoolSegment| is_free(s, &self.records) && s.kind == kind && sizes.contains(&s.granules);
            if let Some(segment) = self.segments.iter().filter(fits).min_by_key(|s| s.granules).copied() {
                self.take_segment(segment.first);
                taken.push(segment);
            }
            return taken;
        }
        let mut free: Vec<PoolSegment> =
            self.segments.iter().filter(|s| is_free(s, &self.records)).copied().collect();
        free.sort_by_key(|s| s.granules);
        let mut sum = 0;
        for segment in free {
            if sum >= wanted {
                break;
            }
            sum += segment.bytes();
            self.take_segment(segment.first);
            taken.push(segment);
        }
        taken
    }

    /// Removes a segment whose only block is the free block `id`.
    fn take_segment(&mut self, id: u32) {
        let BlockRecord { segment, granules, .. } = self.records[id];
        let kind = self.forget_segment(segment, granules);
        let bins = match kind {
            SegmentKind::Small => &mut self.small,
            SegmentKind::Large => &mut self.large,
        };
        bins.remove(&mut self.records.all, id);
        self.records.remove(id);
        self.free_segments -= 1;
    }

    fn forget_segment(&mut self, segment: u32, granules: u32) -> SegmentKind {
        let removed = &mut self.segments[segment as usize];
        removed.first = NIL;
        let kind = removed.kind;
        self.vacant_segments.push(segment);
        self.bytes.reserved -= u64::from(granules) * GRANULE;
        self.kind_granules[kind as usize] -= u64::from(granules);
        kind
    }

    /// Removes the segment of a live block that is its only block, together with the block.
    pub(crate) fn take_live_segment(&mut self, id: u32) -> PoolSegment {
        let BlockRecord { segment, granules, slack, .. } = self.records[id];
        let taken = self.segments[segment as usize];
        let size = u64::from(granules) * GRANULE;
        self.bytes.requested -= size - u64::from(slack);
        self.bytes.in_use -= size;
        self.forget_segment(segment, granules);
        self.records.remove(id);
        taken
    }

    /// The number of granules in segments of a kind.
    pub(crate) fn kind_granules(&self, kind: SegmentKind) -> u64 {
        self.kind_granules[kind as usize]
    }

    /// Adds an owner to a live block.
    #[inline]
    pub(crate) fn share(&mut self, id: u32) {
        self.records[id].owners += 1;
    }

    /// Removes an owner of a live block, and returns the number of the others. At 0, the caller frees the block.
    #[inline]
    pub(crate) fn unshare(&mut self, id: u32) -> u32 {
        let record = &mut self.records[id];
        if record.owners > 1 {
            record.owners -= 1;
            return record.owners;
        }
        0
    }

    /// Returns the flag that says whether uses of a live block were recorded.
    #[inline]
    pub(crate) fn has_uses(&mut self, id: u32) -> &mut bool {
        &mut self.records[id].has_uses
    }

    /// Returns the record of a live block.
    #[inline]
    pub(crate) fn record(&self, id: u32) -> &BlockRecord {
        &self.records[id]
    }

    /// The segment of a block.
    pub(crate) fn segment_of(&self, id: u32) -> &PoolSegment {
        &self.segments[self.records[id].segment as usize]
    }

    /// The segments of the heap.
    pub(crate) fn live_segments(&self) -> impl Iterator<Item = &PoolSegment> {
        self.segments.iter().filter(|s| s.first != NIL)
    }

    /// The blocks of a segment, by address.
    pub(crate) fn blocks(&self, segment: &PoolSegment) -> impl Iterator<Item = (u32, &BlockRecord)> {
        let mut at = segment.first;
        std::iter::from_fn(move || {
            if at == NIL {
                return None;
            }
            let id = at;
            at = self.records[id].next;
            Some((id, &self.records[id]))
        })
    }

    /// The size of the largest free block in bytes, not counting cached blocks.
    pub(crate) fn largest_free(&self) -> u64 {
        let blocks = self.live_segments().flat_map(|s| self.blocks(s));
        let free = blocks.filter(|(_, n)| n.state == BlockState::Free).map(|(_, n)| n.granules).max();
        u64::from(free.unwrap_or(0)) * GRANULE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Heap {
        /// Asserts every invariant: neighbours are linked and adjacent, no two free blocks are neighbours, and the
        /// counters add up.
        pub(crate) fn check(&self) {
            let (mut in_use, mut held, mut cached, mut reserved, mut free_segments) = (0, 0, 0, 0, 0);
            for segment in self.live_segments() {
                let (mut at, mut last, mut last_state) = (segment.address, NIL, BlockState::Vacant);
                for (id, record) in self.blocks(segment) {
                    assert_eq!((record.address, record.prev), (at, last));
                    assert!(
                        !(record.state == BlockState::Free && last_state == BlockState::Free),
                        "two free neighbours"
                    );
                    let bytes = u64::from(record.granules) * GRANULE;
                    match record.state {
                        BlockState::Live => in_use += bytes,
                        BlockState::Held => held += bytes,
                        BlockState::Cached => cached += bytes,
                        BlockState::Free => {
                            free_segments += usize::from(record.prev == NIL && record.next == NIL)
                        }
                        BlockState::Vacant => panic!("a vacant record in a segment"),
                    }
                    (at, last, last_state) = (at + bytes, id, record.state);
                }
                assert_eq!(at, segment.address + segment.bytes());
                reserved += segment.bytes();
            }
            let b = self.bytes;
            assert_eq!((in_use, held, reserved), (b.in_use, b.held_back, b.reserved));
            let recent = self.recent.iter().filter(|&&id| id != NIL);
            let recent: u64 = recent.map(|&id| u64::from(self.records[id].granules) * GRANULE).sum();
            assert_eq!((cached, free_segments), (self.cached_bytes + recent, self.free_segments));
        }
    }

    fn take(heap: &mut Heap, bytes: u64) -> Option<(u32, u64)> {
        heap.allocate(bytes, granules_of(bytes)?)
    }

    #[test]
    fn a_freed_small_block_is_allocated_again_unchanged() {
        let mut heap = Heap::new();
        heap.add_segment(0x1000, 64, SegmentKind::Small);
        let (first, address) = take(&mut heap, 700).unwrap();
        heap.free(first, false);
        assert_eq!(take(&mut heap, 513), Some((first, address)));
        assert_eq!((heap.bytes.requested, heap.bytes.in_use), (513, 768));
        heap.check();
    }

    #[test]
    fn cached_blocks_are_joined_before_memory_runs_out() {
        let mut heap = Heap::new();
        heap.add_segment(0x1000, 4, SegmentKind::Small);
        let all: Vec<_> = (0..4).map(|_| take(&mut heap, 256).unwrap().0).collect();
        assert_eq!(take(&mut heap, 1), None);
        all.into_iter().for_each(|id| heap.free(id, false));
        assert!(take(&mut heap, 1024).is_some());
        heap.check();
    }

    #[test]
    fn a_held_back_block_is_not_allocated() {
        let mut heap = Heap::new();
        heap.add_segment(0, 4096, SegmentKind::Large);
        let (id, _) = take(&mut heap, 1 << 20).unwrap();
        heap.free(id, true);
        assert_eq!(take(&mut heap, 1 << 20), None);
        assert_eq!((heap.bytes.held_back, heap.take_free_segments(1, None).len()), (1 << 20, 0));
        heap.release_held(id);
        assert!(take(&mut heap, 1 << 20).is_some());
        heap.check();
    }

    #[test]
    fn best_fit_leaves_the_large_block_alone() {
        let mut heap = Heap::new();
        heap.add_segment(0, 10_000, SegmentKind::Large);
        let ids: Vec<_> = [200, 300, 400, 300].map(|k| take(&mut heap, k * 1024).unwrap()).into();
        heap.free(ids[0].0, false);
        heap.free(ids[2].0, false);
        heap.join_cached();
        assert_eq!(take(&mut heap, 200 * 1024).unwrap().1, ids[0].1);
        assert_eq!(take(&mut heap, 399 * 1024).unwrap().1, ids[2].1);
        heap.check();
    }

    #[test]
    fn large_blocks_freed_last_are_allocated_again_and_others_are_joined() {
        let mut heap = Heap::new();
        heap.add_segment(0, 4000, SegmentKind::Large);
        let ids: Vec<_> = (0..5).map(|_| take(&mut heap, 200 * 1024).unwrap()).collect();
        ids.iter().for_each(|(id, _)| heap.free(*id, false));
        assert_eq!(take(&mut heap, 200 * 1024), Some(ids[4]), "one of the four that are kept");
        heap.check();
        // Only when they are joined are the others large enough.
        assert_eq!(take(&mut heap, 600 * 1024).unwrap().1, ids[0].1);
        heap.check();
    }

    #[test]
    fn a_huge_request_leaves_a_far_larger_block_alone_unless_there_is_nothing_else() {
        let (mut heap, huge) = (Heap::new(), u64::from(HUGE) * GRANULE);
        heap.add_segment(0, 2 * HUGE, SegmentKind::Large);
        assert_eq!(take(&mut heap, huge), None);
        assert_eq!(heap.allocate_anywhere(huge, HUGE).unwrap().1, 0);
        assert_eq!(take(&mut heap, huge).unwrap().1, huge, "what is left fits");
        heap.check();
    }

    #[test]
    fn random_traffic_keeps_every_invariant() {
        let mut seed = 99u64;
        let mut random = move |below: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % below
        };
        let mut heap = Heap::new();
        let (mut live, mut held, mut next) = (Vec::<(u32, u64, u64)>::new(), Vec::new(), 1 << 20);
        for round in 0..30_000 {
            match random(10) {
                0..=4 => {
                    let bytes = 1 + if random(2) == 0 { random(5000) } else { random(3 << 20) };
                    let granules = granules_of(bytes).unwrap();
                    let found = heap.allocate(bytes, granules).or_else(|| {
                        let size = granules.max(512);
                        heap.add_segment(next, size, SegmentKind::of(granules));
                        next += u64::from(size) * GRANULE + 4096;
                        heap.allocate(bytes, granules)
                    });
                    let (id, address) = found.expect("a fresh segment has room");
                    assert!(live.iter().all(|&(_, a, b)| address + bytes <= a || a + b <= address));
                    live.push((id, address, bytes));
                }
                5..=7 if !live.is_empty() => {
                    let (id, ..) = live.swap_remove(random(live.len() as u64) as usize);
                    let hold = random(4) == 0;
                    heap.free(id, hold);
                    if hold {
                        held.push(id);
                    }
                }
                8 if !held.is_empty() => {
                    heap.release_held(held.swap_remove(random(held.len() as u64) as usize))
                }
                9 if random(20) == 0 => drop(heap.take_free_segments(random(8 << 20), None)),
                _ => {}
            }
            if round % 64 == 0 {
                heap.check();
            }
            if live.len() > 300 {
                live.drain(..200).for_each(|(id, ..)| heap.free(id, false));
            }
        }
        live.into_iter().for_each(|(id, ..)| heap.free(id, false));
        held.into_iter().for_each(|id| heap.release_held(id));
        heap.take_free_segments(u64::MAX, None);
        heap.check();
        assert_eq!((heap.bytes.reserved, heap.bytes.in_use), (0, 0));
    }

    #[test]
    fn sizes_beyond_counting_are_refused() {
        assert_eq!((granules_of(0), granules_of(256), granules_of(257)), (Some(1), Some(1), Some(2)));
        assert_eq!(granules_of(u64::MAX), None);
    }
}
