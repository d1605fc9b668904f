// Graphs with nodes that allocate and free, attributes, updates, objects of the program, nodes of the driver API and of
// any kind. For HIP 7.
#include "newer.h"
#include <cstring>

__global__ void add(int *data, int value) { data[threadIdx.x] += value; }
__global__ void subtract(int *data, int value) { data[threadIdx.x] -= value; }

struct AllocParams {
  hipMemPoolProps pool;
  const hipMemAccessDesc *accesses;
  size_t access_count;
  size_t bytes;
  void *pointer;
};

struct CopyNodeParams {
  int flags, reserved[3];
  hipMemcpy3DParms copy;
};

struct NodeParams {
  int type, reserved0[3];
  union {
    long long reserved1[29];
    hipKernelNodeParams kernel;
    CopyNodeParams copy;
    hipMemsetParams fill;
    hipHostNodeParams host;
    hipGraph_t graph;
    hipEvent_t event;
    AllocParams alloc;
    void *free;
  };
  long long reserved2;
};

struct DriverCopy {
  size_t src_x, src_y, src_z, src_lod;
  int src_type;
  const void *src_host;
  void *src_device;
  void *src_array;
  size_t src_pitch, src_height;
  size_t dst_x, dst_y, dst_z, dst_lod;
  int dst_type;
  void *dst_host;
  void *dst_device;
  void *dst_array;
  size_t dst_pitch, dst_height;
  size_t width, height, depth;
};

struct InstantiateParams {
  hipGraphNode_t error_node;
  unsigned long long flags;
  int result;
  hipStream_t upload;
};

union AttributeValue {
  char pad[64];
  int number;
};

typedef struct UserObjectOfHip *UserObject;

NEWER(hipGraphAddMemAllocNode, hipGraphNode_t *, hipGraph_t, const hipGraphNode_t *, size_t, AllocParams *);
NEWER(hipGraphMemAllocNodeGetParams, hipGraphNode_t, AllocParams *);
NEWER(hipGraphAddMemFreeNode, hipGraphNode_t *, hipGraph_t, const hipGraphNode_t *, size_t, void *);
NEWER(hipGraphMemFreeNodeGetParams, hipGraphNode_t, void *);
NEWER(hipGraphInstantiateWithParams, hipGraphExec_t *, hipGraph_t, InstantiateParams *);
NEWER(hipGraphAddNode, hipGraphNode_t *, hipGraph_t, const hipGraphNode_t *, size_t, NodeParams *);
NEWER(hipGraphNodeSetParams, hipGraphNode_t, NodeParams *);
NEWER(hipGraphExecNodeSetParams, hipGraphExec_t, hipGraphNode_t, NodeParams *);
NEWER(hipDrvGraphAddMemsetNode, hipGraphNode_t *, hipGraph_t, const hipGraphNode_t *, size_t, const hipMemsetParams *,
      hipCtx_t);
NEWER(hipDrvGraphAddMemcpyNode, hipGraphNode_t *, hipGraph_t, const hipGraphNode_t *, size_t, const DriverCopy *,
      hipCtx_t);
NEWER(hipDrvGraphMemcpyNodeGetParams, hipGraphNode_t, DriverCopy *);
NEWER(hipDrvGraphExecMemsetNodeSetParams, hipGraphExec_t, hipGraphNode_t, const hipMemsetParams *, hipCtx_t);
NEWER(hipGraphKernelNodeSetAttribute, hipGraphNode_t, int, const AttributeValue *);
NEWER(hipGraphKernelNodeGetAttribute, hipGraphNode_t, int, AttributeValue *);
NEWER(hipGraphKernelNodeCopyAttributes, hipGraphNode_t, hipGraphNode_t);
NEWER(hipUserObjectCreate, UserObject *, void *, hipHostFn_t, unsigned, unsigned);
NEWER(hipUserObjectRetain, UserObject, unsigned);
NEWER(hipUserObjectRelease, UserObject, unsigned);
NEWER(hipGraphRetainUserObject, hipGraph_t, UserObject, unsigned, unsigned);
NEWER(hipGraphReleaseUserObject, hipGraph_t, UserObject, unsigned);
NEWER(hipGraphDebugDotPrint, hipGraph_t, const char *, unsigned);
NEWER(hipDeviceGetGraphMemAttribute, int, int, void *);
NEWER(hipDeviceSetGraphMemAttribute, int, int, void *);
NEWER(hipDeviceGraphMemTrim, int);
NEWER(hipGraphNodeSetEnabled, hipGraphExec_t, hipGraphNode_t, unsigned);

static hipStream_t stream;
static int *pinned;
const size_t BYTES = 64 * sizeof(int);

static hipKernelNodeParams kernel_params(void (*kernel)(int *, int), void **arguments) {
  hipKernelNodeParams params = {};
  params.func = (void *)kernel;
  params.gridDim = dim3(1);
  params.blockDim = dim3(64);
  params.kernelParams = arguments;
  return params;
}

static AllocParams alloc_params() {
  AllocParams params = {};
  params.pool.allocType = hipMemAllocationTypePinned;
  params.pool.location.type = hipMemLocationTypeDevice;
  params.bytes = BYTES;
  return params;
}

// Memory that a graph allocates, fills, adds to, copies and frees.
static int memory() {
  hipGraph_t graph;
  CHECK(hipGraphCreate(&graph, 0));
  AllocParams params = alloc_params(), found = {};
  params.bytes = 0;
  hipGraphNode_t allocate, fill, kernel, copy, release, again;
  SHOW(hipGraphAddMemAllocNode_(&allocate, graph, nullptr, 0, &params));
  SHOW(hipGraphAddMemAllocNode_(&allocate, graph, nullptr, 0, nullptr));
  params.bytes = BYTES;
  CHECK(hipGraphAddMemAllocNode_(&allocate, graph, nullptr, 0, &params));
  CHECK(hipGraphMemAllocNodeGetParams_(allocate, &found));
  printf("same address: %d, %zu bytes\n", found.pointer == params.pointer, found.bytes);
  hipMemsetParams memset = {};
  memset.dst = params.pointer;
  memset.elementSize = 4;
  memset.width = 64;
  memset.height = 1;
  memset.value = 5;
  CHECK(hipGraphAddMemsetNode(&fill, graph, &allocate, 1, &memset));
  int value = 3;
  void *arguments[] = {&params.pointer, &value};
  hipKernelNodeParams launch = kernel_params(add, arguments);
  CHECK(hipGraphAddKernelNode(&kernel, graph, &fill, 1, &launch));
  CHECK(hipGraphAddMemcpyNode1D(&copy, graph, &kernel, 1, pinned, params.pointer, BYTES, hipMemcpyDeviceToHost));
  SHOW(hipGraphAddMemFreeNode_(&release, graph, &copy, 1, nullptr));
  SHOW(hipGraphAddMemFreeNode_(&release, graph, &copy, 1, pinned));
  CHECK(hipGraphAddMemFreeNode_(&release, graph, &copy, 1, params.pointer));
  SHOW(hipGraphAddMemFreeNode_(&again, graph, &copy, 1, params.pointer));
  void *freed = nullptr;
  SHOW(hipGraphMemFreeNodeGetParams_(allocate, &freed));
  CHECK(hipGraphMemFreeNodeGetParams_(release, &freed));
  hipGraphNodeType types[2];
  CHECK(hipGraphNodeGetType(allocate, &types[0]));
  CHECK(hipGraphNodeGetType(release, &types[1]));
  printf("frees the same: %d, types %d and %d\n", freed == params.pointer, types[0], types[1]);
  hipGraphExec_t exec;
  InstantiateParams instantiate = {};
  instantiate.flags = 64;
  SHOW(hipGraphInstantiateWithParams_(&exec, graph, &instantiate));
  printf("result: %d\n", instantiate.result);
  instantiate.flags = 0;
  CHECK(hipGraphInstantiateWithParams_(&exec, graph, &instantiate));
  printf("result: %d\n", instantiate.result);
  for (int i = 0; i < 2; ++i) {
    pinned[63] = 0;
    CHECK(hipGraphLaunch(exec, stream));
    CHECK(hipStreamSynchronize(stream));
    printf("launched: %d\n", pinned[63]);
  }
  CHECK(hipGraphExecDestroy(exec));
  CHECK(hipGraphDestroy(graph));
  CHECK(hipDeviceGraphMemTrim_(0));
  return 0;
}

// Memory that a graph leaves to the program: it can't be launched again before the memory is free.
static int kept_memory() {
  for (unsigned long long flags : {0ull, 1ull}) {
    hipGraph_t graph;
    CHECK(hipGraphCreate(&graph, 0));
    AllocParams params = alloc_params();
    hipGraphNode_t allocate;
    CHECK(hipGraphAddMemAllocNode_(&allocate, graph, nullptr, 0, &params));
    hipGraphExec_t exec;
    CHECK(hipGraphInstantiateWithFlags(&exec, graph, flags));
    CHECK(hipGraphLaunch(exec, stream));
    CHECK(hipMemsetAsync(params.pointer, 1, BYTES, stream));
    CHECK(hipMemcpyAsync(pinned, params.pointer, BYTES, hipMemcpyDeviceToHost, stream));
    CHECK(hipStreamSynchronize(stream));
    printf("kept: %#x\n", pinned[5]);
    SHOW(hipGraphLaunch(exec, stream));
    CHECK(hipStreamSynchronize(stream));
    CHECK(hipFreeAsync(params.pointer, stream));
    CHECK(hipStreamSynchronize(stream));
    CHECK(hipGraphExecDestroy(exec));
    CHECK(hipGraphDestroy(graph));
  }
  unsigned long long value = 0;
  SHOW(hipDeviceGetGraphMemAttribute_(7, 0, &value));
  SHOW(hipDeviceGetGraphMemAttribute_(0, 9, &value));
  SHOW(hipDeviceSetGraphMemAttribute_(0, 0, &value));
  SHOW(hipDeviceSetGraphMemAttribute_(0, 1, &value));
  return 0;
}

// What an update refuses, and what it changes.
static int update(int *device) {
  hipGraph_t graphs[5];
  hipGraphNode_t nodes[5][2];
  int values[] = {1, 10, 100, 1000, 0};
  for (int i = 0; i < 5; ++i) {
    CHECK(hipGraphCreate(&graphs[i], 0));
    void *arguments[] = {&device, &values[i]};
    hipKernelNodeParams launch = kernel_params(i == 1 ? subtract : add, arguments);
    CHECK(hipGraphAddKernelNode(&nodes[i][0], graphs[i], nullptr, 0, &launch));
    if (i == 2) {
      CHECK(hipGraphAddEmptyNode(&nodes[i][1], graphs[i], &nodes[i][0], 1));
    } else if (i == 3) {
      CHECK(hipGraphAddMemcpyNode1D(&nodes[i][1], graphs[i], nullptr, 0, pinned, device, BYTES, hipMemcpyDeviceToHost));
    } else if (i < 2) {
      CHECK(hipGraphAddMemcpyNode1D(&nodes[i][1], graphs[i], &nodes[i][0], 1, pinned, device, BYTES,
                                    hipMemcpyDeviceToHost));
    }
  }
  hipGraphExec_t exec;
  CHECK(hipGraphInstantiate(&exec, graphs[0], nullptr, nullptr, 0));
  for (int i = 0; i < 5; ++i) {
    CHECK(hipMemset(device, 0, BYTES));
    CHECK(hipDeviceSynchronize());
    hipGraphNode_t error = nullptr;
    hipGraphExecUpdateResult result;
    hipError_t status = hipGraphExecUpdate(exec, graphs[i], &error, &result);
    printf("update %d: %d, result %d, a node: %d\n", i, status, result, error != nullptr);
    if (status == hipSuccess) {
      CHECK(hipGraphLaunch(exec, stream));
      CHECK(hipStreamSynchronize(stream));
      printf("launched: %d\n", pinned[0]);
    }
  }
  CHECK(hipGraphExecDestroy(exec));
  for (auto graph : graphs) CHECK(hipGraphDestroy(graph));
  return 0;
}

static int attributes(int *device) {
  hipGraph_t graph;
  CHECK(hipGraphCreate(&graph, 0));
  hipGraphNode_t first, second, empty;
  int value = 1;
  void *arguments[] = {&device, &value};
  hipKernelNodeParams launch = kernel_params(add, arguments);
  CHECK(hipGraphAddKernelNode(&first, graph, nullptr, 0, &launch));
  CHECK(hipGraphAddKernelNode(&second, graph, &first, 1, &launch));
  CHECK(hipGraphAddEmptyNode(&empty, graph, nullptr, 0));
  AttributeValue attribute = {};
  attribute.number = 1;
  SHOW(hipGraphKernelNodeSetAttribute_(first, 2, nullptr));
  SHOW(hipGraphKernelNodeSetAttribute_(first, 77, &attribute));
  SHOW(hipGraphKernelNodeSetAttribute_(empty, 2, &attribute));
  SHOW(hipGraphKernelNodeSetAttribute_(first, 2, &attribute));
  attribute.number = 7;
  SHOW(hipGraphKernelNodeGetAttribute_(first, 2, &attribute));
  printf("cooperative: %d\n", attribute.number);
  SHOW(hipGraphKernelNodeGetAttribute_(first, 1, &attribute));
  SHOW(hipGraphKernelNodeCopyAttributes_(first, second));
  attribute.number = 7;
  SHOW(hipGraphKernelNodeGetAttribute_(second, 2, &attribute));
  printf("copied: %d\n", attribute.number);
  CHECK(hipGraphDestroy(graph));
  return 0;
}

static void destroy(void *count) { ++*(int *)count; }

static int user_objects() {
  static int destroyed = 0;
  UserObject object;
  SHOW(hipUserObjectCreate_(&object, &destroyed, nullptr, 1, 1));
  SHOW(hipUserObjectCreate_(&object, &destroyed, destroy, 0, 1));
  SHOW(hipUserObjectCreate_(&object, &destroyed, destroy, 1, 0));
  CHECK(hipUserObjectCreate_(&object, &destroyed, destroy, 2, 1));
  SHOW(hipUserObjectRetain_(object, 0));
  CHECK(hipUserObjectRetain_(object, 1));
  CHECK(hipUserObjectRelease_(object, 2));
  printf("destroyed: %d\n", destroyed);
  hipGraph_t graph;
  CHECK(hipGraphCreate(&graph, 0));
  SHOW(hipGraphRetainUserObject_(graph, object, 0, 0));
  SHOW(hipGraphRetainUserObject_(graph, object, 1, 4));
  CHECK(hipGraphRetainUserObject_(graph, object, 1, 0));
  CHECK(hipUserObjectRelease_(object, 1));
  printf("of the graph: %d\n", destroyed);
  CHECK(hipGraphReleaseUserObject_(graph, object, 1));
  printf("released: %d\n", destroyed);
  CHECK(hipUserObjectCreate_(&object, &destroyed, destroy, 1, 1));
  CHECK(hipGraphRetainUserObject_(graph, object, 1, 1));
  CHECK(hipGraphDestroy(graph));
  printf("with the graph: %d\n", destroyed);
  return 0;
}

// Nodes of any kind, and those of the driver API.
static int any_nodes(int *device) {
  hipGraph_t graph, child;
  CHECK(hipGraphCreate(&graph, 0));
  CHECK(hipGraphCreate(&child, 0));
  hipGraphNode_t nodes[5], node;
  NodeParams params = {};
  int value = 2;
  void *arguments[] = {&device, &value};
  params.type = hipGraphNodeTypeKernel - 1;
  params.kernel = kernel_params(add, arguments);
  CHECK(hipGraphAddNode_(&node, child, nullptr, 0, &params));
  memset(&params, 0, sizeof params);
  params.type = 2;
  params.fill.dst = device;
  params.fill.elementSize = 4;
  params.fill.width = 64;
  params.fill.height = 1;
  params.fill.value = 40;
  CHECK(hipGraphAddNode_(&nodes[0], graph, nullptr, 0, &params));
  memset(&params, 0, sizeof params);
  params.type = 4;
  params.graph = child;
  CHECK(hipGraphAddNode_(&nodes[1], graph, &nodes[0], 1, &params));
  memset(&params, 0, sizeof params);
  params.type = 1;
  params.copy.copy.srcPtr = make_hipPitchedPtr(device, BYTES, BYTES, 1);
  params.copy.copy.dstPtr = make_hipPitchedPtr(pinned, BYTES, BYTES, 1);
  params.copy.copy.extent = make_hipExtent(BYTES, 1, 1);
  params.copy.copy.kind = hipMemcpyDeviceToHost;
  CHECK(hipGraphAddNode_(&nodes[2], graph, &nodes[1], 1, &params));
  params.type = 99;
  SHOW(hipGraphAddNode_(&node, graph, nullptr, 0, &params));
  SHOW(hipGraphAddNode_(&node, graph, nullptr, 0, nullptr));
  hipGraphExec_t exec;
  CHECK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  CHECK(hipGraphLaunch(exec, stream));
  CHECK(hipStreamSynchronize(stream));
  printf("any: %d\n", pinned[0]);
  memset(&params, 0, sizeof params);
  params.type = 2;
  params.fill.dst = device;
  params.fill.elementSize = 4;
  params.fill.width = 64;
  params.fill.height = 1;
  params.fill.value = 50;
  CHECK(hipGraphExecNodeSetParams_(exec, nodes[0], &params));
  CHECK(hipGraphLaunch(exec, stream));
  CHECK(hipStreamSynchronize(stream));
  printf("set: %d\n", pinned[0]);
  CHECK(hipGraphNodeSetEnabled_(exec, nodes[0], 0));
  CHECK(hipGraphLaunch(exec, stream));
  CHECK(hipStreamSynchronize(stream));
  printf("disabled: %d\n", pinned[0]);
  CHECK(hipGraphExecDestroy(exec));
  CHECK(hipGraphDestroy(graph));
  CHECK(hipGraphDestroy(child));

  hipCtx_t context;
  CHECK(hipDevicePrimaryCtxRetain(&context, 0));
  CHECK(hipGraphCreate(&graph, 0));
  hipMemsetParams fill = {};
  fill.dst = device;
  fill.elementSize = 4;
  fill.width = 64;
  fill.height = 1;
  CHECK(hipDrvGraphAddMemsetNode_(&nodes[0], graph, nullptr, 0, &fill, context));
  DriverCopy copy = {}, found = {};
  copy.src_type = 2;
  copy.src_device = device;
  copy.src_pitch = BYTES;
  copy.dst_type = 1;
  copy.dst_host = pinned;
  copy.dst_pitch = BYTES;
  copy.width = BYTES;
  copy.height = copy.depth = 1;
  SHOW(hipDrvGraphAddMemcpyNode_(&nodes[1], graph, &nodes[0], 1, nullptr, context));
  CHECK(hipDrvGraphAddMemcpyNode_(&nodes[1], graph, &nodes[0], 1, &copy, context));
  CHECK(hipDrvGraphMemcpyNodeGetParams_(nodes[1], &found));
  printf("the same: %d\n", found.src_device == copy.src_device && found.width == copy.width);
  CHECK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  for (unsigned next : {6u, 9u}) {
    fill.value = next;
    CHECK(hipDrvGraphExecMemsetNodeSetParams_(exec, nodes[0], &fill, context));
    CHECK(hipGraphLaunch(exec, stream));
    CHECK(hipStreamSynchronize(stream));
    printf("driver API: %d\n", pinned[63]);
  }
  CHECK(hipGraphExecDestroy(exec));
  SHOW(hipGraphDebugDotPrint_(graph, nullptr, 0));
  SHOW(hipGraphDebugDotPrint_(graph, "/nonexistent/graph.dot", 0));
  SHOW(hipGraphDebugDotPrint_(graph, "/tmp/hiplaunch-graph.dot", 0));
  FILE *file = fopen("/tmp/hiplaunch-graph.dot", "r");
  char line[64] = {};
  if (!file || !fgets(line, sizeof line, file)) return 1;
  printf("%s", line);
  fclose(file);
  remove("/tmp/hiplaunch-graph.dot");
  CHECK(hipGraphDestroy(graph));
  CHECK(hipDevicePrimaryCtxRelease(0));
  return 0;
}

int main() {
  CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  CHECK(hipHostMalloc((void **)&pinned, BYTES, 0));
  int *device;
  CHECK(hipMalloc(&device, BYTES));
  int failed = memory() | kept_memory() | update(device) | attributes(device) | user_objects() | any_nodes(device);
  CHECK(hipFree(device));
  CHECK(hipHostFree(pinned));
  CHECK(hipStreamDestroy(stream));
  return failed;
}
