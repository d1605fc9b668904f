//! The operations of a communicator.

use bytemuck::Pod;
use hiplaunch::{AsView, DeviceView, Stream};

use crate::communicator::{Communicator, Parts, Plan};
use crate::error::{Error, Result};
use crate::number::{Number, Reduce};
use crate::operation::Part;
use crate::staging::Slot;
use crate::ticket::Ticket;

/// The greatest tag: the least that the standard guarantees (MPI 4.0, section 9.1.2, `MPI_TAG_UB`).
pub const MAX_TAG: u16 = 32767;

/// What one rank exchanges with a neighbour.
#[derive(Clone, Debug)]
pub struct Halo<T: Pod> {
    /// The neighbour's rank.
    pub peer: usize,
    /// What the neighbour gets.
    pub send: DeviceView<T>,
    /// The tag of that message: the neighbour's `recv_tag`. At most [`MAX_TAG`].
    pub send_tag: u16,
    /// Where the neighbour's elements go. No other view of the exchange has these elements.
    pub recv: DeviceView<T>,
    /// The tag of the neighbour's message: its `send_tag`.
    pub recv_tag: u16,
}

fn send<T: Pod>(view: &DeviceView<T>, slot: &Slot, peer: usize, tag: u16) -> Part {
    Part::Send { from: slot.mpi, bytes: view.len() * size_of::<T>(), peer, tag }
}

fn receive<T: Pod>(view: &DeviceView<T>, slot: &Slot, peer: usize, tag: u16) -> Part {
    Part::Receive { to: slot.mpi, bytes: view.len() * size_of::<T>(), peer, tag }
}

impl Communicator {
    /// Sends the elements of a view, as they are when `stream` has come to this, to another rank.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a rank or tag that does not exist, and for memory or a stream of another device: nothing is
    /// enqueued then. Else the failure of the communicator.
    pub fn send<T: Pod + Send>(
        &self,
        stream: &Stream,
        view: &impl AsView<T>,
        to: usize,
        tag: u16,
    ) -> Result<Ticket> {
        let call = "send";
        self.check_message(call, to, tag)?;
        let view = view.as_view();
        let part = view.clone();
        self.enqueue(call, stream, Plan { from: vec![view], into: vec![] }, |from, _| -> Parts {
            (vec![], vec![send(&part, &from[0], to, tag)])
        })
    }

    /// Receives the elements of a view from another rank. They are written after the work that is on `stream` now.
    ///
    /// # Errors
    /// As [`send`](Communicator::send). The ticket returns [`Error::MessageSize`] for a message of another size.
    pub fn recv<T: Pod + Send>(
        &self,
        stream: &Stream,
        view: &impl AsView<T>,
        from: usize,
        tag: u16,
    ) -> Result<Ticket> {
        let call = "recv";
        self.check_message(call, from, tag)?;
        let view = view.as_view();
        let part = view.clone();
        self.enqueue(call, stream, Plan { from: vec![], into: vec![view] }, |_, into| -> Parts {
            (vec![receive(&part, &into[0], from, tag)], vec![])
        })
    }

    /// Sends to and receives from neighbours at once. A rank at a border leaves the neighbours out that it does not have. Two
    /// halos with one neighbour, as in a ring of two ranks, have different tags.
    ///
    /// # Errors
    /// As [`recv`](Communicator::recv).
    pub fn exchange<T: Pod + Send>(&self, stream: &Stream, halos: &[Halo<T>]) -> Result<Ticket> {
        let call = "exchange";
        for halo in halos {
            self.check_message(call, halo.peer, halo.send_tag.max(halo.recv_tag))?;
        }
        let plan = Plan {
            from: halos.iter().map(|halo| halo.send.clone()).collect(),
            into: halos.iter().map(|halo| halo.recv.clone()).collect(),
        };
        self.enqueue(call, stream, plan, |from, into| -> Parts {
            let received = halos.iter().zip(into).map(|(h, slot)| receive(&h.recv, slot, h.peer, h.recv_tag));
            let sent = halos.iter().zip(from).map(|(h, slot)| send(&h.send, slot, h.peer, h.send_tag));
            (received.collect(), sent.collect())
        })
    }

    /// Replaces each element by the sum, the least or the greatest of all ranks' elements at its place. Collective.
    ///
    /// # Errors
    /// As [`recv`](Communicator::recv). All ranks have views of one length and compute the same; with
    /// [`Options::check_collectives`](crate::Options::check_collectives), the ticket returns [`Error::CollectiveDiffers`] else.
    pub fn all_reduce<T: Number>(
        &self,
        stream: &Stream,
        view: &impl AsView<T>,
        how: Reduce,
    ) -> Result<Ticket> {
        let view = view.as_view();
        let (count, bytes) = (view.len(), view.len() * size_of::<T>());
        let (datatype, op, kind) = (T::datatype(), how.op(), (std::any::type_name::<T>(), how));
        let plan = Plan { from: vec![view.clone()], into: vec![view] };
        self.enqueue("all_reduce", stream, plan, |from, into| -> Parts {
            (
                vec![],
                vec![Part::AllReduce {
                    from: from[0].mpi,
                    to: into[0].mpi,
                    count,
                    bytes,
                    datatype,
                    op,
                    kind,
                }],
            )
        })
    }

    /// Copies the elements of the rank `root` to all ranks. Collective.
    ///
    /// # Errors
    /// As [`all_reduce`](Communicator::all_reduce).
    pub fn broadcast<T: Pod + Send>(
        &self,
        stream: &Stream,
        view: &impl AsView<T>,
        root: usize,
    ) -> Result<Ticket> {
        let call = "broadcast";
        self.check_rank(call, root)?;
        let view = view.as_view();
        let bytes = view.len() * size_of::<T>();
        let plan = match root == self.rank() {
            true => Plan { from: vec![view], into: vec![] },
            false => Plan { from: vec![], into: vec![view] },
        };
        self.enqueue(call, stream, plan, |from, into| -> Parts {
            let memory = from.first().or(into.first()).map_or(std::ptr::null_mut(), |slot| slot.mpi);
            (vec![], vec![Part::Broadcast { memory, bytes, root }])
        })
    }

    /// Gathers the elements of all ranks on all ranks: those of rank r are elements `r * n` to `(r + 1) * n` of `into`, in
    /// row-major order, for `from` of `n` elements. Collective.
    ///
    /// # Errors
    /// As [`all_reduce`](Communicator::all_reduce); [`Error::Invalid`] unless `into` has `n` elements for each rank.
    pub fn all_gather<T: Pod + Send>(
        &self,
        stream: &Stream,
        from: &impl AsView<T>,
        into: &impl AsView<T>,
    ) -> Result<Ticket> {
        let call = "all_gather";
        let (from, into) = (from.as_view(), into.as_view());
        if into.len() != from.len() * self.size() {
            let problem =
                format!("{} elements of each of {} ranks, into {}", from.len(), self.size(), into.len());
            return Err(Error::invalid(call, problem));
        }
        let bytes = from.len() * size_of::<T>();
        self.enqueue(call, stream, Plan { from: vec![from], into: vec![into] }, |from, into| -> Parts {
            (vec![], vec![Part::AllGather { from: from[0].mpi, to: into[0].mpi, bytes }])
        })
    }

    /// Is done when the streams of all ranks have come to it. Collective.
    ///
    /// # Errors
    /// As [`all_reduce`](Communicator::all_reduce).
    pub fn barrier(&self, stream: &Stream) -> Result<Ticket> {
        let plan = Plan::<u8> { from: vec![], into: vec![] };
        self.enqueue("barrier", stream, plan, |_, _| -> Parts { (vec![], vec![Part::Barrier]) })
    }

    fn check_rank(&self, call: &'static str, rank: usize) -> Result<()> {
        if rank < self.size() {
            return Ok(());
        }
        Err(Error::invalid(call, format!("rank {rank} of {} ranks", self.size())))
    }

    fn check_message(&self, call: &'static str, peer: usize, tag: u16) -> Result<()> {
        self.check_rank(call, peer)?;
        if tag > MAX_TAG {
            return Err(Error::invalid(call, format!("tag {tag}; the greatest is {MAX_TAG}")));
        }
        Ok(())
    }
}
