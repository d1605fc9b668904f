// Matrix product through square tiles in LDS.
#include "kernel.h"

#define TILE 16

// C = A*B, row-major, packed: A is m x k, B is k x n, C is m x n, any sizes >= 1. Each element of C is
// fma(A[r][i], B[i][c], acc) for i = 0..k in order from 0, so the host repeats it bit for bit with f32::mul_add.
// Block (16,16,1), grid (ceil(n/16), ceil(m/16), 1); 2 KiB of static LDS.
extern "C" __global__ void __launch_bounds__(TILE * TILE)
    matmul_f32(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float a_tile[TILE][TILE];
  __shared__ float b_tile[TILE][TILE];
  int x = (int)threadIdx.x, y = (int)threadIdx.y;
  long long row = (long long)blockIdx.y * TILE + y, col = (long long)blockIdx.x * TILE + x;
  float acc = 0.0f;
  for (long long base = 0; base < k; base += TILE) {
    // Outside the matrices both tiles hold 0, which leaves the sum as it is.
    a_tile[y][x] = row < m && base + x < k ? a[row * k + base + x] : 0.0f;
    b_tile[y][x] = base + y < k && col < n ? b[(base + y) * n + col] : 0.0f;
    __syncthreads();
    for (int i = 0; i < TILE; i++) acc = __builtin_fmaf(a_tile[y][i], b_tile[i][x], acc);
    __syncthreads();
  }
  if (row < m && col < n) c[row * n + col] = acc;
}
