#!/bin/sh
# Rebuilds the benchmark's code object; any ROCm's hipcc will do (the one checked in is from Debian's hipcc 5.2).
cd "$(dirname "$0")" && hipcc --genco --offload-arch=gfx90a -O3 -o kernels.bundle kernels.hip &&
    "${BUNDLER:-clang-offload-bundler}" --unbundle --type=o --targets=hipv4-amdgcn-amd-amdhsa--gfx90a \
        --input=kernels.bundle --output=kernels.gfx90a.co && rm kernels.bundle
# These need clang 22.
clang-22 -x hip --cuda-device-only --no-gpu-bundle-output -nogpuinc -nogpulib -fuse-cuid=none -w -O3 \
    --offload-arch=gfx90a memory.hip -o memory.gfx90a.co
for target in gfx90a "gfx942 -DFP8" "gfx950 -DFP8 -DGFX950" "gfx1100 -DGFX11"; do
    clang-22 -x hip --cuda-device-only --no-gpu-bundle-output -nogpuinc -nogpulib -fuse-cuid=none -w -O3 \
        --offload-arch=$target matrices.hip -o "matrices.${target%% *}.co"
done
