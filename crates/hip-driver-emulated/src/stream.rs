//! A stream: a queue that callers fill, and one worker thread that executes it in order.
//!
//! A stream counts the commands that were enqueued and those that are finished. So "all work up to here" is a number,
//! and waiting for it is waiting for a counter. An event is a stream and a number, whatever happens to the stream
//! later. Since a number only stands for work that is enqueued already, streams cannot wait for each other in a circle.
//!
//! Commands and their bytes (kernel arguments, staged copies) are put into a batch. The worker takes the whole batch
//! and leaves the emptied batch that it took before. Once both are large enough, enqueuing allocates nothing.

use std::cell::Cell;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::command::{Command, Prepared, Step};
use super::device::Device;
use hip_driver::activity::correlation;

/// The commands and bytes for which a new batch has space. The system provides the memory only when it is used.
const BATCH_COMMANDS: usize = 4096;
const BATCH_BYTES: usize = 1 << 20;

/// How long a thread polls before it sleeps. Waking a thread can take 50 us, longer than a small kernel. Without
/// polling, worker and caller would sleep in turn, and every launch would take two of these.
const WAIT_SPIN: Duration = Duration::from_micros(100);
const IDLE_SPIN: Duration = Duration::from_micros(200);
/// The part of that time in which it keeps its core. After that, it yields to other threads between two polls.
const BUSY_SPIN: Duration = Duration::from_micros(2);

static CORES: LazyLock<usize> =
    LazyLock::new(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get));

/// The number of idle workers that poll now. Polling on more than half the cores would take time from the kernels.
static SPINNING: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static WORKER: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether this thread is a stream's worker, that is, whether a host function runs here.
pub(super) fn on_worker() -> bool {
    WORKER.get()
}

/// A command, and the correlation under which it was enqueued.
struct Entry {
    command: Command,
    correlation: u64,
}

/// Commands, and the bytes that they refer to.
pub(super) struct Batch {
    commands: Vec<Entry>,
    bytes: Vec<u8>,
}

impl Batch {
    fn new() -> Self {
        Batch { commands: Vec::with_capacity(BATCH_COMMANDS), bytes: Vec::with_capacity(BATCH_BYTES) }
    }

    fn unused() -> Self {
        Batch { commands: Vec::new(), bytes: Vec::new() }
    }

    /// Removes the bytes of commands that have run, and frees memory beyond an unusual size.
    fn clear(&mut self) {
        self.bytes.clear();
        if self.bytes.capacity() > 16 * BATCH_BYTES {
            self.bytes.shrink_to(BATCH_BYTES);
        }
        if self.commands.capacity() > 16 * BATCH_COMMANDS {
            self.commands.shrink_to(BATCH_COMMANDS);
        }
    }

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

    pub(super) fn of(self, bytes: &[u8]) -> &[u8] {
        bytes.get(self.start..self.start + self.len).unwrap_or_default()
    }
}

struct Queue {
    batch: Batch,
    /// Whether the worker sleeps or is about to.
    parked: bool,
    /// Whether the stream was destroyed: nothing is enqueued any more, and the worker ends when the queue is empty.
    closed: bool,
}

/// A stream of a device.
pub(super) struct Stream {
    pub(super) device: Arc<Device>,
    queue: Mutex<Queue>,
    work: Condvar,
    enqueued: AtomicU64,
    completed: AtomicU64,
    waiters: AtomicU32,
    done_lock: Mutex<()>,
    done: Condvar,
}

/// All work on a stream up to a command.
#[derive(Clone)]
pub(super) struct Mark {
    pub(super) stream: Arc<Stream>,
    pub(super) sequence: u64,
}

impl Mark {
    pub(super) fn is_reached(&self) -> bool {
        self.stream.completed.load(Ordering::SeqCst) >= self.sequence
    }

    pub(super) fn wait(&self) {
        self.stream.wait(self.sequence);
    }
}

impl Stream {
    pub(super) fn new(device: Arc<Device>) -> Self {
        Stream {
            device,
            queue: Mutex::new(Queue { batch: Batch::new(), parked: false, closed: false }),
            work: Condvar::new(),
            enqueued: AtomicU64::new(0),
            completed: AtomicU64::new(0),
            waiters: AtomicU32::new(0),
            done_lock: Mutex::new(()),
            done: Condvar::new(),
        }
    }

    /// Appends a command and returns its number; `None` if the stream was destroyed meanwhile.
    pub(super) fn push(&self, make: impl FnOnce(&mut Batch) -> Command) -> Option<u64> {
        let mut queue = self.lock();
        if queue.closed {
            return None;
        }
        let entry = Entry { command: make(&mut queue.batch), correlation: correlation() };
        queue.batch.commands.push(entry);
        let sequence = self.enqueued.load(Ordering::Relaxed) + 1;
        self.enqueued.store(sequence, Ordering::SeqCst);
        let wake = std::mem::take(&mut queue.parked);
        drop(queue);
        if wake {
            self.work.notify_one();
        }
        Some(sequence)
    }

    /// Returns a mark of all work enqueued so far.
    pub(super) fn mark(self: &Arc<Self>) -> Mark {
        Mark { stream: Arc::clone(self), sequence: self.enqueued.load(Ordering::SeqCst) }
    }

    /// Returns whether all work enqueued so far is finished.
    pub(super) fn is_idle(&self) -> bool {
        self.completed.load(Ordering::SeqCst) >= self.enqueued.load(Ordering::SeqCst)
    }

    /// Waits until the command with the number `sequence` is finished.
    pub(super) fn wait(&self, sequence: u64) {
        let reached = || self.completed.load(Ordering::SeqCst) >= sequence;
        if reached() || spin(WAIT_SPIN, reached) {
            return;
        }
        let mut guard = self.done_lock.lock().unwrap_or_else(PoisonError::into_inner);
        // The worker stores `completed` and then reads `waiters`; this thread writes `waiters` and then reads
        // `completed`. All of it is sequentially consistent: either the worker sees the waiter and takes the lock to
        // notify it, or the waiter sees the new count.
        self.waiters.fetch_add(1, Ordering::SeqCst);
        while !reached() {
            guard = self.done.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
        self.waiters.fetch_sub(1, Ordering::SeqCst);
    }

    /// Closes the stream: nothing can be enqueued any more, and the worker ends when it has run what is enqueued.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.work.notify_one();
    }

    /// The worker's loop: runs commands until the stream is closed and empty.
    pub(super) fn run(self: Arc<Self>) {
        WORKER.set(true);
        let mut batch = Batch::new();
        while self.take(&mut batch) {
            for Entry { command, correlation } in batch.commands.drain(..) {
                self.device.execute(command, &batch.bytes, &self.device.watched(correlation));
                self.complete();
            }
            batch.clear();
        }
        self.device.forget_stream(&self);
    }

    /// Exchanges the empty `batch` for the queued commands, waiting until there are some. Returns `false` if the stream
    /// is closed and empty.
    fn take(&self, batch: &mut Batch) -> bool {
        let pending = || !self.is_idle();
        if !pending() {
            if SPINNING.fetch_add(1, Ordering::Relaxed) < CORES.div_ceil(2) {
                spin(IDLE_SPIN, pending);
            }
            SPINNING.fetch_sub(1, Ordering::Relaxed);
        }
        let mut queue = self.lock();
        loop {
            if !queue.batch.commands.is_empty() {
                std::mem::swap(&mut queue.batch, batch);
                return true;
            }
            if queue.closed {
                // An event may keep the stream alive for long, but the batch's memory is not needed.
                queue.batch = Batch::unused();
                return false;
            }
            queue.parked = true;
            queue = self.work.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.parked = false;
        }
    }

    fn complete(&self) {
        self.completed.fetch_add(1, Ordering::SeqCst);
        if self.waiters.load(Ordering::SeqCst) > 0 {
            drop(self.done_lock.lock().unwrap_or_else(PoisonError::into_inner));
            self.done.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        // No panic under the lock leaves the queue half-changed.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Polls `condition` for at most `limit`. Returns whether it became true.
fn spin(limit: Duration, condition: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    let busy = if *CORES == 1 { Duration::ZERO } else { BUSY_SPIN };
    loop {
        for _ in 0..16 {
            if condition() {
                return true;
            }
            spin_loop();
        }
        let elapsed = start.elapsed();
        if elapsed >= limit {
            return false;
        }
        if elapsed >= busy {
            std::thread::yield_now();
        }
    }
}
