//! Host memory of small allocations: parts of mappings with large pages. One page fault provides the memory of many of them,
//! and memory that was freed needs none. A fault of a small page takes longer than filling it.

use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};

use memmap2::MmapMut;

/// What the parts begin at: cache lines and more.
const ALIGN: usize = 256;
/// The bytes of a mapping. The host provides its pages when they are first accessed.
const MAPPING: usize = 32 << 20;
/// The largest part that is taken from a mapping.
pub(super) const LARGEST: usize = MAPPING / 8;

/// The mappings by the addresses of their first bytes.
static MAPPINGS: Mutex<BTreeMap<usize, Mapping>> = Mutex::new(BTreeMap::new());

struct Mapping {
    map: MmapMut,
    /// The offset from which on no byte has ever been in use, so that all are zero.
    fresh: usize,
    /// The parts before it that are not in use: their offsets and lengths. No two of them meet.
    free: BTreeMap<usize, usize>,
}

fn lock() -> MutexGuard<'static, BTreeMap<usize, Mapping>> {
    MAPPINGS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Mapping {
    fn new() -> Option<Mapping> {
        let map = MmapMut::map_anon(MAPPING).ok()?;
        super::backing::with_large_pages(&map);
        Some(Mapping { map, fresh: 0, free: BTreeMap::new() })
    }

    /// Takes a part that was in use before, whose bytes are what they were; returns its offset.
    fn take_used(&mut self, bytes: usize) -> Option<usize> {
        let (offset, len) = self.free.iter().map(|(o, l)| (*o, *l)).find(|(_, len)| *len >= bytes)?;
        self.free.remove(&offset);
        if len > bytes {
            self.free.insert(offset + bytes, len - bytes);
        }
        Some(offset)
    }

    /// Takes a part that is zero; returns its offset.
    fn take_fresh(&mut self, bytes: usize) -> Option<usize> {
        let offset = self.fresh;
        self.fresh = offset.checked_add(bytes).filter(|end| *end <= MAPPING)?;
        Some(offset)
    }

    /// Takes back a part.
    fn put(&mut self, mut offset: usize, mut bytes: usize) {
        if let Some(behind) = self.free.remove(&(offset + bytes)) {
            bytes += behind;
        }
        if let Some((before, len)) = self.free.range(..offset).next_back().map(|(o, l)| (*o, *l))
            && before + len == offset
        {
            self.free.remove(&before);
            (offset, bytes) = (before, bytes + len);
        }
        self.free.insert(offset, bytes);
    }

    fn is_unused(&self) -> bool {
        self.free.get(&0) == Some(&self.fresh)
    }

    fn at(&mut self, offset: usize) -> *mut u8 {
        self.map[offset..].as_mut_ptr()
    }
}

/// A part of a mapping, which goes back to it when this is dropped.
pub(super) struct Part {
    ptr: NonNull<u8>,
    bytes: usize,
    /// The address of the mapping.
    mapping: usize,
    offset: usize,
}

impl Part {
    /// Returns `bytes` zero bytes, at most [`LARGEST`].
    pub(super) fn zeroed(bytes: usize) -> Option<Part> {
        let bytes = bytes.checked_next_multiple_of(ALIGN).filter(|bytes| (1..=LARGEST).contains(bytes))?;
        let mut mappings = lock();
        let used = mappings.iter_mut().find_map(|(start, mapping)| {
            let offset = mapping.take_used(bytes)?;
            Some((NonNull::new(mapping.at(offset))?, *start, offset))
        });
        if let Some((ptr, mapping, offset)) = used {
            drop(mappings);
            // SAFETY: the bytes are in the mapping, which lives as long as it has a part in use, and in no other part.
            unsafe { ptr.write_bytes(0, bytes) };
            return Some(Part { ptr, bytes, mapping, offset });
        }
        let fresh = mappings.iter_mut().find_map(|(start, mapping)| {
            let offset = mapping.take_fresh(bytes)?;
            Some((NonNull::new(mapping.at(offset))?, *start, offset))
        });
        if let Some((ptr, mapping, offset)) = fresh {
            return Some(Part { ptr, bytes, mapping, offset });
        }
        let mut new = Mapping::new()?;
        let offset = new.take_fresh(bytes)?;
        let ptr = NonNull::new(new.at(offset))?;
        let mapping = new.map.as_ptr().addr();
        mappings.insert(mapping, new);
        Some(Part { ptr, bytes, mapping, offset })
    }

    pub(super) fn ptr(&self) -> NonNull<u8> {
        self.ptr
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        let mut mappings = lock();
        let Some(mapping) = mappings.get_mut(&self.mapping) else { return };
        mapping.put(self.offset, self.bytes);
        // One that is not in use stays for what comes next.
        if mapping.is_unused() && mappings.values().filter(|mapping| mapping.is_unused()).count() > 1 {
            mappings.remove(&self.mapping);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_are_put_back_meet_again() {
        let Some(mut mapping) = Mapping::new() else { panic!("no memory") };
        let parts: Vec<usize> = (0..4).map(|_| mapping.take_fresh(4096).unwrap()).collect();
        assert_eq!(parts, [0, 4096, 8192, 12288]);
        for part in [0, 2, 1] {
            mapping.put(parts[part], 4096);
        }
        assert_eq!(mapping.free.iter().collect::<Vec<_>>(), [(&0, &12288)]);
        assert!(!mapping.is_unused());
        assert_eq!((mapping.take_used(8192), mapping.take_used(8192)), (Some(0), None));
        mapping.put(0, 8192);
        mapping.put(parts[3], 4096);
        assert!(mapping.is_unused());
    }

    #[test]
    fn no_two_parts_overlap_and_all_are_zero_while_threads_take_and_drop_them() {
        let work = |seed: usize| {
            let mut live: Vec<(Part, usize)> = Vec::new();
            for n in 0..300 {
                let bytes = 1 + (seed * 7919 + n * 104_729) % 20_000;
                let part = Part::zeroed(bytes).unwrap();
                // SAFETY: the part has that many bytes, which nothing else accesses.
                let all = unsafe { std::slice::from_raw_parts_mut(part.ptr().as_ptr(), bytes) };
                assert!(all.iter().all(|byte| *byte == 0));
                all.fill(seed as u8);
                live.push((part, bytes));
                if live.len() > 10 {
                    let (part, bytes) = live.swap_remove(n % 10);
                    // SAFETY: as above.
                    let all = unsafe { std::slice::from_raw_parts(part.ptr().as_ptr(), bytes) };
                    assert!(all.iter().all(|byte| *byte == seed as u8));
                }
            }
        };
        std::thread::scope(|scope| (1..4).for_each(|seed| _ = scope.spawn(move || work(seed))));
        assert!(Part::zeroed(0).is_none() && Part::zeroed(LARGEST + 1).is_none());
    }
}
