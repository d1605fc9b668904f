#!/usr/bin/env bash
# Compiles each NAME.hip here that is no link (those belong to the root's hip/) for gfx90a, gfx942 and gfx950 into one compressed offload bundle, NAME.hipfb.
#
#   hip/build.sh            rebuild in place
#   hip/build.sh --check    rebuild elsewhere and compare: exit 0 equal, 1 different
#
# Needs a clang that knows gfx950 (20 or newer), its lld and its clang-offload-bundler (Debian: clang-22 lld-22
# clang-tools-22; set CLANG and BUNDLER for others). Neither HIP's headers nor device libraries are used. Debian's clang
# 22.1.8 made the checked-in files; the same compiler gives the same bytes.
set -euo pipefail
export LC_ALL=C
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
clang=${CLANG:-clang-22} bundler=${BUNDLER:-clang-offload-bundler-22}
for tool in "$clang" "$bundler"; do
  command -v -- "$tool" > /dev/null || { echo "hip/build.sh: no $tool (Debian: clang-22 lld-22 clang-tools-22)" >&2; exit 1; }
done
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
cp -L -- "$here"/*.hip "$here"/*.h "$work"
cd "$work"
for source in *.hip; do
  [ ! -L "$here/$source" ] || continue
  name=${source%.hip} ids=host-x86_64-unknown-linux-gnu- inputs=(-input=/dev/null)
  for target in gfx90a gfx942 gfx950; do
    # Sums and products are fused only where the source says so: the host repeats them bit for bit.
    "$clang" -x hip --cuda-device-only -nogpuinc -nogpulib -DHIPLAUNCH_STANDALONE=5 "--offload-arch=$target" \
      -mcode-object-version=5 -O3 -Wall -Wextra -ffp-contract=off -fuse-cuid=none --no-gpu-bundle-output \
      -Xoffload-linker -s "$source" -o "$name.$target.co"
    ids=$ids,hipv4-amdgcn-amd-amdhsa--$target inputs+=("-input=$name.$target.co")
  done
  "$bundler" -type=o -compress -compression-level=19 "-targets=$ids" "${inputs[@]}" "-output=$name.hipfb"
  if [ "${1-}" = --check ]; then cmp -- "$name.hipfb" "$here/$name.hipfb"; else install -m 644 -- "$name.hipfb" "$here"; fi
done
