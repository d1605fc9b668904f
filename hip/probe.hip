// Kernels that make the launch itself visible: argument packing, ids, LDS sizes, duration, faults, globals.
#include "kernel.h"

typedef unsigned long long u64;

// 12 bytes, alignment 4.
struct Triple {
  int x, y, z;
};

static __device__ inline unsigned global_id() { return blockIdx.x * blockDim.x + threadIdx.x; }

// Each argument widened to 64 bits in nine words of out: integers sign-extended, floats as the bits of a double, then
// s.x, s.y, s.z. Kernarg offsets: a 0, b 2, c 4, d 8, e 16, f 24, s 32, out 48; 56 bytes. Grid and block (1,1,1).
extern "C" __global__ void args_mixed(signed char a, short b, int c, long long d, float e, double f, Triple s,
                                      u64* out) {
  if (global_id() != 0) return;
  out[0] = (u64)(long long)a;
  out[1] = (u64)(long long)b;
  out[2] = (u64)(long long)c;
  out[3] = (u64)d;
  out[4] = (u64)__builtin_bit_cast(long long, (double)e);
  out[5] = (u64)__builtin_bit_cast(long long, f);
  out[6] = (u64)(long long)s.x;
  out[7] = (u64)(long long)s.y;
  out[8] = (u64)(long long)s.z;
}

// 12 words a work-item, at its linear number (workgroups in x, y, z order, work-items likewise within each):
// blockIdx x y z, threadIdx x y z, blockDim x y z, gridDim x y z. Any grid, any block.
extern "C" __global__ void ids(unsigned* out) {
  u64 workgroup = ((u64)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  u64 item = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  unsigned* o = out + 12 * (workgroup * (blockDim.x * blockDim.y * blockDim.z) + item);
  o[0] = blockIdx.x, o[1] = blockIdx.y, o[2] = blockIdx.z;
  o[3] = threadIdx.x, o[4] = threadIdx.y, o[5] = threadIdx.z;
  o[6] = blockDim.x, o[7] = blockDim.y, o[8] = blockDim.z;
  o[9] = gridDim.x, o[10] = gridDim.y, o[11] = gridDim.z;
}

// out[0] = bytes of dynamic LDS as the AQL dispatch packet gives them (group_segment_size, offset 28, less the
// static part); out[1], ..., out[4] = 1, 2, 3, 4, kept in 16 bytes of static LDS while the dynamic words are all overwritten.
// Block (b,1,1), b >= 4, grid (1,1,1).
extern "C" __global__ void dynamic_lds_size(unsigned* out) {
  extern __shared__ unsigned dynamic[];
  __shared__ unsigned fixed[4];
  typedef const __attribute__((address_space(4))) unsigned* ConstantWords;
  unsigned bytes = ((ConstantWords)__builtin_amdgcn_dispatch_ptr())[7] - __builtin_amdgcn_groupstaticsize();
  unsigned t = threadIdx.x;
  volatile unsigned* words = dynamic;  // volatile: the stores are the point, nothing reads them
  if (t < 4) fixed[t] = t + 1;
  __syncthreads();
  for (unsigned i = t; i < bytes / 4; i += blockDim.x) words[i] = 0xffffffffu;
  __syncthreads();
  if (t == 0) out[0] = bytes;
  if (t < 4) out[1 + t] = fixed[t];
}

// out[i] = x[n-1-i], by way of dynamic LDS. Block (b,1,1), grid (1,1,1), dynamic LDS 4*n bytes.
extern "C" __global__ void dynamic_lds_reverse(const float* x, float* out, int n) {
  extern __shared__ float staged[];
#pragma clang loop vectorize(disable) unroll(disable)
  for (int i = (int)threadIdx.x; i < n; i += (int)blockDim.x) staged[n - 1 - i] = x[i];
  __syncthreads();
#pragma clang loop vectorize(disable) unroll(disable)
  for (int i = (int)threadIdx.x; i < n; i += (int)blockDim.x) out[i] = staged[i];
}

// Busy for `iterations` steps of s = 1664525*s + 1013904223 (modulo 2^32) from s = 0; out[work-item] = s.
// Any grid (g,1,1), any block (b,1,1).
extern "C" __global__ void spin(u64 iterations, unsigned* out) {
  unsigned s = 0;
  for (u64 i = 0; i < iterations; i++) {
    s = 1664525u * s + 1013904223u;
    asm volatile("" : "+v"(s));  // opaque: neither unrolled into fewer steps nor solved at compile time
  }
  out[global_id()] = s;
}

// p[index + work-item] = 1: a stray store where the host says; the faulting lane is the first one out of bounds.
// Any grid (g,1,1), any block (b,1,1).
extern "C" __global__ void oob_store(float* p, long long index) { p[index + global_id()] = 1.0f; }

// s_trap. Any grid, any block.
extern "C" __global__ void trap_kernel() { __builtin_trap(); }

// *counter += 1 by every work-item, atomically. Any grid, any block.
extern "C" __global__ void atomic_count(unsigned* counter) { atomicAdd(counter, 1u); }

// p[i] += 1. Block (b,1,1), grid (ceil(n/b),1,1).
extern "C" __global__ void bump(unsigned* p, int n) {
  int i = (int)global_id();
  if (i < n) p[i] += 1;
}

// Device globals of the three kinds a loader must handle: zeroed memory past the file's bytes, initialised data,
// and a pointer that needs a relocation.
extern "C" {
__device__ unsigned device_counter;
__device__ unsigned device_step = 1;
__device__ unsigned* device_target = &device_counter;
}

// *device_target += device_step by every work-item, atomically; unless the host changes the globals, device_counter
// grows by one a work-item. Any grid, any block.
extern "C" __global__ void bump_global() { atomicAdd(device_target, device_step); }

// *aK = K + 1 for each of the 24 pointers. Grid and block (1,1,1).
extern "C" __global__ void many_args(unsigned* a0, unsigned* a1, unsigned* a2, unsigned* a3, unsigned* a4, unsigned* a5,
                                     unsigned* a6, unsigned* a7, unsigned* a8, unsigned* a9, unsigned* a10,
                                     unsigned* a11, unsigned* a12, unsigned* a13, unsigned* a14, unsigned* a15,
                                     unsigned* a16, unsigned* a17, unsigned* a18, unsigned* a19, unsigned* a20,
                                     unsigned* a21, unsigned* a22, unsigned* a23) {
  if (global_id() != 0) return;
  *a0 = 1, *a1 = 2, *a2 = 3, *a3 = 4, *a4 = 5, *a5 = 6, *a6 = 7, *a7 = 8;
  *a8 = 9, *a9 = 10, *a10 = 11, *a11 = 12, *a12 = 13, *a13 = 14, *a14 = 15, *a15 = 16;
  *a16 = 17, *a17 = 18, *a18 = 19, *a19 = 20, *a20 = 21, *a21 = 22, *a22 = 23, *a23 = 24;
}

// Does nothing. Any grid, any block.
extern "C" __global__ void no_args() {}
