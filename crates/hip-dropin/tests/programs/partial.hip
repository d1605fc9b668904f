// hipExtModuleLaunchKernel with a grid that does not consist of whole workgroups: each work-item runs once, the last workgroups are
// smaller, and barriers are theirs. The argument is a code object of this file (hipcc --genco).
#include <hip/hip_runtime.h>
#include <hip/hip_ext.h>
#include <cstdio>
#include <vector>

// Each work-item of a grid of nx * ny * nz counts itself at its place, behind a barrier, and the items of its workgroup.
extern "C" __global__ void place(int *seen, int *counts, int bx, int by, int bz, int nx, int ny) {
  __shared__ int items;
  bool is_first = threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0;
  if (is_first) items = 0;
  __syncthreads();
  atomicAdd(&items, 1);
  __syncthreads();
  int x = blockIdx.x * bx + threadIdx.x, y = blockIdx.y * by + threadIdx.y, z = blockIdx.z * bz + threadIdx.z;
  atomicAdd(&seen[(z * ny + y) * nx + x], 1);
  if (is_first) counts[(blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x] = items;
}

extern "C" __global__ void sizes(int *out) {
  if (threadIdx.x == 0) out[blockIdx.x] = blockDim.x * 1000 + gridDim.x;
}

static int launch(hipFunction_t function, const unsigned (&threads)[3], const unsigned (&block)[3], void **arguments) {
  return hipExtModuleLaunchKernel(function, threads[0], threads[1], threads[2], block[0], block[1], block[2], 0, nullptr,
                                  arguments, nullptr);
}

static void place_all(hipFunction_t function, const unsigned (&threads)[3], const unsigned (&block)[3]) {
  size_t items = threads[0] * threads[1] * threads[2], groups = 1;
  for (int n = 0; n < 3; ++n) groups *= (threads[n] + block[n] - 1) / block[n];
  int *seen, *counts, sizes[5] = {(int)block[0], (int)block[1], (int)block[2], (int)threads[0], (int)threads[1]};
  (void)hipMalloc(&seen, items * 4);
  (void)hipMalloc(&counts, groups * 4);
  (void)hipMemset(seen, 0, items * 4);
  (void)hipMemset(counts, 0, groups * 4);
  void *arguments[] = {&seen, &counts, &sizes[0], &sizes[1], &sizes[2], &sizes[3], &sizes[4]};
  int status = launch(function, threads, block, arguments);
  std::vector<int> found(items), by_group(groups);
  (void)hipMemcpy(found.data(), seen, items * 4, hipMemcpyDeviceToHost);
  (void)hipMemcpy(by_group.data(), counts, groups * 4, hipMemcpyDeviceToHost);
  size_t once = 0;
  for (int n : found) once += n == 1;
  printf("%d: %zu of %zu, groups of", status, once, items);
  for (int n : by_group) printf(" %d", n);
  printf("\n");
}

int main(int argc, char **argv) {
  hipModule_t module;
  hipFunction_t place, sizes;
  (void)hipModuleLoad(&module, argv[1]);
  (void)hipModuleGetFunction(&place, module, "place");
  (void)hipModuleGetFunction(&sizes, module, "sizes");
  place_all(place, {128, 1, 1}, {64, 1, 1});
  place_all(place, {300, 1, 1}, {128, 1, 1});
  place_all(place, {100, 5, 1}, {64, 2, 1});
  place_all(place, {9, 5, 3}, {8, 3, 2});
  place_all(place, {40, 1, 1}, {64, 1, 1});
  int *out, host[3] = {};
  (void)hipMalloc(&out, sizeof(host));
  void *arguments[] = {&out};
  int status = launch(sizes, {300, 1, 1}, {128, 1, 1}, arguments);
  (void)hipMemcpy(host, out, sizeof(host), hipMemcpyDeviceToHost);
  printf("%d: %d %d %d\n", status, host[0], host[1], host[2]);
  // A captured launch keeps its partial workgroup.
  hipStream_t stream;
  hipGraph_t graph;
  hipGraphExec_t exec;
  (void)hipStreamCreate(&stream);
  (void)hipMemset(out, 0, sizeof(host));
  (void)hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed);
  (void)hipExtModuleLaunchKernel(sizes, 300, 1, 1, 128, 1, 1, 0, stream, arguments, nullptr);
  (void)hipStreamEndCapture(stream, &graph);
  (void)hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0);
  (void)hipGraphLaunch(exec, stream);
  (void)hipStreamSynchronize(stream);
  (void)hipMemcpy(host, out, sizeof(host), hipMemcpyDeviceToHost);
  printf("captured: %d %d %d\n", host[0], host[1], host[2]);
}
