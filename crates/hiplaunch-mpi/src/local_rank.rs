//! The local rank of a process: its number among the ranks of its machine.

use crate::error::{Error, Result};

/// Variables with the local rank, of process managers and MPI libraries. Slurm's comes after those of `mpirun`: in a batch
/// script it is 0 for every process that an `mpirun` starts.
pub const VARIABLES: [&str; 7] = [
    "OMPI_COMM_WORLD_LOCAL_RANK", // Open MPI's mpirun
    "MPI_LOCALRANKID",            // Hydra: MPICH, Intel MPI
    "MV2_COMM_WORLD_LOCAL_RANK",  // MVAPICH2
    "PALS_LOCAL_RANKID",          // HPE Cray PALS
    "FLUX_TASK_LOCAL_ID",         // Flux
    "PMI_LOCAL_RANK",             // PMI
    "SLURM_LOCALID",              // Slurm's srun
];

/// Returns the first variable of [`VARIABLES`] that is set, with its value. `get` reads the environment.
///
/// # Errors
/// [`Error::LocalRank`] for a value that is not a number.
pub fn local_rank(get: impl Fn(&str) -> Option<String>) -> Result<Option<(&'static str, usize)>> {
    let Some((variable, value)) = VARIABLES.iter().find_map(|name| Some((*name, get(name)?))) else {
        return Ok(None);
    };
    match value.trim().parse() {
        Ok(rank) => Ok(Some((variable, rank))),
        Err(_) => Err(Error::LocalRank { variable, value: value.into() }),
    }
}

/// Returns the device's ordinal for a local rank: the ranks of a machine take its devices in turn. `None` without devices.
///
/// The ordinal counts the devices that the driver shows. `HIP_VISIBLE_DEVICES` is applied by the driver, so a rank that
/// sees one device takes device 0, whatever its local rank is.
pub fn ordinal(local_rank: usize, devices: usize) -> Option<u32> {
    u32::try_from(local_rank.checked_rem(devices)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Result<Option<(&'static str, usize)>> {
        local_rank(|name| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned()))
    }

    #[test]
    fn every_variable_is_read() {
        for name in VARIABLES {
            assert_eq!(of(&[(name, "3")]).unwrap(), Some((name, 3)));
        }
        assert_eq!(of(&[("RANK", "3")]).unwrap(), None);
    }

    #[test]
    fn mpirun_in_a_batch_script_of_slurm_wins() {
        let both = [("SLURM_LOCALID", "0"), ("OMPI_COMM_WORLD_LOCAL_RANK", "2")];
        assert_eq!(of(&both).unwrap(), Some(("OMPI_COMM_WORLD_LOCAL_RANK", 2)));
    }

    #[test]
    fn a_value_that_is_no_number_is_an_error_that_names_it() {
        let error = of(&[("MPI_LOCALRANKID", "-1")]).unwrap_err().to_string();
        assert!(error.contains("MPI_LOCALRANKID=\"-1\""), "{error}");
    }

    #[test]
    fn ranks_take_the_devices_in_turn() {
        assert_eq!((0..5).map(|rank| ordinal(rank, 2).unwrap()).collect::<Vec<_>>(), [0, 1, 0, 1, 0]);
        assert_eq!(ordinal(7, 1), Some(0), "each rank sees its own device alone");
        assert_eq!(ordinal(0, 0), None);
    }
}
