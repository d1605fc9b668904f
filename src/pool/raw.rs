//! Blocks by address, for callers that can't keep an owner: a C program, another language's runtime.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::PoolError;
use hip_driver::{DevicePtr, Note};

use super::bins::GRANULE;
use super::block::PoolBlock;
use super::block_records::{BlockRecord, BlockState};
use super::core::PoolCore;
use super::heap::PoolSegment;

/// A live pool block, found by an address in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolBlockInfo {
    /// The block's start.
    pub ptr: DevicePtr,
    /// Its size in bytes, including bytes that were not asked for.
    pub capacity: u64,
    /// The number of bytes that were asked for.
    pub bytes: u64,
    /// The number of the stream that it was allocated for, or 0 for none.
    pub stream: u64,
}

/// Blocks without an owner in the program, by address.
#[derive(Debug, Default)]
pub(crate) struct RawBlocks(Mutex<HashMap<u64, PoolBlock>>);

impl RawBlocks {
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, PoolBlock>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Logs the blocks that were not freed, and frees them.
    pub(crate) fn clear(&self) {
        let left = std::mem::take(&mut *self.lock());
        for block in left.values() {
            log::error!(
                "leak: {} bytes at {} of {} were not freed",
                block.bytes(),
                block.ptr(),
                block.device_id()
            );
        }
    }
}

impl PoolCore {
    /// Takes over the owner of a block, until [`raw_free`](PoolCore::raw_free) frees it.
    pub(crate) fn keep_raw(&self, block: PoolBlock) -> DevicePtr {
        let ptr = block.ptr();
        self.raw.lock().insert(ptr.0, block);
        ptr
    }

    /// Returns the live block that contains an address, or an error.
    pub(crate) fn locate(&self, call: &'static str, ptr: DevicePtr) -> Result<PoolBlockInfo, PoolError> {
        let device = self.shared.device;
        for arena in self.all() {
            let block = arena.core().with(|heap, _| {
                let end = |s: &PoolSegment| self.shared.seen_at(s, s.address + s.bytes());
                let segment = heap.live_segments().find(|s| (s.address..end(s)).contains(&ptr.0))?;
                let seen = |n: &BlockRecord| self.shared.seen_at(segment, n.address);
                // The last that begins there or before: where blocks are separated, the gap counts to the block before it.
                let block = heap.blocks(segment).take_while(|(_, n)| seen(n) <= ptr.0).last();
                block.map(|(_, n)| (*n, seen(n)))
            });
            let Some((record, address)) = block else { continue };
            if record.state != BlockState::Live {
                return Err(PoolError::UseAfterFree { call, ptr, device });
            }
            let capacity = u64::from(record.granules) * GRANULE;
            let bytes = capacity - u64::from(record.slack);
            return Ok(PoolBlockInfo { ptr: DevicePtr(address), capacity, bytes, stream: arena.number() });
        }
        Err(PoolError::ForeignPointer { call, ptr, device })
    }

    /// Frees a block by its address.
    pub(crate) fn raw_free(&self, call: &'static str, ptr: DevicePtr) -> Result<(), PoolError> {
        let removed = self.raw.lock().remove(&ptr.0);
        if removed.is_some() {
            // The block is freed on return, when no lock is held.
            return Ok(());
        }
        let device = self.shared.device;
        let located = self.locate(call, ptr);
        // The observer is not told for a block with another owner, which will still free it.
        if self.shared.has_observer && !matches!(&located, Ok(info) if info.ptr == ptr) {
            self.shared.note(&Note::PoolFree { device, block: ptr });
        }
        match located {
            Ok(info) => {
                let advice = match info.ptr == ptr {
                    true => "it has an owner: drop that",
                    false => "free a block by its start",
                };
                let (block, bytes, offset) = (info.ptr, info.bytes, ptr.0 - info.ptr.0);
                Err(PoolError::NotYours { call, ptr, block, bytes, offset, advice, device })
            }
            Err(PoolError::UseAfterFree { .. }) => Err(PoolError::DoubleFree { call, ptr, device }),
            Err(e) => Err(e),
        }
    }

    /// Returns another owner of a block known by its address, or the error that says why there is none.
    pub(crate) fn raw_block(&self, call: &'static str, ptr: DevicePtr) -> Result<PoolBlock, PoolError> {
        if let Some(block) = self.raw.lock().get(&ptr.0) {
            return Ok(block.clone());
        }
        if self.shared.has_observer {
            self.shared.note(&Note::PoolRecord { device: self.shared.device, block: ptr });
        }
        let info = self.locate(call, ptr)?;
        let (block, bytes, offset) = (info.ptr, info.bytes, ptr.0 - info.ptr.0);
        let advice = "use the block's owner, and its start";
        Err(PoolError::NotYours { call, ptr, block, bytes, offset, advice, device: self.shared.device })
    }
}
