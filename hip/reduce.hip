// Block reductions: one partial sum a workgroup, through LDS and barriers.
//
// Both: work-item t of T = grid * block first sums x[t], x[t+T], x[t+2T], ... in that order from 0, then the
// workgroup adds its items pairwise, v[i] += v[i + s] for s = the halves of the block's size, largest first.
// The order is fixed, so the result is the same bit for bit on every run and easy to repeat on the host.
#include "kernel.h"

static __device__ inline float own_sum(const float* x, int n) {
  float sum = 0.0f;
  // 64 bits: the last step may pass 2^31.
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x)
    sum += x[i];
  return sum;
}

// partial[workgroup] = its sum. Block (256,1,1), any grid (g,1,1); 1 KiB of static LDS.
extern "C" __global__ void __launch_bounds__(256) reduce_sum_f32(const float* x, float* partial, int n) {
  __shared__ float v[256];
  unsigned t = threadIdx.x;
  v[t] = own_sum(x, n);
  __syncthreads();
  for (unsigned s = 128; s > 0; s /= 2) {
    if (t < s) v[t] += v[t + s];
    __syncthreads();
  }
  if (t == 0) partial[blockIdx.x] = v[0];
}

// As reduce_sum_f32 for any block (b,1,1), b a power of two up to 1024; dynamic LDS 4*b bytes, no static LDS.
extern "C" __global__ void reduce_sum_dyn_f32(const float* x, float* partial, int n) {
  extern __shared__ float dynamic[];
  unsigned t = threadIdx.x;
  dynamic[t] = own_sum(x, n);
  __syncthreads();
  for (unsigned s = blockDim.x / 2; s > 0; s /= 2) {
    if (t < s) dynamic[t] += dynamic[t + s];
    __syncthreads();
  }
  if (t == 0) partial[blockIdx.x] = dynamic[0];
}
