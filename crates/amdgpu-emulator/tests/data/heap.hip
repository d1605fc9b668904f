// Memory of the device's heap that outlives its kernel, in code object v5. Needs the HIP headers and device library. Rebuild: build.sh.
#include <hip/hip_runtime.h>

extern "C" __global__ void keep(int **out) {
    int *value = (int *)malloc(sizeof(int));
    *value = 3 * (int)threadIdx.x;
    out[threadIdx.x] = value;
}

extern "C" __global__ void take(int **values, int *out) {
    out[threadIdx.x] = *values[threadIdx.x];
    free(values[threadIdx.x]);
}
