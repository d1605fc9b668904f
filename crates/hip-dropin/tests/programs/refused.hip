// Accesses of registered memory that the process itself may not access: `refused CASE` prints the wait's error.
#include <hip/hip_runtime.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

constexpr size_t bytes = 1 << 16;

struct alignas(16) Four { unsigned v[4]; };

template <class T> __global__ void store(T *p, unsigned stride) { p[threadIdx.x * stride] = T{}; }
template <class T> __global__ void load(const volatile T *p, unsigned stride, T *out) { out[threadIdx.x] = p[threadIdx.x * stride]; }
__global__ void load4(const Four *p, Four *out) { out[threadIdx.x] = p[threadIdx.x]; }
__global__ void store4(Four *p) { p[threadIdx.x] = Four{}; }
__global__ void scalar(const unsigned *__restrict__ p, unsigned *out) { out[threadIdx.x] = p[blockIdx.x * 2]; }
template <class T> __global__ void add(T *p) { atomicAdd(p + threadIdx.x, T(1)); }
template <class T> __global__ void swap(T *p) { atomicCAS(p + threadIdx.x, T(1), T(2)); }
__global__ void part(unsigned *p) { if (threadIdx.x & 1) p[threadIdx.x] = 1; }

static void own(int) { write(1, "own handler\n", 12); _exit(0); }

int main(int count, char **arguments) {
  const char *mode = count > 1 ? arguments[1] : "";
  const char *kernel = count > 2 ? arguments[2] : "";
  auto is = [](const char *a, const char *b) { return !strcmp(a, b); };
  char name[] = "/tmp/refused-XXXXXX";
  int file = mkstemp(name);
  unlink(name);
  if (ftruncate(file, bytes)) return 1;
  if (is(mode, "own")) signal(SIGSEGV, own);
  void *memory = mmap(nullptr, bytes, is(mode, "readonly") ? PROT_READ : PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  unsigned *out;
  if (hipHostRegister(memory, bytes, 0) || hipMalloc(&out, bytes)) return 1;
  if (is(mode, "own") || is(mode, "crash")) {
    mprotect(memory, bytes, PROT_NONE);
    *(volatile char *)memory;
    return 1;
  }
  // Memory that may be accessed is.
  load<unsigned><<<1, 64>>>((unsigned *)memory, 1, out);
  hipError_t before = hipDeviceSynchronize();
  if (is(mode, "none")) mprotect(memory, bytes, PROT_NONE);
  if (is(mode, "second")) mprotect((char *)memory + 4096, bytes - 4096, PROT_NONE);
  if (is(mode, "unmapped")) munmap(memory, bytes);
  if (is(mode, "short")) if (ftruncate(file, 0)) return 1;
  auto *words = (unsigned *)memory;
  if (is(kernel, "load")) load<unsigned><<<4, 64>>>(words, 1, out);
  if (is(kernel, "load1")) load<unsigned char><<<1, 64>>>((unsigned char *)words, 1, (unsigned char *)out);
  if (is(kernel, "load2")) load<unsigned short><<<1, 64>>>((unsigned short *)words, 1, (unsigned short *)out);
  if (is(kernel, "load8")) load<unsigned long><<<1, 64>>>((unsigned long *)words, 1, (unsigned long *)out);
  if (is(kernel, "load16")) load4<<<1, 64>>>((Four *)words, (Four *)out);
  if (is(kernel, "scattered")) load<unsigned><<<1, 64>>>(words, 33, out);
  if (is(kernel, "scalar")) scalar<<<1, 64>>>(words, out);
  if (is(kernel, "store")) store<unsigned><<<1, 64>>>(words, 1);
  if (is(kernel, "store1")) store<unsigned char><<<1, 64>>>((unsigned char *)words, 1);
  if (is(kernel, "store2")) store<unsigned short><<<1, 64>>>((unsigned short *)words, 1);
  if (is(kernel, "store8")) store<unsigned long><<<1, 64>>>((unsigned long *)words, 1);
  if (is(kernel, "store16")) store4<<<1, 64>>>((Four *)words);
  if (is(kernel, "apart")) store<unsigned><<<1, 64>>>(words, 33);
  if (is(kernel, "part")) part<<<1, 64>>>(words);
  if (is(kernel, "add")) add<unsigned><<<1, 64>>>(words);
  if (is(kernel, "add8")) add<unsigned long long><<<1, 64>>>((unsigned long long *)words);
  if (is(kernel, "swap")) swap<unsigned><<<1, 64>>>(words);
  if (is(kernel, "swap8")) swap<unsigned long long><<<1, 64>>>((unsigned long long *)words);
  hipError_t set = hipSuccess;
  if (is(kernel, "set")) set = hipMemset(memory, 1, bytes);
  if (is(kernel, "copy in")) set = hipMemcpy(out, memory, bytes, hipMemcpyHostToDevice);
  if (is(kernel, "copy out")) set = hipMemcpy(memory, out, bytes, hipMemcpyDeviceToHost);
  if (is(kernel, "copy few")) set = hipMemcpy(memory, out, 12, hipMemcpyDeviceToHost);
  if (is(kernel, "copy later")) set = hipMemcpyAsync(memory, out, bytes, hipMemcpyDeviceToHost, 0);
  if (is(kernel, "freed")) {  // A device's address in no live allocation is none of the host's.
    hipFree(out);
    set = hipMemcpy(out, memory, 64, hipMemcpyHostToDevice);
  }
  hipError_t after = hipDeviceSynchronize();
  printf("%s %s\n", hipGetErrorName(before), hipGetErrorName(set ? set : after));
}
