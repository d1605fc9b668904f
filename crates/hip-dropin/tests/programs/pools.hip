// A pool keeps freed memory up to its release threshold, gives it to the next allocation of the stream, and back when it is trimmed
// or the device has no other memory. Its counts follow every way of freeing.
#include "newer.h"
#include <cstdint>

static hipMemPool_t pool;
static uint64_t attribute(hipMemPoolAttr which) {
  uint64_t value = 0;
  (void)hipMemPoolGetAttribute(pool, which, &value);
  return value >> 20;
}
static void show(const char *what) {
  printf("%s: reserved %d (%d), used %d (%d)\n", what, (int)attribute(hipMemPoolAttrReservedMemCurrent),
         (int)attribute(hipMemPoolAttrReservedMemHigh), (int)attribute(hipMemPoolAttrUsedMemCurrent),
         (int)attribute(hipMemPoolAttrUsedMemHigh));
}

static void set_threshold(uint64_t threshold) {
  (void)hipMemPoolSetAttribute(pool, hipMemPoolAttrReleaseThreshold, &threshold);
}

static hipMemPool_t new_pool(int device) {
  hipMemPoolProps properties = {};
  properties.allocType = hipMemAllocationTypePinned;
  properties.location.type = hipMemLocationTypeDevice;
  properties.location.id = device;
  (void)hipMemPoolCreate(&pool, &properties);
  return pool;
}

static void keep_three(hipStream_t stream) {
  void *p[3];
  set_threshold(UINT64_MAX);
  for (auto &one : p) (void)hipMallocAsync(&one, 64 << 20, stream);
  for (auto one : p) (void)hipFreeAsync(one, stream);
}

// What is above a lowered threshold goes with the next wait, whichever that is.
static void lowered(hipStream_t stream) {
  hipEvent_t event;
  (void)hipEventCreate(&event);
  (void)hipEventRecord(event, stream);
  for (int wait = 0; wait < 4; ++wait) {
    keep_three(stream);
    set_threshold(64 << 20);
    int before = attribute(hipMemPoolAttrReservedMemCurrent);
    (void)(wait == 0   ? hipStreamSynchronize(stream)
           : wait == 1 ? hipEventSynchronize(event)
           : wait == 2 ? hipDeviceSynchronize()
                       : hipCtxSynchronize());
    printf("lowered: %d %d\n", before, (int)attribute(hipMemPoolAttrReservedMemCurrent));
  }
  // Memory of another size makes the pool too large.
  void *large;
  keep_three(stream);
  set_threshold(192 << 20);
  (void)hipMallocAsync(&large, 128 << 20, stream);
  int before = attribute(hipMemPoolAttrReservedMemCurrent);
  (void)hipStreamSynchronize(stream);
  printf("grown: %d %d\n", before, (int)attribute(hipMemPoolAttrReservedMemCurrent));
  (void)hipFreeAsync(large, stream);
  set_threshold(0);
  (void)hipStreamSynchronize(stream);
}

// hipFree, a stream of another device, a pool that is gone, and hipDeviceReset.
static void frees(hipStream_t stream) {
  const size_t bytes = 64 << 20;
  void *p;
  hipStream_t other;
  hipMemPool_t first = new_pool(0);
  for (uint64_t threshold : {(uint64_t)0, UINT64_MAX}) {
    set_threshold(threshold);
    (void)hipMallocFromPoolAsync(&p, bytes, pool, stream);
    (void)hipFree(p);
    show("hipFree");
  }
  set_threshold(0);
  (void)hipMemPoolTrimTo(pool, 0);
  (void)hipSetDevice(1);
  (void)hipStreamCreate(&other);
  (void)hipMallocFromPoolAsync(&p, bytes, pool, stream);
  (void)hipFreeAsync(p, other);
  show("other device");
  (void)hipSetDevice(0);
  (void)hipMallocFromPoolAsync(&p, bytes, pool, stream);
  (void)hipMemPoolDestroy(pool);
  hipMemPool_t second = new_pool(0);
  (void)hipFreeAsync(p, stream);
  show("new pool");
  (void)hipSetDevice(1);
  pool = new_pool(1);
  set_threshold(UINT64_MAX);
  void *live;
  (void)hipMallocFromPoolAsync(&p, bytes, pool, other);
  (void)hipMallocFromPoolAsync(&live, bytes, pool, other);
  (void)hipFreeAsync(p, other);
  (void)hipDeviceReset();
  show("reset");
  (void)hipSetDevice(0);
  (void)hipDeviceGetDefaultMemPool(&pool, 0);
}

NEWER(hipGraphAddMemAllocNode, hipGraphNode_t *, hipGraph_t, const hipGraphNode_t *, size_t, void *);

// Each call gets the memory that a pool keeps before it is out of memory.
static int out_of_memory(hipStream_t stream) {
  size_t free, total;
  (void)hipMemGetInfo(&free, &total);
  hipMemPool_t other = new_pool(0);
  (void)hipDeviceGetDefaultMemPool(&pool, 0);
  set_threshold(UINT64_MAX);
  const size_t half = total / 2;
  for (int call = 0; call < 7; ++call) {
    void *p;
    size_t pitch;
    hipPitchedPtr box = {};
    hipGraph_t graph;
    hipGraphNode_t node;
    // hipMemAllocNodeParams.
    struct {
      hipMemPoolProps pool;
      void *accesses;
      size_t count, bytes;
      void *pointer;
    } params = {};
    params.pool.allocType = hipMemAllocationTypePinned;
    params.pool.location.type = hipMemLocationTypeDevice;
    params.bytes = half;
    (void)hipMallocAsync(&p, total / 4 * 3, stream);
    (void)hipFreeAsync(p, stream);
    p = nullptr;
    hipError_t status = hipErrorUnknown;
    switch (call) {
      case 0: status = hipMalloc(&p, half); break;
      case 1: status = hipMallocPitch(&p, &pitch, 1 << 20, half >> 20); break;
      case 2: status = hipMalloc3D(&box, make_hipExtent(1 << 20, half >> 20, 1)), p = box.ptr; break;
      case 3: status = hipExtMallocWithFlags(&p, half, hipDeviceMallocFinegrained); break;
      case 4: status = hipMallocAsync(&p, half, stream); break;
      case 5: status = hipMallocFromPoolAsync(&p, half, other, stream); break;
      case 6:
        (void)hipGraphCreate(&graph, 0);
        status = hipGraphAddMemAllocNode_(&node, graph, nullptr, 0, &params);
        (void)hipGraphDestroy(graph);
    }
    printf("call %d: %s\n", call, hipGetErrorName(status));
    (void)hipFree(p);
    (void)hipMemPoolTrimTo(pool, 0);
  }
  return 0;
}

int main() {
  const size_t bytes = 64 << 20;
  void *p[3], *again;
  hipStream_t stream;
  uint64_t threshold = UINT64_MAX, zero = 0;
  (void)hipStreamCreate(&stream);
  (void)hipDeviceGetDefaultMemPool(&pool, 0);
  for (auto &one : p) (void)hipMallocAsync(&one, bytes, stream);
  for (auto one : p) (void)hipFreeAsync(one, stream);
  (void)hipStreamSynchronize(stream);
  show("threshold 0");
  (void)hipMemPoolSetAttribute(pool, hipMemPoolAttrReleaseThreshold, &threshold);
  for (auto &one : p) (void)hipMallocAsync(&one, bytes, stream);
  for (auto one : p) (void)hipFreeAsync(one, stream);
  (void)hipStreamSynchronize(stream);
  show("kept");
  (void)hipMallocAsync(&again, bytes, stream);
  printf("reused: %d\n", again == p[0] || again == p[1] || again == p[2]);
  (void)hipFreeAsync(again, stream);
  (void)hipMemPoolTrimTo(pool, bytes);
  show("trimmed");
  (void)hipMemPoolSetAttribute(pool, hipMemPoolAttrReservedMemHigh, &zero);
  (void)hipMemPoolTrimTo(pool, 0);
  show("empty");
  lowered(stream);
  frees(stream);
  return out_of_memory(stream);
}
