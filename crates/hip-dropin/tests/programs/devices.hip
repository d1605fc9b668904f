// What a program sees of several devices.
#include <hip/hip_runtime.h>
#include <cstdio>

int main() {
  int count = 0;
  if (hipError_t status = hipGetDeviceCount(&count)) {
    printf("%s\n", hipGetErrorName(status));
    return 1;
  }
  hipDeviceProp_t properties;
  (void)hipGetDeviceProperties(&properties, count - 1);
  int *first, *last, value = 42, back = 0;
  (void)hipSetDevice(0);
  (void)hipMalloc(&first, sizeof(int));
  (void)hipMemcpy(first, &value, sizeof(int), hipMemcpyHostToDevice);
  (void)hipSetDevice(count - 1);
  (void)hipMalloc(&last, sizeof(int));
  (void)hipMemcpyPeer(last, count - 1, first, 0, sizeof(int));
  (void)hipMemcpy(&back, last, sizeof(int), hipMemcpyDefault);
  hipPointerAttribute_t attributes;
  (void)hipPointerGetAttributes(&attributes, last);
  printf("%d devices, %s, peer copy %d, on device %d\n", count, properties.gcnArchName, back, attributes.device);
  (void)hipFree(last);
  (void)hipFree(first);
}
