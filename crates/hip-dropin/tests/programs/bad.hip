// What a program should not do: images that are cut short, unregistering out of order, HIP in a host function. The first
// argument is a code object, the second a folder for files.
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <thread>
#include <vector>

struct Wrapper {
  unsigned magic, version;
  const void *binary;
  void *unused;
};

extern "C" void **__hipRegisterFatBinary(const void *wrapper);
extern "C" void __hipUnregisterFatBinary(void **handle);
extern "C" void __hipRegisterFunction(void **handle, const void *function, char *device, const char *name, unsigned limit,
                                      void *thread, void *block, void *block_size, void *grid_size, int *wave_size);

static const char *name(hipError_t status) { return hipGetErrorName(status); }

static const char *launch(const void *function) {
  return name(hipLaunchKernel(function, dim3(1), dim3(1), nullptr, 0, nullptr));
}

static void images(const std::vector<char> &object, const std::string &file) {
  std::set<std::string> loaded;
  for (size_t bytes = 0; bytes < object.size(); bytes += 1 + object.size() / 50) {
    std::ofstream(file, std::ios::binary).write(object.data(), bytes);
    hipModule_t module;
    loaded.insert(name(hipModuleLoad(&module, file.c_str())));
  }
  printf("cut short, any success: %d\n", int(loaded.count("hipSuccess")));
  hipModule_t module;
  printf("no file: %s\n", name(hipModuleLoad(&module, "/nonexistent/file")));
  static char zeros[4096];
  printf("zeros: %s\n", name(hipModuleLoadData(&module, zeros)));
}

static void registrations(const std::vector<char> &object) {
  static char zeros[4096];
  static int first, second, third;
  Wrapper bad = {0x48495046, 1, zeros, nullptr}, good = {0x48495046, 1, object.data(), nullptr};
  Wrapper unknown = {1, 2, zeros, nullptr};
  printf("unknown format: %d\n", __hipRegisterFatBinary(&unknown) == nullptr);
  void **one = __hipRegisterFatBinary(&good), **two = __hipRegisterFatBinary(&bad), **three = __hipRegisterFatBinary(&good);
  auto kernel = [](void **handle, int &function) {
    __hipRegisterFunction(handle, &function, nullptr, "empty", -1, nullptr, nullptr, nullptr, nullptr, nullptr);
  };
  kernel(one, first), kernel(two, second), kernel(three, third);
  printf("registered: %s, %s, %s\n", launch(&first), launch(&second), launch(&third));
  __hipUnregisterFatBinary(one);
  __hipUnregisterFatBinary(one);
  __hipUnregisterFatBinary(nullptr);
  printf("first unregistered: %s, %s\n", launch(&first), launch(&third));
  kernel(one, first);
  __hipUnregisterFatBinary(three);
  __hipUnregisterFatBinary(two);
  printf("unregistered: %s, %s, %s\n", launch(&first), launch(&second), launch(&third));
}

static void callback(hipStream_t, hipError_t, void *data) {
  void *memory = nullptr;
  auto results = static_cast<std::string *>(data);
  *results += std::string("allocate ") + name(hipMalloc(&memory, 64));
  *results += std::string(", wait ") + name(hipDeviceSynchronize());
  *results += std::string(", copy ") + name(hipMemcpy(&memory, memory, 8, hipMemcpyDeviceToHost));
}

int main(int count, char **arguments) {
  if (count < 3) return 2;
  std::ifstream file(arguments[1], std::ios::binary);
  std::vector<char> object((std::istreambuf_iterator<char>(file)), {});
  images(object, std::string(arguments[2]) + "/cut.co");
  registrations(object);
  std::string results;
  printf("host function: %s, ", name(hipStreamAddCallback(nullptr, callback, &results, 0)));
  printf("%s, ", name(hipDeviceSynchronize()));
  printf("%s\n", results.c_str());
}
