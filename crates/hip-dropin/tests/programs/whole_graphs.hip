// Graphs are launched whole or not at all: nodes of two devices, and a node that has become wrong. Copies of many rows, and
// launches that wait (HIP_LAUNCH_BLOCKING=1).
#include <hip/hip_runtime.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void add(int *n) { atomicAdd(n, 1); }
__global__ void out_of_bounds(int *n) { n[1 << 22] = 1; }

static hipGraphNode_t kernel_node(hipGraph_t graph, int **argument) {
  hipGraphNode_t node;
  void *arguments[] = {argument};
  hipKernelNodeParams params = {};
  params.func = (void *)add;
  params.gridDim = params.blockDim = dim3(1);
  params.kernelParams = arguments;
  (void)hipGraphAddKernelNode(&node, graph, nullptr, 0, &params);
  return node;
}

static int value(int *memory) {
  int value = -1;
  (void)hipMemcpy(&value, memory, 4, hipMemcpyDefault);
  return value;
}

int main() {
  int *counters[2];
  hipGraph_t graph;
  hipGraphExec_t exec;
  (void)hipGraphCreate(&graph, 0);
  for (int device = 0; device < 2; ++device) {
    (void)hipSetDevice(device);
    (void)hipMalloc(&counters[device], 4);
    (void)hipMemset(counters[device], 0, 4);
    kernel_node(graph, &counters[device]);
  }
  (void)hipSetDevice(0);
  hipStream_t stream;
  (void)hipStreamCreate(&stream);
  (void)hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0);
  for (int i = 0; i < 10; ++i) (void)hipGraphLaunch(exec, stream);
  (void)hipStreamSynchronize(stream);
  printf("two devices: %d %d %s\n", value(counters[0]), value(counters[1]), hipGetErrorName(hipGetLastError()));

  // A copy to memory that was freed: the kernel before it does not run.
  hipGraph_t other;
  hipGraphExec_t wrong;
  hipGraphNode_t copy;
  int *freed;
  (void)hipMalloc(&freed, 64);
  (void)hipGraphCreate(&other, 0);
  hipGraphNode_t first = kernel_node(other, &counters[0]);
  (void)hipGraphAddMemcpyNode1D(&copy, other, &first, 1, freed, counters[0], 4, hipMemcpyDeviceToDevice);
  (void)hipGraphInstantiate(&wrong, other, nullptr, nullptr, 0);
  (void)hipFree(freed);
  hipError_t launched = hipGraphLaunch(wrong, stream);
  (void)hipStreamSynchronize(stream);
  printf("freed: %s %d\n", launched == hipSuccess ? "launched" : "refused", value(counters[0]));

  // Rows with gaps, to and from the host.
  const size_t rows = 100000;
  char *pitched;
  std::vector<char> to(rows * 4), from(rows * 4);
  for (size_t i = 0; i < from.size(); ++i) from[i] = i % 127;
  (void)hipMalloc(&pitched, rows * 8);
  (void)hipMemcpy2D(pitched, 8, from.data(), 4, 4, rows, hipMemcpyHostToDevice);
  (void)hipMemcpy2D(to.data(), 4, pitched, 8, 4, rows, hipMemcpyDeviceToHost);
  bool async_right = true;
  std::vector<char> again(rows * 4);
  (void)hipMemcpy2DAsync(again.data(), 4, pitched, 8, 4, rows, hipMemcpyDeviceToHost, stream);
  async_right = again == from;
  printf("rows: %d %d\n", to == from, async_right);

  out_of_bounds<<<1, 1>>>(counters[0]);
  printf("launch: %s\n", hipGetErrorName(hipGetLastError()));
}
