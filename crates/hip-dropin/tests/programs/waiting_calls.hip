// A kernel faults; a call that waits for it returns the fault's error. Each call is made in a process of its own, before any
// other that could report the fault. The argument says which fault; each line is a call with what it returned.
#include <hip/hip_runtime.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cassert>
#include <cstdio>
#include <cstring>

__device__ int symbol[64];

__global__ void trap(int *p) { p[threadIdx.x] = 5; __builtin_trap(); }
__global__ void out_of_bounds(int *p) { p[1 << 22] = 1; }
__global__ void failed_assert(int *p) { assert(p[threadIdx.x] == 1); }
// A race, for the sanitizer.
__global__ void race(int *p) { p[blockIdx.x >> 20] = threadIdx.x + blockIdx.x; }

static int *a, *b, *managed, *pinned, *registered, *pageable, *other;
static hipStream_t stream;
static hipEvent_t event;

static hipError_t until_ready(hipError_t (*query)()) {
  hipError_t status;
  while ((status = query()) == hipErrorNotReady) usleep(100);
  return status;
}
static hipError_t box(hipMemcpyKind kind, void *to, void *from) {
  hipMemcpy3DParms p = {};
  p.dstPtr = make_hipPitchedPtr(to, 64, 64, 2);
  p.srcPtr = make_hipPitchedPtr(from, 64, 64, 2);
  p.extent = make_hipExtent(64, 2, 1);
  p.kind = kind;
  return hipMemcpy3D(&p);
}
static hipError_t drv_box() {
  HIP_MEMCPY3D p = {};
  p.srcMemoryType = hipMemoryTypeDevice;
  p.srcDevice = a;
  p.srcPitch = 64;
  p.dstMemoryType = hipMemoryTypeHost;
  p.dstHost = pageable;
  p.dstPitch = 64;
  p.WidthInBytes = 64;
  p.Height = 2;
  p.Depth = 1;
  return hipDrvMemcpy3D(&p);
}
static hipError_t rectangle() {
  hip_Memcpy2D p = {};
  p.srcMemoryType = hipMemoryTypeDevice;
  p.srcDevice = a;
  p.srcPitch = 64;
  p.dstMemoryType = hipMemoryTypeHost;
  p.dstHost = pageable;
  p.dstPitch = 64;
  p.WidthInBytes = 64;
  p.Height = 2;
  return hipMemcpyParam2D(&p);
}

static struct {
  const char *name;
  hipError_t (*call)();
  bool on_stream;  // The faulty kernel is on a stream, not on the null stream.
  int device;      // Where the faulty kernel runs; the calls are made with device 0 current.
} calls[] = {
    {"hipDeviceSynchronize", [] { return hipDeviceSynchronize(); }},
    {"hipDeviceSynchronize, stream", [] { return hipDeviceSynchronize(); }, true},
    {"hipCtxSynchronize", [] { return hipCtxSynchronize(); }},
    {"hipStreamSynchronize", [] { return hipStreamSynchronize(nullptr); }},
    {"hipStreamSynchronize, stream", [] { return hipStreamSynchronize(stream); }, true},
    {"hipStreamQuery", [] { return until_ready([] { return hipStreamQuery(nullptr); }); }},
    {"hipStreamQuery, stream", [] { return until_ready([] { return hipStreamQuery(stream); }); }, true},
    {"hipEventSynchronize", [] { return hipEventSynchronize(event); }},
    {"hipEventSynchronize, stream", [] { return hipEventSynchronize(event); }, true},
    {"hipEventQuery", [] { return until_ready([] { return hipEventQuery(event); }); }},
    {"hipMemcpy to pageable", [] { return hipMemcpy(pageable, a, 256, hipMemcpyDeviceToHost); }},
    {"hipMemcpy to pageable, stream", [] { return hipMemcpy(pageable, a, 256, hipMemcpyDeviceToHost); }, true},
    {"hipMemcpy to pinned", [] { return hipMemcpy(pinned, a, 256, hipMemcpyDeviceToHost); }},
    {"hipMemcpy to registered", [] { return hipMemcpy(registered, a, 256, hipMemcpyDefault); }},
    {"hipMemcpy to managed", [] { return hipMemcpy(managed, a, 256, hipMemcpyDefault); }},
    {"hipMemcpy from pageable", [] { return hipMemcpy(a, pageable, 256, hipMemcpyHostToDevice); }},
    {"hipMemcpy from pinned", [] { return hipMemcpy(a, pinned, 256, hipMemcpyHostToDevice); }},
    {"hipMemcpy within", [] { return hipMemcpy(b, a, 256, hipMemcpyDeviceToDevice); }},
    {"hipMemcpy on the host", [] { return hipMemcpy(pageable, pageable + 64, 256, hipMemcpyHostToHost); }},
    {"hipMemcpy pinned to pinned", [] { return hipMemcpy(pinned, pinned + 64, 256, hipMemcpyHostToHost); }},
    {"hipMemcpy to itself", [] { return hipMemcpy(a, a, 256, hipMemcpyDeviceToDevice); }},
    {"hipMemcpyDtoH", [] { return hipMemcpyDtoH(pageable, a, 256); }},
    {"hipMemcpyHtoD", [] { return hipMemcpyHtoD(a, pageable, 256); }},
    {"hipMemcpyDtoD", [] { return hipMemcpyDtoD(b, a, 256); }},
    {"hipMemcpyAsync to pageable",
     [] { return hipMemcpyAsync(pageable, a, 256, hipMemcpyDeviceToHost, nullptr); }},
    {"hipMemcpyDtoHAsync to pageable", [] { return hipMemcpyDtoHAsync(pageable, a, 256, stream); }, true},
    {"hipMemcpyWithStream", [] { return hipMemcpyWithStream(pageable, a, 256, hipMemcpyDeviceToHost, nullptr); }},
    {"hipMemcpyWithStream, stream",
     [] { return hipMemcpyWithStream(pageable, a, 256, hipMemcpyDeviceToHost, stream); }, true},
    {"hipMemcpyWithStream to device",
     [] { return hipMemcpyWithStream(a, pageable, 256, hipMemcpyHostToDevice, nullptr); }},
    {"hipMemcpyFromSymbol", [] { return hipMemcpyFromSymbol(pageable, HIP_SYMBOL(symbol), 256); }},
    {"hipMemcpyToSymbol", [] { return hipMemcpyToSymbol(HIP_SYMBOL(symbol), pageable, 256); }},
    {"hipMemcpyPeer", [] { return hipMemcpyPeer(b, 0, a, 0, 256); }},
    {"hipMemcpyPeer from a lost device", [] { return hipMemcpyPeer(b, 0, other, 1, 256); }, false, 1},
    {"hipMemcpyPeer to a lost device", [] { return hipMemcpyPeer(other, 1, b, 0, 256); }, false, 1},
    {"hipMemcpy from a lost device", [] { return hipMemcpy(pageable, other, 256, hipMemcpyDefault); }, false, 1},
    {"hipMemcpy to a lost device", [] { return hipMemcpy(other, pageable, 256, hipMemcpyDefault); }, false, 1},
    {"hipMemcpy2D from a lost device",
     [] { return hipMemcpy2D(pageable, 64, other, 128, 64, 2, hipMemcpyDefault); }, false, 1},
    {"hipMemset on a lost device", [] { return hipMemset(other, 0, 256); }, false, 1},
    {"hipFree of a lost device", [] { return hipFree(other); }, false, 1},
    {"hipHostFree with a lost device", [] { return hipHostFree(pinned); }, false, 1},
    {"hipMemcpy2D", [] { return hipMemcpy2D(pageable, 64, a, 128, 64, 2, hipMemcpyDeviceToHost); }},
    {"hipMemcpy2D to device", [] { return hipMemcpy2D(a, 128, pageable, 64, 64, 2, hipMemcpyHostToDevice); }},
    {"hipMemcpy3D", [] { return box(hipMemcpyDeviceToHost, pageable, a); }},
    {"hipMemcpy3D to device", [] { return box(hipMemcpyHostToDevice, a, pageable); }},
    {"hipDrvMemcpy3D", [] { return drv_box(); }},
    {"hipMemcpyParam2D", [] { return rectangle(); }},
    {"hipFree", [] { return hipFree(b); }},
    {"hipFree, stream", [] { return hipFree(b); }, true},
    {"hipFree of managed", [] { return hipFree(managed); }},
    {"hipHostFree", [] { return hipHostFree(pinned); }},
    {"hipHostUnregister", [] { return hipHostUnregister(registered); }},
    {"hipDeviceReset", [] { return hipDeviceReset(); }},
    {"hipIpcGetMemHandle", [] { hipIpcMemHandle_t handle; return hipIpcGetMemHandle(&handle, b); }},
};

int main(int count, char **arguments) {
  const char *fault = arguments[1];
  for (auto &tried : calls) {
    fflush(stdout);
    if (fork() != 0) {
      int status;
      wait(&status);
      if (status != 0) printf("%s: ended with %d\n", tried.name, status);
      continue;
    }
    (void)hipSetDevice(1);
    (void)hipMalloc(&other, 4096);
    (void)hipMemset(other, 0, 4096);
    (void)hipSetDevice(0);
    pageable = new int[1024]();
    registered = new int[1024]();
    (void)hipMalloc(&a, 4096);
    (void)hipMalloc(&b, 4096);
    (void)hipMallocManaged((void **)&managed, 4096, hipMemAttachGlobal);
    (void)hipHostMalloc((void **)&pinned, 4096, 0);
    (void)hipHostRegister(registered, 4096, 0);
    (void)hipStreamCreate(&stream);
    (void)hipEventCreateWithFlags(&event, hipEventDisableTiming);
    (void)hipMemset(a, 0, 4096);
    (void)hipDeviceSynchronize();
    (void)hipSetDevice(tried.device);
    hipStream_t on = tried.on_stream ? stream : nullptr;
    int *memory = tried.device == 0 ? a : other;
    if (!strcmp(fault, "trap")) trap<<<1, 64, 0, on>>>(memory);
    if (!strcmp(fault, "bounds")) out_of_bounds<<<1, 64, 0, on>>>(memory);
    if (!strcmp(fault, "assert")) failed_assert<<<1, 64, 0, on>>>(memory);
    if (!strcmp(fault, "race")) race<<<2, 64, 0, on>>>(memory);
    if (tried.device == 0) (void)hipEventRecord(event, on);
    (void)hipSetDevice(0);
    printf("%s: %s\n", tried.name, hipGetErrorName(tried.call()));
    fflush(stdout);
    _exit(0);
  }
}
