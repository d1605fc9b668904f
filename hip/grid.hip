// Kernels whose workgroups wait for each other: cooperative launches.
#include "kernel.h"

// Waits for all workgroups of the grid, as `cooperative_groups::this_grid().sync()` does: one wave of each arrives at resource
// 0 of global wave sync, which a cooperative launch has set up for as many. Written out, so that a compiler without HIP's
// headers can build it. The count lies in v0: the instruction names it by the field of the address, and an interpreter that
// looks at the field of the data finds it there, too.
static __device__ inline void grid_barrier() {
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
  __builtin_amdgcn_s_barrier();
  if (threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0) {
    unsigned others = gridDim.x * gridDim.y * gridDim.z - 1;
    asm volatile(
        "s_mov_b32 m0, 0\n\t"
        "s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)\n\t"
        "ds_gws_barrier v0 gds\n\t"
        "s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)"
        :
        : "{v0}"(others)
        : "memory");
  }
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
}

// `rounds` steps of a stencil with three points, between a and b and back; the grid waits after each.
extern "C" __global__ void grid_stencil(unsigned* a, unsigned* b, int n, int rounds) {
  int first = blockIdx.x * blockDim.x + threadIdx.x;
  int step = gridDim.x * blockDim.x;
  for (int round = 0; round < rounds; round++) {
    const unsigned* from = round & 1 ? b : a;
    unsigned* to = round & 1 ? a : b;
    for (int i = first; i < n; i += step) {
      to[i] = from[i > 0 ? i - 1 : i] + 2 * from[i] + from[i + 1 < n ? i + 1 : i];
    }
    grid_barrier();
  }
}
