// Waits for values of memory and writes of them, in stream order and in graphs; attributes of streams. For HIP 7.
#include "newer.h"
#include <chrono>
#include <thread>

NEWER(hipStreamWaitValue32, hipStream_t, void *, uint32_t, unsigned, uint32_t);
NEWER(hipStreamWaitValue64, hipStream_t, void *, uint64_t, unsigned, uint64_t);
NEWER(hipStreamWriteValue32, hipStream_t, void *, uint32_t, unsigned);
NEWER(hipStreamWriteValue64, hipStream_t, void *, uint64_t, unsigned);

struct Operation {
  int operation;
  void *address;
  uint64_t value;
  unsigned flags;
  void *alias;
  uint64_t pad;
};

struct BatchParams {
  hipCtx_t context;
  unsigned count;
  Operation *operations;
  unsigned flags;
};

struct Window {
  void *start;
  int hit;
  float ratio;
  int miss;
  size_t bytes;
};

union AttributeValue {
  char pad[64];
  int number;
  Window window;
};

NEWER(hipStreamBatchMemOp, hipStream_t, unsigned, Operation *, unsigned);
NEWER(hipGraphAddBatchMemOpNode, hipGraphNode_t *, hipGraph_t, const hipGraphNode_t *, size_t, const BatchParams *);
NEWER(hipGraphBatchMemOpNodeGetParams, hipGraphNode_t, BatchParams *);
NEWER(hipGraphBatchMemOpNodeSetParams, hipGraphNode_t, BatchParams *);
NEWER(hipGraphExecBatchMemOpNodeSetParams, hipGraphExec_t, hipGraphNode_t, const BatchParams *);
NEWER(hipStreamSetAttribute, hipStream_t, int, const AttributeValue *);
NEWER(hipStreamGetAttribute, hipStream_t, int, AttributeValue *);
NEWER(hipStreamCopyAttributes, hipStream_t, hipStream_t);

static hipStream_t main_stream, side;

// Whether a stream still waits, after a while.
static bool waits(hipStream_t stream) {
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  return hipStreamQuery(stream) == hipErrorNotReady;
}

static int host_values() {
  volatile uint64_t *signal;
  CHECK(hipExtMallocWithFlags((void **)&signal, 8, hipMallocSignalMemory));
  void *at = (void *)signal;
  struct {
    unsigned flags;
    uint64_t before, after, value, mask;
  } cases[] = {{0, 1, 9, 5, ~0ull}, {1, 1, 5, 5, ~0ull}, {2, 8, 4, 6, ~0ull}, {3, 0xf0, 0x80, 0x0f, 0xff}, {1, 0x15, 0x25, 0x20, 0xf0}};
  for (auto &one : cases) {
    *signal = one.before;
    CHECK(hipStreamWaitValue64_(main_stream, at, one.value, one.flags, one.mask));
    bool waited = waits(main_stream);
    *signal = one.after;
    CHECK(hipStreamSynchronize(main_stream));
    *signal = one.before;
    CHECK(hipStreamWaitValue32_(main_stream, at, (uint32_t)one.value, one.flags, (uint32_t)one.mask));
    bool waited_32 = waits(main_stream);
    *signal = one.after;
    CHECK(hipStreamSynchronize(main_stream));
    printf("flags %u: %d %d\n", one.flags, waited, waited_32);
  }
  CHECK(hipStreamWriteValue64_(main_stream, at, 0x123456789abull, 0));
  CHECK(hipStreamSynchronize(main_stream));
  printf("written: %#llx\n", (unsigned long long)*signal);
  CHECK(hipStreamWriteValue32_(main_stream, at, 7, 0));
  CHECK(hipStreamSynchronize(main_stream));
  printf("written: %#llx\n", (unsigned long long)*signal);
  SHOW(hipStreamWaitValue32_(main_stream, nullptr, 1, 0, ~0u));
  SHOW(hipStreamWaitValue32_(main_stream, at, 1, 9, ~0u));
  int local = 0;
  SHOW(hipStreamWriteValue32_(main_stream, &local, 1, 0));
  SHOW(hipStreamWriteValue32_(main_stream, nullptr, 1, 0));
  CHECK(hipFree(at));
  return 0;
}

// One stream waits for what another one writes to memory of the device.
static int device_values() {
  uint64_t *device, host = 0;
  CHECK(hipMalloc((void **)&device, 64));
  CHECK(hipMemset(device, 0, 64));
  CHECK(hipDeviceSynchronize());
  CHECK(hipStreamWaitValue64_(main_stream, device, 3, 1, ~0ull));
  CHECK(hipStreamWriteValue32_(main_stream, device + 1, 11, 0));
  printf("waits: %d\n", waits(main_stream));
  CHECK(hipStreamWriteValue64_(side, device, 3, 0));
  CHECK(hipStreamSynchronize(main_stream));
  CHECK(hipMemcpy(&host, device + 1, 8, hipMemcpyDeviceToHost));
  printf("then wrote: %llu\n", (unsigned long long)host);
  CHECK(hipFree(device));
  return 0;
}

static int batches() {
  uint64_t *pinned;
  CHECK(hipHostMalloc((void **)&pinned, 64, 0));
  pinned[0] = pinned[1] = pinned[2] = 0;
  Operation operations[3] = {};
  operations[0].operation = 5;
  operations[0].address = &pinned[0];
  operations[0].value = 21;
  operations[1].operation = 4;
  operations[1].address = &pinned[0];
  operations[1].value = 20;
  operations[2].operation = 2;
  operations[2].address = &pinned[1];
  operations[2].value = 33;
  CHECK(hipStreamBatchMemOp_(main_stream, 3, operations, 0));
  CHECK(hipStreamSynchronize(main_stream));
  printf("batch: %d %d\n", (int)pinned[0], (int)pinned[1]);
  SHOW(hipStreamBatchMemOp_(main_stream, 0, operations, 0));
  SHOW(hipStreamBatchMemOp_(main_stream, 3, nullptr, 0));
  SHOW(hipStreamBatchMemOp_(main_stream, 3, operations, 1));
  hipGraph_t graph;
  hipGraphNode_t node, empty;
  CHECK(hipGraphCreate(&graph, 0));
  hipCtx_t context;
  CHECK(hipDevicePrimaryCtxRetain(&context, 0));
  BatchParams params = {context, 3, operations, 0}, found = {};
  CHECK(hipGraphAddBatchMemOpNode_(&node, graph, nullptr, 0, &params));
  CHECK(hipGraphAddEmptyNode(&empty, graph, &node, 1));
  CHECK(hipGraphBatchMemOpNodeGetParams_(node, &found));
  printf("%u operations, value %d\n", found.count, (int)found.operations[2].value);
  SHOW(hipGraphBatchMemOpNodeGetParams_(empty, &found));
  hipGraphExec_t exec;
  CHECK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  pinned[1] = 0;
  CHECK(hipGraphLaunch(exec, main_stream));
  CHECK(hipStreamSynchronize(main_stream));
  printf("graph: %d\n", (int)pinned[1]);
  operations[2].value = 44;
  CHECK(hipGraphExecBatchMemOpNodeSetParams_(exec, node, &params));
  CHECK(hipGraphLaunch(exec, main_stream));
  CHECK(hipStreamSynchronize(main_stream));
  printf("graph: %d\n", (int)pinned[1]);
  CHECK(hipGraphExecDestroy(exec));
  CHECK(hipGraphDestroy(graph));
  CHECK(hipDevicePrimaryCtxRelease(0));
  CHECK(hipHostFree(pinned));
  return 0;
}

static int attributes() {
  AttributeValue value = {};
  SHOW(hipStreamSetAttribute_(main_stream, 3, nullptr));
  SHOW(hipStreamSetAttribute_(main_stream, 99, &value));
  value.number = 2;
  SHOW(hipStreamSetAttribute_(main_stream, 3, &value));
  value.number = 0;
  SHOW(hipStreamGetAttribute_(main_stream, 3, &value));
  printf("policy: %d\n", value.number);
  SHOW(hipStreamCopyAttributes_(side, main_stream));
  value.number = 0;
  SHOW(hipStreamGetAttribute_(side, 3, &value));
  printf("copied: %d\n", value.number);
  value.number = 17;
  SHOW(hipStreamGetAttribute_(side, 8, &value));
  printf("priority: %d\n", value.number);
  return 0;
}

int main() {
  CHECK(hipStreamCreateWithFlags(&main_stream, hipStreamNonBlocking));
  CHECK(hipStreamCreateWithFlags(&side, hipStreamNonBlocking));
  int failed = host_values() | device_values() | batches() | attributes();
  CHECK(hipStreamDestroy(main_stream));
  CHECK(hipStreamDestroy(side));
  // A wait that is never over does not keep the process.
  hipStream_t last;
  CHECK(hipStreamCreateWithFlags(&last, hipStreamNonBlocking));
  uint64_t *never;
  CHECK(hipHostMalloc((void **)&never, 8, 0));
  *never = 0;
  CHECK(hipStreamWaitValue64_(last, never, 1, 1, ~0ull));
  printf("ends\n");
  fflush(stdout);
  return failed;
}
