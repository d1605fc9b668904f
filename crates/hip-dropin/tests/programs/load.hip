// Loads each code object that is named, and runs its two kernels.
#include <hip/hip_runtime.h>
#include <cstdio>

int main(int count, char **names) {
  int *memory;
  (void)hipMalloc(&memory, 8);
  for (int i = 1; i < count; ++i) {
    hipModule_t module;
    hipError_t loaded = hipModuleLoad(&module, names[i]);
    printf("%s", hipGetErrorName(loaded));
    for (const char *name : {"first", "second"}) {
      if (loaded != hipSuccess) break;
      hipFunction_t function;
      int value = 0;
      void *arguments[] = {&memory};
      (void)hipModuleGetFunction(&function, module, name);
      (void)hipModuleLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr);
      (void)hipMemcpy(&value, memory, 4, hipMemcpyDeviceToHost);
      printf(" %d", value);
    }
    printf("\n");
  }
}
