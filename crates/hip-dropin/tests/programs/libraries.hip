// Libraries of kernels, copies in batches, memory of other processes, old launches, names of errors, locations of advice.
// For HIP 7. With the path of a code object; with "child" and a file, it is the other process.
#include "newer.h"
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>

extern "C" __global__ void twice(int *data) { data[threadIdx.x] *= 2; }
extern "C" __global__ void next(int *data) { data[threadIdx.x] += 1; }

typedef struct LibraryOfHip *Library;
typedef struct KernelOfHip *Kernel;

struct CopyAttributes {
  int order, src[2], dst[2];
  unsigned flags;
};

struct Operand {
  int kind;
  void *start;
  size_t pitch, rows;
  int location[2];
};

struct BoxOperation {
  Operand src, dst;
  hipExtent extent;
  int order;
  unsigned flags;
};

struct PeerParms {
  void *src_array;
  hipPos src_position;
  hipPitchedPtr src;
  int src_device;
  void *dst_array;
  hipPos dst_position;
  hipPitchedPtr dst;
  int dst_device;
  hipExtent extent;
};

struct Location {
  int type, id;
};

NEWER(hipLibraryLoadFromFile, Library *, const char *, void *, void *, unsigned, void *, void *, unsigned);
NEWER(hipLibraryLoadData, Library *, const void *, void *, void *, unsigned, void *, void *, unsigned);
NEWER(hipLibraryUnload, Library);
NEWER(hipLibraryGetKernel, Kernel *, Library, const char *);
NEWER(hipLibraryGetKernelCount, unsigned *, Library);
NEWER(hipLibraryEnumerateKernels, Kernel *, unsigned, Library);
NEWER(hipKernelGetLibrary, Library *, Kernel);
NEWER(hipKernelGetName, const char **, Kernel);
NEWER(hipMemcpyBatchAsync, void **, void **, size_t *, size_t, CopyAttributes *, size_t *, size_t, size_t *,
      hipStream_t);
NEWER(hipMemcpy3DBatchAsync, size_t, BoxOperation *, size_t *, unsigned long long, hipStream_t);
NEWER(hipMemcpy3DPeer, PeerParms *);
NEWER(hipDrvGetErrorName, int, const char **);
NEWER(hipDrvGetErrorString, int, const char **);
NEWER(hipMemAdvise_v2, void *, size_t, int, Location);
NEWER(hipMemPrefetchAsync_v2, void *, size_t, Location, unsigned, hipStream_t);
NEWER(hipConfigureCall, dim3, dim3, size_t, hipStream_t);
NEWER(hipSetupArgument, const void *, size_t, size_t);
NEWER(hipLaunchByPtr, const void *);

static hipStream_t stream;
static int *pinned, *device;
const size_t BYTES = 64 * sizeof(int);

static int libraries(const char *path) {
  Library library = nullptr, same = nullptr;
  SHOW(hipLibraryLoadFromFile_(&library, "/nonexistent/code", nullptr, nullptr, 0, nullptr, nullptr, 0));
  SHOW(hipLibraryLoadFromFile_(nullptr, path, nullptr, nullptr, 0, nullptr, nullptr, 0));
  SHOW(hipLibraryLoadData_(&library, nullptr, nullptr, nullptr, 0, nullptr, nullptr, 0));
  CHECK(hipLibraryLoadFromFile_(&library, path, nullptr, nullptr, 0, nullptr, nullptr, 0));
  unsigned count = 0;
  CHECK(hipLibraryGetKernelCount_(&count, library));
  Kernel kernel, found[8] = {};
  SHOW(hipLibraryGetKernel_(&kernel, library, "missing"));
  SHOW(hipLibraryGetKernel_(nullptr, library, "twice"));
  CHECK(hipLibraryGetKernel_(&kernel, library, "twice"));
  CHECK(hipLibraryEnumerateKernels_(found, 8, library));
  printf("%u kernels, among them: %d, and an end: %d\n", count, found[0] == kernel || found[1] == kernel,
         found[2] == nullptr);
  CHECK(hipKernelGetLibrary_(&same, kernel));
  const char *name = nullptr;
  CHECK(hipKernelGetName_(&name, kernel));
  printf("%s of the library: %d\n", name, same == library);
  for (int i = 0; i < 64; ++i) pinned[i] = i;
  CHECK(hipMemcpy(device, pinned, BYTES, hipMemcpyHostToDevice));
  void *arguments[] = {&device};
  CHECK(hipModuleLaunchKernel((hipFunction_t)kernel, 1, 1, 1, 64, 1, 1, 0, stream, arguments, nullptr));
  CHECK(hipStreamSynchronize(stream));
  CHECK(hipMemcpy(pinned, device, BYTES, hipMemcpyDeviceToHost));
  printf("twice: %d\n", pinned[63]);
  CHECK(hipLibraryUnload_(library));
  return 0;
}

static int copies() {
  int source[64], target[64] = {};
  for (int i = 0; i < 64; ++i) source[i] = 100 + i;
  void *dsts[] = {device, device + 32}, *srcs[] = {source, source + 16};
  size_t sizes[] = {64, 64}, failed = 99;
  SHOW(hipMemcpyBatchAsync_(dsts, srcs, sizes, 0, nullptr, nullptr, 0, &failed, stream));
  CHECK(hipMemcpyBatchAsync_(dsts, srcs, sizes, 2, nullptr, nullptr, 0, &failed, stream));
  CHECK(hipStreamSynchronize(stream));
  CHECK(hipMemcpy(target, device, BYTES, hipMemcpyDeviceToHost));
  printf("batch: %d %d\n", target[15], target[47]);
  BoxOperation box = {};
  box.src.kind = box.dst.kind = 1;
  box.src.start = device;
  box.dst.start = pinned;
  box.src.pitch = 32;
  box.dst.pitch = 16;
  box.extent = make_hipExtent(16, 2, 1);
  box.order = 1;
  SHOW(hipMemcpy3DBatchAsync_(0, &box, &failed, 0, stream));
  SHOW(hipMemcpy3DBatchAsync_(1, &box, &failed, 7, stream));
  CHECK(hipMemcpy3DBatchAsync_(1, &box, &failed, 0, stream));
  CHECK(hipStreamSynchronize(stream));
  printf("boxes: %d %d\n", pinned[3], pinned[4]);
  PeerParms peer = {};
  peer.src = make_hipPitchedPtr(device, 32, 32, 2);
  peer.dst = make_hipPitchedPtr(device + 16, 32, 32, 2);
  peer.extent = make_hipExtent(32, 2, 1);
  CHECK(hipMemcpy3DPeer_(&peer));
  CHECK(hipMemcpy(target, device, BYTES, hipMemcpyDeviceToHost));
  printf("peer: %d\n", target[16 + 9]);
  return 0;
}

static int small_things() {
  const char *text = nullptr;
  SHOW(hipDrvGetErrorName_(2, &text));
  printf("%s\n", text);
  SHOW(hipDrvGetErrorString_(2, &text));
  printf("%s\n", text);
  SHOW(hipDrvGetErrorName_(-5, &text));
  SHOW(hipDrvGetErrorName_(2, nullptr));
  int *managed;
  CHECK(hipMallocManaged((void **)&managed, BYTES, 1));
  SHOW(hipMemAdvise_v2_(managed, BYTES, 3, Location{1, 0}));
  SHOW(hipMemAdvise_v2_(managed, BYTES, 77, Location{1, 0}));
  SHOW(hipMemPrefetchAsync_v2_(managed, BYTES, Location{1, 0}, 0, stream));
  SHOW(hipMemPrefetchAsync_v2_(managed, BYTES, Location{1, 0}, 5, stream));
  CHECK(hipStreamSynchronize(stream));
  CHECK(hipFree(managed));
  CHECK(hipMemset(device, 0, BYTES));
  CHECK(hipConfigureCall_(dim3(1), dim3(64), 0, nullptr));
  CHECK(hipSetupArgument_(&device, sizeof device, 0));
  CHECK(hipLaunchByPtr_((const void *)next));
  CHECK(hipMemcpy(pinned, device, BYTES, hipMemcpyDeviceToHost));
  printf("by pointer: %d\n", pinned[63]);
  return 0;
}

// Has another process add to memory of this one.
static int other_process(const char *self) {
  for (int i = 0; i < 64; ++i) pinned[i] = 10 * i;
  CHECK(hipMemcpy(device, pinned, BYTES, hipMemcpyHostToDevice));
  hipIpcMemHandle_t handle;
  SHOW(hipIpcGetMemHandle(nullptr, device));
  SHOW(hipIpcGetMemHandle(&handle, pinned + 1));
  CHECK(hipIpcGetMemHandle(&handle, device));
  void *opened;
  SHOW(hipIpcOpenMemHandle(&opened, handle, 1));
  std::string path = std::string("/tmp/hiplaunch-ipc-") + std::to_string(getpid());
  FILE *file = fopen(path.c_str(), "wb");
  if (!file || fwrite(&handle, sizeof handle, 1, file) != 1) return 1;
  fclose(file);
  fflush(stdout);
  if (system((std::string(self) + " child " + path).c_str()) != 0) return 1;
  remove(path.c_str());
  CHECK(hipMemcpy(pinned, device, BYTES, hipMemcpyDeviceToHost));
  printf("after the child: %d\n", pinned[63]);
  return 0;
}

static int child(const char *path) {
  hipIpcMemHandle_t handle;
  FILE *file = fopen(path, "rb");
  if (!file || fread(&handle, sizeof handle, 1, file) != 1) return 1;
  fclose(file);
  int *opened, host[64];
  SHOW(hipIpcOpenMemHandle((void **)&opened, handle, 8));
  CHECK(hipIpcOpenMemHandle((void **)&opened, handle, 1));
  next<<<1, 64>>>(opened);
  CHECK(hipMemcpy(host, opened, BYTES, hipMemcpyDeviceToHost));
  printf("in the child: %d\n", host[63]);
  CHECK(hipIpcCloseMemHandle(opened));
  SHOW(hipIpcCloseMemHandle(opened));
  return 0;
}

int main(int argc, char **argv) {
  if (argc > 2) return child(argv[2]);
  CHECK(hipStreamCreate(&stream));
  CHECK(hipHostMalloc((void **)&pinned, BYTES, 0));
  CHECK(hipMalloc((void **)&device, BYTES));
  int failed = libraries(argv[1]) | copies() | small_things() | other_process(argv[0]);
  CHECK(hipFree(device));
  CHECK(hipHostFree(pinned));
  CHECK(hipStreamDestroy(stream));
  return failed;
}
