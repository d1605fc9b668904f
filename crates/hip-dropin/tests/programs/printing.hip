// The program and its kernels print in turn, to C's and C++'s streams.
#include <hip/hip_runtime.h>
#include <cstdio>
#include <iostream>

__global__ void say(int n) { printf("kernel %d, thread %d\n", n, (int)threadIdx.x); }
// Writes more than C's stream keeps before it writes to the pipe.
__global__ void fill(int lines) {
  for (int i = 0; i < lines; ++i) printf("line %3d of a kernel that prints more than a buffer has room for\n", i);
}

int main() {
  for (int n = 0; n < 3; ++n) {
    printf("host %d before\n", n);
    say<<<1, 2>>>(n);
    (void)hipDeviceSynchronize();
    std::cout << "host " << n << " after\n";
  }
  printf("no newline, then ");
  say<<<1, 1>>>(3);
  (void)hipStreamSynchronize(nullptr);
  hipStream_t stream;
  (void)hipStreamCreate(&stream);
  say<<<1, 1, 0, stream>>>(4);
  say<<<1, 1, 0, stream>>>(5);
  (void)hipStreamSynchronize(stream);
  printf("host between\n");
  fill<<<1, 1>>>(200);
  int value = 0, *memory;
  (void)hipMalloc(&memory, sizeof(int));
  // Waits for the kernel as well.
  (void)hipMemcpy(&value, memory, sizeof(int), hipMemcpyDeviceToHost);
  printf("host at the end\n");
}
