//! Handles: generational numbers for streams, events, modules and kernels, so that a stale one is noticed.

use std::sync::{PoisonError, RwLock};

const INDEX_BITS: u32 = 28;
const GENERATION_BITS: u32 = 28;
const INDEX_MASK: u64 = (1 << INDEX_BITS) - 1;
const GENERATION_MASK: u64 = (1 << GENERATION_BITS) - 1;

/// Live objects of one kind. A handle is `kind << 56 | generation << 28 | index`; the kind is not 0, so no handle is,
/// and a handle of one kind is unknown to the tables of the others.
pub(super) struct Table<T> {
    kind: u8,
    slots: RwLock<Slots<T>>,
}

struct Slots<T> {
    entries: Vec<Entry<T>>,
    free: Vec<usize>,
}

struct Entry<T> {
    generation: u64,
    value: Option<T>,
}

impl<T: Clone> Table<T> {
    pub(super) fn new(kind: u8) -> Self {
        Table { kind, slots: RwLock::new(Slots { entries: Vec::new(), free: Vec::new() }) }
    }

    /// Takes `value` in; `None` when 2^28 objects of the kind are alive.
    pub(super) fn insert(&self, value: T) -> Option<u64> {
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        let index = match slots.free.pop() {
            Some(index) => index,
            None if slots.entries.len() as u64 > INDEX_MASK => return None,
            None => {
                slots.entries.push(Entry { generation: 1, value: None });
                slots.entries.len() - 1
            }
        };
        let entry = &mut slots.entries[index];
        entry.value = Some(value);
        Some(
            u64::from(self.kind) << (INDEX_BITS + GENERATION_BITS)
                | entry.generation << INDEX_BITS
                | index as u64,
        )
    }

    /// The live object of `handle`.
    pub(super) fn get(&self, handle: u64) -> Option<T> {
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        let (index, generation) = self.parts(handle)?;
        slots.entries.get(index).filter(|e| e.generation == generation).and_then(|e| e.value.clone())
    }

    /// Takes the live object of `handle` out if `check` does not object to it; the handle is stale from then on.
    pub(super) fn remove_if<E>(
        &self,
        handle: u64,
        check: impl FnOnce(&T) -> Result<(), E>,
    ) -> Result<Option<T>, E> {
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        let Some((index, generation)) = self.parts(handle) else { return Ok(None) };
        let Some(entry) = slots.entries.get_mut(index).filter(|e| e.generation == generation) else {
            return Ok(None);
        };
        if let Some(value) = &entry.value {
            check(value)?;
        }
        let value = entry.value.take();
        // A slot whose generations are used up is never given out again.
        if value.is_some() && entry.generation < GENERATION_MASK {
            entry.generation += 1;
            slots.free.push(index);
        }
        Ok(value)
    }

    /// Takes everything out.
    pub(super) fn drain(&self) -> Vec<T> {
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        slots.entries.iter_mut().filter_map(|e| e.value.take()).collect()
    }

    fn parts(&self, handle: u64) -> Option<(usize, u64)> {
        (handle >> (INDEX_BITS + GENERATION_BITS) == u64::from(self.kind))
            .then_some(((handle & INDEX_MASK) as usize, handle >> INDEX_BITS & GENERATION_MASK))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removed_handle_stays_stale_when_its_slot_is_used_again() {
        let table = Table::new(1);
        let first = table.insert("first").unwrap();
        assert_eq!(table.get(first), Some("first"));
        assert_eq!(table.remove_if(first, |_| Ok::<(), ()>(())), Ok(Some("first")));
        let second = table.insert("second").unwrap();
        assert_eq!(first & INDEX_MASK, second & INDEX_MASK);
        assert_eq!(table.get(first), None);
        assert_eq!(table.remove_if(first, |_| Ok::<(), ()>(())), Ok(None));
        assert_eq!(table.get(second), Some("second"));
    }

    #[test]
    fn a_refused_removal_leaves_the_handle_alive() {
        let table = Table::new(1);
        let handle = table.insert(7).unwrap();
        assert_eq!(table.remove_if(handle, |_| Err("no")), Err("no"));
        assert_eq!(table.get(handle), Some(7));
    }

    #[test]
    fn handles_of_another_kind_and_made_up_ones_are_unknown() {
        let (streams, events) = (Table::new(1), Table::new(2));
        let stream = streams.insert(0).unwrap();
        events.insert(0).unwrap();
        assert_eq!(events.get(stream), None);
        for made_up in [0, 1, u64::MAX, stream + 1, stream ^ 1 << INDEX_BITS] {
            assert_eq!(streams.get(made_up), None, "{made_up:#x}");
        }
    }
}
