//! Objects by their handles.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::status::{HipResult, Status};

/// The live objects of one kind. A handle is a number of the driver, or the address of the object.
pub(crate) struct Objects<T>(RwLock<HashMap<u64, Arc<T>>>);

impl<T> Default for Objects<T> {
    fn default() -> Self {
        Objects(RwLock::default())
    }
}

impl<T> Objects<T> {
    /// Adds an object that has a handle.
    pub(crate) fn insert(&self, handle: u64, object: T) {
        self.write().insert(handle, Arc::new(object));
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

    /// Returns an object that `wanted` chooses, with its handle.
    pub(crate) fn find(&self, wanted: impl Fn(&T) -> bool) -> Option<(u64, Arc<T>)> {
        let objects = self.read();
        objects
            .iter()
            .find(|(_, object)| wanted(object))
            .map(|(handle, object)| (*handle, Arc::clone(object)))
    }

    pub(crate) fn remove(&self, handle: u64) -> Option<Arc<T>> {
        self.write().remove(&handle)
    }

    /// Removes the objects that `unwanted` chooses, and returns them with their handles.
    pub(crate) fn remove_where(&self, unwanted: impl Fn(&T) -> bool) -> Vec<(u64, Arc<T>)> {
        let mut objects = self.write();
        let found: Vec<u64> =
            objects.iter().filter(|(_, object)| unwanted(object)).map(|(handle, _)| *handle).collect();
        found
            .into_iter()
            .filter_map(|handle| objects.remove(&handle).map(|object| (handle, object)))
            .collect()
    }

    fn read(&self) -> RwLockReadGuard<'_, HashMap<u64, Arc<T>>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, HashMap<u64, Arc<T>>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}
