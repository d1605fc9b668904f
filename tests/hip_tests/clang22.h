// Lets the HIP 5.2 headers, which were written for clang-15, compile with clang-22.
// hipcc-22 includes it before any other header.
#pragma once
#define HIP_INCLUDE_HIP_HIP_FP16_H  // the 5.2 __half does not compile; what needs it is not built
#define atomicInc hip52_atomicInc   // these two name compiler intrinsics that are gone
#define atomicDec hip52_atomicDec
#include <hip/hip_runtime.h>
#undef atomicInc
#undef atomicDec
static __device__ __attribute__((unused)) inline unsigned atomicInc(unsigned* p, unsigned v) {
  return __scoped_atomic_fetch_uinc(p, v, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}
static __device__ __attribute__((unused)) inline unsigned atomicDec(unsigned* p, unsigned v) {
  return __scoped_atomic_fetch_udec(p, v, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}
// The 5.2 headers take this fence from a bitcode library that clang-22 does not link.
#define COMPAT_FENCE(name)                                                                \
  switch (order) {                                                                        \
    case __memory_order_relaxed: break;                                                   \
    case __memory_order_acquire: __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, name); break;   \
    case __memory_order_release: __builtin_amdgcn_fence(__ATOMIC_RELEASE, name); break;   \
    case __memory_order_acq_rel: __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, name); break;   \
    default: __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, name);                              \
  }
extern "C" __device__ inline void __atomic_work_item_fence(__cl_mem_fence_flags, __memory_order order,
                                                           __memory_scope scope) {
  switch (scope) {
    case __memory_scope_work_item: break;
    case __memory_scope_sub_group: COMPAT_FENCE("wavefront") break;
    case __memory_scope_work_group: COMPAT_FENCE("workgroup") break;
    case __memory_scope_device: COMPAT_FENCE("agent") break;
    default: COMPAT_FENCE("")
  }
}
