#!/usr/bin/env bash
# Runs CubeCL's own tests on the runtime, and compares those that fail with tests/failures.tsv. Needs hiprtc.
#
#   suite.sh                 all of them
#   suite.sh FILTER ...      those whose names contain one of these
#
# HIPLAUNCH names the command `hiplaunch`: the tests are then built without the emulator, and run under `hiplaunch exec`.
set -euo pipefail
cd "$(dirname "$0")"
built=(--locked)
if [[ -n ${HIPLAUNCH:-} ]]; then
  built+=(--no-default-features --config "target.'cfg(all())'.runner = ['$HIPLAUNCH', 'exec', '--']")
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
mapfile -t skipped < <(awk -F'\t' '$2 == "fault" { print "--skip"; print $1 }' tests/failures.tsv)
# Whether it failed is decided below.
RUST_BACKTRACE=0 RUST_LOG=error cargo test "${built[@]}" --test cubecl_suite -- "${skipped[@]}" "$@" >"$log" 2>&1 || true
if ! grep -E '^test result: ' "$log"; then
  tail -n 40 "$log"
  echo "the tests did not end"
  exit 1
fi
sed -n 's/^test suite::\(.*\) \.\.\. FAILED$/\1/p' "$log" | sort >"$log.failed"
sed -n 's/^test suite::\(.*\) \.\.\. ok$/\1/p' "$log" | sort >"$log.passed"
known=$(sed '/^#/d; s/\t.*//' tests/failures.tsv | sort)
echo "$known" | comm -12 - "$log.passed" | sed 's/^/listed in failures.tsv, and passes: /'
unknown=$(echo "$known" | comm -13 - "$log.failed")
rm -f "$log.failed" "$log.passed"
if [[ -n $unknown ]]; then
  sed -n '/^failures:$/,$p' "$log" | head -n 200
  printf 'fails, and is not listed in failures.tsv:\n%s\n' "$unknown"
  exit 1
fi
