//! MPI for this process, and the device of its rank.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hiplaunch::{Device, Launcher};
use mpi::environment::Universe;
use mpi::{Threading, ffi};

use crate::calls::{Comm, check};
use crate::error::{Error, Result};
use crate::local_rank::{local_rank, ordinal};

/// How long other ranks may take to end by themselves.
const FAREWELL: Duration = Duration::from_secs(1);
/// The exit status of a Rust program that panics.
const PANICKED: i32 = 101;

/// MPI, initialized for threads (`MPI_THREAD_MULTIPLE`).
///
/// Dropping it finalizes MPI, if it was initialized here. Drop every [`Communicator`](crate::Communicator) before. If the thread
/// panics, it [aborts](Mpi::abort) instead.
pub struct Mpi {
    /// `None` if others initialized MPI, and finalize it.
    universe: Option<Universe>,
    rank: usize,
    size: usize,
    /// Counts the communicators that are alive.
    pub(crate) users: Arc<AtomicUsize>,
}

/// The device of a rank.
#[derive(Clone, Debug)]
pub struct DeviceChoice {
    /// The device.
    pub device: Device,
    /// The rank's number among those of its machine.
    pub local_rank: usize,
    /// The number of ranks on the machine.
    pub local_size: usize,
    /// How many ranks of the machine have this device, with this one.
    pub sharing: usize,
    /// Where the local rank is from: a variable of the environment, or `MPI_Comm_split_type`.
    pub source: &'static str,
}

impl Mpi {
    /// Initializes MPI, or uses MPI that others have initialized.
    ///
    /// # Errors
    /// [`Error::Environment`] if MPI is not initialized for `MPI_THREAD_MULTIPLE`: operations run on a thread of their own,
    /// beside calls of the program's.
    pub fn initialize() -> Result<Mpi> {
        let universe = mpi::initialize_with_threading(Threading::Multiple).map(|(universe, _)| universe);
        let provided = mpi::environment::threading_support();
        if provided != Threading::Multiple {
            return Err(Error::Environment(
                format!(
                    "initialized for {provided:?}, not for MPI_THREAD_MULTIPLE; initialize it with MPI_Init_thread, \
                     and use an MPI that is built for threads"
                )
                .into(),
            ));
        }
        // SAFETY: initialized; errors of calls on the world are returned from now on.
        unsafe { ffi::MPI_Comm_set_errhandler(ffi::RSMPI_COMM_WORLD, ffi::RSMPI_ERRORS_RETURN) };
        let (rank, size) = Mpi::comm_world().place()?;
        Ok(Mpi { universe, rank, size, users: Arc::default() })
    }

    fn comm_world() -> Comm {
        // SAFETY: a constant of the library.
        Comm(unsafe { ffi::RSMPI_COMM_WORLD })
    }

    /// The communicator of all ranks (`MPI_COMM_WORLD`).
    pub fn world(&self) -> ffi::MPI_Comm {
        Mpi::comm_world().0
    }

    /// This process's rank in the world.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The number of ranks in the world.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The name of this rank's machine (`MPI_Get_processor_name`).
    pub fn host(&self) -> String {
        // Larger than MPI_MAX_PROCESSOR_NAME of Open MPI (256) and MPICH (128).
        let (mut name, mut len) = ([0u8; 4096], 0);
        // SAFETY: the array is longer than the longest name.
        let code = unsafe { ffi::MPI_Get_processor_name(name.as_mut_ptr().cast(), &mut len) };
        match check(self.rank, "MPI_Get_processor_name", code) {
            Ok(()) => String::from_utf8_lossy(&name[..usize::try_from(len).unwrap_or(0)]).into_owned(),
            Err(_) => "an unnamed machine".to_owned(),
        }
    }

    /// Chooses the device of this rank: the ranks of a machine take its devices in turn. Collective over all ranks: if one
    /// rank has no device, all return an error that names it.
    ///
    /// The local rank comes from the process manager ([`VARIABLES`](crate::local_rank::VARIABLES)), else from
    /// `MPI_Comm_split_type`. `HIP_VISIBLE_DEVICES` is respected, because the driver shows only those devices. That several
    /// ranks share a device is reported at `log::info`.
    ///
    /// # Errors
    /// [`Error::NoDevice`] on the rank that has none, with `exclusive` also on one whose device other ranks have, and
    /// [`Error::RankFailed`] on the other ranks; [`Error::LocalRank`]; MPI's errors.
    pub fn device(&self, launcher: &Launcher, exclusive: bool) -> Result<DeviceChoice> {
        // SAFETY: the communicator of the world is live while MPI is.
        unsafe { self.device_among(self.world(), launcher, exclusive) }
    }

    /// As [`device`](Mpi::device), collective over the ranks of `comm` alone.
    ///
    /// # Errors
    /// As [`device`](Mpi::device).
    ///
    /// # Safety
    /// `comm` is a live intracommunicator of the MPI that this program is linked with.
    pub unsafe fn device_among(
        &self,
        comm: ffi::MPI_Comm,
        launcher: &Launcher,
        exclusive: bool,
    ) -> Result<DeviceChoice> {
        let comm = Comm(comm);
        let node = comm.of_node(self.rank)?;
        let choice = self.choose(node, launcher, exclusive);
        let freed = node.free(self.rank);
        let choice = self.all_or_none(comm, choice, "it has no device; its own error says why")?;
        freed?;
        Ok(choice)
    }

    /// Returns what this rank has if no rank has failed. All ranks call it, so that none waits for one that failed; those that
    /// have not get [`Error::RankFailed`] with `report`.
    pub(crate) fn all_or_none<T>(&self, comm: Comm, mine: Result<T>, report: &str) -> Result<T> {
        let failed = comm.min_u64(self.rank, if mine.is_err() { self.rank as u64 } else { u64::MAX })?;
        let mine = mine?;
        match failed {
            u64::MAX => Ok(mine),
            rank => Err(Error::RankFailed { rank: rank as usize, report: report.into() }),
        }
    }

    /// Ends all ranks by `MPI_Abort`, after a second in which each may say what its own error is. For an error of a rank that has no
    /// [`Communicator`](crate::Communicator), by which the others would be told: they may wait for this one in a call of MPI.
    pub fn abort(&self, status: i32) -> ! {
        std::thread::sleep(FAREWELL);
        // SAFETY: MPI is initialized.
        unsafe { ffi::MPI_Abort(self.world(), status) };
        std::process::exit(status)
    }

    fn choose(&self, node: Comm, launcher: &Launcher, exclusive: bool) -> Result<DeviceChoice> {
        let (node_rank, local_size) = node.place()?;
        let known = local_rank(|name| std::env::var(name).ok());
        let (source, local_rank) = match &known {
            Ok(Some(found)) => *found,
            _ => ("MPI_Comm_split_type", node_rank),
        };
        let devices = launcher.devices();
        let ordinal = ordinal(local_rank, devices.len());
        let visible = ["HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"].map(|name| std::env::var(name).ok());
        // Two ranks of a machine have one device if they see the same devices and take the same of them. 0 is no device.
        let mut identity = DefaultHasher::new();
        (&visible, ordinal).hash(&mut identity);
        let identity = ordinal.map_or(0, |_| identity.finish() | 1);
        let all = node.all_gather_u64(self.rank, local_size, identity)?;
        known?;
        let sharing = all.iter().filter(|&&other| other == identity).count();
        let no_device = |problem: String| Error::NoDevice {
            rank: self.rank,
            host: self.host().into(),
            local_rank,
            local_size,
            problem: problem.into(),
        };
        let Some(device) = ordinal.and_then(|ordinal| devices.get(ordinal as usize)) else {
            let hidden =
                visible[0].as_ref().map(|v| format!(" with HIP_VISIBLE_DEVICES={v:?}")).unwrap_or_default();
            return Err(no_device(format!(
                "the driver shows none{hidden}; give each rank a device, or start fewer ranks on this machine"
            )));
        };
        if exclusive && sharing > 1 {
            return Err(no_device(format!(
                "{sharing} ranks would share {}; start at most {} ranks on this machine, or allow sharing",
                device.id(),
                devices.len()
            )));
        }
        // MPICH's mpirun names a process that died by its number alone.
        let (rank, process, host) = (self.rank, std::process::id(), self.host());
        log::info!(
            "rank {rank} is process {process} on {host}, and takes {} (local rank {local_rank})",
            device.id()
        );
        if sharing > 1 && all.iter().position(|&other| other == identity) == Some(node_rank) {
            log::info!("{sharing} ranks on {host} share {}, rank {rank} first", device.id());
        }
        Ok(DeviceChoice { device: device.clone(), local_rank, local_size, sharing, source })
    }
}

impl Drop for Mpi {
    fn drop(&mut self) {
        let users = self.users.load(Ordering::Acquire);
        if users > 0 {
            // Finalizing under their threads would be undefined.
            log::error!(
                "rank {}: MPI is not finalized: {users} communicators are alive; drop them first",
                self.rank
            );
            std::mem::forget(self.universe.take());
        }
        if std::thread::panicking() && self.universe.is_some() {
            self.abort(PANICKED);
        }
    }
}
