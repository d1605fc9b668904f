// What the test programs share that use functions which the headers of HIP 5.2 do not have: they are found by name.
#pragma once
#include <dlfcn.h>
#include <hip/hip_runtime.h>
#include <cstdio>

#define NEWER(name, ...) static auto name##_ = (hipError_t(*)(__VA_ARGS__))dlsym(RTLD_DEFAULT, #name)

#define CHECK(call)                                                                          \
  do {                                                                                       \
    hipError_t checked = (call);                                                             \
    if (checked != hipSuccess) {                                                             \
      printf("%s:%d: %s\n", __func__, __LINE__, hipGetErrorName(checked));                   \
      return 1;                                                                              \
    }                                                                                        \
  } while (0)

// Prints the code of a call.
#define SHOW(call) printf(#call ": %d\n", (int)(call))
