//! Joining items that lie together in every plan that reaches the lower bound, so that the search has fewer to place.
//!
//! Where all of the bound is live right before and right after a position, no byte is free there, and what begins at it
//! takes exactly the bytes of what ends there. So
//!
//! - one item that ends where one begins is at the same offset: both are one item;
//! - several that begin where one ends lie on each other, and if they also end together, in any order: they are one item,
//!   and with the one before it one more; the same the other way round;
//! - five items can only be put together as a pinwheel, which is a rectangle with two sides to choose from:
//!
//! ```text
//! +--+----------+    `left` ends where `top` and `centre` begin, so that `centre` is at one end of `left`'s bytes;
//! |  |   top    |    `bottom` and `centre` end where `right` begins, so that they touch, and `bottom` is next to `left`.
//! |  +------+---+    Upside down it is as good.
//! |  |centre|   |
//! |  |      |   |
//! +--+------+   |
//! |  bottom |   |
//! +---------+---+
//! ```
//!
//! (`left` is above `bottom`, `right` beside `bottom` and `centre`.) What was joined may be joined further.

use super::instance::{Instance, Item};

/// Items at most that begin, or end, at a position for their parts to be compared.
const MOST_TOGETHER: usize = 6;

/// A rectangle of items.
struct Block {
    first: u64,
    last: u64,
    size: u64,
    /// The items, and how far each is above the block's first byte; none once the block is part of another one.
    parts: Vec<(u32, u64)>,
}

/// The blocks that end and that begin at a position where all of the bound is live before and after.
#[derive(Default)]
struct Seam {
    ends: Vec<usize>,
    begins: Vec<usize>,
}

struct Joins {
    blocks: Vec<Block>,
    /// The seams' positions, sorted.
    positions: Vec<u64>,
    seams: Vec<Seam>,
    /// Seams to look at again.
    queue: Vec<usize>,
}

/// The instance with items joined that are together in every plan with a total of `bound`; none if there are no such
/// items. Its plans are plans of the buffers; none with a larger total needs to be among them.
pub(super) fn joined(instance: &Instance, bound: u64) -> Option<Instance> {
    let items = &instance.items;
    // Offsets in a block are sums of sizes.
    let align = items.iter().map(|item| item.align).max()?;
    let plain = |item: &Item| item.fixed.is_none() && item.size.is_multiple_of(align);
    if !instance.intervals || !items.iter().all(plain) {
        return None;
    }
    let mut joins = Joins::new(items, bound);
    joins.join();
    let blocks = || joins.blocks.iter().filter(|block| !block.parts.is_empty());
    if blocks().count() == items.len() {
        return None;
    }
    let mut place = vec![(0, 0); items.len()];
    let mut new = Vec::with_capacity(items.len());
    for (at, block) in (0..).zip(blocks()) {
        for &(i, above) in &block.parts {
            place[i as usize] = (at, above);
        }
        new.push(Item { size: block.size, align, fixed: None, first: block.first, last: block.last });
    }
    instance.with_items(new, &place)
}

/// The positions at which all of the bound is live before and after, and something changes.
fn full(items: &[Item], bound: u64) -> Vec<u64> {
    let mut begins: Vec<(u64, u64)> = items.iter().map(|item| (item.first, item.size)).collect();
    let end = |item: &Item| Some((item.last.checked_add(1)?, item.size));
    let mut ends: Vec<(u64, u64)> = items.iter().filter_map(end).collect();
    begins.sort_unstable();
    ends.sort_unstable();
    let mut ends = ends.into_iter().peekable();
    let mut begins = begins.into_iter().peekable();
    let (mut live, mut positions) = (0, Vec::new());
    while let Some(position) = begins.peek().map(|next| next.0) {
        // What ended before this did so where nothing begins.
        while let Some((_, size)) = ends.next_if(|next| next.0 < position) {
            live -= size;
        }
        let before = live;
        while let Some((_, size)) = ends.next_if(|next| next.0 == position) {
            live -= size;
        }
        while let Some((_, size)) = begins.next_if(|next| next.0 == position) {
            live += size;
        }
        if (before, live) == (bound, bound) {
            positions.push(position);
        }
    }
    positions
}

impl Joins {
    fn new(items: &[Item], bound: u64) -> Joins {
        let positions = full(items, bound);
        let mut seams: Vec<Seam> = Vec::new();
        seams.resize_with(positions.len(), Seam::default);
        let block = |(i, item): (u32, &Item)| Block {
            first: item.first,
            last: item.last,
            size: item.size,
            parts: vec![(i, 0)],
        };
        let blocks = (0..).zip(items).map(block).collect();
        let queue = (0..positions.len()).rev().collect();
        let mut joins = Joins { blocks, positions, seams, queue };
        for i in 0..joins.blocks.len() {
            if let Some(seam) = joins.seam_before(i) {
                joins.seams[seam].begins.push(i);
            }
            if let Some(seam) = joins.seam_behind(i) {
                joins.seams[seam].ends.push(i);
            }
        }
        joins
    }

    /// The seam at which a block begins.
    fn seam_before(&self, block: usize) -> Option<usize> {
        self.positions.binary_search(&self.blocks[block].first).ok()
    }

    /// The seam at which a block ends.
    fn seam_behind(&self, block: usize) -> Option<usize> {
        self.positions.binary_search(&self.blocks[block].last.checked_add(1)?).ok()
    }

    fn join(&mut self) {
        // Each time but the last one for a seam there is a block less.
        while let Some(seam) = self.queue.pop() {
            while self.join_at(seam) {}
        }
    }

    fn join_at(&mut self, seam: usize) -> bool {
        let (ends, begins) = (&self.seams[seam].ends, &self.seams[seam].begins);
        match (ends.as_slice(), begins.as_slice()) {
            (&[before], of) if self.alike(of, |block| block.last) => {
                let of = of.to_vec();
                self.chain(before, &of);
                true
            }
            (of, &[behind]) if self.alike(of, |block| block.first) => {
                let of = of.to_vec();
                let before = self.stack(&of);
                self.chain(before, &[behind]);
                true
            }
            (&[_], &[a, b]) => self.pinwheel(a, b) || self.pinwheel(b, a),
            (&[a, b], &[_]) => [a, b].into_iter().any(|centre| {
                let other = self.seam_before(centre).map(|seam| self.seams[seam].begins.as_slice());
                match other {
                    Some(&[c, d]) => self.pinwheel(centre, if c == centre { d } else { c }),
                    _ => false,
                }
            }),
            (ends, begins) if self.together(ends, begins) => {
                let ends = self.alike(ends, |block| block.first).then(|| ends.to_vec());
                let begins = self.alike(begins, |block| block.last).then(|| begins.to_vec());
                for of in ends.iter().chain(&begins) {
                    self.stack(of);
                }
                ends.is_some() || begins.is_some()
            }
            _ => false,
        }
    }

    /// Whether all that ends at a seam lies together: no part of it takes as many bytes as a part of what begins there.
    fn together(&self, ends: &[usize], begins: &[usize]) -> bool {
        let both = ends.len().min(begins.len())..=ends.len().max(begins.len());
        if *both.start() < 2 || *both.end() > MOST_TOGETHER {
            return false;
        }
        // All parts but the whole.
        let sums = |of: &[usize]| -> Vec<u64> {
            let part = |bits: u32| {
                (0..).zip(of).map(|(at, &i)| if bits >> at & 1 == 1 { self.blocks[i].size } else { 0 }).sum()
            };
            (1..(1 << of.len()) - 1).map(part).collect()
        };
        let begins = sums(begins);
        sums(ends).iter().all(|sum| !begins.contains(sum))
    }

    fn alike(&self, of: &[usize], key: impl Fn(&Block) -> u64) -> bool {
        let mut keys = of.iter().map(|&i| key(&self.blocks[i]));
        keys.next().is_some_and(|first| keys.all(|key| key == first))
    }

    /// Puts blocks with one lifetime on each other.
    fn stack(&mut self, of: &[usize]) -> usize {
        let mut size = 0;
        let parts: Vec<(usize, u64)> = of
            .iter()
            .map(|&i| {
                size += self.blocks[i].size;
                (i, size - self.blocks[i].size)
            })
            .collect();
        self.merge(&parts)
    }

    /// Puts blocks with one lifetime where another one was.
    fn chain(&mut self, before: usize, of: &[usize]) {
        let behind = self.stack(of);
        self.merge(&[(before, 0), (behind, 0)]);
    }

    /// Makes one block of several, each at a distance above the first byte; they fill a rectangle.
    fn merge(&mut self, of: &[(usize, u64)]) -> usize {
        let (into, _) = of[0];
        let mut parts = Vec::new();
        let (mut first, mut last, mut size) = (u64::MAX, 0, 0);
        for &(i, above) in of {
            for seam in [self.seam_before(i), self.seam_behind(i)].into_iter().flatten() {
                let Seam { ends, begins } = &mut self.seams[seam];
                ends.retain(|&j| j != i);
                begins.retain(|&j| j != i);
                self.queue.push(seam);
            }
            let block = &mut self.blocks[i];
            parts.extend(block.parts.drain(..).map(|(item, at)| (item, at + above)));
            (first, last) = (first.min(block.first), last.max(block.last));
            size = size.max(block.size + above);
        }
        self.blocks[into] = Block { first, last, size, parts };
        if let Some(seam) = self.seam_before(into) {
            self.seams[seam].begins.push(into);
        }
        if let Some(seam) = self.seam_behind(into) {
            self.seams[seam].ends.push(into);
        }
        into
    }

    /// Joins a pinwheel, given the two of it that begin together.
    fn pinwheel(&mut self, centre: usize, top: usize) -> bool {
        let (Some(one), Some(two)) = (self.seam_before(centre), self.seam_behind(centre)) else {
            return false;
        };
        let (one, two) = (&self.seams[one], &self.seams[two]);
        let (&[left], &[right], &[a, b]) = (one.ends.as_slice(), two.begins.as_slice(), two.ends.as_slice())
        else {
            return false;
        };
        if one.begins.len() != 2 {
            return false;
        }
        let bottom = if a == centre { b } else { a };
        let block = |i: usize| &self.blocks[i];
        if block(bottom).first != block(left).first || block(top).last != block(right).last {
            return false;
        }
        let (centre_at, top_at) = (block(bottom).size, block(right).size);
        self.merge(&[(bottom, 0), (right, 0), (centre, centre_at), (left, centre_at), (top, top_at)]);
        true
    }
}
