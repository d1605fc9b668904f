// Floating-point and integer atomics to memory of all kinds. In fine-grained memory gfx90a performs integer ones alone.
#include <hip/hip_runtime.h>
#include <cstdio>

struct Sums {
  float single;
  double wide;
  int whole;
};

__global__ void add(Sums *sums) {
  unsafeAtomicAdd(&sums->single, 1.0f);
  unsafeAtomicAdd(&sums->wide, 1.0);
  atomicAdd(&sums->whole, 1);
}

int main() {
  const int kinds = 6;
  Sums *memory[kinds], result[kinds];
  (void)hipMalloc(&memory[0], sizeof(Sums));
  (void)hipExtMallocWithFlags((void **)&memory[1], sizeof(Sums), hipDeviceMallocFinegrained);
  (void)hipHostMalloc(&memory[2], sizeof(Sums), hipHostMallocDefault);
  (void)hipHostMalloc(&memory[3], sizeof(Sums), hipHostMallocCoherent);
  (void)hipHostMalloc(&memory[4], sizeof(Sums), hipHostMallocNonCoherent);
  (void)hipMallocManaged(&memory[5], sizeof(Sums));
  for (int i = 0; i < kinds; ++i) {
    (void)hipMemset(memory[i], 0, sizeof(Sums));
    add<<<1, 64>>>(memory[i]);
    (void)hipDeviceSynchronize();
    (void)hipMemcpy(&result[i], memory[i], sizeof(Sums), hipMemcpyDefault);
  }
  for (const Sums &sums : result) printf("%.1f %.0f ", sums.single, sums.wide);
  printf("\n");
  for (const Sums &sums : result) printf("%d ", sums.whole);
  printf("\n");
}
