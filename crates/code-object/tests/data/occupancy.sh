#!/usr/bin/env bash
# Writes occupancy.txt: what LLVM says of the occupancy of small kernels, which tests/occupancy.rs compares with this
# crate's. Needs clang 22 (CLANG, default clang-22) with the AMDGPU target.
#
# Each kernel uses VGPRs up to the one that an inline assembly names, and an LDS array that it writes. The columns are
# the processor, the wave size, whether it is compiled for WGP mode, the work-items of a workgroup, the VGPRs and the
# bytes of LDS as LLVM counts them, and the comment "; Occupancy:" of LLVM's assembly: waves on a SIMD.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")"
clang=${CLANG:-clang-22}
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
cat > "$work/k.hip" <<'KERNEL'
#define STRING_OF(x) #x
#define STRING(x) STRING_OF(x)
extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(BLOCK, BLOCK))) void k(int i) {
#if LDS > 0
  __attribute__((shared)) static volatile char lds[LDS];
  lds[i] = 0;
#endif
  asm volatile("" ::: "v" STRING(LAST));
}
KERNEL

try() { # processor wave mode block last lds
  local flags=()
  case $1 in gfx1[0-2]*) [ "$2" = 64 ] && flags+=(-mwavefrontsize64); [ "$3" = wgp ] && flags+=(-mno-cumode) || flags+=(-mcumode) ;; esac
  "$clang" -x hip --cuda-device-only -nogpuinc -nogpulib "--offload-arch=$1" "${flags[@]}" -mcode-object-version=6 \
    -O2 -S "-DBLOCK=$4" "-DLAST=$5" "-DLDS=$6" "$work/k.hip" -o "$work/k.s"
  awk -v id="$1 $2 $3 $4" '/^; TotalNumVgprs:/ { vgprs = $3 } /^; NumVgprs:/ && !vgprs { vgprs = $3 }
    /^; LDSByteSize:/ { lds = $3 } /^; Occupancy:/ { print id, vgprs, lds, $3 }' "$work/k.s"
}

{
  echo "# $("$clang" --version | head -n 1); made by occupancy.sh"
  echo "# processor wave mode block vgprs lds occupancy"
  for processor in gfx900 gfx90a gfx950 gfx1010 gfx1030 gfx1100 gfx1102 gfx1150 gfx1151 gfx1200 gfx1201; do
    case $processor in gfx9*) waves=64 modes=cu ;; *) waves="32 64" modes="cu wgp" ;; esac
    for wave in $waves; do
      for mode in $modes; do
        for last in 7 31 32 47 63 83 95 96 128 167 191 255; do try $processor $wave $mode 64 $last 0; done
        for lds in 5120 8192 20480 32768 65536; do try $processor $wave $mode 256 7 $lds; done
        for block in 32 128 192 1024; do try $processor $wave $mode $block 7 0; done
      done
    done
  done
} > "$work/occupancy.txt"
cp "$work/occupancy.txt" occupancy.txt
