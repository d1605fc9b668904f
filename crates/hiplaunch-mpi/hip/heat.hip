// The kernels of examples/heat: explicit steps of the heat equation on a rank's block of the field, in f64.
//
// A block of w times h cells (both at least 1) lies in an array of (h + 2) rows of (w + 2) elements, with a halo one cell
// wide around it. Cell (x, y) of the block, from 0 on, is element (y + 1) * (w + 2) + x + 1. The operations and their
// order are fixed, so a host can repeat the results bit for bit (fma is one rounding, f64::mul_add).
#include "kernel.h"

// to = c + r * (west + east + north + south - 4 c), of cell (x, y)
static __device__ inline void step(const double* from, double* to, double r, int x, int y, int w) {
  long row = w + 2;
  long i = (y + 1) * row + x + 1;
  double sum = (from[i - 1] + from[i + 1]) + (from[i - row] + from[i + row]);
  double change = __builtin_fma(-4.0, from[i], sum);
  to[i] = __builtin_fma(r, change, from[i]);
}

// All cells that read no halo: 1 <= x < w - 1, 1 <= y < h - 1. Grid (ceil((w-2)/bx), ceil((h-2)/by)), block (bx, by).
extern "C" __global__ void heat_interior(const double* from, double* to, double r, int w, int h) {
  int x = (int)(blockIdx.x * blockDim.x + threadIdx.x) + 1;
  int y = (int)(blockIdx.y * blockDim.y + threadIdx.y) + 1;
  if (x < w - 1 && y < h - 1) step(from, to, r, x, y, w);
}

// The other cells, which read the halo. They are numbered: the first row, the last row, then both ends of each row
// between. Grid ceil(n/b), block b, with n = w * h if w or h is 1, else 2 w + 2 (h - 2).
extern "C" __global__ void heat_border(const double* from, double* to, double r, int w, int h) {
  int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (w == 1 || h == 1) {
    if (i < w * h) step(from, to, r, w == 1 ? 0 : i, w == 1 ? i : 0, w);
    return;
  }
  if (i >= 2 * w + 2 * (h - 2)) return;
  if (i < w) step(from, to, r, i, 0, w);
  else if (i < 2 * w) step(from, to, r, i - w, h - 1, w);
  else step(from, to, r, (i & 1) ? w - 1 : 0, 1 + ((i - 2 * w) >> 1), w);
}

// Sums of a tile of 16 times 16 cells: sums[2 t] of the squares of to - from, sums[2 t + 1] of to. Tile t is
// blockIdx.y * gridDim.x + blockIdx.x; cells past the block count as 0. The 256 values are added pairwise,
// v[i] += v[i + s] with s = 128, 64, ..., 1. Grid (ceil(w/16), ceil(h/16)), block (16, 16).
extern "C" __global__ __launch_bounds__(256) void heat_tile_sums(const double* from, const double* to, double* sums,
                                                                 int w, int h) {
  __shared__ double squares[256];
  __shared__ double heat[256];
  int x = (int)(blockIdx.x * 16 + threadIdx.x);
  int y = (int)(blockIdx.y * 16 + threadIdx.y);
  int at = (int)(threadIdx.y * 16 + threadIdx.x);
  double value = 0, change = 0;
  if (x < w && y < h) {
    long i = (y + 1) * (long)(w + 2) + x + 1;
    value = to[i];
    change = value - from[i];
  }
  squares[at] = change * change;
  heat[at] = value;
  __syncthreads();
  for (int s = 128; s > 0; s >>= 1) {
    if (at < s) {
      squares[at] += squares[at + s];
      heat[at] += heat[at + s];
    }
    __syncthreads();
  }
  if (at == 0) {
    int tile = (int)(blockIdx.y * gridDim.x + blockIdx.x);
    sums[2 * tile] = squares[0];
    sums[2 * tile + 1] = heat[0];
  }
}
