# Chooses an MPI, $1, for the scripts beside this file, which source it: sets mpi, root, MPICC, MPIRUN and CARGO_TARGET_DIR.
#
# Both MPIs share a build folder, because the emulator takes minutes to compile. The bindings are of one of them, and cargo
# does not see that MPICC has changed, so they are removed when the other MPI comes.
case ${1-} in
  openmpi | mpich) mpi=$1 ;;
  *) sed -n '2,/^set /{/^set /!s/^# \{0,1\}//p}' "$0" >&2; exit 2 ;;
esac
export MPICC=${MPICC:-mpicc.$mpi} MPIRUN=${MPIRUN:-mpirun.$mpi}
for program in "$MPICC" "$MPIRUN"; do
  command -v -- "$program" > /dev/null || { echo "${0##*/}: no $program; install $mpi, or set MPICC and MPIRUN" >&2; exit 77; }
done
root=$(cd ../.. && pwd)
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$root/target}/mpi
if [ "$(cat "$CARGO_TARGET_DIR/of" 2> /dev/null)" != "$MPICC" ]; then
  cargo clean --quiet --locked -p mpi-sys -p mpi || exit 1
  mkdir -p "$CARGO_TARGET_DIR" && echo "$MPICC" > "$CARGO_TARGET_DIR/of"
fi
