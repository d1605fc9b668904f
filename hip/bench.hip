// What `hiplaunch bench` launches: kernels that do as little as can still be checked.
//
// Contract of all but bench_nothing: block (b,1,1) with b a power of two up to 1024, grid (1,1,1). With
// S = sum of words[j] * (2*j + 1) over the argument's words, modulo 2^32, they write result[i] = S + i * 0x9e3779b9 for
// i < results and add S to *sink: every word of every launch's arguments is in both, and no launch can be lost.
#include "kernel.h"

typedef unsigned int u32;
typedef unsigned long long u64;

static __device__ inline void answer(const u32* words, u32 n, u32* result, u32 results, u32* sink) {
  __shared__ u32 sums[1024];
  u32 t = threadIdx.x, b = blockDim.x, sum = 0;
  for (u32 j = t; j < n; j += b) sum += words[j] * (2 * j + 1);
  sums[t] = sum;
  __syncthreads();
  for (u32 s = b / 2; s > 0; s /= 2) {
    if (t < s) sums[t] += sums[t + s];
    __syncthreads();
  }
  sum = sums[0];
  for (u32 i = t; i < results; i += b) result[i] = sum + i * 0x9e3779b9u;
  if (t == 0) *sink += sum;
}

// Any block, any grid: nothing.
extern "C" __global__ void bench_nothing() {}

// 8 + 4*words bytes.
struct Block {
  u64 result;   // offset 0: device address of u32[results]
  u32 words[];  // 8: u32[words]
};
static_assert(__builtin_offsetof(Block, words) == 8, "");

// The words come in an argument block.
extern "C" __global__ void bench_block(const void* block, u32* sink, u32 words, u32 results) {
  const Block* b = (const Block*)block;
  answer(b->words, words, (u32*)b->result, results, sink);
}

template <u32 N>
struct Words {
  u32 words[N];
};

// The words come by value. They begin the kernarg segment, where they are read in place: a copy of them, indexed as the
// loop does, would go to scratch memory.
#define BENCH_VALUE(bytes)                                                                                       \
  extern "C" __global__ void bench_value_##bytes(Words<bytes / 4>, u32* result, u32* sink, u32 results) {        \
    answer((const u32*)__builtin_amdgcn_kernarg_segment_ptr(), bytes / 4, result, results, sink);                \
  }
BENCH_VALUE(8)
BENCH_VALUE(64)
BENCH_VALUE(256)
BENCH_VALUE(1024)
