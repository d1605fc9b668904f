// Kernels step past the end of allocations, but not out of their last pages, which a GPU lets them do.
#include <hip/hip_runtime.h>
#include <cstdio>

// Reads one element too many.
__global__ void shift(int *data) { data[threadIdx.x] = data[threadIdx.x + 1]; }

int main() {
  const int n = 64;
  int *memory[3], result[n];
  (void)hipMalloc(&memory[0], sizeof(result));
  (void)hipMallocManaged(&memory[1], sizeof(result));
  (void)hipHostMalloc(&memory[2], sizeof(result), 0);
  for (int *data : memory) {
    for (int i = 0; i < n; ++i) result[i] = i;
    (void)hipMemcpy(data, result, sizeof(result), hipMemcpyDefault);
    shift<<<1, n>>>(data);
    printf("%s\n", hipGetErrorName(hipDeviceSynchronize()));
    (void)hipMemcpy(result, data, sizeof(result), hipMemcpyDefault);
    printf("%d %d\n", result[0], result[n - 2]);
    // Copies and fills end where the allocation does.
    printf("%s %s\n", hipGetErrorName(hipMemcpy(result, data + 1, sizeof(result), hipMemcpyDefault)),
           hipGetErrorName(hipMemset(data + 1, 0, sizeof(result))));
  }
}
