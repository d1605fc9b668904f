// Mistakes that the validation layer finds over AMD's library with the argument `wrong`, and the same without them.
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstring>
#include <vector>

constexpr size_t N = 256, BYTES = N * sizeof(int);

__device__ int variable[4];

__global__ void add(int *data, int value) { data[threadIdx.x] += value; }

static bool wrong;
static int failed;

static void check(hipError_t status, hipError_t expected, int line) {
  if (status != expected) printf("line %d: %s\n", line, hipGetErrorName(status)), failed = 1;
}
#define OK(call) check(call, hipSuccess, __LINE__)

static hipStream_t stream(unsigned flags) {
  hipStream_t made;
  OK(hipStreamCreateWithFlags(&made, flags));
  return made;
}

// Makes `second` wait for `first`, in the right program.
static void order(hipStream_t first, hipStream_t second) {
  if (wrong) return;
  hipEvent_t event;
  OK(hipEventCreateWithFlags(&event, hipEventDisableTiming));
  OK(hipEventRecord(event, first));
  OK(hipStreamWaitEvent(second, event, 0));
  OK(hipEventDestroy(event));
}

static void races() {
  int *data;
  OK(hipMalloc((void **)&data, BYTES));
  hipStream_t one = stream(hipStreamNonBlocking), other = stream(hipStreamNonBlocking);
  hipStream_t pairs[][2] = {{one, other}, {one, nullptr}, {other, hipStreamPerThread}};
  for (auto &pair : pairs) {
    OK(hipMemsetAsync(data, 1, BYTES, pair[0]));
    order(pair[0], pair[1]);
    OK(hipMemsetAsync(data, 2, BYTES, pair[1]));
    OK(hipDeviceSynchronize());
  }
  // The null stream waits for a blocking stream without an event.
  hipStream_t blocking = stream(hipStreamDefault);
  OK(hipMemsetAsync(data, 3, BYTES, blocking));
  OK(hipMemsetAsync(data, 4, BYTES, nullptr));
  OK(hipDeviceSynchronize());
  for (hipStream_t made : {one, other, blocking}) OK(hipStreamDestroy(made));
  OK(hipFree(data));
}

static void freed_memory() {
  int *data, *other;
  std::vector<int> host(N, 1);
  OK(hipMalloc((void **)&data, BYTES));
  OK(hipMalloc((void **)&other, BYTES));
  if (wrong) OK(hipFree(data));
  hipError_t refused = wrong ? hipErrorInvalidDevicePointer : hipSuccess;
  check(hipMemcpy(data, host.data(), BYTES, hipMemcpyHostToDevice), refused, __LINE__);
  check(hipGetLastError(), refused, __LINE__);
  check(hipGetLastError(), hipSuccess, __LINE__);
  add<<<1, N>>>(data, 1);
  check(hipGetLastError(), refused, __LINE__);
  if (!wrong) OK(hipFree(data));
  OK(hipFree(other));
  if (wrong) check(hipFree(other), hipErrorInvalidDevicePointer, __LINE__);
}

static void graphs() {
  int *data, *pinned, value = 1;
  OK(hipMalloc((void **)&data, BYTES));
  OK(hipHostMalloc((void **)&pinned, BYTES, 0));
  hipStream_t main = stream(hipStreamNonBlocking);
  hipGraph_t graph, captured;
  hipGraphNode_t fill, kernel, copy;
  OK(hipGraphCreate(&graph, 0));
  hipMemsetParams memset = {};
  memset.dst = data, memset.elementSize = 4, memset.height = 1, memset.value = 7, memset.width = N;
  OK(hipGraphAddMemsetNode(&fill, graph, nullptr, 0, &memset));
  void *arguments[] = {&data, &value};
  hipKernelNodeParams params = {};
  params.func = (void *)add, params.gridDim = dim3(1), params.blockDim = dim3(N), params.kernelParams = arguments;
  OK(hipGraphAddKernelNode(&kernel, graph, &fill, 1, &params));
  // In the wrong program, nothing orders the copy and the fill.
  OK(hipGraphAddMemcpyNode1D(&copy, graph, &kernel, wrong ? 0 : 1, pinned, data, BYTES, hipMemcpyDeviceToHost));
  OK(hipStreamBeginCapture(main, hipStreamCaptureModeThreadLocal));
  OK(hipMemsetAsync(data, 5, BYTES, main));
  OK(hipMemcpyAsync(pinned, data, BYTES, hipMemcpyDeviceToHost, main));
  OK(hipStreamEndCapture(main, &captured));
  hipGraphExec_t execs[2];
  OK(hipGraphInstantiate(&execs[0], graph, nullptr, nullptr, 0));
  OK(hipGraphInstantiate(&execs[1], captured, nullptr, nullptr, 0));
  for (hipGraphExec_t exec : execs) OK(hipGraphLaunch(exec, main));
  OK(hipStreamSynchronize(main));
  if (wrong) OK(hipFree(data));
  hipError_t refused = wrong ? hipErrorInvalidDevicePointer : hipSuccess;
  for (hipGraphExec_t exec : execs) {
    check(hipGraphLaunch(exec, main), refused, __LINE__);
    OK(hipStreamSynchronize(main));
    OK(hipGraphExecDestroy(exec));
  }
  OK(hipGraphDestroy(graph));
  OK(hipGraphDestroy(captured));
  OK(hipStreamDestroy(main));
  if (!wrong) OK(hipFree(data));
  OK(hipHostFree(pinned));
}

static void handles() {
  int *leaked, *data;
  OK(hipMalloc((void **)&leaked, 64));
  if (!wrong) OK(hipFree(leaked));
  hipEvent_t event;
  OK(hipEventCreate(&event));
  OK(hipEventDestroy(event));
  if (wrong) check(hipEventRecord(event, nullptr), hipErrorInvalidHandle, __LINE__);
  // Right in both programs: a variable, and memory that is freed while the device works, as freeing waits.
  int ones[4] = {1, 1, 1, 1}, back[4] = {};
  OK(hipMemcpyToSymbol(HIP_SYMBOL(variable), ones, sizeof ones));
  OK(hipMemcpyFromSymbol(back, HIP_SYMBOL(variable), sizeof back));
  OK(hipHostMalloc((void **)&data, BYTES, 0));
  std::memset(data, 0, BYTES);
  add<<<1, N>>>(data, 3);
  OK(hipDeviceSynchronize());
  printf("%d %d\n", back[3], data[N - 1]);
  OK(hipMemsetAsync(data, 0, BYTES, nullptr));
  OK(hipHostFree(data));
}

int main(int count, char **arguments) {
  wrong = count > 1 && !std::strcmp(arguments[1], "wrong");
  races();
  freed_memory();
  graphs();
  handles();
  return failed;
}
