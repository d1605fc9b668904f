// Statuses of calls with unusual arguments that AMD's libraries agree on, or that a later version changed. Prints each.
#include <hip/hip_runtime.h>
#include <cstdio>

__global__ void kernel(int *data) { *data = 1; }

#define SAY(call) (printf("%s: %s\n", #call, hipGetErrorName(call)), (void)hipGetLastError())

// What these GPUs do not let programs choose.
static void preferences() {
  const void *function = (const void *)kernel;
  SAY(hipDeviceSetCacheConfig(hipFuncCachePreferL1));
  SAY(hipDeviceSetCacheConfig((hipFuncCache_t)9));
  SAY(hipDeviceSetSharedMemConfig(hipSharedMemBankSizeEightByte));
  SAY(hipDeviceSetSharedMemConfig((hipSharedMemConfig)9));
  SAY(hipFuncSetCacheConfig(function, hipFuncCachePreferShared));
  SAY(hipFuncSetCacheConfig(function, (hipFuncCache_t)9));
  SAY(hipFuncSetSharedMemConfig(function, (hipSharedMemConfig)9));
  SAY(hipDevicePrimaryCtxSetFlags(0, hipDeviceScheduleYield));
}

static void names() {
  char name[4] = "";
  SAY(hipDeviceGetName(name, sizeof(name), 0));
}

static void no_module() {
  hipFunction_t function;
  void *pointer;
  size_t bytes;
  SAY(hipModuleGetFunction(&function, nullptr, "kernel"));
  SAY(hipModuleGetGlobal(&pointer, &bytes, nullptr, "variable"));
  SAY(hipModuleUnload(nullptr));
}

static void null_stream() {
  void *managed;
  unsigned flags;
  SAY(hipMallocManaged(&managed, 4096, hipMemAttachGlobal));
  SAY(hipStreamAttachMemAsync(nullptr, managed, 4096, hipMemAttachSingle));
  SAY(hipFree(managed));
  SAY(hipStreamGetFlags(nullptr, &flags));
}

static void null_pointers() {
  hipPointerAttribute_t attributes;
  SAY(hipPointerGetAttributes(&attributes, nullptr));
  SAY(hipFreeAsync(nullptr, nullptr));
}

static void occupancy() {
  int blocks = -1, grid = 0, size = 0;
  SAY(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 4096, 0));
  printf("blocks: %d\n", blocks);
  SAY(hipOccupancyMaxPotentialBlockSize(&grid, &size, kernel, 0, -1));
  printf("size: %d\n", size);
}

static void graphs() {
  hipGraph_t graph;
  hipGraphExec_t exec;
  SAY(hipGraphCreate(&graph, 0));
  SAY(hipGraphInstantiateWithFlags(&exec, graph, hipGraphInstantiateFlagAutoFreeOnLaunch));
  SAY(hipGraphExecDestroy(exec));
  SAY(hipGraphInstantiateWithFlags(&exec, graph, hipGraphInstantiateFlagAutoFreeOnLaunch | 8));
  SAY(hipGraphDestroy(graph));
}

// Memory that was freed while it was registered comes back at the same address.
static void registered_twice() {
  static char memory[8192];
  SAY(hipHostRegister(memory, sizeof(memory), hipHostRegisterDefault));
  SAY(hipHostRegister(memory, sizeof(memory), hipHostRegisterMapped));
  SAY(hipHostUnregister(memory));
}

int main() {
  preferences();
  names();
  no_module();
  null_stream();
  null_pointers();
  occupancy();
  graphs();
  registered_twice();
}
