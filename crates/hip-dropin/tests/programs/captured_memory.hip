// Captures into a graph that exists, dependencies that the program sets, and what becomes a node only in later versions:
// allocations, launches of graphs, cooperative launches, and events for other streams. For HIP 7.
#include "newer.h"

__global__ void add(int *data, int value) { data[threadIdx.x] += value; }

NEWER(hipStreamBeginCaptureToGraph, hipStream_t, hipGraph_t, const hipGraphNode_t *, const void *, size_t, int);

static hipStream_t stream;
static int *pinned;
const size_t BYTES = 64 * sizeof(int);

// Prints the types of a graph's nodes, and how many edges it has.
static int describe(const char *name, hipGraph_t graph) {
  hipGraphNode_t nodes[16];
  size_t count = 16, edges = 0;
  CHECK(hipGraphGetNodes(graph, nodes, &count));
  CHECK(hipGraphGetEdges(graph, nullptr, nullptr, &edges));
  printf("%s:", name);
  for (size_t i = 0; i < count; ++i) {
    hipGraphNodeType type;
    CHECK(hipGraphNodeGetType(nodes[i], &type));
    printf(" %d", type);
  }
  printf(", %zu edges\n", edges);
  return 0;
}

static int launch(hipGraph_t graph) {
  hipGraphExec_t exec;
  CHECK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  for (int i = 0; i < 2; ++i) {
    pinned[63] = 0;
    CHECK(hipGraphLaunch(exec, stream));
    CHECK(hipStreamSynchronize(stream));
    printf("launched: %d\n", pinned[63]);
  }
  CHECK(hipGraphExecDestroy(exec));
  return 0;
}

static int allocations() {
  CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed));
  int *memory;
  CHECK(hipMallocAsync((void **)&memory, BYTES, stream));
  CHECK(hipMemsetAsync(memory, 0, BYTES, stream));
  add<<<1, 64, 0, stream>>>(memory, 7);
  CHECK(hipMemcpyAsync(pinned, memory, BYTES, hipMemcpyDeviceToHost, stream));
  CHECK(hipFreeAsync(memory, stream));
  hipGraph_t graph;
  CHECK(hipStreamEndCapture(stream, &graph));
  int failed = describe("allocations", graph) | launch(graph);
  CHECK(hipGraphDestroy(graph));
  return failed;
}

static int into_a_graph(int *device) {
  hipGraph_t graph;
  CHECK(hipGraphCreate(&graph, 0));
  hipGraphNode_t fill, empty;
  hipMemsetParams params = {};
  params.dst = device;
  params.elementSize = 4;
  params.width = 64;
  params.height = 1;
  params.value = 20;
  CHECK(hipGraphAddMemsetNode(&fill, graph, nullptr, 0, &params));
  SHOW(hipStreamBeginCaptureToGraph_(stream, nullptr, nullptr, nullptr, 0, 0));
  SHOW(hipStreamBeginCaptureToGraph_(stream, graph, &fill, nullptr, 0, 0));
  SHOW(hipStreamBeginCaptureToGraph_(stream, graph, nullptr, nullptr, 1, 0));
  CHECK(hipStreamBeginCaptureToGraph_(stream, graph, &fill, nullptr, 1, hipStreamCaptureModeRelaxed));
  add<<<1, 64, 0, stream>>>(device, 1);
  CHECK(hipMemcpyAsync(pinned, device, BYTES, hipMemcpyDeviceToHost, stream));
  hipStreamCaptureStatus status;
  hipGraph_t captured;
  const hipGraphNode_t *after;
  size_t count;
  CHECK(hipStreamGetCaptureInfo_v2(stream, &status, nullptr, &captured, &after, &count));
  printf("status %d, the graph: %d, after %zu\n", status, captured == graph, count);
  CHECK(hipGraphAddEmptyNode(&empty, graph, after, count));
  SHOW(hipStreamUpdateCaptureDependencies(stream, &empty, 1, 9));
  hipGraphNode_t null = nullptr;
  SHOW(hipStreamUpdateCaptureDependencies(stream, &null, 1, 1));
  CHECK(hipStreamUpdateCaptureDependencies(stream, &empty, 1, hipStreamSetCaptureDependencies));
  CHECK(hipStreamGetCaptureInfo_v2(stream, &status, nullptr, &captured, &after, &count));
  printf("after the empty node: %d of %zu\n", after[0] == empty, count);
  hipGraph_t ended;
  CHECK(hipStreamEndCapture(stream, &ended));
  printf("the same graph: %d\n", ended == graph);
  SHOW(hipStreamUpdateCaptureDependencies(stream, &empty, 1, 0));
  int failed = describe("into", graph) | launch(graph);
  CHECK(hipGraphDestroy(graph));
  return failed;
}

static int graphs_and_cooperative(int *device) {
  hipGraph_t inner, outer;
  CHECK(hipMemset(device, 0, BYTES));
  CHECK(hipDeviceSynchronize());
  CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed));
  add<<<1, 64, 0, stream>>>(device, 4);
  add<<<1, 64, 0, stream>>>(device, 5);
  CHECK(hipStreamEndCapture(stream, &inner));
  hipGraphExec_t exec;
  CHECK(hipGraphInstantiate(&exec, inner, nullptr, nullptr, 0));
  CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed));
  CHECK(hipGraphLaunch(exec, stream));
  int value = 100;
  void *arguments[] = {&device, &value};
  CHECK(hipLaunchCooperativeKernel((void *)add, dim3(1), dim3(64), arguments, 0, stream));
  CHECK(hipMemcpyAsync(pinned, device, BYTES, hipMemcpyDeviceToHost, stream));
  CHECK(hipStreamEndCapture(stream, &outer));
  int failed = describe("outer", outer) | launch(outer);
  CHECK(hipGraphExecDestroy(exec));
  CHECK(hipGraphDestroy(inner));
  CHECK(hipGraphDestroy(outer));
  return failed;
}

// An event that is recorded for streams outside becomes a node, and so does a wait for one.
static int external_events(int *device) {
  static auto record = (hipError_t(*)(hipEvent_t, hipStream_t, unsigned))dlsym(RTLD_DEFAULT, "hipEventRecordWithFlags");
  hipEvent_t before, after;
  CHECK(hipEventCreate(&before));
  CHECK(hipEventCreate(&after));
  CHECK(hipEventRecord(before, stream));
  CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed));
  SHOW(hipStreamWaitEvent(stream, before, 1));
  CHECK(hipMemcpyAsync(pinned, device, BYTES, hipMemcpyDeviceToHost, stream));
  SHOW(record(after, stream, 1));
  hipGraph_t graph;
  CHECK(hipStreamEndCapture(stream, &graph));
  int failed = describe("events", graph);
  hipGraphExec_t exec;
  CHECK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  CHECK(hipGraphLaunch(exec, stream));
  CHECK(hipEventSynchronize(after));
  printf("reached: %d\n", pinned[0]);
  CHECK(hipGraphExecDestroy(exec));
  CHECK(hipGraphDestroy(graph));
  CHECK(hipEventDestroy(before));
  CHECK(hipEventDestroy(after));
  return failed;
}

int main() {
  CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  CHECK(hipHostMalloc((void **)&pinned, BYTES, 0));
  int *device;
  CHECK(hipMalloc(&device, BYTES));
  int failed = allocations() | into_a_graph(device) | graphs_and_cooperative(device);
  CHECK(hipMemset(device, 0, BYTES));
  CHECK(hipDeviceSynchronize());
  failed |= external_events(device);
  CHECK(hipFree(device));
  CHECK(hipHostFree(pinned));
  CHECK(hipStreamDestroy(stream));
  return failed;
}
