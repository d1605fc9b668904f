#!/usr/bin/env bash
# Builds the crate for one MPI and runs its tests: those without ranks, and those under mpirun.
#
#   crates/hiplaunch-mpi/test.sh openmpi [CASE]    Debian: openmpi-bin libopenmpi-dev libclang-dev
#   crates/hiplaunch-mpi/test.sh mpich [CASE]      Debian: mpich libmpich-dev libclang-dev
#
# Exit status: 0 all passed, 1 something failed, 2 wrong use, 77 that MPI is not here. CASE runs only the cases with that in
# their names. The two MPIs have build folders of their own, because the bindings are of one of them.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")"
case ${1-} in
  openmpi | mpich) mpi=$1 ;;
  *) sed -n '2,/^set /{/^set /!s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
esac
export MPICC=${MPICC:-mpicc.$mpi} MPIRUN=${MPIRUN:-mpirun.$mpi}
for program in "$MPICC" "$MPIRUN"; do
  command -v -- "$program" > /dev/null || { echo "test.sh: no $program; install $mpi, or set MPICC and MPIRUN" >&2; exit 77; }
done
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/../../target/mpi}/$mpi
cargo test --locked --lib
cargo test --locked --doc
cargo test --locked --test ranks -- ${2+"$2"}
