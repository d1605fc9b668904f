//! The blocks of pools inside driver allocations: which are live, and which were freed recently.

use std::collections::{BTreeMap, VecDeque};

use hip_driver::{AccessRange, DeviceId, DevicePtr, ObservedKind};

use super::memory::{MemoryInfo, MemoryKind, REMEMBERED, RegionKey, Regions};
use super::violation::Violation;

/// The live blocks of a pool segment, by offset. They do not overlap.
#[derive(Debug, Default)]
pub(super) struct PoolBlocks(BTreeMap<u64, MemoryInfo>);

impl PoolBlocks {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = MemoryInfo> + '_ {
        self.0.values().copied()
    }

    /// Returns the block that contains the byte at `offset`, and the block's offset.
    pub(super) fn at(&self, offset: u64) -> Option<(u64, MemoryInfo)> {
        let (&start, &block) = self.0.range(..=offset).next_back()?;
        (offset - start < block.bytes).then_some((start, block))
    }

    /// Returns the last block that begins before `offset`.
    pub(super) fn before(&self, offset: u64) -> Option<MemoryInfo> {
        self.0.range(..offset).next_back().map(|(_, &block)| block)
    }

    /// Returns a block with bytes in `start..end`.
    fn overlapping(&self, start: u64, end: u64) -> Option<MemoryInfo> {
        let (&at, &block) = self.0.range(..end).next_back()?;
        (at + block.bytes > start).then_some(block)
    }
}

/// The blocks that were freed most recently, the latest last.
#[derive(Debug, Default)]
pub(super) struct FreedBlocks(VecDeque<MemoryInfo>);

impl FreedBlocks {
    fn add(&mut self, block: MemoryInfo) {
        if self.0.len() == REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back(block);
    }

    fn latest(&self, device: DeviceId, is_it: impl Fn(&MemoryInfo) -> bool) -> Option<MemoryInfo> {
        self.0.iter().rev().find(|block| block.device == device && is_it(block)).copied()
    }

    /// Returns the latest freed block that contained the address.
    pub(super) fn holding(&self, device: DeviceId, address: u64) -> Option<MemoryInfo> {
        self.latest(device, |b| address.checked_sub(b.address).is_some_and(|offset| offset < b.bytes))
    }

    /// Returns the latest freed block that began at the address.
    fn starting(&self, device: DeviceId, address: u64) -> Option<MemoryInfo> {
        self.latest(device, |b| b.address == address)
    }

    /// Names, in a use after free of a whole pool segment, the block that was at the address.
    pub(super) fn name_in(&self, mut violation: Box<Violation>) -> Box<Violation> {
        if let Violation::UseAfterFree { address, memory, .. } = &mut *violation
            && let Some(block) = self.holding(memory.device, *address)
            // A block with a lower number was in earlier memory at the same address.
            && block.number > memory.number
        {
            *memory = block;
        }
        violation
    }
}

/// The notes of pools. A wrong note has no effect.
impl Regions {
    /// Makes an allocation a pool segment. Doing so twice is allowed.
    pub(super) fn add_segment(
        &mut self,
        call: ObservedKind,
        device: DeviceId,
        segment: DevicePtr,
        addresses: usize,
    ) -> Result<(), Box<Violation>> {
        let (region, offset) = self.own(call, &AccessRange::device(device, segment, 1, true), device)?;
        let (memory, key) = (region.memory, region.key());
        if memory.kind != MemoryKind::Device || offset != 0 {
            return Err(Box::new(Violation::WrongPoolNote { call, address: segment.0, memory }));
        }
        if let Some(region) = self.get_mut(key) {
            region.blocks.get_or_insert_default();
            region.span = region.span.max(addresses as u64);
        }
        Ok(())
    }

    /// Adds a block that a pool allocates.
    pub(super) fn add_block(
        &mut self,
        call: ObservedKind,
        device: DeviceId,
        block: DevicePtr,
        bytes: usize,
    ) -> Result<(), Box<Violation>> {
        if bytes == 0 {
            return Err(Box::new(Violation::ZeroBytes { call }));
        }
        let touch = AccessRange::device(device, block, bytes, true);
        let AccessRange { address, bytes, .. } = touch;
        let (region, offset) = self.own(call, &touch, device)?;
        let (memory, key, span) = (region.memory, region.key(), region.span);
        let Some(blocks) = &region.blocks else {
            return Err(Box::new(Violation::WrongPoolNote { call, address, memory }));
        };
        let room = span - offset;
        if bytes > room {
            return Err(Box::new(Violation::out_of_range(call, address, bytes, room, memory)));
        }
        if let Some(live) = blocks.overlapping(offset, offset + bytes) {
            return Err(Box::new(Violation::LiveOverlap { call, address, bytes, live }));
        }
        let number = self.next_number();
        let block = MemoryInfo { kind: MemoryKind::Pooled, device, address, bytes, number };
        if let Some(blocks) = self.get_mut(key).and_then(|region| region.blocks.as_mut()) {
            blocks.0.insert(offset, block);
        }
        Ok(())
    }

    /// Removes a block that is freed.
    pub(super) fn free_block(
        &mut self,
        call: ObservedKind,
        device: DeviceId,
        block: DevicePtr,
    ) -> Result<(), Box<Violation>> {
        let address = block.0;
        let wrong = |memory| Violation::WrongFree { call, address, memory };
        let (key, offset) = self.live_block(call, device, block, wrong).map_err(|violation| {
            let gone =
                matches!(*violation, Violation::UseAfterFree { .. } | Violation::UnknownAddress { .. });
            match self.freed_blocks.starting(device, address) {
                Some(memory) if gone => Box::new(Violation::DoubleFree { call, memory }),
                _ => violation,
            }
        })?;
        let blocks = self.get_mut(key).and_then(|region| region.blocks.as_mut());
        if let Some(block) = blocks.and_then(|blocks| blocks.0.remove(&offset)) {
            self.freed_blocks.add(block);
        }
        Ok(())
    }

    /// Checks that a block that a stream uses is live.
    pub(super) fn check_block(
        &self,
        call: ObservedKind,
        device: DeviceId,
        block: DevicePtr,
    ) -> Result<(), Box<Violation>> {
        let wrong = |memory| Violation::WrongPoolNote { call, address: block.0, memory };
        self.live_block(call, device, block, wrong).map(drop)
    }

    /// Returns the pool segment and the offset of the live block that begins at an address. `wrong` creates the
    /// violation for any other address in live memory.
    fn live_block(
        &self,
        call: ObservedKind,
        device: DeviceId,
        block: DevicePtr,
        wrong: impl Fn(MemoryInfo) -> Violation,
    ) -> Result<(RegionKey, u64), Box<Violation>> {
        let touch = AccessRange::device(device, block, 1, true);
        self.find(call, &touch)?;
        let (region, offset) = self.own(call, &touch, device)?;
        match region.blocks.as_ref().and_then(|blocks| blocks.at(offset)) {
            Some((start, _)) if start == offset => Ok((region.key(), offset)),
            Some((_, block)) => Err(Box::new(wrong(block))),
            None => Err(Box::new(wrong(region.memory))),
        }
    }
}
