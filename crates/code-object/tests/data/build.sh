#!/bin/sh
# Rebuilds the test objects and the texts that the tests compare with. Debian packages (LLVM's own serve as well):
# clang-15 lld-15 llvm-22 clang-22 lld-22 clang-tools-22 python3. The result is the same byte for byte.
set -eu
cd "$(dirname "$0")"
hip="-x hip --cuda-device-only --no-gpu-bundle-output -nogpuinc -nogpulib -O2"
clang-15 $hip --offload-arch=gfx90a -mcode-object-version=4 sample.hip -o v4.co
clang-15 $hip --offload-arch=gfx90a:sramecc+:xnack- -mcode-object-version=5 sample.hip -o v5.co
clang-22 $hip -fuse-cuid=none --offload-arch=gfx942 -mcode-object-version=6 \
    -mllvm -amdgpu-kernarg-preload-count=6 sample.hip -o v6.co
clang-22 $hip -fuse-cuid=none --offload-arch=gfx9-4-generic -mcode-object-version=6 sample.hip -o generic.co
clang-22 -x cl -cl-std=CL2.0 -cl-kernel-arg-info -target amdgcn-amd-amdhsa -mcpu=gfx90a -nogpulib -O2 \
    -mcode-object-version=5 opencl.cl -o opencl.co

# Two objects linked to one, which has two metadata notes, each with a kernel and a printf format.
opencl="-target amdgcn-amd-amdhsa -mcpu=gfx90a -nogpulib -O2 -mcode-object-version=4"
for part in FIRST SECOND; do
    clang-15 -x cl -cl-std=CL2.0 $opencl -D$part -S -emit-llvm linked.cl -o $part.ll
    printf '!llvm.printf.fmts = !{!100}\n!100 = !{!"1:1:4:%s"}\n' $part >> $part.ll
    clang-15 $opencl -c $part.ll -o $part.o
done
ld.lld-15 -shared FIRST.o SECOND.o -o linked.co
chmod -x linked.co
rm FIRST.* SECOND.*

bundler=${BUNDLER:-clang-offload-bundler-22}
entries="-type=o -bundle-align=4096
    -targets=host-x86_64-unknown-linux-gnu,hipv4-amdgcn-amd-amdhsa--gfx90a,hipv4-amdgcn-amd-amdhsa--gfx942
    -input=/dev/null -input=v4.co -input=v6.co"
$bundler $entries -output=plain.hipfb
COMPRESSED_BUNDLE_FORMAT_VERSION=2 $bundler $entries -compress -output=zstd-v2.hipfb
COMPRESSED_BUNDLE_FORMAT_VERSION=3 $bundler $entries -compress -output=zstd-v3.hipfb
# A clang without zstd writes zlib; the first version of the header has no file size.
python3 - <<'PYTHON'
import hashlib, struct, zlib
plain = open("plain.hipfb", "rb").read()
digest = hashlib.md5(plain).digest()[:8]
header = struct.pack("<4sHHI8s", b"CCOB", 1, 0, len(plain), digest)
open("zlib-v1.hipfb", "wb").write(header + zlib.compress(plain, 9))
PYTHON

for name in v4 v5 v6 generic opencl; do
    chmod -x $name.co
    llvm-readelf-22 --notes $name.co > $name.notes.txt
    llvm-readelf-22 --wide --program-headers --relocations --symbols $name.co > $name.elf.txt
    llvm-objdump-22 -D -j .rodata $name.co > $name.kd.txt
done
