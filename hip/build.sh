#!/usr/bin/env bash
# Rebuilds the code objects here from each <name>.hip: <name>.hipfb, a compressed offload bundle for every target, and
# <name>.gfx90a.co and <name>.gfx942.co, which are in the bundle too.
#
#   hip/build.sh            rebuild in place, and record the compilers in built-with.txt
#   hip/build.sh --to DIR   build into a folder, and change nothing here
#   hip/build.sh --check    rebuild elsewhere and compare: exit 0 equal, 1 different or cannot build,
#                           77 nothing compared (the compilers that made the checked-in files are not here)
#
# Settings (environment):
#   HIPCC    the HIP compiler driver, 5.2 or newer (default: hipcc, else $ROCM_PATH/bin/hipcc, /opt/rocm/bin/hipcc)
#   CLANG    a plain clang with the AMDGPU target and its lld, used for a target that HIPCC does not know
#            (HIP 5.2 does not know gfx942) (default: the newest clang-N from 17 on, else clang)
#   BUNDLER  clang-offload-bundler from 20 on, with zstd (Debian: clang-tools-22) (default: the newest, as CLANG)
#   TARGETS  what to build (default: all). The bundles are made only of all of them.
#
# gfx90a and gfx908 are code object version 4, gfx942 version 5, so that both ABIs are covered whatever the compiler's
# default is. Generic targets need version 6. Between them they cover what LLVM's "AMDGPU Generic Processors" lists; gfx908
# and gfx90a are in none.
# Installs nothing, writes only here or into DIR. Same compilers, same bytes: each source is compiled in a temporary directory
# under its bare name, so no path reaches the output.
set -euo pipefail
export LC_ALL=C
unset HIPCC_COMPILE_FLAGS_APPEND HIPCC_LINK_FLAGS_APPEND CCC_OVERRIDE_OPTIONS # would change the bytes

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
all="gfx90a gfx942 gfx908 gfx9-generic gfx9-4-generic gfx10-1-generic gfx10-3-generic gfx11-generic gfx12-generic"
targets=${TARGETS:-$all}

die() { printf 'hip/build.sh: %s\n' "$*" >&2; exit 1; }
first_of() { local c; for c; do command -v -- "$c" 2>/dev/null && return 0; done; return 1; }

check=no to=
case "${1-}" in
  '') ;;
  --to) to=${2-}; [ -d "$to" ] || die "--to: no folder $to" ;;
  --check) check=yes ;;
  -h | --help) sed -n '2,/^set /{/^set /!s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; exit 0 ;;
  *) die "unknown option $1 (--to DIR, --check, --help)" ;;
esac

work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
cp -- "$here"/*.hip "$here"/*.h "$work"
mkdir "$work/out"

if [ -n "${HIPCC-}" ]; then
  hipcc=$(first_of "$HIPCC") || die "HIPCC=$HIPCC: no such program"
else
  hipcc=$(first_of hipcc ${ROCM_PATH:+"$ROCM_PATH/bin/hipcc"} /opt/rocm/bin/hipcc) || hipcc=
fi
if [ -n "${CLANG-}" ]; then
  clang=$(first_of "$CLANG") || die "CLANG=$CLANG: no such program"
else
  clang=$(first_of clang-{30..17} clang) || clang=
fi

if [ -n "${BUNDLER-}" ]; then
  bundler=$(first_of "$BUNDLER") || die "BUNDLER=$BUNDLER: no such program"
else
  bundler=$(first_of clang-offload-bundler-{30..20} clang-offload-bundler) || bundler=
fi

common=(-O3 -Wall -Wextra -fuse-cuid=none --no-gpu-bundle-output)
with_hipcc() { (cd "$work" && "$hipcc" --genco "--offload-arch=$1" "-mcode-object-version=$2" "${common[@]}" "$3" -o "$4"); }
with_clang() {
  (cd "$work" && "$clang" -x hip --cuda-device-only -nogpuinc -nogpulib "-DHIPLAUNCH_STANDALONE=$2" \
    "--offload-arch=$1" "-mcode-object-version=$2" "${common[@]}" "$3" -o "$4")
}

# How each way names itself in built-with.txt. HIP's headers and device libraries are part of the output too.
hipcc_version() { "$hipcc" --version 2>/dev/null | sed -n '/^HIP version/p;/clang version/p' | paste -sd ';' | sed 's/;/; /g'; }
clang_version() { "$clang" --version | head -n 1; }

printf '#include "kernel.h"\nextern "C" __global__ void probe(unsigned* p) { *p = blockIdx.x; }\n' > "$work/try.hip"
differ=0 compared=0 skipped=0
for target in $targets; do
  case $target in gfx90a | gfx908) version=4 ;; *-generic) version=6 ;; *) version=5 ;; esac
  if [ -n "$hipcc" ] && with_hipcc "$target" "$version" try.hip try.co > "$work/hipcc.log" 2>&1; then
    compile=with_hipcc name="$(hipcc_version)"
  elif [ -n "$clang" ] && with_clang "$target" "$version" try.hip try.co > "$work/clang.log" 2>&1; then
    compile=with_clang name="$(clang_version), standalone"
  else
    compile=
    {
      echo "no compiler for $target:"
      if [ -n "$hipcc" ]; then echo "  $hipcc says:"; tail -n 4 "$work/hipcc.log" | sed 's/^/    /'
      else echo "  no hipcc (Debian: apt install hipcc; ROCm: set HIPCC or ROCM_PATH)"; fi
      if [ -n "$clang" ]; then echo "  $clang says:"; tail -n 4 "$work/clang.log" | sed 's/^/    /'
      else echo "  no clang from 17 on (apt.llvm.org: clang-22 and lld-22; set CLANG)"; fi
    } >&2
  fi

  if [ "$check" = yes ]; then
    recorded=$(sed -n "s/^$target: //p" "$here/built-with.txt")
    [ -n "$compile" ] || name="no compiler"
    if [ "$name" != "$recorded" ]; then
      echo "$target: not compared: built with \"$recorded\", here is \"$name\""
      skipped=$((skipped + 1))
      continue
    fi
  elif [ -z "$compile" ]; then
    exit 1
  fi

  for source in "$here"/*.hip; do
    source=$(basename -- "$source")
    # GFX12 has no global wave sync, so grid.hip is not for every target and has no bundle.
    case $source:$target in grid.hip:gfx90a | grid.hip:gfx942) ;; grid.hip:*) continue ;; esac
    object=${source%.hip}.$target.co
    $compile "$target" "$version" "$source" "out/$object" > "$work/log" 2>&1 || { cat "$work/log" >&2; die "$object: cannot compile"; }
    # Warnings of the sources are worth showing; hipcc's helpers complain about the missing GPU.
    grep -A 4 -E '\.(hip|h):[0-9]+:[0-9]+: warning' "$work/log" >&2 || true
    [ "$(head -c 4 "$work/out/$object" | od -An -tx1 | tr -d ' ')" = 7f454c46 ] || die "$object: $compile did not write a raw ELF"
    if [ "$check" = yes ] && [ -e "$here/$object" ]; then
      compared=$((compared + 1))
      cmp -- "$work/out/$object" "$here/$object" || differ=1
    fi
  done
  [ "$check" = yes ] || echo "$target: $name" >> "$work/built-with"
done

# The bundles, of all targets or not at all.
bundled=no
if [ "$targets" = "$all" ] && [ "$skipped" = 0 ]; then
  [ -n "$bundler" ] || die "no clang-offload-bundler from 20 on (Debian: apt install clang-tools-22; set BUNDLER)"
  bundled=yes
  for source in "$here"/*.hip; do
    name=$(basename -- "$source" .hip)
    [ "$name" != grid ] || continue
    ids=host-x86_64-unknown-linux-gnu- inputs=(-input=/dev/null)
    for target in $all; do
      ids=$ids,hipv4-amdgcn-amd-amdhsa--$target
      inputs+=("-input=$work/out/$name.$target.co")
    done
    "$bundler" -type=o -compress -compression-level=19 "-targets=$ids" "${inputs[@]}" "-output=$work/out/$name.hipfb" ||
      die "$name.hipfb: cannot bundle"
    if [ "$check" = yes ]; then
      compared=$((compared + 1))
      cmp -- "$work/out/$name.hipfb" "$here/$name.hipfb" || differ=1
    fi
  done
fi

if [ "$check" = yes ]; then
  [ "$differ" = 0 ] || die "the checked-in code objects are not what the sources give; run hip/build.sh"
  echo "$compared files equal, $skipped targets not compared"
  [ "$compared" -gt 0 ] || exit 77
  exit 0
fi

if [ -n "$to" ]; then
  install -m 644 -- "$work"/out/* "$to"
  cat "$work/built-with"
  exit 0
fi

# All compiled: only now touch the tree. Plain copies, not executables.
for object in "$work"/out/*.gfx90a.co "$work"/out/*.gfx942.co "$work"/out/*.hipfb; do
  [ ! -e "$object" ] || install -m 644 -- "$object" "$here"
done
[ "$bundled" = yes ] || echo "only for $targets: the bundles are as they were"
grep -vE "^(${targets// /|}): " "$here/built-with.txt" > "$work/kept" 2>/dev/null || true
sort "$work/kept" "$work/built-with" > "$here/built-with.txt"
cat "$here/built-with.txt"
(cd "$here" && wc -c -- *.co *.hipfb | tail -n 1)
