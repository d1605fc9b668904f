//! A stream: a queue that callers fill, and a worker thread that runs it in order, unless a thread that waits does
//! (`queue.rs`). A thread that only looks whether the stream is idle runs what is sure to end soon ([`Mark::look`]): it may
//! have the core that the worker needs. It never runs a kernel with a loop, which may wait for a store of that thread.
//!
//! A stream counts the commands that were enqueued and those that are finished. So "all work up to here" is a number,
//! and waiting for it is waiting for a counter. An event is a stream and a number, whatever happens to the stream
//! later. Since a number only stands for work that is enqueued already, streams cannot wait for each other in a circle.
//!
//! Work on the null stream waits for the blocking streams of its device, and theirs for it: before such work, a wait for the
//! other stream's last command is enqueued ([`Stream::order_with_null`]).
//!
//! Commands and their bytes (kernel arguments, staged copies) are put into a batch. The thread that runs them takes the
//! whole batch and leaves the emptied batch that was taken before. Once both are large enough, enqueuing allocates
//! nothing.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::command::{Command, Prepared, Step};
use super::device::Device;
use super::queue::{self, Entry, Queue, Stop};
use super::sync::CORES;

/// The number of idle workers that poll now. Polling on more than half the cores would take time from the kernels.
static POLLING: AtomicUsize = AtomicUsize::new(0);

/// The work that a thread which does not wait runs itself, as [`Command::work`] counts it: at most some 100 us.
const BRIEF: u64 = 5_000;

thread_local! {
    static RUNNING: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether this thread runs a stream's command: a host function, or a listener.
pub(super) fn runs_command() -> bool {
    RUNNING.get()
}

/// Commands, and the bytes that they refer to.
pub(super) type Batch = queue::Batch<Command>;

impl Batch {
    /// Copies `bytes` into the batch.
    pub(super) fn stage(&mut self, bytes: &[u8]) -> Staged {
        Staged::append(bytes, &mut self.bytes)
    }

    /// Copies the kernel arguments of a step into the batch.
    #[inline]
    pub(super) fn stage_step(&mut self, prepared: Prepared<'_>) -> Step {
        prepared.stage(&mut self.bytes)
    }
}

/// A range of bytes in the batch of a command, or in the graph of a node.
#[derive(Clone, Copy)]
pub(super) struct Staged {
    start: usize,
    len: usize,
}

impl Staged {
    /// No bytes.
    pub(super) const NOTHING: Staged = Staged { start: 0, len: 0 };

    /// Appends `bytes` to `all`.
    pub(super) fn append(bytes: &[u8], all: &mut Vec<u8>) -> Staged {
        let start = all.len();
        all.extend_from_slice(bytes);
        Staged { start, len: bytes.len() }
    }

    /// Replaces the bytes by as many others.
    pub(super) fn write(self, new: &[u8], bytes: &mut [u8]) {
        if let Some(place) = bytes.get_mut(self.start..self.start + self.len) {
            place.copy_from_slice(new);
        }
    }

    pub(super) fn len(self) -> usize {
        self.len
    }

    pub(super) fn of(self, bytes: &[u8]) -> &[u8] {
        bytes.get(self.start..self.start + self.len).unwrap_or_default()
    }
}

/// Which streams wait for each other without being told to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamKind {
    /// A device's null stream, which waits for blocking streams.
    Null,
    /// A stream that waits for the null stream.
    Blocking,
    /// Any other stream.
    NonBlocking,
}

/// A stream of a device.
pub(super) struct Stream {
    pub(super) device: Arc<Device>,
    kind: StreamKind,
    /// Of a blocking stream: the last command of the null stream that it waits for, and the last of its own that the null
    /// stream waits for.
    waits_for_null: AtomicU64,
    null_waits_for: AtomicU64,
    queue: Queue<Command>,
}

/// All work on a stream up to a command.
#[derive(Clone)]
pub(super) struct Mark {
    pub(super) stream: Arc<Stream>,
    pub(super) sequence: u64,
}

impl Mark {
    pub(super) fn is_reached(&self) -> bool {
        self.stream.queue.is_reached(self.sequence)
    }

    /// Returns whether it is reached. What is sure to end soon is run first. The worker does the rest: the caller may look again
    /// and wait for nothing.
    pub(super) fn look(&self) -> bool {
        let reached = self.stream.run_briefly(self.sequence);
        if !reached {
            self.stream.queue.leave_to_worker();
            // A thread that asks again and again may have the core that the worker needs.
            std::thread::yield_now();
        }
        reached
    }

    pub(super) fn wait(&self) {
        self.stream.wait(self.sequence);
    }
}

impl Stream {
    pub(super) fn new(device: Arc<Device>, kind: StreamKind) -> Self {
        Stream {
            device,
            kind,
            waits_for_null: AtomicU64::new(0),
            null_waits_for: AtomicU64::new(0),
            queue: Queue::new(queue::BATCH_COMMANDS, queue::BATCH_BYTES),
        }
    }

    /// Appends a command and returns its number; `None` if the stream was destroyed meanwhile.
    pub(super) fn push(&self, make: impl FnOnce(&mut Batch) -> Command) -> Option<u64> {
        self.queue.push(make)
    }

    /// Which streams it waits for.
    pub(super) fn kind(&self) -> StreamKind {
        self.kind
    }

    /// Makes what is enqueued from now on wait for what the rule of the null stream says. A mark names only work that is
    /// enqueued already, so two threads that do this at once make no circle.
    #[inline]
    pub(super) fn order_with_null(self: &Arc<Self>) {
        match self.kind {
            StreamKind::NonBlocking => {}
            StreamKind::Blocking => {
                if let Some(null) = self.device.existing_null_stream() {
                    self.wait_behind(null.mark(), &self.waits_for_null);
                }
            }
            StreamKind::Null => {
                for stream in self.device.busy_blocking_streams() {
                    self.wait_behind(stream.mark(), &stream.null_waits_for);
                }
            }
        }
    }

    /// Enqueues a wait for `mark`, unless there is nothing to wait for or one is enqueued already: `waits_for` is the last
    /// command of the mark's stream that this one waits for.
    fn wait_behind(&self, mark: Mark, waits_for: &AtomicU64) {
        let sequence = mark.sequence;
        if sequence > waits_for.load(Ordering::SeqCst) && !mark.is_reached() {
            // A stream that was destroyed meanwhile has no work to come.
            let _ = self.push(|_| Command::Wait(mark));
            // Behind the wait, so that no thread relies on one that is not enqueued.
            waits_for.fetch_max(sequence, Ordering::SeqCst);
        }
    }

    /// Returns a mark of all work enqueued so far.
    pub(super) fn mark(self: &Arc<Self>) -> Mark {
        Mark { stream: Arc::clone(self), sequence: self.queue.enqueued() }
    }

    /// Returns a mark of all work enqueued so far; `None` if it is finished.
    pub(super) fn unfinished(self: &Arc<Self>) -> Option<Mark> {
        let sequence = self.queue.enqueued();
        (!self.queue.is_reached(sequence)).then(|| Mark { stream: Arc::clone(self), sequence })
    }

    /// Waits until the command with the number `sequence` is finished. Runs the stream's commands if no other thread does.
    pub(super) fn wait(&self, sequence: u64) {
        loop {
            let stop =
                self.queue.run_until(sequence, Left::of, |entry, bytes| self.run_command(entry, bytes));
            match stop {
                Stop::Reached => return,
                // Its own turn is over, so this is no circle: the mark is of work that was enqueued before.
                Stop::At(Left::Mark(mark)) => mark.wait(),
                Stop::At(Left::ToWorker) => return self.queue.wait_for_worker(sequence),
                Stop::Busy => {
                    if self.queue.wait_beside(sequence) {
                        return;
                    }
                }
            }
        }
    }

    /// Runs commands up to the number `sequence`, if no other thread does, as long as they are sure to end soon. Returns whether
    /// all have run.
    fn run_briefly(&self, sequence: u64) -> bool {
        let left = Cell::new(BRIEF);
        let leave = |command: &Command| match command.work().and_then(|work| left.get().checked_sub(work)) {
            Some(rest) => {
                left.set(rest);
                None
            }
            None => Some(()),
        };
        let stop = self.queue.run_until(sequence, leave, |entry, bytes| self.run_command(entry, bytes));
        matches!(stop, Stop::Reached)
    }

    /// Closes the stream: nothing can be enqueued any more, and the worker ends when everything that is enqueued has run.
    pub(super) fn close(&self) {
        self.queue.close();
    }

    /// The worker's loop: runs commands until the stream is closed and everything has run.
    pub(super) fn run(self: Arc<Self>) {
        self.queue.work(|entry, bytes| self.run_command(entry, bytes), with_poll_slot);
        self.device.forget_stream(&self);
    }

    fn run_command(&self, Entry { command, correlation }: Entry<Command>, bytes: &[u8]) {
        let outer = RUNNING.replace(true);
        self.device.execute(command, bytes, &self.device.watched(correlation));
        RUNNING.set(outer);
    }
}

/// A command that a thread that waits does not run itself.
enum Left {
    /// It waits for other work first.
    Mark(Mark),
    /// The worker runs it. A host function: its program may not expect it on another thread, nor on a smaller stack. A wait for a
    /// value, which may last: the thread that waits for the stream sleeps.
    ToWorker,
}

impl Left {
    fn of(command: &Command) -> Option<Left> {
        match command {
            Command::Wait(mark) if !mark.is_reached() => Some(Left::Mark(mark.clone())),
            Command::HostFunc(_) | Command::WaitValue { .. } => Some(Left::ToWorker),
            Command::Graph(graph, _) if graph.calls_the_host => Some(Left::ToWorker),
            _ => None,
        }
    }
}

/// Calls `poll`, unless as many workers poll already as may.
fn with_poll_slot(poll: &dyn Fn() -> bool) -> bool {
    let slots = *CORES / 2;
    let polls = POLLING.fetch_add(1, Ordering::Relaxed) < slots && poll();
    POLLING.fetch_sub(1, Ordering::Relaxed);
    polls
}
