// Prints what a kernel computed, its device's target, and the number of work-items.
#include <hip/hip_runtime.h>
#include <cstdio>

__global__ void one(int *p) { p[threadIdx.x] = 1; }

int main() {
  int *p, value = 0;
  hipDeviceProp_t properties;
  (void)hipGetDeviceProperties(&properties, 0);
  (void)hipMalloc(&p, 256);
  one<<<1, 64>>>(p);
  hipError_t launched = hipGetLastError();
  (void)hipMemcpy(&value, p + 63, 4, hipMemcpyDeviceToHost);
  printf("%s %s %d\n", properties.gcnArchName, hipGetErrorName(launched), value);
}
