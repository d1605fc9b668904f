// Copies and fills on the device, and values that a stream writes: what the driver over HSA (crates/hsa-driver) has kernels for.
//
// Contract of all but `write_value`: block (256,1,1), any grid; `stride` is the number of work-items of the grid. Work-item i
// has elements i, i + stride and so on. The ranges of a copy do not overlap.
#include "kernel.h"

struct alignas(16) Words4 {
  unsigned words[4];
};

static __device__ inline unsigned long long first() { return blockIdx.x * 256ull + threadIdx.x; }

// Copies `bytes` bytes between addresses that are multiples of 16.
extern "C" __global__ void copy_aligned(Words4* to, const Words4* from, unsigned long long bytes, unsigned long long stride) {
  unsigned long long whole = bytes / 16;
  for (unsigned long long i = first(); i < whole; i += stride) to[i] = from[i];
  for (unsigned long long i = whole * 16 + first(); i < bytes; i += stride)
    reinterpret_cast<unsigned char*>(to)[i] = reinterpret_cast<const unsigned char*>(from)[i];
}

// Copies `bytes` bytes between any addresses.
extern "C" __global__ void copy_bytes(unsigned char* to, const unsigned char* from, unsigned long long bytes,
                                      unsigned long long stride) {
  for (unsigned long long i = first(); i < bytes; i += stride) to[i] = from[i];
}

// Sets `count` words to `value`.
extern "C" __global__ void fill_words(unsigned* to, unsigned long long count, unsigned long long stride, unsigned value) {
  for (unsigned long long i = first(); i < count; i += stride) to[i] = value;
}

// Sets `count` bytes to `value`.
extern "C" __global__ void fill_bytes(unsigned char* to, unsigned long long count, unsigned long long stride, unsigned value) {
  for (unsigned long long i = first(); i < count; i += stride) to[i] = value;
}

// Block (1,1,1), grid (1,1,1): writes `value` as one access of `width` bytes, 4 or 8, which releases what was written before to
// the system.
extern "C" __global__ void write_value(void* to, unsigned long long value, unsigned width) {
  if (width == 4)
    __hip_atomic_store(static_cast<unsigned*>(to), static_cast<unsigned>(value), __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
  else
    __hip_atomic_store(static_cast<unsigned long long*>(to), value, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
}

// Block (1,1,1), grid (1,1,1): prepares global wave sync for `others` and one more workgroups. GFX12 has none.
extern "C" __global__ void gws_init(unsigned others) {
#ifndef __GFX12__
  __builtin_amdgcn_ds_gws_init(others, 0);
#endif
}
