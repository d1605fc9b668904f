#!/bin/sh
# Rebuilds the objects of this folder: with Debian's hipcc 5.2, and for gfx1100 with clang 22 and the same headers and device library,
# which knows that processor's predecessor.
set -eu
cd "$(dirname "$0")"
${HIPCC:-hipcc} --genco --offload-arch=gfx90a -O2 -o textures.gfx90a.bundle textures.hip 2>/dev/null
bitcode=${BITCODE:-/usr/lib/x86_64-linux-gnu/amdgcn/bitcode}
libraries=
for library in ockl ocml oclc_isa_version_1030; do
    libraries="$libraries -Xclang -mlink-builtin-bitcode -Xclang $bitcode/$library.bc"
done
for size in 32 64; do
    flags="-D__AMDGCN_WAVEFRONT_SIZE=$size"
    switch=off
    [ $size = 32 ] || { flags="$flags -mwavefrontsize64" switch=on; }
    ${CLANG22:-clang-22} -x hip --cuda-device-only --no-gpu-bundle-output -fuse-cuid=none -w --offload-arch=gfx1100 -O2 -nogpulib \
        $flags $libraries -Xclang -mlink-builtin-bitcode -Xclang $bitcode/oclc_wavefrontsize64_$switch.bc \
        -Wl,-s -o textures.wave$size.gfx1100.co textures.hip
done
chmod -x ./*.co ./*.bundle
