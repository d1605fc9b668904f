// Right programs, whose order no event shows. The argument names one.
#include <unistd.h>
#include <atomic>
#include <cstdlib>
#include "newer.h"

__global__ void write(int *p) { p[threadIdx.x] = 1; }
__global__ void store_address(void **to, void *address) { *to = address; }

static std::atomic<int> done;
static void callback(hipStream_t, hipError_t, void *) { done = 1; }
static void function(void *) { done = 1; }

int main(int, char **arguments) {
  NEWER(hipLaunchHostFunc, hipStream_t, void (*)(void *), void *);
  int which = atoi(arguments[1]), *device, *pinned;
  hipStream_t first, second;
  (void)hipStreamCreateWithFlags(&first, hipStreamNonBlocking);
  (void)hipStreamCreateWithFlags(&second, hipStreamNonBlocking);
  (void)hipMalloc(&device, 4096);
  (void)hipHostMalloc((void **)&pinned, 4096, 0);
  if (which == 0) (void)hipMemcpyAsync(device, pinned, 4096, hipMemcpyHostToDevice, first);  // hipHostFree waits.
  if (which == 1) write<<<1, 64, 0, first>>>(pinned);
  if (which == 2 || which == 3) {  // The host waits for a host function.
    (void)hipMemsetAsync(device, 1, 256, first);
    if (which == 2) (void)hipStreamAddCallback(first, callback, nullptr, 0);
    if (which == 3) (void)hipLaunchHostFunc_(first, function, nullptr);
    while (!done) usleep(50);
    (void)hipMemcpyAsync(pinned, device, 256, hipMemcpyDeviceToHost, second);
    (void)hipStreamSynchronize(second);
  }
  if (which == 4) {  // A stream waits for the value that another writes behind its work.
    (void)hipMemsetAsync(device, 1, 256, first);
    (void)hipStreamWriteValue32(first, pinned, 1, 0);
    (void)hipStreamWaitValue32(second, pinned, 1, 0, 0xffffffff);
    (void)hipMemsetAsync(device, 2, 256, second);
    (void)hipStreamSynchronize(second);
  }
  if (which == 5) {  // A kernel stores an address of the host.
    store_address<<<1, 1, 0, first>>>((void **)device, &done);
    (void)hipStreamSynchronize(first);
    void *stored;
    (void)hipMemcpy(&stored, device, 8, hipMemcpyDeviceToHost);
    printf("%d ", stored == &done);
  }
  if (which == 6) {  // A wrong one: the host does not wait for the function.
    (void)hipMemsetAsync(device, 1, 256, first);
    (void)hipStreamAddCallback(first, [](hipStream_t, hipError_t, void *) { while (!done) usleep(50); }, nullptr, 0);
    (void)hipStreamAddCallback(first, callback, nullptr, 0);
    (void)hipMemsetAsync(device, 1, 256, first);
    (void)hipMemcpyAsync(pinned, device, 256, hipMemcpyDeviceToHost, second);
    done = 1;
    (void)hipDeviceSynchronize();
  }
  if (which == 7) {  // The wait is enqueued before the work and the write that it is for.
    *pinned = 0;
    (void)hipStreamWaitValue32(second, pinned, 1, 0, 0xffffffff);
    (void)hipMemsetAsync(device, 2, 256, second);
    (void)hipMemsetAsync(device, 1, 256, first);
    (void)hipStreamWriteValue32(first, pinned, 1, 0);
    (void)hipStreamSynchronize(second);
  }
  if (which == 8) {  // A wrong one: a wait of one stream orders no others.
    hipStream_t third;
    (void)hipStreamCreateWithFlags(&third, hipStreamNonBlocking);
    *pinned = 0;
    (void)hipMemsetAsync(device, 1, 256, first);
    (void)hipStreamWaitValue32(second, pinned, 1, 0, 0xffffffff);
    (void)hipMemsetAsync(device, 2, 256, third);
    *pinned = 1;
    (void)hipDeviceSynchronize();
    (void)hipStreamDestroy(third);
  }
  (void)hipHostFree(pinned);
  (void)hipFree(device);
  (void)hipStreamDestroy(first);
  (void)hipStreamDestroy(second);
  printf("%s\n", hipGetErrorName(hipGetLastError()));
}
