// What happens around main: a fork before and after the first call, threads that end, a destructor after main.
#include <hip/hip_runtime.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cstdio>
#include <thread>

__global__ void fill(int *data, int value) { data[threadIdx.x] = value; }

static const char *in_child() {
  static char result[64];
  int pipe_ends[2];
  if (pipe(pipe_ends)) return "no pipe";
  fflush(stdout);
  if (pid_t child = fork()) {
    ssize_t bytes = read(pipe_ends[0], result, sizeof(result));
    waitpid(child, nullptr, 0);
    return bytes > 0 ? result : "nothing";
  }
  void *memory;
  snprintf(result, sizeof(result), "%s", hipGetErrorName(hipMalloc(&memory, 16)));
  if (write(pipe_ends[1], result, sizeof(result)) < 0) _exit(1);
  _exit(0);
}

struct Holder {
  int *memory = nullptr;
  ~Holder() { printf("destructor: %s\n", hipGetErrorName(hipFree(memory))); }
} holder;

int main() {
  printf("fork before: %s\n", in_child());
  (void)hipMalloc(&holder.memory, 64 * sizeof(int));
  printf("fork after: %s\n", in_child());
  for (int i = 0; i < 20; ++i)
    std::thread([i] {
      fill<<<1, 64, 0, hipStreamPerThread>>>(holder.memory, i);
      // The streams of two threads are not ordered.
      (void)hipStreamSynchronize(hipStreamPerThread);
    }).join();
  (void)hipDeviceSynchronize();
  int value = -1;
  (void)hipMemcpy(&value, holder.memory, sizeof(value), hipMemcpyDeviceToHost);
  printf("threads: %d\n", value);
  printf("last error of a new thread: ");
  (void)hipSetDevice(99);
  std::thread([] { printf("%s\n", hipGetErrorName(hipGetLastError())); }).join();
}
