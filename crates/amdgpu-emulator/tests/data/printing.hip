// What calls the host: printf, assert, malloc. Needs the HIP headers and device library. Rebuild: build.sh.
#undef NDEBUG
#include <hip/hip_runtime.h>
#include <cassert>

extern "C" __global__ void print(int value, double real) {
    if (threadIdx.x % 32 == 5)
        printf("item %u of block %u: %d %.3f %s and %s%%\n", (unsigned)threadIdx.x, (unsigned)blockIdx.x, value, real,
               "a string that is longer than one packet holds, so that it takes several of them to arrive", "");
}

extern "C" __global__ void check(const int *values, int limit) { assert(values[threadIdx.x] < limit); }

// Each work-item builds a list on the heap and adds it up.
extern "C" __global__ void heap(int *out) {
    struct Node { Node *next; int value; } *list = nullptr;
    for (int n = 0; n < 4; n++) {
        Node *node = (Node *)malloc(sizeof(Node));
        node->next = list;
        node->value = n * (int)threadIdx.x;
        list = node;
    }
    int sum = 0;
    while (list) {
        sum += list->value;
        Node *next = list->next;
        free(list);
        list = next;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
