//! The records of blocks. They are in host memory, because the blocks are in device memory.

/// The index of no record.
pub(crate) const NIL: u32 = u32::MAX;

/// The state of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum BlockState {
    /// A record without a block.
    #[default]
    Vacant,
    /// In a bin, and next to no other free block of its segment.
    Free,
    /// Kept for the next request of exactly its size.
    Cached,
    /// Freed, but work on other streams may still use it.
    Held,
    /// Allocated.
    Live,
}

/// The record of one block of a segment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BlockRecord {
    /// The address of the first byte.
    pub(crate) address: u64,
    /// The size in granules.
    pub(crate) granules: u32,
    /// The neighbours by address in the same segment.
    pub(crate) prev: u32,
    pub(crate) next: u32,
    /// The links of the list that the record is in: that of a bin, of an exact size, or of vacant records.
    pub(crate) bin_prev: u32,
    pub(crate) bin_next: u32,
    pub(crate) segment: u32,
    /// Bytes of a live block that were not asked for.
    pub(crate) slack: u32,
    /// The number of owners of a live block.
    pub(crate) owners: u32,
    pub(crate) state: BlockState,
    /// Whether uses of a live block by other streams were recorded.
    pub(crate) has_uses: bool,
}

/// All records of a heap. Vacant ones are used again.
#[derive(Debug)]
pub(crate) struct BlockRecords {
    pub(crate) all: Vec<BlockRecord>,
    vacant: u32,
}

impl BlockRecords {
    pub(crate) fn new() -> BlockRecords {
        BlockRecords { all: Vec::new(), vacant: NIL }
    }

    /// Stores a record and returns its index.
    #[inline]
    pub(crate) fn add(&mut self, record: BlockRecord) -> u32 {
        if self.vacant != NIL {
            let id = self.vacant;
            let place = &mut self.all[id as usize];
            self.vacant = place.bin_next;
            *place = record;
            return id;
        }
        self.all.push(record);
        (self.all.len() - 1) as u32
    }

    /// Removes a record.
    #[inline]
    pub(crate) fn remove(&mut self, id: u32) {
        let record = &mut self.all[id as usize];
        record.state = BlockState::Vacant;
        record.bin_next = self.vacant;
        self.vacant = id;
    }
}

impl std::ops::Index<u32> for BlockRecords {
    type Output = BlockRecord;

    #[inline]
    fn index(&self, id: u32) -> &BlockRecord {
        &self.all[id as usize]
    }
}

impl std::ops::IndexMut<u32> for BlockRecords {
    #[inline]
    fn index_mut(&mut self, id: u32) -> &mut BlockRecord {
        &mut self.all[id as usize]
    }
}
