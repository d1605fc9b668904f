// A grid that synchronises itself by HIP's cooperative groups, for tests of global wave sync. Rebuild: build.sh.
#include <hip/hip_runtime.h>
#include <hip/hip_cooperative_groups.h>

// Each round every block writes, and then reads what the next one wrote.
extern "C" __global__ void cooperative(unsigned *data, unsigned *out, unsigned groups, unsigned rounds) {
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    unsigned sum = 0;
    for (unsigned round = 1; round <= rounds; round++) {
        if (threadIdx.x == 0) data[blockIdx.x] = round * (blockIdx.x + 1);
        grid.sync();
        sum += data[(blockIdx.x + 1) % groups];
        grid.sync();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
