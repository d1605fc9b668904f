//! Objects by their handles.

use std::cell::Cell;
use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread::LocalKey;

use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::abi::{HipResult, Status};

/// The live objects of one kind. A handle is a number of the driver, or an address.
pub(crate) struct Objects<T> {
    live: RwLock<Map<T>>,
    /// How often objects were removed or replaced: what threads [remember](Recent) is live as long as it stays the same.
    removals: AtomicU64,
}

type Map<T> = FxHashMap<u64, Arc<T>>;

impl<T> Default for Objects<T> {
    fn default() -> Self {
        Objects::new()
    }
}

impl<T> Objects<T> {
    pub(crate) const fn new() -> Objects<T> {
        Objects { live: RwLock::new(HashMap::with_hasher(FxBuildHasher)), removals: AtomicU64::new(0) }
    }

    /// Adds an object that has a handle.
    pub(crate) fn insert(&self, handle: u64, object: T) {
        let mut live = self.write();
        if live.insert(handle, Arc::new(object)).is_some() {
            self.count_removal();
        }
    }

    /// Adds an object and returns its handle.
    pub(crate) fn add(&self, object: T) -> u64 {
        self.add_shared(Arc::new(object))
    }

    pub(crate) fn add_shared(&self, object: Arc<T>) -> u64 {
        let handle = Arc::as_ptr(&object).addr() as u64;
        self.write().insert(handle, object);
        handle
    }

    pub(crate) fn get(&self, handle: u64) -> Option<Arc<T>> {
        self.read().get(&handle).cloned()
    }

    /// Returns a live object, or fails with `otherwise`.
    pub(crate) fn expect(&self, handle: u64, otherwise: Status) -> HipResult<Arc<T>> {
        self.get(handle).ok_or(otherwise)
    }

    /// Returns what `read` finds in a live object.
    pub(crate) fn with<R>(&self, handle: u64, read: impl FnOnce(&T) -> R) -> Option<R> {
        self.read().get(&handle).map(|object| read(object))
    }

    pub(crate) fn all(&self) -> Vec<Arc<T>> {
        self.read().values().map(Arc::clone).collect()
    }

    /// Returns an object that `wanted` chooses, with its handle.
    pub(crate) fn find(&self, wanted: impl Fn(&T) -> bool) -> Option<(u64, Arc<T>)> {
        let objects = self.read();
        objects
            .iter()
            .find(|(_, object)| wanted(object))
            .map(|(handle, object)| (*handle, Arc::clone(object)))
    }

    /// Returns what `read` does with a live object. It takes no lock if the thread remembers the object: `recent` is for
    /// these objects alone. An object that is removed meanwhile lives until `read` returns.
    #[inline]
    pub(crate) fn with_recent<R>(
        &self,
        recent: &'static LocalKey<Recent<T>>,
        handle: u64,
        read: impl FnOnce(&Arc<T>) -> R,
    ) -> Option<R> {
        // Before the object is looked up: a removal from then on makes the thread forget it.
        let removals = self.removals.load(Ordering::Acquire);
        let mut read = Some(read);
        let found = recent.try_with(|recent| {
            let slot = recent.slot(handle);
            // Taken out of its slot, so that `read` may use the slots, too.
            let known = slot.object.take();
            let object =
                match known.filter(|_| slot.handle.get() == handle && slot.removals.get() == removals) {
                    Some(object) => object,
                    None => self.get(handle)?,
                };
            let result = read.take().map(|read| read(&object));
            slot.handle.set(handle);
            slot.removals.set(removals);
            slot.object.set(Some(object));
            result
        });
        match found {
            Ok(found) => found,
            // The thread ends.
            Err(_) => Some(read.take()?(&self.get(handle)?)),
        }
    }

    pub(crate) fn remove(&self, handle: u64) -> Option<Arc<T>> {
        let mut live = self.write();
        let removed = live.remove(&handle);
        self.count_removal();
        removed
    }

    /// Removes the objects that `unwanted` chooses, and returns them with their handles.
    pub(crate) fn remove_where(&self, unwanted: impl Fn(&T) -> bool) -> Vec<(u64, Arc<T>)> {
        let mut live = self.write();
        let removed = live.extract_if(|_, object| unwanted(object)).collect();
        self.count_removal();
        removed
    }

    /// Counts a removal, before the lock is released: who is told of the removal sees the count.
    fn count_removal(&self) {
        self.removals.fetch_add(1, Ordering::Release);
    }

    fn read(&self) -> RwLockReadGuard<'_, Map<T>> {
        self.live.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Map<T>> {
        self.live.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The objects of one kind that a thread used last.
pub(crate) struct Recent<T>([Slot<T>; SLOTS]);

/// How many objects a thread remembers of each kind.
const SLOTS: usize = 16;

struct Slot<T> {
    handle: Cell<u64>,
    /// The count of removals when the object was looked up.
    removals: Cell<u64>,
    object: Cell<Option<Arc<T>>>,
}

impl<T> Recent<T> {
    pub(crate) const fn new() -> Recent<T> {
        Recent(
            [const { Slot { handle: Cell::new(0), removals: Cell::new(0), object: Cell::new(None) } }; SLOTS],
        )
    }

    /// The only slot in which an object with this handle can be.
    #[inline]
    fn slot(&self, handle: u64) -> &Slot<T> {
        &self.0[FxBuildHasher.hash_one(handle) as usize % SLOTS]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    thread_local! {
        static RECENT: Recent<u32> = const { Recent::new() };
    }

    /// Threads run tests one after the other, so each test clears what the last one remembers.
    fn objects() -> Objects<u32> {
        RECENT.with(|recent| recent.0.iter().for_each(|slot| slot.object.set(None)));
        Objects::new()
    }

    #[test]
    fn a_removed_object_is_not_found_again() {
        let objects = objects();
        let find = |handle| objects.with_recent(&RECENT, handle, |object| **object);
        assert_eq!(find(5), None);
        objects.insert(5, 50);
        assert_eq!((find(5), find(5)), (Some(50), Some(50)));
        objects.insert(5, 51);
        assert_eq!(find(5), Some(51));
        assert_eq!(objects.remove(5).as_deref(), Some(&51));
        assert_eq!(find(5), None);
        objects.insert(5, 52);
        assert_eq!(find(5), Some(52));
        assert_eq!(objects.remove_where(|object| *object == 52).len(), 1);
        assert_eq!(find(5), None);
    }

    #[test]
    fn objects_of_one_slot_are_told_apart() {
        let objects = objects();
        (0..1000).for_each(|n| objects.insert(n * 16, n as u32));
        for _ in 0..3 {
            for n in 0..1000 {
                assert_eq!(objects.with_recent(&RECENT, n * 16, |object| **object), Some(n as u32));
            }
        }
    }

    #[test]
    fn a_look_up_may_use_its_slot_and_the_object_lives_until_it_returns() {
        let objects = objects();
        objects.insert(5, 50);
        let inner = objects.with_recent(&RECENT, 5, |outer| {
            let inner = objects.with_recent(&RECENT, 5, |object| **object);
            objects.remove(5);
            assert_eq!(objects.with_recent(&RECENT, 5, |object| **object), None);
            (inner, **outer)
        });
        assert_eq!(inner, Some((Some(50), 50)));
        assert_eq!(objects.with_recent(&RECENT, 5, |object| **object), None);
    }

    #[test]
    fn another_threads_removal_is_seen() {
        let objects = objects();
        for n in 0..if cfg!(miri) { 20 } else { 2000 } {
            objects.insert(7, n);
            assert_eq!(objects.with_recent(&RECENT, 7, |object| **object), Some(n));
            std::thread::scope(|scope| {
                scope.spawn(|| objects.remove(7));
            });
            assert_eq!(objects.with_recent(&RECENT, 7, |object| **object), None);
        }
    }
}
