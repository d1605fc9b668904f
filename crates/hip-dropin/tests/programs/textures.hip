// Textures and surfaces: what kernels find behind a handle, textures over linear memory, which need no image instructions, references, and
// what is refused.
#include <cstdio>
#include <cstring>
#include <hip/hip_runtime.h>

static void say(const char *name, hipError_t status) { printf("%s: %s\n", name, hipGetErrorName(status)); }

__global__ void dwords(const unsigned *object, unsigned *out, int count) {
  for (int n = 0; n < count; n++) out[n] = object[n];
}

template <typename T> __global__ void fetch(hipTextureObject_t texture, T *out) { out[threadIdx.x] = tex1Dfetch<T>(texture, threadIdx.x); }

texture<float, 1, hipReadModeElementType> reference;
__global__ void fetch_reference(float *out) { out[threadIdx.x] = tex1Dfetch(reference, (int)threadIdx.x); }

// Prints the dwords of an object, with its base address as a multiple of 256 bytes from `start`.
static void show(const char *name, const void *object, int count, const void *start) {
  unsigned *out, got[20];
  (void)hipMalloc((void **)&out, sizeof got);
  dwords<<<1, 1>>>((const unsigned *)object, out, count);
  (void)hipMemcpy(got, out, count * 4, hipMemcpyDeviceToHost);
  (void)hipFree(out);
  got[0] -= (unsigned)((size_t)start >> 8);
  got[1] -= (unsigned)((size_t)start >> 40);
  printf("%s:", name);
  for (int n = 0; n < count; n++) printf(" %x", got[n]);
  printf("\n");
}

static hipTextureDesc point() {
  hipTextureDesc desc;
  memset(&desc, 0, sizeof desc);
  desc.addressMode[0] = hipAddressModeClamp;
  return desc;
}

template <typename T> static void linear(const char *name, hipTextureReadMode mode = hipReadModeElementType) {
  T values[64], got[64], *memory, *out;
  for (int n = 0; n < 64; n++) memset(&values[n], n + 1, sizeof(T));
  (void)hipMalloc((void **)&memory, sizeof values);
  (void)hipMalloc((void **)&out, sizeof values);
  (void)hipMemcpy(memory, values, sizeof values, hipMemcpyHostToDevice);
  hipResourceDesc resource;
  memset(&resource, 0, sizeof resource);
  resource.resType = hipResourceTypeLinear;
  resource.res.linear.devPtr = memory;
  resource.res.linear.desc = hipCreateChannelDesc<T>();
  resource.res.linear.sizeInBytes = sizeof values;
  hipTextureDesc desc = point();
  desc.readMode = mode;
  hipTextureObject_t texture;
  say(name, hipCreateTextureObject(&texture, &resource, &desc, nullptr));
  fetch<T><<<1, 64>>>(texture, out);
  (void)hipMemcpy(got, out, sizeof got, hipMemcpyDeviceToHost);
  printf("%d\n", memcmp(values, got, sizeof got) == 0);
  (void)hipDestroyTextureObject(texture);
  (void)hipFree(memory);
  (void)hipFree(out);
}

static void arrays() {
  hipArray_t array, deep, layered;
  hipChannelFormatDesc bytes = {8, 8, 8, 8, hipChannelFormatKindUnsigned}, floats = hipCreateChannelDesc<float>();
  (void)hipMallocArray(&array, &bytes, 100, 30);
  (void)hipMalloc3DArray(&deep, &floats, make_hipExtent(8, 4, 2), 0);
  (void)hipMalloc3DArray(&layered, &floats, make_hipExtent(8, 4, 3), hipArrayLayered);
  hipResourceDesc resource, known;
  memset(&resource, 0, sizeof resource);
  resource.resType = hipResourceTypeArray;
  resource.res.array.array = array;
  hipTextureDesc desc = point();
  hipTextureObject_t texture;
  say("array", hipCreateTextureObject(&texture, &resource, &desc, nullptr));
  show("texture", texture, 20, array->data);
  say("resource", hipGetTextureObjectResourceDesc(&known, texture));
  printf("%d\n", known.res.array.array == array);
  say("destroyed", hipDestroyTextureObject(texture));
  say("destroyed again", hipDestroyTextureObject(texture));
  say("resource of destroyed", hipGetTextureObjectResourceDesc(&known, texture));
  say("destroyed null", hipDestroyTextureObject(nullptr));

  desc.readMode = hipReadModeNormalizedFloat;
  desc.sRGB = desc.normalizedCoords = 1;
  desc.filterMode = hipFilterModeLinear;
  desc.addressMode[0] = hipAddressModeMirror;
  say("sRGB", hipCreateTextureObject(&texture, &resource, &desc, nullptr));
  show("sRGB", texture, 16, array->data);
  (void)hipDestroyTextureObject(texture);
  resource.res.array.array = deep;
  desc = point();
  (void)hipCreateTextureObject(&texture, &resource, &desc, nullptr);
  show("three dimensions", texture, 8, deep->data);
  (void)hipDestroyTextureObject(texture);
  resource.res.array.array = layered;
  (void)hipCreateTextureObject(&texture, &resource, &desc, nullptr);
  show("layers", texture, 8, layered->data);
  (void)hipDestroyTextureObject(texture);

  desc.maxAnisotropy = 4;
  say("anisotropy", hipCreateTextureObject(&texture, &resource, &desc, nullptr));
  desc = point();
  hipResourceViewDesc view;
  memset(&view, 0, sizeof view);
  view.format = hipResViewFormatFloat4;
  say("larger view", hipCreateTextureObject(&texture, &resource, &desc, &view));
  view.format = hipResViewFormatSignedInt1;
  say("view", hipCreateTextureObject(&texture, &resource, &desc, &view));
  (void)hipDestroyTextureObject(texture);
  say("no desc", hipCreateTextureObject(&texture, &resource, nullptr, nullptr));
  resource.res.array.array = nullptr;
  say("no array", hipCreateTextureObject(&texture, &resource, &desc, nullptr));
  (void)hipFreeArray(deep);
  (void)hipFreeArray(layered);
  (void)hipFreeArray(array);
}

static void levels() {
  hipMipmappedArray_t mipmapped;
  hipChannelFormatDesc floats = hipCreateChannelDesc<float>();
  (void)hipMallocMipmappedArray(&mipmapped, &floats, make_hipExtent(64, 32, 0), 4, 0);
  hipResourceDesc resource;
  memset(&resource, 0, sizeof resource);
  resource.resType = hipResourceTypeMipmappedArray;
  resource.res.mipmap.mipmap = mipmapped;
  hipTextureDesc desc = point();
  hipTextureObject_t texture;
  say("levels in texels", hipCreateTextureObject(&texture, &resource, &desc, nullptr));
  desc.normalizedCoords = 1;
  desc.maxMipmapLevelClamp = 3;
  desc.mipmapFilterMode = hipFilterModeLinear;
  say("levels", hipCreateTextureObject(&texture, &resource, &desc, nullptr));
  show("texture", texture, 16, mipmapped->data);
  (void)hipDestroyTextureObject(texture);
  (void)hipFreeMipmappedArray(mipmapped);
}

static void pitched() {
  char *memory;
  size_t pitch;
  (void)hipMallocPitch((void **)&memory, &pitch, 300, 10);
  HIP_RESOURCE_DESC resource, known;
  memset(&resource, 0, sizeof resource);
  resource.resType = HIP_RESOURCE_TYPE_PITCH2D;
  resource.res.pitch2D.devPtr = memory;
  resource.res.pitch2D.format = HIP_AD_FORMAT_UNSIGNED_INT16;
  resource.res.pitch2D.numChannels = 2;
  resource.res.pitch2D.width = 75;
  resource.res.pitch2D.height = 10;
  resource.res.pitch2D.pitchInBytes = pitch;
  HIP_TEXTURE_DESC desc;
  memset(&desc, 0, sizeof desc);
  desc.flags = HIP_TRSF_READ_AS_INTEGER | HIP_TRSF_NORMALIZED_COORDINATES;
  hipTextureObject_t texture;
  say("pitched", hipTexObjectCreate(&texture, &resource, &desc, nullptr));
  show("texture", texture, 16, memory);
  memset(&known, 0, sizeof known);
  say("resource", hipTexObjectGetResourceDesc(&known, texture));
  printf("%d\n", known.resType == resource.resType && memcmp(&known.res, &resource.res, sizeof known.res) == 0);
  say("destroyed", hipTexObjectDestroy(texture));
  resource.res.pitch2D.devPtr = memory + 4;
  say("not aligned", hipTexObjectCreate(&texture, &resource, &desc, nullptr));
  resource.res.pitch2D.devPtr = memory;
  resource.res.pitch2D.pitchInBytes = 300;
  say("pitch not aligned", hipTexObjectCreate(&texture, &resource, &desc, nullptr));
  resource.res.pitch2D.pitchInBytes = pitch;
  resource.res.pitch2D.height = 11;
  say("past the end", hipTexObjectCreate(&texture, &resource, &desc, nullptr));
  (void)hipFree(memory);
}

static void references() {
  float values[64], got[64], *memory, *out;
  for (int n = 0; n < 64; n++) values[n] = n * 2 + 1;
  (void)hipMalloc((void **)&memory, sizeof values);
  (void)hipMalloc((void **)&out, sizeof values);
  (void)hipMemcpy(memory, values, sizeof values, hipMemcpyHostToDevice);
  size_t offset = 1;
  say("bound", hipBindTexture(&offset, reference, memory, sizeof values));
  printf("%zu\n", offset);
  fetch_reference<<<1, 64>>>(out);
  (void)hipMemcpy(got, out, sizeof got, hipMemcpyDeviceToHost);
  printf("%d\n", memcmp(values, got, sizeof got) == 0);
  hipDeviceptr_t address;
  unsigned flags;
  say("address", hipTexRefGetAddress(&address, &reference));
  (void)hipTexRefGetFlags(&flags, &reference);
  printf("%d %u\n", address == memory, flags);
  say("unbound", hipUnbindTexture(reference));
  say("address of unbound", hipTexRefGetAddress(&address, &reference));
  textureReference other = {};
  say("no such reference", hipBindTexture(&offset, &other, memory, &reference.channelDesc, sizeof values));
  (void)hipFree(memory);
  (void)hipFree(out);
}

// An array, a texture and a surface that nothing frees.
static void leak() {
  hipArray_t array;
  hipChannelFormatDesc floats = hipCreateChannelDesc<float>();
  (void)hipMallocArray(&array, &floats, 8, 8);
  hipResourceDesc resource;
  memset(&resource, 0, sizeof resource);
  resource.resType = hipResourceTypeArray;
  resource.res.array.array = array;
  hipTextureDesc desc = point();
  hipTextureObject_t texture;
  hipSurfaceObject_t surface;
  say("texture", hipCreateTextureObject(&texture, &resource, &desc, nullptr));
  say("surface", hipCreateSurfaceObject(&surface, &resource));
  show("of the surface", surface, 8, array->data);
}

int main(int count, char **) {
  if (count > 1) {
    leak();
    return 0;
  }
  int images = -1;
  (void)hipDeviceGetAttribute(&images, (hipDeviceAttribute_t)10014, 0);
  printf("images: %d\n", images);
  linear<float>("floats");
  if (!images) return 0;
  linear<uchar4>("bytes");
  linear<short2>("shorts");
  arrays();
  levels();
  pitched();
  references();
}
