// Virtual memory: reservations, physical memory, mappings, access rights; what is refused. With an argument, a fault:
// `unmapped`, `no-access`, `read-only`, `after-unmap`, `peer`.
#include "newer.h"
#include <cstring>
#include <unistd.h>
#include <vector>

// As HIP has it from 5.3 on.
struct Prop {
  int type = 1 /* pinned */, handleTypes = 0;
  hipMemLocation location = {hipMemLocationTypeDevice, 0};
  void* win32 = nullptr;
  unsigned char flags[8] = {};
};
NEWER(hipMemGetAllocationGranularity, size_t*, const Prop*, int);
NEWER(hipMemCreate, hipMemGenericAllocationHandle_t*, size_t, const Prop*, unsigned long long);
NEWER(hipMemGetAllocationPropertiesFromHandle, Prop*, hipMemGenericAllocationHandle_t);

typedef hipMemGenericAllocationHandle_t Handle;
constexpr size_t CHUNK = 2 << 20, GIB = 1 << 30;

__global__ void count(int* p, int n, int add) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = i + add;
}
__global__ void sum(const int* p, int n, unsigned long long* out) {
  unsigned long long mine = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) mine += p[i];
  atomicAdd(out, mine);
}
// Each thread reads 16 bytes at once, some of them on both sides of a seam.
__global__ void straddle(const char* seam, int* out) {
  int part[4];
  __builtin_memcpy(part, seam - 64 + 4 * threadIdx.x, 16);
  out[threadIdx.x] = part[0] ^ part[1] ^ part[2] ^ part[3];
}
__global__ void read(const int* p, int* out) { *out = *p; }
__global__ void write(int* p, int value) { *p = value; }

static char* reserve(size_t bytes, size_t alignment = 0) {
  void* p = nullptr;
  if (hipMemAddressReserve(&p, bytes, alignment, nullptr, 0) != hipSuccess) printf("not reserved\n");
  return (char*)p;
}
static Handle create(size_t bytes, int device = 0, int handleTypes = 0) {
  Prop prop;
  prop.location.id = device;
  prop.handleTypes = handleTypes;
  Handle handle = nullptr;
  if (hipMemCreate_(&handle, bytes, &prop, 0) != hipSuccess) printf("not created\n");
  return handle;
}
static hipError_t allow(void* p, size_t bytes, hipMemAccessFlags flags = hipMemAccessFlagsProtReadWrite, int device = 0) {
  hipMemAccessDesc desc = {{hipMemLocationTypeDevice, device}, flags};
  return hipMemSetAccess(p, bytes, &desc, 1);
}
static size_t used() {
  size_t free = 0, total = 0;
  (void)hipMemGetInfo(&free, &total);
  return total - free;
}
static long long rights_of(void* p, int device = 0) {
  hipMemLocation location = {hipMemLocationTypeDevice, device};
  unsigned long long flags = 99;
  hipError_t status = hipMemGetAccess(&flags, &location, p);
  return status == hipSuccess ? (long long)flags : -(long long)status;
}

static int seams() {
  size_t before = used();
  char* p = reserve(32 * GIB);
  printf("reserved: %zu more bytes are used\n", used() - before);
  for (int i = 0; i < 3; i++) {
    Handle handle = create(CHUNK);
    CHECK(hipMemMap(p + i * CHUNK, CHUNK, 0, handle, 0));
    CHECK(hipMemRelease(handle));
    CHECK(allow(p + i * CHUNK, CHUNK));
  }
  printf("mapped: %zu chunks are used\n", (used() - before) / CHUNK);
  const int n = 3 * CHUNK / sizeof(int);
  unsigned long long *out, result = 0;
  CHECK(hipMalloc((void**)&out, 1024));
  CHECK(hipMemset(out, 0, 8));
  sum<<<1, 256>>>((int*)p, n, out);
  CHECK(hipMemcpy(&result, out, 8, hipMemcpyDeviceToHost));
  printf("zero at first: %llu\n", result);
  count<<<n / 256, 256>>>((int*)p, n, 1);
  sum<<<1, 256>>>((int*)p, n, out);
  CHECK(hipMemcpy(&result, out, 8, hipMemcpyDeviceToHost));
  printf("sum over three chunks: %d\n", result == (unsigned long long)n * (n + 1) / 2);
  straddle<<<1, 32>>>(p + CHUNK, (int*)out);
  int got[32], right = 0, first = CHUNK / 4 - 16 + 1;
  CHECK(hipMemcpy(got, out, sizeof got, hipMemcpyDeviceToHost));
  for (int i = 0; i < 32; i++)
    right += got[i] == ((first + i) ^ (first + i + 1) ^ (first + i + 2) ^ (first + i + 3));
  printf("reads across a seam: %d\n", right);
  std::vector<int> host(n);
  CHECK(hipMemcpy(host.data(), p, 3 * CHUNK, hipMemcpyDeviceToHost));
  printf("copy of all: %d %d\n", host[0], host[n - 1] == n);
  CHECK(hipMemcpy(p + CHUNK - 100, p + 2 * CHUNK - 100, 200, hipMemcpyDeviceToDevice));
  CHECK(hipMemset(p + 2 * CHUNK - 4, 0, 8));
  CHECK(hipMemcpy(host.data(), p, 3 * CHUNK, hipMemcpyDeviceToHost));
  printf("copy and fill across a seam: %d %d %d %d\n", host[CHUNK / 4] == host[2 * CHUNK / 4 - 2] + 2,
         host[2 * CHUNK / 4 - 2] == (int)CHUNK / 2 - 1, host[2 * CHUNK / 4 - 1], host[2 * CHUNK / 4]);
  void* base;
  size_t bytes;
  CHECK(hipMemGetAddressRange((hipDeviceptr_t*)&base, &bytes, p + CHUNK + 5));
  printf("range: %zu %zu\n", (size_t)((char*)base - p) / CHUNK, bytes / CHUNK);
  hipPointerAttribute_t attributes;
  CHECK(hipPointerGetAttributes(&attributes, p + 2 * CHUNK));
  printf("device: %d\n", attributes.device);
  // Past the last chunk nothing is mapped.
  SHOW(hipMemcpy(host.data(), p + 2 * CHUNK, CHUNK + 4, hipMemcpyDeviceToHost));
  SHOW(hipMemcpy(host.data(), p + 3 * CHUNK, 4, hipMemcpyDeviceToHost));
  SHOW(hipMemset(p + 3 * CHUNK - 4, 0, 8));
  SHOW(hipFree(p));
  // The middle goes; it is zero where it is mapped again.
  SHOW(hipMemUnmap(p + CHUNK, CHUNK));
  SHOW(hipMemcpy(host.data(), p, CHUNK + 4, hipMemcpyDeviceToHost));
  Handle handle = create(CHUNK);
  CHECK(hipMemMap(p + CHUNK, CHUNK, 0, handle, 0));
  SHOW(hipMemcpy(host.data(), p + CHUNK, 4, hipMemcpyDeviceToHost));
  CHECK(allow(p, 3 * CHUNK));
  CHECK(hipMemcpy(host.data(), p, 3 * CHUNK, hipMemcpyDeviceToHost));
  printf("new middle: %d %d %d\n", host[1], host[CHUNK / 4 + 1], host[2 * CHUNK / 4 + 1] == (int)CHUNK / 2 + 2);
  SHOW(hipMemAddressFree(p, 32 * GIB));
  CHECK(hipMemUnmap(p, 3 * CHUNK));
  printf("unmapped: %zu chunks are used\n", (used() - before) / CHUNK);
  CHECK(hipMemRelease(handle));
  CHECK(hipFree(out));
  printf("released: %zu chunks are used\n", (used() - before) / CHUNK);
  CHECK(hipMemAddressFree(p, 32 * GIB));
  SHOW(hipMemAddressFree(p, 32 * GIB));
  return 0;
}

static int aliases() {
  Handle handle = create(CHUNK), found = nullptr;
  char *a = reserve(4 * CHUNK), *b = reserve(CHUNK, 16 * CHUNK);
  printf("aligned: %d\n", (size_t)b % (16 * CHUNK) == 0);
  // Twice in one reservation, and once in another.
  CHECK(hipMemMap(a, CHUNK, 0, handle, 0));
  CHECK(hipMemMap(a + CHUNK, CHUNK, 0, handle, 0));
  CHECK(hipMemMap(b, CHUNK, 0, handle, 0));
  CHECK(allow(a, 2 * CHUNK));
  CHECK(allow(b, CHUNK));
  write<<<1, 1>>>((int*)(a + CHUNK + 64), 77);
  int got[3], *out;
  CHECK(hipMalloc((void**)&out, 4));
  read<<<1, 1>>>((int*)(b + 64), out);
  CHECK(hipMemcpy(&got[0], out, 4, hipMemcpyDeviceToHost));
  CHECK(hipMemcpy(&got[1], a + 64, 4, hipMemcpyDeviceToHost));
  CHECK(hipMemset(a + 64, 1, 4));
  CHECK(hipMemcpy(&got[2], b + 64, 4, hipMemcpyDeviceToHost));
  printf("aliases: %d %d %#x\n", got[0], got[1], got[2]);
  CHECK(hipMemRetainAllocationHandle(&found, a + CHUNK + 5));
  printf("handle: %d\n", found == handle);
  SHOW(hipMemRelease(handle));
  SHOW(hipMemRelease(handle));
  SHOW(hipMemRelease(handle));
  // It lives while it is mapped.
  CHECK(hipMemUnmap(a, 2 * CHUNK));
  CHECK(hipMemcpy(&got[2], b + 64, 4, hipMemcpyDeviceToHost));
  printf("alias: %#x\n", got[2]);
  SHOW(hipMemUnmap(b, CHUNK));
  SHOW(hipMemMap(b, CHUNK, 0, handle, 0));
  CHECK(hipFree(out));
  CHECK(hipMemAddressFree(a, 4 * CHUNK));
  CHECK(hipMemAddressFree(b, CHUNK));
  return 0;
}

static int rights() {
  char* p = reserve(2 * CHUNK);
  Handle handle = create(2 * CHUNK);
  printf("access of nothing: %lld\n", rights_of(p));
  CHECK(hipMemMap(p, 2 * CHUNK, 0, handle, 0));
  printf("access at first: %lld\n", rights_of(p));
  int value = 5, *out;
  SHOW(hipMemcpy(p, &value, 4, hipMemcpyHostToDevice));
  CHECK(allow(p, 2 * CHUNK));
  CHECK(hipMemcpy(p, &value, 4, hipMemcpyHostToDevice));
  CHECK(allow(p, 2 * CHUNK, hipMemAccessFlagsProtRead));
  printf("access: %lld %lld\n", rights_of(p), rights_of(p + 2 * CHUNK - 1));
  SHOW(hipMemcpy(p, &value, 4, hipMemcpyHostToDevice));
  SHOW(hipMemset(p, 0, 4));
  CHECK(hipMalloc((void**)&out, 4));
  SHOW(hipMemcpy(p, out, 4, hipMemcpyDeviceToDevice));
  SHOW(hipMemcpy(out, p, 4, hipMemcpyDeviceToDevice));
  read<<<1, 1>>>((int*)p, out);
  CHECK(hipMemcpy(&value, out, 4, hipMemcpyDeviceToHost));
  printf("read: %d\n", value);
  CHECK(allow(p, 2 * CHUNK));
  write<<<1, 1>>>((int*)p, 6);
  CHECK(hipMemcpy(&value, p, 4, hipMemcpyDeviceToHost));
  printf("written: %d\n", value);
  CHECK(allow(p, 2 * CHUNK, hipMemAccessFlagsProtNone));
  printf("access: %lld\n", rights_of(p));
  SHOW(hipMemcpy(&value, p, 4, hipMemcpyDeviceToHost));
  CHECK(hipMemUnmap(p, 2 * CHUNK));
  CHECK(hipMemRelease(handle));
  CHECK(hipMemAddressFree(p, 2 * CHUNK));
  CHECK(hipFree(out));
  return 0;
}

static int refused() {
  Prop prop, bad, got;
  size_t granularity = 0;
  SHOW(hipMemGetAllocationGranularity_(&granularity, &prop, 0));
  int supported = 0;
  CHECK(hipDeviceGetAttribute(&supported, (hipDeviceAttribute_t)89, 0));
  printf("granularity: %zu, supported: %d\n", granularity, supported);
  bad = prop, bad.location.id = 9;
  SHOW(hipMemGetAllocationGranularity_(&granularity, &bad, 0));
  SHOW(hipMemGetAllocationGranularity_(&granularity, &prop, 2));
  void* q;
  SHOW(hipMemAddressReserve(nullptr, CHUNK, 0, nullptr, 0));
  SHOW(hipMemAddressReserve(&q, CHUNK, 0, nullptr, 1));
  SHOW(hipMemAddressReserve(&q, 0, 0, nullptr, 0));
  SHOW(hipMemAddressReserve(&q, CHUNK + 1, 0, nullptr, 0));
  SHOW(hipMemAddressReserve(&q, CHUNK, 3, nullptr, 0));
  SHOW(hipMemAddressReserve(&q, 1ull << 62, 0, nullptr, 0));
  Handle h = nullptr;
  SHOW(hipMemCreate_(nullptr, CHUNK, &prop, 0));
  SHOW(hipMemCreate_(&h, 0, &prop, 0));
  SHOW(hipMemCreate_(&h, CHUNK + 1, &prop, 0));
  SHOW(hipMemCreate_(&h, CHUNK, nullptr, 0));
  SHOW(hipMemCreate_(&h, CHUNK, &prop, 1));
  SHOW(hipMemCreate_(&h, 1ull << 50, &prop, 0));
  bad = prop, bad.type = 0;
  SHOW(hipMemCreate_(&h, CHUNK, &bad, 0));
  bad = prop, bad.location.type = hipMemLocationTypeInvalid;
  SHOW(hipMemCreate_(&h, CHUNK, &bad, 0));
  bad = prop, bad.location.id = 9;
  SHOW(hipMemCreate_(&h, CHUNK, &bad, 0));
  bad = prop, bad.handleTypes = 2;
  SHOW(hipMemCreate_(&h, CHUNK, &bad, 0));
  SHOW(hipMemRelease(nullptr));
  SHOW(hipMemRelease((Handle)&prop));
  h = create(CHUNK);
  char* p = reserve(4 * CHUNK);
  SHOW(hipMemMap(nullptr, CHUNK, 0, h, 0));
  SHOW(hipMemMap(p, 0, 0, h, 0));
  SHOW(hipMemMap(p, CHUNK, 4096, h, 0));
  SHOW(hipMemMap(p, CHUNK, 0, nullptr, 0));
  SHOW(hipMemMap(p, CHUNK, 0, h, 1));
  SHOW(hipMemMap(p, CHUNK, 0, (Handle)&prop, 0));
  SHOW(hipMemMap(p, 2 * CHUNK, 0, h, 0));
  SHOW(hipMemMap(p + 1, CHUNK, 0, h, 0));
  SHOW(hipMemMap(p, CHUNK - 1, 0, h, 0));
  SHOW(hipMemMap(p + 4 * CHUNK - 4096, CHUNK, 0, h, 0));
  SHOW(hipMemMap(&prop, CHUNK, 0, h, 0));
  SHOW(hipMemMap(p, CHUNK, 0, h, 0));
  SHOW(hipMemMap(p, CHUNK, 0, h, 0));
  SHOW(hipMemMap(p + 4096, CHUNK, 0, h, 0));
  SHOW(hipMemMap(p + CHUNK, CHUNK, 0, h, 0));
  SHOW(hipMemUnmap(nullptr, CHUNK));
  SHOW(hipMemUnmap(p, 0));
  SHOW(hipMemUnmap(p, 4096));
  SHOW(hipMemUnmap(p + 4096, CHUNK - 4096));
  SHOW(hipMemUnmap(p, CHUNK + 4096));
  SHOW(hipMemUnmap(p, 3 * CHUNK));
  SHOW(hipMemUnmap(p + 2 * CHUNK, CHUNK));
  SHOW(allow(nullptr, CHUNK));
  SHOW(allow(p, 0));
  SHOW(allow(p, CHUNK - 4096));
  SHOW(allow(p, 3 * CHUNK));
  SHOW(allow(p + 2 * CHUNK, CHUNK));
  SHOW(allow(&prop, CHUNK));
  SHOW(allow(p, CHUNK, (hipMemAccessFlags)2));
  SHOW(allow(p, CHUNK, hipMemAccessFlagsProtReadWrite, 9));
  SHOW(allow(p, CHUNK, hipMemAccessFlagsProtReadWrite, -1));
  SHOW(hipMemSetAccess(p, CHUNK, nullptr, 1));
  hipMemAccessDesc desc = {{hipMemLocationTypeInvalid, 0}, hipMemAccessFlagsProtReadWrite};
  SHOW(hipMemSetAccess(p, CHUNK, &desc, 1));
  SHOW(hipMemSetAccess(p, CHUNK, &desc, 0));
  printf("access: %lld %lld %lld\n", rights_of(p), rights_of(p, 9), rights_of(nullptr));
  SHOW(hipMemRetainAllocationHandle(nullptr, p));
  SHOW(hipMemRetainAllocationHandle(&h, p + 3 * CHUNK));
  SHOW(hipMemGetAllocationPropertiesFromHandle_(nullptr, h));
  SHOW(hipMemGetAllocationPropertiesFromHandle_(&got, nullptr));
  SHOW(hipMemGetAllocationPropertiesFromHandle_(&got, h));
  printf("properties: %d %d %d %d\n", got.type, got.handleTypes, got.location.type, got.location.id);
  SHOW(hipMemMapArrayAsync(nullptr, 1, nullptr));
  SHOW(hipMemAddressFree(p, 4 * CHUNK));
  SHOW(hipMemUnmap(p, 2 * CHUNK));
  SHOW(hipMemRelease(h));
  SHOW(hipMemAddressFree(nullptr, CHUNK));
  SHOW(hipMemAddressFree(p, 0));
  SHOW(hipMemAddressFree(p + CHUNK, CHUNK));
  SHOW(hipMemAddressFree(p, 4 * CHUNK));
  // Where it is asked for, if that is free.
  SHOW(hipMemAddressReserve(&q, CHUNK, 0, p, 0));
  printf("as asked for: %d\n", q == p);
  CHECK(hipMemAddressFree(q, CHUNK));
  return 0;
}

static int shared() {
  Handle plain = create(CHUNK), handle = create(CHUNK, 0, 1), imported = nullptr, again = nullptr;
  int descriptor = -1;
  SHOW(hipMemExportToShareableHandle(&descriptor, plain, hipMemHandleTypePosixFileDescriptor, 0));
  SHOW(hipMemExportToShareableHandle(&descriptor, handle, hipMemHandleTypePosixFileDescriptor, 1));
  SHOW(hipMemExportToShareableHandle(nullptr, handle, hipMemHandleTypePosixFileDescriptor, 0));
  CHECK(hipMemExportToShareableHandle(&descriptor, handle, hipMemHandleTypePosixFileDescriptor, 0));
  int pipes[2];
  if (pipe(pipes) != 0) return 1;
  SHOW(hipMemImportFromShareableHandle(&imported, (void*)(size_t)pipes[0], hipMemHandleTypePosixFileDescriptor));
  SHOW(hipMemImportFromShareableHandle(&imported, nullptr, hipMemHandleTypePosixFileDescriptor));
  SHOW(hipMemImportFromShareableHandle(&imported, &descriptor, hipMemHandleTypeWin32));
  // The number from HIP 7.1 on, its address before.
  CHECK(hipMemImportFromShareableHandle(&imported, (void*)(size_t)descriptor, hipMemHandleTypePosixFileDescriptor));
  CHECK(hipMemImportFromShareableHandle(&again, &descriptor, hipMemHandleTypePosixFileDescriptor));
  close(descriptor);
  char* p = reserve(3 * CHUNK);
  CHECK(hipMemMap(p, CHUNK, 0, handle, 0));
  CHECK(hipMemMap(p + CHUNK, CHUNK, 0, imported, 0));
  CHECK(hipMemMap(p + 2 * CHUNK, CHUNK, 0, again, 0));
  CHECK(allow(p, 3 * CHUNK));
  CHECK(hipMemset(p + CHUNK, 3, 4));
  int got[2];
  CHECK(hipMemcpy(&got[0], p, 4, hipMemcpyDeviceToHost));
  CHECK(hipMemcpy(&got[1], p + 2 * CHUNK, 4, hipMemcpyDeviceToHost));
  printf("shared: %#x %#x\n", got[0], got[1]);
  CHECK(hipMemUnmap(p, 3 * CHUNK));
  for (Handle each : {plain, handle, imported, again}) CHECK(hipMemRelease(each));
  CHECK(hipMemAddressFree(p, 3 * CHUNK));
  return 0;
}

static int devices() {
  // Memory of two devices, side by side.
  char* p = reserve(2 * CHUNK);
  Handle first = create(CHUNK, 0), second = create(CHUNK, 1);
  CHECK(hipMemMap(p, CHUNK, 0, first, 0));
  CHECK(hipMemMap(p + CHUNK, CHUNK, 0, second, 0));
  CHECK(allow(p, 2 * CHUNK, hipMemAccessFlagsProtReadWrite, 0));
  CHECK(allow(p, 2 * CHUNK, hipMemAccessFlagsProtRead, 1));
  printf("access: %lld %lld\n", rights_of(p + CHUNK, 0), rights_of(p + CHUNK, 1));
  const int n = 2 * CHUNK / 4;
  count<<<n / 256, 256>>>((int*)p, n, 0);
  CHECK(hipDeviceSynchronize());
  CHECK(hipSetDevice(1));
  unsigned long long *out, result;
  CHECK(hipMalloc((void**)&out, 8));
  CHECK(hipMemset(out, 0, 8));
  sum<<<1, 256>>>((int*)p, n, out);
  CHECK(hipMemcpy(&result, out, 8, hipMemcpyDeviceToHost));
  printf("sum of both: %d\n", result == (unsigned long long)n * (n - 1) / 2);
  CHECK(hipFree(out));
  size_t used1 = used();
  CHECK(hipMemUnmap(p, 2 * CHUNK));
  CHECK(hipMemRelease(first));
  CHECK(hipMemRelease(second));
  printf("given back: %zu chunks\n", (used1 - used()) / CHUNK);
  CHECK(hipMemAddressFree(p, 2 * CHUNK));
  return 0;
}

static int fault(const char* which) {
  char* p = reserve(4 * CHUNK);
  Handle handle = create(CHUNK);
  CHECK(hipMemMap(p, CHUNK, 0, handle, 0));
  int *out, device = 0;
  CHECK(hipMalloc((void**)&out, 4));
  if (strcmp(which, "no-access") != 0) CHECK(allow(p, CHUNK));
  if (strcmp(which, "read-only") == 0) CHECK(allow(p, CHUNK, hipMemAccessFlagsProtRead));
  if (strcmp(which, "after-unmap") == 0) CHECK(hipMemUnmap(p, CHUNK));
  if (strcmp(which, "peer") == 0) CHECK(hipSetDevice(1));
  if (strcmp(which, "unmapped") == 0) {
    read<<<1, 1>>>((int*)(p + CHUNK + 16), out);
  } else if (strcmp(which, "peer") == 0) {
    write<<<1, 1>>>((int*)(p + 16), 1);
  } else if (strcmp(which, "read-only") == 0) {
    write<<<1, 1>>>((int*)(p + 16), 1);
  } else {
    read<<<1, 1>>>((int*)(p + 16), out);
  }
  printf("%s\n", hipGetErrorName(hipDeviceSynchronize()));
  return 0;
}

int main(int argc, char** argv) {
  if (argc > 1) return fault(argv[1]);
  return seams() || aliases() || rights() || refused() || shared() || devices();
}
