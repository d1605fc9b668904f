//! The ranks as MPI has them: halos, sums, and the few words that files need.

use hiplaunch::{Device, DeviceBuffer, Launcher, Stream};
use hiplaunch_mpi::{Communicator, Halo, Mpi, Reduce};

use crate::error::{HeatError, Result};
use crate::exact::round;
use crate::field::{Domain, Field, Side};
use crate::solver::Solver;

/// This rank among the others.
pub(crate) struct Cluster {
    pub(crate) communicator: Communicator,
    /// For the words of [`Cluster::gather`].
    words: Stream,
}

impl Cluster {
    /// Joins the other ranks. All ranks must call it.
    pub(crate) fn new(mpi: &Mpi, launcher: &Launcher, device: &Device) -> Result<Cluster> {
        let words = launcher.stream(device)?;
        let communicator = Communicator::new(mpi, launcher, device, hiplaunch_mpi::Options::default())?;
        Ok(Cluster { communicator, words })
    }

    pub(crate) fn rank(&self) -> usize {
        self.communicator.rank()
    }

    /// Enqueues one step: halos beside the interior, then the border. The host does not wait.
    pub(crate) fn step(&self, domain: &Domain, solver: &mut Solver) -> Result<()> {
        let mut halos = Vec::new();
        for side in Side::ALL {
            let Some(peer) = domain.neighbour(self.rank(), side) else { continue };
            // The cells of the block that the neighbour reads, and the halo where the neighbour's go. A message's tag is
            // the side that it leaves by.
            let (send, recv) = (solver.line(side, 1)?, solver.line(side, 0)?);
            halos.push(Halo { peer, send, send_tag: side as u16, recv, recv_tag: side.opposite() as u16 });
        }
        let ticket = self.communicator.exchange(&solver.stream, &halos)?;
        solver.interior()?;
        ticket.before(&solver.stream)?;
        solver.border()?;
        Ok(())
    }

    /// Returns the sum of the squared changes of the last step and the sum of all cells, which do not depend on the number of
    /// ranks. All ranks must call it; it waits for them.
    pub(crate) fn sums(&self, solver: &mut Solver) -> Result<[f64; 2]> {
        let mine = solver.sums()?;
        let stream = &solver.stream;
        let all = DeviceBuffer::from_slice(stream, mine.as_flattened())?;
        self.communicator.all_reduce(stream, &all, Reduce::Sum)?.before(stream)?;
        let all = all.to_vec(stream)?;
        self.communicator.check()?;
        let (sums, _) = all.as_chunks();
        Ok([0, 1].map(|which| round(sums[which])))
    }

    /// Brings the cells of all ranks to rank 0, which gets the field. The others get nothing. All ranks must call it; it waits
    /// for them.
    pub(crate) fn field(&self, domain: &Domain, solver: &Solver) -> Result<Option<Field>> {
        const TAG: u16 = 4; // beside the sides'
        let (stream, cells) = (&self.words, solver.cells()?);
        if self.rank() > 0 {
            let buffer = DeviceBuffer::from_slice(stream, &cells)?;
            self.communicator.send(stream, &buffer, 0, TAG)?.wait()?;
            return Ok(None);
        }
        let mut blocks = vec![cells];
        for from in 1..domain.ranks() {
            let block = domain.block(from);
            let buffer = DeviceBuffer::<f64>::on(stream, block.width * block.height)?;
            self.communicator.recv(stream, &buffer, from, TAG)?.before(stream)?;
            blocks.push(buffer.to_vec(stream)?);
        }
        self.communicator.check()?;
        Ok(Some(domain.assemble(&blocks)))
    }

    /// Returns the word that each rank gave, in the order of the ranks. All ranks must call it; it waits for them.
    pub(crate) fn gather(&self, word: u64) -> Result<Vec<u64>> {
        let stream = &self.words;
        let mine = DeviceBuffer::from_slice(stream, &[word])?;
        let all = DeviceBuffer::<u64>::on(stream, self.communicator.size())?;
        self.communicator.all_gather(stream, &mine, &all)?.before(stream)?;
        let all = all.to_vec(stream)?;
        self.communicator.check()?;
        Ok(all)
    }

    /// Passes a result on if all ranks have one. All ranks must call it, so that none waits for one that has given up.
    pub(crate) fn agree<T>(&self, during: &'static str, result: Result<T>) -> Result<T> {
        let all = self.gather(u64::from(result.is_ok()))?;
        let value = result?;
        match all.iter().position(|ok| *ok == 0) {
            None => Ok(value),
            Some(failed) => Err(HeatError::Elsewhere { during, failed }),
        }
    }
}
