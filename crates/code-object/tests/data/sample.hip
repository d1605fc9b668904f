// The kernels in the test objects. No headers, so that a clang and an lld are all it takes to build them.
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))

struct Shape {
    int width, height;
    char fill;
};

__device__ int counter;
__device__ float table[4] = {1, 2, 3, 4};
// A pointer within the object: R_AMDGPU_RELATIVE64.
__device__ float *row = &table[1];
// One to a function that another object could replace: R_AMDGPU_ABS64.
extern "C" __device__ __attribute__((weak, visibility("default"))) float replaceable(float a) { return a + 1; }
__device__ float (*hook)(float) = replaceable;
// One to a function that nobody defines: R_AMDGPU_ABS64 against an undefined weak symbol.
extern "C" __device__ __attribute__((weak, visibility("default"))) float absent(float a);
__device__ float (*maybe)(float) = absent;

__device__ __attribute__((noinline)) float twist(float a, float b) { return a * b - a; }

extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(1, 256)))
void scale(float *out, const float *__restrict in, float a, Shape shape) {
    __shared__ float tile[256];
    int lane = __builtin_amdgcn_workitem_id_x();
    int i = __builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() + lane;
    tile[lane] = i < shape.width ? in[i] : shape.fill;
    __builtin_amdgcn_s_barrier();
    if (i < shape.width) out[i] = twist(a, tile[lane ^ 1]) + row[i & 1];
    if (i == 0) __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED);
}

extern "C" __global__ void dynamic(int *out, int n) {
    // Ids in y and z, the dispatch packet, scratch, and a stack of unknown depth.
    int local[32];
    for (int i = 0; i < 32; i++) local[i] = __builtin_amdgcn_workitem_id_y() * i;
    out[__builtin_amdgcn_workgroup_id_y()] = local[n & 31] + __builtin_amdgcn_workgroup_id_z();
    if (hook) *(float *)out = hook(n);
    if (n < 0) out[1] = __builtin_amdgcn_workitem_id_z() + *(const unsigned short *)__builtin_amdgcn_dispatch_ptr();
}

extern "C" __global__ void empty() {}
