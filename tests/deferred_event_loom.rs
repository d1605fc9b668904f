//! A deferred event under every interleaving: whoever finds results' event not deferred any more finds it recorded after
//! the work, and whoever finds it deferred may wait for the stream.

/// The synchronization that `deferred_event.rs` uses: loom's here, std's in the library.
mod sync {
    pub(crate) use loom::sync::Mutex;
    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    pub(crate) use std::sync::PoisonError;
}

#[allow(dead_code, reason = "each model needs a part")]
#[path = "../src/driver_stream/deferred_event.rs"]
mod deferred_event;

use std::convert::Infallible;

use deferred_event::DeferredEvent;
use loom::sync::atomic::AtomicU64;
use loom::sync::{Arc, Mutex};
use loom::thread;
use sync::Ordering;

/// What was enqueued on the stream.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Enqueued {
    Results(u64),
    Copy,
    Event(u64),
}

struct Stream {
    deferred: DeferredEvent,
    /// The last position that was seen complete.
    completed: AtomicU64,
    queue: Mutex<Vec<Enqueued>>,
}

impl Stream {
    fn new() -> Arc<Stream> {
        let (completed, queue) = (AtomicU64::new(0), Mutex::new(Vec::new()));
        Arc::new(Stream { deferred: DeferredEvent::new(), completed, queue })
    }

    /// Records a deferred event, as everything that enqueues does first.
    fn settle(&self) {
        let completed = self.completed.load(Ordering::Acquire);
        let Ok(()) = self.deferred.settle(completed, self.record());
    }

    fn push(&self, what: Enqueued) {
        self.queue.lock().unwrap().push(what);
    }

    fn record(&self) -> impl FnOnce(u64) -> Result<(), Infallible> {
        |event| {
            self.push(Enqueued::Event(event));
            Ok(())
        }
    }

    /// Events have the numbers of the positions that they belong to.
    fn launch(&self, position: u64) {
        self.settle();
        self.push(Enqueued::Results(position));
        let Ok(()) = self.deferred.defer(position, position, self.record());
    }

    fn copy(&self) {
        self.settle();
        self.push(Enqueued::Copy);
    }

    /// Checks that the results at `position` are complete when what a reader waits for is.
    fn read(&self, position: u64) {
        if self.completed.load(Ordering::Acquire) >= position {
            return;
        }
        let deferred = self.deferred.position() == position;
        let queue = self.queue.lock().unwrap();
        let at = |what| queue.iter().position(|&q| q == what);
        let results = at(Enqueued::Results(position)).expect("enqueued before its ticket exists");
        if !deferred {
            let recorded = queue.iter().rposition(|&q| q == Enqueued::Event(position));
            assert!(recorded.is_some_and(|event| event > results), "not recorded: {queue:?}");
        }
    }
}

#[test]
fn a_reader_beside_a_launch_and_a_copy_finds_the_event_or_waits_for_the_stream() {
    loom::model(|| {
        let stream = Stream::new();
        stream.launch(1);
        let next = {
            let stream = stream.clone();
            thread::spawn(move || stream.launch(2))
        };
        let copy = {
            let stream = stream.clone();
            thread::spawn(move || stream.copy())
        };
        stream.read(1);
        next.join().unwrap();
        stream.read(2);
        copy.join().unwrap();
        stream.read(1);
    });
}

#[test]
fn finished_work_hides_no_later_event() {
    // Without a bound the model takes minutes.
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let stream = Stream::new();
        stream.launch(1);
        let finished = {
            let stream = stream.clone();
            thread::spawn(move || stream.completed.store(1, Ordering::Release))
        };
        let copy = {
            let stream = stream.clone();
            thread::spawn(move || stream.copy())
        };
        stream.launch(2);
        stream.read(2);
        finished.join().unwrap();
        copy.join().unwrap();
        stream.read(2);
    });
}

#[test]
fn a_shared_stream_defers_nothing() {
    loom::model(|| {
        let stream = Stream::new();
        let share = {
            let stream = stream.clone();
            thread::spawn(move || {
                let Ok(()) = stream.deferred.share(0, stream.record());
            })
        };
        stream.launch(1);
        stream.read(1);
        share.join().unwrap();
        stream.launch(2);
        assert_eq!(stream.deferred.position(), 0);
        stream.read(2);
    });
}
