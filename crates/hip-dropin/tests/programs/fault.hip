// A kernel writes past the end of its memory; the program ignores every error and goes on, and then asks for a function
// that is not supported.
#include <hip/hip_runtime.h>
#include <cstdio>

__global__ void write(int *data, int index) { data[index] = 1; }

int main() {
  int *data;
  (void)hipMalloc(&data, 64);
  write<<<1, 1>>>(data, 1000);
  int polls = 0;
  while (hipStreamQuery(nullptr) == hipErrorNotReady) ++polls;
  printf("sticky: %s\n", hipGetErrorName(hipDeviceSynchronize()));
  write<<<1, 1>>>(data, 0);
  printf("later: %s\n", hipGetErrorName(hipGetLastError()));
  printf("external: %s\n", hipGetErrorName(hipDestroyExternalMemory(nullptr)));
  return 7;
}
