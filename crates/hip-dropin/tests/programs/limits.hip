// Large grids, the granularity of virtual memory, conversions of halves, and a launch by a static object's destructor.
#include <hip/hip_runtime.h>
#include <dlfcn.h>
#include <cstdio>

extern "C" float __gnu_h2f_ieee(unsigned short);
extern "C" unsigned short __gnu_f2h_ieee(float);

__global__ void count(unsigned *n) { atomicAdd(n, 1u); }

static unsigned counted(dim3 grid) {
  unsigned *n, value = 0;
  (void)hipMalloc(&n, 4);
  (void)hipMemset(n, 0, 4);
  count<<<grid, 1>>>(n);
  (void)hipMemcpy(&value, n, 4, hipMemcpyDeviceToHost);
  return value;
}

static struct AtExit {
  int device = -1;
  ~AtExit() {
    if (device < 0) return;
    // The kernels of the program are unregistered by then.
    count<<<64, 1>>>(nullptr);
    printf("destructor: %s\n", hipGetErrorName(hipPeekAtLastError()));
    fflush(stdout);
  }
} at_exit;

int main() {
  printf("grids: %u %u %s\n", counted(dim3(1, 70000)), counted(dim3(1, 1, 70000)), hipGetErrorName(hipGetLastError()));
  printf("halves: %x %g\n", __gnu_f2h_ieee(1.5f), __gnu_h2f_ieee(0xc000));
  size_t granularity = 0;
  int prop[16] = {1, 0, 1, 0};  // hipMemAllocationProp: pinned, no handle, device 0.
  auto get = (hipError_t(*)(size_t *, void *, int))dlsym(RTLD_DEFAULT, "hipMemGetAllocationGranularity");
  printf("granularity: %s", hipGetErrorName(get(&granularity, prop, 0)));
  printf(" %zu", granularity);
  prop[3] = 7;
  printf(" %s\n", hipGetErrorName(get(&granularity, prop, 0)));
  at_exit.device = 0;
}
