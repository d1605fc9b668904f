// A libhsa-runtime64 that passes each call on to the one that HSA_REAL names, and has call number HSA_FAIL_AT of those that may fail return
// HSA_STATUS_ERROR_OUT_OF_RESOURCES without doing anything. Writes which it was to HSA_FAILED. Counts what is allocated, locked and loaded.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef uint64_t (*function)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

static function find(const char* name) {
  static void* real;
  if (!real) real = dlopen(getenv("HSA_REAL"), RTLD_NOW | RTLD_LOCAL);
  return real ? (function)dlsym(real, name) : 0;
}

static int fails(const char* name) {
  static _Atomic long calls;
  const char* at = getenv("HSA_FAIL_AT");
  if (!at || ++calls != atol(at)) return 0;
  FILE* file = fopen(getenv("HSA_FAILED"), "w");
  if (file) {
    fputs(name, file);
    fclose(file);
  }
  return 1;
}

static _Atomic long live;

__attribute__((visibility("default"))) long failing_live(void) { return live; }

// Handles are structs of one 64-bit number, and enumerators and counts are integers: all are passed as integers are.
#define CALL(name, may_fail, made)                                                                                   \
  __attribute__((visibility("default"))) uint64_t name(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,   \
                                                       uint64_t f, uint64_t g, uint64_t h) {                         \
    static function real;                                                                                            \
    if (!real) real = find(#name);                                                                                   \
    if (!real) return 0x1000; /* HSA_STATUS_ERROR: an optional function that the other does not have */              \
    if (may_fail && fails(#name)) return 0x1008;                                                                     \
    uint64_t status = real(a, b, c, d, e, f, g, h);                                                                  \
    if (made && (uint32_t)status == 0) live += made;                                                                 \
    return status;                                                                                                   \
  }

FUNCTIONS
