// Kernels as a JIT compiler emits them: the only argument is a pointer to an argument block in device memory.
//
// The host writes the block, little-endian, with zeros where device addresses go; the runtime patches the
// addresses (`result` always, at offset 0) and copies the block to the device before the launch. The structs below
// are those layouts: natural C alignment, offsets checked at compile time.
#include "kernel.h"

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

// 32 + 4*n bytes; the result is n floats (n = 16: a 64-byte result).
struct PolynomialBlock {
  u64 result;   // offset 0: device address of float[n]
  u32 n;        // 8: elements
  u32 pad;      // 12: any value
  float c[4];   // 16: coefficients, constant term first
  float x[];    // 32: float[n]
};
static_assert(__builtin_offsetof(PolynomialBlock, n) == 8, "");
static_assert(__builtin_offsetof(PolynomialBlock, c) == 16, "");
static_assert(__builtin_offsetof(PolynomialBlock, x) == 32, "");

// result[i] = fma(fma(fma(c3, x, c2), x, c1), x, c0) for x = x[i]. Block (b,1,1), grid (ceil(n/b),1,1).
extern "C" __global__ void jit_polynomial(const void* block) {
  const PolynomialBlock* b = (const PolynomialBlock*)block;
  u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= b->n) return;
  float x = b->x[i], y = b->c[3];
  y = __builtin_fmaf(y, x, b->c[2]);
  y = __builtin_fmaf(y, x, b->c[1]);
  y = __builtin_fmaf(y, x, b->c[0]);
  ((float*)b->result)[i] = y;
}

// 32 bytes; the result is one double.
struct DotBlock {
  u64 result;   // offset 0: device address of double
  u64 x;        // 8: device address of float[n]
  u64 y;        // 16: device address of float[n]
  u32 n;        // 24: elements
  u32 pad;      // 28: any value
};
static_assert(sizeof(DotBlock) == 32 && __builtin_offsetof(DotBlock, n) == 24, "");

// *result = sum of x[i]*y[i], products and sums in double (each product is exact). Work-item t sums t, t+256, ...
// in order from 0, then pairwise as reduce_sum_f32 does. Block (256,1,1), grid (1,1,1); 2 KiB of static LDS.
extern "C" __global__ void __launch_bounds__(256) jit_dot(const void* block) {
  __shared__ double v[256];
  const DotBlock* b = (const DotBlock*)block;
  const float* x = (const float*)b->x;
  const float* y = (const float*)b->y;
  u32 t = threadIdx.x;
  double sum = 0.0;
  for (u64 i = t; i < b->n; i += 256) sum += (double)x[i] * (double)y[i];
  v[t] = sum;
  __syncthreads();
  for (u32 s = 128; s > 0; s /= 2) {
    if (t < s) v[t] += v[t + s];
    __syncthreads();
  }
  if (t == 0) *(double*)b->result = v[0];
}

// 12 + bytes bytes; the result is `bytes` bytes.
struct EchoBlock {
  u64 result;    // offset 0: device address of u8[bytes]
  u32 bytes;     // 8: length of the payload
  u8 payload[];  // 12: any bytes
};
static_assert(__builtin_offsetof(EchoBlock, payload) == 12, "");

// result[i] = payload[i]: each launch must see its own bytes. Block (b,1,1), grid (1,1,1), any payload length.
extern "C" __global__ void jit_echo(const void* block) {
  const EchoBlock* b = (const EchoBlock*)block;
  u8* result = (u8*)b->result;
  u32 bytes = b->bytes;
  for (u64 i = threadIdx.x; i < bytes; i += blockDim.x) result[i] = b->payload[i];
}
