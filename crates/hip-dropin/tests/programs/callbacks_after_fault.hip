// Host functions and callbacks behind a faulty kernel are called, and waits for values end. Prints what was seen.
#include <unistd.h>
#include <atomic>
#include "newer.h"

__global__ void out_of_bounds(int *p) { p[1 << 22] = 1; }

static std::atomic<int> called;
static void callback(hipStream_t, hipError_t status, void *number) {
  printf("callback %d: %s\n", *(int *)number, hipGetErrorName(status));
  ++called;
}
static void function(void *number) {
  printf("function %d\n", *(int *)number);
  ++called;
}

int main() {
  static int numbers[] = {0, 1, 2, 3};
  int *memory, *value;
  hipStream_t stream, other;
  hipEvent_t event;
  (void)hipMalloc(&memory, 256);
  (void)hipHostMalloc((void **)&value, 256, 0);
  *value = 0;
  (void)hipStreamCreate(&stream);
  (void)hipStreamCreateWithFlags(&other, hipStreamNonBlocking);
  (void)hipEventCreate(&event);

  // A graph with a host node.
  hipGraph_t graph;
  hipGraphExec_t exec;
  hipGraphNode_t node;
  hipHostNodeParams params = {function, &numbers[3]};
  (void)hipGraphCreate(&graph, 0);
  (void)hipGraphAddHostNode(&node, graph, nullptr, 0, &params);
  (void)hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0);

  // Everything is enqueued before the fault.
  (void)hipStreamWaitValue32(stream, value, 1, 1, 0xffffffff);
  out_of_bounds<<<1, 64, 0, stream>>>(memory);
  NEWER(hipLaunchHostFunc, hipStream_t, void (*)(void *), void *);
  printf("enqueued: %s %s %s %s", hipGetErrorName(hipStreamAddCallback(stream, callback, &numbers[0], 0)),
         hipGetErrorName(hipLaunchHostFunc_(stream, function, &numbers[1])),
         hipGetErrorName(hipEventRecord(event, stream)), hipGetErrorName(hipStreamWaitEvent(other, event, 0)));
  printf(" %s %s\n", hipGetErrorName(hipStreamAddCallback(other, callback, &numbers[2], 0)),
         hipGetErrorName(hipGraphLaunch(exec, stream)));
  (void)hipStreamWaitValue32(other, value + 1, 1, 1, 0xffffffff);  // Nobody writes it: it ends with the fault.
  fflush(stdout);
  *(volatile int *)value = 1;
  while (called < 4) usleep(100);
  printf("other: %s\n", hipGetErrorName(hipStreamSynchronize(other)));
  printf("event: %s\n", hipGetErrorName(hipEventSynchronize(event)));
  printf("later: %s\n", hipGetErrorName(hipStreamAddCallback(stream, callback, &numbers[0], 0)));
}
