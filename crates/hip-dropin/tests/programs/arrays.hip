// Arrays: what they are, copies from and to them by all functions, in graphs and captures, and what is refused.
#include <cstdio>
#include <cstring>
#include <hip/hip_runtime.h>

static const int W = 10, H = 6, D = 3;
static float source[D][H][W], result[D][H][W];

static void say(const char *name, hipError_t status) { printf("%s: %s\n", name, hipGetErrorName(status)); }

// Whether the first slices, rows and elements are the source's, and all others 0.
static int same(int depth, int height, int width) {
  for (int z = 0; z < D; z++)
    for (int y = 0; y < H; y++)
      for (int x = 0; x < W; x++)
        if (result[z][y][x] != (z < depth && y < height && x < width ? source[z][y][x] : 0)) return 0;
  return 1;
}

static void clear() { memset(result, 0, sizeof result); }

static const size_t row = W * sizeof(float);
static const hipChannelFormatDesc one = {32, 0, 0, 0, hipChannelFormatKindFloat};

static void described() {
  hipArray_t array;
  hipChannelFormatDesc desc = {16, 16, 0, 0, hipChannelFormatKindUnsigned}, got;
  say("described", hipMallocArray(&array, &desc, 7, 5));
  printf("%u %u %u, format %d of %u\n", array->width, array->height, array->depth, array->Format, array->NumChannels);
  (void)hipGetChannelDesc(&got, array);
  printf("channels %d %d %d %d %d\n", got.x, got.y, got.z, got.w, got.f);
  say("freed", hipFreeArray(array));
  say("freed again", hipFreeArray(array));
  say("null", hipFreeArray(nullptr));
  say("channels of freed", hipGetChannelDesc(&got, array));
  desc.z = 16;
  say("three channels", hipMallocArray(&array, &desc, 7, 5));
  say("no width", hipMallocArray(&array, &one, 0, 5));
  say("too wide", hipMallocArray(&array, &one, 16385));
  say("cube", hipMalloc3DArray(&array, &one, make_hipExtent(6, 6, 6), hipArrayCubemap));
  say("surface", hipMallocArray(&array, &one, 6, 6, hipArraySurfaceLoadStore));
  say("layers without any", hipMallocArray(&array, &one, 6, 6, hipArrayLayered));
}

static void rectangles(hipArray_t array, hipArray_t other) {
  clear();
  say("2D to", hipMemcpy2DToArray(array, 0, 0, source, row, row, H, hipMemcpyHostToDevice));
  say("2D from", hipMemcpy2DFromArray(result, row, array, 0, 0, row, H, hipMemcpyDeviceToHost));
  printf("%d\n", same(1, H, W));
  clear();
  // A part: three elements of two rows, from the third element of the second row on.
  say("part", hipMemcpy2DFromArray(&result[0][1][2], row, array, 2 * sizeof(float), 1, 3 * sizeof(float), 2, hipMemcpyDefault));
  printf("%g %g %g, %g, %g\n", result[0][1][2], result[0][1][4], result[0][2][3], result[0][1][5], result[0][3][2]);
  say("past the row", hipMemcpy2DToArray(array, 4, 0, source, row, row, H, hipMemcpyHostToDevice));
  say("past the last row", hipMemcpy2DToArray(array, 0, 1, source, row, row, H, hipMemcpyHostToDevice));
  say("no pitch", hipMemcpy2DToArray(array, 0, 0, source, 0, row, H, hipMemcpyHostToDevice));
  say("no array", hipMemcpy2DToArray(nullptr, 0, 0, source, row, row, H, hipMemcpyHostToDevice));
  say("no source", hipMemcpy2DToArray(array, 0, 0, nullptr, row, row, H, hipMemcpyHostToDevice));
  say("kind", hipMemcpy2DToArray(array, 0, 0, source, row, row, H, (hipMemcpyKind)7));
  say("nothing", hipMemcpy2DToArray(array, 0, 0, source, row, 0, H, hipMemcpyHostToDevice));

  clear();
  say("to", hipMemcpyToArray(other, 0, 0, source, sizeof source[0], hipMemcpyHostToDevice));
  say("from", hipMemcpyFromArray(result, other, 0, 0, sizeof source[0], hipMemcpyDeviceToHost));
  printf("%d\n", same(1, H, W));
  clear();
  say("H to A", hipMemcpyHtoA(other, 8, &source[1], 8));
  say("A to H", hipMemcpyAtoH(result, other, 8, 8));
  printf("%g %g %g\n", result[0][0][0], result[0][0][1], result[0][0][2]);
  say("past the first row", hipMemcpyAtoH(result, other, 8, row));

  hip_Memcpy2D parms = {};
  parms.srcMemoryType = parms.dstMemoryType = hipMemoryTypeArray;
  parms.srcArray = array;
  parms.dstArray = other;
  parms.WidthInBytes = row;
  parms.Height = H;
  say("param 2D", hipMemcpyParam2D(&parms));
  void *device;
  size_t pitch;
  (void)hipMallocPitch(&device, &pitch, row, H);
  say("to device", hipMemcpy2DFromArray(device, pitch, other, 0, 0, row, H, hipMemcpyDeviceToDevice));
  clear();
  (void)hipMemcpy2D(result, row, device, pitch, row, H, hipMemcpyDeviceToHost);
  printf("%d\n", same(1, H, W));
  (void)hipFree(device);
}

static hipMemcpy3DParms box(hipArray_t array, void *memory, bool to) {
  hipMemcpy3DParms parms = {};
  hipPitchedPtr pointer = make_hipPitchedPtr(memory, row, row, H);
  (to ? parms.dstArray : parms.srcArray) = array;
  (to ? parms.srcPtr : parms.dstPtr) = pointer;
  parms.extent = make_hipExtent(W, H, D);
  parms.kind = to ? hipMemcpyHostToDevice : hipMemcpyDeviceToHost;
  return parms;
}

static void boxes() {
  hipArray_t array;
  say("3D", hipMalloc3DArray(&array, &one, make_hipExtent(W, H, D), 0));
  hipMemcpy3DParms to = box(array, source, true), from = box(array, result, false);
  clear();
  say("3D to", hipMemcpy3D(&to));
  say("3D from", hipMemcpy3D(&from));
  printf("%d\n", same(D, H, W));
  to.dstPos.x = 1;
  say("past the end", hipMemcpy3D(&to));
  to.dstPos.x = 0;
  to.dstPtr = from.dstPtr;
  say("array and memory", hipMemcpy3D(&to));

  HIP_MEMCPY3D driver = {};
  driver.srcMemoryType = hipMemoryTypeArray;
  driver.srcArray = array;
  driver.srcXInBytes = 4;
  driver.srcZ = 1;
  driver.dstMemoryType = hipMemoryTypeHost;
  driver.dstHost = result;
  driver.WidthInBytes = 8;
  driver.Height = driver.Depth = 2;
  clear();
  say("driver", hipDrvMemcpy3D(&driver));
  const float *packed = &result[0][0][0];
  printf("%d\n", packed[0] == source[1][0][1] && packed[3] == source[1][1][2] && packed[4] == source[2][0][1] && packed[8] == 0);

  hipStream_t stream;
  (void)hipStreamCreate(&stream);
  hipGraph_t graph, captured;
  hipGraphExec_t exec;
  hipGraphNode_t first, second;
  (void)hipGraphCreate(&graph, 0);
  to = box(array, source, true);
  say("node", hipGraphAddMemcpyNode(&first, graph, nullptr, 0, &to));
  say("node", hipGraphAddMemcpyNode(&second, graph, &first, 1, &from));
  hipMemcpy3DParms known;
  say("params", hipGraphMemcpyNodeGetParams(first, &known));
  printf("%d\n", known.dstArray == array);
  (void)hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0);
  clear();
  say("launch", hipGraphLaunch(exec, stream));
  (void)hipStreamSynchronize(stream);
  printf("%d\n", same(D, H, W));

  (void)hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal);
  say("capture", hipMemcpy3DAsync(&from, stream));
  (void)hipStreamEndCapture(stream, &captured);
  hipGraphExec_t again;
  (void)hipGraphInstantiate(&again, captured, nullptr, nullptr, 0);
  clear();
  say("captured", hipGraphLaunch(again, stream));
  (void)hipStreamSynchronize(stream);
  printf("%d\n", same(D, H, W));
  (void)hipFreeArray(array);
  say("freed array", hipGraphLaunch(again, stream));
  say("copy of freed", hipMemcpy3D(&from));
  (void)hipGraphExecDestroy(exec);
  (void)hipGraphExecDestroy(again);
  (void)hipGraphDestroy(graph);
  (void)hipGraphDestroy(captured);
  (void)hipStreamDestroy(stream);
}

static void levels() {
  hipMipmappedArray_t mipmapped;
  hipArray_t level, same_level, none;
  say("levels", hipMallocMipmappedArray(&mipmapped, &one, make_hipExtent(W * 2, H * 2, 0), 3, 0));
  say("level", hipGetMipmappedArrayLevel(&level, mipmapped, 1));
  (void)hipGetMipmappedArrayLevel(&same_level, mipmapped, 1);
  printf("%u %u %d\n", level->width, level->height, level == same_level);
  say("no such level", hipGetMipmappedArrayLevel(&none, mipmapped, 3));
  clear();
  say("to level", hipMemcpy2DToArray(level, 0, 0, source, row, row, H, hipMemcpyHostToDevice));
  say("from level", hipMemcpy2DFromArray(result, row, level, 0, 0, row, H, hipMemcpyDeviceToHost));
  printf("%d\n", same(1, H, W));
  say("free level", hipFreeArray(level));
  say("free levels", hipFreeMipmappedArray(mipmapped));
  say("freed level", hipMemcpy2DFromArray(result, row, level, 0, 0, row, H, hipMemcpyDeviceToHost));
  say("too many levels", hipMallocMipmappedArray(&mipmapped, &one, make_hipExtent(4, 4, 0), 4, 0));
}

int main() {
  for (int n = 0; n < D * H * W; n++) (&source[0][0][0])[n] = n + 1;
  described();
  hipArray_t array, other, pair;
  HIP_ARRAY_DESCRIPTOR desc = {W, H, HIP_AD_FORMAT_FLOAT, 1};
  (void)hipMallocArray(&array, &one, W, H);
  say("driver's", hipArrayCreate(&other, &desc));
  rectangles(array, other);
  hipChannelFormatDesc two = {32, 32, 0, 0, hipChannelFormatKindFloat};
  (void)hipMallocArray(&pair, &two, W, H);
  hipMemcpy3DParms parms = {};
  parms.srcArray = array;
  parms.dstArray = pair;
  parms.extent = make_hipExtent(2, 2, 1);
  parms.kind = hipMemcpyDeviceToDevice;
  say("other elements", hipMemcpy3D(&parms));
  say("destroyed", hipArrayDestroy(other));
  (void)hipFreeArray(array);
  (void)hipFreeArray(pair);
  boxes();
  levels();
}
