//! A stream's progress under every interleaving: a wait marks no work as completed that was enqueued after it began.

/// The atomics that `progress.rs` uses: loom's here, std's in the library.
mod sync {
    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};
}

#[path = "../src/driver_stream/progress.rs"]
mod progress;

use loom::sync::Arc;
use progress::Progress;
use sync::{AtomicU64, Ordering};

#[test]
fn a_synchronize_covers_only_what_was_enqueued_before_it() {
    loom::model(|| {
        let progress = Arc::new(Progress::new());
        // Stands for the device's queue: the last position that it was given.
        let queue = Arc::new(AtomicU64::new(0));
        let enqueuing = {
            let (progress, queue) = (progress.clone(), queue.clone());
            loom::thread::spawn(move || {
                for _ in 0..2 {
                    let sequence = progress.next();
                    queue.store(sequence, Ordering::Relaxed);
                    progress.publish(sequence);
                }
            })
        };
        let waiting = {
            let (progress, queue) = (progress.clone(), queue.clone());
            loom::thread::spawn(move || {
                let upto = progress.enqueued();
                // A wait covers the work that the queue has now.
                let covered = queue.load(Ordering::Relaxed);
                assert!(upto <= covered, "{upto} marked, {covered} covered");
                progress.mark_completed(upto);
            })
        };
        assert!(progress.completed() <= progress.enqueued());
        enqueuing.join().unwrap();
        waiting.join().unwrap();
        assert!(progress.completed() <= progress.enqueued());
        assert_eq!(progress.next(), 3);
    });
}

#[test]
fn the_completed_position_only_grows_and_shows_the_results() {
    loom::model(|| {
        let progress = Arc::new(Progress::new());
        let result = Arc::new(AtomicU64::new(0));
        progress.publish(1);
        progress.publish(2);
        let threads: Vec<_> = [1u64, 2]
            .into_iter()
            .map(|sequence| {
                let (progress, result) = (progress.clone(), result.clone());
                loom::thread::spawn(move || {
                    if sequence == 2 {
                        result.store(42, Ordering::Relaxed);
                    }
                    progress.mark_completed(sequence);
                })
            })
            .collect();
        let before = progress.completed();
        if before == 2 {
            assert_eq!(result.load(Ordering::Relaxed), 42);
        }
        for thread in threads {
            thread.join().unwrap();
        }
        assert!(progress.completed() == 2 && before <= 2);
    });
}
