// Elementwise kernels over one-dimensional arrays, one work-item an element.
//
// Contract of all: block (b,1,1), grid (ceil(n/b),1,1); work-items past n do nothing; n <= 0 does nothing.
#include "kernel.h"

static __device__ inline int element() { return (int)(blockIdx.x * blockDim.x + threadIdx.x); }

// y[i] = fma(a, x[i], y[i]): one rounding, as f32::mul_add on the host.
extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
  int i = element();
  if (i < n) y[i] = __builtin_fmaf(a, x[i], y[i]);
}

// out[i] = x[i] + y[i]
extern "C" __global__ void vadd_f32(const float* x, const float* y, float* out, int n) {
  int i = element();
  if (i < n) out[i] = x[i] + y[i];
}

// y[i] = a * x[i]; y may be x.
extern "C" __global__ void vscale(float a, const float* x, float* y, int n) {
  int i = element();
  if (i < n) y[i] = a * x[i];
}

// p[i] = v
extern "C" __global__ void fill_u32(unsigned* p, unsigned v, int n) {
  int i = element();
  if (i < n) p[i] = v;
}

// p[i] = start + i, modulo 2^32
extern "C" __global__ void iota_u32(unsigned* p, unsigned start, int n) {
  int i = element();
  if (i < n) p[i] = start + (unsigned)i;
}
