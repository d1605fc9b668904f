#!/usr/bin/env bash
# Runs the application heat (examples/heat) under mpirun, and checks what it promises: the same bits with 1, 2, 4 and 8
# ranks and after a restart, named errors for bad checkpoints and a full disk, and an end when a rank is killed.
#
#   crates/hiplaunch-mpi/heat.sh openmpi    Debian: openmpi-bin libopenmpi-dev libclang-dev
#   crates/hiplaunch-mpi/heat.sh mpich      Debian: mpich libmpich-dev libclang-dev
#
# Exit status: 0 all as promised, 1 not, 2 wrong use, 77 that MPI is not here. Without the build a quarter of a minute on two cores
# that have nothing else to do, a minute and more on busy ones.
set -uo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")" || exit 1
. ./mpi.sh
cargo build --locked --example heat || exit 1
heat=$CARGO_TARGET_DIR/debug/examples/heat
work=$(mktemp -d)
trap 'mountpoint -q "$work/full" && umount "$work/full"; rm -rf -- "$work"' EXIT
# More ranks than cores, also as root in a container.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
[ "$mpi" = openmpi ] && many=--oversubscribe || many=
# run RANKS OPTIONS...
# What hangs fails; ranks that share busy cores are slow.
run() { timeout -k 5 300 "$MPIRUN" $many -n "$1" "$heat" "${@:2}"; }
failures=0
pass() { echo "ok: $*"; }
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
check() { if "${@:2}"; then pass "$1"; else fail "$1"; fi; }
says() { grep -q -e "$2" "$1" || { sed 's/^/    /' "$1"; return 1; }; }
# The checksum of the field and the bits of all sums, of a report as JSON.
bits() { grep -E '"(checksum|step)"|^ +"[0-9a-f]{16}"' "$1"; }

# 129x100 cells: no block is a square, and the last tiles of rows and columns are not full.
field=(--size 129x100 --steps 230 --every 115)
for ranks in 1 2 4 8; do
  run $ranks "${field[@]}" --checkpoint "$work/at-$ranks" --picture "$work/$ranks.png" --json > "$work/$ranks.json" 2> "$work/log" ||
    { fail "$ranks ranks: exit status $?"; cat "$work/log"; }
  bits "$work/$ranks.json" > "$work/$ranks.bits"
  [ $ranks -gt 1 ] || continue
  check "$ranks ranks: checksum and sums of 1 rank" cmp "$work/1.bits" "$work/$ranks.bits"
  check "$ranks ranks: checkpoint of 1 rank" cmp "$work/at-1" "$work/at-$ranks"
  check "$ranks ranks: picture of 1 rank" cmp "$work/1.png" "$work/$ranks.png"
done
run 4 --size 192 --steps 1000 --picture "$work/guide.png" > "$work/log" 2>&1 || fail "the guide's run"
check "the picture of the guide" cmp ../../docs/heat.png "$work/guide.png"
check "the sums are there" [ "$(grep -c '"' "$work/1.bits")" -ge 10 ]

# One file with the host and the kernels of each rank.
run 4 "${field[@]}" --trace "$work/trace.json" --checkpoint "$work/traced" > "$work/log" 2>&1 || { fail "a run with --trace"; cat "$work/log"; }
check "a run with --trace: the same bits" cmp "$work/at-1" "$work/traced"
traced() {
  python3 - "$work/trace.json" << 'END'
import json, sys
spans = [event for event in json.load(open(sys.argv[1]))["traceEvents"] if event["ph"] == "X"]
ranks = {event["pid"] // 1000 for event in spans}
kernels = {event["pid"] // 1000 for event in spans if event.get("cat") == "kernel"}
if ranks != {0, 1, 2, 3} or kernels != ranks:
    sys.exit(f"spans of ranks {sorted(ranks)}, kernels of ranks {sorted(kernels)}")
END
}
check "the trace has kernels of all four ranks" traced

run 2 --size 129x100 --steps 115 --checkpoint "$work/half" > "$work/log" 2>&1 || fail "half of the steps"
for ranks in 1 4; do
  run $ranks --steps 115 --restart "$work/half" --checkpoint "$work/restarted" > "$work/log" 2>&1 || fail "restart"
  check "restart with $ranks ranks of what 2 wrote: the same bits" cmp "$work/at-1" "$work/restarted"
done

# refused WHAT WORDS OPTIONS...: the run fails and says so, on every rank that has something to say.
refused() {
  if run 4 "${@:3}" > "$work/log" 2>&1; then fail "$1 is accepted"; return; fi
  check "$1 is named" says "$work/log" "$2"
}
head -c 1000 "$work/half" > "$work/short"
refused "a truncated checkpoint" "rank [0-9].*$work/short.*truncated: 1000 bytes of 103264" --restart "$work/short"
cp "$work/half" "$work/bad" && printf 'x' | dd of="$work/bad" bs=1 seek=5000 conv=notrunc status=none
refused "a damaged checkpoint" "rank [0-9].*$work/bad.*damaged" --restart "$work/bad"
refused "a foreign file" "rank [0-9].*$work/1.png.*no checkpoint of heat" --restart "$work/1.png"
refused "a missing file" "rank [0-9].*$work/none.*check the path" --restart "$work/none"
refused "a field that is too small" "fewer ranks" --size 16
refused "a trace that can't be written" "rank 0.*$work/none/trace.json" --steps 5 --trace "$work/none/trace.json"
mkdir "$work/full"
if mount -t tmpfs -o size=160k tmpfs "$work/full" 2> /dev/null; then
  cp "$work/half" "$work/full/checkpoint"
  refused "a full disk" "rank [0-9].*$work/full/checkpoint.*free some space" --steps 10 --restart "$work/half" --checkpoint "$work/full/checkpoint"
  check "a full disk leaves the previous checkpoint" cmp "$work/half" "$work/full/checkpoint"
  check "a full disk is given back" [ "$(ls "$work/full")" = checkpoint ]
else
  echo "left out: a full disk (no right to mount a small file system; a unit test writes to /dev/full)"
fi

# A rank that fails before it has a communicator.
printf '#!/bin/sh\n[ "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" != 1 ] || export HIPLAUNCH_BACKEND=nonsense\nexec "$@"\n' > "$work/odd"
chmod +x "$work/odd"
timeout 30 "$MPIRUN" $many -n 3 "$work/odd" "$heat" --size 100 --steps 5 > "$work/log" 2>&1
status=$?
check "a rank that can't begin ends all: exit status $status" [ $status -ne 0 -a $status -ne 124 ]
check "it is named" says "$work/log" "^heat: rank 1: HIPLAUNCH_BACKEND=nonsense"

# The processes of a run, each with its rank: of a rank its supervisor, and then itself.
ranks_of() {
  for process in $(pgrep -f -- "$1"); do
    [ "$(readlink "/proc/$process/exe")" = "$(readlink -f "$heat")" ] || continue
    echo "$process $(tr '\0' '\n' 2> /dev/null < "/proc/$process/environ" | sed -n 's/^\(OMPI_COMM_WORLD_RANK\|PMI_RANK\)=//p')"
  done
}
run 4 --size 129x100 --steps 100000000 --every 20 --checkpoint "$work/killed" > "$work/log" 2>&1 &
started=$!
for _ in $(seq 100); do [ -e "$work/killed" ] && break; sleep 0.1; done
check "a run for the kill is on its way" [ -e "$work/killed" ]
victim=$(ranks_of "$work/killed" | sed -n 's/ 2$//p' | tail -n 1)
before=$(date +%s%N)
kill -9 $victim
wait $started
status=$? took=$((($(date +%s%N) - before) / 1000000))
check "a killed rank ends all within 10 s: $took ms, exit status $status" [ $status -ne 0 -a $took -lt 10000 ]
check "the killed rank is named" says "$work/log" "^rank 2 on .* was ended by signal 9"
check "no rank is left" [ -z "$(ranks_of "$work/killed")" ]
run 4 --steps 1 --restart "$work/killed" > "$work/log" 2>&1
check "restart after the kill" [ $? -eq 0 ]

echo "counts a step with 4 ranks, on the rank with the most:"
sed -n '/"counts_a_step"/,/}/p' "$work/4.json"
[ $failures -eq 0 ] && echo "all as promised with $mpi" || { echo "$failures failed"; exit 1; }
