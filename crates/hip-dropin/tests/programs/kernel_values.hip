// What kernels compute where the device or the host can make a difference. The argument names the case.
#include <hip/hip_runtime.h>
#include <xmmintrin.h>
#include <cfenv>
#include <cstdio>
#include <cstring>

// The other half of the register of a load of 16 bits, in each form that clang can't choose by itself.
__global__ void other_half(unsigned short *p, unsigned *out) {
  __shared__ unsigned short lds[2];
  lds[0] = p[0];
  __syncthreads();
  unsigned values[8];
  for (auto &value : values) value = 0xdeadbeef;
  unsigned at = (unsigned)(unsigned long long)lds;
  asm volatile(
      "global_load_short_d16 %0, %8, off\n global_load_short_d16_hi %1, %8, off\n"
      "flat_load_ubyte_d16 %2, %8\n flat_load_sbyte_d16_hi %3, %8\n"
      "ds_read_u16_d16 %4, %9\n ds_read_u8_d16_hi %5, %9\n"
      "global_load_sbyte_d16 %6, %8, off\n flat_load_short_d16_hi %7, %8\n s_waitcnt vmcnt(0) lgkmcnt(0)"
      : "+v"(values[0]), "+v"(values[1]), "+v"(values[2]), "+v"(values[3]), "+v"(values[4]), "+v"(values[5]),
        "+v"(values[6]), "+v"(values[7])
      : "v"(p), "v"(at)
      : "memory");
  for (int i = 0; i < 8; ++i) out[i] = values[i];
}

// Two workgroups, of which one stores 16 bytes that the other loads: halves of two stores are torn.
typedef unsigned Four __attribute__((ext_vector_type(4)));
__global__ void torn(Four *p, unsigned *count, int times) {
  for (unsigned i = 1; i <= times; ++i) {
    if (blockIdx.x == 0) {
      Four value = {i, i, i, i};
      asm volatile("global_store_dwordx4 %0, %1, off" ::"v"(p + threadIdx.x), "v"(value) : "memory");
    } else {
      Four value;
      asm volatile("global_load_dwordx4 %0, %1, off glc\n s_waitcnt vmcnt(0)" : "=v"(value) : "v"(p + threadIdx.x) : "memory");
      if (value.x != value.y || value.x != value.z || value.x != value.w) ++*count;
    }
  }
}

// The same with buffer instructions, of a wave whose last lane is outside of the descriptor's range.
typedef unsigned Descriptor __attribute__((ext_vector_type(4)));
__global__ void torn_buffer(Four *p, unsigned *count, int times) {
  unsigned long address = (unsigned long)p;
  Descriptor buffer = {(unsigned)address, (unsigned)(address >> 32), 63 * 16, 0x27000};
  unsigned at = threadIdx.x * 16;
  for (unsigned i = 1; i <= times; ++i) {
    Four value = {i, i, i, i};
    if (blockIdx.x == 0) {
      asm volatile("buffer_store_dwordx4 %0, %1, %2, 0 offen" ::"v"(value), "v"(at), "s"(buffer) : "memory");
    } else {
      asm volatile("buffer_load_dwordx4 %0, %1, %2, 0 offen glc\n s_waitcnt vmcnt(0)" : "=v"(value) : "v"(at), "s"(buffer) : "memory");
      if (value.x != value.y || value.x != value.z || value.x != value.w) ++*count;
    }
  }
}

// Rounding and denormals are those of the kernel's MODE.
__global__ void rounding(float *f, double *d) {
  f[1] = f[0] * 0.5f;
  f[2] = f[0] + f[0];
  f[3] = f[4] / f[5];
  f[6] = sqrtf(f[4]);
  d[1] = d[0] * 0.5;
  d[2] = d[4] + d[5];
}

static void round_as(const char *mode) {
  if (!strcmp(mode, "ftz")) _mm_setcsr(_mm_getcsr() | 0x8040);
  if (!strcmp(mode, "down")) fesetround(FE_DOWNWARD);
  if (!strcmp(mode, "up")) fesetround(FE_UPWARD);
  if (!strcmp(mode, "traps")) feenableexcept(FE_INVALID | FE_INEXACT | FE_UNDERFLOW | FE_DIVBYZERO);
}

int main(int, char **arguments) {
  const char *what = arguments[1];
  if (!strcmp(what, "other_half")) {
    unsigned short value = 0x1280, *p;
    unsigned *out, values[8];
    (void)hipMalloc(&p, 4);
    (void)hipMalloc(&out, sizeof values);
    (void)hipMemcpy(p, &value, 2, hipMemcpyHostToDevice);
    other_half<<<1, 1>>>(p, out);
    (void)hipMemcpy(values, out, sizeof values, hipMemcpyDeviceToHost);
    for (unsigned value : values) printf("%08x ", value);
  } else if (!strcmp(what, "torn")) {
    Four *p;
    unsigned *count, counts[3];
    (void)hipMalloc(&p, 1024);
    (void)hipMalloc(&count, 12);
    (void)hipMemset(p, 0, 1024);
    (void)hipMemset(count, 0, 12);
    torn<<<2, 1>>>(p, count, 2000000);
    torn<<<2, 64>>>(p, count + 1, 50000);  // All lanes, which have a path of their own.
    torn_buffer<<<2, 64>>>(p, count + 2, 20000);
    (void)hipMemcpy(counts, count, 12, hipMemcpyDeviceToHost);
    printf("%u %u %u ", counts[0], counts[1], counts[2]);
  } else {
    round_as(what);
    float f[8] = {}, *df;
    double d[8] = {}, *dd;
    unsigned bits[8] = {0x100};
    unsigned long long wide[8] = {0x100};
    memcpy(f, bits, 4);
    memcpy(d, wide, 8);
    f[4] = 1, f[5] = 3, d[4] = 1, d[5] = 1e-17;
    (void)hipMalloc(&df, 64);
    (void)hipMalloc(&dd, 64);
    (void)hipMemcpy(df, f, 32, hipMemcpyHostToDevice);
    (void)hipMemcpy(dd, d, 64, hipMemcpyHostToDevice);
    rounding<<<1, 1>>>(df, dd);
    (void)hipMemcpy(bits, df, 32, hipMemcpyDeviceToHost);
    (void)hipMemcpy(wide, dd, 64, hipMemcpyDeviceToHost);
    printf("%08x %08x %08x %08x %llx %llx ", bits[1], bits[2], bits[3], bits[6], wide[1], wide[2]);
  }
  printf("%s\n", hipGetErrorName(hipGetLastError()));
}
