// Threads copy the same rows to the same pageable memory at once, in more bytes than are staged at a time.
#include <hip/hip_runtime.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#define CHECK(call)                                                                        \
  do {                                                                                     \
    hipError_t e = (call);                                                                 \
    if (e != hipSuccess) { printf("%s: %s\n", #call, hipGetErrorString(e)), exit(1); }     \
  } while (0)

// Copies rows of a width from memory with a pitch, each time from every thread.
static bool copies(size_t width, size_t pitch, size_t height, int threads, int times) {
  std::vector<unsigned char> host(pitch * height), wanted(width * height), out(width * height + 1);
  for (size_t n = 0; n < host.size(); n++) host[n] = (unsigned char)(n * 7 + n / 251);
  for (size_t y = 0; y < height; y++)
    for (size_t x = 0; x < width; x++) wanted[y * width + x] = host[y * pitch + x];
  unsigned char *device;
  CHECK(hipMalloc(&device, host.size()));
  CHECK(hipMemcpy(device, host.data(), host.size(), hipMemcpyHostToDevice));
  std::vector<std::thread> all;
  for (int n = 0; n < threads; n++)
    all.emplace_back([&] {
      for (int i = 0; i < times; i++)
        CHECK(hipMemcpy2DAsync(out.data() + 1, width, device, pitch, width, height, hipMemcpyDeviceToHost, nullptr));
    });
  for (auto &thread : all) thread.join();
  CHECK(hipDeviceSynchronize());
  CHECK(hipFree(device));
  return std::equal(wanted.begin(), wanted.end(), out.begin() + 1);
}

int main() {
  printf("small: %d\n", copies(100, 128, 40, 8, 100));
  printf("large: %d\n", copies(3 << 20, (3 << 20) + 64, 3, 2, 2));
  printf("long: %d\n", copies(5 << 20, (5 << 20) + 64, 2, 2, 2));
}
