//! The ranks as MPI has them: halos, sums, and the few words that files need.

use hiplaunch::{Device, DeviceBuffer, Launcher, Stream};
use hiplaunch_mpi::{Communicator, Halo, Mpi, Reduce};

use crate::domain::{Domain, Side};
use crate::error::{HeatError, Result};
use crate::exact::ExactSum;
use crate::ranks::Ranks;
use crate::solver::Solver;

/// This rank among the others.
pub(crate) struct Cluster {
    communicator: Communicator,
    /// For the words of [`Ranks::gather`].
    words: Stream,
}

impl Side {
    /// The tag of a message to the neighbour on this side.
    fn tag(self) -> u16 {
        self as u16
    }

    fn opposite(self) -> Side {
        match self {
            Side::West => Side::East,
            Side::East => Side::West,
            Side::North => Side::South,
            Side::South => Side::North,
        }
    }
}

impl Cluster {
    /// Joins the other ranks. All ranks must call it.
    ///
    /// # Errors
    /// MPI or the device fails.
    pub(crate) fn new(mpi: &Mpi, launcher: &Launcher, device: &Device) -> Result<Cluster> {
        let rank = mpi.rank();
        let words = launcher.stream(device).map_err(|error| HeatError::Launch { rank, error })?;
        let communicator = Communicator::new(mpi, launcher, device, hiplaunch_mpi::Options::default())
            .map_err(|error| HeatError::Exchange { rank, error: error.into() })?;
        Ok(Cluster { communicator, words })
    }

    /// What was exchanged so far.
    pub(crate) fn communicator(&self) -> &Communicator {
        &self.communicator
    }

    fn exchanged<T>(&self, result: hiplaunch_mpi::Result<T>) -> Result<T> {
        result.map_err(|error| HeatError::Exchange { rank: self.rank(), error: error.into() })
    }

    fn launched<T>(&self, result: hiplaunch::Result<T>) -> Result<T> {
        result.map_err(|error| HeatError::Launch { rank: self.rank(), error })
    }

    /// Enqueues one step: halos beside the interior, then the border. The host does not wait.
    ///
    /// # Errors
    /// A launch or the exchange fails.
    pub(crate) fn step(&self, domain: &Domain, solver: &mut Solver) -> Result<()> {
        let halos = self.launched(self.halos(domain, solver))?;
        let ticket = self.exchanged(self.communicator.exchange(solver.stream(), &halos))?;
        self.launched(solver.interior())?;
        self.exchanged(ticket.before(solver.stream()))?;
        self.launched(solver.border())
    }

    fn halos(&self, domain: &Domain, solver: &Solver) -> hiplaunch::Result<Vec<Halo<f64>>> {
        let neighbours = Side::ALL
            .into_iter()
            .filter_map(|side| Some((side, domain.neighbour(self.communicator.rank(), side)?)));
        neighbours
            .map(|(side, peer)| {
                let (send, recv) = (solver.edge(side)?, solver.halo(side)?);
                Ok(Halo { peer, send, send_tag: side.tag(), recv, recv_tag: side.opposite().tag() })
            })
            .collect()
    }

    /// Returns the sum of the squared changes of the last step and the sum of all cells, which do not depend on the number of
    /// ranks. All ranks must call it; it waits for them.
    ///
    /// # Errors
    /// A launch or the exchange fails.
    pub(crate) fn sums(&self, solver: &mut Solver) -> Result<[f64; 2]> {
        let mine = self.launched(solver.sums())?.map(|sum| sum.words());
        let stream = solver.stream();
        let all = self.launched(DeviceBuffer::from_slice(stream, mine.as_flattened()))?;
        let ticket = self.exchanged(self.communicator.all_reduce(stream, &all, Reduce::Sum))?;
        self.exchanged(ticket.before(stream))?;
        let all = self.launched(all.to_vec(stream))?;
        self.exchanged(self.communicator.check())?;
        let (sums, _) = all.as_chunks();
        Ok([0, 1].map(|which| ExactSum::from_words(&sums[which]).round()))
    }

    /// Brings the cells of all ranks to rank 0, which gets them in the order of the ranks. The others get nothing. All
    /// ranks must call it; it waits for them.
    ///
    /// # Errors
    /// The exchange fails.
    pub(crate) fn cells_of_all(&self, domain: &Domain, cells: &[f64]) -> Result<Vec<Vec<f64>>> {
        const TAG: u16 = 4; // beside the sides'
        let stream = &self.words;
        if self.rank() > 0 {
            let buffer = self.launched(DeviceBuffer::from_slice(stream, cells))?;
            let ticket = self.exchanged(self.communicator.send(stream, &buffer, 0, TAG))?;
            self.exchanged(ticket.wait())?;
            return Ok(Vec::new());
        }
        let mut blocks = vec![cells.to_vec()];
        for from in 1..domain.ranks() {
            let block = domain.block(from);
            let buffer = self.launched(DeviceBuffer::<f64>::on(stream, block.width * block.height))?;
            let ticket = self.exchanged(self.communicator.recv(stream, &buffer, from, TAG))?;
            self.exchanged(ticket.before(stream))?;
            blocks.push(self.launched(buffer.to_vec(stream))?);
        }
        self.exchanged(self.communicator.check())?;
        Ok(blocks)
    }
}

impl Ranks for Cluster {
    fn rank(&self) -> usize {
        self.communicator.rank()
    }

    fn gather(&self, word: u64) -> Result<Vec<u64>> {
        let stream = &self.words;
        let mine = self.launched(DeviceBuffer::from_slice(stream, &[word]))?;
        let all = self.launched(DeviceBuffer::<u64>::on(stream, self.communicator.size()))?;
        let ticket = self.exchanged(self.communicator.all_gather(stream, &mine, &all))?;
        self.exchanged(ticket.before(stream))?;
        let all = self.launched(all.to_vec(stream))?;
        self.exchanged(self.communicator.check())?;
        Ok(all)
    }
}
