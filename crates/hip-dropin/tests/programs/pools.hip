// A pool keeps freed memory up to its release threshold, gives it to the next allocation of the stream, and back when it is trimmed.
#include <hip/hip_runtime.h>
#include <cstdint>
#include <cstdio>

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
  // Nearly all memory is kept when another size is asked for.
  size_t free, total;
  (void)hipMemGetInfo(&free, &total);
  (void)hipMallocAsync(&p[0], total / 4 * 3, stream);
  (void)hipFreeAsync(p[0], stream);
  printf("other size: %s\n", hipGetErrorName(hipMallocAsync(&p[0], total / 2, stream)));
}
