// Workgroups that wait for others, of which each waits for the next: by loads, atomics, with and without sleeping, within a
// workgroup, and for as many workgroups as are resident. Prints the cases that end with the right value.
#include <hip/hip_runtime.h>
#include <cstdio>

__global__ void chain(volatile int *flags, int how, int step) {
  int last = step > 0 ? gridDim.x - 1 : 0, own = blockIdx.x;
  if (threadIdx.x == 0) {
    if (own != last) {
      if (how == 0) while (!flags[own + step]);
      if (how == 1) while (!atomicAdd((int *)&flags[own + step], 0));
      if (how == 2) while (!flags[own + step]) __builtin_amdgcn_s_sleep(1);
      if (how == 3) while (atomicCAS((int *)&flags[own + step], 1, 1) != 1);
      if (how == 4) for (int i = 0; !flags[own + step]; ++i) flags[gridDim.x + own] = i;  // Registers change.
    }
    __threadfence();
    flags[own] = 1;
  }
}

// The waves of a workgroup wait for each other.
__global__ void waves(volatile int *flags) {
  int own = threadIdx.x / 64, count = blockDim.x / 64;
  if (threadIdx.x % 64 == 0) {
    if (own + 1 < count) while (!flags[own + 1]);
    flags[own] = 1;
  }
}

int main() {
  int *flags, value, units, each;
  (void)hipDeviceGetAttribute(&units, hipDeviceAttributeMultiprocessorCount, 0);
  (void)hipOccupancyMaxActiveBlocksPerMultiprocessor(&each, (const void *)chain, 64, 0);
  int resident = units * each;
  (void)hipMalloc(&flags, 8 * resident + 8);
  for (int how = 0; how < 5; ++how) {
    for (int step : {1, -1}) {
      int groups = how == 4 ? 20 : how == 0 ? resident : 300;
      (void)hipMemset(flags, 0, 8 * resident);
      chain<<<groups, 64>>>(flags, how, step);
      (void)hipMemcpy(&value, flags + (step > 0 ? 0 : groups - 1), 4, hipMemcpyDeviceToHost);
      printf("%d%+d: %d\n", how, step, value);
    }
  }
  (void)hipMemset(flags, 0, 4096);
  waves<<<1, 1024>>>(flags);
  (void)hipMemcpy(&value, flags, 4, hipMemcpyDeviceToHost);
  printf("waves: %d, resident %d\n", value, resident);
}
