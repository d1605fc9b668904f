#!/usr/bin/env bash
# Runs test cases of ROCm/hip-tests on the emulator, each in a process of its own: run.sh FOLDER [NAME...]
#
# FOLDER is one that build.sh filled. A NAME, with shell wildcards, selects executables (`stream.*`) or cases of one
# (`memory.hipMalloc:Unit_hipMalloc_*`). Writes FOLDER/results.tsv, in the order of the list: executable, case, result,
# milliseconds; and what each case printed, in FOLDER/output. Fails if a case that list.tsv has as passing does not pass.
#
# TARGET, if it is not gfx90a, is what build.sh compiled for: list.TARGET.tsv has the cases that differ there. HIPLAUNCH is the
# program, LIMIT the seconds that a case may take (60), JOBS how many cases run at a time, DEVICES how many
# devices they see (2).
#
# HIP=amd runs them over AMD's own libamdhip64 (`hiplaunch exec --hip amd`), whose version VERSION names (5.2.3): for these
# cases, amd.tsv has what differs. The output is FOLDER/output.VERSION, the results are FOLDER/results.VERSION.tsv. A case that
# hangs ends at its limit, like one that is slow.
set -euo pipefail
(($#)) || { sed -n '2,/^set/{/^#/s/^# \?//p}' "$0"; exit 2; }
here=$(realpath "$(dirname "$0")")
folder=$(realpath "$1")
shift
hiplaunch=$(realpath "${HIPLAUNCH:-$here/../../target/release/hiplaunch}")
limit=${LIMIT:-60} devices=${DEVICES:-2}
output=$folder/output results=$folder/results.tsv of_amd= version=
if [[ ${HIP:-} == amd ]]; then
  version=${VERSION:-5.2.3}
  output=$folder/output.$version results=$folder/results.$version.tsv of_amd='--hip amd'
fi
mkdir -p "$output"

# selected EXECUTABLE CASE NAME...: whether one of the names selects it
selected() {
  local name
  (($# > 2)) || return 0
  for name in "${@:3}"; do
    [[ $name == *:* ]] || name=$name:'*'
    # shellcheck disable=SC2053
    [[ $1:$2 != $name ]] || return 0
  done
  return 1
}

# reason FILE: why a case failed, as far as what it printed says it
reason() {
  local functions
  functions=$(sed -n '/called and are not supported:$/,/^hiplaunch: [^ ]/s/^hiplaunch:  *[0-9]* \(hip[A-Za-z0-9_]*\)$/\1/p' "$1" | paste -s -d ' ')
  if [[ $functions ]]; then
    echo "not supported: $functions"
  elif grep -q '^hiplaunch: .*out-of-bounds' "$1"; then
    echo 'a kernel accesses memory out of bounds'
  else
    grep -oP '[^/ ]+\.(cc|hh):\d+(?=: FAILED)' "$1" | head -n 1
  fi
}

# run EXECUTABLE CASE: one line of results
run() {
  local executable=$1 case=$2 text start status=0 result
  text=$output/$executable.${case//[^A-Za-z0-9_]/_}.txt
  start=$(date +%s%N)
  # Catch2 reads a name as a pattern; a backslash makes its signs plain.
  # shellcheck disable=SC2086
  (cd "$folder/bin" && timeout -k 5 "$limit" "$hiplaunch" exec $of_amd --devices "$devices" -- "./$executable" "$(sed 's/[],[\\*]/\\&/g' <<<"$case")") \
    </dev/null >"$text" 2>&1 || status=$?
  case $status in
    0)
      result=pass
      ! grep -q HIP_SKIP_THIS_TEST "$text" || result='skips itself'
      # Those of textures end without a word on a device without images.
      [[ $executable != texture.* || ${TARGET:-gfx90a} != gfx9[45]* ]] || ! grep -q 'assertions: - none -' "$text" || result='needs textures'
      ! grep -q 'No test cases matched' "$text" || result='not found'
      ;;
    124 | 137) result="more than $limit s" ;;
    *) result="fails: $(reason "$text" || true)" ;;
  esac
  printf '%s\t%s\t%s\t%d\n' "$executable" "$case" "$result" "$((($(date +%s%N) - start) / 1000000))"
}

cases() { # cases NAME...: executable and case, each on a line
  local executable case
  for executable in "$folder"/bin/*.*; do
    [[ -f $executable && -x $executable && $executable != *.code ]] || continue
    executable=$(basename "$executable")
    # The status is the number of cases.
    (cd "$folder/bin" && "$hiplaunch" exec -- "./$executable" --list-test-names-only 2>/dev/null || true) |
      while IFS= read -r case; do
        ! selected "$executable" "$case" "$@" || printf '%s\t%s\0' "$executable" "$case"
      done
  done
}

export -f run reason
export folder output hiplaunch limit devices of_amd
cases "$@" >"$folder/cases"
[[ -s $folder/cases ]] || { echo "no case: nothing in $folder/bin has such a name, or $hiplaunch can't run it" >&2; exit 1; }
xargs -0 -n 1 -P "${JOBS:-$(nproc)}" bash -c 'run "${1%%$'\''\t'\''*}" "${1#*$'\''\t'\''}"' run <"$folder/cases" >"$results"
LC_ALL=C sort -o "$results" "$results"

# The results that are not the list's.
LC_ALL=C awk -F '\t' '
  FILENAME == ARGV[1] { listed[$1 "\t" $2] = $3; next }
  { cases++; if ($3 == "pass") passed++ }
  !(($1 "\t" $2) in listed) { print "not in the list: " $1 " " $2 ": " $3; next }
  { want = listed[$1 "\t" $2] }
  want == "pass" && $3 != "pass" { print "must pass: " $1 " " $2 ": " $3; failed++ }
  want != "pass" && $3 == "pass" { print "passes now: " $1 " " $2 ", in the list: " want }
  END { printf "%d cases, %d passed, %d that must pass did not\n", cases, passed, failed; exit failed > 0 }
' <(cat "$here/list.tsv" "$here/list.${TARGET:-gfx90a}.tsv" 2>/dev/null
  [[ ! $version ]] || awk -F '\t' -v version="$version" '$3 == version { print $1 "\t" $2 "\t" $4 }' "$here/amd.tsv") "$results"
