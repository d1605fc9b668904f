//! Groups: calls that RCCL starts together.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::marker::PhantomData;

use crate::communicator::Communicator;
use crate::error::{Error, Result};
use crate::library::Rccl;

thread_local! {
    /// Whether this thread is in a group. RCCL has groups for each thread, too.
    static IN_GROUP: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is in a group.
pub(crate) fn in_group() -> bool {
    IN_GROUP.get()
}

/// What calls use.
pub(crate) type Used = Vec<Box<dyn Any>>;

/// Calls that RCCL starts together, when the group ends. Made by [`Rccl::group`].
#[derive(Debug)]
pub struct Group<'c> {
    /// Kept until the group ends, because nothing is enqueued before.
    used: RefCell<Used>,
    /// The group belongs to its thread, and the communicators outlive it.
    _of: PhantomData<(*const (), &'c Communicator)>,
}

/// Ends a group, also if the body panics or fails.
struct Scope<'a>(&'a Rccl);

impl Scope<'_> {
    fn end(self) -> Result<()> {
        let rccl = self.0;
        std::mem::forget(self);
        end(rccl)
    }
}

impl Drop for Scope<'_> {
    fn drop(&mut self) {
        if let Err(error) = end(self.0) {
            log::warn!("{error}");
        }
    }
}

fn end(rccl: &Rccl) -> Result<()> {
    IN_GROUP.set(false);
    // SAFETY: behind ncclGroupStart on this thread; what the calls use is alive.
    rccl.check(None, "ncclGroupEnd", unsafe { (rccl.0.api.group_end)() })
}

impl Rccl {
    /// Makes calls that are started together (`ncclGroupStart`, `ncclGroupEnd`): messages that wait for each other, calls of
    /// several communicators from one thread, or small collectives that RCCL then joins.
    ///
    /// Nothing is enqueued before the body returns. If the body fails, the calls that it made are enqueued all the same,
    /// because RCCL can't take them back: then the other ranks may wait for the rest, until the communicator is aborted.
    ///
    /// # Errors
    /// The body's error; [`Error::Invalid`] in another group of this thread; RCCL's.
    pub fn group<'c, T>(&self, body: impl FnOnce(&Group<'c>) -> Result<T>) -> Result<T> {
        if in_group() {
            return Err(Error::invalid("Rccl::group", "this thread is in a group already; use that one"));
        }
        // SAFETY: needs nothing.
        self.check(None, "ncclGroupStart", unsafe { (self.0.api.group_start)() })?;
        IN_GROUP.set(true);
        // Dropped after the scope, so what it keeps lives until the work is enqueued, also when the body panics.
        let group = Group { used: RefCell::default(), _of: PhantomData };
        let scope = Scope(self);
        let value = body(&group)?;
        scope.end()?;
        Ok(value)
    }
}

impl<'c> Group<'c> {
    /// Returns a communicator of the group, on which its [collectives and messages](crate::Collectives) are called.
    pub fn on(&self, communicator: &'c Communicator) -> GroupMember<'_, 'c> {
        GroupMember { group: self, communicator }
    }

    pub(crate) fn keep(&self, used: Used) {
        self.used.borrow_mut().extend(used);
    }
}

/// A communicator in a group. [`Group::on`] returns it.
#[derive(Clone, Copy, Debug)]
pub struct GroupMember<'g, 'c> {
    pub(crate) group: &'g Group<'c>,
    pub(crate) communicator: &'c Communicator,
}
