//! Groups: calls that RCCL starts together.

use std::cell::Cell;
use std::marker::PhantomData;

use hiplaunch::{AsView, DeviceView, Stream};

use crate::collectives::{Operation, Used};
use crate::communicator::Communicator;
use crate::error::{Error, Result};
use crate::library::Rccl;
use crate::number::{Number, Reduce};

thread_local! {
    /// Whether this thread is in a group. RCCL has groups for each thread, too.
    static IN_GROUP: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is in a group.
pub(crate) fn in_group() -> bool {
    IN_GROUP.get()
}

/// Calls that RCCL starts together, when the group ends. Made by [`Rccl::group`].
#[derive(Debug)]
pub struct Group<'c> {
    /// Kept until the group ends, because nothing is enqueued before.
    used: Used,
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
    pub fn group<'c, T>(&self, body: impl FnOnce(&mut Group<'c>) -> Result<T>) -> Result<T> {
        if in_group() {
            return Err(Error::invalid("Rccl::group", "this thread is in a group already; use that one"));
        }
        // SAFETY: needs nothing.
        self.check(None, "ncclGroupStart", unsafe { (self.0.api.group_start)() })?;
        IN_GROUP.set(true);
        // Dropped after the scope, so what it keeps lives until the work is enqueued, also when the body panics.
        let mut group = Group { used: Vec::new(), _of: PhantomData };
        let scope = Scope(self);
        let value = body(&mut group)?;
        scope.end()?;
        Ok(value)
    }
}

impl<'c> Group<'c> {
    fn add<T: Number>(
        &mut self,
        comm: &'c Communicator,
        stream: &Stream,
        operation: Operation,
        from: &DeviceView<T>,
        into: &DeviceView<T>,
    ) -> Result<()> {
        self.used.extend(comm.call(stream, operation, from, into)?);
        Ok(())
    }

    /// As [`Communicator::all_reduce`].
    ///
    /// # Errors
    /// Those of [`Communicator::all_reduce`].
    pub fn all_reduce<T: Number>(
        &mut self,
        comm: &'c Communicator,
        stream: &Stream,
        from: &impl AsView<T>,
        into: &impl AsView<T>,
        how: Reduce,
    ) -> Result<()> {
        self.add(comm, stream, Operation::AllReduce(how), &from.as_view(), &into.as_view())
    }

    /// As [`Communicator::broadcast`].
    ///
    /// # Errors
    /// Those of [`Communicator::broadcast`].
    pub fn broadcast<T: Number>(
        &mut self,
        comm: &'c Communicator,
        stream: &Stream,
        view: &impl AsView<T>,
        root: usize,
    ) -> Result<()> {
        let view = view.as_view();
        self.add(comm, stream, Operation::Broadcast { root }, &view, &view)
    }

    /// As [`Communicator::all_gather`].
    ///
    /// # Errors
    /// Those of [`Communicator::all_gather`].
    pub fn all_gather<T: Number>(
        &mut self,
        comm: &'c Communicator,
        stream: &Stream,
        from: &impl AsView<T>,
        into: &impl AsView<T>,
    ) -> Result<()> {
        self.add(comm, stream, Operation::AllGather, &from.as_view(), &into.as_view())
    }

    /// As [`Communicator::reduce_scatter`].
    ///
    /// # Errors
    /// Those of [`Communicator::reduce_scatter`].
    pub fn reduce_scatter<T: Number>(
        &mut self,
        comm: &'c Communicator,
        stream: &Stream,
        from: &impl AsView<T>,
        into: &impl AsView<T>,
        how: Reduce,
    ) -> Result<()> {
        self.add(comm, stream, Operation::ReduceScatter(how), &from.as_view(), &into.as_view())
    }

    /// As [`Communicator::send`].
    ///
    /// # Errors
    /// Those of [`Communicator::send`].
    pub fn send<T: Number>(
        &mut self,
        comm: &'c Communicator,
        stream: &Stream,
        view: &impl AsView<T>,
        to: usize,
    ) -> Result<()> {
        let view = view.as_view();
        self.add(comm, stream, Operation::Send { to }, &view, &view)
    }

    /// As [`Communicator::recv`].
    ///
    /// # Errors
    /// Those of [`Communicator::recv`].
    pub fn recv<T: Number>(
        &mut self,
        comm: &'c Communicator,
        stream: &Stream,
        view: &impl AsView<T>,
        from: usize,
    ) -> Result<()> {
        let view = view.as_view();
        self.add(comm, stream, Operation::Recv { from }, &view, &view)
    }
}
