// The module API: loading a code object, kernel parameters and the `extra` list, globals, cooperative launches, graphs.
// The argument is the path of a code object of this file (hipcc --genco).
#include <hip/hip_runtime.h>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" __device__ int offset = 100;
extern "C" __global__ void add(int *data, int value, char small) {
  data[blockIdx.x * blockDim.x + threadIdx.x] += value + small + offset;
}

#define CHECK(call)                                                                          \
  do {                                                                                       \
    hipError_t status = (call);                                                              \
    if (status != hipSuccess) {                                                              \
      printf("%s:%d: %s\n", __func__, __LINE__, hipGetErrorName(status));                    \
      return 1;                                                                              \
    }                                                                                        \
  } while (0)

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  std::ifstream file(argv[1], std::ios::binary);
  std::vector<char> image((std::istreambuf_iterator<char>(file)), {});
  hipModule_t module, other;
  CHECK(hipModuleLoadData(&module, image.data()));
  CHECK(hipModuleLoad(&other, argv[1]));
  hipFunction_t add;
  CHECK(hipModuleGetFunction(&add, module, "add"));
  printf("missing: %s\n", hipGetErrorName(hipModuleGetFunction(&add, module, "none")));
  CHECK(hipModuleGetFunction(&add, module, "add"));
  hipDeviceptr_t global;
  size_t bytes;
  CHECK(hipModuleGetGlobal(&global, &bytes, module, "offset"));
  int offset = 1000;
  CHECK(hipMemcpyHtoD(global, &offset, sizeof(offset)));

  int *device, host[64] = {};
  CHECK(hipMalloc(&device, sizeof(host)));
  CHECK(hipMemset(device, 0, sizeof(host)));
  int value = 7;
  char small = 3;
  void *parameters[] = {&device, &value, &small};
  CHECK(hipModuleLaunchKernel(add, 2, 1, 1, 32, 1, 1, 0, nullptr, parameters, nullptr));
  struct {
    int *data;
    int value;
    char small;
  } packed = {device, 20, 1};
  size_t packed_bytes = sizeof(packed);
  void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &packed, HIP_LAUNCH_PARAM_BUFFER_SIZE, &packed_bytes,
                   HIP_LAUNCH_PARAM_END};
  CHECK(hipModuleLaunchKernel(add, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra));
  CHECK(hipMemcpyDtoH(host, device, sizeof(host)));
  printf("launched: %d %d, global of %zu bytes\n", host[0], host[63], bytes);
  printf("no arguments: %s\n",
         hipGetErrorName(hipModuleLaunchKernel(add, 1, 1, 1, 2048, 1, 1, 0, nullptr, parameters, nullptr)));

  hipGraph_t graph;
  hipGraphExec_t exec;
  hipGraphNode_t clear, launch, copy;
  hipStream_t stream;
  CHECK(hipStreamCreate(&stream));
  CHECK(hipGraphCreate(&graph, 0));
  hipMemsetParams memset = {};
  memset.dst = device, memset.elementSize = 4, memset.value = 5, memset.width = 64, memset.height = 1;
  CHECK(hipGraphAddMemsetNode(&clear, graph, nullptr, 0, &memset));
  hipKernelNodeParams kernel = {};
  kernel.func = (void *)add, kernel.gridDim = dim3(2), kernel.blockDim = dim3(32), kernel.kernelParams = parameters;
  CHECK(hipGraphAddKernelNode(&launch, graph, &clear, 1, &kernel));
  CHECK(hipGraphAddMemcpyNode1D(&copy, graph, &launch, 1, host, device, sizeof(host), hipMemcpyDeviceToHost));
  size_t nodes = 0, edges = 0;
  CHECK(hipGraphGetNodes(graph, nullptr, &nodes));
  CHECK(hipGraphGetEdges(graph, nullptr, nullptr, &edges));
  CHECK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  CHECK(hipGraphLaunch(exec, stream));
  CHECK(hipStreamSynchronize(stream));
  printf("graph: %zu nodes, %zu edges, %d %d\n", nodes, edges, host[0], host[63]);
  value = 8;
  CHECK(hipGraphExecKernelNodeSetParams(exec, launch, &kernel));
  CHECK(hipGraphLaunch(exec, stream));
  CHECK(hipStreamSynchronize(stream));
  printf("graph: %d\n", host[1]);
  CHECK(hipGraphExecDestroy(exec));
  CHECK(hipGraphDestroy(graph));

  CHECK(hipStreamDestroy(stream));
  CHECK(hipFree(device));
  CHECK(hipModuleUnload(other));
  CHECK(hipModuleUnload(module));
  printf("unloaded: %s\n", hipGetErrorName(hipModuleGetFunction(&add, nullptr, "add")));
  return 0;
}
