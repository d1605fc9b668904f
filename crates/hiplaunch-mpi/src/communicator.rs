//! A communicator: the ranks that exchange, the device of this one, and the streams on which exchanges run.

use std::any::Any;
use std::hash::{DefaultHasher, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use bytemuck::Pod;
use hiplaunch::driver::{Capability, HostFunction, Work};
use hiplaunch::{Device, DeviceView, Event, EventOptions, Launcher, Stream, StreamOptions};
use mpi::ffi;

use crate::calls::Comm;
use crate::counters::{Counters, add};
use crate::environment::Mpi;
use crate::error::{Error, Result};
use crate::operation::{Operation, Part, Side};
use crate::progress::{Command, Progress, Shared};
use crate::staging::{Slot, Slots, Staging, mpi_takes_device_memory};
use crate::ticket::Ticket;
use crate::transfer::{Direction, Kernels, enqueue};

/// Options of a [`Communicator`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// The memory from which MPI sends and into which it receives.
    pub staging: Staging,
    /// How long an operation may wait for other ranks, from the time when its stream has come to it. `None`: forever.
    pub timeout: Option<Duration>,
    /// Whether the ranks compare each collective operation before they make it: its name, its bytes, its root, type and
    /// reduction. It costs one more reduction of 16 bytes for each. Without it, what happens when they differ is MPI's choice:
    /// an error, other numbers, or a wait forever. All ranks have the same setting.
    pub check_collectives: bool,
}

/// Ranks that exchange device memory, each with one device.
///
/// An operation is enqueued on a stream of the caller's and returns a [`Ticket`]; the host does not wait. It reads what it
/// sends in the order of that stream. It runs on streams of the communicator, beside what the caller enqueues next, until
/// [`Ticket::before`] orders a stream after it.
///
/// All ranks enqueue the same collective operations in the same order. Messages from one rank to another with one tag arrive
/// in the order in which they were sent. Sends never wait for receives. Receives, and collective operations, complete in the
/// order in which they were enqueued on the communicator; independent sequences of them take a communicator each.
///
/// Calls of MPI are made by a thread of the communicator, so MPI is initialized for `MPI_THREAD_MULTIPLE`.
pub struct Communicator {
    pub(crate) shared: Arc<Shared>,
    device: Device,
    kernels: Kernels,
    queue: Mutex<Queue>,
    /// Waits for other ranks, and copies or unpacks what they sent.
    receiving: Stream,
    progress: Option<JoinHandle<bool>>,
    users: Arc<AtomicUsize>,
}

/// What one thread at a time does: it gives operations their order.
struct Queue {
    slots: Slots,
    /// Events that no operation uses.
    events: Vec<Arc<Event>>,
    retiring: Vec<Retiring>,
}

/// An operation whose memory may still be in use.
struct Retiring {
    operation: Arc<Operation>,
    /// On the caller's stream, behind what is read.
    packed: Arc<Event>,
    /// Behind what is written, if there is anything.
    unpacked: Option<Arc<Event>>,
    slots: Vec<Slot>,
    _views: Box<dyn Any + Send>,
}

/// What an operation is to do.
pub(crate) struct Plan<T: Pod> {
    /// Views that are read.
    pub(crate) from: Vec<DeviceView<T>>,
    /// Views that are written.
    pub(crate) into: Vec<DeviceView<T>>,
}

/// The parts of an operation: those that are posted at once, and those that are posted in the order of the stream.
pub(crate) type Parts = (Vec<Part>, Vec<Part>);

impl std::fmt::Debug for Communicator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Communicator")
            .field("rank", &self.rank())
            .field("size", &self.size())
            .field("device", &self.device)
            .finish_non_exhaustive()
    }
}

impl Communicator {
    /// Makes a communicator of all ranks (`MPI_COMM_WORLD`). Collective.
    ///
    /// # Errors
    /// Those of [`from_raw`](Communicator::from_raw).
    pub fn new(mpi: &Mpi, launcher: &Launcher, device: &Device, options: Options) -> Result<Communicator> {
        // SAFETY: the communicator of the world is live while MPI is.
        unsafe { Communicator::from_raw(mpi, mpi.world(), launcher, device, options) }
    }

    /// Makes a communicator of the ranks of another, which is duplicated and stays the caller's. Collective.
    ///
    /// # Errors
    /// [`Error::Invalid`] for HIP before 5.3, and for [`Staging::Device`] with an MPI that does not take device addresses; MPI's
    /// errors; the launcher's.
    ///
    /// # Safety
    /// `comm` is a live intracommunicator of the MPI that this program is linked with.
    pub unsafe fn from_raw(
        mpi: &Mpi,
        comm: ffi::MPI_Comm,
        launcher: &Launcher,
        device: &Device,
        options: Options,
    ) -> Result<Communicator> {
        let (rank, size) = Comm(comm).place()?;
        if !device.driver().capabilities().has(Capability::HostFunc) {
            let problem = "this libamdhip64 has no hipLaunchHostFunc, by which streams wait for messages; take HIP 5.3 or newer";
            return Err(Error::invalid("Communicator", problem));
        }
        let (data, control) = (Comm(comm).duplicate(rank)?, Comm(comm).duplicate(rank)?);
        let failed = |error| Error::launcher(rank, error);
        let stream_options = StreamOptions { priority: None, blocking: false };
        let receiving = launcher.stream_with(device, stream_options).map_err(failed)?;
        let in_device_memory = uses_device_memory(device, options.staging).map_err(failed)?;
        let queue =
            Queue { slots: Slots::new(device, in_device_memory), events: Vec::new(), retiring: Vec::new() };
        let (sender, receiver) = channel();
        let shared = Arc::new(Shared::new(rank, size, sender));
        let (timeout, check_collectives) = (options.timeout, options.check_collectives);
        let (shared_by, probe) = (shared.clone(), receiving.clone());
        let progress = Progress { shared: shared_by, data, control, timeout, check_collectives, probe };
        let thread = std::thread::Builder::new()
            .name(format!("mpi rank {rank}"))
            .spawn(move || progress.run(&receiver))
            .map_err(|error| Error::Environment(format!("no thread for messages: {error}").into()))?;
        mpi.users.fetch_add(1, Ordering::AcqRel);
        Ok(Communicator {
            shared,
            device: device.clone(),
            kernels: Kernels::new(launcher),
            queue: Mutex::new(queue),
            receiving,
            progress: Some(thread),
            users: mpi.users.clone(),
        })
    }

    /// This process's rank.
    pub fn rank(&self) -> usize {
        self.shared.rank
    }

    /// The number of ranks.
    pub fn size(&self) -> usize {
        self.shared.size
    }

    /// The device of this rank.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// What was done since the communicator was made.
    pub fn counters(&self) -> Counters {
        self.shared.counts.read()
    }

    /// Fails if the communicator has failed, here or on another rank. Never waits.
    ///
    /// # Errors
    /// The first failure.
    pub fn check(&self) -> Result<()> {
        self.shared.check()
    }

    /// Fails the communicator on all ranks: pending and later operations return [`Error::RankFailed`] there with this
    /// report. For a rank that can't go on. A lost device, an error of an operation and a panic do the same by themselves.
    pub fn fail(&self, report: &str) {
        let _ = self.shared.fail(Error::RankFailed { rank: self.rank(), report: report.into() });
    }

    /// Checks that all ranks have the same code object for a kernel. Collective; waits for all ranks.
    ///
    /// # Errors
    /// [`Error::CodeDiffers`] on all ranks, which names those that differ from rank 0; the communicator stays usable. Else the
    /// failure of the communicator.
    pub fn check_code(&self, kernel: &str, code: &[u8]) -> Result<()> {
        // Not cryptographic: it finds other builds and other versions.
        let mut hasher = DefaultHasher::new();
        hasher.write(kernel.as_bytes());
        hasher.write_u8(0xff);
        hasher.write(code);
        // One element for each rank, and at the end this rank's own.
        let mut all = vec![0u64; self.size()];
        all.push(hasher.finish());
        let to = all.as_mut_ptr();
        // SAFETY: the vector has one element more than there are ranks.
        let from = unsafe { to.add(self.size()) };
        let part = Part::AllGather { from: from.cast(), to: to.cast(), bytes: size_of::<u64>() };
        let operation = Arc::new(Operation::new("check_code", Vec::new(), vec![part]));
        self.shared.check()?;
        // After the collectives that are enqueued.
        self.shared.send(Command::Ordered(operation.clone(), None));
        operation.wait();
        if let Some(error) = operation.error() {
            // MPI may still write there.
            std::mem::forget(all);
            return Err(error);
        }
        let ranks: Vec<usize> = (0..self.size()).filter(|&rank| all[rank] != all[0]).collect();
        if ranks.is_empty() { Ok(()) } else { Err(Error::CodeDiffers { kernel: kernel.into(), ranks }) }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An error of the launcher after something may have been enqueued: the other ranks are told.
    fn lost(&self, error: hiplaunch::Error) -> Error {
        self.shared.fail(Error::launcher(self.rank(), error))
    }

    /// Enqueues an operation. `parts` makes its calls of MPI from the staging memory of what is read and written.
    pub(crate) fn enqueue<T: Pod + Send>(
        &self,
        call: &'static str,
        stream: &Stream,
        plan: Plan<T>,
        parts: impl FnOnce(&[Slot], &[Slot]) -> Parts,
    ) -> Result<Ticket> {
        self.shared.check()?;
        if *stream.device() != self.device {
            return Err(Error::invalid(call, "the stream is on another device than the communicator"));
        }
        if plan.from.iter().chain(&plan.into).any(|view| *view.device() != self.device) {
            return Err(Error::invalid(call, "the memory is on another device than the communicator"));
        }
        self.device.check().map_err(|error| self.refused(error))?;
        // Also by others, whose capture another call of the driver would break.
        if stream.is_capturing().map_err(|error| self.refused(error))? {
            return Err(Error::invalid(call, "the stream is captured; end the capture first"));
        }
        let mut queue = self.queue();
        let queue = &mut *queue;
        queue.reclaim(self)?;
        let mut take = |views: &[DeviceView<T>]| -> hiplaunch::Result<Vec<Slot>> {
            views.iter().map(|view| queue.slots.take(view.len() * size_of::<T>())).collect()
        };
        let from = take(&plan.from).map_err(|error| self.refused(error))?;
        let into = take(&plan.into).map_err(|error| self.refused(error))?;
        let (early, ordered) = parts(&from, &into);
        let operation = Arc::new(Operation::new(call, early, ordered));
        let packed = queue.event(&self.device).map_err(|error| self.refused(error))?;
        let unpacked = match operation.receives() {
            true => Some(queue.event(&self.device).map_err(|error| self.refused(error))?),
            false => None,
        };
        let slots_of_views = (&*from, &*into);
        let enqueued =
            self.enqueue_parts(stream, &plan, slots_of_views, &operation, &packed, unpacked.as_deref());
        // What only sends is done when it is packed.
        let done = unpacked.as_ref().unwrap_or(&packed).clone();
        let ticket = Ticket { operation: operation.clone(), done, shared: self.shared.clone() };
        let slots = from.into_iter().chain(into).collect();
        let views: Box<dyn Any + Send> = Box::new(plan);
        queue.retiring.push(Retiring { operation, packed, unpacked, slots, _views: views });
        enqueued.map_err(|error| self.lost(error))?;
        add(&self.shared.counts.operations, 1);
        Ok(ticket)
    }

    /// An error before anything was enqueued. A lost device is told to the other ranks.
    fn refused(&self, error: hiplaunch::Error) -> Error {
        match self.device.check() {
            Ok(()) => Error::launcher(self.rank(), error),
            Err(_) => self.lost(error),
        }
    }

    fn enqueue_parts<T: Pod>(
        &self,
        stream: &Stream,
        plan: &Plan<T>,
        (from, into): (&[Slot], &[Slot]),
        operation: &Arc<Operation>,
        packed: &Arc<Event>,
        unpacked: Option<&Event>,
    ) -> hiplaunch::Result<()> {
        let counts = &self.shared.counts;
        let transfer = |direction, stream: &Stream, views: &[DeviceView<T>], slots: &[Slot]| {
            for (view, slot) in views.iter().zip(slots) {
                // SAFETY: the slot was taken for this view, and is given back when the operation is over.
                let by_kernel = unsafe { self.kernels.transfer(direction, stream, view, slot) }?;
                add(if by_kernel { &counts.pack_kernels } else { &counts.copies }, 1);
            }
            hiplaunch::Result::Ok(())
        };
        if !operation.parts(Side::Early).is_empty() {
            self.shared.send(Command::Early(operation.clone()));
        }
        transfer(Direction::Pack, stream, &plan.from, from)?;
        packed.record(stream)?;
        if !operation.parts(Side::Ordered).is_empty() {
            self.shared.send(Command::Ordered(operation.clone(), Some(packed.clone())));
        }
        let Some(unpacked) = unpacked else { return Ok(()) };
        packed.wait_on(&self.receiving)?;
        let awaited = operation.clone();
        let wait = HostFunction::new(move || awaited.wait());
        // SAFETY: the function calls neither HIP nor the driver.
        unsafe { enqueue(&self.receiving, &Work::HostFunction(&wait)) }?;
        add(&counts.stream_waits, 1);
        transfer(Direction::Unpack, &self.receiving, &plan.into, into)?;
        unpacked.record(&self.receiving)
    }
}

impl Queue {
    fn event(&mut self, device: &Device) -> hiplaunch::Result<Arc<Event>> {
        match self.events.pop() {
            Some(event) => Ok(event),
            None => Event::new(device, EventOptions::default()).map(Arc::new),
        }
    }

    /// Takes back the memory of operations that are over.
    fn reclaim(&mut self, communicator: &Communicator) -> Result<()> {
        let mut index = 0;
        while let Some(retiring) = self.retiring.get(index) {
            let last = retiring.unpacked.as_ref().unwrap_or(&retiring.packed);
            let over = retiring.operation.is_finished()
                && last.is_reached().map_err(|error| communicator.lost(error))?;
            if !over {
                index += 1;
                continue;
            }
            let Retiring { packed, unpacked, slots, .. } = self.retiring.remove(index);
            self.slots.give_back(slots);
            // A ticket may still ask an event about this operation.
            let unused = [Some(packed), unpacked].into_iter().flatten();
            self.events.extend(unused.filter(|event| Arc::strong_count(event) == 1));
        }
        Ok(())
    }
}

/// Whether staging memory is device memory.
fn uses_device_memory(device: &Device, staging: Staging) -> hiplaunch::Result<bool> {
    match staging {
        Staging::Host => Ok(false),
        Staging::Auto => Ok(mpi_takes_device_memory()),
        Staging::Device => {
            // The emulator's device memory is host memory.
            let probe = hiplaunch::DeviceBuffer::<u8>::new(device, 1)?;
            if mpi_takes_device_memory() || device.host_address(probe.ptr(), 1)?.is_some() {
                return Ok(true);
            }
            Err(hiplaunch::Error::Invalid {
                what: "Staging::Device",
                problem: "this MPI does not say that it takes AMD's device memory; use Staging::Auto".into(),
            })
        }
    }
}

impl Drop for Communicator {
    /// Waits for what was enqueued. After a failure it waits no longer than a few seconds.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.fail("it panicked; its own output says why");
        }
        if let Err(error) = self.receiving.synchronize()
            && self.shared.check().is_ok()
        {
            self.lost(error);
        }
        self.shared.send(Command::Stop);
        let is_clean = self.progress.take().is_some_and(|thread| thread.join().unwrap_or(false));
        if !is_clean {
            log::warn!("rank {}: staging memory is leaked, because MPI may still use it", self.rank());
            let queue = self.queue.get_mut().unwrap_or_else(PoisonError::into_inner);
            std::mem::forget(std::mem::take(&mut queue.retiring));
        }
        self.users.fetch_sub(1, Ordering::AcqRel);
    }
}
