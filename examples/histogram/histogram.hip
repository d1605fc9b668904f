#include <hip/hip_runtime.h>

struct Range {
  float low, high;
  unsigned bins; // at most 256
};

extern "C" __global__ void histogram(const float* x, unsigned n, Range range, unsigned* counts) {
  __shared__ unsigned local[256];
  for (unsigned b = threadIdx.x; b < range.bins; b += blockDim.x) local[b] = 0;
  __syncthreads();
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float at = (x[i] - range.low) / (range.high - range.low) * range.bins;
    if (at >= 0 && at < range.bins) atomicAdd(&local[(unsigned)at], 1u);
  }
  __syncthreads();
  for (unsigned b = threadIdx.x; b < range.bins; b += blockDim.x) atomicAdd(&counts[b], local[b]);
}
