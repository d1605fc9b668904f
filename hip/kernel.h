// What the kernels here take from HIP: its own header, or, with HIPLAUNCH_STANDALONE set to the code object version
// (4 or 5), just those few names.
//
// Standalone mode needs clang and lld alone, neither HIP's headers nor the device libraries. build.sh uses it for a
// target that the installed HIP is too old to know: HIP 5.2's headers do not compile with the clang that knows gfx942.
#pragma once

#ifndef HIPLAUNCH_STANDALONE
#include <hip/hip_runtime.h>
#else

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __launch_bounds__(...) __attribute__((amdgpu_flat_work_group_size(1, __VA_ARGS__)))

// `name.x`, `.y`, `.z` read as clang's own __clang_cuda_builtin_vars.h has them: properties, no storage.
#define HIPLAUNCH_DIM3(name, read_x, read_y, read_z)                  \
  struct name##_t {                                                   \
    __declspec(property(get = get_x)) unsigned x;                     \
    __declspec(property(get = get_y)) unsigned y;                     \
    __declspec(property(get = get_z)) unsigned z;                     \
    static __device__ inline unsigned get_x() { return read_x; }      \
    static __device__ inline unsigned get_y() { return read_y; }      \
    static __device__ inline unsigned get_z() { return read_z; }      \
  };                                                                  \
  extern const __device__ __attribute__((weak)) name##_t name
HIPLAUNCH_DIM3(threadIdx, __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(),
               __builtin_amdgcn_workitem_id_z());
HIPLAUNCH_DIM3(blockIdx, __builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(),
               __builtin_amdgcn_workgroup_id_z());
HIPLAUNCH_DIM3(blockDim, __builtin_amdgcn_workgroup_size_x(), __builtin_amdgcn_workgroup_size_y(),
               __builtin_amdgcn_workgroup_size_z());
#if HIPLAUNCH_STANDALONE >= 5
// hidden_block_count_x, _y, _z: the first three words of the hidden arguments in code object v5 (LLVM, "User Guide for
// AMDGPU Backend", "Code Object V5 Metadata").
#define HIPLAUNCH_GRID(i, axis) \
  (((const __attribute__((address_space(4))) unsigned*)__builtin_amdgcn_implicitarg_ptr())[i])
#else
// Version 4 has no such argument: the dispatch packet's grid, in work-items, over the workgroup's size.
#define HIPLAUNCH_GRID(i, axis) (__builtin_amdgcn_grid_size_##axis() / __builtin_amdgcn_workgroup_size_##axis())
#endif
HIPLAUNCH_DIM3(gridDim, HIPLAUNCH_GRID(0, x), HIPLAUNCH_GRID(1, y), HIPLAUNCH_GRID(2, z));

static __device__ inline void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

static __device__ inline unsigned atomicAdd(unsigned* p, unsigned v) {
  return __hip_atomic_fetch_add(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

#endif
