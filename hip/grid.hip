// Kernels whose workgroups wait for each other: cooperative launches.
#include "kernel.h"

#ifndef HIPLAUNCH_STANDALONE
#include <hip/hip_cooperative_groups.h>

static __device__ inline void grid_barrier() { cooperative_groups::this_grid().sync(); }
#else
// What `__ockl_grid_sync` of ROCm's device library does: one wave of each workgroup arrives at resource 0 of global wave
// sync, which a cooperative launch has set up for as many.
static __device__ inline void grid_barrier() {
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
  __builtin_amdgcn_s_barrier();
  if (threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0) {
    __builtin_amdgcn_ds_gws_barrier(gridDim.x * gridDim.y * gridDim.z - 1, 0);
  }
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
}
#endif

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
