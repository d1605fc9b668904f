// Launches with <<<>>>, streams, events, symbols, managed memory, and errors. Prints what it finds.
#include <hip/hip_runtime.h>
#include <cstdio>
#include <vector>

#define CHECK(call)                                                                          \
  do {                                                                                       \
    hipError_t status = (call);                                                              \
    if (status != hipSuccess) {                                                              \
      printf("%s:%d: %s\n", __func__, __LINE__, hipGetErrorName(status));                    \
      return;                                                                                \
    }                                                                                        \
  } while (0)

__device__ int counter = 5;
__constant__ float factors[4];
__managed__ int shared_count = 7;

__global__ void saxpy(float a, const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

__global__ void count_up(int by) { atomicAdd(&counter, by); }

__global__ void scale(float *data) { data[threadIdx.x] *= factors[threadIdx.x % 4]; }

__global__ void count_shared() { atomicAdd(&shared_count, 1); }

__global__ void fill(int *data, int value) { data[blockIdx.x * blockDim.x + threadIdx.x] = value; }

__global__ void say() { printf("kernel says %d\n", (int)threadIdx.x); }

static void launches() {
  const int n = 1000;
  std::vector<float> x(n), y(n);
  for (int i = 0; i < n; ++i) x[i] = i, y[i] = 1;
  float *dx, *dy;
  CHECK(hipMalloc(&dx, n * sizeof(float)));
  CHECK(hipMalloc(&dy, n * sizeof(float)));
  CHECK(hipMemcpy(dx, x.data(), n * sizeof(float), hipMemcpyHostToDevice));
  CHECK(hipMemcpy(dy, y.data(), n * sizeof(float), hipMemcpyHostToDevice));
  saxpy<<<dim3((n + 255) / 256), dim3(256)>>>(2.0f, dx, dy, n);
  CHECK(hipGetLastError());
  CHECK(hipMemcpy(y.data(), dy, n * sizeof(float), hipMemcpyDeviceToHost));
  double sum = 0;
  for (float value : y) sum += value;
  printf("launches: sum %.0f, last %.0f\n", sum, y[n - 1]);
  CHECK(hipFree(dx));
  CHECK(hipFree(dy));
}

static void symbols() {
  count_up<<<2, 3>>>(10);
  int value = 0;
  CHECK(hipMemcpyFromSymbol(&value, HIP_SYMBOL(counter), sizeof(value)));
  printf("symbols: counter %d\n", value);
  value = 1;
  CHECK(hipMemcpyToSymbol(HIP_SYMBOL(counter), &value, sizeof(value)));
  count_up<<<1, 1>>>(1);
  int *address;
  size_t bytes;
  CHECK(hipGetSymbolAddress((void **)&address, HIP_SYMBOL(counter)));
  CHECK(hipGetSymbolSize(&bytes, HIP_SYMBOL(counter)));
  CHECK(hipMemcpy(&value, address, sizeof(value), hipMemcpyDeviceToHost));
  printf("symbols: counter %d, %zu bytes\n", value, bytes);
  float four[4] = {1, 2, 3, 4}, data[8] = {1, 1, 1, 1, 2, 2, 2, 2};
  CHECK(hipMemcpyToSymbol(HIP_SYMBOL(factors), four, sizeof(four)));
  float *device;
  CHECK(hipMalloc(&device, sizeof(data)));
  CHECK(hipMemcpy(device, data, sizeof(data), hipMemcpyHostToDevice));
  scale<<<1, 8>>>(device);
  CHECK(hipMemcpy(data, device, sizeof(data), hipMemcpyDeviceToHost));
  printf("symbols: %.0f %.0f %.0f %.0f\n", data[0], data[3], data[4], data[7]);
  CHECK(hipFree(device));
  printf("symbols: too many bytes: %s\n",
         hipGetErrorName(hipMemcpyToSymbol(HIP_SYMBOL(factors), four, sizeof(four), 4)));
}

static void managed() {
  count_shared<<<1, 5>>>();
  CHECK(hipDeviceSynchronize());
  printf("managed: variable %d\n", shared_count);
  shared_count = 100;
  int *memory;
  CHECK(hipMallocManaged(&memory, 64 * sizeof(int)));
  memory[0] = 1;
  fill<<<1, 64>>>(memory, 9);
  count_shared<<<1, 5>>>();
  CHECK(hipDeviceSynchronize());
  printf("managed: %d %d, variable %d\n", memory[0], memory[63], shared_count);
  CHECK(hipFree(memory));
}

static void callback(hipStream_t, hipError_t status, void *data) {
  *(int *)data = status == hipSuccess ? 1 : 2;
}

static void streams() {
  const int n = 1 << 12;
  hipStream_t first, second;
  CHECK(hipStreamCreate(&first));
  CHECK(hipStreamCreateWithFlags(&second, hipStreamNonBlocking));
  hipEvent_t begin, end;
  CHECK(hipEventCreate(&begin));
  CHECK(hipEventCreate(&end));
  int *device, *pinned;
  CHECK(hipMalloc(&device, n * sizeof(int)));
  CHECK(hipHostMalloc((void **)&pinned, n * sizeof(int), 0));
  CHECK(hipEventRecord(begin, first));
  fill<<<n / 64, 64, 0, first>>>(device, 3);
  CHECK(hipEventRecord(end, first));
  CHECK(hipStreamWaitEvent(second, end, 0));
  CHECK(hipMemcpyAsync(pinned, device, n * sizeof(int), hipMemcpyDeviceToHost, second));
  int called = 0;
  CHECK(hipStreamAddCallback(second, callback, &called, 0));
  CHECK(hipStreamSynchronize(second));
  float milliseconds = -1;
  CHECK(hipEventElapsedTime(&milliseconds, begin, end));
  printf("streams: %d %d, callback %d, time %s\n", pinned[0], pinned[n - 1], called,
         milliseconds >= 0 ? "positive" : "negative");
  // The null stream comes after the blocking stream, and before what follows on it.
  fill<<<n / 64, 64, 0, first>>>(device, 4);
  CHECK(hipMemset(device, 0, 4 * sizeof(int)));
  fill<<<1, 2, 0, first>>>(device, 5);
  CHECK(hipMemcpy(pinned, device, 8 * sizeof(int), hipMemcpyDeviceToHost));
  printf("null stream: %d %d %d %d %d\n", pinned[0], pinned[1], pinned[2], pinned[3], pinned[4]);
  CHECK(hipStreamQuery(first));
  CHECK(hipEventDestroy(begin));
  CHECK(hipEventDestroy(end));
  CHECK(hipStreamDestroy(first));
  CHECK(hipStreamDestroy(second));
  CHECK(hipFree(device));
  CHECK(hipHostFree(pinned));
}

static void copies() {
  const size_t width = 20, height = 5;
  size_t pitch;
  char *device, from[width * height], to[width * height] = {};
  for (size_t i = 0; i < sizeof(from); ++i) from[i] = (char)i;
  CHECK(hipMallocPitch((void **)&device, &pitch, width, height));
  CHECK(hipMemset2D(device, pitch, 1, width, height));
  CHECK(hipMemcpy2D(device, pitch, from, width, width / 2, height, hipMemcpyHostToDevice));
  CHECK(hipMemcpy2D(to, width, device, pitch, width, height, hipMemcpyDeviceToHost));
  printf("copies: %d %d %d\n", to[0], to[9 + 4 * width], to[10 + 4 * width]);
  CHECK(hipMemsetD16((hipDeviceptr_t)(device + 2), 0x0201, 3));
  CHECK(hipMemsetD32((hipDeviceptr_t)(device + 8), 0x04030201, 1));
  CHECK(hipMemcpy(to, device, 12, hipMemcpyDefault));
  for (int i = 0; i < 12; ++i) printf("%d%c", to[i], i < 11 ? ' ' : '\n');
  CHECK(hipFree(device));
}

static void errors() {
  printf("errors: %s\n", hipGetErrorName(hipMalloc(nullptr, 4)));
  printf("errors: %s\n", hipGetErrorName(hipFree((void *)0x1234)));
  printf("errors: %s\n", hipGetErrorName(hipSetDevice(99)));
  printf("errors: %s\n", hipGetErrorName(hipStreamCreateWithFlags(nullptr, 0)));
  printf("errors: %s\n", hipGetErrorName(hipEventDestroy(nullptr)));
  printf("errors: last %s\n", hipGetErrorName(hipPeekAtLastError()));
  (void)hipGetLastError();
  printf("errors: then %s, %s\n", hipGetErrorName(hipGetLastError()), hipGetErrorString(hipErrorOutOfMemory));
  fill<<<1, 2048>>>(nullptr, 1);
  printf("errors: launch %s\n", hipGetErrorName(hipGetLastError()));
}

int main() {
  launches();
  symbols();
  managed();
  streams();
  copies();
  errors();
  printf("before, ");
  say<<<1, 2>>>();
  (void)hipDeviceSynchronize();
  printf("after\n");
}
