//! A stream's queue under every interleaving: each command runs once, in order; a thread that waits for a command sleeps
//! forever nowhere; and commands for which nobody waits run too.

#![allow(dead_code, reason = "the driver uses more of the queue")]

/// The synchronization that `queue.rs` uses: loom's here, std's in the library. No time passes: a thread that polls looks
/// once, and a worker that dozes lets others run and looks again.
mod sync {
    use std::time::Duration;

    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
    pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard};
    pub(crate) use std::sync::PoisonError;

    pub(crate) const SHORTEST_DOZE: Duration = Duration::from_micros(1);
    pub(crate) const LONGEST_DOZE: Duration = SHORTEST_DOZE;
    pub(crate) const LONGEST_WITH_WORK: Duration = SHORTEST_DOZE;

    pub(crate) fn poll(_: Duration, condition: impl Fn() -> bool) -> bool {
        condition() || {
            loom::thread::yield_now();
            condition()
        }
    }

    pub(crate) fn doze<'a, T>(
        mutex: &'a Mutex<T>,
        _: &Condvar,
        guard: MutexGuard<'a, T>,
        _: Duration,
    ) -> MutexGuard<'a, T> {
        drop(guard);
        loom::thread::yield_now();
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[path = "../src/queue.rs"]
mod queue;

use loom::sync::{Arc, Mutex};
use loom::thread::{self, JoinHandle};
use queue::{Entry, Queue, Stop};

/// A command; the worker alone runs those that are 100 or more.
type Command = u32;

struct Model {
    queue: Queue<Command>,
    ran: Mutex<Vec<Command>>,
}

impl Model {
    fn new() -> (Arc<Model>, JoinHandle<()>) {
        let model = Arc::new(Model { queue: Queue::new(4, 0), ran: Mutex::new(Vec::new()) });
        let worker = {
            let model = model.clone();
            thread::spawn(move || model.queue.work(|entry, _| model.run(entry), |poll| poll()))
        };
        (model, worker)
    }

    fn run(&self, entry: Entry<Command>) {
        self.ran.lock().unwrap().push(entry.command);
    }

    fn push(&self, command: Command) -> u64 {
        self.queue.push(|_| command).unwrap()
    }

    fn run_until(&self, number: u64) -> Stop<()> {
        let left = |command: &Command| (*command >= 100).then_some(());
        self.queue.run_until(number, left, |entry, _| self.run(entry))
    }

    /// Looks as a stream's mark does.
    fn look(&self, number: u64) -> bool {
        let is_reached = matches!(self.run_until(number), Stop::Reached);
        if !is_reached {
            self.queue.leave_to_worker();
        }
        is_reached
    }

    /// Waits as a stream does.
    fn wait(&self, number: u64) {
        loop {
            match self.run_until(number) {
                Stop::Reached => return,
                Stop::At(()) => return self.queue.wait_for_worker(number),
                Stop::Busy if self.queue.wait_beside(number) => return,
                Stop::Busy => {}
            }
        }
    }

    /// Ends the worker, and returns what ran.
    fn end(&self, worker: JoinHandle<()>) -> Vec<Command> {
        self.queue.close();
        worker.join().unwrap();
        std::mem::take(&mut *self.ran.lock().unwrap())
    }
}

fn check(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    // From LOOM_MAX_PREEMPTIONS; CI has 2, which takes half a minute.
    builder.preemption_bound.get_or_insert(1);
    builder.max_branches = 20_000;
    builder.check(model);
}

#[test]
fn a_thread_that_waits_after_each_command() {
    check(|| {
        let (model, worker) = Model::new();
        for command in [1, 2] {
            let number = model.push(command);
            model.wait(number);
            assert_eq!(model.ran.lock().unwrap().last(), Some(&command));
        }
        assert_eq!(model.end(worker), [1, 2]);
    });
}

#[test]
fn two_threads_that_wait_for_their_own_commands() {
    check(|| {
        let (model, worker) = Model::new();
        let other = {
            let model = model.clone();
            thread::spawn(move || {
                let number = model.push(1);
                model.wait(number);
                assert!(model.ran.lock().unwrap().contains(&1));
            })
        };
        let number = model.push(2);
        model.wait(number);
        assert!(model.ran.lock().unwrap().contains(&2));
        other.join().unwrap();
        let mut ran = model.end(worker);
        ran.sort_unstable();
        assert_eq!(ran, [1, 2]);
    });
}

#[test]
fn a_thread_that_waits_for_less_than_another() {
    check(|| {
        let (model, worker) = Model::new();
        let numbers = [model.push(1), model.push(2)];
        let other = {
            let model = model.clone();
            thread::spawn(move || model.wait(numbers[0]))
        };
        model.wait(numbers[1]);
        assert_eq!(*model.ran.lock().unwrap(), [1, 2]);
        other.join().unwrap();
        assert_eq!(model.end(worker), [1, 2]);
    });
}

#[test]
fn a_command_that_the_worker_alone_runs() {
    check(|| {
        let (model, worker) = Model::new();
        model.push(1);
        model.push(100);
        let last = model.push(2);
        model.wait(last);
        assert_eq!(*model.ran.lock().unwrap(), [1, 100, 2]);
        assert_eq!(model.end(worker), [1, 100, 2]);
    });
}

#[test]
fn commands_for_which_nobody_waits() {
    check(|| {
        let (model, worker) = Model::new();
        model.push(1);
        while !model.queue.is_reached(1) {
            thread::yield_now();
        }
        model.push(2);
        assert_eq!(model.end(worker), [1, 2]);
    });
}

#[test]
fn a_thread_that_looks_and_runs_some_commands_itself() {
    check(|| {
        let (model, worker) = Model::new();
        model.push(1);
        let last = model.push(100);
        while !model.look(last) {
            thread::yield_now();
        }
        assert_eq!(*model.ran.lock().unwrap(), [1, 100]);
        assert_eq!(model.end(worker), [1, 100]);
    });
}
