#!/bin/sh
# Rebuilds the objects of this folder: with Debian's hipcc 5.2, and for RDNA with clang 22 and the same headers and device library, which
# knows gfx1030, the predecessor of the others.
set -eu
cd "$(dirname "$0")"
${HIPCC:-hipcc} --genco --offload-arch=gfx90a -O2 -o textures.gfx90a.bundle textures.hip 2>/dev/null
bitcode=${BITCODE:-/usr/lib/x86_64-linux-gnu/amdgcn/bitcode}
libraries=
for library in ockl ocml oclc_isa_version_1030; do
    libraries="$libraries -Xclang -mlink-builtin-bitcode -Xclang $bitcode/$library.bc"
done
for build in gfx1030:32 gfx1100:32 gfx1100:64 gfx1201:32 gfx1201:64; do
    processor=${build%:*} size=${build#*:}
    flags="-D__AMDGCN_WAVEFRONT_SIZE=$size"
    switch=off
    [ $size = 32 ] || { flags="$flags -mwavefrontsize64" switch=on; }
    ${CLANG22:-clang-22} -x hip --cuda-device-only --no-gpu-bundle-output -fuse-cuid=none -w --offload-arch=$processor -O2 -nogpulib \
        $flags $libraries -Xclang -mlink-builtin-bitcode -Xclang $bitcode/oclc_wavefrontsize64_$switch.bc \
        -Wl,-s -o textures.wave$size.$processor.co textures.hip
done
chmod -x ./*.co ./*.bundle
