// Registers ten thousand kernels, as a library with as many does when it is loaded, and prints how long that took.
#include <hip/hip_runtime.h>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

extern "C" void **__hipRegisterFatBinary(const void *);
extern "C" void __hipRegisterFunction(void **, const void *, char *, const char *, unsigned, void *, void *, void *, void *,
                                      int *);
extern "C" void __hipUnregisterFatBinary(void **);

static char functions[10000];

int main() {
  std::vector<std::string> names;
  for (int i = 0; i < 10000; ++i) names.push_back("_Z6kernelILi" + std::to_string(i) + "EEvPfS0_i");
  struct {
    unsigned magic, version;
    const void *binary;
    void *unused;
  } wrapper = {0x48495046, 1, "__CLANG_OFFLOAD_BUNDLE__\0\0\0\0\0\0\0\0", nullptr};
  auto begin = std::chrono::steady_clock::now();
  void **binary = __hipRegisterFatBinary(&wrapper);
  for (int i = 0; i < 10000; ++i)
    __hipRegisterFunction(binary, &functions[i], (char *)names[i].data(), names[i].data(), -1, 0, 0, 0, 0, 0);
  std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  printf("%.3f ms\n", took.count());
  __hipUnregisterFatBinary(binary);
}
