//! The arguments and expected results of a stream's launches: bytes that differ from launch to launch, and the kernels'
//! arithmetic on the host.

use hiplaunch::{DeviceBuffer, Error, Stream};

use super::{Job, MeasureError};

/// The offset of the words in an argument block, after the result's address.
pub(super) const WORDS_AT: usize = 8;
/// The difference between consecutive words of a result (hip/bench.hip).
const STEP: u32 = 0x9e37_79b9;

/// A stream, its work, and the word in device memory to which every launch adds.
pub(crate) struct StreamWork {
    pub(super) stream: Stream,
    /// `None` for a kernel without arguments.
    pub(super) sink: Option<DeviceBuffer<u32>>,
    pub(super) work: Work,
    pub(super) job: Job,
}

impl StreamWork {
    pub(crate) fn new(job: &Job, stream: Stream, changing: bool) -> Result<StreamWork, Error> {
        let sink = (job.arguments > 0).then(|| DeviceBuffer::from_slice(&stream, &[0])).transpose()?;
        stream.synchronize()?;
        Ok(StreamWork { stream, sink, work: Work::new(job, changing), job: *job })
    }

    /// Reads the sink after all work on the stream, and compares it with the host's sum.
    pub(super) fn check_sum(&self) -> Result<(), MeasureError> {
        let sum = self.sink.as_ref().map(|sink| sink.to_vec(&self.stream)).transpose()?;
        self.work.check_sum(sum.map_or(0, |sum| sum[0]))
    }
}

/// The arguments of a stream's launches, and the results that were read.
#[derive(Debug, Default)]
pub(super) struct Work {
    /// The argument block: eight bytes for the result's address, then the words.
    pub(super) block: Vec<u8>,
    changing: bool,
    /// The sum that the kernel computes of the words of launch 0.
    base: u32,
    /// The number of launches so far.
    launched: u32,
    /// The number of launches of this batch.
    batch: usize,
    /// The value of the sink after all launches so far.
    sum: u32,
    /// The results of the last batch.
    read: Vec<u8>,
    result_bytes: usize,
    /// The number of launches of the last batch.
    count: usize,
}

impl Work {
    /// Creates the words from the job alone. With `changing`, the first word counts launches.
    pub(super) fn new(job: &Job, changing: bool) -> Work {
        let mut state = 0x2545_f491u32;
        let mut block = vec![0; WORDS_AT];
        let mut base = 0u32;
        for j in 0..job.argument_words() {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            let word = if j == 0 { 0 } else { state };
            base = base.wrapping_add(word.wrapping_mul(2 * j + 1));
            block.extend_from_slice(&word.to_le_bytes());
        }
        let changing = changing && job.arguments > 0;
        let read = vec![0; job.in_flight() * job.results];
        Work { block, changing, base, read, result_bytes: job.results, ..Work::default() }
    }

    /// Prepares the argument block of the next launch, and returns the launch's number within its batch.
    #[inline]
    pub(super) fn next(&mut self) -> usize {
        if self.changing {
            self.block[WORDS_AT..WORDS_AT + 4].copy_from_slice(&self.launched.to_le_bytes());
        }
        self.sum = self.sum.wrapping_add(self.total(self.launched));
        self.launched = self.launched.wrapping_add(1);
        self.batch += 1;
        self.batch - 1
    }

    /// The words of the argument block.
    #[inline]
    pub(super) fn words(&self) -> &[u8] {
        &self.block[WORDS_AT..]
    }

    /// The memory for the result of launch `slot` of this batch.
    #[inline]
    pub(super) fn result(&mut self, slot: usize) -> &mut [u8] {
        &mut self.read[slot * self.result_bytes..(slot + 1) * self.result_bytes]
    }

    /// The memory for all results of this batch.
    pub(super) fn results(&mut self) -> &mut [u8] {
        &mut self.read[..self.batch * self.result_bytes]
    }

    /// Ends a batch whose results were all read.
    pub(super) fn collected(&mut self) {
        self.count = std::mem::take(&mut self.batch);
    }

    fn total(&self, number: u32) -> u32 {
        if self.changing { self.base.wrapping_add(number) } else { self.base }
    }

    /// Compares the results of the last batch with what the host computes.
    pub(super) fn check_results(&self) -> Result<(), MeasureError> {
        let words = self.result_bytes / 4;
        let first = self.launched.wrapping_sub((self.count + self.batch) as u32);
        for (at, word) in self.read.as_chunks().0.iter().take(self.count * words).enumerate() {
            let (number, at) = (first.wrapping_add((at / words) as u32), at % words);
            let step = (at as u32).wrapping_mul(STEP);
            let (got, want) = (u32::from_le_bytes(*word), self.total(number).wrapping_add(step));
            if got != want {
                return Err(MeasureError::Wrong(format!(
                    "launch {number}, word {at}: got {got:#x}, want {want:#x}"
                )));
            }
        }
        Ok(())
    }

    /// Compares the sum over all launches with what the host computes.
    fn check_sum(&self, sink: u32) -> Result<(), MeasureError> {
        if sink != self.sum {
            return Err(MeasureError::Wrong(format!(
                "the sum over {} launches: got {sink:#x}, want {:#x}",
                self.launched, self.sum
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: Job = Job { arguments: 16, results: 8, depth: 2, streams: 1, threads: 1 };

    /// Does on the host what the kernel does.
    fn launch(work: &mut Work, sink: &mut u32) {
        let slot = work.next();
        let words = work.words().chunks_exact(4).map(|w| u32::from_le_bytes(w.try_into().unwrap()));
        let total =
            words.enumerate().fold(0u32, |sum, (j, w)| sum.wrapping_add(w.wrapping_mul(2 * j as u32 + 1)));
        *sink = sink.wrapping_add(total);
        for (i, word) in work.result(slot).chunks_exact_mut(4).enumerate() {
            word.copy_from_slice(&total.wrapping_add((i as u32).wrapping_mul(STEP)).to_le_bytes());
        }
    }

    #[test]
    fn right_results_pass_and_wrong_ones_do_not() {
        let (mut work, mut sink) = (Work::new(&JOB, true), 0);
        for _ in 0..3 {
            launch(&mut work, &mut sink);
            launch(&mut work, &mut sink);
            work.collected();
            assert!(work.check_results().is_ok() && work.check_sum(sink).is_ok());
        }
        let Err(MeasureError::Wrong(what)) = work.check_sum(sink + 1) else { panic!() };
        assert!(what.contains("sum over 6 launches"), "{what}");
        work.result(1)[4] ^= 1;
        let Err(MeasureError::Wrong(what)) = work.check_results() else { panic!() };
        assert!(what.contains("launch 5, word 1"), "{what}");
    }

    #[test]
    fn launches_differ_only_with_changing() {
        for (changing, differ) in [(true, true), (false, false)] {
            let mut work = Work::new(&JOB, changing);
            work.next();
            let first = work.block.clone();
            work.next();
            assert_eq!(first != work.block, differ);
        }
    }
}
