//! The operations of a communicator.

use bytemuck::Pod;
use hiplaunch::{AsView, DeviceView, Stream};

use crate::communicator::{Communicator, Plan};
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

/// A view that is sent or received, the other rank, and the tag.
type Message<T> = (DeviceView<T>, usize, u16);

fn bytes_of<T: Pod>(view: &DeviceView<T>) -> usize {
    view.len() * size_of::<T>()
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
        self.messages("send", stream, vec![(view.as_view(), to, tag)], vec![])
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
        self.messages("recv", stream, vec![], vec![(view.as_view(), from, tag)])
    }

    /// Sends to and receives from neighbours at once. A rank at a border leaves the neighbours out that it does not have. Two
    /// halos with one neighbour, as in a ring of two ranks, have different tags.
    ///
    /// # Errors
    /// As [`recv`](Communicator::recv).
    pub fn exchange<T: Pod + Send>(&self, stream: &Stream, halos: &[Halo<T>]) -> Result<Ticket> {
        let sent = halos.iter().map(|halo| (halo.send.clone(), halo.peer, halo.send_tag)).collect();
        let received = halos.iter().map(|halo| (halo.recv.clone(), halo.peer, halo.recv_tag)).collect();
        self.messages("exchange", stream, sent, received)
    }

    fn messages<T: Pod + Send>(
        &self,
        call: &'static str,
        stream: &Stream,
        sent: Vec<Message<T>>,
        received: Vec<Message<T>>,
    ) -> Result<Ticket> {
        for &(_, peer, tag) in sent.iter().chain(&received) {
            self.check_rank(call, peer)?;
            if tag > MAX_TAG {
                return Err(Error::invalid(call, format!("tag {tag}; the greatest is {MAX_TAG}")));
            }
        }
        let views = |messages: &[Message<T>]| messages.iter().map(|message| message.0.clone()).collect();
        let plan = Plan { from: views(&sent), into: views(&received) };
        self.enqueue(call, stream, plan, |from, into| {
            let receives = received.iter().zip(into).map(|(&(ref view, peer, tag), slot)| Part::Receive {
                to: slot.mpi,
                bytes: bytes_of(view),
                peer,
                tag,
            });
            let sends = sent.iter().zip(from).map(|(&(ref view, peer, tag), slot)| Part::Send {
                from: slot.mpi,
                bytes: bytes_of(view),
                peer,
                tag,
            });
            (receives.collect(), sends.collect())
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
        let (count, bytes) = (view.len(), bytes_of(&view));
        let (datatype, op, kind) = (T::datatype(), how.op(), (std::any::type_name::<T>(), how));
        let plan = Plan { from: vec![view.clone()], into: vec![view] };
        self.collective("all_reduce", stream, plan, |from, into| {
            let (from, to) = (from[0].mpi, into[0].mpi);
            Part::AllReduce { from, to, count, bytes, datatype, op, kind }
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
        let bytes = bytes_of(&view);
        let plan = match root == self.rank() {
            true => Plan { from: vec![view], into: vec![] },
            false => Plan { from: vec![], into: vec![view] },
        };
        self.collective(call, stream, plan, |from, into| {
            let memory = from.first().or(into.first()).map_or(std::ptr::null_mut(), |slot| slot.mpi);
            Part::Broadcast { memory, bytes, root }
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
        let bytes = bytes_of(&from);
        let plan = Plan { from: vec![from], into: vec![into] };
        self.collective(call, stream, plan, |from, into| Part::AllGather {
            from: from[0].mpi,
            to: into[0].mpi,
            bytes,
        })
    }

    /// Is done when the streams of all ranks have come to it. Collective.
    ///
    /// # Errors
    /// As [`all_reduce`](Communicator::all_reduce).
    pub fn barrier(&self, stream: &Stream) -> Result<Ticket> {
        let plan = Plan::<u8> { from: vec![], into: vec![] };
        self.collective("barrier", stream, plan, |_, _| Part::Barrier)
    }

    fn collective<T: Pod + Send>(
        &self,
        call: &'static str,
        stream: &Stream,
        plan: Plan<T>,
        part: impl FnOnce(&[Slot], &[Slot]) -> Part,
    ) -> Result<Ticket> {
        self.enqueue(call, stream, plan, |from, into| (vec![], vec![part(from, into)]))
    }

    fn check_rank(&self, call: &'static str, rank: usize) -> Result<()> {
        if rank < self.size() {
            return Ok(());
        }
        Err(Error::invalid(call, format!("rank {rank} of {} ranks", self.size())))
    }
}
