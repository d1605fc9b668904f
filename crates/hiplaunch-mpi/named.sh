#!/bin/sh
# Runs a rank, and says which one it was if a signal ends it. For mpirun of MPICH, which names no rank, or another one:
#
#   mpirun -n 4 crates/hiplaunch-mpi/named.sh PROGRAM ARGUMENTS...
"$@"
status=$?
if [ $status -gt 128 ]; then
  rank=${PMI_RANK:-${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-${SLURM_PROCID:-unknown}}}}
  echo "rank $rank on $(uname -n) was ended by signal $((status - 128)): $1" >&2
fi
exit $status
