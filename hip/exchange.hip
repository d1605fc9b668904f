// Elements with strides to and from the staging memory of an exchange (crates/hiplaunch-mpi).
//
// Elements have up to four axes of s0, s1, s2 and s3 indices, the last the innermost; their distances t0 to t3 are in
// elements and may be negative. Staging memory has them in row-major order without gaps.
//
// Contract of all: block (b,1,1), grid (ceil(n/b),1,1), n = s0 s1 s2 s3; work-items past n do nothing.
#include "kernel.h"

static __device__ inline long long place(unsigned i, unsigned s1, unsigned s2, unsigned s3, long long t0, long long t1,
                                         long long t2, long long t3) {
  unsigned i3 = i % s3, rest = i / s3;
  unsigned i2 = rest % s2;
  rest /= s2;
  return (long long)(rest / s1) * t0 + (long long)(rest % s1) * t1 + (long long)i2 * t2 + (long long)i3 * t3;
}

struct alignas(16) Words4 {
  unsigned words[4];
};

#define EXCHANGE(T, suffix)                                                                                       \
  extern "C" __global__ void pack_##suffix(const T* from, T* staging, unsigned n, unsigned s1, unsigned s2,       \
                                           unsigned s3, long long t0, long long t1, long long t2, long long t3) { \
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;                                                           \
    if (i < n) staging[i] = from[place(i, s1, s2, s3, t0, t1, t2, t3)];                                           \
  }                                                                                                               \
  extern "C" __global__ void unpack_##suffix(T* to, const T* staging, unsigned n, unsigned s1, unsigned s2,       \
                                             unsigned s3, long long t0, long long t1, long long t2,               \
                                             long long t3) {                                                      \
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;                                                           \
    if (i < n) to[place(i, s1, s2, s3, t0, t1, t2, t3)] = staging[i];                                             \
  }

EXCHANGE(unsigned char, 1)
EXCHANGE(unsigned short, 2)
EXCHANGE(unsigned, 4)
EXCHANGE(unsigned long long, 8)
EXCHANGE(Words4, 16)
