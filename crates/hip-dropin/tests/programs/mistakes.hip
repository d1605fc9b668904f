// Mistakes that the validation layer finds: a race of two streams, and a kernel that gets freed memory.
#include <hip/hip_runtime.h>
#include <cstdio>

__global__ void nothing(int *data) {
  if (data == (int *)1) *data = 1;
}

int main() {
  int *device, *freed, *pinned;
  hipStream_t first, second;
  (void)hipMalloc(&device, 64 * sizeof(int));
  (void)hipMalloc(&freed, 64 * sizeof(int));
  (void)hipHostMalloc((void **)&pinned, 64 * sizeof(int), 0);
  (void)hipStreamCreate(&first);
  (void)hipStreamCreate(&second);
  (void)hipMemsetAsync(device, 0, 64 * sizeof(int), first);
  // Nothing makes the copy wait for the fill.
  (void)hipMemcpyAsync(pinned, device, 64 * sizeof(int), hipMemcpyDeviceToHost, second);
  (void)hipDeviceSynchronize();
  (void)hipFree(freed);
  nothing<<<1, 64>>>(freed);
  printf("launch: %s\n", hipGetErrorName(hipDeviceSynchronize()));
  (void)hipStreamDestroy(first);
  (void)hipStreamDestroy(second);
  (void)hipHostFree(pinned);
}
