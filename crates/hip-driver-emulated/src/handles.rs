//! Handles: numbers of streams, events, modules, kernels and graphs. A stale handle is detected.

use handle_table::{Error, Owner};

/// The live objects of one kind. No handle is 0, and a handle of one kind is unknown to the tables of other kinds.
pub(super) struct Table<T>(handle_table::Table<T>);

/// Why an object was not removed.
enum Refused<E> {
    Unknown,
    By(E),
}

impl<E> From<Error> for Refused<E> {
    fn from(_: Error) -> Self {
        Refused::Unknown
    }
}

impl<T: Clone> Table<T> {
    pub(super) fn new(kind: u8) -> Self {
        Table(handle_table::Table::new(kind))
    }

    /// Adds `value` and returns its handle; `None` if 2^23 objects of the kind are alive.
    pub(super) fn insert(&self, value: T) -> Option<u64> {
        self.0.insert(Owner::NONE, value).ok()
    }

    /// Returns the live object of `handle`.
    pub(super) fn get(&self, handle: u64) -> Option<T> {
        self.0.get(handle).ok().map(|found| found.value)
    }

    /// Removes the live object of `handle` and returns it, unless `check` fails. The handle is stale from then on.
    pub(super) fn remove_if<E>(
        &self,
        handle: u64,
        check: impl FnOnce(&T) -> Result<(), E>,
    ) -> Result<Option<T>, E> {
        match self.0.take_if(handle, |found| check(&found.value).map_err(Refused::By)) {
            Ok(found) => Ok(Some(found.value)),
            Err(Refused::Unknown) => Ok(None),
            Err(Refused::By(objection)) => Err(objection),
        }
    }

    /// Removes all objects and returns them.
    pub(super) fn drain(&self) -> Vec<T> {
        self.0.drain()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_removal_leaves_the_handle_alive_and_a_removed_one_stays_stale() {
        let table = Table::new(1);
        let handle = table.insert(7).unwrap();
        assert_eq!(table.remove_if(handle, |_| Err("no")), Err("no"));
        assert_eq!(table.get(handle), Some(7));
        assert_eq!(table.remove_if(handle, |_| Ok::<(), ()>(())), Ok(Some(7)));
        table.insert(8).unwrap();
        assert_eq!((table.get(handle), table.remove_if(handle, |_| Ok::<(), ()>(()))), (None, Ok(None)));
    }
}
