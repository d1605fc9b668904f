// A shared library with a kernel, which a program opens and closes.
#include <hip/hip_runtime.h>

__device__ int total = 5;
extern "C" __global__ void empty() {}
__global__ void add(int *data) { *data += atomicAdd(&total, 1); }

extern "C" int run() {
  int *device, value = 10;
  if (hipMalloc(&device, sizeof(int))) return -1;
  (void)hipMemcpy(device, &value, sizeof(int), hipMemcpyHostToDevice);
  add<<<1, 1>>>(device);
  if (hipMemcpy(&value, device, sizeof(int), hipMemcpyDeviceToHost)) return -2;
  (void)hipFree(device);
  return value;
}
