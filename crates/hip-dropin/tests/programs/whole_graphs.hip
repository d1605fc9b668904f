// Graphs are launched whole or not at all: nodes of two devices, and a node that has become wrong. Copies of many rows, and
// launches that wait (HIP_LAUNCH_BLOCKING=1). The argument is a code object of this file (hipcc --genco).
#include "newer.h"
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

// hipMemAllocNodeParams.
struct AllocParams {
  hipMemPoolProps pool;
  void *accesses;
  size_t count, bytes;
  void *pointer;
};
NEWER(hipGraphAddMemAllocNode, hipGraphNode_t *, hipGraph_t, const hipGraphNode_t *, size_t, AllocParams *);
NEWER(hipGraphAddMemFreeNode, hipGraphNode_t *, hipGraph_t, const hipGraphNode_t *, size_t, void *);

static AllocParams alloc_params() {
  AllocParams params = {};
  params.pool.allocType = hipMemAllocationTypePinned;
  params.pool.location.type = hipMemLocationTypeDevice;
  params.bytes = 64;
  return params;
}

static hipMemsetParams fill_params(void *memory) {
  hipMemsetParams params = {};
  params.dst = memory;
  params.elementSize = 4;
  params.width = 1;
  params.height = 1;
  return params;
}

static int *counter;
static hipStream_t stream;

// A graph that begins with a kernel.
static hipGraph_t new_graph(hipGraphNode_t *first) {
  hipGraph_t graph;
  (void)hipGraphCreate(&graph, 0);
  *first = kernel_node(graph, &counter);
  return graph;
}

// Launches a graph, and prints how often its kernel ran.
static void launch(const char *what, hipGraphExec_t exec) {
  int before = value(counter);
  hipError_t status = hipGraphLaunch(exec, stream);
  (void)hipStreamSynchronize(stream);
  printf("%s: %s %d\n", what, hipGetErrorName(status), value(counter) - before);
}

static hipGraphExec_t instantiated(hipGraph_t graph) {
  hipGraphExec_t exec = nullptr;
  (void)hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0);
  return exec;
}

static void wrong_events_and_kernels(const char *code_object) {
  hipGraphNode_t first, node;
  hipEvent_t event;
  (void)hipSetDevice(1);
  (void)hipEventCreate(&event);
  (void)hipSetDevice(0);
  hipGraph_t graph = new_graph(&first);
  (void)hipGraphAddEventRecordNode(&node, graph, &first, 1, event);
  launch("event of another device", instantiated(graph));
  (void)hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed);
  add<<<1, 1, 0, stream>>>(counter);
  void *arguments[] = {&counter};
  (void)hipLaunchCooperativeKernel((void *)add, dim3(1 << 20), dim3(1024), arguments, 0, stream);
  (void)hipStreamEndCapture(stream, &graph);
  launch("too large", instantiated(graph));
  hipModule_t module;
  hipFunction_t function;
  (void)hipModuleLoad(&module, code_object);
  (void)hipModuleGetFunction(&function, module, "_Z3addPi");
  (void)hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed);
  add<<<1, 1, 0, stream>>>(counter);
  (void)hipModuleLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr);
  (void)hipStreamEndCapture(stream, &graph);
  hipGraphExec_t exec = instantiated(graph);
  launch("loaded", exec);
  (void)hipModuleUnload(module);
  launch("unloaded", exec);
}

static void wrong_memory() {
  hipGraphNode_t first, allocate, node, other;
  int *freed;
  (void)hipMalloc(&freed, 64);
  // A fill of freed memory in a graph that allocates.
  hipGraph_t graph = new_graph(&first);
  AllocParams params = alloc_params();
  (void)hipGraphAddMemAllocNode_(&allocate, graph, &first, 1, &params);
  hipMemsetParams fill = fill_params(params.pointer);
  (void)hipGraphAddMemsetNode(&node, graph, &allocate, 1, &fill);
  (void)hipGraphAddMemFreeNode_(&other, graph, &node, 1, params.pointer);
  launch("allocates", instantiated(graph));
  fill = fill_params(freed);
  (void)hipGraphAddMemsetNode(&node, graph, &allocate, 1, &fill);
  hipGraphExec_t exec = instantiated(graph);
  (void)hipFree(freed);
  launch("allocates, freed", exec);
  // A node that frees memory of another graph, which a launch has allocated once.
  hipGraph_t allocating = new_graph(&first);
  params = alloc_params();
  (void)hipGraphAddMemAllocNode_(&allocate, allocating, &first, 1, &params);
  graph = new_graph(&first);
  (void)hipGraphAddMemFreeNode_(&node, graph, &first, 1, params.pointer);
  exec = instantiated(graph);
  launch("not allocated", exec);
  launch("allocated", instantiated(allocating));
  launch("allocated once", exec);
  launch("free already", exec);
  // Memory of a pool that a captured graph frees, and fills afterwards.
  for (bool fills : {false, true}) {
    int *pooled;
    (void)hipMallocAsync((void **)&pooled, 64, stream);
    (void)hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed);
    add<<<1, 1, 0, stream>>>(counter);
    (void)hipFreeAsync(pooled, stream);
    if (fills) (void)hipMemsetAsync(pooled, 1, 4, stream);
    (void)hipStreamEndCapture(stream, &graph);
    exec = instantiated(graph);
    launch(fills ? "fills freed" : "frees", exec);
    if (!fills) launch("frees again", exec);
  }
}

int main(int argc, char **argv) {
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

  counter = counters[0];
  wrong_events_and_kernels(argv[1]);
  wrong_memory();

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
