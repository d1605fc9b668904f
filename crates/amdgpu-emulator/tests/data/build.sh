#!/bin/sh
# Rebuilds the test kernels. Nothing but clang is needed: version 15 for code object v4, 22 for v5; but for
# printing.hip, heap.hip and cooperative.hip a hipcc with its headers and device library (Debian's 5.2).
cd "$(dirname "$0")" || exit
common="-x hip --cuda-device-only -nogpuinc -nogpulib -Wno-everything --no-gpu-bundle-output"
${CLANG15:-clang-15} $common --offload-arch=gfx90a -mcode-object-version=4 -O3 -o kernels.gfx90a.co kernels.hip &&
${CLANG15:-clang-15} $common --offload-arch=gfx90a -mcode-object-version=4 -O0 -o kernels.gfx90a.O0.co kernels.hip &&
${CLANG22:-clang-22} $common --offload-arch=gfx942 -mcode-object-version=5 -O3 \
    -o kernels.gfx942.co kernels.hip &&
${CLANG22:-clang-22} $common --offload-arch=gfx1201 -mwavefrontsize64 -mcode-object-version=5 -O3 \
    -o kernels.gfx1201.w64.co kernels.hip &&
${CLANG22:-clang-22} $common --offload-arch=gfx1030 -mwavefrontsize64 -mcode-object-version=5 -O3 \
    -o kernels.gfx1030.w64.co kernels.hip &&
${CLANG15:-clang-15} $common --offload-arch=gfx90a -mcode-object-version=4 -O2 -o defects.gfx90a.co defects.hip &&
${CLANG22:-clang-22} $common --offload-arch=gfx1201 -mwavefrontsize64 -mcode-object-version=5 -O2 \
    -o defects.gfx1201.w64.co defects.hip &&
for level in 2 0; do
    ${CLANG15:-clang-15} $common --offload-arch=gfx90a -mcode-object-version=4 -O$level \
        -o unwritten.gfx90a.O$level.co unwritten.hip || exit
done &&
${CLANG22:-clang-22} $common --offload-arch=gfx950 -mcode-object-version=5 -O2 -o unwritten.gfx950.co unwritten.hip &&
${CLANG15:-clang-15} $common --offload-arch=gfx90a -mcode-object-version=4 -O2 -o waiting.gfx90a.co waiting.hip &&
${CLANG15:-clang-15} $common --offload-arch=gfx90a -mcode-object-version=4 -O2 -g -ffile-compilation-dir=. \
    -o lines.gfx90a.co lines.hip &&
${CLANG22:-clang-22} $common --offload-arch=gfx942 -mcode-object-version=5 -O2 \
    -o waiting.gfx942.co waiting.hip &&
${HIPCC:-hipcc} --genco --offload-arch=gfx90a -O2 -o printing.gfx90a.bundle printing.hip &&
${HIPCC:-hipcc} --genco --offload-arch=gfx90a -O2 -mcode-object-version=5 -o heap.gfx90a.bundle heap.hip &&
${HIPCC:-hipcc} --genco --offload-arch=gfx90a -O2 -o cooperative.gfx90a.bundle cooperative.hip &&
chmod -x ./*.co ./*.bundle
