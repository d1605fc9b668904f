#!/usr/bin/env bash
# Builds and runs the examples of ROCm/rocm-examples that need no library but HIP: examples.sh REPOSITORY FOLDER [NAME...]
#
# REPOSITORY is a checkout of rocm-examples, or its git directory; FOLDER gets a copy that is built in place. A NAME is the
# folder of an example: `HIP-Basic/saxpy`. Writes FOLDER/examples.tsv, in the order of the list: example, result,
# milliseconds; and what each example printed, in FOLDER/output. Fails if an example that examples.tsv beside this script
# has as passing does not pass.
#
# HIPLAUNCH, HIPCC, TAG, TARGET, LIMIT and DEVICES are as for build.sh and run.sh. Debian's hipcc needs
# HIP_DEVICE_LIB_PATH=/usr/lib/x86_64-linux-gnu/amdgcn/bitcode to compile for the device alone.
set -euo pipefail
(($# >= 2)) || { sed -n '2,/^set/{/^#/s/^# \?//p}' "$0"; exit 2; }
here=$(realpath "$(dirname "$0")")
repository=$1
mkdir -p "$2"
folder=$(realpath "$2")
shift 2
hipcc=${HIPCC:-hipcc} target=${TARGET:-gfx90a}
hiplaunch=$(realpath "${HIPLAUNCH:-$here/../../target/release/hiplaunch}")
llvm=$("$hipcc" "--offload-arch=$target" -print-prog-name=clang)

if [[ ! -e $folder/source/Common ]]; then
  mkdir -p "$folder/source"
  if [[ -d $repository/Common ]]; then
    cp -r "$repository"/{Common,Applications,HIP-Basic,Tutorials} "$folder/source/"
  else
    git -C "$repository" archive "${TAG:-HEAD}" Common Applications HIP-Basic Tutorials | tar -x -C "$folder/source"
  fi
fi
cd "$folder/source"
mkdir -p "$folder/output"

build() { # build EXAMPLE: by its own Makefile; the reduction has none
  if [[ $1 == Tutorials/* ]]; then
    "$hipcc" -std=c++20 -O2 -w "--offload-arch=$target" -I Tutorials/reduction/include "$1.hip" -o "$1"
  else
    # The example that queries devices is compiled by the host's compiler.
    make -C "$1" HIPCXX="$hipcc" CXX="$hipcc" CXXFLAGS="-O2 -w --offload-arch=$target" HIP_ARCHITECTURES="$target" \
      CLANG="$llvm" LLVM_MC="${llvm%/*}/llvm-mc" LLVM_DIS="${llvm%/*}/llvm-dis" CLANG_OFFLOAD_BUNDLER="${llvm%/*}/clang-offload-bundler"
  fi
}

run() { # run EXAMPLE: one line of results
  local text=$folder/output/${1//\//.}.txt program=$1 status=0 start result
  [[ $1 == Tutorials/* ]] || program=$(find "$1" -maxdepth 1 -type f -executable -name '*_*' ! -name '*.*' | LC_ALL=C sort | head -n 1)
  start=$(date +%s%N)
  (cd "$(dirname "$program")" && timeout -k 5 "${LIMIT:-60}" "$hiplaunch" exec --devices "${DEVICES:-2}" -- "./$(basename "$program")") </dev/null >"$text" 2>&1 || status=$?
  case $status in
    0)
      result=pass
      ! grep -q 'Texture functions are not supported' "$text" || result='needs textures'
      ;;
    124 | 137) result="more than ${LIMIT:-60} s" ;;
    *) result="fails: status $status" ;;
  esac
  printf '%s\t%s\t%d\n' "$1" "$result" "$((($(date +%s%N) - start) / 1000000))"
}

examples=("$@")
((${#examples[@]})) || mapfile -t examples < <(
  for f in Applications/*/main.hip HIP-Basic/*/main.* Tutorials/reduction/example/*.hip; do
    case $f in Tutorials/*) echo "${f%.hip}" ;; *) dirname "$f" ;; esac
  done | LC_ALL=C sort -u
)
for example in "${examples[@]}"; do
  text=$folder/output/${example//\//.}.build.txt
  if build "$example" >"$text" 2>&1; then
    run "$example"
  else
    printf '%s\tnot built: %s\t0\n' "$example" "$(grep -m 1 -oP '(error: |\*\*\* (\[[^]]*\] )?)\K.*' "$text" || tail -n 1 "$text")"
  fi
done | tee "$folder/examples.tsv"

LC_ALL=C awk -F '\t' '
  FILENAME == ARGV[1] { listed[$1] = $2; next }
  { examples++; if ($2 == "pass") passed++ }
  !($1 in listed) { print "not in the list: " $1 ": " $2; next }
  listed[$1] == "pass" && $2 != "pass" { print "must pass: " $1 ": " $2; failed++ }
  listed[$1] != "pass" && $2 == "pass" { print "passes now: " $1 ", in the list: " listed[$1] }
  END { printf "%d examples, %d passed, %d that must pass did not\n", examples, passed, failed; exit failed > 0 }
' "$here/examples.tsv" "$folder/examples.tsv"
