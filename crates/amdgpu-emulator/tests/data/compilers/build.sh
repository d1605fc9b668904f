#!/bin/sh
# Rebuilds the objects of other compilers. Debian packages: clang-22 lld-22 llvm-22 llvm-15 lld-15.
set -eu
cd "$(dirname "$0")"
hip="-x hip --cuda-device-only --no-gpu-bundle-output -nogpuinc -nogpulib -fuse-cuid=none -w"
clang-22 -x cl -cl-std=CL1.2 -Xclang -finclude-default-header -w -target amdgcn-amd-amdhsa -mcpu=gfx90a -nogpulib \
    -mcode-object-version=5 -O2 opencl.cl -o opencl.gfx90a.co
clang-22 $hip --offload-arch=gfx942 -mprintf-kind=buffered -O2 buffered.hip -o buffered.gfx942.co
clang-22 $hip --offload-arch=gfx9-4-generic -O0 generic.hip -o generic.co
clang-22 $hip --offload-arch=gfx950 -O2 scaled.hip -o scaled.gfx950.co
ir() {
    llc-$1 -mtriple=amdgcn-amd-amdhsa -mcpu=$2 -filetype=obj $3 $4 -o object.o
    ld.lld-$1 -shared object.o -o $5
    rm object.o
}
ir 22 gfx942 -O3 triton.ll triton.gfx942.co
ir 22 gfx90a -O0 triton.ll triton.gfx90a.O0.co
ir 22 gfx942 -O3 triton_grid.ll triton_grid.gfx942.co
ir 22 gfx90a -O0 triton_grid.ll triton_grid.gfx90a.O0.co
ir 22 gfx90a -O2 constructor.ll constructor.gfx90a.co
ir 15 gfx90a -O2 wave.ll wave.gfx90a.co
ir 22 gfx942 "-O0 -global-isel" wave.ll wave.gfx942.co
ir 22 gfx942 -O2 unreachable.ll unreachable.gfx942.co
ir 22 gfx90a -O2 bytes.ll bytes.gfx90a.co
