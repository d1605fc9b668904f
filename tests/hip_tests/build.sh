#!/usr/bin/env bash
# Builds the unit tests of ROCm/hip-tests, each source file as one executable: build.sh REPOSITORY FOLDER [NAME...]
#
# REPOSITORY is a checkout of hip-tests, or its git directory; FOLDER gets the executables in `bin`, named GROUP.FILE
# after their source unit/GROUP/FILE.cc, the compiler's messages in `log`, and `not-built.tsv`. A NAME, with shell
# wildcards, selects executables: `stream.*`. What is newer than its source is not built again.
#
# HIPCC is the compiler, TAG the version of hip-tests for a git directory, TARGET what kernels are compiled for, JOBS the
# number of compilers at a time.
set -euo pipefail
(($# >= 2)) || { sed -n '2,/^set/{/^#/s/^# \?//p}' "$0"; exit 2; }
repository=$1
mkdir -p "$2"
folder=$(realpath "$2")
shift 2
hipcc=${HIPCC:-hipcc}
options=(-std=c++17 -O1 -w "--offload-arch=${TARGET:-gfx90a}")

if [[ -d $repository/catch ]]; then
  source=$(realpath "$repository")/catch
else
  tag=${TAG:-rocm-5.4.4}
  source=$folder/source/catch
  if [[ $(cat "$folder/source/tag" 2>/dev/null) != "$tag" ]]; then
    rm -rf "$folder/source" && mkdir "$folder/source"
    git -C "$repository" archive "$tag" catch | tar -x -C "$folder/source"
    echo "$tag" >"$folder/source/tag"
  fi
fi
for d in external/Catch2 include kernels external/picojson; do options+=("-I$source/$d"); done
options+=("-DKERNELS_PATH=\"$source/kernels/\"")

common=$folder/common bin=$folder/bin log=$folder/log
# Some tests read the assembly of their kernels here, from the current folder.
assembly=$bin/catch/unit/deviceLib
mkdir -p "$common" "$log" "$assembly"

# stale OUTPUT SOURCE: whether OUTPUT is absent or older.
stale() { [[ ! -e $1 || $2 -nt $1 ]]; }

# object SOURCE OUTPUT OPTION...: compiles for the device, then for the host, each with its precompiled header, which
# takes a third of the time of one step without.
object() {
  local pair
  "$hipcc" "${options[@]}" "${@:3}" --cuda-device-only -Xclang -include-pch -Xclang "$common/device.pch" -c "$1" -o "$2.device" &&
    "$hipcc" "${options[@]}" "${@:3}" --cuda-host-only -Xclang -include-pch -Xclang "$common/host.pch" \
      -Xclang -fcuda-include-gpubinary -Xclang "$2.device" -c "$1" -o "$2" && rm "$2.device"
}

# What all executables share: the main program, helpers of some groups, and the precompiled headers.
prepare() {
  printf '#include <hip_test_common.hh>\n' >"$common/header.hh"
  local side
  for side in device host; do
    "$hipcc" "${options[@]}" -x hip "--cuda-$side-only" -fsyntax-only -Xclang -emit-pch -Xclang -o -Xclang "$common/$side.pch" \
      "$common/header.hh" &
  done
  "$hipcc" "${options[@]}" -O0 --cuda-host-only -c "$source/hipTestMain/main.cc" -o "$common/main.o" &
  "$hipcc" "${options[@]}" -O0 --cuda-host-only -c "$source/hipTestMain/hip_test_context.cc" -o "$common/context.o" &
  "$hipcc" "${options[@]}" -c "$source/kernels/Set.cpp" -o "$common/kernels.o" &
  "$hipcc" "${options[@]}" -c "$source/unit/stream/streamCommon.cc" -o "$common/stream.o" &
  "$hipcc" "${options[@]}" -c "$source/unit/memory/DriverContext.cc" -o "$common/driver.o" &
  local job
  for job in $(jobs -p); do wait "$job"; done
  echo "$source" >"$common/done"
}

# build SOURCE: one executable; that it can't be built is no error of this script.
build() {
  local file=$1 group name output object
  group=$(basename "$(dirname "$file")") name=$(basename "$file" .cc)
  object=$common/$group.$name.o output=$bin/$group.$name
  case $name in
    ker*CO | ker*Ker) # a code object that a test loads
      output=$bin/$name.code
      ! stale "$output" "$file" || "$hipcc" "${options[@]}" --genco "$file" -o "$output"
      ;;
    *_exe) # a program that a test starts
      output=$bin/${name%_exe}
      ! stale "$output" "$file" || "$hipcc" "${options[@]}" "$file" -o "$output"
      ;;
    *tomicAdd_*Coherent_*) # a test of the option in its name, which reads its own assembly
      local option=()
      case ${name,,} in
        *_withunsafeflag) option=(-munsafe-fp-atomics) ;;
        *_withnounsafeflag) option=(-mno-unsafe-fp-atomics) ;;
      esac
      ! stale "$output" "$file" || {
        "$hipcc" "${options[@]}" "${option[@]}" --cuda-device-only -Xclang -include-pch -Xclang "$common/device.pch" \
          -S "$file" -o "$assembly/$name-hip-amdgcn-amd-amdhsa-${TARGET:-gfx90a}.s" &&
          object "$file" "$object" "${option[@]}" && link "$output" "$object"
      }
      ;;
    *)
      ! stale "$output" "$file" || { object "$file" "$object" && link "$output" "$object"; }
      ;;
  esac >"$log/$group.$name" 2>&1 || true
  rm -f "$object" "$object.device"
  [[ -e $output ]] || echo "not built: $group.$name" >&2
}

link() { "$hipcc" -fuse-ld=lld "--offload-arch=${TARGET:-gfx90a}" "$2" "$common"/{main,context,kernels,stream,driver}.o -o "$1" -lstdc++fs -ldl -lpthread; }

# wanted GROUP.FILE NAME...: whether one of the names selects it
wanted() {
  local name
  (($# > 1)) || return 0
  # shellcheck disable=SC2053
  for name in "${@:2}"; do [[ $1 != $name ]] || return 0; done
  return 1
}

[[ $(cat "$common/done" 2>/dev/null) == "$source" ]] || prepare
cp -r "$source/hipTestMain" "$bin/" # its lists of tests that AMD leaves out
cp -r "$source/unit/rtc/headers" "$source/unit/rtc/saxpy.h" "$bin/" # what tests of hiprtc read from the current folder
sources=()
for file in "$source"/unit/*/*.cc; do
  group=$(basename "$(dirname "$file")") name=$(basename "$file" .cc)
  case $group.$name in
    stream.streamCommon | memory.DriverContext) ;;
    # The sources beside tests are built with any selection: they take a second each.
    *.ker*CO | *.ker*Ker | *_exe) sources+=("$file") ;;
    *) ! wanted "$group.$name" "$@" || sources+=("$file") ;;
  esac
done
export -f stale object link build
export source common bin log assembly hipcc
export options_text="${options[*]@Q}"
printf '%s\0' "${sources[@]}" |
  xargs -0 -n 1 -P "${JOBS:-$(nproc)}" bash -c 'eval "options=($options_text)"; build "$1"' build

# What is not built: its test cases, as the source has them, and the first error.
: >"$folder/not-built.tsv"
for file in "${sources[@]}"; do
  group=$(basename "$(dirname "$file")") name=$(basename "$file" .cc)
  case $name in ker*CO | ker*Ker | *_exe) continue ;; esac
  [[ ! -e $bin/$group.$name ]] || continue
  printf '%s\t%s\t%s\n' "$group.$name" "$(grep -cE '^(TEST_CASE|TEMPLATE_TEST_CASE)' "$file" || true)" \
    "$(grep -m 1 -oP 'error: \K.*' "$log/$group.$name" || tail -n 1 "$log/$group.$name")" >>"$folder/not-built.tsv"
done
printf '%s sources, %s executables not built\n' "${#sources[@]}" "$(wc -l <"$folder/not-built.tsv")"
