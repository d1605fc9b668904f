// Which freed memory an allocation may reuse while another stream is at work (hipMemPoolReuse...), and what a busy stream's memory
// keeps from being returned.
#include "newer.h"
#include <atomic>
#include <unistd.h>
#include <cstdint>

static std::atomic<bool> go;
static void wait_for_go(void *) {
  while (!go) {
  }
}

static hipMemPool_t pool;
static const size_t BYTES = 1 << 20;
static hipStream_t first, second;

static void allow(bool opportunistic, bool internal) {
  int one = opportunistic, two = internal;
  (void)hipMemPoolSetAttribute(pool, hipMemPoolReuseAllowOpportunistic, &one);
  (void)hipMemPoolSetAttribute(pool, hipMemPoolReuseAllowInternalDependencies, &two);
}

static int reserved() {
  uint64_t value = 0;
  (void)hipMemPoolGetAttribute(pool, hipMemPoolAttrReservedMemCurrent, &value);
  return value >> 20;
}

NEWER(hipLaunchHostFunc, hipStream_t, void (*)(void *), void *);

// Memory that the first stream fills with ones, when it may go, and frees.
static char *freed_behind_work() {
  char *p;
  go = false;
  (void)hipMallocAsync((void **)&p, BYTES, first);
  (void)hipLaunchHostFunc_(first, wait_for_go, nullptr);
  (void)hipMemsetAsync(p, 1, BYTES, first);
  (void)hipFreeAsync(p, first);
  return p;
}

// Allocates on the second stream, fills with twos, lets the first stream go, and says what came of it.
static void allocate(const char *what, char *freed) {
  char *p, value = 0;
  (void)hipMallocAsync((void **)&p, BYTES, second);
  (void)hipMemsetAsync(p, 2, BYTES, second);
  bool waits = false;
  for (int i = 0; i < 100 && !(waits = hipStreamQuery(second) == hipSuccess); ++i) usleep(1000);
  go = true;
  (void)hipStreamSynchronize(first);
  (void)hipStreamSynchronize(second);
  (void)hipMemcpy(&value, p, 1, hipMemcpyDefault);
  printf("%s: reused %d, waits %d, value %d\n", what, p == freed, !waits, value);
  (void)hipFreeAsync(p, second);
  (void)hipStreamSynchronize(second);
  (void)hipMemPoolTrimTo(pool, 0);
}

int main() {
  uint64_t threshold = UINT64_MAX;
  (void)hipStreamCreateWithFlags(&first, hipStreamNonBlocking);
  (void)hipStreamCreateWithFlags(&second, hipStreamNonBlocking);
  (void)hipDeviceGetDefaultMemPool(&pool, 0);
  (void)hipMemPoolSetAttribute(pool, hipMemPoolAttrReleaseThreshold, &threshold);
  for (int allowed = 0; allowed < 4; ++allowed) {
    allow(allowed & 1, allowed & 2);
    char what[] = "busy, 00";
    what[6] += allowed & 1, what[7] += allowed >> 1;
    allocate(what, freed_behind_work());
  }
  for (bool opportunistic : {false, true}) {
    allow(opportunistic, false);
    char *freed = freed_behind_work();
    go = true;
    (void)hipStreamSynchronize(first);
    // Later work of the first stream does not use the memory.
    go = false;
    (void)hipLaunchHostFunc_(first, wait_for_go, nullptr);
    allocate(opportunistic ? "finished, 1" : "finished, 0", freed);
  }
  // Neither a trim nor a wait for another stream waits for a busy one, or takes its memory.
  freed_behind_work();
  (void)hipMemPoolTrimTo(pool, 0);
  threshold = 0;
  (void)hipMemPoolSetAttribute(pool, hipMemPoolAttrReleaseThreshold, &threshold);
  (void)hipStreamSynchronize(second);
  int busy = reserved();
  go = true;
  (void)hipStreamSynchronize(first);
  printf("trimmed: %d %d\n", busy, reserved());
}
