// A program that ignores a fault and waits for ever for a flag, which the kernel would have set.
#include <hip/hip_runtime.h>
#include <cstdio>

__global__ void set(int *data, volatile int *flag) {
  data[1 << 20] = 1;
  *flag = 1;
}

int main() {
  int *data;
  volatile int *flag;
  (void)hipMalloc(&data, 64);
  (void)hipHostMalloc((void **)&flag, sizeof(int));
  *flag = 0;
  set<<<1, 1>>>(data, flag);
  while (!*flag) {
  }
  printf("set\n");
}
