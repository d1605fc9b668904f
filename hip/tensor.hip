// The operations of lazy tensors, for float, double and 32-bit integers.
//
// Elementwise kernels: block (b,1,1), grid (ceil(n/b),1,1); each work-item reads its element of every operand before it
// writes it, so that the result may lie where an operand does. The letters at the end of a name say for each operand
// whether it is a tensor (t) or a scalar (s).
#include "kernel.h"
#include "tensor_math.h"

static __device__ inline unsigned element() { return blockIdx.x * blockDim.x + threadIdx.x; }

#define UNARY(T, name, suffix)                                                                       \
  extern "C" __global__ void name##_##suffix(const T* x, T* out, unsigned n) {                       \
    unsigned i = element();                                                                          \
    if (i < n) out[i] = tensor_##name(x[i]);                                                         \
  }
#define BINARY(T, name, suffix)                                                                      \
  extern "C" __global__ void name##_##suffix##_tt(const T* x, const T* y, T* out, unsigned n) {      \
    unsigned i = element();                                                                          \
    if (i < n) out[i] = tensor_##name(x[i], y[i]);                                                   \
  }                                                                                                  \
  extern "C" __global__ void name##_##suffix##_ts(const T* x, T y, T* out, unsigned n) {             \
    unsigned i = element();                                                                          \
    if (i < n) out[i] = tensor_##name(x[i], y);                                                      \
  }
#define SCALAR_FIRST(T, name, suffix)                                                                \
  extern "C" __global__ void name##_##suffix##_st(T x, const T* y, T* out, unsigned n) {             \
    unsigned i = element();                                                                          \
    if (i < n) out[i] = tensor_##name(x, y[i]);                                                      \
  }
#define FMA(T, suffix)                                                                               \
  extern "C" __global__ void fma_##suffix##_ttt(const T* x, const T* y, const T* z, T* out, unsigned n) { \
    unsigned i = element();                                                                          \
    if (i < n) out[i] = tensor_fma(x[i], y[i], z[i]);                                                \
  }                                                                                                  \
  extern "C" __global__ void fma_##suffix##_tts(const T* x, const T* y, T z, T* out, unsigned n) {   \
    unsigned i = element();                                                                          \
    if (i < n) out[i] = tensor_fma(x[i], y[i], z);                                                   \
  }                                                                                                  \
  extern "C" __global__ void fma_##suffix##_tst(const T* x, T y, const T* z, T* out, unsigned n) {   \
    unsigned i = element();                                                                          \
    if (i < n) out[i] = tensor_fma(x[i], y, z[i]);                                                   \
  }                                                                                                  \
  extern "C" __global__ void fma_##suffix##_tss(const T* x, T y, T z, T* out, unsigned n) {          \
    unsigned i = element();                                                                          \
    if (i < n) out[i] = tensor_fma(x[i], y, z);                                                      \
  }

#define LANES 256
// Sums over an axis of n elements. x is (outer, n, inner), row-major.
//
// sum_serial: out[o] for o < count = outer * inner; one work-item each, adding in order to 0. Block (b,1,1),
// grid (ceil(count/b),1,1).
//
// sum_rows: inner is 1; one workgroup a row, grid (g,1,1) for any g, block (256,1,1). Work-item t adds x[t], x[t+256], ...
// to 0, then v[t] += v[t + s] for s = 128, 64, ..., 1.
#define SUM(T, suffix)                                                                               \
  extern "C" __global__ void sum_serial_##suffix(const T* x, T* out, unsigned n, unsigned inner, unsigned count) { \
    unsigned o = element();                                                                          \
    if (o >= count) return;                                                                          \
    const T* p = x + (unsigned long long)(o / inner) * n * inner + o % inner;                        \
    T sum = 0;                                                                                       \
    for (unsigned j = 0; j < n; j++) sum = tensor_add(sum, p[(unsigned long long)j * inner]);        \
    out[o] = sum;                                                                                    \
  }                                                                                                  \
  extern "C" __global__ void __launch_bounds__(LANES)                                                \
      sum_rows_##suffix(const T* x, T* out, unsigned n, unsigned rows) {                             \
    __shared__ T v[LANES];                                                                           \
    unsigned t = threadIdx.x;                                                                        \
    for (unsigned long long row = blockIdx.x; row < rows; row += gridDim.x) {                        \
      T sum = 0;                                                                                     \
      for (unsigned long long j = t; j < n; j += LANES) sum = tensor_add(sum, x[row * n + j]);       \
      v[t] = sum;                                                                                    \
      __syncthreads();                                                                               \
      for (unsigned s = LANES / 2; s > 0; s /= 2) {                                                  \
        if (t < s) v[t] = tensor_add(v[t], v[t + s]);                                                \
        __syncthreads();                                                                             \
      }                                                                                              \
      if (t == 0) out[row] = v[0];                                                                   \
      __syncthreads();                                                                               \
    }                                                                                                \
  }

#define TILE 16
// C = A*B, row-major: A is m x k, B is k x n, C is m x n. Each element is acc = fma(a, b, acc) from 0 for the k terms in
// order. Block (16,16,1), grid (ceil(m/16) * ceil(n/16),1,1): tiles row by row.
#define PRODUCT(T, suffix)                                                                           \
  extern "C" __global__ void __launch_bounds__(TILE * TILE)                                          \
      product_##suffix(const T* a, const T* b, T* c, unsigned m, unsigned n, unsigned k) {           \
    __shared__ T a_tile[TILE][TILE];                                                                 \
    __shared__ T b_tile[TILE][TILE];                                                                 \
    unsigned x = threadIdx.x, y = threadIdx.y, across = n / TILE + (n % TILE != 0);                  \
    unsigned long long row = (unsigned long long)(blockIdx.x / across) * TILE + y;                   \
    unsigned long long col = (unsigned long long)(blockIdx.x % across) * TILE + x;                   \
    T acc = 0;                                                                                       \
    for (unsigned long long base = 0; base < k; base += TILE) {                                      \
      if (row < m && base + x < k) a_tile[y][x] = a[row * k + base + x];                             \
      if (base + y < k && col < n) b_tile[y][x] = b[(base + y) * n + col];                           \
      __syncthreads();                                                                               \
      unsigned terms = k - base < TILE ? (unsigned)(k - base) : TILE;                                \
      for (unsigned i = 0; i < terms; i++) acc = tensor_fma(a_tile[y][i], b_tile[i][x], acc);        \
      __syncthreads();                                                                               \
    }                                                                                                \
    if (row < m && col < n) c[row * n + col] = acc;                                                  \
  }

#define ALL(T, suffix)          \
  UNARY(T, neg, suffix)         \
  BINARY(T, add, suffix)        \
  BINARY(T, sub, suffix)        \
  SCALAR_FIRST(T, sub, suffix)  \
  BINARY(T, mul, suffix)        \
  BINARY(T, div, suffix)        \
  SCALAR_FIRST(T, div, suffix)  \
  BINARY(T, max, suffix)        \
  BINARY(T, min, suffix)        \
  FMA(T, suffix)                \
  SUM(T, suffix)                \
  PRODUCT(T, suffix)
ALL(float, f32)
ALL(double, f64)
ALL(int, i32)
UNARY(float, sqrt, f32)
UNARY(double, sqrt, f64)
UNARY(float, exp, f32)
UNARY(double, exp, f64)
