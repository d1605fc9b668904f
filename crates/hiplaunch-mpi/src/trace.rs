//! The timelines of all ranks in one file, with one clock.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hiplaunch::Timeline;
use hiplaunch_reports::{Rank, rank_trace, write_rank_traces};

use crate::calls::{Comm, count};
use crate::environment::Mpi;
use crate::error::{Error, Result};

/// How often each rank asks rank 0 for the time. The answer that took least is the best one.
const ROUNDS: usize = 32;

impl Mpi {
    /// Writes the timelines of all ranks to a file on rank 0: a trace that <https://ui.perfetto.dev> opens, in which each
    /// rank's host and devices are processes of their own. Collective; waits. Only rank 0's `path` counts.
    ///
    /// Times are those of rank 0's timeline. Each rank asks rank 0 for its time 32 times, and takes the answer that came
    /// fastest for the middle of the question. So clocks differ by at most half of the fastest answer's time: on one machine
    /// about a microsecond.
    ///
    /// # Errors
    /// [`Error::File`] on rank 0 if the file can't be written, and [`Error::RankFailed`] on the others; MPI's errors.
    pub fn write_trace(&self, timeline: &Timeline, path: &Path) -> Result<()> {
        let comm = Comm(self.world()).duplicate(self.rank())?;
        let written = self.gather_trace(comm, timeline, path);
        let written = self.all_or_none(comm, written, "it could not write the trace; its own error says why");
        comm.free(self.rank())?;
        written
    }

    fn gather_trace(&self, comm: Comm, timeline: &Timeline, path: &Path) -> Result<()> {
        let (rank, size) = (self.rank(), self.size());
        // Of all ranks first, so that no rank is asked while it makes its events.
        let clock_offset = if rank == 0 {
            for other in 1..size {
                for _ in 0..ROUNDS {
                    comm.receive_bytes(rank, other, &mut [])?;
                    comm.send_bytes(rank, other, &nanoseconds(timeline.now()).to_ne_bytes())?;
                }
            }
            0
        } else {
            offset_to_rank_0(comm, rank, timeline)?
        };
        let events = rank_trace(&timeline.snapshot(), Rank { number: rank as u32, clock_offset });
        let lengths = comm.all_gather_u64(rank, size, events.len() as u64)?;
        // Checked by all ranks alike, so that none sends to one that has returned.
        for length in &lengths {
            count("write_trace", *length as usize)?;
        }
        if rank != 0 {
            return comm.send_bytes(rank, 0, &events);
        }
        let mut all = vec![events];
        for (other, length) in lengths.iter().enumerate().skip(1) {
            let mut events = vec![0; *length as usize];
            comm.receive_bytes(rank, other, &mut events)?;
            all.push(events);
        }
        let write = || {
            let mut file = BufWriter::new(File::create(path)?);
            write_rank_traces(&all, &mut file)?;
            file.flush()
        };
        write().map_err(|source| Error::File { rank, path: path.into(), source: Arc::new(source) })
    }
}

fn nanoseconds(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

/// Returns the nanoseconds to add to this rank's timeline to get rank 0's.
fn offset_to_rank_0(comm: Comm, rank: usize, timeline: &Timeline) -> Result<i64> {
    let mut best = (Duration::MAX, 0);
    for _ in 0..ROUNDS {
        let asked = timeline.now();
        comm.send_bytes(rank, 0, &[])?;
        let mut answer = [0; 8];
        comm.receive_bytes(rank, 0, &mut answer)?;
        let took = timeline.now().saturating_sub(asked);
        if took < best.0 {
            best = (took, i64::from_ne_bytes(answer) - nanoseconds(asked + took / 2));
        }
    }
    Ok(best.1)
}
