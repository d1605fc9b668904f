//! Blocks: the parts of an allocation that its owner hands out, as a memory pool does.
//!
//! A divided allocation has twice as many addresses as bytes. The owner places a block whose bytes begin `offset` bytes
//! into the allocation at `2 * offset`. So blocks that are neighbours are still separated by as many addresses as the first
//! has bytes, and an access past the end of a block is in no other block.
//!
//! Blocks come and go while work is still to run that was enqueued before. So each piece of work is checked against the
//! blocks that there were when it was enqueued: a [`BlockTable`].

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    pub(crate) start: u64,
    pub(crate) bytes: u64,
}

impl Block {
    /// Returns whether the address is in the block or in the gap behind it, which is as long as the block.
    fn covers(self, address: u64) -> bool {
        address.wrapping_sub(self.start) < 2 * self.bytes
    }

    pub(crate) fn contains(self, address: u64, len: u64) -> bool {
        let offset = address.wrapping_sub(self.start);
        offset < self.bytes && len <= self.bytes - offset
    }

    fn show(self) -> String {
        format!("{:#x}..{:#x} ({} bytes)", self.start, self.start + self.bytes, self.bytes)
    }
}

/// The blocks of one divided allocation, by address.
#[derive(Clone)]
struct Divided {
    base: u64,
    blocks: Vec<Block>,
}

impl Divided {
    fn before(&self, address: u64) -> Option<Block> {
        let n = self.blocks.partition_point(|block| block.start <= address);
        n.checked_sub(1).map(|n| self.blocks[n])
    }

    /// Returns where the byte at `offset` bytes from the start of `block` is if blocks have no gaps between them: the block
    /// there, and the offset in it.
    fn without_gaps(&self, block: Block, offset: u64) -> Option<(Block, u64)> {
        let packed = |start: u64| (start - self.base) / 2;
        let at = packed(block.start) + offset;
        let n = self.blocks.partition_point(|block| packed(block.start) <= at).checked_sub(1)?;
        let found = self.blocks[n];
        let offset = at - packed(found.start);
        (offset < found.bytes).then_some((found, offset))
    }
}

#[derive(Default)]
struct Inner {
    /// By address.
    divided: Vec<Arc<Divided>>,
    table: Option<Arc<BlockTable>>,
}

impl Inner {
    fn at(&mut self, address: u64) -> Option<&mut Divided> {
        // Before anything changes: what is captured stays as it is.
        self.table = None;
        let n = self.divided.partition_point(|d| d.base <= address).checked_sub(1)?;
        Some(Arc::make_mut(&mut self.divided[n]))
    }
}

/// The blocks of all divided allocations of one or more address spaces whose addresses differ.
#[derive(Default)]
pub struct Blocks(Mutex<Inner>);

impl Blocks {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn divide(&self, base: u64) {
        let mut inner = self.lock();
        inner.table = None;
        let n = inner.divided.partition_point(|d| d.base < base);
        inner.divided.insert(n, Arc::new(Divided { base, blocks: Vec::new() }));
    }

    pub(super) fn forget(&self, base: u64) {
        let mut inner = self.lock();
        inner.table = None;
        inner.divided.retain(|d| d.base != base);
    }

    /// Adds a block of `bytes` bytes at `address`, which is in a [divided](crate::AddressSpace::divide) allocation. The
    /// owner doesn't let blocks overlap.
    pub fn add(&self, address: u64, bytes: u64) {
        if let Some(divided) = self.lock().at(address) {
            let n = divided.blocks.partition_point(|block| block.start < address);
            divided.blocks.insert(n, Block { start: address, bytes });
        }
    }

    /// Removes the block at `address`. Does nothing if there is none.
    pub fn remove(&self, address: u64) {
        if let Some(divided) = self.lock().at(address)
            && let Ok(n) = divided.blocks.binary_search_by_key(&address, |block| block.start)
        {
            divided.blocks.remove(n);
        }
    }

    /// Returns the blocks that there are now.
    pub fn capture(&self) -> Arc<BlockTable> {
        let inner = &mut *self.lock();
        let divided = &inner.divided;
        Arc::clone(
            inner.table.get_or_insert_with(|| Arc::new(BlockTable { divided: divided.as_slice().into() })),
        )
    }
}

/// The blocks that there were at one time.
pub struct BlockTable {
    divided: Box<[Arc<Divided>]>,
}

/// What is at an address of a divided allocation.
pub(crate) enum BlockAt {
    /// A block.
    Block(Block),
    /// The gap behind a block.
    Gap,
    /// No block, and no gap behind one.
    Nothing,
}

impl BlockTable {
    fn at(&self, address: u64) -> Option<&Divided> {
        let n = self.divided.partition_point(|d| d.base <= address).checked_sub(1)?;
        Some(&self.divided[n])
    }

    /// Returns what `len` bytes at an address of a divided allocation are. They are in a block if all of them are.
    pub(crate) fn find(&self, address: u64, len: u64) -> BlockAt {
        match self.at(address).and_then(|divided| divided.before(address)) {
            Some(block) if block.contains(address, len) => BlockAt::Block(block),
            Some(block) if block.covers(address) => BlockAt::Gap,
            _ => BlockAt::Nothing,
        }
    }

    /// Returns why an access of `len` bytes at an address of a divided allocation is wrong: the block that it was probably
    /// meant for, and what it would have accessed if there were no gaps between blocks.
    pub(crate) fn describe(&self, address: u64, len: u64) -> String {
        let Some(divided) = self.at(address) else { return "no block is live there".into() };
        let mut parts = Vec::new();
        if let Some(block) = divided.before(address) {
            let offset = address - block.start;
            parts.push(match offset.checked_sub(block.bytes) {
                Some(0) => format!("just past the end of the pool block {}", block.show()),
                Some(past) => format!("{past} bytes past the end of the pool block {}", block.show()),
                None => format!("it begins inside the pool block {} but runs past its end", block.show()),
            });
            // The first byte that is wrong.
            let hit = divided.without_gaps(block, offset.max(block.bytes));
            parts.push(match hit {
                Some((other, 0)) => format!("on a GPU the pool block {} begins there", other.show()),
                Some((other, into)) => {
                    format!("on a GPU that is {into} bytes into the pool block {}", other.show())
                }
                None => {
                    "on a GPU that is memory of the pool that is free, or held back for other streams".into()
                }
            });
        }
        let next = divided.blocks.partition_point(|block| block.start <= address);
        match divided.blocks.get(next) {
            Some(block) if len <= block.start - address => {
                parts.push(format!("{} bytes before the pool block {}", block.start - address, block.show()));
            }
            _ if parts.is_empty() => parts.push("in a segment of a pool that has no live block".into()),
            _ => {}
        }
        parts.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_captured_table_stays_as_it_was() {
        let blocks = Blocks::default();
        blocks.divide(0x1000);
        blocks.add(0x1000, 256);
        let before = blocks.capture();
        blocks.remove(0x1000);
        blocks.add(0x1200, 512);
        let after = blocks.capture();
        assert!(matches!(before.find(0x10ff, 1), BlockAt::Block(_)));
        assert!(matches!(before.find(0x10ff, 2), BlockAt::Gap));
        assert!(matches!(before.find(0x1100, 1), BlockAt::Gap));
        assert!(matches!(before.find(0x1200, 1), BlockAt::Nothing));
        assert!(matches!(after.find(0x1000, 1), BlockAt::Nothing));
        assert!(matches!(after.find(0x13ff, 1), BlockAt::Block(_)));
        blocks.forget(0x1000);
        assert!(matches!(blocks.capture().find(0x1200, 1), BlockAt::Nothing));
    }

    #[test]
    fn a_description_names_the_block_below_and_what_lies_behind_it_on_a_gpu() {
        let blocks = Blocks::default();
        blocks.divide(0);
        // 256 bytes at 0, 512 bytes behind it, then free memory.
        blocks.add(0, 256);
        blocks.add(512, 512);
        let table = blocks.capture();
        let text = table.describe(256, 4);
        assert!(text.contains("just past the end of the pool block 0x0..0x100 (256 bytes)"), "{text}");
        assert!(text.contains("on a GPU the pool block 0x200..0x400 (512 bytes) begins there"), "{text}");
        let text = table.describe(260, 4);
        assert!(text.contains("on a GPU that is 4 bytes into the pool block 0x200"), "{text}");
        let text = table.describe(254, 4);
        assert!(text.contains("begins inside the pool block 0x0"), "{text}");
        let text = table.describe(1024, 4);
        assert!(text.contains("is free, or held back"), "{text}");
        let text = table.describe(508, 4);
        assert!(text.contains("4 bytes before the pool block 0x200"), "{text}");
    }
}
