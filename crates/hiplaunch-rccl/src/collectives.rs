//! The collectives and messages of a communicator, called at once or in a group.

use std::ffi::{c_int, c_void};

use bytemuck::Pod;
use hiplaunch::{AsView, DeviceView, Stream};

use crate::api::{Api, Comm, HipStream};
use crate::communicator::Communicator;
use crate::error::{Error, Result};
use crate::group::{GroupMember, Used, in_group};
use crate::number::{Number, Reduce};

/// What a call does.
#[derive(Clone, Copy, Debug)]
pub enum Operation {
    AllReduce(Reduce),
    Broadcast { root: usize },
    AllGather,
    ReduceScatter(Reduce),
    Send { to: usize },
    Recv { from: usize },
}

impl Operation {
    /// The function of RCCL.
    fn name(self) -> &'static str {
        match self {
            Operation::AllReduce(_) => "ncclAllReduce",
            Operation::Broadcast { .. } => "ncclBroadcast",
            Operation::AllGather => "ncclAllGather",
            Operation::ReduceScatter(_) => "ncclReduceScatter",
            Operation::Send { .. } => "ncclSend",
            Operation::Recv { .. } => "ncclRecv",
        }
    }

    /// # Safety
    /// The addresses have as many elements of the type as the function accesses, on the communicator's device, until the
    /// stream's work is done.
    unsafe fn call(self, api: &Api, from: *const c_void, to: *mut c_void, shape: Shape, comm: Comm) -> c_int {
        let Shape { count, datatype, stream } = shape;
        // Checked to be below the number of ranks, which is one.
        let rank = |rank: usize| rank as c_int;
        // SAFETY: the caller's promise; the communicator is live.
        unsafe {
            match self {
                Operation::AllReduce(how) => {
                    (api.all_reduce)(from, to, count, datatype, how as c_int, comm, stream)
                }
                Operation::Broadcast { root } => {
                    (api.broadcast)(from, to, count, datatype, rank(root), comm, stream)
                }
                Operation::AllGather => (api.all_gather)(from, to, count, datatype, comm, stream),
                Operation::ReduceScatter(how) => {
                    (api.reduce_scatter)(from, to, count, datatype, how as c_int, comm, stream)
                }
                Operation::Send { to } => (api.send)(from, count, datatype, rank(to), comm, stream),
                Operation::Recv { from } => (api.recv)(to, count, datatype, rank(from), comm, stream),
            }
        }
    }
}

/// The numbers of a call.
#[derive(Clone, Copy)]
struct Shape {
    count: usize,
    datatype: c_int,
    stream: HipStream,
}

/// The collectives and messages of a communicator: called at once on a [`Communicator`], and with others in a
/// [group](crate::Rccl::group) on what [`Group::on`](crate::Group::on) returns.
pub trait Collectives: private::Enqueue {
    /// Replaces the elements of `into` by the reduction of all ranks' elements of `from` (`ncclAllReduce`). The two may be
    /// the same memory.
    ///
    /// # Errors
    /// [`Error::Invalid`] for views of different lengths or with gaps, for memory or a stream of another device, for a stream
    /// that is captured, and within a [group](crate::Rccl::group) of this thread; RCCL is not called then. Else RCCL's.
    fn all_reduce<T: Number>(
        &self,
        stream: &Stream,
        from: &impl AsView<T>,
        into: &impl AsView<T>,
        how: Reduce,
    ) -> Result<()> {
        self.enqueue(stream, Operation::AllReduce(how), &from.as_view(), &into.as_view())
    }

    /// Copies the elements of the rank `root` to all ranks (`ncclBroadcast`). Every rank passes its own view.
    ///
    /// # Errors
    /// As [`all_reduce`](Collectives::all_reduce); [`Error::Invalid`] also for a root that does not exist.
    fn broadcast<T: Number>(&self, stream: &Stream, view: &impl AsView<T>, root: usize) -> Result<()> {
        let view = view.as_view();
        self.enqueue(stream, Operation::Broadcast { root }, &view, &view)
    }

    /// Gathers the elements of all ranks on all ranks (`ncclAllGather`): for `from` of `n` elements, those of rank r become
    /// elements `r * n` to `(r + 1) * n` of `into`.
    ///
    /// # Errors
    /// As [`all_reduce`](Collectives::all_reduce), where `into` has `n` elements for each rank.
    fn all_gather<T: Number>(
        &self,
        stream: &Stream,
        from: &impl AsView<T>,
        into: &impl AsView<T>,
    ) -> Result<()> {
        self.enqueue(stream, Operation::AllGather, &from.as_view(), &into.as_view())
    }

    /// Reduces the elements of `from` over all ranks, and gives each rank its part (`ncclReduceScatter`): for `into` of `n`
    /// elements, rank r gets elements `r * n` to `(r + 1) * n` of the reduction.
    ///
    /// # Errors
    /// As [`all_reduce`](Collectives::all_reduce), where `from` has `n` elements for each rank.
    fn reduce_scatter<T: Number>(
        &self,
        stream: &Stream,
        from: &impl AsView<T>,
        into: &impl AsView<T>,
        how: Reduce,
    ) -> Result<()> {
        self.enqueue(stream, Operation::ReduceScatter(how), &from.as_view(), &into.as_view())
    }

    /// Sends the elements of a view to another rank (`ncclSend`). The stream waits until that rank receives them: calls that
    /// have to go on together, as an exchange of two ranks, belong in a [group](crate::Rccl::group).
    ///
    /// # Errors
    /// As [`all_reduce`](Collectives::all_reduce); [`Error::Invalid`] also for a rank that does not exist.
    fn send<T: Number>(&self, stream: &Stream, view: &impl AsView<T>, to: usize) -> Result<()> {
        let view = view.as_view();
        self.enqueue(stream, Operation::Send { to }, &view, &view)
    }

    /// Receives the elements of a view from another rank (`ncclRecv`).
    ///
    /// # Errors
    /// As [`send`](Collectives::send).
    fn recv<T: Number>(&self, stream: &Stream, view: &impl AsView<T>, from: usize) -> Result<()> {
        let view = view.as_view();
        self.enqueue(stream, Operation::Recv { from }, &view, &view)
    }
}

impl<C: private::Enqueue> Collectives for C {}

pub(crate) mod private {
    use super::{DeviceView, Number, Operation, Result, Stream};

    /// What has collectives.
    pub trait Enqueue {
        /// Checks and makes a call.
        fn enqueue<T: Number>(
            &self,
            stream: &Stream,
            operation: Operation,
            from: &DeviceView<T>,
            into: &DeviceView<T>,
        ) -> Result<()>;
    }
}

impl private::Enqueue for Communicator {
    fn enqueue<T: Number>(
        &self,
        stream: &Stream,
        operation: Operation,
        from: &DeviceView<T>,
        into: &DeviceView<T>,
    ) -> Result<()> {
        if in_group() {
            return Err(Error::invalid(operation.name(), "called in a group; call it on `Group::on`"));
        }
        self.call(stream, operation, from, into).map(drop)
    }
}

impl private::Enqueue for GroupMember<'_, '_> {
    fn enqueue<T: Number>(
        &self,
        stream: &Stream,
        operation: Operation,
        from: &DeviceView<T>,
        into: &DeviceView<T>,
    ) -> Result<()> {
        self.group.keep(self.communicator.call(stream, operation, from, into)?);
        Ok(())
    }
}

impl Communicator {
    /// Checks and makes a call. Returns what must live until it is enqueued, which in a group is at the group's end.
    fn call<T: Number>(
        &self,
        stream: &Stream,
        operation: Operation,
        from: &DeviceView<T>,
        into: &DeviceView<T>,
    ) -> Result<Used> {
        let name = operation.name();
        let shape = self.check_call(stream, operation, from, into)?;
        self.with_stream(stream, |comm| {
            // SAFETY: both views are contiguous, on the communicator's device, and as long as the function accesses them
            // (checked above). The pool keeps their blocks until the stream's work is done, and the caller of a group keeps
            // them until it is enqueued.
            let code = unsafe {
                operation.call(&self.rccl.0.api, address(from).cast_const(), address(into), shape, comm)
            };
            self.checked(name, code)
        })?;
        record_use(stream, from);
        record_use(stream, into);
        Ok(vec![Box::new(stream.clone()), Box::new(from.clone()), Box::new(into.clone())])
    }

    fn check_call<T: Number>(
        &self,
        stream: &Stream,
        operation: Operation,
        from: &DeviceView<T>,
        into: &DeviceView<T>,
    ) -> Result<Shape> {
        let name = operation.name();
        let invalid = |problem: String| Err(Error::invalid(name, problem));
        // How many elements the function reads and writes for each of its count.
        let (reads, writes) = match operation {
            Operation::AllGather => (1, self.size()),
            Operation::ReduceScatter(_) => (self.size(), 1),
            _ => (1, 1),
        };
        let count = from.len() / reads;
        if from.len() != count * reads || Some(into.len()) != count.checked_mul(writes) {
            return invalid(format!(
                "{} elements into {} over {} ranks",
                from.len(),
                into.len(),
                self.size()
            ));
        }
        if let Operation::Broadcast { root: rank }
        | Operation::Send { to: rank }
        | Operation::Recv { from: rank } = operation
            && rank >= self.size()
        {
            return invalid(format!("rank {rank} of {} ranks", self.size()));
        }
        for view in [from, into] {
            if !view.layout().is_contiguous() {
                return invalid("the view has gaps; copy it with a kernel".into());
            }
            if view.device() != self.device() {
                return invalid("the memory is on another device than the communicator".into());
            }
        }
        if stream.device() != self.device() {
            return invalid("the stream is on another device than the communicator".into());
        }
        // A graph could run when the memory is gone.
        if stream.is_capturing().map_err(|source| Error::Launcher { call: name, source })? {
            return invalid("the stream is captured; end the capture first".into());
        }
        let raw = std::ptr::with_exposed_provenance_mut(stream.as_raw().0 as usize);
        Ok(Shape { count, datatype: T::DATATYPE, stream: raw })
    }
}

fn address<T: Pod>(view: &DeviceView<T>) -> *mut c_void {
    std::ptr::with_exposed_provenance_mut(view.ptr().0 as usize)
}

/// The pool keeps the memory until the stream's work is done.
fn record_use<T: Pod>(stream: &Stream, view: &DeviceView<T>) {
    if let Some(block) = view.block() {
        stream.record_use(block);
    }
}
