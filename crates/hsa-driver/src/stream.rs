//! A stream: packets that it puts into a queue of HSA's, in its own order.
//!
//! Every packet waits for those before it in its queue, so that the order of a stream is that of its packets. Where the host or another stream
//! waits, the stream puts in a [`Marker`]. What packets use, kernel arguments above all, is kept until a marker behind them is reached: that is
//! all that is freed, and nothing is allocated once the arguments' memory goes round.

use std::collections::VecDeque;
use std::fmt;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::abi::Signal;
use crate::device::Device;
use crate::gpu::lock;
use crate::host::HostThread;
use crate::marker::Marker;
use crate::memory::Block;
use crate::packet::{Dispatch, Packet};
use crate::queue::{Purpose, Queue};
use crate::services::{Asked, Printed, Served, new_printf_buffer};
use hip_driver::{DriverResult, HostFunc};
use kernel_services::Printer;

/// The bytes of kernel arguments and of small copies that a stream has in flight.
const ARGUMENT_BYTES: usize = 1 << 20;
/// The most of that which one packet takes: more is staged elsewhere.
pub(crate) const MOST_ARGUMENT_BYTES: usize = 64 << 10;
/// The alignment of kernel arguments.
const ALIGN: u64 = 64;

/// Which streams wait for each other without being told to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamKind {
    /// A device's null stream, which waits for blocking streams.
    Null,
    /// A stream that waits for the null stream.
    Blocking,
    /// Any other stream.
    NonBlocking,
}

/// What a packet uses until it has run.
#[derive(Debug)]
pub(crate) enum Kept {
    Marker(#[allow(dead_code, reason = "its signal may be used again when it is dropped")] Marker),
    Block(#[allow(dead_code, reason = "it is freed when it is dropped")] Block),
    /// A graph, whose packets' arguments are freed when it is dropped.
    Graph(#[allow(dead_code, reason = "it is only kept")] Arc<dyn fmt::Debug + Send + Sync>),
}

/// The memory of kernel arguments, in which the stream goes round.
#[derive(Debug)]
struct Arguments {
    block: Block,
    /// The bytes that were ever taken, and those that are free again.
    taken: u64,
    freed: u64,
}

impl Arguments {
    /// Takes some bytes; `None` if too few are free.
    #[inline]
    fn take(&mut self, bytes: usize) -> Option<*mut u8> {
        const SIZE: u64 = ARGUMENT_BYTES as u64;
        let bytes = (bytes as u64).next_multiple_of(ALIGN);
        let place = self.taken % SIZE;
        let skipped = if place + bytes > SIZE { SIZE - place } else { 0 };
        let end = self.taken + skipped + bytes;
        if end - self.freed > SIZE {
            return None;
        }
        let at = (self.taken + skipped) % SIZE;
        self.taken = end;
        // SAFETY: the place is inside the block.
        Some(unsafe { self.block.address.as_ptr().add(at as usize) })
    }
}

/// A marker that was put in, and what is free when it is reached.
#[derive(Debug)]
struct Issued {
    marker: Marker,
    taken: u64,
}

/// What changes with every packet.
#[derive(Debug)]
pub(crate) struct State {
    queue: Arc<Queue>,
    arguments: Arguments,
    issued: VecDeque<Issued>,
    /// What packets use, with the number of the marker behind them.
    kept: VecDeque<(u64, Kept)>,
    /// The number of markers.
    markers: u64,
    /// Whether there are packets behind the last marker.
    is_ahead: bool,
    last: Option<Marker>,
    host: Option<HostThread>,
    /// What kernels print to that leave it for the host to read.
    printf: Option<Printed>,
}

/// A stream of a device.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) device: &'static Device,
    kind: StreamKind,
    number: u64,
    /// The number of pieces of work that were enqueued; of a stream that orders itself with no other, it is not counted.
    enqueued: AtomicU64,
    /// Of a blocking stream: how much of the null stream's work it waits for, and how much of its own the null stream waits for.
    waits_for_null: AtomicU64,
    null_waits_for: AtomicU64,
    is_closed: AtomicBool,
    state: Mutex<State>,
}

impl Stream {
    pub(crate) fn new(
        call: &'static str,
        device: &'static Device,
        kind: StreamKind,
        priority: Option<u32>,
    ) -> DriverResult<Arc<Stream>> {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        let system = device.system;
        let block = Block::new(call, device.hsa, system.pools.kernarg, ARGUMENT_BYTES, &[device.agent])?;
        let state = State {
            queue: device.queue(call, priority)?,
            arguments: Arguments { block, taken: 0, freed: 0 },
            issued: VecDeque::with_capacity(64),
            kept: VecDeque::with_capacity(64),
            markers: 0,
            is_ahead: false,
            last: None,
            host: None,
            printf: None,
        };
        Ok(Arc::new(Stream {
            device,
            kind,
            number: NUMBER.fetch_add(1, Ordering::Relaxed),
            enqueued: AtomicU64::new(0),
            waits_for_null: AtomicU64::new(0),
            null_waits_for: AtomicU64::new(0),
            is_closed: AtomicBool::new(false),
            state: Mutex::new(state),
        }))
    }

    /// A number that no other stream has.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Which streams it waits for.
    pub(crate) fn kind(&self) -> StreamKind {
        self.kind
    }

    /// Locks the stream, to enqueue one piece of work.
    #[inline]
    pub(crate) fn enqueue<R>(
        &self,
        call: &'static str,
        put: impl FnOnce(&mut Enqueue<'_>) -> DriverResult<R>,
    ) -> DriverResult<R> {
        let mut state = lock(&self.state);
        if self.kind != StreamKind::NonBlocking {
            self.enqueued.fetch_add(1, Ordering::SeqCst);
        }
        put(&mut Enqueue { call, stream: self, state: &mut state })
    }

    /// A marker of all work so far. A stream without any since the last one has that.
    pub(crate) fn mark(&self, call: &'static str) -> DriverResult<Option<Marker>> {
        let mut state = lock(&self.state);
        Enqueue { call, stream: self, state: &mut state }.mark()
    }

    /// A marker of now, with a packet of its own.
    pub(crate) fn mark_now(&self, call: &'static str) -> DriverResult<Marker> {
        let mut state = lock(&self.state);
        Enqueue { call, stream: self, state: &mut state }.mark_now()
    }

    /// Waits for all work so far.
    pub(crate) fn synchronize(&self, call: &'static str) -> DriverResult<()> {
        match self.mark(call)? {
            Some(marker) => {
                marker.wait(call)?;
                // What the work used is freed now, not by the next work.
                let mut state = lock(&self.state);
                Enqueue { call, stream: self, state: &mut state }.retire();
                Ok(())
            }
            None => self.device.check(call),
        }
    }

    /// Whether all work so far has ended.
    pub(crate) fn is_idle(&self, call: &'static str) -> DriverResult<bool> {
        Ok(self.mark(call)?.is_none_or(|marker| marker.is_reached()))
    }

    /// Makes what is enqueued from now on wait for a marker.
    pub(crate) fn wait_for(&self, call: &'static str, marker: Marker) -> DriverResult<()> {
        if marker.is_of(self.number) || marker.is_reached() {
            return Ok(());
        }
        let mut state = lock(&self.state);
        Enqueue { call, stream: self, state: &mut state }.wait_for(marker)
    }

    /// Makes what is enqueued from now on wait for what the rule of the null stream says. A marker names only work that is enqueued already,
    /// so two threads that do this at once make no circle.
    #[inline]
    pub(crate) fn order_with_null(&self, call: &'static str) -> DriverResult<()> {
        match self.kind {
            StreamKind::NonBlocking => Ok(()),
            StreamKind::Blocking => match self.device.existing_null() {
                Some(null) => self.wait_behind(call, null, &self.waits_for_null),
                None => Ok(()),
            },
            StreamKind::Null => {
                let streams = self.device.blocking_streams();
                streams.iter().try_for_each(|stream| self.wait_behind(call, stream, &stream.null_waits_for))
            }
        }
    }

    /// Waits for all work of another stream, unless it waits for that already: `waits_for` says how much.
    fn wait_behind(&self, call: &'static str, other: &Stream, waits_for: &AtomicU64) -> DriverResult<()> {
        let enqueued = other.enqueued.load(Ordering::SeqCst);
        if enqueued <= waits_for.load(Ordering::SeqCst) {
            return Ok(());
        }
        if let Some(marker) = other.mark(call)? {
            self.wait_for(call, marker)?;
        }
        // Behind the wait, so that no thread relies on one that is not enqueued.
        waits_for.fetch_max(enqueued, Ordering::SeqCst);
        Ok(())
    }

    /// Closes the stream: what is enqueued still runs.
    pub(crate) fn close(&self) {
        let mut state = lock(&self.state);
        // The thread ends when it has done its work.
        state.host = None;
        // A marker, so that it is known when all has run. On a lost device, nothing will.
        let _ = Enqueue { call: "hipStreamDestroy", stream: self, state: &mut state }.mark();
        self.is_closed.store(true, Ordering::Release);
    }

    /// Whether it is closed and all its work has ended.
    pub(crate) fn is_finished(&self) -> bool {
        self.is_closed.load(Ordering::Acquire) && {
            let state = lock(&self.state);
            self.device.is_lost() || (!state.is_ahead && state.last.as_ref().is_none_or(Marker::is_reached))
        }
    }

    /// The stream's queue, if it shares it with none.
    pub(crate) fn own_queue(&self) -> Option<Arc<Queue>> {
        // A call that holds the lock waits for the device: then the queue's kernels are not named.
        let state = self.state.try_lock().ok()?;
        (state.queue.purpose != Purpose::Shared).then(|| Arc::clone(&state.queue))
    }

    /// Has all that waits for this stream's work go on, as the device is lost.
    pub(crate) fn release(&self) {
        let state = lock(&self.state);
        state.issued.iter().for_each(|issued| issued.marker.reach());
        state.kept.iter().for_each(|(_, kept)| {
            if let Kept::Marker(marker) = kept
                && marker.is_of(self.number)
            {
                marker.reach();
            }
        });
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        if !self.device.is_lost() {
            self.device.return_queue(Arc::clone(&state.queue));
        }
    }
}

/// A stream that is locked, so that a call can enqueue.
pub(crate) struct Enqueue<'a> {
    pub(crate) call: &'static str,
    pub(crate) stream: &'a Stream,
    state: &'a mut State,
}

impl Enqueue<'_> {
    pub(crate) fn device(&self) -> &'static Device {
        self.stream.device
    }

    /// The queue that the stream's packets go to.
    pub(crate) fn queue(&self) -> &Queue {
        &self.state.queue
    }

    /// Puts packets in, behind all that the stream has enqueued.
    #[inline]
    pub(crate) fn submit(&mut self, packets: &[Packet]) -> DriverResult<()> {
        self.state.queue.submit(self.call, packets.iter())?;
        self.state.is_ahead = true;
        Ok(())
    }

    /// Takes memory for a packet's kernel arguments or for bytes to copy, at most [`MOST_ARGUMENT_BYTES`]. Waits if too much is in flight.
    #[inline]
    pub(crate) fn arguments(&mut self, bytes: usize) -> DriverResult<*mut u8> {
        if let Some(place) = self.state.arguments.take(bytes) {
            return Ok(place);
        }
        self.make_room(bytes)
    }

    #[cold]
    fn make_room(&mut self, bytes: usize) -> DriverResult<*mut u8> {
        loop {
            self.retire();
            if let Some(place) = self.state.arguments.take(bytes) {
                return Ok(place);
            }
            if self.state.issued.is_empty() {
                self.mark_now()?;
            }
            if let Some(first) = self.state.issued.front() {
                first.marker.clone().wait(self.call)?;
            }
        }
    }

    /// Launches a kernel. `fill` writes its kernarg segment of `bytes` bytes, which has any bytes before.
    #[inline]
    pub(crate) fn launch(
        &mut self,
        dispatch: &Dispatch,
        bytes: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> DriverResult<()> {
        let kernarg = self.arguments(bytes)?;
        // SAFETY: `bytes` bytes that this packet alone has until it has run. They were written when the memory was made, by zeros.
        fill(unsafe { std::slice::from_raw_parts_mut(kernarg, bytes) });
        self.submit(&[Packet::dispatch(dispatch, kernarg.addr() as u64)])?;
        // So that there is room again long before all is taken.
        let arguments = &self.state.arguments;
        let marked = self.state.issued.back().map_or(arguments.freed, |issued| issued.taken);
        if arguments.taken - marked > (ARGUMENT_BYTES / 4) as u64 {
            self.mark_now()?;
        }
        Ok(())
    }

    /// Keeps something until all that is enqueued now has run.
    pub(crate) fn keep(&mut self, kept: Kept) {
        let behind = self.state.markers + 1;
        self.state.kept.push_back((behind, kept));
        self.state.is_ahead = true;
    }

    /// A marker of all work so far; `None` if there never was any.
    pub(crate) fn mark(&mut self) -> DriverResult<Option<Marker>> {
        if self.state.is_ahead {
            return self.mark_now().map(Some);
        }
        Ok(self.state.last.clone())
    }

    /// A marker with a packet of its own.
    pub(crate) fn mark_now(&mut self) -> DriverResult<Marker> {
        let device = self.device();
        device.check(self.call)?;
        let marker = Marker::new(self.call, device, self.stream.number, self.state.markers + 1)?;
        self.state.queue.submit(self.call, [Packet::barrier(None).completing(marker.signal())].iter())?;
        self.issue(marker.clone());
        self.retire();
        Ok(marker)
    }

    /// Notes that a packet that was put in completes a marker.
    fn issue(&mut self, marker: Marker) {
        self.state.markers += 1;
        self.state.issued.push_back(Issued { marker: marker.clone(), taken: self.state.arguments.taken });
        self.state.last = Some(marker);
        self.state.is_ahead = false;
    }

    /// Gives back what markers that are reached say is free.
    fn retire(&mut self) {
        while let Some(first) = self.state.issued.front()
            && first.marker.is_reached()
        {
            let sequence = first.marker.sequence();
            self.state.arguments.freed = first.taken;
            self.state.issued.pop_front();
            while let Some((behind, _)) = self.state.kept.front()
                && *behind <= sequence
            {
                self.state.kept.pop_front();
            }
        }
    }

    /// Makes what is enqueued from now on wait for a marker of another stream.
    pub(crate) fn wait_for(&mut self, marker: Marker) -> DriverResult<()> {
        self.submit(&[Packet::barrier(Some(marker.signal()))])?;
        self.keep(Kept::Marker(marker));
        Ok(())
    }

    /// A marker that something else than a packet of the stream completes, for which the stream waits from now on.
    pub(crate) fn wait_for_new(&mut self) -> DriverResult<Marker> {
        // It has the stream's number, so that it is reached when the device is lost.
        let marker = Marker::new(self.call, self.device(), self.stream.number, 0)?;
        self.wait_for(marker.clone())?;
        Ok(marker)
    }

    /// Has the stream's own thread do something when all work so far has ended, and the stream wait for it. The stream gets a queue of its own,
    /// as others shall not stand still.
    pub(crate) fn act(&mut self, action: HostFunc) -> DriverResult<()> {
        self.prepare_act()?;
        let after = self.mark()?;
        let done = self.wait_for_new()?;
        if let Some(host) = &self.state.host {
            host.send(after, done, action);
        }
        Ok(())
    }

    /// Makes what [`act`](Self::act) needs: the queue and the thread.
    pub(crate) fn prepare_act(&mut self) -> DriverResult<()> {
        self.leave_shared_queue()?;
        if self.state.host.is_none() {
            self.state.host = Some(HostThread::start(self.call, self.device())?);
        }
        Ok(())
    }

    /// The stream's printf buffer. The stream waits until it is printed before the next kernel.
    pub(crate) fn printf_buffer(&mut self) -> DriverResult<Printed> {
        if let Some(buffer) = &self.state.printf {
            return Ok(Arc::clone(buffer));
        }
        let buffer = new_printf_buffer(self.call, self.device())?;
        Ok(Arc::clone(self.state.printf.insert(buffer)))
    }

    /// Enqueues a kernel by `launch`, which gets the addresses of what the kernel asks for. The packet goes to `queue`, or to the stream's.
    #[inline]
    pub(crate) fn serving(
        &mut self,
        asked: Option<&Asked>,
        queue: Option<&Queue>,
        launch: impl FnOnce(&mut Enqueue<'_>, Served) -> DriverResult<()>,
    ) -> DriverResult<()> {
        let Some(asked) = asked else { return launch(self, Served::default()) };
        let (call, device) = (self.call, self.device());
        let services = (&device.gpu, &device.services);
        let serve = |enqueue: &Enqueue<'_>, printf| match queue {
            Some(queue) => asked.serve(call, services, &queue.calls, printf),
            None => asked.serve(call, services, &enqueue.queue().calls, printf),
        };
        let Some((_, formats)) = &asked.printf else {
            let served = serve(self, None)?;
            return launch(self, served);
        };
        let buffer = self.printf_buffer()?;
        // The stream gets the queue in which it may stand still.
        self.prepare_act()?;
        let served = serve(self, Some(&buffer))?;
        launch(self, served)?;
        let formats = Arc::clone(formats);
        // Behind a fault, too: what the kernel has printed may say why.
        self.act(Box::new(move |_| buffer.print(&formats, &Printer::default())))
    }

    fn leave_shared_queue(&mut self) -> DriverResult<()> {
        if self.state.queue.purpose != Purpose::Shared {
            return Ok(());
        }
        let Some(own) = self.device().own_queue(self.call) else { return Ok(()) };
        let before = self.mark()?;
        self.state.queue = own;
        match before {
            Some(marker) if !marker.is_reached() => self.wait_for(marker),
            _ => Ok(()),
        }
    }

    /// Has packets of another queue run behind all work so far, and the stream wait for them: the last completes the marker.
    pub(crate) fn submit_elsewhere(
        &mut self,
        queue: &Queue,
        packets: impl FnOnce(Signal) -> Vec<Packet>,
    ) -> DriverResult<()> {
        let before = self.mark()?;
        let done = Marker::new(self.call, self.device(), self.stream.number, 0)?;
        let mut all: Vec<Packet> =
            before.iter().map(|marker| Packet::barrier(Some(marker.signal()))).collect();
        all.extend(packets(done.signal()));
        queue.submit(self.call, all.iter())?;
        if let Some(before) = before {
            self.keep(Kept::Marker(before));
        }
        self.wait_for(done)
    }

    /// Has an engine of the device copy behind all work so far, and the stream wait for it.
    pub(crate) fn copy_by_engine(
        &mut self,
        (dst, to): (u64, crate::abi::Agent),
        (src, from): (u64, crate::abi::Agent),
        bytes: usize,
    ) -> DriverResult<()> {
        let before = self.mark()?;
        let done = Marker::new(self.call, self.device(), self.stream.number, 0)?;
        let after = before.as_ref().map(Marker::signal);
        let (hsa, pointer) =
            (self.device().hsa, |address: u64| ptr::with_exposed_provenance_mut(address as usize));
        // SAFETY: live memory of these agents until the copy has run (the promise of who enqueues it), live signals.
        hsa.check(self.call, "hsa_amd_memory_async_copy", unsafe {
            (hsa.functions.async_copy)(
                pointer(dst),
                to,
                pointer(src),
                from,
                bytes,
                after.is_some().into(),
                after.as_ref().map_or(ptr::null(), ptr::from_ref),
                done.signal(),
            )
        })?;
        if let Some(before) = before {
            self.keep(Kept::Marker(before));
        }
        self.wait_for(done)
    }
}
