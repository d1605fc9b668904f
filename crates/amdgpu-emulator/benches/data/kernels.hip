// Kernels for measuring the speed of the interpreter. Build them with build.sh.
#include <hip/hip_runtime.h>

// Integer ALU: 32-bit xorshift.
extern "C" __global__ void xorshift(unsigned *out, unsigned rounds) {
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x + 1;
    for (unsigned n = 0; n < rounds; n++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

// Float ALU with divergence: escape times of the Mandelbrot set.
extern "C" __global__ void mandelbrot(unsigned *out, unsigned width, unsigned height, unsigned limit) {
    unsigned px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= width || py >= height) return;
    float cx = -2.0f + 3.0f * px / width, cy = -1.25f + 2.5f * py / height;
    float x = 0, y = 0;
    unsigned n = 0;
    while (n < limit && x * x + y * y < 4.0f) {
        float t = x * x - y * y + cx;
        y = 2 * x * y + cy;
        x = t;
        n++;
    }
    out[py * width + px] = n;
}

// LDS and global memory: C = A * B, tiles of 16 x 16, n a multiple of 16.
extern "C" __global__ void matmul(const float *a, const float *b, float *c, unsigned n) {
    __shared__ float ta[16][16], tb[16][16];
    unsigned tx = threadIdx.x, ty = threadIdx.y, col = blockIdx.x * 16 + tx, row = blockIdx.y * 16 + ty;
    float sum = 0;
    for (unsigned t = 0; t < n; t += 16) {
        ta[ty][tx] = a[row * n + t + tx];
        tb[ty][tx] = b[(t + ty) * n + col];
        __syncthreads();
        for (unsigned k = 0; k < 16; k++) sum += ta[ty][k] * tb[k][tx];
        __syncthreads();
    }
    c[row * n + col] = sum;
}

// Float ALU, a reciprocal square root, and uniform loads: accelerations of n bodies (x, y, z, mass).
extern "C" __global__ void nbody(const float4 *bodies, float4 *out, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 me = bodies[i];
    float ax = 0, ay = 0, az = 0;
    for (unsigned j = 0; j < n; j++) {
        float4 b = bodies[j];
        float dx = b.x - me.x, dy = b.y - me.y, dz = b.z - me.z;
        float d2 = dx * dx + dy * dy + dz * dz + 1e-3f;
        float inv = __frsqrt_rn(d2);
        float s = b.w * inv * inv * inv;
        ax += s * dx;
        ay += s * dy;
        az += s * dz;
    }
    out[i] = make_float4(ax, ay, az, 0);
}

// Memory: two streams in, one out.
extern "C" __global__ void add(const float *a, const float *b, float *c, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
