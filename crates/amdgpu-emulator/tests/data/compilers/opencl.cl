// OpenCL C without a device library: what its kernels need of one is here.
// The implicit arguments of code object v5 (LLVM AMDGPU usage, "Code Object V5 Metadata").
#define IMPLICIT(type, offset) (*(type constant *)((constant char *)__builtin_amdgcn_implicitarg_ptr() + (offset)))

global char *__printf_alloc(uint size) {
    global uint *buffer = IMPLICIT(global uint *, 72);
    uint at = __atomic_fetch_add(buffer, size, 0);
    return at + size + 8 > buffer[1] ? 0 : (global char *)buffer + 8 + at;
}

kernel void print(int n) {
    printf("item:%d \"%s\" %5.2f %v4d %v3hlx %#x %ld %v2f\n", n, "a:b", 1.5f * n, (int4)(1, -2, 3, n), (uint3)(10, 20, 30),
           n + 255, (long)n << 33, (float2)(1.25f, -2.5f));
    printf("no arguments, 100%%\n");
}

// Two arrays of the launcher's, behind each other in dynamic LDS.
kernel void reverse(global int *in, local int *a, global int *out, local float4 *b, int n) {
    int l = __builtin_amdgcn_workitem_id_x(), g = __builtin_amdgcn_workgroup_id_x() * 64 + l;
    a[l] = g < n ? in[g] : 0;
    b[l] = (float4)(a[l], 1, 2, 3);
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    int r = IMPLICIT(ushort, 12) - 1 - l;
    if (g < n) out[g] = a[r] + (int)b[r].w + (int)b[r].y;
}
