#!/bin/sh
# Rebuilds the objects of this folder with LLVM's assembler and linker: clang 15 for code object v4, 22 for v5.
cd "$(dirname "$0")" || exit
old() { # old OUTPUT SOURCE TARGET FLAGS: code object v4
    out=$1 source=$2 target=$3; shift 3
    ${CLANG15:-clang-15} -target amdgcn-amd-amdhsa -mcpu="$target" -mcode-object-version=4 -nogpulib -Wl,-s \
        "-DTARGET=amdgcn-amd-amdhsa--$target" '-DMETADATA_VERSION=[1, 1]' "$@" "$source" -o "$out"
}
new() { # new OUTPUT SOURCE TARGET FLAGS: code object v5
    out=$1 source=$2 target=$3; shift 3
    ${CLANG22:-clang-22} -target amdgcn-amd-amdhsa -mcpu="$target" -mcode-object-version=5 -Wl,-s \
        "-DTARGET=amdgcn-amd-amdhsa--$target" '-DMETADATA_VERSION=[1, 2]' "$@" "$source" -o "$out"
}
old stream.gfx90a.co stream.S gfx90a -DGFX90A &&
new stream.gfx942.co stream.S gfx942 &&
new stream.gfx950.co stream.S gfx950 &&
old group.gfx90a.co group.S gfx90a &&
new group.gfx942.co group.S gfx942 &&
old sum.gfx90a.co sum.S gfx90a &&
new sum.gfx942.co sum.S gfx942 &&
new image.gfx1100.co empty.S gfx1100 -DIMAGE -DWAVE=32 &&
new empty.gfx908.co empty.S gfx908 -DWAVE=64 &&
new empty.gfx1100.co empty.S gfx1100 -DWAVE=32 &&
new initial.gfx1100.co initial.S gfx1100 -DWAVE=32 &&
new initial.wave64.gfx1100.co initial.S gfx1100 -DWAVE=64 -mwavefrontsize64 &&
chmod -x ./*.co
