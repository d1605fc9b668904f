//! A stream's queue: callers append commands, and one thread at a time runs them in their order.
//!
//! Each stream has a worker thread for that. But a thread that waits for a command does not hand the work over to it: if
//! no other thread has the *turn*, the waiting thread takes it and runs the commands up to its own. Waking a thread takes
//! longer than a small kernel.
//!
//! The commands are counted: *enqueued* and *completed* are numbers, and waiting for a command is waiting for
//! *completed* to reach its number. What each thread does follows from four rules:
//!
//! * Who has the turn and leaves commands behind wakes the worker if any thread sleeps until one of them is completed.
//! * A thread that sleeps has said for which number, and then looked whether another thread has the turn or the worker
//!   was woken.
//! * The worker parks, without an end, only when everything is completed. Otherwise it dozes: it looks again after a
//!   while. So commands also run if their program never waits for them, and polls memory instead.
//! * Appending a command wakes a worker that is parked, and one that dozes once there are several commands.

use std::collections::VecDeque;
use std::time::Duration;

use crate::sync::{
    AtomicBool, AtomicU64, Condvar, LONGEST_DOZE, LONGEST_WITH_WORK, Mutex, MutexGuard, Ordering,
    PoisonError, SHORTEST_DOZE, doze, fence, poll,
};
use hip_driver::activity::correlation;

/// The commands and bytes for which a stream's new batches have space. The system provides the memory only when it is used.
pub(super) const BATCH_COMMANDS: usize = 4096;
pub(super) const BATCH_BYTES: usize = 1 << 20;

/// How long a thread polls before it sleeps. Waking a thread can take 50 us, longer than a small kernel.
const WAIT_POLL: Duration = Duration::from_micros(100);
const IDLE_POLL: Duration = Duration::from_micros(200);
/// How long a worker that polls leaves a command to a thread that may wait for it next.
const GRACE: Duration = Duration::from_micros(4);
/// The number of commands to run for which a dozing worker is woken.
const MANY: u64 = 8;

/// No thread sleeps.
const NOBODY: u64 = u64::MAX;

/// A command, and the correlation under which it was enqueued.
pub(super) struct Entry<C> {
    pub(super) command: C,
    pub(super) correlation: u64,
}

/// Commands, and the bytes that they refer to.
pub(super) struct Batch<C> {
    commands: VecDeque<Entry<C>>,
    pub(super) bytes: Vec<u8>,
}

impl<C> Batch<C> {
    fn new(commands: usize, bytes: usize) -> Self {
        Batch { commands: VecDeque::with_capacity(commands), bytes: Vec::with_capacity(bytes) }
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
}

/// What the worker does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Worker {
    /// It runs commands, or looks for some.
    Awake,
    /// It sleeps for a while.
    Dozes,
    /// It sleeps until it is woken.
    Parked,
}

/// What callers change.
struct Inbox<C> {
    batch: Batch<C>,
    worker: Worker,
    /// Whether the stream was destroyed: nothing is enqueued any more, and the worker ends when everything is completed.
    closed: bool,
}

/// Why a thread that ran commands stopped.
pub(super) enum Stop<A> {
    /// The command that it waited for is completed.
    Reached,
    /// Another thread has the turn.
    Busy,
    /// The next command is one that it leaves to the worker.
    At(A),
}

/// A queue of commands.
pub(super) struct Queue<C> {
    inbox: Mutex<Inbox<C>>,
    /// Wakes the worker.
    work: Condvar,
    /// Whether a thread has the turn.
    is_taken: AtomicBool,
    /// The batch that is being run. Only the thread with the turn locks it.
    running: Mutex<Batch<C>>,
    enqueued: AtomicU64,
    completed: AtomicU64,
    /// Whether the last command was run by a thread that waited for it.
    is_self_served: AtomicBool,
    /// Whether a thread has looked for a command that it leaves to the worker, since the worker last waited for a thread that
    /// runs commands itself.
    is_left: AtomicBool,
    /// The lowest number for which a thread sleeps.
    awaited: AtomicU64,
    done_lock: Mutex<()>,
    done: Condvar,
}

impl<C> Queue<C> {
    /// Creates a queue whose batches have space for so many commands and bytes before they grow.
    pub(super) fn new(commands: usize, bytes: usize) -> Self {
        let batch = || Batch::new(commands, bytes);
        Queue {
            inbox: Mutex::new(Inbox { batch: batch(), worker: Worker::Awake, closed: false }),
            work: Condvar::new(),
            is_taken: AtomicBool::new(false),
            running: Mutex::new(batch()),
            enqueued: AtomicU64::new(0),
            completed: AtomicU64::new(0),
            is_self_served: AtomicBool::new(false),
            is_left: AtomicBool::new(false),
            awaited: AtomicU64::new(NOBODY),
            done_lock: Mutex::new(()),
            done: Condvar::new(),
        }
    }

    /// Appends a command and returns its number; `None` if the queue was closed.
    pub(super) fn push(&self, make: impl FnOnce(&mut Batch<C>) -> C) -> Option<u64> {
        let mut inbox = lock(&self.inbox);
        if inbox.closed {
            return None;
        }
        let entry = Entry { command: make(&mut inbox.batch), correlation: correlation() };
        inbox.batch.commands.push_back(entry);
        let number = self.enqueued.load(Ordering::Relaxed) + 1;
        self.enqueued.store(number, Ordering::Release);
        let wakes = match inbox.worker {
            Worker::Awake => false,
            Worker::Dozes => number - self.completed.load(Ordering::Relaxed) >= MANY,
            Worker::Parked => true,
        };
        if wakes {
            self.wake(inbox);
        }
        Some(number)
    }

    /// The number of the last command that was enqueued.
    pub(super) fn enqueued(&self) -> u64 {
        self.enqueued.load(Ordering::Acquire)
    }

    /// Returns whether the command with this number is completed.
    pub(super) fn is_reached(&self, number: u64) -> bool {
        self.completed.load(Ordering::Acquire) >= number
    }

    fn is_idle(&self) -> bool {
        self.is_reached(self.enqueued())
    }

    /// Closes the queue: nothing can be enqueued any more, and the worker ends when it has run what is enqueued.
    pub(super) fn close(&self) {
        let mut inbox = lock(&self.inbox);
        inbox.closed = true;
        self.wake(inbox);
    }

    /// Wakes the worker if it sleeps: a thread expects that commands run without it.
    fn wake_worker(&self) {
        self.wake(lock(&self.inbox));
    }

    /// Has the worker run the commands: the calling thread does not wait for them.
    pub(super) fn leave_to_worker(&self) {
        self.is_left.store(true, Ordering::Relaxed);
        self.wake_worker();
    }

    fn wake(&self, mut inbox: MutexGuard<'_, Inbox<C>>) {
        let slept = std::mem::replace(&mut inbox.worker, Worker::Awake) != Worker::Awake;
        drop(inbox);
        if slept {
            self.work.notify_one();
        }
    }

    /// Runs commands up to number `until`, unless another thread does, or until `leave` returns something for a
    /// command, which is then still to be run.
    pub(super) fn run_until<A>(
        &self,
        until: u64,
        leave: impl Fn(&C) -> Option<A>,
        mut run: impl FnMut(Entry<C>, &[u8]),
    ) -> Stop<A> {
        if self.is_reached(until) {
            return Stop::Reached;
        }
        let Some(mut turn) = self.take_turn() else { return Stop::Busy };
        turn.run(until, leave, &mut |entry, bytes| {
            self.is_self_served.store(true, Ordering::Relaxed);
            run(entry, bytes);
        })
    }

    fn take_turn(&self) -> Option<Turn<'_, C>> {
        let taken = self.is_taken.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed);
        taken.is_ok().then(|| Turn { queue: self, batch: Some(lock(&self.running)) })
    }

    fn is_turn_free(&self) -> bool {
        !self.is_taken.load(Ordering::Relaxed)
    }

    fn complete(&self) {
        // Only the thread with the turn writes it.
        let number = self.completed.load(Ordering::Relaxed) + 1;
        self.completed.store(number, Ordering::Release);
        // Pairs with the fence in `sleep_until`: if that did not see the new count, this sees the number that it waits for.
        fence(Ordering::SeqCst);
        if number >= self.awaited.load(Ordering::Relaxed) {
            let guard = lock(&self.done_lock);
            self.awaited.store(NOBODY, Ordering::Relaxed);
            drop(guard);
            self.done.notify_all();
        }
    }

    /// Waits until command `number` is completed, or no other thread has the turn. Returns whether it is completed.
    pub(super) fn wait_beside(&self, number: u64) -> bool {
        let is_over = || self.is_reached(number);
        poll(WAIT_POLL, is_over) || self.sleep_until(number, || self.is_turn_free())
    }

    /// Wakes the worker and waits until it has run command `number`.
    pub(super) fn wait_for_worker(&self, number: u64) {
        self.wake_worker();
        if !poll(WAIT_POLL, || self.is_reached(number)) {
            self.wake_worker();
            self.sleep_until(number, || false);
        }
    }

    /// Sleeps until command `number` is completed. Does not sleep, and returns `false`, if `is_turn_free` returns true
    /// after this thread has said that it sleeps.
    fn sleep_until(&self, number: u64, is_turn_free: impl Fn() -> bool) -> bool {
        let mut guard = lock(&self.done_lock);
        loop {
            // Other threads change `completed` or leave the turn, and then read `awaited`; this thread writes `awaited`,
            // and then reads the others. There is a fence between the two on both sides. So either they see the number,
            // and take the lock to notify this thread, or this thread sees their change. A number that stays in
            // `awaited` although nobody sleeps only wakes threads for nothing.
            self.awaited.fetch_min(number, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            if self.is_reached(number) {
                return true;
            }
            if is_turn_free() {
                return false;
            }
            guard = self.done.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The worker's loop: runs commands until the queue is closed and everything is completed. `with_slot` calls its
    /// argument, which polls, if the worker may keep a core busy.
    pub(super) fn work(
        &self,
        mut run: impl FnMut(Entry<C>, &[u8]),
        with_slot: impl Fn(&dyn Fn() -> bool) -> bool,
    ) {
        loop {
            if !self.is_idle()
                && let Some(mut turn) = self.take_turn()
            {
                self.is_self_served.store(false, Ordering::Relaxed);
                while !self.is_idle() {
                    turn.run(self.enqueued(), |_| None::<()>, &mut run);
                }
            }
            let found = !self.is_self_served.load(Ordering::Relaxed) && with_slot(&|| self.poll_for_work());
            if !found && !self.sleep_for_work() {
                return;
            }
        }
    }

    /// Polls for commands that no other thread runs. Returns whether there are any.
    fn poll_for_work(&self) -> bool {
        let is_left = || !self.is_idle() && !self.is_self_served.load(Ordering::Relaxed);
        if !poll(IDLE_POLL, || !self.is_idle()) {
            return false;
        }
        // A thread that waits for the command takes the turn at once.
        poll(GRACE, || self.is_idle() || self.is_left.swap(false, Ordering::Relaxed));
        is_left()
    }

    /// Sleeps until there are commands that no other thread runs. Returns `false` if the queue is closed and everything
    /// is completed.
    fn sleep_for_work(&self) -> bool {
        let mut inbox = lock(&self.inbox);
        let mut time = SHORTEST_DOZE;
        let mut before = (self.enqueued(), self.completed.load(Ordering::Acquire));
        loop {
            // Under the lock, nothing is enqueued.
            let idle = self.is_idle();
            if idle && inbox.closed {
                // An event may keep the stream alive for long, but the batches' memory is not needed.
                inbox.batch = Batch::new(0, 0);
                if let Some(mut turn) = self.take_turn()
                    && let Some(batch) = &mut turn.batch
                {
                    **batch = Batch::new(0, 0);
                }
                return false;
            }
            if idle && time >= LONGEST_DOZE {
                inbox.worker = Worker::Parked;
                inbox = self.work.wait(inbox).unwrap_or_else(PoisonError::into_inner);
            } else {
                inbox.worker = Worker::Dozes;
                inbox = doze(&self.inbox, &self.work, inbox, time);
            }
            // Who wakes it has set this.
            if std::mem::replace(&mut inbox.worker, Worker::Awake) == Worker::Awake {
                return true;
            }
            let now = (self.enqueued(), self.completed.load(Ordering::Acquire));
            let is_stuck = now.1 == before.1 && !self.is_reached(before.0);
            if is_stuck && self.is_turn_free() {
                return true;
            }
            // Threads that wait for what they enqueue need no worker.
            let longest = if now == before && self.is_idle() { LONGEST_DOZE } else { LONGEST_WITH_WORK };
            time = (time * 2).min(longest);
            before = now;
        }
    }
}

/// The right to run commands.
struct Turn<'q, C> {
    queue: &'q Queue<C>,
    /// The batch that is being run, until the turn is over.
    batch: Option<MutexGuard<'q, Batch<C>>>,
}

impl<C> Turn<'_, C> {
    /// Runs commands up to number `until`, or until `leave` returns something for a command.
    fn run<A>(
        &mut self,
        until: u64,
        leave: impl Fn(&C) -> Option<A>,
        run: &mut impl FnMut(Entry<C>, &[u8]),
    ) -> Stop<A> {
        let Some(batch) = &mut self.batch else { return Stop::Busy };
        while !self.queue.is_reached(until) {
            let Some(next) = batch.commands.front() else {
                batch.clear();
                std::mem::swap(&mut **batch, &mut lock(&self.queue.inbox).batch);
                continue;
            };
            if let Some(left) = leave(&next.command) {
                return Stop::At(left);
            }
            if let Some(entry) = batch.commands.pop_front() {
                run(entry, &batch.bytes);
                self.queue.complete();
            }
        }
        Stop::Reached
    }
}

impl<C> Drop for Turn<'_, C> {
    fn drop(&mut self) {
        self.batch = None;
        let queue = self.queue;
        queue.is_taken.store(false, Ordering::Release);
        // Pairs with the fence in `sleep_until`: if that did not find the turn free, this finds what it waits for.
        fence(Ordering::SeqCst);
        if queue.awaited.load(Ordering::Relaxed) != NOBODY && !queue.is_idle() {
            queue.wake_worker();
        }
    }
}

/// Locks a mutex, even if it is poisoned: no panic leaves the data half-changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
