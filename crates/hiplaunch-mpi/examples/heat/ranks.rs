//! What the solver needs of the other ranks apart from halos and sums, so that its files can be tested without MPI.

use crate::error::{HeatError, Result};

/// The ranks that run the program together.
pub(crate) trait Ranks {
    /// This rank's number, from 0 on.
    fn rank(&self) -> usize;

    /// Returns the word that each rank gave, in the order of the ranks. All ranks must call it; it waits for them.
    ///
    /// # Errors
    /// [`HeatError::Exchange`].
    fn gather(&self, word: u64) -> Result<Vec<u64>>;

    /// Passes a result on if all ranks have one. All ranks must call it, so that none waits for one that has given up.
    ///
    /// # Errors
    /// This rank's own error, or [`HeatError::Elsewhere`].
    fn agree<T>(&self, during: &'static str, result: Result<T>) -> Result<T>
    where
        Self: Sized,
    {
        let all = self.gather(u64::from(result.is_ok()))?;
        let value = result?;
        match all.iter().position(|ok| *ok == 0) {
            None => Ok(value),
            Some(failed) => Err(HeatError::Elsewhere { rank: self.rank(), during, failed }),
        }
    }
}

#[cfg(test)]
pub(crate) mod threads {
    //! Ranks that are threads of a test.

    use std::sync::{Arc, Barrier, Mutex};

    use super::*;

    /// One of them.
    pub(crate) struct Thread {
        rank: usize,
        shared: Arc<(Mutex<Vec<u64>>, Barrier)>,
    }

    impl Ranks for Thread {
        fn rank(&self) -> usize {
            self.rank
        }

        fn gather(&self, word: u64) -> Result<Vec<u64>> {
            let (words, barrier) = &*self.shared;
            words.lock().unwrap()[self.rank] = word;
            barrier.wait();
            let all = words.lock().unwrap().clone();
            barrier.wait();
            Ok(all)
        }
    }

    /// Runs `body` on every rank, and returns what each returned.
    pub(crate) fn run<T: Send>(ranks: usize, body: impl Fn(Thread) -> T + Sync) -> Vec<T> {
        let shared = Arc::new((Mutex::new(vec![0; ranks]), Barrier::new(ranks)));
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..ranks)
                .map(|rank| (rank, Thread { rank, shared: shared.clone() }))
                .map(|(_, thread)| scope.spawn(|| body(thread)))
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }
}
