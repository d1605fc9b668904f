//! The simplest pool: one mutex, and a map of lists of blocks by size.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hiplaunch::driver::{DeviceId, DevicePtr, Driver};

use super::subject::{GRANULE, Subject};

/// Free blocks by stream and size, in steps of 256 bytes. No block is split. All are freed when the driver has no more
/// memory.
pub(crate) struct MutexAndMap {
    driver: Arc<dyn Driver>,
    free: Mutex<Lists>,
}

type Lists = HashMap<(usize, u64), Vec<DevicePtr>>;

impl MutexAndMap {
    pub(crate) fn new(driver: &Arc<dyn Driver>) -> MutexAndMap {
        MutexAndMap { driver: driver.clone(), free: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Lists> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn empty(&self, lists: &mut Lists) {
        for ptr in lists.drain().flat_map(|(_, list)| list) {
            // SAFETY: allocated in `allocate`, freed by its owner since, and in no list any more; nothing runs in a
            // benchmark.
            let freed = unsafe { self.driver.free(DeviceId(0), ptr) };
            assert!(freed.is_ok(), "{freed:?}");
        }
    }
}

impl Subject for MutexAndMap {
    type Block = (DevicePtr, u64);

    fn allocate(&self, stream: usize, bytes: u64) -> Option<(DevicePtr, u64)> {
        let size = bytes.next_multiple_of(GRANULE);
        let mut lists = self.lock();
        if let Some(ptr) = lists.get_mut(&(stream, size)).and_then(Vec::pop) {
            return Some((ptr, size));
        }
        if let Ok(ptr) = self.driver.malloc(DeviceId(0), size as usize) {
            return Some((ptr, size));
        }
        self.empty(&mut lists);
        Some((self.driver.malloc(DeviceId(0), size as usize).ok()?, size))
    }

    fn free(&self, stream: usize, (ptr, size): (DevicePtr, u64)) {
        self.lock().entry((stream, size)).or_default().push(ptr);
    }
}

impl Drop for MutexAndMap {
    fn drop(&mut self) {
        let mut lists = std::mem::take(&mut *self.lock());
        self.empty(&mut lists);
    }
}
