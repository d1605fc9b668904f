// Stream capture: kernels, copies and fills that become a graph, and streams that join by events.
// With an argument, also updates, and calls that are refused, which HIP 5.2 does not do as later versions do.
#include <dlfcn.h>
#include <hip/hip_runtime.h>
#include <cstdio>

__global__ void add(int *data, int value) { data[threadIdx.x] += value; }

#define CHECK(call)                                                                          \
  do {                                                                                       \
    hipError_t checked = (call);                                                             \
    if (checked != hipSuccess) {                                                             \
      printf("%s:%d: %s\n", __func__, __LINE__, hipGetErrorName(checked));                   \
      return 1;                                                                              \
    }                                                                                        \
  } while (0)

static void count(void *data) { ++*(int *)data; }

// Captures work of two streams, and launches its graph twice.
static int fork_and_join(hipStream_t main, hipStream_t side, int *device, int *pinned) {
  hipEvent_t fork, join;
  CHECK(hipEventCreateWithFlags(&fork, hipEventDisableTiming));
  CHECK(hipEventCreateWithFlags(&join, hipEventDisableTiming));
  int *other = device + 64;
  CHECK(hipMemset(device, 0, 128 * sizeof(int)));
  CHECK(hipDeviceSynchronize());
  CHECK(hipStreamBeginCapture(main, hipStreamCaptureModeGlobal));
  add<<<1, 64, 0, main>>>(device, 1);
  CHECK(hipEventRecord(fork, main));
  CHECK(hipStreamWaitEvent(side, fork, 0));
  CHECK(hipMemsetAsync(other, 0, 64 * sizeof(int), side));
  add<<<1, 64, 0, side>>>(other, 5);
  CHECK(hipEventRecord(join, side));
  add<<<1, 64, 0, main>>>(device, 10);
  CHECK(hipStreamWaitEvent(main, join, 0));
  CHECK(hipMemcpyAsync(pinned, device, 128 * sizeof(int), hipMemcpyDeviceToHost, main));
  hipStreamCaptureStatus status;
  CHECK(hipStreamIsCapturing(side, &status));
  printf("side is captured: %d\n", status == hipStreamCaptureStatusActive);
  hipGraph_t graph;
  CHECK(hipStreamEndCapture(main, &graph));
  CHECK(hipStreamIsCapturing(main, &status));
  printf("main is captured: %d, ran: %d\n", status == hipStreamCaptureStatusActive, pinned[0]);
  size_t nodes = 0, edges = 0;
  CHECK(hipGraphGetNodes(graph, nullptr, &nodes));
  CHECK(hipGraphGetEdges(graph, nullptr, nullptr, &edges));
  printf("%zu nodes, %zu edges\n", nodes, edges);
  hipGraphExec_t exec;
  CHECK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  for (int i = 0; i < 2; ++i) {
    CHECK(hipGraphLaunch(exec, main));
    CHECK(hipStreamSynchronize(main));
    printf("launched: %d %d\n", pinned[63], pinned[127]);
  }
  CHECK(hipGraphExecDestroy(exec));
  CHECK(hipGraphDestroy(graph));
  CHECK(hipEventDestroy(fork));
  CHECK(hipEventDestroy(join));
  return 0;
}

// A captured graph can be updated by another one, and a host function is a node of it.
static int update(hipStream_t stream, int *device, int *pinned) {
  static int calls = 0;
  // The library that HIP 5.2 links against does not have it.
  auto host_function = (hipError_t(*)(hipStream_t, hipHostFn_t, void *))dlsym(RTLD_DEFAULT, "hipLaunchHostFunc");
  if (!host_function) return 1;
  hipGraphExec_t exec = nullptr;
  CHECK(hipMemset(device, 0, 64 * sizeof(int)));
  for (int value : {3, 4}) {
    CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal));
    add<<<1, 64, 0, stream>>>(device, value);
    CHECK(hipMemcpyAsync(pinned, device, 64 * sizeof(int), hipMemcpyDeviceToHost, stream));
    CHECK(host_function(stream, count, &calls));
    hipGraph_t graph;
    CHECK(hipStreamEndCapture(stream, &graph));
    if (exec) {
      hipGraphNode_t node;
      hipGraphExecUpdateResult result;
      CHECK(hipGraphExecUpdate(exec, graph, &node, &result));
    } else {
      CHECK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
    }
    CHECK(hipGraphDestroy(graph));
    CHECK(hipGraphLaunch(exec, stream));
    CHECK(hipStreamSynchronize(stream));
    printf("updated: %d, %d calls\n", pinned[0], calls);
  }
  CHECK(hipGraphExecDestroy(exec));
  return 0;
}

// Prints the codes of a call in a capture and of the end of the capture.
template <typename Call>
static int attempt(const char *name, hipStreamCaptureMode mode, hipStream_t stream, Call call) {
  CHECK(hipStreamBeginCapture(stream, mode));
  hipError_t status = call();
  hipGraph_t graph = nullptr;
  hipError_t end = hipStreamEndCapture(stream, &graph);
  printf("%s: %d, end: %d\n", name, status, end);
  if (graph) CHECK(hipGraphDestroy(graph));
  CHECK(hipStreamSynchronize(stream));
  return 0;
}

static int refused(hipStream_t main, hipStream_t side, int *device) {
  hipEvent_t event, before;
  CHECK(hipEventCreate(&event));
  CHECK(hipEventCreate(&before));
  CHECK(hipEventRecord(before, side));
  CHECK(hipStreamSynchronize(side));
  hipGraph_t graph;
  printf("null stream: %d\n", hipStreamBeginCapture(nullptr, hipStreamCaptureModeGlobal));
  printf("not captured: %d\n", hipStreamEndCapture(main, &graph));
  auto fork = [&] {
    (void)hipEventRecord(event, main);
    return hipStreamWaitEvent(side, event, 0);
  };
  int *memory = nullptr, host[4] = {};
  const hipStreamCaptureMode modes[] = {hipStreamCaptureModeGlobal, hipStreamCaptureModeThreadLocal,
                                        hipStreamCaptureModeRelaxed};
  for (auto mode : modes) {
    int *live = nullptr;
    CHECK(hipMalloc(&live, 64));
    attempt("begin", mode, main, [&] { return hipStreamBeginCapture(main, mode); });
    attempt("synchronize", mode, main, [&] { return hipStreamSynchronize(main); });
    attempt("query", mode, main, [&] { return hipStreamQuery(main); });
    attempt("device", mode, main, [&] { return hipDeviceSynchronize(); });
    attempt("other stream", mode, main, [&] { return hipStreamSynchronize(side); });
    attempt("event", mode, main, [&] { return fork(), hipEventQuery(event); });
    attempt("copy", mode, main, [&] { return hipMemcpy(device, host, 16, hipMemcpyHostToDevice); });
    attempt("fill", mode, main, [&] { return hipMemset(device, 0, 16); });
    attempt("malloc", mode, main, [&] { return hipMalloc(&memory, 64); });
    attempt("free", mode, main, [&] {
      hipError_t status = hipFree(live);
      if (status == hipSuccess) live = nullptr;
      return status;
    });
    attempt("callback", mode, main, [&] {
      return hipStreamAddCallback(main, [](hipStream_t, hipError_t, void *) {}, nullptr, 0);
    });
    attempt("wrong stream", mode, main, [&] { return fork(), hipStreamEndCapture(side, &graph); });
    attempt("unjoined", mode, main, [&] { return fork(), hipMemsetAsync(device, 0, 16, side); });
    attempt("outside", mode, main, [&] { return hipStreamWaitEvent(main, before, 0); });
    attempt("null waits", mode, main, [&] {
      (void)hipEventRecord(event, main);
      return hipStreamWaitEvent(nullptr, event, 0);
    });
    attempt("merge", mode, main, [&] {
      (void)hipStreamBeginCapture(side, mode);
      (void)hipEventRecord(event, main);
      hipError_t status = hipStreamWaitEvent(side, event, 0);
      hipGraph_t other;
      printf("merged: %d\n", hipStreamEndCapture(side, &other));
      return status;
    });
    attempt("relaxed thread", mode, main, [&] {
      hipStreamCaptureMode relaxed = hipStreamCaptureModeRelaxed;
      (void)hipThreadExchangeStreamCaptureMode(&relaxed);
      int *memory = nullptr;
      hipError_t status = hipMalloc(&memory, 64);
      if (status == hipSuccess) status = hipFree(memory);
      (void)hipThreadExchangeStreamCaptureMode(&relaxed);
      return status;
    });
    CHECK(hipFree(live));
  }
  CHECK(hipFree(memory));
  // A stream that is destroyed ends its capture.
  hipStream_t gone;
  CHECK(hipStreamCreate(&gone));
  CHECK(hipStreamBeginCapture(gone, hipStreamCaptureModeGlobal));
  CHECK(hipStreamDestroy(gone));
  CHECK(hipDeviceSynchronize());
  CHECK(hipEventDestroy(event));
  CHECK(hipEventDestroy(before));
  return 0;
}

int main(int argc, char **) {
  hipStream_t main, side;
  CHECK(hipStreamCreateWithFlags(&main, hipStreamNonBlocking));
  CHECK(hipStreamCreateWithFlags(&side, hipStreamNonBlocking));
  int *device, *pinned;
  CHECK(hipMalloc(&device, 128 * sizeof(int)));
  CHECK(hipHostMalloc((void **)&pinned, 128 * sizeof(int), 0));
  for (int i = 0; i < 128; ++i) pinned[i] = 0;
  int failed = fork_and_join(main, side, device, pinned);
  if (argc > 1) failed |= update(main, device, pinned) | refused(main, side, device);
  CHECK(hipHostFree(pinned));
  CHECK(hipFree(device));
  CHECK(hipStreamDestroy(main));
  CHECK(hipStreamDestroy(side));
  return failed;
}
