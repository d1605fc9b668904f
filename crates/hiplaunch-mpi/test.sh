#!/usr/bin/env bash
# Builds the crate for one MPI and runs its tests: those without ranks, those under mpirun, and those of C and Python.
#
#   crates/hiplaunch-mpi/test.sh openmpi [CASE...]    Debian: openmpi-bin libopenmpi-dev libclang-dev
#   crates/hiplaunch-mpi/test.sh mpich [CASE...]      Debian: mpich libmpich-dev libclang-dev
#
# With CASE, only the runs of tests/ranks with that in their names. Exit status: 0 all passed, 1 something failed, 2 wrong use,
# 77 that MPI is not here.
#
# Settings (environment):
#   MPICC, MPIRUN     default: mpicc.openmpi, mpirun.openmpi, and so on
#   HIPLAUNCH         the command hiplaunch, which runs the programs in C and Python on the emulator (default: the repository's
#                     target/release/hiplaunch); without it they are left out, and those in C also without libhiplaunch.so beside
#                     it, or without Debian's libamdhip64-dev
#   PYTHON            a Python with mpi4py, numpy and hiplaunch (default: python3); without them Python is left out
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")"
. ./mpi.sh
if [ -n "${2-}" ]; then
  exec cargo test --locked --test ranks -- "${@:2}"
fi
cargo test --locked --lib
cargo test --locked --doc
cargo test --locked --test ranks

# As root, and with more ranks than cores, Open MPI wants to be asked.
ranks=("$MPIRUN") && [ "$mpi" = mpich ] || ranks+=(--oversubscribe --allow-run-as-root)
named=$("${ranks[@]}" -n 2 ./named.sh sh -c '[ "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" = 0 ] || kill -9 $$; sleep 5' 2>&1) || true
grep -q '^rank 1 on .* was ended by signal 9: sh$' <<< "$named" || { echo "named.sh names no rank: $named"; exit 1; }
echo "ok      named.sh on 2"

left_out() { echo "left out: $*"; }
hiplaunch=${HIPLAUNCH:-$root/target/release/hiplaunch}
[ -x "$hiplaunch" ] || { left_out "C and Python: no $hiplaunch (cargo build --release -p hiplaunch-cli; set HIPLAUNCH)"; exit 0; }
# With an example, so that the emulator is the one of the tests: alone, the library's dependencies have other features, and it is
# compiled again.
cargo build --locked --workspace --lib --example heat
library=$CARGO_TARGET_DIR/debug
export HIPLAUNCH_EMULATOR_DEVICES=2 HIPLAUNCH_EMULATOR_THREADS=1
# under_exec RANKS NAME COMMAND...
under_exec() {
  timeout 60 "${ranks[@]}" -n "$1" "$hiplaunch" exec -- "${@:3}"
  echo "ok      $2 on $1"
}
# compiled NAME OPTIONS...: a program of capi/tests
compiled() {
  "$MPICC" -Wall -Wextra -Werror "capi/tests/$1.c" -o "$library/$1_c" -L"$library" -lhiplaunch_mpi "${@:2}" -Wl,-rpath,"$library"
}
if compiled exchange -lamdhip64 2> "$library/exchange_c.log"; then
  under_exec 2 exchange.c "$library/exchange_c"
  under_exec 4 exchange.c "$library/exchange_c"
else
  grep -q 'cannot find -lamdhip64' "$library/exchange_c.log" || { cat "$library/exchange_c.log" >&2; exit 1; }
  left_out "exchange.c: no libamdhip64 to link with (Debian: libamdhip64-dev)"
fi
if [ -e "${hiplaunch%/*}/libhiplaunch.so" ]; then
  # Under the name that the program asks for.
  ln -sf "$(realpath "${hiplaunch%/*}/libhiplaunch.so")" "$library/libhiplaunch.so.1"
  compiled launch -l:libhiplaunch.so.1
  under_exec 4 launch.c "$library/launch_c" "$root/hip/vector.hipfb"
else
  left_out "launch.c: no ${hiplaunch%/*}/libhiplaunch.so (cargo build --release -p libhiplaunch)"
fi
python=${PYTHON:-python3}
export MPI4PY_MPIABI=$mpi HIPLAUNCH_MPI_LIBRARY=$library/libhiplaunch_mpi.so
# The wheels of mpi4py look for MPICH as libmpi.so.12; Debian's is libmpich.so.12, the same file by another name.
if [ "$mpi" = mpich ]; then
  mpich=$(ldd "$HIPLAUNCH_MPI_LIBRARY" | sed -n 's/.*libmpich.so.12 => \(.*\) (.*/\1/p')
  if [ -n "$mpich" ]; then
    mkdir -p "$library/mpi4py" && ln -sf "$mpich" "$library/mpi4py/libmpi.so.12"
    export LD_LIBRARY_PATH=$library/mpi4py${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  fi
fi
if "$python" -c 'import numpy; from mpi4py import MPI' 2> "$library/mpi4py.log"; then
  export PYTHONPATH=$PWD/capi/python${PYTHONPATH:+:$PYTHONPATH}
  refused=$("$python" -c 'import hiplaunch_mpi, types; hiplaunch_mpi.Communicator(types.SimpleNamespace(py2f=lambda: 0))' 2>&1) || true
  grep -q 'MpiError: MPI: not initialized: .* was built for, .*M' <<< "$refused" || { echo "not refused: $refused"; exit 1; }
  under_exec 2 exchange.py "$python" capi/tests/exchange.py
  under_exec 4 exchange.py "$python" capi/tests/exchange.py
  if "$python" -c 'import hiplaunch' 2> /dev/null; then
    under_exec 4 launch.py "$python" capi/tests/launch.py
  else
    left_out "launch.py: $python has no hiplaunch (set PYTHON)"
  fi
else
  left_out "Python: $python has no numpy, or no mpi4py for this MPI (set PYTHON): $(tail -n 1 "$library/mpi4py.log")"
fi
