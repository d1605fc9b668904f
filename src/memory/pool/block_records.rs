//! The records of blocks: kept on the host, as the memory itself is the device's.

/// No node.
pub(crate) const NIL: u32 = u32::MAX;

/// What a block is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum State {
    /// A record without a block.
    #[default]
    Vacant,
    /// In a bin; never beside another free block of its segment.
    Free,
    /// In the list of its exact size: the next request of that size takes it as it is.
    Cached,
    /// Given back, but work on other streams may still use it.
    Held,
    /// Handed out.
    Live,
}

/// One block of a segment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BlockRecord {
    /// Address of the first byte.
    pub(crate) address: u64,
    /// Size in granules.
    pub(crate) units: u32,
    /// Neighbours by address in the same segment.
    pub(crate) prev: u32,
    pub(crate) next: u32,
    /// Links of the list that the node is in: a bin's, an exact size's, or the vacant ones'.
    pub(crate) bin_prev: u32,
    pub(crate) bin_next: u32,
    pub(crate) segment: u32,
    /// Bytes of a live block that were not asked for.
    pub(crate) slack: u32,
    /// Owners of a live block.
    pub(crate) owners: u32,
    pub(crate) state: State,
    /// Whether other streams were recorded as users of a live block.
    pub(crate) marked: bool,
}

/// All nodes of a heap; vacant ones are used again.
#[derive(Debug)]
pub(crate) struct BlockRecords {
    pub(crate) all: Vec<BlockRecord>,
    vacant: u32,
}

impl BlockRecords {
    pub(crate) fn new() -> BlockRecords {
        BlockRecords { all: Vec::new(), vacant: NIL }
    }

    /// Keeps `node`; gives its index.
    #[inline]
    pub(crate) fn add(&mut self, node: BlockRecord) -> u32 {
        if self.vacant != NIL {
            let id = self.vacant;
            let place = &mut self.all[id as usize];
            self.vacant = place.bin_next;
            *place = node;
            return id;
        }
        self.all.push(node);
        (self.all.len() - 1) as u32
    }

    /// Lets go of a node.
    #[inline]
    pub(crate) fn remove(&mut self, id: u32) {
        let node = &mut self.all[id as usize];
        node.state = State::Vacant;
        node.bin_next = self.vacant;
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
